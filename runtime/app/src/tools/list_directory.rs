//! `list_directory`: what is in a folder.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::{Presentation, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::{Entry, EntryKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::on_files::{FileCall, FileTool, Files, everywhere};
use super::output::Capped;
use super::spec;

/// How many entries are given at most.
const MOST_ENTRIES: usize = 1000;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "list_directory",
        "List directory",
        ToolKind::Read,
        "Lists a folder: one entry a line, folders with a slash behind, files with their size. Leaves out what may not \
         be read.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The folder: absolute, or relative to the session's first folder.
    #[serde(default = "everywhere")]
    path: String,
}

/// The tool.
pub(super) struct ListDirectory;

impl FileTool for ListDirectory {
    type Arguments = Arguments;

    fn spec() -> &'static Arc<ToolSpec> {
        &SPEC
    }

    fn path(arguments: &Arguments) -> &str {
        &arguments.path
    }

    fn effects(path: &WorkspacePath) -> Vec<Effect> {
        vec![Effect::Read(path.scope())]
    }

    fn present(files: &Files, arguments: &Arguments) -> Presentation {
        files.titled("List", &arguments.path)
    }

    async fn run(call: &FileCall<'_, Arguments>) -> Result<ToolOutcome, ToolError> {
        let entries = call.files.workspace.list(call.permit, &call.path).await?;
        Ok(call.files.told(&call.path, listed(&entries)))
    }
}

fn listed(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return "(the folder is empty)".to_owned();
    }
    let mut output = Capped::default();
    for Entry { name, kind, size } in entries.iter().take(MOST_ENTRIES) {
        let name = plain::name(name);
        let line = match kind {
            EntryKind::Directory => format!("{name}/"),
            EntryKind::File => format!("{name} ({})", counted(*size, "byte")),
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
