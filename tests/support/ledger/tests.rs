//! One sequence per rule that must be refused, and one whole session that must not.

use serde_json::{Value, json};

use super::{Ledger, Message};

/// Plays lines: `>` is sent by the client, `<` comes from the agent. Answers the violations.
fn play(lines: &[(char, Value)]) -> Vec<String> {
    let mut ledger = Ledger::default();
    for (direction, message) in lines {
        match direction {
            '>' => ledger.sent(message),
            _ => {
                ledger.received(message.to_string().as_bytes());
            }
        }
    }
    ledger.violations().to_vec()
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn answer(id: u64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn update(update: Value) -> (char, Value) {
    let params = json!({ "sessionId": "s", "update": update });
    ('<', json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
}

fn text(text: &str) -> (char, Value) {
    update(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

fn call(kind: &str, status: &str) -> (char, Value) {
    update(json!({ "sessionUpdate": kind, "toolCallId": "c", "title": "t", "status": status }))
}

/// A session that is open, with one prompt running.
fn prompted(capabilities: &Value) -> Vec<(char, Value)> {
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
    vec![
        ('>', request(1, "initialize", hello)),
        ('<', answer(1, json!({ "protocolVersion": 1 }))),
        ('>', request(2, "session/new", json!({ "cwd": "/", "mcpServers": [] }))),
        ('<', answer(2, json!({ "sessionId": "s" }))),
        ('>', request(3, "session/prompt", json!({ "sessionId": "s", "prompt": [] }))),
    ]
}

fn with(capabilities: &Value, rest: Vec<(char, Value)>) -> Vec<String> {
    let mut lines = prompted(capabilities);
    lines.extend(rest);
    play(&lines)
}

fn end() -> (char, Value) {
    ('<', answer(3, json!({ "stopReason": "end_turn" })))
}

fn resume() -> Value {
    request(8, "session/resume", json!({ "sessionId": "s", "cwd": "/" }))
}

fn close() -> Value {
    request(8, "session/close", json!({ "sessionId": "s" }))
}

fn info() -> (char, Value) {
    update(json!({ "sessionUpdate": "session_info_update", "title": "t" }))
}

fn permission(kinds: &[&str]) -> (char, Value) {
    let options: Vec<Value> = kinds
        .iter()
        .enumerate()
        .map(|(id, kind)| json!({ "optionId": id.to_string(), "name": kind, "kind": kind }))
        .collect();
    let params = json!({ "sessionId": "s", "toolCall": { "toolCallId": "c" }, "options": options });
    ('<', request(9, "session/request_permission", params))
}

#[test]
fn a_good_session_passes() {
    let rest = vec![
        update(json!({ "sessionUpdate": "available_commands_update", "availableCommands": [] })),
        text("hi"),
        call("tool_call", "pending"),
        permission(&["allow_once", "allow_always", "reject_once"]),
        call("tool_call_update", "in_progress"),
        call("tool_call_update", "completed"),
        text("done"),
        end(),
        info(),
        ('>', close()),
        info(),
        ('<', answer(8, json!({}))),
    ];
    assert_eq!(with(&json!({}), rest), Vec::<String>::new());
}

#[test]
fn each_rule_refuses() {
    let none = json!({});
    let changed =
        json!({ "jsonrpc": "2.0", "method": "_aar/panel_changed", "params": { "sessionId": "s", "panel": "p" } });
    let read = request(7, "fs/read_text_file", json!({ "sessionId": "s", "path": "/p" }));
    let relative = request(7, "fs/read_text_file", json!({ "sessionId": "s", "path": "p" }));
    let fs = json!({ "fs": { "readTextFile": true } });
    let drawing = json!({ "_meta": { "terminal_output": true } });
    let sums_up = json!({ "session": { "compaction": {} } });
    let summary =
        |status: &str| update(json!({ "sessionUpdate": "compaction_update", "compactionId": "m", "status": status }));
    let told = |kind: &str, more: Value| {
        let mut told = json!({ "sessionUpdate": kind, "toolCallId": "c", "title": "t" });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        update(told)
    };
    let cases: Vec<(&str, Vec<String>)> = vec![
        ("outside of a turn", with(&none, vec![end(), text("late")])),
        ("never announced", with(&none, vec![call("tool_call_update", "completed")])),
        ("announced twice", with(&none, vec![call("tool_call", "pending"), call("tool_call", "pending")])),
        ("after its end", with(&none, vec![call("tool_call", "completed"), call("tool_call_update", "completed")])),
        ("of summary `m` after its end", with(&sums_up, vec![summary("completed"), summary("completed")])),
        ("while summary `m` had not ended", with(&sums_up, vec![summary("in_progress"), end()])),
        ("went back", with(&none, vec![call("tool_call", "in_progress"), call("tool_call_update", "pending")])),
        ("had not ended", with(&none, vec![call("tool_call", "in_progress"), end()])),
        ("answered before", with(&none, vec![end(), end()])),
        ("nobody asked", with(&none, vec![('<', answer(77, json!({})))])),
        ("not by the schema", with(&none, vec![('<', answer(3, json!({ "stopReason": "done" })))])),
        ("did not offer", with(&none, vec![('<', read.clone())])),
        ("not absolute", with(&fs, vec![('<', relative)])),
        ("knows nothing of panels", with(&none, vec![('<', changed)])),
        (
            "needs the client's `/plan`",
            with(&none, vec![update(json!({ "sessionUpdate": "plan_removed", "planId": "p" }))]),
        ),
        (
            "did not ask for",
            with(&none, vec![told("tool_call", json!({ "_meta": { "terminal_info": { "terminal_id": "t" } } }))]),
        ),
        (
            "was not announced",
            with(&drawing, vec![told("tool_call", json!({ "_meta": { "terminal_output": { "terminal_id": "t" } } }))]),
        ),
        (
            "does not know",
            with(&none, vec![told("tool_call", json!({ "content": [{ "type": "terminal", "terminalId": "t" }] }))]),
        ),
        ("clients get wrong", with(&none, vec![permission(&["allow_once", "allow_once", "reject_once"])])),
        ("clients get wrong", with(&none, vec![permission(&["allow_once"])])),
        ("clients get wrong", with(&none, vec![permission(&["reject_once", "allow_once"])])),
        ("was not open", play(&[text("early")])),
        ("was not open", play(&[('>', resume()), text("early")])),
        ("outside of a turn", play(&[('>', resume()), text("replayed"), ('<', answer(8, json!({})))])),
        ("was not open", with(&none, vec![end(), ('>', close()), ('<', answer(8, json!({}))), info()])),
        ("not JSON-RPC", with(&none, vec![('<', json!([1]))])),
        ("not JSON-RPC", with(&none, vec![('<', json!({ "jsonrpc": "2.0", "id": 3, "result": {}, "error": {} }))])),
        ("id null", with(&none, vec![('<', json!({ "jsonrpc": "2.0", "id": null, "result": {} }))])),
    ];
    for (expected, violations) in cases {
        assert!(violations.iter().any(|violation| violation.contains(expected)), "`{expected}` not in {violations:?}");
    }
    assert_eq!(with(&fs, vec![('<', read)]), Vec::<String>::new());
}

#[test]
fn text_that_is_not_json_is_refused() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.received(b"Loading plugins..."), None);
    assert_eq!(ledger.violations().len(), 1);
}

#[test]
fn unreadable_requests_are_answered_without_an_id() {
    let mut ledger = Ledger::default();
    let line = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    assert!(matches!(ledger.received(line), Some(Message::Response { outcome: Err(_), .. })));
    assert_eq!(ledger.violations(), Vec::<String>::new().as_slice());
}
