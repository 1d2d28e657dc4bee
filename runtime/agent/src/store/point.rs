//! Until when something can be taken back without a trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const BEFORE: u8 = 0;
const PASSED: u8 = 1;
const TURNED_BACK: u8 = 2;

/// Until when work can be taken back. Who does the work passes the point before the first effect; who wants it no longer
/// turns back before that. Whichever comes first holds. Clones are the same point.
#[derive(Debug, Clone, Default)]
pub struct PointOfNoReturn(Arc<AtomicU8>);

impl PointOfNoReturn {
    /// That of work which is done in any case.
    pub fn passed() -> Self {
        Self(Arc::new(AtomicU8::new(PASSED)))
    }

    /// Passes it; false where it was turned back before, and nothing may be done any more.
    #[must_use = "where it was turned back nothing may be done"]
    pub fn pass(&self) -> bool {
        self.decide(PASSED)
    }

    /// Takes the work back; false where the point was passed, and the work is done to its end.
    pub fn turn_back(&self) -> bool {
        self.decide(TURNED_BACK)
    }

    /// Turns back when it is dropped.
    pub fn turns_back_when_dropped(&self) -> impl Drop + Send + use<> {
        TurnsBack(self.clone())
    }

    fn decide(&self, outcome: u8) -> bool {
        let decided = self.0.compare_exchange(BEFORE, outcome, Ordering::AcqRel, Ordering::Acquire);
        decided.err().is_none_or(|before| before == outcome)
    }
}

struct TurnsBack(PointOfNoReturn);

impl Drop for TurnsBack {
    fn drop(&mut self) {
        self.0.turn_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_holds() {
        let point = PointOfNoReturn::default();
        assert!(point.pass() && point.clone().pass() && !point.turn_back());
        let point = PointOfNoReturn::default();
        assert!(point.turn_back() && point.turn_back() && !point.pass());
        assert!(!PointOfNoReturn::passed().turn_back());
        let point = PointOfNoReturn::default();
        drop(point.turns_back_when_dropped());
        assert!(!point.pass());
    }
}
