//! One process for a long time: many sessions, many prompts, a few at a time.
//!
//! The ledger behind the editor judges every line: each request is answered once, and all rules of order hold.
#![expect(clippy::disallowed_methods, reason = "counts what a process holds open")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, Runtime, Turn};
use futures::StreamExt as _;
use serde_json::json;

const SESSIONS: usize = 1000;
const PROMPTS: usize = 20;
const AT_ONCE: usize = 16;
/// Every so manyth prompt is cancelled as soon as it was sent.
const CANCELLED: usize = 10;

/// Reads with the agent's own tool, asks to write, and has a plugin look around.
const WORK: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [
  { thought = "Let me see." },
  { call = { tool = "read_file", arguments = { path = "a.txt" } } },
  { call = { tool = "write_file", arguments = { path = "b.txt", content = "b" } } },
  { call = { tool = "tasks__list", arguments = {} } },
]
[[reply]]
steps = [{ chunks = { count = 50, size = 6 } }, { usage = { input = 10, output = 3, window = 8000 } }]
"#;

/// What a process holds.
#[derive(Debug)]
struct Held {
    memory: u64,
    files: usize,
    threads: usize,
}

fn held(editor: &EditorDouble) -> Held {
    let count = |what: &str| {
        let folder = format!("/proc/{}/{what}", editor.process().as_raw_nonzero());
        std::fs::read_dir(folder).expect("the process is running").count()
    };
    Held { memory: editor.resident_bytes(), files: count("fd"), threads: count("task") }
}

/// The same once it is at rest: what was in use is given back while little is asked for, sooner or later by the load of
/// the machine.
async fn held_at_rest(editor: &EditorDouble) -> Held {
    let mut least = held(editor);
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        editor.call("session/list", json!({})).await;
        let now = held(editor);
        if now.memory < least.memory {
            (least, since) = (now, Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    least
}

fn work_was_done(turn: &Turn) {
    let calls = turn.calls();
    let done: Vec<_> = calls.iter().map(|call| (call.fields["title"].clone(), call.status())).collect();
    assert!(calls.len() == 3 && calls.iter().all(|call| call.status() == "completed"), "{done:?}");
    assert_eq!(turn.text().len(), 300);
}

async fn prompt(editor: &EditorDouble, session: &str, number: usize) {
    let prompt = editor.begin_prompt(session, &format!("Prompt {number}"));
    let cancelled = number % CANCELLED == CANCELLED - 1;
    if cancelled {
        editor.cancel(session);
    }
    let turn = editor.turn(prompt).await.expect("no prompt fails");
    match turn.stop.as_str() {
        "end_turn" => work_was_done(&turn),
        stop => assert!(cancelled && stop == "cancelled", "{stop}"),
    }
    editor.forget_updates(session);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_sessions_of_twenty_prompts() {
    // All sessions write the same file, and a file that changes while one of them asks is left alone: so none changes it.
    let runtime =
        Runtime::scripted(WORK).config("[session]\nunload_after = 0.2\n").file("a.txt", "a\n").file("b.txt", "b");
    let editor = runtime.editor().await;
    let began = Instant::now();
    let all: Vec<String> = futures::stream::iter(0..SESSIONS).then(|_| editor.new_session()).collect().await;
    let prompts = AtomicUsize::new(0);
    let mut early = None;
    // Round by round, so that all sessions are there until the end.
    for round in 0..PROMPTS {
        let sessions = futures::stream::iter(&all).enumerate();
        sessions
            .for_each_concurrent(AT_ONCE, async |(number, session)| {
                prompt(&editor, session, round + number).await;
                prompts.fetch_add(1, Ordering::Relaxed);
            })
            .await;
        if round + 1 == PROMPTS / 10 {
            early = Some(held_at_rest(&editor).await);
        }
    }
    let (early, late) = (early.expect("there was a tenth"), held_at_rest(&editor).await);
    println!("{} prompts in {:?}: {early:?}, then {late:?}", prompts.into_inner(), began.elapsed());
    assert!(late.memory <= early.memory + early.memory / 10, "{early:?}, then {late:?}");
    assert!(late.files <= early.files + 8 && late.threads <= early.threads + 8, "{early:?}, then {late:?}");
    editor.close().await;
    runtime.assert_no_process_left();
}
