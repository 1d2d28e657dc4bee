//! Programs: what a guest may have run, and what reaches whoever runs them.

use std::sync::atomic::Ordering;

use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::policy::Mode;
use serde_json::json;

use crate::repository::{self, Repository};
use crate::support::Runtime;

const RIGHTS: &str = r#"[capabilities]
exec = [
    { program = "tool", arguments = ["--count=*"], env = ["TZ"], reason = "counts" },
    { program = "tool", arguments = ["show", "*"], reason = "shows" },
    { program = "tool", arguments = ["src*"], reason = "looks" },
    { program = "tool", reason = "begins" },
]"#;

/// What a guest with those rights is told that runs `line`.
async fn run(runtime: &Runtime, toml: &str, line: &str) -> String {
    runtime.run("process", toml, json!({ "p": line })).await.unwrap()
}

#[tokio::test]
async fn what_was_granted_is_run_as_it_was_asked_for() {
    let runtime = Runtime::new();
    assert_eq!(run(&runtime, RIGHTS, "tool --count=3").await, "--count=3");
    assert_eq!(run(&runtime, RIGHTS, "tool src/a").await, "src/a");
    let runs = runtime.programs.runs.lock().unwrap();
    assert_eq!(runs[0].line.to_string(), "tool --count=3");
    assert_eq!((&*runs[0].inherit, runs[0].changes, runs[0].variables.len()), (&["TZ".to_owned()][..], true, 0));
    assert_eq!(runs[1].inherit, Vec::<String>::new(), "each right has its own variables");
}

/// A52: the manifest's patterns are a wall, not a hint.
#[tokio::test]
async fn a52_arguments_that_were_not_granted_are_refused() {
    let runtime = Runtime::new();
    for argument in [
        "-c",
        "--counts=3",
        "--count",
        "--count=/etc/passwd",
        "--count=../x",
        "show",
        "src/../..",
        "src/../../etc",
        "x",
        "show -x",
        "show ../x",
        "show /etc/passwd",
        "show a b",
        "--count=3 --count=3",
        "--count=3 show a",
        "Show a",
    ] {
        let told = run(&runtime, RIGHTS, &format!("tool {argument}")).await;
        assert!(told.starts_with("run `tool "), "{argument}: {told}");
        assert!(told.ends_with("(the plugin's author must add it to the capabilities in plugin.toml)"), "{told}");
    }
    for program in ["other", "./tool", "/bin/tool", "TOOL", "tool\\\\"] {
        let told = run(&runtime, RIGHTS, &format!("{program} show a")).await;
        assert!(told.contains("the plugin's manifest does not ask for it"), "{program}: {told}");
    }
    let none = run(&runtime, "", "tool --count=3").await;
    assert!(none.starts_with("run `tool --count=3`: the plugin's manifest does not ask for it"), "{none}");
    assert_eq!(runtime.programs.runs.lock().unwrap().len(), 0);
}

/// In the modes that change nothing nothing is run, and elsewhere the person is asked each time, never for good.
#[tokio::test]
async fn each_run_is_the_gates_to_decide() {
    let runtime = Runtime::new();
    for (mode, answer, told) in [
        (
            Mode::Review,
            Approval::RejectOnce,
            "run `tool --count=1`: the user refused (ask the user what to do instead)",
        ),
        (
            Mode::Review,
            Approval::NoChannel,
            "run `tool --count=1`: it needs a person's approval and there is nobody to ask (allow it beforehand with \
             `--allow 'run:tool --count=1'`, or run in an editor)",
        ),
        (Mode::AutoEdit, Approval::AllowOnce, "--count=1"),
        (
            Mode::ReadOnly,
            Approval::AllowOnce,
            "run `tool --count=1`: the session is in mode `read-only` (the user can change the session's mode)",
        ),
        (
            Mode::Plan,
            Approval::AllowOnce,
            "run `tool --count=1`: the session is in mode `plan` (the user can change the session's mode)",
        ),
        (Mode::Auto, Approval::RejectOnce, "--count=1"),
    ] {
        runtime.mode.set(mode);
        *runtime.person.answer.lock().unwrap() = answer;
        assert_eq!(run(&runtime, RIGHTS, "tool --count=1").await, told, "{mode:?}");
    }
    let asked = runtime.person.asked.lock().unwrap();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|ask| !ask.may_remember && ask.title == "plugin test:process: run `tool --count=1`"));
}

#[tokio::test]
async fn a_call_runs_only_so_many() {
    let runtime = Runtime::new();
    assert_eq!(runtime.run("processes", RIGHTS, json!({ "n": 200 })).await.unwrap(), "done");
    let told = runtime.run("processes", RIGHTS, json!({ "n": 201 })).await.unwrap();
    assert_eq!(told, "a call runs at most 200 programs, and this one has run them");
}

#[tokio::test]
async fn a_thousand_runs_at_once_take_their_turns() {
    let runtime = Runtime::new();
    let session = runtime.open(&[runtime.plugin("process", RIGHTS)]);
    let call = |at: usize| runtime.call(&*session.tools[0], json!({ "p": format!("tool --count={at}") }));
    let outcomes = futures::future::join_all((0..1000).map(call)).await;
    assert!(
        outcomes.into_iter().enumerate().all(|(at, outcome)| outcome.unwrap().for_model() == format!("--count={at}"))
    );
    assert_eq!(runtime.programs.runs.lock().unwrap().len(), 1000);
    assert!(runtime.programs.most.load(Ordering::SeqCst) <= 4);
}

#[tokio::test]
async fn arguments_are_bounded() {
    let told = run(&Runtime::new(), RIGHTS, &format!("tool src{}", "x".repeat(64 << 10))).await;
    assert_eq!(told, "the program's arguments have 65545 bytes; at most 65536");
}

/// A56: a stranger's repository, in which everything that can name a program does, is looked at by a plugin; and nothing
/// of it is run. No kernel helps here: git is started as the host wants it started, and by nothing else.
#[cfg(unix)]
#[tokio::test]
async fn a56_a_hostile_repository_runs_nothing() {
    let runtime = Runtime::new();
    let repository = Repository::hostile(&runtime.root);
    // Left to itself, git does what the repository says.
    for line in ["status", "diff", "log -p -1 --format=%G?", "blame a.txt", "show HEAD", "-C sub status"] {
        repository.plainly(line);
        assert!(repository.traces() > 0, "`git {line}` does nothing here: it proves nothing");
    }
    runtime.programs.git.set(repository::git).unwrap();
    for line in [
        "status",
        "status --porcelain=v2 --branch --untracked-files=all",
        "diff",
        "diff --cached",
        "diff --stat HEAD~1",
        "diff-index HEAD",
        "diff-files",
        "diff-tree -p HEAD~1 HEAD",
        "log -p",
        "log --format=%G?%GS%B",
        "log -p --remerge-diff",
        "log -Gtwo",
        "show HEAD",
        "show HEAD:a.txt",
        "blame a.txt",
        "blame --show-email sub/x.txt",
        "annotate a.txt",
        "grep two",
        "grep -a two",
        "ls-files -m -o",
        "ls-tree -r HEAD",
        "cat-file -p HEAD:a.txt",
        "rev-list --all",
        "rev-parse HEAD",
        "shortlog HEAD",
        "describe --always",
        "branch --list",
        "tag --list --format=%(contents)",
        "for-each-ref --format=%(signature)",
        "count-objects -v",
        "version",
    ] {
        let told = run(&runtime, GIT_RIGHTS, &format!("git {line}")).await;
        assert_eq!(repository.traces(), 0, "`git {line}` has run a program: {told}");
        assert!(!told.starts_with("run `"), "{told}");
    }
    let told = run(&runtime, GIT_RIGHTS, "git log --format=%s").await;
    assert_eq!(told, "two\none\n", "it works all the same");
    let shown = run(&runtime, GIT_RIGHTS, "git diff").await;
    assert!(shown.contains("+three"), "{shown}");
}

const GIT_RIGHTS: &str = r#"[capabilities]
exec = [
    { program = "git", arguments = ["status", "**"], reason = "r" },
    { program = "git", arguments = ["status", "--*", "--branch", "--*"], reason = "r" },
    { program = "git", arguments = ["diff", "--*", "**"], reason = "r" },
    { program = "git", arguments = ["diff"], reason = "r" },
    { program = "git", arguments = ["diff-index", "**"], reason = "r" },
    { program = "git", arguments = ["diff-files"], reason = "r" },
    { program = "git", arguments = ["diff-tree", "-p", "**"], reason = "r" },
    { program = "git", arguments = ["log", "-p"], reason = "r" },
    { program = "git", arguments = ["log", "-p", "--remerge-diff"], reason = "r" },
    { program = "git", arguments = ["log", "-G*"], reason = "r" },
    { program = "git", arguments = ["log", "--format=*"], reason = "r" },
    { program = "git", arguments = ["show", "*"], reason = "r" },
    { program = "git", arguments = ["blame", "*"], reason = "r" },
    { program = "git", arguments = ["blame", "--show-email", "*"], reason = "r" },
    { program = "git", arguments = ["annotate", "*"], reason = "r" },
    { program = "git", arguments = ["grep", "*"], reason = "r" },
    { program = "git", arguments = ["grep", "-a", "*"], reason = "r" },
    { program = "git", arguments = ["ls-files", "-m", "-o"], reason = "r" },
    { program = "git", arguments = ["ls-tree", "-r", "HEAD"], reason = "r" },
    { program = "git", arguments = ["cat-file", "-p", "*"], reason = "r" },
    { program = "git", arguments = ["rev-list", "--all"], reason = "r" },
    { program = "git", arguments = ["rev-parse", "*"], reason = "r" },
    { program = "git", arguments = ["shortlog", "*"], reason = "r" },
    { program = "git", arguments = ["describe", "--always"], reason = "r" },
    { program = "git", arguments = ["branch", "--list"], reason = "r" },
    { program = "git", arguments = ["tag", "--list", "--*"], reason = "r" },
    { program = "git", arguments = ["for-each-ref", "--*"], reason = "r" },
    { program = "git", arguments = ["count-objects", "-v"], reason = "r" },
    { program = "git", arguments = ["version"], reason = "r" },
]"#;

/// What stands in the way of every dangerous option is not the pattern: a right to any option does not help.
#[tokio::test]
async fn a52_dangerous_options_are_refused_whatever_was_granted() {
    let runtime = Runtime::new();
    for option in
        ["--output=x", "--no-index", "--ext-diff", "--textconv", "--submodule=diff", "--ignore-submodules=none"]
    {
        let told = run(&runtime, GIT_RIGHTS, &format!("git diff {option}")).await;
        let refused = format!("run `git diff {option}`: git's `{option}` is not for plugins: ");
        assert!(told.starts_with(&refused), "{told}");
        assert!(told.ends_with("(nobody can allow it to a plugin: leave that out)"), "{told}");
    }
    assert_eq!(runtime.programs.runs.lock().unwrap().len(), 0);
}
