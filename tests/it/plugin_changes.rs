//! What is installed, changed while an agent runs: a session that is opened then has what there is, and one that is open
//! what it began with.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "looks into the store, and damages it")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use acp_runtime_tests::shop::{KV, NET, Offer};
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

/// Builds that version of `acme:list` and installs it.
fn install(runtime: &Runtime, version: &str) -> String {
    Offer::of(version, KV).put(runtime);
    run(runtime, &["plugin", "install", "list.wasm", "--yes"]);
    installed(runtime).expect("it is installed")
}

fn run(runtime: &Runtime, arguments: &[&str]) {
    let done = runtime.run(arguments);
    assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
}

/// The digest of what is installed.
fn installed(runtime: &Runtime) -> Option<String> {
    let list = runtime.run(&["plugin", "list", "--json"]).stdout;
    let mut lines = list.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ours = lines.find(|line| line["id"] == "acme:list")?;
    Some(ours["digest"].as_str().expect("a digest").to_owned())
}

/// The digest of the code that runs when the session calls the plugin; none where it has none.
async fn runs(runtime: &Runtime, editor: &EditorDouble, session: &str) -> Option<String> {
    let answer = editor.prompt(session, "/call list__list {}").await.text();
    if answer.contains("there is no tool `list__list`") {
        return None;
    }
    let audit = runtime.run(&["audit", "show", "--json", "--session", session, "--plugin", "acme:list"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
    let lines = audit.stdout.lines().rev().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let digest = lines.into_iter().find_map(|line| Some(line["digest"].as_str()?.to_owned()));
    Some(digest.unwrap_or_else(|| panic!("no code was run: {answer}\n{}", audit.stdout)))
}

fn files(runtime: &Runtime) -> BTreeSet<String> {
    let folders = fs::read_dir(runtime.home().join("plugins/sha256")).into_iter().flatten().flatten();
    folders.map(|folder| format!("sha256:{}", folder.file_name().to_string_lossy())).collect()
}

#[tokio::test]
async fn sessions_with_old_and_new_code_live_side_by_side() {
    let runtime = Runtime::new();
    let first = install(&runtime, "0.1.0");
    let editor = runtime.editor().await;
    let one = editor.new_session().await;
    assert_eq!(runs(&runtime, &editor, &one).await, Some(first.clone()));

    Offer::of("0.2.0", KV).put(&runtime);
    run(&runtime, &["plugin", "update", "--all"]);
    let second = installed(&runtime).expect("it is installed");
    assert_ne!(first, second);
    let two = editor.new_session().await;
    // In turns, so that neither has what the other called last.
    for _ in 0..2 {
        assert_eq!(runs(&runtime, &editor, &one).await, Some(first.clone()));
        assert_eq!(runs(&runtime, &editor, &two).await, Some(second.clone()));
    }

    run(&runtime, &["plugin", "rollback", "acme:list"]);
    let three = editor.new_session().await;
    run(&runtime, &["plugin", "remove", "acme:list"]);
    let four = editor.new_session().await;
    let third = install(&runtime, "0.3.0");
    let five = editor.new_session().await;
    assert_eq!(files(&runtime), BTreeSet::from([first.clone(), second.clone(), third.clone()]), "they are in use");
    for (session, expected) in
        [(&one, Some(&first)), (&two, Some(&second)), (&three, Some(&first)), (&four, None), (&five, Some(&third))]
    {
        assert_eq!(runs(&runtime, &editor, session).await.as_ref(), expected);
    }

    // A session that is opened again by the client is a new one in this.
    let request = |session: &str| json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });
    for (method, session) in [("session/load", &one), ("session/resume", &two), ("session/load", &four)] {
        editor.call(method, request(session)).await;
        assert_eq!(runs(&runtime, &editor, session).await, Some(third.clone()), "{method}");
    }
    let fork = editor.fork_session(&three, Value::Null).await;
    assert_eq!(runs(&runtime, &editor, &fork).await, Some(third));
    assert_eq!(runs(&runtime, &editor, &three).await, Some(first));
    editor.close().await;
}

#[tokio::test]
async fn what_is_installed_first_while_an_agent_runs_is_in_its_next_session() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let before = editor.new_session().await;
    assert_eq!(runs(&runtime, &editor, &before).await, None);
    let digest = install(&runtime, "0.1.0");
    let answer = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await;
    let switches = answer["configOptions"].as_array().expect("options");
    assert!(switches.iter().any(|option| option["id"] == "plugin:acme:list"), "{answer}");
    let after = answer["sessionId"].as_str().expect("an id");
    assert_eq!(runs(&runtime, &editor, after).await, Some(digest));
    assert_eq!(runs(&runtime, &editor, &before).await, None);
    editor.close().await;
}

#[tokio::test]
async fn what_waits_is_in_no_session_before_it_is_approved() {
    let runtime = Runtime::new();
    let first = install(&runtime, "0.1.0");
    let editor = runtime.editor().await;
    let one = editor.new_session().await;
    let rights = format!("{KV}{NET}");
    Offer::of("0.2.0", &rights).put(&runtime);
    assert_eq!(runtime.run(&["plugin", "update", "--all"]).code, Some(1));
    let two = editor.new_session().await;
    assert_eq!(runs(&runtime, &editor, &two).await, Some(first.clone()));
    let waiting = editor.prompt(&two, "/plugins waiting").await.text();
    let approve = waiting.rsplit('`').nth(1).expect("a command between two marks").to_owned();
    let approved = editor.prompt(&two, &approve).await.text();
    assert!(approved.contains("those that are opened from now on use this one"), "{approved}");
    let three = editor.new_session().await;
    let second = installed(&runtime).expect("it is installed");
    assert_ne!(first, second);
    for (session, expected) in [(&one, &first), (&two, &first), (&three, &second)] {
        assert_eq!(runs(&runtime, &editor, session).await.as_ref(), Some(expected));
    }
    editor.close().await;
}

/// Where nothing was installed since, nothing of a plugin is read for another session.
#[tokio::test]
async fn nothing_is_read_again_where_nothing_has_changed() {
    let runtime = Runtime::new();
    install(&runtime, "0.1.0");
    let editor = runtime.editor().await;
    let one = editor.new_session().await;
    assert!(runs(&runtime, &editor, &one).await.is_some());
    fs::remove_dir_all(runtime.home().join("plugins/sha256")).expect("it was there");
    let two = editor.new_session().await;
    assert!(runs(&runtime, &editor, &two).await.is_some(), "it is compiled, and stays so");
    editor.close().await;
}

/// The store of a process that looks as if nothing were there is not taken for an empty one, and is looked at again.
#[tokio::test]
async fn an_index_that_cannot_be_read_is_tried_again() {
    let runtime = Runtime::new();
    let digest = install(&runtime, "0.1.0");
    let index = runtime.home().join("plugins/index.toml");
    let text = fs::read_to_string(&index).expect("the index");
    let editor = runtime.editor().await;
    let one = editor.new_session().await;
    fs::write(&index, "broken").expect("it is written");
    let two = editor.new_session().await;
    assert_eq!(runs(&runtime, &editor, &two).await, None);
    assert!(editor.stderr().contains("index.toml` cannot be read"), "{}", editor.stderr());
    fs::write(&index, text).expect("it is written");
    let three = editor.new_session().await;
    for session in [&one, &three] {
        assert_eq!(runs(&runtime, &editor, session).await, Some(digest.clone()));
    }
    editor.close().await;
}

/// Whether the process has the project's folder open, which is so while a session in it is in memory.
fn is_loaded(runtime: &Runtime, editor: &EditorDouble) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", editor.process().as_raw_nonzero())).expect("it is running");
    let project = runtime.project().canonicalize().expect("the project is there");
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|place| place == project))
}

/// A session that is on disk alone for a while is open to its client, and stays what it was.
#[tokio::test]
async fn a_session_that_was_unloaded_keeps_its_code() {
    let runtime = Runtime::new().config("[session]\nunload_after = 0.05\n");
    let first = install(&runtime, "0.1.0");
    let editor = runtime.editor().await;
    let one = editor.new_session().await;
    assert_eq!(runs(&runtime, &editor, &one).await, Some(first.clone()));
    for version in ["0.2.0", "0.3.0"] {
        install(&runtime, version);
    }
    let begin = Instant::now();
    while is_loaded(&runtime, &editor) {
        assert!(begin.elapsed() < Duration::from_secs(30), "nothing is unloaded");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(runs(&runtime, &editor, &one).await, Some(first));
    editor.close().await;
}

/// Files stay as long as a session uses them, and no longer: also in a process that goes on.
#[tokio::test]
async fn what_no_session_uses_any_more_is_removed_while_the_agent_runs() {
    let runtime = Runtime::new();
    let first = install(&runtime, "0.1.0");
    let editor = runtime.editor().await;
    let one = editor.new_session().await;
    let second = install(&runtime, "0.2.0");
    let third = install(&runtime, "0.3.0");
    let two = editor.new_session().await;
    assert_eq!(files(&runtime), BTreeSet::from([first.clone(), second.clone(), third.clone()]));
    assert_eq!(runs(&runtime, &editor, &one).await, Some(first));
    editor.call("session/close", json!({ "sessionId": one })).await;
    // What is let go of is seen by whoever changes something then.
    let is_held = |path: &Path| fs::File::open(path).is_ok_and(|file| file.try_lock().is_err());
    let leases = || {
        let leases = fs::read_dir(runtime.home().join("plugins/leases")).expect("a folder").flatten();
        leases.filter(|lease| is_held(&lease.path())).count()
    };
    let begin = Instant::now();
    while leases() > 1 {
        assert!(begin.elapsed() < Duration::from_secs(30), "the first session holds its files still");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let fourth = install(&runtime, "0.4.0");
    assert_eq!(files(&runtime), BTreeSet::from([third.clone(), fourth]));
    assert_eq!(runs(&runtime, &editor, &two).await, Some(third));
    editor.close().await;
}
