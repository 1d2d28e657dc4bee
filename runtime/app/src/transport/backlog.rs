//! The bytes that a client has not read yet: one queue between tasks that produce and a thread that writes.
//!
//! Producers wait while it is full, the reader stops reading while it is very full, and a watcher sees when nothing
//! moves. Knows nothing about messages. Tested with its user in `stdio/tests.rs`.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Bytes that are written with one system call at most.
const BATCH: usize = 64 * 1024;
/// How much more than the mark may wait before the client is no longer read from: what it asks for is produced
/// whether there is room or not.
const STOP_READING: usize = 16;
/// Messages that may be on their way here before producers are held back: tasks in between pass them on one by one, and
/// what they still have is no less ahead of the next message than what waits here.
const COMING: usize = 16;

pub(crate) struct Backlog {
    /// Bytes that may wait before producers are held back.
    mark: usize,
    state: Mutex<State>,
    /// Signals the writing thread and the reading one.
    changed: Condvar,
    room: Notify,
}

struct State {
    lines: VecDeque<Vec<u8>>,
    /// Of `lines`, and of what the writing thread has taken and not written yet.
    bytes: usize,
    /// Messages that were announced and are not here yet.
    coming: usize,
    /// When a byte was last written, or the queue last began to fill.
    moved: Instant,
    end: End,
}

#[derive(PartialEq, Eq)]
enum End {
    Open,
    /// Nothing more comes.
    Finished,
    /// Nothing more is written.
    Broken,
}

impl Backlog {
    pub(crate) fn new(mark: usize) -> Self {
        let state = State { lines: VecDeque::new(), bytes: 0, coming: 0, moved: Instant::now(), end: End::Open };
        Self { mark, state: Mutex::new(state), changed: Condvar::new(), room: Notify::new() }
    }

    /// Adds a line. Never waits.
    pub(crate) fn push(&self, line: Vec<u8>) {
        let mut state = self.lock();
        if state.end == End::Broken {
            return;
        }
        if state.bytes == 0 {
            state.moved = Instant::now();
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        drop(state);
        self.changed.notify_all();
    }

    /// A producer sends a message, which will arrive.
    pub(crate) fn announce(&self) {
        self.lock().coming += 1;
    }

    /// A message that was announced has arrived, or was lost.
    pub(crate) fn arrived(&self) {
        let mut state = self.lock();
        state.coming = state.coming.saturating_sub(1);
        let has_room = self.fits(&state);
        drop(state);
        if has_room {
            self.room.notify_waiters();
        }
    }

    /// Waits for lines and appends some to `batch`; false when there will be none.
    pub(crate) fn take(&self, batch: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        loop {
            if state.end == End::Broken {
                return false;
            }
            while batch.len() < BATCH
                && let Some(line) = state.lines.pop_front()
            {
                batch.extend_from_slice(&line);
            }
            if !batch.is_empty() {
                return true;
            }
            if state.end == End::Finished {
                return false;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// So many bytes of what was taken are with the client.
    pub(crate) fn wrote(&self, bytes: usize) {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        state.moved = Instant::now();
        let low = state.bytes < self.mark;
        drop(state);
        if low {
            self.changed.notify_all();
            self.room.notify_waiters();
        }
    }

    /// Nothing more comes; what waits is still written.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        if state.end == End::Open {
            state.end = End::Finished;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Nothing more can be written: what waits is lost, and nobody is held back any longer.
    pub(crate) fn give_up(&self) {
        let mut state = self.lock();
        state.end = End::Broken;
        state.lines.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_all();
        self.room.notify_waiters();
    }

    /// Waits until less than the mark waits and little is on its way, or for nothing if it was given up.
    pub(crate) async fn room(&self) {
        loop {
            let room = self.room.notified();
            if self.has_room() {
                return;
            }
            room.await;
        }
    }

    /// Whether there is nothing to wait for.
    pub(crate) fn has_room(&self) -> bool {
        self.fits(&self.lock())
    }

    fn fits(&self, state: &State) -> bool {
        state.end == End::Broken || (state.bytes < self.mark && state.coming < COMING)
    }

    /// Holds the reading thread while far too much waits; false when it was given up.
    pub(crate) fn may_read(&self) -> bool {
        let mut state = self.lock();
        while state.bytes > self.mark.saturating_mul(STOP_READING) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.end != End::Broken
    }

    /// Whether something waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.lock().bytes > 0
    }

    /// Whether something waits and nothing was written for so long.
    pub(crate) fn is_stalled(&self, limit: Duration) -> bool {
        let state = self.lock();
        state.bytes > 0 && state.moved.elapsed() >= limit
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
