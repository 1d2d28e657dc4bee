//! `shell`: a command line, in the client's terminal or on this machine.

mod report;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::event::{EventSink, SessionEvent, ToolCallUpdate};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::plain::exact;
use acp_runtime_agent::terminal::{ShellCommand, Terminal, TerminalError, Viewer};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{ToolCallId, ToolContent, ToolOutcome, fenced};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::on_files::{Files, everywhere};
use super::{one_line, spec, unless_cancelled};

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "shell",
        "Run a command",
        ToolKind::Execute,
        "Runs a command line with `sh -c` (POSIX, so no bash syntax) and gives what it writes, both outputs together, and \
         its exit code. Each call is a shell of its own: give the folder as `cwd` rather than with `cd`. There is nothing \
         to read on its input, so use options that never ask. What it starts in the background ends with it. Of a long \
         output the middle is left out. Writing may be limited to the session's folders and the temporary folder. To \
         read, search and change files use the tools for that.",
    )
});

/// How far commands may go.
#[derive(Debug, Clone, Copy)]
pub struct ShellLimits {
    /// How long a command may take where the call does not say.
    pub timeout: Duration,
    /// How long a call may let one take.
    pub most: Duration,
    /// Bytes that one call gives to the model.
    pub output: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command line.
    command: String,
    /// The folder that it runs in: absolute, or relative to the session's first folder.
    #[serde(default = "everywhere")]
    cwd: String,
    /// Seconds after which it is killed; 60 unless configured otherwise.
    #[serde(default)]
    timeout: u32,
    /// Variables that it has beside the usual ones, as `NAME=value`.
    #[serde(default)]
    env: Vec<String>,
}

/// The tool.
pub(super) struct Shell {
    pub(super) files: Files,
    pub(super) terminal: Arc<dyn Terminal>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) limits: ShellLimits,
}

impl Shell {
    fn command(&self, arguments: Arguments) -> Result<ShellCommand, ToolError> {
        let Arguments { command, cwd, timeout, env } = arguments;
        let invalid = |message: String| Err(ToolError::to_model("invalid-args", message));
        if command.trim().is_empty() || command.contains('\0') {
            return invalid("`command` is not a command line".to_owned());
        }
        let most = self.limits.most;
        let timeout = if timeout == 0 { self.limits.timeout } else { Duration::from_secs(timeout.into()) };
        if timeout > most {
            return invalid(format!(
                "`timeout` is {} s, but at most {} s are allowed",
                timeout.as_secs(),
                most.as_secs()
            ));
        }
        let mut variables = BTreeMap::new();
        for variable in &env {
            match variable.split_once('=') {
                Some((name, value)) if is_name(name) && !value.contains('\0') => {
                    variables.insert(name.to_owned(), value.to_owned());
                }
                Some(_) | None => return invalid(format!("`{variable}` in `env` is not of the form `NAME=value`")),
            }
        }
        let folder = self.files.roots.resolve(&cwd)?;
        Ok(ShellCommand { line: command, folder, variables, timeout, keep: report::room(self.limits.output) })
    }

    /// That it is a folder, and that it lies where it seems to.
    async fn look_at(&self, permit: &Permit, folder: &WorkspacePath) -> Result<(), ToolError> {
        self.files.workspace.list(permit, folder).await?;
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(word) && name.starts_with(|c: char| !c.is_ascii_digit())
}

impl Tool for Shell {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let command = self.command(arguments.read()?)?;
        let mut effects = vec![Effect::Read(command.folder.scope())];
        effects.extend(command.effects());
        Ok(effects)
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(command) = arguments.read().and_then(|arguments| self.command(arguments)) else {
            return Presentation { title: SPEC.title.clone(), ..Presentation::default() };
        };
        let terminal = (!self.terminal.is_clients()).then(|| self.files.roots.display(&command.folder));
        Presentation { title: one_line(&exact(&command.line)), terminal, ..Presentation::default() }
    }

    /// All of the command, wherever it runs and with whatever variables.
    fn preview<'a>(
        &'a self,
        _permit: &'a Permit,
        arguments: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        async move {
            let command = self.command(arguments.read()?)?;
            let mut text = fenced("sh", &exact(&command.line));
            text.push_str("\nin ");
            text.push_str(&fenced("", &exact(&self.files.roots.display(&command.folder))));
            if !command.variables.is_empty() {
                let variables = command.variables.iter().map(|(name, value)| format!("{name}={value}"));
                text.push_str("\nwith ");
                text.push_str(&fenced("", &exact(&variables.collect::<Vec<_>>().join("\n"))));
            }
            Ok(vec![ToolContent::Text { text }])
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
            let command = self.command(arguments.read()?)?;
            unless_cancelled(&cancel, self.look_at(permit, &command.folder)).await?;
            let viewer = CallViewer { call: permit.origin().call().cloned(), events: &*self.events };
            if !self.terminal.is_clients() {
                viewer.show(None);
            }
            let ran = self.terminal.run(permit, &command, &viewer, cancel).await.map_err(failed)?;
            Ok(report::outcome(ran, &command))
        }
        .boxed()
    }
}

fn failed(error: TerminalError) -> ToolError {
    ToolError::to_model("terminal", error.to_string())
}

/// Shows a command as a part of its tool call.
struct CallViewer<'e> {
    /// None where a command runs outside of a tool call, which nobody watches.
    call: Option<ToolCallId>,
    events: &'e dyn EventSink,
}

impl CallViewer<'_> {
    fn show(&self, terminal: Option<&str>) {
        let Some(call) = self.call.clone() else { return };
        let shown = ToolContent::Terminal { terminal: terminal.map(str::to_owned), output: String::new(), exit: None };
        let update = ToolCallUpdate { content: Some(vec![shown]), ..ToolCallUpdate::of(call) };
        self.events.emit(SessionEvent::ToolCallUpdated(update));
    }
}

impl Viewer for CallViewer<'_> {
    fn opened<'a>(&'a self, terminal: &'a str) -> BoxFuture<'a, ()> {
        self.show(Some(terminal));
        Box::pin(async {})
    }

    fn wrote(&self, text: String) {
        if let Some(call) = self.call.clone() {
            self.events.emit(SessionEvent::ToolOutput { call, text });
        }
    }
}

#[cfg(test)]
mod tests;
