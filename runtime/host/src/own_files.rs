//! The folders that belong to a plugin of one origin alone: `/data`, which it has in each project and which is kept, and
//! `/tmp`, which each instance has for itself.
//!
//! They are made when a guest first looks at its folders. What is done in them is judged by nobody, but they have an end:
//! a [`Meter`] counts bytes and entries before anything is written. Knows nothing about rights: the gate was asked before.
//! Tested by the guests that fill them.

mod meter;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use acp_runtime_agent::capability::{OwnFolder, PluginId, RootId, WorkspacePath};
use acp_runtime_agent::gate::Way;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tempfile::TempDir;

pub(crate) use self::meter::{FileId, Full, Meter};
use crate::limits::Limits;
use crate::origin::PluginOrigin;
use crate::package::Digest;
use crate::{links, regular_file};

/// Where a path of such a folder says that it lies: no session has so many folders.
const NO_ROOT: RootId = RootId(u16::MAX);

/// The folders of one plugin, of whatever session.
pub(crate) struct OwnFiles {
    /// Where its `/data` are; none where nothing is kept.
    kept: Option<Kept>,
    limits: Arc<Limits>,
    /// Of the projects that are in use: calls that run at once share the room.
    meters: Mutex<HashMap<String, Weak<Meter>>>,
}

/// Where the `/data` of one plugin are.
struct Kept {
    /// The folder of all plugins.
    all: PathBuf,
    /// Below it.
    own: PathBuf,
    /// Where earlier versions of this program kept them, which told no origins apart; none where they may be another's.
    before: Option<PathBuf>,
}

/// Such a folder, opened.
pub(crate) struct Own {
    which: OwnFolder,
    dir: Dir,
    meter: Arc<Meter>,
    /// Removed with it.
    temporary: Option<TempDir>,
}

impl OwnFiles {
    /// Those of `plugin`, below the folder that those of all plugins are kept in. Nothing is made yet.
    pub(crate) fn new(kept: Option<&PathBuf>, origin: &PluginOrigin, plugin: &PluginId, limits: Arc<Limits>) -> Self {
        let kept = kept.map(|folder| Kept::of(folder, origin, plugin));
        Self { kept, limits, meters: Mutex::default() }
    }

    /// Removes all that a plugin keeps in `kept`. What is not there is no error.
    pub(crate) fn forget(kept: &Path, origin: &PluginOrigin, plugin: &PluginId) -> io::Result<()> {
        let kept = Kept::of(kept, origin, plugin);
        let all = match Dir::open_ambient_dir(&kept.all, ambient_authority()) {
            Ok(all) => all,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for folder in std::iter::once(&kept.own).chain(&kept.before) {
            match all.remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Opens one, and makes it where it is not there. Waits for the disk.
    pub(crate) fn open(&self, which: OwnFolder, project: &str) -> io::Result<Own> {
        match which {
            OwnFolder::Data => self.open_data(project),
            OwnFolder::Tmp => self.open_tmp(),
        }
    }

    fn open_data(&self, project: &str) -> io::Result<Own> {
        let kept = self.kept.as_ref().ok_or_else(|| io::Error::other("nothing is kept here"))?.open()?;
        // A link in its place is not followed.
        let name = Digest::of(project.as_bytes()).hex();
        let name = WorkspacePath::new(NO_ROOT, &name).map_err(io::Error::other)?;
        let dir = links::make_folder(&kept, &name)?;
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        meters.retain(|_, meter| meter.strong_count() > 0);
        let meter = if let Some(meter) = meters.get(project).and_then(Weak::upgrade) {
            meter
        } else {
            let meter = Arc::new(self.meter(&dir, self.limits.folders.data)?);
            meters.insert(project.to_owned(), Arc::downgrade(&meter));
            meter
        };
        Ok(Own { which: OwnFolder::Data, dir, meter, temporary: None })
    }

    fn meter(&self, dir: &Dir, bytes: u64) -> io::Result<Meter> {
        Meter::of(dir, bytes, self.limits.folders.entries)
    }

    fn open_tmp(&self) -> io::Result<Own> {
        let temporary = tempfile::Builder::new().prefix("acp-runtime-").tempdir()?;
        let dir = Dir::open_ambient_dir(temporary.path(), ambient_authority())?;
        let meter = Arc::new(self.meter(&dir, self.limits.folders.tmp)?);
        Ok(Own { which: OwnFolder::Tmp, dir, meter, temporary: Some(temporary) })
    }
}

impl Kept {
    fn of(all: &Path, origin: &PluginOrigin, plugin: &PluginId) -> Self {
        let id = Path::new(plugin.namespace()).join(plugin.name());
        let ours = plugin.namespace() == "aar";
        let before = match origin {
            PluginOrigin::Bundled => ours,
            PluginOrigin::Installed(_) => !ours,
            PluginOrigin::Path | PluginOrigin::Project(_) => false,
        };
        let own = Path::new(&folder_of(origin)).join(&id);
        Self { all: all.to_owned(), own, before: before.then_some(id) }
    }

    /// Opens it, and makes it where it is not there.
    fn open(&self) -> io::Result<Dir> {
        let own = self.all.join(&self.own);
        if !own.is_dir()
            && let Some(before) = self.before.as_ref().filter(|before| self.all.join(before).is_dir())
        {
            regular_file::private_folder(own.parent().unwrap_or(&self.all))?;
            let all = Dir::open_ambient_dir(&self.all, ambient_authority())?;
            // Another process may have been faster.
            all.rename(before, &all, &self.own).or_else(|error| if own.is_dir() { Ok(()) } else { Err(error) })?;
        }
        regular_file::private_folder(&own)?;
        Dir::open_ambient_dir(&own, ambient_authority())
    }
}

/// No namespace of a plugin is called so.
fn folder_of(origin: &PluginOrigin) -> String {
    match origin {
        PluginOrigin::Bundled => "@bundled".to_owned(),
        PluginOrigin::Installed(_) => "@installed".to_owned(),
        PluginOrigin::Path => "@path".to_owned(),
        PluginOrigin::Project(folder) => format!("@project-{}", Digest::of(folder.as_bytes()).hex()),
    }
}

impl Own {
    /// Where guests see it.
    pub(crate) fn guest(&self) -> String {
        format!("/{}", self.which.as_str())
    }

    /// The top of each of them.
    pub(crate) fn top() -> Way {
        let top = WorkspacePath::root_of(NO_ROOT);
        Way { named: top.clone(), real: top }
    }

    /// What all access goes through.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// What it may hold, and holds.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }
}

impl Drop for Own {
    /// Removing much takes its time, which no async thread has.
    fn drop(&mut self) {
        let Some(temporary) = self.temporary.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(temporary))),
            Err(_) => drop(temporary),
        }
    }
}
