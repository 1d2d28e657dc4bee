//! Room in the model's window: made before a request that would not fit, while there still is some.

use tokio_util::sync::CancellationToken;

use super::{Compaction, TurnContext, TurnError};
use crate::event::{ContextSize, EventSink as _, Notice, SessionEvent, Severity};

/// The share of the window that the newest outputs of tools may take when the older ones go, as bytes for each token.
const OUTPUT_BYTES: u64 = 1;

/// What was tried in this turn to make room.
#[derive(Default)]
pub(super) struct Room {
    /// How many bytes the conversation had after the last summary, or after it failed.
    summed_up: Option<usize>,
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
        match outcome {
            Ok(Compaction::Cancelled) => return Ok(false),
            Ok(Compaction::Done { .. } | Compaction::Nothing | Compaction::NoModel) => {}
            Err(TurnError::Model(error)) => {
                let title = "What was said could not be summed up, though the model's window is nearly full";
                let notice = Notice::new(Severity::Warning, title).described(error.to_string());
                self.outbox.emit(SessionEvent::Notice(notice));
            }
            Err(error @ (TurnError::Store(_) | TurnError::Internal(_))) => return Err(error),
        }
        Ok(true)
    }

    fn is_full(&self, ContextSize { used, window }: ContextSize) -> bool {
        let limit = u64::from(self.limits.context);
        limit > 0 && used.saturating_mul(100) >= window.saturating_mul(limit)
    }
}
