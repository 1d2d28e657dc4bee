//! The client as the person to ask and as a place of files.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use super::client::{Client, PATIENT};
use super::lines;
use crate::acp::Patience;
use crate::transport::stdio::Limits;

const SOON: Duration = Duration::from_millis(20);

const WRITE: &str = "/call write {\"path\": \"a.txt\", \"text\": \"new\"}";

fn chosen(id: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": id } })
}

fn on_disk(client: &Client, path: &str) -> Option<String> {
    client.factory.files.0.lock().unwrap().get(path).cloned()
}

#[tokio::test]
async fn a_question_shows_the_change_and_its_answer_counts() {
    let mut client = Client::with_session(json!({})).await;
    let id = client.prompt(WRITE);
    let mut before = Vec::new();
    let question = loop {
        let message = client.next().await;
        if message["method"] == "session/request_permission" {
            break message;
        }
        before.push(message);
    };
    before.push(json!({ "params": question["params"] }));
    expect![[r#"
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-1","title":"write","name":"write","kind":"edit","rawInput":{"path":"a.txt","text":"new"}}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-1","content":[{"type":"diff","path":"/p/a.txt","newText":"new"}]}},"method":"session/update"}
        {"params":{"sessionId":"s-1","toolCall":{"toolCallId":"call-1","kind":"edit","status":"pending","title":"tool write: write `a.txt`","content":[{"type":"diff","path":"/p/a.txt","newText":"new"}],"locations":[{"path":"/p/a.txt"}],"rawInput":{"path":"a.txt","text":"new"}},"options":[{"optionId":"allow_once","name":"Allow once","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow in this project","kind":"allow_always"},{"optionId":"reject_once","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject in this project","kind":"reject_always"}]}}"#]].assert_eq(&lines(&before));
    client.answer(&question, chosen("allow_once"));
    client.response(id).await;
    assert_eq!(on_disk(&client, "a.txt").as_deref(), Some("new"));
}

#[tokio::test]
async fn whatever_is_not_a_yes_is_a_no() {
    for answer in [
        json!({ "result": chosen("reject_once") }),
        json!({ "result": chosen("reject_always") }),
        json!({ "result": chosen("Allow once") }),
        json!({ "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "result": { "outcome": { "outcome": "approved" } } }),
        json!({ "result": null }),
        json!({ "error": { "code": -32601, "message": "Method not found" } }),
    ] {
        let mut client = Client::with_session(json!({})).await;
        let id = client.prompt(WRITE);
        let question = client.called("session/request_permission").await;
        let mut message = json!({ "jsonrpc": "2.0", "id": question["id"] });
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.send(&message);
        let ended = client.find(|m| m["params"]["update"]["status"] == "failed").await;
        assert!(ended.to_string().contains("\"text\":\"write `a.txt`: "), "{ended}");
        assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn", "{answer}");
        assert_eq!(on_disk(&client, "a.txt"), None, "{answer}");
    }
}

#[tokio::test]
async fn a_cancelled_turn_withdraws_its_question() {
    let mut client = Client::with_session(json!({})).await;
    let id = client.prompt(WRITE);
    let question = client.called("session/request_permission").await;
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    assert_eq!(client.response(id).await["result"]["stopReason"], "cancelled");
    let withdrawn = client.called("$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // A late answer changes nothing.
    client.answer(&question, chosen("allow_once"));
    client.call("session/list", json!({})).await;
    assert_eq!(on_disk(&client, "a.txt"), None);
}

#[tokio::test]
async fn a_question_that_takes_too_long_is_a_no() {
    let mut client = Client::connect_with(Limits::default(), Patience { person: Some(SOON), ..PATIENT });
    client.open(json!({})).await;
    let id = client.prompt(WRITE);
    let question = client.called("session/request_permission").await;
    assert_eq!(client.called("$/cancel_request").await["params"]["requestId"], question["id"]);
    let ended = client.find(|message| message["params"]["update"]["status"] == "failed").await;
    let told = "\"write `a.txt`: no answer within 0.02 s\\nhint: set `permission.timeout` higher";
    assert!(ended.to_string().contains(told), "{ended}");
    assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn");
    assert_eq!(on_disk(&client, "a.txt"), None);
}

/// A client that offers files, in a mode that asks nothing.
async fn editor() -> Client {
    let mut client = Client::connect();
    as_editor(&mut client).await;
    client
}

async fn as_editor(client: &mut Client) {
    client.open(json!({ "fs": { "readTextFile": true, "writeTextFile": true } })).await;
    client.call("session/set_mode", json!({ "sessionId": "s-1", "modeId": "auto" })).await;
    client.factory.files.0.lock().unwrap().insert("a.txt".to_owned(), "saved".to_owned());
}

/// Calls `read`, and gives what it showed.
async fn shown(client: &mut Client, id: i64) -> String {
    let messages = client.until(id).await;
    let text =
        |message: &Value| message["params"]["update"]["content"][0]["content"]["text"].as_str().map(str::to_owned);
    messages.iter().find_map(text).unwrap_or_default()
}

#[tokio::test]
async fn texts_are_read_from_the_editor() {
    let mut client = editor().await;
    let id = client.prompt("/call read {\"path\": \"a.txt\"}");
    let asked = client.called("fs/read_text_file").await;
    assert_eq!(asked["params"], json!({ "sessionId": "s-1", "path": "/p/a.txt" }));
    client.answer(&asked, json!({ "content": "unsaved" }));
    assert_eq!(shown(&mut client, id).await, "unsaved");
}

/// A refusal, and whether it says that the file is not the client's.
fn refusals() -> [(Value, bool); 12] {
    let refusal = |code: i64, message: &str| json!({ "code": code, "message": message });
    [
        (json!({ "code": -32002, "message": "Resource not found", "data": { "uri": "/p/a.txt" } }), true),
        (refusal(-32601, "Method not found"), true),
        (refusal(-32603, "File not found: /p/a.txt"), true),
        (json!({ "code": -32603, "message": "Internal error", "data": "ENOENT: no such file" }), true),
        (json!({ "code": -32603, "message": "Internal error", "data": { "details": "invalid path" } }), true),
        (refusal(-32000, "Access denied: path is outside the trusted working directory"), true),
        (refusal(-32602, "path '/p/a.txt' escapes working directory"), true),
        (refusal(-32603, "Internal error"), false),
        (refusal(-32602, "Invalid params"), false),
        (refusal(-32000, "The user rejected the change"), false),
        (refusal(-32603, "EACCES: permission denied"), false),
        (refusal(-32800, "Request cancelled"), false),
    ]
}

#[tokio::test]
async fn the_disk_stands_in_only_for_files_that_the_editor_does_not_have() {
    for (error, not_theirs) in refusals() {
        let mut client = editor().await;
        let id = client.prompt("/call read {\"path\": \"a.txt\"}");
        let asked = client.called("fs/read_text_file").await;
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }));
        let text = shown(&mut client, id).await;
        if not_theirs {
            assert_eq!(text, "saved", "{error}");
        } else {
            assert!(text.contains("`/p/a.txt`: the editor refused: "), "{error}: {text}");
            assert!(text.contains(error["message"].as_str().unwrap()), "{error}: {text}");
        }

        let id = client.prompt(WRITE);
        let asked = client.called("fs/write_text_file").await;
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }));
        client.response(id).await;
        let expected = if not_theirs { "new" } else { "saved" };
        assert_eq!(on_disk(&client, "a.txt").as_deref(), Some(expected), "{error}");
    }
}

#[tokio::test]
async fn an_editor_that_is_silent_is_not_replaced_by_the_disk() {
    let mut client = Client::connect_with(Limits::default(), Patience { client: SOON, ..PATIENT });
    as_editor(&mut client).await;
    for (prompt, method) in [("/call read {\"path\": \"a.txt\"}", "fs/read_text_file"), (WRITE, "fs/write_text_file")] {
        let id = client.prompt(prompt);
        let asked = client.called(method).await;
        assert_eq!(client.called("$/cancel_request").await["params"]["requestId"], asked["id"]);
        let text = shown(&mut client, id).await;
        assert!(text.contains("the editor did not answer within 0.02 s"), "{text}");
    }
    assert_eq!(on_disk(&client, "a.txt").as_deref(), Some("saved"));
}

#[tokio::test]
async fn a_cancelled_turn_withdraws_its_file() {
    let mut client = editor().await;
    let id = client.prompt("/call read {\"path\": \"a.txt\"}");
    let asked = client.called("fs/read_text_file").await;
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    assert_eq!(client.called("$/cancel_request").await["params"]["requestId"], asked["id"]);
    assert_eq!(client.response(id).await["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn only_the_wanted_lines_are_read() {
    let past =
        json!({ "error": { "code": -32602, "message": "Invalid params", "data": "beyond the end of the file" } });
    let gone = json!({ "error": { "code": -32002, "message": "Resource not found" } });
    let content = |text: &str| json!({ "result": { "content": text } });
    for (first, most, answers, expected) in [
        (2, 2, vec![content("b\nc\nd\n")], r#""b\nc\n" of None"#),
        (2, 2, vec![content("b\nc\n")], r#""b\nc\n" of Some(3)"#),
        (2, 9, vec![content("b")], r#""b" of Some(2)"#),
        // Nothing there: the whole tells why.
        (4, 1, vec![content(""), content("a\nb\n")], r#""" of Some(2)"#),
        (4, 1, vec![past.clone(), content("a\nb\n")], r#""" of Some(2)"#),
        (4, 1, vec![past, gone.clone()], r#""" of Some(1)"#),
        (1, 1, vec![gone], r#""saved" of Some(1)"#),
    ] {
        let mut client = editor().await;
        let call = json!({ "path": "a.txt", "first": first, "most": most });
        let id = client.prompt(&format!("/call read {call}"));
        for (index, answer) in answers.iter().enumerate() {
            let asked = client.called("fs/read_text_file").await;
            let part = (asked["params"]["line"].as_u64(), asked["params"]["limit"].as_u64());
            assert_eq!(part, if index == 0 { (Some(first), Some(most + 1)) } else { (None, None) });
            let mut message = json!({ "jsonrpc": "2.0", "id": asked["id"] });
            message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
            client.send(&message);
        }
        assert_eq!(shown(&mut client, id).await, expected, "{first} {most} {answers:?}");
    }
}

#[tokio::test]
async fn texts_are_written_through_the_editor() {
    let mut client = editor().await;
    let id = client.prompt(WRITE);
    let asked = client.called("fs/write_text_file").await;
    assert_eq!(asked["params"], json!({ "sessionId": "s-1", "path": "/p/a.txt", "content": "new" }));
    client.answer(&asked, json!({}));
    assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn");
    assert_eq!(on_disk(&client, "a.txt").as_deref(), Some("saved"), "the editor has it, not we");
}

#[tokio::test]
async fn the_editor_is_not_asked_for_what_may_lead_out_of_a_root() {
    let mut client = editor().await;
    for prompt in [
        "/call read {\"path\": \"link\"}",
        "/call write {\"path\": \"link\", \"text\": \"x\"}",
        "/call read {\"path\": \"/etc/passwd\"}",
        // Whether it leads out cannot be seen without the right to read it.
        "/call write_unread {\"path\": \"b.txt\", \"text\": \"x\"}",
    ] {
        let id = client.prompt(prompt);
        let messages = client.until(id).await;
        assert!(messages.iter().all(|message| message["id"] == id || message["id"].is_null()), "{messages:?}");
    }
    assert_eq!(on_disk(&client, "b.txt").as_deref(), Some("x"));
}

#[tokio::test]
async fn nothing_is_asked_of_a_client_that_did_not_offer_it() {
    for capabilities in [json!({}), json!({ "fs": { "readTextFile": false } }), json!({ "fs": "yes" }), json!("all")] {
        let mut client = Client::with_session(capabilities).await;
        client.factory.files.0.lock().unwrap().insert("a.txt".to_owned(), "saved".to_owned());
        let id = client.prompt("/call read {\"path\": \"a.txt\"}");
        assert_eq!(shown(&mut client, id).await, "saved");
    }
}
