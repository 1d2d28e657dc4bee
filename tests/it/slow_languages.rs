//! Plugins in Python, JavaScript and C, from `plugin new` to an answer of the installed plugin, with the tools that
//! `cargo xtask test --slow` sets up in `target/languages`.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::build_folder;

use crate::authoring::workshop::{build_elsewhere, travel};

/// A file of the set-up.
fn tool(path: &str) -> PathBuf {
    let folder = build_folder().parent().expect("a build folder lies in the target folder").join("languages");
    assert!(folder.is_dir(), "{} is not there: `cargo xtask test --slow` sets it up", folder.display());
    folder.join(path)
}

/// A machine that has only these tools beside the system's own.
fn machine() -> Runtime {
    Runtime::new().env("PATH", &format!("{}:/usr/bin:/bin", tool("bin").display()))
}

#[test]
fn a_plugin_in_python_goes_from_nothing_to_an_answer() {
    let bytes = travel(&machine(), "python", |folder| {
        symlink(tool("venv"), folder.join(".venv")).expect("a link");
    });
    assert!(bytes.len() < 24 << 20, "{} bytes", bytes.len());
}

#[test]
fn a_plugin_in_javascript_goes_from_nothing_to_an_answer() {
    let bytes = travel(&machine(), "js", |folder| {
        symlink(tool("node_modules"), folder.join("node_modules")).expect("a link");
    });
    assert!(bytes.len() < 3 << 20, "{} bytes", bytes.len());
}

#[test]
fn a_plugin_in_c_goes_from_nothing_to_an_answer() {
    let runtime = machine().env("WASI_SDK_PATH", &tool("wasi-sdk").display().to_string());
    let bytes = travel(&runtime, "c", |_| {});
    assert!(bytes.len() < 128 << 10, "{} bytes", bytes.len());
    // The name is read out of its JSON whatever is in it.
    let odd = r#"/call hello__greet {"name": "A\"\\\u00e4\ud83d\ude00\n] {"}"#;
    let answer = runtime.run(&["run", odd]);
    assert!(answer.stdout.contains("Hello, A\"\\ä😀\n] {!"), "{answer:?}");
    // Elsewhere the same source gives the same bytes.
    let again = build_elsewhere(&runtime);
    assert!(bytes == again, "{} bytes, and then {}", bytes.len(), again.len());
}
