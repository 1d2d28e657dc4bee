//! `tests/guests/hostile` in the real binary, granted all that it asks for: every attempt, and how it must end.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out what must not be reached")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Permission, Runtime};
use serde_json::{Value, json};

/// A runtime with the guest installed. The project can be read by it, and `notes` below it written.
fn runtime() -> Runtime {
    configured("mode = \"auto\"\n[log]\nlevel = \"info\"\n")
}

fn configured(config: &str) -> Runtime {
    let guest = build_folder().join("guests/hostile.wasm");
    assert!(guest.is_file(), "{} is not there: `cargo xtask plugins` builds it", guest.display());
    let guest = guest.display().to_string();
    let runtime = Runtime::new().config(config).file("inside.txt", "inside").file("notes/mine.txt", "mine");
    let installed = runtime.run(&["plugin", "install", "--yes", &guest]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    fs::write(runtime.outside("secret"), "the secret").unwrap();
    runtime
}

/// What is said of an attempt.
async fn attempt(editor: &EditorDouble, session: &str, arguments: Value) -> String {
    editor.prompt(session, &format!("/call hostile__attempt {arguments}")).await.text()
}

#[tokio::test]
async fn a10_files_that_were_not_given_are_out_of_reach() {
    let runtime = runtime();
    let secret = runtime.outside("secret");
    let folder = secret.parent().unwrap();
    for (link, target) in [("link", &*secret), ("out", folder), ("notes/link", &*secret), ("notes/out", folder)] {
        symlink(target, runtime.project().join(link)).unwrap();
    }
    symlink("/proc/self", runtime.project().join("proc")).unwrap();
    fs::hard_link(&secret, runtime.project().join("notes/hard")).unwrap();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;

    let (path, to) = (|path: &str| json!({ "path": path }), |path: &str, to: &str| json!({ "path": path, "to": to }));
    let outside = secret.display().to_string();
    for (attack, arguments, expected) in [
        ("read", path("/workspace/inside.txt"), "done: inside"),
        ("list", path("/workspace/notes"), "done: hard link mine.txt out"),
        ("write", path("/workspace/notes/new.txt"), "done: written"),
        ("append", path("/workspace/notes/new.txt"), "done: appended"),
        ("read", path("/workspace/notes/new.txt"), "done: overwrittenappended"),
        ("rename", to("/workspace/notes/new.txt", "/workspace/notes/moved.txt"), "done: moved"),
        ("remove", path("/workspace/notes/moved.txt"), "done: removed"),
        // What was not given is not read,
        ("read", path("../../etc/passwd"), "refused: "),
        ("read", path("/etc/passwd"), "refused: "),
        ("read", path("/workspace/../../../../../etc/passwd"), "refused: "),
        ("read", path("/workspace/notes/../../secret"), "refused: "),
        ("read", path(&outside), "refused: "),
        ("read", path("/workspace/link"), "refused: "),
        ("read", path("/workspace/out/secret"), "refused: "),
        ("read", path("/workspace/proc/environ"), "refused: "),
        ("read", path("/proc/self/environ"), "refused: "),
        ("list", path("/"), "refused: "),
        ("list", path("/workspace/.."), "refused: "),
        ("list", path("/workspace/out"), "refused: "),
        // nor written, nor what was given to be read;
        ("write", path("/workspace/new.txt"), "refused: "),
        ("write", path("/workspace/inside.txt"), "refused: "),
        ("append", path("/workspace/inside.txt"), "refused: "),
        ("truncate", path("/workspace/inside.txt"), "refused: "),
        ("remove", path("/workspace/inside.txt"), "refused: "),
        ("make_folder", path("/workspace/folder"), "refused: "),
        ("write", path("/workspace/notes/../inside.txt"), "refused: "),
        ("write", path("/workspace/notes/link"), "refused: "),
        ("write", path("/workspace/notes/out/secret"), "refused: "),
        ("truncate", path("/workspace/notes/link"), "refused: "),
        ("write", path(&outside), "refused: "),
        // also not by another name that the file has;
        ("write", path("/workspace/notes/hard"), "refused: "),
        ("append", path("/workspace/notes/hard"), "refused: "),
        ("truncate", path("/workspace/notes/hard"), "refused: "),
        // where a new file can be put in its place instead;
        ("write", path("/workspace/notes/new.txt"), "done: written"),
        ("rename", to("/workspace/notes/new.txt", "/workspace/notes/hard"), "done: moved"),
        ("read", path("/workspace/notes/hard"), "done: overwritten"),
        // nothing is moved over the border,
        ("rename", to("/workspace/inside.txt", "/workspace/notes/inside.txt"), "refused: "),
        ("rename", to("/workspace/notes/mine.txt", "/workspace/mine.txt"), "refused: "),
        ("rename", to("/workspace/notes/mine.txt", "/workspace/notes/../../mine.txt"), "refused: "),
        ("rename", to("/workspace/notes/mine.txt", "/workspace/notes/out/mine.txt"), "refused: "),
        // and no link is made.
        ("hard_link", to("/workspace/inside.txt", "/workspace/notes/inside.txt"), "refused: "),
        ("hard_link", to("/workspace/notes/mine.txt", "/workspace/notes/same.txt"), "refused: "),
    ] {
        let mut arguments = arguments;
        arguments["attack"] = attack.into();
        let went = attempt(&editor, &session, arguments.clone()).await;
        assert!(went.starts_with(expected), "{arguments}: {went}");
    }
    editor.close().await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret");
    assert_eq!(runtime.read("inside.txt"), "inside");
    assert_eq!(runtime.read("notes/mine.txt"), "mine");
    let mut left: Vec<_> = fs::read_dir(runtime.project()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["inside.txt", "link", "notes", "out", "proc"]);
}

/// Rules about single files hold in a folder that was lent, under every name and for all that can be done.
#[tokio::test]
async fn a14_a_lent_folder_is_judged_path_by_path() {
    let rules = "mode = \"auto\"\n[files]\ndeny = [\"notes/private/**\"]\n[permission]\n\
                 deny = [\"read:notes/shut/**\", \"write:notes/fixed.txt\", \"delete:notes/kept/**\", \"move:notes/kept/**\"]\n";
    let runtime = configured(rules)
        .file(".env", "KEY=sk-secret")
        .file("docs/.env", "KEY=sk-secret")
        .file("notes/private/a.txt", "private")
        .file("notes/fixed.txt", "fixed")
        .file("notes/kept/a.txt", "kept")
        .file("notes/holder/deep/cert.pem", "private")
        .file("notes/free/a.txt", "free")
        .file("notes/shut/a.txt", "shut")
        .file("notes/waiting/post-checkout", "waits")
        .file("notes/repo/.git/HEAD", "head");
    symlink("private", runtime.project().join("notes/alias")).unwrap();
    symlink("fixed.txt", runtime.project().join("notes/other")).unwrap();
    symlink("../docs/.env", runtime.project().join("notes/env")).unwrap();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (attack, path, to, expected) in [
        ("list", "/workspace", "", "done: docs inside.txt notes"),
        ("list", "/workspace/docs", "", "done: "),
        ("list", "/workspace/notes", "", "done: alias env fixed.txt free holder kept mine.txt other repo waiting"),
        ("list", "/workspace/notes/holder/deep", "", "done: "),
        ("read", "/workspace/.env", "", "refused: "),
        ("look", "/workspace/.env", "", "refused: "),
        ("read", "/workspace/docs/../.env", "", "refused: "),
        ("read", "/workspace/notes/private/a.txt", "", "refused: "),
        ("read", "/workspace/notes/alias/a.txt", "", "refused: "),
        ("list", "/workspace/notes/alias", "", "refused: "),
        ("read", "/workspace/notes/env", "", "refused: "),
        ("look", "/workspace/notes/private/a.txt", "", "refused: "),
        ("look", "/workspace/notes/alias/a.txt", "", "refused: "),
        ("read_link", "/workspace/notes/alias", "", "done: private"),
        ("write", "/workspace/notes/private/b.txt", "", "refused: "),
        ("write", "/workspace/notes/alias/b.txt", "", "refused: "),
        ("make_folder", "/workspace/notes/private/b", "", "refused: "),
        ("write", "/workspace/notes/.env", "", "refused: "),
        // What may be read and not be written,
        ("read", "/workspace/notes/shut/a.txt", "", "refused: "),
        ("read", "/workspace/notes/fixed.txt", "", "done: fixed"),
        ("write", "/workspace/notes/fixed.txt", "", "refused: "),
        ("append", "/workspace/notes/fixed.txt", "", "refused: "),
        ("truncate", "/workspace/notes/other", "", "refused: "),
        ("touch", "/workspace/notes/fixed.txt", "", "refused: "),
        ("rename", "/workspace/notes/free/a.txt", "/workspace/notes/fixed.txt", "refused: "),
        // or not be removed or moved,
        ("remove", "/workspace/notes/kept/a.txt", "", "refused: "),
        ("remove_folder", "/workspace/notes/kept", "", "refused: "),
        ("rename", "/workspace/notes/kept/a.txt", "/workspace/notes/a.txt", "refused: "),
        // or would have another name then.
        ("rename", "/workspace/notes/private", "/workspace/notes/public", "refused: "),
        ("rename", "/workspace/notes/holder", "/workspace/notes/public", "refused: "),
        ("rename", "/workspace/notes/mine.txt", "/workspace/notes/private/mine.txt", "refused: "),
        ("rename", "/workspace/notes/shut", "/workspace/notes/opened", "refused: "),
        ("rename", "/workspace/notes/shut/a.txt", "/workspace/notes/a.txt", "refused: "),
        ("rename", "/workspace/notes/fixed.txt", "/workspace/notes/loose.txt", "refused: "),
        ("rename", "/workspace/notes/waiting", "/workspace/notes/repo/.git/hooks", "refused: "),
        // All else is free.
        ("touch", "/workspace/notes/mine.txt", "", "done: touched"),
        ("make_folder", "/workspace/notes/new", "", "done: made"),
        ("remove_folder", "/workspace/notes/new", "", "done: removed"),
        ("rename", "/workspace/notes/free", "/workspace/notes/freed", "done: moved"),
        ("write", "/workspace/notes/freed/a.txt", "", "done: written"),
        ("remove", "/workspace/notes/other", "", "done: removed"),
    ] {
        let arguments = json!({ "attack": attack, "path": path, "to": to });
        let went = attempt(&editor, &session, arguments.clone()).await;
        let exact = expected.strip_prefix("done: ").is_some();
        assert!(if exact { went == expected } else { went.starts_with(expected) }, "{arguments}: {went}");
    }
    editor.close().await;
    for (path, text) in
        [("notes/fixed.txt", "fixed"), ("notes/kept/a.txt", "kept"), ("notes/holder/deep/cert.pem", "private")]
    {
        assert_eq!(runtime.read(path), text, "{path}");
    }
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    for line in [
        "\"class\":\"read\",\"key\":\"notes/private/a.txt\",\"decision\":\"deny\",\"by\":\"deny-list\"",
        "\"class\":\"write\",\"key\":\"notes/fixed.txt\",\"decision\":\"deny\",\"by\":\"deny-list\"",
        "\"class\":\"write\",\"key\":\"notes/freed/a.txt\",\"decision\":\"allow\",\"by\":\"lent\"",
        "\"class\":\"delete\",\"key\":\"notes/other\",\"decision\":\"allow\"",
        "\"class\":\"read\",\"key\":\"**\",\"decision\":\"allow\",\"by\":\"lent\"",
    ] {
        assert!(audit.contains(line), "{line} is not in {audit}");
    }
}

/// The question about the folder is one for what is written in it. Removing and moving are asked for each time.
#[tokio::test]
async fn removing_and_moving_are_not_lent() {
    let runtime = configured("mode = \"review\"\n").file("notes/a.txt", "a");
    let yes = |_: &Permission| Answer::Pick("allow_once");
    let editor = runtime.editor_with(EditorOptions::default().answering(yes)).await;
    let session = editor.new_session().await;
    for (attack, path, to, asked) in [
        ("read", "/workspace/inside.txt", "", &["write `notes/**`"][..]),
        ("write", "/workspace/notes/a.txt", "", &["write `notes/**`"]),
        (
            "rename",
            "/workspace/notes/a.txt",
            "/workspace/notes/b.txt",
            &["write `notes/**`", "move `notes/a.txt -> notes/b.txt`, write `notes/b.txt`"],
        ),
        ("remove", "/workspace/notes/b.txt", "", &["write `notes/**`", "delete `notes/b.txt`"]),
    ] {
        let before = editor.permissions().len();
        let went = attempt(&editor, &session, json!({ "attack": attack, "path": path, "to": to })).await;
        assert!(went.starts_with("done: "), "{attack} {path}: {went}");
        let titles: Vec<String> = editor.permissions()[before..].iter().map(|ask| ask.title().to_owned()).collect();
        let expected: Vec<String> = asked.iter().map(|what| format!("plugin test:hostile: {what}")).collect();
        assert_eq!(titles, expected, "{attack} {path}");
    }
    editor.close().await;
    assert!(!runtime.project().join("notes/b.txt").exists());
}

#[tokio::test]
async fn a28_nothing_is_inherited() {
    let runtime = runtime().env("SECRET_KEY", "sk-secret");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (attack, expected) in [
        ("environment", "done: 0 variables"),
        ("arguments", "done: 0 arguments"),
        ("stdin", "done: 0 bytes"),
        ("spawn", "refused: "),
        ("thread", "refused: "),
    ] {
        let went = attempt(&editor, &session, json!({ "attack": attack })).await;
        assert!(went.starts_with(expected), "{attack}: {went}");
    }
    // A relative path is one of nowhere: there is no folder that it begins in.
    let went = attempt(&editor, &session, json!({ "attack": "read", "path": "inside.txt" })).await;
    assert!(went.starts_with("refused: "), "{went}");
    editor.close().await;
}

#[tokio::test]
async fn a22_no_name_is_looked_up_for_a_guest() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for name in ["localhost", "example.com", "a-secret.of.the-project.example.com"] {
        let went = attempt(&editor, &session, json!({ "attack": "resolve", "to": name })).await;
        assert!(went.starts_with("refused: "), "{name}: {went}");
    }
    editor.close().await;
}

#[tokio::test]
async fn a23_sockets_lead_nowhere() {
    let runtime = runtime();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (attack, to, expected) in [
        ("connect", &*address, "refused: "),
        ("connect", "1.1.1.1:443", "refused: "),
        ("listen", "", "refused: "),
        ("datagram", &*address, "refused: "),
    ] {
        let went = attempt(&editor, &session, json!({ "attack": attack, "to": to })).await;
        assert!(went.starts_with(expected), "{attack} {to}: {went}");
    }
    editor.close().await;
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody came");
}

#[tokio::test]
async fn a3_greed_ends_the_call_and_nothing_else() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let before = editor.resident_bytes();
    for (attack, expected) in [
        ("memory", "error: the plugin was stopped: it wanted more memory than 64 MiB"),
        ("recursion", "error: the plugin was stopped: its calls nest too deeply"),
        ("panic", "error: the plugin failed: wasm trap: "),
        ("output", "done: all of it"),
    ] {
        let went = attempt(&editor, &session, json!({ "attack": attack })).await;
        assert!(went.starts_with(expected), "{attack}: {went}");
        let next = attempt(&editor, &session, json!({ "attack": "environment" })).await;
        assert_eq!(next, "done: 0 variables", "after {attack}");
    }
    let grown = editor.resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes are held after all of it");
    // What it wrote is the log's, cut; that nothing of it was on stdout, the double has seen to.
    let ended = editor.close().await;
    let flood = ended.stderr.lines().filter(|line| line.contains("session/update")).count();
    assert!((1..=1000).contains(&flood), "{flood} lines");
    assert!(ended.stderr.len() < 1 << 20, "{} bytes of log", ended.stderr.len());
}

/// The user says what plugins have, and what one of them has; a project takes away from that and adds nothing.
#[tokio::test]
async fn a3_the_memory_is_what_was_configured() {
    let (all, one) = ("[limits.plugin]\nmemory = 33554432\n", "[plugins.limits.\"test:hostile\"]\nmemory = 50331648\n");
    let (less, more) = ("limits.plugin.memory = 16777216\n", "limits.plugin.memory = 67108864\n");
    for (config, project, mebibytes) in [
        (String::new(), "", 64),
        (all.to_owned(), "", 32),
        ([all, one].concat(), "", 48),
        ([all, one].concat(), less, 16),
        ([all, one].concat(), more, 48),
    ] {
        let runtime = configured(&format!("mode = \"auto\"\n{config}")).file(".acp-runtime/config.toml", project);
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let went = attempt(&editor, &session, json!({ "attack": "memory" })).await;
        let why = format!("error: the plugin was stopped: it wanted more memory than {mebibytes} MiB");
        assert!(went.starts_with(&why), "{config}{project}: {went}");
        editor.close().await;
    }
}

#[tokio::test]
async fn a_panel_that_cannot_be_drawn_is_an_error_of_its_own() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let named = json!({ "sessionId": session, "panel": "broken" });
    let list = editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
    let broken = list["panels"].as_array().unwrap().iter().find(|panel| panel["name"] == "broken").unwrap();
    assert_eq!(broken["status"], "", "the others are listed all the same: {list}");

    let error = editor.request("_aar/panel_snapshot", named).await.unwrap_err();
    assert_eq!(error.code, -32603);
    let details = "panel `broken` failed: there is nothing to draw";
    assert_eq!(error.data, json!({ "details": details, "reason": "panel", "retryable": true }));
    let shown = editor.prompt(&session, "/panel broken").await.text();
    assert_eq!(shown, format!("error: {details}"));
    let other = editor.call("_aar/panel_snapshot", json!({ "sessionId": session, "panel": "tasks" })).await;
    assert_eq!(other["panel"], "tasks");

    // A node that cannot be named could not be acted on.
    let shown = editor.prompt(&session, "/panel nameless").await.text();
    let problem = "node 1 of the panel (`Below`) has no id";
    assert!(shown.starts_with("error: panel `nameless` failed: ") && shown.contains(problem), "{shown}");
    let ended = editor.close().await;
    let line = ended.stderr.lines().find(|line| line.contains("the panel `nameless` cannot be drawn"));
    assert!(line.is_some_and(|line| line.contains(problem) && line.contains("plugin=")), "{}", ended.stderr);
}

/// What a guest writes where messages go is the log's: the double has seen to it that nothing of it was on stdout.
#[tokio::test]
async fn a49_what_a_guest_writes_is_never_taken_for_a_message() {
    let runtime = runtime();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let went = attempt(&editor, &session, json!({ "attack": "output" })).await;
    assert_eq!(went, "done: all of it");
    let next = attempt(&editor, &session, json!({ "attack": "read", "path": "/workspace/inside.txt" })).await;
    assert_eq!(next, "done: inside", "the protocol goes on");
    assert_eq!(editor.notifications(), Vec::new());
    let ended = editor.close().await;
    assert!(ended.stderr.contains(r#"{\"jsonrpc\":\"2.0\""#) || ended.stderr.contains(r#"{"jsonrpc":"2.0""#));
}
