//! Where sessions are kept: a port, and the suite that every implementer passes.

use std::sync::Arc;
use std::time::SystemTime;

use futures::future::BoxFuture;

use crate::event::SessionEvent;
use crate::transcript::SessionId;

/// What is known of a session apart from its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// The client's `cwd`, absolute, in the client's spelling.
    pub cwd: String,
    /// Further roots, likewise.
    pub additional: Vec<String>,
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

/// A session and all its events, in order.
pub type KeptSession = (SessionRecord, Vec<SessionEvent>);

/// Keeps sessions and their events.
pub trait SessionStore: Send + Sync {
    /// Makes a new session known. May return before it is on disk; a failure then shows in the first
    /// [`SessionStore::append`].
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Keeps events, all or none, and returns once a crash of the process cannot lose them.
    fn append(&self, session: &SessionId, events: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// A session and all its events in order; none where it is not known.
    fn load(&self, session: &SessionId) -> BoxFuture<'_, Result<Option<KeptSession>, StoreError>>;

    /// Sessions that have at least one event, newest first.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, StoreError>>;

    /// Forgets a session; an unknown one is already forgotten.
    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// What every implementer of [`SessionStore`] must pass.
#[cfg(feature = "test-support")]
pub mod conformance;
