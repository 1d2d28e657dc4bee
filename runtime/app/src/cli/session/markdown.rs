//! A session as a Markdown document: what was said as it was said, what was done as blocks that keep their bytes.
//!
//! Pure. Tested below by a session with every kind of event.

use std::collections::HashMap;
use std::fmt::Write as _;

use acp_runtime_agent::event::{CompactionEnd, SessionEvent, ToolCallStatus, ToolCallUpdate, TurnEnd};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::store::SessionRecord;
use acp_runtime_agent::transcript::{
    MessageId, Part, PlanEntry, PlanStatus, StopReason, SystemPromptMode, ToolCallId, ToolContent, Usage, fenced,
};
use similar::TextDiff;

/// The whole document.
pub(super) fn document(record: &SessionRecord, events: &[SessionEvent]) -> String {
    let mut document = Document { text: head(record), ..Document::default() };
    // A call is one block, at the place where it was announced, as it is in the end.
    let mut ends: HashMap<&ToolCallId, ToolCallUpdate> = HashMap::new();
    for event in events {
        if let SessionEvent::ToolCallUpdated(update) = event {
            lay_over(ends.entry(&update.id).or_insert_with(|| ToolCallUpdate::of(update.id.clone())), update);
        }
    }
    for event in events {
        document.add(event, &ends);
    }
    document.finish()
}

fn head(record: &SessionRecord) -> String {
    let SessionRecord { id, setup, title, updated } = record;
    let mut text = format!("# {}\n\n", one_line(title.as_deref().unwrap_or("A session without a title")));
    let _ = writeln!(text, "- Session: `{id}`\n- Last activity: {}", super::time(*updated));
    for folder in std::iter::once(&setup.cwd).chain(&setup.additional) {
        let _ = writeln!(text, "- Folder: {}", code(folder));
    }
    if let Some(prompt) = &setup.system_prompt {
        let how = match prompt.mode {
            SystemPromptMode::Append => "added to the runtime's",
            SystemPromptMode::Override => "in place of the runtime's",
        };
        let _ = writeln!(text, "\n## Instructions of the client ({how})\n\n{}", quoted(&prompt.text));
    }
    text
}

fn lay_over(known: &mut ToolCallUpdate, update: &ToolCallUpdate) {
    let ToolCallUpdate { id: _, status, title, arguments, content, locations, structured, for_model } = update.clone();
    known.status = status.or(known.status);
    known.title = title.or(known.title.take());
    known.arguments = arguments.or(known.arguments.take());
    known.content = content.or(known.content.take());
    known.locations = locations.or(known.locations.take());
    known.structured = structured.or(known.structured.take());
    known.for_model = for_model.or(known.for_model.take());
}

/// What comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Said,
    Thought,
    Summary,
}

#[derive(Default)]
struct Document {
    text: String,
    /// The message and the kind of the piece that is written last; none after anything else.
    open: Option<(MessageId, Piece)>,
    /// Whether the assistant has its heading in this turn.
    answering: bool,
    /// The plan as it stands; shown at the end of its turn.
    plan: Vec<PlanEntry>,
    used: Usage,
}

impl Document {
    fn add(&mut self, event: &SessionEvent, ends: &HashMap<&ToolCallId, ToolCallUpdate>) {
        match event {
            SessionEvent::UserMessage { parts, .. } => self.user(parts),
            SessionEvent::AgentText { id, text, .. } => self.piece(id, Piece::Said, text),
            SessionEvent::AgentThought { id, text, .. } => self.piece(id, Piece::Thought, text),
            SessionEvent::CompactionText { id, text } => self.piece(id, Piece::Summary, text),
            SessionEvent::ToolCallStarted { call, title, .. } => {
                self.assistant();
                let end = ends.get(&call.id);
                let title = end.and_then(|end| end.title.as_deref()).unwrap_or(title);
                let state = match end.and_then(|end| end.status) {
                    Some(ToolCallStatus::Completed) => "done",
                    Some(ToolCallStatus::Failed) => "failed",
                    Some(ToolCallStatus::Pending | ToolCallStatus::InProgress) | None => "not done",
                };
                self.paragraph();
                let _ = writeln!(self.text, "**{}** ({}, {state})", one_line(title), code(&call.name));
                self.block("json", &format!("{:#}", call.arguments));
                for content in end.and_then(|end| end.content.as_deref()).unwrap_or_default() {
                    self.content(content);
                }
            }
            SessionEvent::Plan { entries } => self.plan.clone_from(entries),
            SessionEvent::Usage(usage) => {
                self.used.input += usage.input;
                self.used.output += usage.output;
            }
            SessionEvent::ContextCleared => {
                self.paragraph();
                self.text.push_str("_The model begins anew._\n");
            }
            SessionEvent::CompactionEnded { end, .. } => {
                self.paragraph();
                self.text.push_str(match end {
                    CompactionEnd::Completed { .. } => "_The model goes on from the summary._\n",
                    CompactionEnd::Failed { .. } | CompactionEnd::Cancelled => "_The summary is not used._\n",
                });
            }
            SessionEvent::ModeChanged { mode } => {
                self.paragraph();
                let _ = writeln!(self.text, "_Mode: {}_", mode.title());
            }
            SessionEvent::TurnEnded { end } => self.end(end),
            SessionEvent::ToolCallDrafted { .. }
            | SessionEvent::ToolInput { .. }
            | SessionEvent::ToolCallUpdated(_)
            | SessionEvent::OutputsDropped { .. }
            | SessionEvent::MessageReplaced { .. }
            | SessionEvent::ToolOutput { .. }
            | SessionEvent::Title { .. }
            | SessionEvent::CompactionStarted { .. }
            | SessionEvent::BoundsChanged(_)
            | SessionEvent::OptionsChanged { .. }
            | SessionEvent::CommandsChanged { .. }
            | SessionEvent::PanelChanged { .. }
            | SessionEvent::Notice(_)
            | SessionEvent::ServersChanged { .. } => {}
        }
    }

    /// Begins a new paragraph.
    fn paragraph(&mut self) {
        self.open = None;
        let end = self.text.trim_end_matches('\n').len();
        self.text.truncate(end);
        self.text.push_str("\n\n");
    }

    fn user(&mut self, parts: &[Part]) {
        self.paragraph();
        self.answering = false;
        self.text.push_str("## You\n");
        for part in parts {
            self.paragraph();
            let _ = match part {
                Part::Text { text } => writeln!(self.text, "{}", quoted(text)),
                Part::Image { mime, .. } => writeln!(self.text, "> _an image ({})_", one_line(mime)),
                Part::Resource { uri, text } => {
                    let _ = writeln!(self.text, "> {}", code(uri));
                    self.block("", text);
                    Ok(())
                }
                Part::ResourceLink { name, uri, text: _ } => writeln!(self.text, "> {}: {}", one_line(name), code(uri)),
                // A person says none of these.
                Part::Thought { .. } | Part::ToolCall(_) | Part::ToolResult { .. } => Ok(()),
            };
        }
    }

    fn assistant(&mut self) {
        if !self.answering {
            self.paragraph();
            self.answering = true;
            self.text.push_str("## Assistant\n");
        }
    }

    /// A piece of text, of thinking or of a summary. All but text is quoted.
    fn piece(&mut self, id: &MessageId, kind: Piece, text: &str) {
        if text.is_empty() {
            return;
        }
        let goes_on = self.open.as_ref().is_some_and(|(message, open)| message == id && *open == kind);
        if !goes_on {
            self.assistant();
            self.paragraph();
            self.text.push_str(match kind {
                Piece::Said => "",
                Piece::Thought => "> _Thinking:_ ",
                Piece::Summary => "> _A summary for the model:_ ",
            });
            self.open = Some((id.clone(), kind));
        }
        match kind {
            Piece::Said => self.text.push_str(text),
            Piece::Thought | Piece::Summary => self.text.push_str(&text.replace('\n', "\n> ")),
        }
    }

    fn content(&mut self, content: &ToolContent) {
        match content {
            ToolContent::Text { text } => self.block("text", text),
            ToolContent::Resource { uri, text, .. } => {
                self.paragraph();
                let _ = writeln!(self.text, "{}", code(uri));
                self.block("", text);
            }
            ToolContent::Image { data, mime } => {
                self.paragraph();
                let _ = writeln!(self.text, "_{}, about {}_", code(mime), counted(data.len() / 4 * 3, "byte"));
            }
            ToolContent::Link { name, uri, .. } => {
                self.paragraph();
                let _ = writeln!(self.text, "{}: {}", code(name), code(uri));
            }
            ToolContent::Diff { path, old, new } => {
                let old = old.as_deref().unwrap_or_default();
                let diff = TextDiff::from_lines(old, new);
                self.block("diff", &diff.unified_diff().header(path, path).to_string());
            }
            ToolContent::Terminal { output, .. } => self.block("console", output),
        }
    }

    fn block(&mut self, language: &str, text: &str) {
        self.paragraph();
        let _ = writeln!(self.text, "{}", fenced(language, text));
    }

    fn end(&mut self, end: &TurnEnd) {
        self.paragraph();
        for entry in std::mem::take(&mut self.plan) {
            let (mark, note) = match entry.status {
                PlanStatus::Completed => ("x", ""),
                PlanStatus::InProgress => (" ", " _(under way)_"),
                PlanStatus::Pending => (" ", ""),
            };
            let _ = writeln!(self.text, "- [{mark}] {}{note}", one_line(&entry.content));
        }
        let why = match end {
            TurnEnd::Stopped(StopReason::EndTurn) => return,
            TurnEnd::Stopped(StopReason::Cancelled) => "_Cancelled._".to_owned(),
            TurnEnd::Stopped(StopReason::MaxTokens) => "_Ended at the model's limit of tokens._".to_owned(),
            TurnEnd::Stopped(StopReason::MaxTurnRequests) => "_Ended at the limit of model requests._".to_owned(),
            TurnEnd::Stopped(StopReason::Refusal) => "_The model refused to go on._".to_owned(),
            TurnEnd::Failed(reason) => format!("**Failed:** {}", one_line(reason)),
        };
        self.paragraph();
        self.text.push_str(&why);
    }

    fn finish(mut self) -> String {
        let Usage { input, output, .. } = self.used;
        if input + output > 0 {
            self.paragraph();
            let _ = write!(self.text, "---\n\n{} in, {output} out.", counted(input, "token"));
        }
        self.paragraph();
        self.text.pop();
        self.text
    }
}

/// Every line behind a `>`.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Text that begins nothing of its own in the line that it stands in.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A code span, whatever is in it.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{}{space}{fence}", one_line(text))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use acp_runtime_agent::model::ToolKind;
    use acp_runtime_agent::policy::Mode;
    use acp_runtime_agent::store::SessionSetup;
    use acp_runtime_agent::transcript::{PlanPriority, SessionId, SystemPrompt, ToolCall};
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn said(id: &str, text: &str) -> SessionEvent {
        SessionEvent::AgentText { id: MessageId::new(id), text: text.to_owned(), local: false }
    }

    fn thought(id: &str, text: &str) -> SessionEvent {
        SessionEvent::AgentThought { id: MessageId::new(id), text: text.to_owned(), signature: None }
    }

    fn summary(id: &str, text: &str) -> SessionEvent {
        SessionEvent::CompactionText { id: MessageId::new(id), text: text.to_owned() }
    }

    fn summarised(id: &str, end: CompactionEnd) -> SessionEvent {
        SessionEvent::CompactionEnded { id: MessageId::new(id), end }
    }

    fn user(text: &str) -> SessionEvent {
        let parts = vec![
            Part::Text { text: text.to_owned() },
            Part::Image { data: "AA==".into(), mime: "image/png".to_owned() },
            Part::Resource { uri: "file:///p/a".to_owned(), text: "```\nfenced\n```\n".to_owned() },
            Part::ResourceLink { name: "b".to_owned(), uri: "file:///p/b".to_owned(), text: None },
        ];
        SessionEvent::UserMessage { id: MessageId::new("u"), parts, local: false }
    }

    fn call(id: &str) -> SessionEvent {
        SessionEvent::ToolCallStarted {
            message: MessageId::new("m"),
            call: ToolCall {
                id: ToolCallId::new(id),
                name: "write_file".to_owned(),
                arguments: json!({ "path": "a" }),
            },
            title: "Write\n`a`".to_owned(),
            kind: ToolKind::Edit,
            locations: Vec::new(),
            terminal: None,
            local: false,
        }
    }

    fn update(id: &str, status: ToolCallStatus, content: Option<Vec<ToolContent>>) -> SessionEvent {
        let status = Some(status);
        SessionEvent::ToolCallUpdated(ToolCallUpdate { status, content, ..ToolCallUpdate::of(ToolCallId::new(id)) })
    }

    fn entry(content: &str, status: PlanStatus) -> PlanEntry {
        PlanEntry { content: content.to_owned(), priority: PlanPriority::High, status }
    }

    fn ended(end: TurnEnd) -> SessionEvent {
        SessionEvent::TurnEnded { end }
    }

    fn record() -> SessionRecord {
        SessionRecord {
            id: SessionId::new("0192"),
            setup: SessionSetup {
                cwd: "/p".to_owned(),
                additional: vec!["/with `ticks`".to_owned()],
                system_prompt: Some(SystemPrompt {
                    mode: SystemPromptMode::Append,
                    text: "Be kind.\n\nBe brief.".to_owned(),
                }),
            },
            title: Some("A\ntitle".to_owned()),
            updated: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        }
    }

    fn events() -> Vec<SessionEvent> {
        let diff = ToolContent::Diff {
            path: "/p/a".to_owned(),
            old: Some("one\ntwo\n".to_owned()),
            new: "one\nzwei\n".to_owned(),
        };
        vec![
            user("Do\n# this"),
            thought("m", "Let me\n"),
            thought("m", "see."),
            said("m", "I *will* "),
            said("m", "do it."),
            SessionEvent::Plan { entries: vec![entry("never shown", PlanStatus::Pending)] },
            call("c1"),
            update("c1", ToolCallStatus::InProgress, Some(vec![diff])),
            update("c1", ToolCallStatus::Completed, None),
            call("c2"),
            update("c2", ToolCallStatus::Failed, Some(vec![ToolContent::Text { text: "no".to_owned() }])),
            SessionEvent::Plan {
                entries: vec![
                    entry("look", PlanStatus::Completed),
                    entry("do", PlanStatus::InProgress),
                    entry("check", PlanStatus::Pending),
                ],
            },
            SessionEvent::Usage(Usage { input: 10, output: 3, cached: 0, window: None, cost: None }),
            said("n", "Done."),
            SessionEvent::Title { title: "A title".to_owned(), provisional: false },
            ended(TurnEnd::Stopped(StopReason::EndTurn)),
            SessionEvent::ModeChanged { mode: Mode::Plan },
            SessionEvent::UserMessage { id: MessageId::new("v"), parts: Vec::new(), local: true },
            said("o", "Half"),
            call("c3"),
            ended(TurnEnd::Failed("no\nnetwork".to_owned())),
            SessionEvent::UserMessage { id: MessageId::new("w"), parts: Vec::new(), local: true },
            ended(TurnEnd::Stopped(StopReason::Cancelled)),
            summary("s", "They want\n"),
            summary("s", "it done."),
            summarised("s", CompactionEnd::Completed { kept: None, context: None }),
            summary("t", "They"),
            summarised("t", CompactionEnd::Cancelled),
        ]
    }

    #[test]
    fn a_session_is_written_with_all_that_was_said_and_done() {
        expect![[r##"
            # A title

            - Session: `0192`
            - Last activity: 2023-11-14T22:13:20Z
            - Folder: `/p`
            - Folder: `` /with `ticks` ``

            ## Instructions of the client (added to the runtime's)

            > Be kind.
            >
            > Be brief.

            ## You

            > Do
            > # this

            > _an image (image/png)_

            > `file:///p/a`

            ````
            ```
            fenced
            ```
            ````

            > b: `file:///p/b`

            ## Assistant

            > _Thinking:_ Let me
            > see.

            I *will* do it.

            **Write `a`** (`write_file`, done)

            ```json
            {
              "path": "a"
            }
            ```

            ```diff
            --- /p/a
            +++ /p/a
            @@ -1,2 +1,2 @@
             one
            -two
            +zwei
            ```

            **Write `a`** (`write_file`, failed)

            ```json
            {
              "path": "a"
            }
            ```

            ```text
            no
            ```

            Done.

            - [x] look
            - [ ] do _(under way)_
            - [ ] check

            _Mode: Plan_

            ## You

            ## Assistant

            Half

            **Write `a`** (`write_file`, not done)

            ```json
            {
              "path": "a"
            }
            ```

            **Failed:** no network

            ## You

            _Cancelled._

            ## Assistant

            > _A summary for the model:_ They want
            > it done.

            _The model goes on from the summary._

            > _A summary for the model:_ They

            _The summary is not used._

            ---

            10 tokens in, 3 out.
        "##]]
        .assert_eq(&document(&record(), &events()));
    }
}
