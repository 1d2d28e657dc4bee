//! Room in the model's window: made before a request that would not fit, while there still is some, and after one that the
//! provider has found too long.

use tokio_util::sync::CancellationToken;

use super::{Compaction, TurnContext, TurnError};
use crate::event::{ContextSize, EventSink as _, Notice, SessionEvent, Severity};

/// The share of the window that the newest outputs of tools may take when the older ones go, as bytes for each token.
const OUTPUT_BYTES: u64 = 1;

/// Bytes of a conversation that a summary is made of in any case.
const LEAST: usize = 8 * 1024;

/// What was tried in this turn to make room.
#[derive(Default)]
pub(super) struct Room {
    /// How many bytes the conversation had after the last summary, or after it failed.
    summed_up: Option<usize>,
    /// Whether the provider has found a request too long.
    overflowed: bool,
}

impl TurnContext {
    /// Makes room where the next request takes more of the window than it may: old outputs of tools go first, then all but
    /// the last turns is summed up. False if it was cancelled. A summary that fails is told of, and the request is tried
    /// as it is.
    pub(super) async fn make_room(&self, room: &mut Room, cancel: &CancellationToken) -> Result<bool, TurnError> {
        let Some(size) = self.outbox.fill().filter(|size| self.is_full(*size)) else { return Ok(true) };
        let keep = usize::try_from(size.window.saturating_mul(OUTPUT_BYTES)).unwrap_or(usize::MAX);
        if let Some(dropped) = self.outbox.outputs_to_drop(keep) {
            self.outbox.emit(dropped);
            if !self.outbox.fill().is_some_and(|size| self.is_full(size)) {
                return Ok(true);
            }
        }
        // One that did not help enough is not made again and again.
        if room.summed_up.is_some_and(|before| self.outbox.bytes() < before.saturating_mul(2)) {
            return Ok(true);
        }
        let outcome = self.compact("", cancel).await;
        room.summed_up = Some(self.outbox.bytes());
        Ok(self.unless_failed(outcome)? != Compaction::Cancelled)
    }

    /// Whether a request that was too long can be made shorter: once in a turn, and where that is wanted at all. What the
    /// person has just said is never cut.
    pub(super) fn may_make_room(&self, room: &Room) -> bool {
        !room.overflowed && self.budget.context().is_some() && self.outbox.keeps_task()
    }

    /// Makes room after a request that was too long, as much as can be had. A summary that fails is told of.
    pub(super) async fn make_room_at_once(
        &self,
        room: &mut Room,
        cancel: &CancellationToken,
    ) -> Result<Compaction, TurnError> {
        room.overflowed = true;
        let title = "What was said is longer than the model's window: it is summed up";
        self.outbox.emit(SessionEvent::Notice(Notice::new(Severity::Info, title)));
        if let Some(dropped) = self.outbox.outputs_to_drop(self.outbox.bytes() / 4) {
            self.outbox.emit(dropped);
        }
        // The summary is asked for with a request that must fit as well.
        let most = (self.outbox.bytes() / 2).max(LEAST);
        let outcome = self.compact_within(most, "", cancel).await;
        room.summed_up = Some(self.outbox.bytes());
        self.unless_failed(outcome)
    }

    /// A summary that failed is told of, and nothing else comes of it.
    fn unless_failed(&self, outcome: Result<Compaction, TurnError>) -> Result<Compaction, TurnError> {
        let Err(TurnError::Model(error)) = outcome else { return outcome };
        let title = "What was said could not be summed up, though the model's window is nearly full";
        self.outbox.emit(SessionEvent::Notice(Notice::new(Severity::Warning, title).described(error.to_string())));
        Ok(Compaction::Nothing)
    }

    fn is_full(&self, ContextSize { used, window }: ContextSize) -> bool {
        let reaches = |percent: u8| used.saturating_mul(100) >= window.saturating_mul(percent.into());
        self.budget.context().is_some_and(reaches)
    }
}
