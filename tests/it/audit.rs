//! The audit over the real binary: what it says of decisions, and what becomes of it when somebody edits it, kills its
//! process or fills its disk.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "edits the files of the audit")]

use std::path::PathBuf;
use std::time::Duration;

use acp_runtime_tests::{Answer, EditorOptions, Finished, Runtime};
use expect_test::expect;
use rustix::process::{Resource, Rlimit, Signal, prlimit};
use serde_json::Value;

const WRITE: &str = r#"/call write_file {"path": "a.txt", "content": "four"}"#;
const READ: &str = r#"/call read_file {"path": "a.txt"}"#;

fn file(runtime: &Runtime) -> PathBuf {
    runtime.home().join("audit/decisions.jsonl")
}

fn verify(runtime: &Runtime) -> Finished {
    runtime.run(&["audit", "verify"])
}

/// The decisions of `audit show` with these filters.
fn shown(runtime: &Runtime, filters: &[&str]) -> Vec<Value> {
    let show = runtime.run(&[&["audit", "show", "--json"][..], filters].concat());
    assert_eq!((show.code, show.stderr.as_str()), (Some(0), ""), "{filters:?}");
    show.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Two sessions: one that reads and is refused to write, one whose person lets it write, and a plugin count.
async fn decided() -> (Runtime, String) {
    let runtime = Runtime::new().file("a.txt", "one\n");
    runtime.run(&["run", READ]);
    runtime.run(&["run", WRITE]);
    let options = EditorOptions::default().answering(|_| Answer::Pick("allow_once"));
    let editor = runtime.editor_with(options).await;
    let session = editor.new_session().await;
    editor.prompt(&session, WRITE).await;
    editor.prompt(&session, "/call code-stats {}").await;
    editor.close().await;
    (runtime, session)
}

#[tokio::test]
async fn decisions_are_shown_as_they_are_wanted() {
    let (runtime, session) = decided().await;
    let all = shown(&runtime, &[]);
    let written: Vec<&Value> = all.iter().filter(|line| line["class"] == "write").collect();
    assert_eq!((&written[0]["decision"], &written[0]["by"]), (&"deny".into(), &"no-channel".into()));
    assert_eq!((&written[1]["decision"], &written[1]["by"]), (&"allow".into(), &"person".into()));
    assert_eq!((&written[1]["session"], &written[1]["bytes"]), (&session.as_str().into(), &4.into()));
    let counted = shown(&runtime, &["--plugin", "code-stats"]);
    assert!(counted.iter().all(|line| line["plugin"] == "aar:code-stats") && counted.len() >= 2, "{counted:?}");
    assert!(counted.iter().any(|line| line["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:"))));

    for (filters, count) in [
        (&["--class", "write"][..], 2),
        (&["--class", "write", "--decision", "deny"], 1),
        (&["--session", &session[..session.len() - 2], "--class", "write"], 1),
        (&["--since", "1h", "--class", "write"], 2),
        (&["--since", "2100-01-01"], 0),
        (&["--plugin", "aar:notes"], 0),
    ] {
        assert_eq!(shown(&runtime, filters).len(), count, "{filters:?}");
    }
    let people = runtime.run(&["audit", "show", "--class", "write", "--decision", "deny"]).stdout;
    let line = people.trim_end().split_once("  ").expect("the time is first").1;
    let line = line.rsplit_once("  ").expect("the session is last").0;
    assert_eq!(line, "deny   no-channel  write `a.txt`  tool write_file");
    let none = Runtime::new();
    assert_eq!(
        (none.run(&["audit", "show"]).code, verify(&none).stdout.as_str()),
        (Some(0), "nothing was decided yet\n")
    );
    assert!(!none.home().join("audit").exists(), "whoever looks makes nothing");
}

#[tokio::test]
async fn a53_what_was_done_to_it_is_found() {
    let (runtime, session) = decided().await;
    let whole = verify(&runtime);
    assert!(whole.code == Some(0) && whole.stdout.starts_with("ok      ") && whole.stderr.is_empty(), "{whole:?}");
    let head = whole.stdout.split_whitespace().find(|word| word.starts_with("sha256:")).expect("the head").to_owned();
    let kept = std::fs::read_to_string(file(&runtime)).unwrap();
    let all: Vec<&str> = kept.lines().collect();
    let edited = kept.replacen("\"deny\"", "\"allow\"", 1);
    let put = |text: &str| std::fs::write(file(&runtime), text).unwrap();
    let without = |from: usize, to: usize| [&all[..from], &all[to..]].concat().join("\n") + "\n";
    let exchanged = [&all[..1], &[all[2], all[1]], &all[3..]].concat().join("\n") + "\n";
    let denied = 1 + all.iter().position(|line| line.contains("\"deny\"")).expect("one was refused");
    let last = format!("decisions.jsonl: its end is missing: session `{session}` ended 1 line later");
    for (what, text, told) in [
        ("edited", edited, format!("decisions.jsonl:{denied}: it was changed: it does not fit its hash")),
        ("deleted", without(1, 2), "decisions.jsonl:2: 1 line before it is missing".to_owned()),
        ("exchanged", exchanged, "decisions.jsonl:3: it is out of its order: it is number 2".to_owned()),
        ("the end", without(all.len() - 1, all.len()), last.clone()),
        ("half the end", kept[..kept.len() - 30].to_owned(), last),
        (
            "half a line",
            kept.replacen(&all[1][20..], "", 1),
            "decisions.jsonl:3: 1 line before it is missing".to_owned(),
        ),
        ("all", String::new(), "decisions.jsonl: its end is missing".to_owned()),
    ] {
        put(&text);
        let found = verify(&runtime);
        assert_eq!(found.code, Some(1), "{what}: {found:?}");
        assert!(found.stdout.lines().any(|line| line.starts_with(&format!("broken  {told}"))), "{what}: {found:?}");
        let json = runtime.run(&["audit", "verify", "--json"]).stdout;
        let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.last().unwrap()["whole"], false, "{what}");
    }
    put(&kept.replacen("\"deny\"", "\"allow\"", 1));
    let show = runtime.run(&["audit", "show", "--decision", "deny"]);
    assert!(show.stderr.starts_with("warning: 1 line is left out, since is not as written"), "{show:?}");
    put(&kept);
    assert_eq!(runtime.run(&["audit", "verify", "--head", &head]).code, Some(0));

    // Whoever makes it all anew is found by who has kept the head.
    std::fs::remove_dir_all(runtime.home().join("audit")).unwrap();
    runtime.run(&["run", READ]);
    assert_eq!(verify(&runtime).code, Some(0));
    let named = runtime.run(&["audit", "verify", "--head", &head]);
    assert!(
        named.code == Some(1) && named.stdout.contains("broken  the line with the hash that was named"),
        "{named:?}"
    );
    let log = runtime.run(&["--log-level", "audit=info", "run", READ]).stderr;
    assert!(log.contains("the chain at the end of the session") && log.contains("hash=sha256:"), "{log}");
}

/// Killed at any moment, a process leaves a chain that the next one goes on with.
#[tokio::test]
async fn a53_a_process_that_is_killed_leaves_a_chain() {
    let runtime = Runtime::new().file("a.txt", "one\n");
    for round in 0..4 {
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        for _ in 0..=round * 3 {
            editor.prompt(&session, READ).await;
        }
        let prompts: Vec<_> = (0..10).map(|_| editor.begin_prompt(&session, READ)).collect();
        drop(prompts);
        editor.signal(Signal::KILL);
        editor.wait().await;
    }
    // What a kill in the middle of a line leaves.
    let mut text = std::fs::read_to_string(file(&runtime)).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    text.push_str(&last[..last.len() / 2]);
    std::fs::write(file(&runtime), &text).unwrap();
    let torn = verify(&runtime);
    assert!(torn.code == Some(0) && torn.stdout.contains("odd     decisions.jsonl:"), "{torn:?}");
    assert_eq!(runtime.run(&["run", READ]).code, Some(0));
    let after = verify(&runtime);
    assert!(after.code == Some(0) && after.stdout.contains("it is cut off"), "{after:?}");
    let reads = shown_count(&runtime);
    assert!(reads >= 4, "{reads}");
}

/// The reads that are shown, whatever else stands in the file.
fn shown_count(runtime: &Runtime) -> usize {
    runtime.run(&["audit", "show", "--class", "read"]).stdout.lines().count()
}

/// A file that may not grow is to the audit a disk that is full: no call fails for it, and what was lost is counted.
#[tokio::test]
async fn a_full_disk_costs_lines_and_no_chain() {
    let runtime = Runtime::new().file("a.txt", "one\n").config("[limits]\naudit_file = 1000000\n");
    let editor = runtime.spawn_prepared("trap '' XFSZ", EditorOptions::default());
    editor.initialize().await;
    let session = editor.new_session().await;
    let log = file(&runtime);
    // The audit's file is to be the longest of all, so that it alone is full.
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "x".repeat(500_000) + "\n").unwrap();
    editor.prompt(&session, READ).await;
    until(|| std::fs::read_to_string(&log).unwrap().contains("\"seq\":1")).await;
    let limit = |room: Option<u64>| {
        let current = room.map(|room| std::fs::metadata(&log).unwrap().len() + room);
        prlimit(Some(editor.process()), Resource::Fsize, Rlimit { current, maximum: None })
            .expect("a child can be limited");
    };
    limit(Some(100));
    let size = std::fs::metadata(&log).unwrap().len();
    for _ in 0..3 {
        assert_eq!(editor.prompt(&session, READ).await.call().status(), "completed", "no call fails for it");
    }
    until(|| editor.stderr().contains("decisions are not kept in `")).await;
    limit(None);
    editor.prompt(&session, READ).await;
    editor.close().await;
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.len() as u64 > size && text.contains("\"lost\":"), "{}", &text[500_000..]);
    let found = verify(&runtime);
    let lines: Vec<&str> = found.stdout.lines().filter(|line| line.starts_with("broken")).collect();
    assert_eq!((found.code, lines.as_slice()), (Some(0), &[][..]), "{found:?}");
}

async fn until(holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never holds");
}

/// Full files are put aside, the oldest are removed, and the chain stays whole; one that somebody else removed is missed.
#[tokio::test]
async fn a53_files_are_put_aside_when_they_are_full() {
    let runtime = Runtime::new().file("a.txt", "one\n").config("[limits]\naudit_file = 2000\naudit_files = 3\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for _ in 0..60 {
        editor.prompt(&session, READ).await;
    }
    editor.close().await;
    let whole = verify(&runtime);
    assert!(whole.code == Some(0) && whole.stdout.contains(" lines in 4 files, since "), "{whole:?}");
    let mut full: Vec<PathBuf> = std::fs::read_dir(runtime.home().join("audit"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("decisions-"))
        .collect();
    full.sort();
    assert_eq!(full.len(), 3, "{full:?}");
    std::fs::remove_file(&full[1]).unwrap();
    let missed = verify(&runtime);
    let name = full[2].file_name().unwrap().to_string_lossy().into_owned();
    assert!(missed.code == Some(1) && missed.stdout.starts_with(&format!("broken  {name}:1: ")), "{missed:?}");
}

#[test]
fn what_cannot_be_read_is_told() {
    let runtime = Runtime::new();
    std::fs::create_dir_all(file(&runtime)).unwrap();
    for command in ["show", "verify"] {
        let refused = runtime.run(&["audit", command]);
        let told = refused.stderr.replace(&runtime.home().display().to_string(), "HOME");
        expect![[r"
            error: the audit in `HOME/audit` cannot be read: `HOME/audit/decisions.jsonl`: it is a folder, not a file
            hint: check the permissions of the folder and its files
        "]]
        .assert_eq(&told);
        assert_eq!(refused.code, Some(1));
    }
}
