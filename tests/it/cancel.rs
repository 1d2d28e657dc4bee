//! Taking back what was asked: `$/cancel_request` for one request, `session/cancel` for all prompts of a session.
use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, Runtime};
use rusqlite::Connection;
use serde_json::{Value, json};

const CANCELLED: i64 = -32800;

/// Speaks, then waits far longer than any test.
const ENDLESS: &str = r#"
quiet = true
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }, { text = "never" }]
[[reply]]
steps = [{ text = "Again." }]
"#;

const HELLO: &str = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"Hello.\" }]\n";

fn cancel_request(editor: &EditorDouble, id: u64) {
    editor.notify("$/cancel_request", json!({ "requestId": id }));
}

/// Writes to the store until it is dropped, and lets others only read meanwhile.
fn writing(runtime: &Runtime) -> Connection {
    let db = Connection::open(runtime.home().join("sessions.db")).expect("it is there");
    db.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    db
}

/// The ids of all sessions that are kept.
async fn listed(editor: &EditorDouble) -> Vec<String> {
    let list = editor.call("session/list", json!({})).await;
    let ids = list["sessions"].as_array().unwrap().iter().map(|session| session["sessionId"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn a48_one_prompt_of_several_is_taken_back() {
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
    let held = runtime.hold_store();
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
    assert_eq!(added["root"].to_string().matches("☐ one").count(), 1, "the first one was taken back: {added}");
    editor.close().await;
}

/// What each of these would do waits for the store, and is not done when that is free again.
#[tokio::test]
async fn a48_what_is_cancelled_leaves_nothing_behind() {
    let runtime = Runtime::scripted(HELLO);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "One").await;
    let kept = editor.new_session().await;
    editor.prompt(&kept, "Two").await;
    editor.call("session/close", json!({ "sessionId": kept })).await;
    let before = listed(&editor).await;
    let other = runtime.outside("other");
    std::fs::create_dir(&other).unwrap();
    let about = |id: &str| json!({ "sessionId": id, "cwd": other, "mcpServers": [] });
    for (method, params) in [
        ("session/fork", about(&session)),
        ("session/fork", about(&kept)),
        ("session/delete", json!({ "sessionId": session })),
        ("session/delete", json!({ "sessionId": kept })),
        ("session/load", about(&session)),
        ("session/load", about(&kept)),
        ("session/resume", about(&session)),
        ("session/resume", about(&kept)),
    ] {
        let held = writing(&runtime);
        let id = editor.send(method, params.clone());
        // Others may read: whatever it reads first was read when that is answered.
        listed(&editor).await;
        let begin = Instant::now();
        cancel_request(&editor, id);
        assert_eq!(editor.answer_to(id).await.unwrap_err().code, CANCELLED, "{method} {params}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{method}: cancelled after {:?}", begin.elapsed());
        drop(held);
        assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn", "{method}: it is open still");
        let unknown = editor.turn(editor.begin_prompt(&kept, "/help")).await.unwrap_err();
        assert_eq!(unknown.code, -32002, "{method}: it is not opened");
    }
    assert_eq!(listed(&editor).await.len(), before.len());
    assert!(listed(&editor).await.iter().all(|id| before.contains(id)));
    editor.close().await;
    let folders = runtime.run(&["session", "list", "--json"]).stdout;
    assert!(!folders.contains(&other.display().to_string()), "what it was opened with is as it was: {folders}");
    runtime.assert_no_process_left();
}

/// Once there is no way back the request is done, and answered with what it gave.
#[tokio::test]
async fn a48_what_is_cancelled_too_late_is_answered() {
    let runtime = Runtime::scripted(HELLO);
    let editor = runtime.editor().await;
    for _ in 0..20 {
        let session = editor.new_session().await;
        editor.prompt(&session, "One").await;
        let before = listed(&editor).await.len();
        let id = editor.send("session/fork", json!({ "sessionId": session, "cwd": runtime.project() }));
        cancel_request(&editor, id);
        let forks = match editor.answer_to(id).await {
            Ok(forked) => usize::from(forked["sessionId"].is_string()),
            Err(error) => {
                assert_eq!(error.code, CANCELLED);
                0
            }
        };
        assert_eq!(listed(&editor).await.len(), before + forks);
        let id = editor.send("session/delete", json!({ "sessionId": session }));
        cancel_request(&editor, id);
        let is_gone = match editor.answer_to(id).await {
            Ok(deleted) => deleted == json!({}),
            Err(error) => error.code != CANCELLED,
        };
        assert_eq!(listed(&editor).await.contains(&session), !is_gone);
        let id = editor.send("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] }));
        cancel_request(&editor, id);
        match editor.answer_to(id).await {
            Ok(opened) => {
                assert_eq!(editor.prompt(opened["sessionId"].as_str().unwrap(), "/help").await.stop, "end_turn");
            }
            Err(error) => assert_eq!((error.code, error.data), (CANCELLED, Value::Null)),
        }
    }
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
