//! STDOUT, PROCESS, STARTUP: what a client sees of the process.

use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorOptions, Runtime};
use serde_json::json;

/// The double refuses a line that is no message: here everything that could write does.
#[tokio::test]
async fn stdout_has_messages_alone_however_much_is_logged() {
    let runtime = Runtime::new().config("[log]\nlevel = \"trace\"\n").file("src/lib.rs", "pub fn f() {}\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(editor.prompt(&session, "/call code-stats {}").await.text().contains("Rust"));
    editor.prompt(&session, "\u{1b}]0;title\u{7}").await;
    let ended = editor.close().await;
    assert!(!ended.stderr.is_empty(), "the log is on stderr");
}

const ENDLESS: &str = "quiet = true\n[[reply]]\nsteps = [{ text = \"Wait\" }, { delay_ms = 600000 }]\n";

#[tokio::test]
async fn process_ends_with_its_input_in_the_middle_of_work() {
    let runtime = Runtime::scripted(ENDLESS);
    let editor = runtime.editor().await;
    for _ in 0..8 {
        let session = editor.new_session().await;
        let _running = editor.begin_prompt(&session, "Go");
        editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    }
    // `close` asserts the two seconds and the success.
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn process_stays_one_however_many_sessions_come_and_go() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let mut memory = 0;
    for round in 0..40 {
        let session = editor.new_session().await;
        editor.prompt(&session, "/help").await;
        editor.call("session/close", json!({ "sessionId": session })).await;
        if round == 9 {
            memory = editor.resident_bytes();
        }
    }
    let grown = editor.resident_bytes().saturating_sub(memory);
    assert!(grown < 24 << 20, "30 closed sessions hold {grown} bytes");
    editor.close().await;
    runtime.assert_no_process_left();
}

/// Plugins are loaded behind the answer, and nothing asks for a terminal or the network.
#[tokio::test]
async fn startup_is_answered_at_once() {
    let runtime = Runtime::new();
    let best = {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let begin = Instant::now();
            let editor = runtime.spawn(EditorOptions::default());
            editor.initialize().await;
            best = best.min(begin.elapsed());
            editor.close().await;
        }
        best
    };
    assert!(best < Duration::from_millis(500), "answered after {best:?} at best");
}

/// A home that nobody can write and a store that cannot be opened do not keep `initialize` from being answered.
#[tokio::test]
async fn startup_needs_nothing() {
    let runtime = Runtime::new().env("ACP_RUNTIME_HOME", "/dev/null/nowhere").env("HOME", "/dev/null");
    let editor = runtime.spawn(EditorOptions::default());
    assert_eq!(editor.initialize().await["protocolVersion"], 1);
    editor.end_input();
    editor.wait().await;
}
