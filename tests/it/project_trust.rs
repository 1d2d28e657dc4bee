//! A project's own plugins and steering files: nothing of them counts before the person has trusted exactly these.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out what a project brings along")]

use std::fs;

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Runtime};
use serde_json::Value;

const STEERING: &str = ".acp-runtime/steering/style.md";
const PLUGIN: &str = ".acp-runtime/plugins/hostile.wasm";

/// A project that brings a steering file and the hostile guest along, and a provider that says what it was sent.
async fn project() -> (Runtime, ModelDouble) {
    let double = ModelDouble::start((0..8).map(|_| Reply::text("ok")).collect::<Vec<_>>()).await;
    let url = double.base_url();
    let runtime = Runtime::new()
        .config(&format!("[providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\n"))
        .file(STEERING, "Always say aye.")
        .file("inside.txt", "inside");
    let plugin = runtime.project().join(PLUGIN);
    fs::create_dir_all(plugin.parent().unwrap()).unwrap();
    fs::copy(build_folder().join("guests/hostile.wasm"), plugin).unwrap();
    (runtime, double)
}

fn answering(answer: Answer) -> EditorOptions {
    EditorOptions::default().answering(move |_| answer)
}

/// What the provider is told before the conversation in a new session of `editor`.
async fn told(editor: &EditorDouble, double: &ModelDouble) -> String {
    let session = editor.new_session().await;
    editor.prompt(&session, "hi").await;
    let body = double.asked().pop().unwrap().body;
    body["messages"][0]["content"].to_string()
}

/// Until `/trust` says so: an answer in a question is kept when it is there, not when it was given.
async fn until_said(editor: &EditorDouble, session: &str, standing: &str) {
    while !editor.prompt(session, "/trust").await.text().contains(standing) {}
}

async fn has_plugin(editor: &EditorDouble) -> bool {
    let session = editor.new_session().await;
    editor.prompt(&session, "/tools").await.text().contains("hostile__attempt")
}

#[tokio::test]
async fn a50_nothing_is_loaded_before_it_is_trusted_and_a_no_is_not_asked_about_again() {
    let (runtime, double) = project().await;
    let editor = runtime.editor_with(answering(Answer::Pick("reject_once"))).await;
    let session = editor.new_session().await;
    let asked = editor.until_asked(1).await;
    assert_eq!(
        asked.title(),
        "Trust what this project brings along, as it is now? 1 plugin and 1 steering file (not seen before)"
    );
    let shown = asked.call["content"].to_string();
    for expected in
        [STEERING, PLUGIN, "15 bytes that every model is told as your instructions", "asks for `fs.read **`"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let kinds: Vec<&str> = asked.options.iter().filter_map(|option| option["kind"].as_str()).collect();
    assert_eq!(kinds, ["allow_once", "reject_once", "reject_always"]);
    until_said(&editor, &session, "You have not trusted this.").await;
    assert!(!told(&editor, &double).await.contains("aye"));
    assert!(!has_plugin(&editor).await);
    assert_eq!(editor.permissions().len(), 1);
    editor.close().await;
}

#[tokio::test]
async fn a50_what_is_trusted_is_loaded_until_it_changes() {
    let (runtime, double) = project().await;
    let editor = runtime.editor_with(answering(Answer::Pick("allow_once"))).await;
    let session = editor.new_session().await;
    editor.until_asked(1).await;
    until_said(&editor, &session, "You have trusted this, as it is.").await;
    let system = told(&editor, &double).await;
    assert!(
        system.contains("has trusted them: standing instructions") && system.contains("Always say aye."),
        "{system}"
    );

    // The plugin has the rights of one that nobody granted anything: its reads are asked for, no write is.
    let session = editor.new_session().await;
    let read =
        editor.prompt(&session, r#"/call hostile__attempt {"attack":"read","path":"/workspace/inside.txt"}"#).await;
    assert_eq!(read.text(), "done: inside");
    let asked: Vec<String> = editor.permissions().iter().map(|asked| asked.title().to_owned()).collect();
    assert!(asked.iter().any(|title| title.contains("plugin test:hostile: read ")), "{asked:?}");
    let write = r#"/call hostile__attempt {"attack":"write","path":"/workspace/notes/new.txt"}"#;
    let write = editor.prompt(&session, write).await.text();
    assert!(write.starts_with("refused: "), "{write}");

    // One byte is enough.
    fs::write(runtime.project().join(STEERING), "Always say nay.").unwrap();
    let before = editor.permissions().len();
    let session = editor.new_session().await;
    let asked = editor.until_asked(before + 1).await;
    assert_eq!(
        asked.title(),
        "Trust what this project brings along, as it is now? 1 plugin and 1 steering file (changed since you trusted it)"
    );
    editor.prompt(&session, "/trust no").await;
    let system = told(&editor, &double).await;
    assert!(!system.contains("aye") && !system.contains("nay"), "{system}");
    assert!(!has_plugin(&editor).await);
    editor.close().await;
}

#[tokio::test]
async fn a_question_that_nobody_answers_goes_with_its_session() {
    let (runtime, _double) = project().await;
    let editor = runtime.editor_with(answering(Answer::Hold)).await;
    let session = editor.new_session().await;
    editor.until_asked(1).await;
    editor.call("session/close", serde_json::json!({ "sessionId": session })).await;
    editor.until_withdrawn(1).await;
    // It was not answered, so it is asked again.
    editor.new_session().await;
    editor.until_asked(2).await;
    editor.close().await;
}

#[tokio::test]
async fn the_command_line_trusts_lists_and_forgets() {
    let (runtime, _double) = project().await;
    let folder = runtime.project().canonicalize().unwrap().display().to_string();
    let refused = runtime.run(&["trust", "add"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("nobody can be asked") && refused.stderr.contains(STEERING), "{refused:?}");
    assert_eq!(runtime.run(&["trust", "list"]).stdout, "");

    let trusted = runtime.run(&["trust", "add", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let listed = || -> Value { serde_json::from_str(&runtime.run(&["trust", "list", "--json"]).stdout).unwrap() };
    let is = |now: &str| {
        let entry = listed();
        assert_eq!(
            (entry["folder"].as_str(), entry["trusted"].as_bool(), entry["now"].as_str()),
            (Some(&*folder), Some(true), Some(now))
        );
    };
    is("unchanged");
    let status = runtime.run(&["run", "/status"]).stdout;
    assert!(status.contains(&format!("- steering file: `{STEERING}` (15 bytes shown to the model)")), "{status}");
    fs::write(runtime.project().join(".acp-runtime/steering/more.md"), "More.").unwrap();
    is("changed since");
    let status = runtime.run(&["run", "/status"]);
    assert!(!status.stdout.contains("steering file"), "{status:?}");
    assert!(status.stderr.contains("(changed since you trusted it)"), "{status:?}");

    let forgotten = runtime.run(&["trust", "remove"]);
    assert_eq!((forgotten.code, forgotten.stdout), (Some(0), format!("forgotten: {folder}\n")));
    assert_eq!(runtime.run(&["trust", "remove"]).code, Some(2));
    assert_eq!(runtime.run(&["trust", "add", "nowhere"]).code, Some(2));
}

#[tokio::test]
async fn a_bundled_plugin_is_never_replaced_and_links_are_never_followed() {
    let (runtime, _double) = project().await;
    let at = |name: &str| runtime.project().join(name);
    fs::copy(build_folder().join("plugins/notes.wasm"), at(".acp-runtime/plugins/notes.wasm")).unwrap();
    assert_eq!(runtime.run(&["trust", "add", "--yes"]).code, Some(0));
    let plugins = runtime.run(&["run", "/plugins"]);
    assert_eq!(plugins.stdout.matches("`aar:notes`").count(), 1, "{plugins:?}");
    assert!(plugins.stderr.contains("plugin `aar:notes`: the bundled one"), "{plugins:?}");

    fs::write(runtime.outside("evil.md"), "evil").unwrap();
    std::os::unix::fs::symlink(runtime.outside("evil.md"), at(".acp-runtime/steering/evil.md")).unwrap();
    let shown = runtime.run(&["run", "/trust"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stderr.contains("`.acp-runtime/steering/evil.md`: it is a link"), "{shown:?}");
    assert_eq!(runtime.run(&["trust", "add", "--yes"]).code, Some(1));
}

/// The hooks of a project's plugin are met once it is trusted: that they are is what was asked.
#[tokio::test]
async fn a50_hooks_of_a_project_run_once_they_are_trusted_and_not_before() {
    let scenario = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"Done.\" }]\n";
    let runtime = Runtime::scripted(scenario).config(
        "[limits.plugin]\nhook_milliseconds = 5000\n[plugins.settings.\"test:meddler\"]\non = \"user-message\"\n\
         does = \"block\"\ntext = \"the project says no\"\n",
    );
    let plugin = runtime.project().join(".acp-runtime/plugins/meddler.wasm");
    fs::create_dir_all(plugin.parent().unwrap()).unwrap();
    fs::copy(build_folder().join("guests/meddler.wasm"), &plugin).unwrap();
    assert_eq!(runtime.run(&["run", "Hello"]).stdout.trim_end(), "Done.");
    let asked = runtime.run(&["trust", "add"]).stderr;
    assert!(asked.contains("once trusted, its hooks are told of `session-start`"), "{asked}");
    assert_eq!(runtime.run(&["trust", "add", "--yes"]).code, Some(0));
    let blocked = runtime.run(&["run", "Hello"]);
    let told = "the plugin `test:meddler` blocks this prompt: \"the project says no\"";
    assert!(blocked.code == Some(1) && blocked.stderr.contains(told), "{blocked:?}");
    // Another plugin in its place is not trusted.
    fs::copy(build_folder().join("guests/hostile.wasm"), &plugin).unwrap();
    assert_eq!(runtime.run(&["run", "Hello"]).stdout.trim_end(), "Done.");
}

/// A project's own configuration enables nothing, grants nothing and names no code, however it is written.
#[test]
fn a50_a_project_s_configuration_widens_nothing() {
    for (toml, problem) in [
        ("[plugins]\nenabled = ['aar:guard']", "enabled"),
        ("[plugins]\npaths = ['plugins']", "paths"),
        ("[plugins]\nbundled = true", "bundled"),
        ("[plugins.settings.\"aar:guard\"]\non_protected = 'ask'", "settings"),
        ("[permission]\nallow = ['run']", "allow"),
        ("[files]\nbuiltin_deny = false", "builtin_deny"),
        ("[mcp.x]\ncommand = 'sh'", "mcp"),
        ("[providers.x]\nwire = 'ollama'", "providers"),
        ("[secrets]\nstore = 'file'", "secrets"),
        ("[exec]\nx = 1", "exec"),
        ("model = 'none'", "model"),
    ] {
        let runtime = Runtime::new().file(".acp-runtime/config.toml", toml);
        let refused = runtime.run(&["run", "/status"]);
        assert!(refused.code == Some(2) && refused.stderr.contains(&format!("`{problem}`")), "{toml}: {refused:?}");
    }
    let wider = Runtime::new().file(".acp-runtime/config.toml", "mode = 'auto'\n[limits]\nmodel_requests = 1000000\n");
    let status = wider.run(&["run", "/policy"]);
    assert!(status.code == Some(0) && !status.stdout.contains("`auto`"), "{status:?}");
    let write = wider.run(&["run", "/call write_file {\"path\": \"a.txt\", \"content\": \"x\"}"]);
    assert!(write.code == Some(1) && !wider.project().join("a.txt").exists(), "{write:?}");
}
