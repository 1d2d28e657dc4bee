//! Why a server cannot be had, in words that a person understands: nothing of a library's names is in them.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};

use acp_runtime_tests::Runtime;
use acp_runtime_tests::mcp_double::McpDouble;

use super::DOUBLE;

/// Words of libraries.
const FOREIGN: [&str; 8] =
    ["rmcp", "reqwest", "hyper", "Transport", "Client error", "error sending request", "source:", "StreamableHttp"];

/// What `/mcp` says of each of these servers. Its ports are left out.
async fn said(servers: &[(&str, String)]) -> String {
    let mut config = String::new();
    for (name, lines) in servers {
        writeln!(config, "[mcp.{name}]\n{lines}").unwrap();
    }
    let runtime = Runtime::new().config(&config);
    let run = tokio::task::spawn_blocking(move || runtime.run(&["run", "/mcp"])).await.unwrap();
    assert_eq!(run.code, Some(0), "{run:?}");
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(!FOREIGN.iter().any(|word| told.contains(word)), "{told}");
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    lines.iter().fold(String::new(), |text, line| text + &without_times(line) + "\n")
}

/// When the next try is depends on the moment.
fn without_times(line: &str) -> String {
    let line = line.split("; the next try").next().unwrap();
    line.trim_end_matches("; it is being tried again").replace(DOUBLE, "DOUBLE")
}

fn url(url: &str) -> String {
    format!("url = '{url}'")
}

/// The problems of servers over HTTP that answer with this.
async fn answering(status: u16, headers: &[(&str, &str)], body: &str) -> String {
    let double = McpDouble::saying(status, headers, body).await;
    let told = said(&[("far", url(&double.url()))]).await;
    told.trim().trim_start_matches("- `far` (over HTTP) – failed: ").to_owned()
}

#[tokio::test]
async fn what_a_web_server_answers() {
    let html = ("content-type", "text/html; charset=utf-8");
    let json = ("content-type", "application/json");
    let version = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"1999-12-31","capabilities":{},"serverInfo":{"name":"d","version":"1"}}}"#;
    let refusal = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"Unsupported protocol version"}}"#;
    for (status, headers, body, problem) in [
        (
            401,
            &[("www-authenticate", "Bearer")][..],
            "",
            "it asks for an authorization (HTTP 401); it is not tried again by itself",
        ),
        (401, &[], "who?", "it asks for an authorization (HTTP 401); it is not tried again by itself"),
        (403, &[], "no", "it refuses the access (HTTP 403); it is not tried again by itself"),
        (404, &[html], "<h1>gone</h1>", "there is nothing at its address (HTTP 404)"),
        (405, &[], "", "it takes no messages at its address (HTTP 405)"),
        (
            302,
            &[("location", "https://elsewhere/")],
            "",
            "it points to another address (HTTP 302), which is not followed; it is not tried again by itself",
        ),
        (
            418,
            &[("content-type", "text/plain")],
            "short and stout",
            "it does not accept the request (HTTP 418): short and stout",
        ),
        (429, &[], "", "it takes no more requests for now (HTTP 429)"),
        (503, &[html], "<h1>sorry</h1>", "it has a problem of its own (HTTP 503)"),
        (200, &[html], "<h1>Welcome</h1>", "this is no MCP server: it answers with a web page"),
        (200, &[("content-type", "text/plain")], "hello", "this is no MCP server: it answers with `text/plain`"),
        (200, &[json], "{\"hello\": 1}", "this is no MCP server: what it answers is no message of the protocol"),
        (
            200,
            &[json],
            version,
            "it speaks version `1999-12-31` of the protocol, which is not known here; it is not tried again by itself",
        ),
        (
            200,
            &[json],
            refusal,
            "it does not speak our version of the protocol: Unsupported protocol version; it is not tried again by itself",
        ),
    ] {
        assert_eq!(answering(status, headers, body).await, problem, "{status} {headers:?} {body}");
    }
}

#[tokio::test]
async fn a_host_that_cannot_be_reached() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let plain = McpDouble::start().await;
    let nowhere = format!("{}.invalid", "x".repeat(64));
    let told = said(&[
        ("refused", url(&format!("http://{free}/mcp"))),
        ("dns", url(&format!("http://{nowhere}/mcp"))),
        ("tls", url(&plain.url().replace("http:", "https:"))),
        ("silent", url(&format!("http://{}/mcp", silent.local_addr().unwrap())) + "\nstart_timeout = 1"),
    ])
    .await;
    let lines: Vec<&str> = told.lines().collect();
    assert!(
        lines[0].starts_with(&format!("- `dns` (over HTTP) – failed: the host `{nowhere}` was not found (")),
        "{told}"
    );
    assert_eq!(lines[1], format!("- `refused` (over HTTP) – failed: connection refused: nothing listens at `{free}`"));
    assert_eq!(lines[2], "- `silent` (over HTTP) – failed: it did not answer within 1 s");
    let tls = format!("- `tls` (over HTTP) – failed: no secure connection (TLS) with `{}`: ", plain.address());
    assert!(lines[3].starts_with(&tls), "{told}");
}

#[tokio::test]
async fn programs_that_are_no_servers() {
    let double = |traits: &str| format!("command = '{DOUBLE}'\nargs = ['{traits}']");
    let told = said(&[
        ("absent", "command = 'no-such-program'".to_owned()),
        ("ancient", double("ancient")),
        ("babbles", double("babbles") + "\nstart_timeout = 1"),
        ("dies", double("dies")),
        ("floods", "command = 'sh'\nargs = ['-c', 'head -c 9000000 /dev/zero; sleep 60']".to_owned()),
        ("greets", "command = 'sh'\nargs = ['-c', 'read line; echo hello there']".to_owned()),
        ("odd", double("odd-answer")),
        ("picky", double("picky")),
    ])
    .await;
    expect_test::expect![[r#"
        - `absent` (the program `no-such-program`) – failed: the program `no-such-program` was not found; it is not tried again by itself
        - `ancient` (the program `DOUBLE`) – failed: it speaks version `1999-12-31` of the protocol, which is not known here; it is not tried again by itself
        - `babbles` (the program `DOUBLE`) – failed: it did not answer within 1 s; what it writes to its standard output is no message of the protocol: `Usage: server --port PORT`
        - `dies` (the program `DOUBLE`) – failed: it ended with exit code 7; it said: no licence found / that is all
        - `floods` (the program `sh`) – failed: one of its messages has more than 8388608 bytes
        - `greets` (the program `sh`) – failed: it ended with exit code 0; what it writes to its standard output is no message of the protocol: `hello there`
        - `odd` (the program `DOUBLE`) – failed: it refuses the handshake: error -32603: out of order
        - `picky` (the program `DOUBLE`) – failed: it does not speak our version of the protocol: Unsupported protocol version; it is not tried again by itself
    "#]].assert_eq(&told);
}

/// They are gone before they are told anything, or while they are, or after that: what they said is read all the same.
#[tokio::test]
async fn programs_that_end_at_once_are_heard_out() {
    let names: Vec<String> = (10..34).map(|number| format!("s{number}")).collect();
    let greets = "command = 'sh'\nargs = ['-c', 'exec 0<&-; echo hello there; exit 3']";
    let servers: Vec<(&str, String)> = names.iter().map(|name| (name.as_str(), greets.to_owned())).collect();
    let told = said(&servers).await;
    let problem = "it ended with exit code 3; what it writes to its standard output is no message of the protocol: \
                   `hello there`";
    for (name, line) in names.iter().zip(told.lines()) {
        assert_eq!(line, format!("- `{name}` (the program `sh`) – failed: {problem}"));
    }
    assert_eq!(told.lines().count(), names.len());
}
