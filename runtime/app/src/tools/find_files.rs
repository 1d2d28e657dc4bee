//! `find_files`: files by their names.

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
        "find_files",
        "Find files",
        ToolKind::Search,
        "Finds files whose path matches a glob: `*.rs` in every folder, `src/**/*.rs` below `src`. Leaves out what \
         `.gitignore` names, what may not be read and, unless the glob asks for them, names that begin with a dot.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The glob, relative to `path`: `*` stays in one name, `**` spans folders.
    pattern: String,
    /// The folder to look in: absolute, or relative to the session's first folder.
    #[serde(default = "everywhere")]
    path: String,
    /// At most so many files.
    #[serde(default = "usual_limit")]
    #[schemars(range(min = 1, max = 2000))]
    max_results: u16,
}

fn usual_limit() -> u16 {
    200
}

/// The tool.
pub(super) struct FindFiles;

impl FileTool for FindFiles {
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
        Presentation { title: title("Find", &arguments.pattern), ..files.titled("Find", &arguments.path) }
    }

    async fn run(call: &FileCall<'_, Arguments>) -> Result<ToolOutcome, ToolError> {
        let arguments = &call.arguments;
        let search = Search {
            under: call.path.clone(),
            globs: vec![arguments.pattern.clone()],
            pattern: None,
            ignore_case: false,
            limit: usize::from(arguments.max_results),
        };
        let found = call.files.workspace.search(call.permit, &search).await?;
        let none = format!("(no file under `{}` matches `{}`)", call.spelled(), arguments.pattern);
        Ok(call.files.listed(&found, &none, |fitted| {
            format!("the first {}: narrow the glob, or raise max_results up to 2000", counted(fitted, "file"))
        }))
    }
}
