//! What the hooks make of a call before it is judged, and of its answer before the model is shown it.
//!
//! Both stay visible: the call keeps the arguments that the model gave, what it is run with and who changed that is told
//! beside them, to the person, to the model and in the journal.

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::TurnContext;
use super::call::{Announced, Ready, cut};
use crate::capability::{Effect, HookEvent, PluginId};
use crate::event::{EventSink as _, SessionEvent, ToolCallStatus, ToolCallUpdate};
use crate::hook::Matter;
use crate::tool::ToolArguments;
use crate::transcript::{MessageId, Part, ToolCallId, ToolContent};

/// Bytes of changed arguments that the model and the person are told in words.
const TOLD: usize = 2 * 1024;

impl TurnContext {
    /// Lets the hooks decide about a call, once. One that they stop fails when it is executed.
    pub(super) async fn hooked(&self, mut announced: Announced, cancel: &CancellationToken) -> Announced {
        let Ok(ready) = &mut announced.ready else { return announced };
        if std::mem::replace(&mut announced.hooked, true) || !self.hooks.wants(HookEvent::ToolCall) {
            return announced;
        }
        let call = self.gate.known_call(&announced.call).clone();
        let mut matter = CallMatter { context: self, call: &call, ready };
        let passage = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                announced.ready = Err(self.why_cancelled());
                return announced;
            }
            passage = self.hooks.pass(&mut matter) => passage,
        };
        passage.account(&self.gate, HookEvent::ToolCall, Some(&call));
        if let Some(stop) = &passage.stop {
            announced.ready = Err(stop.error("this call"));
            return announced;
        }
        ready.changed_by = passage.changed_by();
        ready.concerns = passage.concerns;
        if !ready.changed_by.is_empty() {
            let presentation = ready.tool.present(&ready.arguments);
            self.outbox.emit(SessionEvent::ToolCallUpdated(ToolCallUpdate {
                title: Some(presentation.title),
                locations: Some(presentation.locations),
                arguments: Some(Box::new(ready.arguments.as_value().clone())),
                ..ToolCallUpdate::of(announced.call.clone())
            }));
        }
        announced
    }

    /// Lets the hooks change what the model is shown of an answer.
    pub(super) async fn answer_hooked(
        &self,
        tool: &str,
        mut update: ToolCallUpdate,
        cancel: &CancellationToken,
    ) -> ToolCallUpdate {
        if !self.hooks.wants(HookEvent::ToolResult) {
            return update;
        }
        let Some(text) = update.for_model.take() else { return update };
        let call = self.gate.known_call(&update.id).clone();
        let failed = update.status == Some(ToolCallStatus::Failed);
        let mut matter = AnswerMatter { call: &call, tool, failed, text, limit: self.budget.tool_output() };
        let passage = tokio::select! {
            biased;
            // The model is not asked again in this turn; in the next one it must not see what a hook would have kept back.
            () = cancel.cancelled() => {
                update.for_model = Some(self.why_cancelled().for_model());
                return update;
            }
            passage = self.hooks.pass(&mut matter) => passage,
        };
        passage.account(&self.gate, HookEvent::ToolResult, Some(&call));
        let (text, changed_by) = (matter.text, passage.changed_by());
        let (shown, note) = match &passage.stop {
            Some(stop) => {
                let error = stop.error("what the tool answered");
                (error.for_model(), Some(format!("The model is not shown this: {}", error.for_person())))
            }
            None if changed_by.is_empty() => (text, None),
            None => {
                let by = named(&changed_by);
                (
                    format!("[changed by {by}]\n{text}"),
                    Some(format!("What the model is shown of this was changed by {by}.")),
                )
            }
        };
        update.for_model = Some(shown);
        if let Some(note) = note {
            remark(&mut update, note);
        }
        update
    }

    /// Tells hooks what the model has said in a message.
    pub(super) fn tell_said(&self, message: &MessageId) {
        self.hooks.tell(HookEvent::AssistantMessage, || {
            let messages = self.outbox.messages();
            let parts = messages.iter().rev().find(|said| said.id == *message).into_iter().flat_map(|said| &said.parts);
            let texts = parts.filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            });
            json!({ "message": message, "text": texts.collect::<String>() })
        });
    }

    /// Says in an answer that the call was another one than the model made.
    pub(super) fn tell_changed(update: &mut ToolCallUpdate, changed_by: &[PluginId], arguments: &Value) {
        if changed_by.is_empty() {
            return;
        }
        let note = format!("The call was changed by {} to {}", named(changed_by), cut(&arguments.to_string(), TOLD));
        if let Some(text) = &mut update.for_model {
            *text = format!("[{note}]\n{text}");
        }
        remark(update, note);
    }
}

/// Adds a line to what a call shows: before all else, but behind the reason where it failed.
fn remark(update: &mut ToolCallUpdate, text: String) {
    let failed = update.status == Some(ToolCallStatus::Failed);
    let content = update.content.get_or_insert_default();
    content.insert(if failed { content.len() } else { 0 }, ToolContent::Text { text });
}

fn named(plugins: &[PluginId]) -> String {
    let ids: Vec<&str> = plugins.iter().map(PluginId::as_str).collect();
    let word = if ids.len() == 1 { "plugin" } else { "plugins" };
    format!("the {word} `{}`", ids.join("`, `"))
}

/// A call that may be made.
struct CallMatter<'a> {
    context: &'a TurnContext,
    call: &'a ToolCallId,
    ready: &'a mut Ready,
}

impl Matter for CallMatter<'_> {
    fn event(&self) -> HookEvent {
        HookEvent::ToolCall
    }

    fn call(&self) -> Option<&ToolCallId> {
        Some(self.call)
    }

    /// The effects are as the call was named and as they are with links followed; those of a plugin's tool are not known
    /// beforehand.
    fn payload(&self) -> BoxFuture<'_, Value> {
        Box::pin(async {
            let Ready { tool, name, arguments, .. } = &*self.ready;
            let named = tool.effects(arguments).unwrap_or_default();
            let mut effects = self.context.gate.followed(named.clone()).await;
            for effect in named {
                if !effects.contains(&effect) {
                    effects.push(effect);
                }
            }
            let effects = effects.iter().map(|effect: &Effect| json!({ "class": effect.class(), "key": effect.key() }));
            json!({
                "tool": name,
                "kind": tool.spec().kind,
                "plugin": tool.plugin(),
                "arguments": arguments.as_value(),
                "effects": effects.collect::<Vec<_>>(),
            })
        })
    }

    fn replace(&mut self, text: &str) -> Result<bool, String> {
        let value =
            serde_json::from_str(text).map_err(|error| format!("what it puts in its place is not JSON: {error}"))?;
        let arguments = ToolArguments::validate(self.ready.tool.spec(), value)
            .map_err(|error| format!("the tool does not take what it puts in its place: {error}"))?;
        let changed = arguments != self.ready.arguments;
        self.ready.arguments = arguments;
        Ok(changed)
    }
}

/// What a tool has answered, as the model would be shown it.
struct AnswerMatter<'a> {
    call: &'a ToolCallId,
    tool: &'a str,
    failed: bool,
    text: String,
    limit: usize,
}

impl Matter for AnswerMatter<'_> {
    fn event(&self) -> HookEvent {
        HookEvent::ToolResult
    }

    fn call(&self) -> Option<&ToolCallId> {
        Some(self.call)
    }

    fn payload(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { json!({ "tool": self.tool, "failed": self.failed, "text": self.text }) })
    }

    fn replace(&mut self, text: &str) -> Result<bool, String> {
        let text = cut(text, self.limit);
        let changed = text != self.text;
        self.text = text;
        Ok(changed)
    }
}
