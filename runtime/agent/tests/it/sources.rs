//! Tools that come and go while a session lives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use acp_runtime_agent::tool::{Tool, ToolSource};
use acp_runtime_agent::transcript::{StopReason, ToolOutcome};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;

use crate::doubles::{FakeTool, Setting, call, script, stop, text};

/// A source whose tools the test changes.
#[derive(Default)]
struct Source {
    tools: Mutex<Vec<Arc<dyn Tool>>>,
    /// Where there is one, `settle` says so and waits for the second.
    slow: Option<(Arc<Notify>, Arc<Notify>)>,
    handed_over: AtomicBool,
    closed: AtomicBool,
}

impl ToolSource for Source {
    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some((begun, go)) = &self.slow {
                begun.notify_one();
                go.notified().await;
            }
        })
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.lock().unwrap().clone()
    }

    fn hand_over(&self) {
        self.handed_over.store(true, Ordering::SeqCst);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.closed.store(true, Ordering::SeqCst) })
    }
}

fn late() -> Arc<dyn Tool> {
    FakeTool::new("late", false, |_| Ok(ToolOutcome::text("here")))
}

#[tokio::test]
async fn what_a_source_adds_and_takes_away_is_seen_from_the_next_turn_on() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let source = Arc::new(Source::default());
    let late_call = || vec![call("late", json!({})), stop()];
    let stage = Setting {
        tools: vec![FakeTool::waiting("wait", false, started.clone(), go.clone())],
        source: Some(source.clone()),
        ..Setting::default()
    }
    .play(vec![
        vec![call("wait", json!({})), stop()],
        late_call(),
        vec![stop()],
        late_call(),
        vec![stop()],
        late_call(),
        vec![stop()],
    ]);
    let turn = stage.session.prompt(text("one"));
    let turn = tokio::spawn(turn);
    started.notified().await;
    source.tools.lock().unwrap().push(late());
    go.notify_one();
    turn.await.unwrap().unwrap();
    stage.session.prompt(text("two")).await.unwrap();
    source.tools.lock().unwrap().clear();
    stage.session.prompt(text("three")).await.unwrap();
    let shown = script(&stage.screen.shown());
    let ended = |call: &str| {
        let mut lines = shown.lines().filter(|line| line.starts_with(call) && !line.contains("in_progress"));
        lines.next_back().unwrap_or_default().to_owned()
    };
    assert_eq!(ended("call-2"), "call-2 failed there is no tool `late`", "{shown}");
    assert_eq!(ended("call-3"), "call-3 completed here", "{shown}");
    assert_eq!(ended("call-4"), "call-4 failed there is no tool `late`", "{shown}");
}

#[tokio::test]
async fn a39_nothing_of_a_source_shadows_a_tool() {
    let source = Arc::new(Source::default());
    source.tools.lock().unwrap().push(FakeTool::new("look", false, |_| Ok(ToolOutcome::text("the other"))));
    let tools = vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("the first")))];
    let stage = Setting { tools, source: Some(source), ..Setting::default() }
        .play(vec![vec![call("look", json!({})), stop()], vec![stop()]]);
    stage.session.prompt(text("go")).await.unwrap();
    assert!(script(&stage.screen.shown()).contains("call-1 completed the first"));
}

#[tokio::test]
async fn a_turn_waits_for_tools_on_their_way_and_can_be_cancelled_meanwhile() {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let source = Arc::new(Source { slow: Some((begun.clone(), go.clone())), ..Source::default() });
    let stage = Setting { source: Some(source.clone()), ..Setting::default() }
        .play(vec![vec![call("late", json!({})), stop()], vec![stop()]]);
    let turn = tokio::spawn(stage.session.prompt(text("one")));
    begun.notified().await;
    assert!(stage.model.requests.lock().unwrap().is_empty());
    stage.session.cancel();
    assert_eq!(turn.await.unwrap(), Ok(StopReason::Cancelled));
    let turn = tokio::spawn(stage.session.prompt(text("two")));
    begun.notified().await;
    source.tools.lock().unwrap().push(late());
    go.notify_one();
    assert_eq!(turn.await.unwrap(), Ok(StopReason::EndTurn));
    assert!(script(&stage.screen.shown()).contains("call-1 completed here"));
}

#[tokio::test]
async fn sources_end_with_the_session() {
    let source = Arc::new(Source::default());
    let stage = Setting { source: Some(source.clone()), ..Setting::default() }.play(vec![]);
    assert!(!source.closed.load(Ordering::SeqCst));
    stage.session.close().await;
    assert!(source.closed.load(Ordering::SeqCst));
}

/// Of a session that is opened anew at once, they are told so, and go on.
#[tokio::test]
async fn sources_outlive_a_session_that_hands_them_over() {
    let source = Arc::new(Source::default());
    let stage = Setting { source: Some(source.clone()), ..Setting::default() }.play(vec![]);
    let before = stage.session.before();
    stage.session.hand_over().await;
    let state = || (source.handed_over.load(Ordering::SeqCst), source.closed.load(Ordering::SeqCst));
    assert_eq!(state(), (true, false));
    assert_eq!(stage.store.claims.load(Ordering::SeqCst), 0, "another one can have it");
    assert_eq!(before.choices, stage.session.choices());
}
