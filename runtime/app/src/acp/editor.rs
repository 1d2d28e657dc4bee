//! The client as the person to ask and as a place of files.
//!
//! Nothing is asked of a client that it did not offer. Requests are sent from the session's own tasks, never from the
//! dispatch loop, and dropping one withdraws it. Tested in `tests.rs` with a client at the other end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, Roots, WorkspacePath};
use acp_runtime_agent::gate::{Approval, Approver, Ask, Permit};
use acp_runtime_agent::workspace::{Entry, Found, Search, Workspace, WorkspaceError, require};
use agent_client_protocol::v1::schema;
use agent_client_protocol::{
    Client, ConnectionTo, Error, JsonRpcRequest, is_connection_terminated, is_incoming_transport_closed,
};
use futures::future::BoxFuture;

use super::wire;

/// How long the client may take to read or write a file.
const FILE_TIMEOUT: Duration = Duration::from_secs(30);
/// A text that takes more bytes than this in a message is written to the disk instead.
const LARGEST_WRITE: usize = 900 * 1024;

/// Asks the person through `session/request_permission`.
pub(super) struct EditorApprover {
    connection: ConnectionTo<Client>,
    session: schema::SessionId,
    /// How long the person may take; none to wait for ever.
    timeout: Option<Duration>,
    /// Questions that belong to no call, to name them.
    asked: AtomicU64,
}

impl EditorApprover {
    pub(super) fn new(connection: ConnectionTo<Client>, session: schema::SessionId, timeout: Option<Duration>) -> Self {
        Self { connection, session, timeout, asked: AtomicU64::new(0) }
    }
}

impl Approver for EditorApprover {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let synthetic = format!("ask-{}", self.asked.fetch_add(1, Ordering::Relaxed) + 1);
            let wire::Question { call, options } = wire::question(&ask, &synthetic);
            let request = schema::RequestPermissionRequest::new(self.session.clone(), call, options.clone());
            let answer = self.connection.send_request(request).block_task();
            let answer = match self.timeout {
                None => answer.await,
                Some(timeout) => match tokio::time::timeout(timeout, answer).await {
                    Ok(answer) => answer,
                    Err(_) => return Approval::Cancelled,
                },
            };
            match answer {
                Ok(answer) => wire::approval(&answer.outcome, &options),
                Err(error) => {
                    tracing::warn!(code = ?error.code, "the client did not answer a question: denied");
                    Approval::NoChannel
                }
            }
        })
    }
}

/// The client's files over the disk's: reading and writing texts goes through the client where it offered that, so
/// unsaved text is seen and changes are shown; everything else goes to the disk.
///
/// The client knows nothing of the session's roots and follows links. So each file is first read from the disk, which
/// refuses one that leads out of a root; a write whose permit does not cover that reading goes to the disk alone.
pub(super) struct EditorWorkspace {
    pub(super) connection: ConnectionTo<Client>,
    pub(super) session: schema::SessionId,
    pub(super) roots: Roots,
    pub(super) disk: Arc<dyn Workspace>,
    /// Whether the client offered `fs/read_text_file`.
    pub(super) reads: bool,
    /// Whether the client offered `fs/write_text_file`.
    pub(super) writes: bool,
}

/// What became of a request to the client.
enum Asked<T> {
    Done(T),
    /// It said no: the file is outside its project, or not there.
    Refused,
}

impl EditorWorkspace {
    async fn ask<Req: JsonRpcRequest>(&self, request: Req, path: &str) -> Result<Asked<Req::Response>, WorkspaceError> {
        let failed = |reason: String| WorkspaceError::System { path: path.to_owned(), reason };
        let answer = self.connection.send_request(request).block_task();
        match tokio::time::timeout(FILE_TIMEOUT, answer).await {
            Err(_) => Err(failed(format!("the editor did not answer within {} s", FILE_TIMEOUT.as_secs()))),
            Ok(Ok(answer)) => Ok(Asked::Done(answer)),
            Ok(Err(error)) if is_gone(&error) => Err(failed("the editor is gone".to_owned())),
            Ok(Err(error)) => {
                tracing::debug!(code = ?error.code, "the editor refused a file: using the disk");
                Ok(Asked::Refused)
            }
        }
    }
}

fn is_gone(error: &Error) -> bool {
    is_incoming_transport_closed(error) || is_connection_terminated(error)
}

/// Whether the client may open that file: the disk has it as a text, or does not have it at all.
fn may_pass(on_disk: &Result<String, WorkspaceError>) -> bool {
    matches!(on_disk, Ok(_) | Err(WorkspaceError::NotFound(_)))
}

impl Workspace for EditorWorkspace {
    fn read<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(path.scope()))?;
            let on_disk = self.disk.read(permit, path).await;
            if !self.reads || !may_pass(&on_disk) {
                return on_disk;
            }
            let shown = self.roots.display(path);
            let request = schema::ReadTextFileRequest::new(self.session.clone(), &shown);
            match self.ask(request, &shown).await? {
                Asked::Done(answer) => Ok(answer.content),
                Asked::Refused => on_disk,
            }
        })
    }

    fn write<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Write(path.scope()))?;
            let through_editor = self.writes
                && wire::escaped_len(text) <= LARGEST_WRITE
                && permit.covers(&Effect::Read(path.scope()))
                && may_pass(&self.disk.read(permit, path).await);
            if !through_editor {
                return self.disk.write(permit, path, text).await;
            }
            let shown = self.roots.display(path);
            let request = schema::WriteTextFileRequest::new(self.session.clone(), &shown, text);
            match self.ask(request, &shown).await? {
                Asked::Done(_) => Ok(()),
                Asked::Refused => self.disk.write(permit, path, text).await,
            }
        })
    }

    fn delete<'a>(&'a self, permit: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Delete(path.scope()))?;
            self.disk.delete(permit, path).await
        })
    }

    fn rename<'a>(
        &'a self,
        permit: &'a Permit,
        from: &'a WorkspacePath,
        to: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Move { from: from.clone(), to: to.clone() })?;
            self.disk.rename(permit, from, to).await
        })
    }

    fn list<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<Vec<Entry>, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(path.scope()))?;
            self.disk.list(permit, path).await
        })
    }

    fn search<'a>(&'a self, permit: &'a Permit, search: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(search.under.subtree()))?;
            self.disk.search(permit, search).await
        })
    }
}
