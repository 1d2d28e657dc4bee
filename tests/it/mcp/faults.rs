//! Servers that fail, hang, lie and die: the session goes on, and the person learns why something is not there.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, EditorOptions, Runtime};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{connected, log_until, open, server, told, until_state};

/// Impatient with one server; nothing is asked for.
const IMPATIENT: &str = "mode = \"auto\"\n";

fn noticing() -> EditorOptions {
    EditorOptions { capabilities: json!({ "session": { "notices": {} } }), ..EditorOptions::default() }
}

#[tokio::test]
async fn servers_that_cannot_be_had_are_told_of_and_hold_nobody_up() {
    let text = json!({ "name": "text", "command": "/dev/null", "args": [], "env": [] });
    let servers = json!([
        server("double", &[]),
        { "name": "gone", "command": "/no/such/program", "args": [], "env": [] },
        text,
        server("dies", &["dies"]),
        server("hangs", &["hangs"]),
        { "type": "sse", "name": "old", "url": "https://example.com/sse", "headers": [] },
        { "type": "pigeon", "name": "odd" },
        { "name": "broken", "args": [] },
        { "type": "http", "name": "nobody", "url": "http://127.0.0.1:9/mcp", "headers": [] },
        server("double", &[]),
    ]);
    let runtime = Runtime::new().config(IMPATIENT);
    let editor = runtime.editor_with(noticing()).await;
    let begin = Instant::now();
    let session = open(&editor, &runtime, servers).await;
    assert!(begin.elapsed() < Duration::from_secs(1), "a session does not wait for its servers");
    for (name, status, problem) in [
        ("gone", "failed", "the program `/no/such/program` was not found"),
        ("text", "failed", "the program `/dev/null` was not found"),
        ("dies", "failed", "it ended with exit code 7; it said: no licence found / that is all"),
        ("old", "off", "servers of the type `sse` are not supported"),
        ("odd", "off", "servers of the type `pigeon` are not supported"),
        ("broken", "off", "`command` is missing or malformed"),
    ] {
        let state = until_state(&editor, &session, name, status).await;
        assert_eq!(state["problem"], problem, "{name}");
        let title = format!(
            "The MCP server `{name}` {}: {problem}",
            if status == "off" { "is not used" } else { "does not work" }
        );
        let notice = editor.until_update(&session, &title, |update| update["title"] == title.as_str()).await;
        assert_eq!(notice["sessionUpdate"], "notice");
        assert_ne!(notice["description"], Value::Null, "{name}: what to do about it");
    }
    let nobody = until_state(&editor, &session, "nobody", "failed").await;
    assert_eq!(nobody["problem"], "connection refused: nothing listens at `127.0.0.1:9`");
    until_state(&editor, &session, "double", "connected").await;
    let twice = "The MCP server `double` is not used: another server has that name";
    editor.until_update(&session, twice, |update| update["title"] == twice).await;
    assert_eq!(editor.prompt(&session, "/call mcp__double__echo").await.call().status(), "completed");
    let list = editor.prompt(&session, "/mcp").await.text();
    assert!(list.contains("`hangs`") && list.contains("connecting"), "{list}");
    assert!(list.contains("- `old` – off: servers of the type `sse` are not supported"), "{list}");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_in_time_and_prompts_do_not_wait_longer() {
    let config = format!("[mcp.hangs]\ncommand = \"{}\"\nargs = [\"hangs\"]\nstart_timeout = 1\n", super::DOUBLE);
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Hi.\" }]\n").config(&config);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let begin = Instant::now();
    assert_eq!(editor.prompt(&session, "Hello").await.text(), "Hi.");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let state = until_state(&editor, &session, "hangs", "failed").await;
    assert_eq!(state["problem"], "it did not answer within 1 s");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn waiting_for_servers_can_be_cancelled() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Hi.\" }]\n");
    let editor = runtime.editor().await;
    let session = open(&editor, &runtime, json!([server("hangs", &["hangs"])])).await;
    let prompt = editor.begin_prompt(&session, "Hello");
    log_until(&runtime, |log| log.contains("start")).await;
    let begin = Instant::now();
    editor.cancel(&session);
    assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
    assert!(begin.elapsed() < Duration::from_secs(2));
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn nonsense_between_the_messages_is_passed_over() {
    let runtime = Runtime::new().config(IMPATIENT);
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &["garbage"]).await;
    let call = editor.prompt(&session, "/call mcp__double__echo {\"a\": 1}").await.call();
    assert_eq!((call.status(), call.text().as_str()), ("completed", "{\"a\":1}"));
    editor.close().await;
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_fails_it_and_is_started_again() {
    let runtime = Runtime::new().config(IMPATIENT);
    let editor = runtime.editor_with(noticing()).await;
    let session = connected(&editor, &runtime, &[]).await;
    let call = editor.prompt(&session, "/call mcp__double__crash").await.call();
    assert_eq!(call.status(), "failed");
    assert!(call.text().contains("the MCP server `double` was lost during the call"), "{}", call.text());
    let title = "The MCP server `double` does not work: it ended with exit code 3; it said: out of cheese";
    editor.until_update(&session, title, |update| update["title"] == title).await;
    let call = editor.prompt(&session, "/call mcp__double__echo {\"a\": 1}").await.call();
    assert_eq!((call.status(), call.text().as_str()), ("completed", "{\"a\":1}"), "it waits for what is back at once");
    assert_eq!(told(&editor, &session)[0]["status"], "connected");
    log_until(&runtime, |log| log.matches("start ").count() == 2).await;
    editor.close().await;
}

/// What is too long is not read to its end: the call says so, and the server is begun anew.
#[tokio::test]
async fn an_answer_that_is_too_long_ends_the_connection() {
    let runtime = Runtime::new().config(IMPATIENT);
    let editor = runtime.editor_with(noticing()).await;
    let session = connected(&editor, &runtime, &["floods"]).await;
    let call = editor.prompt(&session, "/call mcp__double__flood").await.call();
    let problem = "one of its messages has more than 8388608 bytes";
    assert_eq!(call.status(), "failed");
    assert_eq!(call.text(), format!("the MCP server `double` was lost during the call: {problem}"));
    let title = format!("The MCP server `double` does not work: {problem}");
    editor.until_update(&session, &title, |update| update["title"] == title.as_str()).await;
    let call = editor.prompt(&session, "/call mcp__double__echo {\"a\": 1}").await.call();
    assert_eq!((call.status(), call.text().as_str()), ("completed", "{\"a\":1}"));
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn a_server_that_is_killed_in_a_call_fails_it() {
    let runtime = Runtime::new().config(IMPATIENT);
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let prompt = editor.begin_prompt(&session, "/call mcp__double__slow");
    let log = log_until(&runtime, |log| log.contains("call slow")).await;
    let pid = log.lines().find_map(|line| line.strip_prefix("start ")?.parse().ok()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let call = editor.turn(prompt).await.unwrap().call();
    assert_eq!(call.status(), "failed");
    let call = editor.prompt(&session, "/call mcp__double__echo").await.call();
    assert_eq!(call.status(), "completed");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let runtime = Runtime::new().config(IMPATIENT);
    let editor = runtime.editor().await;
    let session = connected(&editor, &runtime, &[]).await;
    let prompt = editor.begin_prompt(&session, "/call mcp__double__slow");
    log_until(&runtime, |log| log.contains("call slow")).await;
    let begin = Instant::now();
    editor.cancel(&session);
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!(turn.stop, "cancelled");
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert_eq!(turn.call().status(), "failed");
    log_until(&runtime, |log| log.contains("cancelled")).await;
    assert_eq!(editor.prompt(&session, "/call mcp__double__echo").await.call().status(), "completed");
    editor.close().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up() {
    let config = format!("mode = \"auto\"\n[mcp.double]\ncommand = \"{}\"\ntimeout = 1\n", super::DOUBLE);
    let runtime = Runtime::new().config(&config);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    until_state(&editor, &session, "double", "connected").await;
    let begin = Instant::now();
    let call = editor.prompt(&session, "/call mcp__double__slow").await.call();
    assert_eq!(call.text(), "the MCP server `double` did not answer within 1 s, and was told to stop");
    assert!(begin.elapsed() >= Duration::from_secs(1));
    log_until(&runtime, |log| log.contains("cancelled")).await;
    editor.close().await;
}

/// What a client was told of the only server, one state after another: how it is, and when it is tried again.
fn course(editor: &EditorDouble, session: &str) -> Vec<(String, Option<String>)> {
    let updates = editor.updates(session);
    let states = updates.iter().filter_map(|update| update.pointer("/_meta/aar/mcp/0"));
    let text = |state: &Value, key: &str| state[key].as_str().map(str::to_owned);
    states.map(|state| (text(state, "status").unwrap(), text(state, "nextTry"))).collect()
}

/// It is not told to be there again and again, and always when the next try is.
#[tokio::test]
async fn a_server_that_fails_again_and_again_stays_failed() {
    // One whose handshake is right counts as connected, where that is seen before its end, until it was lost twice.
    for (traits, most) in [(&["dies"][..], 0), (&["fleeting"], 2)] {
        let runtime = Runtime::new().config(IMPATIENT);
        let editor = runtime.editor().await;
        let session = open(&editor, &runtime, json!([server("double", traits)])).await;
        let tries = Mutex::new(BTreeSet::new());
        let enough = |update: &Value| {
            let mut tries = tries.lock().unwrap();
            tries.extend(update.pointer("/_meta/aar/mcp/0/nextTry").and_then(Value::as_str).map(str::to_owned));
            tries.len() >= 3
        };
        editor.until_update(&session, "the third failure", enough).await;
        let told = course(&editor, &session);
        let (connected, rest): (Vec<&str>, Vec<&str>) =
            told.iter().map(|(status, _)| status.as_str()).partition(|status| *status == "connected");
        assert_eq!(rest, ["connecting", "failed", "failed", "failed"], "{traits:?}: {told:?}");
        assert!(connected.len() <= most && told[told.len() - 2].0 == "failed", "{traits:?}: {told:?}");
        let tries: Vec<&String> = told.iter().filter_map(|(_, next)| next.as_ref()).collect();
        assert!(tries.len() == 3 && tries.is_sorted(), "{tries:?}");
        let failed = |(status, next): &(String, Option<String>)| (status == "failed") == next.is_some();
        assert!(told.iter().all(failed), "{told:?}");
        let listed = editor.prompt(&session, "/mcp").await.text();
        assert!(listed.contains(" – failed") && listed.contains("; the next try is in "), "{listed}");
        editor.close().await;
        runtime.assert_no_process_left();
    }
}
