//! Whatever a provider sends, it costs a bounded amount of memory and time, and the answer can be dropped at any moment.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_runtime::models::Models;
use acp_runtime::redaction::Redaction;
use acp_runtime_agent::model::{Model, ModelEvent, ModelRequest};
use acp_runtime_agent::transcript::{Message, MessageId, Part, Role};
use acp_runtime_tests::flood::Flood;
use acp_runtime_tests::model_double::{ModelDouble, Reply};
use expect_test::expect;
use futures::StreamExt;
use serde_json::{Value, json};

const WIRES: [&str; 5] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];
const HEAD: &str = "200 OK\r\ncontent-type: text/event-stream";
/// Nothing here takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(60);

fn model(flood: &Flood, wire: &str) -> Arc<dyn Model> {
    let toml = format!(
        "[lab]\nwire = '{wire}'\nbase_url = '{}'\nmodel = 'small'\napi_key = 'sk-secret-1'\nretries.attempts = 1",
        flood.base_url()
    );
    opened(&toml)
}

/// The model of these providers.
fn opened(toml: &str) -> Arc<dyn Model> {
    let keys = Arc::new(|_: &str| None);
    Models::new(None, toml::from_str(toml).unwrap(), keys, &Redaction::default()).unwrap().open("lab").unwrap()
}

fn prompt() -> ModelRequest {
    let parts = vec![Part::Text { text: "hi".to_owned() }];
    ModelRequest {
        system: "".into(),
        messages: [Message { id: MessageId::new("m"), role: Role::User, parts }].into_iter().collect(),
        tools: Vec::new().into(),
        effort: None,
    }
}

/// All that comes of an answer: calls, the stop, and the error, a line each.
async fn outcome(flood: &Flood, wire: &str) -> String {
    let model = model(flood, wire);
    let items: Vec<_> = tokio::time::timeout(PATIENCE, model.stream(prompt()).collect()).await.expect("it has an end");
    let mut lines = format!("{wire}\n");
    for item in items {
        match item {
            Ok(ModelEvent::ToolCall { name, arguments, .. }) => writeln!(lines, "  call {name} {arguments}"),
            Ok(ModelEvent::Stop(stop)) => writeln!(lines, "  stop {stop:?}"),
            Ok(_) => Ok(()),
            Err(error) => writeln!(lines, "  {:?}: {}", error.kind, error.message),
        }
        .unwrap();
    }
    lines
}

fn events(events: &[Value]) -> String {
    let event = |data: &Value| match data.get("type").and_then(Value::as_str) {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    };
    events.iter().map(event).collect()
}

/// What a provider calls the number of a call is only its name: nothing is filled up to there, and none comes twice.
#[tokio::test]
async fn the_number_of_a_call_is_no_place_in_a_list() {
    let piece = |index: u32, name: Option<&str>, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": index, "id": name, "function": function }] } }] })
    };
    let chat = events(&[
        piece(4_000_000_000, Some("read"), "{\"path\":"),
        piece(4_000_000_000, None, "\"a\"}"),
        piece(1, Some("list"), ""),
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
    ]) + "data: [DONE]\n\n";
    let called = json!({ "type": "function_call", "call_id": "c", "name": "read", "arguments": "" });
    let responses = events(&[
        json!({ "type": "response.output_item.added", "output_index": u64::MAX, "item": called }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": u64::MAX, "delta": "{\"path\":" }),
        json!({ "type": "response.function_call_arguments.delta", "output_index": u64::MAX, "delta": "\"a\"}" }),
        json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "model": "m", "output": [] } }),
    ]);
    let block = json!({ "type": "tool_use", "id": "c", "name": "read", "input": {} });
    let delta = |part: &str| json!({ "type": "input_json_delta", "partial_json": part });
    let anthropic = events(&[
        json!({ "type": "message_start", "message": {} }),
        json!({ "type": "content_block_start", "index": u64::MAX, "content_block": block }),
        json!({ "type": "content_block_delta", "index": u64::MAX, "delta": delta("{\"path\":") }),
        json!({ "type": "content_block_delta", "index": u64::MAX, "delta": delta("\"a\"}") }),
        json!({ "type": "content_block_stop", "index": u64::MAX }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ]);
    let mut table = String::new();
    for (wire, answer) in [("openai-chat", chat), ("openai-responses", responses), ("anthropic", anthropic)] {
        table += &outcome(&Flood::start(HEAD, answer.as_bytes(), b""), wire).await;
    }
    expect![[r#"
        openai-chat
          call read {"path":"a"}
          call list {}
          stop EndTurn
        openai-responses
          call read {"path":"a"}
          stop EndTurn
        anthropic
          call read {"path":"a"}
          stop EndTurn
    "#]]
    .assert_eq(&table);
}

/// The message for what is `too_much`.
fn given_up(wire: &str, too_much: &str) -> String {
    format!(
        "{wire}\n  Malformed: `lab` sends what no model's answer has: {too_much}; check `wire` and `base_url` in \
         `[providers.lab]`\n"
    )
}

const ENDLESS: &str = "an event that is longer than 4 MiB, or has no end";

#[tokio::test]
async fn an_event_without_an_end_is_given_up() {
    for wire in WIRES {
        let outcome = outcome(&Flood::start(HEAD, b"data: \"", &b"x".repeat(50_000)), wire).await;
        assert_eq!(outcome, given_up(wire, ENDLESS));
    }
}

#[tokio::test]
async fn many_lines_without_an_end_are_one_event() {
    let outcome = outcome(&Flood::start(HEAD, b"", &b"data: 1\n".repeat(5_000)), "openai-chat").await;
    assert_eq!(outcome, given_up("openai-chat", ENDLESS));
}

#[tokio::test]
async fn a_long_event_is_taken_and_a_longer_one_is_not() {
    let said =
        |size: usize| json!({ "choices": [{ "delta": { "content": "x".repeat(size) }, "finish_reason": "stop" }] });
    let answer = |size| events(&[said(size)]) + "data: [DONE]\n\n";
    for (size, expected) in
        [(1 << 20, "openai-chat\n  stop EndTurn\n".to_owned()), (4 << 20, given_up("openai-chat", ENDLESS))]
    {
        assert_eq!(outcome(&Flood::start(HEAD, answer(size).as_bytes(), b""), "openai-chat").await, expected, "{size}");
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up() {
    let long = format!("data: {{\"choices\":[],\"x\":\"{}\"}}\n\n", "x".repeat(50_000));
    for again in [long.as_bytes(), &b": ping\n\n".repeat(1_000)] {
        let outcome = outcome(&Flood::start(HEAD, b"", again), "openai-chat").await;
        assert_eq!(outcome, given_up("openai-chat", "an answer of more than 128 MiB"));
    }
}

#[tokio::test]
async fn calls_without_an_end_are_given_up() {
    let function = json!({ "name": "read", "arguments": "{}" });
    let call = |number: usize| json!({ "index": number, "id": format!("id-{number}"), "function": function });
    let calls: Vec<_> = (0..300).map(call).collect();
    let answer = events(&[json!({ "choices": [{ "delta": { "tool_calls": calls } }] })]);
    let outcome = outcome(&Flood::start(HEAD, answer.as_bytes(), b""), "openai-chat").await;
    assert_eq!(outcome, given_up("openai-chat", "more than 256 tool calls at once"));
}

/// A few compressed bytes could become any number of them, so they are not asked for and not read.
#[tokio::test]
async fn nothing_is_decompressed() {
    let head = format!("{HEAD}\r\ncontent-encoding: gzip");
    let outcome = outcome(&Flood::start(&head, b"\x1f\x8b\x08\0\0\0\0\0\0\0", &[0xec, 0xc1]), "openai-chat").await;
    assert!(outcome.contains("sent what its wire format does not allow (bytes that are no text)"), "{outcome}");
}

#[tokio::test]
async fn an_error_without_an_end_is_given_up() {
    for wire in WIRES {
        let outcome = outcome(&Flood::start("500 Oh", b"", &b"x".repeat(50_000)), wire).await;
        assert_eq!(outcome, given_up(wire, ENDLESS));
    }
}

/// Every byte is a sign of life, but an event must be complete in the time that is allowed for it.
#[tokio::test]
async fn a_trickle_is_given_up() {
    let double = ModelDouble::start([Reply::text("so").trickle("x")]).await;
    let lines = "timeouts = { response_secs = 1, silence_secs = 1 }";
    let toml = format!("[lab]\nwire = 'openai-chat'\nbase_url = '{}'\nmodel = 'small'\n{lines}", double.base_url());
    let items: Vec<_> = tokio::time::timeout(PATIENCE, opened(&toml).stream(prompt()).collect()).await.expect("an end");
    assert_eq!(items[0], Ok(ModelEvent::Text("so".to_owned())));
    let error = items[1].as_ref().unwrap_err();
    assert!(error.message.starts_with("`lab` has stopped in the middle of its answer"), "{error:?}");
}

/// However fast it comes: whoever waits for the answer gets its turn in between, and nobody is left behind.
#[tokio::test]
async fn an_answer_that_never_pauses_can_be_dropped() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"xxxx"}}]}}]}"#;
    let calls = format!("data: {call}\n\n").repeat(500);
    for again in [calls.as_bytes(), &b"x".repeat(1_000), &b": ping\n\n".repeat(100)] {
        let flood = Flood::start(HEAD, b"", again);
        let model = model(&flood, "openai-chat");
        let mut answer = model.stream(prompt());
        // All that can be told of it is a call that is being written.
        let told = async {
            while let Some(item) = answer.next().await {
                let is_draft = matches!(item, Ok(ModelEvent::ToolCallBegun { .. } | ModelEvent::ToolCallInput { .. }));
                assert!(is_draft, "there is nothing to forward: {item:?}");
            }
        };
        tokio::select! {
            biased;
            () = flood.has_sent(100_000) => {}
            () = told => panic!("the answer has an end"),
        }
        drop(answer);
        let dropped = Instant::now();
        flood.client_left().await;
        assert!(dropped.elapsed() < Duration::from_millis(100), "{:?}", dropped.elapsed());
    }
}
