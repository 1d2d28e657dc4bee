//! `plugin dev`: what somebody works on is in every open session as long as they do, says so, and is never remembered.
//!
//! The compiler is a double that takes a component from beside it: what is built does not matter here.
#![expect(clippy::disallowed_methods, reason = "changes what an author changes, and starts what an author starts")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr, Stdio};

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, Permission, Runtime};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A project whose plugin is `acme:work`, with the component of that bundled plugin and these rights.
fn project(runtime: Runtime, component: &str, rights: &str) -> Runtime {
    let runtime = change(runtime, component, rights);
    let tool = runtime.project().join("work/node_modules/.bin/componentize-qjs");
    let script = "#!/bin/sh\nfor last; do :; done\ncp component.wasm \"$last\"\n";
    let runtime = runtime
        .file("work/package.json", "{}")
        .file("work/.gitignore", "/dist\n/node_modules\n")
        .file("work/node_modules/.bin/componentize-qjs", script);
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
    runtime
}

/// The same with another component and other rights.
fn change(runtime: Runtime, component: &str, rights: &str) -> Runtime {
    let built = build_folder().join("plugins").join(format!("{component}.wasm"));
    fs::create_dir_all(runtime.project().join("work")).unwrap();
    fs::copy(built, runtime.project().join("work/component.wasm")).unwrap();
    let manifest = format!(
        "id = \"acme:work\"\nversion = \"0.1.0\"\ntitle = \"Work\"\ndescription = \"Work.\"\nlicense = \"MIT\"\n\
         [capabilities]\n{rights}"
    );
    runtime.file("work/plugin.toml", &manifest)
}

const KV: &str = "kv = { reason = \"remembers\" }\n";
const NOTES: &str = "fs.read = [{ glob = \"notes/**\", reason = \"reads\" }]\n\
                     fs.write = [{ glob = \"notes/**\", reason = \"writes\" }]\n";

/// An author at work.
struct Author {
    process: Child,
    told: BufReader<ChildStderr>,
}

impl Author {
    fn begin(runtime: &Runtime, options: &[&str]) -> Self {
        let mut command = runtime.command(&[&["plugin", "dev", "work"], options].concat());
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let told = BufReader::new(process.stderr.take().expect("stderr is a pipe"));
        Self { process, told }
    }

    /// Waits for a line with that in it; all lines up to then.
    fn until(&mut self, wanted: &str) -> String {
        let mut told = String::new();
        loop {
            let before = told.len();
            assert!(self.told.read_line(&mut told).expect("text") > 0, "no `{wanted}` in\n{told}");
            if told[before..].contains(wanted) {
                return told;
            }
        }
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.process), signal).expect("it runs");
        self.process.wait().expect("it ends").code()
    }
}

/// Waits until the session has a command or a panel more or less: it was opened anew.
async fn until_renewed(editor: &EditorDouble, session: &str) {
    editor.until_update(session, "commands", |update| update["sessionUpdate"] == "available_commands_update").await;
    editor.forget_updates(session);
}

async fn said(editor: &EditorDouble, session: &str, line: &str) -> String {
    editor.prompt(session, line).await.text()
}

#[tokio::test]
async fn what_is_worked_on_is_in_open_sessions_until_that_ends() {
    let runtime = project(Runtime::new(), "tasks", KV);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(said(&editor, &session, "/call work__list {}").await.contains("there is no tool `work__list`"));
    editor.forget_updates(&session);

    let mut author = Author::begin(&runtime, &["--watch", "--yes"]);
    author.until("`acme:work` 0.1.0 (DEV) is in every session of your agents");
    until_renewed(&editor, &session).await;
    assert!(said(&editor, &session, "/call work__add {\"text\": \"Write\"}").await.contains("Added 1 task."));
    let list = editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
    let titles: Vec<&Value> = list["panels"].as_array().unwrap().iter().map(|panel| &panel["title"]).collect();
    assert!(titles.contains(&&json!("Tasks (DEV)")) && titles.contains(&&json!("Tasks")), "{titles:?}");
    editor.forget_updates(&session);

    // Another build asks for more than was granted, and has other tools.
    let runtime = change(runtime, "notes", NOTES);
    let told = author.until("(DEV) is now as it was just built");
    assert!(told.contains("not granted fs.write notes/**: `plugin dev` was begun without it"), "{told}");
    until_renewed(&editor, &session).await;
    assert!(said(&editor, &session, "/call work__list {}").await.contains("There are no notes."));
    let denied = said(&editor, &session, "/call work__add {\"text\": \"x\", \"title\": \"A\"}").await;
    assert!(denied.contains("error: "), "{denied}");
    assert!(!runtime.project().join("notes").exists());

    // A build that fails leaves the one before.
    let runtime = runtime.file("work/plugin.toml", "id = 1\n");
    author.until("error: `work/plugin.toml`");
    assert!(said(&editor, &session, "/call work__list {}").await.contains("There are no notes."));
    editor.forget_updates(&session);

    assert_eq!(author.end(Signal::INT), Some(0));
    until_renewed(&editor, &session).await;
    assert!(said(&editor, &session, "/call work__list {}").await.contains("there is no tool `work__list`"));
    let left: Vec<_> = fs::read_dir(runtime.home().join("developments")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the lock: {left:?}");
    editor.close().await;
}

#[tokio::test]
async fn questions_say_that_it_is_worked_on_and_no_answer_is_remembered() {
    let runtime = project(Runtime::new(), "notes", NOTES);
    let mut author = Author::begin(&runtime, &["--yes"]);
    author.until("(DEV) is in every session");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let added = said(&editor, &session, "/call work__add {\"text\": \"x\", \"title\": \"A\"}").await;
    assert!(added.contains("Added to `notes/a.md`."), "{added}");
    let asked = editor.permissions();
    let titles: Vec<&str> = asked.iter().map(Permission::title).collect();
    assert!(
        titles.iter().all(|title| title.starts_with("DEV: plugin acme:work: ")) && !titles.is_empty(),
        "{titles:?}"
    );
    let options = Value::from(asked[0].options.clone()).to_string();
    assert!(!options.contains("allow_always") && options.contains("allow_once"), "{options}");

    // Whoever is killed works on nothing any more, and somebody else can begin.
    editor.forget_updates(&session);
    author.end(Signal::KILL);
    until_renewed(&editor, &session).await;
    assert!(said(&editor, &session, "/call work__list {}").await.contains("there is no tool `work__list`"));
    let mut other = Author::begin(&runtime, &["--yes"]);
    other.until("(DEV) is in every session");
    let second = runtime.run(&["plugin", "dev", "work", "--yes"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("error: another process works on `acme:work` already\n"), "{}", second.stderr);
    assert_eq!(other.end(Signal::TERM), Some(0));
    editor.close().await;
}

#[test]
fn rights_are_asked_for_before_anything_is_loaded() {
    let runtime = project(Runtime::new(), "tasks", KV);
    let refused = runtime.run(&["plugin", "dev", "work"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let told = "error: `acme:work` 0.1.0 was not begun: nobody can be asked whether to grant its rights\n";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(!runtime.home().join("developments").exists());
}
