//! How soon the process is gone, whatever it was doing: an editor that quits waits for nobody.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "looks into the folder of compiled code")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use acp_runtime_tests::Runtime;
use rustix::process::{Pid, Signal, kill_process};

/// Compiling what is bundled takes longer than this wherever it runs.
const SOON: Duration = Duration::from_millis(400);

const INITIALIZE: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,\"clientCapabilities\":{}}}\n";

/// A process with nothing compiled yet that has answered `initialize`, and so compiles now.
fn compiling(runtime: &Runtime) -> (Child, BufReader<ChildStdout>) {
    let mut command = runtime.command(&["--acp"]);
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    process.stdin.as_mut().expect("a pipe").write_all(INITIALIZE.as_bytes()).expect("it listens");
    let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("it answers");
    assert!(line.contains("\"protocolVersion\""), "{line}");
    (process, stdout)
}

/// Entries that look whole: the code, and the hash beside it.
fn entries(runtime: &Runtime) -> usize {
    let Ok(folder) = fs::read_dir(runtime.home().join("compiled")) else { return 0 };
    let code =
        folder.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "cwasm"));
    code.inspect(|path| assert!(path.with_extension("sha256").is_file(), "{} has no hash", path.display())).count()
}

#[test]
fn a_process_that_compiles_ends_at_once() {
    for ending in ["the end of input", "SIGTERM", "a closed stdout"] {
        let runtime = Runtime::new();
        let (mut process, stdout) = compiling(&runtime);
        let begin = Instant::now();
        let mut stdin = process.stdin.take();
        match ending {
            "the end of input" => drop(stdin.take()),
            "SIGTERM" => kill_process(Pid::from_child(&process), Signal::TERM).expect("it runs"),
            _ => {
                drop(stdout);
                let request = INITIALIZE.replace("\"initialize\"", "\"session/list\"").replace("\"id\":1", "\"id\":2");
                stdin.as_mut().expect("a pipe").write_all(request.as_bytes()).expect("it listens");
            }
        }
        process.wait().expect("it ends");
        let took = begin.elapsed();
        assert!(took < SOON, "{ending}: it took {took:?}");
        assert!(entries(&runtime) < 3, "{ending}: it had compiled everything, which proves nothing");

        let after = runtime.run(&["run", "/call code-stats {}"]);
        assert_eq!(after.code, Some(0), "{ending}: what was left behind is in the way: {}", after.stderr);
        assert_eq!(after.stderr, "[Count lines of code]\n", "{ending}");
        assert!(entries(&runtime) >= 1, "{ending}");
    }
}
