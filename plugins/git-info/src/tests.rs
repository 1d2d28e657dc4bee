//! The tool and the panel over a git that is played.

use acp_plugin::testing::{self, Host};
use acp_plugin::{ErrorKind, Panel as _, Result};
use serde_json::{Map, Value, json};

use crate::{GitInfo, GitPanel};

const STATUS: [&str; 5] = ["git", "status", "--porcelain=v2", "--branch", "-z"];

const CHANGED: &str = "# branch.oid 1234\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
    1 M. N... 100644 100644 100644 aaaa bbbb src/a b.rs\0\
    1 MM N... 100644 100644 100644 aaaa bbbb c.rs\0\
    2 R. N... 100644 100644 100644 aaaa bbbb R100 new.rs\0old.rs\0\
    u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both.rs\0\
    ? notes.md\0! ignored\0";

fn text(arguments: &Value) -> Result<String> {
    Ok(testing::call::<GitInfo>(arguments)?.to_text())
}

#[test]
fn the_status_is_told_and_kept_for_the_panel() {
    let host = Host::fresh();
    let empty = GitPanel::snapshot().unwrap();
    assert_eq!((empty.root.label.as_str(), empty.status.as_str()), ("Not looked at yet: refresh it", ""));
    host.put_program(STATUS, 0, CHANGED);
    let told = text(&json!({ "show": "status" })).unwrap();
    assert_eq!(
        told,
        "main, 2 ahead of origin/main and 1 behind\nstaged: src/a b.rs\nchanged: c.rs\nstaged: old.rs -> new.rs\n\
         conflicted: both.rs\nuntracked: notes.md"
    );
    assert_eq!(host.changed_panels(), ["git"]);
    let drawn = GitPanel::snapshot().unwrap();
    let rows: Vec<_> = drawn.root.children.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(rows.len(), 5);
    assert_eq!((rows[0], drawn.status.as_str()), ("staged: src/a b.rs", "5±"));

    host.put_program(STATUS, 0, "# branch.head (detached)\0");
    assert_eq!(testing::act::<GitPanel>("refresh", "root", Map::new()).unwrap().as_deref(), Some("no branch"));
    assert_eq!(GitPanel::snapshot().unwrap().root.children.len(), 0);
    assert_eq!(text(&json!({ "show": "status", "folder": "lib" })).unwrap(), "no branch\nnothing has changed");
    assert_eq!(host.runs().last().unwrap().0, "lib");
}

#[test]
fn commits_changes_and_authors_are_told() {
    let host = Host::fresh();
    let pretty = "--pretty=format:%h%x1f%ad%x1f%an%x1f%s";
    let log = ["git", "log", "--max-count=2", "--date=short", "-z", pretty, "--", "src"];
    host.put_program(log, 0, "ab12\u{1f}2026-01-02\u{1f}Ada\u{1f}Begin: well\0cd34\u{1f}2026-01-01\u{1f}Bob\u{1f}");
    let told = text(&json!({ "show": "log", "path": "src", "limit": 2 })).unwrap();
    assert_eq!(told, "ab12 2026-01-02 Ada: Begin: well\ncd34 2026-01-01 Bob: ");

    host.put_program(["git", "diff", "--numstat", "--no-renames", "-z", "--"], 0, "3\t1\ta b.rs\0-\t-\tc.png\0");
    assert_eq!(text(&json!({ "show": "diff" })).unwrap(), "a b.rs: +3 -1\nc.png: not text");
    host.put_program(["git", "diff", "--cached", "--numstat", "--no-renames", "-z", "--"], 0, "");
    assert_eq!(text(&json!({ "show": "diff", "staged": true })).unwrap(), "no changes");

    let (one, two) = ("1".repeat(40), "2".repeat(40));
    let blamed = format!(
        "{one} 1 4 1\nauthor Ada\nauthor-mail <a@b.c>\nsummary s\nfilename a.rs\n\tfn a() {{}}\n\
         {two} 9 5 2\nauthor Bob\nfilename a.rs\n\t\n{two} 10 6\n\tauthor Eve\n"
    );
    host.put_program(["git", "blame", "--porcelain", "-L4,6", "--", "a.rs"], 0, &blamed);
    let outcome = testing::call::<GitInfo>(&json!({ "show": "blame", "path": "a.rs", "from": 4, "to": 6 })).unwrap();
    assert_eq!(outcome.to_text(), "4 11111111 (Ada) fn a() {}\n5 22222222 (Bob) \n6 22222222 (Bob) author Eve");
    assert_eq!(outcome.locations()[0].line, Some(4));
}

#[test]
fn what_does_not_work_is_said() {
    let host = Host::fresh();
    let kind = |arguments: Value| text(&arguments).unwrap_err();
    assert_eq!(kind(json!({ "show": "status" })).kind(), &ErrorKind::Denied);
    assert_eq!(kind(json!({ "show": "blame" })).message(), "`blame` needs a file: give its `path`");
    let backwards = kind(json!({ "show": "blame", "path": "a", "from": 3, "to": 2 }));
    assert_eq!(backwards.message(), "the last line 2 comes before the first one 3");
    host.put_output(STATUS, 128, "", "fatal: not a git repository (or any of the parent directories): .git\n");
    assert_eq!(kind(json!({ "show": "status" })).kind(), &ErrorKind::NotFound);
    host.put_output(STATUS, 128, "", "fatal: bad config line 1 in file .git/config\n");
    let broken = kind(json!({ "show": "status" }));
    assert_eq!(broken.message(), "`git` ended with exit code 128: fatal: bad config line 1 in file .git/config");
}

/// What the plugin runs is what its manifest says: a line that is only in one of them is refused, or asked for in vain.
#[test]
fn the_manifest_has_these_lines() {
    let manifest = include_str!("../plugin.toml");
    let source = include_str!("git.rs");
    for argument in [
        "--porcelain=v2",
        "--date=short",
        "--numstat",
        "--no-renames",
        "--cached",
        "--porcelain",
        "%h%x1f%ad%x1f%an%x1f%s",
    ] {
        assert!(manifest.contains(argument) && source.contains(argument), "{argument}");
    }
}
