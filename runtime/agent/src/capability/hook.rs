//! What happens in a session that hooks can be told of.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One sort of event. Closed: what a hook can do with a new one must be decided here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// A session was opened.
    SessionStart,
    /// A session is being closed.
    SessionEnd,
    /// The model is about to be asked about a prompt.
    BeforeTurn,
    /// A prompt was answered, or was not.
    AfterTurn,
    /// A person's prompt is about to go to the model.
    UserMessage,
    /// A tool is about to be called.
    ToolCall,
    /// A tool has answered.
    ToolResult,
    /// The model has said something.
    AssistantMessage,
    /// A turn has failed.
    Error,
}

/// What a hook can do about an event, and what its failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookRole {
    /// It may stop or change what is about to happen. Where it fails, that does not happen.
    Gate,
    /// It may change what the model is shown. Where it fails, that is shown as it is.
    Transform,
    /// It is told, and nothing waits for it.
    Observer,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 9] = [
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

    /// As manifests and guests spell it.
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

    /// The event that is spelled so.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == id)
    }

    /// What a hook can do about it.
    pub fn role(self) -> HookRole {
        match self {
            Self::UserMessage | Self::ToolCall => HookRole::Gate,
            Self::ToolResult => HookRole::Transform,
            Self::SessionStart
            | Self::SessionEnd
            | Self::BeforeTurn
            | Self::AfterTurn
            | Self::AssistantMessage
            | Self::Error => HookRole::Observer,
        }
    }

    /// What the right to it means, for the person who grants it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::SessionStart => "learns of every session that is opened",
            Self::SessionEnd => "learns of every session that is closed",
            Self::BeforeTurn => "learns of every prompt that the model is asked about",
            Self::AfterTurn => "learns how every prompt was answered",
            Self::UserMessage => "reads every prompt, and may change it, stop it or ask about it",
            Self::ToolCall => "reads every tool call, and may change it, stop it or ask about it",
            Self::ToolResult => "reads what every tool answers, and may change what the model is shown of it",
            Self::AssistantMessage => "reads everything that the model says",
            Self::Error => "learns why turns fail",
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_spelled_the_same_everywhere() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::from_id(event.as_str()), Some(event));
            assert_eq!(serde_json::to_value(event).unwrap(), event.as_str());
        }
        assert_eq!(HookEvent::from_id("stream-chunk"), None);
    }
}
