//! What happens in a session, as text for people: what is said to one stream, what is done to another.

use std::borrow::Cow;
use std::io::{self, Write};

use acp_runtime_agent::event::{SessionEvent, ToolCallStatus, ToolCallUpdate, TurnEnd};
use acp_runtime_agent::plain::is_plain;
use acp_runtime_agent::transcript::{MessageId, Part};

/// Writes events as text.
pub(super) struct Transcript<O, S> {
    said: O,
    done: S,
    /// Whether a person's terminal shows it, to which no control characters may go.
    terminal: bool,
    /// Whether the person's own words and the ends of turns are shown too.
    whole: bool,
    message: Option<MessageId>,
    in_line: bool,
    /// What the runtime itself said last: an answer, unless it turns out to be why a command failed.
    held: Option<(MessageId, String)>,
}

impl<O: Write, S: Write> Transcript<O, S> {
    /// The answers, as they come.
    pub(super) fn new(said: O, done: S, terminal: bool) -> Self {
        Self { said, done, terminal, whole: false, message: None, in_line: false, held: None }
    }

    /// A whole session.
    pub(super) fn whole(said: O, done: S, terminal: bool) -> Self {
        Self { whole: true, ..Self::new(said, done, terminal) }
    }

    /// Shows one event.
    pub(super) fn show(&mut self, event: &SessionEvent) -> io::Result<()> {
        match event {
            SessionEvent::UserMessage { parts, .. } if self.whole => self.prompt(parts),
            SessionEvent::AgentText { id, text, local: true } if !self.whole => {
                self.finish()?;
                self.held = Some((id.clone(), text.clone()));
                Ok(())
            }
            SessionEvent::AgentText { id, text, .. } | SessionEvent::CompactionText { id, text } => {
                self.answer(id, text)
            }
            SessionEvent::ToolCallStarted { title, .. } => self.note("", title),
            SessionEvent::ToolCallUpdated(update) => self.tool(update),
            SessionEvent::Notice(notice) => self.note(&format!("{}: ", notice.severity.as_str()), &notice.title),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(reason) } if self.whole => self.note("failed: ", reason),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(_) } => self.fail(),
            SessionEvent::TurnEnded { end: TurnEnd::Stopped(_) } => self.finish(),
            SessionEvent::UserMessage { .. }
            | SessionEvent::AgentThought { .. }
            | SessionEvent::ToolOutput { .. }
            | SessionEvent::Plan { .. }
            | SessionEvent::Usage(_)
            | SessionEvent::Title { .. }
            | SessionEvent::ContextCleared
            | SessionEvent::OutputsDropped { .. }
            | SessionEvent::CompactionStarted { .. }
            | SessionEvent::CompactionEnded { .. }
            | SessionEvent::ModeChanged { .. }
            | SessionEvent::BoundsChanged(_)
            | SessionEvent::OptionsChanged { .. }
            | SessionEvent::CommandsChanged { .. }
            | SessionEvent::PanelChanged { .. }
            | SessionEvent::ServersChanged { .. } => Ok(()),
        }
    }

    /// Ends the last line.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Some((id, text)) = self.held.take() {
            self.answer(&id, &text)?;
        }
        if std::mem::take(&mut self.in_line) {
            self.said.write_all(b"\n")?;
        }
        self.said.flush()
    }

    fn prompt(&mut self, parts: &[Part]) -> io::Result<()> {
        self.finish()?;
        for part in parts {
            match part {
                Part::Text { text } => {
                    for line in text.lines() {
                        writeln!(self.said, "> {}", plain(line, self.terminal))?;
                    }
                }
                Part::Image { mime, .. } => writeln!(self.said, "> [{}]", plain(mime, self.terminal))?,
                Part::Resource { uri, .. } | Part::ResourceLink { uri, .. } => {
                    writeln!(self.said, "> [{}]", plain(uri, self.terminal))?;
                }
                Part::Thought { .. } | Part::ToolCall(_) | Part::ToolResult { .. } => {}
            }
        }
        Ok(())
    }

    fn answer(&mut self, id: &MessageId, text: &str) -> io::Result<()> {
        if self.message.as_ref() != Some(id) {
            self.finish()?;
            self.message = Some(id.clone());
        }
        if let Some(last) = text.chars().next_back() {
            self.in_line = last != '\n';
        }
        self.said.write_all(plain(text, self.terminal).as_bytes())?;
        self.said.flush()
    }

    /// Why a command failed is no data.
    fn fail(&mut self) -> io::Result<()> {
        if let Some((_, text)) = self.held.take() {
            let _ = writeln!(self.done, "{}", plain(text.trim_end(), true));
        }
        self.finish()
    }

    fn tool(&mut self, update: &ToolCallUpdate) -> io::Result<()> {
        match update.status {
            Some(ToolCallStatus::Failed) => {
                let reason = update.for_model.as_deref().and_then(|text| text.lines().next()).unwrap_or("no reason");
                self.note("failed: ", reason)
            }
            Some(ToolCallStatus::Pending | ToolCallStatus::InProgress | ToolCallStatus::Completed) | None => Ok(()),
        }
    }

    /// A line about what is done. Nobody has to read these, so a stream that is gone does no harm.
    fn note(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.finish()?;
        let _ = writeln!(self.done, "[{label}{}]", plain(text.lines().next().unwrap_or_default(), true));
        Ok(())
    }
}

/// The text; for a terminal without what a model or a file could command it with or deceive its reader by.
pub(super) fn plain(text: &str, terminal: bool) -> Cow<'_, str> {
    let harmful = |c: char| !is_plain(c) && c != '\n' && c != '\t';
    if terminal && text.contains(harmful) { text.replace(harmful, "").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::event::{Notice, Severity};
    use acp_runtime_agent::model::ToolKind;
    use acp_runtime_agent::transcript::{StopReason, ToolCall, ToolCallId};
    use serde_json::json;

    use super::*;

    fn text(id: &str, text: &str) -> SessionEvent {
        SessionEvent::AgentText { id: MessageId::new(id), text: text.to_owned(), local: false }
    }

    fn call() -> SessionEvent {
        SessionEvent::ToolCallStarted {
            message: MessageId::new("m1"),
            call: ToolCall { id: ToolCallId::new("c1"), name: "grep".into(), arguments: json!({}) },
            title: "Search `a`\x1b[2J\nb".into(),
            kind: ToolKind::Search,
            locations: Vec::new(),
            terminal: None,
            local: false,
        }
    }

    fn failed() -> SessionEvent {
        let mut update = ToolCallUpdate::of(ToolCallId::new("c1"));
        update.status = Some(ToolCallStatus::Failed);
        update.for_model = Some("Error [denied]: no\nmore".into());
        SessionEvent::ToolCallUpdated(update)
    }

    fn session() -> Vec<SessionEvent> {
        let parts = vec![Part::Text { text: "one\ntwo".into() }];
        vec![
            SessionEvent::UserMessage { id: MessageId::new("u1"), parts, local: false },
            text("m1", "Look"),
            text("m1", "ing\x1b[31m\x07\u{9b}2J\u{202e}."),
            call(),
            failed(),
            SessionEvent::Notice(Notice::new(Severity::Warning, "`linter` does not answer")),
            text("m2", "Done.\n"),
            SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::EndTurn) },
        ]
    }

    #[test]
    fn answers_and_deeds_go_to_their_streams() {
        let (mut said, mut done) = (Vec::new(), Vec::new());
        let mut transcript = Transcript::new(&mut said, &mut done, true);
        session().iter().for_each(|event| transcript.show(event).unwrap());
        assert_eq!(String::from_utf8(said).unwrap(), "Looking[31m2J.\nDone.\n");
        assert_eq!(
            String::from_utf8(done).unwrap(),
            "[Search `a`[2J]\n[failed: Error [denied]: no]\n[warning: `linter` does not answer]\n"
        );
    }

    #[test]
    fn what_the_runtime_says_is_an_answer_unless_a_command_failed() {
        let local = |id: &str, said: &str| SessionEvent::AgentText {
            id: MessageId::new(id),
            text: said.to_owned(),
            local: true,
        };
        let shown = |events: &[SessionEvent]| {
            let (mut said, mut done) = (Vec::new(), Vec::new());
            let mut transcript = Transcript::new(&mut said, &mut done, false);
            events.iter().for_each(|event| transcript.show(event).unwrap());
            [said, done].map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let well = SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::EndTurn) };
        let badly = SessionEvent::TurnEnded { end: TurnEnd::Failed("no".into()) };
        let title = SessionEvent::Title { title: "T".into(), provisional: false };
        assert_eq!(shown(&[local("m1", "Yes"), title.clone(), well.clone()]), ["Yes\n", ""]);
        assert_eq!(
            shown(&[local("m1", "error: no\x1b[2J\nhint: yes"), title, badly.clone()]),
            ["", "error: no[2J\nhint: yes\n"]
        );
        assert_eq!(shown(&[local("m1", "First"), text("m2", "then"), badly]), ["First\nthen\n", ""]);
        assert_eq!(shown(&[local("m1", "First"), call(), text("m2", "then"), well]).first().unwrap(), "First\nthen\n");
    }

    #[test]
    fn a_whole_session_has_the_prompts_and_a_file_gets_every_byte() {
        let (mut said, mut done) = (Vec::new(), Vec::new());
        let mut transcript = Transcript::whole(&mut said, &mut done, false);
        session().iter().for_each(|event| transcript.show(event).unwrap());
        transcript.show(&SessionEvent::TurnEnded { end: TurnEnd::Failed("no key".into()) }).unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "> one\n> two\nLooking\x1b[31m\x07\u{9b}2J\u{202e}.\nDone.\n");
        assert!(String::from_utf8(done).unwrap().ends_with("[failed: no key]\n"));
    }
}
