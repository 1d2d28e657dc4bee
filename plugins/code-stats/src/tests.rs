//! The tool and the panel over folders that are made for the test, with the double as the host.
#![expect(clippy::disallowed_methods, reason = "makes the folders that are counted")]

use std::fs;
use std::time::Duration;

use acp_plugin::testing::{Host, act, call, snapshot};
use acp_plugin::workspace::Root;
use acp_plugin::{ErrorKind, workspace};
use expect_test::expect;
use serde_json::{Map, json};
use tempfile::TempDir;

use crate::survey::{Bounds, Cut, Request, survey};
use crate::{CodeStats, CodeStatsPanel};

/// A folder with those files, as the only root of a fresh host.
fn project(files: &[(&str, &str)]) -> (Host, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let host = Host::fresh();
    host.set_roots([(folder.path().to_str().unwrap(), "project")]);
    (host, folder)
}

fn small() -> (Host, TempDir) {
    project(&[
        ("src/main.rs", "// start\nfn main() {\n}\n\n"),
        ("src/lib.rs", "pub fn a() {}\n"),
        ("README.md", "# Title\n\nText\n"),
        ("logo.png", "no text"),
        (".gitignore", "target/\n*.log.rs\n"),
        ("target/made.rs", "fn made() {}\n"),
        ("src/a.log.rs", "fn made() {}\n"),
        (".git/config.toml", "a = 1\n"),
    ])
}

#[test]
fn by_language() {
    let (_host, _folder) = small();
    let outcome = call::<CodeStats>(&json!({})).unwrap();
    expect![[r"
        | Language | Files | Code | Comments | Blank | Lines |
        |---|---:|---:|---:|---:|---:|
        | Rust | 2 | 3 | 1 | 1 | 5 |
        | Markdown | 1 | 2 | 0 | 1 | 3 |
        | **Total** | 3 | 5 | 1 | 2 | 8 |
    "]]
    .assert_eq(&outcome.to_text());
    let rows = json!([
        { "name": "Rust", "files": 2, "code": 3, "comments": 1, "blank": 1 },
        { "name": "Markdown", "files": 1, "code": 2, "comments": 0, "blank": 1 },
    ]);
    let structured = outcome.to_structured().unwrap();
    assert_eq!((&structured["rows"], &structured["complete"]), (&rows, &json!(true)));
}

#[test]
fn by_file_below_a_path() {
    let (_host, folder) = small();
    let outcome = call::<CodeStats>(&json!({ "path": "src", "by": "file", "limit": 1 })).unwrap();
    expect![[r"
        | File | Files | Code | Comments | Blank | Lines |
        |---|---:|---:|---:|---:|---:|
        | src/main.rs | 1 | 2 | 1 | 1 | 4 |
        | **Total** | 2 | 3 | 1 | 1 | 5 |

        Rows left out: 1. Raise `limit` to see them."]]
    .assert_eq(&outcome.to_text());
    let place = folder.path().join("src/main.rs");
    assert_eq!(outcome.locations().first().map(|place| place.path.as_str()), place.to_str());
}

#[test]
fn paths_that_are_not_in_the_project() {
    let (_host, folder) = small();
    let outside = folder.path().parent().unwrap().to_str().unwrap().to_owned();
    for (path, kind) in [
        ("nowhere", ErrorKind::NotFound),
        ("/etc", ErrorKind::NotFound),
        (outside.as_str(), ErrorKind::NotFound),
        ("src/../..", ErrorKind::InvalidArgs),
        ("..", ErrorKind::InvalidArgs),
    ] {
        assert_eq!(call::<CodeStats>(&json!({ "path": path })).unwrap_err().kind(), &kind, "{path}");
    }
}

#[test]
fn excluded_by_the_settings() {
    let (host, _folder) = small();
    host.set_settings(json!({ "exclude": ["*.md", "src/main.rs"] }));
    let outcome = call::<CodeStats>(&json!({ "by": "file" })).unwrap();
    assert_eq!(outcome.to_structured().unwrap()["rows"][0]["name"], "src/lib.rs");
    assert_eq!(outcome.to_structured().unwrap()["files"], 1);
    host.set_settings(json!({ "exclude": ["a{"] }));
    assert!(call::<CodeStats>(&json!({})).unwrap_err().message().contains("bad glob"));
}

#[test]
fn several_roots_are_told_apart() {
    let (host, first) = small();
    let second = tempfile::tempdir().unwrap();
    fs::write(second.path().join("a.py"), "x = 1\n").unwrap();
    host.set_roots([(first.path().to_str().unwrap(), "one"), (second.path().to_str().unwrap(), "two")]);
    let text = call::<CodeStats>(&json!({ "by": "file" })).unwrap().to_text();
    assert!(text.contains("| one/src/main.rs |") && text.contains("| two/a.py |"), "{text}");
}

#[test]
fn links_are_not_followed() {
    #[cfg(unix)]
    {
        let (_host, folder) = small();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.rs"), "fn secret() {}\n").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("src/out")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.rs"), folder.path().join("link.rs")).unwrap();
        assert_eq!(call::<CodeStats>(&json!({})).unwrap().to_structured().unwrap()["files"], 3);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_unicode_is_counted_and_the_rest_with_it() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let (_host, folder) = small();
    for name in [&b"bad-\xff.rs"[..], b"bad-\xff"] {
        let path = folder.path().join(OsStr::from_bytes(name));
        if name.ends_with(b".rs") { fs::write(path, "fn a() {}\n").unwrap() } else { fs::create_dir(path).unwrap() }
    }
    fs::write(folder.path().join("fine-\u{fffd}.rs"), "fn fine() {}\n").unwrap();
    let outcome = call::<CodeStats>(&json!({})).unwrap();
    assert_eq!(outcome.to_structured().unwrap()["files"], 4);
    let text = outcome.to_text();
    assert!(text.ends_with("\n\nNames that could not be read, since they are no Unicode: 2."), "{text}");
}

#[test]
fn every_bound_holds_and_is_said() {
    let (_host, _folder) = small();
    let roots: Vec<Root> = workspace::roots();
    let bounded = |bounds| survey(&roots, &Request { bounds, ..Request::default() }).unwrap();
    let few = bounded(Bounds { files: 2, ..Bounds::default() });
    assert_eq!((few.files.len(), few.cut), (2, Some(Cut::Files(2))));
    assert_eq!(bounded(Bounds { files: 3, ..Bounds::default() }).cut, None, "three is all");
    let hasty = bounded(Bounds { time: Duration::ZERO, ..Bounds::default() });
    assert_eq!((hasty.files.len(), hasty.cut), (0, Some(Cut::Time(Duration::ZERO))));
    let small = bounded(Bounds { file_size: 20, ..Bounds::default() });
    assert_eq!((small.files.len(), small.too_large, small.cut), (2, 1, None));

    let (_host, _folder) = project(&[("large.rs", &"x\n".repeat(600_000))]);
    let text = call::<CodeStats>(&json!({})).unwrap().to_text();
    assert!(text.contains("Files larger than 1024 KiB, skipped: 1."), "{text}");
}

#[test]
fn progress_is_shown_and_a_cancelled_call_stops() {
    let files: Vec<_> = (0..600).map(|number| (format!("{number}.rs"), "x\n")).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let (host, _folder) = project(&files);
    call::<CodeStats>(&json!({})).unwrap();
    let shown: Vec<_> = host.progress().into_iter().map(|(_, message)| message).collect();
    assert_eq!(shown, ["249 files counted", "499 files counted"]);
    host.cancel();
    assert_eq!(call::<CodeStats>(&json!({})).unwrap_err().kind(), &ErrorKind::Cancelled);
}

#[test]
fn the_panel_shows_the_last_count() {
    let (host, folder) = small();
    let view = snapshot::<CodeStatsPanel>().unwrap();
    assert_eq!((view.status.as_str(), view.root.label.as_str()), ("5 loc", "3 files, 5 lines of code"));
    let rust = view.root.find("language:Rust").unwrap();
    let files: Vec<_> = rust.children.iter().map(|file| file.label.as_str()).collect();
    assert_eq!(files, ["src/main.rs (4)", "src/lib.rs (1)"]);

    fs::write(folder.path().join("new.rs"), "fn new() {}\n").unwrap();
    assert_eq!(snapshot::<CodeStatsPanel>().unwrap(), view, "drawing does not count");
    let said = act::<CodeStatsPanel>("refresh", "language:Rust", Map::new()).unwrap();
    assert_eq!(said.as_deref(), Some("4 files, 6 lines of code"));
    assert_eq!(snapshot::<CodeStatsPanel>().unwrap().status, "6 loc");

    assert!(host.changed_panels().is_empty());
    fs::remove_file(folder.path().join("new.rs")).unwrap();
    call::<CodeStats>(&json!({ "path": "src" })).unwrap();
    assert!(host.changed_panels().is_empty(), "a part is not the project");
    call::<CodeStats>(&json!({})).unwrap();
    call::<CodeStats>(&json!({})).unwrap();
    assert_eq!(host.changed_panels(), ["code-stats"]);
    assert_eq!(snapshot::<CodeStatsPanel>().unwrap().status, "5 loc");
}
