//! Packages that are on this machine: a component file, the folder with one, an OCI layout in a tar file.
#![expect(clippy::disallowed_methods, reason = "this room looks into the folder that it is given")]

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use semver::Version;

use super::layout::{self, Unpacked};
use super::signature::{Minisign, SignatureKind as _};
use super::{
    Digest, Fetched, Package, PackageError, PackageRef, PackageSource, Progress, Resolved, SourceError, read_whole,
    unpack,
};
use crate::limits::COMPONENT;
use crate::regular_file;

/// Bytes of a signature beside a file.
const SIGNATURE: u64 = 8 << 10;
/// Where a project's plugin is once it was built.
const BUILT: &str = "dist";
/// What a tar file of any kind has, and where.
const TAR: &[u8] = b"ustar";
const TAR_AT: u64 = 257;

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalSource;

impl LocalSource {
    /// The package at a path.
    pub fn read(path: &Path) -> Result<Fetched, SourceError> {
        let path = only_component(path)?;
        if is_tar(&path)? {
            let bytes = read_whole(&path, layout::MOST)?;
            let place = path.display().to_string();
            let Unpacked { plugin, manifest, artifact, signatures } =
                unpack(&bytes).map_err(|source| SourceError::Layout { place, source })?;
            return Ok(Fetched { bytes: plugin, digest: artifact.layer.digest, manifest: Some(manifest), signatures });
        }
        // What is no plugin says so before all of it is read.
        Package::read(&path)?;
        let bytes = read_whole(&path, COMPONENT)?;
        let digest = Digest::of(&bytes);
        let beside = Minisign.beside(&path);
        let signatures = match regular_file::read_text(&beside, SIGNATURE) {
            Ok(signature) => vec![signature],
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(PackageError::Read { path: beside, source }.into()),
        };
        Ok(Fetched { bytes, digest, manifest: None, signatures })
    }
}

impl PackageSource for LocalSource {
    fn resolve<'a>(&'a self, reference: &'a PackageRef) -> BoxFuture<'a, Result<Resolved, SourceError>> {
        let resolved = Resolved {
            reference: reference.clone(),
            manifest: None,
            digest: None,
            size: None,
            version: None,
            capabilities: None,
        };
        async move { Ok(resolved) }.boxed()
    }

    fn fetch<'a>(
        &'a self,
        resolved: &'a Resolved,
        _progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<Fetched, SourceError>> {
        async move {
            match &resolved.reference {
                PackageRef::Path(path) => Self::read(path),
                other @ (PackageRef::Oci(_) | PackageRef::Named(_) | PackageRef::Web(_)) => {
                    Err(SourceError::NotFound {
                        place: other.to_string(),
                        problem: "it is not on this machine".to_owned(),
                    })
                }
            }
        }
        .boxed()
    }

    fn versions<'a>(&'a self, _reference: &'a PackageRef) -> BoxFuture<'a, Result<Vec<Version>, SourceError>> {
        async move { Ok(Vec::new()) }.boxed()
    }
}

fn is_tar(path: &Path) -> Result<bool, PackageError> {
    let read = |source| PackageError::Read { path: path.to_owned(), source };
    let mut beginning = Vec::new();
    regular_file::open(path).and_then(|file| file.take(TAR_AT + 5).read_to_end(&mut beginning)).map_err(read)?;
    Ok(beginning.ends_with(TAR) && beginning.len() as u64 == TAR_AT + 5)
}

/// The file itself, or the only component of a folder.
fn only_component(path: &Path) -> Result<PathBuf, SourceError> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let read = |source| PackageError::Read { path: path.to_owned(), source };
    let entries = std::fs::read_dir(path).map_err(read)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(read));
    let mut components: Vec<PathBuf> = paths.collect::<Result<_, _>>()?;
    components.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    match (components.len(), components.pop()) {
        (1, Some(only)) => Ok(only),
        (0, _) if path.join(BUILT).is_dir() => only_component(&path.join(BUILT)),
        (count, _) => Err(SourceError::NotOnePlugin { place: path.display().to_string(), count }),
    }
}
