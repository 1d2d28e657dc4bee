//! Guests that work with files and then neither end nor do anything: what they keep from others, and what is left of them.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "sees what guests have written, and which threads a process has")]

use std::fs;
use std::time::Duration;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, OpenPrompt, Runtime};
use serde_json::json;

/// A runtime with the guest installed, which may take as long as it likes.
fn runtime() -> Runtime {
    let guest = build_folder().join("guests/hostile.wasm").display().to_string();
    let config = "mode = \"auto\"\n[limits.plugin]\nwall_seconds = 300\ncpu_seconds = 60\ncalls = 64\n";
    let runtime = Runtime::new().config(config).file("notes/mine.txt", "mine").file("inside.txt", "inside");
    let installed = runtime.run(&["plugin", "install", "--yes", &guest]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    runtime
}

/// Begins an attempt that does not end, and waits until it has come so far.
async fn begin(runtime: &Runtime, editor: &EditorDouble, session: &str, attack: &str, name: &str) -> OpenPrompt {
    let arguments = json!({ "attack": attack, "path": format!("/workspace/notes/{name}") });
    let prompt = editor.begin_prompt(session, &format!("/call hostile__attempt {arguments}"));
    let written = runtime.project().join("notes").join(name);
    until("the guest writes its file", || written.exists()).await;
    prompt
}

/// Looks again and again, since nobody tells.
async fn until(what: &str, is: impl Fn() -> bool) {
    let looking = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking).await.unwrap_or_else(|_| panic!("in vain: {what}"));
}

/// How many calls have a thread of their own.
fn threads(editor: &EditorDouble) -> usize {
    let folder = format!("/proc/{}/task", editor.process().as_raw_nonzero());
    let tasks = fs::read_dir(folder).expect("the process is running").flatten();
    tasks.filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "plugin-call\n")).count()
}

/// Nobody waits for it any more, and no other guest runs: it ends all the same.
#[tokio::test]
async fn a48_a_cancelled_call_with_files_computes_no_more() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for attack in ["spin", "doze"] {
        let prompt = begin(&runtime, &editor, &session, attack, attack).await;
        assert_eq!(threads(&editor), 1, "{attack}");
        editor.cancel(&session);
        assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled", "{attack}");
        until("the thread of the call ends", || threads(&editor) == 0).await;
    }
    editor.close().await;
}

/// As many as there may be but for the one that is needed: files are read, sessions opened and plugins called beside them,
/// and all of them end with the process.
#[tokio::test]
async fn a5_guests_that_hold_files_keep_nobody_from_the_disk() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    for guest in 0..60 {
        let session = editor.new_session().await;
        begin(&runtime, &editor, &session, "doze", &guest.to_string()).await;
    }
    let session = editor.new_session().await;
    let read = editor.prompt(&session, "/call read_file {\"path\":\"inside.txt\"}").await.text();
    assert!(read.contains("inside"), "{read}");
    let other = json!({ "attack": "read", "path": "/workspace/inside.txt" });
    assert_eq!(editor.prompt(&session, &format!("/call hostile__attempt {other}")).await.text(), "done: inside");
    editor.end_input();
    assert!(editor.wait().await.success() && !editor.stderr().contains("panicked"), "{}", editor.stderr());
    runtime.assert_no_process_left();
}
