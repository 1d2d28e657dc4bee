//! How far a turn may go: each limit is reached, and what runs at the same time does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::model::ModelEvent;
use acp_runtime_agent::transcript::{Cost, Part, StopReason, ToolOutcome, Usage};
use acp_runtime_agent::turn::TurnLimits;
use expect_test::expect;
use serde_json::json;
use tokio::sync::Notify;

use crate::doubles::{FakeTool, Line, Setting, Stage, call, say, script, stop, text};

fn used(tokens: u64, cost: f64) -> Line {
    let cost = (cost > 0.0).then(|| Cost { amount: cost, currency: "USD".into() });
    Line::Say(ModelEvent::Usage(Usage { input: tokens, output: tokens / 10, cost, ..Usage::default() }))
}

/// A session whose model calls `look` in another way in each answer, and whose answers take that much.
fn looking(limits: TurnLimits, tokens: u64, cost: f64) -> Stage {
    let tools = vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x")))];
    let answer = |n: i32| vec![call("look", json!({ "n": n })), used(tokens, cost), stop()];
    Setting { tools, limits, ..Setting::default() }.play((0..20).map(answer).collect())
}

/// How the turn ended, how often the model was asked, what was said of the end, and the warnings.
async fn ended(stage: &Stage) -> (StopReason, usize, String, Vec<String>) {
    let end = stage.session.prompt(text("go")).await.unwrap();
    let shown = stage.screen.shown();
    let said = shown.iter().filter_map(|event| match event {
        SessionEvent::AgentText { text, local: true, .. } => Some(text.clone()),
        _ => None,
    });
    let warned = shown.iter().filter_map(|event| match event {
        SessionEvent::Notice(notice) => Some(notice.title.clone()),
        _ => None,
    });
    let asked = stage.model.requests.lock().unwrap().len();
    (end, asked, said.collect(), warned.collect())
}

#[tokio::test]
async fn each_limit_ends_the_turn_with_a_warning_before_and_a_reason() {
    let none = TurnLimits::default();
    for (limits, end, asked, reason, what) in [
        (
            TurnLimits { model_requests: 10, ..none },
            StopReason::MaxTurnRequests,
            10,
            "it asked the model 10 times, and `limits.model_requests` allows no more",
            "model requests",
        ),
        (
            TurnLimits { tokens: Some(1000), ..none },
            StopReason::MaxTokens,
            10,
            "it used 1100 tokens of 1000, and `limits.turn_tokens` allows no more",
            "tokens",
        ),
        (
            TurnLimits { cost: Some(1.0), ..none },
            StopReason::MaxTokens,
            10,
            "it cost 1 USD of 1, and `limits.turn_cost` allows no more",
            "cost",
        ),
    ] {
        let stage = looking(limits, 100, 0.1);
        let (stopped, requests, said, warned) = ended(&stage).await;
        assert_eq!((stopped, requests), (end, asked), "{limits:?}");
        assert!(said.starts_with("The turn was stopped: ") && said.contains(reason), "{said}");
        assert_eq!(warned, [format!("This turn has used 80% of its {what}")]);
        // The next turn begins anew.
        let again = stage.session.prompt(text("go on")).await.unwrap();
        assert_eq!(again, end);
    }
}

#[tokio::test]
async fn time_breaks_off_what_runs() {
    let limits = TurnLimits { time: Some(Duration::from_millis(60)), ..TurnLimits::default() };
    let never = || Line::Wait(Arc::new(Notify::new()));
    let hanging = vec![FakeTool::hanging("hang", Arc::default())];
    for (tools, answers) in [
        (vec![], vec![vec![say("Let me"), never()], vec![say("Fine."), stop()]]),
        (hanging, vec![vec![call("hang", json!({})), stop()], vec![say("Fine."), stop()]]),
    ] {
        let stage = Setting { tools, limits, ..Setting::default() }.play(answers);
        let (end, asked, said, _) = ended(&stage).await;
        assert_eq!((end, asked), (StopReason::MaxTurnRequests, 1));
        assert!(said.contains("it took 0.06 s, and `limits.turn_seconds` allows no more"), "{said}");
        assert_eq!(stage.session.prompt(text("go on")).await, Ok(StopReason::EndTurn));
    }
}

#[tokio::test]
async fn time_stands_still_while_a_person_is_asked() {
    let (hold, limit) = (Arc::new(Notify::new()), Duration::from_millis(200));
    let tools = vec![FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written")))];
    let limits = TurnLimits { time: Some(limit), ..TurnLimits::default() };
    let stage = Setting { tools, limits, hold: Some(hold.clone()), answer: Approval::AllowOnce, ..Setting::default() }
        .play(vec![vec![call("put", json!({})), stop()], vec![say("Done."), stop()]]);
    let prompt = stage.session.prompt(text("go"));
    stage.until_shown("call-1 shows diff").await;
    // Longer than the whole turn may take: that is what the person needs.
    tokio::time::sleep(limit * 2).await;
    hold.notify_one();
    assert_eq!(prompt.await, Ok(StopReason::EndTurn));
}

#[tokio::test]
async fn a_cancelled_turn_is_cancelled_whatever_its_limits() {
    let limits = TurnLimits { time: Some(Duration::from_secs(60)), ..TurnLimits::default() };
    let started = Arc::new(Notify::new());
    let tools = vec![FakeTool::hanging("hang", started.clone())];
    let stage = Setting { tools, limits, ..Setting::default() }.play(vec![vec![call("hang", json!({})), stop()]]);
    let prompt = stage.session.prompt(text("go"));
    started.notified().await;
    stage.session.cancel();
    assert_eq!(prompt.await, Ok(StopReason::Cancelled));
}

#[tokio::test]
async fn the_same_call_is_refused_and_then_the_turn_ends() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let look = FakeTool::acting("look", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutcome::text("x"))
    });
    let answers = (0..9).map(|_| vec![call("look", json!({ "n": 1 })), stop()]).collect();
    let stage = Setting { tools: vec![look], ..Setting::default() }.play(answers);
    let (end, asked, said, _) = ended(&stage).await;
    assert_eq!((end, asked, count.load(Ordering::SeqCst)), (StopReason::MaxTurnRequests, 6, 2));
    assert!(said.contains("the model called `look` 6 times in the same way"), "{said}");
    let shown = script(&stage.screen.shown());
    let refused = "call-3 failed the same call was asked for 3 times";
    assert!(shown.contains(refused) && !shown.contains("call-3 in progress"), "{shown}");
}

#[tokio::test]
async fn what_was_changed_in_between_makes_it_another_call() {
    let tools = vec![
        FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x"))),
        FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written"))),
    ];
    let answers =
        (0..6).flat_map(|n| [vec![call("look", json!({})), stop()], vec![call("put", json!({ "n": n })), stop()]]);
    let stage = Setting { tools, ..Setting::default() }.play(answers.chain([vec![say("Done."), stop()]]).collect());
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    assert!(!script(&stage.screen.shown()).contains("failed"));
}

/// Each of the first two waits until both have started; what writes waits for them, and the last for that.
#[tokio::test]
async fn calls_that_only_read_run_together_and_others_alone() {
    let [one, two, go] = [(); 3].map(|()| Arc::new(Notify::new()));
    let tools = vec![
        FakeTool::waiting("one", false, one.clone(), go.clone()),
        FakeTool::waiting("two", false, two.clone(), go.clone()),
        FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written"))),
        FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x"))),
    ];
    let calls = ["one", "two", "put", "look"].map(|name| call(name, json!({})));
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![calls.into_iter().chain([stop()]).collect(), vec![say("Done."), stop()]]);
    let prompt = stage.session.prompt(text("go"));
    one.notified().await;
    two.notified().await;
    // In the order in which they wait.
    go.notify_one();
    stage.until_shown("call-1 completed").await;
    go.notify_one();
    assert_eq!(prompt.await, Ok(StopReason::EndTurn));
    expect![[r"
        msg-1 user: go
        msg-2 call-1 one pending: one
        msg-2 call-2 two pending: two
        msg-2 call-3 put pending: put
        msg-2 call-4 look pending: look
        call-1 in progress
        call-2 in progress
        call-1 completed waited
        call-2 completed waited
        call-3 shows diff of /p/out: new
        call-3 in progress
        call-3 completed written
        call-4 in progress
        call-4 completed x
        msg-3 agent: Done.
        title: go
        end: EndTurn
    "]]
    .assert_eq(&script(&stage.screen.shown()));
}

/// The quick one is shown first, and the model gets both results in the order in which it asked.
#[tokio::test]
async fn results_are_in_the_order_of_their_calls() {
    let [slow, go] = [(); 2].map(|()| Arc::new(Notify::new()));
    let tools = vec![
        FakeTool::waiting("slow", false, slow.clone(), go.clone()),
        FakeTool::new("quick", false, |_| Ok(ToolOutcome::text("x"))),
    ];
    let calls = ["quick", "slow", "quick"].map(|name| call(name, json!({})));
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![calls.into_iter().chain([stop()]).collect(), vec![say("Done."), stop()]]);
    let prompt = stage.session.prompt(text("go"));
    stage.until_shown("call-3 completed").await;
    go.notify_one();
    prompt.await.unwrap();
    let requests = stage.model.requests.lock().unwrap();
    let results = requests[1].last().unwrap().parts.iter().map(|part| match part {
        Part::ToolResult { call, text, .. } => format!("{call} {text}"),
        other => panic!("{other:?}"),
    });
    assert_eq!(results.collect::<Vec<_>>(), ["call-1 x", "call-2 waited", "call-3 x"]);
}
