//! One answer of a provider: what its pieces mean, and whether the whole counts.
//!
//! Tool calls are told of as they come, and taken whole at the end. An answer counts with a reason to stop and something in it.

use acp_runtime_agent::model::{ModelError, ModelEvent};
use acp_runtime_agent::transcript::{Price, StopReason, Usage};
use genai::chat::{ChatStreamEvent, StreamEnd};

use super::calls::{self, Calls};
use super::failure::Failures;
use super::flow::TooMuch;
use super::frames::redacted_block;
use super::settings::WireFormat;
use super::structured::Reader;

/// What has been answered so far.
pub(super) struct Answer {
    text: bool,
    thought: bool,
    signed: bool,
    /// What has come of a signature; none where it comes whole.
    signature: Option<String>,
    /// What is told of them until they are whole.
    calls: Calls,
    /// Where the text is more than text.
    reader: Option<Reader>,
}

impl Answer {
    /// Nothing yet, in that format. `structured` where it is to be JSON of our schema.
    pub(super) fn new(wire: WireFormat, structured: bool) -> Self {
        Self {
            text: false,
            thought: false,
            signed: false,
            signature: (wire == WireFormat::Anthropic).then(String::new),
            calls: Calls::new(wire),
            reader: structured.then(Reader::default),
        }
    }

    /// Whether the person has seen something of it.
    pub(super) fn began(&self) -> bool {
        self.text || self.thought || !self.calls.is_empty()
    }

    /// What a chunk means. Tool calls are whole at the end.
    pub(super) fn take(&mut self, event: ChatStreamEvent) -> Result<impl Iterator<Item = ModelEvent>, TooMuch> {
        let mut before = None;
        let mut pieces = Vec::new();
        let event = match event {
            ChatStreamEvent::Chunk(chunk) => {
                before = self.signature();
                let text = match &mut self.reader {
                    Some(reader) => reader.take(&chunk.content),
                    None => Some(chunk.content),
                };
                // Some providers begin with a word of no letters, which nobody sees.
                let text = text.filter(|text| !text.is_empty());
                self.text |= text.is_some();
                text.map(ModelEvent::Text)
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                before = self.signature();
                let thought = Some(chunk.content).filter(|thought| !thought.is_empty());
                self.thought |= thought.is_some();
                thought.map(ModelEvent::Thought)
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => {
                self.signed = true;
                match &mut self.signature {
                    Some(signature) if redacted_block(&chunk.content).is_none() => {
                        signature.push_str(&chunk.content);
                        None
                    }
                    _ => {
                        before = self.signature();
                        Some(ModelEvent::ThoughtSignature(chunk.content))
                    }
                }
            }
            ChatStreamEvent::ToolCallChunk(piece) => {
                before = self.signature();
                pieces = self.calls.add(piece.tool_call)?;
                None
            }
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::End(_) => None,
        };
        Ok(before.into_iter().chain(event).chain(pieces))
    }

    /// The signature that has come, whole.
    fn signature(&mut self) -> Option<ModelEvent> {
        let signature = self.signature.as_mut().filter(|signature| !signature.is_empty())?;
        Some(ModelEvent::ThoughtSignature(std::mem::take(signature)))
    }

    /// The last events, or why the answer does not count.
    pub(super) fn finish(
        mut self,
        mut end: StreamEnd,
        failures: &Failures,
        account: &Account,
    ) -> Result<Vec<ModelEvent>, ModelError> {
        let stop = match &end.captured_stop_reason {
            Some(genai::chat::StopReason::MaxTokens(_)) => StopReason::MaxTokens,
            Some(genai::chat::StopReason::ContentFilter(_)) => StopReason::Refusal,
            Some(genai::chat::StopReason::Other(reason)) => return Err(failures.odd_stop(reason)),
            Some(
                genai::chat::StopReason::Completed(_)
                | genai::chat::StopReason::ToolCall(_)
                | genai::chat::StopReason::StopSequence(_),
            )
            | None => StopReason::EndTurn,
        };
        let mut events: Vec<ModelEvent> = self.signature().into_iter().collect();
        if !self.signed {
            let signatures = end.captured_thought_signatures().unwrap_or_default();
            events.extend(signatures.into_iter().map(|signature| ModelEvent::ThoughtSignature(signature.to_owned())));
        }
        let said = |usage: &genai::chat::Usage| usage.prompt_tokens.is_some() || usage.completion_tokens.is_some();
        let usage = end.captured_usage.take().filter(said);
        // A call of an answer that was cut off may be a part of what the model meant.
        if stop == StopReason::EndTurn {
            let whole = end.captured_into_tool_calls().unwrap_or_default();
            if whole.len() > calls::MOST {
                return Err(failures.too_much(TooMuch::Calls));
            }
            let before = events.len();
            events.extend(whole.into_iter().map(|whole| self.calls.whole(whole)));
            events.extend(self.calls.finish());
            events.extend(self.reader.and_then(Reader::finish));
            if events.len() == before && !self.text {
                return Err(failures.empty());
            }
        }
        events.extend(usage.map(|usage| ModelEvent::Usage(account.of(&usage))));
        events.push(ModelEvent::Stop(stop));
        Ok(events)
    }
}

/// What is known of a model's tokens.
pub(super) struct Account {
    /// Its context window.
    pub(super) window: Option<u64>,
    /// What it costs, and for how many tokens of input that holds.
    pub(super) price: Option<(Price, u64)>,
}

impl Account {
    fn of(&self, usage: &genai::chat::Usage) -> Usage {
        let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
        let usage = Usage {
            input: count(usage.prompt_tokens),
            output: count(usage.completion_tokens),
            cached: count(usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens)),
            window: self.window,
            cost: None,
        };
        let price = self.price.as_ref().filter(|(_, longest)| usage.input <= *longest);
        Usage { cost: price.map(|(price, _)| price.of(&usage)), ..usage }
    }
}
