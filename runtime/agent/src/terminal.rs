//! Running command lines, as a port: in a terminal of the client, or on this machine.
//!
//! A line is run by `sh -c`, reads nothing, and ends with its call: whatever becomes of the call, nothing of it goes on.
//! Knows nothing about processes or clients.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::capability::{CommandLine, Effect, WorkspacePath};
use crate::gate::Permit;

/// A command line, and how it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// For `sh -c`.
    pub line: String,
    /// Where it runs.
    pub folder: WorkspacePath,
    /// Variables that it has beside its usual ones.
    pub variables: BTreeMap<String, String>,
    /// After which it is killed.
    pub timeout: Duration,
    /// Bytes of its output that are kept.
    pub keep: usize,
}

impl ShellCommand {
    /// What running it does.
    pub fn effects(&self) -> Vec<Effect> {
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        CommandLine::of_shell(&self.line, variables).into_iter().map(Effect::Run).collect()
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with an exit code.
    Exited(i32),
    /// By a signal from elsewhere, such as `SIGSEGV`.
    Killed(String),
    /// Killed, since it took too long.
    TimedOut,
    /// Killed, since its call was cancelled.
    Cancelled,
    /// It is not known.
    Unknown,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// What it wrote to both of its outputs; where that was more than is kept, with a note in the place of the rest.
    pub output: String,
    /// Whether some of its output is missing.
    pub cut: bool,
    /// The client's terminal that shows it; none where it ran on this machine.
    pub shown_in: Option<String>,
    /// Whether it could write only in some places.
    pub contained: bool,
}

/// Why a command was not run to an end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TerminalError {
    /// The permit does not cover it: a defect of the caller.
    #[error("no permit for {0}")]
    NoPermit(String),
    /// It could not be started.
    #[error("the command was not started: {0}")]
    NotStarted(String),
    /// It was started, and nobody knows what became of it.
    #[error("the command was lost: {0}")]
    Lost(String),
}

/// Whoever watches a command while it runs.
pub trait Viewer: Send + Sync {
    /// It runs in that terminal of the client. Returns when the client was told so: from then on it keeps what the
    /// terminal shows, also when that is released.
    fn opened<'a>(&'a self, terminal: &'a str) -> BoxFuture<'a, ()>;

    /// It wrote something, and no terminal of the client shows that. Never more than a few times in a second.
    fn wrote(&self, text: String);
}

/// Runs command lines.
pub trait Terminal: Send + Sync {
    /// Whether commands run in terminals of the client, which shows them by itself.
    fn is_clients(&self) -> bool;

    /// Runs a command to its end, its timeout, or until `cancel`; needs all of [`ShellCommand::effects`]. A dropped
    /// future kills it.
    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        command: &'a ShellCommand,
        viewer: &'a dyn Viewer,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, TerminalError>>;
}

/// The check that [`Terminal::run`] begins with.
pub fn require(permit: &Permit, command: &ShellCommand) -> Result<(), TerminalError> {
    match command.effects().into_iter().find(|effect| !permit.covers(effect)) {
        None => Ok(()),
        Some(effect) => Err(TerminalError::NoPermit(effect.to_string())),
    }
}
