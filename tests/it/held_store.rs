//! A session store that another process holds: what is told, and that nothing waits for it for long.
#![cfg(unix)]

use std::time::{Duration, Instant};

use acp_runtime_tests::runtime::finish;
use acp_runtime_tests::{EditorOptions, Runtime};
use expect_test::expect;
use rustix::process::Signal;
use serde_json::json;

/// More than the store waits for another process.
const PATIENCE: Duration = Duration::from_secs(8);

#[test]
fn a_command_says_who_is_in_the_way() {
    let runtime = Runtime::new();
    let _held = runtime.hold_store();
    let begin = Instant::now();
    for arguments in [&["session", "list"][..], &["run", "/help"]] {
        let refused = finish(runtime.command(arguments));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
        let told = refused.stderr.replace(&runtime.home().display().to_string(), "HOME");
        let told = &told[told.find("error: ").expect("it is an error")..];
        expect![[r"
            error: the session store at `HOME/sessions.db` is held by another process, which does not let go of it
            hint: end the process that holds the file (`fuser -v` names it), or wait for it, and try again
        "]]
        .assert_eq(told);
    }
    assert!(begin.elapsed() < 2 * PATIENCE, "{:?}", begin.elapsed());
}

/// Also a command that asks the store only in passing comes to an end.
#[test]
fn a_command_that_only_looks_ends_in_time() {
    let runtime = Runtime::new();
    let _held = runtime.hold_store();
    let begin = Instant::now();
    let doctor = finish(runtime.command(&["doctor"]));
    assert!(doctor.code == Some(1) && doctor.stdout.contains("fail  sessions  the session store at `"), "{doctor:?}");
    let list = finish(runtime.command(&["plugin", "list"]));
    assert_eq!(list.code, Some(0), "{list:?}");
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    for told in [doctor.stderr, list.stderr] {
        assert!(!told.contains("does not come to an end"), "{told}");
    }
}

#[tokio::test]
async fn an_agent_says_so_and_goes_on_when_it_is_free() {
    let runtime = Runtime::new();
    let held = runtime.hold_store();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let begin = Instant::now();
    let asked = [editor.begin_prompt(&session, "/help").id(), editor.send("session/list", json!({}))];
    for id in asked {
        let refused = editor.answer_to(id).await.unwrap_err();
        assert_eq!((refused.code, &refused.data["retryable"]), (-32603, &json!(true)), "{refused:?}");
        let details = refused.data["details"].as_str().unwrap();
        assert!(details.ends_with("which does not let go of it; end that process, or wait for it, and try again"));
    }
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    drop(held);
    assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn");
    editor.close().await;
}

#[tokio::test]
async fn an_agent_that_is_to_end_does_not_wait_for_it() {
    for signal in [None, Some(Signal::TERM)] {
        for asks in [false, true] {
            let runtime = Runtime::new();
            let _held = runtime.hold_store();
            let editor = runtime.spawn(EditorOptions::default());
            editor.initialize().await;
            let session = editor.new_session().await;
            if asks {
                editor.begin_prompt(&session, "/help");
                editor.send("session/list", json!({}));
                editor.send("session/load", json!({ "sessionId": "x", "cwd": runtime.project(), "mcpServers": [] }));
            }
            let begin = Instant::now();
            match signal {
                Some(signal) => editor.signal(signal),
                None => editor.end_input(),
            }
            assert!(editor.wait().await.success(), "{}", editor.stderr());
            assert!(begin.elapsed() < Duration::from_secs(2), "{signal:?} {asks}: {:?}", begin.elapsed());
        }
    }
}
