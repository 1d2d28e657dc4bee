//! `think`: a place for a model to think where it has no other.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{one_line, spec};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "think",
        "Think",
        ToolKind::Think,
        "Writes down a thought, and does nothing else. Use it before decisions that depend on several results, or on \
         rules that must all hold. The user can read it.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The thought.
    thought: String,
}

/// The tool.
pub(super) struct Think;

impl Tool for Think {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    /// None.
    fn effects(&self, _arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(Vec::new())
    }

    /// The thought is the call's title, as far as it fits, and whole in its arguments.
    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let thought = arguments.read().map(|Arguments { thought }| one_line(thought.trim())).unwrap_or_default();
        let title = if thought.is_empty() { SPEC.title.clone() } else { thought };
        Presentation { title, ..Presentation::default() }
    }

    fn run<'a>(
        &'a self,
        _permit: &'a Permit,
        arguments: ToolArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let Arguments { thought } = arguments.read()?;
            if thought.trim().is_empty() {
                return Err(ToolError::to_model("invalid-args", "`thought` says nothing"));
            }
            Ok(ToolOutcome::text("Noted."))
        }
        .boxed()
    }
}
