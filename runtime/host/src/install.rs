//! What must hold before a plugin is kept: it is a valid component, its manifest is sound, it compiles in time, it
//! imports only what there is, and it offers what its manifest says.
//!
//! Nothing is kept unless all of it holds. What was decided about the rights of the version that was there before can be
//! asked for; whoever installs decides what is granted. Knows nothing about where plugins are published. Tested in
//! `tests/it/packages.rs`.

use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::Grant;

use crate::build::{check_hooks, check_schemas};
use crate::difference::{Difference, includes};
use crate::manifest::{Capability, Manifest};
use crate::package::{
    Content, Digest, Installed, LocalSource, Package, PackageError, PackageStore, SourceError, StoreError,
    capability_hash, manifest_of, section_digest,
};
use crate::plugin_host::{InspectError, PluginHost};

/// Why a plugin is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// Where the file comes from.
    #[error(transparent)]
    Source(SourceError),
    /// The component is broken, or its schemas are.
    #[error("plugin `{id}` is not valid: {problem}")]
    Invalid {
        /// The plugin.
        id: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The component cannot be run.
    #[error("plugin `{id}` cannot be run: {source}")]
    Inspect {
        /// The plugin.
        id: String,
        /// Why.
        source: InspectError,
    },
    /// The component offers something else than its manifest says.
    #[error("plugin `{id}`: {what} is not the same in the manifest and in the component")]
    Differs {
        /// The plugin.
        id: String,
        /// Such as ``tool `add` ``.
        what: String,
    },
}

impl InstallError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::Package(error) => error.hint(),
            Self::Source(error) => return error.hint(),
            Self::Invalid { .. } => "ask the plugin's author for a build for this version",
            Self::Inspect { source, .. } => source.hint(),
            Self::Differs { .. } => "build it again with `acp-runtime plugin build`",
        };
        hint.to_owned()
    }
}

impl From<SourceError> for InstallError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Package(error) => Self::Package(error),
            error => Self::Source(error),
        }
    }
}

/// Where a plugin came from, and who stands for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// A path, or a reference with the digest that it meant.
    pub source: String,
    /// The digest of the OCI manifest that led to it.
    pub manifest: Option<Digest>,
    /// The publisher who stands for it.
    pub publisher: Option<String>,
    /// The fingerprint of the key that has signed it.
    pub key: Option<Digest>,
    /// The signature.
    pub signature: Option<String>,
}

impl From<&str> for Provenance {
    /// From there, and nobody stands for it.
    fn from(source: &str) -> Self {
        Self { source: source.to_owned(), ..Self::default() }
    }
}

/// A plugin that may be installed.
#[derive(Debug)]
pub struct Candidate {
    manifest: Manifest,
    bytes: Vec<u8>,
    digest: Digest,
    /// Of its manifest, as it stands in the file.
    section: Digest,
}

impl Candidate {
    /// Checks the plugin at `path`, which is what a package can be on this machine.
    pub async fn check(host: &Arc<PluginHost>, path: &Path) -> Result<Self, InstallError> {
        let fetched = LocalSource::read(path)?;
        Self::of(host, path, fetched.bytes).await
    }

    /// Checks a plugin that came from `place`. Its code is compiled, and run only to ask what it offers.
    pub async fn of(host: &Arc<PluginHost>, place: &Path, bytes: Vec<u8>) -> Result<Self, InstallError> {
        let manifest = manifest_of(place, &bytes)?;
        let (id, digest) = (manifest.id.to_string(), Digest::of(&bytes));
        let section = section_digest(place, &bytes)?;
        let invalid = |problem: String| InstallError::Invalid { id: id.clone(), problem };
        check_schemas(&manifest).map_err(invalid)?;
        check_hooks(&manifest).map_err(invalid)?;
        let offered = host.inspect(&manifest.id, bytes.clone()).await;
        let offered = offered.map_err(|source| InstallError::Inspect { id: id.clone(), source })?;
        match manifest.inventory.difference(&offered) {
            Some(what) => Err(InstallError::Differs { id, what }),
            None => Ok(Self { manifest, bytes, digest, section }),
        }
    }

    /// What it says of itself: what the person is asked about.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The digest of its file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The plugin of the same id whose place it would take.
    pub fn predecessor(&self, store: &PackageStore) -> Result<Option<Predecessor>, StoreError> {
        let installed = store.list()?.remove(&self.manifest().id);
        Ok(installed.map(|installed| Predecessor::of(store, installed)))
    }

    /// Keeps it with the rights in `granted`, and uses it from now on. An older version than the installed one is refused
    /// unless it `may_go_back`.
    pub fn install(
        self,
        store: &PackageStore,
        granted: &[Grant],
        from: impl Into<Provenance>,
        may_go_back: bool,
    ) -> Result<Installed, StoreError> {
        let from = from.into();
        let installed = self.described(granted, &from);
        store.put(&self.manifest().id, installed.clone(), self.content(&from), may_go_back)?;
        Ok(installed)
    }

    /// Keeps it beside the version that is used, until somebody approves it.
    pub fn hold(
        self,
        store: &PackageStore,
        from: impl Into<Provenance>,
        may_go_back: bool,
    ) -> Result<Installed, StoreError> {
        let from = from.into();
        let offered = self.described(&[], &from);
        store.put_waiting(&self.manifest().id, offered.clone(), self.content(&from), may_go_back)?;
        Ok(offered)
    }

    fn content<'a>(&'a self, from: &'a Provenance) -> Content<'a> {
        Content { bytes: &self.bytes, signature: from.signature.as_deref() }
    }

    fn described(&self, granted: &[Grant], from: &Provenance) -> Installed {
        Installed {
            version: self.manifest().version.clone(),
            digest: self.digest,
            granted: granted.iter().map(ToString::to_string).collect(),
            source: from.source.clone(),
            size: Some(self.bytes.len() as u64),
            section: Some(self.section),
            capabilities: Some(capability_hash(self.manifest())),
            manifest: from.manifest,
            publisher: from.publisher.clone(),
            key: from.key,
        }
    }
}

/// A plugin that is installed, as one that would take its place sees it.
#[derive(Debug)]
pub struct Predecessor {
    installed: Installed,
    /// None where its file cannot be read any more. It still has the rights that it was granted.
    manifest: Option<Manifest>,
}

impl Predecessor {
    /// What is installed in that store.
    pub fn of(store: &PackageStore, installed: Installed) -> Self {
        let manifest = store.package(&installed).ok().map(Package::into_manifest);
        Self { installed, manifest }
    }

    /// What is installed.
    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// Its version.
    pub fn version(&self) -> &semver::Version {
        &self.installed.version
    }

    /// What was decided about that right, as a part of a right that was asked for; none where it was not.
    pub fn decided(&self, right: &Capability) -> Option<bool> {
        let Some(manifest) = &self.manifest else {
            return self.installed.granted.contains(&right.grant.to_string()).then_some(true);
        };
        let asked = &manifest.capabilities;
        let granted = asked.iter().filter(|asked| self.installed.granted.contains(&asked.grant.to_string()));
        let granted: Vec<Capability> = granted.cloned().collect();
        if includes(&granted, right) { Some(true) } else { includes(asked, right).then_some(false) }
    }

    /// The rights of another version: what was decided holds, and what was not is granted or not.
    pub fn carried(&self, manifest: &Manifest, undecided: bool) -> Vec<Grant> {
        let granted = manifest.capabilities.iter().filter(|right| self.decided(right).unwrap_or(undecided));
        granted.map(|right| right.grant.clone()).collect()
    }

    /// What another version asks for and offers beside it; none where that cannot be told any more.
    pub fn difference(&self, manifest: &Manifest) -> Option<Difference> {
        self.manifest.as_ref().map(|before| Difference::between(before, manifest))
    }

    /// What it asks for and `manifest` does not.
    pub fn no_longer_asked(&self, manifest: &Manifest) -> impl Iterator<Item = String> {
        let asked = match &self.manifest {
            Some(before) => before.ceiling().iter().map(ToString::to_string).collect(),
            None => self.installed.granted.clone(),
        };
        let ceiling: Vec<String> = manifest.ceiling().iter().map(ToString::to_string).collect();
        asked.into_iter().filter(move |right| !ceiling.contains(right))
    }
}
