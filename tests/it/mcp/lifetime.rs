//! Servers' processes: what they get, and that none of them is left, however the session or this process ends.

use std::time::{Duration, Instant};

use acp_runtime_tests::runtime::processes;
use acp_runtime_tests::{EditorDouble, Runtime};
use rustix::process::Signal;
use serde_json::json;

use super::{DOUBLE, connected, log_until, open, server, until_state, until_state_after};

/// A session whose server has started a process that would outlive it.
async fn family(editor: &EditorDouble, runtime: &Runtime, traits: &[&str]) -> String {
    let session = connected(editor, runtime, traits).await;
    assert_eq!(editor.prompt(&session, "/call mcp__double__family").await.call().text(), "started");
    session
}

fn runtime() -> Runtime {
    Runtime::new().config("mode = \"auto\"\n")
}

/// Processes of the double and what it started.
fn alive(runtime: &Runtime) -> usize {
    let of_double = |line: &str| line.starts_with(DOUBLE) || line.starts_with("sleep 1000");
    processes().iter().filter(|process| process.folder == runtime.project() && of_double(&process.line)).count()
}

async fn until_none(runtime: &Runtime) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while alive(runtime) > 0 {
        assert!(Instant::now() < deadline, "{} processes are left", alive(runtime));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_closed_session_leaves_no_process() {
    for traits in [&[][..], &["stubborn"]] {
        let runtime = runtime();
        let editor = runtime.editor().await;
        let session = family(&editor, &runtime, traits).await;
        assert_eq!(alive(&runtime), 2);
        editor.call("session/close", json!({ "sessionId": session })).await;
        assert_eq!(alive(&runtime), 0, "{traits:?}: it is closed when that is answered");
        log_until(&runtime, |log| log.contains("eof")).await;
        editor.close().await;
    }
}

#[tokio::test]
async fn a_session_that_is_loaded_anew_leaves_none_of_its_former_servers() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = family(&editor, &runtime, &[]).await;
    let servers = json!([server("other", &[])]);
    editor.call("session/load", json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": servers })).await;
    until_state(&editor, &session, "other", "connected").await;
    assert_eq!(alive(&runtime), 1);
    assert!(editor.prompt(&session, "/tools").await.text().contains("mcp__other__echo"));
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn the_end_of_the_input_leaves_no_process() {
    for traits in [&[][..], &["stubborn"]] {
        let runtime = runtime();
        let editor = runtime.editor().await;
        family(&editor, &runtime, traits).await;
        let begin = Instant::now();
        let ended = editor.close().await;
        assert!(ended.status.success());
        assert!(begin.elapsed() < Duration::from_secs(2));
        runtime.assert_no_process_left();
    }
}

#[tokio::test]
async fn a_signal_leaves_no_process() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    family(&editor, &runtime, &["stubborn"]).await;
    editor.signal(Signal::TERM);
    assert!(editor.wait().await.success());
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn kill_9_leaves_no_process() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    family(&editor, &runtime, &["stubborn"]).await;
    assert_eq!(alive(&runtime), 2);
    editor.kill().await;
    until_none(&runtime).await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn what_a_server_starts_ends_with_it() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = family(&editor, &runtime, &[]).await;
    let before = editor.updates(&session).len();
    editor.prompt(&session, "/call mcp__double__crash").await;
    until_state_after(&editor, &session, before, "double", "connected").await;
    assert_eq!(alive(&runtime), 1, "the new one, and nothing of the old");
    editor.close().await;
}

#[tokio::test]
async fn a_server_gets_what_it_was_given_and_little_else() {
    let runtime = runtime().env("SECRET_TOKEN", "x").env("LANG", "C");
    let editor = runtime.editor().await;
    let entry = json!({ "name": "double", "command": DOUBLE, "args": [], "env": [{ "name": "GIVEN", "value": "y" }] });
    let session = open(&editor, &runtime, json!([entry])).await;
    until_state(&editor, &session, "double", "connected").await;
    let names = editor.prompt(&session, "/call mcp__double__environment").await.call().text();
    assert_eq!(names, "GIVEN HOME LANG PATH");
    editor.close().await;
}
