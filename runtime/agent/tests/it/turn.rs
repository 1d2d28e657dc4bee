//! What one prompt leads to.

use acp_runtime_agent::event::{SessionEvent, ToolCallUpdate};
use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::model::{ModelError, ModelErrorKind, ModelEvent};
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::session::PromptError;
use acp_runtime_agent::tool::ToolError;
use acp_runtime_agent::transcript::{Part, Role, StopReason, ToolContent, ToolOutcome};
use acp_runtime_agent::turn::{TurnError, TurnLimits};
use expect_test::expect;
use serde_json::json;

use crate::doubles::{FakeTool, Line, Setting, call, say, script, stop, text};

#[tokio::test]
async fn text_is_streamed_kept_and_shown() {
    let stage = Setting::default().play(vec![vec![
        Line::Say(ModelEvent::Thought("hm".into())),
        say("Hello"),
        say(", world"),
        stop(),
    ]]);
    assert_eq!(stage.session.prompt(text("hi\nthere")).await, Ok(StopReason::EndTurn));
    let expected = expect![[r"
        msg-1 user: hi
        there
        msg-2 thinks: hm
        msg-2 agent: Hello, world
        title: hi
        end: EndTurn
    "]];
    expected.assert_eq(&script(&stage.screen.shown()));
    assert_eq!(script(&stage.store.kept()), script(&stage.screen.shown()));
}

#[tokio::test]
async fn a_write_is_shown_asked_for_and_run() {
    let tools = vec![FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written")))];
    let stage = Setting { tools, ..Setting::default() }
        .play(vec![vec![say("I will."), call("put", json!({ "n": 1 })), stop()], vec![say("Done."), stop()]]);
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    expect![[r"
        msg-1 user: go
        msg-2 agent: I will.
        msg-2 call-1 put pending: put
        call-1 shows diff of /p/out: new
        call-1 in progress
        call-1 completed written
        msg-3 agent: Done.
        title: go
        end: EndTurn
    "]]
    .assert_eq(&script(&stage.screen.shown()));
    let asked = stage.person.asked.lock().unwrap();
    let (ask, on_screen) = &asked[0];
    assert_eq!(ask.title, "tool put: write `out`");
    assert_eq!(ask.raw, Some(json!({ "n": 1 })));
    assert!(*on_screen >= 4, "the call and its diff were shown before the question: {on_screen}");
    let requests = stage.model.requests.lock().unwrap();
    let last = requests[1].last().unwrap();
    assert_eq!(last.role, Role::Tool);
    assert!(matches!(&last.parts[0], Part::ToolResult { text, failed: false, .. } if text == "written"));
}

#[tokio::test]
async fn what_goes_wrong_with_a_call_is_told_to_the_model() {
    let tools = vec![
        FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written"))),
        FakeTool::new("look", false, |_| Err(ToolError::to_model("not-found", "there is nothing"))),
    ];
    let stage = Setting { tools, answer: Approval::RejectOnce, ..Setting::default() }.play(vec![
        vec![
            call("putt", json!({})),
            call("look", json!({ "n": "one" })),
            call("look", json!("{broken")),
            call("look", json!({})),
            call("put", json!({})),
            call("evil\u{1b}[31m name", json!({})),
            stop(),
        ],
        vec![say("Sorry."), stop()],
    ]);
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    expect![[r#"
        msg-1 user: go
        msg-2 call-1 putt pending: putt
        msg-2 call-2 look pending: look
        msg-2 call-3 look pending: look
        msg-2 call-4 look pending: look
        msg-2 call-5 put pending: put
        msg-2 call-6 evil[31m name pending: evil[31m name
        call-1 failed there is no tool `putt`
        hint: did you mean `put`?
        call-2 failed /n: "one" is not of type "integer"
        call-3 failed the arguments are no JSON: key must be a string at line 1 column 2; write one JSON object
        call-4 in progress
        call-4 failed there is nothing
        call-5 shows diff of /p/out: new
        call-5 failed write `out`: the user refused
        call-6 failed there is no tool `evil[31m name`
        msg-3 agent: Sorry.
        title: go
        end: EndTurn
    "#]]
    .assert_eq(&script(&stage.screen.shown()).replace('\u{1b}', ""));
    let requests = stage.model.requests.lock().unwrap();
    let told: Vec<&str> = requests[1]
        .last()
        .unwrap()
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolResult { text, failed: true, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    expect![[r#"
        Error [not-found]: there is no tool `putt` (did you mean `put`?)
        Error [invalid-args]: /n: "one" is not of type "integer"
        Error [invalid-args]: the arguments are no JSON: key must be a string at line 1 column 2; write one JSON object
        Error [not-found]: there is nothing
        Error [denied]: write `out`: the user refused (ask the user what to do instead)
        Error [not-found]: there is no tool `evil[31m name`
    "#]]
    .assert_eq(&(told.join("\n").replace('\u{1b}', "") + "\n"));
}

#[tokio::test]
async fn the_mode_decides_without_asking() {
    let tools = || vec![FakeTool::new("put", true, |_| Ok(ToolOutcome::text("written")))];
    for (mode, outcome) in [
        (Mode::AutoEdit, "call-1 completed written"),
        (Mode::Auto, "call-1 completed written"),
        (Mode::ReadOnly, "the session is in mode `read-only`"),
        (Mode::Plan, "the session is in mode `plan`"),
    ] {
        let stage = Setting { tools: tools(), mode, answer: Approval::Cancelled, ..Setting::default() }
            .play(vec![vec![call("put", json!({})), stop()], vec![stop()]]);
        stage.session.prompt(text("go")).await.unwrap();
        assert!(script(&stage.screen.shown()).contains(outcome), "{mode:?}");
        assert!(stage.person.asked.lock().unwrap().is_empty(), "{mode:?}");
    }
}

#[tokio::test]
async fn a_failed_model_is_an_error_that_keeps_the_text() {
    let error = ModelError {
        message: "the key was refused".into(),
        kind: ModelErrorKind::Auth,
        provider: "test".into(),
        status: Some(401),
        retry_after: None,
    };
    let stage = Setting::default().play(vec![
        vec![say("Hel"), Line::Fail(error.clone()), say("lo")],
        vec![say("Again."), stop()],
        vec![say("cut")],
    ]);
    let failed = stage.session.prompt(text("one")).await;
    assert_eq!(failed, Err(PromptError::Turn(TurnError::Model(error))));
    assert_eq!(stage.session.prompt(text("two")).await, Ok(StopReason::EndTurn));
    let cut = stage.session.prompt(text("three")).await.unwrap_err();
    assert_eq!(cut.to_string(), "the model's answer was cut off before its end; try again");
    expect![[r"
        msg-1 user: one
        msg-2 agent: Hel
        title: one
        failed: the key was refused
        msg-3 user: two
        msg-4 agent: Again.
        end: EndTurn
        msg-5 user: three
        msg-6 agent: cut
        failed: the model's answer was cut off before its end; try again
    "]]
    .assert_eq(&script(&stage.screen.shown()));
}

#[tokio::test]
async fn a_turn_that_never_stops_calling_is_stopped() {
    let tools = vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x")))];
    let limits = TurnLimits { model_requests: 3, ..TurnLimits::default() };
    let answers = (0..5).map(|_| vec![call("look", json!({})), stop()]).collect();
    let stage = Setting { tools, limits, ..Setting::default() }.play(answers);
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::MaxTurnRequests));
    assert_eq!(stage.model.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn long_output_is_cut_with_a_note() {
    let tools = vec![FakeTool::new("look", false, |_| Ok(ToolOutcome::text("é".repeat(1000))))];
    let limits = TurnLimits { tool_output: 101, ..TurnLimits::default() };
    let stage =
        Setting { tools, limits, ..Setting::default() }.play(vec![vec![call("look", json!({})), stop()], vec![stop()]]);
    stage.session.prompt(text("go")).await.unwrap();
    let requests = stage.model.requests.lock().unwrap();
    let Part::ToolResult { text, .. } = &requests[1].last().unwrap().parts[0] else { panic!() };
    let cut = format!("{}\n[cut: 100 of 2000 bytes shown]", "é".repeat(50));
    assert_eq!(*text, cut);
    let whole = "link to call-1.txt at file:///outputs/call-1.txt, Some(2000) bytes";
    let shown = script(&stage.screen.shown());
    assert!(shown.contains(&format!("call-1 completed {cut} + {whole}\n")), "{shown}");
}

#[tokio::test]
async fn whatever_a_tool_gives_is_kept_only_up_to_a_limit() {
    let tools = vec![
        FakeTool::new("structured", false, |_| {
            Ok(ToolOutcome { structured: Some(json!({ "long": "x".repeat(1000) })), ..ToolOutcome::text("short") })
        }),
        FakeTool::new("fail", false, |_| Err(ToolError::to_model("internal", "x".repeat(1000)))),
    ];
    let limits = TurnLimits { tool_output: 100, ..TurnLimits::default() };
    let calls = vec![call("structured", json!({})), call("fail", json!({})), stop()];
    let stage = Setting { tools, limits, ..Setting::default() }.play(vec![calls, vec![stop()]]);
    stage.session.prompt(text("go")).await.unwrap();
    let kept: Vec<ToolCallUpdate> = stage
        .store
        .kept()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCallUpdated(update) if update.for_model.is_some() => Some(update),
            _ => None,
        })
        .collect();
    assert_eq!(kept[0].structured, Some(json!("[cut: 1011 bytes of JSON]")));
    assert_eq!(kept[0].content, Some(vec![ToolContent::Text { text: "short".into() }]), "no link where all is shown");
    let failed = kept[1].for_model.as_deref().unwrap();
    assert!(failed.len() < 200 && failed.ends_with("[cut: 100 of 1018 bytes shown]"), "{failed}");
}

#[tokio::test]
async fn a_broken_tool_ends_the_turn_and_every_call_has_a_result() {
    let tools = vec![
        FakeTool::new("broken", false, |_| Err(ToolError::Fatal("the sandbox is gone".into()))),
        FakeTool::new("look", false, |_| Ok(ToolOutcome::text("x"))),
    ];
    let stage = Setting { tools, ..Setting::default() }.play(vec![vec![
        call("broken", json!({})),
        call("look", json!({})),
        stop(),
    ]]);
    let failed = stage.session.prompt(text("go")).await.unwrap_err();
    assert_eq!(failed.to_string(), "the sandbox is gone");
    let shown = script(&stage.screen.shown());
    assert!(shown.contains("call-1 failed") && shown.contains("call-2 completed"), "{shown}");
}
