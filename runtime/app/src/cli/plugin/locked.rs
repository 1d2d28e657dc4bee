//! Lockfiles, for those commands that install: what is found must be what is locked.

use std::path::Path;

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::workspace::WorkspaceError;
use acp_runtime_host::package::{Installed, Locked, LockfileError, PluginLock, SignedBy, StoreError};

use super::super::failure::Failure;
use super::source::Found;
use crate::compose::Runtime;
use crate::settings::PROJECT_LOCK;
use crate::workspace::OpenRoot;

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

/// Refuses what the lockfile says something else of, once it is known who stands for it.
pub(super) fn refuse_other_than_locked(lock: &PluginLock, found: &Found) -> Result<(), Failure> {
    let id = &found.manifest().id;
    let by = found.from.publisher.clone().zip(found.from.key).map(|(publisher, key)| SignedBy { publisher, key });
    match lock.get(id).and_then(|locked| locked.belies(found.manifest(), found.size(), by.as_ref())) {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!("`{id}` was not installed: {why}"))
            .hint("see who has changed the lockfile; do without `--locked` to have it written anew")),
    }
}

/// Refuses another content under the name of a version that is locked.
pub(super) fn refuse_other_content(lock: &PluginLock, found: &Found) -> Result<(), Failure> {
    let (id, version) = (&found.manifest().id, &found.manifest().version);
    let locked = lock.get(id).filter(|locked| locked.version == *version);
    match locked.and_then(|locked| locked.differs(version, found.digest)) {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!("`{id}` was not installed: {why}")).hint(
            "a version has one content: give this one another version, or take the other one out of the lockfile",
        )),
    }
}

/// The lockfile of the project that the command is given in. The project may be anybody's: nothing of it is read or
/// written behind a link.
#[derive(Clone)]
pub(super) struct ProjectLock {
    root: OpenRoot,
    /// What it says; none where there is none.
    pub(super) lock: Option<PluginLock>,
}

impl ProjectLock {
    pub(super) fn here(runtime: &Runtime) -> Result<Self, Failure> {
        let folder = std::env::current_dir().map_err(|error| Failure::unreadable(Path::new("."), &error))?;
        let root = runtime.project(&folder).map_err(|error| {
            Failure::usage(format!("`{}` is no project: {error}", folder.display())).hint("go into a project's folder")
        })?;
        let lock = read(&root)?;
        Ok(Self { root, lock })
    }

    /// Notes what was installed. What lies in the project is named from there, so that it is found in every copy of it.
    pub(super) fn note(&self, id: &PluginId, installed: &Installed) -> Result<(), Failure> {
        let mut installed = installed.clone();
        if let Ok(inside) = Path::new(&installed.source).strip_prefix(&self.root.path) {
            installed.source = format!("./{}", inside.display());
        }
        // Somebody else may have noted something meanwhile.
        let mut lock = read(&self.root)?.unwrap_or_default();
        if lock.set(id, Some(&installed)) {
            let text = lock.render().map_err(Failure::new)?;
            self.root.put_own_text(PROJECT_LOCK, &text).map_err(|error| unusable(&error))?;
        }
        Ok(())
    }
}

fn read(root: &OpenRoot) -> Result<Option<PluginLock>, Failure> {
    let Some(text) = root.own_text(PROJECT_LOCK).map_err(|error| unusable(&error))? else { return Ok(None) };
    let path = root.path.join(PROJECT_LOCK);
    let lock = PluginLock::parse(&text).map_err(|problem| StoreError::from(LockfileError::Form { path, problem }))?;
    Ok(Some(lock))
}

fn unusable(error: &WorkspaceError) -> Failure {
    Failure::new(format!("the project's lockfile: {error}"))
        .hint("make it an ordinary file in an ordinary folder of the project, or do without `--project`")
}
