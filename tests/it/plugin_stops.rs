//! A command that is stopped between the lockfile and the index, which are two files: the index says what is used, and the
//! next command makes the lockfile say the same.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "looks into files, and starts a process that is stopped in the middle")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::{Finished, binary, finish};
use acp_runtime_tests::shop::Offer;

use super::plugin_store::written;

/// The most bytes of a file where the stopped command runs, as `ulimit` counts them in either of its units.
const BLOCKS: u64 = 2;
/// Enough for the lockfile, and not for an index of plugins with many rights.
const BETWEEN: std::ops::RangeInclusive<u64> = BLOCKS * 512..=BLOCKS * 1024;

fn begun(runtime: &Runtime) -> PathBuf {
    runtime.home().join("plugins/begun.toml")
}

fn versions(runtime: &Runtime) -> (Option<String>, Option<String>) {
    let (index, lock) = written(runtime);
    (index.map(|(version, _)| version), lock.map(|(version, _)| version))
}

/// A home in which a command was killed that went back from 0.2.0 to 0.1.0: exactly when the lockfile said so already,
/// and the index did not. The system ends it there, for the index is larger than a file may be.
fn stopped() -> Runtime {
    let runtime = Runtime::new();
    let mut rights = String::from("fs.read = [\n");
    for number in 0..40 {
        let glob = format!("notes/a-folder-with-a-name-that-takes-its-place-{number}/**");
        writeln!(rights, "{{ glob = \"{glob}\", reason = \"reads\" }},").expect("a text can be written");
    }
    rights.push_str("]\n");
    for version in ["0.1.0", "0.2.0"] {
        Offer::of(version, &rights).put(&runtime);
        let install = runtime.run(&["plugin", "install", "list.wasm", "--yes"]);
        assert_eq!(install.code, Some(0), "{install:?}");
    }
    let size = |path: &str| fs::metadata(runtime.home().join(path)).expect("it is there").len();
    assert!(size("acp-plugins.lock") < *BETWEEN.start() && size("plugins/index.toml") > *BETWEEN.end());
    let mut command = Command::new("sh");
    runtime.furnish(&mut command);
    let limited = format!("ulimit -c 0; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    command.args(["-c", &limited]).arg(binary()).args(["plugin", "rollback", "acme:list"]);
    let stopped = finish(command);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (None, ""), "a signal ends it: {stopped:?}");
    assert_eq!(versions(&runtime), (Some("0.2.0".to_owned()), Some("0.1.0".to_owned())));
    assert!(begun(&runtime).is_file());
    runtime
}

fn told(finished: &Finished) -> bool {
    finished.stderr.contains("the lockfile says again what is installed")
}

#[test]
fn what_was_stopped_in_between_is_put_right_by_the_next_command() {
    let both = |version: &str| (Some(version.to_owned()), Some(version.to_owned()));
    for (arguments, after) in [
        (&["plugin", "verify", "--all"][..], both("0.2.0")),
        (&["plugin", "install", "--locked"], both("0.2.0")),
        (&["plugin", "install", "list.wasm", "--yes"], both("0.2.0")),
        (&["plugin", "rollback", "acme:list"], both("0.1.0")),
        (&["plugin", "remove", "acme:list"], (None, None)),
    ] {
        let runtime = stopped();
        let next = runtime.run(arguments);
        assert_eq!(next.code, Some(0), "{arguments:?}: {next:?}");
        assert!(told(&next), "{arguments:?}: {next:?}");
        assert!(!next.stderr.contains("warning: `acme:list`"), "{arguments:?}: {next:?}");
        assert_eq!(versions(&runtime), after, "{arguments:?}");
        assert!(!begun(&runtime).exists(), "{arguments:?}");
        let verify = runtime.run(&["plugin", "verify", "--all"]);
        assert!(verify.code == Some(0) && !told(&verify), "{arguments:?}: {verify:?}");
    }
}

/// As where the first installation was stopped: the lockfile names what was never installed.
#[test]
fn it_is_put_right_where_nothing_is_installed_as_well() {
    let runtime = stopped();
    fs::remove_file(runtime.home().join("plugins/index.toml")).expect("it is there");
    let verify = runtime.run(&["plugin", "verify", "--all"]);
    assert!(verify.code == Some(0) && told(&verify), "{verify:?}");
    assert_eq!(versions(&runtime), (None, None));
}

#[test]
fn a_lockfile_that_somebody_has_put_there_since_stays() {
    let runtime = stopped();
    let path = runtime.home().join("acp-plugins.lock");
    let text = fs::read_to_string(&path).expect("a lockfile").replace("0.1.0", "0.1.5");
    fs::write(&path, &text).expect("it is written");
    let verify = runtime.run(&["plugin", "verify", "--all"]);
    assert!(verify.code == Some(0) && !told(&verify), "{verify:?}");
    assert!(verify.stderr.contains("warning: `acme:list`: the lockfile names 0.1.5"), "{verify:?}");
    assert_eq!(fs::read_to_string(&path).expect("it stays"), text);
    assert!(!begun(&runtime).exists());
}

/// Where the lockfile cannot be put right, it is read as it will be, and nothing is installed by what it says meanwhile.
#[test]
fn what_cannot_be_put_right_now_is_read_as_it_will_be() {
    let runtime = stopped();
    let lock = runtime.home().join("plugins/lock");
    let held = fs::File::options().write(true).open(lock).expect("the lock is there");
    held.try_lock().expect("nobody holds it");
    let verify = runtime.run(&["plugin", "verify", "--all"]);
    assert!(verify.code == Some(0) && !verify.stderr.contains("warning: `acme:list`"), "{verify:?}");
    let locked = runtime.run(&["plugin", "install", "--locked"]);
    assert_eq!((locked.code, locked.stdout.as_str()), (Some(0), ""), "{locked:?}");
    assert_eq!(versions(&runtime), (Some("0.2.0".to_owned()), Some("0.1.0".to_owned())), "it is another's");
    // A program that another test is just starting has the file open as well.
    held.unlock().expect("it is held");
    assert!(told(&runtime.run(&["plugin", "verify", "--all"])));
    assert_eq!(versions(&runtime), (Some("0.2.0".to_owned()), Some("0.2.0".to_owned())));
}

/// What fails is put back at once, without a stop.
#[test]
fn where_the_index_cannot_be_written_the_lockfile_stays() {
    let runtime = stopped();
    assert!(told(&runtime.run(&["plugin", "verify", "--all"])));
    let mut command = Command::new("sh");
    runtime.furnish(&mut command);
    let limited = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    command.args(["-c", &limited]).arg(binary()).args(["plugin", "rollback", "acme:list"]);
    let refused = finish(command);
    assert!(refused.code == Some(1) && refused.stderr.contains("File too large"), "{refused:?}");
    assert_eq!(versions(&runtime), (Some("0.2.0".to_owned()), Some("0.2.0".to_owned())));
    assert!(!begun(&runtime).exists());
}
