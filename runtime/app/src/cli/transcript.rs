//! What happens in a session, as text for people: what is said to one stream, what is done to another.

use std::borrow::Cow;
use std::io::{self, Write};

use acp_runtime_agent::event::{SessionEvent, ToolCallStatus, ToolCallUpdate, TurnEnd};
use acp_runtime_agent::plain::is_plain;
use acp_runtime_agent::transcript::{MessageId, Part, ToolContent};

use super::styled::{Look, Styled};

/// Writes events as text.
pub(super) struct Transcript<O, S> {
    said: O,
    done: S,
    look: Look,
    /// Renders answers, where that is wanted.
    styled: Option<Styled>,
    /// Whether the person's own words and the ends of turns are shown too.
    whole: bool,
    message: Option<MessageId>,
    in_line: bool,
    /// What the runtime itself said last: an answer, unless it turns out to be why a command failed.
    held: Option<(MessageId, String)>,
    /// Whether what the runtime says next is what a tool gave to a person, which is any text.
    outcome: bool,
}

impl<O: Write, S: Write> Transcript<O, S> {
    /// The answers, as they come.
    pub(super) fn new(said: O, done: S, look: Look) -> Self {
        let styled = match look {
            Look::Styled { colours } => Some(Styled::new(colours)),
            Look::Exact | Look::Plain => None,
        };
        let (whole, in_line, outcome) = (false, false, false);
        Self { said, done, look, styled, whole, message: None, in_line, held: None, outcome }
    }

    /// A whole session.
    pub(super) fn whole(said: O, done: S, look: Look) -> Self {
        Self { whole: true, ..Self::new(said, done, look) }
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
            SessionEvent::AgentText { id, text, local } => self.answer(id, text, *local),
            SessionEvent::CompactionText { id, text } => self.answer(id, text, false),
            SessionEvent::ToolCallStarted { title, local, .. } => {
                self.outcome = *local;
                self.note("", title)
            }
            SessionEvent::ToolCallUpdated(update) => self.tool(update),
            SessionEvent::Notice(notice) => self.note(&format!("{}: ", notice.severity.as_str()), &notice.title),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(reason) } if self.whole => self.note("failed: ", reason),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(_) } => self.fail(),
            SessionEvent::TurnEnded { end: TurnEnd::Stopped(_) } => self.finish(),
            SessionEvent::UserMessage { .. }
            | SessionEvent::AgentThought { .. }
            | SessionEvent::ToolCallDrafted { .. }
            | SessionEvent::ToolInput { .. }
            | SessionEvent::ToolOutput { .. }
            | SessionEvent::Plan { .. }
            | SessionEvent::Usage(_)
            | SessionEvent::Title { .. }
            | SessionEvent::ContextCleared
            | SessionEvent::OutputsDropped { .. }
            | SessionEvent::MessageReplaced { .. }
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
            self.answer(&id, &text, true)?;
        }
        if let Some(rest) = self.styled.as_mut().map(Styled::finish) {
            self.write(&rest)?;
        }
        if std::mem::take(&mut self.in_line) {
            self.said.write_all(b"\n")?;
        }
        self.said.flush()
    }

    /// A line about the run itself.
    pub(super) fn remark(&mut self, text: &str) -> io::Result<()> {
        self.note("", text)
    }

    fn prompt(&mut self, parts: &[Part]) -> io::Result<()> {
        self.finish()?;
        for part in parts {
            match part {
                Part::Text { text } => {
                    for line in text.lines() {
                        writeln!(self.said, "> {}", self.look.text(line))?;
                    }
                }
                Part::Image { mime, .. } => writeln!(self.said, "> [{}]", self.look.text(mime))?,
                Part::Resource { uri, .. } | Part::ResourceLink { uri, .. } => {
                    writeln!(self.said, "> [{}]", self.look.text(uri))?;
                }
                Part::Thought { .. } | Part::ToolCall(_) | Part::ToolResult { .. } => {}
            }
        }
        Ok(())
    }

    fn answer(&mut self, id: &MessageId, text: &str, local: bool) -> io::Result<()> {
        if self.message.as_ref() != Some(id) {
            self.finish()?;
            self.message = Some(id.clone());
        }
        let is_outcome = local && std::mem::take(&mut self.outcome);
        match self.styled.as_mut().filter(|_| !is_outcome) {
            Some(styled) => {
                let shown = styled.push(text);
                self.write(&shown)
            }
            None => self.write(&self.look.text(text)),
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if let Some(last) = text.chars().next_back() {
            self.in_line = last != '\n';
        }
        self.said.write_all(text.as_bytes())?;
        self.said.flush()
    }

    /// Why a command failed is no data.
    fn fail(&mut self) -> io::Result<()> {
        if let Some((_, text)) = self.held.take() {
            let _ = writeln!(self.done, "{}", harmless(text.trim_end()));
        }
        self.finish()
    }

    fn tool(&mut self, update: &ToolCallUpdate) -> io::Result<()> {
        match update.status {
            Some(ToolCallStatus::Failed) => {
                let content = || update.content.iter().flatten();
                let text = content().find_map(|content| match content {
                    ToolContent::Text { text } => text.lines().next(),
                    _ => None,
                });
                // What a command has written ends with how it ended.
                let told = text.or_else(|| {
                    content().find_map(|content| match content {
                        ToolContent::Terminal { output, .. } => output.lines().next_back(),
                        _ => None,
                    })
                });
                self.note("failed: ", told.unwrap_or("no reason"))?;
                let texts = content().filter_map(|content| match content {
                    ToolContent::Text { text } => Some(text),
                    _ => None,
                });
                let hint = texts.flat_map(|text| text.lines()).find_map(|line| line.strip_prefix("hint: "));
                hint.map_or(Ok(()), |hint| self.note("hint: ", hint))
            }
            Some(ToolCallStatus::Pending | ToolCallStatus::InProgress | ToolCallStatus::Completed) | None => Ok(()),
        }
    }

    /// A line about what is done. Nobody has to read these, so a stream that is gone does no harm.
    fn note(&mut self, label: &str, text: &str) -> io::Result<()> {
        self.finish()?;
        let _ = writeln!(self.done, "[{label}{}]", harmless(text.lines().next().unwrap_or_default()));
        Ok(())
    }
}

/// The text without what a model or a file could command a terminal with or deceive its reader by.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| !is_plain(c) && c != '\n' && c != '\t';
    if text.contains(harmful) { text.replace(harmful, "").into() } else { text.into() }
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
        update.for_model = Some("Error [denied]: no (more)".into());
        update.content = Some(vec![ToolContent::Text { text: "no\nhint: more".into() }]);
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
        let mut transcript = Transcript::new(&mut said, &mut done, Look::Plain);
        session().iter().for_each(|event| transcript.show(event).unwrap());
        assert_eq!(String::from_utf8(said).unwrap(), "Looking[31m2J.\nDone.\n");
        assert_eq!(
            String::from_utf8(done).unwrap(),
            "[Search `a`[2J]\n[failed: no]\n[hint: more]\n[warning: `linter` does not answer]\n"
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
            let mut transcript = Transcript::new(&mut said, &mut done, Look::Exact);
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
    fn what_a_tool_gave_is_no_markdown_and_what_is_done_comes_between_whole_lines() {
        let (mut said, mut done) = (Vec::new(), Vec::new());
        let mut transcript = Transcript::new(&mut said, &mut done, Look::Styled { colours: false });
        let SessionEvent::ToolCallStarted { message, call, title, kind, locations, terminal, .. } = call() else {
            panic!("it is one");
        };
        let local =
            |text: &str| SessionEvent::AgentText { id: MessageId::new(text), text: text.to_owned(), local: true };
        let own = SessionEvent::ToolCallStarted { message, call, title, kind, locations, terminal, local: true };
        for event in [text("m1", "Look at *this"), own, local("# no *heading*\x1b[2J\n"), local("- an *item*\n")] {
            transcript.show(&event).unwrap();
        }
        transcript.finish().unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "Look at *this\n# no *heading*[2J\n• an \x1b[3mitem\x1b[23m\n");
    }

    #[test]
    fn a_whole_session_has_the_prompts_and_a_file_gets_every_byte() {
        let (mut said, mut done) = (Vec::new(), Vec::new());
        let mut transcript = Transcript::whole(&mut said, &mut done, Look::Exact);
        session().iter().for_each(|event| transcript.show(event).unwrap());
        transcript.show(&SessionEvent::TurnEnded { end: TurnEnd::Failed("no key".into()) }).unwrap();
        assert_eq!(String::from_utf8(said).unwrap(), "> one\n> two\nLooking\x1b[31m\x07\u{9b}2J\u{202e}.\nDone.\n");
        assert!(String::from_utf8(done).unwrap().ends_with("[failed: no key]\n"));
    }
}
