//! `list_directory`: what is in a folder.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::{Entry, EntryKind};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::output::Capped;
use super::{Files, everywhere, spec, unless_cancelled};

/// How many entries are given at most.
const MOST_ENTRIES: usize = 1000;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "list_directory",
        "List directory",
        ToolKind::Read,
        "Lists a folder: one entry a line, folders with a slash behind, files with their size.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The folder: absolute, or relative to the session's first folder.
    #[serde(default = "everywhere")]
    path: String,
}

/// The tool.
pub(super) struct ListDirectory(pub(super) Files);

impl Tool for ListDirectory {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
        Ok(vec![Effect::Read(path.scope())])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        let (title, locations) = self.0.titled("List", &arguments.path);
        Presentation { title, locations }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
            let entries = unless_cancelled(&cancel, self.0.workspace.list(permit, &path)).await?;
            let locations = vec![self.0.location(&path, None)];
            Ok(ToolOutcome { locations, ..ToolOutcome::text(listed(&entries)) })
        }
        .boxed()
    }
}

fn listed(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return "(the folder is empty)".to_owned();
    }
    let mut output = Capped::default();
    for Entry { name, kind, size } in entries.iter().take(MOST_ENTRIES) {
        let line = match kind {
            EntryKind::Directory => format!("{name}/"),
            EntryKind::File => format!("{name} ({size} bytes)"),
            EntryKind::Link => format!("{name} (link)"),
            EntryKind::Other => format!("{name} (neither file nor folder)"),
        };
        if !output.push(&line) {
            break;
        }
    }
    let shown = output.lines;
    let note = (shown < entries.len())
        .then(|| format!("{shown} of {} entries: look for others with find_files", entries.len()));
    output.finish(note)
}
