//! LOAD, CANCEL, CONCURRENT, ERRORS: what becomes of prompts.

use std::time::{Duration, Instant};

use acp_runtime_tests::{Runtime, Turn};
use serde_json::{Value, json};

const TURNS: &str = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"Hello.\" }]\n";

#[tokio::test]
async fn load_tells_everything_and_resume_nothing() {
    let runtime = Runtime::scripted(TURNS);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Hi").await;
    editor.close().await;

    let editor = runtime.editor().await;
    let replay = editor.load_session(&session).await;
    assert_eq!((replay.said("user_message_chunk").as_str(), replay.text().as_str()), ("Hi", "Hello."));
    assert_eq!(editor.prompt(&session, "Again").await.text(), "Hello.", "after a load the next prompt is answered");
    editor.close().await;

    let editor = runtime.editor().await;
    let params = json!({ "sessionId": session, "cwd": runtime.project() });
    let answer = editor.call("session/resume", params).await;
    assert!(answer.is_object(), "some clients refuse null");
    editor.until_update(&session, "the commands", |update| update["availableCommands"].is_array()).await;
    let told = Turn { stop: String::new(), updates: editor.updates(&session) };
    assert_eq!((told.said("user_message_chunk"), told.text()), (String::new(), String::new()));
    editor.close().await;
}

#[tokio::test]
async fn load_that_fails_has_told_nothing() {
    let runtime = Runtime::scripted(TURNS);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Hi").await;
    editor.close().await;
    let editor = runtime.editor().await;
    let params = json!({ "sessionId": session, "cwd": "/no/such/folder", "mcpServers": [] });
    assert_eq!(editor.request("session/load", params).await.unwrap_err().code, -32602);
    assert_eq!(editor.updates(&session), Vec::<Value>::new());
    editor.close().await;
}

const SLOW: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }, { text = "late" }]
[[reply]]
steps = [{ text = "Again." }]
"#;

#[tokio::test]
async fn cancel_is_no_failure_and_leaves_nothing_behind() {
    let editor = Runtime::scripted(SLOW).editor().await;
    for _ in 0..3 {
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, "Go");
        editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
        let begin = Instant::now();
        editor.cancel(&session);
        editor.cancel(&session);
        let turn = editor.turn(prompt).await.expect("a cancelled turn is no error");
        assert_eq!((turn.stop.as_str(), turn.text().contains("late")), ("cancelled", false));
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert_eq!(editor.prompt(&session, "And now?").await.text(), "Again.");
    }
    editor.close().await;
}

#[tokio::test]
async fn concurrent_prompts_are_all_answered_and_too_many_are_refused() {
    let scenario = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ delay_ms = 200 }, { text = \".\" }]\n";
    let editor = Runtime::scripted(scenario).config("prompt.queue = 3\n").editor().await;
    let session = editor.new_session().await;
    let prompts: Vec<_> = (0..6).map(|number| editor.begin_prompt(&session, &number.to_string())).collect();
    let mut answers = Vec::new();
    for prompt in prompts {
        answers.push(match editor.turn(prompt).await {
            Ok(turn) => turn.stop,
            Err(error) => format!("{} {}", error.code, error.data["reason"]),
        });
    }
    let refused = "-32600 \"busy\"";
    assert_eq!(answers, ["end_turn", "end_turn", "end_turn", "end_turn", refused, refused]);
    editor.close().await;
}

#[tokio::test]
async fn errors_are_told_and_not_swallowed() {
    for (kind, code, retryable) in
        [("network", -32603, true), ("overloaded", -32603, true), ("request", -32603, false), ("auth", -32000, false)]
    {
        let scenario = format!(
            "quiet = true\n[[reply]]\nsteps = [{{ text = \"Half\" }}, {{ error = {{ kind = \"{kind}\", message = \"no\" }} }}]\n\
             [[reply]]\nsteps = [{{ text = \"Whole.\" }}]\n"
        );
        let editor = Runtime::scripted(&scenario).editor().await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, "Go");
        let error = editor.turn(prompt).await.expect_err("a failed turn is no empty end of one");
        assert_eq!(error.code, code, "{kind}");
        assert_eq!(error.data["reason"], kind);
        assert_eq!(error.data["retryable"], retryable, "{kind}");
        assert!(error.data["details"].as_str().is_some_and(|details| details.contains("no")), "{error:?}");
        let said = Turn { stop: String::new(), updates: editor.updates(&session) };
        assert_eq!(said.text(), "Half", "what was said stays");
        assert_eq!(editor.prompt(&session, "Again").await.text(), "Whole.");
        editor.close().await;
    }
}
