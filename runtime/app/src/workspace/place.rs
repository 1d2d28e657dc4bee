//! A path together with the handle of its root: what every operation begins with.

use std::io;
use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, PathGlob, PathScope, WorkspacePath};
use acp_runtime_agent::policy::Policy;
use acp_runtime_agent::workspace::WorkspaceError;
use acp_runtime_host::kernel_files::is_made_up;
use acp_runtime_host::links;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

/// Where an operation happens. All access is relative to `root`, so no path reaches beyond it.
#[derive(Clone)]
pub(super) struct Place {
    /// The root's handle.
    pub(super) root: Arc<Dir>,
    /// Below the root, as it was named.
    pub(super) path: WorkspacePath,
    /// Where that leads, as far as it exists. It is opened without following a link, so what was looked at is what is
    /// used.
    pub(super) real: WorkspacePath,
    /// The path as errors name it.
    pub(super) shown: String,
    /// What is denied to everyone, by whatever name.
    pub(super) policy: Arc<Policy>,
}

/// How far links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// To the end.
    All,
    /// Up to the entry, which may be a link itself. The root is no entry.
    Entry,
}

impl Place {
    /// The place, with its links followed.
    pub(super) fn led(self, follow: Follow) -> Result<Self, WorkspaceError> {
        let real = |path: &WorkspacePath| links::real_path(&self.root, path).map_err(|error| self.failure(&error));
        let real = match follow {
            Follow::All => real(&self.path)?,
            Follow::Entry => {
                let Some(parent) = self.path.parent() else { return Err(self.unusable("it is the workspace itself")) };
                real(&parent)?.join(self.path.name())?
            }
        };
        Ok(Self { real, ..self })
    }

    /// The folder that holds it, and its name there; none for the root.
    pub(super) fn entry(&self) -> Option<(WorkspacePath, &str)> {
        self.real.parent().map(|folder| (folder, self.real.name()))
    }

    /// Opens the folder at `real`.
    pub(super) fn folder(&self, real: &WorkspacePath) -> Result<Dir, WorkspaceError> {
        let folder = links::open_folder(&self.root, real).map_err(|error| self.failure(&error))?;
        self.refuse_made_up(is_made_up(&folder))?;
        Ok(folder)
    }

    /// Opens the folder at `real` and makes what is missing of it.
    pub(super) fn folder_made(&self, real: &WorkspacePath) -> Result<Dir, WorkspaceError> {
        // Where the kernel makes the files up, making a folder is more than that.
        let mut above = std::iter::successors(Some(real.clone()), WorkspacePath::parent);
        if let Some(existing) = above.find_map(|path| links::open_folder(&self.root, &path).ok()) {
            self.refuse_made_up(is_made_up(&existing))?;
        }
        let folder = links::make_folder(&self.root, real).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => self.unusable("a file stands where a folder of its path should be"),
            _ => self.failure(&error),
        })?;
        self.refuse_made_up(is_made_up(&folder))?;
        Ok(folder)
    }

    /// Opens the file for reading: a plain file of a disk, without ever waiting.
    pub(super) fn file(&self) -> Result<(File, Metadata), WorkspaceError> {
        let fail = |error| self.failure(&error);
        let (folder, name) = self.entry().ok_or_else(|| self.not_a("file"))?;
        let folder = self.folder(&folder)?;
        // Looked at first, because merely opening a device can have an effect; and again after, for the race.
        let found = folder.symlink_metadata(name).map_err(fail)?;
        self.refuse_link(&found)?;
        self.expect_file(&found)?;
        let file = folder.open_with(name, &reading()).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        self.expect_file(&metadata)?;
        self.refuse_made_up(is_made_up(&file))?;
        Ok((file, metadata))
    }

    /// Whether it is a folder. Something else is there, or nothing is.
    pub(super) fn is_folder(&self) -> Result<bool, WorkspaceError> {
        let Some((folder, name)) = self.entry() else { return Ok(true) };
        let found = self.folder(&folder)?.symlink_metadata(name).map_err(|error| self.failure(&error))?;
        self.refuse_link(&found)?;
        Ok(found.is_dir())
    }

    /// With all links followed there is one only where that leads to nothing.
    fn refuse_link(&self, found: &Metadata) -> Result<(), WorkspaceError> {
        if found.is_symlink() { Err(self.not_found()) } else { Ok(()) }
    }

    /// Refuses what was opened where the kernel makes the files up: with `/` as a root, `/proc` is inside.
    fn refuse_made_up(&self, made_up: bool) -> Result<(), WorkspaceError> {
        if made_up { Err(WorkspaceError::MadeUp(self.shown.clone())) } else { Ok(()) }
    }

    /// Whether `effect`, done to the entry at the real path `real`, is denied to everyone. A name that is no text is
    /// judged as it is shown.
    pub(super) fn forbids(&self, real: &Path, effect: impl FnOnce(PathScope) -> Effect) -> bool {
        let glob = PathGlob::exact(&real.to_string_lossy());
        self.policy.forbids(&effect(PathScope { root: self.path.root(), glob })).is_some()
    }

    /// Refuses anything but a plain file.
    pub(super) fn expect_file(&self, metadata: &Metadata) -> Result<(), WorkspaceError> {
        if metadata.is_file() { Ok(()) } else { Err(self.not_a("file")) }
    }

    /// Something else stands there.
    pub(super) fn not_a(&self, expected: &'static str) -> WorkspaceError {
        WorkspaceError::WrongKind { path: self.shown.clone(), expected }
    }

    /// Nothing is there.
    pub(super) fn not_found(&self) -> WorkspaceError {
        WorkspaceError::NotFound(self.shown.clone())
    }

    /// What is in the way of what was asked, in words.
    pub(super) fn unusable(&self, reason: impl Into<String>) -> WorkspaceError {
        WorkspaceError::Unusable { path: self.shown.clone(), reason: reason.into() }
    }

    /// What the system said, about this path.
    pub(super) fn failure(&self, error: &io::Error) -> WorkspaceError {
        match error.kind() {
            // A file where a folder of the path should be.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => self.not_found(),
            // The containment's own refusal has no number of the system.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                WorkspaceError::Outside(self.shown.clone())
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                WorkspaceError::Forbidden { path: self.shown.clone(), reason: super::reason(error) }
            }
            io::ErrorKind::IsADirectory => self.not_a("file"),
            io::ErrorKind::AlreadyExists => WorkspaceError::Exists(self.shown.clone()),
            io::ErrorKind::InvalidFilename => {
                self.unusable("the path, or a name in it, is longer than the system allows")
            }
            _ if is_loop(error) => self.unusable("its links lead in a circle, or there are too many of them"),
            _ => WorkspaceError::System { path: self.shown.clone(), reason: super::reason(error) },
        }
    }
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

#[cfg(not(unix))]
fn is_loop(_error: &io::Error) -> bool {
    false
}

/// Options that follow no link, never wait for the other end of a pipe and never take a terminal.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    options
}
