//! Sessions that nobody uses are on disk alone, and nobody notices.
#![expect(clippy::disallowed_methods, reason = "looks at what a process holds open")]

use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

const HELLO: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ text = "Hello." }]
"#;

/// Sessions are unloaded soon.
fn forgetful(scenario: &str) -> Runtime {
    Runtime::scripted(scenario).config("[session]\nunload_after = 0.05\n")
}

/// Whether the process has the project's folder open, which is so while a session in it is in memory.
fn is_loaded(runtime: &Runtime, editor: &EditorDouble) -> bool {
    let files = std::fs::read_dir(format!("/proc/{}/fd", editor.process().as_raw_nonzero())).expect("it is running");
    let project = runtime.project().canonicalize().expect("the project is there");
    files.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|place| place == project))
}

async fn until_unloaded(runtime: &Runtime, editor: &EditorDouble) {
    let begin = Instant::now();
    while is_loaded(runtime, editor) {
        assert!(begin.elapsed() < Duration::from_secs(30), "nothing is unloaded");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn message_ids(updates: &[Value]) -> Vec<&str> {
    updates.iter().filter_map(|update| update["messageId"].as_str()).collect()
}

#[tokio::test]
async fn an_unloaded_session_goes_on_as_if_it_had_been_there() {
    let runtime = forgetful(HELLO);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let first = editor.prompt(&session, "One").await;
    editor.set_mode(&session, "plan").await;
    let off = json!({ "sessionId": session, "configId": "plugin:aar:tasks", "value": "false" });
    editor.call("session/set_config_option", off).await;
    until_unloaded(&runtime, &editor).await;

    let told = editor.updates(&session).len();
    let second = editor.prompt(&session, "Two").await;
    assert_eq!((second.stop.as_str(), second.text().as_str()), ("end_turn", "Hello."));
    let new = editor.updates(&session).split_off(told);
    let kinds: Vec<&str> = new.iter().filter_map(|update| update["sessionUpdate"].as_str()).collect();
    assert_eq!(kinds, ["agent_message_chunk", "session_info_update"], "nothing is told again");
    let (first, second) = (message_ids(&first.updates), message_ids(&second.updates));
    assert!(second.iter().all(|id| !first.contains(id)), "the conversation goes on: {first:?}, then {second:?}");

    until_unloaded(&runtime, &editor).await;
    let tools = editor.prompt(&session, "/tools").await.text();
    assert!(tools.contains("`code-stats`") && !tools.contains("tasks__"), "the plugin is off still: {tools}");
    until_unloaded(&runtime, &editor).await;
    let mode = json!({ "sessionId": session, "configId": "reasoning_effort", "value": "nonsense" });
    editor.request("session/set_config_option", mode).await.unwrap_err();
    let denied = editor.prompt(&session, "/call write_file {\"path\": \"a\", \"content\": \"b\"}").await;
    assert!(denied.text().contains("plan"), "the mode holds still: {}", denied.text());
    editor.close().await;
}

#[tokio::test]
async fn whatever_is_asked_of_an_unloaded_session_is_answered() {
    let runtime = forgetful(HELLO);
    let (editor, other) = (runtime.editor().await, runtime.editor().await);
    let session = editor.new_session().await;
    editor.prompt(&session, "One").await;
    let request = json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });

    until_unloaded(&runtime, &editor).await;
    let refused = other.request("session/load", request.clone()).await.unwrap_err();
    assert_eq!(refused.data["reason"], "in_use", "it is this process's still: {refused:?}");
    assert_eq!(editor.call("session/list", json!({})).await["sessions"][0]["sessionId"], session.as_str());
    assert!(!is_loaded(&runtime, &editor), "a list opens nothing");
    for (method, params) in [
        ("_aar/panel_list", json!({ "sessionId": session })),
        ("session/set_mode", json!({ "sessionId": session, "modeId": "review" })),
        ("session/fork", request.clone()),
        ("session/resume", request.clone()),
        ("session/load", request.clone()),
        ("session/close", json!({ "sessionId": session })),
    ] {
        until_unloaded(&runtime, &editor).await;
        editor.call(method, params).await;
    }
    other.call("session/load", request).await;
    other.close().await;
    editor.close().await;
}

#[tokio::test]
async fn an_unloaded_session_whose_folder_is_gone_says_so() {
    let runtime = forgetful(HELLO).file("inner/a.txt", "");
    let editor = runtime.editor().await;
    let folder = runtime.project().join("inner");
    let answer = editor.call("session/new", json!({ "cwd": folder, "mcpServers": [] })).await;
    let session = answer["sessionId"].as_str().unwrap();
    editor.prompt(session, "One").await;
    let begin = Instant::now();
    let held = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", editor.process().as_raw_nonzero())).unwrap();
        files.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|place| place == folder))
    };
    while held() {
        assert!(begin.elapsed() < Duration::from_secs(30), "nothing is unloaded");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let prompt = editor.begin_prompt(session, "Two");
    let error = editor.turn(prompt).await.unwrap_err();
    assert_eq!(error.code, -32602);
    assert!(error.data.to_string().contains("inner"), "{error:?}");
    editor.close().await;
}

/// Prompts come just when their session is unloaded, or has been, or is about to be.
#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_unloading_do_not_get_into_each_other_s_way() {
    let runtime = Runtime::scripted(HELLO).config("[session]\nunload_after = 0.01\n");
    let editor = runtime.editor().await;
    let sessions: Vec<String> =
        futures::stream::StreamExt::collect(futures::stream::StreamExt::then(futures::stream::iter(0..8), |_| {
            editor.new_session()
        }))
        .await;
    let each = sessions.iter().enumerate().map(async |(number, session)| {
        for round in 0..60 {
            assert_eq!(editor.prompt(session, "Hi").await.text(), "Hello.");
            let pause = (number * 7 + round * 3) % 40;
            tokio::time::sleep(Duration::from_millis(pause as u64)).await;
        }
    });
    futures::future::join_all(each).await;
    for session in &sessions {
        let replay = editor.load_session(session).await;
        assert_eq!(replay.text(), "Hello.".repeat(60), "each prompt is kept once");
        assert_eq!(replay.said("user_message_chunk"), "Hi".repeat(60));
    }
    editor.close().await;
}
