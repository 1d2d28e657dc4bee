//! Sessions, plugins' values and remembered answers in one `SQLite` file, and long outputs of tools beside it.
//!
//! Constructing a [`SqliteStore`] costs nothing: the file is opened by the first piece of work. One thread writes, and
//! commits all that waits for it together; another one reads beside it. What was answered survives the death of the
//! process (write-ahead log, `synchronous = NORMAL`). Several processes may use the file at once, each on sessions of
//! its own (room `owner`). What is kept can be read also where nothing can be written. Knows nothing about clients and
//! models. Tested by the conformance suite of `SessionStore`, by killing a process that writes, by damaging the file, and
//! on disks that are full or may not be written.

mod answers;
mod journal;
mod kv;
mod outputs;
mod owner;
mod patience;
mod schema;
mod trust;
mod worker;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::store::{
    Claim, KeptOutput, KeptSession, ListQuery, PointOfNoReturn, SessionPage, SessionRecord, SessionSetup, SessionStore,
    StoreError,
};
use acp_runtime_agent::transcript::{SessionId, ToolCallId};
use futures::FutureExt;
use futures::future::BoxFuture;
use rusqlite::Connection;

pub use self::answers::{Answer, Answers, PluginIdentity, Subject};
pub use self::kv::{KvSpace, KvWrite};
use self::outputs::{Outputs, Provisional};
use self::owner::Owner;
use self::patience::Patience;
use self::schema::Fault;
pub use self::trust::ProjectTrust;
use self::worker::{Role, Worker};

/// The store on disk. Clones share it; the last one to go waits until all that was submitted is written.
#[derive(Clone)]
pub struct SqliteStore(Arc<Shared>);

/// Which sessions are kept. One that was opened and never used is forgotten after a day in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those that had an event within so many days; 0 for all.
    pub days: u32,
    /// So many at most, those of the latest events; 0 for all.
    pub sessions: u32,
}

/// What the store must hold of a session before its next events: it is claimed, opened with `setup`, and goes on with
/// `events`.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrears {
    /// How many events there were when it was read. With others than those it is not the same session any more.
    pub seen: usize,
    /// What it was opened with.
    pub setup: SessionSetup,
    /// What was added to them.
    pub events: Vec<SessionEvent>,
}

/// Whether a claim is written down when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Now,
    /// With the session's next events.
    Later,
}

struct Shared {
    writer: Worker,
    reader: Worker,
    patience: Arc<Patience>,
    /// This process, as the file names it.
    owner: Arc<Owner>,
    outputs: Outputs,
    /// Sessions that were created but may not be on disk yet. Writing one is tried again with its first events.
    created: Mutex<HashMap<SessionId, SessionRecord>>,
    /// Sessions that were opened while nothing could be written. That is made good with their next events.
    owed: Mutex<HashMap<SessionId, Arrears>>,
    /// Sessions that were forgotten while this process works on them: what comes of them still is kept nowhere.
    forgotten: Arc<Mutex<HashSet<SessionId>>>,
    /// How many claims there are on each session. Held while work on them is submitted, so that giving a session back
    /// and claiming it again are written in that order.
    claims: Mutex<HashMap<SessionId, usize>>,
}

impl SqliteStore {
    /// The store in the file `path`, which is made when it is first needed, with the folders above it. Long outputs are
    /// in a folder beside it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let outputs = Outputs::beside(&path);
        let (opening, patience) = (Arc::new(Mutex::new(())), Arc::new(Patience::default()));
        Self(Arc::new(Shared {
            writer: Worker::new(path.clone(), Role::Writer, opening.clone(), patience.clone()),
            owner: Arc::new(Owner::beside(&path)),
            reader: Worker::new(path, Role::Reader, opening, patience.clone()),
            patience,
            outputs,
            created: Mutex::default(),
            owed: Mutex::default(),
            forgotten: Arc::default(),
            claims: Mutex::default(),
        }))
    }

    /// Forgets the sessions that are not to be kept, apart from those that are open, and says how many. Outputs that
    /// belong to no session go in any case. Where there is no file yet, none is made.
    pub async fn retain(&self, retention: Retention) -> Result<usize, StoreError> {
        const YOUNG: Duration = Duration::from_hours(1);
        if !self.0.writer.has_file() {
            return Ok(0);
        }
        let (owner, now) = (self.0.owner.clone(), SystemTime::now());
        let forgotten = self.0.writer.submit(move |db| journal::forget_old(db, &owner, now, retention)).await?;
        // What is younger may be of a session that another process is about to make known.
        let kept = self.with_outputs(|outputs| outputs.sessions(YOUNG)).await.unwrap_or_default();
        if !kept.is_empty() {
            let known = self.0.reader.submit(journal::ids).await?;
            let strays = kept.into_iter().filter(move |session| !known.contains(session));
            self.with_outputs(|outputs| strays.into_iter().try_for_each(|session| outputs.forget(&session))).await;
        }
        Ok(forgotten)
    }

    /// Works on the folder of outputs. What fails there costs nothing but the outputs, and is logged.
    async fn with_outputs<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Outputs) -> io::Result<T> + Send + 'static,
    ) -> Option<T> {
        let shared = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&shared.outputs)).await;
        let done = done.unwrap_or_else(|panic| Err(io::Error::other(panic)));
        done.inspect_err(|error| tracing::warn!("the folder of long tool outputs: {error}")).ok()
    }

    /// The events of `from` as those of `to`, and the outputs that it has of its own then. Where that fails they stay as
    /// they are.
    async fn with_own_outputs(
        &self,
        from: SessionId,
        to: SessionId,
        events: Arc<[SessionEvent]>,
    ) -> (Arc<[SessionEvent]>, Option<Provisional>) {
        let mut own = events.to_vec();
        if own.iter_mut().flat_map(SessionEvent::links_mut).next().is_none() {
            return (events, None);
        }
        let shared = self.with_outputs(move |outputs| {
            let provisional = Provisional::new(outputs.clone(), to.clone());
            for uri in own.iter_mut().flat_map(SessionEvent::links_mut) {
                if let Some(shared) = outputs.share(&from, &to, uri)? {
                    *uri = shared;
                }
            }
            Ok((own.into(), Some(provisional)))
        });
        shared.await.unwrap_or((events, None))
    }

    /// Fails where nothing can be written, as far as that can be known without writing.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        self.0.writer.submit(|_| Ok(())).await
    }

    /// Writes the arrears of a session at once, all or none; nothing where that was taken back before `point`.
    pub async fn make_good(
        &self,
        session: &SessionId,
        arrears: Arrears,
        point: PointOfNoReturn,
    ) -> Result<(), StoreError> {
        let (session, owner) = (session.clone(), self.0.owner.clone());
        let work = move |db: &Connection| {
            pass(&point)?;
            journal::make_good(db, &owner, &session, &arrears)
        };
        self.0.writer.submit(work).await
    }

    /// Claims a session where nothing can be written. All that is written later goes behind its arrears; until then
    /// every [`SessionStore::append`] fails.
    pub fn claim_unwritten(&self, session: &SessionId, arrears: Arrears) -> Claim {
        let (claim, _) = self.claiming(session, Written::Later, || self.0.owed().insert(session.clone(), arrears));
        claim
    }

    /// Waits until all that was submitted is written, and gives back every session: for the end of the process, which
    /// does not wait for those who still hold a clone. What takes longer than `most` is not waited for, and neither is it
    /// when the last clone goes.
    pub async fn leave(&self, most: Duration) {
        self.hurry();
        let Shared { writer, reader, owner, .. } = &*self.0;
        let left = async {
            // Whoever wanted something of it was told if there is trouble.
            let (written, read) = futures::join!(writer.idle(), reader.idle());
            for error in [written, read].into_iter().filter_map(Result::err) {
                tracing::debug!("{error}");
            }
        };
        if tokio::time::timeout(most, left).await.is_err() {
            tracing::warn!("the session store does not come to an end: not waited for any longer");
            writer.abandon();
            reader.abandon();
            return;
        }
        // That this process lives is a file of its own.
        owner.leave();
    }

    /// Counts a claim; `work` writes it down, or notes that it is to be.
    fn claiming<T>(&self, session: &SessionId, written: Written, work: impl FnOnce() -> T) -> (Claim, T) {
        let mut claims = self.0.claims();
        *claims.entry(session.clone()).or_default() += 1;
        let (shared, session) = (Arc::downgrade(&self.0), session.clone());
        let claim = Claim::new(move || match shared.upgrade() {
            Some(shared) => shared.give_back(&session, written),
            None => futures::future::ready(()).boxed(),
        });
        (claim, work())
    }
}

impl Shared {
    fn created(&self) -> MutexGuard<'_, HashMap<SessionId, SessionRecord>> {
        lock(&self.created)
    }

    fn owed(&self) -> MutexGuard<'_, HashMap<SessionId, Arrears>> {
        lock(&self.owed)
    }

    fn forgotten(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        lock(&self.forgotten)
    }

    fn claims(&self) -> MutexGuard<'_, HashMap<SessionId, usize>> {
        lock(&self.claims)
    }

    /// Ends one claim; the last one gives the session back.
    fn give_back(self: Arc<Self>, session: &SessionId, written: Written) -> BoxFuture<'static, ()> {
        let mut claims = self.claims();
        // What others of this process have claimed since then is theirs, and owes nothing.
        let is_owed = written == Written::Later && self.owed().remove(session).is_some();
        let left = claims.get_mut(session).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left > 0 {
            return futures::future::ready(()).boxed();
        }
        claims.remove(session);
        if is_owed {
            // Nothing says that it is this process's.
            return futures::future::ready(()).boxed();
        }
        let is_forgotten = self.forgotten().remove(session);
        let (owner, id, session) = (self.owner.clone(), session.clone(), session.clone());
        let given = self.writer.submit(move |db| {
            if is_forgotten {
                return journal::forget_values(db, &id);
            }
            journal::give_back(db, &owner, &id)
        });
        drop(claims);
        async move {
            match given.await {
                Ok(()) => drop(self.created().remove(&session)),
                Err(error) => tracing::warn!("a session stays this process's until its end: {error}"),
            }
        }
        .boxed()
    }
}

/// Passes the point, unless it was turned back.
fn pass(point: &PointOfNoReturn) -> Result<(), Fault> {
    if point.pass() { Ok(()) } else { Err(Fault::TakenBack) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionStore for SqliteStore {
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<Claim, StoreError>> {
        self.0.created().insert(record.id.clone(), record.clone());
        let (id, owner) = (record.id.clone(), self.0.owner.clone());
        // Not waited for: a failure is met again by the first `append`.
        let submit = || drop(self.0.writer.submit(move |db| journal::insert(db, &owner, &record)));
        let (claim, ()) = self.claiming(&id, Written::Now, submit);
        futures::future::ready(Ok(claim)).boxed()
    }

    fn claim(&self, session: &SessionId) -> BoxFuture<'_, Result<Claim, StoreError>> {
        let (id, owner) = (session.clone(), self.0.owner.clone());
        let submit = || self.0.writer.submit(move |db| journal::claim(db, &owner, &id));
        let (claim, claimed) = self.claiming(session, Written::Now, submit);
        async move { claimed.await.map(|()| claim) }.boxed()
    }

    fn set_up(&self, session: &SessionId, setup: SessionSetup) -> BoxFuture<'_, Result<(), StoreError>> {
        if let Some(new) = self.0.created().get_mut(session) {
            new.setup = setup.clone();
        }
        let session = session.clone();
        self.0.writer.submit(move |db| journal::set_up(db, &session, &setup)).boxed()
    }

    fn append(&self, session: &SessionId, events: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>> {
        if events.is_empty() {
            return futures::future::ready(Ok(())).boxed();
        }
        let id = session.clone();
        let new = self.0.created().get(session).cloned();
        let owed = self.0.owed().get(session).cloned();
        let (is_new, is_owed) = (new.is_some(), owed.is_some());
        let (session, owner, forgotten) = (session.clone(), self.0.owner.clone(), self.0.forgotten.clone());
        let written = self.0.writer.submit(move |db| {
            if lock(&forgotten).contains(&session) {
                return Ok(());
            }
            if let Some(record) = new {
                journal::insert(db, &owner, &record)?;
            }
            if let Some(arrears) = owed {
                journal::make_good(db, &owner, &session, &arrears)?;
            }
            journal::append(db, &session, &events)
        });
        async move {
            written.await?;
            if is_new {
                self.0.created().remove(&id);
            }
            if is_owed {
                self.0.owed().remove(&id);
            }
            Ok(())
        }
        .boxed()
    }

    fn fork(
        &self,
        source: &SessionId,
        record: SessionRecord,
        events: Arc<[SessionEvent]>,
        point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<Claim, StoreError>> {
        let (source, id, owner) = (source.clone(), record.id.clone(), self.0.owner.clone());
        async move {
            let (events, outputs) = self.with_own_outputs(source.clone(), id.clone(), events).await;
            let work = move |db: &Connection| {
                pass(&point)?;
                journal::fork(db, &owner, &source, &record, &events)?;
                outputs.into_iter().for_each(Provisional::keep);
                Ok(())
            };
            let (claim, kept) = self.claiming(&id, Written::Now, || self.0.writer.submit(work));
            kept.await.map(|()| claim)
        }
        .boxed()
    }

    fn load(&self, session: &SessionId) -> BoxFuture<'_, Result<Option<KeptSession>, StoreError>> {
        let new = self.0.created().get(session).cloned();
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

    fn keep_output(&self, session: &SessionId, call: &ToolCallId, text: String) -> BoxFuture<'_, Option<KeptOutput>> {
        if self.0.forgotten().contains(session) {
            return futures::future::ready(None).boxed();
        }
        let (session, call) = (session.clone(), call.clone());
        self.with_outputs(move |outputs| outputs.keep(&session, &call, &text)).boxed()
    }

    fn delete(&self, session: &SessionId, point: PointOfNoReturn) -> BoxFuture<'_, Result<(), StoreError>> {
        let session = session.clone();
        async move {
            let is_open = self.0.claims().contains_key(&session);
            let was_forgotten = self.0.forgotten().contains(&session);
            let (id, owner, forgotten) = (session.clone(), self.0.owner.clone(), self.0.forgotten.clone());
            let work = move |db: &Connection| {
                pass(&point)?;
                journal::delete(db, &owner, &id)?;
                // In its place among the work: what was appended before is gone, what comes after is not kept.
                if is_open {
                    lock(&forgotten).insert(id);
                }
                Ok(())
            };
            if let Err(error) = self.0.writer.submit(work).await {
                if !was_forgotten {
                    self.0.forgotten().remove(&session);
                }
                return Err(error);
            }
            self.0.created().remove(&session);
            self.0.owed().remove(&session);
            self.with_outputs(move |outputs| outputs.forget(session.as_str())).await;
            Ok(())
        }
        .boxed()
    }

    fn hurry(&self) {
        self.0.patience.hurry();
    }
}

#[cfg(test)]
mod tests;
