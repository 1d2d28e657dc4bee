//! How far one turn may go, and what is told of it on the way.
//!
//! Near a limit the person is warned; at the limit the turn ends, and says why. Nothing is broken off for a limit but
//! for that of time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::budget::{Budget, Ledger, Request};
use crate::event::{EventSink as _, Notice, SessionEvent, Severity};
use crate::noun::counted;
use crate::outbox::Outbox;
use crate::tool::ToolError;
use crate::transcript::{Cost, StopReason};

/// The share of a limit, in percent, at which the person is warned.
const WARNED_AT: u32 = 80;
/// Bytes of a token, for a guess at how many a request has.
const TOKEN: usize = 4;
/// How often it is looked whether the time is over, at most.
const LOOK: Duration = Duration::from_millis(20);

/// How far one turn may go, with all that its children do.
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
pub(crate) enum Reached {
    Requests(u32),
    /// The requests that a child was given.
    Task(u32),
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
    pub(crate) fn stop(&self) -> StopReason {
        match self {
            Self::Requests(_) | Self::Task(_) | Self::Time(_) | Self::SameCalls { .. } => StopReason::MaxTurnRequests,
            Self::Tokens { .. } | Self::Cost { .. } => StopReason::MaxTokens,
        }
    }

    /// Why, as a part of a sentence.
    pub(crate) fn why(&self) -> String {
        let (why, key) = match self {
            Self::Requests(limit) => {
                (format!("it asked the model {}", counted(*limit, "time")), "limits.model_requests")
            }
            Self::Task(limit) => (format!("it asked the model {}", counted(*limit, "time")), "max_requests"),
            Self::Time(limit) => (format!("it took {} s", limit.as_secs_f64()), "limits.turn_seconds"),
            Self::Tokens { used, limit } => (format!("it used {used} tokens of {limit}"), "limits.turn_tokens"),
            Self::Cost { used: Cost { amount, currency }, limit } => {
                (format!("it cost {amount} {currency} of {limit}"), "limits.turn_cost")
            }
            Self::SameCalls { tool, times } => {
                let times = counted(*times, "time");
                (format!("the model called `{tool}` {times} in the same way"), "limits.same_calls")
            }
        };
        format!("{why}, and `{key}` allows no more")
    }

    /// What the person is told.
    pub(crate) fn said(&self) -> String {
        format!("The turn was stopped: {}. What was done until then stays; say `go on` to go on.", self.why())
    }

    /// What a call is told that was broken off for it.
    pub(super) fn as_error(&self) -> ToolError {
        ToolError::to_model("limit", format!("the turn was stopped: {}", self.why()))
    }
}

/// Counts the requests of a turn, or of a child.
pub(super) struct Meter<'a> {
    budget: &'a Budget,
    ledger: Arc<Ledger>,
    outbox: &'a Outbox,
    requests: u32,
}

impl<'a> Meter<'a> {
    pub(super) fn new(budget: &'a Budget, outbox: &'a Outbox) -> Self {
        Self { budget, ledger: budget.ledger(), outbox, requests: 0 }
    }

    /// Counts a request that is to be made, and warns of limits that are near; fails with the one that is reached.
    pub(super) async fn request(&mut self) -> Result<Request, Reached> {
        let own = self.budget.model_requests();
        if self.requests >= own && self.ledger.is_share(own) {
            return Err(Reached::Task(own));
        }
        let tokens = u64::try_from(self.outbox.bytes() / TOKEN).unwrap_or(u64::MAX);
        let request = self.ledger.request(tokens).await?;
        self.requests += 1;
        let seconds = self.ledger.clock(self.outbox).elapsed(self.outbox).as_secs_f64();
        for what in self.ledger.near(seconds, f64::from(WARNED_AT) / 100.0) {
            let title = format!("This turn has used {WARNED_AT}% of its {what}");
            let notice = Notice::new(Severity::Warning, title).described("It is stopped at the limit; see `limits`.");
            self.outbox.emit(SessionEvent::Notice(notice));
        }
        Ok(request)
    }
}

/// The time of a turn, which stands still while a person is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    begun: Instant,
    asked: Duration,
}

impl Clock {
    pub(super) fn start(outbox: &Outbox) -> Self {
        Self { begun: Instant::now(), asked: outbox.asked() }
    }

    fn elapsed(&self, outbox: &Outbox) -> Duration {
        let asked = outbox.asked().saturating_sub(self.asked);
        self.begun.elapsed().saturating_sub(asked)
    }
}

/// Done when the turn has taken the time of its budget; never without a limit.
pub(super) async fn overdue(budget: &Budget, outbox: &Outbox) -> Duration {
    let Some(time) = budget.time() else { return std::future::pending().await };
    let clock = budget.ledger().clock(outbox);
    loop {
        let left = time.saturating_sub(clock.elapsed(outbox));
        if left.is_zero() {
            return time;
        }
        tokio::time::sleep(left.max(LOOK)).await;
    }
}
