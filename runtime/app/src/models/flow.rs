//! An answer on its way: as much of it as a model may say, and no waiting for what never ends.
//!
//! A provider is not trusted, and `genai` takes whatever comes: it gathers an event however long it grows, and looks at
//! all of it again with each piece. Every whole event is seen in `frames`; what comes between two of them can only be
//! seen from how often and for how long `genai` works on it. That is meant for a thread with nothing else on it, where
//! each piece of a body is a poll of its own: see `client`. Knows nothing of what is in an event.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures::Stream;
use genai::chat::{ChatStream, ChatStreamEvent};
use serde_json::Value;
use tokio::time::{Sleep, sleep};

use super::frames::{ANSWER, EVENT, Ended, Frames};
use super::settings::Timeouts;

/// The most pieces in which the first event may come, or the words of a refusal. A piece has up to 400 kB.
const FIRST_PIECES: usize = 256;
/// The most pieces of any other event.
const PIECES: usize = 1024;
/// How long the pieces of one event may be worked on.
const WORK: Duration = Duration::from_secs(2);

/// Why an answer goes no further. With the latest event, where it may say more.
#[derive(Debug)]
pub(super) enum Broken {
    /// It could not be had or understood.
    Genai(genai::Error, Option<Box<Value>>),
    /// It ended before its end.
    Early(Option<Box<Value>>),
    /// It ended without a reason.
    Badly(Option<Box<Value>>),
    /// One of its events is none.
    Malformed(String),
    /// It has more of something than any answer.
    TooMuch(TooMuch),
    /// No event was completed for the longest time allowed.
    Silent,
}

/// What a provider sends that no answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    /// One event.
    #[error("an event that is longer than {} MiB, or has no end", EVENT >> 20)]
    Event,
    /// All events together.
    #[error("an answer of more than {} MiB", ANSWER >> 20)]
    Answer,
    /// Tool calls.
    #[error("more than {} tool calls at once", super::calls::MOST)]
    Calls,
}

/// An answer that is watched. It ends with its end, or with its first error.
pub(super) struct Watched {
    /// None after that.
    answer: Option<ChatStream>,
    /// What has come and was not taken yet.
    come: VecDeque<Item>,
    frames: Arc<Frames>,
    timeouts: Timeouts,
    /// The events that were complete at the last look.
    events: usize,
    /// Pieces since then.
    pieces: usize,
    /// Time that was worked on them.
    worked: Duration,
    /// The end of waiting for the next one.
    patience: Option<Pin<Box<Sleep>>>,
}

type Item = Result<ChatStreamEvent, Broken>;

impl Watched {
    /// `frames` is the sink of the answer's frames.
    pub(super) fn new(answer: ChatStream, frames: Arc<Frames>, timeouts: Timeouts) -> Self {
        Self {
            answer: Some(answer),
            come: VecDeque::new(),
            frames,
            timeouts,
            events: 0,
            pieces: 0,
            worked: Duration::ZERO,
            patience: None,
        }
    }

    /// Looks at what has come without making an item. `began` is when it was begun to work on it.
    fn look(&mut self, began: Instant) -> Option<Broken> {
        if let Some(broken) = self.frames.broken() {
            return Some(broken);
        }
        let events = self.frames.count();
        if events > self.events {
            (self.events, self.pieces, self.worked, self.patience) = (events, 0, Duration::ZERO, None);
            return self.frames.too_much().map(Broken::TooMuch);
        }
        self.pieces += 1;
        self.worked += began.elapsed();
        let most = if events == 0 { FIRST_PIECES } else { PIECES };
        (self.pieces > most || self.worked > WORK).then_some(Broken::TooMuch(TooMuch::Event))
    }

    /// What an item is, beside what was left out before it; none for one that means nothing.
    fn judge(&mut self, item: Option<genai::Result<ChatStreamEvent>>) -> Option<Item> {
        self.patience = None;
        if let Some(too_much) = self.frames.too_much() {
            return Some(Err(Broken::TooMuch(too_much)));
        }
        if let Some(broken) = self.frames.broken() {
            return Some(Err(broken));
        }
        match item {
            None => Some(match self.frames.closed() {
                Some(end) => Ok(ChatStreamEvent::End(end)),
                None => Err(Broken::Early(self.frames.latest())),
            }),
            Some(Err(error)) if self.frames.is_unknown(&error) => None,
            Some(Err(error)) => Some(Err(Broken::Genai(error, self.frames.latest()))),
            Some(Ok(ChatStreamEvent::End(end))) => Some(match self.frames.end(end) {
                Ended::Well(end) => Ok(ChatStreamEvent::End(*end)),
                Ended::Early(event) => Err(Broken::Early(event)),
                Ended::Badly(event) => Err(Broken::Badly(event)),
            }),
            Some(Ok(event)) => Some(Ok(event)),
        }
    }

    /// The next item; nothing follows its last one.
    fn take_next(&mut self) -> Option<Item> {
        let next = self.come.pop_front();
        if matches!(next, Some(Err(_) | Ok(ChatStreamEvent::End(_)))) {
            self.answer = None;
            self.come.clear();
        }
        next
    }

    /// Ready when the next event should have been complete. Time in which nobody asks for it does not count.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Timeouts { response_secs, silence_secs } = self.timeouts;
        let seconds = if self.events == 0 { response_secs.saturating_add(silence_secs) } else { silence_secs };
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(Duration::from_secs(seconds))));
        patience.as_mut().poll(cx)
    }
}

impl Stream for Watched {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        loop {
            if let Some(next) = self.take_next() {
                return Poll::Ready(Some(next));
            }
            let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
            let began = Instant::now();
            let polled = Pin::new(answer).poll_next(cx);
            let left_out = self.frames.left_out();
            self.come.extend(left_out.into_iter().map(Ok));
            match polled {
                Poll::Ready(item) => {
                    let item = self.judge(item);
                    self.come.extend(item);
                }
                Poll::Pending => {
                    let broken = self.look(began).map(Err);
                    self.come.extend(broken);
                    if self.come.is_empty() {
                        ready!(self.poll_patience(cx));
                        self.come.push_back(Err(Broken::Silent));
                    }
                }
            }
        }
    }
}
