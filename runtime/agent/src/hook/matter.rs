//! What hooks decide about, and what became of it.

use futures::future::BoxFuture;
use serde_json::Value;

use super::{Hook, Said};
use crate::capability::{HookEvent, HookRole, PluginId};
use crate::gate::{Concern, Gate};
use crate::tool::ToolError;
use crate::transcript::ToolCallId;

/// What hooks decide about: a prompt, a call, an answer.
pub trait Matter: Send {
    /// Which event it is.
    fn event(&self) -> HookEvent;

    /// The tool call that it is about, as people know it.
    fn call(&self) -> Option<&ToolCallId>;

    /// What hooks are told of it as it is now: a JSON object.
    fn payload(&self) -> BoxFuture<'_, Value>;

    /// Takes what a hook puts in its place; whether that is something else. The error says why it cannot be that.
    fn replace(&mut self, text: &str) -> Result<bool, String>;
}

/// What a hook did about a matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// It is another one now.
    Replaced,
    /// It does not happen.
    Blocked,
    /// A person is asked.
    Asked,
    /// Nothing, for that reason.
    Failed(String),
}

/// What hooks made of a matter. By default nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Who did what, in order.
    pub deeds: Vec<(PluginId, Deed)>,
    /// What a person must decide before it happens.
    pub concerns: Vec<Concern>,
    /// Who stopped it.
    pub stop: Option<Stop>,
}

/// Why a matter goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Whose hook.
    pub plugin: PluginId,
    /// Why: one line.
    pub reason: String,
    /// Whether the hook did not say so, but failed.
    pub failed: bool,
    /// What the person has to do about that, where it is known.
    pub remedy: Option<String>,
}

impl Passage {
    pub(super) fn did(&mut self, plugin: &PluginId, deed: Deed) {
        self.deeds.push((plugin.clone(), deed));
    }

    /// Takes what a hook said that has not changed the matter.
    pub(super) fn take(&mut self, hook: &dyn Hook, event: HookEvent, said: Said) {
        let plugin = hook.plugin();
        let stop = |reason, failed| {
            let remedy = if failed { hook.remedy() } else { None };
            Stop { plugin: plugin.clone(), reason, failed, remedy }
        };
        match said {
            Said::Nothing | Said::Changed => {}
            Said::Block(reason) => {
                self.did(plugin, Deed::Blocked);
                self.stop = Some(stop(reason, false));
            }
            Said::Ask(reason) => {
                // Who is asked twice has one question.
                if !self.concerns.iter().any(|known| known.plugin == *plugin) {
                    self.did(plugin, Deed::Asked);
                    self.concerns.push(Concern { plugin: plugin.clone(), event, reason });
                }
            }
            Said::Failed(why) => {
                self.did(plugin, Deed::Failed(why.clone()));
                self.stop = (event.role() == HookRole::Gate).then(|| stop(why, true));
            }
        }
    }

    /// The plugins that have changed the matter.
    pub fn changed_by(&self) -> Vec<PluginId> {
        let changed = self.deeds.iter().filter(|(_, deed)| *deed == Deed::Replaced);
        changed.map(|(plugin, _)| plugin.clone()).collect()
    }

    /// Audits all that was done.
    pub fn account(&self, gate: &Gate, event: HookEvent, call: Option<&ToolCallId>) {
        for (plugin, deed) in &self.deeds {
            let (allowed, by) = match deed {
                Deed::Replaced => (true, "replace"),
                Deed::Asked => (true, "ask"),
                Deed::Blocked => (false, "block"),
                Deed::Failed(why) => {
                    tracing::warn!("plugin `{plugin}`: its hook for `{event}` failed: {why}");
                    let closed = event.role() == HookRole::Gate;
                    (!closed, if closed { "fail-closed" } else { "fail-open" })
                }
            };
            gate.hooked(plugin, call, event, allowed, by);
        }
    }
}

impl Stop {
    /// As whoever wanted it is told; `what` is what goes no further.
    pub fn error(&self, what: &str) -> ToolError {
        let Self { plugin, reason, failed, remedy } = self;
        let message = if *failed {
            format!("the plugin `{plugin}` was to decide about {what}, and its hook failed: {reason}")
        } else {
            format!("the plugin `{plugin}` blocks {what}: \"{reason}\"")
        };
        let without = || format!("to do without this plugin in this session, type `/plugins off {plugin}`");
        let person = Some(remedy.clone().unwrap_or_else(without));
        let model = Some("do not try the same in another way: tell the user".to_owned());
        ToolError::to_model("denied", message).hints(crate::tool::Hint { model, person })
    }
}
