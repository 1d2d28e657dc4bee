//! All that happens in a session, as one closed list.
//!
//! The journal keeps these, clients are told of them, and the model's context is made from them: one record, three
//! readers. Together with what they carry they are the only serializable types of this crate; [`FORMAT`] names their
//! shape.

mod notice;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::capability::{PanelName, PluginId};
use crate::model::ToolKind;
use crate::options::{Bounds, ConfigOption};
use crate::policy::Mode;
use crate::server::ServerState;
use crate::transcript::{Location, MessageId, Part, PlanEntry, StopReason, ToolCall, ToolCallId, ToolContent, Usage};

pub use notice::{Notice, Severity};

/// The version of the events' shape in the journal. Raised with every change that older readers would not understand.
pub const FORMAT: u32 = 5;

/// Takes what happens, in order. Tools and plugins tell a session of progress through it.
pub trait EventSink: Send + Sync {
    /// Takes one event; never waits.
    fn emit(&self, event: SessionEvent);
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// The person said something; begins a turn.
    UserMessage {
        /// Its id.
        id: MessageId,
        /// What was said.
        parts: Vec<Part>,
        /// A slash command: kept and shown, but not sent to the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        local: bool,
    },
    /// A hook has changed the message that follows: the model is shown another text in place of the person's. What the
    /// person wrote stays what is kept and shown.
    MessageReplaced {
        /// The message's id.
        id: MessageId,
        /// The text in place of all of its texts.
        text: String,
        /// The plugins whose hooks did that.
        by: Vec<PluginId>,
    },
    /// More of the assistant's text. Pieces with one id are one message.
    AgentText {
        /// The message's id.
        id: MessageId,
        /// The next piece.
        text: String,
        /// From the runtime or a command, not from the model: kept and shown, but not sent to the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        local: bool,
    },
    /// More of the model's thinking.
    AgentThought {
        /// The message's id.
        id: MessageId,
        /// The next piece.
        text: String,
        /// The provider's signature, in a last piece of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The model begins to write a call. The same id is started once it is whole, and fails where it never is.
    ToolCallDrafted {
        /// The message it belongs to.
        message: MessageId,
        /// Its id.
        call: ToolCallId,
        /// The tool's name as the model wrote it.
        name: String,
        /// One line for people.
        title: String,
        /// The icon.
        kind: ToolKind,
    },
    /// A tool is to be called.
    ToolCallStarted {
        /// The message it belongs to.
        message: MessageId,
        /// What the model asked for.
        call: ToolCall,
        /// One line for people.
        title: String,
        /// The icon.
        kind: ToolKind,
        /// Files it will touch.
        locations: Vec<Location>,
        /// The folder of the terminal that its output could be shown in, where the client has none for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal: Option<String>,
        /// Called by a person's command and not by the model: not sent to the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        local: bool,
    },
    /// A tool call went on.
    ToolCallUpdated(ToolCallUpdate),
    /// The arguments of a call that the model is just writing, as far as it has come.
    ToolInput {
        /// Which call.
        call: ToolCallId,
        /// All that there is of them, in place of what was told before. Long texts are shortened.
        arguments: Value,
    },
    /// More of what a running call writes.
    ToolOutput {
        /// Which call.
        call: ToolCallId,
        /// The next piece.
        text: String,
    },
    /// The plan, whole.
    Plan {
        /// Its steps.
        entries: Vec<PlanEntry>,
    },
    /// What a model request has cost.
    Usage(Usage),
    /// The session has a title.
    Title {
        /// One line.
        title: String,
        /// What a command was: it gives way to the first prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        provisional: bool,
    },
    /// The model is shown nothing from before this any more.
    ContextCleared,
    /// To make room, the model is shown only the beginnings any more of what tools gave before a message.
    OutputsDropped {
        /// The first message whose results stay whole.
        before: MessageId,
    },
    /// The model begins to sum up what was said. The summary is a message of its own, which the client is shown.
    CompactionStarted {
        /// The summary's id.
        id: MessageId,
    },
    /// More of a summary.
    CompactionText {
        /// Its id.
        id: MessageId,
        /// The next piece.
        text: String,
    },
    /// A summary is written, or is not.
    CompactionEnded {
        /// Its id.
        id: MessageId,
        /// How it ended.
        end: CompactionEnd,
    },
    /// The session's mode changed.
    ModeChanged {
        /// The new one.
        mode: Mode,
    },
    /// What the session is held to changed. Clients learn it from what [`SessionEvent::bounds_changed`] tells beside it
    /// and from the options; this is what a loaded session begins with.
    BoundsChanged(Bounds),
    /// The session's options changed.
    OptionsChanged {
        /// All of them.
        options: Vec<ConfigOption>,
    },
    /// The session's slash commands changed.
    CommandsChanged {
        /// All of them.
        commands: Vec<CommandInfo>,
    },
    /// A panel would now look different.
    PanelChanged {
        /// Which.
        panel: PanelName,
    },
    /// Something the person should know beside the conversation.
    Notice(Notice),
    /// The session's MCP servers, or how they are, changed.
    ServersChanged {
        /// All of them.
        servers: Vec<ServerState>,
    },
    /// The turn is over.
    TurnEnded {
        /// How it ended.
        end: TurnEnd,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// Well.
    Stopped(StopReason),
    /// With an error, in a sentence.
    Failed(String),
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionEnd {
    /// The model is shown the summary from now on, and what was said from one message on.
    Completed {
        /// That message; none where everything is in the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<MessageId>,
        /// How large the next request will be, as far as that can be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextSize>,
    },
    /// The model is shown what it was shown before.
    Failed {
        /// A sentence.
        reason: String,
    },
    /// The same, since nobody wanted it any more.
    Cancelled,
}

/// How much of the model's window the conversation takes, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSize {
    /// About as many.
    pub used: u64,
    /// As many as there can be.
    pub window: u64,
}

/// What is new about a tool call; fields that are none stay as they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    /// Which call.
    pub id: ToolCallId,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolCallStatus>,
    /// Another title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is run with, where hooks have changed that: the model gave other arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<Value>>,
    /// All content that it has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolContent>>,
    /// All locations that it has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    /// The outcome for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What the model is shown, once the call is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_model: Option<String>,
}

impl ToolCallUpdate {
    /// An update of `id` that changes nothing yet.
    pub fn of(id: ToolCallId) -> Self {
        let (status, title, arguments, content) = (None, None, None, None);
        Self { id, status, title, arguments, content, locations: None, structured: None, for_model: None }
    }
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Not allowed yet.
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Refused, failed or cancelled.
    Failed,
}

/// A slash command as it is announced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInfo {
    /// Without the slash.
    pub name: String,
    /// One line.
    pub description: String,
    /// What to type after the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl SessionEvent {
    /// The events that tell how what a session is held to became another; none where it is the same.
    pub fn bounds_changed(before: &Bounds, now: Bounds) -> Vec<Self> {
        let (mode, mut told, mut events) = (now.leeway.mode(), before.clone(), Vec::new());
        if mode != told.leeway.mode() {
            // A mode stands for all of its flags.
            told.leeway = mode.into();
            events.push(Self::ModeChanged { mode });
        }
        if now != told {
            events.push(Self::BoundsChanged(now));
        }
        events
    }

    /// Whether the journal keeps it. What only describes the moment is not kept.
    pub fn is_kept(&self) -> bool {
        match self {
            Self::UserMessage { .. }
            | Self::MessageReplaced { .. }
            | Self::AgentText { .. }
            | Self::AgentThought { .. }
            | Self::ToolCallDrafted { .. }
            | Self::ToolCallStarted { .. }
            | Self::ToolCallUpdated(_)
            | Self::Plan { .. }
            | Self::Usage(_)
            | Self::Title { .. }
            | Self::ContextCleared
            | Self::OutputsDropped { .. }
            | Self::CompactionStarted { .. }
            | Self::CompactionText { .. }
            | Self::CompactionEnded { .. }
            | Self::ModeChanged { .. }
            | Self::BoundsChanged(_)
            | Self::TurnEnded { .. } => true,
            Self::ToolInput { .. }
            | Self::ToolOutput { .. }
            | Self::OptionsChanged { .. }
            | Self::CommandsChanged { .. }
            | Self::PanelChanged { .. }
            | Self::Notice(_)
            | Self::ServersChanged { .. } => false,
        }
    }

    /// Whether it is only more of something: a client that is far behind in a cancelled turn can be without it.
    pub fn is_piece(&self) -> bool {
        match self {
            Self::AgentText { local, .. } => !local,
            Self::AgentThought { .. }
            | Self::ToolInput { .. }
            | Self::ToolOutput { .. }
            | Self::CompactionText { .. } => true,
            Self::ToolCallUpdated(update) => update.status.is_none(),
            Self::UserMessage { .. }
            | Self::MessageReplaced { .. }
            | Self::ToolCallDrafted { .. }
            | Self::ToolCallStarted { .. }
            | Self::Plan { .. }
            | Self::Usage(_)
            | Self::Title { .. }
            | Self::ContextCleared
            | Self::OutputsDropped { .. }
            | Self::CompactionStarted { .. }
            | Self::CompactionEnded { .. }
            | Self::ModeChanged { .. }
            | Self::BoundsChanged(_)
            | Self::OptionsChanged { .. }
            | Self::CommandsChanged { .. }
            | Self::PanelChanged { .. }
            | Self::Notice(_)
            | Self::ServersChanged { .. }
            | Self::TurnEnded { .. } => false,
        }
    }

    /// The addresses of what is kept outside of it: whole outputs.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let content = match self {
            Self::ToolCallUpdated(update) => update.content.as_mut(),
            _ => None,
        };
        content.into_iter().flatten().filter_map(|content| match content {
            ToolContent::Link { uri, .. } => Some(uri),
            ToolContent::Text { .. }
            | ToolContent::Resource { .. }
            | ToolContent::Image { .. }
            | ToolContent::Terminal { .. }
            | ToolContent::Diff { .. } => None,
        })
    }

    /// Joins `next` to this event where both are pieces of one text and the whole stays within `most` bytes, or where it
    /// takes the place of this one; else gives it back.
    pub fn join(&mut self, next: Self, most: usize) -> Option<Self> {
        match (self, next) {
            (Self::AgentText { id, text, local }, Self::AgentText { id: next_id, text: more, local: next_local })
                if *id == next_id && *local == next_local && text.len() + more.len() <= most =>
            {
                text.push_str(&more);
                None
            }
            (
                Self::AgentThought { id, text, signature: None },
                Self::AgentThought { id: next_id, text: more, signature: None },
            ) if *id == next_id && text.len() + more.len() <= most => {
                text.push_str(&more);
                None
            }
            (Self::CompactionText { id, text }, Self::CompactionText { id: next_id, text: more })
                if *id == next_id && text.len() + more.len() <= most =>
            {
                text.push_str(&more);
                None
            }
            (Self::ToolOutput { call, text }, Self::ToolOutput { call: next_call, text: more })
                if *call == next_call && text.len() + more.len() <= most =>
            {
                text.push_str(&more);
                None
            }
            (Self::ToolInput { call, arguments }, Self::ToolInput { call: next_call, arguments: newer })
                if *call == next_call =>
            {
                *arguments = newer;
                None
            }
            (_, next) => Some(next),
        }
    }
}
