//! What hooks have to do with the gate: they can make it ask, and what they did is audited. They can allow nothing.

use std::time::Duration;

use super::{AuditEntry, Gate, Origin, Wish};
use crate::capability::{Effect, HookEvent, PluginId};
use crate::plain;
use crate::transcript::{ToolCallId, ToolContent};

/// A hook's wish that a person decides, also where the policy would allow it. What the policy denies stays denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concern {
    /// Whose hook.
    pub plugin: PluginId,
    /// What it was told of.
    pub event: HookEvent,
    /// Why, in the plugin's words: one line.
    pub reason: String,
}

impl Concern {
    /// All of them at the end of a question's title; nothing where there are none.
    pub(super) fn told(concerns: &[Self]) -> String {
        let told = concerns.iter().map(|concern| format!(" – plugin `{}` asks: {}", concern.plugin, concern.quoted()));
        told.collect::<Vec<_>>().concat()
    }

    /// The same as a paragraph of its own: a title may be cut.
    pub(super) fn shown(&self) -> ToolContent {
        ToolContent::Text { text: format!("The plugin `{}` wants you to decide: {}", self.plugin, self.quoted()) }
    }

    fn quoted(&self) -> String {
        format!("\"{}\"", plain::quote(&self.reason, usize::MAX))
    }

    /// What is asked about where nothing else is: the event itself.
    pub(super) fn wish(&self) -> Wish {
        Wish { named: Effect::Hook(self.event), real: Effect::Hook(self.event) }
    }
}

impl Gate {
    /// Audits what a plugin's hook did about an event that it was told of; `by` says what in a word.
    pub fn hooked(&self, plugin: &PluginId, call: Option<&ToolCallId>, event: HookEvent, allowed: bool, by: &str) {
        let call = call.map(|own| self.known_call(own).clone());
        let origin = Origin::Plugin { plugin: plugin.clone(), call };
        let (effect, took) = (Effect::Hook(event), Duration::ZERO);
        self.audit.record(AuditEntry { origin: &origin, effect: &effect, allowed, by, times: 1, bytes: None, took });
    }

    /// A call as people know it: all calls of a child of the session are one.
    pub fn known_call<'a>(&'a self, own: &'a ToolCallId) -> &'a ToolCallId {
        self.behalf.as_ref().unwrap_or(own)
    }

    /// The effects with their links followed, as they would be judged now. Decides nothing.
    pub async fn followed(&self, effects: Vec<Effect>) -> Vec<Effect> {
        self.wishes(effects).await.into_iter().map(|wish| wish.real).collect()
    }
}
