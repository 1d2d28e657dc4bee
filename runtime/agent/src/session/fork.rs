//! Where a session begins that goes on from another one.
//!
//! Events in, events out. The new session has the same messages and calls under the same ids, and goes on counting from
//! there. Tested by a table below.

use std::collections::HashSet;

use super::OpenError;
use crate::context::History;
use crate::event::{SessionEvent, TurnEnd};
use crate::options::Choices;
use crate::store::{KeptSession, SessionStore};
use crate::tool::ToolError;
use crate::transcript::{MessageId, SessionId, StopReason, ToolCallId};

/// How a new session goes on from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The other one.
    pub source: SessionId,
    /// From where; none for its end.
    pub point: Option<ForkPoint>,
    /// What is chosen in the other one, where it is open.
    pub choices: Option<Choices>,
}

/// A place between the messages of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPoint {
    /// The message next to it.
    pub message: MessageId,
    /// On which side of the message.
    pub side: ForkSide,
}

/// On which side of a message a session is forked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ForkSide {
    /// Without the message: it can be said anew, in other words.
    Before,
    /// With the message, and with the outcomes of the calls that it made.
    #[default]
    After,
}

/// What is kept of `source`, with the events that a fork of it at `point` begins with.
pub async fn branch(
    store: &dyn SessionStore,
    source: &SessionId,
    point: Option<ForkPoint>,
) -> Result<KeptSession, OpenError> {
    let kept = store.load(source).await?;
    let (record, events) = kept.ok_or_else(|| OpenError::Unknown(source.clone()))?;
    let no_message = |message| OpenError::NoMessage { session: source.clone(), message };
    Ok((record, forked(events, point).map_err(no_message)?))
}

/// The events that a fork of `events` begins with: all of them, or those up to `point`. What was not done there is
/// closed, so that the conversation can go on. Fails with the message of `point` where there is none of that id.
fn forked(mut events: Vec<SessionEvent>, point: Option<ForkPoint>) -> Result<Vec<SessionEvent>, MessageId> {
    const WHY: &str = "interrupted: the session was forked before this was done";
    if let Some(ForkPoint { message: wanted, side }) = point {
        let end = match side {
            ForkSide::Before => events.iter().position(|event| message(event) == Some(&wanted)),
            ForkSide::After => end_of(&events, &wanted),
        };
        events.truncate(end.ok_or(wanted)?);
    }
    let open = History::of(&events).cut_short(&ToolError::Fatal(WHY.to_owned()), TurnEnd::Stopped(StopReason::EndTurn));
    events.extend(open);
    Ok(events)
}

/// The message that an event is a piece of.
fn message(event: &SessionEvent) -> Option<&MessageId> {
    match event {
        SessionEvent::UserMessage { id, .. }
        | SessionEvent::MessageReplaced { id, .. }
        | SessionEvent::AgentText { id, .. }
        | SessionEvent::AgentThought { id, .. }
        | SessionEvent::ToolCallDrafted { message: id, .. }
        | SessionEvent::ToolCallStarted { message: id, .. }
        | SessionEvent::CompactionStarted { id }
        | SessionEvent::CompactionText { id, .. }
        | SessionEvent::CompactionEnded { id, .. } => Some(id),
        SessionEvent::ToolCallUpdated(_)
        | SessionEvent::ToolInput { .. }
        | SessionEvent::ToolOutput { .. }
        | SessionEvent::Plan { .. }
        | SessionEvent::Usage(_)
        | SessionEvent::Title { .. }
        | SessionEvent::ContextCleared
        | SessionEvent::OutputsDropped { .. }
        | SessionEvent::ModeChanged { .. }
        | SessionEvent::BoundsChanged(_)
        | SessionEvent::CommandsChanged { .. }
        | SessionEvent::PanelChanged { .. }
        | SessionEvent::OptionsChanged { .. }
        | SessionEvent::Notice(_)
        | SessionEvent::ServersChanged { .. }
        | SessionEvent::TurnEnded { .. } => None,
    }
}

/// The place where the next message begins, after all that belongs to `wanted`: its pieces, the ends of its calls, and
/// what happened beside them.
fn end_of(events: &[SessionEvent], wanted: &MessageId) -> Option<usize> {
    let mut calls: HashSet<&ToolCallId> = HashSet::new();
    let mut last = None;
    for (at, event) in events.iter().enumerate() {
        let belongs = match event {
            SessionEvent::ToolCallUpdated(update) => calls.contains(&update.id),
            event => message(event) == Some(wanted),
        };
        if belongs {
            calls.extend(call(event));
        }
        if belongs {
            last = Some(at);
        }
    }
    let after = last? + 1;
    let beside = events.get(after..)?.iter().take_while(|event| message(event).is_none());
    Some(after + beside.count())
}

/// The call that an event begins.
fn call(event: &SessionEvent) -> Option<&ToolCallId> {
    match event {
        SessionEvent::ToolCallDrafted { call, .. } => Some(call),
        SessionEvent::ToolCallStarted { call, .. } => Some(&call.id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{ToolCallStatus, ToolCallUpdate};
    use crate::model::ToolKind;
    use crate::transcript::{Part, ToolCall};

    fn user(id: &str) -> SessionEvent {
        let parts = vec![Part::Text { text: "do".to_owned() }];
        SessionEvent::UserMessage { id: MessageId::new(id), parts, local: false }
    }

    fn text(id: &str, text: &str) -> SessionEvent {
        SessionEvent::AgentText { id: MessageId::new(id), text: text.to_owned(), local: false }
    }

    fn call(message: &str, id: &str) -> SessionEvent {
        let call = ToolCall { id: ToolCallId::new(id), name: "t".to_owned(), arguments: json!({}) };
        let (title, kind, locations) = (String::new(), ToolKind::Other, Vec::new());
        SessionEvent::ToolCallStarted {
            message: MessageId::new(message),
            call,
            title,
            kind,
            locations,
            terminal: None,
            local: false,
        }
    }

    fn done(id: &str) -> SessionEvent {
        let (status, for_model) = (Some(ToolCallStatus::Completed), Some("done".to_owned()));
        SessionEvent::ToolCallUpdated(ToolCallUpdate { status, for_model, ..ToolCallUpdate::of(ToolCallId::new(id)) })
    }

    fn ended() -> SessionEvent {
        SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::EndTurn) }
    }

    fn title() -> SessionEvent {
        SessionEvent::Title { title: "do".to_owned(), provisional: false }
    }

    /// Two turns; the first calls two tools.
    fn events() -> Vec<SessionEvent> {
        vec![
            user("msg-1"),
            text("msg-2", "I will"),
            text("msg-2", " look."),
            call("msg-2", "call-1"),
            call("msg-2", "call-2"),
            done("call-1"),
            SessionEvent::Plan { entries: Vec::new() },
            done("call-2"),
            text("msg-3", "Found."),
            title(),
            ended(),
            user("msg-4"),
            text("msg-5", "Yes."),
            ended(),
        ]
    }

    #[test]
    fn a_fork_ends_where_it_was_asked_to() {
        use ForkSide::{After, Before};
        // The message and the side; how many events are kept, and whether a turn had to be closed.
        for (at, side, kept, closed) in [
            ("msg-1", Before, 0, false),
            ("msg-1", After, 1, true),
            ("msg-2", Before, 1, true),
            ("msg-2", After, 8, true),
            ("msg-3", Before, 8, true),
            ("msg-3", After, 11, false),
            ("msg-4", Before, 11, false),
            ("msg-4", After, 12, true),
            ("msg-5", After, 14, false),
        ] {
            let point = ForkPoint { message: MessageId::new(at), side };
            let forked = forked(events(), Some(point)).unwrap();
            let mut expected = events()[..kept].to_vec();
            expected.extend(closed.then(ended));
            assert_eq!(forked, expected, "{at} {side:?}");
        }
        assert_eq!(forked(events(), None).unwrap(), events());
        for side in [Before, After] {
            let nowhere = MessageId::new("msg-9");
            assert_eq!(forked(events(), Some(ForkPoint { message: nowhere.clone(), side })), Err(nowhere));
        }
    }

    #[test]
    fn a_fork_of_what_runs_closes_its_calls() {
        let running = events()[..7].to_vec();
        let forked = forked(running, None).unwrap();
        let SessionEvent::ToolCallUpdated(update) = &forked[7] else { panic!("{forked:?}") };
        assert_eq!((update.id.as_str(), update.status), ("call-2", Some(ToolCallStatus::Failed)));
        assert!(update.for_model.as_ref().unwrap().contains("forked"));
        assert_eq!(forked[8..], [ended()]);
        let history = History::of(&forked);
        assert_eq!((history.next_message().as_str(), history.next_call().as_str()), ("msg-3", "call-3"));
    }
}
