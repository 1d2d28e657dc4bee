//! `$/cancel_request` and `session/cancel`, and what is written at once with a `session/load`.

use acp_runtime_agent::model::ModelEvent;
use serde_json::{Value, json};

use super::client::Client;
use super::sessions::{Turn, end};

const CANCELLED: i64 = -32800;

fn cancel_request(client: &mut Client, id: i64) {
    client.notify("$/cancel_request", json!({ "requestId": id }));
}

async fn is_cancelled(client: &mut Client, id: i64) {
    let answer = client.response(id).await;
    assert_eq!(answer["error"]["code"], CANCELLED, "{answer}");
}

async fn stop_reason(client: &mut Client, id: i64) -> Value {
    client.response(id).await["result"]["stopReason"].clone()
}

fn load(client: &mut Client) -> i64 {
    client.ask("session/load", json!({ "sessionId": "s-1", "cwd": "/p", "mcpServers": [] }))
}

#[tokio::test]
async fn cancelling_one_prompt_leaves_the_others_alone() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let (running, waiting) = (client.prompt("one"), client.prompt("two"));
    cancel_request(&mut client, waiting);
    is_cancelled(&mut client, waiting).await;
    // Its place in the queue is free.
    let next = client.prompt("three");
    cancel_request(&mut client, running);
    is_cancelled(&mut client, running).await;
    assert_eq!(stop_reason(&mut client, next).await, "end_turn");

    // Cancelled again, and after the end: nothing is answered twice.
    cancel_request(&mut client, waiting);
    cancel_request(&mut client, next);
    let messages = client.end().await;
    let answers = messages.iter().filter(|message| message["method"].is_null());
    assert_eq!(answers.count(), 0, "{messages:?}");
}

#[tokio::test]
async fn what_was_said_comes_before_the_answer_of_a_cancelled_prompt() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let id = client.prompt("hi");
    cancel_request(&mut client, id);
    let messages = client.until(id).await;
    assert_eq!(messages.last().unwrap()["error"]["code"], CANCELLED);
    let late = client.end().await;
    assert!(late.is_empty(), "{late:?}");
}

#[tokio::test]
async fn every_request_can_be_cancelled() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.journal.1.0.send_replace(true);
    let about = json!({ "sessionId": "s-1", "cwd": "/p" });
    let requests = [
        client.ask("session/list", json!({})),
        client.ask("session/fork", about.clone()),
        load(&mut client),
        client.ask("session/resume", about),
        client.ask("session/delete", json!({ "sessionId": "s-1" })),
    ];
    // It waits for them, and the session is open as before when they come to nothing.
    let waiting = client.prompt("hi");
    for id in requests {
        cancel_request(&mut client, id);
        is_cancelled(&mut client, id).await;
    }
    assert_eq!(stop_reason(&mut client, waiting).await, "end_turn");

    client.factory.journal.1.0.send_replace(false);
    let id = load(&mut client);
    assert!(client.response(id).await["result"].is_object());
    let id = client.prompt("hi");
    assert_eq!(stop_reason(&mut client, id).await, "end_turn");
    let kept = client.call("session/list", json!({})).await;
    assert_eq!(kept["result"]["sessions"].as_array().unwrap().len(), 1, "{kept}");
}

#[tokio::test]
async fn what_is_written_with_a_load_waits_for_it() {
    let mut client = Client::with_session(json!({})).await;
    for _ in 0..20 {
        client.factory.journal.1.0.send_replace(true);
        let first = load(&mut client);
        // Its cancel comes with it, so that the model is never asked.
        let cancelled = client.prompt("one");
        client.notify("session/cancel", json!({ "sessionId": "s-1" }));
        let mode = client.ask("session/set_mode", json!({ "sessionId": "s-1", "modeId": "plan" }));
        let unwanted = client.prompt("two");
        cancel_request(&mut client, unwanted);
        let panels = client.ask("_aar/panel_list", json!({ "session_id": "s-1" }));
        let again = load(&mut client);
        let last = client.prompt("three");
        // What is about no session does not wait, so all of that has arrived when it is answered.
        client.call("authenticate", json!({ "methodId": "settings" })).await;
        client.factory.journal.1.0.send_replace(false);

        assert!(client.response(first).await["result"].is_object());
        assert_eq!(stop_reason(&mut client, cancelled).await, "cancelled");
        for id in [mode, panels, again] {
            let answer = client.response(id).await;
            assert!(answer["result"].is_object(), "{answer}");
        }
        is_cancelled(&mut client, unwanted).await;
        assert_eq!(stop_reason(&mut client, last).await, "end_turn");
    }
}

#[tokio::test]
async fn what_is_written_with_a_load_that_fails_knows_no_session() {
    let mut client = Client::connect();
    client.call("initialize", json!({ "protocolVersion": 1 })).await;
    let failed = load(&mut client);
    let prompt = client.prompt("hi");
    for id in [failed, prompt] {
        assert_eq!(client.response(id).await["error"]["code"], -32002);
    }
}

/// Both are there before anybody acts on the first.
#[tokio::test]
async fn an_answer_that_is_written_with_a_cancel_does_not_overtake_it() {
    for takes_one_back in [false, true] {
        let mut client = Client::with_session(json!({})).await;
        let script = &client.factory.script.turns;
        script
            .lock()
            .unwrap()
            .push_back(Turn::Says(vec![ModelEvent::call("write", json!({ "path": "a.txt", "text": "new" })), end()]));
        let id = client.prompt("hi");
        let question = client.called("session/request_permission").await;
        let cancel = if takes_one_back {
            json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": id } })
        } else {
            json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s-1" } })
        };
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": cancelled });
        client.write(format!("{cancel}\n{answer}\n").as_bytes());
        if takes_one_back {
            is_cancelled(&mut client, id).await;
        } else {
            assert_eq!(stop_reason(&mut client, id).await, "cancelled");
        }
        let asked = client.factory.script.told.lock().unwrap().len();
        assert_eq!(asked, 1, "the model was asked again");
    }
}
