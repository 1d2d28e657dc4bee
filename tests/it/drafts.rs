//! Calls that the model is just writing, over the real binary: a client hears of each as soon as it has a name, sees it
//! grow, and is never left with one that came to nothing.

use std::sync::Arc;

use acp_runtime_tests::model_double::{ModelDouble, Reply, Stop};
use acp_runtime_tests::{EditorOptions, Runtime};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The formats in which a call comes in pieces.
const WIRES: [&str; 3] = ["openai-chat", "openai-responses", "anthropic"];

fn runtime(base_url: &str, wire: &str) -> Runtime {
    Runtime::new().config(&format!(
        "mode = \"auto\"\n[providers.lab]\nwire = \"{wire}\"\nmodel = \"small\"\nbase_url = \"{base_url}\"\n\
         api_key = \"sk-secret-1\"\nretries = {{ attempts = 2, first_pause_ms = 0 }}\n"
    ))
}

/// The updates of one call, as `kind status title rawInput`.
fn story(updates: &[Value], call: &str) -> Vec<String> {
    let of_call = updates.iter().filter(|update| update["toolCallId"] == call);
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    of_call
        .map(|update| {
            let (kind, status) = (word(&update["sessionUpdate"]), word(&update["status"]));
            format!("{kind} {status} {} {}", word(&update["title"]), update["rawInput"])
        })
        .collect()
}

#[tokio::test]
async fn a_call_is_seen_while_it_is_written() {
    for wire in WIRES {
        let [named, halfway] = [(); 2].map(|()| Arc::new(Notify::new()));
        let call = Reply::text("Now. ")
            .begin_call("write_file", &["{\"path\": \"a.txt\""])
            .hold(&named)
            .write_arguments(&[", \"content\": \"one"])
            .hold(&halfway)
            .write_arguments(&[" two\"}"])
            .end_call();
        let double = ModelDouble::start([call, Reply::text("Done.")]).await;
        let editor = runtime(&double.base_url(), wire).editor().await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, "Write it.");
        let announced =
            editor.until_update(&session, "the call", |update| update["sessionUpdate"] == "tool_call").await;
        assert_eq!((&announced["title"], &announced["name"]), (&json!("Write file"), &json!("write_file")), "{wire}");
        let raw = |raw: Value| move |update: &Value| update["rawInput"] == raw;
        editor.until_update(&session, "its path", raw(json!({ "path": "a.txt" }))).await;
        named.notify_one();
        editor.until_update(&session, "more", raw(json!({ "path": "a.txt", "content": "one" }))).await;
        halfway.notify_one();
        let turn = editor.turn(prompt).await.unwrap();
        assert_eq!((turn.text().as_str(), turn.call().status()), ("Now. Done.", "completed"), "{wire}");
        let whole = json!({ "path": "a.txt", "content": "one two" });
        let told = story(&turn.updates, "call-1");
        let started = format!("tool_call_update - Write `a.txt` {whole}");
        assert!(told[0].starts_with("tool_call -") && told.contains(&started), "{wire}: {told:#?}");
        // A loaded session has the same calls, and goes on with the next number.
        editor.close().await;
    }
}

#[tokio::test]
async fn a_loaded_session_has_the_same_calls() {
    let written = || Reply::answer().call("write_file", &["{\"path\": \"a.txt\", ", "\"content\": \"x\"}"]);
    let cut = || Reply::answer().begin_call("write_file", &["{\"path\": \"b"]).stop(Stop::Length);
    let double = ModelDouble::start([written(), Reply::text("Done."), cut(), written(), Reply::text("Done.")]).await;
    let runtime = runtime(&double.base_url(), "anthropic");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let mut live: Vec<(String, String)> = Vec::new();
    let calls = |turn: &acp_runtime_tests::Turn| -> Vec<(String, String)> {
        turn.calls().iter().map(|call| (call.id.clone(), call.status().to_owned())).collect()
    };
    for prompt in ["Write it.", "And that."] {
        live.extend(calls(&editor.prompt(&session, prompt).await));
    }
    editor.close().await;
    let editor = runtime.editor().await;
    let replay = editor.load_session(&session).await;
    assert_eq!(calls(&replay), live);
    assert!(!replay.updates.iter().any(|update| update["rawInput"] == json!({ "path": "b" })), "no piece is kept");
    live.extend(calls(&editor.prompt(&session, "Again.").await));
    let expected = [("call-1", "completed"), ("call-2", "failed"), ("call-3", "completed")];
    assert_eq!(live, expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
    editor.close().await;
}

/// Whatever ends the answer before the call is whole, the call ends as well; and it is never made.
#[tokio::test]
async fn a_call_that_comes_to_nothing_fails() {
    for wire in WIRES {
        let begun = || Reply::text("So. ").begin_call("write_file", &["{\"path\": \"a.txt\", \"content\": \"o"]);
        let double = ModelDouble::start([
            begun().stop(Stop::Length),
            begun().disconnect(),
            begun().stall(),
            Reply::answer().begin_call("write_file", &["{\"pa"]).disconnect(),
            Reply::text("on"),
        ])
        .await;
        let runtime = runtime(&double.base_url(), wire);
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let mut number = 0;
        let mut failed = |why: &str| {
            number += 1;
            let told = editor.updates(&session);
            let last = told.iter().rev().find(|update| update["toolCallId"] == format!("call-{number}")).unwrap();
            let text = last["content"][0]["content"]["text"].as_str().unwrap_or_default();
            assert!(last["status"] == "failed" && text == why, "{wire}: {last}");
        };
        let turn = editor.prompt(&session, "Go.").await;
        assert_eq!(turn.stop, "max_tokens", "{wire}");
        failed("the answer ended before this call was complete");
        assert!(editor.turn(editor.begin_prompt(&session, "Go.")).await.is_err(), "{wire}");
        failed("the answer broke off before this call was complete");
        let prompt = editor.begin_prompt(&session, "Go.");
        let third = |update: &Value| update["toolCallId"] == "call-3" && update["rawInput"]["content"] == "o";
        editor.until_update(&session, "the call", third).await;
        editor.cancel(&session);
        assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled", "{wire}");
        failed("the user cancelled the turn");
        // Nothing was said yet: the model is asked again, and makes no call this time.
        let turn = editor.prompt(&session, "Go.").await;
        assert_eq!((turn.stop.as_str(), turn.text().as_str()), ("end_turn", "on"), "{wire}");
        failed("the answer ended before this call was complete");
        assert!(!runtime.project().join("a.txt").exists());
        editor.close().await;
    }
}

/// However much comes and however fast, little of it is told at a time.
#[tokio::test]
async fn what_is_told_of_a_long_call_is_bounded() {
    let line = "x".repeat(200);
    let piece = line.as_str();
    let (begin, end) = ("{\"path\": \"a.txt\", \"content\": \"", "\"}");
    for wire in WIRES {
        let call = (0..2000)
            .fold(Reply::answer().begin_call("write_file", &[begin]), |reply, _| reply.write_arguments(&[piece]));
        let double = ModelDouble::start([call.write_arguments(&[end]).end_call(), Reply::text("Done.")]).await;
        let runtime = runtime(&double.base_url(), wire);
        let editor = runtime.editor_with(EditorOptions::default()).await;
        let session = editor.new_session().await;
        let begun = std::time::Instant::now();
        let turn = editor.prompt(&session, "Write it.").await;
        let tenths = usize::try_from(begun.elapsed().as_millis() / 100).unwrap();
        assert_eq!(runtime.read("a.txt").len(), 400_000, "{wire}");
        let grown: Vec<&Value> = turn.updates.iter().filter(|update| update["rawInput"].is_object()).collect();
        assert!(grown.len() <= tenths + 4, "{wire}: {} updates in {tenths} tenths of a second", grown.len());
        assert!(grown.iter().all(|update| update.to_string().len() < 10_000), "{wire}");
        editor.close().await;
    }
}
