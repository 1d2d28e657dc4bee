//! `delete_path`: a file, a link, or a folder with all in it is removed.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use acp_runtime_agent::workspace::WorkspaceError;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::on_files::Files;
use super::{spec, unless_cancelled};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "delete_path",
        "Delete",
        ToolKind::Delete,
        "Removes a file or a link; with `recursive` a folder and all in it. There is no way back.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is removed: absolute, or relative to the session's first folder.
    path: String,
    /// Remove a folder with all that is in it.
    #[serde(default)]
    recursive: bool,
}

/// The tool.
pub(super) struct DeletePath(pub(super) Files);

impl DeletePath {
    fn path(&self, arguments: &ToolArguments) -> Result<(WorkspacePath, bool), ToolError> {
        let Arguments { path, recursive } = arguments.read()?;
        Ok((self.0.roots.resolve(&path)?, recursive))
    }
}

impl Tool for DeletePath {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let (path, recursive) = self.path(arguments)?;
        Ok(vec![Effect::Delete(if recursive { path.subtree() } else { path.scope() })])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        match arguments.read() {
            Ok(Arguments { path, recursive: false }) => self.0.titled("Delete", &path),
            Ok(Arguments { path, recursive: true }) => {
                let Presentation { title, locations, .. } = self.0.titled("Delete", &path);
                Presentation { title: format!("{title} and all in it"), locations, ..Presentation::default() }
            }
            Err(_) => Presentation { title: SPEC.title.clone(), ..Presentation::default() },
        }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let (path, recursive) = self.path(&arguments)?;
            let spelled = self.0.roots.spell(&path);
            let is_allowed = permit.covers(&Effect::Delete(path.scope()));
            let delete = async {
                match self.0.workspace.delete(permit, &path).await {
                    Err(WorkspaceError::NoPermit(_)) if is_allowed && !recursive => {
                        let message = format!("`{spelled}` is a folder: set `recursive` to remove it with all in it");
                        Err(ToolError::to_model("invalid-args", message))
                    }
                    deleted => Ok(deleted?),
                }
            };
            unless_cancelled::<_, ToolError>(&cancel, delete).await?;
            Ok(self.0.told(&path, format!("Deleted `{spelled}`")))
        }
        .boxed()
    }
}
