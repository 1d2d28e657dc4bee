//! `write_file`: a new file, or a whole new text for one.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::tool::{Presentation, ToolError};
use acp_runtime_agent::transcript::{ToolContent, ToolOutcome, change};
use acp_runtime_agent::workspace::WorkspaceError;
use schemars::JsonSchema;
use serde::Deserialize;

use super::line_ends::LineEnds;
use super::on_files::{FileCall, FileTool, Files};
use super::spec;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "write_file",
        "Write file",
        ToolKind::Edit,
        "Creates a file, with the folders above it, or replaces all text of one. Where all lines of a file end in CR LF, \
         those of its new text do, too. To change a part of a file use edit_file.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file: absolute, or relative to the session's first folder.
    path: String,
    /// The whole new text.
    content: String,
}

/// The tool.
pub(super) struct WriteFile;

impl FileTool for WriteFile {
    type Arguments = Arguments;

    fn spec() -> &'static Arc<ToolSpec> {
        &SPEC
    }

    fn path(arguments: &Arguments) -> &str {
        &arguments.path
    }

    fn effects(path: &WorkspacePath) -> Vec<Effect> {
        vec![Effect::Read(path.scope()), Effect::Write(path.scope())]
    }

    fn present(files: &Files, arguments: &Arguments) -> Presentation {
        files.titled("Write", &arguments.path)
    }

    async fn preview(call: &FileCall<'_, Arguments>) -> Result<Vec<ToolContent>, ToolError> {
        let before = Before::of(call).await?;
        Ok(before.changed(call, &before.text_for(call)).into_iter().collect())
    }

    async fn run(call: &FileCall<'_, Arguments>) -> Result<ToolOutcome, ToolError> {
        let before = Before::of(call).await?;
        let text = before.text_for(call);
        call.write(&text).await?;
        let done = if matches!(before, Before::Nothing) { "Created" } else { "Replaced" };
        let lines = call.arguments.content.lines().count();
        let mut outcome = ToolOutcome::text(format!("{done} `{}`: {}", call.spelled(), counted(lines, "line")));
        outcome.content.extend(before.changed(call, &text));
        outcome.locations = vec![call.location(None)];
        Ok(outcome)
    }
}

/// What stood there.
enum Before {
    Nothing,
    Text(String),
    /// Something that is not text, or is too long to be shown.
    Other,
}

impl Before {
    async fn of(call: &FileCall<'_, Arguments>) -> Result<Self, ToolError> {
        match call.files.workspace.read(call.permit, &call.path).await {
            Ok(text) => Ok(Self::Text(text)),
            Err(WorkspaceError::NotFound(_)) => Ok(Self::Nothing),
            Err(WorkspaceError::NotText { .. } | WorkspaceError::TooLarge { .. }) => Ok(Self::Other),
            Err(error) => Err(error.into()),
        }
    }

    /// The new text, its lines ended as those that stood there.
    fn text_for<'a>(&self, call: &'a FileCall<'_, Arguments>) -> Cow<'a, str> {
        let ends = match self {
            Self::Text(old) => LineEnds::of(old),
            Self::Nothing | Self::Other => LineEnds::Unix,
        };
        ends.put_into(&call.arguments.content)
    }

    /// The change to the new text.
    fn changed(&self, call: &FileCall<'_, Arguments>, new: &str) -> Option<ToolContent> {
        let old = match self {
            Self::Nothing => None,
            Self::Text(text) => Some(text.as_str()),
            Self::Other => return None,
        };
        Some(change(call.displayed(), old, new))
    }
}
