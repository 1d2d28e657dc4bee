//! `/data` and `/tmp`: folders that belong to a plugin alone, and how a guest that fills them ends.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "looks at what is on the disk")]

use std::fs;
use std::path::{Path, PathBuf};

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

/// A runtime with the hostile guest, which may have 2 MiB in `/data` and 1 MiB in `/tmp`, and a folder for `/tmp` to be in.
fn runtime(config: &str) -> Runtime {
    let runtime = Runtime::new().config(&format!("mode = \"auto\"\n{config}"));
    let temporary = runtime.outside("temporary");
    fs::create_dir(&temporary).unwrap();
    let runtime = runtime.env("TMPDIR", &temporary.display().to_string());
    let guest = build_folder().join("guests/hostile.wasm").display().to_string();
    let installed = runtime.run(&["plugin", "install", "--yes", &guest]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    runtime
}

async fn attempt(editor: &EditorDouble, session: &str, attack: &str, path: &str, to: &str) -> String {
    let arguments = json!({ "attack": attack, "path": path, "to": to });
    editor.prompt(session, &format!("/call hostile__attempt {arguments}")).await.text()
}

/// Bytes and entries below a folder; nothing where there is none.
fn held(folder: &Path) -> (u64, u64) {
    let Ok(entries) = fs::read_dir(folder) else { return (0, 0) };
    entries.map(|entry| entry.unwrap().path()).fold((0, 0), |(bytes, count), path| {
        let (more, below) = if path.is_dir() { held(&path) } else { (fs::metadata(&path).unwrap().len(), 0) };
        (bytes + more, count + below + 1)
    })
}

/// The folder below that has a file of that name.
fn holding(name: &str, folder: &Path) -> Option<PathBuf> {
    if folder.join(name).exists() {
        return Some(folder.to_owned());
    }
    let entries = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).find_map(|path| holding(name, &path))
}

#[tokio::test]
async fn a15_a_guest_that_fills_its_folders_is_told_that_they_are_full() {
    // Ten thousand files take a busy disk longer than a call usually has.
    let runtime = runtime("[limits.plugin]\ncpu_seconds = 60\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let full = "no storage space";
    for (attack, path, expected) in [
        ("rewrite", "/tmp/a", "done: a hundred times".to_owned()),
        ("rewrite", "/data/a", "done: a hundred times".to_owned()),
        ("remove", "/data/a", "done: removed".to_owned()),
        ("sparse", "/tmp/a", "done: Some(StorageFull) Some(StorageFull) 0 bytes".to_owned()),
        ("sparse", "/data/a", "done: Some(StorageFull) Some(StorageFull) 0 bytes".to_owned()),
        ("remove", "/data/a", "done: removed".to_owned()),
        ("hoard", "/tmp/a", format!("done: 16 pieces, then: {full}")),
        ("hoard", "/data/a", format!("done: 32 pieces, then: {full}")),
        ("remove", "/data/a", "done: removed".to_owned()),
        ("fill", "/tmp/a", format!("done: 1024 KiB, then: {full}")),
        ("fill", "/data/a", format!("done: 2048 KiB, then: {full}")),
        // It is kept, and still full; `/tmp` is new each time.
        ("fill", "/data/b", format!("done: 0 KiB, then: {full}")),
        ("write", "/data/c", format!("refused: {full}")),
        ("fill", "/tmp/b", format!("done: 1024 KiB, then: {full}")),
        ("list", "/tmp", "done: ".to_owned()),
        ("list", "/data", "done: a b c".to_owned()),
        ("truncate", "/data/a", "done: truncated".to_owned()),
        ("write", "/data/c", "done: written".to_owned()),
        ("litter", "/tmp", format!("done: 10000 files, then: {full}; a folder: Some(StorageFull)")),
        ("litter", "/data", format!("done: 9997 files, then: {full}; a folder: Some(StorageFull)")),
        ("read", "/data/c", "done: overwritten".to_owned()),
    ] {
        let went = attempt(&editor, &session, attack, path, "").await;
        let told = if expected.starts_with("refused") { went.starts_with("refused: ") } else { went == expected };
        assert!(told, "{attack} {path}: {went}, and not {expected}");
        let (bytes, entries) = held(&runtime.home().join("plugin-data"));
        assert!(bytes <= 2 << 20 && entries <= 10_004, "{attack} {path}: {bytes} bytes, {entries} entries");
    }
    editor.close().await;
    assert_eq!(held(&runtime.outside("temporary")), (0, 0), "nothing is left of `/tmp`");
}

/// They are the plugin's own: nobody is asked, no link leads out, and what is theirs is not what is the session's.
#[tokio::test]
async fn they_are_the_plugin_s_and_nothing_else_is() {
    let runtime = runtime("[files]\ndeny = [\"notes/private/**\"]\n").file("notes/private/a", "private").file("a", "a");
    let other = runtime.outside("other");
    fs::create_dir(&other).unwrap();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(!runtime.home().join("plugin-data").exists(), "it is made when it is looked at");
    for (attack, path, to, expected) in [
        ("write", "/data/a", "", "done: written"),
        ("append", "/data/a", "", "done: appended"),
        ("read", "/data/a", "", "done: overwrittenappended"),
        ("make_folder", "/data/notes", "", "done: made"),
        ("rename", "/data/a", "/data/notes/b", "done: moved"),
        ("list", "/data/notes", "", "done: b"),
        ("hard_link", "/data/notes/b", "/data/c", "refused: "),
        ("rename", "/data/notes/b", "/tmp/b", "refused: "),
        ("rename", "/data/notes/b", "/workspace/notes/b", "refused: "),
        ("rename", "/workspace/notes/private/a", "/data/a", "refused: "),
        ("read", "/data/../a", "", "refused: "),
        ("read", "/data/../../config.toml", "", "refused: "),
        ("read", "/workspace/notes/private/a", "", "refused: "),
        ("remove_folder", "/data/notes", "", "refused: "),
        ("remove", "/data/notes/b", "", "done: removed"),
        ("remove_folder", "/data/notes", "", "done: removed"),
        ("write", "/data/mine", "", "done: written"),
        ("list", "/data", "", "done: mine"),
    ] {
        let went = attempt(&editor, &session, attack, path, to).await;
        assert!(went.starts_with(expected), "{attack} {path} {to}: {went}");
    }
    assert_eq!(editor.permissions().len(), 0);
    // Each project has its own, and each session of a project the same.
    let elsewhere = editor.call("session/new", json!({ "cwd": other, "mcpServers": [] })).await;
    let elsewhere = elsewhere["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(attempt(&editor, &elsewhere, "list", "/data", "").await, "done: ");
    let again = editor.new_session().await;
    assert_eq!(attempt(&editor, &again, "list", "/data", "").await, "done: mine");
    // A link that somebody else has put there is not followed out.
    let data = holding("mine", &runtime.home().join("plugin-data")).expect("it is there");
    std::os::unix::fs::symlink(runtime.home().join("config.toml"), data.join("out")).unwrap();
    std::os::unix::fs::symlink(runtime.home(), data.join("home")).unwrap();
    for (attack, path) in [("read", "/data/out"), ("write", "/data/out"), ("list", "/data/home")] {
        let went = attempt(&editor, &session, attack, path, "").await;
        assert!(went.starts_with("refused: "), "{attack} {path}: {went}");
    }
    editor.close().await;
}

#[tokio::test]
async fn without_the_right_there_is_no_folder() {
    let runtime = runtime("[permission]\ndeny = [\"data\"]\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(attempt(&editor, &session, "write", "/data/a", "").await.starts_with("refused: "));
    assert_eq!(attempt(&editor, &session, "write", "/tmp/a", "").await, "done: written");
    editor.close().await;
    assert!(!runtime.home().join("plugin-data").exists());
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    let line = |class: &str| {
        let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["class"] == class).map(|line| line["decision"].to_string()).next()
    };
    assert_eq!((line("data").as_deref(), line("tmp").as_deref()), (Some("\"deny\""), Some("\"allow\"")));
    let info = runtime.run(&["plugin", "info", "test:hostile"]).stdout;
    for told in ["granted fs.data: \"fills it\"", "limit of /data: 2 MiB", "limit of /tmp: 1 MiB"] {
        assert!(info.contains(told), "{told}: {info}");
    }
}
