//! `write_file`: a new file, or a whole new text for one.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{ToolContent, ToolOutcome};
use acp_runtime_agent::workspace::WorkspaceError;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::change::change;
use super::{Files, spec, unless_cancelled};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "write_file",
        "Write file",
        ToolKind::Edit,
        "Creates a file, with the folders above it, or replaces all text of one. To change a part of a file use \
         edit_file.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file: absolute, or relative to the session's first folder.
    path: String,
    /// The whole new text.
    content: String,
}

/// The tool.
pub(super) struct WriteFile(pub(super) Files);

/// What stood there.
enum Before {
    Nothing,
    Text(String),
    /// Something that is not text, or is too long to be shown.
    Other,
}

impl WriteFile {
    async fn before(&self, permit: &Permit, path: &WorkspacePath) -> Result<Before, ToolError> {
        match self.0.workspace.read(permit, path).await {
            Ok(text) => Ok(Before::Text(text)),
            Err(WorkspaceError::NotFound(_)) => Ok(Before::Nothing),
            Err(WorkspaceError::NotText(_) | WorkspaceError::TooLarge { .. }) => Ok(Before::Other),
            Err(error) => Err(error.into()),
        }
    }

    fn change(&self, path: &WorkspacePath, before: &Before, new: &str) -> Option<ToolContent> {
        let old = match before {
            Before::Nothing => None,
            Before::Text(text) => Some(text.as_str()),
            Before::Other => return None,
        };
        Some(change(self.0.roots.display(path), old, new))
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = self.0.roots.resolve(&arguments.read::<Arguments>()?.path)?;
        Ok(vec![Effect::Read(path.scope()), Effect::Write(path.scope())])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        let (title, locations) = self.0.titled("Write", &arguments.path);
        Presentation { title, locations }
    }

    fn preview<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        async move {
            let arguments: Arguments = arguments.read()?;
            let path = self.0.roots.resolve(&arguments.path)?;
            let before = self.before(permit, &path).await?;
            Ok(self.change(&path, &before, &arguments.content).into_iter().collect())
        }
        .boxed()
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let arguments: Arguments = arguments.read()?;
            let path = self.0.roots.resolve(&arguments.path)?;
            let before = unless_cancelled(&cancel, self.before(permit, &path)).await?;
            unless_cancelled(&cancel, self.0.workspace.write(permit, &path, &arguments.content)).await?;
            let done = if matches!(before, Before::Nothing) { "Created" } else { "Replaced" };
            let lines = arguments.content.lines().count();
            let mut outcome = ToolOutcome::text(format!("{done} `{}`: {lines} lines", self.0.roots.spell(&path)));
            outcome.content.extend(self.change(&path, &before, &arguments.content));
            outcome.locations = vec![self.0.location(&path, None)];
            Ok(outcome)
        }
        .boxed()
    }
}
