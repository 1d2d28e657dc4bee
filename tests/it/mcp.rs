//! MCP servers over the real binary: what they offer, how they are asked, and how they are named and removed.
//!
//! The servers are `mcp-double` (see `tests/doubles`), which does what a test wants; what happened to them stands in
//! `mcp.log` in the project. How they fail is in `faults`, how they are reached over HTTP in `http`.

#![expect(clippy::disallowed_methods, reason = "the double keeps a log")]

mod configured;
mod faults;
mod http;
mod lifetime;
mod reasons;

use std::time::Duration;

use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Runtime};
use serde_json::{Value, json};

/// The program of the double.
const DOUBLE: &str = env!("CARGO_BIN_EXE_mcp-double");

/// A server with these traits, as a client names it.
fn server(name: &str, traits: &[&str]) -> Value {
    json!({ "name": name, "command": DOUBLE, "args": traits, "env": [] })
}

/// Opens a session with these servers. It may take no longer than one without.
async fn open(editor: &EditorDouble, runtime: &Runtime, servers: Value) -> String {
    let params = json!({ "cwd": runtime.project(), "mcpServers": servers });
    let answer = editor.call("session/new", params).await;
    answer["sessionId"].as_str().expect("a session has an id").to_owned()
}

/// How the servers are, as the client was told last.
fn told(editor: &EditorDouble, session: &str) -> Vec<Value> {
    let updates = editor.updates(session);
    let last = updates.iter().rev().find_map(|update| update.pointer("/_meta/aar/mcp")?.as_array().cloned());
    last.unwrap_or_default()
}

/// Waits until a server is like this.
async fn until_state(editor: &EditorDouble, session: &str, name: &str, status: &str) -> Value {
    until_state_after(editor, session, 0, name, status).await
}

/// Of the updates after the first `from`.
async fn until_state_after(editor: &EditorDouble, session: &str, from: usize, name: &str, status: &str) -> Value {
    let is = |state: &Value| state["name"] == name && state["status"] == status;
    let state = |update: &Value| update.pointer("/_meta/aar/mcp")?.as_array()?.iter().find(|state| is(state)).cloned();
    let what = format!("`{name}` is {status}");
    let update = editor.until_update_after(session, from, &what, |update| state(update).is_some()).await;
    state(&update).unwrap()
}

/// A session with one connected double.
async fn connected(editor: &EditorDouble, runtime: &Runtime, traits: &[&str]) -> String {
    let session = open(editor, runtime, json!([server("double", traits)])).await;
    until_state(editor, &session, "double", "connected").await;
    session
}

/// What is in the double's log, once it satisfies `wanted`.
async fn log_until(runtime: &Runtime, wanted: impl Fn(&str) -> bool) -> String {
    let log = runtime.project().join("mcp.log");
    for _ in 0..2000 {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if wanted(&text) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the log of the double never was as expected: {}", std::fs::read_to_string(&log).unwrap_or_default());
}

fn denying() -> EditorOptions {
    EditorOptions::default().answering(|_| Answer::Pick("reject_once"))
}

#[tokio::test]
async fn what_can_be_reached_is_announced() {
    let editor = Runtime::new().spawn(EditorOptions::default());
    let hello = editor.initialize().await;
    assert_eq!(hello["agentCapabilities"]["mcpCapabilities"], json!({ "http": true, "sse": false }));
    editor.close().await;
}

#[tokio::test]
async fn tools_of_a_server_are_tools_of_the_session() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [{ call = { tool = "mcp__double__write", arguments = { text = "hi" } } }]
        [[reply]]
        when = "tool-succeeded"
        steps = [{ text = "Done." }]
    "#;
    let runtime = Runtime::scripted(scenario);
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let state = until_state(&editor, &session, "double", "connected").await;
    assert_eq!(state, json!({ "name": "double", "status": "connected", "tools": 13 }));
    let tools = editor.prompt(&session, "/tools").await.text();
    assert!(tools.contains("- `mcp__double__echo` – Does echo"), "{tools}");

    let turn = editor.prompt(&session, "Write").await;
    assert_eq!(turn.text(), "Done.");
    let call = turn.call();
    assert_eq!(call.statuses, ["pending", "in_progress", "completed"]);
    assert_eq!(call.fields["title"], "write (double)");
    assert_eq!(call.text(), "{\"text\":\"hi\"}");
    let asked = editor.permissions();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].title().contains("server `double write`"), "{}", asked[0].title());
    editor.close().await;
}

/// Each tool in each mode: whether it runs, and how often the person is asked.
#[tokio::test]
async fn the_gate_decides_on_every_call() {
    for (mode, echo, write) in [
        ("review", (true, 1), (true, 1)),
        ("auto-edit", (true, 1), (true, 1)),
        ("auto", (true, 0), (true, 0)),
        ("read-only", (true, 1), (false, 0)),
        ("plan", (true, 1), (false, 0)),
    ] {
        let runtime = Runtime::new();
        let editor = runtime.editor().await;
        let session = connected(&editor, &runtime, &[]).await;
        editor.set_mode(&session, mode).await;
        for (tool, expected) in [("echo", echo), ("write", write)] {
            let before = editor.permissions().len();
            let turn = editor.prompt(&session, &format!("/call mcp__double__{tool} {{\"n\": 1}}")).await;
            let ran = turn.call().status() == "completed";
            assert_eq!((ran, editor.permissions().len() - before), expected, "{mode} {tool}: {}", turn.text());
        }
        editor.close().await;
    }
}

#[tokio::test]
async fn an_answer_for_good_holds_for_one_tool() {
    let runtime = Runtime::new();
    let always = EditorOptions::default().answering(|_| Answer::Pick("allow_always"));
    let editor = runtime.editor_with(always).await;
    let session = connected(&editor, &runtime, &[]).await;
    for (tool, asked) in [("write", 1), ("write", 1), ("echo", 2), ("echo", 2)] {
        editor.prompt(&session, &format!("/call mcp__double__{tool}")).await;
        assert_eq!(editor.permissions().len(), asked, "{tool}");
    }
    editor.close().await;

    let denied = Runtime::new().config("permission.deny = [\"server:double *\"]\nmode = \"auto\"\n");
    let editor = denied.editor().await;
    let session = connected(&editor, &denied, &[]).await;
    let text = editor.prompt(&session, "/call mcp__double__echo").await.text();
    assert!(text.contains("is on the deny list"), "{text}");
    editor.close().await;
}

#[tokio::test]
async fn results_of_every_kind_are_shown() {
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let call = editor.prompt(&session, "/call mcp__double__content").await.call();
    let content = call.fields["content"].as_array().unwrap();
    let kinds: Vec<&str> = content.iter().filter_map(|piece| piece["content"]["type"].as_str()).collect();
    assert_eq!(kinds, ["text", "image", "resource", "resource_link"]);
    assert_eq!(content[1]["content"]["data"], "iVBORw0KGgo=");
    assert_eq!(call.fields["rawOutput"], json!({ "answer": 42 }));

    for (tool, error) in [("fail", "no luck"), ("refuse", "the MCP server `double` reports error -32000: not today")] {
        let call = editor.prompt(&session, &format!("/call mcp__double__{tool}")).await.call();
        assert_eq!((call.status(), call.text().as_str()), ("failed", error), "{tool}");
    }
    let call = editor.prompt(&session, "/call mcp__double__echo [1]").await.text();
    assert!(call.contains("is not a JSON object"), "{call}");
    editor.close().await;
}

#[tokio::test]
async fn progress_is_shown_while_a_call_runs() {
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let turn = editor.prompt(&session, "/call mcp__double__progress").await;
    let shown: Vec<&str> =
        turn.of("tool_call_update").filter_map(|update| update.pointer("/content/0/content/text")?.as_str()).collect();
    assert_eq!(shown.last(), Some(&"done"));
    assert!(shown.contains(&"50 % · Thinking") && shown.contains(&"75 % · Writing"), "{shown:?}");
    editor.close().await;
}

#[tokio::test]
async fn a_server_may_ask_for_the_folders_and_for_nothing_else() {
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let roots = editor.prompt(&session, "/call mcp__double__roots").await.call().text();
    let roots: Value = serde_json::from_str(&roots).unwrap();
    assert_eq!(roots["roots"], json!([{ "uri": format!("file://{}", runtime.project().display()) }]));
    let refused = editor.prompt(&session, "/call mcp__double__sample").await.call().text();
    let refused: Value = serde_json::from_str(&refused).unwrap();
    assert_eq!(refused["code"], -32601);
    editor.close().await;
}

#[tokio::test]
async fn tools_that_come_later_are_there_in_the_next_turn() {
    for traits in [&[][..], &["modern"]] {
        let runtime = Runtime::new().config("mode = \"auto\"\n");
        let editor = runtime.editor().await;
        let session = connected(&editor, &runtime, traits).await;
        assert!(!editor.prompt(&session, "/tools").await.text().contains("grown"));
        editor.prompt(&session, "/call mcp__double__grow").await;
        let more = |update: &Value| update.pointer("/_meta/aar/mcp/0/tools") == Some(&json!(14));
        editor.until_update(&session, "one more tool", more).await;
        let call = editor.prompt(&session, "/call mcp__double__grown {\"a\": 1}").await.call();
        assert_eq!((call.status(), call.text().as_str()), ("completed", "{\"a\":1}"));
        editor.close().await;
    }
}

#[tokio::test]
async fn long_and_odd_lists_of_tools_are_bounded() {
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    for (traits, tools, problem) in [
        (&["paged"][..], 13, None),
        (&["endless"], 64, None),
        (&["odd"], 14, Some("its tool `array` is left out: its arguments are no object")),
    ] {
        let session = open(&editor, &runtime, json!([server("double", traits)])).await;
        let state = until_state(&editor, &session, "double", "connected").await;
        assert_eq!(state["tools"], tools, "{traits:?}");
        assert_eq!(state["problem"].as_str(), problem, "{traits:?}");
    }
    let session = connected(&editor, &runtime, &["odd"]).await;
    let call = editor.prompt(&session, "/call mcp__double__two_words {\"a\": 1}").await.text();
    assert!(call.contains("there is no such tool"), "the server is called by its own name: {call}");
    editor.close().await;
}

#[tokio::test]
async fn the_session_s_own_commands_tell_of_servers() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let servers = json!([server("double", &["wordy"]), server("hangs", &["hangs"])]);
    let session = open(&editor, &runtime, servers).await;
    until_state(&editor, &session, "double", "connected").await;
    // A client that learns of what changes is answered at once.
    let status = editor.prompt(&session, "/status").await.text();
    let lines = "- MCP server `double`: connected, 14 tools\n- MCP server `hangs`: connecting\n";
    assert!(status.contains(lines), "{status}");
    let tools = editor.prompt(&session, "/tools").await.text();
    let count = tools.lines().filter(|line| line.starts_with("- `") && line.contains(" – ")).count();
    assert!(status.contains(&format!("- tools: {count}\n")), "{status}{tools}");
    assert!(tools.ends_with("\nThese MCP servers are not connected:\n\n- `hangs`: connecting\n"), "{tools}");
    let tool = editor.prompt(&session, "/tools mcp__double__wordy").await.text();
    assert!(tool.contains("- `word` (`\"word-0\"` or ") && tool.contains(" or `\"word-15\"` or 24 more)"), "{tool}");
    editor.close().await;
    runtime.assert_no_process_left();
}

/// What `/policy` says of calls is what becomes of them (see the next test).
#[tokio::test]
async fn the_policy_tells_of_calls() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let asked = "is asked for, unless `/permissions` has an answer";
    for (mode, reads, others) in [
        ("review", asked, asked),
        ("auto-edit", asked, asked),
        ("auto", "yes", "yes"),
        ("read-only", asked, "no: the session is in mode `read-only`"),
        ("plan", asked, "no: the session is in mode `plan`"),
    ] {
        editor.set_mode(&session, mode).await;
        let policy = editor.prompt(&session, "/policy").await.text();
        let reads = format!("- call an MCP server's tool that says it only reads: {reads}\n");
        let others = format!("- call any other tool of an MCP server: {others}\n");
        assert!(policy.contains(&reads) && policy.contains(&others), "{mode}: {policy}");
    }
    editor.close().await;
}

#[tokio::test]
async fn servers_can_be_added_restarted_and_removed() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let say = async |text: &str| editor.prompt(&session, text).await.text();
    assert!(say("/mcp").await.starts_with("There are no MCP servers."));
    assert_eq!(
        say(&format!("/mcp add double {DOUBLE}")).await,
        format!("`double` (the program `{DOUBLE}`) – connected, 13 tools")
    );
    let asked = editor.permissions();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].title().contains(&format!("run `{DOUBLE}`")), "{}", asked[0].title());
    assert!(say("/tools").await.contains("mcp__double__echo"));
    assert_eq!(say("/mcp").await, format!("- `double` (the program `{DOUBLE}`) – connected, 13 tools\n"));
    assert!(say(&format!("/mcp add double {DOUBLE}")).await.contains("there is a server `double` already"));
    let first = log_until(&runtime, |log| log.starts_with("start ")).await;
    assert!(say("/mcp restart double").await.ends_with("connected, 13 tools"));
    log_until(&runtime, |log| log.matches("start ").count() == 2 && log.starts_with(&first)).await;
    assert!(say("/mcp restart duble").await.contains("did you mean `double`?"));
    assert_eq!(say("/mcp remove double").await, "`double` is removed from this session.");
    assert!(!say("/tools").await.contains("mcp__double__"));
    assert_eq!(told(&editor, &session), Vec::<Value>::new());
    for wrong in ["/mcp add", "/mcp add x", "/mcp remove", "/mcp frobnicate x", "/mcp add x 'y", "/mcp add x ftp://y"] {
        let text = say(wrong).await;
        assert!(text.starts_with("error: "), "{wrong}: {text}");
    }
    assert_eq!(editor.permissions().len(), 1, "what cannot be understood is not asked for");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn adding_a_server_needs_the_right_to_run_its_program() {
    let runtime = Runtime::new();
    let editor = runtime.editor_with(denying()).await;
    let session = editor.new_session().await;
    let text = editor.prompt(&session, &format!("/mcp add double {DOUBLE}")).await.text();
    assert!(text.contains("the user refused"), "{text}");
    editor.set_mode(&session, "read-only").await;
    let text = editor.prompt(&session, &format!("/mcp add double {DOUBLE}")).await.text();
    assert!(text.contains("mode `read-only`"), "{text}");
    assert_eq!(editor.permissions().len(), 1);
    assert!(!runtime.project().join("mcp.log").exists());
    editor.close().await;
}

#[tokio::test]
async fn each_session_has_servers_of_its_own() {
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    let (one, two) = (connected(&editor, &runtime, &[]).await, connected(&editor, &runtime, &[]).await);
    log_until(&runtime, |log| log.matches("start ").count() == 2).await;
    editor.call("session/close", json!({ "sessionId": one })).await;
    assert_eq!(editor.prompt(&two, "/call mcp__double__echo").await.call().status(), "completed");
    let without = editor.new_session().await;
    assert!(!editor.prompt(&without, "/tools").await.text().contains("mcp__"));
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn a_call_belongs_to_the_trace_of_its_prompt() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for meta in [
        json!({ "traceparent": parent, "tracestate": "a=b", "baggage": "user=al", "other": "stays here" }),
        json!({ "traceparent": "no such thing", "tracestate": "a=b", "baggage": ["user=al"] }),
        Value::Null,
    ] {
        let prompt = json!([{ "type": "text", "text": "/call mcp__double__echo {}" }]);
        let mut params = json!({ "sessionId": session, "prompt": prompt });
        if !meta.is_null() {
            params["_meta"] = meta;
        }
        editor.call("session/prompt", params).await;
    }
    let log = log_until(&runtime, |log| log.matches("\ntrace").count() == 3).await;
    let traces: Vec<&str> = log.lines().filter(|line| line.starts_with("trace")).map(str::trim_end).collect();
    let whole = format!("trace traceparent=\"{parent}\" tracestate=\"a=b\" baggage=\"user=al\"");
    assert_eq!(traces, [&whole, "trace", "trace"]);
    editor.close().await;
}
