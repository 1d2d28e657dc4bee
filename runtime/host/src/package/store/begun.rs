//! Which of the index and the lockfile is right, where a process was stopped between the two: the index. It says what is
//! used, and the lockfile says the same again.
//!
//! Two files cannot be replaced at once. So it is noted beforehand, in `begun.toml`, what the lockfile is about to say of a
//! plugin, and forgotten once the index says so, too. Whoever finds such a note, and has the lock, finds a process that
//! was stopped. Where the lockfile says what was noted, it is made to say what the index has; whatever else it says
//! was put there by somebody since, and stays.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::PathBuf;

use acp_runtime_agent::capability::PluginId;
use serde::{Deserialize, Serialize};

use super::index::Index;
use super::{PackageStore, StoreError, at};
use crate::package::lockfile::Locked;
use crate::package::{Installed, PluginLock};
use crate::{regular_file, whole_file};

/// Bytes that the note may have.
const MOST: u64 = 64 << 10;

/// What the lockfile is about to say of a plugin.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begun {
    id: PluginId,
    /// None where it is about to say nothing of it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locked: Option<Locked>,
}

impl Begun {
    /// Makes the lock say what is `installed` where it says what was begun. Says whether that is something else.
    fn settle(&self, lock: &mut PluginLock, installed: Option<&Installed>) -> bool {
        lock.get(&self.id) == self.locked.as_ref() && lock.set(&self.id, installed)
    }
}

impl PackageStore {
    /// Notes in the lockfile what is about to be used. Who calls this has the lock, writes the index, and settles.
    pub(super) fn note(&self, id: &PluginId, index: &Index) -> Result<(), StoreError> {
        let Some(path) = &self.lockfile else { return Ok(()) };
        let mut lock = PluginLock::read(path)?.unwrap_or_default();
        if lock.set(id, index.plugins.get(id)) {
            let begun = Begun { id: id.clone(), locked: lock.get(id).cloned() };
            let (place, text) = (self.begun_path(), toml::to_string(&begun));
            let text = text.map_err(|error| StoreError::Index { path: place.clone(), problem: error.to_string() })?;
            whole_file::put(&place, text.as_bytes()).map_err(at(&place))?;
            if let Some(folder) = path.parent() {
                regular_file::private_folder(folder).map_err(at(folder))?;
            }
            lock.write(path)?;
        }
        Ok(())
    }

    /// Puts the lockfile right where what was noted did not come to be; nothing is begun any more then. Who calls this has
    /// the lock. Says whether there was something to put right.
    pub(super) fn settle(&self, index: &Index) -> Result<bool, StoreError> {
        let (Some(path), Some(begun)) = (&self.lockfile, self.begun()?) else { return Ok(false) };
        let mut lock = PluginLock::read(path)?.unwrap_or_default();
        let was_wrong = begun.settle(&mut lock, index.plugins.get(&begun.id));
        if was_wrong {
            lock.write(path)?;
        }
        let place = self.begun_path();
        std::fs::remove_file(&place).map_err(at(&place))?;
        Ok(was_wrong)
    }

    /// [`PackageStore::settle`], for what another process has left behind, which is told.
    pub(super) fn settle_for_another(&self, index: &Index) -> Result<(), StoreError> {
        if self.settle(index)? {
            tracing::warn!(
                "a command was stopped while it changed what is installed: the lockfile says again what is installed"
            );
        }
        Ok(())
    }

    /// What the lockfile says; none where there is none. Where a process was stopped that changed it, it is put right
    /// first; where that cannot be done now, it is read as it will be.
    pub fn read_lock(&self) -> Result<Option<PluginLock>, StoreError> {
        let Some(path) = &self.lockfile else { return Ok(None) };
        let Some(begun) = self.begun()? else { return Ok(PluginLock::read(path)?) };
        // Where another process has the lock, it is just about to be done with it.
        match self.lock_now().and_then(|_lock| self.settle_for_another(&self.read_index()?)) {
            Ok(()) => Ok(PluginLock::read(path)?),
            Err(error) => {
                tracing::debug!("the lockfile is not put right: {error}");
                let mut lock = PluginLock::read(path)?.unwrap_or_default();
                begun.settle(&mut lock, self.read_index()?.plugins.get(&begun.id));
                Ok(Some(lock))
            }
        }
    }

    /// What a process has begun and not ended.
    fn begun(&self) -> Result<Option<Begun>, StoreError> {
        let path = self.begun_path();
        let opened = regular_file::open_own(&path, OpenOptions::new().read(true));
        match opened.and_then(|file| regular_file::text(file, MOST)) {
            Ok(text) => match toml::from_str(&text) {
                Ok(begun) => Ok(Some(begun)),
                Err(error) => Err(StoreError::Index { path, problem: error.to_string() }),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::System { path, source }),
        }
    }

    fn begun_path(&self) -> PathBuf {
        self.folder.join("begun.toml")
    }
}
