//! The events of an answer as they come: counted, and read for what `genai` leaves out of them.
//!
//! `genai` shows every whole event before it makes something of it. It skips what a model refuses with, blocks of
//! thinking that only the provider can read, in one format events that are none, and in another errors. Whatever of that
//! matters is kept here until the answer is looked at (`flow`). Tested by `tests/it/models/wires.rs`.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use genai::chat::{ChatFrameSink, ChatStreamEvent, FrameCtx, RawFrameRef, StopReason, StreamChunk, StreamEnd};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::flow::{Broken, TooMuch};
use super::settings::WireFormat;

/// The most bytes of one event. The longest ones of honest providers repeat a whole answer, or have an image in them.
pub(super) const EVENT: usize = 4 << 20;
/// The most bytes of all events. A word takes up to 500 of them.
pub(super) const ANSWER: usize = 128 << 20;
/// What an event counts beside its data.
const FRAME: usize = 32;
/// What an event counts that has no data: a sign of life.
const SIGN_OF_LIFE: usize = 1 << 10;
/// What ends the events of `OpenAI`'s formats. It is no JSON.
const DONE: &str = "[DONE]";

/// The events of one answer.
pub(super) struct Frames {
    wire: WireFormat,
    events: AtomicUsize,
    bytes: AtomicUsize,
    longest: AtomicUsize,
    read: Mutex<Read>,
}

/// What is known from reading them.
#[derive(Default)]
struct Read {
    /// The latest event that has anything in it.
    latest: String,
    /// What `genai` does not give, in the order in which it came.
    left_out: VecDeque<ChatStreamEvent>,
    /// Whether the model, or a filter before it, refuses.
    refused: bool,
    /// Why the answer goes no further, where `genai` does not say so.
    broken: Option<Broken>,
    /// What Chat Completions say before their last mark, which some servers leave out: why the model stops, and the tokens.
    finished: StreamEnd,
}

/// How an answer ends that `genai` calls complete.
pub(super) enum Ended {
    /// With a reason.
    Well(Box<StreamEnd>),
    /// The connection was closed before the end.
    Early(Option<Box<Value>>),
    /// Without a reason, or with an error in its place.
    Badly(Option<Box<Value>>),
}

impl Frames {
    /// No events so far of an answer in that format.
    pub(super) fn new(wire: WireFormat) -> Self {
        Self {
            wire,
            events: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            longest: AtomicUsize::new(0),
            read: Mutex::default(),
        }
    }

    /// How many have come.
    pub(super) fn count(&self) -> usize {
        self.events.load(Ordering::Relaxed)
    }

    /// What of them is too much.
    pub(super) fn too_much(&self) -> Option<TooMuch> {
        if self.longest.load(Ordering::Relaxed) > EVENT {
            return Some(TooMuch::Event);
        }
        (self.bytes.load(Ordering::Relaxed) > ANSWER).then_some(TooMuch::Answer)
    }

    /// What was left out since the last look.
    pub(super) fn left_out(&self) -> VecDeque<ChatStreamEvent> {
        self.with(|read| std::mem::take(&mut read.left_out))
    }

    /// Why the answer goes no further, where `genai` goes on.
    pub(super) fn broken(&self) -> Option<Broken> {
        self.with(|read| read.broken.take())
    }

    /// The latest event, where it is JSON.
    pub(super) fn latest(&self) -> Option<Box<Value>> {
        self.with(|read| serde_json::from_str(&read.latest).ok())
    }

    /// Whether an error only means an event that `genai` does not know. Gemini's events are known by what is in them.
    pub(super) fn is_unknown(&self, error: &genai::Error) -> bool {
        self.wire == WireFormat::Gemini
            && matches!(error, genai::Error::ChatResponse { body, .. } if body.get("error").is_none())
    }

    /// The end of events that just stop, where the model had said that it was done.
    pub(super) fn closed(&self) -> Option<StreamEnd> {
        self.with(|read| read.finished.captured_stop_reason.is_some().then(|| std::mem::take(&mut read.finished)))
    }

    /// The end, with the reason that the events give.
    pub(super) fn end(&self, mut end: StreamEnd) -> Ended {
        let latest = self.latest();
        let says = |path: &str, word: &Value| latest.as_ref().and_then(|event| event.pointer(path)) == Some(word);
        let filtered = says("/response/incomplete_details/reason", &"content_filter".into());
        if filtered || self.with(|read| read.refused) {
            end.captured_stop_reason = Some(StopReason::ContentFilter("refusal".to_owned()));
        }
        // Old versions of Ollama give no reason.
        if end.captured_stop_reason.is_none() && self.wire == WireFormat::Ollama && says("/done", &true.into()) {
            end.captured_stop_reason = Some(StopReason::Completed("stop".to_owned()));
        }
        match (end.captured_stop_reason.is_some(), self.wire) {
            (true, _) => Ended::Well(Box::new(end)),
            // For these `genai` makes an end up where there was none.
            (false, WireFormat::OpenaiResponses | WireFormat::Gemini | WireFormat::Ollama) => Ended::Early(latest),
            (false, WireFormat::OpenaiChat | WireFormat::Anthropic) => Ended::Badly(latest),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Read) -> T) -> T {
        look(&mut self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.take(frame.data);
    }
}

impl Frames {
    /// One more event.
    fn take(&self, data: &str) {
        let size = data.len();
        self.events.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(size, Ordering::Relaxed);
        self.bytes.fetch_add(if size == 0 { SIGN_OF_LIFE } else { FRAME + size }, Ordering::Relaxed);
        if size > 0 && size <= EVENT {
            self.with(|read| read.take(self.wire, data));
        }
    }
}

impl Read {
    fn take(&mut self, wire: WireFormat, data: &str) {
        self.latest.clear();
        self.latest.push_str(data);
        // Most events have no such word in them, and are not looked at twice.
        let event = |word: &str| data.contains(word).then(|| serde_json::from_str::<Value>(data).ok()).flatten();
        let text = |event: &Value, path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
        match wire {
            WireFormat::OpenaiChat => {
                let refusal = event("\"refusal\"").and_then(|event| text(&event, "/choices/0/delta/refusal"));
                self.refuse(refusal.filter(|refusal| !refusal.is_empty()));
                let reason = event(r#""finish_reason":""#).or_else(|| event(r#""finish_reason": ""#));
                if let Some(reason) = reason.and_then(|event| text(&event, "/choices/0/finish_reason")) {
                    self.finished.captured_stop_reason = Some(reason.into());
                }
                let usage = event(r#""usage":{"#).or_else(|| event(r#""usage": {"#));
                let usage = usage.and_then(|mut event| serde_json::from_value(event.get_mut("usage")?.take()).ok());
                self.finished.captured_usage = usage.or(self.finished.captured_usage.take());
            }
            WireFormat::OpenaiResponses => {
                let refusal = event("response.refusal.delta").and_then(|event| text(&event, "/delta"));
                self.refuse(refusal);
                if data != DONE
                    && let Err(error) = serde_json::from_str::<IgnoredAny>(data)
                {
                    self.broken.get_or_insert(Broken::Malformed(error.to_string()));
                }
            }
            WireFormat::Anthropic => {
                let block = event(REDACTED).and_then(|mut event| Some(event.get_mut("content_block")?.take()));
                let block = block.filter(|block| block.get("type").and_then(Value::as_str) == Some(REDACTED));
                let kept = |block: Value| StreamChunk { content: block.to_string() };
                self.left_out.extend(block.map(|block| ChatStreamEvent::ThoughtSignatureChunk(kept(block))));
            }
            WireFormat::Gemini => {
                if event("\"blockReason\"").and_then(|event| text(&event, "/promptFeedback/blockReason")).is_some() {
                    self.refused = true;
                    let captured_stop_reason = Some(StopReason::ContentFilter("blocked".to_owned()));
                    let end = StreamEnd { captured_stop_reason, ..StreamEnd::default() };
                    self.left_out.push_back(ChatStreamEvent::End(end));
                }
            }
            WireFormat::Ollama => {
                let failed = event("\"error\"").filter(|event| event.get("error").is_some_and(|it| !it.is_null()));
                self.broken = self.broken.take().or(failed.map(|event| Broken::Early(Some(Box::new(event)))));
            }
        }
    }

    /// The words of a refusal are shown like any others.
    fn refuse(&mut self, words: Option<String>) {
        let Some(content) = words else { return };
        self.refused = true;
        self.left_out.push_back(ChatStreamEvent::Chunk(StreamChunk { content }));
    }
}

/// What Anthropic calls a block of thinking that only it can read. It goes back as it came.
const REDACTED: &str = "redacted_thinking";

/// The block that a signature stands for, where it is one of those.
pub(super) fn redacted_block(signature: &str) -> Option<Value> {
    let block: Value = signature.starts_with('{').then(|| serde_json::from_str(signature).ok())??;
    (block.get("type").and_then(Value::as_str) == Some(REDACTED)).then_some(block)
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::fuzz::Fuzz;

    use super::*;

    const WIRES: [WireFormat; 5] = [
        WireFormat::OpenaiChat,
        WireFormat::OpenaiResponses,
        WireFormat::Anthropic,
        WireFormat::Gemini,
        WireFormat::Ollama,
    ];

    fn fuzz() -> Fuzz {
        Fuzz::of([
            r#"{"choices":[{"delta":{"refusal":"no"}}]}"#,
            r#"{"type":"response.refusal.delta","delta":"no"}"#,
            r#"{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}}"#,
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            r#"{"error":"out of memory","done":true}"#,
            r#"{"response":{"incomplete_details":{"reason":"content_filter"}}}"#,
            "[DONE]",
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}"#,
        ])
        .with_words([
            "\n",
            "{",
            "}",
            "[",
            "]",
            "null",
            "\"refusal\"",
            "redacted_thinking",
            "\"content_block\":",
            "\"error\":{",
            "\"blockReason\":1",
            "\\ud800",
            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
            "\u{202e}",
        ])
    }

    /// Events of each format, one a line: whatever is in them, no more is kept than has come, and an end is come to.
    fn check(input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        for wire in WIRES {
            let frames = Frames::new(wire);
            for data in text.lines().chain([""]) {
                frames.take(data);
            }
            assert_eq!(frames.count(), text.lines().count() + 1);
            let left_out = frames.left_out();
            assert!(left_out.len() <= frames.count() && frames.left_out().is_empty());
            let _ = (frames.broken(), frames.latest(), frames.too_much());
            assert!(frames.broken().is_none(), "it is told once");
            assert!(frames.closed().is_none_or(|end| end.captured_stop_reason.is_some()));
            let (Ended::Well(_) | Ended::Early(_) | Ended::Badly(_)) = frames.end(StreamEnd::default());
            let _ = redacted_block(&text);
        }
    }

    #[test]
    fn an_answer_without_its_last_mark_is_whole_once_its_model_has_finished() {
        let frames = Frames::new(WireFormat::OpenaiChat);
        frames.take(r#"{"choices":[{"delta":{"content":"Yes."},"finish_reason":null}],"usage":null}"#);
        assert!(frames.closed().is_none());
        frames.take(r#"{"choices": [{"delta": {}, "finish_reason": "length"}]}"#);
        frames.take(r#"{"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}"#);
        let end = frames.closed().unwrap();
        assert!(matches!(end.captured_stop_reason, Some(StopReason::MaxTokens(_))), "{end:?}");
        let usage = end.captured_usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(10), Some(2)));
    }

    #[test]
    fn whatever_a_provider_sends_is_read() {
        fuzz().quick(check);
    }

    #[test]
    fn slow_fuzz_whatever_a_provider_sends_is_read() {
        fuzz().slow(check);
    }
}
