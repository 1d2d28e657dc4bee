//! What no server should answer: results, lists of tools, and whole conversations over a pipe.

use acp_runtime_agent::fuzz::Fuzz;
use acp_runtime_agent::transcript::ToolContent;
use rmcp::model::{CallToolRequestParams, CallToolResult};

use super::super::errors::ErrorLog;
use super::super::offer::{TOOLS, offered};
use super::super::outcome::outcome;
use super::*;

/// Bytes of the text of an outcome beside those of its pieces: what is said of each of them.
const SAID: usize = 8 << 10;

const WORDS: [&str; 26] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "\"type\":\"image\"",
    "\"type\":\"resource\",\"resource\":{",
    "\"mimeType\":\"image/png\"",
    "\"data\":\"AAAA\"",
    "\"isError\":true",
    "\"structuredContent\":[[[[",
    "\"inputSchema\":{\"$ref\":\"#\"}",
    "\"pattern\":\"(a+)+$\"",
    "\"annotations\":{\"readOnlyHint\":true}",
    "\"nextCursor\":\"1\"",
    "\\u202e",
    "\\ud800",
    "\\u0000",
    "\n",
    "\"id\":0,",
    "\"method\":\"roots/list\",",
    "\"method\":\"notifications/tools/list_changed\",",
    "\"error\":{\"code\":-32601,\"message\":\"\"}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

fn results() -> Fuzz {
    Fuzz::of([
        json!({ "content": [{ "type": "text", "text": "one" }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }] }),
        json!({ "content": [{ "type": "resource", "resource": { "uri": "x:a", "text": "A", "mimeType": "text/x" } }] }),
        json!({ "content": [{ "type": "resource_link", "uri": "x:d", "name": "d", "size": 3 }], "isError": true }),
        json!({ "content": [], "structuredContent": { "n": [1, { "a": null }] } }),
    ]
    .map(|result| result.to_string()))
    .with_words(WORDS)
    .up_to(16 << 10)
}

/// What can be read is bounded by what has come, and clean where it stands in one line.
fn check_result(input: &[u8]) {
    let Ok(result) = serde_json::from_slice::<CallToolResult>(input) else { return };
    match outcome(result) {
        Ok(outcome) => {
            assert!(outcome.content.len() <= 65 && outcome.for_model().len() <= 8 * input.len() + SAID);
            for piece in &outcome.content {
                if let ToolContent::Link { name, uri, .. } = piece {
                    assert!(!name.contains(['\n', '\u{202e}']) && !uri.contains(['\n', '\u{202e}']), "{piece:?}");
                }
            }
        }
        Err(error) => assert!(error.for_model().len() <= 8 * input.len() + SAID),
    }
}

fn lists() -> Fuzz {
    let tool = json!({
        "name": "read.file", "title": "Read", "description": "Reads.", "annotations": { "title": "R" },
        "inputSchema": { "type": "object", "properties": { "path": { "type": "string", "pattern": "^a" } } },
    });
    Fuzz::of([json!([tool, { "name": "b", "inputSchema": {} }]), json!([tool])].map(|tools| tools.to_string()))
        .with_words(WORDS)
        .up_to(16 << 10)
        // A schema that is checked is compiled, with all patterns in it.
        .costing(24 << 20)
}

/// What is offered has a name of its own, and all that is shown of it is clean.
fn check_list(input: &[u8]) {
    let Ok(tools) = serde_json::from_slice::<Vec<rmcp::model::Tool>>(input) else { return };
    let came = tools.len();
    let (offered, problems) = offered(&ServerName::new("odd").unwrap(), tools);
    assert!(offered.len() <= came.min(TOOLS) && offered.len() + problems.len() <= 2 * came + 1);
    let names: HashSet<&str> = offered.iter().map(|tool| tool.spec.name.as_str()).collect();
    assert_eq!(names.len(), offered.len(), "each has a name of its own");
    for tool in &offered {
        assert!(tool.spec.name.as_str().starts_with("mcp__odd__") && !tool.spec.title.contains(['\n', '\u{202e}']));
        assert!(!tool.spec.description.contains('\u{202e}'));
    }
}

/// All lines of an honest server, and those of one that asks in between.
fn conversations() -> Fuzz {
    let answer = |id: u32, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let hello = answer(
        0,
        json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                                  "serverInfo": { "name": "odd", "version": "1" } }),
    );
    let list = answer(1, json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] }));
    let called = answer(2, json!({ "content": [{ "type": "text", "text": "done" }] }));
    let asks = json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" });
    let says =
        json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "a" } });
    Fuzz::of([format!("{hello}\n{list}\n{called}\n"), format!("{hello}\n{asks}\n{says}\n{list}\nwords\n{called}\n")])
        .with_words(WORDS)
        .costing(24 << 20)
}

/// Where the first line ends that looks like an answer.
fn through_an_answer(output: &[u8]) -> usize {
    let mut end = 0;
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if [&b"\"result\""[..], b"\"error\""].iter().any(|word| line.windows(word.len()).any(|part| part == *word)) {
            break;
        }
    }
    end
}

/// A server whose whole output that is, an answer after each request: what became of its tool, if it came to that.
async fn talk(output: &[u8]) -> Option<String> {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let server = async {
        let (input, mut written) = tokio::io::split(theirs);
        let (mut asked, mut left) = (BufReader::new(input).lines(), output);
        // To each request as much as there is up to an answer, whatever that is to; and to a client that waits for more.
        loop {
            let line = match tokio::time::timeout(Duration::from_secs(1), asked.next_line()).await {
                Ok(Ok(Some(line))) => line,
                Err(_) => "\"id\":\"method\":".to_owned(),
                Ok(Ok(None) | Err(_)) => break,
            };
            if !line.contains("\"id\":") || !line.contains("\"method\":") {
                continue;
            }
            let (now, later) = left.split_at(through_an_answer(left));
            let over = written.write_all(now).await.is_err() || later.is_empty();
            left = later;
            if over {
                break;
            }
        }
        let _ = written.shutdown().await;
        while let Ok(Some(_)) = asked.next_line().await {}
    };
    let client = async {
        let (output, input) = tokio::io::split(ours);
        let server = ServerName::new("odd").unwrap();
        let errors = ErrorLog::new(server.clone());
        let transport = AsyncRwTransport::new_client(errors.watch(output), input).with_max_line_length(usize::MAX);
        let progress = Arc::new(ProgressBoard::default());
        let handler = |changes| Handler { server, roots: vec!["file:///p".to_owned()], progress, changes };
        let connection = handshake(handler, transport, ClientLifecycleMode::Initialize, &errors).await.ok()?;
        let told = async {
            let (tools, _) = offered(&ServerName::new("odd").unwrap(), list_tools(&connection.link.peer).await.ok()?);
            let called = tools.first()?.called.clone();
            let result = connection.link.peer.call_tool(CallToolRequestParams::new(called)).await.ok()?;
            outcome(result).ok().map(|outcome| outcome.for_model())
        }
        .await;
        connection.close().await;
        told
    };
    tokio::join!(server, client).1
}

fn run<T>(work: impl Future<Output = T>) -> T {
    // Its clock goes on when everybody waits.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(work)
}

/// Whatever is in the pipe: it comes to an end.
fn check_conversation(input: &[u8]) {
    run(talk(input));
}

#[test]
fn an_honest_server_is_understood() {
    conversations().each(|input| assert_eq!(run(talk(input)).as_deref(), Some("done")));
}

#[test]
fn whatever_a_server_answers_is_read() {
    results().quick(check_result);
    lists().quick(check_list);
    conversations().quick(check_conversation);
}

#[test]
fn slow_fuzz_whatever_a_server_answers() {
    results().slow(check_result);
}

#[test]
fn slow_fuzz_whatever_tools_a_server_has() {
    lists().slow(check_list);
}

#[test]
fn slow_fuzz_whatever_a_server_says() {
    conversations().slow(check_conversation);
}
