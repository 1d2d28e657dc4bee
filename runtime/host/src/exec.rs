//! Programs that plugins run: the port that runs them, and what is closed around git.
//!
//! Whoever implements [`Programs`] finds the program where a plugin cannot have put it, starts it without a shell in a
//! folder that is held open, with no variables but those that it is told of, and leaves nothing of it running. Knows
//! nothing about rights: the gate was asked before, and the permit is looked at again. Tested by the guests that try to
//! get around it.

pub(crate) mod git;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use acp_runtime_agent::capability::CommandLine;
use acp_runtime_agent::gate::Permit;
use cap_std::fs::Dir;
use futures::future::BoxFuture;

/// A program that is to be run.
#[derive(Debug)]
pub struct ProgramRun {
    /// What was allowed: the program's name, and the arguments as the plugin gave them.
    pub line: CommandLine,
    /// The arguments that it is given.
    pub arguments: Vec<String>,
    /// The folder that it runs in.
    pub folder: Dir,
    /// Its path when it was opened, for systems that cannot be told of a handle.
    pub path: PathBuf,
    /// The names of variables that it gets as they are here, where they are set.
    pub inherit: Vec<String>,
    /// Variables that it gets whatever else is said.
    pub variables: BTreeMap<String, String>,
    /// Whether it may write in the session's folders and a temporary one of its own.
    pub changes: bool,
    /// How long it may take.
    pub time: Duration,
    /// Bytes that it may write to each of its outputs.
    pub output: usize,
}

impl ProgramRun {
    /// Whether the host only looks at git's configuration, before it does what was allowed. The plugin is not given what
    /// comes of it.
    pub fn is_precaution(&self) -> bool {
        git::is(&self.line.program) && self.arguments == git::LIST && self.line.arguments != git::LIST
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// How it ended.
    pub end: ProgramEnd,
    /// All that it wrote to its standard output, without known secrets.
    pub stdout: Vec<u8>,
    /// The same of its standard error.
    pub stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEnd {
    /// By itself, with an exit code.
    Exited(i32),
    /// By a signal, by its number.
    Killed(i32),
}

/// Why a program was not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The permit does not cover it: a defect of the caller.
    #[error("no permit for {0}")]
    NoPermit(String),
    /// There is none of that name.
    #[error("the program `{0}` is not there: the user has to install it")]
    NotFound(String),
    /// There are only such as the session's own files may be.
    #[error(
        "the program `{0}` lies in the session's folders, where anybody may have put it, and is not run for a plugin"
    )]
    InSession(String),
    /// It is another file than it was.
    #[error("the program `{0}` is another file than it was before: the user has to restart the agent")]
    Replaced(String),
    /// It took too long.
    #[error("the program `{0}` took longer than {seconds} s, and was ended: ask it for less", seconds = .1.as_secs_f64())]
    TimedOut(String, Duration),
    /// It wrote too much.
    #[error("the program `{0}` wrote more than {1} bytes, and was ended: ask it for less")]
    TooMuch(String, usize),
    /// The system refused.
    #[error("the program `{0}` was not run: {1}")]
    System(String, String),
}

/// Runs programs for the plugins of one session.
pub trait Programs: Send + Sync {
    /// Runs it to its end, or until it takes too long or writes too much; the permit must allow its line. A dropped future
    /// ends it, and all that it started.
    fn run<'a>(&'a self, permit: &'a Permit, run: ProgramRun) -> BoxFuture<'a, Result<ProgramOutput, ProgramError>>;
}
