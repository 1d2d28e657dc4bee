//! What a turn may use up, shared by the turn and by all children that work for it.
//!
//! A request is counted before it is made, so there are never more of them than the limit, however many children ask at
//! the same time. What a request takes in tokens and money is known only once it was answered: one that may pass the limit
//! is made while no other one is on its way, so that all of them together pass it by what one request takes, as a turn
//! without children does. Pure but for the waiting; tested here and in `tests/it`.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::limits::{Clock, Reached, TurnLimits};
use crate::context::TurnUse;
use crate::outbox::Outbox;
use crate::transcript::{Cost, Usage};

/// The budget of a session's turns. Clones are about the same turn.
#[derive(Clone)]
pub struct Budget {
    limits: TurnLimits,
    /// That of the turn which runs now.
    ledger: Arc<Mutex<Arc<Ledger>>>,
}

impl Budget {
    /// For turns with these limits.
    pub fn new(limits: TurnLimits) -> Self {
        Self { limits, ledger: Arc::new(Mutex::new(Arc::new(Ledger::new(limits)))) }
    }

    /// Requests that whoever has it may make.
    pub(super) fn model_requests(&self) -> u32 {
        self.limits.model_requests
    }

    /// Bytes of a call's text that are kept and shown to the model.
    pub(super) fn tool_output(&self) -> usize {
        self.limits.tool_output
    }

    /// The time that a turn may take.
    pub(super) fn time(&self) -> Option<Duration> {
        self.limits.time
    }

    /// How often the same call may be made.
    pub(super) fn same_calls(&self) -> u32 {
        self.limits.same_calls
    }

    /// The share of the window, in percent, at which room is made; none for never.
    pub(super) fn context(&self) -> Option<u8> {
        Some(self.limits.context).filter(|percent| *percent > 0)
    }

    /// A turn begins, with nothing used. What still works for the one before counts for that.
    pub(crate) fn begin(&self) {
        *lock(&self.ledger) = Arc::new(Ledger::new(self.limits));
    }

    /// What is left of this turn's, for a child that may make so many requests.
    pub(crate) fn for_child(&self, model_requests: u32) -> Self {
        let limits = TurnLimits {
            model_requests: model_requests.min(self.model_requests()),
            // The time of the turn that it works for ends it.
            time: None,
            ..self.limits
        };
        Self { limits, ledger: Arc::new(Mutex::new(self.ledger())) }
    }

    /// The account of the turn that runs now.
    pub(super) fn ledger(&self) -> Arc<Ledger> {
        lock(&self.ledger).clone()
    }
}

/// What one turn and its children have used.
pub(super) struct Ledger {
    limits: TurnLimits,
    state: Mutex<State>,
    /// A request was answered.
    answered: Notify,
    /// Since the first of its parts began.
    clock: OnceLock<Clock>,
}

#[derive(Default)]
struct State {
    requests: u32,
    used: TurnUse,
    /// The most that one request took.
    largest: Size,
    /// What the requests may take that are not answered yet.
    expected: Size,
    under_way: u32,
    warned: Vec<&'static str>,
    /// What has broken the turn off.
    broken_off: Option<Reached>,
}

/// What requests take.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Size {
    tokens: u64,
    cost: f64,
}

/// A request that is under way, until this is dropped.
pub(super) struct Request {
    ledger: Arc<Ledger>,
    size: Size,
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut state = lock(&self.ledger.state);
        state.under_way = state.under_way.saturating_sub(1);
        state.expected.tokens = state.expected.tokens.saturating_sub(self.size.tokens);
        // Sums of floats do not come back to nothing by themselves.
        state.expected.cost = if state.under_way == 0 { 0.0 } else { (state.expected.cost - self.size.cost).max(0.0) };
        drop(state);
        self.ledger.answered.notify_waiters();
    }
}

impl Ledger {
    fn new(limits: TurnLimits) -> Self {
        Self { limits, state: Mutex::default(), answered: Notify::new(), clock: OnceLock::new() }
    }

    /// Whether a child that may make so many requests has fewer than the turn.
    pub(super) fn is_share(&self, model_requests: u32) -> bool {
        model_requests < self.limits.model_requests
    }

    /// The turn's time, which begins when it is first asked for.
    pub(super) fn clock(&self, outbox: &Outbox) -> Clock {
        *self.clock.get_or_init(|| Clock::start(outbox))
    }

    /// Counts a request that is to be made, of about so many tokens. Waits while it may pass a limit and others are under
    /// way. Fails with the limit that is reached.
    pub(super) async fn request(self: &Arc<Self>, tokens: u64) -> Result<Request, Reached> {
        loop {
            let answered = self.answered.notified();
            if let Some(request) = self.try_request(tokens)? {
                return Ok(request);
            }
            answered.await;
        }
    }

    /// None where it has to wait.
    fn try_request(self: &Arc<Self>, tokens: u64) -> Result<Option<Request>, Reached> {
        let TurnLimits { model_requests, tokens: most_tokens, cost: most_cost, .. } = self.limits;
        let mut state = lock(&self.state);
        if state.requests >= model_requests {
            return Err(Reached::Requests(model_requests));
        }
        let used = state.used.tokens;
        if let Some(limit) = most_tokens.filter(|limit| used >= *limit) {
            return Err(Reached::Tokens { used, limit });
        }
        let dearest = dearest(&state.used);
        if let (Some(limit), Some(dearest)) = (most_cost, &dearest)
            && dearest.amount >= limit
        {
            return Err(Reached::Cost { used: dearest.clone(), limit });
        }
        let size = Size { tokens: tokens.max(state.largest.tokens), cost: state.largest.cost };
        let all_tokens = used.saturating_add(state.expected.tokens).saturating_add(size.tokens);
        let all_cost = dearest.map_or(0.0, |cost| cost.amount) + state.expected.cost + size.cost;
        let may_pass =
            most_tokens.is_some_and(|limit| all_tokens > limit) || most_cost.is_some_and(|limit| all_cost > limit);
        if may_pass && state.under_way > 0 {
            return Ok(None);
        }
        state.requests += 1;
        state.under_way += 1;
        state.expected.tokens = state.expected.tokens.saturating_add(size.tokens);
        state.expected.cost += size.cost;
        Ok(Some(Request { ledger: self.clone(), size }))
    }

    /// Takes in what a request took.
    pub(super) fn spend(&self, usage: &Usage) {
        let mut state = lock(&self.state);
        state.used.add(usage);
        let cost = usage.cost.as_ref().map_or(0.0, |cost| cost.amount);
        let largest = &mut state.largest;
        largest.tokens = largest.tokens.max(usage.input.saturating_add(usage.output));
        largest.cost = largest.cost.max(cost);
    }

    /// The limits that are near and that nobody was warned of yet; `seconds` are those that the turn took.
    pub(super) fn near(&self, seconds: f64, share: f64) -> Vec<&'static str> {
        let TurnLimits { model_requests, time, tokens, cost, .. } = self.limits;
        let mut state = lock(&self.state);
        let spent = dearest(&state.used).map_or(0.0, |cost| cost.amount);
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let all = [
            ("model requests", f64::from(state.requests), Some(f64::from(model_requests))),
            ("time", seconds, time.map(|time| time.as_secs_f64())),
            ("tokens", state.used.tokens as f64, tokens.map(|limit| limit as f64)),
            ("cost", spent, cost),
        ];
        let is_near = |used: f64, limit: Option<f64>| limit.is_some_and(|limit| used < limit && used >= limit * share);
        let near = all.into_iter().filter(|(_, used, limit)| is_near(*used, *limit)).map(|(what, ..)| what);
        let new: Vec<&'static str> = near.filter(|what| !state.warned.contains(what)).collect();
        state.warned.extend(&new);
        new
    }

    /// The turn is broken off, and all that works for it.
    pub(super) fn break_off(&self, reached: Reached) {
        lock(&self.state).broken_off.get_or_insert(reached);
    }

    /// What has broken the turn off, if it was no person.
    pub(super) fn broken_off(&self) -> Option<Reached> {
        lock(&self.state).broken_off.clone()
    }
}

/// What was spent in the currency in which it was most.
fn dearest(used: &TurnUse) -> Option<Cost> {
    used.spending.all().iter().max_by(|one, other| one.amount.total_cmp(&other.amount)).cloned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures::future::join_all;

    use super::*;

    fn took(tokens: u64, cost: f64) -> Usage {
        Usage { input: tokens, cost: Some(Cost { amount: cost, currency: "USD".into() }), ..Usage::default() }
    }

    /// Children that ask as often as they may, all at the same time; how often that was, and what they used.
    async fn asked_by_many(limits: TurnLimits, own: u32) -> (u32, TurnUse) {
        let budget = Budget::new(limits);
        budget.begin();
        // The turn's own request, which led to the children.
        drop(budget.ledger().request(0).await.unwrap());
        budget.ledger().spend(&took(100, 0.5));
        let made = AtomicU32::new(1);
        let child = async || {
            let child = budget.for_child(own);
            for _ in 0..child.model_requests() {
                let Ok(request) = child.ledger().request(10).await else { return };
                made.fetch_add(1, Ordering::Relaxed);
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                }
                child.ledger().spend(&took(100, 0.5));
                drop(request);
            }
        };
        join_all((0..8).map(|_| child())).await;
        let used = lock(&budget.ledger().state).used.clone();
        (made.into_inner(), used)
    }

    #[tokio::test]
    async fn children_at_the_same_time_share_one_budget() {
        let none = TurnLimits::default();
        for (limits, own, made) in [
            (TurnLimits { model_requests: 20, ..none }, 20, 20),
            (TurnLimits { model_requests: 20, ..none }, 2, 17),
            (TurnLimits { model_requests: 1, ..none }, 9, 1),
            (TurnLimits { tokens: Some(1000), ..none }, 20, 10),
            (TurnLimits { tokens: Some(950), ..none }, 20, 10),
            (TurnLimits { cost: Some(3.0), ..none }, 20, 6),
            (TurnLimits { cost: Some(3.0), tokens: Some(100), ..none }, 20, 1),
        ] {
            let (requests, used) = asked_by_many(limits, own).await;
            assert_eq!((requests, used.tokens), (made, u64::from(made) * 100), "{limits:?} {own}");
        }
    }

    #[tokio::test]
    async fn what_is_left_over_of_a_turn_counts_for_that() {
        let budget = Budget::new(TurnLimits { model_requests: 2, ..TurnLimits::default() });
        let child = budget.for_child(9);
        budget.begin();
        for _ in 0..2 {
            drop(child.ledger().request(0).await.unwrap());
        }
        assert_eq!(child.ledger().request(0).await.err(), Some(Reached::Requests(2)));
        assert!(budget.ledger().request(0).await.is_ok());
    }

    #[test]
    fn each_limit_is_warned_of_once() {
        let limits = TurnLimits { tokens: Some(1000), ..TurnLimits::default() };
        let ledger = Ledger::new(limits);
        assert!(ledger.near(0.0, 0.8).is_empty());
        ledger.spend(&took(800, 0.0));
        assert_eq!(ledger.near(0.0, 0.8), ["tokens"]);
        ledger.spend(&took(100, 0.0));
        assert!(ledger.near(0.0, 0.8).is_empty());
    }
}
