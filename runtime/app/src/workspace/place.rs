//! A path together with the handle of its root: what every operation begins with.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_runtime_agent::capability::{PathGlob, WorkspacePath};
use acp_runtime_agent::workspace::WorkspaceError;
use acp_runtime_host::kernel_files::is_made_up;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

/// Where an operation happens. All access is relative to `root`, so no path reaches beyond it.
#[derive(Clone)]
pub(super) struct Place {
    /// The root's handle.
    pub(super) root: Arc<Dir>,
    /// Below the root.
    pub(super) path: WorkspacePath,
    /// The path as errors name it.
    pub(super) shown: String,
    /// Paths that nobody may touch, by whatever name.
    pub(super) denied: Arc<[PathGlob]>,
}

impl Place {
    /// The path for system calls.
    pub(super) fn relative(&self) -> &Path {
        or_dot(Path::new(self.path.as_str()))
    }

    /// The path without links, as far as it exists; empty for the root. A denied one is refused.
    pub(super) fn real(&self) -> Result<PathBuf, WorkspaceError> {
        let real = self.real_of(self.relative())?;
        self.refuse_denied(&real)?;
        Ok(real)
    }

    /// The folder that holds the entry, and the entry's name: links are followed up to it, but the entry itself may be
    /// a link. A denied entry is refused, and so is the root.
    pub(super) fn entry(&self) -> Result<(PathBuf, &str), WorkspaceError> {
        let Some(parent) = self.path.parent() else { return Err(self.unusable("it is the workspace itself")) };
        let folder = self.real_of(or_dot(Path::new(parent.as_str())))?;
        self.refuse_denied(&folder.join(self.path.name()))?;
        Ok((folder, self.path.name()))
    }

    fn real_of(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        for existing in path.ancestors() {
            match self.root.canonicalize(or_dot(existing)) {
                Ok(real) => {
                    let real = real.strip_prefix(".").unwrap_or(&real).to_path_buf();
                    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
                    return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.failure(&error)),
            }
        }
        Err(self.not_found())
    }

    /// Opens the folder at `real`.
    pub(super) fn folder(&self, real: &Path) -> Result<Dir, WorkspaceError> {
        let folder = self.root.open_dir(or_dot(real)).map_err(|error| self.failure(&error))?;
        self.refuse_made_up(is_made_up(&folder))?;
        Ok(folder)
    }

    /// Opens the folder at `real` and makes what is missing of it.
    pub(super) fn folder_made(&self, real: &Path) -> Result<Dir, WorkspaceError> {
        // Where the kernel makes the files up, making a folder is more than that.
        if let Some(existing) = real.ancestors().find_map(|path| self.root.open_dir(or_dot(path)).ok()) {
            self.refuse_made_up(is_made_up(&existing))?;
        }
        if !real.as_os_str().is_empty() {
            self.root.create_dir_all(real).map_err(|error| self.failure(&error))?;
        }
        self.folder(real)
    }

    /// Opens the file at `path` below `folder` for reading: a plain file of a disk, without ever waiting.
    pub(super) fn file(&self, folder: &Dir, path: impl AsRef<Path>) -> Result<(File, Metadata), WorkspaceError> {
        let fail = |error| self.failure(&error);
        let path = path.as_ref();
        // Looked at first, because merely opening a device can have an effect; and again after, for the race.
        self.expect_file(&folder.metadata(path).map_err(fail)?)?;
        let file = folder.open_with(path, &reading()).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        self.expect_file(&metadata)?;
        self.refuse_made_up(is_made_up(&file))?;
        Ok((file, metadata))
    }

    /// Refuses what was opened where the kernel makes the files up: with `/` as a root, `/proc` is inside.
    fn refuse_made_up(&self, made_up: bool) -> Result<(), WorkspaceError> {
        if made_up { Err(WorkspaceError::MadeUp(self.shown.clone())) } else { Ok(()) }
    }

    /// Whether the real path `path` is on the deny list.
    pub(super) fn is_denied(&self, path: &Path) -> bool {
        !self.denied.is_empty() && {
            let text: Cow<'_, str> = path.to_string_lossy();
            self.denied.iter().any(|glob| glob.matches(&text))
        }
    }

    fn refuse_denied(&self, real: &Path) -> Result<(), WorkspaceError> {
        if self.is_denied(real) { Err(WorkspaceError::Denied(self.shown.clone())) } else { Ok(()) }
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

/// The root is `.` for system calls.
fn or_dot(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

#[cfg(not(unix))]
fn is_loop(_error: &io::Error) -> bool {
    false
}

/// Options that never wait for the other end of a pipe and never take a terminal.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    options
}
