//! Sessions, plugins' values and remembered answers in one `SQLite` file.
//!
//! Constructing a [`SqliteStore`] costs nothing: the file is opened by the first piece of work. One thread writes, and
//! commits all that waits for it together; another one reads beside it. What was answered survives the death of the
//! process (write-ahead log, `synchronous = NORMAL`). Several processes may use the file at once. Knows nothing about
//! clients and models. Tested by the conformance suite of `SessionStore`, by killing a process that writes, and by
//! damaging the file.

mod answers;
mod journal;
mod kv;
mod schema;
mod worker;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::store::{KeptSession, ListQuery, SessionPage, SessionRecord, SessionStore, StoreError};
use acp_runtime_agent::transcript::SessionId;
use futures::FutureExt;
use futures::future::BoxFuture;

pub use self::answers::Answers;
pub use self::kv::{KvSpace, KvWrite};
use self::worker::{Role, Worker};

/// The store on disk. Clones share it; the last one to go waits until all that was submitted is written.
#[derive(Clone)]
pub struct SqliteStore(Arc<Shared>);

struct Shared {
    writer: Worker,
    reader: Worker,
    /// Sessions that were created but may not be on disk yet. Writing one is tried again with its first events.
    created: Mutex<HashMap<SessionId, SessionRecord>>,
}

impl SqliteStore {
    /// The store in the file `path`, which is made when it is first needed, with the folders above it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let opening = Arc::new(Mutex::new(()));
        Self(Arc::new(Shared {
            writer: Worker::new(path.clone(), Role::Writer, opening.clone()),
            reader: Worker::new(path, Role::Reader, opening),
            created: Mutex::default(),
        }))
    }

    /// Forgets the sessions that had no event for `days` days and says how many; 0 keeps all for ever.
    pub async fn retain(&self, days: u32) -> Result<usize, StoreError> {
        const DAY: Duration = Duration::from_hours(24);
        let Some(limit) = SystemTime::now().checked_sub(DAY * days).filter(|_| days > 0) else { return Ok(0) };
        self.0.writer.submit(move |db| journal::delete_before(db, limit)).await
    }

    fn created(&self) -> MutexGuard<'_, HashMap<SessionId, SessionRecord>> {
        self.0.created.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for SqliteStore {
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.created().insert(record.id.clone(), record.clone());
        // Not waited for: a failure is met again by the first `append`.
        drop(self.0.writer.submit(move |db| journal::insert(db, &record)));
        futures::future::ready(Ok(())).boxed()
    }

    fn append(&self, session: &SessionId, events: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>> {
        if events.is_empty() {
            return futures::future::ready(Ok(())).boxed();
        }
        let id = session.clone();
        let new = self.created().get(session).cloned();
        let first = new.is_some();
        let session = session.clone();
        let written = self.0.writer.submit(move |db| {
            if let Some(record) = new {
                journal::insert(db, &record)?;
            }
            journal::append(db, &session, &events)
        });
        async move {
            written.await?;
            if first {
                self.created().remove(&id);
            }
            Ok(())
        }
        .boxed()
    }

    fn load(&self, session: &SessionId) -> BoxFuture<'_, Result<Option<KeptSession>, StoreError>> {
        let new = self.created().get(session).cloned();
        let session = session.clone();
        let found = self.0.reader.submit(move |db| journal::load(db, &session));
        async move { Ok(found.await?.or(new.map(|record| (record, Vec::new())))) }.boxed()
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, StoreError>> {
        async move {
            let after = journal::Place::of(&query)?;
            self.0.reader.submit(move |db| journal::list(db, query.cwd.as_deref(), after, query.limit)).await
        }
        .boxed()
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.created().remove(session);
        let session = session.clone();
        self.0.writer.submit(move |db| journal::delete(db, session.as_str())).boxed()
    }
}

#[cfg(test)]
mod tests;
