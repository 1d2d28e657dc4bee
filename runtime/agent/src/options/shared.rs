//! The values that parts of a session share, each read at the moment of use.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capability::PluginId;
use crate::model::{Model, ReasoningEffort};
use crate::policy::Leeway;

/// How much the session may do without asking.
#[derive(Debug, Clone, Default)]
pub struct SharedLeeway(Arc<Mutex<Leeway>>);

impl SharedLeeway {
    /// Starts in a mode, or with single flags of it.
    pub fn new(leeway: impl Into<Leeway>) -> Self {
        Self(Arc::new(Mutex::new(leeway.into())))
    }

    /// What holds now.
    pub fn get(&self) -> Leeway {
        *lock(&self.0)
    }

    /// Changes it; holds from the next decision on.
    pub fn set(&self, leeway: impl Into<Leeway>) {
        *lock(&self.0) = leeway.into();
    }
}

type Seated = (Arc<dyn Model>, Option<ReasoningEffort>);

/// The model that a turn asks, and how much it should think; none leaves that to its settings. A turn looks once, when
/// it begins.
#[derive(Clone)]
pub struct ModelSeat(Arc<Mutex<Seated>>);

impl ModelSeat {
    /// Starts with this model.
    pub fn new(model: Arc<dyn Model>, effort: Option<ReasoningEffort>) -> Self {
        Self(Arc::new(Mutex::new((model, effort))))
    }

    /// For the turn that begins now.
    pub fn get(&self) -> (Arc<dyn Model>, Option<ReasoningEffort>) {
        lock(&self.0).clone()
    }

    /// Holds from the next turn on.
    pub fn set_model(&self, model: Arc<dyn Model>) {
        lock(&self.0).0 = model;
    }

    /// Holds from the next turn on.
    pub fn set_effort(&self, effort: Option<ReasoningEffort>) {
        lock(&self.0).1 = effort;
    }
}

/// The plugins that are switched off. What belongs to one is not found in any catalogue.
#[derive(Debug, Clone, Default)]
pub struct Switches(Arc<Mutex<BTreeSet<PluginId>>>);

impl Switches {
    /// Everything is on but these.
    pub fn new(off: BTreeSet<PluginId>) -> Self {
        Self(Arc::new(Mutex::new(off)))
    }

    /// The plugins that are off.
    pub fn off(&self) -> BTreeSet<PluginId> {
        lock(&self.0).clone()
    }

    /// Whether what belongs to `plugin` is there; what belongs to none always is.
    pub fn lets(&self, plugin: Option<&PluginId>) -> bool {
        plugin.is_none_or(|plugin| !lock(&self.0).contains(plugin))
    }

    /// Switches a plugin on or off; holds at once.
    pub fn set(&self, plugin: &PluginId, on: bool) {
        let mut off = lock(&self.0);
        if on {
            off.remove(plugin);
        } else {
            off.insert(plugin.clone());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
