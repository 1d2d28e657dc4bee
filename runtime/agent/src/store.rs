//! Where sessions are kept: a port, and the suite that every implementer passes.

mod point;

use std::sync::Arc;
use std::time::SystemTime;

use futures::future::BoxFuture;

use crate::event::SessionEvent;
use crate::transcript::{SessionId, SystemPrompt, ToolCallId};

pub use point::PointOfNoReturn;

/// What a client says of a session when it opens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSetup {
    /// The client's `cwd`, absolute, in the client's spelling.
    pub cwd: String,
    /// Further roots, likewise.
    pub additional: Vec<String>,
    /// Its own instructions for the model, if it has any.
    pub system_prompt: Option<SystemPrompt>,
}

/// What is known of a session apart from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// What it was opened with last.
    pub setup: SessionSetup,
    /// From the last [`SessionEvent::Title`].
    pub title: Option<String>,
    /// When its last event was kept.
    pub updated: SystemTime,
}

/// Why the store did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The system refused: a full disk, a read-only folder.
    #[error("the session store at `{path}` cannot be written: {reason}")]
    Unwritable {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
        /// Whether the same may work later: the disk is full. Not where the file or its folder may not be written.
        retryable: bool,
    },
    /// Another process holds the file, and did not let go of it in time.
    #[error("the session store at `{path}` is held by another process, which does not let go of it")]
    Busy {
        /// The file.
        path: String,
    },
    /// The file was made by a newer version.
    #[error("the session store at `{path}` has format {found}; this version reads up to {known}")]
    Newer {
        /// The file.
        path: String,
        /// Its format.
        found: i64,
        /// What is understood.
        known: i64,
    },
    /// The file is not what it should be.
    #[error("the session store at `{path}` is damaged: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// Another process works on the session.
    #[error("session `{session}` is open in another process ({process})")]
    InUse {
        /// The session.
        session: SessionId,
        /// The other process's id.
        process: u32,
    },
    /// It was taken back before it was begun, and nothing was done.
    #[error("it was taken back before it was done")]
    TakenBack,
    /// No such page.
    #[error("`{0}` is not a cursor of this list")]
    BadCursor(String),
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only those with this `cwd`.
    pub cwd: Option<String>,
    /// From an earlier page.
    pub cursor: Option<String>,
    /// How many at most.
    pub limit: usize,
}

/// One page of the list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionRecord>,
    /// For the next page; none at the end.
    pub next: Option<String>,
}

/// A tool's output that was kept whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// Where a client of the same machine reads it: `file://…`
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// Its bytes.
    pub size: u64,
}

/// A session and all its events, in order.
pub type KeptSession = (SessionRecord, Vec<SessionEvent>);

/// That this process works on a session, and no other may. Dropped, it gives the session back; so does the process's
/// end, whatever it is.
#[must_use = "dropped, it gives the session back"]
pub struct Claim(Option<GiveBack>);

type GiveBack = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

impl Claim {
    /// A claim that ends with `give_back`, whose future is done when another process may claim the session, and is
    /// not always waited for.
    pub fn new(give_back: impl FnOnce() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(give_back)))
    }

    /// Gives the session back, and returns when another process may claim it.
    pub async fn give_back(mut self) {
        if let Some(give_back) = self.0.take() {
            give_back().await;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(give_back) = self.0.take() {
            drop(give_back());
        }
    }
}

/// Keeps sessions and their events.
pub trait SessionStore: Send + Sync {
    /// Makes a new session known, and this process the one that works on it. May return before it is on disk; a failure
    /// then shows in the first [`SessionStore::append`].
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<Claim, StoreError>>;

    /// Makes this process the one that works on a session; it may claim it several times. Fails where another process
    /// works on it. An unknown session can be claimed, which is of no consequence.
    fn claim(&self, session: &SessionId) -> BoxFuture<'_, Result<Claim, StoreError>>;

    /// Keeps what a session is opened with from now on. Does nothing where it is not known.
    fn set_up(&self, session: &SessionId, setup: SessionSetup) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps events, all or none, and returns once a crash of the process cannot lose them.
    fn append(&self, session: &SessionId, events: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps a new session that begins with `events`, all or nothing, and makes this process the one that works on it.
    /// What plugins keep for `source` is kept for it too. Nothing is left of it where it was taken back before `point`.
    fn fork(
        &self,
        source: &SessionId,
        record: SessionRecord,
        events: Arc<[SessionEvent]>,
        point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<Claim, StoreError>>;

    /// A session and all its events in order; none where it is not known.
    fn load(&self, session: &SessionId) -> BoxFuture<'_, Result<Option<KeptSession>, StoreError>>;

    /// Sessions that have at least one event, newest first.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, StoreError>>;

    /// Keeps the output of a call for as long as the session, where clients can read it; what is too large for that is
    /// cut. None where it cannot be kept.
    fn keep_output(&self, session: &SessionId, call: &ToolCallId, text: String) -> BoxFuture<'_, Option<KeptOutput>>;

    /// Forgets a session with its outputs; an unknown one is already forgotten. Fails where another process works on it.
    /// What this process still appends to it, until it has given it back, is kept nowhere and is no error. Nothing has
    /// changed where it fails, or was taken back before `point`.
    fn delete(&self, session: &SessionId, point: PointOfNoReturn) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The process is about to end: from now on nothing waits for other processes for longer than a moment.
    fn hurry(&self) {}
}

/// What every implementer of [`SessionStore`] must pass.
#[cfg(feature = "test-support")]
pub mod conformance;
