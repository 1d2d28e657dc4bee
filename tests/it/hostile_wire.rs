//! Whatever a client writes: it is answered or ignored, nothing of it is echoed, and the next request works.

use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorDouble, EditorOptions, RpcError, Runtime};
use rustix::process::Signal;
use serde_json::{Value, json};

const PARSE: i64 = -32700;
const INVALID: i64 = -32600;

/// Speaks, then waits far longer than any test.
const ENDLESS: &str = r#"
quiet = true
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }, { text = "never" }]
"#;

fn line(id: &Value, method: &str, params: &Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// The editor still gets answers.
async fn still_works(editor: &EditorDouble) {
    let listed = editor.call("session/list", json!({})).await;
    assert!(listed["sessions"].is_array());
}

/// Writes `bytes`, which cannot be read as a request, and checks the error that comes back.
async fn refused(bytes: &[u8], code: i64) -> RpcError {
    let editor = Runtime::new().editor().await;
    editor.send_raw(bytes);
    let error = editor.unreadable().await;
    assert_eq!(error.code, code, "{error:?}");
    still_works(&editor).await;
    editor.close().await;
    error
}

#[tokio::test]
async fn invalid_json() {
    let error = refused(b"{\"jsonrpc\":\"2.0\",\"token\":\"s3cret\",\n", PARSE).await;
    assert!(!format!("{error:?}").contains("s3cret"), "the input is not echoed: {error:?}");
}

#[tokio::test]
async fn invalid_utf8() {
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\xFF\xFE\"}\n", PARSE).await;
}

#[tokio::test]
async fn nesting_without_end() {
    let bomb = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}\n", "[".repeat(1_000_000));
    refused(bomb.as_bytes(), PARSE).await;
}

#[tokio::test]
async fn a_json_array() {
    let batch = format!("[{}]\n", line(&json!(1), "session/list", &json!({})).trim_end());
    refused(batch.as_bytes(), INVALID).await;
    refused(b"[]\n", INVALID).await;
}

#[tokio::test]
async fn json_that_is_no_message() {
    for bytes in [&b"5\n"[..], b"\"initialize\"\n", b"null\n", b"{}\n", b"{\"id\":[1],\"method\":\"session/list\"}\n"] {
        refused(bytes, INVALID).await;
    }
}

#[tokio::test]
async fn a_request_that_is_none_is_refused_under_its_id() {
    let editor = Runtime::new().editor().await;
    for (message, reason) in [
        (json!({ "id": 900, "method": "session/list" }), "`jsonrpc` must be \"2.0\""),
        (json!({ "jsonrpc": "2.0", "id": 900, "method": ["session/list"] }), "`method` must be a string"),
        (
            json!({ "jsonrpc": "2.0", "id": 900, "method": "session/list", "params": "s3cret" }),
            "`params` must be an object",
        ),
        (
            json!({ "jsonrpc": "2.0", "id": 900, "method": "session/list", "result": 1 }),
            "a message with a `method` has no `result` and no `error`",
        ),
    ] {
        editor.send_raw(format!("{message}\n").as_bytes());
        let error = editor.answer_to(900).await.unwrap_err();
        assert_eq!((error.code, &error.data["reason"]), (INVALID, &json!(reason)));
    }
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn json_that_nothing_can_hold_is_refused_under_its_id() {
    let editor = Runtime::new().editor().await;
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (value, reason) in [
        (r#""\ud800""#, "a text in it has half a surrogate pair, which is no character"),
        ("1e400", "a number in it is too large"),
        (&deep, "it is nested too deeply"),
    ] {
        let request = json!({ "jsonrpc": "2.0", "id": 900, "method": "session/list", "params": { "cursor": "HERE" } });
        let text = request.to_string().replace("\"HERE\"", value) + "\n";
        editor.send_raw_as(&request, text.as_bytes());
        let error = editor.answer_to(900).await.unwrap_err();
        assert_eq!((error.code, &error.data["reason"]), (INVALID, &json!(reason)));
    }
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn a_line_of_100_mb() {
    let editor = Runtime::new().editor().await;
    let mut huge = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/list\",\"params\":{\"cursor\":\"".to_vec();
    huge.resize(100 << 20, b'a');
    huge.extend(b"\"}}\n");
    editor.send_raw(&huge[..huge.len() - 1]);
    editor.send_raw(b"\n");
    let error = editor.unreadable().await;
    assert_eq!(error.code, INVALID, "{error:?}");
    assert!(editor.resident_bytes() < 128 << 20, "{} bytes are held", editor.resident_bytes());
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn bom_blank_lines_and_crlf() {
    let editor = Runtime::new().spawn(EditorOptions::default());
    let hello = line(&json!(900), "initialize", &json!({ "protocolVersion": 1 }));
    editor.send_raw(format!("\u{feff}{}\r\n", hello.trim_end()).as_bytes());
    editor.send_raw(b"\n   \n\r\n\t\n");
    assert_eq!(editor.answer_to(900).await.unwrap()["protocolVersion"], 1);
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn a_last_line_without_a_newline() {
    let editor = Runtime::new().editor().await;
    editor.send_raw(line(&json!(900), "session/list", &json!({})).trim_end().as_bytes());
    editor.end_input();
    assert!(editor.answer_to(900).await.is_ok());
    editor.close().await;
}

#[tokio::test]
async fn unknown_methods() {
    let editor = Runtime::new().editor().await;
    for method in ["session/explode", "_aar/panel_explode", "_other/thing", "fs/read_text_file", ""] {
        let error = editor.request(method, json!({})).await.unwrap_err();
        assert_eq!((error.code, &error.data["method"]), (-32601, &json!(method)));
    }
    for method in ["session/exploded", "_other/happened", "$/whatever"] {
        editor.notify(method, json!({ "a": 1 }));
    }
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn answers_to_nothing() {
    let editor = Runtime::new().editor().await;
    editor.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{}}\n");
    editor.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"m\"}}\n");
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn requests_before_initialize() {
    let editor = Runtime::new().spawn(EditorOptions::default());
    for (method, params) in [
        ("session/new", json!({ "cwd": "/", "mcpServers": [] })),
        ("session/prompt", json!({ "sessionId": "s", "prompt": [] })),
        ("_aar/panel_list", json!({ "sessionId": "s" })),
    ] {
        assert_eq!(editor.request(method, params).await.unwrap_err().code, INVALID, "{method}");
    }
    editor.initialize().await;
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn a_whole_conversation_at_once() {
    let runtime = Runtime::new();
    for _ in 0..20 {
        let editor = runtime.spawn(EditorOptions::default());
        let mut lines = line(&json!(901), "initialize", &json!({ "protocolVersion": 1 }));
        lines += &line(&json!(902), "session/new", &json!({ "cwd": runtime.project(), "mcpServers": [] }));
        lines += &line(&json!(903), "session/prompt", &json!({ "sessionId": "unknown yet", "prompt": [] }));
        editor.send_raw(lines.as_bytes());
        assert_eq!(editor.answer_to(901).await.unwrap()["protocolVersion"], 1);
        assert!(editor.answer_to(902).await.unwrap()["sessionId"].is_string());
        assert_eq!(editor.answer_to(903).await.unwrap_err().code, -32002, "it was read, and its session is unknown");
        editor.close().await;
    }
}

#[tokio::test]
async fn a_session_that_nobody_opened() {
    let editor = Runtime::new().editor().await;
    for method in ["session/prompt", "session/close", "session/set_mode"] {
        let params = json!({ "sessionId": "no-such", "prompt": [], "modeId": "auto" });
        let error = editor.request(method, params).await.unwrap_err();
        assert_eq!((error.code, &error.data["sessionId"]), (-32002, &json!("no-such")), "{method}");
    }
    editor.notify("session/cancel", json!({ "sessionId": "no-such" }));
    still_works(&editor).await;
    editor.close().await;
}

#[tokio::test]
async fn folders_that_cannot_be_roots() {
    let runtime = Runtime::new().file("a.txt", "a file");
    let editor = runtime.editor().await;
    for cwd in ["", ".", "project", "../project", "/no/such/folder"] {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        assert_eq!(editor.request("session/new", params).await.unwrap_err().code, -32602, "{cwd}");
    }
    let file = json!({ "cwd": runtime.project().join("a.txt"), "mcpServers": [] });
    assert_eq!(editor.request("session/new", file).await.unwrap_err().code, -32602);
    let more = json!({ "cwd": runtime.project(), "mcpServers": [], "additionalDirectories": ["relative"] });
    assert_eq!(editor.request("session/new", more).await.unwrap_err().code, -32602);
    editor.new_session().await;
    editor.close().await;
}

#[tokio::test]
async fn parameters_of_the_wrong_form() {
    let editor = Runtime::new().editor().await;
    for (method, params) in [
        ("session/new", json!({ "cwd": 5, "mcpServers": [] })),
        ("session/new", json!({ "mcpServers": [], "token": "s3cret" })),
        ("session/new", json!(["s3cret"])),
        ("session/prompt", json!({ "sessionId": ["s3cret"], "prompt": [] })),
        ("session/list", json!({ "cursor": { "s3cret": 1 } })),
    ] {
        let error = editor.request(method, params).await.unwrap_err();
        assert_eq!(error.code, -32602, "{method}: {error:?}");
        assert!(!format!("{error:?}").contains("s3cret"), "the input is not echoed: {error:?}");
    }
    editor.close().await;
}

#[tokio::test]
async fn duplicate_ids() {
    let scenario = "quiet = true\n[[reply]]\nsteps = [{ delay_ms = 300 }, { text = \"slow\" }]\n";
    let editor = Runtime::scripted(scenario).editor().await;
    let session = editor.new_session().await;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Hi" }] });
    editor.send_raw(line(&json!(900), "session/prompt", &prompt).as_bytes());
    editor.send_raw(line(&json!(900), "session/list", &json!({})).as_bytes());
    assert_eq!(editor.answer_to(900).await.unwrap_err().code, INVALID, "the id is taken");
    assert_eq!(editor.answer_to(900).await.unwrap()["stopReason"], "end_turn", "the first request is not harmed");
    for _ in 0..200 {
        editor.send_raw(line(&json!(900), "session/list", &json!({})).as_bytes());
        assert!(editor.answer_to(900).await.is_ok(), "an id is free again once it was answered");
    }
    editor.close().await;
}

#[tokio::test]
async fn ids_of_any_kind() {
    let editor = Runtime::new().editor().await;
    for id in ["\"a text\"", "\"\"", "4294967296", "-7", "1.5", "1e3", "18446744073709551616", "null"] {
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/list","params":{{}}}}"#);
        editor.send_raw(format!("{request}\n").as_bytes());
        assert!(editor.answer_to_id(&serde_json::from_str(id).unwrap()).await.is_ok(), "{id}");
    }
    editor.close().await;
}

#[tokio::test]
async fn a_request_with_an_odd_id_can_be_cancelled() {
    let editor = Runtime::scripted(ENDLESS).editor().await;
    let session = editor.new_session().await;
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Hi" }] });
    editor.send_raw(line(&json!(1.5), "session/prompt", &prompt).as_bytes());
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    editor.notify("$/cancel_request", json!({ "requestId": 1.5 }));
    match editor.answer_to_id(&json!(1.5)).await {
        Ok(answer) => assert_eq!(answer["stopReason"], "cancelled"),
        Err(error) => assert_eq!(error.code, -32800),
    }
    editor.close().await;
}

#[tokio::test]
async fn a_client_with_headers_is_answered_with_headers() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Grüße\" }]\n");
    let editor = runtime.editor_with(EditorOptions::default().with_headers()).await;
    let session = editor.new_session().await;
    assert_eq!(editor.prompt(&session, "Hi").await.text(), "Grüße");
    editor.send_raw(b"Content-Length: 1\r\n\r\n{");
    assert_eq!(editor.unreadable().await.code, PARSE);
    still_works(&editor).await;
    editor.close().await;
}

/// Every message comes after headers that are wrong in some way, and every answer comes all the same.
#[tokio::test]
async fn headers_that_are_wrong() {
    let editor = Runtime::new().spawn(EditorOptions::default().with_headers());
    editor.initialize().await;
    let flood = format!("Content-Length: 2\r\n{}\r\n{{}}", "X-Header: flood\r\n".repeat(200_000));
    for broken in [
        "Content-Length: 5\r\n\r\n{\"jsonrpc\":\"2.0\"}",
        "Content-Length: 99999999999999999999\r\n\r\n",
        "Content-Length: 18446744073709551615\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length:\r\n\r\n",
        "Content-Type: application/json\r\n\r\n",
        &flood,
    ] {
        editor.send_raw(broken.as_bytes());
        let error = editor.unreadable().await;
        assert!(matches!(error.code, PARSE | INVALID), "{error:?}");
        still_works(&editor).await;
    }
    assert!(editor.resident_bytes() < 128 << 20, "{} bytes are held", editor.resident_bytes());
    let list = line(&json!(900), "session/list", &json!({}));
    editor.send_raw(format!("Content-Length: {}\r\n{list}", list.len()).as_bytes());
    assert!(editor.answer_to(900).await.is_ok(), "the blank line may be missing");
    editor.send_raw(list.as_bytes());
    assert!(editor.answer_to(900).await.is_ok(), "a line is read as well");
    editor.close().await;
}

/// A claim of much more than comes must not make the agent wait for it, or hold it.
#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_it_comes() {
    let runtime = Runtime::new().config("limits.message = 65536\n");
    let editor = runtime.editor_with(EditorOptions::default().with_headers()).await;
    let size = 64 << 20;
    editor.send_raw(format!("Content-Length: {size}\r\n\r\n").as_bytes());
    assert_eq!(editor.unreadable().await.code, INVALID);
    editor.send_raw(&vec![b'x'; size]);
    still_works(&editor).await;
    assert!(editor.resident_bytes() < 64 << 20, "{} bytes are held", editor.resident_bytes());
    editor.close().await;
}

#[tokio::test]
async fn the_end_of_input_in_the_middle_of_a_turn() {
    let runtime = Runtime::scripted(ENDLESS);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Hi");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    editor.end_input();
    assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled", "a cut turn is still answered");
    editor.close().await;
    let editor = runtime.editor().await;
    assert_eq!(editor.load_session(&session).await.text(), "Wait", "and its state is saved");
    editor.close().await;
}

#[tokio::test]
async fn sigterm_in_the_middle_of_a_turn() {
    let runtime = Runtime::scripted(ENDLESS);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Hi");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    let begin = Instant::now();
    editor.signal(Signal::TERM);
    assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
    editor.wait().await;
    assert!(begin.elapsed() < Duration::from_secs(2), "ended {:?} after the signal", begin.elapsed());
    drop(editor);
    runtime.assert_no_process_left();
    let editor = runtime.editor().await;
    assert_eq!(editor.load_session(&session).await.text(), "Wait");
    editor.close().await;
}

const FLOOD: &str = r"
quiet = true
[[reply]]
steps = [{ chunks = { count = 50000, size = 500 } }]
";

#[tokio::test]
async fn a_client_that_stops_reading_for_a_while() {
    let editor = Runtime::scripted(FLOOD).editor().await;
    let session = editor.new_session().await;
    editor.read_on(false);
    let prompt = editor.begin_prompt(&session, "Hi");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(editor.resident_bytes() < 96 << 20, "{} bytes wait for the client", editor.resident_bytes());
    editor.read_on(true);
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!((turn.stop.as_str(), turn.text().len()), ("end_turn", 25_000_000), "nothing is lost");
    editor.close().await;
}

#[tokio::test]
async fn a_client_that_stops_reading_for_good() {
    let runtime = Runtime::scripted(FLOOD);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.read_on(false);
    let _prompt = editor.begin_prompt(&session, "Hi");
    editor.end_input();
    let begin = Instant::now();
    editor.wait_unread().await;
    assert!(begin.elapsed() < Duration::from_secs(3), "ended {:?} after its input", begin.elapsed());
    drop(editor);
    runtime.assert_no_process_left();
}

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "a device that is always full stands for a full disk")]
fn a_log_that_cannot_be_written_costs_only_the_log() {
    use std::io::Write as _;
    use std::process::Stdio;
    let runtime = Runtime::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = runtime.command(&["--acp", "--log-level", "debug"]);
    let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(full).spawn().expect("it starts");
    let hello = line(&json!(1), "initialize", &json!({ "protocolVersion": 1 }));
    agent.stdin.take().expect("a pipe").write_all(hello.as_bytes()).expect("it reads");
    let output = agent.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"protocolVersion\":1"), "{output:?}");
}
