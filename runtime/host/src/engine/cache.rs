//! Compiled code on disk, by the component's digest and the engine's settings.
//!
//! Compiled code is run as it is, so only a folder and files that belong to this user alone are read, and only when
//! their hash is the one that was noted. Whatever is wrong costs the cache, never the call.
#![expect(clippy::disallowed_methods, reason = "this room owns the folder of compiled code")]

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Error, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::package::Digest;
use crate::regular_file;

/// The most that the folder may have, in bytes; the oldest entries go first.
const MOST_BYTES: u64 = 1 << 30;
/// The bytes of a hash.
const HASH: u64 = 32;

/// The folder.
#[derive(Debug)]
pub(super) struct CompileCache {
    folder: PathBuf,
    settings: u64,
}

impl CompileCache {
    /// The cache in `folder`, which is made when something is stored.
    pub(super) fn new(folder: PathBuf, engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self { folder, settings: hasher.finish() }
    }

    /// The component, if there is a sound entry for it.
    pub(super) fn load(&self, engine: &Engine, digest: Digest) -> Option<Component> {
        let path = self.place(digest);
        if !path.exists() {
            return None;
        }
        let loaded = self.check(&path).and_then(|()| {
            // SAFETY: the file is the output of a compilation by this user's process: its hash is the one noted
            // when it was written, and folder and file can be written by this user alone.
            #[expect(unsafe_code, reason = "compiled code is only worth keeping if it is loaded as it is")]
            let component = unsafe { Component::deserialize_file(engine, &path) };
            component.map_err(|error| Error::other(format!("{error:#}")))
        });
        match loaded {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::warn!("compiled code in `{}` is not used: {error}", path.display());
                None
            }
        }
    }

    /// Keeps a compiled component.
    pub(super) fn store(&self, code: &[u8], digest: Digest) {
        if let Err(error) = self.write(code, digest) {
            tracing::warn!("compiled code is not kept in `{}`: {error}", self.folder.display());
        }
    }

    fn write(&self, code: &[u8], digest: Digest) -> Result<(), Error> {
        make_private_folder(&self.folder)?;
        require_own(&self.folder, &std::fs::symlink_metadata(&self.folder)?)?;
        self.make_room(code.len() as u64)?;
        let path = self.place(digest);
        // The code comes last: a stop between the two leaves nothing that looks like an entry.
        self.put(&hash_path(&path), &Sha256::digest(code))?;
        self.put(&path, code)
    }

    /// Writes beside the place and renames, so that no reader ever sees a half.
    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map(|_| ()).map_err(|error| error.error)
    }

    fn check(&self, path: &Path) -> Result<(), Error> {
        require_own(&self.folder, &std::fs::symlink_metadata(&self.folder)?)?;
        let metadata = std::fs::symlink_metadata(path)?;
        require_own(path, &metadata)?;
        if metadata.len() > MOST_BYTES {
            return Err(Error::other(format!("it has more than {MOST_BYTES} bytes")));
        }
        let noted = regular_file::read(&hash_path(path), HASH)?;
        if noted == hash_of(path)? { Ok(()) } else { Err(Error::other("it is not what was written")) }
    }

    /// Removes the oldest entries until `more` bytes fit.
    fn make_room(&self, more: u64) -> Result<(), Error> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if !metadata.is_file() {
                continue;
            }
            files.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), entry.path()));
        }
        files.sort();
        let mut total = more + files.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in files {
            if total <= MOST_BYTES {
                break;
            }
            std::fs::remove_file(path)?;
            total -= size;
        }
        Ok(())
    }

    fn place(&self, digest: Digest) -> PathBuf {
        self.folder.join(format!("{}-{:016x}.cwasm", digest.hex(), self.settings))
    }
}

fn hash_of(path: &Path) -> Result<Vec<u8>, Error> {
    let mut file = BufReader::with_capacity(64 << 10, regular_file::open(path)?);
    let mut hasher = Sha256::new();
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(hasher.finalize().to_vec());
        }
        hasher.update(bytes);
        let read = bytes.len();
        file.consume(read);
    }
}

fn hash_path(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

#[cfg(unix)]
fn make_private_folder(folder: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(not(unix))]
fn make_private_folder(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder)
}

/// Refuses what another user owns or can write.
#[cfg(unix)]
fn require_own(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    if metadata.uid() != me || metadata.mode() & 0o022 != 0 || metadata.file_type().is_symlink() {
        return Err(Error::other(format!("`{}` can be changed by others", path.display())));
    }
    Ok(())
}

/// Elsewhere the user's own cache folder is trusted as the system gives it.
#[cfg(not(unix))]
fn require_own(_path: &Path, _metadata: &Metadata) -> Result<(), Error> {
    Ok(())
}
