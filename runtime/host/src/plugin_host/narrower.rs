//! A plugin in sessions that allow it less: its limits are narrower, and all else is the same plugin.
//!
//! Sessions that narrow alike, such as those of one project, share what has an end for all of them together: the room of
//! its storage and folders, its requests, its turns. Turns count for the plugin as a whole, too.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Plugin;
use crate::limits::{LimitTable, Limits};

/// So many at the same time, and further ones wait.
#[derive(Clone)]
pub(super) struct Turns {
    own: Arc<Semaphore>,
    /// Those that it is a part of.
    whole: Option<Arc<Semaphore>>,
}

/// The right to go on, until it is dropped.
pub(super) struct Turn {
    _own: Option<OwnedSemaphorePermit>,
    _whole: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// Those of a plugin's calls, beside all that there are.
    pub(super) fn of_calls(limits: &Limits, whole: Option<&Self>) -> Self {
        Self::beside(whole, limits.traffic.calls)
    }

    /// So many, of those of `whole` where there are some.
    pub(super) fn beside(whole: Option<&Self>, most: usize) -> Self {
        whole.map_or_else(|| Self::new(most), |whole| whole.at_most(most))
    }

    fn new(most: usize) -> Self {
        Self { own: Arc::new(Semaphore::new(most)), whole: None }
    }

    /// So many of these.
    fn at_most(&self, most: usize) -> Self {
        Self { own: Arc::new(Semaphore::new(most)), whole: Some(self.own.clone()) }
    }

    /// Waits for one's turn. The semaphores are never closed.
    pub(super) async fn wait(&self) -> Turn {
        let own = self.own.clone().acquire_owned().await.ok();
        let whole = match &self.whole {
            Some(whole) => whole.clone().acquire_owned().await.ok(),
            None => None,
        };
        Turn { _own: own, _whole: whole }
    }
}

/// The narrower ones of a plugin that sessions have.
#[derive(Default)]
pub(super) struct Narrower(Mutex<Vec<(LimitTable, Weak<Plugin>)>>);

impl Plugin {
    /// The plugin as it is where `limits` are not to be passed.
    pub(super) fn narrowed(self: &Arc<Self>, limits: &LimitTable) -> Arc<Self> {
        if limits.is_empty() {
            return self.clone();
        }
        let mut known = self.narrower.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(_, plugin)| plugin.strong_count() > 0);
        if let Some(plugin) = known.iter().find_map(|(table, plugin)| plugin.upgrade().filter(|_| table == limits)) {
            return plugin;
        }
        let plugin = Arc::new(self.with_limits(limits));
        known.push((limits.clone(), Arc::downgrade(&plugin)));
        plugin
    }

    fn with_limits(&self, table: &LimitTable) -> Self {
        let limits = Arc::new(self.limits.narrowed(table));
        Self {
            workshop: self.workshop.clone(),
            package: self.package.clone(),
            surroundings: self.surroundings.clone(),
            desks: self.surroundings.desks_with(self.package.origin(), self.id(), &limits, self.desks.secrets.clone()),
            calls: Turns::of_calls(&limits, Some(&self.calls)),
            hooks: self.hooks.narrowed(&limits),
            limits,
            specs: self.specs.clone(),
            record: self.record.clone(),
            compiled: self.compiled.clone(),
            narrower: Narrower::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_part_waits_for_itself_and_for_the_whole() {
        let whole = Turns::new(3);
        let (one, other) = (whole.at_most(2), whole.at_most(2));
        let turn = |turns: &Turns| turns.wait().now_or_never();
        let first = turn(&one).unwrap();
        let second = turn(&one).unwrap();
        assert!(turn(&one).is_none(), "it has two");
        let third = turn(&other).unwrap();
        assert!(turn(&other).is_none() && turn(&whole).is_none(), "all three are taken");
        drop(first);
        assert!(turn(&other).is_some());
        drop((second, third));
    }
}
