//! What happened, as the updates of `session/update`.

use std::collections::HashMap;

use acp_runtime_agent::event::{
    CommandInfo, CompactionEnd, ContextSize, Notice, SessionEvent, Severity, ToolCallStatus, ToolCallUpdate, TurnEnd,
};
use acp_runtime_agent::model::ToolKind;
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::transcript::{MessageId, Part, Spending, ToolCallId};
use agent_client_protocol::v1::schema::{self, ContentBlock, SessionUpdate};

use super::newer::{CompactionStatus, Newer, Update};
use super::options::options as wire_options;
use super::plan::ShownPlan;
use super::screen::Screens;
use super::servers::server_states;
use super::size::{TEXT, cut, escaped_len, line, pieces};
use super::tool::{TITLE, drafted, started, updated, written};
use crate::acp::offers::{Offer, Offers};

/// Whether the client sees something for the first time, or again in `session/load`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::acp) enum Told {
    /// The client showed the person's own message when it sent it.
    Live,
    /// The person's messages are told as well.
    Again,
}

/// Tells one client of one session: takes its events in their order and gives the updates that tell of them.
pub(in crate::acp) struct Narrator {
    offers: Offers,
    /// Whether the person's own words are told while they are answered.
    echo: bool,
    plan: ShownPlan,
    spending: Spending,
    /// Whether the model is just writing a summary: its request is none of the conversation's.
    sums_up: bool,
    screens: Screens,
    /// The calls that the model is just writing: whether the client was told of each.
    drafts: HashMap<ToolCallId, bool>,
}

impl Narrator {
    pub(in crate::acp) fn new(offers: Offers, echo: bool) -> Self {
        let screens = Screens::new(offers.has(Offer::TerminalOutput));
        let (plan, spending, drafts) = (ShownPlan::default(), Spending::default(), HashMap::new());
        Self { offers, echo, plan, spending, sums_up: false, screens, drafts }
    }

    /// Takes up a session whose events until now were not told, or not by this narrator: whether it keeps a plan, and
    /// what it has cost.
    pub(in crate::acp) fn recall(&mut self, keeps_plan: bool, spending: Spending) {
        if keeps_plan {
            self.plan.recall_own();
        }
        self.spending = spending;
    }

    /// The updates that tell of `event`, in order; often one, sometimes none.
    pub(in crate::acp) fn tell(&mut self, event: SessionEvent, told: Told) -> Vec<Update> {
        if let SessionEvent::Usage(usage) = &event {
            self.spending.add(usage);
        }
        let plan = self.plan.follow(&event, self.offers.has(Offer::PlansById));
        let mut updates = self.updates(event, told);
        updates.extend(plan);
        updates
    }

    fn updates(&mut self, event: SessionEvent, told: Told) -> Vec<Update> {
        let live = told == Told::Live;
        let update = match event {
            SessionEvent::UserMessage { .. } if told == Told::Live && !self.echo => return Vec::new(),
            SessionEvent::UserMessage { id, parts, local: _ } => {
                let chunks = parts.into_iter().flat_map(blocks);
                return chunks.map(|block| SessionUpdate::UserMessageChunk(chunk(block, &id)).into()).collect();
            }
            SessionEvent::AgentText { id, text, local: _ } => {
                let chunks = texts(text).into_iter();
                return chunks.map(|text| SessionUpdate::AgentMessageChunk(chunk(text.into(), &id)).into()).collect();
            }
            SessionEvent::AgentThought { id, text, signature: _ } => {
                let chunks = texts(text).into_iter();
                return chunks.map(|text| SessionUpdate::AgentThoughtChunk(chunk(text.into(), &id)).into()).collect();
            }
            SessionEvent::ToolCallDrafted { message: _, call, name, title, kind } => {
                self.draft(call, &name, &title, kind)
            }
            SessionEvent::ToolInput { call, arguments } => {
                let is_told = self.drafts.get(&call) == Some(&true);
                is_told.then(|| SessionUpdate::ToolCallUpdate(written(&call, &arguments)))
            }
            SessionEvent::ToolCallStarted { message: _, call, title, kind, locations, terminal, local: _ } => {
                let is_told = self.drafts.remove(&call.id) == Some(true);
                let started = started(&call, &title, kind, &locations);
                if is_told {
                    let mut update = schema::ToolCallUpdate::from(started);
                    (update.fields.status, update.fields.content) = (None, None);
                    Some(SessionUpdate::ToolCallUpdate(update))
                } else {
                    let folder = terminal.as_deref().filter(|_| live);
                    Some(SessionUpdate::ToolCall(self.screens.announce(started, folder)))
                }
            }
            SessionEvent::ToolCallUpdated(update) => self.update_call(&update, live),
            SessionEvent::ToolOutput { call, text } => {
                return self.screens.wrote(&call, &text).into_iter().map(Update::from).collect();
            }
            SessionEvent::Usage(usage) => usage
                .window
                .filter(|_| !self.sums_up)
                .map(|size| self.usage(usage.input.saturating_add(usage.output).min(size), size)),
            SessionEvent::CompactionStarted { id } => {
                self.sums_up = true;
                return self.compaction(&id, CompactionStatus::InProgress, None).into_iter().collect();
            }
            SessionEvent::CompactionText { id, text } => {
                let chunks = texts(text).into_iter();
                return chunks.map(|text| self.summary_chunk(text, &id)).collect();
            }
            SessionEvent::CompactionEnded { id, end } => {
                self.sums_up = false;
                let (status, error, context) = match end {
                    CompactionEnd::Completed { kept: _, context } => (CompactionStatus::Completed, None, context),
                    CompactionEnd::Failed { reason } => (CompactionStatus::Failed, Some(cut(&reason, TEXT)), None),
                    CompactionEnd::Cancelled => (CompactionStatus::Cancelled, None, None),
                };
                let usage = context.map(|ContextSize { used, window }| self.usage(used, window).into());
                return self.compaction(&id, status, error).into_iter().chain(usage).collect();
            }
            SessionEvent::Title { title, provisional: _ } => {
                Some(SessionUpdate::SessionInfoUpdate(schema::SessionInfoUpdate::new().title(line(&title, TITLE))))
            }
            SessionEvent::ModeChanged { mode } => {
                Some(SessionUpdate::CurrentModeUpdate(schema::CurrentModeUpdate::new(mode.id())))
            }
            SessionEvent::OptionsChanged { options } => {
                let options = wire_options(options, self.offers);
                Some(SessionUpdate::ConfigOptionUpdate(schema::ConfigOptionUpdate::new(options)))
            }
            SessionEvent::CommandsChanged { commands } => {
                let commands = commands_that_fit(&commands);
                Some(SessionUpdate::AvailableCommandsUpdate(schema::AvailableCommandsUpdate::new(commands)))
            }
            SessionEvent::ServersChanged { servers } => Some(SessionUpdate::SessionInfoUpdate(server_states(&servers))),
            SessionEvent::Notice(notice) => self.notice(&notice),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(reason) } if told == Told::Live => {
                let failed = Notice::new(Severity::Error, "The prompt failed").described(reason);
                self.notice(&failed)
            }
            // What the model is shown of a message is told in words beside it. A plan is told by itself, panels have a notification of their own, what the session is held to is told
            // with its options, and the end of a turn is the answer to its prompt.
            SessionEvent::Plan { .. }
            | SessionEvent::ContextCleared
            | SessionEvent::OutputsDropped { .. }
            | SessionEvent::MessageReplaced { .. }
            | SessionEvent::BoundsChanged(_)
            | SessionEvent::PanelChanged { .. }
            | SessionEvent::TurnEnded { .. } => None,
        };
        update.map(Update::from).into_iter().collect()
    }

    /// A call that the model begins to write. A terminal is announced with its call, and its folder is not known yet.
    fn draft(&mut self, call: ToolCallId, name: &str, title: &str, kind: ToolKind) -> Option<SessionUpdate> {
        let is_told = kind != ToolKind::Execute || !self.offers.has(Offer::TerminalOutput);
        let told = is_told.then(|| SessionUpdate::ToolCall(drafted(&call, name, title, kind)));
        self.drafts.insert(call, is_told);
        told
    }

    /// None for a call that the client has not heard of, and never does.
    fn update_call(&mut self, update: &ToolCallUpdate, live: bool) -> Option<SessionUpdate> {
        let draft = match update.status {
            // It never became whole.
            Some(ToolCallStatus::Failed) => self.drafts.remove(&update.id),
            _ => self.drafts.get(&update.id).copied(),
        };
        let screens = live.then_some(&mut self.screens);
        (draft != Some(false)).then(|| SessionUpdate::ToolCallUpdate(updated(update, screens)))
    }

    /// How much of the window is used, and what the session has cost.
    fn usage(&self, used: u64, size: u64) -> SessionUpdate {
        let cost = self.spending.latest();
        let cost = cost.map(|cost| schema::Cost::new(cost.amount, line(&cost.currency, TITLE)));
        SessionUpdate::UsageUpdate(schema::UsageUpdate::new(used, size).cost(cost))
    }

    /// None for a client that has no such thing: it is shown the summary as a message.
    fn compaction(&self, id: &MessageId, status: CompactionStatus, error: Option<String>) -> Option<Update> {
        let update = Newer::CompactionUpdate { compaction_id: id.to_string(), status, error };
        self.offers.has(Offer::Compactions).then(|| update.into())
    }

    fn summary_chunk(&self, text: String, id: &MessageId) -> Update {
        if !self.offers.has(Offer::Compactions) {
            return SessionUpdate::AgentMessageChunk(chunk(text.into(), id)).into();
        }
        Newer::CompactionSummaryChunk { compaction_id: id.to_string(), content: Box::new(text.into()) }.into()
    }

    /// None for a client that shows none, and for a notice without a title, which the protocol does not allow.
    fn notice(&self, notice: &Notice) -> Option<SessionUpdate> {
        let severity = match notice.severity {
            Severity::Info => schema::NoticeSeverity::Info,
            Severity::Warning => schema::NoticeSeverity::Warning,
            Severity::Error => schema::NoticeSeverity::Error,
        };
        let title = line(notice.title.trim(), TITLE);
        let description = notice.description.as_deref().map(|text| cut(text, TEXT));
        let shown = self.offers.has(Offer::Notices) && !title.is_empty();
        shown.then(|| SessionUpdate::Notice(schema::Notice::new(severity, title).description(description)))
    }
}

fn chunk(content: ContentBlock, id: &MessageId) -> schema::ContentChunk {
    schema::ContentChunk::new(content).message_id(schema::MessageId::new(id.to_string()))
}

/// The text whole where it fits, which is nearly always, else in pieces.
fn texts(text: String) -> Vec<String> {
    match text.len() {
        0 => Vec::new(),
        length if length <= TEXT && escaped_len(&text) <= TEXT => vec![text],
        _ => pieces(&text).map(str::to_owned).collect(),
    }
}

/// A part of the person's message.
fn blocks(part: Part) -> Vec<ContentBlock> {
    match part {
        Part::Text { text } => texts(text).into_iter().map(ContentBlock::from).collect(),
        Part::Image { data, mime } if escaped_len(&data) + escaped_len(&mime) <= TEXT => {
            vec![ContentBlock::Image(schema::ImageContent::new(data.to_string(), mime))]
        }
        Part::Image { data, mime } => {
            vec![format!("[{} of {}, not sent again]", line(&mime, TITLE), counted(data.len(), "byte")).into()]
        }
        Part::Resource { uri, text } => {
            let contents = schema::TextResourceContents::new(cut(&text, TEXT), line(&uri, TITLE));
            let resource = schema::EmbeddedResourceResource::TextResourceContents(contents);
            vec![ContentBlock::Resource(schema::EmbeddedResource::new(resource))]
        }
        Part::ResourceLink { name, uri, text: _ } => {
            vec![ContentBlock::ResourceLink(schema::ResourceLink::new(line(&name, TITLE), line(&uri, TITLE)))]
        }
        // A person says none of these.
        Part::Thought { .. } | Part::ToolCall(_) | Part::ToolResult { .. } => Vec::new(),
    }
}

/// The first commands that fit into a line. The others can be typed all the same.
fn commands_that_fit(commands: &[CommandInfo]) -> Vec<schema::AvailableCommand> {
    let mut left = TEXT;
    commands
        .iter()
        .map_while(|command| {
            let description = line(&command.description, TITLE);
            let hint = command.hint.as_deref().map(|hint| line(hint, TITLE));
            // What stands around a command in JSON.
            let around = 80;
            let size = around + description.len() + command.name.len() + hint.as_deref().map_or(0, str::len);
            left = left.checked_sub(size)?;
            let input = hint
                .map(|hint| schema::AvailableCommandInput::Unstructured(schema::UnstructuredCommandInput::new(hint)));
            Some(schema::AvailableCommand::new(&command.name, description).input(input))
        })
        .collect()
}

#[cfg(test)]
mod tests;
