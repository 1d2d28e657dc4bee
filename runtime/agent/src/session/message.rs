//! A person's prompt on its way to the model: the hooks decide about it first.
//!
//! What the person wrote is kept and shown as it is, whatever becomes of it. Where a hook puts another text in its place,
//! the model is shown that one, and the person is told; what is stopped the model never sees, also not later.

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::capability::{HookEvent, PluginId};
use crate::event::{EventSink as _, SessionEvent};
use crate::gate::{Exhibit, Origin};
use crate::hook::Matter;
use crate::tool::ToolError;
use crate::transcript::{Part, ToolCallId, ToolContent};

/// Puts `parts` into the conversation, and into that with the model where the hooks let it. Else the error says why not.
pub(super) async fn put(shared: &Shared, parts: Vec<Part>, cancel: &CancellationToken) -> Result<(), ToolError> {
    let hooks = &shared.turns.hooks;
    hooks.begin_turn();
    if !hooks.wants(HookEvent::UserMessage) {
        keep(shared, parts, false);
        return Ok(());
    }
    let mut message = Message { parts, text: None };
    let decided = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolError::cancelled()),
        decided = decide(shared, &mut message) => decided,
    };
    let Message { parts, text } = message;
    match decided {
        Err(why) => {
            keep(shared, parts, true);
            Err(why)
        }
        Ok(by) => {
            let outbox = &shared.turns.outbox;
            let note = text.map(|text| {
                let note = replaced(&by, &text);
                // Before the message, so that there is no moment in which the model could be shown what was written.
                outbox.emit(SessionEvent::MessageReplaced { id: outbox.next_message(), text, by });
                note
            });
            keep(shared, parts, false);
            if let Some(text) = note {
                outbox.emit(SessionEvent::AgentText { id: outbox.next_message(), text, local: true });
            }
            Ok(())
        }
    }
}

/// The plugins that have changed the message.
async fn decide(shared: &Shared, message: &mut Message) -> Result<Vec<PluginId>, ToolError> {
    let turns = &shared.turns;
    let passage = turns.hooks.pass(message).await;
    passage.account(&turns.gate, HookEvent::UserMessage, None);
    if let Some(stop) = &passage.stop {
        return Err(stop.error("this prompt"));
    }
    let by = passage.changed_by();
    if !passage.concerns.is_empty() {
        let content = vec![ToolContent::Text { text: message.text() }];
        let exhibit = Exhibit { content, raw: None, concerns: passage.concerns };
        turns.permit(Origin::Prompt, Vec::new(), exhibit).await?;
    }
    Ok(by)
}

/// Keeps and shows what a person wrote; what is `local` is not sent to the model.
pub(super) fn keep(shared: &Shared, parts: Vec<Part>, local: bool) {
    let outbox = &shared.turns.outbox;
    outbox.emit(SessionEvent::UserMessage { id: outbox.next_message(), parts, local });
}

fn replaced(by: &[PluginId], text: &str) -> String {
    let by: Vec<&str> = by.iter().map(PluginId::as_str).collect();
    let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    format!(
        "The model is shown another text than yours, changed by `{}`:\n\n{}\n\n",
        by.join("`, `"),
        quoted.join("\n")
    )
}

struct Message {
    parts: Vec<Part>,
    /// What a hook has put in place of the texts.
    text: Option<String>,
}

impl Message {
    fn text(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

impl Matter for Message {
    fn event(&self) -> HookEvent {
        HookEvent::UserMessage
    }

    fn call(&self) -> Option<&ToolCallId> {
        None
    }

    fn payload(&self) -> BoxFuture<'_, Value> {
        let attached = self.parts.iter().filter_map(|part| match part {
            Part::Resource { uri, text } => Some(json!({ "uri": uri, "text": text })),
            Part::ResourceLink { uri, text, .. } => Some(json!({ "uri": uri, "text": text })),
            Part::Text { .. }
            | Part::Image { .. }
            | Part::Thought { .. }
            | Part::ToolCall(_)
            | Part::ToolResult { .. } => None,
        });
        let payload = json!({ "text": self.text(), "attached": attached.collect::<Vec<_>>() });
        Box::pin(async { payload })
    }

    fn replace(&mut self, text: &str) -> Result<bool, String> {
        if text.trim().is_empty() {
            return Err("it would leave nothing of the prompt".to_owned());
        }
        let changed = text != self.text();
        if changed {
            self.text = Some(text.to_owned());
        }
        Ok(changed)
    }
}
