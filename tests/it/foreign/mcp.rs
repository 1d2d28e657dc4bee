//! MCP servers that nobody here wrote: the reference server in Node, and one on the official Python SDK.

use std::path::Path;
use std::time::Duration;

use acp_runtime_tests::{EditorDouble, Runtime};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{foreign, own};

/// How long a server may take to start on a busy machine.
const START: u32 = 60;

fn node() -> (String, String) {
    let server = foreign("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    (foreign("node").display().to_string(), server.display().to_string())
}

fn python() -> (String, String) {
    (foreign("venv/bin/python").display().to_string(), own("mcp_server.py").display().to_string())
}

/// A runtime with that server, `real`, and nothing asked for.
fn runtime((command, script): (String, String)) -> Runtime {
    let server = format!("[mcp.real]\ncommand = {command:?}\nargs = [{script:?}]\nstart_timeout = {START}\n");
    Runtime::new().config(&format!("mode = \"auto\"\n{server}"))
}

async fn connected(runtime: &Runtime) -> (EditorDouble, String) {
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let is = |update: &Value| update.pointer("/_meta/aar/mcp/0/status") == Some(&json!("connected"));
    editor.until_update(&session, "the server is connected", is).await;
    (editor, session)
}

async fn call(editor: &EditorDouble, session: &str, tool: &str, arguments: Value) -> (String, String) {
    let call = editor.prompt(session, &format!("/call mcp__real__{tool} {arguments}")).await.call();
    (call.status().to_owned(), call.text())
}

fn done(text: &str) -> (String, String) {
    ("completed".to_owned(), text.to_owned())
}

/// Every progress that was shown of the last call.
async fn progress(editor: &EditorDouble, session: &str, tool: &str, arguments: Value) -> Vec<String> {
    let turn = editor.prompt(session, &format!("/call mcp__real__{tool} {arguments}")).await;
    let texts = turn.of("tool_call_update").filter_map(|update| update.pointer("/content/0/content/text")?.as_str());
    texts.filter(|text| text.contains('%')).map(str::to_owned).collect()
}

async fn killed_in_a_call(runtime: &Runtime, tool: &str, arguments: Value, pid: impl Fn(&Path) -> Option<i32>) {
    let (editor, session) = connected(runtime).await;
    let prompt = editor.begin_prompt(&session, &format!("/call mcp__real__{tool} {arguments}"));
    editor.until_update(&session, "the call runs", |update| update["status"] == "in_progress").await;
    let pid = loop {
        match pid(&runtime.project()) {
            Some(pid) => break pid,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let failed = editor.turn(prompt).await.unwrap().call();
    assert_eq!(failed.status(), "failed");
    assert!(failed.text().contains("was lost during the call"), "{}", failed.text());
    let tools = editor.prompt(&session, "/tools").await.text();
    assert!(tools.contains("mcp__real__"), "{tools}");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn the_reference_server_in_node() {
    let runtime = runtime(node());
    let (editor, session) = connected(&runtime).await;
    assert_eq!(call(&editor, &session, "echo", json!({ "message": "hi" })).await, done("Echo: hi"));
    let (status, sum) = call(&editor, &session, "get-sum", json!({ "a": 19, "b": 23 })).await;
    assert!(status == "completed" && sum.contains("42"), "{sum}");
    let (status, text) = call(&editor, &session, "get-sum", json!({ "a": "x" })).await;
    assert!(status == "failed" && text.contains("is a required property"), "{text}");
    let image = editor.prompt(&session, "/call mcp__real__get-tiny-image").await.call();
    let kinds: Vec<&str> = image.fields["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|piece| piece["content"]["type"].as_str())
        .collect();
    assert_eq!(kinds, ["text", "image", "text"]);
    let structured =
        editor.prompt(&session, "/call mcp__real__get-structured-content {\"location\": \"Chicago\"}").await;
    assert!(structured.call().fields["rawOutput"]["temperature"].is_number());
    let links = editor.prompt(&session, "/call mcp__real__get-resource-links {\"count\": 2}").await.call();
    assert!(links.fields["content"].to_string().contains("resource_link"));
    let shown =
        progress(&editor, &session, "trigger-long-running-operation", json!({ "duration": 1, "steps": 4 })).await;
    assert!(shown.iter().any(|line| line.starts_with("50 %")), "{shown:?}");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn the_reference_server_is_killed_in_a_call() {
    let (_, script) = node();
    let of_script = move |project: &Path| {
        let processes = acp_runtime_tests::runtime::processes();
        let found = processes.into_iter().find(|process| process.folder == project && process.line.ends_with(&script));
        found.map(|process| process.id)
    };
    let arguments = json!({ "duration": 600, "steps": 2 });
    killed_in_a_call(&runtime(node()), "trigger-long-running-operation", arguments, of_script).await;
}

#[tokio::test]
async fn a_server_on_the_python_sdk() {
    let runtime = runtime(python());
    let (editor, session) = connected(&runtime).await;
    assert_eq!(call(&editor, &session, "add", json!({ "a": 19, "b": 23 })).await, done("42"));
    let shown = progress(&editor, &session, "count", json!({ "to": 4 })).await;
    assert!(shown.contains(&"50 % · at 2".to_owned()), "{shown:?}");
    let (status, text) = call(&editor, &session, "fail", json!({})).await;
    assert!(status == "failed" && text.contains("Error executing tool fail"), "{text}");
    let prompt = editor.begin_prompt(&session, "/call mcp__real__wait");
    editor.until_update(&session, "the call runs", |update| update["status"] == "in_progress").await;
    editor.cancel(&session);
    assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
    assert_eq!(call(&editor, &session, "add", json!({ "a": 1, "b": 2 })).await, done("3"));
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn a_server_on_the_python_sdk_is_killed_in_a_call() {
    let written = |project: &Path| std::fs::read_to_string(project.join("waiting")).ok()?.parse().ok();
    killed_in_a_call(&runtime(python()), "wait", json!({}), written).await;
}
