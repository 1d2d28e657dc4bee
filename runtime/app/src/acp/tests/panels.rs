//! `_aar/panel_*` against the contract: answers, errors in their order, the notification.

use expect_test::expect;
use serde_json::{Value, json};

use super::client::Client;
use super::lines;
use super::sessions::Turn;

#[tokio::test]
async fn panels_are_listed_shown_and_acted_on() {
    let mut client = Client::with_session(json!({})).await;
    let act = |args: Value| json!({ "session_id": "s-1", "panel": "tasks", "action": "finish", "node_id": "t1", "args": args });
    let mut answers = Vec::new();
    for (method, params) in [
        ("_aar/panel_list", json!({ "sessionId": "s-1" })),
        ("_aar/panel_snapshot", json!({ "sessionId": null, "session_id": "s-1", "panel": "tasks" })),
        ("_aar/panel_action", act(json!({ "force": true }))),
        ("_aar/panel_action", act(json!("not an object"))),
        (
            "_aar/panel_action",
            json!({ "sessionId": "s-1", "panel": "tasks", "action": "break", "nodeId": "t1", "node_id": "ignored" }),
        ),
        ("_aar/panel_action", json!({ "sessionId": "s-1", "panel": "tasks", "action": "show", "nodeId": "t1" })),
    ] {
        answers.push(client.call(method, params).await["result"].clone());
    }
    let answers: Vec<String> = answers.iter().map(Value::to_string).collect();
    expect![[r#"
        {"panels":[{"name":"tasks","title":"Tasks","status":"open","actions":[{"id":"finish","label":"finish","key":"k","kinds":["task"],"destructive":false,"confirm":"","inputs":[],"mutates":true},{"id":"show","label":"show","key":"k","kinds":["task"],"destructive":false,"confirm":"","inputs":[],"mutates":false},{"id":"break","label":"break","key":"k","kinds":["task"],"destructive":false,"confirm":"","inputs":[],"mutates":false}]}]}
        {"panel":"tasks","root":{"id":"root","label":"root","kind":"root","expanded":true,"style":"","data":{},"children":[{"id":"t1","label":"t1","kind":"task","expanded":true,"style":"","data":{},"children":[]}]},"status":"open"}
        {"panel":"tasks","action":"finish","message":"finished t1 {\"force\":true}","root":{"id":"root","label":"root","kind":"root","expanded":true,"style":"","data":{},"children":[{"id":"t1","label":"t1","kind":"task","expanded":true,"style":"","data":{},"children":[]}]},"status":"done"}
        {"panel":"tasks","action":"finish","message":"finished t1 {}","root":{"id":"root","label":"root","kind":"root","expanded":true,"style":"","data":{},"children":[{"id":"t1","label":"t1","kind":"task","expanded":true,"style":"","data":{},"children":[]}]},"status":"done"}
        {"panel":"tasks","action":"break","message":"✗ break: it broke","root":{"id":"root","label":"root","kind":"root","expanded":true,"style":"","data":{},"children":[{"id":"t1","label":"t1","kind":"task","expanded":true,"style":"","data":{},"children":[]}]},"status":"done"}
        {"panel":"tasks","action":"show","message":null,"root":{"id":"root","label":"root","kind":"root","expanded":true,"style":"","data":{},"children":[{"id":"t1","label":"t1","kind":"task","expanded":true,"style":"","data":{},"children":[]}]},"status":"done"}"#]].assert_eq(&answers.join("\n"));
}

#[tokio::test]
async fn errors_come_in_the_contract_s_order() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let prompt = client.prompt("hi");
    let mut table = Vec::new();
    for (method, params) in [
        ("_aar/panel_explode", json!(null)),
        ("_aar/", json!({ "sessionId": 5 })),
        ("_aar/panel_list", json!(null)),
        ("_aar/panel_list", json!([1])),
        ("_aar/panel_list", json!({ "sessionId": "" })),
        ("_aar/panel_list", json!({ "sessionId": 5 })),
        ("_aar/panel_snapshot", json!({ "sessionId": "nope", "panel": 5 })),
        ("_aar/panel_snapshot", json!({ "sessionId": "s-1" })),
        ("_aar/panel_snapshot", json!({ "sessionId": "s-1", "panel": 5 })),
        ("_aar/panel_action", json!({ "sessionId": "s-1", "panel": "other", "action": "nope", "nodeId": "nope" })),
        ("_aar/panel_action", json!({ "sessionId": "s-1", "panel": "tasks", "action": "nope", "nodeId": "nope" })),
        ("_aar/panel_action", json!({ "sessionId": "s-1", "panel": "tasks", "action": "finish", "nodeId": "nope" })),
        ("_aar/panel_action", json!({ "sessionId": "s-1", "panel": "tasks", "action": "finish", "nodeId": "root" })),
        ("_aar/panel_action", json!({ "sessionId": "s-1", "panel": "tasks", "action": "finish", "nodeId": "t1" })),
    ] {
        table.push(client.call(method, params).await["error"].clone());
    }
    expect![[r#"
        {"code":-32601,"message":"Method not found","data":{"method":"_aar/panel_explode"}}
        {"code":-32601,"message":"Method not found","data":{"method":"_aar/"}}
        {"code":-32602,"message":"Invalid params","data":{"sessionId":"required"}}
        {"code":-32602,"message":"Invalid params","data":{"sessionId":"required"}}
        {"code":-32602,"message":"Invalid params","data":{"sessionId":"required"}}
        {"code":-32602,"message":"Invalid params","data":{"sessionId":"required"}}
        {"code":-32602,"message":"Invalid params","data":{"sessionId":"unknown session 'nope'"}}
        {"code":-32602,"message":"Invalid params","data":{"panel":"unknown panel: `panel` is missing","available":["tasks"]}}
        {"code":-32602,"message":"Invalid params","data":{"panel":"unknown panel: `panel` must be a string","available":["tasks"]}}
        {"code":-32602,"message":"Invalid params","data":{"panel":"unknown panel 'other'","available":["tasks"]}}
        {"code":-32602,"message":"Invalid params","data":{"action":"unknown action 'nope'","available":["finish","show","break"]}}
        {"code":-32602,"message":"Invalid params","data":{"nodeId":"unknown node 'nope'"}}
        {"code":-32602,"message":"Invalid params","data":{"action":"'finish' does not apply to node kind 'root'"}}
        {"code":-32602,"message":"Invalid params","data":{"action":"a prompt is in flight for this session — cancel it first"}}"#]].assert_eq(&lines(&table));
    // What changes nothing works while a prompt runs.
    let show = json!({ "sessionId": "s-1", "panel": "tasks", "action": "show", "nodeId": "t1" });
    assert!(client.call("_aar/panel_action", show).await["result"].is_object());
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    client.response(prompt).await;
}

/// Runs a turn that changes what the panel shows.
async fn change(client: &mut Client) -> usize {
    client.call("session/set_mode", json!({ "sessionId": "s-1", "modeId": "auto" })).await;
    let id = client.prompt("/call write {\"path\": \"a\", \"text\": \"b\"}");
    let messages = client.until(id).await;
    messages.iter().filter(|message| message["method"] == "_aar/panel_changed").count()
}

#[tokio::test]
async fn changes_are_told_only_to_clients_that_draw_panels() {
    let mut client = Client::with_session(json!({})).await;
    assert_eq!(change(&mut client).await, 0);
    client.call("_aar/panel_list", json!({ "sessionId": "s-1" })).await;
    assert_eq!(change(&mut client).await, 1);

    let mut client = Client::with_session(json!({ "_meta": { "aar": { "panels": 1 } } })).await;
    assert_eq!(change(&mut client).await, 1);
}

#[tokio::test]
async fn panel_requests_of_a_session_are_answered_in_order() {
    let mut client = Client::with_session(json!({})).await;
    let ids: Vec<i64> = (0..50)
        .map(|number| {
            let args = json!({ "n": number });
            let params =
                json!({ "sessionId": "s-1", "panel": "tasks", "action": "finish", "nodeId": "t1", "args": args });
            client.ask("_aar/panel_action", params)
        })
        .collect();
    for id in ids {
        assert_eq!(client.next().await["id"], id);
    }
}
