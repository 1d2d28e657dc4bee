//! `grep`: lines in files.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::{Hit, Search};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::output::Capped;
use super::{Files, everywhere, spec, title, unless_cancelled};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "grep",
        "Search in files",
        ToolKind::Search,
        "Finds lines that match a regular expression, as `path:line:text`. Leaves out what `.gitignore` names, names \
         that begin with a dot unless `include` asks for them, binary files and files over 2 MiB.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
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
pub(super) struct Grep(pub(super) Files);

impl Tool for Grep {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
        Ok(vec![Effect::Read(path.subtree())])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        let (_, locations) = self.0.titled("Search", &arguments.path);
        Presentation { title: title("Search for", &arguments.pattern), locations }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let arguments: Arguments = arguments.read()?;
            let search = Search {
                under: self.0.roots.resolve(&arguments.path)?,
                globs: Some(arguments.include).filter(|glob| !glob.is_empty()).into_iter().collect(),
                pattern: Some(arguments.pattern.clone()),
                ignore_case: arguments.ignore_case,
                limit: usize::from(arguments.max_results),
            };
            let found = unless_cancelled(&cancel, self.0.workspace.search(permit, &search)).await?;
            if found.hits.is_empty() {
                let where_ = self.0.roots.spell(&search.under);
                return Ok(ToolOutcome::text(format!("(no line under `{where_}` matches `{}`)", arguments.pattern)));
            }
            let mut output = Capped::default();
            let fitted = found.hits.iter().take_while(|hit| output.push(&self.line(hit))).count();
            let note = (found.cut || fitted < found.hits.len()).then(|| {
                format!("the first {fitted} lines: narrow pattern, path or include, or raise max_results up to 1000")
            });
            Ok(ToolOutcome::text(output.finish(note)))
        }
        .boxed()
    }
}

impl Grep {
    fn line(&self, hit: &Hit) -> String {
        let path = self.0.roots.spell(&hit.path);
        match &hit.line {
            Some((number, text)) => format!("{path}:{number}:{text}"),
            None => path,
        }
    }
}
