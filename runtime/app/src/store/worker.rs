//! A thread with a connection of its own, and the queue of work before it.
//!
//! The writer commits all that waits in one transaction and only then answers, so a burst of small writes costs one
//! commit; a piece of work that fails is undone alone. The reader answers one question at a time from one snapshot, also
//! where nothing can be written: then it opens the file anew for each.
//! The thread and the connection come with the first piece of work. Knows nothing about what the work is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use acp_runtime_agent::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::patience::{Patience, Waiting};
use super::schema::{self, Fault, Readable};

/// What a worker is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Role {
    /// Writes, many pieces of work in a transaction.
    Writer,
    /// Reads, beside the writer.
    Reader,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Writer => "store-writer",
            Self::Reader => "store-reader",
        }
    }

    fn behavior(self) -> TransactionBehavior {
        match self {
            Self::Writer => TransactionBehavior::Immediate,
            Self::Reader => TransactionBehavior::Deferred,
        }
    }

    /// How many pieces of work share a transaction.
    fn most_at_once(self) -> usize {
        match self {
            Self::Writer => 1024,
            Self::Reader => 1,
        }
    }
}

/// The thread, once there is work.
pub(super) struct Worker {
    path: PathBuf,
    role: Role,
    /// Held while a connection is opened, so that two threads do not set up a new file at once.
    opening: Arc<Mutex<()>>,
    patience: Arc<Patience>,
    running: Mutex<Option<Running>>,
    abandoned: AtomicBool,
}

struct Running {
    queue: mpsc::Sender<Box<dyn Job>>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Costs nothing yet.
    pub(super) fn new(path: PathBuf, role: Role, opening: Arc<Mutex<()>>, patience: Arc<Patience>) -> Self {
        Self { path, role, opening, patience, running: Mutex::new(None), abandoned: AtomicBool::new(false) }
    }

    /// Whether the database is there, made by whomever.
    pub(super) fn has_file(&self) -> bool {
        self.path.exists()
    }

    /// Whether there was any work yet.
    pub(super) fn has_begun(&self) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits until all that was submitted is done. Costs nothing where there was no work yet.
    pub(super) async fn idle(&self) -> Result<(), StoreError> {
        if self.has_begun() { self.submit(|_| Ok(())).await } else { Ok(()) }
    }

    /// The thread does not come back from the system: it is not waited for any more, and ends with the process.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    /// Puts work into the queue at once; the future is the answer. Dropped, the work is done all the same.
    pub(super) fn submit<T, W>(&self, work: W) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        self.put(work, false)
    }

    /// [`Worker::submit`]. Dropped before the work was begun, it is not done.
    pub(super) fn submit_while_wanted<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        self.put(work, true)
    }

    fn put<T, W>(&self, work: W, while_wanted: bool) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let queued = self.enqueue(Box::new(Task { work: Some(work), value: None, reply, while_wanted }));
        let path = self.path.clone();
        async move {
            queued?;
            let stopped = |_| Fault::unwritable("the store's thread has stopped").at(&path);
            answer.await.map_err(stopped)?
        }
    }

    fn enqueue(&self, job: Box<dyn Job>) -> Result<(), StoreError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(self.start().map_err(|error| Fault::from(error).at(&self.path))?),
        };
        // A thread that is gone drops the job, and with it the reply: the waiting future says so.
        let _ = running.queue.send(job);
        Ok(())
    }

    fn start(&self) -> std::io::Result<Running> {
        let (queue, jobs) = mpsc::channel();
        let (path, role, opening) = (self.path.clone(), self.role, self.opening.clone());
        let waiting = Waiting::new(self.patience.clone());
        let thread = std::thread::Builder::new().name(role.name().to_owned()).spawn(move || {
            let desk = Desk { path: &path, role, opening: &opening, waiting, connection: None, frozen: false };
            desk.serve(&jobs);
        })?;
        Ok(Running { queue, thread })
    }
}

/// Whatever was submitted is done before the store is gone, unless the system does not let it be done.
impl Drop for Worker {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { queue, thread }) = running {
            drop(queue);
            if !self.abandoned.load(Ordering::Acquire) {
                let _ = thread.join();
            }
        }
    }
}

/// The file as a thread has it before it.
struct Desk<'a> {
    path: &'a Path,
    role: Role,
    opening: &'a Mutex<()>,
    waiting: Waiting,
    connection: Option<Connection>,
    /// Whether it could only be read when it was opened last.
    frozen: bool,
}

impl Desk<'_> {
    fn serve(mut self, jobs: &mpsc::Receiver<Box<dyn Job>>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            batch.extend(jobs.try_iter().take(self.role.most_at_once() - 1));
            self.waiting.begin();
            let (path, role) = (self.path, self.role);
            let done = self.connected().and_then(|db| commit(db, path, role, &mut batch));
            if done.is_err() || self.frozen {
                // The next piece of work opens the file anew: by then it may have been repaired.
                self.connection = None;
            }
            for job in batch {
                job.answer(done.clone());
            }
        }
    }

    fn connected(&mut self) -> Result<&mut Connection, StoreError> {
        let db = if let Some(open) = self.connection.take() {
            open
        } else {
            let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
            self.open().map_err(|fault| fault.at(self.path))?
        };
        Ok(self.connection.insert(db))
    }

    fn open(&mut self) -> Result<Connection, Fault> {
        match self.role {
            Role::Writer => schema::open(self.path, &self.waiting),
            Role::Reader => match schema::open_to_read(self.path, &self.waiting)? {
                Readable::Whole(db) => {
                    self.frozen = false;
                    Ok(db)
                }
                Readable::Frozen(db, why) => {
                    if !std::mem::replace(&mut self.frozen, true) {
                        tracing::warn!("{}; it is only read, and nothing new is kept", why.at(self.path));
                    }
                    Ok(db)
                }
            },
        }
    }
}

fn commit(db: &mut Connection, path: &Path, role: Role, batch: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    let at = |error: rusqlite::Error| Fault::from(error).at(path);
    let mut transaction = db.transaction_with_behavior(role.behavior()).map_err(at)?;
    for job in batch {
        let point = transaction.savepoint().map_err(at)?;
        match job.run(&point, path) {
            Ok(()) => point.commit().map_err(at)?,
            // A full disk may end the whole transaction, and then nobody's work was kept.
            Err(error) if point.is_autocommit() => return Err(error),
            Err(error @ StoreError::Damaged { .. }) => return Err(error),
            Err(_) => drop(point),
        }
    }
    transaction.commit().map_err(at)
}

trait Job: Send {
    /// Does the work and keeps its value for the answer.
    fn run(&mut self, db: &Connection, path: &Path) -> Result<(), StoreError>;
    /// Answers with the value, or with the failure of the transaction.
    fn answer(self: Box<Self>, done: Result<(), StoreError>);
}

struct Task<W, T> {
    work: Option<W>,
    value: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    /// Whether it is not begun where nobody waits for the answer any more.
    while_wanted: bool,
}

impl<W, T> Job for Task<W, T>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, Fault> + Send,
{
    fn run(&mut self, db: &Connection, path: &Path) -> Result<(), StoreError> {
        let Some(work) = self.work.take() else { return Ok(()) };
        if self.while_wanted && self.reply.is_closed() {
            return Ok(());
        }
        let value = work(db).map_err(|fault| fault.at(path));
        let outcome = value.as_ref().map(|_| ()).map_err(Clone::clone);
        self.value = Some(value);
        outcome
    }

    fn answer(self: Box<Self>, done: Result<(), StoreError>) {
        let answer = match (done, self.value) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(value)) => value,
            // Not done, so dropping the reply is the answer.
            (Ok(()), None) => return,
        };
        match self.reply.send(answer) {
            // Whoever took it back does not wait for that.
            Ok(()) | Err(Ok(_) | Err(StoreError::TakenBack)) => {}
            Err(Err(error)) => tracing::warn!("{error}"),
        }
    }
}
