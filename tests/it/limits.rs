//! The limits of a turn, as the configuration sets them, and room in the window, over the real binary.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorOptions, Runtime};
use serde_json::{Value, json};

/// Each key of `[limits]`, and where a test runs into it that is configured so: a file of these tests and a part of it.
const MET: &[(&str, &str, &str)] = &[
    ("model_requests", include_str!("limits.rs"), "(\"model_requests = 5\", \"max_turn_requests\", 5"),
    ("turn_seconds", include_str!("limits.rs"), ".config(\"[limits]\\nturn_seconds = 0.2\\n\")"),
    ("turn_tokens", include_str!("limits.rs"), "(\"turn_tokens = 500\", \"max_tokens\", 5"),
    ("turn_cost", include_str!("limits.rs"), "(\"turn_cost = 0.5\", \"max_tokens\", 5"),
    ("same_calls", include_str!("limits.rs"), "[limits]\\nsame_calls = 0\\n"),
    ("context_percent", include_str!("updates.rs"), ".configured(\"limits.context_percent = 0\\n\")"),
    ("tool_output", include_str!("run.rs"), ".config(\"[limits]\\ntool_output = 4096\\n\")"),
    ("hook_payload", include_str!("limits.rs"), "(\"hook_payload = 1024\\n\", \"user-message in part\")"),
    ("message", include_str!("hostile_wire.rs"), ".config(\"limits.message = 65536\\n\")"),
    ("session_days", include_str!("limits.rs"), "(\"session_days = 1\\n\", 1)"),
    ("sessions", include_str!("limits.rs"), "(\"sessions = 2\\n\", 2)"),
    ("audit_file", include_str!("audit.rs"), ".config(\"[limits]\\naudit_file = 2000"),
    ("audit_files", include_str!("audit.rs"), "\\naudit_files = 3\\n\")"),
];

/// What is in `[limits.plugin]` is met by guests of the host's own tests.
#[test]
fn each_limit_of_the_configuration_is_met() {
    let schema: Value = serde_json::from_str(include_str!("../../docs/config.schema.json")).unwrap();
    let limits = schema["$defs"]["LimitSettings"]["properties"].as_object().expect("the keys of `[limits]`");
    let known: BTreeSet<&str> = limits.keys().map(String::as_str).filter(|key| *key != "plugin").collect();
    assert_eq!(known, MET.iter().map(|(key, ..)| *key).collect(), "no test runs into these, or they are none");
    for (key, tests, part) in MET {
        assert!(tests.contains(part), "`{key}`: `{part}` is nowhere");
    }
}

/// Lists the folder for ever, each time in another way, at a tenth of a dollar.
fn endless() -> String {
    let replies = (0..12).map(|n| {
        format!(
            "[[reply]]\nsteps = [{{ call = {{ tool = \"grep\", arguments = {{ pattern = \"{n}\" }} }} }}, {{ usage = {{ \
             input = 90, output = 10, cost = 0.1 }} }}]\n"
        )
    });
    format!("quiet = true\nrepeat = true\n{}", replies.collect::<String>())
}

#[tokio::test]
async fn a_turn_ends_at_its_limit_and_says_which() {
    for (limit, stop, requests, said) in [
        ("model_requests = 5", "max_turn_requests", 5, "it asked the model 5 times, and `limits.model_requests`"),
        ("turn_tokens = 500", "max_tokens", 5, "it used 500 tokens of 500, and `limits.turn_tokens`"),
        ("turn_cost = 0.5", "max_tokens", 5, "it cost 0.5 USD of 0.5, and `limits.turn_cost`"),
    ] {
        let runtime = Runtime::scripted(&endless()).config(&format!("[limits]\n{limit}\n"));
        let editor = runtime.editor_with(EditorOptions::default().offering("/session/notices", json!({}))).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Go.").await;
        assert_eq!((turn.stop.as_str(), turn.calls().len()), (stop, requests), "{limit}");
        assert!(turn.text().contains(said), "{}", turn.text());
        let warned: Vec<_> = turn.of("notice").map(|notice| notice["title"].to_string()).collect();
        assert!(warned.len() == 1 && warned[0].contains("80% of its"), "{limit}: {warned:?}");
        let next = editor.prompt(&session, "Go on.").await;
        assert_eq!((next.stop.as_str(), next.calls().len()), (stop, requests), "each turn has its own");
        editor.close().await;
    }
}

#[tokio::test]
async fn time_ends_a_turn_that_waits() {
    let waits = "quiet = true\n[[reply]]\nsteps = [{ text = \"Let me\" }, { delay_ms = 600000 }]\n[[reply]]\nsteps = [{ text = \"ok\" }]\n";
    let runtime = Runtime::scripted(waits).config("[limits]\nturn_seconds = 0.2\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Go.").await;
    assert_eq!(turn.stop, "max_turn_requests");
    assert!(turn.text().contains("it took 0.2 s, and `limits.turn_seconds`"), "{}", turn.text());
    assert_eq!(editor.prompt(&session, "Go on.").await.stop, "end_turn");
    editor.close().await;
}

/// What was going on is told which limit has ended it, and so is the person.
#[tokio::test]
async fn what_time_breaks_off_says_so() {
    let shell = "{ call = { tool = \"shell\", arguments = { command = \"echo begun; sleep 600\" } } }";
    let child = "{ call = { tool = \"spawn_agent\", arguments = { task = \"t\" } } }";
    for (call, begins) in [(shell, "```\nbegun\n[killed, since the turn was stopped]"), (child, "the turn was stopped")]
    {
        let waits = format!(
            "quiet = true\n[[reply]]\nsteps = [{call}]\n[[reply]]\nsteps = [{{ delay_ms = 600000 }}]\n[[reply]]\n\
             steps = [{{ text = \"ok\" }}]\n"
        );
        let runtime = Runtime::scripted(&waits).config("mode = \"auto\"\n[limits]\nturn_seconds = 1.5\n");
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Go.").await;
        assert_eq!((turn.stop.as_str(), turn.call().status()), ("max_turn_requests", "failed"), "{call}");
        let told = turn.call().text();
        let why = "the turn was stopped: it took 1.5 s, and `limits.turn_seconds` allows no more";
        assert!(told.starts_with(begins) && told.contains(why) && !told.contains("user"), "{call}: {told}");
        editor.close().await;
        let run = runtime.run(&["run", "Go."]);
        assert!(run.stderr.contains("[failed: ") && run.stderr.contains("`limits.turn_seconds`"), "{run:?}");
        assert!(!run.stderr.contains("no reason"), "{run:?}");
    }
}

/// What a person calls is a turn, too, and what a command asks the model for.
#[tokio::test]
async fn time_breaks_off_what_a_person_calls() {
    let typed = r#"/call shell {"command": "echo begun; sleep 600"}"#;
    let waits = "quiet = true\n[[reply]]\nsteps = [{ text = \"One.\" }]\n[[reply]]\nsteps = [{ delay_ms = 600000 }]\n";
    let runtime = Runtime::scripted(waits).config("mode = \"auto\"\n[limits]\nturn_seconds = 0.5\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let why = "it took 0.5 s, and `limits.turn_seconds` allows no more";
    let turn = editor.prompt(&session, typed).await;
    assert_eq!((turn.stop.as_str(), turn.call().status()), ("max_turn_requests", "failed"));
    assert!(turn.call().text().contains(why) && turn.text().contains(why), "{}", turn.text());
    assert_eq!(editor.prompt(&session, "Go.").await.text(), "One.");
    let turn = editor.prompt(&session, "/compact").await;
    assert_eq!(turn.stop, "max_turn_requests");
    assert!(turn.text().contains(why), "{}", turn.text());
    assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn", "it goes on");
    editor.close().await;
    let run = runtime.run(&["run", typed]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains(why) || run.stderr.contains(why), "{run:?}");
}

#[tokio::test]
async fn the_same_call_again_and_again_is_stopped() {
    let same =
        "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ call = { tool = \"list_directory\", arguments = {} } }]\n";
    for (config, stop, refused) in
        [("", "max_turn_requests", 4), ("[limits]\nsame_calls = 0\nmodel_requests = 9\n", "max_turn_requests", 0)]
    {
        let editor = Runtime::scripted(same).config(config).editor().await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Go.").await;
        assert_eq!(turn.stop, stop);
        let failed = turn.calls().iter().filter(|call| call.status() == "failed").count();
        assert_eq!(failed, refused, "{config}");
        editor.close().await;
    }
}

/// The window is full after the second answer: the third prompt is preceded by a summary, of which the client is told as
/// it offers.
#[tokio::test]
async fn room_is_made_before_the_window_is_full() {
    let scenario = r#"
quiet = true
[[reply]]
steps = [{ text = "one" }, { usage = { input = 400, output = 10, window = 1000 } }]
[[reply]]
steps = [{ text = "two" }, { usage = { input = 900, output = 10, window = 1000 } }]
[[reply]]
steps = [{ text = "They count." }, { usage = { input = 100, output = 5, window = 1000 } }]
[[reply]]
steps = [{ text = "three" }, { usage = { input = 150, output = 10, window = 1000 } }]
"#;
    for offers in [true, false] {
        let options = EditorOptions::default();
        let options = if offers { options.offering("/session/compaction", json!({})) } else { options };
        let editor = Runtime::scripted(scenario).editor_with(options).await;
        let session = editor.new_session().await;
        for prompt in ["count", "go on"] {
            editor.prompt(&session, prompt).await;
        }
        let turn = editor.prompt(&session, "and on").await;
        let states: Vec<_> = turn.of("compaction_update").map(|update| update["status"].clone()).collect();
        if offers {
            assert_eq!((turn.text().as_str(), states), ("three", vec![json!("in_progress"), json!("completed")]));
        } else {
            assert_eq!((turn.text().as_str(), states), ("They count.three", vec![]));
        }
        editor.close().await;
    }
}

#[tokio::test]
async fn a_hook_is_told_as_much_as_is_configured() {
    let replies = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"ok\" }]\n";
    for (limit, expected) in [("", "user-message"), ("hook_payload = 1024\n", "user-message in part")] {
        let runtime = Runtime::scripted(replies).config(&format!(
            "[limits]\n{limit}[limits.plugin]\nhook_milliseconds = 500\n[plugins]\nbundled = false\n"
        ));
        let guest = build_folder().join("guests/meddler.wasm").display().to_string();
        assert_eq!(runtime.run(&["plugin", "install", "--yes", &guest]).code, Some(0));
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        editor.prompt(&session, &"x".repeat(5000)).await;
        let told = editor.prompt(&session, "/told").await.text();
        assert!(told.split(", ").any(|told| told == expected), "{limit}: {told}");
        editor.close().await;
    }
}

/// A program that goes on forgets what is not to be kept, as soon as it has begun.
#[tokio::test]
async fn only_so_many_sessions_are_kept_and_only_so_long() {
    let replies = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"ok\" }]\n";
    for (limit, kept) in [("session_days = 1\n", 1), ("sessions = 2\n", 2)] {
        let runtime = Runtime::scripted(replies).config(&format!("[limits]\n{limit}[plugins]\nbundled = false\n"));
        for prompt in ["one", "two", "three"] {
            assert_eq!(runtime.run(&["run", prompt]).code, Some(0));
        }
        let listed = || runtime.run(&["session", "list", "--json"]).stdout.lines().count();
        assert_eq!(listed(), 3);
        let store = rusqlite::Connection::open(runtime.home().join("sessions.db")).unwrap();
        let old = "UPDATE session SET updated = updated - 172800000000 WHERE id IN (SELECT id FROM session LIMIT 2)";
        if limit.starts_with("session_days") {
            assert_eq!(store.execute(old, []).unwrap(), 2);
        }
        drop(store);
        let editor = runtime.editor().await;
        let begin = Instant::now();
        while listed() != kept {
            assert!(begin.elapsed() < Duration::from_secs(20), "{limit}: {} are kept", listed());
        }
        editor.close().await;
    }
}
