//! Sessions that outlive their process: list, load with a full replay, resume without, close, delete.

use std::collections::HashSet;

use acp_runtime_tests::Runtime;
use serde_json::{Value, json};

const WORK: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [
  { thought = "Let me see." },
  { text = "Looking. " },
  { call = { tool = "read_file", arguments = { path = "a.txt" } } },
]
[[reply]]
steps = [{ text = "It says hi." }, { usage = { input = 10, output = 3, window = 8000 } }]
"#;

fn work() -> Runtime {
    Runtime::scripted(WORK).file("a.txt", "hi\n")
}

#[tokio::test]
async fn a_loaded_session_shows_all_that_was_shown() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let lived = editor.prompt(&session, "Read a.txt").await;
    editor.set_mode(&session, "plan").await;
    editor.close().await;

    let editor = runtime.editor().await;
    let replay = editor.load_session(&session).await;
    assert_eq!(replay.said("user_message_chunk"), "Read a.txt");
    assert_eq!(replay.text(), lived.text());
    assert_eq!(replay.said("agent_thought_chunk"), lived.said("agent_thought_chunk"));
    let (before, after) = (lived.call(), replay.call());
    assert_eq!((before.id.as_str(), before.status(), before.text()), (after.id.as_str(), after.status(), after.text()));
    let messages = |updates: &[Value]| -> HashSet<String> {
        updates.iter().filter_map(|update| Some(update["messageId"].as_str()?.to_owned())).collect()
    };
    assert!(messages(&lived.updates).is_subset(&messages(&replay.updates)), "message ids stay the same");

    // The conversation goes on, and a second load has both turns.
    editor.set_mode(&session, "review").await;
    assert_eq!(editor.prompt(&session, "Once more").await.stop, "end_turn");
    let again = editor.load_session(&session).await;
    assert_eq!(again.said("user_message_chunk"), "Read a.txtOnce more");
    assert_eq!(again.calls().len(), 2);
    editor.close().await;
}

#[tokio::test]
async fn the_mode_is_kept() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Read").await;
    editor.set_mode(&session, "plan").await;
    editor.close().await;
    let editor = runtime.editor().await;
    let params = json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });
    assert_eq!(editor.call("session/load", params).await["modes"]["currentModeId"], "plan");
    editor.close().await;
}

#[tokio::test]
async fn sessions_are_listed_page_by_page() {
    let runtime = work();
    let editor = runtime.editor().await;
    let mut prompted = HashSet::new();
    for number in 0..55 {
        let session = editor.new_session().await;
        editor.prompt(&session, &format!("/help {number}")).await;
        prompted.insert(session);
    }
    let mut listed = HashSet::new();
    let mut cursor = Value::Null;
    loop {
        let mut params = json!({ "cwd": runtime.project() });
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let page = editor.call("session/list", params).await;
        for session in page["sessions"].as_array().unwrap() {
            assert_eq!(session["cwd"], json!(runtime.project()));
            assert!(session["title"].as_str().is_some_and(|title| title.starts_with("/help")), "{session}");
            assert!(session["updatedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{session}");
            assert!(listed.insert(session["sessionId"].as_str().unwrap().to_owned()), "listed twice: {session}");
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed, prompted);
    let elsewhere = editor.call("session/list", json!({ "cwd": "/nowhere" })).await;
    assert_eq!(elsewhere["sessions"], json!([]));
    let broken = editor.request("session/list", json!({ "cursor": "no such cursor" })).await.unwrap_err();
    assert_eq!(broken.code, -32602);
    editor.close().await;
}

#[tokio::test]
async fn a_closed_session_is_gone_until_it_is_loaded() {
    let editor = work().editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Read").await;
    let running = editor.begin_prompt(&session, "Once more");
    editor.call("session/close", json!({ "sessionId": session })).await;
    let stopped = editor.turn(running).await;
    assert!(
        stopped.as_ref().map_or(true, |turn| ["cancelled", "end_turn"].contains(&turn.stop.as_str())),
        "{stopped:?}"
    );
    for method in ["session/close", "session/prompt"] {
        let params = json!({ "sessionId": session, "prompt": [] });
        let error = editor.request(method, params).await.unwrap_err();
        assert_eq!((error.code, &error.data["sessionId"]), (-32002, &json!(session)), "{method}");
    }
    assert!(!editor.load_session(&session).await.calls().is_empty(), "what was said is kept");
    editor.close().await;
}

#[tokio::test]
async fn what_cannot_be_loaded_is_refused_before_anything_is_shown() {
    let runtime = work();
    let editor = runtime.editor().await;
    let load = |session: &str, cwd: Value| json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
    let unknown = editor.request("session/load", load("no-such", json!(runtime.project()))).await.unwrap_err();
    assert_eq!((unknown.code, &unknown.data["sessionId"]), (-32002, &json!("no-such")));
    let session = editor.new_session().await;
    editor.prompt(&session, "Read").await;
    let relative = editor.request("session/load", load(&session, json!("project"))).await.unwrap_err();
    assert_eq!(relative.code, -32602);
    let missing = editor.request("session/load", load(&session, json!("/no/such/folder"))).await.unwrap_err();
    assert_eq!(missing.code, -32602);
    editor.close().await;
}

#[tokio::test]
async fn a_session_is_one_process_s_at_a_time() {
    let runtime = work();
    let load = |session: &str| json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });
    let (one, other) = (runtime.editor().await, runtime.editor().await);
    let session = one.new_session().await;
    one.prompt(&session, "Read").await;
    let refused = other.request("session/load", load(&session)).await.unwrap_err();
    assert_eq!((refused.code, &refused.data["reason"]), (-32600, &json!("in_use")), "{refused:?}");
    assert_eq!(refused.data["process"], one.process().as_raw_nonzero().get());
    assert!(refused.message.contains(&one.process().as_raw_nonzero().get().to_string()), "{refused:?}");
    // The process itself may open it anew; and reading is no work on it.
    one.load_session(&session).await;
    assert_eq!(runtime.run(&["session", "show", &session]).code, Some(0));

    one.call("session/close", json!({ "sessionId": session })).await;
    other.load_session(&session).await;
    assert_eq!(
        one.request("session/load", load(&session)).await.unwrap_err().data["process"],
        other.process().as_raw_nonzero().get()
    );
    other.kill().await;
    one.load_session(&session).await;
    assert_eq!(one.prompt(&session, "Once more").await.stop, "end_turn");
    one.close().await;
    assert!(runtime.home().join("sessions.db-owners").read_dir().unwrap().next().is_none(), "nothing is left behind");
}

#[tokio::test]
async fn a_resumed_session_goes_on_without_a_replay() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Read").await;
    editor.close().await;

    let editor = runtime.editor().await;
    let answer = editor.call("session/resume", json!({ "sessionId": session, "cwd": runtime.project() })).await;
    assert_eq!(answer["modes"]["currentModeId"], "review");
    let turn = editor.prompt(&session, "Once more").await;
    let replayed = editor.updates(&session).iter().any(|update| update["sessionUpdate"] == "user_message_chunk");
    assert!(!replayed, "a resumed session tells nothing of what was");
    assert_eq!(turn.call().id, "call-2", "it counts on from what was");
    assert_eq!(editor.load_session(&session).await.said("user_message_chunk"), "ReadOnce more");
    editor.close().await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_for_good() {
    let runtime = work();
    let editor = runtime.editor().await;
    let (gone, stays) = (editor.new_session().await, editor.new_session().await);
    editor.prompt(&gone, "Read").await;
    editor.prompt(&stays, "Read").await;
    let running = editor.begin_prompt(&gone, "Once more");
    editor.call("session/delete", json!({ "sessionId": gone })).await;
    let stopped = editor.turn(running).await;
    assert!(stopped.is_ok() || stopped.as_ref().is_err_and(|error| error.code == -32002), "{stopped:?}");
    for method in ["session/prompt", "session/close"] {
        let params = json!({ "sessionId": gone, "prompt": [{ "type": "text", "text": "hi" }] });
        assert_eq!(editor.request(method, params).await.unwrap_err().code, -32002, "{method}");
    }
    for unknown in [gone.as_str(), "no-such"] {
        editor.call("session/delete", json!({ "sessionId": unknown })).await;
    }
    editor.close().await;

    let editor = runtime.editor().await;
    for method in ["session/load", "session/resume", "session/fork"] {
        let params = json!({ "sessionId": gone, "cwd": runtime.project(), "mcpServers": [] });
        assert_eq!(editor.request(method, params).await.unwrap_err().code, -32002, "{method}");
    }
    let list = editor.call("session/list", json!({})).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list["sessions"][0]["sessionId"], json!(stays));
    editor.close().await;
}

#[tokio::test]
async fn the_client_is_told_the_title_once_and_the_time_after_every_turn() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let infos = |turn: &acp_runtime_tests::Turn, field: &str| -> Vec<String> {
        turn.of("session_info_update").filter_map(|info| Some(info[field].as_str()?.to_owned())).collect()
    };
    let first = editor.prompt(&session, "Read the file.\nPlease.").await;
    assert_eq!((infos(&first, "title"), infos(&first, "updatedAt").len()), (vec!["Read the file.".to_owned()], 1));
    let second = editor.prompt(&session, "Again").await;
    assert_eq!((infos(&second, "title").len(), infos(&second, "updatedAt").len()), (0, 1));
    assert!(infos(&first, "updatedAt") < infos(&second, "updatedAt"));
    editor.close().await;

    let editor = runtime.editor().await;
    let list = editor.call("session/list", json!({})).await;
    let replay = editor.load_session(&session).await;
    assert_eq!(infos(&replay, "title"), ["Read the file."]);
    assert_eq!(infos(&replay, "updatedAt"), [list["sessions"][0]["updatedAt"].as_str().unwrap()]);
    editor.close().await;
}
