//! The folders of sessions, opened once and held.
//!
//! Two sessions in one folder share one handle, recognised by device and inode and not by spelling. A folder that is
//! renamed or replaced later stays the one that was opened.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError, Weak},
};

use std::sync::Arc;

use acp_runtime_agent::capability::{RootId, WorkspacePath};
use acp_runtime_agent::workspace::WorkspaceError;
use acp_runtime_host::kernel_files::is_made_up;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::file;
use super::place::{Follow, Place};

/// Why a folder cannot be a root of a session. The words do not name it: who asked knows which it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootError {
    /// Not absolute.
    #[error("it is not an absolute path; give the full path of a folder")]
    Relative(String),
    /// Nothing is there.
    #[error("it does not exist; give the path of an existing folder")]
    NotFound(String),
    /// Something else is there.
    #[error("it is not a folder")]
    NotAFolder(String),
    /// No project is there.
    #[error("it is not on a disk, the kernel makes up what is there; give the path of a project's folder")]
    MadeUp(String),
    /// The system refused.
    #[error("the system says: {reason}")]
    System {
        /// The path.
        path: String,
        /// Such as `Permission denied`.
        reason: String,
    },
}

/// A root that was opened.
#[derive(Debug, Clone)]
pub struct OpenRoot {
    /// Absolute, as it was given.
    pub path: PathBuf,
    /// What all access goes through.
    pub handle: Arc<Dir>,
    /// Absolute, without links.
    pub canonical: PathBuf,
}

impl OpenRoot {
    /// The text of a file that the runtime itself reads here; none where there is no such file. A link that leads out is
    /// an error, as for everybody else.
    pub fn text(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        let place = self.place(WorkspacePath::new(RootId(0), path)?).led(Follow::All);
        match place.and_then(|place| file::read(&place)) {
            Ok(text) => Ok(Some(text)),
            Err(WorkspaceError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The text of a file that the runtime itself keeps here; none where there is none. A link on the way to it is an error,
    /// wherever it leads: whoever brings the folder along must not say what is read and written elsewhere.
    pub fn own_text(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        match file::read(&self.own(path)?) {
            Ok(text) => Ok(Some(text)),
            Err(WorkspaceError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts such a file there, whole or not at all, with the folders above it.
    pub fn put_own_text(&self, path: &str, text: &str) -> Result<(), WorkspaceError> {
        file::put(&self.own(path)?, text)
    }

    /// The place of such a file. It is opened name by name without following a link; that there is one is seen here.
    fn own(&self, path: &str) -> Result<Place, WorkspaceError> {
        let path = WorkspacePath::new(RootId(0), path)?;
        let above = std::iter::successors(Some(path.clone()), WorkspacePath::parent);
        let mut above: Vec<_> = above.take_while(|path| !path.as_str().is_empty()).collect();
        // The first one says all: what is behind it is another's.
        above.reverse();
        for part in above {
            match self.handle.symlink_metadata(part.as_str()) {
                Ok(found) if found.is_symlink() => {
                    return Err(self.place(part).unusable("it is a link, and none is followed here"));
                }
                Ok(found) if part != path && !found.is_dir() => return Err(self.place(part).not_a("directory")),
                Ok(_) => {}
                // What is missing is made, and what cannot be looked at cannot be opened either.
                Err(_) => break,
            }
        }
        Ok(self.place(path))
    }

    /// The place at that very path, where no name may be a link.
    fn place(&self, path: WorkspacePath) -> Place {
        let (root, real, shown) = (self.handle.clone(), path.clone(), path.to_string());
        Place { root, path, real, shown, policy: Arc::default() }
    }

    /// The files with that ending which lie directly in a folder that the runtime itself reads here, by name, each whole;
    /// none where there is no such folder. What is a link, or in a folder behind one, is an error, and so is a folder
    /// with more than `count` of them or more than `bytes` in them.
    pub fn files(
        &self,
        folder: &str,
        ending: &str,
        count: usize,
        bytes: u64,
    ) -> Result<BTreeMap<String, Vec<u8>>, WorkspaceError> {
        let folder = WorkspacePath::new(RootId(0), folder)?;
        let here = self.place(folder.clone());
        self.refuse_linked(&here)?;
        let entries = match here.folder(&folder) {
            Ok(open) => open.entries().map_err(|error| here.failure(&error))?,
            Err(WorkspaceError::NotFound(_)) => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| here.failure(&error))?.file_name();
            if Path::new(&name).extension().is_some_and(|found| found == ending) {
                names.push(
                    name.into_string().map_err(|name| here.unusable(format!("`{}` is no text", name.display())))?,
                );
            }
            if names.len() > count {
                return Err(here.unusable(format!("it has more than {count} files `*.{ending}`")));
            }
        }
        let (mut files, mut left) = (BTreeMap::new(), bytes);
        for name in names {
            let place = self.place(folder.join(&name)?);
            if place.folder(&folder)?.symlink_metadata(&name).is_ok_and(|found| found.is_symlink()) {
                return Err(place.unusable("it is a link, and none is followed here"));
            }
            let (file, _) = place.file()?;
            let mut read = Vec::new();
            file.take(left + 1).read_to_end(&mut read).map_err(|error| place.failure(&error))?;
            let too_much = || here.unusable(format!("its files `*.{ending}` have more than {bytes} bytes"));
            left = left.checked_sub(read.len() as u64).ok_or_else(too_much)?;
            files.insert(name, read);
        }
        Ok(files)
    }

    /// Refuses a folder that is there behind a link.
    fn refuse_linked(&self, here: &Place) -> Result<(), WorkspaceError> {
        let is_link =
            |path: &WorkspacePath| self.handle.symlink_metadata(path.as_str()).is_ok_and(|found| found.is_symlink());
        let above = std::iter::successors(Some(here.path.clone()), WorkspacePath::parent);
        let linked = above.take_while(|path| !path.as_str().is_empty()).any(|path| is_link(&path));
        if linked && self.handle.metadata(here.path.as_str()).is_ok_and(|found| found.is_dir()) {
            return Err(here.unusable("it is behind a link, and none is followed here"));
        }
        Ok(())
    }
}

/// All roots of this process.
#[derive(Debug, Default)]
pub struct RootRegistry {
    #[cfg(unix)]
    open: Mutex<HashMap<(u64, u64), Weak<Dir>>>,
}

impl RootRegistry {
    /// Opens the folder at the absolute `path`, or finds it open already.
    pub fn open(&self, path: &Path) -> Result<OpenRoot, RootError> {
        let shown = || path.display().to_string();
        if !path.is_absolute() {
            return Err(RootError::Relative(shown()));
        }
        let failure = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => RootError::NotFound(shown()),
            io::ErrorKind::NotADirectory => RootError::NotAFolder(shown()),
            _ => RootError::System { path: shown(), reason: super::reason(&error) },
        };
        let handle = Dir::open_ambient_dir(path, ambient_authority()).map_err(failure)?;
        if is_made_up(&handle) {
            return Err(RootError::MadeUp(shown()));
        }
        // Only a second spelling to recognise on input; what is reached is decided by the handle.
        let canonical = path.canonicalize().map_err(failure)?;
        let handle = self.share(handle).map_err(failure)?;
        Ok(OpenRoot { path: path.to_owned(), handle, canonical })
    }

    #[cfg(unix)]
    fn share(&self, new: Dir) -> io::Result<Arc<Dir>> {
        use cap_std::fs::MetadataExt;
        let metadata = new.dir_metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = open.get(&identity).and_then(Weak::upgrade) {
            return Ok(held);
        }
        open.retain(|_, held| held.strong_count() > 0);
        let new = Arc::new(new);
        open.insert(identity, Arc::downgrade(&new));
        Ok(new)
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "folders have no cheap identity here")]
    fn share(&self, new: Dir) -> io::Result<Arc<Dir>> {
        Ok(Arc::new(new))
    }
}
