//! Very many installed plugins: what starting costs, and what of them is read for it.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out a store of plugins")]

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorOptions, Runtime};
use serde_json::json;

const MANY: usize = 200;

/// The first section of an installed plugin, which is its manifest, with the beginning of the file.
fn manifest(runtime: &Runtime) -> Vec<u8> {
    runtime.install_guest("imports", "test:imports", "");
    let index = fs::read_to_string(runtime.home().join("plugins/index.toml")).unwrap();
    let digest = index.split("sha256:").nth(1).and_then(|rest| rest.get(..64)).expect("a digest");
    let file = fs::read(runtime.home().join(format!("plugins/sha256/{digest}/plugin.wasm"))).unwrap();
    let (mut length, mut at) = (0, 9);
    for shift in (0..).step_by(7) {
        length |= usize::from(file[at] & 0x7f) << shift;
        at += 1;
        if file[at - 1] & 0x80 == 0 {
            break;
        }
    }
    file[..at + length].to_vec()
}

/// A store of so many plugins, of which nothing but the manifests is of any use: their code is none.
fn crowded() -> Runtime {
    let runtime = Runtime::new();
    let manifest = manifest(&runtime);
    let mut index = String::new();
    for number in 0..MANY {
        let (id, digest) = (format!("test:p{number:06}"), format!("{number:064x}"));
        let named = String::from_utf8_lossy(&manifest).matches("test:imports").count();
        assert_eq!(named, 1, "the manifest has the id once");
        let place = manifest.windows(12).position(|part| part == b"test:imports").unwrap();
        let mut file = manifest.clone();
        file[place..place + 12].copy_from_slice(id.as_bytes());
        // A section of a mebibyte that is no module.
        file.extend([1, 0x80, 0x80, 0x40]);
        let folder = runtime.home().join(format!("plugins/sha256/{digest}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("plugin.wasm"), &file).unwrap();
        let whole = fs::File::options().write(true).open(folder.join("plugin.wasm")).unwrap();
        whole.set_len(file.len() as u64 + (1 << 20)).unwrap();
        let _ = writeln!(
            index,
            "[plugins.\"{id}\"]\nversion = \"0.1.0\"\ndigest = \"sha256:{digest}\"\ngranted = []\nsource = \"here\""
        );
    }
    fs::write(runtime.home().join("plugins/index.toml"), index).unwrap();
    runtime
}

/// From the start of a process to its answer to `initialize`, the quickest of several.
async fn start(runtime: &Runtime) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..7 {
        let begin = Instant::now();
        let editor = runtime.spawn(EditorOptions::default());
        editor.initialize().await;
        best = best.min(begin.elapsed());
        editor.kill().await;
    }
    best
}

#[tokio::test]
async fn a55_two_hundred_plugins_cost_a_start_nothing_and_only_their_manifests_are_read() {
    let (alone, crowded) = (Runtime::new(), crowded());
    let (without, with) = (start(&alone).await, start(&crowded).await);
    assert!(with < without * 3, "{with:?} with them, {without:?} without");

    // All are there in a session; that there is no code is told by the one that is called.
    let editor = crowded.editor().await;
    let session = editor.new_session().await;
    let plugins = editor.prompt(&session, "/plugins").await.text();
    assert_eq!(plugins.matches("`test:p").count(), MANY, "{plugins}");
    let tools = editor.prompt(&session, "/tools").await.text();
    assert_eq!(tools.matches("__imports").count(), MANY, "{tools}");
    let called = editor.prompt(&session, "/call p000007__imports {}").await.call();
    assert!(
        called.status() == "failed" && called.text().contains("is not the file that was installed"),
        "{}",
        called.text()
    );
    let other = editor.prompt(&session, &format!("/call tasks__add {}", json!({ "text": "x" }))).await.call();
    assert_eq!(other.status(), "completed");
    editor.close().await;
}
