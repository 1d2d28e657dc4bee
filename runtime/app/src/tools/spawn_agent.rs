//! `spawn_agent`: a task for a child of the session, which reports when it is done.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::session::{Subagents, Task};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{one_line, spec};

/// The tools of a child that was given none by name: those that leave everything as it is.
const READING: [&str; 4] = ["read_file", "list_directory", "find_files", "grep"];

/// What belongs to the session as a whole.
const SESSION_ONLY: [&str; 2] = ["update_plan", "ask_user"];

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "spawn_agent",
        "Start a subagent",
        ToolKind::Other,
        "Gives a task to a subagent: it has the same model, works by itself in a conversation of its own, and you get its \
         report. Use it for work that needs much reading and whose result is short, such as finding out how something is \
         done in a large project. It knows nothing of this conversation: write down all that it has to know, and what \
         the report must say. Its effects are asked for and denied as yours are.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What is to be done, and what is to be reported.
    task: String,
    /// The names of the tools that it gets; without any it reads and searches the session's files.
    #[serde(default)]
    tools: Vec<String>,
    /// How often it may ask its model.
    #[serde(default = "usual_requests")]
    #[schemars(range(min = 1, max = 50))]
    max_requests: u32,
}

fn usual_requests() -> u32 {
    20
}

/// The tool.
pub(super) struct SpawnAgent(pub(super) Subagents);

impl Tool for SpawnAgent {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    /// None of its own: those of the child are decided one by one.
    fn effects(&self, _arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(Vec::new())
    }

    /// A child that only reads works beside others of its kind.
    fn only_reads(&self, arguments: &ToolArguments) -> bool {
        let reads = |Arguments { tools, .. }: Arguments| tools.iter().all(|name| READING.contains(&name.as_str()));
        arguments.read().is_ok_and(reads)
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let task = arguments.read().map(|Arguments { task, .. }| one_line(task.trim())).unwrap_or_default();
        Presentation { title: format!("Subagent: {task}"), ..Presentation::default() }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let Arguments { task, tools, max_requests } = arguments.read()?;
            if task.trim().is_empty() {
                return Err(ToolError::to_model("invalid-args", "`task` says nothing"));
            }
            if let Some(own) = tools.iter().find(|name| SESSION_ONLY.contains(&name.as_str())) {
                let message = format!("`{own}` belongs to the session: a subagent cannot have it");
                return Err(ToolError::to_model("invalid-args", message));
            }
            let tools = if tools.is_empty() { READING.map(str::to_owned).to_vec() } else { tools };
            let call =
                permit.origin().call().ok_or_else(|| ToolError::Fatal("a subagent works for a call".to_owned()))?;
            self.0.run(call, Task { prompt: task, tools, model_requests: max_requests }, &cancel).await
        }
        .boxed()
    }
}
