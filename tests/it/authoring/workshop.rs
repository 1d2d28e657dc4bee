//! A machine with the compilers that the set-up has made, and the way of an author on it.
#![expect(clippy::disallowed_methods, reason = "asks the set-up's script, and changes what an author changes")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use acp_runtime_tests::runtime::{build_folder, finish_within};
use acp_runtime_tests::{Finished, Runtime};

/// How long a compiler may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(15);

/// Where the tests build what authors build: kept, so that dependencies are compiled once.
pub fn workshop(name: &str) -> PathBuf {
    build_folder().parent().expect("a build folder lies in the target folder").join("authoring").join(name)
}

/// A machine with these variables of the tests' own environment.
pub fn machine(variables: &[&str]) -> Runtime {
    let own = variables.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?)));
    own.fold(Runtime::new(), |runtime, (name, value)| runtime.env(name, &value))
}

/// A machine that builds Rust for WebAssembly.
pub fn with_rust() -> Runtime {
    let home = std::env::var("HOME").expect("a home");
    let runtime = machine(&["CARGO", "RUSTUP_TOOLCHAIN", "CARGO_NET_OFFLINE"]);
    let mut runtime = runtime.env("CARGO_TARGET_DIR", &workshop("rust").display().to_string());
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let place = std::env::var(name).unwrap_or_else(|_| format!("{home}/{folder}"));
        runtime = runtime.env(name, &place);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/wasm-toolchain.sh");
    let told = Command::new("bash").arg(script).arg("env").output().expect("bash is there");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).expect("text");
    let variables: BTreeMap<&str, &str> = told.lines().filter_map(|line| line.split_once('=')).collect();
    variables.into_iter().fold(runtime, |runtime, (name, value)| runtime.env(name, value))
}

/// Runs the binary; compilers take their time.
pub fn run(runtime: &Runtime, arguments: &[&str]) -> Finished {
    finish_within(runtime.command(arguments), PATIENCE)
}

/// The same, which has to succeed.
pub fn succeed(runtime: &Runtime, arguments: &[&str]) -> Finished {
    let finished = run(runtime, arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}\n{}\n{}", finished.stdout, finished.stderr);
    finished
}

/// An author's way with a new plugin `acme:hello` in that language: laid out, prepared by `prepare`, tested, installed,
/// called. Answers the bytes that were built.
pub fn travel(runtime: &Runtime, language: &str, prepare: impl FnOnce(&Path)) -> Vec<u8> {
    let laid_out = succeed(runtime, &["plugin", "new", "acme:hello", "--lang", language]);
    assert_eq!(laid_out.stdout, "hello\n");
    let folder = runtime.project().join("hello");
    prepare(&folder);
    let built = succeed(runtime, &["plugin", "build", "hello"]);
    assert_eq!(built.stdout, "hello/dist/acme-hello.wasm\n", "{}", built.stderr);
    let bytes = std::fs::read(folder.join("dist/acme-hello.wasm")).expect("it was built");
    let tested = succeed(runtime, &["plugin", "test", "hello", "--json"]);
    let last = tested.stdout.lines().last().unwrap_or_default();
    let last: serde_json::Value = serde_json::from_str(last).expect("a line of JSON");
    assert_eq!(last, serde_json::json!({ "passed": 2, "failed": 0 }), "{}", tested.stdout);
    let info = succeed(runtime, &["plugin", "info", "hello/dist/acme-hello.wasm"]).stdout;
    assert!(info.contains("tool greet: Greets somebody by name."), "{info}");
    succeed(runtime, &["plugin", "install", "hello/dist/acme-hello.wasm", "--yes"]);
    let answer = succeed(runtime, &["run", "/call hello__greet {\"name\": \"Ada\"}"]);
    assert!(answer.stdout.contains("Hello, Ada!"), "{answer:?}");
    let refused = run(runtime, &["run", "/call hello__greet {\"nam\": \"Ada\"}"]);
    assert_eq!(refused.code, Some(2), "arguments are checked by the tool's schema: {refused:?}");
    bytes
}

/// What the plugin of [`travel`] is built as once it was moved to another place; the place is `deep/down/there`.
pub fn build_elsewhere(runtime: &Runtime) -> Vec<u8> {
    let elsewhere = runtime.project().join("deep/down");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    std::fs::rename(runtime.project().join("hello"), elsewhere.join("there")).expect("it is moved");
    succeed(runtime, &["plugin", "build", "deep/down/there", "--output", "again.wasm"]);
    let again = std::fs::read(runtime.project().join("again.wasm")).expect("it was built");
    let place = runtime.project().display().to_string();
    assert!(!String::from_utf8_lossy(&again).contains(&place), "where it was built is nobody's business");
    again
}
