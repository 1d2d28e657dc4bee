//! Plugins are compiled by a process of their own: one that is made to take too long or too much ends that process and
//! nothing else, and leaves nothing behind.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out plugins and looks at what is on the disk")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::{Process, build_folder, processes};

/// A number as WebAssembly has it.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return bytes;
        }
    }
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &leb(content.len()), content].concat()
}

/// A core module of so many functions, each with that body.
fn module(functions: usize, body: &[u8]) -> Vec<u8> {
    let count = leb(functions);
    let body = [&leb(body.len() + 2)[..], &[0], body, &[0x0b]].concat();
    [
        &b"\0asm\x01\0\0\0"[..],
        &section(1, b"\x01\x60\0\0"),
        &section(3, &[&count[..], &vec![0; functions]].concat()),
        &section(10, &[count.clone(), body.repeat(functions)].concat()),
    ]
    .concat()
}

/// A plugin that came with the program, with one more module in it: nothing uses that, and it is compiled all the same.
fn with_module(runtime: &Runtime, name: &str, module: &[u8]) -> PathBuf {
    let honest = fs::read(build_folder().join("plugins/git-info.wasm")).expect("`cargo xtask plugins` builds it");
    let path = runtime.outside(&format!("{name}.wasm"));
    fs::write(&path, [honest, section(1, module)].concat()).expect("it is written");
    path
}

/// `local.get`s and `drop`s would be nothing; branches are something to think about.
fn branches(count: usize) -> Vec<u8> {
    b"\x41\x00\x04\x40\x41\x00\x04\x40\x0b\x0b".repeat(count)
}

/// The files in the cache of compiled code.
fn cached(runtime: &Runtime) -> Vec<String> {
    let entries = fs::read_dir(runtime.home().join("compiled")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a37_a_component_that_is_made_to_be_slow_or_hungry_is_not_installed() {
    let runtime = Runtime::new().config("[plugins]\nbundled = false\n[limits.plugin]\ncompile_seconds = 1\n");
    let million = module(1_000_000, b"");
    let huge = module(1, &branches(400_000));
    let wide = module(20_000, &branches(60));
    for (name, module) in [("million", &million), ("huge", &huge), ("wide", &wide)] {
        let path = with_module(&runtime, name, module).display().to_string();
        let begin = Instant::now();
        let refused = runtime.run(&["plugin", "install", "--yes", &path]);
        assert_eq!(refused.code, Some(1), "{name}: {refused:?}");
        let why = "compiling it took longer than 1s (`limits.plugin.compile_seconds`)";
        assert!(refused.stderr.contains(why), "{name}: {}", refused.stderr);
        assert!(refused.stderr.contains("hint: ask its author for a smaller build"), "{}", refused.stderr);
        assert!(begin.elapsed() < Duration::from_secs(40), "{name}: {:?}", begin.elapsed());
    }
    assert_eq!(cached(&runtime), Vec::<String>::new());
    runtime.assert_no_process_left();

    let runtime = Runtime::new().config("[plugins]\nbundled = false\n[limits.plugin]\ncompile_memory = 536870912\n");
    let path = with_module(&runtime, "huge", &huge).display().to_string();
    let refused = runtime.run(&["plugin", "install", "--yes", &path]);
    let why = "compiling it took more memory than 512 MiB (`limits.plugin.compile_memory`)";
    assert!(refused.code == Some(1) && refused.stderr.contains(why), "{refused:?}");
    assert_eq!(cached(&runtime), Vec::<String>::new());
    let listed = runtime.run(&["plugin", "list", "--json"]).stdout;
    assert!(!listed.contains("\"origin\":\"installed\""), "{listed}");
}

/// Waits for the process that compiles.
fn compiles(runtime: &Runtime) -> Process {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let ours = |process: &Process| process.folder == runtime.project() && process.line.contains("__compile");
        if let Some(process) = processes().into_iter().find(ours) {
            return process;
        }
        assert!(Instant::now() < deadline, "nothing is compiled");
        std::thread::yield_now();
    }
}

/// Nothing is left of what was being compiled when the program ends, in whatever way it does.
#[tokio::test]
async fn a37_what_is_being_compiled_ends_with_the_program() {
    let huge = module(1, &branches(400_000));
    for killed in [false, true] {
        let runtime = Runtime::new();
        let path = with_module(&runtime, "huge", &huge);
        let runtime = runtime.config(&format!("[plugins]\nbundled = false\npaths = [\"{}\"]\n", path.display()));
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        compiles(&runtime);
        assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn", "it goes on meanwhile");
        if killed {
            editor.kill().await;
        } else {
            editor.close().await;
        }
        runtime.assert_no_process_left();
        assert_eq!(cached(&runtime), Vec::<String>::new());
    }
}

/// The code of an honest plugin is kept, whole, and used the next time.
#[test]
fn what_was_compiled_elsewhere_is_kept_here() {
    let runtime = Runtime::new();
    let call = || runtime.run(&["run", "/call code-stats {}"]);
    assert_eq!(call().code, Some(0));
    let mut files = cached(&runtime);
    files.sort();
    let [code, hash] = files.as_slice() else { panic!("one piece of code and its hash: {files:?}") };
    assert_eq!(code.strip_suffix(".cwasm"), hash.strip_suffix(".sha256"));
    let written = || fs::metadata(runtime.home().join("compiled").join(code)).unwrap().modified().unwrap();
    let before = written();
    assert_eq!(call().code, Some(0));
    assert_eq!(written(), before);
}
