//! Calls that the model is just writing: the client hears of each as soon as its name is known, and of its arguments as
//! they grow.
//!
//! That there is such a call is kept, so that its id is the same in every process; how far its arguments have come is only
//! of the moment. One that comes to nothing fails.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::TurnContext;
use super::call::shown_name;
use super::partial::partial;
use crate::event::{EventSink as _, SessionEvent, ToolCallStatus, ToolCallUpdate};
use crate::model::ToolKind;
use crate::tool::{ToolCatalog, ToolError};
use crate::transcript::{MessageId, ToolCallId, ToolContent};

/// How long nothing more is told of the arguments of a call after something was.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes of arguments that are told of while they are written.
const MOST: usize = 256 * 1024;

/// The calls of one answer that are not whole yet, by the model's numbers.
pub(super) struct Drafts<'a> {
    turn: &'a TurnContext,
    tools: &'a ToolCatalog,
    message: &'a MessageId,
    open: BTreeMap<usize, Draft>,
}

struct Draft {
    call: ToolCallId,
    name: String,
    arguments: String,
    told: Option<Instant>,
    /// Whether something has come since.
    is_behind: bool,
    /// Whether no more of it is told.
    is_full: bool,
}

impl<'a> Drafts<'a> {
    pub(super) fn new(turn: &'a TurnContext, tools: &'a ToolCatalog, message: &'a MessageId) -> Self {
        Self { turn, tools, message, open: BTreeMap::new() }
    }

    /// The message that they belong to.
    pub(super) fn message(&self) -> &'a MessageId {
        self.message
    }

    /// A call is begun. One that is begun again, since the model was asked again, is still the same for the client.
    pub(super) fn begin(&mut self, number: usize, name: String) {
        let outbox = &self.turn.outbox;
        let (title, kind) = match self.tools.get(&name) {
            Some(tool) => (tool.spec().title.clone(), tool.spec().kind),
            None => (shown_name(&name), ToolKind::default()),
        };
        if let Some(draft) = self.open.get_mut(&number) {
            draft.arguments.clear();
            draft.is_full = false;
            if draft.name != name {
                draft.name = name;
                let update = ToolCallUpdate { title: Some(title), ..ToolCallUpdate::of(draft.call.clone()) };
                outbox.emit(SessionEvent::ToolCallUpdated(update));
            }
            return;
        }
        let (message, call) = (self.message.clone(), outbox.next_call());
        let (own, arguments) = (name.clone(), String::new());
        let draft = Draft { call: call.clone(), name: own, arguments, told: None, is_behind: false, is_full: false };
        self.open.insert(number, draft);
        outbox.emit(SessionEvent::ToolCallDrafted { message, call, name: shown_name(&name), title, kind });
    }

    /// More of the arguments of a call that was begun.
    pub(super) fn write(&mut self, number: usize, text: &str) {
        let Some(draft) = self.open.get_mut(&number) else { return };
        draft.is_full |= draft.arguments.len() + text.len() > MOST;
        if draft.is_full {
            return;
        }
        draft.arguments.push_str(text);
        draft.is_behind = true;
        self.tell();
    }

    /// Done when there is something to tell that had to wait.
    pub(super) async fn due(&self) {
        match self.open.values().filter(|draft| draft.is_behind).filter_map(|draft| draft.told).min() {
            Some(told) => tokio::time::sleep_until(told + PAUSE).await,
            None => std::future::pending().await,
        }
    }

    /// Tells how far each call has come of which nothing was told for a while.
    pub(super) fn tell(&mut self) {
        for draft in self.open.values_mut() {
            let may_be_told = draft.told.is_none_or(|told| told.elapsed() >= PAUSE);
            if !draft.is_behind || !may_be_told {
                continue;
            }
            draft.is_behind = false;
            if let Some(arguments) = partial(&draft.arguments) {
                draft.told = Some(Instant::now());
                self.turn.outbox.emit(SessionEvent::ToolInput { call: draft.call.clone(), arguments });
            }
        }
    }

    /// The id of a call that is whole now.
    pub(super) fn take(&mut self, number: usize) -> Option<ToolCallId> {
        self.open.remove(&number).map(|draft| draft.call)
    }

    /// What is left comes to nothing.
    pub(super) fn fail(self, why: &ToolError) {
        for (_, draft) in self.open {
            self.turn.outbox.emit(SessionEvent::ToolCallUpdated(ToolCallUpdate {
                status: Some(ToolCallStatus::Failed),
                content: Some(vec![ToolContent::Text { text: why.for_person() }]),
                for_model: Some(why.for_model()),
                ..ToolCallUpdate::of(draft.call)
            }));
        }
    }
}
