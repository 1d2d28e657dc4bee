//! What a language model is to the runtime: a stream of events for a request.
//!
//! Knows no provider, no wire format and no retries; those belong to the implementers.

mod expense;
mod input;
mod source;

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::ToolName;
use crate::transcript::{Conversation, StopReason, ToolCall, Usage};
pub use input::InputSchema;
pub use source::{ModelChoice, ModelSource, ReasoningEffort};

/// One question to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Conversation,
    /// The tools on offer.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// How much to think; none leaves it to the model's settings.
    pub effort: Option<ReasoningEffort>,
}

/// What comes back, piece by piece.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More of the answer's text.
    Text(String),
    /// More of the model's thinking.
    Thought(String),
    /// The provider's signature of the thinking so far.
    ThoughtSignature(String),
    /// The model begins to write a tool call. Begun again it was asked again, and what came of the arguments is void.
    ToolCallBegun {
        /// The place of the call in the answer, which tells it apart.
        draft: usize,
        /// The tool.
        name: String,
    },
    /// More of the arguments of a call that was begun: a piece of their JSON.
    ToolCallInput {
        /// Which call.
        draft: usize,
        /// The next piece.
        text: String,
    },
    /// A complete tool call. `arguments` is a string where the model did not write JSON.
    ToolCall {
        /// The call that was begun, if the model told of that.
        draft: Option<usize>,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// What the request has cost.
    Usage(Usage),
    /// The answer is complete; nothing follows.
    Stop(StopReason),
}

/// A model that can be asked.
pub trait Model: Send + Sync {
    /// The id that settings and clients call it by.
    fn id(&self) -> &str;

    /// Whether it can do what it is asked. One that is there before any is configured only says how to configure one.
    fn understands(&self) -> bool {
        true
    }

    /// How much it can be asked to think, from the least; nothing where it cannot be asked for that at all.
    fn efforts(&self) -> &[ReasoningEffort] {
        &ReasoningEffort::ALL
    }

    /// Asks. The stream ends after [`ModelEvent::Stop`] or the first error; one that ends without either was cut off.
    /// Dropping the stream closes the connection at once.
    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>>;
}

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What went wrong, in a sentence that says what to do.
    pub message: String,
    /// The kind of failure.
    pub kind: ModelErrorKind,
    /// The provider's name in the settings.
    pub provider: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// Kinds of model failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No key, or one that is not accepted.
    Auth,
    /// The provider refuses for now: too many requests.
    RateLimit,
    /// The provider has a problem of its own.
    Overloaded,
    /// The provider cannot be reached, or the connection broke.
    Network,
    /// No safe connection to the provider: its certificate is not accepted, or it speaks no TLS.
    Certificate,
    /// The provider does not accept the request, or does not know the model.
    Request,
    /// The request is longer than the model's window.
    ContextOverflow,
    /// What came back is not what the wire format allows.
    Malformed,
    /// The answer is complete and says nothing.
    Empty,
    /// No model is configured.
    Unconfigured,
}

impl ModelErrorKind {
    /// Whether the same request may succeed later.
    pub fn retryable(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Network | Self::Empty => true,
            Self::Auth
            | Self::Certificate
            | Self::Request
            | Self::ContextOverflow
            | Self::Malformed
            | Self::Unconfigured => false,
        }
    }

    /// One word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Network => "network",
            Self::Certificate => "certificate",
            Self::Request => "request",
            Self::ContextOverflow => "context_overflow",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Unconfigured => "unconfigured",
        }
    }
}

/// A tool as the model and the client are told of it.
#[derive(Debug)]
pub struct ToolSpec {
    /// Unique in a session.
    pub name: ToolName,
    /// What people see.
    pub title: String,
    /// What the model is told.
    pub description: String,
    /// What its arguments must be.
    pub input: InputSchema,
    /// The icon that clients choose by.
    pub kind: ToolKind,
}

/// The kinds of tool that ACP knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Runs programs.
    Execute,
    /// Thinks.
    Think,
    /// Fetches from the network.
    Fetch,
    /// Anything else.
    #[default]
    Other,
}

impl ModelEvent {
    /// A tool call without its id, as a model makes it.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::ToolCall { draft: None, name: name.into(), arguments }
    }
}

impl From<&ToolCall> for ModelEvent {
    fn from(call: &ToolCall) -> Self {
        Self::call(&call.name, call.arguments.clone())
    }
}
