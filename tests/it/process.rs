//! Programs that the runtime starts: what they get, how they end, and that nothing of them is left.
//!
//! A program that is gone has closed its output, and so have all that it started; reading an output to its end is how
//! these tests wait for that.
#![expect(clippy::disallowed_methods, reason = "programs get the search path of the tests, and files to be started")]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use acp_runtime::process::{Capture, Input, Launcher, Outputs, Program, Running};
use acp_runtime_tests::runtime::{binary, processes};
use futures::FutureExt as _;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// How long a program may take for what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

fn launcher() -> Launcher {
    launcher_through(&binary())
}

fn launcher_through(executable: &Path) -> Launcher {
    let path = std::env::var("PATH").unwrap();
    let environment = [("PATH".to_owned(), path), ("LANG".to_owned(), "C".to_owned())];
    Launcher::new(executable.to_owned(), BTreeMap::from(environment))
}

fn shell(script: &str) -> Program {
    Program { arguments: vec!["-c".to_owned(), script.to_owned()], ..Program::new("sh", "/") }
}

async fn start(launcher: &Launcher, program: Program) -> Running {
    launcher.start(program).await.unwrap_or_else(|error| panic!("{error}"))
}

/// All that is left of the output, which ends when the last process that holds it is gone.
async fn rest(running: &mut Running) -> String {
    let mut capture = Capture::new(1 << 20);
    let mut output = running.output.take().expect("an output is read once");
    tokio::time::timeout(PATIENCE, capture.read(&mut output)).await.expect("a process is left").unwrap();
    capture.text()
}

async fn run(program: Program) -> (String, Option<i32>) {
    let launcher = launcher();
    let mut running = start(&launcher, program).await;
    let text = rest(&mut running).await;
    (text, running.wait().await.unwrap().code())
}

#[tokio::test]
async fn a_program_gets_what_it_was_given_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().canonicalize().unwrap();
    let program = Program {
        environment: BTreeMap::from([("GIVEN".to_owned(), "a b".to_owned()), ("LANG".to_owned(), "de".to_owned())]),
        folder: folder.clone(),
        ..shell(
            "pwd; printf '%s\\n' \"$1\" \"$2\"; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort; exit 3",
        )
    };
    let arguments = ["sh", "$HOME; `x`", ""].map(str::to_owned);
    let program = Program { arguments: program.arguments.into_iter().chain(arguments).collect(), ..program };
    let (text, code) = run(program).await;
    let path = std::env::var("PATH").unwrap();
    assert_eq!(text, format!("{}\n$HOME; `x`\n\nGIVEN=a b\nLANG=de\nPATH={path}\n", folder.display()));
    assert_eq!(code, Some(3));
}

#[tokio::test]
async fn a_program_leads_a_session_of_its_own_without_a_terminal() {
    let (text, _) = run(shell("cat /proc/$$/stat")).await;
    let fields: Vec<&str> = text.split(' ').collect();
    let [pid, group, session, terminal] = [0, 4, 5, 6].map(|index| fields[index]);
    assert_eq!([group, session, terminal], [pid, pid, "0"], "{text}");
}

#[tokio::test]
async fn input_is_what_is_written_or_has_ended() {
    assert_eq!(run(Program::new("cat", "/")).await, (String::new(), Some(0)));
    let launcher = launcher();
    let mut running = start(&launcher, Program { input: Input::Piped, ..Program::new("cat", "/") }).await;
    let mut input = running.input.take().expect("it was asked for");
    input.write_all("hello\n".as_bytes()).await.unwrap();
    drop(input);
    assert_eq!(rest(&mut running).await, "hello\n");
    assert_eq!(running.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn outputs_are_apart_or_joined_in_order() {
    const SCRIPT: &str = "echo 1; echo 2 >&2; echo 3; echo 4 >&2";
    let launcher = launcher();
    let mut apart = start(&launcher, shell(SCRIPT)).await;
    let mut errors = Capture::new(1024);
    errors.read(apart.errors.as_mut().expect("apart")).await.unwrap();
    assert_eq!((rest(&mut apart).await.as_str(), errors.text().as_str()), ("1\n3\n", "2\n4\n"));
    let mut joined = start(&launcher, Program { outputs: Outputs::Joined, ..shell(SCRIPT) }).await;
    assert!(joined.errors.is_none());
    assert_eq!(rest(&mut joined).await, "1\n2\n3\n4\n");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = tempfile::tempdir().unwrap();
    let launcher = launcher();
    let folder = place.path();
    let lost = folder.join("lost");
    for (program, expected) in [
        (Program::new("no-such-program", "/"), "the program `no-such-program` was not found".to_owned()),
        (Program::new("/dev/null", "/"), "the program `/dev/null` was not found".to_owned()),
        (Program::new("sh", &lost), format!("the folder `{}` to start it in is not there", lost.display())),
        (
            Program { arguments: vec!["a\0b".to_owned()], ..Program::new("sh", "/") },
            "the program `sh` could not be started: nul byte found in provided data".to_owned(),
        ),
    ] {
        assert_eq!(launcher.start(program).await.err().map(|error| error.to_string()), Some(expected));
    }
}

#[tokio::test]
async fn a_file_that_is_no_program_says_so_where_it_would_write() {
    use std::os::unix::fs::OpenOptionsExt as _;

    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("odd");
    let mut options = std::fs::OpenOptions::new();
    std::io::Write::write_all(
        &mut options.write(true).create(true).mode(0o755).open(&file).unwrap(),
        b"#!/no/such/interpreter\n",
    )
    .unwrap();
    let launcher = launcher();
    let odd = Program { outputs: Outputs::Joined, ..Program::new(file.display().to_string(), "/") };
    let mut running = start(&launcher, odd).await;
    let text = rest(&mut running).await;
    assert_eq!(text, format!("`{}` could not be executed: No such file or directory (os error 2)\n", file.display()));
    assert_eq!(running.wait().await.unwrap().code(), Some(126));
}

#[tokio::test]
async fn a_program_that_is_stopped_may_clean_up_and_is_killed_if_it_does_not() {
    let launcher = launcher();
    let polite = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let stubborn = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    for (script, grace, code, last) in
        [(polite, PATIENCE, Some(7), "bye\n"), (stubborn, Duration::from_millis(50), None, "")]
    {
        let mut running = start(&launcher, shell(script)).await;
        let mut output = BufReader::new(running.output.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).await.unwrap();
        assert_eq!(line, "ready\n");
        let status = tokio::time::timeout(PATIENCE, running.stop(grace)).await.expect("it ends").unwrap();
        assert_eq!(status.code(), code, "{script}");
        let mut capture = Capture::new(1024);
        tokio::time::timeout(PATIENCE, capture.read(&mut output)).await.expect("a process is left").unwrap();
        assert_eq!(capture.text(), last, "{script}");
        assert_eq!(running.wait().await.unwrap(), status, "its end can be asked for again");
    }
}

/// A program that starts another one, which would run for long.
fn family(then: &str) -> Program {
    shell(&format!("sleep 1000 & echo started; {then}"))
}

async fn until_started(running: &mut Running) -> BufReader<acp_runtime::process::Output> {
    let mut output = BufReader::new(running.output.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    assert_eq!(line, "started\n");
    output
}

async fn assert_ends(mut output: BufReader<acp_runtime::process::Output>) {
    let mut capture = Capture::new(16);
    tokio::time::timeout(PATIENCE, capture.read(&mut output)).await.expect("a process is left").unwrap();
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let launcher = launcher();
    let mut running = start(&launcher, family("exit 0")).await;
    let output = until_started(&mut running).await;
    assert_eq!(running.wait().await.unwrap().code(), Some(0));
    assert_ends(output).await;
}

#[tokio::test]
async fn nothing_of_what_it_leaves_behind_lives_when_its_end_is_told() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().canonicalize().unwrap();
    let launcher = launcher();
    for _ in 0..20 {
        let program = Program { folder: folder.clone(), ..shell("for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done") };
        let mut running = start(&launcher, program).await;
        assert_eq!(running.wait().await.unwrap().code(), Some(0));
        let left: Vec<_> = processes().into_iter().filter(|process| process.folder == folder).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[tokio::test]
async fn a_dropped_program_is_killed_with_all_that_it_started() {
    let launcher = launcher();
    let mut running = start(&launcher, family("wait")).await;
    let output = until_started(&mut running).await;
    drop(running);
    assert_ends(output).await;
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let launcher = launcher();
    for _ in 0..20 {
        let program = Program { folder: place.path().to_owned(), ..shell("touch ran; sleep 1000") };
        assert!(launcher.start(program).now_or_never().is_none(), "another thread starts it");
    }
    // Orders are carried out one after another, so all of those were.
    start(&launcher, shell("exit 0")).await.wait().await.unwrap();
    let inside = || processes().into_iter().filter(|process| process.folder.starts_with(place.path())).count();
    tokio::time::timeout(PATIENCE, async {
        while inside() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("a process is left");
    assert!(!place.path().join("ran").exists(), "it had no word to go on");
}

/// What happens when this process is killed: its threads are gone, and its ends of pipes are closed.
#[tokio::test]
async fn programs_end_with_the_launcher_whatever_happens_to_it() {
    let launcher = launcher();
    let mut running = start(&launcher, family("wait")).await;
    let output = until_started(&mut running).await;
    std::mem::forget(running);
    drop(launcher);
    assert_ends(output).await;
}

#[tokio::test]
async fn a_guardian_that_was_killed_is_replaced() {
    let place = tempfile::tempdir().unwrap();
    let executable = place.path().join("runtime");
    symlink(binary(), &executable).unwrap();
    let launcher = launcher_through(&executable);
    let mut first = start(&launcher, family("wait")).await;
    let first_output = until_started(&mut first).await;
    let guardian = format!("{} __guard", executable.display());
    let found = processes().into_iter().find(|process| process.line == guardian).expect("there is a guardian");
    kill_process(Pid::from_raw(found.id).unwrap(), Signal::KILL).unwrap();
    // Until it is gone for good, what is written to it is taken.
    let stat = format!("/proc/{}/stat", found.id);
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        tokio::task::yield_now().await;
    }
    let mut second = start(&launcher, family("wait")).await;
    let second_output = until_started(&mut second).await;
    std::mem::forget(first);
    std::mem::forget(second);
    drop(launcher);
    assert_ends(first_output).await;
    assert_ends(second_output).await;
}
