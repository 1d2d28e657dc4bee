//! Questions for values: forms and pages where the client shows them, words where it does not.

use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorOptions, Filled, Runtime};
use serde_json::{Value, json};

const ASK: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ call = { tool = "ask_user", arguments = { question = "Which port?", choices = ["8080", "9090"] } } }]
[[reply]]
steps = [{ text = "Thanks." }]
"#;

const PAGE: &str = r#"
quiet = true
[[reply]]
steps = [{ call = { tool = "ask_user", arguments = { question = "Which token id?", url = "https://example.com/tokens" } } }]
[[reply]]
steps = [{ text = "Thanks." }]
"#;

#[tokio::test]
async fn a_question_is_a_form_and_its_answer_goes_to_the_model() {
    let options = EditorOptions::default().filling(|_| Filled::With(json!({ "answer": "9090" })));
    let editor = Runtime::scripted(ASK).editor_with(options).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Start it").await;
    assert_eq!(turn.text(), "Thanks.");
    let call = turn.call();
    assert_eq!((call.status(), call.text().as_str()), ("completed", "The user answered: 9090"));
    assert_eq!(call.fields["rawOutput"], json!({ "action": "accept", "answers": { "answer": "9090" } }));

    let asked = &editor.elicitations()[0];
    assert_eq!((&asked["mode"], &asked["message"]), (&json!("form"), &json!("Which port?")));
    assert_eq!((&asked["sessionId"], &asked["toolCallId"]), (&json!(session), &json!(call.id)));
    assert_eq!(asked["requestedSchema"]["properties"]["answer"]["enum"], json!(["8080", "9090"]));
    assert!(editor.permissions().is_empty(), "a question needs no permission");
    editor.close().await;
}

#[tokio::test]
async fn an_answer_that_was_not_offered_is_none() {
    for (filled, said) in [
        (
            Filled::With(json!({ "answer": "1" })),
            "There is no answer: `answer` was not answered with one of its choices",
        ),
        (Filled::With(json!({})), "There is no answer: `answer` was not answered."),
        (Filled::Decline, "The user does not want to answer that."),
        (Filled::Cancel, "The user closed the question"),
    ] {
        let options = EditorOptions::default().filling(move |_| filled.clone());
        let editor = Runtime::scripted(ASK).editor_with(options).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Start it").await;
        assert!(turn.call().text().starts_with(said), "{}", turn.call().text());
        assert_eq!(turn.stop, "end_turn");
        editor.close().await;
    }
}

#[tokio::test]
async fn without_the_offer_the_model_asks_in_words() {
    for offer in [Value::Null, json!({}), json!({ "url": {} }), json!({ "form": true })] {
        let capabilities = json!({ "elicitation": offer });
        let editor = Runtime::scripted(ASK).editor_with(EditorOptions { capabilities, ..Default::default() }).await;
        let session = editor.new_session().await;
        let call = editor.prompt(&session, "Start it").await.call();
        assert!(call.text().contains("Put the question into your answer"), "{offer}: {}", call.text());
        assert!(editor.elicitations().is_empty(), "{offer}");
        editor.close().await;
    }
}

#[tokio::test]
async fn a_page_is_opened_before_its_form_and_told_to_be_done() {
    let filled = |asked: &Value| match asked["mode"].as_str() {
        Some("url") => Filled::With(Value::Null),
        _ => Filled::With(json!({ "answer": "t-1" })),
    };
    let editor = Runtime::scripted(PAGE).editor_with(EditorOptions::default().filling(filled)).await;
    let session = editor.new_session().await;
    let call = editor.prompt(&session, "Set it up").await.call();
    assert_eq!(call.text(), "The user answered: t-1");
    let asked = editor.elicitations();
    assert_eq!(asked.len(), 2);
    assert_eq!((&asked[0]["mode"], &asked[0]["url"]), (&json!("url"), &json!("https://example.com/tokens")));
    let done = editor.until_notified("elicitation/complete").await;
    assert_eq!(done, json!({ "elicitationId": asked[0]["elicitationId"] }));
    editor.close().await;
}

#[tokio::test]
async fn a_cancelled_turn_withdraws_its_form() {
    let editor = Runtime::scripted(ASK).editor_with(EditorOptions::default().filling(|_| Filled::Hold)).await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Start it");
    editor.until_elicited(1).await;
    let begin = Instant::now();
    editor.notify("session/cancel", json!({ "sessionId": session }));
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!((turn.stop.as_str(), turn.call().status()), ("cancelled", "failed"));
    assert!(begin.elapsed() < Duration::from_secs(2));
    editor.until_withdrawn(1).await;
    editor.close().await;
}

#[tokio::test]
async fn a_person_who_takes_too_long_has_not_answered() {
    let runtime = Runtime::scripted(ASK).config("[permission]\ntimeout = 0.05\n");
    let editor = runtime.editor_with(EditorOptions::default().filling(|_| Filled::Hold)).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Start it").await;
    assert!(turn.call().text().starts_with("The user did not answer within 0.05 s."), "{}", turn.call().text());
    editor.until_withdrawn(1).await;
    editor.close().await;
}

#[test]
fn without_a_person_the_model_asks_in_words() {
    let finished = Runtime::scripted(ASK).run(&["run", "Start it"]);
    assert_eq!((finished.code, finished.stdout.trim()), (Some(0), "Thanks."), "{}", finished.stderr);
}
