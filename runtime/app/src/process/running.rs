//! A program that was started, to its end.

use std::io::{self, PipeReader};
use std::pin::Pin;
use std::process::ExitStatus;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::{Child, ChildStdin};

use super::group::{self, Urgency};
use super::launcher::Registration;

/// A started program. Dropped before its end, it is killed with all that it started.
pub struct Running {
    /// What it reads; none where it was started without. Dropped, its input ends.
    pub input: Option<ChildStdin>,
    /// What it writes to its standard output, and to its standard error where the two are joined.
    pub output: Option<Output>,
    /// What it writes to its standard error, where the two are apart.
    pub errors: Option<Output>,
    child: Child,
    /// None once it has ended.
    registration: Option<Registration>,
    /// Of what it has left behind, until that is dead.
    rest: Option<Registration>,
}

impl Running {
    pub(super) fn new(mut child: Child, registration: Registration, output: Output, errors: Option<Output>) -> Self {
        let input = child.stdin.take();
        Self { input, output: Some(output), errors, child, registration: Some(registration), rest: None }
    }

    /// Waits for its end. What it started and left behind is killed then, and dead when this returns.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        if let Some(registration) = self.registration.take() {
            group::end_rest(registration.leader());
            self.rest = Some(registration);
        }
        if let Some(registration) = &self.rest {
            group::until_gone(registration.leader()).await;
            self.rest = None;
        }
        Ok(status)
    }

    /// Asks it and all that it started to end, and kills what is left after `grace`.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Some(leader) = self.leader() {
            group::end(leader, Urgency::Ask);
        }
        if let Ok(status) = tokio::time::timeout(grace, self.wait()).await {
            return status;
        }
        self.kill();
        self.wait().await
    }

    fn kill(&mut self) {
        if let Some(leader) = self.leader() {
            group::end(leader, Urgency::Force);
        }
        #[cfg(not(unix))]
        if let Err(error) = self.child.start_kill() {
            tracing::debug!("a program that was to be killed has ended: {error}");
        }
    }

    pub(super) fn leader(&self) -> Option<u32> {
        self.registration.as_ref().map(Registration::leader)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a program writes.
pub struct Output(Pipe);

#[cfg(unix)]
type Pipe = tokio::net::unix::pipe::Receiver;
#[cfg(not(unix))]
type Pipe = tokio::io::DuplexStream;

impl Output {
    #[cfg(unix)]
    pub(super) fn new(pipe: PipeReader) -> io::Result<Self> {
        Ok(Self(Pipe::from_owned_fd(pipe.into())?))
    }

    /// A thread reads, since such a pipe cannot be waited for.
    #[cfg(not(unix))]
    pub(super) fn new(mut pipe: PipeReader) -> io::Result<Self> {
        use tokio::io::AsyncWriteExt as _;

        let (mut writer, reader) = tokio::io::duplex(64 * 1024);
        let threads = tokio::runtime::Handle::current();
        let copy = move || {
            let mut chunk = [0; 8 * 1024];
            while let Ok(size) = io::Read::read(&mut pipe, &mut chunk) {
                let bytes = chunk.get(..size).unwrap_or_default();
                if bytes.is_empty() || threads.block_on(writer.write_all(bytes)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("output".to_owned()).spawn(copy)?;
        Ok(Self(reader))
    }
}

impl AsyncRead for Output {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}
