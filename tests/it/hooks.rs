//! Hooks in the real binary: `aar:guard` as people have it, and `tests/guests/meddler`, which does what it must not.
#![expect(clippy::disallowed_methods, reason = "reads what was written and audited")]

use std::fs;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, EditorOptions, Permission, Runtime, Turn};
use serde_json::{Value, json};

/// Writes `PATH` in every turn, and then says so.
fn writes(path: &str) -> String {
    format!(
        "quiet = true\nrepeat = true\n\
         [[reply]]\nsteps = [{{ call = {{ tool = \"write_file\", arguments = {{ path = \"{path}\", content = \"x\" }} }} }}]\n\
         [[reply]]\nsteps = [{{ text = \"Done.\" }}]\n"
    )
}

const GUARD: &str = "mode = \"auto\"\n[plugins]\nenabled = [\"aar:guard\"]\n";

/// A runtime with the guest, which does that.
fn meddled(path: &str, mode: &str, on: &str, does: &str, text: &str) -> Runtime {
    meddling(Runtime::scripted(&writes(path)), mode, on, does, text)
}

/// The same where the model does something else.
fn meddling(runtime: Runtime, mode: &str, on: &str, does: &str, text: &str) -> Runtime {
    let guest = build_folder().join("guests/meddler.wasm").display().to_string();
    let text = serde_json::Value::from(text);
    let runtime = runtime.config(&format!(
        "mode = \"{mode}\"\n[limits.plugin]\nhook_milliseconds = 500\n\
         [plugins.settings.\"test:meddler\"]\non = \"{on}\"\ndoes = \"{does}\"\ntext = {text}\n"
    ));
    let installed = runtime.run(&["plugin", "install", "--yes", &guest]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    runtime
}

/// The turn of a prompt, and all that the person was asked in it.
async fn prompted(runtime: &Runtime, prompt: &str, answer: &'static str) -> (Turn, Vec<String>) {
    let yes = move |_: &Permission| Answer::Pick(answer);
    let editor = runtime.editor_with(EditorOptions::default().answering(yes)).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, prompt).await;
    let asked = editor.permissions().iter().map(|asked| asked.title().to_owned()).collect();
    editor.close().await;
    (turn, asked)
}

/// What a person types to the runtime is answered by the runtime, whatever plugins call their commands.
#[tokio::test]
async fn a39_no_plugin_answers_in_the_runtimes_place() {
    let names = |update: Value| -> Vec<String> {
        let commands = update["availableCommands"].as_array().expect("a list").clone();
        commands.iter().map(|command| command["name"].as_str().expect("a name").to_owned()).collect()
    };
    let plain = Runtime::new().config("[plugins]\nbundled = false\n").editor().await;
    let session = plain.new_session().await;
    plain.prompt(&session, "/status").await;
    let told = plain.updates(&session).into_iter().rfind(|update| !update["availableCommands"].is_null());
    let own = names(told.expect("commands are told"));
    assert!(own.len() >= 17 && own.contains(&"permissions".to_owned()), "{own:?}");
    plain.close().await;

    let runtime = meddled("a.txt", "auto", "", "", "");
    let info: Value = serde_json::from_str(&runtime.run(&["plugin", "info", "test:meddler", "--json"]).stdout).unwrap();
    let theirs: Vec<&str> = info["commands"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert_ne!(editor.prompt(&session, "/told").await.text(), "", "its own command is there");
    for name in own {
        assert!(theirs.contains(&name.as_str()), "the guest tries `/{name}` as well: {theirs:?}");
        let said = match editor.turn(editor.begin_prompt(&session, &format!("/{name}"))).await {
            Ok(turn) => turn.text(),
            Err(error) => error.message,
        };
        assert!(!said.contains("usurped"), "/{name}: {said}");
    }
    editor.close().await;
}

#[tokio::test]
async fn the_guard_is_off_until_it_is_enabled() {
    let runtime = Runtime::scripted(&writes("Cargo.lock")).config("mode = \"auto\"\n");
    let (turn, asked) = prompted(&runtime, "Write", "allow_once").await;
    assert_eq!((turn.call().status(), asked), ("completed", Vec::new()));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let listed = editor.prompt(&session, "/plugins").await.text();
    assert!(listed.contains("- `aar:guard` (disabled by default, since it has hooks) – Guard: "), "{listed}");
    let told = editor.prompt(&session, "/plugins on guard").await.text();
    assert!(told.contains("disabled by default, since it has hooks: add it to `plugins.enabled` in `"), "{told}");
    editor.close().await;
    let list = runtime.run(&["plugin", "list"]).stdout;
    assert!(list.contains("aar:guard  0.1.0  disabled  hooks  -  Blocks edits"), "{list}");
    let info = runtime.run(&["plugin", "info", "guard"]).stdout;
    for line in [
        "hook tool-call: priority 10\n",
        "granted hooks tool-call (reads every tool call, and may change it, stop it or ask about it): \"stops calls",
        "limit of a hook: 1s, of which it may compute 50ms\n",
    ] {
        assert!(info.contains(line), "`{line}` is not in {info}");
    }
}

#[tokio::test]
async fn the_guard_stops_edits_of_protected_paths() {
    let runtime = Runtime::scripted(&writes("Cargo.lock")).config(GUARD);
    let (turn, asked) = prompted(&runtime, "Write", "allow_once").await;
    let call = turn.call();
    assert_eq!((call.status(), asked), ("failed", Vec::new()));
    assert!(
        call.text().contains("the plugin `aar:guard` blocks this call: \"`Cargo.lock` is protected\""),
        "{}",
        call.text()
    );
    assert!(!runtime.project().join("Cargo.lock").exists());
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    let lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_call =
        lines.filter(|line| line["call"] == "call-1" && line["class"] == "hook" && line["key"] == "tool-call");
    let decided: Vec<_> =
        of_call.map(|line| (line["plugin"].clone(), line["decision"].clone(), line["by"].clone())).collect();
    assert_eq!(json!(decided), json!([["aar:guard", "allow", "policy"], ["aar:guard", "deny", "block"]]));
    // What is not protected is written, and what it asks about is asked in every mode.
    let (turn, _) = prompted(&Runtime::scripted(&writes("a.txt")).config(GUARD), "Write", "allow_once").await;
    assert_eq!(turn.call().status(), "completed");
    let asks = format!("{GUARD}[plugins.settings.\"aar:guard\"]\non_protected = \"ask\"\nprotected = [\"a.*\"]\n");
    for (answer, status) in [("allow_once", "completed"), ("reject_once", "failed")] {
        let (turn, asked) = prompted(&Runtime::scripted(&writes("a.txt")).config(&asks), "Write", answer).await;
        let question =
            "tool write_file: read `a.txt`, write `a.txt` – plugin `aar:guard` asks: \"'a.txt' is protected\"";
        assert_eq!((turn.call().status(), asked.as_slice()), (status, &[question.to_owned()][..]));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_leads_around_no_guard() {
    let runtime = Runtime::scripted(&writes("alias")).config(GUARD).file("Cargo.lock", "locked");
    std::os::unix::fs::symlink("Cargo.lock", runtime.project().join("alias")).unwrap();
    let (turn, _) = prompted(&runtime, "Write", "allow_once").await;
    assert_eq!(turn.call().status(), "failed");
    assert_eq!(runtime.read("Cargo.lock"), "locked");
}

#[tokio::test]
async fn the_guard_keeps_keys_from_the_model() {
    let key = format!("sk-ant-{}", "a1B2c3D4".repeat(5));
    let runtime = Runtime::scripted(&writes("a.txt")).config(GUARD);
    let (turn, _) = prompted(&runtime, &format!("Use {key}"), "allow_once").await;
    assert!(
        turn.text()
            .starts_with("error: the plugin `aar:guard` blocks this prompt: \"there is a key of Anthropic in it\"")
    );
    assert!(turn.text().contains("hint: to do without this plugin in this session, type `/plugins off aar:guard`"));
    let removes = format!("{GUARD}[plugins.settings.\"aar:guard\"]\non_secret = \"remove\"\n");
    let (turn, _) =
        prompted(&Runtime::scripted(&writes("a.txt")).config(&removes), &format!("Use {key}"), "allow_once").await;
    assert!(turn.text().contains("> Use [removed: a key of Anthropic]"), "{}", turn.text());
    // Without a person, too.
    let failed = runtime.run(&["run", &format!("Use {key}")]);
    assert!(failed.code == Some(1) && failed.stderr.contains("blocks this prompt"), "{failed:?}");
}

/// A guard that cannot be used does not leave the gate open, and a project cannot take it away.
#[tokio::test]
async fn a_guard_is_not_lost_by_accident() {
    let broken = format!("{GUARD}[plugins.settings.\"aar:guard\"]\nprotected = \"none\"\n");
    let runtime = Runtime::scripted(&writes("a.txt")).config(&broken);
    let (turn, _) = prompted(&runtime, "Write", "allow_once").await;
    let told = turn.text();
    assert!(
        told.contains("the plugin `aar:guard` was to decide about this prompt, and its hook failed: its settings"),
        "{told}"
    );
    let file = runtime.home().join("config.toml").display().to_string();
    let hint = format!("hint: correct `[plugins.settings.\"aar:guard\"]` in `{file}`, and restart the agent");
    assert!(told.contains(&hint), "{told}");
    let project = Runtime::scripted(&writes("Cargo.lock"))
        .config(GUARD)
        .file(".acp-runtime/config.toml", "plugins.disabled = ['aar:guard']\npermission.deny = ['plugin', 'prompt']\n");
    let (turn, _) = prompted(&project, "Write", "allow_once").await;
    assert_eq!(turn.call().status(), "failed");
}

/// Whatever a hook for tool calls does: the call is not made, and the reason is said.
#[tokio::test]
async fn a45_a_hook_that_fails_stops_the_call_and_nothing_else() {
    for (does, text, expected) in [
        ("loop", "", "its hook failed: the plugin was stopped: it computed for longer than 500ms"),
        ("panic", "", "its hook failed: the plugin failed: wasm trap"),
        ("flood", "", "its hook failed: "),
        ("replace", "{\"path\": 1}", "its hook failed: the tool does not take what it puts in its place"),
        ("replace", "rm -rf", "its hook failed: what it puts in its place is not JSON"),
        ("block", "no\u{1b}[31m, \u{202e}never", "blocks this call: \"no[31m, never\""),
    ] {
        let runtime = meddled("a.txt", "auto", "tool-call", does, text);
        let (turn, _) = prompted(&runtime, "Write", "allow_once").await;
        let call = turn.call();
        assert!(call.status() == "failed" && call.text().contains(expected), "{does}: {}", call.text());
        assert!(turn.text().ends_with("Done."), "the turn goes on: {}", turn.text());
        assert!(!runtime.project().join("a.txt").exists());
    }
}

/// What comes out of a hook is judged as if the model had asked for that.
#[tokio::test]
async fn a45_a_hook_replaces_no_call_by_a_forbidden_one() {
    for (mode, text, expected, asked_for) in [
        ("auto", json!({ "path": ".env", "content": "x" }), "`**/.env` is on the deny list", None),
        ("auto", json!({ "path": "../out", "content": "x" }), "leaves the workspace", None),
        ("read-only", json!({ "path": "b.txt", "content": "x" }), "the session is in mode `read-only`", None),
        (
            "review",
            json!({ "path": "b.txt", "content": "x" }),
            "the user refused",
            Some("tool write_file: write `b.txt`"),
        ),
    ] {
        let text = text.to_string();
        let runtime = meddled("a.txt", mode, "tool-call", "replace", &text);
        let (turn, asked) = prompted(&runtime, "Write", "reject_once").await;
        let call = turn.call();
        assert!(call.status() == "failed" && call.text().contains(expected), "{text}: {}", call.text());
        assert!(call.text().contains("The call was changed by the plugin `test:meddler` to "), "{}", call.text());
        assert_eq!(asked, asked_for.into_iter().collect::<Vec<_>>());
        assert!(!runtime.project().join("b.txt").exists());
    }
}

/// No plugin calls another one. One whose hook puts its own arguments into another's call has that call judged as the other's,
/// with the other's rights, and its doing is audited.
#[tokio::test]
async fn a51_a_call_that_a_hook_has_changed_has_the_rights_of_whose_it_is() {
    let script = "quiet = true\n[[reply]]\nsteps = [{ call = { tool = \"hostile__attempt\", arguments = { attack = \"read\", \
                  path = \"/workspace/a.txt\" } } }]\n[[reply]]\nsteps = [{ text = \"Done.\" }]\n";
    let text = json!({ "attack": "write", "path": "/workspace/notes/a.md" }).to_string();
    let runtime = meddling(Runtime::scripted(script), "auto", "tool-call", "replace", &text);
    let runtime = runtime.file("a.txt", "mine").file("notes/a.md", "as it was");
    // The one that meddles may write there, and the one that is called may not.
    let rights = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]\n";
    runtime.install_guest("hostile", "test:hostile", rights);
    let (turn, asked) = prompted(&runtime, "Read", "allow_once").await;
    assert_eq!(asked, Vec::<String>::new());
    assert!(turn.call().text().contains("refused: "), "{}", turn.call().text());
    assert_eq!(runtime.read("notes/a.md"), "as it was");
    let attacks: Vec<_> = turn.updates.iter().filter_map(|update| update["rawInput"]["attack"].as_str()).collect();
    assert_eq!(attacks, ["read", "write"], "what the model gave, and what was run");
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    let mut lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(lines.any(|line| line["plugin"] == "test:meddler" && line["by"] == "replace"), "{audit}");
}

#[tokio::test]
async fn a_replaced_call_is_seen_by_the_person() {
    let runtime = meddled("a.txt", "auto", "tool-call", "replace", "{\"path\": \"b.txt\", \"content\": \"y\"}");
    let (turn, _) = prompted(&runtime, "Write", "allow_once").await;
    let call = turn.call();
    assert_eq!((call.status(), runtime.read("b.txt")), ("completed", "y".to_owned()));
    assert!(call.titles.iter().any(|title| title.contains("b.txt")), "{:?}", call.titles);
    let raw: Vec<_> = turn.updates.iter().filter_map(|update| update["rawInput"]["path"].as_str()).collect();
    assert_eq!(raw, ["a.txt", "b.txt"], "what the model gave, and what was run");
}

/// One that asks each time is asked no more than once about a call, and whoever blocks everything can be switched off.
#[tokio::test]
async fn a45_a_hook_that_is_in_the_way_can_be_switched_off() {
    let runtime = meddled("a.txt", "auto", "tool-call", "ask", "again?");
    let (turn, asked) = prompted(&runtime, "Write", "allow_once").await;
    assert_eq!((turn.call().status(), asked.len()), ("completed", 1));

    let runtime = meddled("a.txt", "auto", "user-message", "block", "never");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let blocked = editor.prompt(&session, "Write").await.text();
    assert!(blocked.contains("the plugin `test:meddler` blocks this prompt: \"never\""), "{blocked}");
    editor.prompt(&session, "/plugins off meddler").await;
    assert_eq!(editor.prompt(&session, "Write").await.call().status(), "completed");
    editor.close().await;
}

/// What a hook does itself is no event, and needs what it would need elsewhere.
#[tokio::test]
async fn a_hook_does_not_meet_itself() {
    let runtime = meddled("a.txt", "auto", "tool-call", "write", "meddled");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert_eq!(editor.prompt(&session, "Write").await.call().status(), "completed");
    assert_eq!(runtime.read("notes/meddled.md"), "meddled");
    let told = editor.prompt(&session, "/told").await.text();
    for (event, times) in [("user-message", 1), ("tool-call", 1), ("tool-result", 1)] {
        assert_eq!(told.matches(event).count(), times, "{event}: {told}");
    }
    editor.close().await;
    let runtime = meddled("a.txt", "review", "tool-call", "write", "meddled");
    let (turn, asked) = prompted(&runtime, "Write", "allow_once").await;
    assert!(
        turn.call().text().contains("a hook can only do what is allowed without a question"),
        "{}",
        turn.call().text()
    );
    assert!(asked.is_empty() && !runtime.project().join("notes").exists());
}

/// A transform fails open, observers are not waited for, and a payload of any size is told in part.
#[tokio::test]
async fn what_only_looks_on_stops_nothing() {
    for on in ["tool-result", "before-turn", "assistant-message", "session-start"] {
        let runtime = meddled("a.txt", "auto", on, "panic", "");
        let (turn, _) = prompted(&runtime, "Write", "allow_once").await;
        assert_eq!((turn.call().status(), turn.text().as_str()), ("completed", "Done."), "{on}");
        if on == "tool-result" {
            let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
            let open = "\"class\":\"hook\",\"key\":\"tool-result\",\"decision\":\"allow\",\"by\":\"fail-open\"";
            assert!(audit.contains(open), "{audit}");
        }
    }
    let runtime = meddled("a.txt", "auto", "user-message", "replace", "short");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let long = editor.prompt(&session, &"x".repeat(300_000)).await.text();
    assert!(long.contains("it would replace what it was not shown in full"), "{long}");
    let told = editor.prompt(&session, "/told").await.text();
    assert!(told.contains("user-message in part"), "{told}");
    editor.close().await;
}

/// A key that is kept for the person is told to no hook, whatever it may read; the guard knows that one stood there.
#[tokio::test]
async fn a27_a_hook_is_not_told_a_key_that_is_kept() {
    let provider = "[providers.lab]\nwire = 'openai-chat'\nbase_url = 'http://127.0.0.1:1/'\nmodel = 'small'\n\
                    api_key_env = 'LAB_KEY'\n";
    let prompt = "Use top-secret-123 for it";
    let runtime =
        meddled("a.txt", "auto", "user-message", "quote", "").config(provider).env("LAB_KEY", "top-secret-123");
    let (turn, _) = prompted(&runtime, prompt, "allow_once").await;
    assert!(turn.text().contains("blocks this prompt: \"Use [kept secret] for it\""), "{}", turn.text());
    let runtime = Runtime::scripted(&writes("a.txt")).config(GUARD).config(provider).env("LAB_KEY", "top-secret-123");
    let (turn, _) = prompted(&runtime, prompt, "allow_once").await;
    assert!(turn.text().contains("there is a secret that is kept on this machine in it"), "{}", turn.text());
}
