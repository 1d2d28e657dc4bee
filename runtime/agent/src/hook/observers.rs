//! Telling those that only look on: in order, one after another, and beside all else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Occurrence, Ordered};
use crate::options::Switches;

/// Events that may wait to be told; what comes while so many wait is not told.
const WAITING: usize = 256;
/// How long the end of a session waits for those that still wait to be told.
const FAREWELL: Duration = Duration::from_millis(500);

/// The task that tells them.
pub(super) struct Observers(Mutex<Option<Teller>>);

struct Teller {
    queue: mpsc::Sender<Occurrence>,
    task: JoinHandle<()>,
}

impl Observers {
    pub(super) fn start(hooks: Arc<Ordered>, switches: Switches) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        let task = tokio::spawn(tell_all(waiting, hooks, switches));
        Self(Mutex::new(Some(Teller { queue, task })))
    }

    /// Never waits.
    pub(super) fn tell(&self, occurrence: Occurrence) {
        let event = occurrence.event;
        if let Some(teller) = &*self.lock()
            && teller.queue.try_send(occurrence).is_err()
        {
            tracing::warn!("hooks are not told of `{event}`: {WAITING} events wait already");
        }
    }

    /// Ends the task once all was told, or the time for that is over.
    pub(super) async fn close(&self) {
        let teller = self.lock().take();
        let Some(Teller { queue, mut task }) = teller else { return };
        drop(queue);
        if tokio::time::timeout(FAREWELL, &mut task).await.is_err() {
            tracing::warn!("hooks were not told of all that happened: they took too long");
            task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Teller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn tell_all(mut waiting: mpsc::Receiver<Occurrence>, hooks: Arc<Ordered>, switches: Switches) {
    while let Some(occurrence) = waiting.recv().await {
        for hook in hooks.get(&occurrence.event).into_iter().flatten() {
            if !switches.lets(Some(hook.plugin())) {
                continue;
            }
            // What it thinks of it changes nothing.
            if let Err(failure) = hook.handle(&occurrence).await {
                tracing::warn!("plugin `{}`: its hook for `{}` failed: {failure}", hook.plugin(), occurrence.event);
            }
        }
    }
}
