//! How long the store's threads wait for other processes that hold the file.
//!
//! Several processes write to one file, one after another, and none for long. One that does not let go of it is not
//! waited for: whoever asked is told. When the process is about to end even less is waited, so that nobody else can hold
//! it up.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// For one round of work.
const WHOLE: Duration = Duration::from_secs(5);
/// For the next one after such a round was in vain: whoever holds the file may do so for long, and what waits behind one
/// another would wait for the sum of it all.
const AGAIN: Duration = Duration::from_millis(300);
/// For all that is left to do, when the process is about to end.
const LAST: Duration = Duration::from_millis(300);
/// The longest pause before it is tried again.
const PAUSE: Duration = Duration::from_millis(32);

/// The patience of a store, which its threads share.
#[derive(Default)]
pub(super) struct Patience {
    /// When it ends for all of them, once that is known.
    end: Mutex<Option<Instant>>,
    hurry: Condvar,
}

impl Patience {
    /// From now on hardly anything is waited for.
    pub(super) fn hurry(&self) {
        lock(&self.end).get_or_insert_with(|| Instant::now() + LAST);
        self.hurry.notify_all();
    }
}

/// The patience of one thread.
#[derive(Clone)]
pub(super) struct Waiting {
    shared: Arc<Patience>,
    round: Arc<Mutex<Round>>,
}

struct Round {
    /// When its patience ends.
    end: Instant,
    /// Whether that has happened.
    in_vain: bool,
}

impl Waiting {
    pub(super) fn new(shared: Arc<Patience>) -> Self {
        Self { shared, round: Arc::new(Mutex::new(Round { end: Instant::now() + WHOLE, in_vain: false })) }
    }

    /// Begins a round of work: whatever it has to wait for, it does not wait for longer all together.
    pub(super) fn begin(&self) {
        let mut round = lock(&self.round);
        let patience = if round.in_vain { AGAIN } else { WHOLE };
        *round = Round { end: Instant::now() + patience, in_vain: false };
    }

    /// Waits a little, the longer the more often it was `tried`. False where there is no more patience.
    pub(super) fn once_more(&self, tried: i32) -> bool {
        let mut round = lock(&self.round);
        let all = lock(&self.shared.end);
        let left = all.map_or(round.end, |all| all.min(round.end)).saturating_duration_since(Instant::now());
        if left.is_zero() {
            round.in_vain = true;
            return false;
        }
        let pause = Duration::from_millis(1 << tried.clamp(0, 5)).min(PAUSE).min(left);
        let woken = self.shared.hurry.wait_timeout(all, pause);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
