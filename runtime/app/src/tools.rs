//! The runtime's own tools: reading, writing and searching the session's files, running commands, fetching from the web,
//! keeping its plan, and asking its person.
//!
//! One file per tool. Those for files go through the [`Workspace`] port with the permit of their call; none opens a path
//! by itself, so an editor's buffers can stand in for the disk. Their specs are shared by all sessions. Knows nothing
//! about policy or about who asks. Tested as tables against a real folder.

mod ask_user;
mod delete_path;
mod edit_file;
mod fetch;
mod find_files;
mod grep;
mod line_ends;
mod list_directory;
mod move_path;
mod near_miss;
mod on_files;
mod output;
mod read_file;
mod shell;
mod spawn_agent;
mod think;
mod update_plan;
mod write_file;

use std::sync::Arc;

use acp_runtime_agent::capability::{Roots, ToolName};
use acp_runtime_agent::elicit::Elicitor;
use acp_runtime_agent::event::EventSink;
use acp_runtime_agent::model::{InputSchema, ToolKind, ToolSpec};
use acp_runtime_agent::session::Subagents;
use acp_runtime_agent::terminal::Terminal;
use acp_runtime_agent::tool::{Tool, ToolError};
use acp_runtime_agent::workspace::Workspace;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use tokio_util::sync::CancellationToken;

use self::on_files::Files;
pub use fetch::Network;
pub use shell::ShellLimits;

/// What a session lends to its tools.
pub struct Surroundings {
    /// Its files.
    pub workspace: Arc<dyn Workspace>,
    /// Its folders.
    pub roots: Roots,
    /// The way to its person.
    pub elicitor: Arc<dyn Elicitor>,
    /// Where its commands run.
    pub terminal: Arc<dyn Terminal>,
    /// How far they may go.
    pub shell: ShellLimits,
    /// The way to the network.
    pub network: Network,
    /// Where it is told what happens.
    pub events: Arc<dyn EventSink>,
}

/// The tools of one session.
pub fn native_tools(surroundings: Surroundings) -> Vec<Arc<dyn Tool>> {
    let Surroundings { workspace, roots, elicitor, terminal, shell, network, events } = surroundings;
    let files = Files { workspace, roots };
    vec![
        files.tool::<read_file::ReadFile>(),
        files.tool::<write_file::WriteFile>(),
        files.tool::<edit_file::EditFile>(),
        Arc::new(move_path::MovePath(files.clone())),
        Arc::new(delete_path::DeletePath(files.clone())),
        files.tool::<list_directory::ListDirectory>(),
        files.tool::<find_files::FindFiles>(),
        files.tool::<grep::Grep>(),
        Arc::new(shell::Shell { files, terminal, events: events.clone(), limits: shell }),
        Arc::new(fetch::Fetch(network)),
        Arc::new(update_plan::UpdatePlan(events)),
        Arc::new(think::Think),
        Arc::new(ask_user::AskUser(elicitor)),
    ]
}

/// The tool that has children of a session work for it.
pub fn subagent_tool(subagents: Subagents) -> Arc<dyn Tool> {
    Arc::new(spawn_agent::SpawnAgent(subagents))
}

/// What is done, and to what: one line, whatever the model wrote.
fn title(verb: &str, object: &str) -> String {
    format!("{verb} `{}`", one_line(object).replace('`', " "))
}

/// The beginning of a text, as one line.
fn one_line(text: &str) -> String {
    const MOST: usize = 120;
    let mut shown: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// The spec of a tool whose arguments are `A`: its doc comments are what the model reads of them.
#[expect(clippy::expect_used, reason = "the names are constants, and a test asks for each")]
fn spec<A: JsonSchema>(name: &str, title: &str, kind: ToolKind, description: &str) -> Arc<ToolSpec> {
    // Only words that every provider understands: number formats and null defaults are not among them.
    let plain = |schema: &mut Schema| {
        schema.remove("format");
        if schema.get("default").is_some_and(serde_json::Value::is_null) {
            schema.remove("default");
        }
    };
    let mut settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain));
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    for internal in ["title", "description"] {
        schema.remove(internal);
    }
    Arc::new(ToolSpec {
        name: ToolName::new(name).expect("a valid tool name"),
        title: title.to_owned(),
        description: description.to_owned(),
        input: InputSchema::new(schema.to_value()),
        kind,
    })
}

/// Gives up at once when the call is cancelled.
async fn unless_cancelled<T, E>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, ToolError>
where
    ToolError: From<E>,
{
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolError::to_model("cancelled", "the call was cancelled")),
        done = work => Ok(done?),
    }
}

#[cfg(test)]
mod tests;
