//! Which sessions the client has open, and what waits for one that is just being opened or ended.
//!
//! A client may write a `session/load` and a `session/prompt` at once: the prompt waits for the load, in order with all
//! else that is about the session. Tested in `tests.rs`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::transcript::SessionId;

use super::LiveSession;

/// What is to be done about a session, as soon as it is open.
type Work = Box<dyn FnOnce() + Send>;

/// All sessions that the client has open; cheap to clone.
#[derive(Default, Clone)]
pub(in crate::acp) struct LiveSessions(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    open: HashMap<SessionId, Arc<LiveSession>>,
    /// Each session that is just being opened.
    opening: HashMap<SessionId, Queue>,
    doors: u64,
}

#[derive(Default)]
struct Queue {
    /// The number of the door that it waits at: a session may be opened anew by what has waited for it.
    door: u64,
    work: VecDeque<Work>,
}

impl LiveSessions {
    /// Does `work` at once, or in its order when the session that it is about has been opened.
    pub(in crate::acp) fn when_open(&self, session: Option<&SessionId>, work: Work) {
        let mut known = self.lock();
        if let Some(queue) = session.and_then(|session| known.opening.get_mut(session)) {
            queue.work.push_back(work);
            return;
        }
        drop(known);
        work();
    }

    /// Begins to open a session, or to end it: what is to be done about it waits until the door is dropped. Gives out
    /// the session that was open under the id.
    pub(in crate::acp) fn reopen(&self, id: &SessionId) -> (Arc<Door>, Option<Arc<LiveSession>>) {
        let mut known = self.lock();
        known.doors += 1;
        let number = known.doors;
        known.opening.entry(id.clone()).or_default().door = number;
        (Arc::new(Door { sessions: self.clone(), id: id.clone(), number }), known.open.remove(id))
    }

    /// Adds a session.
    pub(in crate::acp) fn insert(&self, session: Arc<LiveSession>) {
        self.lock().open.insert(session.handle.id().clone(), session);
    }

    pub(in crate::acp) fn get(&self, id: &SessionId) -> Option<Arc<LiveSession>> {
        self.lock().open.get(id).cloned()
    }

    /// Closes them all, and waits until that was shown and kept.
    pub(in crate::acp) async fn close_all(&self) {
        let sessions: Vec<Arc<LiveSession>> = self.lock().open.drain().map(|(_, session)| session).collect();
        futures::future::join_all(sessions.iter().map(|session| session.close())).await;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session is just being opened or ended. Dropped, what has waited for it is done, in order; what comes meanwhile after that.
pub(in crate::acp) struct Door {
    sessions: LiveSessions,
    id: SessionId,
    number: u64,
}

impl Door {
    /// The next work; when there is none, nothing waits from then on. None as well when all waits at another door.
    fn next(&self) -> Option<Work> {
        let mut known = self.sessions.lock();
        let queue = known.opening.get_mut(&self.id).filter(|queue| queue.door == self.number)?;
        let next = queue.work.pop_front();
        if next.is_none() {
            known.opening.remove(&self.id);
        }
        next
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        while let Some(work) = self.next() {
            work();
        }
    }
}
