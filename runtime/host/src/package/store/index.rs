//! What is installed, as the index has it: of each plugin the version that is used, the one before it, and one that waits
//! for approval.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use acp_runtime_agent::capability::{GrantSet, PluginId, Tier};
use serde::{Deserialize, Serialize};

use super::{Digest, StoreError};
use crate::manifest::Manifest;

/// One approved version of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// Its version.
    pub version: semver::Version,
    /// The digest of its file.
    pub digest: Digest,
    /// What was granted: lines of its ceiling, as they are shown to people (`fs.read **`).
    pub granted: Vec<String>,
    /// Where it came from.
    pub source: String,
    /// The bytes of its file. None where an older version of this program has installed it, as in what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The digest of the manifest in the file: what was approved, without reading all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<Digest>,
    /// The hash of the rights that it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Digest>,
    /// The digest of the registry's manifest, where it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Digest>,
    /// The publisher who stands for it; none for one that nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// The fingerprint of the key that has signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
}

/// What is kept of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What is used.
    pub active: Installed,
    /// What was used before, and can be again.
    pub previous: Option<Installed>,
    /// A later version that nobody has approved yet. Its code is never run; nothing of it was granted.
    pub waiting: Option<Installed>,
}

/// Why a version does not take the place of the one that is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It is older.
    Older,
    /// It has the same version and another content.
    OtherContent,
}

impl Installed {
    /// Whether a version may take the place of this one: not an older one unless that is wished for, and not another content
    /// of the same version, whoever has made it.
    pub fn gives_way_to(&self, version: &semver::Version, digest: Digest, may_go_back: bool) -> Result<(), Unfit> {
        match version.cmp(&self.version) {
            Ordering::Equal if digest != self.digest => Err(Unfit::OtherContent),
            Ordering::Less if !may_go_back => Err(Unfit::Older),
            Ordering::Equal | Ordering::Less | Ordering::Greater => Ok(()),
        }
    }

    /// The plugin's rights: those lines of its ceiling that were granted.
    pub fn grants(&self, manifest: &Manifest) -> GrantSet {
        let mut granted = manifest.ceiling();
        granted.retain(|grant| self.granted.contains(&grant.to_string()));
        manifest.grants(Tier::Installed, Some(granted))
    }
}

/// The file `index.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    #[serde(default)]
    pub(super) plugins: BTreeMap<PluginId, Installed>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    previous: BTreeMap<PluginId, Installed>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    waiting: BTreeMap<PluginId, Installed>,
}

impl Index {
    pub(super) fn kept(&self, id: &PluginId) -> Option<Kept> {
        let active = self.plugins.get(id)?.clone();
        Some(Kept { active, previous: self.previous.get(id).cloned(), waiting: self.waiting.get(id).cloned() })
    }

    /// All files that something here names.
    pub(super) fn digests(&self) -> BTreeSet<Digest> {
        let all = self.plugins.values().chain(self.previous.values()).chain(self.waiting.values());
        all.map(|installed| installed.digest).collect()
    }

    /// Whether a version may take the place of what is installed.
    pub(super) fn admit(&self, id: &PluginId, offered: &Installed, may_go_back: bool) -> Result<(), StoreError> {
        let Some(active) = self.plugins.get(id) else { return Ok(()) };
        let (id, version) = (id.clone(), offered.version.clone());
        active.gives_way_to(&offered.version, offered.digest, may_go_back).map_err(|unfit| match unfit {
            Unfit::OtherContent => {
                StoreError::SameVersion { id, version, installed: active.digest, offered: offered.digest }
            }
            Unfit::Older => StoreError::Downgrade { id, installed: active.version.clone(), offered: version },
        })
    }

    /// Uses a version from now on. What was used is kept as the one before; nothing waits any more.
    pub(super) fn activate(&mut self, id: PluginId, installed: Installed) {
        self.waiting.remove(&id);
        if let Some(before) = self.plugins.insert(id.clone(), installed.clone())
            && before.digest != installed.digest
        {
            self.previous.insert(id, before);
        }
    }

    pub(super) fn wait(&mut self, id: PluginId, offered: Installed) {
        self.waiting.insert(id, offered);
    }

    pub(super) fn take_waiting(&mut self, id: &PluginId) -> Option<Installed> {
        self.waiting.remove(id)
    }

    /// Uses the version before; the one that was used can come back in the same way.
    pub(super) fn roll_back(&mut self, id: &PluginId, digest: Digest) -> Result<Installed, StoreError> {
        if !self.plugins.contains_key(id) {
            return Err(StoreError::NotInstalled { id: id.clone() });
        }
        let nothing = || StoreError::NothingBefore { id: id.clone() };
        let previous = self.previous.remove(id).filter(|previous| previous.digest == digest).ok_or_else(nothing)?;
        self.activate(id.clone(), previous.clone());
        Ok(previous)
    }

    pub(super) fn remove(&mut self, id: &PluginId) -> Result<Installed, StoreError> {
        let removed = self.plugins.remove(id).ok_or_else(|| StoreError::NotInstalled { id: id.clone() })?;
        self.previous.remove(id);
        self.waiting.remove(id);
        Ok(removed)
    }
}
