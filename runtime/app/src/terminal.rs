//! Command lines on this machine.
//!
//! Each runs in a process group of its own, which ends with it, with few of our variables and none of our secrets, and
//! writes only where it may. What it says is kept in bounds, and told while it runs. Knows nothing about sessions, permission or clients. Tested over
//! the real binary in `tests/it/shell.rs`.

mod live;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use acp_runtime_agent::capability::Roots;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::terminal::{Ending, Ran, ShellCommand, Terminal, TerminalError, Viewer, require};
use futures::future::BoxFuture;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::process::{Bounds, Capture, Launcher, Output, Outputs, Program, StartError, cannot_contain};
use live::Live;

/// How long a command that took too long may clean up.
const GRACE: Duration = Duration::from_millis(500);
/// How long output is read on that somebody keeps open after the command has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Bytes that are read at once.
const CHUNK: usize = 16 * 1024;

/// Runs commands on this machine, for one session.
pub struct LocalTerminal {
    /// Starts them.
    pub launcher: Launcher,
    /// The session's folders.
    pub roots: Roots,
    /// Variables that every command gets beside those of the launcher.
    pub environment: BTreeMap<String, String>,
    /// Folders that commands may write in beside the session's own; none where they may write in any.
    pub writable: Option<Vec<PathBuf>>,
}

impl LocalTerminal {
    /// The session's folders, without links.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.roots.iter().map(|root| root.canonical.clone())
    }

    fn program(&self, command: &ShellCommand) -> Program {
        let folder = PathBuf::from(self.roots.display(&command.folder));
        let variables = self.environment.iter().chain(&command.variables);
        Program {
            arguments: vec!["-c".to_owned(), command.line.clone()],
            environment: variables.map(|(name, value)| (name.clone(), value.clone())).collect(),
            outputs: Outputs::Joined,
            bounds: Bounds {
                writable: self.writable.as_ref().map(|more| self.folders().chain(more.iter().cloned()).collect()),
                ..Bounds::default()
            },
            ..Program::new("sh", folder)
        }
    }
}

impl Terminal for LocalTerminal {
    fn is_clients(&self) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        command: &'a ShellCommand,
        viewer: &'a dyn Viewer,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, TerminalError>> {
        Box::pin(async move {
            require(permit, command)?;
            let mut running = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(TerminalError::NotStarted("the call was cancelled".to_owned())),
                running = self.launcher.start(self.program(command)) => running.map_err(not_started)?,
            };
            let mut reader = Reader {
                output: running.output.take(),
                kept: Capture::new(command.keep),
                live: Live::new(viewer, Instant::now()),
                chunk: vec![0; CHUNK],
            };
            let early = tokio::select! {
                biased;
                () = cancel.cancelled() => Err((Ending::Cancelled, Duration::ZERO)),
                () = tokio::time::sleep(command.timeout) => Err((Ending::TimedOut, GRACE)),
                status = reader.during(running.wait()) => Ok(ending(status)),
            };
            let ending = match early {
                Ok(ending) => ending,
                Err((ending, grace)) => {
                    if let Err(error) = reader.during(running.stop(grace)).await {
                        tracing::warn!("a command that was killed cannot be waited for: {error}");
                    }
                    ending
                }
            };
            reader.finish().await;
            let contained = self.writable.is_some() && cannot_contain().is_none();
            Ok(Ran { contained, ..reader.ran(ending) })
        })
    }
}

fn not_started(error: StartError) -> TerminalError {
    TerminalError::NotStarted(format!("{error} ({})", error.hint()))
}

fn ending(status: io::Result<ExitStatus>) -> Ending {
    match status {
        Ok(status) => status.code().map(Ending::Exited).or_else(|| signal(status)).unwrap_or(Ending::Unknown),
        Err(error) => {
            tracing::warn!("the end of a command cannot be had: {error}");
            Ending::Unknown
        }
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<Ending> {
    use std::os::unix::process::ExitStatusExt as _;
    const NAMES: [(i32, &str); 12] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    let number = status.signal()?;
    let name = NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    Some(Ending::Killed(name.unwrap_or_else(|| format!("signal {number}"))))
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<Ending> {
    None
}

/// Reads what a command writes.
struct Reader<'v> {
    /// None once it has ended.
    output: Option<Output>,
    kept: Capture,
    live: Live<'v>,
    chunk: Vec<u8>,
}

impl Reader<'_> {
    /// Reads while `work` is done.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.step() => {}
            }
        }
    }

    /// Reads what is left of it, and tells of that.
    async fn finish(&mut self) {
        let rest = async {
            while self.output.is_some() {
                self.step().await;
            }
        };
        if tokio::time::timeout(LAST_WORDS, rest).await.is_err() {
            tracing::debug!("a command's output is still open after its end, and is left");
        }
        self.live.finish();
    }

    /// Takes the next piece, or tells of those that were taken; for ever where there is nothing to do.
    async fn step(&mut self) {
        let Self { output, kept, live, chunk } = self;
        let read = async {
            match output {
                Some(output) => output.read(chunk).await,
                None => std::future::pending().await,
            }
        };
        let due = live.due();
        let due = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            read = read => match read {
                Ok(size @ 1..) => {
                    let bytes = chunk.get(..size).unwrap_or_default();
                    kept.push(bytes);
                    live.push(bytes);
                }
                Ok(0) | Err(_) => *output = None,
            },
            () = due => live.tell(Instant::now()),
        }
    }

    fn ran(self, ending: Ending) -> Ran {
        Ran { ending, output: self.kept.text(), cut: self.kept.missing() > 0, shown_in: None, contained: false }
    }
}
