//! An answer on its way: as much of it as a model may say, and no waiting for what never ends.
//!
//! A provider is not trusted, and `genai` takes whatever comes: it gathers an event however long it grows, and looks at
//! all of it again with each piece. Its frame sink shows every whole event; what comes between two of them can only be
//! seen from how often and for how long it works on it. That is meant for a thread with nothing else on it, where each
//! piece of a body is a poll of its own: see `client`. Knows nothing of what is in an event.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures::Stream;
use genai::chat::{ChatFrameSink, ChatStream, ChatStreamEvent, FrameCtx, RawFrameRef};
use tokio::time::{Sleep, sleep};

use super::settings::Timeouts;

/// The most bytes of one event. The longest ones of honest providers repeat a whole answer, or have an image in them.
const EVENT: usize = 4 << 20;
/// The most bytes of all events. A word takes up to 500 of them.
const ANSWER: usize = 128 << 20;
/// What an event counts beside its data.
const FRAME: usize = 32;
/// What an event counts that has no data: a sign of life.
const SIGN_OF_LIFE: usize = 1 << 10;
/// The most pieces in which the first event may come, or the words of a refusal. A piece has up to 400 kB.
const FIRST_PIECES: usize = 256;
/// The most pieces of any other event.
const PIECES: usize = 1024;
/// How long the pieces of one event may be worked on.
const WORK: Duration = Duration::from_secs(2);

/// Why an answer goes no further.
#[derive(Debug)]
pub(super) enum Broken {
    /// It could not be had or understood.
    Genai(genai::Error),
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

/// Counts the events of one answer.
#[derive(Default)]
pub(super) struct Meter {
    events: AtomicUsize,
    bytes: AtomicUsize,
    longest: AtomicUsize,
}

impl ChatFrameSink for Meter {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let size = frame.data.len();
        self.events.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(size, Ordering::Relaxed);
        self.bytes.fetch_add(if size == 0 { SIGN_OF_LIFE } else { FRAME + size }, Ordering::Relaxed);
    }
}

impl Meter {
    fn too_much(&self) -> Option<TooMuch> {
        if self.longest.load(Ordering::Relaxed) > EVENT {
            return Some(TooMuch::Event);
        }
        (self.bytes.load(Ordering::Relaxed) > ANSWER).then_some(TooMuch::Answer)
    }
}

/// An answer that is watched. It ends with its first error.
pub(super) struct Watched {
    /// None after an error.
    answer: Option<ChatStream>,
    meter: Arc<Meter>,
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

impl Watched {
    /// `meter` is the sink of the answer's frames.
    pub(super) fn new(answer: ChatStream, meter: Arc<Meter>, timeouts: Timeouts) -> Self {
        Self { answer: Some(answer), meter, timeouts, events: 0, pieces: 0, worked: Duration::ZERO, patience: None }
    }

    /// Looks at what has come. `began` is when it was begun to work on it.
    fn look(&mut self, began: Instant) -> Option<TooMuch> {
        let events = self.meter.events.load(Ordering::Relaxed);
        if events > self.events {
            (self.events, self.pieces, self.worked, self.patience) = (events, 0, Duration::ZERO, None);
            return self.meter.too_much();
        }
        self.pieces += 1;
        self.worked += began.elapsed();
        let most = if events == 0 { FIRST_PIECES } else { PIECES };
        (self.pieces > most || self.worked > WORK).then_some(TooMuch::Event)
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
    type Item = Result<ChatStreamEvent, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(answer) = &mut self.answer else { return Poll::Ready(None) };
        let began = Instant::now();
        let item = match Pin::new(answer).poll_next(cx) {
            Poll::Ready(item) => {
                self.patience = None;
                let too_much = self.meter.too_much().map(|too_much| Err(Broken::TooMuch(too_much)));
                too_much.or_else(|| item.map(|item| item.map_err(Broken::Genai)))
            }
            Poll::Pending => {
                let too_much = self.look(began).map(Broken::TooMuch);
                if too_much.is_none() {
                    ready!(self.poll_patience(cx));
                }
                Some(Err(too_much.unwrap_or(Broken::Silent)))
            }
        };
        if !matches!(item, Some(Ok(_))) {
            self.answer = None;
        }
        Poll::Ready(item)
    }
}
