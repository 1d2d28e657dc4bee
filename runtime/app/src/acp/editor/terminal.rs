//! The client's terminals: `terminal/*`.
//!
//! A terminal that was created is released exactly once, whatever becomes of its call: by a [`Lease`], whose end sends
//! that without waiting for an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use acp_runtime_agent::capability::Roots;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::terminal::{Ending, Ran, ShellCommand, Terminal, TerminalError, Viewer, require};
use agent_client_protocol::JsonRpcMessage as _;
use agent_client_protocol::v1::schema;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Peer, Unanswered};

/// How long a client may take to see the end of a command that was killed, and as long again to give its output.
const FAREWELL: Duration = Duration::from_secs(2);
/// The same where the turn was cancelled, which has little time left.
const HASTE: Duration = Duration::from_millis(200);
/// Bytes of output that the client is asked to keep, over what is kept here: it may leave out either end, and here it
/// is the middle.
const MARGIN: usize = 256 * 1024;

/// What keeps programs from waiting for a person, who is not there.
const QUIET: [(&str, &str); 3] = [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Runs commands in terminals of the client.
pub(in crate::acp) struct EditorTerminal {
    pub(in crate::acp) peer: Peer,
    pub(in crate::acp) roots: Roots,
}

/// A terminal of the client that is not released yet.
struct Lease {
    peer: Peer,
    id: schema::TerminalId,
    /// Whether its command may still run.
    running: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let session = || self.peer.session.clone();
        if self.running {
            self.peer.send(schema::KillTerminalRequest::new(session(), self.id.clone()));
        }
        self.peer.send(schema::ReleaseTerminalRequest::new(session(), self.id.clone()));
    }
}

impl EditorTerminal {
    /// Opens a terminal. Given up meanwhile, the request is withdrawn, and a terminal that comes all the same is
    /// released.
    async fn open(&self, command: &ShellCommand) -> Result<Lease, TerminalError> {
        let request = self.request(command);
        let peer = self.peer.clone();
        let (mut reply, opened) = oneshot::channel();
        tokio::spawn(async move {
            let method = request.method().to_owned();
            let sent = peer.connection.send_request(request);
            let withdrawal = sent.cancellation_handle();
            let patience = peer.patience.client;
            let lease = |answer: schema::CreateTerminalResponse| Lease {
                peer: peer.clone(),
                id: answer.terminal_id,
                running: true,
            };
            let mut answer = std::pin::pin!(sent.block_task());
            let why = tokio::select! {
                answer = &mut answer => {
                    // Nobody may be waiting any more: then the lease ends here.
                    let _ = reply.send(answer.map(lease).map_err(|error| Unanswered::to(&method, error)));
                    return;
                }
                () = reply.closed() => None,
                () = tokio::time::sleep(patience) => Some(Unanswered::Late(patience)),
            };
            if let Err(error) = withdrawal.cancel() {
                tracing::debug!(code = ?error.code, "a terminal that nobody waits for cannot be withdrawn");
            }
            if let Some(why) = why {
                let _ = reply.send(Err(why));
            }
            drop(answer.await.map(lease));
        });
        match opened.await {
            Ok(leased) => leased.map_err(|unanswered| TerminalError::NotStarted(unanswered.to_string())),
            Err(_) => Err(TerminalError::NotStarted("the connection to the editor is closing".to_owned())),
        }
    }

    fn request(&self, command: &ShellCommand) -> schema::CreateTerminalRequest {
        let quiet = QUIET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut variables: BTreeMap<String, String> = quiet.collect();
        variables.extend(command.variables.clone());
        let variable = |(name, value): (String, String)| schema::EnvVariable::new(name, value);
        let limit = u64::try_from(command.keep.saturating_add(MARGIN)).unwrap_or(u64::MAX);
        schema::CreateTerminalRequest::new(self.peer.session.clone(), "sh")
            .args(vec!["-c".to_owned(), command.line.clone()])
            .env(variables.into_iter().map(variable).collect::<Vec<_>>())
            .cwd(std::path::PathBuf::from(self.roots.display(&command.folder)))
            .output_byte_limit(limit)
    }

    /// Waits for a command's end in its time.
    async fn end(
        &self,
        lease: &mut Lease,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Ending, TerminalError> {
        let session = self.peer.session.clone();
        let request = schema::WaitForTerminalExitRequest::new(session.clone(), lease.id.clone());
        let mut ended = std::pin::pin!(self.peer.answer(request));
        let early = tokio::select! {
            ended = &mut ended => {
                let ended = ended.map_err(|unanswered| TerminalError::Lost(unanswered.to_string()))?;
                lease.running = false;
                return Ok(ending(&ended.exit_status));
            }
            () = cancel.cancelled() => Ending::Cancelled,
            () = tokio::time::sleep(timeout) => Ending::TimedOut,
        };
        let patience = self.patience(&early);
        self.peer.send(schema::KillTerminalRequest::new(session, lease.id.clone()));
        lease.running = false;
        // What it writes to its end belongs to its output; a client that never says so does not hold us up.
        let _ = tokio::time::timeout(patience, ended).await;
        Ok(early)
    }

    /// How long the client may take for what is left after a command's end.
    fn patience(&self, ending: &Ending) -> Duration {
        match ending {
            Ending::Exited(_) | Ending::Killed(_) | Ending::Unknown => self.peer.patience.client,
            Ending::TimedOut => FAREWELL.min(self.peer.patience.client),
            Ending::Cancelled => HASTE,
        }
    }
}

impl Terminal for EditorTerminal {
    fn is_clients(&self) -> bool {
        true
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
            let mut lease = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(TerminalError::NotStarted("the call was cancelled".to_owned())),
                lease = self.open(command) => lease?,
            };
            let id = lease.id.to_string();
            viewer.opened(&id).await;
            let ending = self.end(&mut lease, command.timeout, &cancel).await?;
            let request = schema::TerminalOutputRequest::new(self.peer.session.clone(), lease.id.clone());
            let output = self.peer.ask_within(self.patience(&ending), request).await;
            let (output, cut) = match output {
                Ok(answer) => (answer.output, answer.truncated),
                Err(unanswered) => (format!("[the output cannot be had: {unanswered}]"), true),
            };
            Ok(Ran { ending, output, cut, shown_in: Some(id), contained: false })
        })
    }
}

fn ending(status: &schema::TerminalExitStatus) -> Ending {
    match (status.exit_code, &status.signal) {
        (_, Some(signal)) => Ending::Killed(signal.chars().filter(|c| !c.is_control()).take(40).collect()),
        (Some(code), None) => Ending::Exited(i32::try_from(code).unwrap_or(i32::MAX)),
        (None, None) => Ending::Unknown,
    }
}
