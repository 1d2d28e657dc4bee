//! The folder of installed plugins: files named by their digest, and an index of what is installed.
//!
//! ```text
//! plugins/index.toml                     id, version, digest, grants, source of each
//! plugins/sha256/<hex>/plugin.wasm       and its signature, plugin.wasm.minisig
//! ```
//! Everything is written beside its place and renamed into it, under a lock file, so a stop at any moment leaves the
//! old state or the new one. Knows nothing about checks: only what `install` has accepted comes here.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_runtime_agent::capability::{GrantSet, PluginId, Tier};
use serde::{Deserialize, Serialize};

use super::signature::{Minisign, SignatureKind as _};
use super::{Digest, Package, PackageError};
use crate::manifest::Manifest;
use crate::regular_file;

/// Bytes that the index may have: some ten thousand plugins.
const MOST: u64 = 8 << 20;
/// Bytes of a signature.
const SIGNATURE: u64 = 8 << 10;
/// How long another process may hold the folder: the biggest plugin is written in less.
const LOCK: Duration = Duration::from_secs(20);

/// Why the folder could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    System {
        /// Which.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The index is not what this version writes.
    #[error("`{}` cannot be read: {problem}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No such plugin is installed.
    #[error("`{id}` is not installed")]
    NotInstalled {
        /// The plugin.
        id: PluginId,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::System { source, .. } if source.kind() == ErrorKind::WouldBlock => {
                "wait until it is done, or end it, and try again"
            }
            Self::System { .. } => {
                "see that it is a file or folder that you can read and write, or set `ACP_RUNTIME_HOME` to another folder"
            }
            Self::Index { .. } => "repair the file, or move it away and install the plugins again",
            Self::NotInstalled { .. } => "see `acp-runtime plugin list`",
        }
    }
}

/// One installed plugin, as the index has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// Its version.
    pub version: semver::Version,
    /// The digest of its file.
    pub digest: Digest,
    /// What was granted: lines of its ceiling, as they are shown to people (`fs.read **`).
    pub granted: Vec<String>,
    /// Where it came from: a path, or a reference with the digest that it meant.
    pub source: String,
    /// The digest of the OCI manifest that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Digest>,
    /// The publisher who stands for it; none for one that nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// The fingerprint of the key that has signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
}

impl Installed {
    /// The plugin's rights: those lines of its ceiling that were granted.
    pub fn grants(&self, manifest: &Manifest) -> GrantSet {
        let mut granted = manifest.ceiling();
        granted.retain(|grant| self.granted.contains(&grant.to_string()));
        manifest.grants(Tier::Installed, Some(granted))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    #[serde(default)]
    plugins: BTreeMap<PluginId, Installed>,
}

/// The folder of installed plugins. It is made when something is installed first.
#[derive(Debug, Clone)]
pub struct PackageStore {
    folder: PathBuf,
}

impl PackageStore {
    /// The store in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// What is installed, by id.
    pub fn list(&self) -> Result<BTreeMap<PluginId, Installed>, StoreError> {
        Ok(self.read_index()?.plugins)
    }

    /// The file of an installed plugin; what is later compiled must have the digest of the index.
    pub fn package(&self, installed: &Installed) -> Result<Package, PackageError> {
        Package::read_pinned(self.place(installed.digest), installed.digest)
    }

    /// The signature that an installed plugin came with, if it did.
    pub fn signature(&self, installed: &Installed) -> Result<Option<String>, StoreError> {
        let path = Minisign.beside(&self.place(installed.digest));
        match regular_file::read_text(&path, SIGNATURE) {
            Ok(signature) => Ok(Some(signature)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::System { path, source }),
        }
    }

    /// Keeps a checked plugin, in place of another version of it.
    pub(crate) fn put(
        &self,
        id: PluginId,
        installed: Installed,
        bytes: &[u8],
        signature: Option<&str>,
    ) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let place = self.place(installed.digest);
        let folder = place.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder).map_err(at(folder))?;
        write_durably(&place, bytes)?;
        if let Some(signature) = signature {
            write_durably(&Minisign.beside(&place), signature.as_bytes())?;
        }
        let mut index = self.read_index()?;
        let before = index.plugins.insert(id, installed);
        self.write_index(&index)?;
        if let Some(before) = before {
            self.sweep(&index, before.digest)?;
        }
        Ok(())
    }

    /// Removes a plugin and its file.
    pub fn remove(&self, id: &PluginId) -> Result<Installed, StoreError> {
        let _lock = self.lock()?;
        let mut index = self.read_index()?;
        let removed = index.plugins.remove(id).ok_or_else(|| StoreError::NotInstalled { id: id.clone() })?;
        self.write_index(&index)?;
        self.sweep(&index, removed.digest)?;
        Ok(removed)
    }

    /// Removes a file that nothing in the index names any more.
    fn sweep(&self, index: &Index, digest: Digest) -> Result<(), StoreError> {
        if index.plugins.values().any(|installed| installed.digest == digest) {
            return Ok(());
        }
        let place = self.place(digest);
        let folder = place.parent().unwrap_or(&place);
        std::fs::remove_dir_all(folder).map_err(at(folder))
    }

    fn place(&self, digest: Digest) -> PathBuf {
        self.folder.join("sha256").join(digest.hex()).join("plugin.wasm")
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join("index.toml")
    }

    fn read_index(&self) -> Result<Index, StoreError> {
        let path = self.index_path();
        let opened = regular_file::open_own(&path, OpenOptions::new().read(true));
        match opened.and_then(|file| regular_file::text(file, MOST)) {
            Ok(text) => toml::from_str(&text).map_err(|error| StoreError::Index { path, problem: error.to_string() }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Index::default()),
            Err(source) => Err(StoreError::System { path, source }),
        }
    }

    fn write_index(&self, index: &Index) -> Result<(), StoreError> {
        let path = self.index_path();
        let text = toml::to_string(index)
            .map_err(|error| StoreError::Index { path: path.clone(), problem: error.to_string() })?;
        write_durably(&path, text.as_bytes())
    }

    /// Waits until no other process changes the folder, for a while. The lock ends with the file.
    fn lock(&self) -> Result<File, StoreError> {
        std::fs::create_dir_all(&self.folder).map_err(at(&self.folder))?;
        let path = self.folder.join("lock");
        regular_file::lock(&path, LOCK).map_err(at(&path))
    }
}

/// Writes a file beside its place and renames it: after a stop at any moment there is the old one or the new one.
fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(path);
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).map_err(at(folder))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(at(path))?;
    file.persist(path).map_err(|error| at(path)(error.error))?;
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::System { path, source }
}
