//! The signals that ask the process to stop: what runs is cancelled and kept, and nothing is left behind.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "waits for what commands have written, and prepares a process")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::binary;
use rustix::process::{Pid, Signal, kill_process};

const SIGNALS: [(Signal, &str, i32); 3] =
    [(Signal::INT, "SIGINT", 130), (Signal::TERM, "SIGTERM", 143), (Signal::HUP, "SIGHUP", 129)];

/// Speaks, then waits far longer than any test.
const ENDLESS: &str = "quiet = true\n[[reply]]\nsteps = [{ text = \"Wait\" }, { delay_ms = 600000 }]\n";

/// Writes when it has begun.
const COMMAND: &str = r#"/call shell {"command": "echo $$ > pid; echo > ready; sleep 600"}"#;

fn until(what: &str, is: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what} was waited for");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn started(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Sends the signal, and answers exit code and stderr; it must be gone within 2 s.
fn stopped(process: Child, signal: Signal) -> (Option<i32>, String) {
    kill_process(Pid::from_child(&process), signal).expect("it runs");
    let begin = Instant::now();
    let output = process.wait_with_output().expect("it ends");
    assert!(begin.elapsed() < Duration::from_secs(2), "{signal:?}: it took {:?}", begin.elapsed());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_run_that_is_stopped_is_cancelled_and_kept() {
    for (signal, name, code) in SIGNALS {
        let runtime = Runtime::scripted(ENDLESS);
        let mut process = started(runtime.command(&["run", "Hi"]));
        let mut said = [0; 4];
        std::io::Read::read_exact(process.stdout.as_mut().unwrap(), &mut said).expect("it speaks");
        let (ended, stderr) = stopped(process, signal);
        assert_eq!(ended, Some(code), "{name}: {stderr}");
        let told = if signal == Signal::INT { "[cancelling what runs: Ctrl-C once more quits at once]\n" } else { "" };
        assert_eq!(stderr, format!("{told}error: the turn has not ended well: it was stopped by {name}\n"));
        let kept = runtime.run(&["session", "show", "--json"]).stdout;
        assert!(kept.contains("Wait") && kept.to_lowercase().contains("cancelled"), "{name}: {kept}");
        runtime.assert_no_process_left();
    }
}

#[test]
fn a_run_that_is_stopped_takes_its_commands_along() {
    for (signal, name, code) in SIGNALS {
        let runtime = Runtime::new();
        let process = started(runtime.command(&["run", "--allow", "run", COMMAND]));
        until("the command", || runtime.project().join("ready").exists());
        let pid = runtime.read("pid");
        let (ended, stderr) = stopped(process, signal);
        assert_eq!(ended, Some(code), "{name}: {stderr}");
        until("the end of the command", || !Path::new("/proc").join(pid.trim()).exists());
        runtime.assert_no_process_left();
    }
}

/// `nohup acp-runtime run …` goes on when its terminal is closed.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_stops_nothing() {
    let runtime = Runtime::new();
    let mut command = Command::new("sh");
    runtime.furnish(&mut command);
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(binary()).args(["run", "--allow", "run"]);
    command.arg(r#"/call shell {"command": "echo > ready; while ! test -e go; do sleep 0.01; done"}"#);
    let process = started(command);
    until("the command", || runtime.project().join("ready").exists());
    kill_process(Pid::from_child(&process), Signal::HUP).expect("it runs");
    std::fs::write(runtime.project().join("go"), "").unwrap();
    let output = process.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn an_agent_that_is_stopped_answers_what_runs() {
    for (signal, name, _) in SIGNALS {
        let runtime = Runtime::new().config("mode = \"auto\"\n");
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, COMMAND);
        while !runtime.project().join("ready").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let begin = Instant::now();
        editor.signal(signal);
        assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled", "{name}");
        assert!(editor.wait().await.success(), "{name}: {}", editor.stderr());
        assert!(begin.elapsed() < Duration::from_secs(2), "{name}: {:?}", begin.elapsed());
        runtime.assert_no_process_left();
    }
}
