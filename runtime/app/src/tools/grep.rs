//! `grep`: lines in files.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::tool::{Presentation, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::Search;
use schemars::JsonSchema;
use serde::Deserialize;

use super::on_files::{FileCall, FileTool, Files, everywhere};
use super::{spec, title};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "grep",
        "Search in files",
        ToolKind::Search,
        "Finds lines that match a regular expression, as `path:line:text`. Leaves out what `.gitignore` names, what \
         may not be read, names that begin with a dot unless `include` asks for them, binary files and files over \
         2 MiB.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The regular expression, in the syntax of Rust's `regex`: no look-around, no back-references.
    pattern: String,
    /// The file or folder to look in: absolute, or relative to the session's first folder.
    #[serde(default = "everywhere")]
    path: String,
    /// Only files whose path matches this glob, relative to `path`: `*.rs`, `src/**/*.ts`.
    #[serde(default)]
    include: String,
    /// Whether capital and small letters are alike.
    #[serde(default)]
    ignore_case: bool,
    /// At most so many lines.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 1000))]
    max_results: u16,
}

fn usual_limit() -> u16 {
    100
}

/// The tool.
pub(super) struct Grep;

impl FileTool for Grep {
    type Arguments = Arguments;

    fn spec() -> &'static Arc<ToolSpec> {
        &SPEC
    }

    fn path(arguments: &Arguments) -> &str {
        &arguments.path
    }

    fn effects(path: &WorkspacePath) -> Vec<Effect> {
        vec![Effect::Read(path.subtree())]
    }

    fn present(files: &Files, arguments: &Arguments) -> Presentation {
        Presentation { title: title("Search for", &arguments.pattern), ..files.titled("Search for", &arguments.path) }
    }

    async fn run(call: &FileCall<'_, Arguments>) -> Result<ToolOutcome, ToolError> {
        let arguments = &call.arguments;
        let search = Search {
            under: call.path.clone(),
            globs: Some(arguments.include.clone()).filter(|glob| !glob.is_empty()).into_iter().collect(),
            pattern: Some(arguments.pattern.clone()),
            ignore_case: arguments.ignore_case,
            limit: usize::from(arguments.max_results),
        };
        let found = call.files.workspace.search(call.permit, &search).await?;
        let none = format!("(no line under `{}` matches `{}`)", call.spelled(), arguments.pattern);
        Ok(call.files.listed(&found, &none, |fitted| {
            let first = counted(fitted, "line");
            format!("the first {first}: narrow pattern, path or include, or raise max_results up to 1000")
        }))
    }
}
