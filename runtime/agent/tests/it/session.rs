//! Mailbox, cancellation, commands, loading.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use acp_runtime_agent::context::History;
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::options::OptionValue;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::session::{Fault, OnBusy, PromptError};
use acp_runtime_agent::transcript::{StopReason, ToolOutcome};
use expect_test::expect;
use serde_json::json;
use tokio::sync::Notify;

use crate::doubles::{FakeTool, Line, Setting, call, say, script, stop, text};

#[tokio::test]
async fn prompts_wait_for_each_other_and_too_many_are_refused() {
    let go = Arc::new(Notify::new());
    let stage = Setting { on_busy: OnBusy::Queue(1), ..Setting::default() }
        .play(vec![vec![Line::Wait(go.clone()), say("1"), stop()], vec![say("2"), stop()]]);
    let first = stage.session.prompt(text("a"));
    let second = stage.session.prompt(text("b"));
    assert_eq!(stage.session.prompt(text("c")).await, Err(PromptError::Busy));
    go.notify_one();
    assert_eq!((first.await, second.await), (Ok(StopReason::EndTurn), Ok(StopReason::EndTurn)));
    let shown = script(&stage.screen.shown());
    assert!(shown.find("agent: 1") < shown.find("user: b"), "{shown}");
}

#[tokio::test]
async fn a_busy_session_can_refuse_at_once() {
    let go = Arc::new(Notify::new());
    let stage = Setting { on_busy: OnBusy::Reject, ..Setting::default() }
        .play(vec![vec![Line::Wait(go.clone()), stop()], vec![stop()]]);
    let first = stage.session.prompt(text("a"));
    assert_eq!(stage.session.prompt(text("b")).await, Err(PromptError::Busy));
    go.notify_one();
    first.await.unwrap();
    assert_eq!(stage.session.prompt(text("c")).await, Ok(StopReason::EndTurn));
}

#[tokio::test]
async fn cancel_ends_a_stalled_model_and_what_waits() {
    let never = Arc::new(Notify::new());
    let stage = Setting::default().play(vec![vec![say("Hel"), Line::Wait(never)], vec![say("fine"), stop()]]);
    let first = stage.session.prompt(text("a"));
    let second = stage.session.prompt(text("b"));
    while stage.model.requests.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    stage.session.cancel();
    stage.session.cancel();
    assert_eq!((first.await, second.await), (Ok(StopReason::Cancelled), Ok(StopReason::Cancelled)));
    stage.session.cancel();
    assert_eq!(stage.session.prompt(text("c")).await, Ok(StopReason::EndTurn));
}

#[tokio::test]
async fn cancel_ends_a_hanging_tool_and_answers_the_calls_behind_it() {
    let started = Arc::new(Notify::new());
    let tools =
        vec![FakeTool::hanging("hang", started.clone()), FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x")))];
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![vec![call("hang", json!({})), call("look", json!({})), stop()], vec![say("fine"), stop()]]);
    let prompt = stage.session.prompt(text("a"));
    started.notified().await;
    stage.session.cancel();
    assert_eq!(prompt.await, Ok(StopReason::Cancelled));
    expect![[r"
        msg-1 user: a
        msg-2 call-1 hang pending: hang
        msg-2 call-2 look pending: look
        call-1 in progress
        call-2 in progress
        call-2 completed x
        call-1 failed the user cancelled the turn
        title: a
        end: Cancelled
    "]]
    .assert_eq(&script(&stage.screen.shown()));
    assert_eq!(stage.session.prompt(text("b")).await, Ok(StopReason::EndTurn));
}

/// The tool holds its thread, so that nothing of its turn can be dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a48_cancel_is_answered_in_time_whatever_the_tool_does() {
    static STARTED: Notify = Notify::const_new();
    let (go_on, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let deaf = FakeTool::acting("deaf", move |_| {
        STARTED.notify_one();
        // Ends when the test is over.
        let _ = blocked.lock().unwrap().recv();
        Ok(ToolOutcome::text("late"))
    });
    let stage = Setting { tools: vec![deaf], ..Setting::default() }
        .play(vec![vec![call("deaf", json!({})), call("deaf", json!({})), stop()], vec![say("fine"), stop()]]);
    let prompt = stage.session.prompt(text("a"));
    let waiting = stage.session.prompt(text("b"));
    STARTED.notified().await;
    let began = Instant::now();
    prompt.withdrawal().withdraw();
    stage.session.cancel();
    assert_eq!((prompt.await, waiting.await), (Ok(StopReason::Cancelled), Ok(StopReason::Cancelled)));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let shown = script(&stage.screen.shown());
    expect![[r"
        msg-1 user: a
        msg-2 call-1 deaf pending: deaf
        msg-2 call-2 deaf pending: deaf
        call-1 in progress
        call-2 in progress
        call-1 failed the user cancelled the turn
        call-2 failed the user cancelled the turn
        end: Cancelled
    "]]
    .assert_eq(&shown);

    assert_eq!(stage.session.prompt(text("c")).await, Ok(StopReason::EndTurn));
    go_on.send(()).unwrap();
    // The tool is gone with its channel when the turn that was left alone has ended.
    stage.session.close().await;
    let told = script(&stage.screen.shown());
    assert!(!told.contains("late") && told.matches("end: ").count() == 2, "{told}");
    assert_eq!(told, script(&stage.store.kept()));
}

#[tokio::test]
async fn a_cancel_that_comes_before_its_prompt_counts_for_it() {
    let stage = Setting::default().play(vec![vec![say("1"), stop()], vec![say("2"), stop()]]);
    stage.session.cancel();
    stage.session.cancel();
    assert_eq!(stage.session.prompt(text("a")).await, Ok(StopReason::Cancelled));
    // One that comes right after the end belongs to what has ended.
    stage.session.cancel();
    assert_eq!(stage.session.prompt(text("b")).await, Ok(StopReason::EndTurn));

    // Nor does it wait for a prompt for ever.
    let stage = Setting::default().play(vec![vec![say("1"), stop()]]);
    stage.session.cancel();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.session.prompt(text("a")).await, Ok(StopReason::EndTurn));
}

/// A client that cancels answers the questions that are open as cancelled. That answer alone does not end a turn, so it
/// must not get ahead.
#[tokio::test]
async fn an_answer_that_comes_with_a_cancel_does_not_overtake_it() {
    for takes_one_back in [false, true] {
        let answered = Arc::new(Notify::new());
        let tools = vec![FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written")))];
        let stage = Setting { tools, answer: Approval::Cancelled, hold: Some(answered.clone()), ..Setting::default() }
            .play(vec![vec![call("put", json!({})), stop()], vec![say("going on"), stop()]]);
        let prompt = stage.session.prompt(text("go"));
        while stage.person.asked.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        // The turn is woken by the answer before anybody else has heard of the cancel.
        answered.notify_one();
        if takes_one_back {
            prompt.withdrawal().withdraw();
        } else {
            stage.session.cancel();
        }
        assert_eq!(prompt.await, Ok(StopReason::Cancelled));
        let shown = script(&stage.screen.shown());
        assert!(shown.contains("call-1 failed the user cancelled the turn\n"), "{shown}");
    }
}

#[tokio::test]
async fn what_waits_behind_a_cancelled_prompt_never_begins() {
    let never = Arc::new(Notify::new());
    let stage = Setting::default().play(vec![vec![say("Hel"), Line::Wait(never)], vec![say("fine"), stop()]]);
    let first = stage.session.prompt(text("a"));
    let second = stage.session.prompt(text("b"));
    stage.until_shown("agent: Hel").await;
    stage.session.cancel();
    assert_eq!((first.await, second.await), (Ok(StopReason::Cancelled), Ok(StopReason::Cancelled)));
    assert!(!script(&stage.screen.shown()).contains("user: b"));
}

#[tokio::test]
async fn a_cancelled_tool_may_say_how_far_it_came() {
    let started = Arc::new(Notify::new());
    let half = |_| Ok(ToolOutcome { failed: true, ..ToolOutcome::text("half of it") });
    let tools = vec![FakeTool::until_cancelled("work", started.clone(), half)];
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![vec![call("work", json!({})), stop()], vec![say("fine"), stop()]]);
    let prompt = stage.session.prompt(text("a"));
    started.notified().await;
    stage.session.cancel();
    assert_eq!(prompt.await, Ok(StopReason::Cancelled));
    let shown = script(&stage.screen.shown());
    assert!(shown.contains("call-1 failed half of it\n"), "{shown}");
    assert_eq!(stage.session.prompt(text("b")).await, Ok(StopReason::EndTurn));
    let requests = stage.model.requests.lock().unwrap();
    assert!(format!("{:?}", requests.last()).contains("half of it"), "the model is told as well");
}

#[tokio::test]
async fn closing_answers_everything_and_takes_nothing_more() {
    let never = Arc::new(Notify::new());
    let stage = Setting::default().play(vec![vec![say("Hel"), Line::Wait(never)]]);
    let first = stage.session.prompt(text("a"));
    let second = stage.session.prompt(text("b"));
    assert_eq!(stage.store.claims.load(Ordering::SeqCst), 1);
    stage.session.close().await;
    assert_eq!(stage.store.claims.load(Ordering::SeqCst), 0, "a closed session is given back");
    assert_eq!((first.await, second.await), (Ok(StopReason::Cancelled), Ok(StopReason::Cancelled)));
    assert_eq!(stage.session.prompt(text("c")).await, Err(PromptError::Closed));
    stage.session.close().await;
    assert!(script(&stage.store.kept()).ends_with("end: Cancelled\n"));
}

#[tokio::test]
async fn closing_waits_for_what_happened_outside_of_a_turn() {
    let stage = Setting::default().play(Vec::new());
    stage.session.set_mode(Mode::Plan);
    stage.session.close().await;
    assert_eq!(stage.store.kept(), [SessionEvent::ModeChanged { mode: Mode::Plan }]);
}

#[tokio::test]
async fn commands_work_without_a_model() {
    let tools = vec![
        FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written"))),
        FakeTool::new("look", false, |arguments| Ok(ToolOutcome::text(format!("saw {arguments}")))),
    ];
    let stage = Setting { tools, answer: Approval::NoChannel, ..Setting::default() }.play(vec![]);
    for prompt in [
        "/tools",
        "/call look {\"n\": 2}",
        "/call put {}",
        "/call lok {}",
        "/call look {oops",
        "/call look {\"n\": \"x\"}",
        "/call",
        "/cal look",
        "/panel",
        "/panel nope",
    ] {
        assert_eq!(stage.session.prompt(text(prompt)).await, Ok(StopReason::EndTurn), "{prompt}");
    }
    expect![[r#"
        msg-1 user (local): /tools
        msg-2 agent (local): - `put` – Does put. | - `look` – Does look.
        title (provisional): /tools
        end: EndTurn
        msg-3 user (local): /call look {"n": 2}
        msg-4 call-1 look (local) pending: look
        call-1 in progress
        call-1 completed saw {"n":2}
        msg-5 agent (local): saw {"n":2}
        end: EndTurn
        msg-6 user (local): /call put {}
        msg-7 call-2 put (local) pending: put
        call-2 shows diff of /p/out: new
        call-2 failed write `out`: it needs a person's approval and there is nobody to ask
        hint: allow it beforehand with `--allow write:out`, or run in an editor
        msg-8 agent (local): error: write `out`: it needs a person's approval and there is nobody to ask | hint: allow it beforehand with `--allow write:out`, or run in an editor
        failed: write `out`: it needs a person's approval and there is nobody to ask | hint: allow it beforehand with `--allow write:out`, or run in an editor
        msg-9 user (local): /call lok {}
        msg-10 agent (local): error: there is no tool `lok` | hint: did you mean `look`?
        failed: there is no tool `lok` | hint: did you mean `look`?
        msg-11 user (local): /call look {oops
        msg-12 agent (local): error: `{oops` is not a JSON object: key must be a string at line 1 column 2
        failed: `{oops` is not a JSON object: key must be a string at line 1 column 2
        msg-13 user (local): /call look {"n": "x"}
        msg-14 call-3 look (local) pending: look
        call-3 failed /n: "x" is not of type "integer"
        msg-15 agent (local): error: /n: "x" is not of type "integer"
        failed: /n: "x" is not of type "integer"
        msg-16 user (local): /call
        msg-17 agent (local): error: no tool was named | hint: type `/call TOOL {json}`, or `/tools` for the tools
        failed: no tool was named | hint: type `/call TOOL {json}`, or `/tools` for the tools
        msg-18 user (local): /cal look
        msg-19 agent (local): error: there is no command `/cal` | hint: did you mean `/call`?
        failed: there is no command `/cal` | hint: did you mean `/call`?
        msg-20 user (local): /panel
        msg-21 agent (local): There are no panels.
        end: EndTurn
        msg-22 user (local): /panel nope
        msg-23 agent (local): error: unknown panel `nope` | hint: there are no panels
        failed: unknown panel `nope` | hint: there are no panels
    "#]]
    .assert_eq(&script(&stage.screen.shown()));
    for (prompt, fault) in [
        ("/tools", None),
        ("/call look {\"n\": 2}", None),
        ("/call put {}", Some(Fault::Failed)),
        ("/call lok {}", Some(Fault::Misused)),
        ("/call look {\"n\": \"x\"}", Some(Fault::Misused)),
        ("/panel nope", Some(Fault::Misused)),
        ("/nope", Some(Fault::Misused)),
    ] {
        assert_eq!(stage.session.prompt(text(prompt)).answered().await.unwrap().fault, fault, "{prompt}");
    }
    assert!(stage.model.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_ends_with_the_model_that_it_began_with() {
    let go = Arc::new(Notify::new());
    let tools = vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x")))];
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![vec![say("A"), Line::Wait(go.clone()), call("look", json!({})), stop()], vec![say("B"), stop()]]);
    let prompt = stage.session.prompt(text("one"));
    stage.until_shown("agent: A").await;
    stage.session.set_option("model", OptionValue::Id("other")).unwrap();
    go.notify_one();
    prompt.await.unwrap();
    let asked = || (stage.model.requests.lock().unwrap().len(), stage.other.requests.lock().unwrap().len());
    assert_eq!(asked(), (2, 0));
    stage.session.prompt(text("two")).await.unwrap();
    assert_eq!(asked(), (2, 1));
}

#[tokio::test]
async fn a_call_is_not_run_once_its_plugin_is_off() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tools = vec![FakeTool::waiting("wait", true, started.clone(), go.clone()), FakeTool::of_plugin("look")];
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![vec![call("wait", json!({})), call("look", json!({})), stop()], vec![stop()]]);
    let prompt = stage.session.prompt(text("one"));
    started.notified().await;
    stage.session.set_option("plugin:test:looks", OptionValue::Flag(false)).unwrap();
    go.notify_one();
    prompt.await.unwrap();
    let shown = script(&stage.screen.shown());
    let refused = "call-2 failed there is no tool `look` any more: its plugin `test:looks` was switched off";
    assert!(shown.contains("call-1 completed waited") && shown.contains(refused), "{shown}");
}

#[tokio::test]
async fn a_cleared_model_sees_only_what_comes_after() {
    let stage = Setting::default().play((0..3).map(|_| vec![say("ok"), stop()]).collect());
    for prompt in ["one", "/clear", "two"] {
        stage.session.prompt(text(prompt)).await.unwrap();
    }
    let said = |index: usize| -> Vec<String> {
        let requests = stage.model.requests.lock().unwrap();
        requests[index].iter().map(|message| format!("{:?}", message.parts)).collect()
    };
    assert_eq!((said(0).len(), said(1).len()), (1, 1));
    assert!(said(1)[0].contains("two"), "{:?}", said(1));
    assert!(script(&stage.store.kept()).contains("user: one"), "the session keeps what was said");
    assert_eq!(History::of(&stage.store.kept()).messages().len(), 2, "a loaded session begins anew as well");
}

#[tokio::test]
async fn a_path_is_not_a_command() {
    let stage = Setting::default().play(vec![vec![say("a program"), stop()]]);
    stage.session.prompt(text("/usr/bin/env is what?")).await.unwrap();
    assert_eq!(stage.model.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_loaded_session_goes_on_where_it_stood() {
    let tools = || vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x")))];
    let stage = Setting { tools: tools(), ..Setting::default() }
        .play(vec![vec![say("A"), call("look", json!({})), stop()], vec![say("B"), stop()]]);
    stage.session.prompt(text("one")).await.unwrap();
    stage.session.set_mode(Mode::Plan);
    stage.session.close().await;
    let before = History::of(&stage.store.kept()).messages();

    let again = Setting { tools: tools(), store: stage.store.clone(), ..Setting::default() }
        .play(vec![vec![call("look", json!({})), stop()], vec![say("C"), stop()]]);
    again.session.prompt(text("two")).await.unwrap();
    let requests = again.model.requests.lock().unwrap();
    assert!(requests[0].iter().take(before.len()).eq(before.iter()), "{:#?}", requests[0]);
    expect![[r"
        msg-4 user: two
        msg-5 call-2 look pending: look
        call-2 in progress
        call-2 completed x
        msg-6 agent: C
        end: EndTurn
    "]]
    .assert_eq(&script(&again.screen.shown()));
}
