//! `plugin dev`: what somebody works on is in every open session as long as they do, says so, and is never remembered.
//!
//! The compiler is a double that takes a component from beside it: what is built does not matter here.
#![expect(clippy::disallowed_methods, reason = "changes what an author changes, and starts what an author starts")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStderr, Stdio};

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::shop::{self, Offer};
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

/// What somebody works on is held to the lists of those whose plugins are loaded, like everything else.
#[tokio::test]
async fn whose_plugins_are_loaded_is_looked_at_here_as_well() {
    let runtime = project(Runtime::new(), "tasks", KV);
    let mut author = Author::begin(&runtime, &["--yes"]);
    author.until("(DEV) is in every session");
    for (rules, why) in [
        ("[plugins.deny]\nnamespaces = [\"acme\"]\n", "its namespace `acme` is in `plugins.deny.namespaces`"),
        (
            "[plugins.allow]\npublishers = [\"acme\"]\n",
            "`plugins.allow` has neither its namespace `acme` nor who has signed it, nobody that is known",
        ),
    ] {
        fs::write(runtime.home().join("config.toml"), rules).unwrap();
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        assert!(said(&editor, &session, "/call work__list {}").await.contains("there is no tool `work__list`"));
        let told = format!("plugin `acme:work` (DEV) is not loaded: {why}");
        assert!(editor.stderr().contains(&told), "{}", editor.stderr());
        editor.close().await;
        let list = runtime.run(&["plugin", "list"]);
        assert!(!list.stdout.contains("acme:work") && list.stderr.contains(&told), "{list:?}");
    }
    assert_eq!(author.end(Signal::INT), Some(0));
    let refused = runtime.run(&["plugin", "dev", "work", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let told = "error: `acme:work` cannot be worked on: `plugins.allow` has neither its namespace `acme`";
    assert!(refused.stderr.contains(told) && refused.stderr.contains("hint: "), "{}", refused.stderr);
    fs::write(runtime.home().join("config.toml"), "[plugins.allow]\nnamespaces = [\"acme\"]\n").unwrap();
    let mut author = Author::begin(&runtime, &["--yes"]);
    author.until("(DEV) is in every session");
    assert_eq!(author.end(Signal::INT), Some(0));
}

#[test]
fn it_is_listed_as_long_as_somebody_works_on_it() {
    let runtime = project(Runtime::new(), "tasks", KV);
    let listed = || {
        let list = runtime.run(&["plugin", "list", "--json"]).stdout;
        let lines: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.into_iter().find(|line| line["id"] == "acme:work")
    };
    assert_eq!(listed(), None);
    let mut author = Author::begin(&runtime, &["--yes"]);
    author.until("(DEV) is in every session");
    let line = listed().expect("it is there");
    let folder = runtime.project().join("work").display().to_string();
    assert_eq!((&line["origin"], &line["source"], &line["rights"]), (&json!("DEV"), &json!(folder), &json!(["kv"])));
    let list = runtime.run(&["plugin", "list"]).stdout;
    let line = list.lines().find(|line| line.starts_with("acme:work  ")).expect("it is there");
    assert!(line.starts_with("acme:work  0.1.0  DEV  kv  sha256:"), "{line}");
    let info = runtime.run(&["plugin", "info", "acme:work"]);
    assert!(info.code == Some(0) && info.stdout.starts_with("acme:work 0.1.0 (DEV)\n"), "{info:?}");
    assert_eq!(author.end(Signal::INT), Some(0));
    assert_eq!(listed(), None);
}

/// A session that is opened anew for a new build stays what it was in all else: its MCP servers go on running, and it keeps
/// the code of what is installed that it began with.
#[tokio::test]
async fn a_new_build_changes_nothing_else() {
    let runtime = project(Runtime::new(), "tasks", KV);
    Offer::of("0.1.0", shop::KV).put(&runtime);
    let install = ["plugin", "install", "list.wasm", "--yes"];
    assert_eq!(runtime.run(&install).code, Some(0));
    let editor = runtime.editor().await;
    let server = json!({ "name": "double", "command": env!("CARGO_BIN_EXE_mcp-double"), "args": [], "env": [] });
    let request = json!({ "cwd": runtime.project(), "mcpServers": [server] });
    let session = editor.call("session/new", request).await["sessionId"].as_str().unwrap().to_owned();
    let echo = "/call mcp__double__echo {\"n\": 1}";
    assert!(said(&editor, &session, echo).await.contains("{\"n\":1}"));
    assert!(said(&editor, &session, "/tools").await.contains("`list__list`"));
    let served = || {
        let log = runtime.read("mcp.log");
        (log.lines().filter(|line| line.starts_with("start ")).count(), log.lines().any(|line| line == "eof"))
    };
    assert_eq!(served(), (1, false));
    // Which is not in this session, whatever becomes of it.
    assert_eq!(runtime.run(&["plugin", "remove", "acme:list"]).code, Some(0));
    editor.forget_updates(&session);

    let mut author = Author::begin(&runtime, &["--watch", "--yes"]);
    author.until("(DEV) is in every session");
    until_renewed(&editor, &session).await;
    for round in 0..3 {
        assert!(said(&editor, &session, "/call work__list {}").await.contains("tasks"), "round {round}");
        assert!(said(&editor, &session, echo).await.contains("{\"n\":1}"), "round {round}");
        assert!(said(&editor, &session, "/mcp").await.contains("– connected"), "round {round}");
        assert!(said(&editor, &session, "/tools").await.contains("`list__list`"), "round {round}");
        assert_eq!(served(), (1, false), "round {round}");
        editor.forget_updates(&session);
        let manifest = runtime.read("work/plugin.toml");
        let (before, after) = manifest.split_once("title = \"Work").unwrap();
        fs::write(runtime.project().join("work/plugin.toml"), format!("{before}title = \"Work again{after}")).unwrap();
        author.until("(DEV) is now as it was just built");
        until_renewed(&editor, &session).await;
    }
    // What is ended with its session is ended, also one that was taken over.
    editor.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(served(), (1, true));
    assert!(!editor.new_session().await.is_empty());
    assert_eq!(author.end(Signal::INT), Some(0));
    editor.close().await;
}
