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
use crate::manifest::Manifest;
use crate::package::{
    Digest, Installed, LocalSource, PackageError, PackageStore, SourceError, StoreError, manifest_of,
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

/// A plugin that may be installed.
#[derive(Debug)]
pub struct Candidate {
    manifest: Manifest,
    bytes: Vec<u8>,
    digest: Digest,
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
        let invalid = |problem: String| InstallError::Invalid { id: id.clone(), problem };
        check_schemas(&manifest).map_err(invalid)?;
        check_hooks(&manifest).map_err(invalid)?;
        let offered = host.inspect(&manifest.id, bytes.clone()).await;
        let offered = offered.map_err(|source| InstallError::Inspect { id: id.clone(), source })?;
        match manifest.inventory.difference(&offered) {
            Some(what) => Err(InstallError::Differs { id, what }),
            None => Ok(Self { manifest, bytes, digest }),
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
        let Some(installed) = store.list()?.remove(&self.manifest().id) else { return Ok(None) };
        // What cannot be read any more still has the rights that it was granted.
        let asked = match store.package(&installed) {
            Ok(package) => package.manifest().ceiling().iter().map(ToString::to_string).collect(),
            Err(_) => installed.granted.clone(),
        };
        Ok(Some(Predecessor { installed, asked }))
    }

    /// Keeps it with the rights in `granted`.
    pub fn install(
        self,
        store: &PackageStore,
        granted: &[Grant],
        from: impl Into<Provenance>,
    ) -> Result<Installed, StoreError> {
        let Provenance { source, manifest, publisher, key, signature } = from.into();
        let installed = Installed {
            version: self.manifest.version.clone(),
            digest: self.digest,
            granted: granted.iter().map(ToString::to_string).collect(),
            source,
            manifest,
            publisher,
            key,
        };
        store.put(self.manifest.id.clone(), installed.clone(), &self.bytes, signature.as_deref())?;
        Ok(installed)
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

/// A plugin that is installed, as one that would take its place sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predecessor {
    installed: Installed,
    /// The rights that it asks for, as people are shown them.
    asked: Vec<String>,
}

impl Predecessor {
    /// Its version.
    pub fn version(&self) -> &semver::Version {
        &self.installed.version
    }

    /// What is installed.
    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// Whether that right was granted to it; none where it did not ask for it.
    pub fn decided(&self, right: &Grant) -> Option<bool> {
        let right = right.to_string();
        self.asked.contains(&right).then(|| self.installed.granted.contains(&right))
    }

    /// What it asks for and `manifest` does not.
    pub fn no_longer_asked<'a>(&'a self, manifest: &Manifest) -> impl Iterator<Item = &'a str> {
        let ceiling: Vec<String> = manifest.ceiling().iter().map(ToString::to_string).collect();
        self.asked.iter().filter(move |right| !ceiling.contains(right)).map(String::as_str)
    }
}
