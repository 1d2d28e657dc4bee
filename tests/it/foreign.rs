//! Three clients that nobody here wrote drive the real binary: the TypeScript SDK, the Python SDK, acpx. The binary drives
//! two MCP servers (`mcp`).
//!
//! Each lives through a session: new, a prompt with tools and a question, a prompt that is cancelled, an option, a fork,
//! close, load, list, delete. They are set up in `target/foreign` by `cargo xtask test`, which leaves this module out
//! where they cannot be had.
#![expect(clippy::disallowed_methods, reason = "foreign clients are processes of their own")]

mod mcp;

use std::path::{Path, PathBuf};
use std::process::Command;

use acp_runtime_tests::runtime::{binary, build_folder, finish};
use acp_runtime_tests::{Finished, Runtime};
use serde_json::{Value, json};

const SCENARIO: &str = r##"
quiet = true
[[reply]]
steps = [
  { text = "Working. " },
  { call = { tool = "code-stats", arguments = {} } },
  { call = { tool = "write_file", arguments = { path = "report.md", content = "# Report\n" } } },
]
[[reply]]
steps = [{ text = "All done." }]
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }, { text = "never" }]
"##;

/// A file of the set-up.
fn foreign(path: &str) -> PathBuf {
    let folder = build_folder().parent().expect("a build folder lies in the target folder").join("foreign");
    assert!(folder.is_dir(), "{} is not there: `cargo xtask test` sets it up", folder.display());
    folder.join(path)
}

fn own(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("foreign").join(script)
}

fn runtime() -> Runtime {
    Runtime::scripted(SCENARIO).file("src/main.rs", "fn main() {}\n")
}

/// Runs a client script to its summary, and checks what it saw. `deleted`: null where its SDK cannot delete a session.
fn check(runtime: &Runtime, mut client: Command, script: &str, deleted: &Value) {
    client.arg(own(script)).arg(runtime.project()).arg(binary()).arg("--acp");
    runtime.furnish(&mut client);
    let finished = finish(client);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let summary: Value = serde_json::from_str(&finished.stdout).expect("one JSON summary");
    let asked = summary["permissions"].as_array().expect("a list");
    assert!(asked.len() == 1 && asked[0].as_str().is_some_and(|title| title.contains("report.md")), "{summary}");
    assert!(summary["help"].as_str().is_some_and(|help| help.contains("/help")), "{summary}");
    let tools = &summary["tools"];
    assert_eq!(tools.as_array().map(Vec::len), Some(2), "{summary}");
    for (field, expected) in [
        ("protocolVersion", json!(1)),
        ("agent", json!("acp-runtime")),
        ("stops", json!(["end_turn", "cancelled", "end_turn"])),
        ("text", json!("Working. All done.")),
        ("mode", json!("plan")),
        ("replay", json!({ "user": "Write a reportGo on for ever", "text": "Working. All done.Wait", "tools": tools })),
        ("listed", json!([true, true])),
        ("deleted", deleted.clone()),
    ] {
        assert_eq!(summary[field], expected, "`{field}` of {summary}");
    }
    assert_eq!(runtime.read("report.md"), "# Report\n");
    runtime.assert_no_process_left();
}

#[test]
fn the_typescript_sdk() {
    let sdk = foreign("npm/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js");
    let runtime = runtime().env("ACP_SDK", &sdk.display().to_string());
    check(&runtime, Command::new(foreign("node")), "ts_client.mjs", &json!(true));
}

#[test]
fn the_python_sdk() {
    check(&runtime(), Command::new(foreign("venv/bin/python")), "py_client.py", &Value::Null);
}

/// acpx with its flags for programs; every line that it prints.
fn acpx(runtime: &Runtime, arguments: &[&str]) -> (Finished, Vec<Value>) {
    let agent = format!("{} --acp", binary().display());
    let mut acpx = Command::new(foreign("node"));
    acpx.arg(foreign("npm/node_modules/acpx/dist/cli.js")).arg("--cwd").arg(runtime.project());
    acpx.args(["--agent", &agent, "--format", "json", "--json-strict"]).args(arguments);
    runtime.furnish(&mut acpx);
    let finished = finish(acpx);
    let lines = finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (finished, lines)
}

/// The last line of acpx, which must succeed.
fn last(runtime: &Runtime, arguments: &[&str]) -> Value {
    let (finished, mut lines) = acpx(runtime, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {}{}", finished.stdout, finished.stderr);
    lines.pop().unwrap_or_else(|| panic!("{arguments:?} said nothing"))
}

/// Told to deny, it does not even let the file be read that would be written, so there is nothing left to ask.
#[test]
fn acpx_allows_all_or_nothing() {
    for (flag, code, written) in [("--approve-all", 0, true), ("--deny-all", 5, false)] {
        let runtime = runtime();
        let (finished, wire) = acpx(&runtime, &[flag, "exec", "Write a report"]);
        assert_eq!(finished.code, Some(code), "{flag}: {}{}", finished.stdout, finished.stderr);
        let has =
            |pointer: &str, value: &str| wire.iter().any(|message| message.pointer(pointer) == Some(&value.into()));
        assert!(has("/result/agentInfo/name", "acp-runtime"), "{flag}: {}", finished.stdout);
        assert_eq!(has("/method", "session/request_permission"), written, "{flag}: {}", finished.stdout);
        assert!(has("/params/update/content/text", "Working. "), "{flag}: {}", finished.stdout);
        assert_eq!(runtime.project().join("report.md").exists(), written, "{flag}");
        runtime.assert_no_process_left();
    }
}

/// Several of its processes work on one session, one after another; it can neither fork nor delete one.
#[test]
fn acpx_lives_through_a_session() {
    let runtime = runtime();
    let session = last(&runtime, &["sessions", "new", "--name", "one"])["acpxSessionId"].clone();
    let session = session.as_str().expect("an id");
    let answer = last(&runtime, &["--approve-all", "prompt", "-s", "one", "Write a report"]);
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(runtime.read("report.md"), "# Report\n");
    let set = last(&runtime, &["set", "-s", "one", "mode", "plan"]);
    assert_eq!(set["configOptions"][0]["currentValue"], "plan", "{set}");

    let queued = last(&runtime, &["prompt", "--no-wait", "-s", "one", "Go on for ever"]);
    assert_eq!(queued["action"], "prompt_queued");
    // It may not have begun yet.
    let cancelled = || last(&runtime, &["cancel", "-s", "one"])["cancelled"] == true;
    assert!((0..20).any(|_| cancelled()), "the prompt is cancelled");

    let list = last(&runtime, &["sessions", "list"]);
    assert_eq!((&list["source"], &list["sessions"][0]["sessionId"]), (&json!("agent"), &json!(session)));
    assert_eq!(list["sessions"][0]["title"], "Write a report");
    last(&runtime, &["sessions", "close", "one"]);
    runtime.assert_no_process_left();

    last(&runtime, &["sessions", "new", "--name", "two", "--resume-session", session]);
    let (finished, wire) = acpx(&runtime, &["--approve-all", "prompt", "-s", "two", "Once more"]);
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let ids: Vec<&str> = wire.iter().filter_map(|line| line.pointer("/params/update/toolCallId")?.as_str()).collect();
    assert!(ids.contains(&"call-3") && !ids.contains(&"call-1"), "it goes on and is told nothing again: {ids:?}");
    last(&runtime, &["sessions", "close", "two"]);
    runtime.assert_no_process_left();
}
