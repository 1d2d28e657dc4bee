//! Opening, resuming, closing and deleting: what is told, what is refused, and what comes after what.

use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, update_kind};
use super::sessions::Turn;

fn open_again() -> Value {
    json!({ "sessionId": "s-1", "cwd": "/p", "mcpServers": [] })
}

async fn with_one_turn() -> Client {
    let mut client = Client::with_session(json!({})).await;
    let id = client.prompt("hi");
    client.until(id).await;
    client
}

#[tokio::test]
async fn a_resumed_session_goes_on_and_tells_nothing() {
    let mut client = with_one_turn().await;
    let id = client.ask("session/resume", json!({ "sessionId": "s-1", "cwd": "/p" }));
    let messages = client.until(id).await;
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0]["result"]["modes"]["currentModeId"], "review");
    let id = client.prompt("and now?");
    let messages = client.until(id).await;
    let said = messages.iter().find(|message| update_kind(message) == "agent_message_chunk").unwrap();
    assert_eq!(said["params"]["update"]["messageId"], "msg-4", "{messages:?}");
    let unknown = client.call("session/resume", json!({ "sessionId": "nope", "cwd": "/p" })).await;
    assert_eq!(unknown["error"]["code"], -32002);
}

#[tokio::test]
async fn what_cannot_be_opened_again_stays_as_it_is() {
    let mut client = with_one_turn().await;
    for method in ["session/load", "session/resume"] {
        for fields in [json!({ "cwd": "/missing" }), json!({ "additionalDirectories": ["/q", "/missing"] })] {
            let mut params = open_again();
            params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let id = client.ask(method, params);
            let messages = client.until(id).await;
            assert_eq!(messages.len(), 1, "nothing is told before it is refused: {messages:?}");
            assert_eq!(messages[0]["error"]["code"], -32602);
        }
    }
    let id = client.prompt("still there?");
    assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_running_session_that_is_opened_again_ends_first() {
    for method in ["session/load", "session/resume"] {
        let mut client = with_one_turn().await;
        client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
        let (running, waiting) = (client.prompt("think"), client.prompt("and then"));
        let again = client.ask(method, open_again());
        let next = client.prompt("and now?");
        for id in [running, waiting] {
            assert_eq!(client.response(id).await["result"]["stopReason"], "cancelled", "{method}");
        }
        assert!(client.response(again).await["result"].is_object(), "{method}");
        assert_eq!(client.response(next).await["result"]["stopReason"], "end_turn", "{method}");
    }
}

#[tokio::test]
async fn instructions_of_the_client_reach_the_model() {
    let mut client = with_one_turn().await;
    let mut params = open_again();
    params["systemPrompt"] = json!({ "mode": "override", "content": [{ "type": "text", "text": "Be a poet." }] });
    client.call("session/load", params).await;
    let id = client.prompt("hi");
    client.response(id).await;
    let told = client.factory.script.told.lock().unwrap().clone();
    assert!(told[0].starts_with("You are a coding agent"), "{told:?}");
    assert!(told[1].starts_with("Be a poet.\n\nFolders:\n- /p\n"), "{told:?}");
}

#[tokio::test]
async fn a_deleted_session_is_ended_first_and_then_unknown() {
    let mut client = with_one_turn().await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let prompt = client.prompt("hi");
    let delete = client.ask("session/delete", json!({ "sessionId": "s-1" }));
    let after = client.prompt("anybody?");
    assert_eq!(client.response(after).await["error"]["code"], -32002);
    assert_eq!(client.response(prompt).await["result"]["stopReason"], "cancelled");
    assert_eq!(client.response(delete).await["result"], json!({}));
    assert_eq!(client.call("session/list", json!({})).await["result"]["sessions"], json!([]));
    assert_eq!(client.call("session/load", open_again()).await["error"]["code"], -32002);
    for unknown in ["s-1", "nope", ""] {
        let answer = client.call("session/delete", json!({ "sessionId": unknown })).await;
        assert_eq!(answer["result"], json!({}), "deleted is deleted: {unknown}");
    }
}

#[tokio::test]
async fn what_is_asked_of_one_session_at_once_happens_in_order() {
    let mut client = with_one_turn().await;
    let asked = [
        client.ask("session/load", open_again()),
        client.ask("session/load", open_again()),
        client.ask("session/resume", open_again()),
        client.ask("session/close", json!({ "sessionId": "s-1" })),
    ];
    let mut replays = Vec::new();
    for id in &asked[..3] {
        let messages = client.until(*id).await;
        let told = messages.iter().filter(|message| update_kind(message) == "user_message_chunk").count();
        assert!(messages.last().unwrap()["result"].is_object(), "{messages:?}");
        replays.push(told);
    }
    assert_eq!(replays, [1, 1, 0], "each load tells all of it, by itself");
    // The close took what was open when it came; what was opened after that is closed as well.
    assert_eq!(client.response(asked[3]).await["result"], json!({}));
    let id = client.prompt("anybody?");
    assert_eq!(client.response(id).await["error"]["code"], -32002);
}

#[tokio::test]
async fn a_closed_session_leaves_nothing_behind() {
    let mut client = Client::connect();
    client.call("initialize", json!({ "protocolVersion": 1 })).await;
    let factory = client.factory.clone();
    let held = || (Arc::strong_count(&factory.files), Arc::strong_count(&factory.journal));
    let before = held();
    for _ in 0..3 {
        client.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
    }
    assert_ne!(held(), before);
    factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let prompt = client.prompt("hi");
    for session in ["s-1", "s-2", "s-3"] {
        client.call("session/close", json!({ "sessionId": session })).await;
    }
    client.response(prompt).await;
    // The tasks of a session end by themselves once nobody holds it.
    while held() != before {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_fork_goes_on_by_itself() {
    let mut client = with_one_turn().await;
    let id = client.prompt("more");
    client.until(id).await;
    let fork = |aar: Value| json!({ "sessionId": "s-1", "cwd": "/p", "_meta": { "aar": aar } });
    let whole = client.call("session/fork", json!({ "sessionId": "s-1", "cwd": "/p" })).await;
    assert_eq!(whole["result"]["sessionId"], "s-2");
    assert_eq!(whole["result"]["modes"]["currentModeId"], "review");
    let part = client.call("session/fork", fork(json!({ "messageId": "msg-3", "position": "before" }))).await;
    assert_eq!(part["result"]["sessionId"], "s-3");

    // What it begins with is told when it is loaded, under the ids of the source, and it counts on from there.
    let text = json!([{ "type": "text", "text": "other" }]);
    let id = client.ask("session/prompt", json!({ "sessionId": "s-3", "prompt": text }));
    client.response(id).await;
    let mut said = Vec::new();
    for session in ["s-1", "s-2", "s-3"] {
        let id = client.ask("session/load", json!({ "sessionId": session, "cwd": "/p", "mcpServers": [] }));
        let told: Vec<String> = client
            .until(id)
            .await
            .iter()
            .filter(|message| message["params"]["sessionId"] == session)
            .map(|message| &message["params"]["update"])
            .filter(|update| update["messageId"].is_string())
            .map(|update| format!("{}: {}", update["messageId"], update["content"]["text"]))
            .collect();
        said.push(told.join(", "));
    }
    expect_test::expect![[r#"
        "msg-1": "hi", "msg-2": "ok", "msg-3": "more", "msg-4": "ok"
        "msg-1": "hi", "msg-2": "ok", "msg-3": "more", "msg-4": "ok"
        "msg-1": "hi", "msg-2": "ok", "msg-3": "other", "msg-4": "ok""#]]
    .assert_eq(&said.join("\n"));
}

#[tokio::test]
async fn a_running_session_can_be_forked() {
    let mut client = with_one_turn().await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let running = client.prompt("think");
    let fork = client.call("session/fork", json!({ "sessionId": "s-1", "cwd": "/p" })).await;
    assert_eq!(fork["result"]["sessionId"], "s-2");
    let text = json!([{ "type": "text", "text": "go on" }]);
    let id = client.ask("session/prompt", json!({ "sessionId": "s-2", "prompt": text }));
    assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn");
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    assert_eq!(client.response(running).await["result"]["stopReason"], "cancelled");
}
