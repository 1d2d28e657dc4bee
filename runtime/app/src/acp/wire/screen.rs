//! Commands that run on this machine, as a client sees them: a terminal that it draws from the output that it is told in
//! `_meta`, where it offered that, else text that grows.

use std::collections::HashMap;

use acp_runtime_agent::event::{ToolCallStatus, ToolCallUpdate};
use acp_runtime_agent::plain::{ends, screen};
use acp_runtime_agent::transcript::{TerminalExit, ToolCallId, ToolContent, fenced};
use agent_client_protocol::v1::schema::{self, SessionUpdate};
use serde_json::{Value, json};

use super::size::{cut, pieces};

/// Bytes of the text that a client is shown of a command while it runs: the end of what it wrote.
const TAIL: usize = 8 * 1024;

/// What one client was shown of the commands that run now.
pub(in crate::acp) struct Screens {
    /// Whether it draws terminals.
    draws: bool,
    /// The end of what each has written, where it does not.
    tails: HashMap<ToolCallId, String>,
}

impl Screens {
    pub(in crate::acp) fn new(draws: bool) -> Self {
        Self { draws, tails: HashMap::new() }
    }

    /// Adds the terminal, in which the output could be shown, to the announcement of its call.
    pub(super) fn announce(&self, call: schema::ToolCall, folder: Option<&str>) -> schema::ToolCall {
        let (true, Some(folder)) = (self.draws, folder) else { return call };
        let id = call.tool_call_id.to_string();
        call.content(vec![drawn(&id)]).meta(meta("terminal_info", json!({ "terminal_id": id, "cwd": folder })))
    }

    /// More of what a call has written.
    pub(super) fn wrote(&mut self, call: &ToolCallId, text: &str) -> Vec<SessionUpdate> {
        if self.draws {
            let told = pieces(text).map(|piece| {
                let output = meta("terminal_output", json!({ "terminal_id": call.as_str(), "data": piece }));
                update(call, schema::ToolCallUpdateFields::new()).meta(output)
            });
            return told.map(SessionUpdate::ToolCallUpdate).collect();
        }
        let tail = self.tails.entry(call.clone()).or_default();
        tail.push_str(text);
        keep_end(tail);
        let content = shown(tail, 2 * TAIL + TAIL / 2);
        vec![SessionUpdate::ToolCallUpdate(update(call, schema::ToolCallUpdateFields::new().content(vec![content])))]
    }

    /// A command as content of its call; nothing where there is nothing to see yet.
    pub(super) fn content(
        &self,
        call: &ToolCallId,
        terminal: Option<&str>,
        output: &str,
        budget: usize,
    ) -> Option<schema::ToolCallContent> {
        match terminal {
            Some(terminal) => Some(drawn(terminal)),
            None if self.draws => Some(drawn(call.as_str())),
            None => text(output, budget),
        }
    }

    /// What an update says beside its fields: that a drawn terminal's command has ended, and how.
    pub(super) fn end(&mut self, update: &ToolCallUpdate) -> Option<schema::Meta> {
        if !matches!(update.status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed)) {
            return None;
        }
        self.tails.remove(&update.id);
        let exit = update.content.iter().flatten().find_map(|content| match content {
            ToolContent::Terminal { terminal: None, exit, .. } => exit.as_ref(),
            _ => None,
        })?;
        let TerminalExit { code, signal } = exit;
        let told = json!({ "terminal_id": update.id.as_str(), "exit_code": code, "signal": signal });
        self.draws.then(|| meta("terminal_exit", told))
    }
}

/// What a command wrote, as text; nothing for nothing.
pub(super) fn text(output: &str, budget: usize) -> Option<schema::ToolCallContent> {
    (!output.is_empty()).then(|| shown(output, budget))
}

fn drawn(terminal: &str) -> schema::ToolCallContent {
    schema::ToolCallContent::Terminal(schema::Terminal::new(terminal.to_owned()))
}

fn shown(output: &str, budget: usize) -> schema::ToolCallContent {
    const FENCE: usize = 64;
    let budget = budget.saturating_sub(FENCE);
    let text = screen(output);
    // Half, since escapes take room as well; where they take even more, the end has to give way.
    let text = ends(&text, budget / 2).unwrap_or(text);
    fenced("", &cut(&text, budget)).into()
}

fn update(call: &ToolCallId, fields: schema::ToolCallUpdateFields) -> schema::ToolCallUpdate {
    schema::ToolCallUpdate::new(call.to_string(), fields)
}

fn meta(key: &str, value: Value) -> schema::Meta {
    let mut meta = schema::Meta::new();
    meta.insert(key.to_owned(), value);
    meta
}

/// Cuts a text to its end, at the beginning of a line where there is one.
fn keep_end(text: &mut String) {
    if text.len() <= TAIL {
        return;
    }
    let from = text.ceil_char_boundary(text.len() - TAIL);
    let line = text.get(from..).and_then(|end| end.find('\n')).map_or(from, |newline| from + newline + 1);
    text.drain(..if line < text.len() { line } else { from });
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn call() -> ToolCallId {
        ToolCallId::new("call-1")
    }

    fn lines(updates: &[SessionUpdate]) -> String {
        let lines: Vec<String> = updates.iter().map(|update| serde_json::to_string(update).unwrap()).collect();
        lines.join("\n")
    }

    fn ended(screens: &mut Screens, exit: TerminalExit) -> String {
        let content = vec![ToolContent::Terminal { terminal: None, output: "all".to_owned(), exit: Some(exit) }];
        let status = Some(ToolCallStatus::Failed);
        let update = ToolCallUpdate { status, content: Some(content), ..ToolCallUpdate::of(call()) };
        serde_json::to_string(&screens.end(&update)).unwrap()
    }

    #[test]
    fn a_client_that_draws_is_told_each_piece_once() {
        let mut screens = Screens::new(true);
        let check = |shown: String, expected: Expect| expected.assert_eq(&shown);
        let announced = screens.announce(schema::ToolCall::new("call-1", "ls"), Some("/p"));
        check(
            serde_json::to_string(&announced).unwrap(),
            expect![[
                r#"{"toolCallId":"call-1","title":"ls","content":[{"type":"terminal","terminalId":"call-1"}],"_meta":{"terminal_info":{"terminal_id":"call-1","cwd":"/p"}}}"#
            ]],
        );
        check(
            lines(&screens.wrote(&call(), "\u{1b}[1mone\n")),
            expect![[
                r#"{"sessionUpdate":"tool_call_update","toolCallId":"call-1","_meta":{"terminal_output":{"terminal_id":"call-1","data":"\u001b[1mone\n"}}}"#
            ]],
        );
        check(
            lines(&screens.wrote(&call(), "two\n")),
            expect![[
                r#"{"sessionUpdate":"tool_call_update","toolCallId":"call-1","_meta":{"terminal_output":{"terminal_id":"call-1","data":"two\n"}}}"#
            ]],
        );
        check(
            ended(&mut screens, TerminalExit { code: Some(1), signal: None }),
            expect![[r#"{"terminal_exit":{"terminal_id":"call-1","exit_code":1,"signal":null}}"#]],
        );
        assert_eq!(screens.wrote(&call(), &"\u{1}".repeat(8192)).len(), 2, "a line stays in its bounds");
        let plain = schema::ToolCall::new("call-1", "read");
        assert_eq!(screens.announce(plain.clone(), None), plain);
    }

    #[test]
    fn other_clients_are_shown_the_end_as_text() {
        let mut screens = Screens::new(false);
        let plain = schema::ToolCall::new("call-1", "ls");
        assert_eq!(screens.announce(plain.clone(), Some("/p")), plain);
        let expected = expect![[
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"call-1","content":[{"type":"content","content":{"type":"text","text":"```\none\ntwo\n```"}}]}"#
        ]];
        screens.wrote(&call(), "\u{1b}[1mone\n");
        expected.assert_eq(&lines(&screens.wrote(&call(), "two\n")));
        for _ in 0..3 {
            screens.wrote(&call(), &"line\n".repeat(1000));
        }
        let shown = lines(&screens.wrote(&call(), "the end\n"));
        assert!(
            shown.len() < 24 * 1024 && shown.contains("```\\nline\\n") && shown.contains("the end\\n```"),
            "{shown}"
        );
        assert_eq!(ended(&mut screens, TerminalExit { code: Some(1), signal: None }), "null");
        assert!(screens.tails.is_empty());
    }

    #[test]
    fn one_endless_line_is_cut_as_well() {
        let mut text = "ü".repeat(TAIL);
        keep_end(&mut text);
        assert_eq!(text.len(), TAIL);
        let mut text = format!("{}\n", "x".repeat(2 * TAIL));
        keep_end(&mut text);
        assert_eq!(text.len(), TAIL);
    }
}
