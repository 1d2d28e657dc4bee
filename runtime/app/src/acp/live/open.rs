//! Which sessions the client has open, and what waits for one that is just being opened or ended.
//!
//! A client may write a `session/load` and a `session/prompt` at once: the prompt waits for the load, in order with all
//! else that is about the session. A session that was unloaded is open as well; the first that is asked of it waits
//! until it is there again. Tested in `tests.rs`.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_runtime_agent::session::{Before, OpenError, SessionRequest};
use acp_runtime_agent::store::{Claim, SessionStore, StoreError};
use acp_runtime_agent::transcript::SessionId;

use super::LiveSession;

/// What is to be done about a session, as soon as it is open. The error says why one that was unloaded is not.
pub(in crate::acp) type Work = Box<dyn FnOnce(Result<(), OpenError>) + Send>;

/// All sessions that the client has open; cheap to clone.
#[derive(Default, Clone)]
pub(in crate::acp) struct LiveSessions(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    open: HashMap<SessionId, Arc<LiveSession>>,
    unloaded: HashMap<SessionId, Unloaded>,
    /// Each session that is just being opened or ended.
    opening: HashMap<SessionId, Queue>,
    doors: u64,
}

#[derive(Default)]
struct Queue {
    /// The number of the door that it waits at: a session may be opened anew by what has waited for it.
    door: u64,
    work: VecDeque<Work>,
}

/// An open session that is to be ended or opened anew. Dropped, it goes on as it was; what waits for it waits until then.
pub(in crate::acp) struct Held {
    door: Arc<Door>,
    session: Arc<LiveSession>,
    is_kept: bool,
}

/// An open session that is only on disk.
pub(in crate::acp) struct Unloaded {
    /// How it was opened.
    pub(in crate::acp) request: SessionRequest,
    /// What it was.
    pub(in crate::acp) before: Before,
    /// It stays this process's.
    pub(in crate::acp) claim: Claim,
}

impl LiveSessions {
    /// Does `work` at once, or in its order when the session that it is about has been opened. Gives out the session if
    /// it is unloaded: then it is to be opened, and the work is done when the door is dropped.
    pub(in crate::acp) fn when_open(&self, session: Option<&SessionId>, work: Work) -> Option<(Arc<Door>, Unloaded)> {
        let mut known = self.lock();
        if let Some(session) = session {
            if let Some(queue) = known.opening.get_mut(session) {
                queue.work.push_back(work);
                return None;
            }
            if let Some(unloaded) = known.unloaded.remove(session) {
                let door = self.door(&mut known, session);
                known.opening.entry(session.clone()).or_default().work.push_back(work);
                return Some((door, unloaded));
            }
        }
        drop(known);
        work(Ok(()));
        None
    }

    /// Begins to open a session, or to end it: what is to be done about it waits until the door is dropped. Gives out
    /// the session that was open under the id.
    pub(in crate::acp) fn reopen(&self, id: &SessionId) -> (Arc<Door>, Option<Held>) {
        let mut known = self.lock();
        let door = self.door(&mut known, id);
        let held = known.open.remove(id).map(|session| Held { door: door.clone(), session, is_kept: false });
        (door, held)
    }

    /// Begins to unload sessions that nobody uses and nobody has used for so long, at most so many.
    pub(in crate::acp) fn take_unused(&self, since: Duration, most: usize) -> Vec<(Arc<Door>, Held)> {
        let mut known = self.lock();
        let unused = known.open.extract_if(|_, session| Arc::strong_count(session) == 1 && session.unused() >= since);
        let unused: Vec<_> = unused.take(most).collect();
        unused.into_iter().map(|(id, session)| self.hold(&mut known, &id, session)).collect()
    }

    /// The ids of all that are open and not on disk alone.
    pub(in crate::acp) fn open(&self) -> BTreeSet<SessionId> {
        self.lock().open.keys().cloned().collect()
    }

    /// Whether the session is one of these.
    pub(in crate::acp) fn is_open(&self, id: &SessionId) -> bool {
        self.lock().open.contains_key(id)
    }

    /// Begins to open those of `wanted` anew that nobody uses.
    pub(in crate::acp) fn take_idle(&self, wanted: &BTreeSet<SessionId>) -> Vec<(Arc<Door>, Held)> {
        let mut known = self.lock();
        let idle = known.open.extract_if(|id, session| Arc::strong_count(session) == 1 && wanted.contains(id));
        let idle: Vec<_> = idle.collect();
        idle.into_iter().map(|(id, session)| self.hold(&mut known, &id, session)).collect()
    }

    fn hold(&self, known: &mut Known, id: &SessionId, session: Arc<LiveSession>) -> (Arc<Door>, Held) {
        let door = self.door(known, id);
        (door.clone(), Held { door, session, is_kept: false })
    }

    /// Ends the unloading of the session of that door. Gives it back if something was asked of it meanwhile.
    pub(in crate::acp) fn unloaded(&self, door: &Door, session: Unloaded) -> Option<Unloaded> {
        let mut known = self.lock();
        if known.opening.get(&door.id).is_some_and(|queue| !queue.work.is_empty()) {
            return Some(session);
        }
        known.opening.remove(&door.id);
        known.unloaded.insert(door.id.clone(), session);
        None
    }

    /// Adds a session.
    pub(in crate::acp) fn insert(&self, session: Arc<LiveSession>) {
        self.lock().open.insert(session.handle.id().clone(), session);
    }

    pub(in crate::acp) fn get(&self, id: &SessionId) -> Option<Arc<LiveSession>> {
        let session = self.lock().open.get(id).cloned();
        session.inspect(|session| session.touch())
    }

    /// Closes them all, and waits until that was shown and kept.
    pub(in crate::acp) async fn close_all(&self) {
        let sessions: Vec<Arc<LiveSession>> = {
            let mut known = self.lock();
            known.unloaded.clear();
            known.open.drain().map(|(_, session)| session).collect()
        };
        futures::future::join_all(sessions.iter().map(|session| session.close())).await;
    }

    fn door(&self, known: &mut Known, id: &SessionId) -> Arc<Door> {
        known.doors += 1;
        let number = known.doors;
        known.opening.entry(id.clone()).or_default().door = number;
        Arc::new(Door { sessions: self.clone(), id: id.clone(), number, failure: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Takes it out for good: whoever has it ends it.
    pub(in crate::acp) fn keep(mut self) -> Arc<LiveSession> {
        self.is_kept = true;
        self.session.clone()
    }

    pub(in crate::acp) fn door(&self) -> Arc<Door> {
        self.door.clone()
    }

    /// As the client has used it just now.
    pub(in crate::acp) fn touch(&self) {
        self.session.touch();
    }

    /// What it is once it was ended. It stays this process's, or that is the error.
    pub(in crate::acp) async fn to_unload(&self, store: &dyn SessionStore) -> Result<Unloaded, StoreError> {
        Ok(self.unloaded(store.claim(self.door.session()).await?))
    }

    /// The same where nothing can be written, and so nobody else can claim it either.
    pub(in crate::acp) fn to_unload_unclaimed(&self) -> Unloaded {
        self.unloaded(Claim::new(|| Box::pin(async {})))
    }

    fn unloaded(&self, claim: Claim) -> Unloaded {
        Unloaded { request: self.session.request.clone(), before: self.session.handle.before(), claim }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_kept {
            self.door.sessions.insert(self.session.clone());
        }
    }
}

/// A session is just being opened or ended. Dropped, what has waited for it is done, in order; what comes meanwhile
/// after that.
pub(in crate::acp) struct Door {
    sessions: LiveSessions,
    id: SessionId,
    number: u64,
    failure: Mutex<Option<OpenError>>,
}

impl Door {
    /// The session that it is of.
    pub(in crate::acp) fn session(&self) -> &SessionId {
        &self.id
    }

    /// The session cannot be had again: all that has waited for it is told why.
    pub(in crate::acp) fn fail(&self, failure: OpenError) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }

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
        let failure = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        while let Some(work) = self.next() {
            work(failure.clone().map_or(Ok(()), Err));
        }
    }
}
