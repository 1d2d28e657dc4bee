//! Events in, conversation out.

use serde_json::json;

use super::*;
use crate::capability::PluginId;
use crate::model::ToolKind;
use crate::policy::Leeway;
use crate::transcript::ToolCall;

fn user(id: &str, text: &str, local: bool) -> SessionEvent {
    SessionEvent::UserMessage { id: MessageId::new(id), parts: vec![Part::Text { text: text.into() }], local }
}

fn text(id: &str, text: &str, local: bool) -> SessionEvent {
    SessionEvent::AgentText { id: MessageId::new(id), text: text.into(), local }
}

fn thought(id: &str, text: &str, signature: Option<&str>) -> SessionEvent {
    SessionEvent::AgentThought { id: MessageId::new(id), text: text.into(), signature: signature.map(str::to_owned) }
}

fn call(message: &str, id: &str, local: bool) -> SessionEvent {
    SessionEvent::ToolCallStarted {
        message: MessageId::new(message),
        call: ToolCall { id: ToolCallId::new(id), name: "t".into(), arguments: json!({}) },
        title: "T".into(),
        kind: ToolKind::Other,
        locations: Vec::new(),
        terminal: None,
        local,
    }
}

fn result(id: &str, text: &str, status: ToolCallStatus) -> SessionEvent {
    SessionEvent::ToolCallUpdated(ToolCallUpdate {
        status: Some(status),
        for_model: Some(text.into()),
        ..ToolCallUpdate::of(ToolCallId::new(id))
    })
}

fn told(history: &History) -> String {
    let mut lines = String::new();
    for message in history.messages().iter() {
        let _ = write!(lines, "{} {:?}:", message.id, message.role);
        for part in &message.parts {
            let _ = match part {
                Part::Text { text } => write!(lines, " {text:?}"),
                Part::Thought { text, signature } => write!(lines, " ({text} {signature:?})"),
                Part::ToolCall(call) => write!(lines, " ->{}", call.id),
                Part::ToolResult { call, text, failed } => write!(lines, " <-{call} {text:?} failed={failed}"),
                other => write!(lines, " {other:?}"),
            };
        }
        lines.push('\n');
    }
    lines
}

#[test]
fn pieces_become_messages() {
    let history = History::of(&[
        user("msg-1", "hi", false),
        thought("msg-2", "let me ", None),
        thought("msg-2", "see", None),
        thought("msg-2", "", Some("proof")),
        text("msg-2", "I will ", false),
        text("msg-2", "look.", false),
        call("msg-2", "call-1", false),
        call("msg-2", "call-2", false),
        result("call-1", "one", ToolCallStatus::Completed),
        result("call-2", "two", ToolCallStatus::Failed),
        text("msg-3", "Done.", false),
    ]);
    expect_test::expect![[r#"
        msg-1 User: "hi"
        msg-2 Assistant: (let me see Some("proof")) "I will look." ->call-1 ->call-2
        call-1-result Tool: <-call-1 "one" failed=false <-call-2 "two" failed=true
        msg-3 Assistant: "Done."
    "#]]
    .assert_eq(&told(&history));
    assert_eq!(history.next_message().as_str(), "msg-4");
    assert_eq!(history.next_call().as_str(), "call-3");
}

#[test]
fn what_a_person_does_by_command_is_not_sent_to_the_model() {
    let history = History::of(&[
        user("msg-1", "/call t", true),
        call("msg-2", "call-1", true),
        result("call-1", "secret", ToolCallStatus::Completed),
        text("msg-3", "secret", true),
    ]);
    assert_eq!(told(&history), "");
    assert_eq!(history.next_message().as_str(), "msg-4");
    assert_eq!(history.repair().len(), 1, "only the turn is open");
}

#[test]
fn a_turn_that_was_cut_short_is_ended_once() {
    let mut history = History::of(&[user("msg-1", "hi", false), call("msg-2", "call-1", false)]);
    let repair = history.repair();
    assert_eq!(repair.len(), 2);
    for event in &repair {
        history.apply(event);
    }
    assert!(history.repair().is_empty());
    assert!(told(&history).contains("<-call-1 \"interrupted: the runtime ended before this was done\" failed=true"));
}

#[test]
fn a_second_result_of_one_call_is_ignored() {
    let history = History::of(&[
        user("msg-1", "hi", false),
        call("msg-2", "call-1", false),
        result("call-1", "one", ToolCallStatus::Completed),
        result("call-1", "again", ToolCallStatus::Completed),
        result("call-9", "unknown", ToolCallStatus::Completed),
    ]);
    assert!(!told(&history).contains("again") && !told(&history).contains("unknown"));
}

#[test]
fn what_stays_begins_with_a_turn_and_fits() {
    let turn = |n: usize, bytes: usize| {
        let [asked, calls, told] = [1, 2, 3].map(|m| format!("msg-{}", n * 3 + m));
        let id = format!("call-{}", n + 1);
        vec![
            user(&asked, "do", false),
            call(&calls, &id, false),
            result(&id, &"x".repeat(bytes), ToolCallStatus::Completed),
            text(&told, "done", false),
        ]
    };
    // The bytes that the calls of each turn gave, and how many turns stay.
    for (turns, stay) in [
        (&[10][..], 0),
        (&[10, 10], 1),
        (&[10, 10, 10], 2),
        (&[10, 10, 10, 10], 2),
        (&[40_000, 10, 10], 2),
        (&[10, 40_000, 10], 1),
        (&[10, 20_000, 20_000], 1),
        (&[10, 10, 40_000], 0),
    ] {
        let history = History::of(&turns.iter().enumerate().flat_map(|(n, bytes)| turn(n, *bytes)).collect::<Vec<_>>());
        let split = history.split().unwrap();
        assert_eq!((split.turns, split.recent.len()), (stay, stay * 4), "{turns:?}");
        assert_eq!(split.older.len() + split.recent.len(), history.messages().len());
        assert_eq!(split.kept.as_ref(), split.recent.iter().next().map(|first| &first.id));
        assert!(split.older.iter().chain(split.recent.iter()).eq(history.messages().iter()), "{turns:?}");
    }
    assert_eq!(History::of(&[user("msg-1", "/help", true), text("msg-2", "no", true)]).split(), None);
}

#[test]
fn what_is_held_to_is_the_last_that_was_told() {
    let bounds = |mode: Mode, off: &[&str]| Bounds {
        off: off.iter().map(|id| PluginId::new(*id).unwrap()).collect(),
        ..mode.into()
    };
    let plan = SessionEvent::ModeChanged { mode: Mode::Plan };
    let without = SessionEvent::BoundsChanged(bounds(Mode::Auto, &["aar:tasks"]));
    for (events, held) in [
        (vec![], None),
        (vec![plan.clone()], Some(bounds(Mode::Plan, &[]))),
        (vec![without.clone()], Some(bounds(Mode::Auto, &["aar:tasks"]))),
        (vec![without, plan], Some(bounds(Mode::Plan, &["aar:tasks"]))),
    ] {
        assert_eq!(History::of(&events).bounds(), held.as_ref(), "{events:?}");
    }
    // Whatever is told of a change leads to what holds.
    let review = Leeway::from(Mode::Review);
    let all = [
        bounds(Mode::Review, &[]),
        bounds(Mode::Plan, &["aar:tasks"]),
        Bounds { leeway: review.with_runs(true), ..Bounds::default() },
        Bounds { leeway: review.with_runs(true).with_read_only(true), ..Bounds::default() },
    ];
    for before in &all {
        for now in &all {
            let mut history = History::of(&[SessionEvent::BoundsChanged(before.clone())]);
            let told = SessionEvent::bounds_changed(before, now.clone());
            assert_eq!(told.is_empty(), before == now);
            told.iter().for_each(|event| history.apply(event));
            assert_eq!(history.bounds(), Some(now), "{before:?}");
        }
    }
}

#[test]
fn a_client_s_instructions_follow_the_runtime_s_or_take_their_place() {
    let roots = Roots::new([("/p".into(), "/p".into()), ("/q".into(), "/q".into())]);
    let prompt =
        |mode, text: &str| system_prompt(&roots, Mode::Plan, Some(&SystemPrompt { mode, text: text.into() }), &[]);
    let place = "Folders:\n- /p\n- /q\n\nMode: Plan (Changes nothing, runs nothing and stays off the network).";
    let own = system_prompt(&roots, Mode::Plan, None, &[]);
    assert_eq!(*own, format!("{INSTRUCTIONS}\n\n{place}"));
    assert_eq!(*prompt(SystemPromptMode::Append, "Be kind."), format!("{own}\n\nBe kind."));
    assert_eq!(*prompt(SystemPromptMode::Override, "Be kind."), format!("Be kind.\n\n{place}"));
}
