//! What plugins were granted: how it is given, shown and taken back, how long it holds, and what is kept of all that.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "changes a plugin as its author would")]

use std::fs;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Permission, Runtime};
use serde_json::{Value, json};

/// The hostile guest as a plugin `acme:guest` in the file `guest.wasm` of the project, with these capabilities.
fn build(runtime: &Runtime, description: &str, capabilities: &str, output: &str) {
    build_version("0.1.0", runtime, description, capabilities, output);
}

fn build_version(version: &str, runtime: &Runtime, description: &str, capabilities: &str, output: &str) {
    let manifest = format!(
        "id = \"acme:guest\"\nversion = \"{version}\"\ntitle = \"Guest\"\ndescription = \"{description}\"\nlicense = \"MIT\"\n\
         [capabilities]\n{capabilities}"
    );
    fs::write(runtime.project().join("plugin.toml"), manifest).unwrap();
    let output = runtime.project().join(output);
    fs::create_dir_all(output.parent().unwrap()).unwrap();
    let (component, output) = (build_folder().join("guests/hostile.wasm"), output.display().to_string());
    let component = component.display().to_string();
    let arguments = ["--component", &component, "--manifest", "plugin.toml", "--output", &output];
    ran(runtime, &[&["plugin", "build"][..], &arguments].concat());
}

const READS: &str = "fs.read = [{ glob = \"**\", reason = \"reads the notes\" }]\n";
const WRITES: &str = "fs.write = [{ glob = \"notes/**\", reason = \"keeps the notes\", preopen = true }]\n";
/// Where a project has its own plugins.
const OWN: &str = ".acp-runtime/plugins/guest.wasm";

fn ran(runtime: &Runtime, arguments: &[&str]) -> String {
    let finished = runtime.run(arguments);
    assert_eq!(finished.code, Some(0), "{arguments:?}: {finished:?}");
    finished.stdout
}

fn refused(runtime: &Runtime, arguments: &[&str]) -> String {
    let finished = runtime.run(arguments);
    assert_eq!(finished.code, Some(1), "{arguments:?}: {finished:?}");
    finished.stderr
}

/// A project that brings the guest along, which its owner has trusted and nobody has granted anything.
fn project(capabilities: &str) -> Runtime {
    let runtime = Runtime::new().file("notes/a.txt", "a").file("inside.txt", "inside");
    build(&runtime, "A guest.", capabilities, OWN);
    ran(&runtime, &["trust", "add", "--yes"]);
    runtime
}

/// The guest, installed with all that it asks for.
fn installed(capabilities: &str, config: &str) -> Runtime {
    let runtime = Runtime::new().config(config).file("notes/a.txt", "a").file("inside.txt", "inside");
    build(&runtime, "A guest.", capabilities, "guest.wasm");
    ran(&runtime, &["plugin", "install", "guest.wasm", "--yes"]);
    runtime
}

fn answering(answer: Answer) -> EditorOptions {
    EditorOptions::default().answering(move |_| answer)
}

async fn attempt(editor: &EditorDouble, session: &str, attack: &str, path: &str) -> String {
    let arguments = json!({ "attack": attack, "path": format!("/workspace/{path}") });
    editor.prompt(session, &format!("/call guest__attempt {arguments}")).await.text()
}

/// Whether that is said of an attempt that was refused: by the guest, or before it was called.
fn is_no(said: &str) -> bool {
    said.starts_with("refused: ") || said.starts_with("error: read `") || said.starts_with("error: write `")
}

/// `audit show` without times and sessions: decision, by whom, what.
fn audited(runtime: &Runtime, more: &[&str]) -> Vec<String> {
    let shown = ran(runtime, &[&["audit", "show", "--json"][..], more].concat());
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let of = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {} {}", of("decision"), of("by"), of("class"), of("key"), of("scope"))
    };
    shown.lines().map(line).collect()
}

#[tokio::test]
async fn a44_a_grant_holds_in_its_project_and_ends_with_the_plugin_s_content() {
    let runtime = project(WRITES);
    let editor = runtime.editor_with(answering(Answer::Pick("reject_once"))).await;
    let session = editor.new_session().await;
    let went = attempt(&editor, &session, "write", "notes/a.txt").await;
    assert!(is_no(&went) && editor.permissions().is_empty(), "{went}");

    let granted = ran(&runtime, &["plugin", "grant", "acme:guest", "write:notes/**"]);
    assert!(granted.starts_with("granted write:notes/** to acme:guest in /"), "{granted}");
    editor.set_mode(&session, "auto-edit").await;
    // At once, in a session that was open before.
    let went = attempt(&editor, &session, "write", "notes/a.txt").await;
    assert_eq!(went, "done: written");
    assert!(is_no(&attempt(&editor, &session, "write", "inside.txt").await));
    let listed = editor.prompt(&session, "/permissions").await.text();
    assert!(listed.contains("1. plugin acme:guest: write:notes/** allowed (since 20"), "{listed}");
    // The mode goes first all the same.
    editor.set_mode(&session, "read-only").await;
    assert!(is_no(&attempt(&editor, &session, "write", "notes/a.txt").await));
    editor.close().await;

    // Other content with the same rights, trusted again: nobody has granted that anything.
    build(&runtime, "Another guest.", WRITES, OWN);
    ran(&runtime, &["trust", "add", "--yes"]);
    let editor = runtime.editor_with(answering(Answer::Pick("reject_once"))).await;
    let session = editor.new_session().await;
    editor.set_mode(&session, "auto-edit").await;
    assert!(is_no(&attempt(&editor, &session, "write", "notes/a.txt").await));
    // What is said in a session for the session.
    let said = editor.prompt(&session, "/permissions allow --scope session acme:guest write:notes/**").await.text();
    assert!(said.contains("2. plugin acme:guest: write:notes/** allowed in this session"), "{said}");
    assert_eq!(attempt(&editor, &session, "write", "notes/a.txt").await, "done: written");
    let other = editor.new_session().await;
    editor.set_mode(&other, "auto-edit").await;
    assert!(is_no(&attempt(&editor, &other, "write", "notes/a.txt").await));
    let undeclared = editor.prompt(&session, "/permissions allow acme:guest fetch").await.text();
    assert!(undeclared.contains("asks for nothing that `fetch` would allow"), "{undeclared}");
    let odd = editor.prompt(&session, "/permissions allow --scope world acme:guest write").await.text();
    assert!(odd.contains("there is no scope `world`"), "{odd}");
    editor.close().await;

    let folder = runtime.project().canonicalize().unwrap().display().to_string();
    let trusts = audited(&runtime, &["--class", "trust"]);
    let trusted = format!("allow trusted trust {folder} sha256:");
    assert!(trusts.len() == 2 && trusts.iter().all(|line| line.starts_with(&trusted)), "{trusts:?}");
    assert_eq!(
        audited(&runtime, &["--class", "grant"]),
        ["allow granted grant write:notes/** project", "allow granted grant write:notes/** session"]
    );
    assert!(ran(&runtime, &["audit", "verify"]).starts_with("ok "));
    ran(&runtime, &["trust", "remove"]);
    assert_eq!(audited(&runtime, &["--class", "trust"])[2], format!("deny forgotten trust {folder} -"));
}

#[tokio::test]
async fn what_was_granted_with_the_installation_can_be_taken_back_at_once() {
    let runtime = installed(&format!("{READS}{WRITES}"), "");
    let editor = runtime.editor_with(answering(Answer::Pick("allow_once"))).await;
    let session = editor.new_session().await;
    assert_eq!(attempt(&editor, &session, "read", "inside.txt").await, "done: inside");

    let revoked = ran(&runtime, &["plugin", "revoke", "guest", "read"]);
    assert_eq!(revoked, "denied read to acme:guest in all projects\n");
    let went = attempt(&editor, &session, "read", "inside.txt").await;
    assert!(is_no(&went), "{went}");
    let info = ran(&runtime, &["plugin", "info", "acme:guest"]);
    assert!(
        info.contains("granted fs.read **: ")
            && info.contains("you denied read (in all projects), which holds for whatever has this id\n"),
        "{info}"
    );
    let list = ran(&runtime, &["plugin", "list"]);
    assert!(list.contains("acme:guest  0.1.0  installed  fs.write  sha256:") && list.contains("  A guest."), "{list}");
    // The same words take that back, and give nothing else.
    let again = ran(&runtime, &["plugin", "grant", "guest", "read", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&again).unwrap(),
        json!({ "id": "acme:guest", "granted": "read", "scope": "user", "again": true })
    );
    assert_eq!(attempt(&editor, &session, "read", "inside.txt").await, "done: inside");
    assert!(!ran(&runtime, &["plugin", "info", "acme:guest"]).contains("you "), "as it was before");

    // All of it, also what was granted since.
    ran(&runtime, &["plugin", "grant", "guest", "write:notes/**", "--scope", "user"]);
    let info: Value = serde_json::from_str(&ran(&runtime, &["plugin", "info", "guest", "--json"])).unwrap();
    let grant =
        json!([{ "effect": "write:notes/**", "allowed": true, "scope": "user", "project": null, "counts": true }]);
    assert_eq!(info["answers"], grant);
    let revoked = ran(&runtime, &["plugin", "revoke", "guest"]);
    assert_eq!(revoked, "revoked write:notes/** (in all projects)\ndenied all to acme:guest in all projects\n");
    for (attack, path) in [("read", "inside.txt"), ("write", "notes/a.txt")] {
        assert!(is_no(&attempt(&editor, &session, attack, path).await), "{attack}");
    }
    editor.close().await;
    assert_eq!(
        audited(&runtime, &["--class", "grant"]),
        [
            "deny denied grant read user",
            "allow granted grant read user",
            "allow granted grant write:notes/** user",
            "deny revoked grant write:notes/** user",
            "deny denied grant all user",
        ]
    );
}

#[test]
fn what_is_removed_leaves_no_right_behind() {
    let runtime = installed(READS, "");
    ran(&runtime, &["plugin", "grant", "guest", "read:inside.txt", "--scope", "user"]);
    ran(&runtime, &["plugin", "revoke", "guest", "read:notes/**"]);
    ran(&runtime, &["plugin", "remove", "guest"]);
    ran(&runtime, &["plugin", "install", "guest.wasm", "--yes"]);
    let info = ran(&runtime, &["plugin", "info", "guest"]);
    assert!(!info.contains("you allowed") && info.contains("you denied read:notes/**"), "{info}");
    assert_eq!(
        audited(&runtime, &["--class", "grant"]),
        [
            "allow granted grant read:inside.txt user",
            "deny denied grant read:notes/** user",
            "deny revoked grant read:inside.txt user"
        ]
    );
}

#[test]
fn what_cannot_be_granted_says_why() {
    let runtime = installed(READS, "");
    let named = Runtime::new();
    build(&named, "A guest.", &format!("{READS}{WRITES}"), "guest.wasm");
    let file = named.project().join("guest.wasm").display().to_string();
    let named = named.config(&format!("[plugins]\npaths = ['{file}']\n"));
    for (runtime, arguments, said) in [
        (
            &runtime,
            &["grant", "guest", "write"][..],
            "the manifest of `acme:guest` asks for nothing that `write` would allow",
        ),
        (&runtime, &["grant", "guest", "run:git **"], "asks for nothing that `run:git **` would allow"),
        (&runtime, &["revoke", "guest", "fetch"], "`acme:guest` was granted nothing that `fetch` is about"),
        (&named, &["grant", "guest", "write"], "what changes under its name is never allowed for good"),
        (&named, &["grant", "guest", "write"], "/permissions allow --scope session acme:guest write"),
    ] {
        let stderr = refused(runtime, &[&["plugin"][..], arguments].concat());
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
    for (arguments, said) in [
        (&["grant", "nobody", "write"][..], "there is no plugin `nobody`"),
        (&["revoke", "nobody"], "there is no plugin `nobody`"),
        (&["grant", "guest", "wirte"], "`wirte` is not a class of effects"),
        (&["grant", "guest", "read", "--scope", "session"], "invalid value 'session'"),
    ] {
        let finished = runtime.run(&[&["plugin"][..], arguments].concat());
        assert!(finished.code == Some(2) && finished.stderr.contains(said), "{arguments:?}: {finished:?}");
    }
}

#[tokio::test]
async fn a44_an_update_that_asks_for_more_is_asked_about_again_and_a_no_stays() {
    let runtime = installed(READS, "");
    ran(&runtime, &["plugin", "grant", "guest", "read:inside.txt"]);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "/permissions deny acme:guest read:notes/**").await;
    editor.close().await;
    build_version("0.2.0", &runtime, "A guest.", &format!("{READS}{WRITES}"), "guest.wasm");
    // Held until somebody has agreed: the one before stays.
    let held = runtime.run(&["plugin", "install", "guest.wasm"]);
    assert!(held.code == Some(2) && held.stderr.contains("\"keeps the notes\" (new)"), "{held:?}");
    assert!(!ran(&runtime, &["plugin", "info", "guest"]).contains("fs.write"));
    ran(&runtime, &["plugin", "install", "guest.wasm", "--yes"]);
    let info = ran(&runtime, &["plugin", "info", "guest"]);
    assert!(info.contains("you allowed read:inside.txt (in /"), "{info}");
    assert!(info.contains("), which was of another version and counts no more\n"), "{info}");
    assert!(info.contains("you denied read:notes/** (in /"), "{info}");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(is_no(&attempt(&editor, &session, "read", "notes/a.txt").await), "a no stays");
    editor.close().await;
}

/// A no is about whatever has the id: what is installed again does not have what was taken away, and whoever installs it
/// is told so.
#[tokio::test]
async fn a_no_outlives_the_plugin_and_is_told_of_when_it_comes_back() {
    let runtime = installed(READS, "");
    ran(&runtime, &["plugin", "revoke", "guest", "read:notes/**"]);
    ran(&runtime, &["plugin", "remove", "acme:guest"]);
    let back = runtime.run(&["plugin", "install", "guest.wasm", "--yes"]);
    assert!(
        back.code == Some(0) && back.stdout.contains("\nstill denied read:notes/** (in all projects)\n"),
        "{back:?}"
    );
    assert!(
        back.stderr.contains("hint: a no holds for whatever has the id; `acp-runtime plugin grant acme:guest"),
        "{back:?}"
    );
    let info = ran(&runtime, &["plugin", "info", "guest"]);
    assert!(
        info.contains("you denied read:notes/** (in all projects), which holds for whatever has this id\n"),
        "{info}"
    );
    let attempted = async || {
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let attempted = attempt(&editor, &session, "read", "notes/a.txt").await;
        editor.close().await;
        attempted
    };
    assert!(is_no(&attempted().await));
    ran(&runtime, &["plugin", "remove", "acme:guest"]);
    let json = ran(&runtime, &["plugin", "install", "guest.wasm", "--yes", "--json"]);
    assert!(json.contains("\"denied\":[\"read:notes/** (in all projects)\"]"), "{json}");
    // What is taken back is gone, and what was never denied is not told of.
    ran(&runtime, &["plugin", "grant", "guest", "read:notes/**", "--scope", "user"]);
    ran(&runtime, &["plugin", "remove", "acme:guest"]);
    assert!(!ran(&runtime, &["plugin", "install", "guest.wasm", "--yes"]).contains("denied"));
    assert!(!is_no(&attempted().await));
}

#[tokio::test]
async fn a42_a_question_says_who_asks_and_why_and_comes_only_so_often() {
    let hostile = "fs.read = [{ glob = \"**\", reason = \"\\u202Efun\\u001b[31m \\\" Allow all? \" }]\n";
    let runtime = Runtime::new().config("[permission]\nquestions = 2\n").file("inside.txt", "inside");
    build(&runtime, "A guest.", hostile, OWN);
    ran(&runtime, &["trust", "add", "--yes"]);
    let editor = runtime.editor_with(answering(Answer::Pick("allow_once"))).await;
    let session = editor.new_session().await;
    for turn in 0..3 {
        assert_eq!(attempt(&editor, &session, "read", "inside.txt").await, "done: inside");
        assert_eq!(editor.permissions().len(), turn + 1, "each turn begins anew");
    }
    let asked = &editor.permissions()[0];
    assert_eq!(asked.title(), "plugin acme:guest: read `**`");
    let text = asked.call["content"][0]["content"]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "The plugin `acme:guest` 0.1.0 (this project brings it along) wants to do this. Its reason to read, in its own \
         words: \"fun(31m ' Allow all?\"."
    );
    editor.close().await;
    let bad = Runtime::new().config("[permission]\nquestions = 0\n").run(&["config", "check"]);
    assert!(bad.code == Some(2) && bad.stderr.contains("expected 1 to 1000 questions"), "{bad:?}");
}

#[tokio::test]
async fn a42_what_was_refused_three_times_is_refused_by_itself_until_it_is_allowed() {
    let runtime = project(READS);
    let editor = runtime.editor_with(answering(Answer::Pick("reject_once"))).await;
    let session = editor.new_session().await;
    for _ in 0..5 {
        assert!(is_no(&attempt(&editor, &session, "read", "inside.txt").await));
    }
    assert_eq!(editor.permissions().len(), 3);
    let lines = audited(&runtime, &["--class", "read", "--decision", "deny"]);
    let (person, auto): (Vec<&String>, Vec<&String>) = lines.iter().partition(|line| line.contains(" person "));
    assert!(person.len() == 3 && auto.len() == 2, "{lines:?}");
    assert!(auto.iter().all(|line| *line == "deny auto-deny read ** -"), "{lines:?}");
    editor.prompt(&session, "/permissions allow acme:guest read:**").await;
    assert_eq!(attempt(&editor, &session, "read", "inside.txt").await, "done: inside");
    editor.close().await;
}

#[tokio::test]
async fn a43_without_anybody_to_ask_it_is_a_no_that_says_so() {
    let runtime = project(READS);
    let read = format!("/call guest__attempt {}", json!({ "attack": "read", "path": "/workspace/inside.txt" }));
    // Nobody is there.
    let finished = runtime.run(&["run", &read]);
    assert!(finished.code == Some(1) && !finished.stdout.contains("inside"), "{finished:?}");
    assert_eq!(audited(&runtime, &["--class", "read"]), ["deny no-channel read ** -"]);
    assert!(runtime.run(&["run", "--allow", "read", &read]).stdout.contains("done: inside"));

    // The turn is cancelled while the question is open.
    let editor = runtime.editor_with(answering(Answer::Hold)).await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, &read);
    editor.until_asked(1).await;
    editor.cancel(&session);
    editor.turn(prompt).await.unwrap();
    // The client goes away while another one is.
    let _open = editor.begin_prompt(&session, &read);
    editor.until_asked(2).await;
    editor.close().await;
    let lines = audited(&runtime, &["--class", "read", "--decision", "deny"]);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[1], "deny cancelled read ** -");
    assert!(["deny cancelled read ** -", "deny no-channel read ** -"].contains(&lines[2].as_str()), "{lines:?}");
}

#[tokio::test]
async fn a44_programs_and_development_builds_are_never_allowed_for_good() {
    let runtime = Runtime::new().file("inside.txt", "inside");
    build(&runtime, "A guest.", READS, "guest.wasm");
    let file = runtime.project().join("guest.wasm").display().to_string();
    let runtime = runtime.config(&format!("[plugins]\npaths = ['{file}']\n"));
    let always = |ask: &Permission| {
        let kinds: Vec<&str> = ask.options.iter().filter_map(|option| option["kind"].as_str()).collect();
        assert!(!kinds.contains(&"allow_always"), "{kinds:?}");
        Answer::Pick("allow_once")
    };
    let editor = runtime.editor_with(EditorOptions::default().answering(always)).await;
    let session = editor.new_session().await;
    for asked in 1..3 {
        assert_eq!(attempt(&editor, &session, "read", "inside.txt").await, "done: inside");
        assert_eq!(editor.permissions().len(), asked);
    }
    let text = editor.permissions()[0].call["content"].to_string();
    assert!(text.contains("a development build, named in `plugins.paths`"), "{text}");
    let refused = editor.prompt(&session, "/permissions allow acme:guest read").await.text();
    assert!(refused.contains("/permissions allow --scope session acme:guest read"), "{refused}");
    // For a session it can be.
    editor.prompt(&session, "/permissions allow --scope session acme:guest read").await;
    assert_eq!(attempt(&editor, &session, "read", "inside.txt").await, "done: inside");
    assert_eq!(editor.permissions().len(), 2);
    editor.close().await;
}

/// A40: what a plugin does not offer, and what is switched off, is not called by naming it.
#[tokio::test]
async fn a40_a_tool_that_was_not_offered_is_not_called() {
    let call = |tool: &str| format!("[[reply]]\nsteps = [{{ call = {{ tool = \"{tool}\", arguments = {{}} }} }}]\n");
    let tools = ["guest__hidden", "guest__attempt ", "hostile__attempt", "attempt", "tasks__add", "mcp__x__y"];
    let calls: String = tools.into_iter().map(call).collect();
    let runtime = Runtime::scripted(&format!("quiet = true\n{calls}[[reply]]\nsteps = [{{ text = \"So.\" }}]\n"));
    build(&runtime, "A guest.", READS, "guest.wasm");
    ran(&runtime, &["plugin", "install", "guest.wasm", "--yes"]);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "/plugins off tasks").await;
    let turn = editor.prompt(&session, "Call them.").await;
    let went: Vec<(String, String)> = turn.calls().iter().map(|call| (call.status().to_owned(), call.text())).collect();
    assert_eq!(went.len(), tools.len(), "{went:?}");
    for (status, text) in &went {
        assert!(status == "failed" && text.contains("there is no tool"), "{status} {text}");
    }
    editor.close().await;
    let plugins = audited(&runtime, &["--class", "plugin"]);
    assert!(plugins.is_empty(), "{plugins:?}");
}

#[tokio::test]
async fn the_doctor_says_which_rule_stops_a_secret_and_a_request() {
    let runtime = Runtime::new().config("[secrets]\nstore = \"file\"\n");
    let doctor = |more: &[&str]| ran(&runtime, &[&["plugin", "doctor"][..], more].concat());
    let said = doctor(&["http-fetch"]);
    assert!(said.contains("ok    host      `https://*/`, each host of these by itself: it was granted"), "{said}");
    assert!(
        said.contains("warn  secret    `github-token` for `https://api.github.com/` is not sent: none is kept"),
        "{said}"
    );
    assert!(said.contains("hint: `acp-runtime secret set aar:http-fetch/github-token` keeps one"), "{said}");
    let call = format!("/call http-fetch {}", json!({ "url": "https://example.com/" }));
    runtime.run(&["run", &call]);
    runtime.run(&["run", &call]);
    runtime.run(&["run", "--deny", "fetch", &call]);
    let lines: Vec<Value> =
        doctor(&["http-fetch", "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let stopped: Vec<&str> = lines
        .iter()
        .filter(|line| line["check"] == "stopped" && line["plugin"] == "aar:http-fetch")
        .map(|line| line["detail"].as_str().unwrap())
        .collect();
    assert!(stopped.len() == 2, "{stopped:?}");
    assert!(
        stopped[0].starts_with("fetch `https://example.com/` was stopped 2 times, the last time at "),
        "{stopped:?}"
    );
    assert!(
        stopped[0].ends_with(": there was nobody to ask") && stopped[1].ends_with(": a rule forbids it"),
        "{stopped:?}"
    );

    ran(&runtime, &["plugin", "revoke", "http-fetch", "secret"]);
    let said = doctor(&["http-fetch"]);
    assert!(said.contains("is not sent: you have refused `secret` for good"), "{said}");
    let all = doctor(&[]);
    assert!(all.contains("aar:notes\nok    plugin    `aar:notes` asks for no host and for no secret\n"), "{all}");
    let unknown = runtime.run(&["plugin", "doctor", "nobody"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("there is no plugin `nobody`"), "{unknown:?}");
}
