//! `plugin test`: what it plays is what the plugin does, and what is not as it should be is shown at its place.
#![expect(clippy::disallowed_methods, reason = "reads what was kept")]

use std::fs;
use std::path::Path;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Finished, Runtime};
use expect_test::expect;
use serde_json::Value;

/// The project's own plugins have cases, which are examples as well.
#[test]
fn the_bundled_plugins_pass_their_cases() {
    let mut tested = 0;
    for plugin in ["git-info", "http-fetch", "notes", "tasks"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(plugin).display().to_string();
        let built = build_folder().join("plugins").join(format!("{plugin}.wasm")).display().to_string();
        let finished = Runtime::new().run(&["plugin", "test", &folder, "--built", &built]);
        assert_eq!(finished.code, Some(0), "{plugin}\n{}\n{}", finished.stdout, finished.stderr);
        tested += finished.stdout.matches("\n  ok ").count();
    }
    assert!(tested >= 12, "{tested} cases");
}

/// Plays cases by the bundled `tasks`; without times and the place of the test.
fn play(runtime: &Runtime, more: &[&str]) -> (Finished, String) {
    let built = build_folder().join("plugins/tasks.wasm").display().to_string();
    let finished = runtime.run(&[&["plugin", "test", "--built", &built], more].concat());
    let mut shown = String::new();
    for line in finished.stdout.lines() {
        let line = match (line.rsplit_once(" ("), line.ends_with(" ms)")) {
            (Some((before, _)), true) => before,
            _ => line,
        };
        shown.push_str(line);
        shown.push('\n');
    }
    (finished, shown)
}

#[test]
fn what_is_not_as_a_case_says_is_shown_at_its_place() {
    let runtime = Runtime::new().file(
        "tests/all.toml",
        r#"
[[case]]
name = "passes"
steps = [{ tool = "add", arguments = { text = "Write" }, structured = [{ id = 1, text = "Write", state = "open" }] }]

[[case]]
name = "another text"
steps = [{ tool = "list", text = "nothing" }]

[[case]]
name = "the second step"
steps = [
  { tool = "add", arguments = { text = "Write" } },
  { tool = "list", contains = ["Rest"] },
  { tool = "list", contains = ["never reached"] },
]

[[case]]
name = "should fail"
steps = [{ tool = "list", error = "denied" }]

[[case]]
name = "fails"
deny = ["kv"]
steps = [{ tool = "list" }]

[[case]]
name = "no snapshot yet"
steps = [{ panel = "tasks", snapshot = "empty" }]
"#,
    );
    let (finished, shown) = play(&runtime, &[]);
    assert_eq!(finished.code, Some(1));
    assert_eq!(finished.stderr, "error: 5 cases failed\n");
    expect![[r#"
        ./tests/all.toml
          ok     passes
          FAILED another text
                 ./tests/all.toml:8:10: the text is not as it should be
                   expected: "nothing"
                   was:      "There are no tasks."
          FAILED the second step
                 ./tests/all.toml:14:3: `Rest` is not in the text: 1. ☐ Write

                   0 of 1 done.
          FAILED should fail
                 ./tests/all.toml:20:10: it should fail with `denied`, and gave: There are no tasks.
          FAILED fails
                 ./tests/all.toml:25:10: it failed: Error [denied]: kv `project`: `kv` is on the deny list (the user can change the deny list: in the configuration, the project's or theirs, or in `--deny`)
          FAILED no snapshot yet
                 ./tests/all.toml:29:10: `./tests/snapshots/empty.txt` is not there: `--update` keeps the panel as it is now
                   tasks: Tasks

                   - No tasks  [tasks] root

                   add (a) on root, open, started, done: Add, changes, wants message
                   start (s) on open, done: Start, changes
                   done (d) on open, started: Done, changes
                   delete (x) on open, started, done: Delete, changes, destroys, asks "Delete “{label}”?"
                   clear (c) on root: Clear all, changes, destroys, asks "Delete all tasks?"
                   refresh (r) on root, open, started, done: Refresh
        6 cases: 1 passed, 5 failed
    "#]].assert_eq(&shown);

    // Kept once, it holds until the panel changes.
    let only = ["--only", "snapshot"];
    assert_eq!(play(&runtime, &[&only[..], &["--update"]].concat()).0.code, Some(0));
    expect![[r#"
        tasks: Tasks

        - No tasks  [tasks] root

        add (a) on root, open, started, done: Add, changes, wants message
        start (s) on open, done: Start, changes
        done (d) on open, started: Done, changes
        delete (x) on open, started, done: Delete, changes, destroys, asks "Delete “{label}”?"
        clear (c) on root: Clear all, changes, destroys, asks "Delete all tasks?"
        refresh (r) on root, open, started, done: Refresh
    "#]]
    .assert_eq(&runtime.read("tests/snapshots/empty.txt"));
    assert_eq!(play(&runtime, &only).0.code, Some(0));
    let kept = runtime.project().join("tests/snapshots/empty.txt");
    fs::write(&kept, fs::read_to_string(&kept).unwrap().replace("No tasks", "Some tasks")).unwrap();
    let (finished, shown) = play(&runtime, &only);
    assert_eq!(finished.code, Some(1));
    assert!(shown.contains("-- Some tasks  [tasks] root\n"), "{shown}");

    let (finished, _) = play(&runtime, &["--only", "passes", "--json"]);
    let lines: Vec<Value> = finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines[0]["case"].as_str(), lines[0]["passed"].as_bool()), (Some("passes"), Some(true)), "{lines:?}");
    assert_eq!(lines[1], serde_json::json!({ "passed": 1, "failed": 0 }));
}

#[test]
fn a_case_that_makes_no_sense_is_not_played() {
    for (case, told) in [
        ("steps = [{ tool = \"lst\" }]", "tests/a.toml:3:10: the plugin has no tool `lst`; did you mean `list`?"),
        ("steps = [{ panel = \"x\" }]", "tests/a.toml:3:10: the plugin has no panel `x`; it has `tasks`"),
        ("steps = [{ command = \"x y\" }]", "tests/a.toml:3:10: the plugin has no command `x`"),
        (
            "grants = [\"net\"]\nsteps = [{ tool = \"list\" }]",
            "tests/a.toml:3:11: the plugin asks for `kv`, and not for `net`",
        ),
        ("stepps = []", "tests/a.toml:3:1: unknown key `stepps`"),
        ("mode = \"atuo\"\nsteps = []", "tests/a.toml:3:8: `mode`: unknown value `atuo`"),
    ] {
        let runtime = Runtime::new().file("tests/a.toml", &format!("[[case]]\nname = \"n\"\n{case}\n"));
        let (finished, shown) = play(&runtime, &[]);
        assert_eq!((finished.code, shown.as_str()), (Some(2), ""), "{case}: {finished:?}");
        assert!(finished.stderr.starts_with(&format!("error: ./{told}")), "{case}: {}", finished.stderr);
    }
    let (finished, _) = play(&Runtime::new(), &[]);
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.starts_with("error: there are no cases: no `*.toml` in `./tests`\n"),
        "{}",
        finished.stderr
    );
    let runtime = Runtime::new().file("tests/a.toml", "[[case]]\nname = \"n\"\nsteps = [{ tool = \"list\" }]\n");
    let (finished, _) = play(&runtime, &["--only", "other"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.starts_with("error: no case has `other` in its name\n"), "{}", finished.stderr);
}

/// Nothing of the person's gets into a case, and nothing of a case stays.
#[test]
fn cases_meet_neither_the_person_nor_each_other() {
    let add = "[[case]]\nname = \"NAME\"\nsteps = [{ tool = \"add\", arguments = { text = \"Write\" }, structured = [\
               { id = 1, text = \"Write\", state = \"open\" }] }]\n";
    let cases = ["one", "two"].map(|name| add.replace("NAME", name)).concat();
    let runtime = Runtime::new()
        .config("mode = \"plan\"\n[permission]\ndeny = [\"kv\", \"plugin\"]\n[plugins]\ndisabled = [\"aar:tasks\"]\n")
        .file("tests/a.toml", &cases);
    let (finished, shown) = play(&runtime, &[]);
    assert_eq!(finished.code, Some(0), "{shown}\n{}", finished.stderr);
    let kept: Vec<_> = fs::read_dir(runtime.home()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!kept.iter().any(|name| name == "sessions.db" || name == "audit"), "{kept:?}");
}
