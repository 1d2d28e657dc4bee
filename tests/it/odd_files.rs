//! What is no file where a file of our own should be: a pipe, a socket, a folder, a device. It is refused with a word on
//! what it is, and nothing waits for it.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "puts odd things where files should be")]

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use acp_runtime_tests::{EditorOptions, Runtime};
use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::Signal;
use serde_json::json;

const LINK: &str = "it is a link, not a file";

/// What stands in the place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Odd {
    Pipe,
    Socket,
    Folder,
    Device,
}

impl Odd {
    const ALL: [Self; 4] = [Self::Pipe, Self::Socket, Self::Folder, Self::Device];

    fn put(self, path: &Path) {
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
        match self {
            Self::Pipe => mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).expect("a pipe"),
            Self::Socket => drop(UnixListener::bind(path).expect("a socket")),
            Self::Folder => fs::create_dir(path).expect("a folder"),
            Self::Device => std::os::unix::fs::symlink("/dev/zero", path).expect("a link"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Pipe => "it is a named pipe, not a file",
            Self::Socket => "it is a socket, not a file",
            Self::Folder => "it is a folder, not a file",
            Self::Device => "it is a device, not a file",
        }
    }

    /// In the place of a file that the program keeps for itself: there a link is refused, whatever it leads to.
    fn name_in_own(self) -> &'static str {
        if self == Self::Device { LINK } else { self.name() }
    }

    /// As what stands at `place` is called.
    fn name_at(self, place: &str) -> &'static str {
        let is_own = place.starts_with("home/") && !place.contains("sessions.db-") && place != "home/config.toml";
        if is_own { self.name_in_own() } else { self.name() }
    }
}

/// Where it stands, what is done, how that ends, and what it says; `ODD` is what stands there, `HERE` the whole path.
const COMMANDS: [(&str, &[&str], i32, &str); 13] = [
    (
        "home/sessions.db",
        &["session", "list"],
        1,
        "error: the session store at `HERE` is damaged: ODD; move the file away to begin a new one\nhint: move the file \
         away to start with a new one; keep it for a repair\n",
    ),
    ("home/sessions.db", &["run", "Hi"], 1, "error: the session store at `HERE` is damaged: ODD; move the file away"),
    (
        "home/sessions.db-wal",
        &["session", "list"],
        1,
        "is damaged: `sessions.db-wal` beside it: ODD; move the file away",
    ),
    ("home/sessions.db-journal", &["session", "list"], 1, "is damaged: `sessions.db-journal` beside it: ODD; move"),
    (
        "home/plugins/index.toml",
        &["plugin", "remove", "a:b"],
        1,
        "error: `HERE`: ODD\nhint: see that it is a file or folder that you can read and write, or set \
         `ACP_RUNTIME_HOME` to another folder\n",
    ),
    ("home/plugins/index.toml", &["plugin", "list"], 0, "warning: `HERE`: ODD (see that it is a file or folder"),
    ("home/plugins/lock", &["plugin", "remove", "a:b"], 1, "error: `HERE`: ODD\nhint: see that it is a file or folder"),
    (
        "home/config.toml",
        &["run", "/help"],
        2,
        "error: `HERE` cannot be read: ODD\nhint: make it a file that you can read, or name another one\n",
    ),
    (
        "project/servers.json",
        &["run", "--mcp", "servers.json", "/help"],
        2,
        "error: `servers.json` cannot be read: ODD\nhint: make it a file that you can read, or name another one\n",
    ),
    (
        "project/model.toml",
        &["--log-level", "warn", "run", "--model", "script:model.toml", "/help"],
        2,
        "model.toml`: ODD",
    ),
    ("home/secrets.json", &["secret", "list"], 1, "cannot be read: ODD"),
    ("home/secrets.lock", &["secret", "remove", "lab"], 1, "cannot be written: `HERE`: ODD"),
    (
        "home/audit/decisions.jsonl",
        &["config", "check"],
        1,
        "error: `HERE` cannot be written: ODD; decisions are not kept",
    ),
];

/// The lock of secrets is taken only where there is one to change.
fn lay_out_for(runtime: &Runtime, place: &Path) {
    if place.ends_with("secrets.lock") {
        runtime.keep_secret("lab", "sk-secret-1");
        fs::remove_file(place).expect("it was locked");
    }
}

#[test]
fn it_is_refused_by_what_reads_it() {
    for (place, arguments, code, told) in COMMANDS {
        for odd in Odd::ALL {
            let runtime = Runtime::new();
            let here = runtime.outside(place);
            lay_out_for(&runtime, &here);
            odd.put(&here);
            let finished = runtime.run(arguments);
            let told = told.replace("ODD", odd.name_at(place)).replace("HERE", &here.display().to_string());
            assert!(
                finished.code == Some(code) && finished.stderr.contains(&told),
                "{place} {arguments:?} {odd:?}, expected {told}: {finished:?}"
            );
        }
    }
}

/// What is kept does not end up in somebody else's file, whether that is there and empty or not there yet.
#[test]
fn a_link_to_somebody_else_s_file_is_not_followed() {
    let call = "/call read_file {\"path\": \"a.txt\"}";
    for (place, arguments, code, told) in [
        ("sessions.db", &["session", "list"][..], Some(1), "is damaged: it is a link, not a file; move the file away"),
        ("sessions.db", &["run", call], Some(1), "is damaged: it is a link, not a file; move the file away"),
        (
            "sessions.db-wal",
            &["run", call],
            None,
            "written: `sessions.db-wal` beside it: it is a link, not a file; remove",
        ),
        (
            "sessions.db-shm",
            &["run", call],
            None,
            "written: `sessions.db-shm` beside it: it is a link, not a file; remove",
        ),
        ("sessions.db-journal", &["run", call], None, "written: `sessions.db-journal` beside it: it is a link, not a"),
        ("audit/decisions.jsonl", &["config", "check"], Some(1), "it is a link, not a file; decisions are not kept"),
        (
            "audit/decisions.jsonl",
            &["--log-level", "warn", "run", call],
            Some(0),
            "decisions.jsonl`: it is a link, not a file",
        ),
        ("plugins/index.toml", &["plugin", "remove", "a:b"], Some(1), "`: it is a link, not a file\nhint: "),
        ("plugins/lock", &["plugin", "remove", "a:b"], Some(1), "`: it is a link, not a file\nhint: "),
        ("secrets.json", &["secret", "remove", "lab"], Some(1), "cannot be read: it is a link, not a file"),
        ("secrets.lock", &["secret", "remove", "lab"], Some(1), "it is a link, not a file"),
    ] {
        for is_there in [true, false] {
            let runtime = Runtime::new().file("a.txt", "a");
            let (link, theirs) = (runtime.home().join(place), runtime.outside("theirs"));
            lay_out_for(&runtime, &link);
            fs::create_dir_all(link.parent().expect("it lies in a folder")).expect("a folder");
            std::os::unix::fs::symlink(&theirs, &link).expect("a link");
            if is_there {
                fs::write(&theirs, "").expect("a file");
            }
            let finished = runtime.run(arguments);
            // A call is made also where its session is not kept.
            let as_expected = code.is_none_or(|code| finished.code == Some(code)) && finished.stderr.contains(told);
            assert!(as_expected, "{place} {arguments:?} {is_there}: {finished:?}");
            assert_eq!(fs::read_to_string(&theirs).ok(), is_there.then(String::new), "{place} {arguments:?}");
            assert!(link.is_symlink(), "{place} {arguments:?}: it was replaced");
        }
    }
}

/// A log may be written to a device, which says itself what it takes.
#[test]
fn a_log_is_a_file_or_a_device() {
    for odd in [Odd::Pipe, Odd::Socket, Odd::Folder] {
        let runtime = Runtime::new();
        odd.put(&runtime.outside("project/log"));
        let refused = runtime.run(&["--log-file", "log", "run", "/help"]);
        assert!(refused.code != Some(0) && refused.stderr.contains(odd.name()), "{odd:?}: {refused:?}");
    }
    assert_eq!(Runtime::new().run(&["--log-file", "/dev/null", "run", "/help"]).code, Some(0));
}

/// What stands there is no process, and nobody's.
#[test]
fn it_is_no_owner_of_sessions() {
    let runtime = Runtime::new();
    for odd in Odd::ALL {
        odd.put(&runtime.home().join(format!("sessions.db-owners/4711.{odd:?}")));
    }
    let finished = runtime.run(&["run", "/help"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
}

/// An agent goes on as far as it can, and ends when it is told to.
#[tokio::test]
async fn an_agent_is_not_held_up_by_it() {
    for odd in Odd::ALL {
        for signal in [None, Some(Signal::TERM)] {
            let runtime = Runtime::new();
            for place in ["sessions.db", "plugins/index.toml"] {
                odd.put(&runtime.home().join(place));
            }
            let editor = runtime.spawn(EditorOptions::default());
            editor.initialize().await;
            let session = editor.new_session().await;
            let refused = editor.turn(editor.begin_prompt(&session, "Hi")).await.unwrap_err();
            assert_eq!((refused.code, &refused.data["reason"]), (-32603, &json!("store")), "{refused:?}");
            assert!(refused.message.contains(odd.name_in_own()), "{refused:?}");
            let begin = Instant::now();
            match signal {
                Some(signal) => editor.signal(signal),
                None => editor.end_input(),
            }
            assert!(editor.wait().await.success(), "{odd:?}: {}", editor.stderr());
            assert!(begin.elapsed() < Duration::from_secs(2), "{odd:?} {signal:?}: {:?}", begin.elapsed());
        }
    }
}
