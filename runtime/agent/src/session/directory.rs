//! The live sessions of a process, by id.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::SessionHandle;
use crate::transcript::SessionId;

/// The live sessions.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<SessionId, SessionHandle>>);

impl Sessions {
    /// Adds a session; gives back the one that had the id before.
    pub fn insert(&self, session: SessionHandle) -> Option<SessionHandle> {
        self.lock().insert(session.id().clone(), session)
    }

    /// The live session with that id.
    pub fn get(&self, id: &SessionId) -> Option<SessionHandle> {
        self.lock().get(id).cloned()
    }

    /// Takes a session out.
    pub fn remove(&self, id: &SessionId) -> Option<SessionHandle> {
        self.lock().remove(id)
    }

    /// Closes every session: cancels what runs and waits until all of it was kept and shown.
    pub async fn close_all(&self) {
        let sessions: Vec<SessionHandle> = self.lock().drain().map(|(_, session)| session).collect();
        futures::future::join_all(sessions.iter().map(SessionHandle::close)).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
