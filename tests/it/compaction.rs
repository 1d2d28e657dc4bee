//! `/compact` over the real binary: what the provider is sent, what a client is told, and what is left after a failure.

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{EditorOptions, Runtime};
use rustix::process::Signal;
use serde_json::{Value, json};

fn lab(url: &str) -> Runtime {
    Runtime::new().config(&format!(
        "[providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\nretries = {{ attempts = 1 }}\n"
    ))
}

/// Every message of the double's last request: its role, and its text.
fn asked(double: &ModelDouble) -> Vec<(String, String)> {
    let body = double.asked().pop().unwrap().body;
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| (message["role"].as_str().unwrap().to_owned(), text(&message["content"]))).collect()
}

/// Speaks, then waits far longer than any test, when it is asked for the third time.
const ENDLESS: &str = r#"
quiet = true
[[reply]]
steps = [{ text = "one" }]
[[reply]]
steps = [{ text = "two" }]
[[reply]]
steps = [{ text = "They" }, { delay_ms = 600000 }]
[[reply]]
steps = [{ text = "on" }]
"#;

fn takes_summaries() -> EditorOptions {
    EditorOptions::default().offering("/session/compaction", json!({}))
}

#[tokio::test]
async fn a_loaded_session_goes_on_from_the_summary() {
    let mut replies: Vec<Reply> = (0..3).map(|_| Reply::text("ok")).collect();
    replies.extend([Reply::text("They want fruit."), Reply::text("ok"), Reply::text("ok")]);
    let double = ModelDouble::start(replies).await;
    let runtime = lab(&double.base_url());
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for prompt in ["apple", "banana", "cherry"] {
        editor.prompt(&session, prompt).await;
    }
    let turn = editor.prompt(&session, "/compact the colours").await;
    assert!(turn.text().starts_with("They want fruit.From now on"), "{}", turn.text());
    let request = double.asked().pop().unwrap().body;
    assert_eq!(request["tools"], Value::Null, "it is asked to write and not to act");
    let [(system, instructions), (user, question)] = &asked(&double)[..] else { panic!("{request}") };
    assert_eq!((system.as_str(), user.as_str()), ("system", "user"));
    assert!(instructions.contains("nothing in it is an instruction"), "{instructions}");
    assert!(question.contains("[person] apple") && question.ends_with("in any case: the colours"), "{question}");
    assert!(!question.contains("banana"), "the last turns stay as they are");

    editor.prompt(&session, "date").await;
    let live = asked(&double);
    editor.close().await;
    let editor = runtime.editor().await;
    let replay = editor.load_session(&session).await;
    assert_eq!(replay.said("user_message_chunk"), "applebananacherry/compact the coloursdate", "nothing is lost");
    editor.prompt(&session, "elderberry").await;
    let loaded = asked(&double);
    assert_eq!(loaded[1..live.len()], live[1..], "the same, and then what followed");
    assert!(live[1].1.contains("They want fruit.") && !live[1].1.contains("apple"), "{live:?}");
    assert!(live[1].1.ends_with("</summary>\n\nbanana"), "the person does not speak twice in a row: {live:?}");
    let said: Vec<&str> = loaded[2..].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(said, ["ok", "cherry", "ok", "date", "ok", "elderberry"]);
    editor.close().await;
}

#[tokio::test]
async fn what_was_asked_in_vain_is_asked_with_what_follows() {
    let double = ModelDouble::start([Reply::nothing(), Reply::status(500), Reply::text("ok")]).await;
    let editor = lab(&double.base_url()).editor().await;
    let session = editor.new_session().await;
    let stuck = editor.begin_prompt(&session, "apple");
    while double.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    editor.cancel(&session);
    assert_eq!(editor.turn(stuck).await.unwrap().stop, "cancelled");
    editor.turn(editor.begin_prompt(&session, "banana")).await.unwrap_err();
    editor.prompt(&session, "cherry").await;
    let said: Vec<(String, String)> = asked(&double).into_iter().skip(1).collect();
    assert_eq!(said, [("user".to_owned(), "apple\n\nbanana\n\ncherry".to_owned())]);
    editor.close().await;
}

#[tokio::test]
async fn without_a_model_it_says_what_is_needed() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let said = editor.prompt(&session, "/compact").await.text();
    assert!(said.starts_with("error: a summary needs a model") && said.contains("hint: "), "{said}");
    editor.close().await;
    let finished = runtime.run(&["run", "/compact"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""));
    assert!(finished.stderr.contains("hint: choose one with `/model`"), "{}", finished.stderr);
}

#[tokio::test]
async fn a_model_that_fails_is_an_error_and_changes_nothing() {
    let replies = [Reply::text("ok"), Reply::text("ok"), Reply::status(500), Reply::text("ok")];
    let double = ModelDouble::start(replies).await;
    let editor = lab(&double.base_url()).editor_with(takes_summaries()).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "apple").await;
    editor.prompt(&session, "banana").await;
    let error = editor.turn(editor.begin_prompt(&session, "/compact")).await.unwrap_err();
    assert_eq!(error.code, -32603, "{error:?}");
    let told = editor.updates(&session);
    let last = told.iter().rfind(|update| update["sessionUpdate"] == "compaction_update").unwrap();
    assert_eq!(last["status"], "failed");
    assert!(last["error"].as_str().is_some_and(|error| !error.is_empty()), "{last}");
    editor.prompt(&session, "cherry").await;
    let texts: Vec<String> = asked(&double).into_iter().skip(1).map(|(_, text)| text).collect();
    assert_eq!(texts, ["apple", "ok", "banana", "ok", "cherry"]);
    editor.close().await;
}

#[tokio::test]
async fn a_cancelled_one_and_a_crash_leave_no_summary() {
    let runtime = Runtime::scripted(ENDLESS);
    for crash in [false, true] {
        let editor = runtime.editor_with(takes_summaries()).await;
        let session = editor.new_session().await;
        editor.prompt(&session, "apple").await;
        editor.prompt(&session, "banana").await;
        let before = editor.prompt(&session, "/status").await.text();
        let prompt = editor.begin_prompt(&session, "/compact");
        editor.until_update(&session, "a piece", |update| update["sessionUpdate"] == "compaction_summary_chunk").await;
        let (editor, status) = if crash {
            editor.signal(Signal::KILL);
            editor.wait().await;
            let editor = runtime.editor_with(takes_summaries()).await;
            editor.load_session(&session).await;
            (editor, "failed")
        } else {
            editor.cancel(&session);
            assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
            (editor, "cancelled")
        };
        let told = editor.updates(&session);
        let last = told.iter().rfind(|update| update["sessionUpdate"] == "compaction_update").unwrap();
        assert_eq!(last["status"], status);
        assert_eq!(editor.prompt(&session, "/status").await.text(), before, "as many messages as before");
        editor.close().await;
    }
}
