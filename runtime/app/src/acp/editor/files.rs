//! The client's files over the disk's.

use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, Roots, WorkspacePath};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::workspace::{Entry, Excerpt, Found, LineRange, Search, Workspace, WorkspaceError, require};
use agent_client_protocol::v1::schema;
use agent_client_protocol::{Error, ErrorCode, JsonRpcRequest};
use futures::future::BoxFuture;

use super::{Peer, Unanswered, said};
use crate::acp::wire;

/// A text that takes more bytes than this in a message is written to the disk instead.
const LARGEST_WRITE: usize = 900 * 1024;

/// What clients say when a file is not theirs to serve, beside the protocol's own code for it; in small letters.
const NOT_THEIRS: [&str; 13] = [
    "not found",
    "no such file",
    "does not exist",
    "doesn't exist",
    "enoent",
    "outside",
    "escapes",
    "invalid path",
    "not in the",
    "not inside",
    "not within",
    "not under",
    "not part of",
];

/// The client's files over the disk's: reading and writing texts goes through the client where it offered that, so
/// unsaved text is seen and changes are shown; everything else goes to the disk.
///
/// The disk stands in only where the client does not have the file at all: it is not there, or outside of its project.
/// Any other refusal, and silence, are errors: the disk's text may be older than what the person sees, and a change
/// that was refused must not happen in another way.
///
/// The client knows nothing of the session's roots and follows links. So each file is first read from the disk, which
/// refuses one that leads out of a root; a write whose permit does not cover that reading goes to the disk alone.
pub(in crate::acp) struct EditorWorkspace {
    pub(in crate::acp) peer: Peer,
    pub(in crate::acp) roots: Roots,
    pub(in crate::acp) disk: Arc<dyn Workspace>,
    /// Whether the client offered `fs/read_text_file`.
    pub(in crate::acp) reads: bool,
    /// Whether the client offered `fs/write_text_file`.
    pub(in crate::acp) writes: bool,
}

/// Whether the client may open that file: the disk has it as a text, or does not have it at all.
fn may_pass<T>(on_disk: &Result<T, WorkspaceError>) -> bool {
    matches!(on_disk, Ok(_) | Err(WorkspaceError::NotFound(_)))
}

/// Whether a refusal means that the client does not have the file.
fn is_not_theirs(error: &Error) -> bool {
    let by_words = || {
        let said = said(error).to_lowercase();
        NOT_THEIRS.iter().any(|words| said.contains(words))
    };
    matches!(error.code, ErrorCode::RESOURCE_NOT_FOUND | ErrorCode::METHOD_NOT_FOUND) || by_words()
}

impl EditorWorkspace {
    /// What the client answers; none where it does not have the file.
    async fn ask<Req: JsonRpcRequest>(
        &self,
        request: Req,
        path: &str,
    ) -> Result<Option<Req::Response>, WorkspaceError> {
        match self.peer.ask(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(Unanswered::Refused(error)) if is_not_theirs(&error) => {
                tracing::debug!(code = ?error.code, "the editor does not have a file: using the disk");
                Ok(None)
            }
            Err(unanswered) => Err(failed(path, &unanswered)),
        }
    }

    /// Lines `range` as the client has them; none where it does not have the file.
    async fn lines(&self, path: &str, range: LineRange) -> Result<Option<Excerpt>, WorkspaceError> {
        let whole = schema::ReadTextFileRequest::new(self.peer.session.clone(), path);
        // One more than wanted tells whether there are more.
        let part = whole.clone().line(range.first).limit(range.most.saturating_add(1));
        let text = match self.peer.ask(part).await {
            Ok(answer) => answer.content,
            // Clients refuse a first line behind the last one, or give nothing: the whole tells how many there are.
            Err(Unanswered::Refused(error)) if error.code == ErrorCode::INVALID_PARAMS && !is_not_theirs(&error) => {
                String::new()
            }
            Err(Unanswered::Refused(error)) if is_not_theirs(&error) => return Ok(None),
            Err(unanswered) => return Err(failed(path, &unanswered)),
        };
        if text.is_empty() {
            let answer = self.ask(whole, path).await?;
            return Ok(answer.map(|answer| Excerpt::of(&answer.content, range)));
        }
        let Excerpt { text, total: got } = Excerpt::of(&text, LineRange { first: 1, most: range.most });
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let ended = got.filter(|got| *got <= count(range.most));
        Ok(Some(Excerpt { text, total: ended.map(|got| got + count(range.first.max(1)) - 1) }))
    }
}

fn failed(path: &str, unanswered: &Unanswered) -> WorkspaceError {
    WorkspaceError::System { path: path.to_owned(), reason: unanswered.to_string() }
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
            let request = schema::ReadTextFileRequest::new(self.peer.session.clone(), &shown);
            match self.ask(request, &shown).await? {
                Some(answer) => Ok(answer.content),
                None => on_disk,
            }
        })
    }

    fn read_lines<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        range: LineRange,
    ) -> BoxFuture<'a, Result<Excerpt, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(path.scope()))?;
            let on_disk = self.disk.read_lines(permit, path, range).await;
            if !self.reads || !may_pass(&on_disk) {
                return on_disk;
            }
            match self.lines(&self.roots.display(path), range).await? {
                Some(excerpt) => Ok(excerpt),
                None => on_disk,
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
            let request = schema::WriteTextFileRequest::new(self.peer.session.clone(), &shown, text);
            match self.ask(request, &shown).await? {
                Some(_) => Ok(()),
                None => self.disk.write(permit, path, text).await,
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
