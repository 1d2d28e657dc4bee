//! What answers at the other end of an editor: a process of the binary, or a server in this one.

use std::io::{PipeReader, PipeWriter};
use std::process::{ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr};
use tokio::task::JoinHandle;

use super::lock;

/// A server in this process, and the client's ends of its pipes.
pub struct Served {
    /// What it reads.
    pub input: PipeWriter,
    /// What it writes.
    pub output: PipeReader,
    /// Done when it has ended; whether that was well.
    pub ended: JoinHandle<bool>,
}

/// The other end.
pub(super) enum Agent {
    /// A process of its own.
    Process(Mutex<Child>, Pid),
    /// A server here; none once it was waited for.
    Here(Mutex<Option<JoinHandle<bool>>>),
}

/// What an agent is spoken to through.
pub(super) struct Ends {
    pub(super) input: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) output: Box<dyn AsyncRead + Send + Unpin>,
    /// None of a server here.
    pub(super) errors: Option<ChildStderr>,
}

impl Agent {
    pub(super) fn start(command: std::process::Command) -> (Self, Ends) {
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let pid = process.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("a started process has an id");
        let ends = Ends {
            input: Box::new(process.stdin.take().expect("stdin is a pipe")),
            output: Box::new(process.stdout.take().expect("stdout is a pipe")),
            errors: Some(process.stderr.take().expect("stderr is a pipe")),
        };
        (Self::Process(Mutex::new(process), pid), ends)
    }

    pub(super) fn here(served: Served) -> (Self, Ends) {
        let Served { input, output, ended } = served;
        let ends = Ends {
            input: Box::new(pipe::Sender::from_owned_fd(input.into()).expect("it is a pipe")),
            output: Box::new(pipe::Receiver::from_owned_fd(output.into()).expect("it is a pipe")),
            errors: None,
        };
        (Self::Here(Mutex::new(Some(ended))), ends)
    }

    /// The id of the process, which must be one of its own.
    pub(super) fn process(&self) -> Pid {
        match self {
            Self::Process(_, pid) => *pid,
            Self::Here(_) => panic!("the agent is no process of its own"),
        }
    }

    /// Waits for its end.
    pub(super) async fn wait(&self) -> ExitStatus {
        match self {
            Self::Process(process, _) => loop {
                if let Some(status) = lock(process).try_wait().expect("a child can be waited for") {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            },
            Self::Here(ended) => {
                let ended = lock(ended).take().expect("it is waited for once");
                assert!(ended.await.expect("the server does not panic"), "the server ended with an error");
                ExitStatus::default()
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Self::Process(_, pid) = self {
            // It may be gone already, which is as good.
            let _ = rustix::process::kill_process_group(*pid, Signal::KILL);
        }
    }
}
