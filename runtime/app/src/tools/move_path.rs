//! `move_path`: a file or a folder gets another path.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::on_files::Files;
use super::{one_line, spec, unless_cancelled};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "move_path",
        "Move",
        ToolKind::Move,
        "Moves or renames a file or a folder. `to` is the whole new path, which must be free; the folders above it are \
         made.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is moved: absolute, or relative to the session's first folder.
    from: String,
    /// Its new path, name included.
    to: String,
}

/// The tool.
pub(super) struct MovePath(pub(super) Files);

impl MovePath {
    fn paths(&self, arguments: &ToolArguments) -> Result<(WorkspacePath, WorkspacePath), ToolError> {
        let Arguments { from, to } = arguments.read()?;
        Ok((self.0.roots.resolve(&from)?, self.0.roots.resolve(&to)?))
    }
}

impl Tool for MovePath {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let (from, to) = self.paths(arguments)?;
        Ok(vec![Effect::Move { from, to }])
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok((from, to)) = self.paths(arguments) else {
            return Presentation { title: SPEC.title.clone(), ..Presentation::default() };
        };
        let spelled = |path| one_line(&self.0.roots.spell(path)).replace('`', " ");
        Presentation {
            title: format!("Move `{}` to `{}`", spelled(&from), spelled(&to)),
            locations: vec![self.0.location(&from, None), self.0.location(&to, None)],
            ..Presentation::default()
        }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let (from, to) = self.paths(&arguments)?;
            unless_cancelled(&cancel, self.0.workspace.rename(permit, &from, &to)).await?;
            let said = format!("Moved `{}` to `{}`", self.0.roots.spell(&from), self.0.roots.spell(&to));
            Ok(self.0.told(&to, said))
        }
        .boxed()
    }
}
