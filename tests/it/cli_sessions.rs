//! `acp-runtime session`: the sessions that were kept, for people and scripts.

use acp_runtime_tests::Runtime;
use expect_test::expect;
use serde_json::Value;

const WORK: &str = r##"
quiet = true
repeat = true
[[reply]]
steps = [
  { thought = "A file." },
  { text = "Writing. " },
  { call = { tool = "write_file", arguments = { path = "a.md", content = "# New\n" } } },
]
[[reply]]
steps = [{ text = "It is **done**." }]
"##;

/// The sessions of `session list`, newest first.
fn listed(runtime: &Runtime) -> Vec<Value> {
    let list = runtime.run(&["session", "list", "--json"]);
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    list.stdout.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

/// A runtime with this many sessions; their ids, newest first.
fn with_sessions(count: usize) -> (Runtime, Vec<String>) {
    let runtime = Runtime::scripted(WORK).file("a.md", "# Old\n");
    for _ in 0..count {
        assert_eq!(runtime.run(&["run", "--allow", "write", "Write a.md"]).code, Some(0));
    }
    let ids = listed(&runtime).iter().map(|session| session["id"].as_str().expect("an id").to_owned()).collect();
    (runtime, ids)
}

#[test]
fn a_session_is_exported_for_people() {
    let (runtime, ids) = with_sessions(1);
    let exported = runtime.run(&["session", "export"]);
    assert_eq!((exported.code, exported.stderr.as_str()), (Some(0), ""));
    let updated = listed(&runtime)[0]["updated"].as_str().expect("a time").to_owned();
    let text = exported.stdout.replace(&ids[0], "ID").replace(&updated, "TIME");
    let text = text.replace(&runtime.project().display().to_string(), "PROJECT");
    expect![[r##"
        # Write a.md

        - Session: `ID`
        - Last activity: TIME
        - Folder: `PROJECT`

        ## You

        > Write a.md

        ## Assistant

        > _Thinking:_ A file.

        Writing. 

        **Write `a.md`** (`write_file`, done)

        ```json
        {
          "content": "# New\n",
          "path": "a.md"
        }
        ```

        ```text
        Replaced `a.md`: 1 line
        ```

        ```diff
        --- PROJECT/a.md
        +++ PROJECT/a.md
        @@ -1 +1 @@
        -# Old
        +# New
        ```

        It is **done**.
    "##]]
    .assert_eq(&text);

    let named = runtime.run(&["session", "export", &ids[0], "--output", "session.md"]);
    assert_eq!((named.code, named.stdout.as_str()), (Some(0), "session.md\n"));
    assert_eq!(runtime.read("session.md"), exported.stdout);
    let nowhere = runtime.run(&["session", "export", "--output", "no/such/folder.md"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.stderr.contains("no/such/folder.md") && nowhere.stderr.contains("hint: "), "{}", nowhere.stderr);
}

#[test]
fn a_session_is_exported_for_programs() {
    let (runtime, ids) = with_sessions(1);
    let exported = runtime.run(&["session", "export", "--format", "json"]);
    let document: Value = serde_json::from_str(&exported.stdout).expect("JSON");
    assert_eq!(document["format"], 5);
    assert_eq!(document["session"]["id"], ids[0].as_str());
    assert_eq!(document["session"]["systemPrompt"], Value::Null);
    let shown = runtime.run(&["session", "show", "--json"]);
    let shown: Vec<Value> = shown.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(document["events"], Value::from(shown), "the same events as `show --json`");
    runtime.run(&["session", "export", "--output", "session.JSON"]);
    assert_eq!(runtime.read("session.JSON"), exported.stdout, "the file's name says the form");
}

/// What was said is its owner's, and nothing that is there is replaced unless that is meant.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "looks at the files, and lays some in the way")]
fn an_export_is_private_and_replaces_nothing_unasked() {
    use std::os::unix::fs::PermissionsExt as _;
    let (runtime, _) = with_sessions(1);
    let export = |more: &[&str]| runtime.run(&[&["session", "export", "--output"][..], more].concat());
    assert_eq!(export(&["out.md"]).code, Some(0));
    let path = runtime.project().join("out.md");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let whole = runtime.read("out.md");

    std::fs::write(&path, "mine").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = export(&["out.md"]);
    let told =
        "error: `out.md` is there, and stays as it is\nhint: name another file, or pass `--force` to replace it\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(1), told));
    assert_eq!(runtime.read("out.md"), "mine");
    assert_eq!(export(&["out.md", "--force"]).code, Some(0));
    assert_eq!((runtime.read("out.md"), mode()), (whole.clone(), 0o600));

    // A link is the file that it leads to; one that leads nowhere is in the way.
    std::os::unix::fs::symlink("out.md", runtime.project().join("link.md")).unwrap();
    assert_eq!(export(&["link.md"]).code, Some(1));
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(export(&["link.md", "--force"]).code, Some(0));
    assert_eq!(runtime.read("out.md"), whole);
    assert!(runtime.project().join("link.md").is_symlink());
    std::os::unix::fs::symlink("nowhere.md", runtime.project().join("lost.md")).unwrap();
    assert_eq!(export(&["lost.md"]).code, Some(1));
    assert!(!runtime.project().join("nowhere.md").exists());
    let folder = export(&[".", "--force"]);
    assert!(folder.code == Some(1) && folder.stderr.contains("it is a folder, not a file"), "{folder:?}");
    assert_eq!(export(&["/dev/null"]).code, Some(0), "a device is written to, and not replaced");
    let left: Vec<_> = std::fs::read_dir(runtime.project()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".acp-runtime-")), "{left:?}");
}

/// The beginning of an id is enough where it is that of one session alone.
#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let (runtime, ids) = with_sessions(2);
    let common = ids[0].bytes().zip(ids[1].bytes()).take_while(|(one, other)| one == other).count();
    let (begin, shared) = (&ids[0][..=common], &ids[0][..common]);
    let shown = runtime.run(&["session", "show", begin]);
    assert_eq!((shown.code, shown.stdout), (Some(0), runtime.run(&["session", "show", &ids[0]]).stdout));
    assert_eq!(runtime.run(&["session", "export", begin]).code, Some(0));
    let json = runtime.run(&["run", "--session", begin, "--json", "/status"]).stdout;
    assert!(json.lines().all(|line| line.contains(&ids[0])), "{json}");

    for command in [&["session", "show"][..], &["session", "export"], &["session", "delete", "--yes"]] {
        let ambiguous = runtime.run(&[command, &[shared]].concat());
        assert_eq!((ambiguous.code, ambiguous.stdout.as_str()), (Some(2), ""), "{ambiguous:?}");
        let first =
            format!("error: `{shared}` is the beginning of 2 sessions\nhint: write more of the one that is meant:\n");
        assert!(ambiguous.stderr.starts_with(&first), "{ambiguous:?}");
        for id in &ids {
            assert!(ambiguous.stderr.contains(&format!("\n  {id}  ")), "{ambiguous:?}");
        }
    }
    let unknown = runtime.run(&["session", "show", ""]);
    assert!(unknown.code == Some(2) && unknown.stderr.starts_with("error: unknown session ``"), "{unknown:?}");
    assert_eq!(runtime.run(&["session", "delete", "--yes", begin]).code, Some(0));
    assert_eq!(listed(&runtime).len(), 1);
}

#[test]
fn deleting_needs_a_yes_and_takes_all_or_nothing() {
    let (runtime, ids) = with_sessions(3);
    let unasked = runtime.run(&["session", "delete", &ids[0]]);
    assert_eq!((unasked.code, unasked.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        unasked.stderr,
        "error: nothing was deleted: nobody can be asked whether that is meant\nhint: pass `--yes`\n"
    );
    let unknown = runtime.run(&["session", "delete", "--yes", &ids[0], "no-such"]);
    assert_eq!(unknown.code, Some(2));
    assert_eq!(listed(&runtime).len(), 3, "what is not known keeps the others from being deleted");

    let deleted = runtime.run(&["session", "delete", "--yes", &ids[0], &ids[0]]);
    assert_eq!((deleted.code, deleted.stdout), (Some(0), format!("deleted {} Write a.md\n", ids[0])));
    let deleted = runtime.run(&["session", "delete", "--yes", "--json", &ids[1]]);
    let line: Value = serde_json::from_str(&deleted.stdout).expect("JSON");
    assert_eq!((line["id"].as_str(), line["title"].as_str()), (Some(ids[1].as_str()), Some("Write a.md")));
    let left: Vec<Value> = listed(&runtime).iter().map(|session| session["id"].clone()).collect();
    assert_eq!(left, [ids[2].as_str()]);
    assert_eq!(runtime.run(&["session", "show", &ids[0]]).code, Some(2));
}

#[test]
fn a_person_is_asked_before_anything_is_deleted() {
    let (runtime, ids) = with_sessions(1);
    for (answer, code, left) in [("n\n", 1, 1), ("\n", 1, 1), ("y\n", 0, 0)] {
        let (seen, exit) = runtime.at_a_terminal(&["session", "delete", &ids[0]], answer);
        assert!(seen.contains(&ids[0]) && seen.contains("Delete this session for good? [y/N] "), "{seen}");
        assert_eq!((exit, listed(&runtime).len()), (Some(code), left), "{answer:?}: {seen}");
    }
}

#[tokio::test]
async fn a_session_that_is_open_is_not_deleted() {
    let (runtime, _) = with_sessions(0);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "/help").await;
    let refused = runtime.run(&["session", "delete", "--yes", &session]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.starts_with("error: ") && refused.stderr.contains("hint: "), "{}", refused.stderr);
    assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn");
    editor.close().await;
    assert_eq!(runtime.run(&["session", "delete", "--yes", &session]).code, Some(0));
}

#[test]
fn completions_know_every_command() {
    let runtime = Runtime::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = runtime.run(&["completions", shell]).stdout;
        for word in ["list", "show", "export", "delete", "format", "output", "yes"] {
            assert!(script.contains(word), "`{word}` is not completed in {shell}");
        }
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(script.contains("markdown"), values, "clap completes values in three shells, not in {shell}");
    }
}
