//! The transport over pipes, with the test in the connection's place.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read as _};
use std::time::Duration;

use acp_runtime_agent::fuzz::Fuzz;
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

/// All messages that `bytes` make, one a line, and then the answers to what is none.
async fn frames(bytes: &[u8], limits: Limits) -> String {
    let Wire { transport, mut input, mut output } = wire(limits);
    let bytes = bytes.to_vec();
    thread::spawn(move || input.write_all(&bytes).unwrap());
    let Transport { channel, drained, flow: _ } = transport;
    let Channel { rx, tx, .. } = channel;
    let mut described: Vec<String> = rx.map(|frame| envelope::write(&frame).unwrap()).collect().await;
    drop(tx);
    drained.await;
    let mut answers = String::new();
    output.read_to_string(&mut answers).unwrap();
    described.push(answers);
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
            {"jsonrpc":"2.0","id":1,"method":"ping"}
        "#]],
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
        b"17",
        &[b'['; 90],
        &[b'x'; 101],
        PING.as_bytes(),
    ] {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    check(&bytes, expect![[r#"
        {"jsonrpc":"2.0","id":1,"method":"ping"}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not UTF-8 text","data":{"reason":"the message is not UTF-8 text"}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: batches are not supported: send one message at a time","data":{"reason":"batches are not supported: send one message at a time"}}}
        {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: `jsonrpc` must be \"2.0\"","data":{"reason":"`jsonrpc` must be \"2.0\""}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: a message is a JSON object","data":{"reason":"a message is a JSON object"}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON","data":{"reason":"the message is not JSON"}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the message has more than 100 bytes","data":{"reason":"the message has more than 100 bytes"}}}
    "#]]).await;
}

#[tokio::test]
async fn a_message_of_the_limit_passes_and_one_more_byte_does_not() {
    let limit = PING.len();
    let limits = Limits { incoming: limit, ..Limits::default() };
    let bytes =
        format!("{PING}\n {PING}\n{PING}\nContent-Length: {limit}\n\n{PING}Content-Length: 99\n\n{:99}{PING}", "");
    let refused = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request: the message has more than 40 bytes","data":{"reason":"the message has more than 40 bytes"}}}"#;
    let expected = [PING, PING, PING, PING, refused, refused, ""].join("\n");
    assert_eq!(frames(bytes.as_bytes(), limits).await, expected);
}

/// Headers that are wrong, each followed by a message that must be found.
#[tokio::test]
async fn headers_that_are_wrong_cost_one_message() {
    const GOOD: &str = "Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    let flood = "X-Header: 1\r\n".repeat(100_000);
    let long = "9".repeat(400);
    let mut table = String::new();
    for (name, bytes) in [
        ("too short", format!("Content-Length: 20\r\n\r\n{PING}")),
        ("too long", format!("Content-Length: 60\r\n\r\n{PING}{GOOD}")),
        ("zero", format!("Content-Length: 0\r\n\r\n{PING}\r\n")),
        ("missing", format!("Content-Type: application/json\r\n\r\n{PING}\r\n")),
        ("negative", format!("Content-Length: -40\r\n\r\n{PING}\r\n")),
        ("a word", format!("Content-Length: forty\r\n\r\n{PING}\r\n")),
        ("over all integers", format!("Content-Length: {long}\r\n\r\n{PING}\r\n")),
        ("over the memory", format!("Content-Length: 18446744073709551615\r\n\r\n{PING}\r\n")),
        ("over the limit", format!("Content-Length: 200\r\n\r\n{:200}", "x")),
        ("two that differ", format!("Content-Length: 40\r\nContent-Length: 41\r\n\r\n{PING}\r\n")),
        ("two that agree", format!("Content-Length: 40\r\ncontent-length : 40\r\n\r\n{PING}")),
        ("no blank line", format!("Content-Length: 40\r\n{PING}")),
        ("no line break at all", format!("Content-Length: 40{PING}\r\n\r\n")),
        ("line feeds alone", format!("Content-Length: 40\n\n{PING}")),
        ("a flood", format!("Content-Length: 40\r\n{flood}\r\n{PING}")),
        ("a line among them", format!("{GOOD}\n{PING}\n")),
        ("half a character", "Content-Length: 1\r\n\r\né".to_owned()),
    ] {
        let bytes = [bytes.as_bytes(), GOOD.as_bytes()].concat();
        let limits = Limits { incoming: 100, ..Limits::default() };
        let all = frames(&bytes, limits).await;
        let messages = all.lines().filter(|line| *line == PING).count();
        let reasons: Vec<&str> =
            all.split("\"reason\":\"").skip(1).map(|rest| rest.split("\"}").next().unwrap()).collect();
        let reasons: String = reasons.iter().map(|reason| format!(", {reason}")).collect();
        writeln!(table, "{name}: {messages} read{reasons}").unwrap();
    }
    expect![[r"
        too short: 1 read, the message is not JSON
        too long: 1 read, the message is not JSON
        zero: 2 read, the message is not JSON
        missing: 2 read, the headers have no `Content-Length`
        negative: 2 read, `Content-Length` is not one number of bytes
        a word: 2 read, `Content-Length` is not one number of bytes
        over all integers: 2 read, the message has more than 100 bytes
        over the memory: 2 read, the message has more than 100 bytes
        over the limit: 1 read, the message has more than 100 bytes
        two that differ: 2 read, `Content-Length` is not one number of bytes
        two that agree: 2 read
        no blank line: 2 read
        no line break at all: 1 read, `Content-Length` is not one number of bytes
        line feeds alone: 2 read
        a flood: 1 read, there are too many headers
        a line among them: 3 read
        half a character: 1 read, the message is not UTF-8 text
    "]]
    .assert_eq(&table);
}

#[tokio::test]
async fn the_first_message_decides_on_the_framing() {
    let framed = format!("Content-Length: 40\r\n\r\n{PING}");
    for (first, second, by_length) in
        [(framed.as_str(), "{}\n", true), ("{}\n", framed.as_str(), false), (framed.as_str(), framed.as_str(), true)]
    {
        let Wire { mut transport, mut input, mut output } = wire(Limits::default());
        input.write_all(format!("{first}{second}").as_bytes()).unwrap();
        transport.channel.rx.next().await.unwrap();
        transport.channel.tx.unbounded_send(message("hi".to_owned())).unwrap();
        drop((transport.channel, input));
        transport.drained.await;
        let mut written = String::new();
        output.read_to_string(&mut written).unwrap();
        assert_eq!(written.contains("Content-Length: "), by_length, "{first}{second}");
        assert_eq!(written.ends_with('\n'), !by_length, "{written}");
    }
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

/// Gives its bytes in pieces, as a pipe does.
struct Pieces<'a> {
    left: &'a [u8],
    size: usize,
}

impl io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.size.min(buffer.len()).min(self.left.len());
        let (piece, left) = self.left.split_at(size);
        buffer[..size].copy_from_slice(piece);
        self.left = left;
        Ok(size)
    }
}

fn fuzz() -> Fuzz {
    let framed = format!("Content-Length: {}\r\n\r\n{PING}", PING.len());
    let call =
        r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"prompt":[{"type":"text","text":"\u00e9"}]}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1e3,"error":{"code":-32000,"message":"no"}}"#;
    Fuzz::of([
        format!("{PING}\n{PING}\r\n"),
        framed.clone(),
        format!("{framed}{framed}"),
        format!("{call}\n{answer}\n"),
    ])
    .with_words(
        [
            "Content-Length: ",
            "content-length:",
            "\r\n\r\n",
            "\n",
            "\r",
            "\u{feff}",
            "{",
            "}",
            "[",
            "]",
            "\"id\":null,",
            "\"id\":1.5,",
            "\"method\":",
            "\"result\":",
            "\\ud800",
            "[[[[[[[[[[[[[[[[",
            "\0",
            "Content-Type: x\r\n",
            "{\"a\":",
        ]
        .map(str::as_bytes)
        .into_iter()
        .chain([&b"\xff"[..], b"\xc3"]),
    )
}

#[derive(serde::Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(serde::Deserialize)]
struct Reason {
    code: i64,
}

/// Whatever comes, in whatever pieces: it comes to an end, nothing longer than the limit is held, and what is answered is
/// one line of JSON.
fn check_input(input: &[u8]) {
    const LIMIT: usize = 300;
    let read = |size: usize| {
        let mut reader = Reader::new(Pieces { left: input, size }, LIMIT);
        let mut read = Vec::new();
        while let Some(incoming) = reader.next().unwrap() {
            read.push(match incoming {
                Incoming::Message(text) => {
                    assert!(text.len() <= LIMIT, "{} bytes", text.len());
                    text
                }
                Incoming::NotText => "not text".to_owned(),
                Incoming::TooLarge { .. } => "too large".to_owned(),
                Incoming::NoLength { reason } => reason.to_owned(),
            });
            assert!(read.len() <= input.len() + 1, "there is no end of it");
        }
        read
    };
    let whole = read(usize::MAX);
    assert_eq!(whole, read(1), "in pieces it is the same");
    for text in &whole {
        match envelope::read(text) {
            envelope::Read::Refused(answer) => {
                // An id comes back as it was written, and may be a number that is none to others.
                let refusal: Refusal = serde_json::from_str(&answer).unwrap();
                assert!(!answer.contains('\n') && refusal.error.code < 0, "{answer}");
            }
            envelope::Read::Message(message) => {
                let written = envelope::write(&TransportFrame::Single(message)).unwrap();
                assert!(matches!(envelope::read(&written), envelope::Read::Message(_)), "{written}");
            }
            envelope::Read::Nothing => {}
        }
    }
}

#[test]
fn whatever_comes_is_read_to_its_end() {
    fuzz().quick(check_input);
}

#[test]
fn slow_fuzz_whatever_comes_is_read_to_its_end() {
    fuzz().slow(check_input);
}
