//! Links inside the project: a rule, an answer and a right are about files, whatever name leads to them.
#![cfg(unix)]

use std::os::unix::fs::symlink;

use acp_runtime_tests::{Answer, EditorOptions, Finished, Runtime};
use serde_json::{Value, json};

/// A project in which `notes` leads to `src` and `mig` to `migrations`.
fn linked() -> Runtime {
    let runtime = Runtime::new()
        .file("src/key.txt", "the key\n")
        .file("migrations/1.sql", "one\n")
        .file("readme.md", "the key is elsewhere\n");
    symlink("src", runtime.project().join("notes")).unwrap();
    symlink("migrations", runtime.project().join("mig")).unwrap();
    runtime
}

/// What a call gives that nobody is asked about.
fn call(runtime: &Runtime, options: &[&str], tool: &str, arguments: &Value) -> Finished {
    let prompt = format!("/call {tool} {arguments}");
    runtime.run(&[&["run"], options, &[&prompt]].concat())
}

#[test]
fn what_is_forbidden_is_forbidden_through_a_link() {
    let runtime = linked().config("[permission]\ndeny = [\"write:migrations/**\"]\n");
    let (read, write) = (["--deny", "read:src/**"], ["--allow", "write"]);
    let rule_on_reads = "`read:src/**` is on the deny list";
    for (options, tool, arguments, refused) in [
        (&read[..], "read_file", json!({ "path": "notes/key.txt" }), rule_on_reads),
        (&read, "read_file", json!({ "path": "src/key.txt" }), rule_on_reads),
        (&read, "list_directory", json!({ "path": "notes" }), rule_on_reads),
        (&read, "find_files", json!({ "pattern": "*", "path": "notes" }), rule_on_reads),
        (&read, "grep", json!({ "pattern": "key", "path": "notes/key.txt" }), rule_on_reads),
        (&read, "shell", json!({ "command": "cat key.txt", "cwd": "notes" }), rule_on_reads),
        (&write, "write_file", json!({ "path": "mig/2.sql", "content": "x" }), "`write:migrations/**`"),
        (&write, "write_file", json!({ "path": "mig/new/2.sql", "content": "x" }), "`write:migrations/**`"),
        (
            &write,
            "edit_file",
            json!({ "path": "mig/1.sql", "old_string": "one", "new_string": "two" }),
            "`write:migrations/**` is on the deny list; `mig/1.sql` leads there",
        ),
        // A rule about the link is one about the link.
        (&["--deny", "read:notes/**"], "read_file", json!({ "path": "notes/key.txt" }), "`read:notes/**`"),
        (&["--deny", "read:notes/**"], "read_file", json!({ "path": "src/gone.txt" }), "`src/gone.txt` does not exist"),
    ] {
        let done = call(&runtime, options, tool, &arguments);
        assert!(done.code == Some(1) && done.stderr.contains(refused), "{tool} {arguments}: {done:?}");
        assert!(!done.stdout.contains("key"), "{tool} {arguments}: {done:?}");
    }
    assert_eq!(runtime.read("migrations/1.sql"), "one\n");
    assert!(!runtime.project().join("migrations/2.sql").exists() && !runtime.project().join("migrations/new").exists());
}

#[test]
fn what_may_not_be_read_is_in_no_list() {
    let runtime = linked().file("src/deep/more.txt", "key\n").file(".env", "KEY=1\n");
    for (tool, arguments, expected) in [
        ("list_directory", json!({}), "mig (link)\nmigrations/\nnotes (link)\nreadme.md (21 bytes)"),
        ("find_files", json!({ "pattern": "*.txt" }), "(no file under `.` matches `*.txt`)"),
        ("grep", json!({ "pattern": "key" }), "readme.md:1:the key is elsewhere"),
        ("grep", json!({ "pattern": "KEY", "include": ".*" }), "(no line under `.` matches `KEY`)"),
    ] {
        let done = call(&runtime, &["--deny", "read:src/**"], tool, &arguments);
        assert_eq!((done.code, done.stdout.trim_end()), (Some(0), expected), "{tool} {arguments}: {done:?}");
    }
}

#[test]
fn what_is_allowed_is_the_place() {
    let runtime = linked();
    let arguments = json!({ "path": "notes/new.txt", "content": "x" });
    let refused = call(&runtime, &["--allow", "write:notes/**"], "write_file", &arguments);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let why = "error: write `src/new.txt`: it needs a person's approval and there is nobody to ask; `notes/new.txt`";
    assert!(refused.stderr.contains(why), "{refused:?}");
    assert!(!runtime.project().join("src/new.txt").exists());
    let written = call(&runtime, &["--allow", "write:src/**"], "write_file", &arguments);
    assert_eq!(written.code, Some(0), "{written:?}");
    assert_eq!(runtime.read("src/new.txt"), "x");
}

#[tokio::test]
async fn a_question_names_the_place_and_its_answer_is_about_it() {
    let runtime = linked();
    let editor = runtime.editor_with(EditorOptions::default().answering(|_| Answer::Pick("allow_always"))).await;
    let session = editor.new_session().await;
    let write = |path: &str| format!("/call write_file {}", json!({ "path": path, "content": "x" }));
    editor.prompt(&session, &write("notes/new.txt")).await;
    let asked = editor.permissions();
    assert_eq!(asked[0].title(), "tool write_file: write `src/new.txt` (named `notes/new.txt`)");
    // The same file by its other name: it was answered.
    assert!(editor.prompt(&session, &write("src/new.txt")).await.text().starts_with("Replaced"));
    assert_eq!(editor.permissions().len(), 1);
    editor.prompt(&session, "/permissions deny write_file write:migrations/**").await;
    let refused = editor.prompt(&session, &write("mig/2.sql")).await.text();
    assert!(
        refused.contains("the user has refused `write:migrations/**` for good; `mig/2.sql` leads there"),
        "{refused}"
    );
    assert_eq!(editor.permissions().len(), 1);
    assert!(!runtime.project().join("migrations/2.sql").exists());
    editor.close().await;
}

#[test]
fn a_plugin_s_right_is_one_to_places() {
    let runtime =
        Runtime::new().config("mode = \"auto\"\n").file("src/key.md", "the key\n").file("notes/plan.md", "# plan\n");
    for (link, target) in [("key.md", "../src/key.md"), ("alias.md", "plan.md"), ("out.md", "../src/new.md")] {
        symlink(target, runtime.project().join("notes").join(link)).unwrap();
    }
    let note = |name: &str| json!({ "note": name });
    let done = call(&runtime, &[], "notes__read", &note("alias"));
    assert_eq!((done.code, done.stdout.trim_end()), (Some(0), "# plan"), "{done:?}");
    let undeclared = "the plugin's manifest does not ask for it; `notes/key.md` leads there";
    for (tool, arguments) in [("notes__read", note("key")), ("notes__add", json!({ "title": "key", "text": "more" }))] {
        let done = call(&runtime, &[], tool, &arguments);
        assert!(done.code == Some(1) && done.stderr.contains(undeclared), "{tool}: {done:?}");
    }
    assert_eq!(runtime.read("src/key.md"), "the key\n");

    // The whole folder is a link: no call of the plugin begins.
    let whole = linked().config("mode = \"auto\"\n");
    let done = call(&whole, &[], "notes__list", &json!({}));
    assert!(done.code == Some(1) && done.stderr.contains("`src/**`: the plugin's manifest does not ask"), "{done:?}");

    // What is forbidden to all is forbidden to it, under the name that it uses and under the real one.
    for pattern in ["read:notes/alias.md", "read:notes/plan.md"] {
        let done = call(&runtime, &["--deny", pattern], "notes__read", &note("alias"));
        assert!(done.code == Some(1) && done.stderr.contains("is on the deny list"), "{pattern}: {done:?}");
    }
    let done = call(&runtime, &["--deny", "read:notes/plan.md"], "notes__list", &json!({}));
    assert!(done.code == Some(0) && !done.stdout.contains("plan"), "{done:?}");
}

/// The person's own change, made while they are asked about a plugin's, is not overwritten.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the person's own program writes")]
async fn what_changes_while_a_plugin_asks_is_left_as_it_is() {
    for before in [None, Some("# plan\n")] {
        let mut runtime = Runtime::new().file("notes/other.md", "");
        if let Some(text) = before {
            runtime = runtime.file("notes/plan.md", text);
        }
        let file = runtime.project().join("notes/plan.md");
        let meddling = EditorOptions::default().answering(move |_| {
            std::fs::write(&file, "mine\n").unwrap();
            Answer::Pick("allow_once")
        });
        let editor = runtime.editor_with(meddling).await;
        let session = editor.new_session().await;
        let said = editor.prompt(&session, "/call notes__add {\"title\": \"plan\", \"text\": \"more\"}").await.text();
        assert!(said.contains("it changed while the user was asked, and was left as it is"), "{before:?}: {said}");
        assert_eq!(runtime.read("notes/plan.md"), "mine\n");
        editor.close().await;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "lays out what must not be read")]
async fn a_project_s_settings_are_its_own() {
    for whole in [true, false] {
        let runtime = Runtime::new();
        std::fs::create_dir(runtime.outside("elsewhere")).unwrap();
        std::fs::write(runtime.outside("elsewhere/config.toml"), "mode = 'plan'\n").unwrap();
        if whole {
            symlink("../elsewhere", runtime.project().join(".acp-runtime")).unwrap();
        } else {
            std::fs::create_dir(runtime.project().join(".acp-runtime")).unwrap();
            symlink("../../elsewhere/config.toml", runtime.project().join(".acp-runtime/config.toml")).unwrap();
        }
        let file = runtime.project().join(".acp-runtime/config.toml");
        let refused = format!("`{}` cannot be read: a link leads out of the project's folder", file.display());
        let hint = "make it an ordinary text file in the project's own folder, or remove it";
        let checked = runtime.run(&["config", "check"]);
        assert_eq!((checked.code, checked.stderr), (Some(2), format!("error: {refused}\nhint: {hint}\n")));
        let editor = runtime.editor().await;
        let params = json!({ "cwd": runtime.project(), "mcpServers": [] });
        let error = editor.request("session/new", params).await.unwrap_err();
        assert!(format!("{error:?}").contains("a link leads out of the project's folder"), "{error:?}");
        editor.close().await;
    }
    // Inside, a link is as good as the file.
    let runtime = Runtime::new().file("settings/config.toml", "mode = 'plan'\n");
    symlink("settings", runtime.project().join(".acp-runtime")).unwrap();
    let shown = runtime.run(&["config", "show"]);
    assert!(shown.stdout.contains("mode = \"plan\""), "{shown:?}");
}
