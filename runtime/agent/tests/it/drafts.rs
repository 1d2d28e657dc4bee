//! Calls that the model is just writing, as events: told early, kept once, and never left open.

use std::sync::Arc;

use acp_runtime_agent::context::History;
use acp_runtime_agent::model::{ModelError, ModelErrorKind, ModelEvent};
use acp_runtime_agent::transcript::{StopReason, ToolOutcome};
use expect_test::expect;
use serde_json::json;
use tokio::sync::Notify;

use crate::doubles::{FakeTool, Line, Setting, Stage, call, say, script, stop, text};

fn begins(draft: usize, name: &str) -> Line {
    Line::Say(ModelEvent::ToolCallBegun { draft, name: name.to_owned() })
}

fn goes_on(draft: usize, text: &str) -> Line {
    Line::Say(ModelEvent::ToolCallInput { draft, text: text.to_owned() })
}

fn whole(draft: usize, name: &str) -> Line {
    Line::Say(ModelEvent::ToolCall { draft: Some(draft), name: name.to_owned(), arguments: json!({ "n": 1 }) })
}

fn play(answers: Vec<Vec<Line>>) -> Stage {
    let look = |name: &str| FakeTool::new(name, false, |_| Ok(ToolOutcome::text("x")));
    Setting { tools: vec![look("look"), look("list")], ..Setting::default() }.play(answers)
}

#[tokio::test]
async fn a_call_keeps_its_id_from_its_first_word_on() {
    let stage = play(vec![
        vec![
            say("Now."),
            begins(0, "look"),
            goes_on(0, "{\"n\":"),
            begins(1, "list"),
            goes_on(0, "1}"),
            // The model was asked again, and writes another call in that place.
            begins(0, "list"),
            goes_on(0, "{\"n\": 1}"),
            call("look", json!({ "n": 2 })),
            whole(0, "list"),
            stop(),
        ],
        vec![say("Done."), stop()],
    ]);
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    let shown = script(&stage.screen.shown());
    expect![[r#"
        msg-1 user: go
        msg-2 agent: Now.
        ToolCallDrafted { message: MessageId("msg-2"), call: ToolCallId("call-1"), name: "look", title: "look", kind: Other }
        ToolInput { call: ToolCallId("call-1"), arguments: Object {} }
        ToolCallDrafted { message: MessageId("msg-2"), call: ToolCallId("call-2"), name: "list", title: "list", kind: Other }
        call-1 shows
        call-2 failed the answer ended before this call was complete
        msg-2 call-3 look pending: look
        msg-2 call-1 list pending: list
        call-3 in progress
        call-1 in progress
        call-3 completed x
        call-1 completed x
        msg-3 agent: Done.
        title: go
        end: EndTurn
    "#]].assert_eq(&shown);
    // What is kept has no pieces, and leads to the same conversation.
    let kept = stage.store.kept();
    assert!(!script(&kept).contains("ToolInput"));
    let requests = stage.model.requests.lock().unwrap();
    assert!(History::of(&kept).messages().iter().take(requests[1].len()).eq(requests[1].iter()));
}

#[tokio::test]
async fn a_call_that_is_never_whole_fails() {
    let cut = || {
        Line::Fail(ModelError {
            message: "the connection broke".to_owned(),
            kind: ModelErrorKind::Network,
            provider: "p".to_owned(),
            status: None,
            retry_after: None,
        })
    };
    let never = Arc::new(Notify::new());
    for (end, why) in [
        (stop(), "call-1 failed the answer ended before this call was complete"),
        (cut(), "call-1 failed the answer broke off before this call was complete"),
        (Line::Wait(never), "call-1 failed the user cancelled the turn"),
    ] {
        let waits = matches!(end, Line::Wait(_));
        let stage = play(vec![
            vec![begins(0, "look"), goes_on(0, "{\"n\": 1"), end],
            vec![call("look", json!({})), stop()],
            vec![say("Done."), stop()],
        ]);
        let prompt = stage.session.prompt(text("go"));
        if waits {
            stage.until_shown("ToolCallDrafted").await;
            stage.session.cancel();
        }
        // How it ends is told with the events.
        let _ = prompt.await;
        let shown = script(&stage.screen.shown());
        assert!(shown.contains(why) && !shown.contains("call-1 in progress"), "{shown}");
        assert_eq!(stage.session.prompt(text("again")).await, Ok(StopReason::EndTurn));
        let shown = script(&stage.screen.shown());
        assert!(shown.contains("call-2 completed x"), "the id is used up: {shown}");
        let requests = stage.model.requests.lock().unwrap();
        let told = format!("{:?}", requests.last().unwrap().iter().collect::<Vec<_>>());
        assert!(!told.contains("call-1"), "it was never made: {told}");
    }
}

/// A process that ends in the middle leaves no call open.
#[test]
fn a_draft_is_over_after_a_crash() {
    use acp_runtime_agent::event::SessionEvent;
    use acp_runtime_agent::model::ToolKind;
    use acp_runtime_agent::transcript::{MessageId, ToolCallId};

    let drafted = SessionEvent::ToolCallDrafted {
        message: MessageId::new("msg-1"),
        call: ToolCallId::new("call-1"),
        name: "look".to_owned(),
        title: "look".to_owned(),
        kind: ToolKind::Other,
    };
    let mut history = History::of([&drafted]);
    let repair = history.repair();
    assert!(script(&repair).starts_with("call-1 failed interrupted"), "{}", script(&repair));
    repair.iter().for_each(|event| history.apply(event));
    assert!(history.messages().is_empty() && history.repair().is_empty());
    assert_eq!(history.next_call(), ToolCallId::new("call-2"));
}
