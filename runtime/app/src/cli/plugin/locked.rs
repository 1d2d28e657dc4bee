//! Lockfiles, for those commands that install: what is found must be what is locked.
#![expect(
    clippy::disallowed_methods,
    reason = "`plugin install --project` makes the folder of the lockfile that it writes"
)]

use std::path::{Path, PathBuf};

use acp_runtime_agent::capability::PluginId;
use acp_runtime_host::package::{Installed, LOCKFILE, Locked, PluginLock, StoreError};

use super::super::failure::Failure;
use super::source::Found;

/// The entry that what was found must be.
pub(super) fn as_locked<'a>(lock: &'a PluginLock, found: &Found) -> Result<&'a Locked, Failure> {
    let (id, version) = (&found.manifest().id, &found.manifest().version);
    let hint = "do without `--locked`, if that is what you want";
    let locked = lock.get(id).ok_or_else(|| Failure::new(format!("`{id}` is not in the lockfile")).hint(hint))?;
    match locked.differs(version, found.digest) {
        None => Ok(locked),
        Some(why) => Err(Failure::new(format!("`{id}` was not installed: {why}")).hint(hint)),
    }
}

/// Refuses another content under the name of a version that is locked.
pub(super) fn refuse_other_content(lock: &PluginLock, found: &Found) -> Result<(), Failure> {
    let (id, version) = (&found.manifest().id, &found.manifest().version);
    let locked = lock.get(id).filter(|locked| locked.version == *version);
    match locked.and_then(|locked| locked.differs(version, found.digest)) {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!("`{id}` was not installed: {why}"))
            .hint("a version has one content: give it another version")),
    }
}

/// The lockfile of the project that the command is given in.
#[derive(Clone)]
pub(super) struct ProjectLock {
    folder: PathBuf,
    /// What it says; none where there is none.
    pub(super) lock: Option<PluginLock>,
}

impl ProjectLock {
    pub(super) fn here() -> Result<Self, Failure> {
        let folder = std::env::current_dir()?;
        let lock = PluginLock::read(&Self::path(&folder)).map_err(StoreError::from)?;
        Ok(Self { folder, lock })
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join(".acp-runtime").join(LOCKFILE)
    }

    /// Notes what was installed. What lies in the project is named from there, so that it is found in every copy of it.
    pub(super) fn note(self, id: &PluginId, installed: &Installed) -> Result<(), Failure> {
        let mut installed = installed.clone();
        if let Ok(inside) = Path::new(&installed.source).strip_prefix(&self.folder) {
            installed.source = format!("./{}", inside.display());
        }
        let mut lock = self.lock.unwrap_or_default();
        if lock.set(id, Some(&installed)) {
            let path = Self::path(&self.folder);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            lock.write(&path).map_err(StoreError::from)?;
        }
        Ok(())
    }
}
