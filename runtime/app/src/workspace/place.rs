//! A path together with the handle of its root: what every operation begins with.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_runtime_agent::capability::{PathGlob, WorkspacePath};
use acp_runtime_agent::workspace::WorkspaceError;
use cap_std::fs::{Dir, Metadata};

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
        Path::new(if self.path.as_str().is_empty() { "." } else { self.path.as_str() })
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
        let Some(parent) = self.path.parent() else { return Err(self.system("it is the workspace itself")) };
        let folder = self.real_of(Path::new(if parent.as_str().is_empty() { "." } else { parent.as_str() }))?;
        self.refuse_denied(&folder.join(self.path.name()))?;
        Ok((folder, self.path.name()))
    }

    fn real_of(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        for existing in path.ancestors() {
            let from = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
            match self.root.canonicalize(from) {
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
        let real = if real.as_os_str().is_empty() { Path::new(".") } else { real };
        self.root.open_dir(real).map_err(|error| self.failure(&error))
    }

    /// Opens the folder at `real` and makes what is missing of it.
    pub(super) fn folder_made(&self, real: &Path) -> Result<Dir, WorkspaceError> {
        if !real.as_os_str().is_empty() {
            self.root.create_dir_all(real).map_err(|error| self.failure(&error))?;
        }
        self.folder(real)
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

    /// A reason in words.
    pub(super) fn system(&self, reason: &str) -> WorkspaceError {
        WorkspaceError::System { path: self.shown.clone(), reason: reason.to_owned() }
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
            io::ErrorKind::IsADirectory => self.not_a("file"),
            io::ErrorKind::AlreadyExists => WorkspaceError::Exists(self.shown.clone()),
            _ => self.system(&super::reason(error)),
        }
    }
}
