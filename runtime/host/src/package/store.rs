//! The folder of installed plugins: files named by their digest, and an index of what is installed.
//!
//! ```text
//! plugins/index.toml                     of each plugin: the version that is used, the one before, one that waits
//! plugins/sha256/<hex>/plugin.wasm       and its signature, plugin.wasm.minisig
//! plugins/leases/                        what running processes use
//! plugins/begun.toml                     what the lockfile is about to say, while something is changed
//! plugins/lock                           held by whoever changes something
//! ```
//! Everything is written beside its place and renamed into it, under a lock file, so a stop at any moment leaves the
//! old state or the new one. A file stays as long as the index or a running process names it; what neither does is taken
//! away with the next change. Beside the folder there may be a lockfile, which is written before the index: what becomes of
//! it after a stop between the two is decided in `begun`. Knows nothing about checks: only what `install` has accepted
//! comes here.

mod begun;
mod check;
mod index;
mod lease;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acp_runtime_agent::capability::PluginId;

use self::index::Index;
pub use self::index::{Installed, Kept, Unfit};
pub use self::lease::Lease;
use self::lease::{Leased, leased};
use super::signature::{Minisign, SignatureKind as _};
use super::{Digest, LockfileError, Package, PackageError};
use crate::{full_disk, regular_file, whole_file};

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
    /// The lockfile.
    #[error(transparent)]
    Lockfile(#[from] LockfileError),
    /// No such plugin is installed.
    #[error("`{id}` is not installed")]
    NotInstalled {
        /// The plugin.
        id: PluginId,
    },
    /// Another content under the name of a version that is there.
    #[error("`{id}` {version} is installed already with another content: {installed}, and this is {offered}")]
    SameVersion {
        /// The plugin.
        id: PluginId,
        /// The version that both have.
        version: semver::Version,
        /// What is installed.
        installed: Digest,
        /// What is not.
        offered: Digest,
    },
    /// An older version than the installed one.
    #[error("`{id}` {installed} is installed, and {offered} is older")]
    Downgrade {
        /// The plugin.
        id: PluginId,
        /// What is installed.
        installed: semver::Version,
        /// What is not.
        offered: semver::Version,
    },
    /// There is no version before.
    #[error("no earlier version of `{id}` is kept")]
    NothingBefore {
        /// The plugin.
        id: PluginId,
    },
    /// What waits is not what was approved.
    #[error("`{id}` {version} waits for approval, and its hash is another one: {offered}")]
    OtherTerms {
        /// The plugin.
        id: PluginId,
        /// The version that waits.
        version: semver::Version,
        /// The hash of what it asks for and offers.
        offered: Digest,
    },
    /// No version of it waits for approval.
    #[error("no version of `{id}` waits for approval")]
    NothingWaits {
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
            Self::System { source, .. } if full_disk::explains(source) => {
                "make room on the disk and try again; nothing was changed"
            }
            Self::System { .. } => {
                "see that it is a file or folder that you can read and write, or set `ACP_RUNTIME_HOME` to another folder"
            }
            Self::Index { .. } => "repair the file, or move it away and install the plugins again",
            Self::Lockfile(error) => error.hint(),
            Self::NotInstalled { .. } => "see `acp-runtime plugin list`",
            Self::SameVersion { .. } => {
                "a version has one content: its author must give it another version; if you are its author, work on it with \
                 `acp-runtime plugin dev`, or remove the installed one first, with `acp-runtime plugin remove`"
            }
            Self::Downgrade { .. } => {
                "`acp-runtime plugin rollback` goes back to what you had before; pass `--allow-downgrade` to install an older \
                 version all the same"
            }
            Self::NothingBefore { .. } => "install the version that you want with `--allow-downgrade`",
            Self::OtherTerms { .. } => "look at what is different, and name the hash of what you approve",
            Self::NothingWaits { .. } => "see `acp-runtime plugin outdated`",
        }
    }
}

/// What can be seen of the index without reading it: another value says that something else is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp(Option<(SystemTime, u64, u64)>);

/// The folder of installed plugins. It is made when something is installed first.
#[derive(Debug, Clone)]
pub struct PackageStore {
    folder: PathBuf,
    lockfile: Option<PathBuf>,
    /// Told once where another process is waited for.
    waits: fn(&Path),
}

impl PackageStore {
    /// The store in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let waits = |path: &Path| tracing::info!("waiting for another process that holds `{}`", path.display());
        Self { folder: folder.into(), lockfile: None, waits }
    }

    /// The same, which notes what is installed in that lockfile.
    #[must_use]
    pub fn locking(self, lockfile: PathBuf) -> Self {
        Self { lockfile: Some(lockfile), ..self }
    }

    /// The same, which tells of it where it waits for another process that changes something.
    #[must_use]
    pub fn telling(self, waits: fn(&Path)) -> Self {
        Self { waits, ..self }
    }

    /// What is used, by id.
    pub fn list(&self) -> Result<BTreeMap<PluginId, Installed>, StoreError> {
        Ok(self.read_index()?.plugins)
    }

    /// Looks at the index, and does not read it.
    pub fn stamp(&self) -> Stamp {
        let there = self.index_path().symlink_metadata();
        Stamp(there.ok().and_then(|there| Some((there.modified().ok()?, there.len(), number(&there)))))
    }

    /// All that is kept, by id.
    pub fn kept(&self) -> Result<BTreeMap<PluginId, Kept>, StoreError> {
        let index = self.read_index()?;
        Ok(index.plugins.keys().filter_map(|id| Some((id.clone(), index.kept(id)?))).collect())
    }

    /// What is used, by id, and what keeps its files until it is dropped; without that where nobody can change the folder.
    pub fn lend(&self) -> Result<(BTreeMap<PluginId, Installed>, Option<Lease>), StoreError> {
        // Where there is no index, there is nothing to hold, and no folder is made to hold it.
        let begun = if self.index_path().exists() { Lease::begin(&self.leases()).map(Some) } else { Ok(None) };
        let installed = self.list()?;
        let lease = begun.and_then(|mut lease| {
            lease.iter_mut().try_for_each(|lease| lease.narrow(installed.values().map(|one| one.digest)))?;
            Ok(lease)
        });
        let lease = lease.inspect_err(|error| tracing::debug!("installed plugins are not held: {error}"));
        Ok((installed, lease.ok().flatten()))
    }

    /// The file of an installed plugin. Its manifest must be the one that was approved; what is later compiled must have the
    /// digest of the index.
    pub fn package(&self, installed: &Installed) -> Result<Package, PackageError> {
        let package = Package::read_pinned(self.place(installed.digest), installed.digest)?;
        if installed.section.is_some_and(|section| section != package.section()) {
            return Err(PackageError::NotInstalled { path: package.path().to_owned() });
        }
        Ok(package)
    }

    /// The signature that an installed plugin came with, if it did.
    pub fn signature(&self, installed: &Installed) -> Result<Option<String>, StoreError> {
        let path = signature_of(&self.place(installed.digest));
        match regular_file::read_text(&path, SIGNATURE) {
            Ok(signature) => Ok(Some(signature)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::System { path, source }),
        }
    }

    /// Keeps a checked plugin and uses it from now on, in place of another version of it. An older one, or another content
    /// under the version that is installed, is refused.
    pub(crate) fn put(
        &self,
        id: &PluginId,
        installed: Installed,
        content: Content<'_>,
        may_go_back: bool,
    ) -> Result<(), StoreError> {
        self.change(id, |index| {
            index.admit(id, &installed, may_go_back)?;
            self.keep(installed.digest, content)?;
            index.activate(id.clone(), installed);
            Ok(())
        })
    }

    /// Keeps a checked version that waits for approval. What is used stays.
    pub(crate) fn put_waiting(
        &self,
        id: &PluginId,
        offered: Installed,
        content: Content<'_>,
        may_go_back: bool,
    ) -> Result<(), StoreError> {
        self.change(id, |index| {
            if !index.plugins.contains_key(id) {
                return Err(StoreError::NotInstalled { id: id.clone() });
            }
            index.admit(id, &offered, may_go_back)?;
            self.keep(offered.digest, content)?;
            index.wait(id.clone(), offered);
            Ok(())
        })
    }

    /// Uses the version that waits, if it is that one, with these rights.
    pub fn approve(&self, id: &PluginId, digest: Digest, granted: Vec<String>) -> Result<Installed, StoreError> {
        self.change(id, |index| {
            let nothing = || StoreError::NothingWaits { id: id.clone() };
            let waiting = index.take_waiting(id).filter(|waiting| waiting.digest == digest).ok_or_else(nothing)?;
            let approved = Installed { granted, ..waiting };
            index.activate(id.clone(), approved.clone());
            Ok(approved)
        })
    }

    /// Uses the version before, if it is that one, with the rights that it had.
    pub fn roll_back(&self, id: &PluginId, digest: Digest) -> Result<Installed, StoreError> {
        self.change(id, |index| index.roll_back(id, digest))
    }

    /// Does something while no other process changes the folder: what is noted elsewhere by all of them.
    pub fn alone<T>(&self, work: impl FnOnce() -> T) -> Result<T, StoreError> {
        let _lock = self.lock()?;
        Ok(work())
    }

    /// Removes a plugin and its files; those that a running process uses go later.
    pub fn remove(&self, id: &PluginId) -> Result<Installed, StoreError> {
        self.change(id, |index| index.remove(id))
    }

    /// Changes the index under the lock, and takes away what nobody uses any more: also where the change fails, since it
    /// may have failed for want of room.
    fn change<T>(
        &self,
        id: &PluginId,
        change: impl FnOnce(&mut Index) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _lock = self.lock()?;
        let mut index = self.read_index()?;
        self.settle_for_another(&index)?;
        let changed = change(&mut index).and_then(|done| {
            self.note(id, &index)?;
            self.write_index(&index)?;
            Ok(done)
        });
        if let Err(error) = self.read_index().and_then(|index| self.settle(&index)) {
            tracing::warn!("the lockfile is put right by the next command that reads it: {error}");
        }
        if let Err(error) = self.read_index().and_then(|index| self.sweep(&index)) {
            tracing::warn!("plugins that are not used any more are not removed: {error}");
        }
        changed
    }

    /// Writes a plugin's file, unless it is there as it should be, and its signature.
    fn keep(&self, digest: Digest, content: Content<'_>) -> Result<(), StoreError> {
        let place = self.place(digest);
        let folder = place.parent().unwrap_or(&self.folder);
        let is_there =
            regular_file::read(&place, content.bytes.len() as u64).is_ok_and(|there| Digest::of(&there) == digest);
        if !is_there {
            regular_file::private_folder(folder).map_err(at(folder))?;
            whole_file::put(&place, content.bytes).map_err(at(&place))?;
        }
        let Some(signature) = content.signature else { return Ok(()) };
        let place = signature_of(&place);
        whole_file::put(&place, signature.as_bytes()).map_err(at(&place))
    }

    /// Removes the files that nothing in the index and no running process names, and what was not written to its end.
    fn sweep(&self, index: &Index) -> Result<(), StoreError> {
        let leases = self.leases();
        let mut named = index.digests();
        match leased(&leases).map_err(at(&leases))? {
            Leased::Everything => return Ok(()),
            Leased::These(held) => named.extend(held),
        }
        let named: Vec<String> = named.iter().map(Digest::hex).collect();
        for (path, name) in entries(&self.files())? {
            if named.contains(&name) {
                remove_unfinished(&path)?;
            } else if name.len() == 64 {
                std::fs::remove_dir_all(&path).map_err(at(&path))?;
            }
        }
        remove_unfinished(&self.folder)
    }

    fn files(&self) -> PathBuf {
        self.folder.join("sha256")
    }

    fn leases(&self) -> PathBuf {
        self.folder.join("leases")
    }

    fn place(&self, digest: Digest) -> PathBuf {
        self.files().join(digest.hex()).join("plugin.wasm")
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
        whole_file::put(&path, text.as_bytes()).map_err(at(&path))
    }

    /// Waits until no other process changes the folder, for a while. The lock ends with the file.
    fn lock(&self) -> Result<File, StoreError> {
        match self.lock_now() {
            Err(StoreError::System { path, source }) if source.kind() == ErrorKind::WouldBlock => {
                (self.waits)(&path);
                regular_file::lock(&path, LOCK).map_err(at(&path))
            }
            locked => locked,
        }
    }

    /// The lock, where no other process has it.
    fn lock_now(&self) -> Result<File, StoreError> {
        regular_file::private_folder(&self.folder).map_err(at(&self.folder))?;
        self.close_to_others()?;
        let path = self.folder.join("lock");
        regular_file::lock(&path, Duration::ZERO).map_err(at(&path))
    }

    /// Earlier versions of this program have left the folders open to be looked into.
    #[cfg(unix)]
    fn close_to_others(&self) -> Result<(), StoreError> {
        use std::os::unix::fs::PermissionsExt as _;
        for folder in [&self.folder, &self.files()] {
            let open = |there: std::fs::Metadata| there.permissions().mode() & 0o077 != 0;
            if folder.metadata().is_ok_and(open) {
                std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(at(folder))?;
            }
        }
        Ok(())
    }

    /// Elsewhere the folder of the person's own data is private by itself.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as where it does something")]
    fn close_to_others(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// What a plugin is kept as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    /// Its file.
    pub(crate) bytes: &'a [u8],
    /// The signature that it came with.
    pub(crate) signature: Option<&'a str>,
}

/// Where the signature of a plugin's file is.
fn signature_of(place: &Path) -> PathBuf {
    Minisign.beside(place)
}

/// What lies in a folder, with its name; nothing where there is no folder.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>, StoreError> {
    let read = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(at(folder))?,
    };
    let named = |entry: std::fs::DirEntry| (entry.path(), entry.file_name().to_string_lossy().into_owned());
    read.map(|entry| entry.map(named).map_err(at(folder))).collect()
}

/// Removes what a process that was stopped has begun to write.
fn remove_unfinished(folder: &Path) -> Result<(), StoreError> {
    for (path, name) in entries(folder)? {
        // Earlier versions of this program named them in the second way.
        if whole_file::is_unfinished(&name) || name.starts_with(".new-") {
            std::fs::remove_file(&path).map_err(at(&path))?;
        }
    }
    Ok(())
}

/// What tells a file from the one that stood in its place before.
#[cfg(unix)]
fn number(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

#[cfg(not(unix))]
fn number(_file: &std::fs::Metadata) -> u64 {
    0
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::System { path, source }
}
