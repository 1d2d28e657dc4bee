//! The transport over pipes, with the test in the connection's place.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read as _};
use std::time::Duration;

use expect_test::{Expect, expect};
use futures::{FutureExt as _, StreamExt as _};

use super::*;

struct Wire {
    transport: Transport,
    /// What the client writes; none after its end.
    input: PipeWriter,
    output: PipeReader,
}

fn wire(limits: Limits) -> Wire {
    let (theirs, input) = std::io::pipe().unwrap();
    let (output, ours) = std::io::pipe().unwrap();
    Wire { transport: over(theirs, ours, limits).unwrap(), input, output }
}

/// All frames that `bytes` make, one a line.
async fn frames(bytes: &[u8], limits: Limits) -> String {
    let Wire { transport, mut input, output: _output } = wire(limits);
    input.write_all(bytes).unwrap();
    drop(input);
    let described: Vec<String> = transport
        .channel
        .rx
        .map(|frame| match frame {
            TransportFrame::Malformed { error, .. } => serde_json::to_string(&error).unwrap(),
            message => message.to_json().unwrap(),
        })
        .collect()
        .await;
    described.join("\n")
}

async fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&frames(bytes, Limits { incoming: 100, ..Limits::default() }).await);
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn message(text: String) -> TransportFrame {
    let params = json!({ "text": text });
    TransportFrame::Single(RawJsonRpcMessage::notification("say".to_owned(), params).unwrap())
}

#[tokio::test]
async fn lines_are_messages_however_they_end() {
    let bytes = format!("\u{feff}{PING}\r\n\n   \n\t{PING} \n{PING}");
    check(
        bytes.as_bytes(),
        expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"ping"}
        {"jsonrpc":"2.0","id":1,"method":"ping"}
        {"jsonrpc":"2.0","id":1,"method":"ping"}"#]],
    )
    .await;
}

#[tokio::test]
async fn bad_lines_are_errors_without_an_echo() {
    let mut bytes = Vec::new();
    for line in [
        &b"sk-secret"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\xfe\",\"method\":\"sk-secret\"}",
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sk-secret\"}]",
        b"{\"id\":1,\"method\":\"sk-secret\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"sk-secret\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"sk-secret\"}",
        b"17",
        &[b'['; 90],
        &[b'x'; 101],
        PING.as_bytes(),
    ] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    check(&bytes, expect![[r#"
        {"code":-32700,"message":"Parse error","data":{"reason":"the line is not JSON"}}
        {"code":-32700,"message":"Parse error","data":{"reason":"the line is not UTF-8 text"}}
        {"code":-32600,"message":"Invalid request","data":{"reason":"the line is not one JSON-RPC 2.0 message; batches are not supported"}}
        {"code":-32600,"message":"Invalid request","data":{"reason":"the line is not one JSON-RPC 2.0 message; batches are not supported"}}
        {"code":-32600,"message":"Invalid request","data":{"reason":"the line is not one JSON-RPC 2.0 message; batches are not supported"}}
        {"code":-32600,"message":"Invalid request","data":{"reason":"the line is not one JSON-RPC 2.0 message; batches are not supported"}}
        {"code":-32600,"message":"Invalid request","data":{"reason":"the line is not one JSON-RPC 2.0 message; batches are not supported"}}
        {"code":-32700,"message":"Parse error","data":{"reason":"the line is not JSON"}}
        {"code":-32600,"message":"message too large","data":{"limit":100}}
        {"jsonrpc":"2.0","id":1,"method":"ping"}"#]]).await;
}

#[tokio::test]
async fn a_message_of_the_limit_passes_and_one_more_byte_does_not() {
    let limit = PING.len();
    let limits = Limits { incoming: limit, ..Limits::default() };
    let bytes =
        format!("{PING}\n {PING}\n{PING}\nContent-Length: {limit}\n\n{PING}Content-Length: 99\n\n{:99}{PING}", "");
    let refused = r#"{"code":-32600,"message":"message too large","data":{"limit":40}}"#;
    let expected = [PING, refused, PING, PING, refused, PING].join("\n");
    assert_eq!(frames(bytes.as_bytes(), limits).await, expected);
}

#[tokio::test]
async fn framed_messages_are_read_and_answered_in_kind() {
    let Wire { mut transport, mut input, output } = wire(Limits::default());
    let head = "Content-Type: application/json\r\ncontent-length: 40\r\n\r\n";
    input.write_all(format!("{head}{PING}\r\n{head}{PING}").as_bytes()).unwrap();
    for _ in 0..2 {
        assert_eq!(transport.channel.rx.next().await.unwrap().to_json().unwrap(), PING);
    }
    transport.channel.tx.unbounded_send(message("hi".to_owned())).unwrap();
    drop(transport.channel);
    transport.drained.await;
    let mut written = String::new();
    { output }.read_to_string(&mut written).unwrap();
    let expected = "Content-Length: 55\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"say\",\"params\":{\"text\":\"hi\"}}";
    assert_eq!(written, expected);
}

#[tokio::test]
async fn a_line_over_the_cap_is_never_written() {
    let limits = Limits { outgoing: 200, ..Limits::default() };
    let Wire { transport, input: _input, output } = wire(limits);
    let answer = |id: i64, text: &str| {
        let response = RawJsonRpcResponse::new(id, Ok(json!({ "text": text })));
        TransportFrame::Single(RawJsonRpcMessage::Response(response))
    };
    let long = "x".repeat(300);
    for frame in [message(long.clone()), answer(1, &long), answer(2, "short"), message("short".to_owned())] {
        transport.channel.tx.unbounded_send(frame).unwrap();
    }
    drop(transport.channel);
    transport.drained.await;
    let mut written = String::new();
    { output }.read_to_string(&mut written).unwrap();
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"details":"the answer is too large to be sent","limit":200}}}
        {"jsonrpc":"2.0","id":2,"result":{"text":"short"}}
        {"jsonrpc":"2.0","method":"say","params":{"text":"short"}}
    "#]].assert_eq(&written);
}

#[tokio::test]
async fn producers_wait_while_the_client_does_not_read() {
    let Wire { transport, input: _input, output } = wire(Limits { backlog: 1000, ..Limits::default() });
    assert!(transport.flow.room().now_or_never().is_some(), "nothing waits yet");
    let text = "x".repeat(1 << 19);
    transport.channel.tx.unbounded_send(message(text.clone())).unwrap();
    // The pump takes the frame as soon as this task lets it.
    while !transport.flow.0.as_ref().unwrap().is_waiting() {
        tokio::task::yield_now().await;
    }
    assert!(transport.flow.room().now_or_never().is_none(), "more waits than may");
    let reading = thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        line.len()
    });
    transport.flow.room().await;
    assert_eq!(reading.join().unwrap(), message(text).to_json().unwrap().len() + 1);
}

#[tokio::test]
async fn a_client_that_stops_reading_is_given_up() {
    let limits = Limits { backlog: 1000, stall: Duration::from_millis(40), ..Limits::default() };
    let Wire { mut transport, input: _input, output: _output } = wire(limits);
    transport.channel.tx.unbounded_send(message("x".repeat(1 << 19))).unwrap();
    assert!(transport.channel.rx.next().await.is_none(), "its input ends, although it is open");
    transport.flow.room().await;
}

#[tokio::test]
async fn a_client_that_closed_its_end_is_gone() {
    let Wire { mut transport, input: _input, output } = wire(Limits::default());
    drop(output);
    transport.channel.tx.unbounded_send(message("anybody?".to_owned())).unwrap();
    assert!(transport.channel.rx.next().await.is_none());
    drop(transport.channel);
    transport.drained.await;
}

#[tokio::test]
async fn everything_is_written_before_the_end() {
    let Wire { transport, input: _input, output } = wire(Limits::default());
    let reading = thread::spawn(move || BufReader::new(output).lines().count());
    for number in 0..10_000 {
        transport.channel.tx.unbounded_send(message(number.to_string())).unwrap();
    }
    drop(transport.channel);
    transport.drained.await;
    assert_eq!(reading.join().unwrap(), 10_000);
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_client_that_does_not_read() {
    let limits = Limits { farewell: Duration::from_millis(20), ..Limits::default() };
    let Wire { transport, input: _input, output: _output } = wire(limits);
    transport.channel.tx.unbounded_send(message("x".repeat(1 << 19))).unwrap();
    drop(transport.channel);
    transport.drained.await;
}
