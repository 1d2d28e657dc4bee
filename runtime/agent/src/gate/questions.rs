//! What is asked of the person in one session: equal questions that are open at the same time are one, a plugin asks only
//! so often in a turn, and one that was refused again and again is not asked about any more.
//!
//! The gates of a session and of its children share it. Knows nothing about how a person is asked. Tested with the gate.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

use super::{Approval, Approver, Ask};
use crate::capability::{Effect, PluginId};

/// How often the person refuses a plugin effects of one class before they are refused by themselves.
const REFUSALS: u32 = 3;
/// Questions of one plugin in a turn, where nothing else is said.
pub const QUESTIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(49);

/// The questions of a session.
pub(super) struct Questions {
    most: NonZeroU32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Vec<(Ask, WeakShared<BoxFuture<'static, Approval>>)>,
    /// In this turn, for each plugin.
    asked: HashMap<PluginId, u32>,
    /// In a row, for each plugin and class.
    refused: HashMap<(PluginId, &'static str), u32>,
}

impl Default for Questions {
    fn default() -> Self {
        Self::at_most(QUESTIONS)
    }
}

impl Questions {
    /// `most` questions of one plugin in a turn.
    pub(super) fn at_most(most: NonZeroU32) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// How many questions a plugin has in a turn.
    pub(super) fn most(&self) -> NonZeroU32 {
        self.most
    }

    /// A turn begins: each plugin may ask anew.
    pub(super) fn turn(&self) {
        self.state().asked.clear();
    }

    /// The first of these effects that the person has refused to `plugin` too often.
    pub(super) fn refused<'a>(
        &self,
        plugin: &PluginId,
        mut effects: impl Iterator<Item = &'a Effect>,
    ) -> Option<&'a Effect> {
        let state = self.state();
        let tired = |class| state.refused.get(&(plugin.clone(), class)).is_some_and(|times| *times >= REFUSALS);
        effects.find(|effect| tired(effect.class()))
    }

    /// The person changed their mind about `plugin`.
    pub(super) fn forgive(&self, plugin: &PluginId, class: &'static str) {
        self.state().refused.remove(&(plugin.clone(), class));
    }

    /// Asks, or waits for the answer to an equal question. `plugins` are those that the person is asked for, `subject`
    /// the one whose effects these are. None where one of them has asked too often in this turn.
    pub(super) fn put(
        self: &Arc<Self>,
        approver: &Arc<dyn Approver>,
        ask: Ask,
        plugins: &[&PluginId],
        subject: Option<&PluginId>,
    ) -> Option<Shared<BoxFuture<'static, Approval>>> {
        let mut state = self.state();
        state.open.retain(|(_, open)| open.upgrade().is_some_and(|open| open.peek().is_none()));
        // Whichever call it is about, the answer is the same.
        let equal = |open: &Ask| Ask { call: ask.call.clone(), ..open.clone() } == ask;
        if let Some(open) = state.open.iter().find(|(open, _)| equal(open)).and_then(|(_, open)| open.upgrade()) {
            return Some(open);
        }
        let asks_somebody = approver.beforehand().is_none();
        if asks_somebody
            && plugins.iter().any(|plugin| state.asked.get(plugin).is_some_and(|asked| *asked >= self.most.get()))
        {
            return None;
        }
        for plugin in plugins {
            *state.asked.entry((*plugin).clone()).or_default() += 1;
        }
        let answer = self.clone().answer(approver.clone(), ask.clone(), subject.cloned()).boxed().shared();
        if let Some(weak) = answer.downgrade() {
            state.open.push((ask, weak));
        }
        Some(answer)
    }

    async fn answer(self: Arc<Self>, approver: Arc<dyn Approver>, ask: Ask, subject: Option<PluginId>) -> Approval {
        let classes: BTreeSet<&'static str> = ask.effects.iter().map(Effect::class).collect();
        let approval = approver.ask(ask).await;
        for (plugin, class) in
            subject.into_iter().flat_map(|plugin| classes.iter().map(move |class| (plugin.clone(), *class)))
        {
            let mut state = self.state();
            match approval {
                Approval::AllowOnce | Approval::AllowAlways => {
                    state.refused.remove(&(plugin, class));
                }
                Approval::RejectOnce | Approval::RejectAlways => {
                    *state.refused.entry((plugin, class)).or_default() += 1;
                }
                // Nobody has decided.
                Approval::Cancelled | Approval::Late(_) | Approval::NoChannel | Approval::Malformed => {}
            }
        }
        approval
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
