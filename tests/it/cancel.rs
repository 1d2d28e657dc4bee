//! Taking back what was asked: `$/cancel_request` for one request, `session/cancel` for all prompts of a session.
#![expect(clippy::disallowed_methods, reason = "holds the store's file so that requests have to wait")]

use std::fs::File;
use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, Runtime};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::json;

const CANCELLED: i64 = -32800;

/// Speaks, then waits far longer than any test.
const ENDLESS: &str = r#"
quiet = true
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }, { text = "never" }]
[[reply]]
steps = [{ text = "Again." }]
"#;

fn cancel_request(editor: &EditorDouble, id: u64) {
    editor.notify("$/cancel_request", json!({ "requestId": id }));
}

/// As another program does that works on the store for long.
fn hold_store(runtime: &Runtime) -> File {
    let path = runtime.home().join("sessions.db");
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path).expect("a file");
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect("nobody else has it");
    file
}

#[tokio::test]
async fn one_prompt_of_several_is_taken_back() {
    let editor = Runtime::scripted(ENDLESS).editor().await;
    let session = editor.new_session().await;
    let running = editor.begin_prompt(&session, "one");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    let waiting = editor.begin_prompt(&session, "two");
    let last = editor.begin_prompt(&session, "three");

    cancel_request(&editor, waiting.id());
    assert_eq!(editor.turn(waiting).await.unwrap_err().code, CANCELLED);
    let begin = Instant::now();
    cancel_request(&editor, running.id());
    assert_eq!(editor.turn(running).await.unwrap_err().code, CANCELLED);
    assert!(begin.elapsed() < Duration::from_secs(2), "cancelled after {:?}", begin.elapsed());
    assert_eq!(editor.turn(last).await.unwrap().text(), "Again.");
    editor.close().await;
}

#[tokio::test]
async fn requests_that_wait_for_the_store_are_taken_back() {
    let runtime = Runtime::new();
    let held = hold_store(&runtime);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let add = json!({
        "sessionId": session, "panel": "tasks", "action": "add", "nodeId": "tasks", "args": { "message": "one" }
    });
    let load = json!({ "sessionId": "nobody", "cwd": runtime.project(), "mcpServers": [] });
    let requests = [
        editor.send("session/list", json!({})),
        editor.send("session/load", load),
        editor.send("_aar/panel_action", add.clone()),
    ];
    let begin = Instant::now();
    for id in requests {
        cancel_request(&editor, id);
        cancel_request(&editor, id);
        assert_eq!(editor.answer_to(id).await.unwrap_err().code, CANCELLED);
    }
    assert!(begin.elapsed() < Duration::from_secs(2), "cancelled after {:?}", begin.elapsed());

    drop(held);
    assert_eq!(editor.call("session/list", json!({})).await["sessions"], json!([]));
    let added = editor.call("_aar/panel_action", add).await;
    assert!(added["root"].to_string().contains("one"), "{added}");
    editor.close().await;
}

#[tokio::test]
async fn a_prompt_that_is_written_with_its_load_waits_for_it() {
    let runtime = Runtime::scripted("quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"Hello.\" }]\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Hi").await;
    editor.close().await;

    let editor = runtime.editor().await;
    let load = editor.send("session/load", json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] }));
    let prompt = editor.begin_prompt(&session, "Again");
    editor.answer_to(load).await.unwrap();
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!((turn.stop.as_str(), turn.said("user_message_chunk").as_str()), ("end_turn", "Hi"));
    assert_eq!(turn.text(), "Hello.Hello.");
    editor.close().await;
}
