//! Ways of a plugin to files that are not its own, in the real binary: each is refused, and nothing is different afterwards.
//! The guest is granted the whole project to read, and all of a folder in it to write, so that only what is behind the right is
//! in its way.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out what must not be reached")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

const EVERYTHING: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]\n\
                          fs.write = [{ glob = \"all/**\", reason = \"writes\", preopen = true }]\n";

/// A project with a file in it and a secret beside it, and the hostile guest.
fn runtime(rights: &str) -> Runtime {
    let runtime = Runtime::new().config("mode = \"auto\"\n").file("all/inside.txt", "inside");
    fs::write(runtime.outside("secret"), "the secret").unwrap();
    runtime.install_guest("hostile", "test:hostile", rights);
    runtime
}

/// What is said of an attempt.
async fn attempt(editor: &EditorDouble, session: &str, attack: &str, path: &str, to: &str) -> String {
    let arguments = json!({ "attack": attack, "path": path, "to": to });
    editor.prompt(session, &format!("/call hostile__attempt {arguments}")).await.text()
}

/// Every attempt is refused.
async fn all_refused(editor: &EditorDouble, session: &str, attacks: &[&str], paths: &[&str]) {
    for path in paths {
        let to = format!("{}/taken", path.rsplit_once('/').map_or("/workspace/all", |(folder, _)| folder));
        for attack in attacks {
            let went = attempt(editor, session, attack, path, &to).await;
            assert!(went.starts_with("refused: "), "{attack} {path:?}: {went}");
        }
    }
}

const LOOKS: [&str; 3] = ["read", "list", "look"];
const CHANGES: [&str; 6] = ["write", "append", "truncate", "rename", "remove", "touch"];

fn audit(runtime: &Runtime) -> Vec<Value> {
    let text = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a10_no_spelling_of_a_path_leads_out() {
    let runtime = runtime(EVERYTHING);
    let outside = runtime.outside("secret").display().to_string();
    let project = runtime.project().display().to_string();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let spellings = [
        "../secret",
        "/workspace/../secret",
        "/workspace/all/./.././../secret",
        "/workspace/all/inside.txt/../../../secret",
        "/workspace/all//../../secret",
        "//workspace/all/../../secret",
        "/workspace/all/../../../../../../../../../../etc/hostname",
        "/workspace/all/..\\..\\secret",
        "..\\secret",
        "C:\\secret",
        "C:/secret",
        "c:secret",
        "\\\\server\\share\\secret",
        "//server/share/secret",
        "\\\\?\\C:\\secret",
        "file:///etc/hostname",
        "/workspace/all/\u{2025}/secret",
        "/workspace/all/\u{ff0e}\u{ff0e}/secret",
        "/workspace/all/.\u{200b}./secret",
        "/workspace/all/%2e%2e/secret",
        "/workspace/all/..;/secret",
        "~/secret",
        "/secret",
        &outside,
        &format!("/{outside}"),
        &format!("/workspace/all/{outside}"),
        &format!("{project}/all/inside.txt"),
    ];
    all_refused(&editor, &session, &LOOKS, &spellings).await;
    // What cannot be told from a name of the project is one there, and leads nowhere else.
    let inside = ["..\\secret", "C:\\secret", "C:/secret", "c:secret", "~/secret", "/workspace/all/..;/secret"];
    for attack in CHANGES {
        for path in spellings.iter().filter(|path| !inside.contains(path)) {
            attempt(&editor, &session, attack, path, "/workspace/all/taken").await;
        }
    }
    // The same ways to the text of files, by the agent's own tools.
    for path in
        ["../secret", "a/../../secret", &*outside, "..\\secret", "C:\\secret", "\\\\server\\share\\secret", "a\0b"]
    {
        let read = format!("/call read_file {}", json!({ "path": path }));
        let call = editor.prompt(&session, &read).await.call();
        assert_eq!(call.status(), "failed", "{path:?}: {}", call.text());
    }
    editor.close().await;
    assert_eq!(fs::read_to_string(runtime.outside("secret")).unwrap(), "the secret");
    assert_eq!(runtime.read("all/inside.txt"), "inside");
}

/// `swapped` is a folder at one moment, and a link to the folder of the secret at the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a11_a_link_leads_nowhere_else_also_when_it_is_swapped_meanwhile() {
    let runtime = runtime(EVERYTHING).file("all/swapped/secret", "inside").file("all/folder/secret", "inside");
    let outside = runtime.outside("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "the secret").unwrap();
    for (link, target) in
        [("link", &*outside), ("file", &*outside.join("secret")), ("folder/up", Path::new("../../.."))]
    {
        symlink(target, runtime.project().join("all").join(link)).unwrap();
    }
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let through = ["link", "link/secret", "file", "folder/up/secret", "folder/up/elsewhere/secret"];
    let through = through.map(|path| format!("/workspace/all/{path}"));
    let through: Vec<&str> = through.iter().map(String::as_str).collect();
    all_refused(&editor, &session, &["read", "list", "write", "append", "truncate"], &through).await;
    // A plugin makes none itself.
    for target in ["/workspace/all/inside.txt", "/workspace/all/link"] {
        let went = attempt(&editor, &session, "hard_link", target, "/workspace/all/made").await;
        assert!(went.starts_with("refused: "), "{went}");
    }
    assert!(fs::symlink_metadata(runtime.project().join("all").join("made")).is_err());
    let audited = audit(&runtime);
    for (class, key) in
        [("read", "all/link/secret"), ("write", "all/link/secret"), ("read", "all/file"), ("write", "all/made")]
    {
        let is_told = |line: &Value| {
            (&line["class"], &line["key"], &line["decision"], &line["by"])
                == (&json!(class), &json!(key), &json!("deny"), &json!("view"))
        };
        assert!(audited.iter().any(is_told), "{class} {key} is not in the audit");
    }

    let (swapped, link) = (runtime.project().join("all").join("swapped"), runtime.project().join("all").join("link"));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let swapping = std::thread::spawn(move || {
        let here = rustix::fs::CWD;
        while !stopped.load(Ordering::Relaxed) {
            rustix::fs::renameat_with(here, &swapped, here, &link, rustix::fs::RenameFlags::EXCHANGE).unwrap();
        }
    });
    // The guest goes on for as long as both have happened often enough, and says what else it has seen.
    let went = attempt(&editor, &session, "race", "/workspace/all/swapped/secret", "inside").await;
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(went, "done: nothing else was seen", "{went}");
    editor.close().await;
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "the secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a12_another_name_and_the_kernel_s_files_are_no_way_to_what_is_elsewhere() {
    let runtime = runtime(EVERYTHING).env("SECRET_KEY", "sk-secret");
    let secret = runtime.outside("secret");
    fs::hard_link(&secret, runtime.project().join("all").join("hard")).unwrap();
    let made_up =
        [("proc", "/proc"), ("self", "/proc/self"), ("fd", "/proc/self/fd"), ("environ", "/proc/self/environ")];
    let more = [("sys", "/sys"), ("shm", "/dev/shm"), ("memory", "/proc/self/mem"), ("top", "/proc/self/root")];
    for (link, target) in made_up.iter().chain(&more) {
        symlink(target, runtime.project().join("all").join(link)).unwrap();
    }
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let paths = [
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/proc/1/environ",
        "/dev/stdin",
        "/workspace/all/environ",
        "/workspace/all/self/environ",
        "/workspace/all/self/cwd/inside.txt",
        "/workspace/all/top/etc/hostname",
        "/workspace/all/fd/0",
        "/workspace/all/fd/3",
        "/workspace/all/proc/self/environ",
        "/workspace/all/memory",
        "/workspace/all/sys/kernel/notes",
    ];
    all_refused(&editor, &session, &["read", "write", "append", "truncate"], &paths).await;
    for path in
        ["/workspace/all/proc", "/workspace/all/fd", "/workspace/all/sys", "/workspace/all/shm", "/proc", "/dev"]
    {
        let went = attempt(&editor, &session, "list", path, "").await;
        assert!(went.starts_with("refused: "), "{path}: {went}");
    }
    // Another name of a file outside, which somebody else has made, is not written; a new file takes its place instead.
    all_refused(&editor, &session, &["write", "append", "truncate"], &["/workspace/all/hard"]).await;
    assert_eq!(attempt(&editor, &session, "write", "/workspace/all/new", "").await, "done: written");
    assert_eq!(attempt(&editor, &session, "rename", "/workspace/all/new", "/workspace/all/hard").await, "done: moved");
    editor.close().await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret");
    assert_eq!(runtime.read("all/hard"), "overwritten");
}

/// A right to everything is none to what makes others run, load or allow something.
#[tokio::test]
async fn a13_what_others_act_on_is_not_written() {
    let files = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/info/exclude",
        ".acp-runtime/config.toml",
        ".acp-runtime/plugins/own.wasm",
        ".acp-runtime/steering/own.md",
        ".zed/settings.json",
        ".zed/tasks.json",
        ".vscode/tasks.json",
        "deep/er/.Zed/settings.json",
    ];
    let mut runtime = runtime(EVERYTHING);
    for file in files {
        runtime = runtime.file(&format!("all/{file}"), "as it was");
    }
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let paths = files.map(|file| format!("/workspace/all/{file}"));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    all_refused(&editor, &session, &CHANGES, &paths).await;
    for folder in [".git", ".acp-runtime", ".zed", "deep/er/.Zed"] {
        let inside = format!("/workspace/all/{folder}");
        all_refused(&editor, &session, &["rename"], &[&inside]).await;
        for attack in ["write", "make_folder"] {
            let went = attempt(&editor, &session, attack, &format!("{inside}/new"), "").await;
            assert!(went.starts_with("refused: "), "{attack} {inside}/new: {went}");
        }
    }
    for new in [".idea", "deep/.cargo", ".ZED2/../.Vscode2/../.github"] {
        all_refused(&editor, &session, &["make_folder"], &[&format!("/workspace/all/{new}")]).await;
    }
    assert_eq!(attempt(&editor, &session, "make_folder", "/workspace/all/ready", "").await, "done: made");
    let went = attempt(&editor, &session, "rename", "/workspace/all/ready", "/workspace/all/.idea").await;
    assert!(went.starts_with("refused: "), "{went}");
    // Neither is it through the host's own interface for text.
    assert_eq!(attempt(&editor, &session, "write_text", "all/a.txt", "").await, "done: written");
    let texts = files.map(|file| format!("all/{file}"));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    all_refused(&editor, &session, &["write_text"], &texts).await;
    editor.close().await;
    for file in files {
        assert_eq!(runtime.read(&format!("all/{file}")), "as it was", "{file}");
    }
    assert!(audit(&runtime).iter().any(|line| line["by"] == "unnamed" && line["decision"] == "deny"));
    assert!(
        audit(&runtime).iter().any(|line| line["class"] == "write" && line["key"] == "all/.git/config"),
        "what is refused is audited by its name"
    );
    // A right that names the folder is one.
    let named = EVERYTHING.replace("all/**", "all/.zed/**");
    let runtime = Runtime::new().config("mode = \"auto\"\n").file("all/.zed/settings.json", "as it was");
    runtime.install_guest("hostile", "test:hostile", &named);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert_eq!(attempt(&editor, &session, "write", "/workspace/all/.zed/settings.json", "").await, "done: written");
    editor.close().await;
}

/// The program's own files stay its own where the session's folder is the one around them.
#[tokio::test]
async fn a13_the_program_s_own_files_are_not_written() {
    let runtime = runtime(&EVERYTHING.replace("all/**", "home/**"));
    let around = runtime.home().parent().unwrap().to_owned();
    let editor = runtime.editor().await;
    let session = editor.call("session/new", json!({ "cwd": around, "mcpServers": [] })).await;
    let session = session["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(attempt(&editor, &session, "read", "/workspace/project/all/inside.txt", "").await, "done: inside");
    let kept = ["config.toml", "plugins/index.toml", "acp-plugins.lock"];
    fs::create_dir_all(runtime.home().join("sessions.db-outputs/other")).unwrap();
    fs::write(runtime.home().join("sessions.db-outputs/other/call-1.txt"), "what a tool has put out").unwrap();
    let others = [
        "secrets.json",
        "sessions.db",
        "sessions.db-outputs/other/call-1.txt",
        "audit/decisions.jsonl",
        "compiled/new",
    ];
    let own: Vec<String> = kept.iter().chain(&others).map(|file| format!("/workspace/home/{file}")).collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let read = || kept.map(|file| fs::read_to_string(runtime.home().join(file)).unwrap());
    let before = read();
    all_refused(&editor, &session, &CHANGES, &own).await;
    all_refused(&editor, &session, &["read"], &own).await;
    for path in ["/workspace/home/plugins", "/workspace/home/audit"] {
        all_refused(&editor, &session, &["rename"], &[path]).await;
    }
    for (tool, arguments) in [
        ("write_file", json!({ "path": "home/config.toml", "content": "mode = 'auto'" })),
        ("write_file", json!({ "path": "home/plugins/new.wasm", "content": "x" })),
        ("read_file", json!({ "path": "home/secrets.json" })),
        ("read_file", json!({ "path": "home/sessions.db-outputs/other/call-1.txt" })),
        ("move_path", json!({ "from": "home", "to": "away" })),
    ] {
        let call = editor.prompt(&session, &format!("/call {tool} {arguments}")).await.call();
        assert_eq!(call.status(), "failed", "{tool} {arguments}: {}", call.text());
    }
    editor.close().await;
    assert_eq!(read(), before);
}

#[tokio::test]
async fn a14_what_holds_secrets_is_not_read_whatever_was_granted() {
    let secrets = [
        ".env",
        "deep/.env",
        ".env.production",
        "certificate.pem",
        "deep/key.P12",
        "id_rsa",
        ".ssh/id_ed25519",
        ".ssh/config",
        "id_ecdsa.bak",
        ".aws/credentials",
        ".netrc",
        ".git-credentials",
        ".env.prod",
        ".envrc",
        "server.key",
        "id_ed25519_sk",
        ".docker/config.json",
        ".kube/config",
        ".config/gh/hosts.yml",
        ".cargo/credentials.toml",
        ".pgpass",
        ".git/config",
    ];
    let mut runtime = runtime(EVERYTHING);
    for secret in secrets {
        runtime = runtime.file(&format!("all/{secret}"), "sk-secret");
    }
    symlink(".env", runtime.project().join("all").join("alias")).unwrap();
    symlink(".ssh", runtime.project().join("all").join("keys")).unwrap();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let paths = secrets.map(|secret| format!("/workspace/all/{secret}"));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    all_refused(&editor, &session, &["read", "append", "truncate", "rename"], &paths).await;
    let links = ["/workspace/all/alias", "/workspace/all/keys/id_ed25519"];
    all_refused(&editor, &session, &["read", "append", "truncate"], &links).await;
    let texts = secrets.iter().copied().chain(["alias", "keys/id_ed25519"]).map(|secret| format!("all/{secret}"));
    let texts: Vec<String> = texts.collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    all_refused(&editor, &session, &["read_text", "write_text"], &texts).await;
    for (attack, path) in [("list", "/workspace/all"), ("list_text", "all")] {
        let listed = attempt(&editor, &session, attack, path, "").await;
        assert!(listed.starts_with("done: ") && listed.contains("inside.txt"), "{attack}: {listed}");
        for hidden in [".env", "pem", "id_rsa", "netrc"] {
            assert!(!listed.contains(hidden), "{attack} {hidden}: {listed}");
        }
    }
    editor.close().await;
    let audit = audit(&runtime);
    for key in ["all/.env", "all/certificate.pem", "all/id_rsa"] {
        let told = audit.iter().any(|line| {
            line["plugin"] == "test:hostile"
                && line["class"] == "read"
                && line["key"] == key
                && line["decision"] == "deny"
                && line["by"] == "deny-list"
        });
        assert!(told, "{key} is not in the audit");
    }
}
