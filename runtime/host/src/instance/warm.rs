//! The place where a session keeps an instance of a plugin warm: a cache that may be emptied between any two calls.

use std::sync::{Arc, Weak};
use std::time::Duration;

use acp_runtime_agent::capability::OwnFolder;
use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit};
use tokio::time::Instant;

use crate::bindings::Guest;
use crate::scope::Mount;
use crate::state::Call;

/// An instance between two calls.
pub(super) struct Kept {
    pub(super) guest: Guest,
    /// The folders that it sees.
    pub(super) mounts: Vec<Mount>,
    used: Instant,
    /// Whether somebody waits for it to be idle.
    watched: bool,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Kept {
    pub(super) fn new(guest: Guest, mounts: Vec<Mount>, slot: Option<OwnedSemaphorePermit>) -> Self {
        Self { guest, mounts, used: Instant::now(), watched: false, _slot: slot }
    }

    /// Puts the next call into the instance; its lines go where those of the first went, and what it has opened may block
    /// its thread, too.
    pub(super) async fn enter(mut self, call: Call) -> Self {
        let state = self.guest.state();
        let log = state.call.log.clone();
        log.reset();
        if state.call.thread.leaves_executor() {
            call.thread.may_block().await;
        }
        state.call = Call { log, ..call };
        state.limiter.refused = None;
        self
    }

    /// The folders of the plugin's own that it may have opened.
    pub(super) fn granted_folders(&mut self) -> &[OwnFolder] {
        let (files, _) = self.guest.state().files();
        files.granted()
    }

    /// Ends the call: what it was lent goes back.
    pub(super) fn leave(&mut self) {
        self.guest.state().call.session = None;
        self.used = Instant::now();
    }
}

/// The place for one instance.
#[derive(Clone, Default)]
pub(crate) struct WarmSeat(Arc<Mutex<Option<Kept>>>);

impl WarmSeat {
    /// The seat, unless a call sits there.
    pub(super) fn try_occupy(&self) -> Option<OwnedMutexGuard<Option<Kept>>> {
        self.0.clone().try_lock_owned().ok()
    }

    /// Keeps an instance until it was not used for `idle`.
    pub(super) fn keep(&self, mut occupied: OwnedMutexGuard<Option<Kept>>, kept: Kept, idle: Duration) {
        if !kept.watched {
            tokio::spawn(leave_when_idle(Arc::downgrade(&self.0), idle));
        }
        *occupied = Some(Kept { watched: true, ..kept });
    }
}

/// A call that sits on the seat holds its lock, so an empty seat means that the instance is gone.
async fn leave_when_idle(seat: Weak<Mutex<Option<Kept>>>, idle: Duration) {
    let mut wait = idle;
    loop {
        tokio::time::sleep(wait).await;
        let Some(seat) = seat.upgrade() else { return };
        let mut seat = seat.lock().await;
        let Some(kept) = seat.as_ref() else { return };
        wait = idle.saturating_sub(kept.used.elapsed());
        if wait.is_zero() {
            *seat = None;
            return;
        }
    }
}
