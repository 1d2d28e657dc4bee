//! `--project`: what is read and written in a folder that anybody may have made. It is never led elsewhere by a link.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out links as a hostile project does")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use acp_runtime_tests::Runtime;
use acp_runtime_tests::shop::{Offer, READ};

const LOCK: &str = ".acp-runtime/acp-plugins.lock";

/// A project with a plugin to be installed, and beside it a folder with something in it that is somebody else's.
fn project() -> Runtime {
    let runtime = Runtime::new();
    Offer::of("0.1.0", READ).put(&runtime);
    fs::create_dir(runtime.outside("theirs")).expect("a folder");
    fs::write(runtime.outside("theirs/acp-plugins.lock"), "theirs").expect("a file");
    runtime
}

/// All that lies below a folder, links and what is in the files.
fn listing(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let what = match path.symlink_metadata().expect("it is there").file_type() {
            kind if kind.is_symlink() => format!("-> {}", fs::read_link(&path).expect("a link").display()),
            kind if kind.is_dir() => {
                found.extend(listing(&path));
                "a folder".to_owned()
            }
            _ => format!("{:?}", fs::read(&path).expect("a file")),
        };
        found.push((path.display().to_string(), what));
    }
    found.sort();
    found
}

#[test]
fn no_link_of_a_project_leads_the_lockfile_elsewhere() {
    for (name, target, link) in [
        ("the folder, out", "../theirs", ".acp-runtime"),
        ("the folder, to nothing", "../theirs/new", ".acp-runtime"),
        ("the folder, inside", "own", ".acp-runtime"),
        ("the file, out", "../../theirs/acp-plugins.lock", LOCK),
        ("the file, to nothing", "../../theirs/new.lock", LOCK),
        ("the file, inside", "../own/file", LOCK),
        ("the file, to a folder", "../../theirs", LOCK),
    ] {
        let runtime = project().file("own/file", "own");
        let link = runtime.project().join(link);
        fs::create_dir_all(link.parent().expect("it lies in a folder")).expect("folders");
        for absolute in [false, true] {
            let place = if absolute { link.parent().expect("a folder").join(target) } else { target.into() };
            symlink(place, &link).expect("a link");
            let (theirs, project) = (listing(&runtime.outside("theirs")), listing(&runtime.project()));
            for arguments in [
                &["plugin", "install", "list.wasm", "--yes", "--project"][..],
                &["plugin", "install", "--locked", "--yes", "--project"],
            ] {
                let refused = runtime.run(arguments);
                assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{name}: {refused:?}");
                let told = "it is a link, and none is followed here\nhint: make it an ordinary file";
                assert!(
                    refused.stderr.starts_with("error: the project's lockfile: `.acp-runtime"),
                    "{name}: {refused:?}"
                );
                assert!(refused.stderr.contains(told), "{name}: {refused:?}");
            }
            assert_eq!(listing(&runtime.outside("theirs")), theirs, "{name}");
            assert_eq!(listing(&runtime.project()), project, "{name}");
            assert!(!runtime.run(&["plugin", "list"]).stdout.contains("acme:list"), "{name}: nothing is installed");
            fs::remove_file(&link).expect("the link");
        }
    }
}

#[test]
fn what_is_no_file_is_no_lockfile() {
    let runtime = project().file(&format!("{LOCK}/file"), "");
    let refused = runtime.run(&["plugin", "install", "list.wasm", "--yes", "--project"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("`.acp-runtime/acp-plugins.lock` is not a file\nhint: "), "{refused:?}");
    let runtime = project().file(".acp-runtime", "");
    let refused = runtime.run(&["plugin", "install", "list.wasm", "--yes", "--project"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("`.acp-runtime` is not a directory\nhint: "), "{refused:?}");
    assert!(!runtime.run(&["plugin", "list"]).stdout.contains("acme:list"), "nothing is installed");
}

/// Where the person's own folder lies is theirs to say: a link that leads to the project is none in it.
#[test]
fn a_project_behind_a_link_has_a_lockfile_like_any_other() {
    let runtime = project();
    symlink(runtime.project(), runtime.outside("link")).expect("a link");
    let mut command = runtime.command(&["plugin", "install", "list.wasm", "--yes", "--project"]);
    command.current_dir(runtime.outside("link"));
    let installed = acp_runtime_tests::runtime::finish(command);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert!(runtime.read(LOCK).contains("source = \"./list.wasm\"\n"), "{}", runtime.read(LOCK));
}
