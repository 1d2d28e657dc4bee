//! Commands: in the editor's terminal where there is one, on this machine where not.
#![expect(clippy::disallowed_methods, reason = "commands leave traces that the tests look at")]

use std::path::Path;
use std::time::{Duration, Instant};

use acp_runtime_tests::{Answer, CallView, EditorDouble, EditorOptions, Manner, Runtime};
use serde_json::{Value, json};

/// Where a command runs, and how its output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// In a terminal of the editor.
    Editor,
    /// On this machine; the editor draws what it is told of the output.
    Drawn,
    /// On this machine; the editor knows nothing of terminals.
    Plain,
}

impl Way {
    const ALL: [Self; 3] = [Self::Editor, Self::Drawn, Self::Plain];

    fn options(self) -> EditorOptions {
        match self {
            Self::Editor => EditorOptions::default().with_terminals(),
            Self::Drawn => EditorOptions::default().drawing_output(),
            Self::Plain => EditorOptions::default(),
        }
    }
}

fn call(arguments: &Value) -> String {
    format!("/call shell {arguments}")
}

/// Runs a command: what the model is told of it, and how it looks.
async fn shell(editor: &EditorDouble, session: &str, arguments: Value) -> (String, CallView) {
    let turn = editor.prompt(session, &call(&arguments)).await;
    (turn.text(), turn.call())
}

/// The same in a session of its own, in each way.
async fn in_each_way(runtime: &Runtime, arguments: Value, check: impl Fn(Way, &str, &CallView)) {
    for way in Way::ALL {
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        let (text, view) = shell(&editor, &session, arguments.clone()).await;
        check(way, &text, &view);
        editor.close().await;
    }
}

fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // A zombie has ended, though nobody has looked.
    status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

/// What is said after the output of a command that did not succeed.
const FAILED: &str = "error: `shell` has failed: see what it gave";

/// Waits until the process whose number a command wrote into `file` has ended.
async fn assert_ended(file: &Path) {
    let pid = std::fs::read_to_string(file).expect("the command has written its number");
    let begin = Instant::now();
    while is_running(&pid) {
        assert!(begin.elapsed() < Duration::from_secs(2), "process {pid} goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a command has written something into `file`.
async fn written(file: &Path) -> String {
    let begin = Instant::now();
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(begin.elapsed() < Duration::from_secs(20), "`{}` was not written", file.display()),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn raw(view: &CallView, key: &str) -> Value {
    view.fields["rawOutput"][key].clone()
}

#[tokio::test]
async fn output_and_exit_code_are_told() {
    let runtime = Runtime::new().file("sub/file", "");
    let line = "echo out; echo err >&2; printf 'a\\377b\\n'; pwd; exit 3";
    let folder = runtime.project().canonicalize().unwrap().join("sub");
    let expected = format!("out\nerr\na\u{fffd}b\n{}\n[exit code 3]{FAILED}", folder.display());
    in_each_way(&runtime, json!({ "command": line, "cwd": "sub" }), |way, text, view| {
        assert_eq!(text, expected, "{way:?}");
        assert_eq!((view.status(), view.fields["kind"].as_str()), ("failed", Some("execute")), "{way:?}");
        assert_eq!((raw(view, "exit_code"), raw(view, "truncated")), (json!(3), json!(false)), "{way:?}");
    })
    .await;
    in_each_way(&runtime, json!({ "command": "true" }), |way, text, view| {
        assert_eq!((text, view.status()), ("(no output)\n[exit code 0]", "completed"), "{way:?}");
    })
    .await;
}

#[tokio::test]
async fn the_title_is_the_command_and_the_client_shows_it_as_it_can() {
    let runtime = Runtime::new();
    in_each_way(&runtime, json!({ "command": "echo `echo hi`\necho there" }), |way, _, view| {
        // The question for permission has told more since.
        assert_eq!(view.titles[0], "echo `echo hi` echo there", "{way:?}");
        let block = &view.fields["content"][0];
        match way {
            Way::Editor => assert_eq!(block, &json!({ "type": "terminal", "terminalId": "terminal-1" })),
            Way::Drawn => {
                assert_eq!(block, &json!({ "type": "terminal", "terminalId": view.id }));
                assert_eq!(view.fields["_meta"]["terminal_exit"]["exit_code"], 0);
            }
            Way::Plain => assert_eq!(view.text(), "```\nhi\nthere\n[exit code 0]\n```"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed() {
    let runtime = Runtime::new();
    let line = "echo $$ > pid; echo before; sleep 600; echo after";
    for way in Way::ALL {
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        let (text, view) = shell(&editor, &session, json!({ "command": line, "timeout": 1 })).await;
        let said = "before\n[killed, since it took longer than 1 s: give a longer `timeout`, or run less at once]";
        assert_eq!((text, view.status()), (format!("{said}{FAILED}"), "failed"), "{way:?}");
        assert_eq!((raw(&view, "timed_out"), raw(&view, "exit_code")), (json!(true), Value::Null));
        assert_ended(&runtime.project().join("pid")).await;
        editor.close().await;
    }
}

#[tokio::test]
async fn time_is_limited() {
    let runtime = Runtime::new().config("[shell]\ntimeout = 1\nmax_timeout = 2\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let (text, _) = shell(&editor, &session, json!({ "command": "sleep 600" })).await;
    assert!(text.contains("longer than 1 s"), "{text}");
    let (text, _) = shell(&editor, &session, json!({ "command": "true", "timeout": 3 })).await;
    assert_eq!(text, "error: `timeout` is 3 s, but at most 2 s are allowed");
    editor.close().await;
}

#[tokio::test]
async fn a_cancelled_turn_kills_its_command_and_keeps_what_it_wrote() {
    let runtime = Runtime::new();
    let line = "echo $$ > pid; echo half; echo > ready; sleep 600";
    for way in Way::ALL {
        let _ = std::fs::remove_file(runtime.project().join("ready"));
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, &call(&json!({ "command": line })));
        written(&runtime.project().join("ready")).await;
        // A command may have written in a terminal of which the agent has not heard yet: that is no command to it.
        let known = |method: &str| editor.terminal_calls().iter().any(|(called, _)| called == method);
        let begin = Instant::now();
        while way == Way::Editor && !known("terminal/wait_for_exit") {
            assert!(begin.elapsed() < Duration::from_secs(20), "the terminal is not waited for");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let begin = Instant::now();
        editor.cancel(&session);
        let turn = editor.turn(prompt).await.unwrap();
        assert!(begin.elapsed() < Duration::from_secs(2), "{way:?}: {:?}", begin.elapsed());
        let view = turn.call();
        assert_eq!((turn.stop.as_str(), view.status()), ("cancelled", "failed"), "{way:?}");
        assert_eq!(raw(&view, "cancelled"), true, "{way:?}: {:?}", view.fields);
        assert_ended(&runtime.project().join("pid")).await;
        editor.close().await;
        let kept = runtime.run(&["session", "show", &session]);
        assert!(kept.stdout.contains("/call shell"), "{}", kept.stderr);
    }
}

/// What ends while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parting {
    Session,
    Process,
    /// The client's terminals end with it: nothing more can be asked of it.
    Client,
}

#[tokio::test]
async fn whatever_ends_leaves_no_command_behind() {
    let runtime = Runtime::new();
    let ends = [Parting::Session, Parting::Process, Parting::Client].map(|parting| Way::ALL.map(|way| (parting, way)));
    for (parting, way) in ends.into_iter().flatten().filter(|end| *end != (Parting::Client, Way::Editor)) {
        let _ = std::fs::remove_file(runtime.project().join("ready"));
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        let prompt =
            editor.begin_prompt(&session, &call(&json!({ "command": "echo $$ > pid; echo > ready; sleep 600" })));
        written(&runtime.project().join("ready")).await;
        match parting {
            Parting::Session => {
                editor.call("session/close", json!({ "sessionId": session })).await;
                assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
            }
            Parting::Process => {
                editor.signal(rustix::process::Signal::TERM);
                editor.wait().await;
            }
            Parting::Client => editor.end_input(),
        }
        // Closing asserts that a terminal was released, and exactly once.
        editor.close().await;
        assert_ended(&runtime.project().join("pid")).await;
    }
}

#[tokio::test]
async fn of_huge_output_both_ends_are_kept() {
    let runtime = Runtime::new();
    let line = "echo begin; yes | head -c 3000000; echo end";
    in_each_way(&runtime, json!({ "command": line }), |way, text, view| {
        assert!(text.len() <= 64 * 1024, "{way:?}: {}", text.len());
        assert!(text.ends_with("end\n[exit code 0]"), "{way:?}: {}", &text[text.len() - 80..]);
        if way != Way::Editor {
            assert!(text.starts_with("begin\ny\n") && text.contains("\n[cut: "), "{way:?}");
        }
        assert_eq!(raw(view, "truncated"), true, "{way:?}");
    })
    .await;
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_call() {
    let runtime = Runtime::new();
    let line = "sleep 600 & echo $! > pid; echo started";
    for way in Way::ALL {
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        // This editor's terminals end when nobody has them open any more.
        let timeout = if way == Way::Editor { 1 } else { 60 };
        let begin = Instant::now();
        let (text, _) = shell(&editor, &session, json!({ "command": line, "timeout": timeout })).await;
        let end = if way == Way::Editor { "[killed, since it took" } else { "[exit code 0]" };
        assert!(text.starts_with(&format!("started\n{end}")), "{way:?}: {text}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{way:?}");
        assert_ended(&runtime.project().join("pid")).await;
        editor.close().await;
    }
}

#[tokio::test]
async fn there_is_nothing_to_read() {
    let editor = Runtime::new().editor().await;
    let session = editor.new_session().await;
    let (text, _) = shell(&editor, &session, json!({ "command": "cat; read x || echo end" })).await;
    assert_eq!(text, "end\n[exit code 0]");
    editor.close().await;
}

#[tokio::test]
async fn a_command_gets_few_variables_and_no_secrets() {
    let runtime = Runtime::new()
        .config("[shell]\ninherit = [\"EXTRA\"]\n")
        .env("OPENAI_API_KEY", "sk-secret")
        .env("ACP_RUNTIME_LOG", "warn")
        .env("GITHUB_TOKEN", "sk-secret")
        .env("EXTRA", "wanted")
        .env("OTHER", "unwanted")
        .env("CARGO_HOME", "/cargo");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let (text, _) = shell(&editor, &session, json!({ "command": "env", "env": ["GIVEN=a b"] })).await;
    for there in ["EXTRA=wanted", "CARGO_HOME=/cargo", "GIVEN=a b", "HOME=", "PATH="] {
        assert!(text.contains(there), "`{there}` is not in {text}");
    }
    for not_there in ["secret", "OTHER", "ACP_RUNTIME"] {
        assert!(!text.contains(not_there), "`{not_there}` is in {text}");
    }
    editor.close().await;
}

#[tokio::test]
async fn a_question_shows_the_whole_command_and_where_it_runs() {
    let runtime = Runtime::new().file("sub/file", "");
    let line = format!("echo {} && rm -rf \u{202e}x", "long ".repeat(200));
    let arguments = json!({ "command": line, "cwd": "sub", "env": ["A=b"] });
    for way in Way::ALL {
        let editor = runtime.editor_with(way.options().answering(|_| Answer::Pick("reject_once"))).await;
        let session = editor.new_session().await;
        let (text, view) = shell(&editor, &session, arguments.clone()).await;
        assert!(text.contains("the user refused"), "{text}");
        assert_eq!(view.status(), "failed");
        assert!(editor.terminal_calls().is_empty(), "{way:?}");
        let asked = &editor.permissions()[0];
        let shown = asked.call["content"][0]["content"]["text"].as_str().unwrap();
        let folder = runtime.project().join("sub");
        for part in [&"long ".repeat(200), "rm -rf \\u{202e}x", folder.to_str().unwrap(), "A=b"] {
            assert!(shown.contains(part), "{way:?}: `{part}` is not in {shown}");
        }
        assert_eq!(asked.call["rawInput"]["command"], json!(line));
        let kinds: Vec<&Value> = asked.options.iter().map(|option| &option["kind"]).collect();
        assert!(!kinds.contains(&&json!("allow_always")), "{kinds:?}");
        editor.close().await;
    }
}

#[tokio::test]
async fn modes_decide_without_asking() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (mode, ran) in [("auto", true), ("read-only", false), ("plan", false)] {
        editor.set_mode(&session, mode).await;
        let (text, _) = shell(&editor, &session, json!({ "command": "echo ran" })).await;
        assert_eq!(text.contains("ran\n[exit code 0]"), ran, "{mode}: {text}");
    }
    assert!(editor.permissions().is_empty());
    editor.close().await;
}

#[tokio::test]
async fn a_folder_must_be_one_of_the_sessions() {
    let runtime = Runtime::new().file("file", "");
    std::os::unix::fs::symlink("/etc", runtime.project().join("out")).unwrap();
    for way in Way::ALL {
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        for (cwd, problem) in [
            ("/etc", "`/etc` is not under any"),
            ("..", "`..` leaves the workspace"),
            ("out", "`out`"),
            ("gone", "`gone` does not exist"),
            ("file", "`file` is not a directory"),
        ] {
            let (text, _) = shell(&editor, &session, json!({ "command": "pwd", "cwd": cwd })).await;
            assert!(text.starts_with(&format!("error: {problem}")), "{way:?} {cwd}: {text}");
        }
        assert!(editor.terminal_calls().is_empty());
        editor.close().await;
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let editor = Runtime::new().editor().await;
    let session = editor.new_session().await;
    for (arguments, problem) in [
        (json!({ "command": " " }), "`command` is not a command line"),
        (json!({ "command": "a\0b" }), "`command` is not a command line"),
        (json!({ "command": "a", "env": ["A"] }), "`A` in `env` is not of the form `NAME=value`"),
        (json!({ "command": "a", "env": ["1A=b"] }), "`1A=b` in `env` is not of the form `NAME=value`"),
        (json!({ "command": "a", "env": ["=b"] }), "`=b` in `env` is not of the form `NAME=value`"),
        (json!({ "command": "a", "timeout": -1 }), "/timeout: -1 is less than the minimum of 0"),
        (json!({ "command": "a", "shell": "zsh" }), "Additional properties are not allowed"),
    ] {
        let (text, _) = shell(&editor, &session, arguments.clone()).await;
        assert!(text.contains(problem), "{arguments}: {text}");
    }
    assert!(editor.permissions().is_empty());
    editor.close().await;
}

#[tokio::test]
async fn output_is_shown_while_it_comes() {
    let runtime = Runtime::new();
    let line = "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two";
    for way in [Way::Drawn, Way::Plain] {
        let _ = std::fs::remove_file(runtime.project().join("go"));
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, &call(&json!({ "command": line })));
        let live = |update: &Value| match way {
            Way::Drawn => update["_meta"]["terminal_output"]["data"] == "one\n",
            _ => update["content"][0]["content"]["text"] == "```\none\n```",
        };
        editor.until_update(&session, "live output", live).await;
        std::fs::write(runtime.project().join("go"), "").unwrap();
        let turn = editor.turn(prompt).await.unwrap();
        assert_eq!(turn.text(), "one\ntwo\n[exit code 0]", "{way:?}");
        if way == Way::Drawn {
            let data = turn.updates.iter().filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str());
            assert_eq!(data.collect::<String>(), "one\ntwo\n");
            let announced = turn.of("tool_call").next().unwrap();
            let folder = runtime.project();
            assert_eq!(announced["_meta"]["terminal_info"]["cwd"], json!(folder));
        }
        editor.close().await;
    }
}

#[tokio::test]
async fn a_loaded_session_shows_what_was_written() {
    let runtime = Runtime::new();
    for way in Way::ALL {
        let editor = runtime.editor_with(way.options()).await;
        let session = editor.new_session().await;
        shell(&editor, &session, json!({ "command": "echo kept" })).await;
        editor.close().await;
        let editor = runtime.editor_with(way.options()).await;
        let view = editor.load_session(&session).await.call();
        assert_eq!(view.text(), "```\nkept\n[exit code 0]\n```", "{way:?}");
        editor.close().await;
    }
}

#[tokio::test]
async fn an_editor_that_opens_no_terminal_is_not_replaced_by_this_machine() {
    let runtime = Runtime::new();
    let refusing = |method: &str| match method {
        "terminal/create" => Manner::Refuse(-32603, "too many terminals"),
        _ => Manner::Serve,
    };
    let editor = runtime.editor_with(Way::Editor.options().behaving(refusing)).await;
    let session = editor.new_session().await;
    let (text, view) = shell(&editor, &session, json!({ "command": "echo ran > here" })).await;
    assert!(text.contains("the command was not started: the editor refused: too many terminals"), "{text}");
    assert_eq!(view.status(), "failed");
    assert!(!runtime.project().join("here").exists());
    editor.close().await;
}

#[tokio::test]
async fn a_terminal_that_comes_too_late_is_released() {
    let late = |method: &str| if method == "terminal/create" { Manner::Ignore } else { Manner::Serve };
    let editor = Runtime::new().editor_with(Way::Editor.options().behaving(late)).await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, &call(&json!({ "command": "sleep 600" })));
    editor.until_ignored(1).await;
    editor.cancel(&session);
    assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
    editor.serve_ignored();
    editor.until_released().await;
    assert!(editor.terminal_calls().iter().any(|(method, _)| method == "terminal/kill"));
    editor.close().await;
}

#[tokio::test]
async fn an_editor_that_never_says_that_a_command_ended_is_not_waited_for() {
    let silent = |method: &str| match method {
        "terminal/wait_for_exit" | "terminal/kill" => Manner::Ignore,
        _ => Manner::Serve,
    };
    let editor = Runtime::new().editor_with(Way::Editor.options().behaving(silent)).await;
    let session = editor.new_session().await;
    let (text, _) = shell(&editor, &session, json!({ "command": "echo done", "timeout": 1 })).await;
    assert!(text.starts_with("done\n[killed, since it took longer than 1 s"), "{text}");
    editor.until_released().await;
    editor.close().await;
}

#[tokio::test]
async fn an_editor_that_loses_a_command_is_told_of() {
    let forgetful = |method: &str| match method {
        "terminal/wait_for_exit" => Manner::Refuse(-32603, "it is gone"),
        _ => Manner::Serve,
    };
    let editor = Runtime::new().editor_with(Way::Editor.options().behaving(forgetful)).await;
    let session = editor.new_session().await;
    let (text, _) = shell(&editor, &session, json!({ "command": "sleep 600" })).await;
    assert!(text.contains("the command was lost: the editor refused: it is gone"), "{text}");
    editor.close().await;

    let mute = |method: &str| match method {
        "terminal/output" => Manner::Refuse(-32603, "no screen"),
        _ => Manner::Serve,
    };
    let editor = Runtime::new().editor_with(Way::Editor.options().behaving(mute)).await;
    let session = editor.new_session().await;
    let (text, _) = shell(&editor, &session, json!({ "command": "true" })).await;
    assert!(text.contains("[the output cannot be had: the editor refused: no screen]"), "{text}");
    assert!(text.ends_with("[exit code 0]"), "{text}");
    editor.close().await;
}

#[test]
fn without_a_person_only_what_was_allowed_runs() {
    let runtime = Runtime::new();
    for (allow, line, ran) in [
        ("run:echo **", "echo ran", true),
        ("run:echo **", "echo ran && echo more | tail -n1", false),
        ("run:echo **", "echo ran > file", false),
        ("run:echo **", "echo $HOME ran", false),
        ("run", "echo ran > file; cat file", true),
        ("write", "echo ran", false),
    ] {
        let finished = runtime.run(&["run", "--allow", allow, &call(&json!({ "command": line }))]);
        assert_eq!(finished.stdout.contains("ran\n[exit code 0]"), ran, "{allow} {line}: {finished:?}");
        assert_eq!(finished.code == Some(0), ran, "{allow} {line}: {finished:?}");
    }
    let allow = call(&json!({ "command": "echo ran", "env": ["A=b"] }));
    let finished = runtime.run(&["run", "--allow", "run:echo **", &allow]);
    assert!(!finished.stdout.contains("ran\n"), "variables may change what a program is: {finished:?}");
}

#[test]
fn what_is_forbidden_is_forbidden_in_a_shell_as_well() {
    let runtime = Runtime::new();
    for (line, ran) in [
        ("echo ran", true),
        ("git push", false),
        ("echo ran; git push", false),
        ("sh -c 'git push'", false),
        ("echo $(git push)", false),
        ("echo ran 2>&1 | cat", true),
    ] {
        let prompt = call(&json!({ "command": line }));
        let finished = runtime.run(&["run", "--allow", "run", "--deny", "run:git push **", &prompt]);
        assert_eq!(finished.stdout.contains("[exit code "), ran, "{line}: {finished:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_writes_only_where_it_may() {
    let cannot = acp_runtime::process::cannot_contain();
    assert_eq!(cannot, None, "this test needs Linux 5.13 or later with Landlock");
    for contained in [true, false] {
        let runtime = Runtime::new();
        let place = runtime.project().parent().unwrap().to_path_buf();
        for folder in ["outside", "allowed", "temporary"] {
            std::fs::create_dir(place.join(folder)).unwrap();
        }
        let containment = if contained { "landlock" } else { "none" };
        let allowed = place.join("allowed");
        let runtime = runtime
            .config(&format!("[shell]\ncontainment = \"{containment}\"\nwritable = [\"{}\"]\n", allowed.display()))
            .env("TMPDIR", place.join("temporary").to_str().unwrap());
        let line = "echo x > inside && mkdir -p deep/er && mv inside deep/er/ && echo inside; \
                    echo x > $(mktemp) && echo temporary; echo x > /dev/null && echo device; \
                    echo x > ../allowed/made && echo allowed; ls .. > /dev/null && echo read; \
                    (echo x > ../outside/made) 2>/dev/null && echo outside; (: > ../made) 2>/dev/null && echo above; \
                    rmdir ../outside 2>/dev/null && echo removed; ln deep/er/inside ../linked 2>/dev/null && echo linked";
        let finished = runtime.run(&["run", "--allow", "run", &call(&json!({ "command": format!("{line}; true") }))]);
        let (said, _) = finished.stdout.split_once("\n[exit code 0]").unwrap_or_else(|| panic!("{finished:?}"));
        let everywhere = "inside\ntemporary\ndevice\nallowed\nread";
        if contained {
            assert_eq!(said, everywhere);
            assert!(!place.join("outside/made").exists());
            let refused =
                runtime.run(&["run", "--allow", "run", &call(&json!({ "command": "echo x > ../outside/made" }))]);
            let told = format!("{}{}", refused.stdout, refused.stderr);
            assert!(told.contains("Permission denied") && told.contains("[commands may write only in"), "{told}");
        } else {
            assert_eq!(said, format!("{everywhere}\noutside\nabove\nlinked"));
        }
    }
}
