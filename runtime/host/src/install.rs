//! What must hold before a plugin is kept: it is a valid component, its manifest is sound, it compiles in time, it
//! imports only what there is, and it offers what its manifest says.
//!
//! Nothing is kept unless all of it holds. What was decided about the rights of the version that was there before can be
//! asked for; whoever installs decides what is granted. Knows nothing about where plugins are published. Tested in
//! `tests/it/packages.rs`.
#![expect(clippy::disallowed_methods, reason = "this room looks into the folder that it is given")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_runtime_agent::capability::Grant;
use acp_runtime_agent::noun::counted;

use crate::build::{check_hooks, check_schemas};
use crate::manifest::Manifest;
use crate::package::{Digest, Installed, Package, PackageError, PackageStore, StoreError};
use crate::plugin_host::{InspectError, PluginHost};

/// Why a plugin is not installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A folder without exactly one `.wasm` file.
    #[error("`{}` has {}", folder.display(), counted(*.count, "`.wasm` file"))]
    NotOnePlugin {
        /// The folder.
        folder: PathBuf,
        /// How many there are.
        count: usize,
    },
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
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Package(error) => error.hint(),
            Self::NotOnePlugin { .. } => "name the plugin's `.wasm` file itself",
            Self::Invalid { .. } => "ask the plugin's author for a build for this version",
            Self::Inspect { source, .. } => source.hint(),
            Self::Differs { .. } => "build it again with `acp-runtime plugin build`",
        }
    }
}

/// A plugin that may be installed.
#[derive(Debug)]
pub struct Candidate {
    package: Package,
    bytes: Vec<u8>,
    digest: Digest,
}

impl Candidate {
    /// Checks the plugin at `path`: a `.wasm` file, or a folder with one in it. Its code is compiled, and run only to
    /// ask what it offers.
    pub async fn check(host: &Arc<PluginHost>, path: &Path) -> Result<Self, InstallError> {
        let package = Package::read(only_component(path)?)?;
        let (bytes, digest) = package.bytes()?;
        let id = package.manifest().id.to_string();
        let invalid = |problem: String| InstallError::Invalid { id: id.clone(), problem };
        check_schemas(package.manifest()).map_err(invalid)?;
        check_hooks(package.manifest()).map_err(invalid)?;
        let offered = host.inspect(&package.manifest().id, bytes.clone()).await;
        let offered = offered.map_err(|source| InstallError::Inspect { id: id.clone(), source })?;
        match package.manifest().inventory.difference(&offered) {
            Some(what) => Err(InstallError::Differs { id, what }),
            None => Ok(Self { package, bytes, digest }),
        }
    }

    /// What it says of itself: what the person is asked about.
    pub fn manifest(&self) -> &Manifest {
        self.package.manifest()
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

    /// Keeps it with the rights in `granted`. `source` says where it came from.
    pub fn install(self, store: &PackageStore, granted: &[Grant], source: &str) -> Result<Installed, StoreError> {
        let installed = Installed {
            version: self.manifest().version.clone(),
            digest: self.digest,
            granted: granted.iter().map(ToString::to_string).collect(),
            source: source.to_owned(),
        };
        store.put(self.manifest().id.clone(), installed.clone(), &self.bytes)?;
        Ok(installed)
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

fn only_component(path: &Path) -> Result<PathBuf, InstallError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let read = |source| PackageError::Read { path: path.to_owned(), source };
    let entries = std::fs::read_dir(path).map_err(read)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(read));
    let mut components: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    components.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    match (components.len(), components.pop()) {
        (1, Some(only)) => Ok(only),
        (count, _) => Err(InstallError::NotOnePlugin { folder: path.to_owned(), count }),
    }
}
