//! Servers that are reached over HTTP.

use acp_runtime_tests::mcp_double::McpDouble;
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

use super::{open, until_state};

fn entry(url: &str, key: &str) -> Value {
    json!({ "type": "http", "name": "far", "url": url, "headers": [{ "name": "X-Key", "value": key }] })
}

async fn echo(editor: &EditorDouble, session: &str) -> (String, String) {
    let call = editor.prompt(session, "/call mcp__far__echo {\"a\": 1}").await.call();
    (call.status().to_owned(), call.text())
}

#[tokio::test]
async fn a_far_server_is_asked_with_its_headers() {
    let far = McpDouble::start().await;
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    let session = open(&editor, &runtime, json!([entry(&far.url(), "sesame")])).await;
    assert_eq!(until_state(&editor, &session, "far", "connected").await["tools"], 1);
    assert_eq!(echo(&editor, &session).await, ("completed".to_owned(), "{\"a\":1}".to_owned()));
    let heard = far.heard();
    let wanted = ["initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert!(wanted.iter().all(|method| heard.iter().any(|heard| heard == method)), "{heard:?}");
    editor.close().await;
}

#[tokio::test]
async fn a_far_server_that_wants_another_key_says_so() {
    let far = McpDouble::start().await;
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = open(&editor, &runtime, json!([entry(&far.url(), "s3cret")])).await;
    let state = until_state(&editor, &session, "far", "failed").await;
    assert_eq!(state["problem"], "it asks for an authorization (HTTP 401)");
    assert!(!editor.close().await.stderr.contains("s3cret"));
}

#[tokio::test]
async fn a_far_server_that_was_away_is_found_again() {
    let far = McpDouble::start().await;
    let runtime = Runtime::new().config("mode = \"auto\"\n");
    let editor = runtime.editor().await;
    let session = open(&editor, &runtime, json!([entry(&far.url(), "sesame")])).await;
    until_state(&editor, &session, "far", "connected").await;
    let address = far.address();
    drop(far);
    let (status, text) = echo(&editor, &session).await;
    assert_eq!(status, "failed");
    assert!(text.contains("the MCP server `far` was lost during the call: "), "{text}");
    assert!(!["Transport", "error sending", "reqwest"].iter().any(|word| text.contains(word)), "{text}");
    until_state(&editor, &session, "far", "failed").await;
    let _far = McpDouble::start_at(address).await;
    editor.prompt(&session, "/mcp restart far").await;
    assert_eq!(echo(&editor, &session).await, ("completed".to_owned(), "{\"a\":1}".to_owned()));
    editor.close().await;
}

#[tokio::test]
async fn an_address_that_is_none_is_told_of() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    for (url, key, problem) in [
        ("file:///etc/passwd", "x", "its address cannot be used: it does not begin with `http://` or `https://`"),
        ("https://user:s3cret@host/mcp", "x", "its address cannot be used: it has a name or a password in it"),
        ("not an address", "x", "its address cannot be used: it does not begin with `http://` or `https://`"),
        ("http://two words/mcp", "x", "its address cannot be used: it is no address"),
        ("https://host/mcp", "two\nlines", "`X-Key` in its headers is no header"),
    ] {
        let session = open(&editor, &runtime, json!([entry(url, key)])).await;
        let state = until_state(&editor, &session, "far", "failed").await;
        assert_eq!(state["problem"], problem, "{url}");
    }
    assert!(!editor.close().await.stderr.contains("s3cret"));
}
