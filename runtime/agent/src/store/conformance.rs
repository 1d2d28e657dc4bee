//! What every implementer of [`SessionStore`] must pass.
//!
//! [`check`] runs every rule against a fresh store and panics with the rule that was broken.

#![expect(clippy::unwrap_used, reason = "a suite for tests: a broken rule is a panic")]

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{ListQuery, PointOfNoReturn, SessionRecord, SessionSetup, SessionStore, StoreError};
use crate::capability::PluginId;
use crate::event::{CompactionEnd, ContextSize, SessionEvent, ToolCallStatus, ToolCallUpdate, TurnEnd};
use crate::model::ToolKind;
use crate::options::Bounds;
use crate::policy::{Leeway, Mode};
use crate::transcript::{
    Cost, Location, MessageId, Part, PlanEntry, PlanPriority, PlanStatus, SessionId, StopReason, SystemPrompt,
    SystemPromptMode, TerminalExit, ToolCall, ToolCallId, ToolContent, Usage,
};

/// Runs every rule; `fresh` makes an empty store.
pub async fn check<S: SessionStore>(fresh: impl Fn() -> S) {
    events_come_back_in_order(&fresh()).await;
    every_kind_of_event_survives(&fresh()).await;
    what_was_never_created_is_not_known(&fresh()).await;
    a_created_session_is_known_but_not_listed(&fresh()).await;
    appending_nothing_changes_nothing(&fresh()).await;
    what_it_is_opened_with_is_kept(&fresh()).await;
    the_last_title_is_the_session_s(&fresh()).await;
    sessions_do_not_mix(&fresh()).await;
    appends_in_flight_keep_their_order(&fresh()).await;
    a_deleted_session_stays_away(&fresh()).await;
    a_deleted_session_that_is_open_takes_what_comes(&fresh()).await;
    a_fork_is_a_session_of_its_own(&fresh()).await;
    what_was_taken_back_leaves_nothing(&fresh()).await;
    one_process_may_claim_a_session_often(&fresh()).await;
    the_list_is_newest_first(&fresh()).await;
    the_list_keeps_to_a_folder(&fresh()).await;
    pages_are_stable_under_insertion(&fresh()).await;
    foreign_cursors_are_refused(&fresh()).await;
}

/// Something that nobody takes back.
fn default() -> PointOfNoReturn {
    PointOfNoReturn::default()
}

/// A new session in `cwd`.
pub fn record(id: &str, cwd: &str) -> SessionRecord {
    SessionRecord {
        id: SessionId::new(id),
        setup: SessionSetup {
            cwd: cwd.to_owned(),
            additional: vec!["/more".to_owned(), "/päth with \"quotes\"".to_owned()],
            system_prompt: None,
        },
        title: None,
        updated: SystemTime::now(),
    }
}

/// A piece of the assistant's text.
pub fn text(message: &str, text: &str) -> SessionEvent {
    SessionEvent::AgentText { id: MessageId::new(message), text: text.to_owned(), local: false }
}

async fn create(store: &impl SessionStore, record: SessionRecord) {
    let _given_back = store.create(record).await.unwrap();
}

async fn append(store: &impl SessionStore, session: &str, events: &[SessionEvent]) {
    store.append(&SessionId::new(session), events.into()).await.unwrap();
}

async fn load(store: &impl SessionStore, session: &str) -> Option<(SessionRecord, Vec<SessionEvent>)> {
    store.load(&SessionId::new(session)).await.unwrap()
}

async fn listed(store: &impl SessionStore, query: ListQuery) -> (Vec<String>, Option<String>) {
    let page = store.list(query).await.unwrap();
    (page.sessions.iter().map(|record| record.id.as_str().to_owned()).collect(), page.next)
}

fn first(limit: usize) -> ListQuery {
    ListQuery { limit, ..ListQuery::default() }
}

async fn events_come_back_in_order(store: &impl SessionStore) {
    let made = record("s", "/project");
    create(store, made.clone()).await;
    let events: Vec<SessionEvent> = (0..100).map(|n| text(&format!("m{}", n / 7), &format!("{n} "))).collect();
    let begun = SystemTime::now();
    for batch in events.chunks(9) {
        append(store, "s", batch).await;
    }
    let (known, loaded) = load(store, "s").await.unwrap();
    assert_eq!(loaded, events, "events come back as they were, in order");
    assert_eq!((&known.id, &known.setup), (&made.id, &made.setup));
    assert!(known.updated + Duration::from_millis(1) >= begun, "the time of the last event is kept");
}

async fn every_kind_of_event_survives(store: &impl SessionStore) {
    let call =
        ToolCall { id: ToolCallId::new("c1"), name: "grep".to_owned(), arguments: json!({ "a": [1, null, "x"] }) };
    let location = Location { path: "/project/ä".to_owned(), line: Some(7) };
    let update = ToolCallUpdate {
        status: Some(ToolCallStatus::Completed),
        arguments: Some(Box::new(json!({ "a": null }))),
        content: Some(vec![
            ToolContent::Text { text: "a\u{0}b\r\n\u{1f600}\u{202e}".to_owned() },
            ToolContent::Resource { uri: "file:///x".to_owned(), text: String::new(), mime: None },
            ToolContent::Diff { path: "/x".to_owned(), old: None, new: "y".repeat(300_000) },
            ToolContent::Link {
                name: "all".to_owned(),
                uri: "file:///all".to_owned(),
                mime: None,
                size: Some(u64::MAX),
            },
            ToolContent::Terminal {
                terminal: Some("t1".to_owned()),
                output: "out".to_owned(),
                exit: Some(TerminalExit { code: Some(1), signal: Some("SIGTERM".to_owned()) }),
            },
        ]),
        locations: Some(vec![location.clone()]),
        structured: Some(json!({ "n": 1.5 })),
        for_model: Some("done".to_owned()),
        ..ToolCallUpdate::of(call.id.clone())
    };
    let message = MessageId::new("m1");
    let events = vec![
        SessionEvent::UserMessage {
            id: MessageId::new("u1"),
            parts: vec![
                Part::Text { text: "hello".to_owned() },
                Part::Image { data: "AAAA".into(), mime: "image/png".to_owned() },
                Part::ResourceLink { name: "a".to_owned(), uri: "file:///a".to_owned(), text: Some("t".to_owned()) },
            ],
            local: true,
        },
        SessionEvent::MessageReplaced {
            id: MessageId::new("u2"),
            text: "other".to_owned(),
            by: vec![PluginId::new("aar:guard").unwrap()],
        },
        SessionEvent::AgentThought { id: message.clone(), text: "hm".to_owned(), signature: None },
        SessionEvent::AgentThought { id: message.clone(), text: String::new(), signature: Some("sig".to_owned()) },
        SessionEvent::AgentText { id: message.clone(), text: "local".to_owned(), local: true },
        SessionEvent::ToolCallStarted {
            message,
            call,
            title: "Search".to_owned(),
            kind: ToolKind::Search,
            locations: vec![location],
            terminal: Some("/project".to_owned()),
            local: true,
        },
        SessionEvent::ToolCallUpdated(update),
        SessionEvent::Plan {
            entries: vec![PlanEntry {
                content: "step".to_owned(),
                priority: PlanPriority::High,
                status: PlanStatus::InProgress,
            }],
        },
        SessionEvent::Usage(Usage {
            input: 1,
            output: 2,
            cached: 3,
            window: Some(u64::from(u32::MAX) * 2),
            cost: Some(Cost { amount: 0.125, currency: "EUR".into() }),
        }),
        SessionEvent::Title { title: "A title".to_owned(), provisional: false },
        SessionEvent::ContextCleared,
        SessionEvent::OutputsDropped { before: MessageId::new("m1") },
        SessionEvent::CompactionStarted { id: MessageId::new("m2") },
        SessionEvent::CompactionText { id: MessageId::new("m2"), text: "sum".to_owned() },
        SessionEvent::CompactionEnded { id: MessageId::new("m2"), end: CompactionEnd::Cancelled },
        SessionEvent::CompactionEnded {
            id: MessageId::new("m2"),
            end: CompactionEnd::Failed { reason: "no".to_owned() },
        },
        SessionEvent::CompactionEnded {
            id: MessageId::new("m2"),
            end: CompactionEnd::Completed {
                kept: Some(MessageId::new("u1")),
                context: Some(ContextSize { used: 1, window: 2 }),
            },
        },
        SessionEvent::ModeChanged { mode: Mode::AutoEdit },
        SessionEvent::BoundsChanged(Bounds {
            leeway: Leeway::from(Mode::Plan).with_runs(true),
            off: [PluginId::new("aar:tasks").unwrap()].into(),
        }),
        SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::MaxTokens) },
        SessionEvent::TurnEnded { end: TurnEnd::Failed("no network".to_owned()) },
    ];
    create(store, record("s", "/project")).await;
    append(store, "s", &events).await;
    assert_eq!(load(store, "s").await.unwrap().1, events, "every kind of event survives");
}

async fn what_was_never_created_is_not_known(store: &impl SessionStore) {
    assert_eq!(load(store, "nobody").await, None);
    assert_eq!(listed(store, first(10)).await, (vec![], None));
    let appended = store.append(&SessionId::new("nobody"), [text("m", "x")].into()).await;
    assert!(appended.is_err(), "events of an unknown session are refused, not dropped");
    assert_eq!(load(store, "nobody").await, None);
}

async fn a_created_session_is_known_but_not_listed(store: &impl SessionStore) {
    let made = record("s", "/project");
    create(store, made.clone()).await;
    let (known, events) = load(store, "s").await.unwrap();
    assert_eq!((known.id, known.setup, events), (made.id, made.setup, vec![]));
    assert_eq!(listed(store, first(10)).await.0, Vec::<String>::new(), "a session without events is not listed");
    append(store, "s", &[text("m", "x")]).await;
    assert_eq!(listed(store, first(10)).await.0, ["s"]);
}

async fn appending_nothing_changes_nothing(store: &impl SessionStore) {
    create(store, record("s", "/project")).await;
    append(store, "s", &[]).await;
    assert_eq!(listed(store, first(10)).await.0, Vec::<String>::new());
}

async fn what_it_is_opened_with_is_kept(store: &impl SessionStore) {
    let id = SessionId::new("s");
    let prompt = |mode| Some(SystemPrompt { mode, text: "Be \"kind\".\n".to_owned() });
    let setup = |cwd: &str, system_prompt| SessionSetup { cwd: cwd.to_owned(), additional: Vec::new(), system_prompt };
    let mut made = record("s", "/one");
    made.setup.system_prompt = prompt(SystemPromptMode::Append);
    create(store, made.clone()).await;
    assert_eq!(load(store, "s").await.unwrap().0.setup, made.setup);
    let second = setup("/two", prompt(SystemPromptMode::Override));
    store.set_up(&id, second.clone()).await.unwrap();
    assert_eq!(load(store, "s").await.unwrap().0.setup, second, "before the first event");

    append(store, "s", &[text("m", "x")]).await;
    let before = load(store, "s").await.unwrap();
    assert_eq!(before.0.setup, second);
    let third = setup("/three", None);
    store.set_up(&id, third.clone()).await.unwrap();
    let (known, events) = load(store, "s").await.unwrap();
    assert_eq!(known, SessionRecord { setup: third, ..before.0 }, "opening a session is no activity in it");
    assert_eq!(events, before.1);
    let within = |cwd: &str| ListQuery { cwd: Some(cwd.to_owned()), ..first(1) };
    assert_eq!(listed(store, within("/two")).await.0, Vec::<String>::new());
    assert_eq!(listed(store, within("/three")).await.0, ["s"]);

    store.set_up(&SessionId::new("nobody"), setup("/", None)).await.unwrap();
    assert_eq!(load(store, "nobody").await, None, "what is not known does not become known");
}

async fn the_last_title_is_the_session_s(store: &impl SessionStore) {
    let title = |title: &str| SessionEvent::Title { title: title.to_owned(), provisional: false };
    create(store, record("s", "/project")).await;
    append(store, "s", &[title("one"), text("m", "x"), title("two")]).await;
    append(store, "s", &[text("m", "y")]).await;
    assert_eq!(load(store, "s").await.unwrap().0.title.as_deref(), Some("two"));
    let page = store.list(first(1)).await.unwrap();
    assert_eq!(page.sessions[0].title.as_deref(), Some("two"));
}

async fn sessions_do_not_mix(store: &impl SessionStore) {
    for session in ["a", "b"] {
        create(store, record(session, "/project")).await;
    }
    for n in 0..20 {
        append(store, if n % 3 == 0 { "a" } else { "b" }, &[text(&format!("m{n}"), "x")]).await;
    }
    let of = |events: &[SessionEvent]| events.len();
    assert_eq!(of(&load(store, "a").await.unwrap().1), 7);
    assert_eq!(of(&load(store, "b").await.unwrap().1), 13);
}

async fn appends_in_flight_keep_their_order(store: &impl SessionStore) {
    create(store, record("s", "/project")).await;
    let id = SessionId::new("s");
    let events: Vec<SessionEvent> = (0..50).map(|n| text(&format!("m{n}"), "x")).collect();
    let waiting: Vec<_> = events.iter().map(|event| store.append(&id, [event.clone()].into())).collect();
    for appended in futures::future::join_all(waiting).await {
        appended.unwrap();
    }
    assert_eq!(load(store, "s").await.unwrap().1, events, "appends are kept in the order of the calls");
}

async fn a_deleted_session_stays_away(store: &impl SessionStore) {
    let id = SessionId::new("s");
    create(store, record("s", "/project")).await;
    append(store, "s", &[text("m", "x")]).await;
    store.delete(&id, default()).await.unwrap();
    store.delete(&id, default()).await.unwrap();
    store.delete(&SessionId::new("nobody"), default()).await.unwrap();
    assert!(store.append(&id, [text("m", "late")].into()).await.is_err(), "a late event does not revive it");
    assert_eq!(load(store, "s").await, None);
    assert_eq!(listed(store, first(10)).await, (vec![], None));

    create(store, record("new", "/project")).await;
    store.delete(&SessionId::new("new"), default()).await.unwrap();
    assert_eq!(load(store, "new").await, None, "a session can be deleted before its first event");
}

async fn a_deleted_session_that_is_open_takes_what_comes(store: &impl SessionStore) {
    let id = SessionId::new("s");
    let claim = store.create(record("s", "/project")).await.unwrap();
    store.delete(&id, default()).await.unwrap();
    store.append(&id, [text("m", "late")].into()).await.unwrap();
    assert_eq!(load(store, "s").await, None, "what comes late does not revive it");
    claim.give_back().await;
    assert_eq!(load(store, "s").await, None);
    assert!(store.append(&id, [text("m", "later")].into()).await.is_err(), "nobody has it open any more");
}

async fn what_was_taken_back_leaves_nothing(store: &impl SessionStore) {
    let id = SessionId::new("s");
    create(store, record("s", "/project")).await;
    append(store, "s", &[text("m", "x")]).await;
    let back = || {
        let point = default();
        point.turn_back();
        point
    };
    let forked = store.fork(&id, record("fork", "/project"), [text("m", "x")].into(), back()).await;
    assert_eq!(forked.err(), Some(StoreError::TakenBack));
    assert_eq!(load(store, "fork").await, None);
    assert_eq!(store.delete(&id, back()).await, Err(StoreError::TakenBack));
    append(store, "s", &[text("m", "y")]).await;
    assert_eq!(load(store, "s").await.unwrap().1, [text("m", "x"), text("m", "y")]);
}

async fn one_process_may_claim_a_session_often(store: &impl SessionStore) {
    let id = SessionId::new("s");
    let created = store.create(record("s", "/project")).await.unwrap();
    let claims = [store.claim(&id).await.unwrap(), store.claim(&id).await.unwrap()];
    drop(created);
    append(store, "s", &[text("m", "x")]).await;
    drop(claims);
    let again = store.claim(&id).await.unwrap();
    append(store, "s", &[text("m", "y")]).await;
    drop(again);
    drop(store.claim(&SessionId::new("nobody")).await.unwrap());
    assert_eq!(load(store, "nobody").await, None, "claiming makes no session");
}

async fn a_fork_is_a_session_of_its_own(store: &impl SessionStore) {
    let source = SessionId::new("s");
    create(store, record("s", "/project")).await;
    let events =
        [text("m1", "one"), SessionEvent::Title { title: "T".to_owned(), provisional: false }, text("m2", "two")];
    append(store, "s", &events).await;
    let claim = store.fork(&source, record("fork", "/other"), events[..2].into(), default()).await.unwrap();
    let (known, kept) = load(store, "fork").await.unwrap();
    assert_eq!((known.setup.cwd.as_str(), known.title.as_deref(), &kept[..]), ("/other", Some("T"), &events[..2]));
    append(store, "fork", &[text("m2", "another two")]).await;
    append(store, "s", &[text("m3", "three")]).await;
    assert_eq!(load(store, "fork").await.unwrap().1.len(), 3);
    assert_eq!(load(store, "s").await.unwrap().1.len(), 4);
    store.delete(&source, default()).await.unwrap();
    assert_eq!(load(store, "fork").await.unwrap().1.len(), 3, "it does not need what it was forked from");

    drop(claim);
    let nobody = SessionId::new("nobody");
    drop(store.fork(&nobody, record("empty", "/project"), [].into(), default()).await.unwrap());
    assert_eq!(load(store, "empty").await.unwrap().1, [], "a fork can begin with nothing");
    assert_eq!(listed(store, first(10)).await.0, ["fork"]);
}

/// Sessions `s0`, `s1`, … in this order of their last events.
async fn some(store: &impl SessionStore, count: usize) {
    for n in 0..count {
        create(store, record(&format!("s{n}"), if n % 2 == 0 { "/even" } else { "/odd" })).await;
    }
    for n in 0..count {
        touch(store, &format!("s{n}")).await;
    }
}

/// An event at a later time than all before.
async fn touch(store: &impl SessionStore, session: &str) {
    let before = SystemTime::now();
    while SystemTime::now() < before + Duration::from_micros(2) {
        std::hint::spin_loop();
    }
    append(store, session, &[text("m", "x")]).await;
}

async fn the_list_is_newest_first(store: &impl SessionStore) {
    some(store, 4).await;
    assert_eq!(listed(store, first(10)).await, (vec!["s3".into(), "s2".into(), "s1".into(), "s0".into()], None));
    touch(store, "s1").await;
    assert_eq!(listed(store, first(2)).await.0, ["s1", "s3"]);
}

async fn the_list_keeps_to_a_folder(store: &impl SessionStore) {
    some(store, 5).await;
    let within = |cwd: &str, cursor| ListQuery { cwd: Some(cwd.to_owned()), cursor, limit: 2 };
    let (page, next) = listed(store, within("/even", None)).await;
    assert_eq!(page, ["s4", "s2"]);
    assert_eq!(listed(store, within("/even", next)).await, (vec!["s0".into()], None));
    assert_eq!(listed(store, within("/eve", None)).await.0, Vec::<String>::new());
}

async fn pages_are_stable_under_insertion(store: &impl SessionStore) {
    some(store, 7).await;
    let (mut seen, mut cursor) = listed(store, first(3)).await;
    for round in 0.. {
        let Some(next) = cursor else { break };
        let new = format!("new{round}");
        create(store, record(&new, "/project")).await;
        touch(store, &new).await;
        let (page, after) = listed(store, ListQuery { cursor: Some(next), ..first(3) }).await;
        seen.extend(page);
        cursor = after;
    }
    assert_eq!(seen, ["s6", "s5", "s4", "s3", "s2", "s1", "s0"], "each once, and none that came later");
}

async fn foreign_cursors_are_refused(store: &impl SessionStore) {
    some(store, 2).await;
    for cursor in ["", "x", "%%%", "MQ", "LTEuLTE=", "\u{0}", &"A".repeat(10_000)] {
        let query = ListQuery { cursor: Some(cursor.to_owned()), ..first(1) };
        let refused = store.list(query).await;
        assert!(matches!(refused, Err(StoreError::BadCursor(_))), "`{cursor:.20}` gave {refused:?}");
    }
}
