//! Scripted sessions, served over pipes, with a client at the other end.

mod cancelling;
mod client;
mod editor;
mod lifecycle;
mod login;
mod nothing;
mod panels;
mod sessions;
mod wild;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use acp_runtime_agent::event::{Notice, SessionEvent, Severity};
use acp_runtime_agent::model::{ModelError, ModelErrorKind, ModelEvent};
use acp_runtime_agent::transcript::Usage;
use expect_test::expect;
use serde_json::{Value, json};

use crate::secret::Secret;
use crate::transport::stdio::Limits;
use client::{Client, PATIENT, update_kind};
use sessions::{Script, Turn, end};

/// When everything in the journal of these tests has happened.
const JOURNAL_TIME: &str = "2023-11-14T22:13:20.000Z";

fn lines(messages: &[Value]) -> String {
    let lines: Vec<String> = messages
        .iter()
        .map(|message| {
            let mut message = message.clone();
            message.as_object_mut().unwrap().remove("jsonrpc");
            // The clock's word; a journal's is always the same.
            if let Some(at) = message.pointer_mut("/params/update/updatedAt").filter(|at| *at != JOURNAL_TIME) {
                *at = "NOW".into();
            }
            message.to_string()
        })
        .collect();
    lines.join("\n")
}

fn kinds(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(update_kind).collect()
}

#[tokio::test]
async fn initialize_says_what_there_is() {
    let mut client = Client::connect();
    let answer = client.call("initialize", json!({ "protocolVersion": 1 })).await;
    expect![[r#"
        {
          "protocolVersion": 1,
          "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {
              "image": true,
              "audio": false,
              "embeddedContext": true
            },
            "mcpCapabilities": {
              "http": true,
              "sse": false
            },
            "sessionCapabilities": {
              "list": {},
              "delete": {},
              "additionalDirectories": {},
              "systemPrompt": {
                "mode": {
                  "override": {}
                }
              },
              "resume": {},
              "close": {},
              "fork": {
                "_meta": {
                  "aar": {
                    "messageId": true,
                    "position": [
                      "after",
                      "before"
                    ]
                  }
                }
              }
            },
            "auth": {
              "logout": {}
            },
            "_meta": {
              "aar": {
                "panels": 1,
                "methods": [
                  "_aar/panel_list",
                  "_aar/panel_snapshot",
                  "_aar/panel_action"
                ]
              }
            }
          },
          "authMethods": [
            {
              "id": "settings",
              "name": "Settings and environment",
              "description": "Uses the key from the settings, the environment, or an earlier login"
            }
          ],
          "agentInfo": {
            "name": "acp-runtime",
            "title": "ACP Runtime",
            "version": "0.0.0"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer["result"]).unwrap());
}

#[tokio::test]
async fn every_version_is_answered_with_the_one_that_there_is() {
    for version in [json!(0), json!(1), json!(2), json!(65535), json!("1"), json!("2025-06-18")] {
        let mut client = Client::connect();
        let answer = client.call("initialize", json!({ "protocolVersion": version })).await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{version}");
    }
    for params in [json!({}), json!({ "protocolVersion": null }), json!([]), json!({ "protocolVersion": [1] })] {
        let mut client = Client::connect();
        let answer = client.call("initialize", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        // A client may correct itself.
        let answer = client.call("initialize", json!({ "protocolVersion": 1 })).await;
        assert_eq!(answer["result"]["protocolVersion"], 1);
    }
}

#[tokio::test]
async fn a_prompt_is_answered_after_all_that_it_led_to() {
    let mut client = Client::with_session(json!({})).await;
    let usage = Usage { input: 90, output: 20, cached: 0, window: Some(100), cost: None };
    client.factory.script.turns.lock().unwrap().push_back(Turn::Says(vec![
        ModelEvent::Thought("hm".to_owned()),
        ModelEvent::Text("Hello".to_owned()),
        ModelEvent::Usage(usage),
        end(),
    ]));
    let id = client.prompt("hi\nthere");
    let messages = client.until(id).await;
    expect![[r#"
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"messageId":"msg-2"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"},"messageId":"msg-2"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"usage_update","used":100,"size":100}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"session_info_update","title":"hi"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"session_info_update","updatedAt":"NOW"}},"method":"session/update"}
        {"result":{"stopReason":"end_turn"},"id":3}"#]].assert_eq(&lines(&messages));
}

#[tokio::test]
async fn a_session_is_shown_only_after_it_was_answered() {
    let mut client = Client::connect();
    client.call("initialize", json!({ "protocolVersion": 1 })).await;
    for _ in 0..20 {
        let id = client.ask("session/new", json!({ "cwd": "/p", "mcpServers": [] }));
        assert_eq!(kinds(&client.until(id).await), ["response"]);
        assert_eq!(update_kind(&client.next().await), "current_mode_update");
        assert_eq!(update_kind(&client.next().await), "available_commands_update");
    }
}

#[tokio::test]
async fn notices_go_to_clients_that_show_them() {
    let others = ["current_mode_update", "available_commands_update"];
    for (capabilities, told) in
        [(json!({}), others.to_vec()), (json!({ "session": { "notices": {} } }), vec!["notice", others[0], others[1]])]
    {
        let mut client = Client::connect();
        client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities })).await;
        let notice = Notice::new(Severity::Warning, "`linter` does not answer");
        client.factory.careless.lock().unwrap().push(SessionEvent::Notice(notice));
        client.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
        let messages = [client.next().await, client.next().await];
        assert_eq!(kinds(&messages), told[..2], "{capabilities}");
    }
}

#[tokio::test]
async fn requests_may_be_written_all_at_once() {
    let mut client = Client::connect();
    let request = |id: i64, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
    };
    let script = [
        request(1, "initialize", json!({ "protocolVersion": 1 })),
        request(2, "session/new", json!({ "cwd": "/p", "mcpServers": [] })),
        request(3, "session/list", json!({})),
    ];
    client.write(script.concat().as_bytes());
    let messages = client.end().await;
    let answered: Vec<&Value> = messages.iter().filter(|message| message.get("result").is_some()).collect();
    assert_eq!(answered.len(), 3, "{messages:?}");
}

#[tokio::test]
async fn bad_requests_are_refused_with_a_reason() {
    let mut client = Client::connect();
    let mut table = vec![client.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await];
    client.open(json!({})).await;
    let text = json!([{ "type": "text", "text": "hi" }]);
    for (method, params) in [
        ("initialize", json!({ "protocolVersion": 1 })),
        ("session/new", json!({})),
        ("session/new", json!({ "cwd": "/p" })),
        ("session/new", json!({ "cwd": "p", "mcpServers": [] })),
        ("session/new", json!({ "cwd": "/missing", "mcpServers": [] })),
        ("session/new", json!({ "cwd": "/p", "mcpServers": "sk-secret" })),
        ("session/new", json!({ "cwd": "/p", "mcpServers": [{ "name": "x", "command": "sk-secret" }] })),
        ("session/new", json!({ "cwd": "/p", "mcpServers": [], "additionalDirectories": ["q"] })),
        (
            "session/new",
            json!({ "cwd": "/p", "mcpServers": [], "systemPrompt": { "mode": "override", "content": [] } }),
        ),
        ("session/load", json!({ "sessionId": "nope", "cwd": "/p", "mcpServers": [] })),
        ("session/prompt", json!({ "sessionId": "nope", "prompt": text })),
        ("session/prompt", json!({ "sessionId": "s-1", "prompt": [] })),
        ("session/prompt", json!({ "sessionId": "s-1", "prompt": "sk-secret" })),
        ("session/close", json!({ "sessionId": "nope" })),
        ("session/set_mode", json!({ "sessionId": "nope", "modeId": "plan" })),
        ("session/set_mode", json!({ "sessionId": "s-1", "modeId": "yo\u{202e}\nlo" })),
        ("session/list", json!({ "cursor": "sk-secret" })),
        ("session/list", json!({ "cwd": "relative" })),
        ("authenticate", json!({ "methodId": "sk-secret" })),
        ("session/fork", json!({ "sessionId": "s-1" })),
        ("session/fork", json!({ "sessionId": "nope", "cwd": "/p" })),
        ("session/fork", json!({ "sessionId": "s-1", "cwd": "/p", "cursorId": "sk-secret" })),
        ("session/fork", json!({ "sessionId": "s-1", "cwd": "/p", "_meta": { "aar": { "messageId": "nope" } } })),
        ("_other/thing", json!({})),
        ("$/nothing", json!({})),
    ] {
        let answer = client.call(method, params).await;
        table.push(json!({ "method": method, "error": answer["error"] }));
    }
    let shown = lines(&table);
    assert!(!shown.contains("sk-secret"));
    expect![[r#"
        {"error":{"code":-32600,"message":"Invalid request: `initialize` must be the first request","data":{"reason":"`initialize` must be the first request"}},"id":1}
        {"method":"initialize","error":{"code":-32600,"message":"Invalid request: `initialize` was answered already","data":{"reason":"`initialize` was answered already"}}}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: missing field `cwd`","data":{"details":"missing field `cwd`"}}}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: missing field `mcpServers`","data":{"details":"missing field `mcpServers`"}}}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: `cwd`: must be an absolute path, not `p`","data":{"cwd":"must be an absolute path, not `p`"}}}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: `/missing` cannot be opened as a folder of the session: No such file or directory","data":{"cwd":"`/missing` cannot be opened as a folder of the session: No such file or directory"}}}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: invalid type, expected a sequence","data":{"details":"invalid type, expected a sequence"}}}
        {"method":"session/new","error":null}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: `additionalDirectories`: must be an absolute path, not `q`","data":{"additionalDirectories":"must be an absolute path, not `q`"}}}
        {"method":"session/new","error":{"code":-32602,"message":"Invalid params: `systemPrompt`: content must not be empty","data":{"systemPrompt":"content must not be empty"}}}
        {"method":"session/load","error":{"code":-32002,"message":"unknown session `nope`","data":{"sessionId":"nope"}}}
        {"method":"session/prompt","error":{"code":-32002,"message":"unknown session `nope`","data":{"sessionId":"nope"}}}
        {"method":"session/prompt","error":{"code":-32602,"message":"Invalid params: `prompt`: must not be empty","data":{"prompt":"must not be empty"}}}
        {"method":"session/prompt","error":{"code":-32602,"message":"Invalid params: invalid type, expected a sequence","data":{"details":"invalid type, expected a sequence"}}}
        {"method":"session/close","error":{"code":-32002,"message":"unknown session `nope`","data":{"sessionId":"nope"}}}
        {"method":"session/set_mode","error":{"code":-32002,"message":"unknown session `nope`","data":{"sessionId":"nope"}}}
        {"method":"session/set_mode","error":{"code":-32602,"message":"Invalid params: `modeId`: there is no mode `yo lo`; there are `review`, `auto-edit`, `auto`, `read-only`, `plan`","data":{"modeId":"there is no mode `yo lo`","available":["review","auto-edit","auto","read-only","plan"]}}}
        {"method":"session/list","error":{"code":-32602,"message":"Invalid params: `cursor`: not a cursor of this list","data":{"cursor":"not a cursor of this list"}}}
        {"method":"session/list","error":{"code":-32602,"message":"Invalid params: `cwd`: must be an absolute path, not `relative`","data":{"cwd":"must be an absolute path, not `relative`"}}}
        {"method":"authenticate","error":{"code":-32602,"message":"Invalid params: `methodId`: unknown method; there are `settings`","data":{"methodId":"unknown method","available":["settings"]}}}
        {"method":"session/fork","error":{"code":-32602,"message":"Invalid params: missing field `cwd`","data":{"details":"missing field `cwd`"}}}
        {"method":"session/fork","error":{"code":-32002,"message":"unknown session `nope`","data":{"sessionId":"nope"}}}
        {"method":"session/fork","error":{"code":-32602,"message":"Invalid params: `cursorId`: no cursors are given out: name a message in `_meta.aar.messageId`","data":{"cursorId":"no cursors are given out: name a message in `_meta.aar.messageId`"}}}
        {"method":"session/fork","error":{"code":-32602,"message":"Invalid params: session `s-1` has no message `nope`","data":{"_meta.aar.messageId":"session `s-1` has no message `nope`"}}}
        {"method":"_other/thing","error":{"code":-32601,"message":"Method not found: `_other/thing`","data":{"method":"_other/thing"}}}
        {"method":"$/nothing","error":{"code":-32601,"message":"Method not found: `$/nothing`","data":{"method":"$/nothing"}}}"#]].assert_eq(&shown);
    client.notify("session/cancel", json!({ "sessionId": 5 }));
    client.notify("session/cancel", json!({ "sessionId": "nope" }));
    client.notify("nothing", json!({}));
    assert_eq!(client.call("authenticate", json!({ "methodId": "settings" })).await["result"], json!({}));
}

#[tokio::test]
async fn an_id_is_taken_until_it_is_answered() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let id = client.prompt("hi");
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "session/list" }));
    assert_eq!(client.response(id).await["error"]["code"], -32600);
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    assert_eq!(client.response(id).await["result"]["stopReason"], "cancelled");
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "session/list" }));
    assert!(client.response(id).await["result"].is_object());
}

#[tokio::test]
async fn a_failed_turn_is_an_error_that_keeps_what_was_said() {
    let mut client = Client::with_session(json!({})).await;
    let error = |kind| ModelError {
        message: "too many requests".to_owned(),
        kind,
        provider: "anthropic".to_owned(),
        status: Some(429),
        retry_after: None,
    };
    for (kind, code) in [(ModelErrorKind::RateLimit, -32603), (ModelErrorKind::Auth, -32000)] {
        client.factory.script.turns.lock().unwrap().push_back(Turn::Fails(error(kind)));
        let id = client.prompt("hi");
        let answer = client.response(id).await;
        assert_eq!(answer["error"]["code"], code);
        assert_eq!(answer["error"]["data"]["details"], "too many requests");
        assert_eq!(answer["error"]["data"]["retryable"], kind == ModelErrorKind::RateLimit);
    }
    let id = client.prompt("again");
    assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn");
}

/// Whoever made the error: the secrets that are known are not in it.
#[tokio::test]
async fn errors_quote_no_secrets() {
    let mut client = Client::with_session(json!({})).await;
    client.redaction.learn(&Secret::new("our own key"));
    client.factory.script.turns.lock().unwrap().push_back(Turn::Fails(ModelError {
        message: "the key `our own key` is wrong, and so is sk-proj-abcdefghij0123456789".to_owned(),
        kind: ModelErrorKind::Request,
        provider: "our own key".to_owned(),
        status: None,
        retry_after: None,
    }));
    let id = client.prompt("hi");
    let error = &client.response(id).await["error"];
    let clean = "the key `****` is wrong, and so is ****";
    assert_eq!((&error["message"], &error["data"]["details"]), (&json!(clean), &json!(clean)));
    assert_eq!(error["data"]["provider"], "****");
    let answer = client.call("our own key", json!({})).await;
    assert_eq!(answer["error"]["data"]["method"], "****");
}

#[tokio::test]
async fn prompts_wait_for_each_other_and_cancel_ends_them_all() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let (first, second, third) = (client.prompt("one"), client.prompt("two"), client.prompt("three"));
    let refused = client.response(third).await;
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused["error"]["data"]["reason"], "busy");
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    for id in [first, second] {
        assert_eq!(client.response(id).await["result"]["stopReason"], "cancelled");
    }
    // Twice is once.
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    let id = client.prompt("four");
    assert_eq!(client.response(id).await["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn the_mode_can_be_changed_while_a_prompt_runs() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let id = client.prompt("hi");
    let answer = client.call("session/set_mode", json!({ "sessionId": "s-1", "modeId": "plan" })).await;
    assert_eq!(answer["result"], json!({}));
    let update = client.find(|message| update_kind(message) == "current_mode_update").await;
    assert_eq!(update["params"]["update"]["currentModeId"], "plan");
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    client.response(id).await;
}

#[tokio::test]
async fn sessions_are_listed_by_folder_and_page() {
    let mut client = Client::with_session(json!({})).await;
    for _ in 0..2 {
        client.call("session/new", json!({ "cwd": "/q", "mcpServers": [], "additionalDirectories": ["/r"] })).await;
    }
    let first = client.call("session/list", json!({})).await;
    assert_eq!(first["result"]["sessions"].as_array().unwrap().len(), 2);
    let second = client.call("session/list", json!({ "cursor": first["result"]["nextCursor"] })).await;
    expect![[r#"{"sessions":[{"sessionId":"s-3","cwd":"/q","additionalDirectories":["/r"],"updatedAt":"2023-11-14T22:13:20.000Z"}]}"#]].assert_eq(&second["result"].to_string());
    let filtered = client.call("session/list", json!({ "cwd": "/p" })).await;
    assert_eq!(filtered["result"]["sessions"][0]["sessionId"], "s-1");
    assert_eq!(filtered["result"]["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_loaded_session_is_told_whole_before_the_answer() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Says(vec![
        ModelEvent::Text("Reading".to_owned()),
        ModelEvent::call("read", json!({ "path": "none" })),
        end(),
    ]));
    let id = client.prompt("hi");
    let live = client.until(id).await;
    let id = client.ask("session/load", json!({ "sessionId": "s-1", "cwd": "/p", "mcpServers": [] }));
    let again = client.until(id).await;
    expect![[r#"
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"current_mode_update","currentModeId":"review"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hi"},"messageId":"msg-1"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Reading"},"messageId":"msg-2"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"call-1","title":"read","name":"read","kind":"read","rawInput":{"path":"none"}}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"in_progress"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"plan","entries":[{"content":"read","priority":"medium","status":"in_progress"}]}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"`none` does not exist"}}]}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"plan","entries":[{"content":"read (failed)","priority":"medium","status":"completed"}]}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ok"},"messageId":"msg-3"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"session_info_update","title":"hi"}},"method":"session/update"}
        {"params":{"sessionId":"s-1","update":{"sessionUpdate":"session_info_update","updatedAt":"2023-11-14T22:13:20.000Z"}},"method":"session/update"}
        {"result":{"modes":{"currentModeId":"review","availableModes":[{"id":"review","name":"Review","description":"Asks before files are changed and before programs are run"},{"id":"auto-edit","name":"Auto-edit","description":"Changes files without asking; asks before deleting and before programs are run"},{"id":"auto","name":"Auto","description":"Changes files and runs programs without asking"},{"id":"read-only","name":"Read-only","description":"Changes nothing and runs nothing"},{"id":"plan","name":"Plan","description":"Changes nothing, runs nothing and stays off the network"}]},"configOptions":[{"id":"mode","name":"Mode","description":"What may happen without asking","category":"mode","type":"select","currentValue":"review","options":[{"value":"review","name":"Review","description":"Asks before files are changed and before programs are run"},{"value":"auto-edit","name":"Auto-edit","description":"Changes files without asking; asks before deleting and before programs are run"},{"value":"auto","name":"Auto","description":"Changes files and runs programs without asking"},{"value":"read-only","name":"Read-only","description":"Changes nothing and runs nothing"},{"value":"plan","name":"Plan","description":"Changes nothing, runs nothing and stays off the network"}]},{"id":"model","name":"Model","description":"Which model answers; holds from the next prompt on","category":"model","type":"select","currentValue":"script","options":[{"group":"lab","name":"lab","options":[{"value":"script","name":"script"}]},{"group":"zoo","name":"zoo","options":[{"value":"other","name":"other"}]}]},{"id":"reasoning_effort","name":"Reasoning effort","description":"How much the model should think; those that cannot reason ignore it","category":"thought_level","type":"select","currentValue":"default","options":[{"value":"default","name":"Default"},{"value":"none","name":"None"},{"value":"minimal","name":"Minimal"},{"value":"low","name":"Low"},{"value":"medium","name":"Medium"},{"value":"high","name":"High"},{"value":"xhigh","name":"Very high"},{"value":"max","name":"Maximum"}]},{"id":"auto_approve_writes","name":"Auto-approve writes","description":"Changes files without asking; off while read-only","category":"_permissions","type":"select","currentValue":"false","options":[{"value":"true","name":"On"},{"value":"false","name":"Off"}]},{"id":"auto_approve_execute","name":"Auto-approve execution","description":"Runs programs without asking; off while read-only","category":"_permissions","type":"select","currentValue":"false","options":[{"value":"true","name":"On"},{"value":"false","name":"Off"}]},{"id":"read_only","name":"Read-only","description":"Changes nothing and runs nothing","category":"_permissions","type":"select","currentValue":"false","options":[{"value":"true","name":"On"},{"value":"false","name":"Off"}]},{"id":"plugin:test:tasks","name":"Tasks","description":"A list.","category":"_plugins","type":"select","currentValue":"true","options":[{"value":"true","name":"On"},{"value":"false","name":"Off"}]}]},"id":4}"#]].assert_eq(&lines(&again));
    // Apart from the person's words and the clock's, it is what was told when it happened.
    let told = |messages: &[Value]| -> Vec<String> {
        let kinds = ["user_message_chunk", "current_mode_update", "response"];
        let timeless = |m: &&Value| m["params"]["update"]["updatedAt"].is_null();
        messages.iter().filter(timeless).filter(|m| !kinds.contains(&update_kind(m))).map(Value::to_string).collect()
    };
    assert_eq!(told(&again), told(&live));
    // And it goes on.
    let id = client.prompt("and now?");
    let messages = client.until(id).await;
    assert_eq!(messages.last().unwrap()["result"]["stopReason"], "end_turn");
    assert_eq!(kinds(&messages)[..2], ["current_mode_update", "available_commands_update"]);
}

#[tokio::test]
async fn a_closed_session_answers_what_ran_and_is_silent_after() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let prompt = client.prompt("hi");
    let close = client.ask("session/close", json!({ "sessionId": "s-1" }));
    assert_eq!(client.response(prompt).await["result"]["stopReason"], "cancelled");
    assert_eq!(client.response(close).await["result"], json!({}));
    let id = client.prompt("anybody?");
    let answer = client.response(id).await;
    assert_eq!(answer["error"]["code"], -32002);
    assert_eq!(answer["error"]["data"]["sessionId"], "s-1");
    let seen = client.end().await;
    let after = seen.iter().skip_while(|m| m["params"]["update"]["updatedAt"].is_null()).skip(1);
    assert_eq!(after.count(), 0, "{seen:?}");
}

#[tokio::test]
async fn the_end_of_the_input_cancels_what_runs_and_keeps_it() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let id = client.prompt("hi");
    let factory = client.factory.clone();
    let began = Instant::now();
    let messages = client.end().await;
    assert!(began.elapsed() < Duration::from_secs(10));
    let answer = messages.iter().find(|message| message["id"] == id).expect("the prompt is answered");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    let kept = factory.journal.events("s-1");
    assert!(format!("{:?}", kept.last().unwrap()).contains("Cancelled"), "{kept:?}");
}

#[tokio::test]
async fn a_shutdown_does_the_same_with_the_input_open() {
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Hangs);
    let id = client.prompt("hi");
    // The list is answered after the prompt was taken in.
    client.call("session/list", json!({})).await;
    client.stop.take().unwrap().send(()).unwrap();
    assert_eq!(client.response(id).await["result"]["stopReason"], "cancelled");
    client.served.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_stream_arrives_whole_in_short_lines() {
    const PIECES: usize = 20_000;
    let mut client = Client::with_session(json!({})).await;
    client.factory.script.turns.lock().unwrap().push_back(Turn::Pieces(PIECES, "word ".to_owned()));
    let began = Instant::now();
    let id = client.prompt("hi");
    let messages = client.until(id).await;
    let rate = PIECES as f64 / began.elapsed().as_secs_f64();
    let chunks: Vec<&str> =
        messages.iter().filter_map(|message| message["params"]["update"]["content"]["text"].as_str()).collect();
    println!("{rate:.0} chunks/s in {} lines", chunks.len());
    assert_eq!(chunks.concat(), "word ".repeat(PIECES));
}

/// Waits until the model is not asked for more; answers for how much it was.
async fn held_back(script: &Script) -> usize {
    let mut before = 0;
    loop {
        // Not moving any more is what is looked for, so there is nothing to wait for but time.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let taken = script.taken.load(Ordering::Relaxed);
        if taken > 0 && taken == before {
            return taken;
        }
        before = taken;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_the_model_back() {
    const PIECES: usize = 20_000;
    let mut client = Client::connect_with(Limits { backlog: 64 * 1024, ..Limits::default() }, PATIENT);
    client.open(json!({})).await;
    let script = client.factory.script.clone();
    script.turns.lock().unwrap().push_back(Turn::Pieces(PIECES, "x".repeat(1024)));
    client.reads(false);
    let id = client.prompt("hi");
    assert!(held_back(&script).await < PIECES, "the model was asked for everything");
    client.reads(true);
    client.response(id).await;
    assert_eq!(script.taken.load(Ordering::Relaxed), PIECES + 1);
}

/// What it is behind with is not told any more, and what it has in its pipe already is little.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_answered_soon_whatever_the_client_has_not_read() {
    const PIECES: usize = 20_000;
    let mut client = Client::connect_with(Limits { backlog: 64 * 1024, ..Limits::default() }, PATIENT);
    client.open(json!({})).await;
    let script = client.factory.script.clone();
    script.turns.lock().unwrap().push_back(Turn::Pieces(PIECES, "x".repeat(1024)));
    client.reads(false);
    let id = client.prompt("hi");
    let kept = |client: &Client| client.factory.journal.events("s-1");
    let said = |events: &[SessionEvent]| -> usize {
        events.iter().map(|event| if let SessionEvent::AgentText { text, .. } = event { text.len() } else { 0 }).sum()
    };
    assert!(held_back(&script).await > 1024, "more than fits on the way to the client");
    client.notify("session/cancel", json!({ "sessionId": "s-1" }));
    while !matches!(kept(&client).last(), Some(SessionEvent::TurnEnded { .. })) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.reads(true);
    let messages = client.until(id).await;
    assert_eq!(messages.last().unwrap()["result"]["stopReason"], "cancelled");
    let told: String = messages.iter().filter_map(|m| m["params"]["update"]["content"]["text"].as_str()).collect();
    assert!(told.len() < 320 * 1024, "{} bytes came before the answer", told.len());
    assert!(told.chars().all(|c| c == 'x'));
    assert!(said(&kept(&client)) > told.len(), "what is left out is kept");
    let id = client.prompt("again");
    let text: String = client
        .until(id)
        .await
        .iter()
        .filter_map(|m| m["params"]["update"]["content"]["text"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(text, "ok");
}
