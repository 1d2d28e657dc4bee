//! What a session is held to, which is kept with it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::capability::PluginId;
use crate::policy::{Leeway, Mode};

/// What a session is held to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// How much may happen without asking.
    pub leeway: Leeway,
    /// The plugins that are off.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub off: BTreeSet<PluginId>,
}

impl Bounds {
    /// What both allow.
    #[must_use]
    pub fn narrowed_to(&self, other: &Self) -> Self {
        Self { leeway: self.leeway.narrowed_to(other.leeway), off: &self.off | &other.off }
    }
}

impl From<Mode> for Bounds {
    /// A mode with all plugins.
    fn from(mode: Mode) -> Self {
        Self { leeway: mode.into(), off: BTreeSet::new() }
    }
}
