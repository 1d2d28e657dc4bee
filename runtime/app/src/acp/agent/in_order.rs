//! What opens, closes and forgets one session happens in the order in which it was asked for.
//!
//! Each of these takes its place when its request is read, and waits for the one before it: two loads of one session
//! never tell their replays at once, and a session that is closed while it is being loaded ends up closed. Knows
//! nothing about what is done in turn. Tested below and in `acp/tests`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::transcript::SessionId;
use tokio_util::sync::CancellationToken;

/// The last one in each line: cancelled when its turn is over.
#[derive(Default)]
pub(super) struct InOrder(Arc<Mutex<HashMap<SessionId, CancellationToken>>>);

impl InOrder {
    /// Takes the next place in the session's line.
    pub(super) fn queue(&self, session: &SessionId) -> Turn {
        let over = CancellationToken::new();
        let before = lock(&self.0).insert(session.clone(), over.clone());
        Turn { lines: self.0.clone(), session: session.clone(), before, over }
    }
}

/// A place in a session's line, until it is dropped.
pub(super) struct Turn {
    lines: Arc<Mutex<HashMap<SessionId, CancellationToken>>>,
    session: SessionId,
    before: Option<CancellationToken>,
    over: CancellationToken,
}

impl Turn {
    /// Whether the one before is over.
    pub(super) fn has_come(&self) -> bool {
        self.before.as_ref().is_none_or(CancellationToken::is_cancelled)
    }

    /// Waits until the one before is over.
    pub(super) async fn come(&self) {
        if let Some(before) = &self.before {
            before.cancelled().await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.over.cancel();
        let mut lines = lock(&self.lines);
        // The last one of a line that is over takes the line with it.
        if lines.get(&self.session).is_some_and(CancellationToken::is_cancelled) {
            lines.remove(&self.session);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn each_waits_for_the_one_before_it_and_nothing_is_left() {
        let (order, session) = (InOrder::default(), SessionId::new("s"));
        let [first, second, third] = [(); 3].map(|()| order.queue(&session));
        let elsewhere = order.queue(&SessionId::new("t"));
        let come = |turn: &Turn| turn.come().now_or_never().is_some();
        assert!(come(&first) && come(&elsewhere));
        assert!(!come(&second) && !come(&third));
        drop(first);
        assert!(come(&second) && !come(&third));
        drop(second);
        assert!(come(&third));
        drop(third);
        assert!(come(&order.queue(&session)));
        drop(elsewhere);
        assert!(lock(&order.0).is_empty());
    }
}
