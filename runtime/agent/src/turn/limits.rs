//! How far one turn may go, and what is told of it on the way.
//!
//! Near a limit the person is warned; at the limit the turn ends, and says why. Nothing is broken off for a limit but
//! for that of time.

use std::time::Duration;

use tokio::time::Instant;

use crate::context::TurnUse;
use crate::event::{EventSink as _, Notice, SessionEvent, Severity};
use crate::session::Outbox;
use crate::transcript::{Cost, StopReason};

/// The share of a limit, in percent, at which the person is warned.
const WARNED_AT: u32 = 80;
/// How often it is looked whether the time is over, at most.
const LOOK: Duration = Duration::from_millis(20);

/// How far one turn may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// Model requests; default 50. Reaching it ends the turn with [`StopReason::MaxTurnRequests`].
    pub model_requests: u32,
    /// Bytes of one tool call's text that are kept and shown to the model; default 64 KiB.
    pub tool_output: usize,
    /// The time that it takes, without what the person takes for their answers; default none. Reaching it ends the turn
    /// with [`StopReason::MaxTurnRequests`], whatever it is at.
    pub time: Option<Duration>,
    /// Tokens of its requests and their answers; default none. Reaching it ends the turn with [`StopReason::MaxTokens`].
    pub tokens: Option<u64>,
    /// What it costs, in whatever currency prices are in; default none. Reaching it ends the turn with
    /// [`StopReason::MaxTokens`].
    pub cost: Option<f64>,
    /// How often a call may be made while nothing else changes, the time included at which it is refused; default 3, 0
    /// for any number.
    pub same_calls: u32,
    /// The share of the model's window, in percent, at which room is made; default 80, 0 for never.
    pub context: u8,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            model_requests: 50,
            tool_output: 64 * 1024,
            time: None,
            tokens: None,
            cost: None,
            same_calls: 3,
            context: 80,
        }
    }
}

/// A limit that a turn has reached.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reached {
    Requests(u32),
    Time(Duration),
    Tokens {
        used: u64,
        limit: u64,
    },
    Cost {
        used: Cost,
        limit: f64,
    },
    /// The model goes on making a call that was refused for being the same.
    SameCalls {
        tool: String,
        times: u32,
    },
}

impl Reached {
    /// How the turn ends.
    pub(super) fn stop(&self) -> StopReason {
        match self {
            Self::Requests(_) | Self::Time(_) | Self::SameCalls { .. } => StopReason::MaxTurnRequests,
            Self::Tokens { .. } | Self::Cost { .. } => StopReason::MaxTokens,
        }
    }

    /// What the person is told.
    pub(super) fn said(&self) -> String {
        let (why, key) = match self {
            Self::Requests(limit) => (format!("it asked the model {limit} times"), "limits.model_requests"),
            Self::Time(limit) => (format!("it took {} s", limit.as_secs_f64()), "limits.turn_seconds"),
            Self::Tokens { used, limit } => (format!("it used {used} tokens of {limit}"), "limits.turn_tokens"),
            Self::Cost { used: Cost { amount, currency }, limit } => {
                (format!("it cost {amount} {currency} of {limit}"), "limits.turn_cost")
            }
            Self::SameCalls { tool, times } => {
                (format!("the model called `{tool}` {times} times in the same way"), "limits.same_calls")
            }
        };
        format!(
            "The turn was stopped: {why}, and `{key}` allows no more. What was done until then stays; say `go on` to go on."
        )
    }
}

/// What one turn has used up.
pub(super) struct Meter<'a> {
    limits: &'a TurnLimits,
    outbox: &'a Outbox,
    clock: Clock,
    requests: u32,
    warned: Vec<&'static str>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: &'a TurnLimits, outbox: &'a Outbox) -> Self {
        Self { limits, outbox, clock: Clock::start(outbox), requests: 0, warned: Vec::new() }
    }

    /// Counts a request that was answered; the limit that is reached with it.
    pub(super) fn count(&mut self) -> Option<Reached> {
        self.requests += 1;
        let TurnLimits { model_requests, time, tokens, cost, .. } = *self.limits;
        let TurnUse { tokens: used, spending } = self.outbox.turn_use();
        if self.requests >= model_requests {
            return Some(Reached::Requests(model_requests));
        }
        if let Some(limit) = tokens.filter(|limit| used >= *limit) {
            return Some(Reached::Tokens { used, limit });
        }
        let dearest = spending.all().iter().max_by(|one, other| one.amount.total_cmp(&other.amount));
        if let (Some(limit), Some(dearest)) = (cost, dearest)
            && dearest.amount >= limit
        {
            return Some(Reached::Cost { used: dearest.clone(), limit });
        }
        self.warn("model requests", f64::from(self.requests), Some(f64::from(model_requests)));
        self.warn("time", self.clock.elapsed(self.outbox).as_secs_f64(), time.map(|time| time.as_secs_f64()));
        #[expect(clippy::cast_precision_loss, reason = "a share in percent")]
        self.warn("tokens", used as f64, tokens.map(|limit| limit as f64));
        self.warn("cost", dearest.map_or(0.0, |cost| cost.amount), cost);
        None
    }

    /// Warns once of each limit.
    fn warn(&mut self, what: &'static str, used: f64, limit: Option<f64>) {
        let near = limit.is_some_and(|limit| used * 100.0 >= limit * f64::from(WARNED_AT));
        if near && !self.warned.contains(&what) {
            self.warned.push(what);
            let title = format!("This turn has used {WARNED_AT}% of its {what}");
            let notice = Notice::new(Severity::Warning, title).described("It is stopped at the limit; see `limits`.");
            self.outbox.emit(SessionEvent::Notice(notice));
        }
    }
}

/// The time of a turn, which stands still while a person is asked.
struct Clock {
    begun: Instant,
    asked: Duration,
}

impl Clock {
    fn start(outbox: &Outbox) -> Self {
        Self { begun: Instant::now(), asked: outbox.asked() }
    }

    fn elapsed(&self, outbox: &Outbox) -> Duration {
        let asked = outbox.asked().saturating_sub(self.asked);
        self.begun.elapsed().saturating_sub(asked)
    }
}

/// Done when a turn that begins now has taken `time`; never without a limit.
pub(super) async fn overdue(time: Option<Duration>, outbox: &Outbox) -> Duration {
    let Some(time) = time else { return std::future::pending().await };
    let clock = Clock::start(outbox);
    loop {
        let left = time.saturating_sub(clock.elapsed(outbox));
        if left.is_zero() {
            return time;
        }
        tokio::time::sleep(left.max(LOOK)).await;
    }
}
