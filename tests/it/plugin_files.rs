//! Files that are said to be plugins: huge ones, endless ones, and what is no file.
#![expect(clippy::disallowed_methods, reason = "lays out files that the binary is given")]

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use acp_runtime_tests::Runtime;

/// A file of that size which begins with `beginning` and has nothing but zeros behind it, and takes no room.
fn sparse(path: &Path, beginning: &[u8], size: u64) {
    fs::write(path, beginning).expect("it is written");
    OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(size)).expect("it grows");
}

#[test]
fn a_file_that_is_made_to_be_slow_costs_nothing() {
    let runtime = Runtime::new().config("[plugins]\npaths = [\"../project\"]\n").file("plugin.toml", "").file("x", "x");
    let project = runtime.project();
    sparse(&project.join("zeros.wasm"), b"", 4 << 30);
    sparse(&project.join("huge.wasm"), b"\0asm\x0d\0\x01\0", 4 << 30);
    sparse(&project.join("empty.wasm"), b"\0asm\x0d\0\x01\0", 64 << 20);
    fs::create_dir(project.join("folder.wasm")).expect("it is made");
    let made = Command::new("mkfifo").arg(project.join("pipe.wasm")).status();
    assert!(made.is_ok_and(|made| made.success()), "a pipe is made");
    let begin = Instant::now();
    for (file, told) in [
        ("zeros.wasm", "`zeros.wasm` is not a WebAssembly component: it does not begin like one"),
        ("huge.wasm", "`huge.wasm` has 4294967296 bytes; at most 268435456 are accepted"),
        ("empty.wasm", "`empty.wasm` is not a WebAssembly component: it has an empty section"),
        ("pipe.wasm", "`pipe.wasm` cannot be read: it is a named pipe, not a file"),
        ("/dev/zero", "`/dev/zero` cannot be read: it is a device, not a file"),
    ] {
        for arguments in [["plugin", "info", file], ["plugin", "install", file]] {
            let refused = runtime.run(&arguments);
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}: {refused:?}");
            assert!(refused.stderr.starts_with(&format!("error: {told}\nhint: ")), "{arguments:?}: {}", refused.stderr);
        }
    }
    for arguments in
        [["--component", "huge.wasm", "--manifest", "plugin.toml"], ["--component", "x", "--manifest", "huge.wasm"]]
    {
        let refused = runtime.run(&[&["plugin", "build", "--output", "y"][..], &arguments].concat());
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.starts_with("error: `huge.wasm` has 4294967296 bytes"), "{}", refused.stderr);
    }
    let told = runtime.run(&["run", "/help"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let list = runtime.run(&["plugin", "list"]);
    for file in ["zeros", "huge", "empty", "folder", "pipe"] {
        for told in [&told, &list] {
            assert_eq!(told.stderr.matches(&format!("/{file}.wasm`")).count(), 1, "{}", told.stderr);
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

/// `notes` makes a folder of that name in the project.
#[test]
fn a_folder_with_a_plugin_s_name_is_not_in_its_way() {
    let info = Runtime::new().file("notes/a.md", "a").run(&["plugin", "info", "notes"]);
    assert!(info.code == Some(0) && info.stdout.starts_with("aar:notes "), "{info:?}");
}
