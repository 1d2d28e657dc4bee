//! What the log says, and what it must not.
#![expect(clippy::disallowed_methods, reason = "tests look at the log file")]

use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::json;

/// An editor on an agent that logs requests into `log` of the project.
async fn editor(runtime: &Runtime) -> EditorDouble {
    let config = format!("[log]\nlevel = \"info\"\nfile = \"{}\"\n", runtime.project().join("log").display());
    std::fs::write(runtime.home().join("config.toml"), config).unwrap();
    runtime.editor().await
}

#[tokio::test]
async fn every_request_is_a_line() {
    let runtime = Runtime::new().env("ACP_RUNTIME_LAUNCHED_BY", "zed");
    let editor = editor(&runtime).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "/help").await;
    let secret = "sk-abcdefghijklmnop0123";
    editor.request(&format!("_x/{secret}\nforged"), json!({ "sessionId": secret })).await.unwrap_err();
    editor.close().await;
    let log = runtime.read("log");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(" request: ")).collect();
    assert_eq!(lines.len(), 4, "{log}");
    for (line, method, outcome) in [
        (lines[0], "initialize".to_owned(), "ok"),
        (lines[1], format!("session/new\" session=\"{session}"), "ok"),
        (lines[2], format!("session/prompt\" session=\"{session}"), "ok"),
        (lines[3], "_x/**** forged\" session=\"****".to_owned(), "-32601"),
    ] {
        assert!(line.contains(&format!("method=\"{method}\"")), "{line}");
        assert!(line.contains(" ms=") && line.ends_with(&format!(" outcome=\"{outcome}\"")), "{line}");
    }
    assert!(log.contains("launched_by=\"zed\"") && !log.contains(secret), "{log}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let file = std::fs::metadata(runtime.project().join("log")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_request_says_which_trace_it_belongs_to() {
    let runtime = Runtime::new();
    let editor = editor(&runtime).await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let long = format!("a={}", "b".repeat(8000));
    for meta in [
        json!({ "traceparent": parent, "tracestate": "congo=t61", "baggage": "user=al" }),
        json!({ "traceparent": format!("{parent}\nforged"), "tracestate": "congo=t61", "baggage": "a=b\nforged=1" }),
        json!({ "traceparent": parent, "baggage": long }),
        json!({ "traceparent": [parent], "baggage": null }),
    ] {
        editor.call("session/list", json!({ "_meta": meta })).await;
    }
    editor.close().await;
    let log = runtime.read("log");
    let told: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("method=\"session/list\""))
        .map(|line| line.split_once(" traceparent=").map_or("", |(_, rest)| rest))
        .collect();
    let cut = format!("\"{parent}\" baggage=\"a={}\" outcome=\"ok\"", "b".repeat(510));
    let whole = format!("\"{parent}\" tracestate=\"congo=t61\" baggage=\"user=al\" outcome=\"ok\"");
    assert_eq!(told, [&whole, "", &cut, ""], "{log}");
    assert!(!log.contains("forged"), "{log}");
}

/// With the log as it is without any configuration: what a client does wrong is told to the client.
#[tokio::test]
async fn a_clients_mistakes_are_no_warnings() {
    let runtime = Runtime::scripted("[[reply]]\nsteps = [{ error = { kind = \"request\", message = \"no\" } }]\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let text = json!([{ "type": "text", "text": "Hi" }]);
    for (method, params, code) in [
        ("no/such/method", json!({}), -32601),
        ("session/new", json!({ "cwd": 5 }), -32602),
        ("session/prompt", json!({ "sessionId": "nobody", "prompt": text }), -32002),
        ("initialize", json!({ "protocolVersion": 1 }), -32600),
    ] {
        assert_eq!(editor.request(method, params).await.unwrap_err().code, code, "{method}");
    }
    let prompt = editor.begin_prompt(&session, "Hi");
    assert_eq!(editor.turn(prompt).await.unwrap_err().code, -32603);
    let ended = editor.close().await;
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(matches!(lines[..], [line] if line.contains(" WARN request: ") && line.contains("-32603")), "{lines:#?}");
}
