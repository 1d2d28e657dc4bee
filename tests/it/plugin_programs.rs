//! `tests/guests/programs` in the real binary: what the programs that a plugin runs can and cannot do.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out programs, and looks at the traces that they leave")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use acp_runtime_tests::runtime::{build_folder, skip};
use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Permission, Runtime};
use serde_json::{Value, json};

/// A program that tries what its first argument says.
const PROBE: &str = r#"#!/bin/sh
case "$1" in
  say) shift; echo "said: $*" ;;
  environment) env | sort ;;
  folder) pwd ;;
  input) wc -c ;;
  open) for n in 3 4 5 6 7 8 9; do (: <&$n) 2>/dev/null && echo "open $n"; done; echo checked ;;
  read) cat "$2" ;;
  secret) cat "$SECRET_FILE" ;;
  write) echo written > "$2" ;;
  escape) echo written > "../../$2" ;;
  look) ls ../.. ;;
  connect) bash -c "echo hello > /dev/tcp/127.0.0.1/$2" ;;
  signal) kill -TERM "$2" ;;
  flood) cat /dev/zero ;;
  complain) cat /dev/zero >&2 ;;
  outlive) sleep 600 >/dev/null 2>&1 & echo $! > pid; echo left ;;
  hold) sleep 600 & echo $! > pid; echo left ;;
  stubborn) trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done ;;
  wait) echo $$ > pid; sleep 600 ;;
  fail) echo why >&2; exit 3 ;;
  die) kill -SEGV $$ ;;
esac
"#;

/// A runtime with the guest installed, and with programs in a folder of their own.
fn runtime(config: &str) -> Runtime {
    let guest = build_folder().join("guests/programs.wasm");
    assert!(guest.is_file(), "{} is not there: `cargo xtask plugins` builds it", guest.display());
    let guest = guest.display().to_string();
    let runtime = Runtime::new().config(config).file("sub/a.txt", "a");
    let bin = runtime.outside("bin");
    fs::create_dir(&bin).unwrap();
    program(&bin.join("probe"), PROBE);
    fs::write(runtime.outside("secret"), "the secret").unwrap();
    let search = format!("{}:{}:{}", runtime.project().display(), bin.display(), std::env::var("PATH").unwrap());
    let runtime = runtime.env("PATH", &search).env("SHARED", "shared").env("SECRET", "sk-secret");
    let installed = runtime.run(&["plugin", "install", "--yes", &guest]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    runtime
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const AUTO: &str = "mode = \"auto\"\n";

/// What the guest says of a run.
async fn attempt(editor: &EditorDouble, session: &str, run: Value) -> String {
    editor.prompt(session, &format!("/call programs__run {run}")).await.text()
}

fn probe(arguments: &[&str]) -> Value {
    json!({ "program": "probe", "arguments": arguments })
}

fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // A zombie has ended, though nobody has looked.
    status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

/// Waits until the process whose number is in `file` has ended.
async fn assert_ended(file: &Path) {
    let pid = fs::read_to_string(file).expect("the program has written its number");
    let begin = Instant::now();
    while is_running(&pid) {
        assert!(begin.elapsed() < Duration::from_secs(2), "process {pid} goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_program_gets_next_to_nothing() {
    let runtime = runtime(AUTO).env("LD_PRELOAD", "").env("GIT_DIR", "/nowhere").env("TZ", "UTC");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let project = runtime.project().canonicalize().unwrap();
    let bin = runtime.outside("bin").canonicalize().unwrap();
    let others = std::env::var_os("PATH").unwrap();
    let search = std::iter::once(bin).chain(std::env::split_paths(&others).filter(|folder| folder.is_dir()));
    let search = format!("PATH={}", std::env::join_paths(search).unwrap().to_str().unwrap());
    let environment = attempt(&editor, &session, probe(&["environment"])).await;
    // The shell adds some by itself.
    let own = ["PWD=", "OLDPWD=", "SHLVL=", "_="];
    let mut seen: Vec<&str> = environment.strip_prefix("0 ").unwrap().trim().lines().collect();
    seen.retain(|line| !own.iter().any(|name| line.starts_with(name)));
    let scratch = seen.iter().position(|line| line.starts_with("TMPDIR=")).map(|at| seen.remove(at)).unwrap();
    assert_eq!(seen, [search.as_str(), "SHARED=shared", "TERM=dumb", "TZ=UTC"]);
    assert!(!Path::new(scratch.strip_prefix("TMPDIR=").unwrap()).exists(), "{scratch} is its own, and gone with it");
    for (run, expected) in [
        (probe(&["folder"]), format!("0 {}\n ", project.display())),
        (
            json!({ "program": "probe", "arguments": ["folder"], "folder": "sub" }),
            format!("0 {}/sub\n ", project.display()),
        ),
        (probe(&["input"]), "0 0\n ".to_owned()),
        (probe(&["open"]), "0 checked\n ".to_owned()),
        (probe(&["say", "--a b", "$HOME"]), "std:denied".to_owned()),
        (probe(&["say", "a b", "$HOME", "`id`", "*", ";", "&&"]), "0 said: a b $HOME `id` * ; &&\n ".to_owned()),
        (probe(&["fail"]), "3  why\n".to_owned()),
        (probe(&["die"]), "signal Some(11)  ".to_owned()),
    ] {
        let told = attempt(&editor, &session, run.clone()).await;
        assert!(told.trim_end().starts_with(expected.trim_end()), "{run}: {told}");
    }
    editor.close().await;
}

/// A52: what was not granted, and what only looks as if it were.
#[tokio::test]
async fn a52_a_program_that_was_not_granted_is_not_run() {
    let runtime = runtime(AUTO);
    // A `git` and a `probe` of the project, which comes first in `PATH`; one that is only there, and a link to that.
    for name in ["git", "probe", "local"] {
        program(&runtime.project().join(name), "#!/bin/sh\n: > trace\necho from the project\n");
    }
    symlink(runtime.project().join("local"), runtime.outside("bin/linked")).unwrap();
    symlink(runtime.outside("bin"), runtime.project().join("out")).unwrap();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let run = |program: &str, arguments: &[&str]| json!({ "program": program, "arguments": arguments });
    let in_folder = |folder: &str| json!({ "program": "probe", "arguments": ["folder"], "folder": folder });
    for (run, expected) in [
        (run("probe", &["say", "hi"]), "0 said: hi"),
        (run("sh", &["-c", "true"]), "std:denied: run `sh -c true`: the plugin's manifest does not ask for it"),
        (run("./probe", &["say"]), "std:denied: "),
        (run("probe ", &["say"]), "std:denied: "),
        (run("/bin/sh", &[]), "std:denied: "),
        (run("", &[]), "std:denied: "),
        (run("local", &[]), "std:denied: the program `local` lies in the session's folders"),
        (run("linked", &[]), "std:denied: the program `linked` lies in the session's folders"),
        (run("absent", &[]), "std:not-found: the program `absent` is not there"),
        (run("local", &["more"]), "std:denied: "),
        (run("probe", &["say", "-x"]), "std:denied: "),
        (run("probe", &["say", "a\nb"]), "std:denied: "),
        (run("probe", &["say", "a\0b"]), "std:invalid-args: `ab` has a zero byte in it"),
        (run("probe", &["read", "/etc/passwd"]), "std:denied: "),
        (run("probe", &["read", "../secret"]), "std:denied: "),
        (run("probe", &["read", "sub/../../secret"]), "std:denied: "),
        (run("probe", &["read", "x=/etc/passwd"]), "std:denied: "),
        (run("probe", &["read", "file:///etc/passwd"]), "std:denied: "),
        (run("git", &["-c", "core.pager=x", "log"]), "std:denied: run `git -c core.pager=x log`: git's `-c` before"),
        (
            run("git", &["log", "--output=x"]),
            "std:denied: run `git log --output=x`: git's `--output=x` is not for plugins",
        ),
        (run("git", &["log", "--outp=x"]), "std:denied: run `git log --outp=x`: git's `--outp=x` is not for plugins"),
        (
            run("git", &["config", "core.fsmonitor", "x"]),
            "std:denied: run `git config core.fsmonitor x`: git's subcommand",
        ),
        (run("git", &["fetch", "ext::sh"]), "std:denied: run `git fetch ext::sh`: git's subcommand"),
        (in_folder(".."), "std:denied: `..` leaves the workspace"),
        (in_folder("/"), "std:denied: "),
        (in_folder("/workspace/../.."), "std:denied: "),
        (in_folder("out"), "std:denied: `out` leads out of the session's folders"),
        (in_folder("gone"), "std:not-found: `gone` is no folder of the session"),
        (in_folder("sub/a.txt"), "std:not-found: `sub/a.txt` is no folder of the session"),
    ] {
        let told = attempt(&editor, &session, run.clone()).await;
        assert!(told.starts_with(expected), "{run}: {told}");
    }
    editor.close().await;
    assert!(!runtime.project().join("trace").exists());
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    for line in [
        "\"class\":\"run\",\"key\":\"probe say hi\",\"decision\":\"allow\",\"by\":\"policy\"",
        "\"class\":\"run\",\"key\":\"git log --output=x\",\"decision\":\"deny\",\"by\":\"dangerous\"",
        "\"class\":\"run\",\"key\":\"sh -c true\",\"decision\":\"deny\",\"by\":\"undeclared\"",
    ] {
        assert!(audit.contains(line), "{line} is not in {audit}");
    }
}

/// What the kernel keeps from a program, where it has Landlock.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_stays_in_the_sessions_folders() {
    if acp_runtime::process::cannot_contain().is_some() {
        return skip("this kernel has no Landlock");
    }
    let runtime = runtime(AUTO);
    symlink(runtime.outside("secret"), runtime.project().join("link")).unwrap();
    let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let in_sub = |arguments: &[&str]| json!({ "program": "probe", "arguments": arguments, "folder": "sub" });
    for (run, well) in [
        (in_sub(&["read", "a.txt"]), true),
        (in_sub(&["write", "new.txt"]), true),
        (probe(&["read", "link"]), false),
        (in_sub(&["look"]), false),
        (in_sub(&["escape", "written"]), false),
        (probe(&["connect", &port]), false),
        (probe(&["signal", &bystander.id().to_string()]), false),
    ] {
        let told = attempt(&editor, &session, run.clone()).await;
        assert_eq!(told.starts_with("0 "), well, "{run}: {told}");
        assert!(!told.contains("the secret"), "{run}: {told}");
    }
    editor.close().await;
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody came");
    assert_eq!(runtime.read("sub/new.txt"), "written\n");
    assert!(!runtime.outside("written").exists());
}

#[tokio::test]
async fn what_takes_too_much_is_ended_and_leaves_nothing() {
    let runtime = runtime("mode = \"auto\"\n[limits.plugin]\nexec_seconds = 2\nexec_output = 100000\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let pid = runtime.project().join("pid");
    assert!(attempt(&editor, &session, probe(&["say", "hi"])).await.starts_with("0 said"));
    let before = editor.resident_bytes();
    for attack in ["flood", "complain"] {
        let told = attempt(&editor, &session, probe(&[attack])).await;
        assert_eq!(told, "std:limit: the program `probe` wrote more than 100000 bytes, and was ended: ask it for less");
    }
    assert!(editor.resident_bytes().saturating_sub(before) < 16 << 20);
    for attack in ["outlive", "hold"] {
        let told = attempt(&editor, &session, probe(&[attack])).await;
        assert!(told.starts_with("0 left\n"), "{attack}: {told}");
        assert_ended(&pid).await;
    }
    let told = attempt(&editor, &session, probe(&["stubborn"])).await;
    assert_eq!(told, "std:timeout: the program `probe` took longer than 2 s, and was ended: ask it for less");
    assert_ended(&pid).await;
    let hurried = json!({ "program": "probe", "arguments": ["wait"], "milliseconds": 300 });
    let told = attempt(&editor, &session, hurried).await;
    assert_eq!(told, "std:timeout: the program `probe` took longer than 0.3 s, and was ended: ask it for less");
    assert_ended(&pid).await;
    let patient = json!({ "program": "probe", "arguments": ["stubborn"], "milliseconds": 4_000_000_000_u64 });
    assert!(attempt(&editor, &session, patient).await.contains("took longer than 2 s"));
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_programs() {
    let runtime = runtime(AUTO);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let pid = runtime.project().join("pid");
    let prompt = editor.begin_prompt(&session, &format!("/call programs__run {}", probe(&["stubborn"])));
    let begin = Instant::now();
    while !fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
        assert!(begin.elapsed() < Duration::from_secs(20), "the program has not begun");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    editor.cancel(&session);
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!(turn.stop, "cancelled");
    assert_ended(&pid).await;
    editor.close().await;
    runtime.assert_no_process_left();
}

/// The person is asked for each run, with the whole line, and `always` is not among the answers.
#[tokio::test]
async fn each_run_is_asked_for() {
    let runtime = runtime("");
    let yes = |_: &Permission| Answer::Pick("allow_once");
    let editor = runtime.editor_with(EditorOptions::default().answering(yes)).await;
    let session = editor.new_session().await;
    for _ in 0..2 {
        assert!(attempt(&editor, &session, probe(&["say", "hi"])).await.starts_with("0 said: hi"));
    }
    let asked = editor.permissions();
    let titles: Vec<&str> = asked.iter().map(Permission::title).collect();
    assert_eq!(titles, ["plugin test:programs: run `probe say hi`"; 2]);
    assert!(asked.iter().flat_map(|ask| &ask.options).all(|option| option["kind"] != "allow_always"), "{asked:?}");
    editor.close().await;
}

#[tokio::test]
async fn secrets_of_a_command_line_are_not_audited() {
    let runtime = runtime(AUTO);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let told = attempt(&editor, &session, probe(&["say", "--password=hunter22-abc"])).await;
    assert!(told.starts_with("0 said: --password=hunter22-abc"), "{told}");
    let ended = editor.close().await;
    let audit = fs::read_to_string(runtime.home().join("audit/decisions.jsonl")).unwrap();
    assert!(audit.contains("--password=****") && !audit.contains("hunter22"), "{audit}");
    assert!(!ended.stderr.contains("hunter22"), "{}", ended.stderr);
}

#[tokio::test]
async fn the_right_is_shown_before_it_is_granted() {
    let runtime = runtime("");
    let info = runtime.run(&["plugin", "info", "test:programs"]);
    for line in [
        "granted exec probe * ** (with TZ, SHARED): \"looks for a way out\"",
        "granted exec git log --* **: \"looks at the repository\"",
    ] {
        assert!(info.stdout.contains(line), "{line} is not in {}", info.stdout);
    }
}

/// A56, with the kernel's help and without: a repository of a stranger runs nothing in the real program either.
#[tokio::test]
async fn a56_a_hostile_repository_is_only_looked_at() {
    let runtime = runtime(AUTO);
    let project = runtime.project();
    let evil = project.join("evil");
    program(&evil, &format!("#!/bin/sh\n: > {}/marker\ncat\n", project.display()));
    let git = |line: &str| {
        let mut command = Command::new("git");
        command.args(line.split(' ')).current_dir(&project).env("HOME", &project).env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_NAME"), "Ada").env(format!("GIT_{name}_EMAIL"), "ada@example.com");
        }
        assert!(command.output().unwrap().status.success(), "{line}");
    };
    git("init --quiet --initial-branch=main .");
    git("add sub");
    git("commit --quiet --message=one");
    let settings = "[core]\n\tfsmonitor = EVIL\n\thooksPath = hooks\n[filter \"x\"]\n\tclean = EVIL\n\tsmudge = EVIL\n\
                    [diff \"x\"]\n\tcommand = EVIL\n\ttextconv = EVIL\n[diff]\n\texternal = EVIL\n[pager]\n\tlog = EVIL\n";
    let path = project.join(".git/config");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(&path, config + &settings.replace("EVIL", &evil.display().to_string())).unwrap();
    fs::write(project.join(".gitattributes"), "* filter=x diff=x\n").unwrap();
    fs::write(project.join("sub/a.txt"), "b").unwrap();
    git("status");
    assert!(fs::remove_file(project.join("marker")).is_ok(), "left to itself, git runs it");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (arguments, expected) in
        [(&["status"][..], "modified:   sub/a.txt"), (&["diff"], "+b"), (&["log", "--patch"], "one")]
    {
        let run = json!({ "program": "git", "arguments": arguments });
        let told = attempt(&editor, &session, run).await;
        assert!(told.starts_with("0 ") && told.contains(expected), "{arguments:?}: {told}");
        assert!(!project.join("marker").exists(), "{arguments:?} has run a program");
    }
    // A repository around the session's folder is not the session's.
    let inside = json!({ "cwd": project.join("sub"), "mcpServers": [] });
    let inner = editor.call("session/new", inside).await["sessionId"].as_str().unwrap().to_owned();
    let told = attempt(&editor, &inner, json!({ "program": "git", "arguments": ["status"] })).await;
    assert!(told.starts_with("128 ") && told.contains("not a git repository"), "{told}");
    editor.close().await;
}

/// What was allowed in the session gets the variables of the right that it fits, and no others.
#[tokio::test]
async fn what_is_allowed_in_the_session_gets_the_variables_of_its_right() {
    let runtime = runtime("");
    // Named by a path it was granted nothing.
    assert_eq!(runtime.run(&["plugin", "remove", "test:programs"]).code, Some(0));
    let manifest = include_str!("../guests/programs/plugin.toml").replace(
        "    { program = \"absent\"",
        "    { program = \"bare\", arguments = [\"environment\"], reason = \"looks\" },\n    \
         { program = \"bare\", arguments = [\"**\"], env = [\"SHARED\"], reason = \"looks at more\" },\n    \
         { program = \"absent\"",
    );
    fs::write(runtime.project().join("plugin.toml"), manifest).unwrap();
    fs::copy(runtime.outside("bin/probe"), runtime.outside("bin/bare")).unwrap();
    let guest = build_folder().join("guests/programs.wasm").display().to_string();
    let built =
        runtime.run(&["plugin", "build", "--component", &guest, "--manifest", "plugin.toml", "--output", "p.wasm"]);
    assert_eq!(built.code, Some(0), "{built:?}");
    let named = runtime.project().join("p.wasm").display().to_string();
    let runtime = runtime.config(&format!("[plugins]\npaths = [{named:?}]\n"));
    let yes = |_: &Permission| Answer::Pick("allow_once");
    let editor = runtime.editor_with(EditorOptions::default().answering(yes)).await;
    let session = editor.new_session().await;
    let told = attempt(&editor, &session, probe(&["environment"])).await;
    assert!(told.starts_with("std:denied: ") && told.contains("was not granted"), "{told}");
    for line in ["probe environment", "bare environment", "bare say"] {
        let allowed =
            editor.prompt(&session, &format!("/permissions allow --scope session test:programs run:{line}")).await;
        assert!(!allowed.text().contains("error"), "{}", allowed.text());
    }
    let bare = |argument: &str| json!({ "program": "bare", "arguments": [argument] });
    for (run, has) in [(probe(&["environment"]), true), (bare("environment"), false)] {
        let told = attempt(&editor, &session, run.clone()).await;
        assert!(told.starts_with("0 "), "{run}: {told}");
        assert_eq!(told.contains("SHARED=shared"), has, "{run}: {told}");
        assert!(!told.contains("SECRET="), "{run}: {told}");
    }
    let asked = editor.permissions();
    assert_eq!(asked.len(), 2, "each run is asked for");
    let shown = |ask: &Permission| ask.call.to_string().contains("with these variables of your environment");
    assert!(shown(&asked[0]) && asked[0].call.to_string().contains("TZ SHARED") && !shown(&asked[1]), "{asked:?}");
    editor.close().await;
}
