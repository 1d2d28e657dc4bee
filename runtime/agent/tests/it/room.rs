//! Room in the model's window, made by itself before a request that would not fit.

use std::sync::Arc;

use acp_runtime_agent::context::History;
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::model::{ModelError, ModelErrorKind, ModelEvent};
use acp_runtime_agent::transcript::{Part, StopReason, ToolOutcome, Usage};
use acp_runtime_agent::turn::TurnLimits;
use serde_json::json;

use crate::doubles::{FakeTool, Line, MemoryStore, Setting, Stage, call, say, script, stop, text};

fn used(input: u64, window: u64) -> Line {
    Line::Say(ModelEvent::Usage(Usage { input, output: 0, window: Some(window), ..Usage::default() }))
}

/// A session with a tool that gives 10,000 bytes.
fn stage(limits: TurnLimits, answers: Vec<Vec<Line>>) -> Stage {
    let tools = vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("y".repeat(10_000))))];
    Setting { tools, limits, ..Setting::default() }.play(answers)
}

/// An answer that looks once more, and what the request for it took.
fn looks(n: u64, input: u64, window: u64) -> Vec<Line> {
    vec![call("look", json!({ "n": n })), used(input, window), stop()]
}

/// The lengths of the results in each request.
fn results(stage: &Stage) -> Vec<Vec<usize>> {
    let requests = stage.model.requests.lock().unwrap();
    let lengths = |part: &Part| match part {
        Part::ToolResult { text, .. } => Some(text.len()),
        _ => None,
    };
    requests
        .iter()
        .map(|request| request.iter().flat_map(|message| message.parts.iter().filter_map(lengths)).collect())
        .collect()
}

#[tokio::test]
async fn old_outputs_go_first() {
    // Each output is about 3300 tokens; the window holds 12 of them.
    let window = 40_000;
    let mut answers: Vec<Vec<Line>> = (0..11).map(|n| looks(n, 1000 + 3000 * n, window)).collect();
    answers.push(vec![say("Done."), stop()]);
    let stage = stage(TurnLimits::default(), answers);
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    let results = results(&stage);
    let last = results.last().unwrap();
    assert_eq!(last.len(), 11, "no call is without a result");
    let whole = last.iter().filter(|length| **length == 10_000).count();
    assert!((3..=4).contains(&whole) && last[10] == 10_000, "the newest that fit into a part of the window: {last:?}");
    assert!(last[0] < 400, "{last:?}");
    let shown = script(&stage.screen.shown());
    assert!(shown.contains("OutputsDropped") && !shown.contains("sums up"), "{shown}");
    // A loaded session goes on with the same.
    let loaded = History::of(&stage.store.kept()).messages();
    let requests = stage.model.requests.lock().unwrap();
    let before = requests.last().unwrap();
    assert!(loaded.iter().take(before.len()).eq(before.iter()));
}

#[tokio::test]
async fn what_was_said_is_summed_up_where_that_is_not_enough() {
    let long = |n: i32| text(&format!("{n} {}", "z".repeat(3000)));
    let mut answers: Vec<Vec<Line>> = (1..5).map(|n| vec![say("ok"), used(900 * n, 5000), stop()]).collect();
    answers.extend([vec![say("They counted."), used(900, 5000), stop()], vec![say("ok"), used(2500, 5000), stop()]]);
    let stage = stage(TurnLimits::default(), answers);
    for n in 1..=5 {
        stage.session.prompt(long(n)).await.unwrap();
    }
    let shown = script(&stage.screen.shown());
    assert!(shown.contains("summary: They counted.") && shown.contains("Completed"), "{shown}");
    let requests = stage.model.requests.lock().unwrap();
    let last: Vec<String> = requests.last().unwrap().iter().map(|message| format!("{:?}", message.parts)).collect();
    assert!(last[0].contains("They counted.") && last.last().unwrap().contains("5 zzz"), "{last:?}");
    assert!(!last.concat().contains("1 zzz"), "{last:?}");
    assert_eq!(requests.len(), 6, "one request for the summary");
}

#[tokio::test]
async fn what_the_model_is_working_on_is_told_again() {
    // One long turn, in which nothing but the outputs of tools and what the model wrote can go.
    let says = |n: u64, input| {
        let mut answer = looks(n, input, 8000);
        answer.insert(0, say(&"w".repeat(9000)));
        answer
    };
    let mut answers = vec![says(1, 500), says(2, 7000)];
    answers.extend([vec![say("Looked once."), used(5000, 8000), stop()], vec![say("Done."), used(900, 8000), stop()]]);
    let stage = stage(TurnLimits::default(), answers);
    stage.session.prompt(text("count the files, whatever it takes")).await.unwrap();
    let requests = stage.model.requests.lock().unwrap();
    let last = requests.last().unwrap();
    let told: Vec<String> = last.iter().map(|message| format!("{:?} {:?}", message.role, message.parts)).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("Looked once.") && told[1].contains("count the files, whatever it takes"), "{told:?}");
    drop(requests);
    let store: Arc<MemoryStore> = stage.store.clone();
    assert_eq!(History::of(&store.kept()).messages().len(), 3, "the same in a loaded session");
}

fn fails(kind: ModelErrorKind, message: &str) -> Line {
    let (message, provider) = (message.to_owned(), "p".to_owned());
    Line::Fail(ModelError { message, kind, provider, status: None, retry_after: None })
}

/// The provider knows best. Once in a turn, before anything was said, and where room is wanted at all.
#[tokio::test]
async fn a_request_that_was_too_long_is_made_once_more() {
    let none = TurnLimits::default();
    let too_long = || fails(ModelErrorKind::ContextOverflow, "too long");
    let sums_up = || vec![say("They count."), stop()];
    for (limits, first, rest, asked, ended) in [
        (none, vec![too_long()], vec![sums_up(), vec![say("two"), stop()]], 4, "end: EndTurn"),
        (none, vec![too_long()], vec![sums_up(), vec![too_long()]], 4, "failed: too long"),
        (none, vec![say("tw"), too_long()], vec![], 2, "failed: too long"),
        (none, vec![too_long()], vec![vec![fails(ModelErrorKind::Network, "no network")]], 3, "failed: too long"),
        (TurnLimits { context: 0, ..none }, vec![too_long()], vec![], 2, "failed: too long"),
    ] {
        let mut answers = vec![vec![say("one"), stop()], first];
        answers.extend(rest);
        answers.push(vec![say("on"), stop()]);
        let stage = stage(limits, answers);
        stage.session.prompt(text("count with me")).await.unwrap();
        // The error itself is looked at with the events.
        let _ = stage.session.prompt(text("go on")).await;
        assert_eq!(stage.model.requests.lock().unwrap().len(), asked);
        let shown = script(&stage.screen.shown());
        assert!(shown.trim_end().ends_with(ended), "{shown}");
        if ended == "end: EndTurn" {
            let last = stage.model.requests.lock().unwrap().last().cloned().unwrap();
            let told: Vec<String> = last.iter().map(|message| format!("{:?}", message.parts)).collect();
            assert!(told.len() == 2 && told[0].contains("They count.") && told[1].contains("go on"), "{told:?}");
        }
        assert_eq!(stage.session.prompt(text("and on")).await, Ok(StopReason::EndTurn));
    }
    // What the person has just said is not cut.
    let stage = stage(none, vec![vec![too_long()]]);
    let long = text(&"z".repeat(100_000));
    assert!(stage.session.prompt(long).await.is_err());
    assert_eq!(stage.model.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_summary_that_fails_does_not_end_the_turn() {
    let fails = fails(ModelErrorKind::Network, "no network");
    let answers = vec![vec![say("ok"), used(4500, 5000), stop()], vec![fails], vec![say("on"), stop()]];
    let stage = stage(TurnLimits::default(), answers);
    stage.session.prompt(text("one")).await.unwrap();
    assert_eq!(stage.session.prompt(text("two")).await, Ok(StopReason::EndTurn));
    let warned = stage.screen.shown().into_iter().any(
        |event| matches!(event, SessionEvent::Notice(notice) if notice.description.as_deref() == Some("no network")),
    );
    assert!(warned);
    let requests = stage.model.requests.lock().unwrap();
    assert_eq!(requests[2].len(), 3, "the whole conversation");
}

#[tokio::test]
async fn room_is_not_made_where_nobody_wants_it() {
    for (context, window) in [(0, Some(1000)), (80, None)] {
        let usage = Usage { input: 990, window, ..Usage::default() };
        let answers = (0..3).map(|_| vec![say("ok"), Line::Say(ModelEvent::Usage(usage.clone())), stop()]).collect();
        let stage = stage(TurnLimits { context, ..TurnLimits::default() }, answers);
        for prompt in ["one", "two", "three"] {
            stage.session.prompt(text(prompt)).await.unwrap();
        }
        assert_eq!(stage.model.requests.lock().unwrap().len(), 3);
        assert!(!script(&stage.screen.shown()).contains("sums up"));
    }
}
