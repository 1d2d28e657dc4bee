//! Hooks: code of plugins that is told of what happens in a session, and can stop or change some of it. It can allow
//! nothing: there is no such answer, and whatever comes out is judged by the gate as if it had been asked for like that.
//!
//! What a hook can do depends on the event ([`HookRole`]): a gate's failure stops what it was asked about, a transform's
//! leaves it as it is, and nobody waits for an observer. Hooks of one event are asked in the order of their priority (the
//! lowest first) and then of their plugins' ids, each about what the one before has left. A gate that let something pass
//! which a later one has changed is asked once more, so that nothing happens that it has not seen. Hooks of a plugin that
//! is switched off are not asked. Knows nothing about sandboxes, turns and how decisions are kept. Tested with hooks that
//! are functions, beside the code and in `tests/it`.

mod matter;
mod observers;
mod payload;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::capability::{HookEvent, HookRole, PluginId};
use crate::gate::Concern;
use crate::options::Switches;
use crate::plain;
use crate::transcript::{SessionId, ToolCallId};

pub use matter::{Deed, Matter, Passage, Stop};
use observers::Observers;
pub use payload::PAYLOAD;
use payload::{bounded, veiled};

/// Characters of a hook's reason that a person or a model is shown.
const REASON: usize = 200;
/// Questions of one plugin's hooks that a person refuses in one turn; further ones are refused without asking.
const REFUSALS: u32 = 3;

/// What a hook says to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    NoOpinion,
    /// This in its place: the arguments of a call as JSON, else a text.
    Replace(String),
    /// It must not happen; of a tool's answer: the model must not be shown it.
    Block(String),
    /// A person must decide.
    Ask(String),
}

/// Why a hook has said nothing that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookFailure(pub String);

/// An event, as hooks are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// Which.
    pub event: HookEvent,
    /// Where.
    pub session: SessionId,
    /// The tool call that it is about.
    pub call: Option<ToolCallId>,
    /// What there is to know: a JSON object of a limited size.
    pub payload: String,
    /// Whether something of it had to be left out.
    pub truncated: bool,
    /// Whether [`KEPT_SECRET`] stands in it where there is a secret.
    pub masked: bool,
}

/// What hooks are told in the place of a secret that is kept for the person: no plugin is told one, whatever it may read.
pub const KEPT_SECRET: &str = "[kept secret]";

/// Hides secrets: the text without them, or none where there are none in it.
pub type Veil = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// An event that a hook is told of, and its place among all hooks of that event: the lowest goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    /// The event.
    pub event: HookEvent,
    /// The place.
    pub priority: u16,
}

/// The hooks of one plugin.
pub trait Hook: Send + Sync {
    /// Whose they are.
    fn plugin(&self) -> &PluginId;

    /// What it is told of.
    fn subscriptions(&self) -> &[Subscription];

    /// Tells it, and hears what it says, within a limited time. The future may be dropped at any moment.
    fn handle<'a>(&'a self, occurrence: &'a Occurrence) -> BoxFuture<'a, Result<Verdict, HookFailure>>;

    /// What the person has to do where it can only fail; none where that is not known.
    fn remedy(&self) -> Option<String> {
        None
    }
}

/// The hooks of each event, in their order.
type Ordered = HashMap<HookEvent, Vec<Arc<dyn Hook>>>;

/// The hooks of a session; cheap to clone. By default there are none, and nothing is done for any event.
#[derive(Clone)]
pub struct Hooks {
    inner: Option<Arc<Inner>>,
    /// Bytes of what they are told of an event.
    payload: usize,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { inner: None, payload: PAYLOAD }
    }
}

struct Inner {
    session: SessionId,
    veil: Veil,
    switches: Switches,
    ordered: Arc<Ordered>,
    observers: Option<Observers>,
    /// How many questions of each plugin were refused in this turn.
    refused: Mutex<HashMap<PluginId, u32>>,
}

impl Hooks {
    /// These hooks for a session with these switches, which are told nothing that `veil` hides. Must be called where tasks
    /// can be spawned.
    pub fn new(session: SessionId, switches: Switches, hooks: &[Arc<dyn Hook>], veil: Veil) -> Self {
        let mut ordered = Ordered::new();
        for event in HookEvent::ALL {
            let priority = |hook: &Arc<dyn Hook>| {
                let own = hook.subscriptions().iter().filter(|own| own.event == event);
                own.map(|own| own.priority).min()
            };
            let mut told: Vec<_> = hooks.iter().filter_map(|hook| Some((priority(hook)?, hook))).collect();
            told.sort_by_key(|(priority, hook)| (*priority, hook.plugin()));
            if !told.is_empty() {
                ordered.insert(event, told.into_iter().map(|(_, hook)| hook.clone()).collect());
            }
        }
        if ordered.is_empty() {
            return Self::default();
        }
        let ordered = Arc::new(ordered);
        let observed = ordered.keys().any(|event| event.role() == HookRole::Observer);
        let observers = observed.then(|| Observers::start(ordered.clone(), switches.clone()));
        let inner = Inner { session, veil, switches, ordered, observers, refused: Mutex::default() };
        Self { inner: Some(Arc::new(inner)), payload: PAYLOAD }
    }

    /// The same, which are told at most so many bytes of an event instead of [`PAYLOAD`].
    #[must_use]
    pub fn told_at_most(self, payload: usize) -> Self {
        Self { payload, ..self }
    }

    /// The hooks that a child of the session meets: those that decide about its calls. What it says is the call's that it
    /// works for.
    #[must_use]
    pub fn of_child(&self) -> Self {
        let Some(inner) = &self.inner else { return Self::default() };
        let (session, switches, ordered) = (inner.session.clone(), inner.switches.clone(), inner.ordered.clone());
        let veil = inner.veil.clone();
        let inner = Inner { session, veil, switches, ordered, observers: None, refused: Mutex::default() };
        Self { inner: Some(Arc::new(inner)), payload: self.payload }
    }

    /// Those that are told of an event now, in their order.
    fn of(&self, event: HookEvent) -> Vec<Arc<dyn Hook>> {
        let Some(inner) = &self.inner else { return Vec::new() };
        let all = inner.ordered.get(&event).into_iter().flatten();
        all.filter(|hook| inner.switches.lets(Some(hook.plugin()))).cloned().collect()
    }

    /// Whether anybody is told of an event now.
    pub fn wants(&self, event: HookEvent) -> bool {
        !self.of(event).is_empty()
    }

    /// Tells of an event that nobody decides about. `payload` is only asked for where somebody is told; nobody waits.
    pub fn tell(&self, event: HookEvent, payload: impl FnOnce() -> Value) {
        let Some(observers) = self.inner.as_ref().and_then(|inner| inner.observers.as_ref()) else { return };
        if self.wants(event)
            && let Some(occurrence) = self.occurrence(event, None, &payload())
        {
            observers.tell(occurrence);
        }
    }

    /// Has all that was told reach whom it concerns, for a limited time; nothing is told after that.
    pub async fn close(&self) {
        if let Some(observers) = self.inner.as_ref().and_then(|inner| inner.observers.as_ref()) {
            observers.close().await;
        }
    }

    /// A turn begins: what was refused before counts no more.
    pub fn begin_turn(&self) {
        if let Some(inner) = &self.inner {
            inner.refused.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// A person refused what these asked about.
    pub fn refused(&self, concerns: &[Concern]) {
        let Some(inner) = &self.inner else { return };
        let mut refused = inner.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for concern in concerns {
            *refused.entry(concern.plugin.clone()).or_default() += 1;
        }
    }

    /// Asks everybody who decides about `matter`, which is what they have left of it afterwards.
    pub async fn pass(&self, matter: &mut dyn Matter) -> Passage {
        let (event, mut passage) = (matter.event(), Passage::default());
        let hooks = self.of(event);
        if hooks.is_empty() {
            return passage;
        }
        let is_gate = event.role() == HookRole::Gate;
        // What each has agreed to: how often it had been changed by then.
        let (mut version, mut agreed) = (0, Vec::with_capacity(hooks.len()));
        let Some(mut told) = self.occurrence(event, matter.call(), &matter.payload().await) else { return passage };
        for hook in &hooks {
            match self.ask(&**hook, &told, matter).await {
                Said::Nothing => {}
                Said::Changed => {
                    passage.did(hook.plugin(), Deed::Replaced);
                    version += 1;
                    let changed = self.occurrence(event, matter.call(), &matter.payload().await);
                    told = changed.unwrap_or(told);
                }
                said => passage.take(&**hook, event, said),
            }
            if passage.stop.is_some() {
                return passage;
            }
            agreed.push(version);
        }
        if !is_gate {
            return passage;
        }
        for (hook, _) in hooks.iter().zip(agreed).filter(|(_, agreed)| *agreed < version) {
            match self.ask(&**hook, &told, matter).await {
                Said::Nothing => {}
                Said::Changed => {
                    let why = "the hooks of several plugins do not agree on what it should be";
                    passage.take(&**hook, event, Said::Failed(why.to_owned()));
                }
                said => passage.take(&**hook, event, said),
            }
            if passage.stop.is_some() {
                return passage;
            }
        }
        passage
    }

    async fn ask(&self, hook: &dyn Hook, told: &Occurrence, matter: &mut dyn Matter) -> Said {
        match hook.handle(told).await {
            Ok(Verdict::NoOpinion) => Said::Nothing,
            Ok(Verdict::Replace(_)) if told.truncated => {
                Said::Failed("it would replace what it was not shown in full".to_owned())
            }
            // A call would be made with the mask in it.
            Ok(Verdict::Replace(_)) if told.masked && told.event == HookEvent::ToolCall => {
                Said::Failed("it would replace a call with a secret in it, which it was not shown".to_owned())
            }
            Ok(Verdict::Replace(text)) => match matter.replace(&text) {
                Ok(true) => Said::Changed,
                Ok(false) => Said::Nothing,
                Err(why) => Said::Failed(why),
            },
            Ok(Verdict::Block(reason)) => Said::Block(reason_of(&reason)),
            Ok(Verdict::Ask(_)) if told.event.role() != HookRole::Gate => {
                Said::Failed("it asks about what has happened already".to_owned())
            }
            Ok(Verdict::Ask(reason)) if self.has_heard_enough(hook.plugin()) => Said::Block(format!(
                "{} (not asked: {REFUSALS} of its questions were refused in this turn)",
                reason_of(&reason)
            )),
            Ok(Verdict::Ask(reason)) => Said::Ask(reason_of(&reason)),
            Err(HookFailure(why)) => Said::Failed(plain::line(&why, REASON)),
        }
    }

    fn has_heard_enough(&self, plugin: &PluginId) -> bool {
        let Some(inner) = &self.inner else { return false };
        let refused = inner.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(plugin).is_some_and(|times| *times >= REFUSALS)
    }

    fn occurrence(&self, event: HookEvent, call: Option<&ToolCallId>, payload: &Value) -> Option<Occurrence> {
        let inner = self.inner.as_ref()?;
        // Before it is cut: half a secret would not be known as one.
        let veiled = veiled(payload, &inner.veil);
        let (session, masked) = (inner.session.clone(), veiled.is_some());
        let (payload, truncated) = bounded(veiled.as_ref().unwrap_or(payload), self.payload);
        Some(Occurrence { event, session, call: call.cloned(), payload, truncated, masked })
    }
}

/// What came of asking a hook.
enum Said {
    Nothing,
    /// The matter is another one now.
    Changed,
    Block(String),
    Ask(String),
    Failed(String),
}

fn reason_of(text: &str) -> String {
    let line = plain::line(text, REASON);
    if line.is_empty() { "it gives no reason".to_owned() } else { line }
}

#[cfg(test)]
mod tests;
