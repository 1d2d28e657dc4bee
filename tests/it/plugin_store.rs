//! What is installed, as its files are: edited behind the program's back, changed by several processes at once, stopped in
//! the middle, on a disk that is full or cannot be written, and many.
#![expect(clippy::disallowed_methods, reason = "damages files, and starts processes that it stops")]

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::{Finished, binary, finish, skip};
use acp_runtime_tests::shop::{KV, NET, Offer, READ};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const CALL: [&str; 2] = ["run", "/call list__list {}"];

/// A home in which version 0.1.0 is installed.
fn shop() -> Runtime {
    let runtime = Runtime::new();
    Offer::of("0.1.0", &format!("{READ}{KV}")).put(&runtime);
    let install = runtime.run(&["plugin", "install", "list.wasm", "--yes"]);
    assert_eq!(install.code, Some(0), "{install:?}");
    runtime
}

/// The files of plugins that are kept.
fn files(runtime: &Runtime) -> Vec<PathBuf> {
    let folders = fs::read_dir(runtime.home().join("plugins/sha256")).into_iter().flatten();
    folders.map(|folder| folder.expect("an entry").path().join("plugin.wasm")).collect()
}

/// Where `what` begins in a file.
fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|part| part == what).expect("it is in there")
}

/// The version that is used; none where none is installed.
fn used(runtime: &Runtime) -> Option<String> {
    let list = runtime.run(&["plugin", "list", "--json"]);
    assert!(list.code == Some(0) && !list.stderr.contains("warning"), "{list:?}");
    let mut lines = list.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ours = lines.find(|line| line["id"] == "acme:list");
    ours.map(|line| line["version"].as_str().expect("a text").to_owned())
}

fn verified(runtime: &Runtime) -> Finished {
    runtime.run(&["plugin", "verify", "--all"])
}

#[test]
fn a34_a_file_of_the_store_that_was_edited_is_neither_run_nor_believed() {
    let runtime = shop();
    assert_eq!(runtime.run(&CALL).code, Some(0));
    let [file] = files(&runtime).try_into().expect("one file");
    let whole = fs::read(&file).expect("it is there");
    let edited = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        fs::write(&file, bytes).expect("it is written");
    };
    // Its code: whatever was compiled before is not used for it either.
    edited(find(&whole, b"Takes all tasks off the list, or only"), b'X');
    let call = runtime.run(&CALL);
    let told = format!("{}{}", call.stdout, call.stderr);
    assert!(told.contains("is not the file that was installed"), "{call:?}");
    let verify = verified(&runtime);
    assert!(verify.code == Some(1) && verify.stdout.starts_with("bad  acme:list  0.1.0  "), "{verify:?}");

    // Its manifest, which says what the model is told: it is not offered at all.
    let manifest = find(&whole, b"{\"schema\":");
    edited(manifest + find(&whole[manifest..], b"Takes all tasks off the list, or only"), b'X');
    let list = runtime.run(&["plugin", "list"]);
    assert!(
        !list.stdout.contains("acme:list") && list.stderr.contains("is not the file that was installed"),
        "{list:?}"
    );
    assert_eq!(verified(&runtime).code, Some(1));

    fs::write(&file, &whole).expect("it is written");
    assert_eq!((verified(&runtime).code, runtime.run(&CALL).code), (Some(0), Some(0)));
}

#[test]
fn a34_compiled_code_that_was_edited_is_compiled_anew() {
    let runtime = shop();
    assert_eq!(runtime.run(&CALL).code, Some(0));
    let entries = fs::read_dir(runtime.home().join("compiled")).expect("compiled code");
    let code =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.extension() == Some("cwasm".as_ref()));
    let code: Vec<PathBuf> = code.collect();
    assert!(!code.is_empty());
    for path in &code {
        let mut bytes = fs::read(path).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).expect("it is written");
    }
    let call = runtime.run(&CALL);
    assert_eq!(call.code, Some(0), "{call:?}");
    assert!(call.stderr.contains("it is not what was written"), "{call:?}");
    assert!(!runtime.run(&CALL).stderr.contains("it is not what was written"), "it was made anew");
}

#[test]
fn a54_processes_that_install_the_same_at_once_all_succeed() {
    let runtime = Runtime::new();
    Offer::of("0.1.0", READ).put(&runtime);
    let start = |_| {
        let mut command = runtime.command(&["plugin", "install", "list.wasm", "--yes"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let installs: Vec<_> = (0..4).map(start).collect();
    for install in installs {
        let output = install.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((files(&runtime).len(), used(&runtime).as_deref()), (1, Some("0.1.0")));
    assert_eq!(verified(&runtime).code, Some(0));
}

/// Each changes two files of all of them, and one of the project's: nothing of the others is lost.
#[test]
fn a54_processes_that_install_others_at_once_all_succeed() {
    const IDS: [&str; 4] = ["aar:code-stats", "aar:git-info", "aar:notes", "aar:tasks"];
    let runtime = Runtime::new().config("plugins.bundled = false\n");
    let all_at_once = |arguments: &dyn Fn(&'static str) -> Vec<&'static str>| {
        let start = |id| {
            let mut command = runtime.command(&arguments(id));
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        for process in IDS.map(start) {
            let output = process.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    };
    let noted = |path: PathBuf| {
        let text = fs::read_to_string(path).expect("a lockfile");
        IDS.map(|id| text.contains(&format!("id = \"{id}\"")))
    };
    let installed = || IDS.map(|id| runtime.run(&["plugin", "list"]).stdout.contains(&format!("{id}  ")));
    all_at_once(&|id| vec!["plugin", "install", id, "--yes", "--project"]);
    assert_eq!((installed(), files(&runtime).len()), ([true; 4], 4));
    assert_eq!(noted(runtime.home().join("acp-plugins.lock")), [true; 4]);
    assert_eq!(noted(runtime.project().join(".acp-runtime/acp-plugins.lock")), [true; 4]);
    assert_eq!(verified(&runtime).code, Some(0));
    all_at_once(&|id| vec!["plugin", "remove", id]);
    assert_eq!((installed(), noted(runtime.home().join("acp-plugins.lock"))), ([false; 4], [false; 4]));
    // Each has looked at what was there, and kept it for as long.
    for arguments in [&["plugin", "install", "aar:tasks", "--yes"][..], &["plugin", "remove", "aar:tasks"]] {
        assert_eq!(runtime.run(arguments).code, Some(0));
    }
    assert_eq!(files(&runtime).len(), 0);
}

#[test]
fn a54_whoever_waits_for_another_process_says_so() {
    let runtime = shop();
    let path = runtime.home().join("plugins/lock");
    let held = fs::File::options().write(true).open(path).expect("the lock is there");
    held.try_lock().expect("nobody holds it");
    Offer::of("0.2.0", READ).put(&runtime);
    let mut command = runtime.command(&["plugin", "install", "list.wasm", "--yes"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut seen = String::new();
    let mut stderr = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    while !seen.contains("another process changes what is installed") {
        let read = std::io::BufRead::read_line(&mut stderr, &mut seen).expect("a line");
        assert!(read > 0, "it ended: {seen}");
    }
    assert_eq!(used(&runtime).as_deref(), Some("0.1.0"), "what is installed can be read meanwhile");
    drop(held);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(used(&runtime).as_deref(), Some("0.2.0"));
}

/// A version and its digest.
type Version = (String, String);

/// The versions of `acme:list` that the index and the lockfile name as what is used.
pub fn written(runtime: &Runtime) -> (Option<Version>, Option<Version>) {
    let read = |path: &str| {
        let text = fs::read_to_string(runtime.home().join(path)).unwrap_or_default();
        text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let named = |entry: &toml::Value| {
        let text = |key: &str| entry[key].as_str().expect("a text").to_owned();
        (text("version"), text("digest"))
    };
    let (index, lock) = (read("plugins/index.toml"), read("acp-plugins.lock"));
    let used = index.get("plugins").and_then(|plugins| plugins.get("acme:list")).map(named);
    let mut entries = lock.get("plugin").and_then(toml::Value::as_array).into_iter().flatten();
    (used, entries.find(|entry| entry["id"].as_str() == Some("acme:list")).map(named))
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        most * u32::try_from(self.0 >> 48).expect("sixteen bits") / (1 << 16)
    }
}

/// Runs a command to its end, or kills it after a while. Says whether it came to its end.
fn run_for(mut command: Command, time: Duration) -> bool {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let (pid, end) = (Pid::from_child(&child), Instant::now() + time);
    loop {
        if child.try_wait().expect("it can be asked").is_some() {
            return true;
        }
        if Instant::now() >= end {
            kill_process(pid, Signal::KILL).expect("it is ours");
            child.wait().expect("it ends");
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Installs, updates and approves, each killed at a moment of its own; whatever is there then is whole and approved.
pub fn killed(times: u32) {
    let runtime = Runtime::new();
    let put = |version: &str, rights: &str, name: &str| {
        Offer::of(version, rights).put(&runtime);
        let path = runtime.outside(name);
        fs::copy(runtime.project().join("list.wasm"), &path).expect("it is copied");
        path
    };
    let [first, second] = [put("0.1.0", READ, "first.wasm"), put("0.2.0", &format!("{READ}{NET}"), "second.wasm")];
    let offer = |path: &PathBuf| fs::copy(path, runtime.project().join("list.wasm")).expect("it is copied");
    let (install, update) = (["plugin", "install", "list.wasm", "--yes"], ["plugin", "update", "acme:list"]);
    // How long each takes that is not killed, when what it compiles is known.
    let took = |arguments: &[&str]| {
        let begin = Instant::now();
        finish(runtime.command(arguments));
        begin.elapsed()
    };
    offer(&first);
    took(&install);
    let whole = took(&install);
    let terms = |path: &PathBuf| {
        offer(path);
        let outdated = runtime.run(&["plugin", "outdated", "--json"]).stdout;
        let line: Value = serde_json::from_str(outdated.lines().next().expect("a line")).expect("JSON");
        line["available"]["terms"].as_str().expect("a hash").to_owned()
    };
    let terms = terms(&second);
    let mut dice = Dice(u64::from(times));
    let mut ended = 0;
    for round in 0..times {
        let before = used(&runtime);
        let (arguments, approved): (Vec<&str>, &[&str]) = match round % 4 {
            // Removed and installed.
            0 => {
                runtime.run(&["plugin", "remove", "acme:list"]);
                offer(&first);
                (install.to_vec(), &["0.1.0"])
            }
            // Something waits, which nobody has approved.
            1 => {
                runtime.run(&["plugin", "remove", "acme:list"]);
                offer(&first);
                runtime.run(&install);
                offer(&second);
                (update.to_vec(), &["0.1.0"])
            }
            // It is approved.
            2 => {
                let approve = [&update[..], &["--accept-caps", &terms]].concat();
                (approve, &["0.1.0", "0.2.0"])
            }
            _ => (vec!["plugin", "rollback", "acme:list"], &["0.1.0", "0.2.0"]),
        };
        ended += u32::from(run_for(runtime.command(&arguments), dice.up_to(whole)));
        let verify = verified(&runtime);
        assert_eq!(verify.code, Some(0), "round {round} ({arguments:?}): {verify:?}");
        assert!(!verify.stderr.contains("warning: `acme:list`"), "round {round} ({arguments:?}): {verify:?}");
        let (index, lock) = written(&runtime);
        assert_eq!(index, lock, "round {round} ({arguments:?}): the lockfile says what is installed");
        let now = used(&runtime);
        let is_approved = now.as_deref().map_or(round % 4 == 0, |now| approved.contains(&now));
        assert!(is_approved, "round {round} ({arguments:?}): {before:?}, then {now:?}");
        let index = fs::read_to_string(runtime.home().join("plugins/index.toml")).unwrap_or_default();
        let active = index.split("[previous").next().and_then(|text| text.split("[waiting").next()).unwrap_or_default();
        assert!(now.as_deref() != Some("0.1.0") || !active.contains("net https"), "{index}");
    }
    assert!(ended < times, "none was killed");
    // And it goes on.
    offer(&second);
    let update = runtime.run(&install);
    assert_eq!((update.code, used(&runtime).as_deref()), (Some(0), Some("0.2.0")), "{update:?}");
    let left = fs::read_dir(runtime.home().join("plugins"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name());
    let left: Vec<String> =
        left.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with('.')).collect();
    assert_eq!(left, [""; 0], "nothing unfinished is left");
}

#[test]
fn a54_what_is_killed_at_any_moment_leaves_what_was_or_what_is_to_be() {
    killed(20);
}

/// What neither the index nor a living process names is removed by whoever changes something, and nothing else is.
#[tokio::test]
async fn a54_what_was_left_behind_is_removed_with_the_next_change() {
    let runtime = shop();
    let plugins = runtime.home().join("plugins");
    let used_before = files(&runtime);
    let editor = runtime.editor().await;
    editor.new_session().await;
    for version in ["0.2.0", "0.3.0"] {
        Offer::of(version, READ).put(&runtime);
        assert_eq!(runtime.run(&["plugin", "install", "list.wasm", "--yes"]).code, Some(0));
    }
    assert!(used_before.iter().all(|file| file.is_file()), "a session uses it");
    let (stray, odd) = (plugins.join("sha256").join("0".repeat(64)), plugins.join("sha256/README"));
    for folder in [&stray, &odd] {
        fs::create_dir(folder).expect("a folder");
        fs::write(folder.join("plugin.wasm"), "what somebody has left").expect("it is written");
    }
    let unfinished = plugins.join(".acp-runtime-1-0-00000000");
    fs::write(&unfinished, "half").expect("it is written");
    for arguments in [&["plugin", "list"][..], &["plugin", "verify", "--all"], &["run", "/plugins"]] {
        assert_eq!(runtime.run(arguments).code, Some(0));
    }
    assert!(stray.exists() && unfinished.exists() && files(&runtime).len() == 5, "to look changes nothing");
    editor.kill().await;
    let left = fs::read_dir(plugins.join("leases")).expect("a folder").count();
    assert!(left >= 1, "whoever is killed leaves its lease");
    assert_eq!(runtime.run(&["plugin", "rollback", "acme:list"]).code, Some(0));
    assert!(!stray.exists() && !unfinished.exists() && odd.exists());
    assert!(used_before.iter().all(|file| !file.exists()), "who has used it is gone");
    assert_eq!(fs::read_dir(plugins.join("leases")).expect("a folder").count(), 0);
    assert_eq!((files(&runtime).len(), used(&runtime).as_deref()), (3, Some("0.2.0")));
    assert_eq!(verified(&runtime).code, Some(0));
}

/// No file may grow any more, as on a disk that is full: nothing is changed, and it is said.
#[test]
fn a54_a_disk_that_is_full_changes_nothing() {
    let runtime = shop();
    Offer::of("0.2.0", READ).put(&runtime);
    let mut command = Command::new("sh");
    runtime.furnish(&mut command);
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""]).arg(binary());
    let refused = finish({
        command.args(["plugin", "update", "--all"]);
        command
    });
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("File too large"), "{refused:?}");
    assert_eq!((used(&runtime).as_deref(), verified(&runtime).code), (Some("0.1.0"), Some(0)));
    assert_eq!(files(&runtime).len(), 1, "what was begun is gone");
    assert_eq!(runtime.run(&["plugin", "update", "--all"]).code, Some(0));
    assert_eq!(used(&runtime).as_deref(), Some("0.2.0"));
}

/// A store that cannot be written is used as it is. Where nobody may make one, this test says so.
#[test]
fn a54_a_store_that_cannot_be_written_is_used_and_not_changed() {
    const MOUNT: &str = "mount --bind \"$D\" \"$D\" && mount -o remount,ro,bind \"$D\"";
    let runtime = shop();
    let may = |unshare: &str| {
        let trial = format!("D='{}' {unshare} sh -c '{MOUNT}'", runtime.home().display());
        Command::new("sh").args(["-c", &trial]).output().is_ok_and(|output| output.status.success())
    };
    let Some(unshare) = ["unshare -m", "unshare -rm"].into_iter().find(|unshare| may(unshare)) else {
        return skip("this user may not mount a folder that cannot be written");
    };
    let run = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        runtime.furnish(&mut command);
        let inside = format!("D=\"$ACP_RUNTIME_HOME/plugins\" && {MOUNT} && exec \"$0\" \"$@\"");
        command.args(["-c", &format!("exec {unshare} sh -c '{inside}' \"$0\" \"$@\"")]).arg(binary()).args(arguments);
        finish(command)
    };
    let call = run(&CALL);
    assert_eq!(call.code, Some(0), "{call:?}");
    for arguments in [&["plugin", "list"][..], &["plugin", "info", "acme:list"], &["plugin", "verify", "--all"]] {
        let looked = run(arguments);
        assert!(looked.code == Some(0) && looked.stdout.contains("acme:list"), "{looked:?}");
    }
    Offer::of("0.2.0", READ).put(&runtime);
    for arguments in [
        &["plugin", "update", "--all"][..],
        &["plugin", "install", "list.wasm", "--yes"],
        &["plugin", "remove", "acme:list"],
    ] {
        let refused = run(arguments);
        let told = refused.stderr.contains("Read-only file system") && refused.stderr.contains("hint: ");
        assert!(refused.code == Some(1) && told, "{refused:?}");
    }
    assert_eq!((used(&runtime).as_deref(), verified(&runtime).code), (Some("0.1.0"), Some(0)));
}

/// Where the content of the largest section of a component is: its code.
fn largest_section(component: &[u8]) -> Range<usize> {
    let (mut at, mut largest) = (8, 0..0);
    while at < component.len() {
        let (mut size, mut shift) = (0usize, 0);
        at += 1;
        loop {
            let byte = component[at];
            at += 1;
            size |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        if size > largest.len() {
            largest = at..at + size;
        }
        at += size;
    }
    largest
}

/// Installed copies of one plugin whose code is no code: whoever reads more than the manifests falls over it.
fn crowd(runtime: &Runtime, count: usize) {
    Offer::of("0.1.0", KV).put(runtime);
    let install = runtime.run(&["plugin", "install", "list.wasm", "--yes"]);
    assert_eq!(install.code, Some(0), "{install:?}");
    let (plugins, [file]) = (runtime.home().join("plugins"), files(runtime).try_into().expect("one file"));
    let whole: Vec<u8> = fs::read(&file).expect("it is there");
    let manifest = find(&whole, b"{\"schema\":");
    let id = manifest + find(&whole[manifest..], b"acme:list");
    let code = largest_section(&whole);
    assert!(!code.contains(&manifest));
    let index = fs::read_to_string(plugins.join("index.toml")).expect("the index");
    let entry = index.split_once("[plugins.\"acme:list\"]").expect("an entry").1;
    let lasting = |line: &&str| !line.starts_with("section") && !line.starts_with("digest");
    let entry: Vec<&str> = entry.lines().filter(lasting).collect();
    let mut all = String::new();
    for number in 0..count {
        let (name, digest) = (format!("acme:{number:04}"), format!("{number:064x}"));
        let mut copy = whole.clone();
        copy[id..id + name.len()].copy_from_slice(name.as_bytes());
        let folder = plugins.join("sha256").join(&digest);
        fs::create_dir(&folder).expect("a folder");
        copy[code.clone()].fill(0xff);
        fs::write(folder.join("plugin.wasm"), copy).expect("it is written");
        let lines = entry.join("\n");
        writeln!(all, "[plugins.\"{name}\"]\ndigest = \"sha256:{digest}\"\n{lines}").expect("a text can be written");
    }
    fs::write(plugins.join("index.toml"), all).expect("the index is written");
    // What was compiled when it was installed.
    if let Err(error) = fs::remove_dir_all(runtime.home().join("compiled")) {
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}

/// Bytes that the program reads from files and pipes, and what it says, from its start to its end.
#[cfg(target_os = "linux")]
fn read_by(runtime: &Runtime, arguments: &[&str]) -> (u64, String) {
    let mut command = Command::new("sh");
    // What a process has read counts for the one that has waited for it.
    command.args(["-c", "\"$@\"; grep ^rchar: /proc/$$/io", "sh"]).arg(binary());
    runtime.furnish(command.args(arguments));
    let done = finish(command);
    let (said, read) = done.stdout.trim_end().rsplit_once('\n').unwrap_or(("", done.stdout.trim_end()));
    (read.trim_start_matches("rchar:").trim().parse().expect("a number"), said.to_owned())
}

/// The code of all of them together is some dozens of megabytes: whoever reads it is found out by how much it has read.
#[tokio::test]
async fn a55_of_many_installed_plugins_only_the_manifests_are_read() {
    const MANY: usize = 200;
    let (alone, runtime) = (Runtime::new(), Runtime::new().config("plugins.bundled = false\n"));
    let alone = alone.config("plugins.bundled = false\n");
    crowd(&runtime, MANY);
    let list = runtime.run(&["plugin", "list"]);
    assert_eq!((list.code, list.stderr.as_str(), list.stdout.lines().count()), (Some(0), "", MANY), "{list:?}");
    #[cfg(target_os = "linux")]
    {
        let whole: u64 = files(&runtime).iter().map(|file| fs::metadata(file).expect("it is there").len()).sum();
        // A list of them, and whole sessions with all of them in it: what they offer is known.
        for (arguments, word) in
            [(&["plugin", "list"][..], "acme:"), (&["run", "/plugins"], "`acme:"), (&["run", "/tools"], "__add`")]
        {
            let ((without, _), (with, said)) = (read_by(&alone, arguments), read_by(&runtime, arguments));
            assert_eq!(said.matches(word).count(), MANY, "{arguments:?}: {said}");
            let more = with.saturating_sub(without);
            assert!(more < whole / 4, "{arguments:?} has read {more} bytes more, of {whole}");
        }
    }
    // An agent: it answers at once, and a session in it has all of them.
    let editor = runtime.spawn(acp_runtime_tests::EditorOptions::default());
    editor.initialize().await;
    let session = editor.new_session().await;
    let plugins = editor.prompt(&session, "/plugins").await.text();
    assert_eq!(plugins.matches("`acme:").count(), MANY, "{plugins}");
    editor.close().await;
    let compiled = fs::read_dir(runtime.home().join("compiled")).into_iter().flatten().count();
    assert_eq!(compiled, 0, "no code was compiled, and none run");
}
