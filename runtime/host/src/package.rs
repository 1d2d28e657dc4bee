//! Plugin files: a component with its manifest inside, and the folder in which installed ones are kept.
//!
//! Reading a package reads its manifest and nothing else: sections are skipped by their sizes, no code is parsed or
//! run. The bytes are hashed when they are needed for compiling, and must still hold the manifest that was read. Knows
//! nothing about engines. Tested in `tests/it/packages.rs`.
#![expect(clippy::disallowed_methods, reason = "this room owns the plugin files")]

mod artifact;
mod capabilities;
mod digest;
mod layout;
mod local;
mod lockfile;
mod reference;
mod referrer;
mod section;
pub mod signature;
mod source;
mod store;

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

pub use self::artifact::{
    Artifact, ArtifactError, CAPABILITIES, Descriptor, EMPTY, INDEX, LAYER, MANIFEST, VERSION, Written, write,
};
pub use self::capabilities::capability_hash;
pub use self::digest::{Digest, DigestError};
pub use self::layout::{LayoutError, Unpacked, pack, unpack};
pub use self::local::LocalSource;
pub use self::lockfile::{LOCKFILE, Locked, LockfileError, PluginLock, SignedBy};
pub use self::reference::{NamedRef, OciRef, PackageRef, ReferenceError, WebRef};
pub use self::referrer::{Attached, attach, attached_to};
pub(crate) use self::section::{check_beginning, replace};
pub use self::source::{Fetched, PackageSource, PeerLimits, Progress, Resolved, SourceError, Unwatched};
pub(crate) use self::store::Content;
pub use self::store::{Installed, Kept, Lease, PackageStore, Stamp, StoreError, Unfit};
use crate::limits::COMPONENT;
use crate::manifest::{Manifest, ManifestError};
use crate::origin::PluginOrigin;
use crate::regular_file;

/// Why a file is not a plugin.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The file cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Not a component, or a broken one.
    #[error("`{}` is not a WebAssembly component: {problem}", path.display())]
    NotAComponent {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A component without a manifest.
    #[error("`{}` has no manifest", path.display())]
    NoManifest {
        /// The file.
        path: PathBuf,
    },
    /// A manifest that is not accepted.
    #[error("`{}`: {source}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ManifestError,
    },
    /// The file is not the one that was read before.
    #[error("`{}` has changed since it was loaded", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file was read before, and is not there any more.
    #[error("`{}` is gone: the plugin was removed or updated after it was loaded", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The file of an installed plugin is another one than was installed.
    #[error("`{}` is not the file that was installed", path.display())]
    NotInstalled {
        /// The file.
        path: PathBuf,
    },
    /// Too large a file.
    #[error("`{}` has {size} bytes; at most {most} are accepted", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What it has.
        size: u64,
        /// What may be.
        most: u64,
    },
}

impl PackageError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the path and its permissions",
            Self::NotAComponent { .. } => "build it for `wasm32-wasip2` with `acp-runtime plugin build`",
            Self::NoManifest { .. } => "build it with `acp-runtime plugin build`, which puts `plugin.toml` into it",
            Self::Manifest { source, .. } => source.hint(),
            Self::Changed { .. } => "to use it as it is now, restart the agent in the editor, or run the command again",
            Self::Gone { .. } => {
                "to use what is installed now, begin a new session in the editor, or run the command again"
            }
            Self::NotInstalled { .. } => "install the plugin again with `acp-runtime plugin install`",
            Self::TooLarge { .. } => "strip it, or split it into several plugins",
        }
    }
}

/// A plugin file whose manifest was read.
#[derive(Debug)]
pub struct Package {
    path: PathBuf,
    manifest: Manifest,
    section: Digest,
    pinned: Option<Digest>,
    origin: PluginOrigin,
}

impl Package {
    /// Reads the manifest of a component file; not the rest. What does not begin like a component is not read any
    /// further, and neither is a file of more than [`COMPONENT`] bytes.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, PackageError> {
        let path = path.into();
        let (file, size) = open(&path)?;
        let mut file = BufReader::new(file);
        section::check_beginning(&mut file).map_err(|problem| not_a_component(&path, problem))?;
        check_size(&path, size, COMPONENT)?;
        let section = section_of(&path, &mut file)?;
        let manifest =
            Manifest::from_section(&section).map_err(|source| PackageError::Manifest { path: path.clone(), source })?;
        Ok(Self { path, manifest, section: Digest::of(&section), pinned: None, origin: PluginOrigin::default() })
    }

    /// [`Package::read`], and [`Package::bytes`] will accept only what has this digest.
    pub fn read_pinned(path: impl Into<PathBuf>, digest: Digest) -> Result<Self, PackageError> {
        Ok(Self { pinned: Some(digest), ..Self::read(path)? })
    }

    /// The same from there, rather than a file that somebody named.
    #[must_use]
    pub fn with_origin(self, origin: PluginOrigin) -> Self {
        Self { origin, ..self }
    }

    /// Where it is from.
    pub fn origin(&self) -> &PluginOrigin {
        &self.origin
    }

    /// What it says of itself, alone.
    pub fn into_manifest(self) -> Manifest {
        self.manifest
    }

    /// The digest that [`Package::bytes`] accepts, where it is only one.
    pub fn pinned(&self) -> Option<Digest> {
        self.pinned
    }

    /// The digest of its manifest as it stands in the file.
    pub fn section(&self) -> Digest {
        self.section
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The whole file and its digest. It must hold the manifest that was read, and have the digest that was pinned.
    pub fn bytes(&self) -> Result<(Vec<u8>, Digest), PackageError> {
        let path = || self.path.clone();
        let bytes = match read_whole(&self.path, COMPONENT) {
            Err(PackageError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Err(PackageError::Gone { path: path() });
            }
            read => read?,
        };
        let digest = Digest::of(&bytes);
        if self.pinned.is_some_and(|pinned| pinned != digest) {
            return Err(PackageError::NotInstalled { path: path() });
        }
        // What is no plugin any more has changed, too: the build that replaces it may not be done.
        match section_of(&self.path, &mut std::io::Cursor::new(&bytes)) {
            Ok(section) if Digest::of(&section) == self.section => Ok((bytes, digest)),
            Ok(_) | Err(_) => Err(PackageError::Changed { path: path() }),
        }
    }
}

/// Opens a regular file; with its size.
fn open(path: &Path) -> Result<(File, u64), PackageError> {
    let read = |source| PackageError::Read { path: path.to_owned(), source };
    let file = regular_file::open(path).map_err(read)?;
    let size = file.metadata().map_err(read)?.len();
    Ok((file, size))
}

/// All of a file, which may have at most `most` bytes.
pub fn read_whole(path: &Path, most: u64) -> Result<Vec<u8>, PackageError> {
    let (file, size) = open(path)?;
    check_size(path, size, most)?;
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|source| PackageError::Read { path: path.to_owned(), source })?;
    // It may have grown meanwhile.
    check_size(path, bytes.len() as u64, most)?;
    Ok(bytes)
}

fn check_size(path: &Path, size: u64, most: u64) -> Result<(), PackageError> {
    if size > most {
        return Err(PackageError::TooLarge { path: path.to_owned(), size, most });
    }
    Ok(())
}

fn section_of(path: &Path, reader: &mut (impl Read + std::io::Seek)) -> Result<Vec<u8>, PackageError> {
    match section::find(reader) {
        Ok(Some(section)) => Ok(section),
        Ok(None) => Err(PackageError::NoManifest { path: path.to_owned() }),
        Err(problem) => Err(not_a_component(path, problem)),
    }
}

/// What a component says of itself, without running it. `place` is what errors name.
pub fn manifest_of(place: &Path, bytes: &[u8]) -> Result<Manifest, PackageError> {
    let mut reader = std::io::Cursor::new(bytes);
    section::check_beginning(&mut reader).map_err(|problem| not_a_component(place, problem))?;
    check_size(place, bytes.len() as u64, COMPONENT)?;
    let section = section_of(place, &mut reader)?;
    Manifest::from_section(&section).map_err(|source| PackageError::Manifest { path: place.to_owned(), source })
}

/// The digest of a component's manifest, as it stands in the file.
pub(crate) fn section_digest(place: &Path, bytes: &[u8]) -> Result<Digest, PackageError> {
    Ok(Digest::of(&section_of(place, &mut std::io::Cursor::new(bytes))?))
}

fn not_a_component(path: &Path, problem: String) -> PackageError {
    PackageError::NotAComponent { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::TempDir::new().unwrap();
        let pipe = folder.path().join("pipe.wasm");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for error in [Package::read(&pipe).map(|_| ()), read_whole(&pipe, 10).map(|_| ())] {
            assert!(error.unwrap_err().to_string().ends_with("it is a named pipe, not a file"));
        }
    }
}
