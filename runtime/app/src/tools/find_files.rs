//! `find_files`: files by their names.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::Search;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::output::Capped;
use super::{Files, everywhere, spec, title, unless_cancelled};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "find_files",
        "Find files",
        ToolKind::Search,
        "Finds files whose path matches a glob: `*.rs` in every folder, `src/**/*.rs` below `src`. Leaves out what \
         `.gitignore` names and, unless the glob asks for them, names that begin with a dot.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
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
pub(super) struct FindFiles(pub(super) Files);

impl Tool for FindFiles {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
        Ok(vec![Effect::Read(path.subtree())])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        let (_, locations) = self.0.titled("Find", &arguments.path);
        Presentation { title: title("Find", &arguments.pattern), locations }
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
                globs: vec![arguments.pattern.clone()],
                pattern: None,
                ignore_case: false,
                limit: usize::from(arguments.max_results),
            };
            let found = unless_cancelled(&cancel, self.0.workspace.search(permit, &search)).await?;
            if found.hits.is_empty() {
                let where_ = self.0.roots.spell(&search.under);
                return Ok(ToolOutcome::text(format!("(no file under `{where_}` matches `{}`)", arguments.pattern)));
            }
            let mut output = Capped::default();
            let fitted = found.hits.iter().take_while(|hit| output.push(&self.0.roots.spell(&hit.path))).count();
            let note = (found.cut || fitted < found.hits.len())
                .then(|| format!("the first {fitted} files: narrow the glob, or raise max_results up to 2000"));
            Ok(ToolOutcome::text(output.finish(note)))
        }
        .boxed()
    }
}
