//! What was said: messages and their parts, tool calls and their outcomes.
//!
//! Plain data; knows nothing about how it came about or where it is kept. Serializable, because events carry it.

mod change;
mod conversation;
mod cost;

use std::fmt;
use std::sync::Arc;

use crate::noun::counted;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use change::change;
pub use conversation::Conversation;
pub use cost::{Cost, Price, Spending};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(id: impl AsRef<str>) -> Self {
                Self(id.as_ref().into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A session.
    SessionId
);
id!(
    /// A message, unique in its session and the same in every replay.
    MessageId
);
id!(
    /// A tool call, unique in its session and the same in every replay.
    ToolCallId
);

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, or the client for them.
    User,
    /// The model.
    Assistant,
    /// Outcomes of tool calls.
    Tool,
}

/// One message as the model is shown it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Text; Markdown from the model.
    Text {
        /// The text.
        text: String,
    },
    /// The model's thinking. `signature` goes back to the provider unchanged.
    Thought {
        /// The thinking.
        text: String,
        /// The provider's proof that the thought is its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// An image.
    Image {
        /// Base64.
        data: Arc<str>,
        /// Such as `image/png`.
        mime: String,
    },
    /// A resource with its text, put into the prompt by the client.
    Resource {
        /// Where it is from.
        uri: String,
        /// Its text.
        text: String,
    },
    /// A pointer to a resource.
    ResourceLink {
        /// What it is called.
        name: String,
        /// Where it is.
        uri: String,
        /// Its text as the model is shown it, or why that is not there; none where it was not looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The model wants a tool to be run.
    ToolCall(ToolCall),
    /// What a tool call gave.
    ToolResult {
        /// Which call.
        call: ToolCallId,
        /// What the model is shown.
        text: String,
        /// Whether the call failed.
        failed: bool,
    },
}

/// A request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id.
    pub id: ToolCallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments; not yet validated, and not always an object.
    pub arguments: Value,
}

/// What a tool call gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutcome {
    /// For the model and the client, in order.
    pub content: Vec<ToolContent>,
    /// Files it touched.
    pub locations: Vec<Location>,
    /// For programs: a JSON value beside the content.
    pub structured: Option<Value>,
    /// Whether it was no success, though there is something to show.
    pub failed: bool,
}

impl ToolOutcome {
    /// Just a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ToolContent::Text { text: text.into() }], ..Self::default() }
    }

    /// What the model is shown.
    pub fn for_model(&self) -> String {
        let mut text = String::new();
        for content in &self.content {
            let piece = match content {
                ToolContent::Text { text } | ToolContent::Resource { text, .. } => text.as_str(),
                ToolContent::Image { data, mime } => {
                    &format!("[{mime}, about {}]", counted(data.len() / 4 * 3, "byte"))
                }
                ToolContent::Terminal { output, .. } => output.as_str(),
                ToolContent::Diff { .. } | ToolContent::Link { .. } => continue,
            };
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(piece);
        }
        text
    }
}

/// A piece of what a tool call shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A file's text.
    Resource {
        /// `file://…`
        uri: String,
        /// Its text.
        text: String,
        /// Such as `text/plain`.
        mime: Option<String>,
    },
    /// An image.
    Image {
        /// Base64.
        data: Arc<str>,
        /// Such as `image/png`.
        mime: String,
    },
    /// A pointer to a resource that the client can open.
    Link {
        /// What it is called.
        name: String,
        /// Where it is.
        uri: String,
        /// Such as `text/plain`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime: Option<String>,
        /// Its bytes, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// A command that was run.
    Terminal {
        /// The client's terminal that it ran in, which shows it as long as the client lives; none for one that ran on
        /// this machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal: Option<String>,
        /// What it wrote, and how it ended; empty while it runs.
        output: String,
        /// How it ended, once it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<TerminalExit>,
    },
    /// A change to a file.
    Diff {
        /// Absolute path.
        path: String,
        /// The text before; none for a new file.
        old: Option<String>,
        /// The text after.
        new: String,
    },
}

/// How a command ended; neither where it was killed by us, or nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalExit {
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it, such as `SIGSEGV`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// `text` as a Markdown block that it cannot break out of.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Absolute path.
    pub path: String,
    /// Counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A step of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// How much it matters.
    pub priority: PlanPriority,
    /// How far it is.
    pub status: PlanStatus,
}

/// How much a step of the plan matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPriority {
    /// First.
    High,
    /// In between.
    Medium,
    /// Last.
    Low,
}

/// How far a step of the plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// A client's own instructions for the model of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    /// What becomes of the runtime's instructions.
    pub mode: SystemPromptMode,
    /// The instructions.
    pub text: String,
}

/// What becomes of the runtime's own instructions where the client has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemPromptMode {
    /// They stay, and the client's follow.
    Append,
    /// The client's take their place. What is told of folders and mode stays.
    Override,
}

/// Why a turn ended well. A turn that failed has an error instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has finished.
    EndTurn,
    /// The model's answer reached its limit of tokens.
    MaxTokens,
    /// The turn reached its limit of model requests.
    MaxTurnRequests,
    /// The model refuses to go on.
    Refusal,
    /// The client cancelled.
    Cancelled,
}

/// Tokens and cost of one model request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input: u64,
    /// Tokens of the answer, thinking included.
    pub output: u64,
    /// Those of `input` that the provider had cached.
    pub cached: u64,
    /// The model's context window, where it is known.
    pub window: Option<u64>,
    /// What it cost, where the model's price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_its_block() {
        for (text, block) in [
            ("ls\n", "```sh\nls\n```"),
            ("", "```sh\n```"),
            ("a `b` ``c``", "```sh\na `b` ``c``\n```"),
            ("```\nrm\n```", "````sh\n```\nrm\n```\n````"),
        ] {
            assert_eq!(fenced("sh", text), block);
        }
    }
}
