//! Servers of our own configuration: the user's file, a file on the command line, and never the project's.
#![expect(clippy::disallowed_methods, reason = "tests look at the log file")]

use acp_runtime_tests::Runtime;
use acp_runtime_tests::flood::Flood;
use serde_json::json;

use super::{DOUBLE, open, server, until_state};

fn configured(more: &str) -> Runtime {
    Runtime::new().config(&format!("mode = \"auto\"\n[mcp.double]\ncommand = \"{DOUBLE}\"\n{more}"))
}

#[tokio::test]
async fn every_session_has_the_configured_servers() {
    let runtime =
        configured("env = { GIVEN = \"${TOKEN}\" }\n[mcp.off]\ncommand = \"x\"\nenabled = false\n").env("TOKEN", "t");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let state = until_state(&editor, &session, "double", "connected").await;
    assert_eq!(state["tools"], 13);
    let names = editor.prompt(&session, "/call mcp__double__environment").await.call().text();
    assert!(names.starts_with("GIVEN "), "{names}");
    assert!(!editor.prompt(&session, "/mcp").await.text().contains("off"));
    editor.close().await;
}

#[tokio::test]
async fn a_variable_that_is_not_set_keeps_one_server_away() {
    let runtime = configured("env = { GIVEN = \"${TOKEN}\" }\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let state = until_state(&editor, &session, "double", "off").await;
    assert_eq!(state["problem"], "the variable `TOKEN` is not set");
    editor.close().await;
}

#[tokio::test]
async fn the_clients_server_goes_before_one_of_the_same_name() {
    let runtime = configured("args = [\"grown\"]\n");
    let editor = runtime.editor().await;
    let session = open(&editor, &runtime, json!([server("double", &[])])).await;
    assert_eq!(until_state(&editor, &session, "double", "connected").await["tools"], 13);
    editor.close().await;
}

#[tokio::test]
async fn a_file_names_servers_for_every_session() {
    let file =
        json!({ "mcpServers": { "my double": { "command": DOUBLE, "args": ["grown"], "autoApprove": ["echo"] } } });
    let runtime = Runtime::new().file("servers.json", &file.to_string());
    let echo = "/call mcp__my_double__grown {\"a\": 1}";
    let allowed = runtime.run(&["run", "--mcp", "servers.json", "--allow", "server", echo]);
    assert_eq!((allowed.code, allowed.stdout.trim()), (Some(0), "{\"a\":1}"), "{}", allowed.stderr);
    let refused = runtime.run(&["run", "--mcp", "servers.json", echo]);
    assert!(refused.stderr.contains("there is nobody to ask"), "{}", refused.stderr);
    assert_ne!(refused.code, Some(0));
    runtime.assert_no_process_left();
}

/// `run` has one prompt only, so it waits for its servers.
#[tokio::test]
async fn run_waits_for_its_servers() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [{ call = { tool = "mcp__double__echo", arguments = {} } }]
        [[reply]]
        when = "tool-succeeded"
        steps = [{ text = "It was there." }]
    "#;
    let runtime = Runtime::scripted(scenario).config(&format!("[mcp.double]\ncommand = \"{DOUBLE}\"\n"));
    let finished = runtime.run(&["run", "--allow", "server:double echo", "Go"]);
    assert_eq!((finished.code, finished.stdout.trim()), (Some(0), "It was there."), "{}", finished.stderr);
}

/// It has one answer only, so commands wait as well, and no longer than a connection may take.
#[test]
fn commands_of_run_wait_for_servers() {
    let hangs = format!("[mcp.hangs]\ncommand = \"{DOUBLE}\"\nargs = [\"hangs\"]\nstart_timeout = 1\n");
    let runtime = configured(&format!("args = [\"late\"]\n{hangs}"));
    for (command, lines) in [
        ("/mcp", &["`double` (the program", " – connected, 13 tools\n", " – failed: it did not answer within 1 s"][..]),
        (
            "/status",
            &["- MCP server `double`: connected, 13 tools\n", "- MCP server `hangs`: failed: it did not answer"],
        ),
        ("/tools", &["- `mcp__double__echo` – Does echo\n", "not connected:\n\n- `hangs`: failed: "]),
        ("/doctor", &[" – connected, 13 tools\n"]),
        ("/permissions deny mcp__double__echo server:double echo", &["Remembered. It holds in every mode."]),
    ] {
        let run = runtime.run(&["run", command]);
        assert_eq!(run.code, Some(0), "{run:?}");
        for line in lines {
            assert!(run.stdout.contains(line), "{command}: `{line}` is not in {}", run.stdout);
        }
    }
    runtime.assert_no_process_left();
}

#[test]
fn a_file_that_cannot_be_understood_is_an_error() {
    let runtime = Runtime::new()
        .file("empty.json", "{}")
        .file("twice.json", r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#)
        .file("bad.json", r#"{"mcpServers": {"a": {"command": "x", "url": "y"}}}"#);
    for (file, error) in [
        ("gone.json", "error: `gone.json` does not exist\nhint: check the path, or leave the option out\n"),
        ("empty.json", "error: `empty.json` names no MCP servers: it has no object `mcpServers`\nhint: "),
        ("twice.json", "error: `twice.json` names no MCP servers: the server `a` is there twice\nhint: "),
        (
            "bad.json",
            "error: `bad.json` names no MCP servers: the server `a`: a server has a `command` or a `url`, and not both\n",
        ),
    ] {
        let finished = runtime.run(&["run", "--mcp", file, "x"]);
        assert_eq!(finished.code, Some(2), "{file}");
        assert!(finished.stderr.starts_with(error), "{file}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn a_project_names_no_servers() {
    let runtime = Runtime::new().file(".acp-runtime/config.toml", "[mcp.evil]\ncommand = \"x\"\n");
    let editor = runtime.editor().await;
    let error = editor.request("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await.unwrap_err();
    assert!(error.message.contains("mcp") || error.data.to_string().contains("mcp"), "{error:?}");
    editor.close().await;
}

#[test]
fn secrets_are_not_shown() {
    let runtime = configured(
        "env = { KEY = \"s3cret\" }\n[mcp.far]\nurl = \"https://h/?k=s3cret\"\nheaders = { A = \"s3cret\" }\n",
    );
    let shown = runtime.run(&["config", "show"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(!shown.stdout.contains("s3cret") && shown.stdout.contains("[mcp.far"), "{}", shown.stdout);
}

/// What a server and the way to it say of themselves has neither the query nor the headers in it.
#[test]
fn what_goes_wrong_quotes_no_secrets() {
    let echo = b"nobody with the key sk-hidden-1, nor with x-key: sk-hidden-2 or sk-hidden-3";
    let refusing = Flood::start("500 No\r\ncontent-type: text/plain", echo, b"").base_url();
    for url in [refusing.as_str(), "http://127.0.0.1:1/mcp"] {
        let runtime = Runtime::new().config(&format!(
            "log.file = 'log'\n[mcp.far]\nurl = \"{url}?token=sk-hidden-1&k=short\"\n\
             headers = {{ X-Key = \"sk-hidden-2\", Authorization = \"Bearer sk-hidden-3\" }}\n"
        ));
        let run = runtime.run(&["run", "Hi"]);
        assert!(run.stderr.contains("The MCP server `far` does not work: "), "{run:?}");
        let log = std::fs::read_to_string(runtime.home().join("log")).unwrap();
        let said = format!("{}{}{log}", run.stdout, run.stderr);
        assert!(!said.contains("sk-hidden"), "{said}");
    }
}
