//! Three clients that nobody here wrote drive the real binary: the TypeScript SDK, the Python SDK, acpx. The binary drives
//! two MCP servers (`mcp`).
//!
//! They are set up in `target/foreign` by `cargo xtask test`, which leaves this module out where they cannot be had.
#![expect(clippy::disallowed_methods, reason = "foreign clients are processes of their own")]

mod mcp;

use std::path::{Path, PathBuf};
use std::process::Command;

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::{binary, build_folder, finish};
use serde_json::Value;

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

/// Runs a client script to its summary, and checks what it saw.
fn check(runtime: &Runtime, mut client: Command, script: &str) {
    client.arg(own(script)).arg(runtime.project()).arg("Write a report").arg(binary()).arg("--acp");
    runtime.furnish(&mut client);
    let finished = finish(client);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let summary: Value = serde_json::from_str(&finished.stdout).expect("one JSON summary");
    assert_eq!(summary["protocolVersion"], 1);
    assert_eq!(summary["agent"], "acp-runtime");
    assert_eq!(summary["stopReason"], "end_turn");
    assert_eq!(summary["text"], "Working. All done.");
    assert_eq!(summary["tools"].as_array().map(Vec::len), Some(2), "{summary}");
    let asked = summary["permissions"].as_array().expect("a list");
    assert!(asked.len() == 1 && asked[0].as_str().is_some_and(|title| title.contains("report.md")), "{summary}");
    assert_eq!(runtime.read("report.md"), "# Report\n");
    runtime.assert_no_process_left();
}

#[test]
fn the_typescript_sdk() {
    let sdk = foreign("npm/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js");
    let runtime = runtime().env("ACP_SDK", &sdk.display().to_string());
    check(&runtime, Command::new(foreign("node")), "ts_client.mjs");
}

#[test]
fn the_python_sdk() {
    check(&runtime(), Command::new(foreign("venv/bin/python")), "py_client.py");
}

#[test]
fn acpx() {
    for (flag, code, written) in [("--approve-all", 0, true), ("--deny-all", 5, false)] {
        let runtime = runtime();
        let agent = format!("{} --acp", binary().display());
        let mut acpx = Command::new(foreign("node"));
        acpx.arg(foreign("npm/node_modules/acpx/dist/cli.js")).arg("--cwd").arg(runtime.project());
        acpx.args(["--agent", &agent, flag, "--format", "json", "--json-strict", "exec", "Write a report"]);
        runtime.furnish(&mut acpx);
        let finished = finish(acpx);
        assert_eq!(finished.code, Some(code), "{flag}: {}{}", finished.stdout, finished.stderr);
        let wire: Vec<Value> = finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let has =
            |pointer: &str, value: &str| wire.iter().any(|message| message.pointer(pointer) == Some(&value.into()));
        assert!(has("/result/agentInfo/name", "acp-runtime"), "{flag}: {}", finished.stdout);
        assert!(has("/method", "session/request_permission"), "{flag}: {}", finished.stdout);
        assert!(has("/params/update/content/text", "Working. "), "{flag}: {}", finished.stdout);
        assert_eq!(runtime.project().join("report.md").exists(), written, "{flag}");
        runtime.assert_no_process_left();
    }
}
