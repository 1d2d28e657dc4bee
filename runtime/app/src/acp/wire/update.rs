//! What happened, as `session/update`.

use acp_runtime_agent::event::{CommandInfo, Notice, SessionEvent, Severity};
use acp_runtime_agent::transcript::{MessageId, Part, PlanEntry, PlanPriority, PlanStatus};
use agent_client_protocol::v1::schema::{self, ContentBlock, SessionUpdate};

use super::options::options as wire_options;
use super::size::{TEXT, cut, escaped_len, line, pieces};
use super::tool::{TITLE, started, updated};
use crate::acp::offers::Offers;

/// Whether the client sees something for the first time, or again in `session/load`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::acp) enum Told {
    /// The client showed the person's own message when it sent it.
    Live,
    /// The person's messages are told as well.
    Again,
}

/// The updates that tell of `event`, in order; often one, sometimes none.
pub(in crate::acp) fn updates(event: SessionEvent, told: Told, offers: Offers) -> Vec<SessionUpdate> {
    match event {
        SessionEvent::UserMessage { .. } if told == Told::Live => Vec::new(),
        SessionEvent::UserMessage { id, parts, local: _ } => {
            parts.into_iter().flat_map(blocks).map(|block| SessionUpdate::UserMessageChunk(chunk(block, &id))).collect()
        }
        SessionEvent::AgentText { id, text, local: _ } => {
            texts(text).into_iter().map(|text| SessionUpdate::AgentMessageChunk(chunk(text.into(), &id))).collect()
        }
        SessionEvent::AgentThought { id, text, signature: _ } => {
            texts(text).into_iter().map(|text| SessionUpdate::AgentThoughtChunk(chunk(text.into(), &id))).collect()
        }
        SessionEvent::ToolCallStarted { message: _, call, title, kind, locations, local: _ } => {
            vec![SessionUpdate::ToolCall(started(&call, &title, kind, &locations))]
        }
        SessionEvent::ToolCallUpdated(update) => vec![SessionUpdate::ToolCallUpdate(updated(&update))],
        SessionEvent::Plan { entries } => vec![SessionUpdate::Plan(schema::Plan::new(plan(&entries)))],
        SessionEvent::Usage(usage) => usage
            .window
            .map(|size| {
                let used = usage.input.saturating_add(usage.output).min(size);
                SessionUpdate::UsageUpdate(schema::UsageUpdate::new(used, size))
            })
            .into_iter()
            .collect(),
        SessionEvent::Title { title } => {
            vec![SessionUpdate::SessionInfoUpdate(schema::SessionInfoUpdate::new().title(line(&title, TITLE)))]
        }
        SessionEvent::ModeChanged { mode } => {
            vec![SessionUpdate::CurrentModeUpdate(schema::CurrentModeUpdate::new(mode.id()))]
        }
        SessionEvent::OptionsChanged { options } => {
            vec![SessionUpdate::ConfigOptionUpdate(schema::ConfigOptionUpdate::new(wire_options(options, offers)))]
        }
        SessionEvent::CommandsChanged { commands } => {
            let commands = commands_that_fit(&commands);
            vec![SessionUpdate::AvailableCommandsUpdate(schema::AvailableCommandsUpdate::new(commands))]
        }
        SessionEvent::Notice(told) => notice(&told).map(SessionUpdate::Notice).into_iter().collect(),
        // Panels have a notification of their own, and the end of a turn is the answer to its prompt.
        SessionEvent::PanelChanged { .. } | SessionEvent::TurnEnded { .. } => Vec::new(),
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
            vec![format!("[{} of {} bytes, not sent again]", line(&mime, TITLE), data.len()).into()]
        }
        Part::Resource { uri, text } => {
            let contents = schema::TextResourceContents::new(cut(&text, TEXT), line(&uri, TITLE));
            let resource = schema::EmbeddedResourceResource::TextResourceContents(contents);
            vec![ContentBlock::Resource(schema::EmbeddedResource::new(resource))]
        }
        Part::ResourceLink { name, uri } => {
            vec![ContentBlock::ResourceLink(schema::ResourceLink::new(line(&name, TITLE), line(&uri, TITLE)))]
        }
        // A person says none of these.
        Part::Thought { .. } | Part::ToolCall(_) | Part::ToolResult { .. } => Vec::new(),
    }
}

/// None for a notice without a title, which the protocol does not allow.
fn notice(notice: &Notice) -> Option<schema::Notice> {
    let severity = match notice.severity {
        Severity::Info => schema::NoticeSeverity::Info,
        Severity::Warning => schema::NoticeSeverity::Warning,
        Severity::Error => schema::NoticeSeverity::Error,
    };
    let title = line(notice.title.trim(), TITLE);
    let description = notice.description.as_deref().map(|text| cut(text, TEXT));
    (!title.is_empty()).then(|| schema::Notice::new(severity, title).description(description))
}

fn plan(entries: &[PlanEntry]) -> Vec<schema::PlanEntry> {
    const MOST: usize = 50;
    entries
        .iter()
        .take(MOST)
        .map(|entry| {
            let priority = match entry.priority {
                PlanPriority::High => schema::PlanEntryPriority::High,
                PlanPriority::Medium => schema::PlanEntryPriority::Medium,
                PlanPriority::Low => schema::PlanEntryPriority::Low,
            };
            let status = match entry.status {
                PlanStatus::Pending => schema::PlanEntryStatus::Pending,
                PlanStatus::InProgress => schema::PlanEntryStatus::InProgress,
                PlanStatus::Completed => schema::PlanEntryStatus::Completed,
            };
            schema::PlanEntry::new(cut(&entry.content, TEXT / MOST), priority, status)
        })
        .collect()
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
