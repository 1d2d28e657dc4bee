//! What no client should send.

use acp_runtime_agent::fuzz::Fuzz;
use expect_test::expect;
use serde_json::{Value, json};

use super::client::Client;
use super::lines;

#[tokio::test]
async fn hostile_lines_are_answered_or_ignored_and_never_repeated() {
    let mut client = Client::connect();
    client.call("initialize", json!({ "protocolVersion": 1 })).await;
    let mut bytes = Vec::new();
    for line in [
        &b""[..],
        b"   ",
        b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":\"bom\",\"method\":\"session/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"session/list\"}\r",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"null params\",\"method\":\"session/list\",\"params\":null}",
        b"sk-secret",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/list\",\"params\":{\"cursor\":{\"k\":\"sk-secret\"}}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/list\",\"params\":[\"sk-secret\"]}",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\xFF sk-secret\"}",
        b"[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/list\"}]",
        b"{\"jsonrpc\":\"2.0\",\"id\":4.5,\"method\":\"session/list\"}",
        b"{\"id\":5,\"method\":\"session/list\"}",
        b"{\"jsonrpc\":\"1.0\",\"id\":6,\"method\":\"session/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"session/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":7}",
        b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"__proto__\"}",
        // An answer that nobody asked for, and a broken one.
        b"{\"jsonrpc\":\"2.0\",\"id\":10,\"result\":{}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":11,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"nobody\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/request_permission\"}",
    ] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes.extend(std::iter::repeat_n(b'[', 100_000));
    bytes.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"no newline\",\"method\":\"session/list\"}");
    client.write(&bytes);
    let mut answers = client.end().await;
    assert!(answers.iter().all(|answer| !answer.to_string().contains("sk-secret")), "{answers:?}");
    // Lists are answered from tasks of their own, in any order.
    answers.sort_by_key(|answer| (answer["id"].to_string(), answer.to_string()));
    expect![[r#"
        {"result":{"sessions":[]},"id":"bom"}
        {"result":{"sessions":[]},"id":"crlf"}
        {"result":{"sessions":[]},"id":"no newline"}
        {"result":{"sessions":[]},"id":"null params"}
        {"error":{"code":-32602,"message":"Invalid params: invalid type, expected a string","data":{"details":"invalid type, expected a string"}},"id":1}
        {"error":{"code":-32602,"message":"Invalid params: invalid type, expected an object","data":{"details":"invalid type, expected an object"}},"id":2}
        {"result":{"sessions":[]},"id":4.5}
        {"error":{"code":-32600,"message":"Invalid request: `jsonrpc` must be \"2.0\"","data":{"reason":"`jsonrpc` must be \"2.0\""}},"id":5}
        {"error":{"code":-32600,"message":"Invalid request: `jsonrpc` must be \"2.0\"","data":{"reason":"`jsonrpc` must be \"2.0\""}},"id":6}
        {"error":{"code":-32600,"message":"Invalid request: `method` is missing","data":{"reason":"`method` is missing"}},"id":7}
        {"error":{"code":-32601,"message":"Method not found: ``","data":{"method":""}},"id":8}
        {"error":{"code":-32601,"message":"Method not found: `__proto__`","data":{"method":"__proto__"}},"id":9}
        {"error":{"code":-32600,"message":"Invalid request: batches are not supported: send one message at a time","data":{"reason":"batches are not supported: send one message at a time"}},"id":null}
        {"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}},"id":null}
        {"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}},"id":null}
        {"error":{"code":-32700,"message":"Parse error: the message is not UTF-8 text","data":{"reason":"the message is not UTF-8 text"}},"id":null}
        {"result":{"sessions":[]},"id":null}"#]].assert_eq(&lines(&answers));
}

/// Lines of a client that does one thing after another.
fn lines_of_a_client() -> Fuzz {
    let line = |id: u32, method: &str, params: Value| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    let opens = line(2, "session/new", json!({ "cwd": "/p", "mcpServers": [] }));
    let prompt =
        json!([{ "type": "text", "text": "hi" }, { "type": "resource_link", "name": "a", "uri": "file:///p/a" }]);
    let prompts = line(3, "session/prompt", json!({ "sessionId": "s-1", "prompt": prompt }));
    let mode = line(4, "session/set_mode", json!({ "sessionId": "s-1", "modeId": "auto" }));
    let panel = line(
        5,
        "_aar/panel_action",
        json!({ "sessionId": "s-1", "panel": "p", "action": "a", "nodeId": "n", "args": {} }),
    );
    let stops = "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s-1\"}}\n";
    let answers =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"x\"}}}\n";
    let server = json!({ "cwd": "/p", "mcpServers": [{ "name": "s", "command": "/no/such", "args": [], "env": [] }] });
    Fuzz::of([
        format!("{opens}{prompts}{stops}"),
        format!("{opens}{mode}{panel}{answers}"),
        format!(
            "{}{}",
            line(2, "session/new", server),
            line(6, "session/load", json!({ "sessionId": "s-1", "cwd": "/p", "mcpServers": [] }))
        ),
        line(7, "session/list", json!({ "cursor": null })),
    ])
    .with_words([
        "{",
        "}",
        "[",
        "]",
        "\n",
        "null",
        "\"id\":null,",
        "\"id\":\"a\",",
        "\"id\":1e400,",
        "\"params\":[",
        "\"sessionId\":5,",
        "\"prompt\":[],",
        "\"type\":\"image\",",
        "\"data\":\"%%\",",
        "\"cwd\":\"..\",",
        "\"method\":\"session/close\",",
        "\"method\":\"session/prompt\",",
        "\"method\":\"initialize\",",
        "\"method\":\"\",",
        "\\ud800",
        "\\u0000",
        "\u{202e}",
        "[[[[[[[[[[[[[[[[[[[[[[[[",
        "Content-Length: 10\r\n\r\n",
    ])
    .costing(16 << 20)
}

/// Whatever its lines are: each answer is one, and the agent ends with its input.
fn check_lines(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = runtime.block_on(async {
        let mut client = Client::connect();
        client.call("initialize", json!({ "protocolVersion": 1 })).await;
        client.write(input);
        client.write(b"\n");
        client.end().await
    });
    for answer in answers.iter().filter(|answer| answer["method"].is_null()) {
        let one = answer.get("result").is_some() != answer.get("error").is_some();
        assert!(one && answer.get("id").is_some(), "{answer}");
        assert_ne!(answer["error"]["code"], -32603, "{answer}");
    }
}

#[test]
fn whatever_a_client_says_is_answered() {
    lines_of_a_client().quick(check_lines);
}

#[test]
fn slow_fuzz_whatever_a_client_says_is_answered() {
    lines_of_a_client().slow(check_lines);
}
