//! Hooks: being told of what happens in a session, and stopping or changing some of it. Nothing can be allowed.
//!
//! An event is told for at most 50 ms of the hook's own time, and to an instance of its own. It sees no folders, and asks
//! nobody: what the host would ask the person about is refused.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bindings::hooks::interface as wire;
use crate::bindings::imports::types;
use crate::{Error, Result};

/// The hook of a plugin; there is one, for all events that it wants to be told of.
pub trait Hook {
    /// The events. Each must be asked for in `plugin.toml`, with a reason: `capabilities.hooks`.
    const EVENTS: &'static [EventKind];

    /// Says something to one of them. An error, or a panic, stops what it was asked about: a prompt, a tool call.
    fn handle(occurrence: &Occurrence) -> Result<Decision>;
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    NoOpinion,
    /// This in its place: of a tool call the arguments as a JSON object, else a text. Of what is
    /// [truncated](Occurrence::truncated) nothing can be replaced, and no call with a `[kept secret]` in it.
    Replace(String),
    /// It must not happen; of a tool's answer: the model must not be shown it. With the reason, in a line.
    Block(String),
    /// The person must decide; of prompts and tool calls only. With the reason, in a line.
    Ask(String),
}

/// The sorts of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A session was opened. What is said to it is not heard.
    SessionStart,
    /// A session is being closed. Likewise.
    SessionEnd,
    /// The model is about to be asked about a prompt. Likewise.
    BeforeTurn,
    /// A prompt was answered, or was not. Likewise.
    AfterTurn,
    /// A prompt is about to go to the model. It can be replaced, blocked and asked about.
    UserMessage,
    /// A tool is about to be called. It can be replaced, blocked and asked about.
    ToolCall,
    /// A tool has answered. What the model is shown of that can be replaced and blocked.
    ToolResult,
    /// The model has said something. What is said to it is not heard.
    AssistantMessage,
    /// A turn has failed. Likewise.
    Error,
}

impl EventKind {
    pub(crate) const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::BeforeTurn,
        Self::AfterTurn,
        Self::UserMessage,
        Self::ToolCall,
        Self::ToolResult,
        Self::AssistantMessage,
        Self::Error,
    ];

    /// As manifests spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::SessionEnd => "session-end",
            Self::BeforeTurn => "before-turn",
            Self::AfterTurn => "after-turn",
            Self::UserMessage => "user-message",
            Self::ToolCall => "tool-call",
            Self::ToolResult => "tool-result",
            Self::AssistantMessage => "assistant-message",
            Self::Error => "error",
        }
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// What happens.
    pub event: Event,
    /// The session.
    pub session: String,
    /// The tool call that it is about.
    pub call: Option<String>,
    /// Whether long texts and lists of it were cut.
    pub truncated: bool,
    /// The wall time that was left when it was told.
    pub deadline: Duration,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A session was opened.
    SessionStart,
    /// A session is being closed.
    SessionEnd,
    /// The model is about to be asked about the prompt with that id.
    BeforeTurn {
        /// Its id.
        message: String,
    },
    /// A prompt was answered.
    AfterTurn(TurnEnd),
    /// A prompt is about to go to the model.
    UserMessage(Prompt),
    /// A tool is about to be called.
    ToolCall(ToolCall),
    /// A tool has answered.
    ToolResult(ToolResult),
    /// The model has said something.
    AssistantMessage(Said),
    /// A turn has failed.
    Error {
        /// Why.
        message: String,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TurnEnd {
    /// `end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`; none where it failed.
    pub stop: Option<String>,
    /// Why it failed.
    pub failed: Option<String>,
}

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Prompt {
    /// What was written: what a replacement stands in place of.
    pub text: String,
    /// The files that come with it.
    pub attached: Vec<Attached>,
}

/// A file that comes with a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Attached {
    /// Where it is from.
    pub uri: String,
    /// Its text, where the model is shown that.
    pub text: Option<String>,
}

/// A call that is about to be made.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// The tool, as the model names it.
    pub tool: String,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch` or `other`.
    pub kind: String,
    /// The plugin that it belongs to.
    pub plugin: Option<String>,
    /// The arguments, valid by the tool's schema.
    pub arguments: serde_json::Value,
    /// What it would do, as far as that is known beforehand; not of plugins' tools, and not of what a program does.
    pub effects: Vec<Effect>,
}

/// Something that a call would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Effect {
    /// `read`, `write`, `delete`, `move`, `run`, `fetch`, `plugin`, `server`…
    pub class: String,
    /// A path relative to the session's folder (`a -> b` of a move), a command line, a URL… A path that a link leads from
    /// is there under both names.
    pub key: String,
}

/// What a tool has answered, as the model would be shown it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// The tool.
    pub tool: String,
    /// Whether it failed.
    pub failed: bool,
    /// The answer.
    pub text: String,
}

/// What the model has said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Said {
    /// The message's id.
    pub message: String,
    /// The text.
    pub text: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Id {
    message: String,
}

impl Event {
    fn read(kind: EventKind, payload: &str) -> Result<Self> {
        Ok(match kind {
            EventKind::SessionStart => Self::SessionStart,
            EventKind::SessionEnd => Self::SessionEnd,
            EventKind::BeforeTurn => Self::BeforeTurn { message: serde_json::from_str::<Id>(payload)?.message },
            EventKind::AfterTurn => Self::AfterTurn(serde_json::from_str(payload)?),
            EventKind::UserMessage => Self::UserMessage(serde_json::from_str(payload)?),
            EventKind::ToolCall => Self::ToolCall(serde_json::from_str(payload)?),
            EventKind::ToolResult => Self::ToolResult(serde_json::from_str(payload)?),
            EventKind::AssistantMessage => Self::AssistantMessage(serde_json::from_str(payload)?),
            EventKind::Error => Self::Error { message: serde_json::from_str::<Id>(payload)?.message },
        })
    }
}

/// The guest side of `list-events`.
#[doc(hidden)]
pub fn list<H: Hook>() -> Vec<String> {
    H::EVENTS.iter().map(|event| event.as_str().to_owned()).collect()
}

/// The guest side of `handle`.
#[doc(hidden)]
pub fn handle<H: Hook>(told: wire::Occurrence) -> Result<wire::Decision, types::Error> {
    let kind = EventKind::ALL.into_iter().find(|kind| kind.as_str() == told.event && H::EVENTS.contains(kind));
    let kind = kind.ok_or_else(|| Error::not_found(format_args!("no hook for the event `{}`", told.event)))?;
    let occurrence = Occurrence {
        event: Event::read(kind, &told.payload)?,
        session: told.session_id,
        call: told.call_id,
        truncated: told.truncated,
        deadline: Duration::from_millis(told.deadline_ms),
    };
    let (kind, text) = match H::handle(&occurrence)? {
        Decision::NoOpinion => ("no-opinion", None),
        Decision::Replace(text) => ("replace", Some(text)),
        Decision::Block(reason) => ("block", Some(reason)),
        Decision::Ask(reason) => ("ask", Some(reason)),
    };
    Ok(wire::Decision { kind: kind.to_owned(), text, extra: Vec::new() })
}
