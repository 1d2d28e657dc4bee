//! A package in one file: an OCI image layout (OCI image specification 1.1, "Image Layout") in a tar file, with the
//! signatures beside the package.
//!
//! Written twice, it is the same file twice: no times, no owners, one order. What is read is bounded, and each blob must
//! have the digest that it is named by. Tested by tables, and over the binary in `tests/it/distribution`.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};

use acp_runtime_agent::plain;
use serde::Deserialize;
use serde_json::json;
use tar::{Archive, Builder, EntryType, Header};

use super::referrer::{attach, attached_to};
use super::signature::MINISIGN;
use super::{Artifact, ArtifactError, Descriptor, Digest, INDEX, MANIFEST, Written};
use crate::limits::COMPONENT;

/// Bytes that the tar file may have: one component and what is said about it.
pub const MOST: u64 = COMPONENT + (4 << 20);
/// Files and folders in it.
const ENTRIES: usize = 128;
/// Bytes of a manifest or an index.
const MANIFEST_BYTES: usize = 1 << 20;
/// Packages and signatures in it.
const MANIFESTS: usize = 16;

/// A package out of a tar file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The component.
    pub plugin: Vec<u8>,
    /// The digest of the OCI manifest.
    pub manifest: Digest,
    /// What the manifest says.
    pub artifact: Artifact,
    /// Its signatures.
    pub signatures: Vec<String>,
}

/// Why a tar file is no package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Not a tar file, or one with something else in it.
    #[error("it is no OCI layout in a tar file: {0}")]
    Form(String),
    /// Not one package.
    #[error("it has {0} packages; expected one")]
    Packages(usize),
    /// A blob is not what it is named.
    #[error("its blob {named} has the digest {found}")]
    WrongDigest {
        /// Its name.
        named: Digest,
        /// What it has.
        found: Digest,
    },
    /// A blob is named and not there.
    #[error("its blob {0} is missing")]
    Missing(Digest),
    /// The manifest is none of a plugin.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl LayoutError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Form(_) => "packages in one file are made with `acp-runtime plugin pack`",
            Self::Packages(_) => "pack each plugin into a file of its own",
            Self::WrongDigest { .. } | Self::Missing(_) => "the file is damaged: get it again",
            Self::Artifact(error) => error.hint(),
        }
    }
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

/// The tar file of a package and its signatures. The error is the tar file's own, which in memory does not happen.
pub fn pack(written: &Written, plugin: &[u8], signatures: &[String]) -> std::io::Result<Vec<u8>> {
    let package = Descriptor::of(MANIFEST, &written.manifest);
    let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut keep = |bytes: &[u8]| blobs.insert(Digest::of(bytes).hex(), bytes.to_vec());
    keep(&written.manifest);
    keep(&written.config);
    keep(plugin);
    let mut manifests = vec![package.clone()];
    for signature in signatures {
        let attached = attach(signature, &package);
        let mut descriptor = Descriptor::of(MANIFEST, &attached.manifest);
        descriptor.artifact_type = Some(MINISIGN.to_owned());
        keep(&attached.manifest);
        keep(&attached.config);
        keep(signature.as_bytes());
        manifests.push(descriptor);
    }
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    let mut tar = Builder::new(Vec::new());
    add(&mut tar, "oci-layout", json!({ "imageLayoutVersion": "1.0.0" }).to_string().as_bytes())?;
    add(&mut tar, "index.json", index.to_string().as_bytes())?;
    for (hex, bytes) in &blobs {
        add(&mut tar, &format!("blobs/sha256/{hex}"), bytes)?;
    }
    tar.into_inner()
}

fn add(tar: &mut Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_entry_type(EntryType::Regular);
    tar.append_data(&mut header, path, bytes)
}

/// The package in a tar file, whose bytes were bounded by [`MOST`].
pub fn unpack(tar: &[u8]) -> Result<Unpacked, LayoutError> {
    let files = files(tar).map_err(LayoutError::Form)?;
    let text = files.get("oci-layout").ok_or_else(|| LayoutError::Form("it has no file `oci-layout`".to_owned()))?;
    let layout: serde_json::Value = json_of("oci-layout", text)?;
    if layout["imageLayoutVersion"] != "1.0.0" {
        return Err(LayoutError::Form("its layout is not version 1.0.0".to_owned()));
    }
    let index = files.get("index.json").ok_or_else(|| LayoutError::Form("it has no file `index.json`".to_owned()))?;
    let index: Index = json_of("index.json", index)?;
    if index.manifests.len() > MANIFESTS {
        return Err(LayoutError::Packages(index.manifests.len()));
    }
    let (signatures, packages): (Vec<_>, Vec<_>) =
        index.manifests.into_iter().partition(|manifest| manifest.artifact_type.as_deref() == Some(MINISIGN));
    let [package] = <[Descriptor; 1]>::try_from(packages).map_err(|packages| LayoutError::Packages(packages.len()))?;
    let manifest = blob(&files, &package)?;
    let artifact = Artifact::read(manifest, Some(&package.media_type))?;
    let plugin = blob(&files, &artifact.layer)?;
    blob(&files, &artifact.config)?;
    let signature = |descriptor: &Descriptor| {
        let attached = blob(&files, descriptor)?;
        // A signature of something else is no signature of this package.
        let Some(layer) = attached_to(attached, package.digest) else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(blob(&files, &layer)?).into_owned()))
    };
    let signatures: Result<Vec<_>, LayoutError> = signatures.iter().map(signature).collect();
    Ok(Unpacked {
        plugin: plugin.clone(),
        manifest: package.digest,
        artifact,
        signatures: signatures?.into_iter().flatten().collect(),
    })
}

/// The files of the tar file, by path. Links and whatever else is no file are refused.
fn files(tar: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut files = BTreeMap::new();
    let mut archive = Archive::new(Cursor::new(tar));
    let entries = archive.entries().map_err(|error| error.to_string())?;
    for (count, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|error| error.to_string())?;
        if count >= ENTRIES {
            return Err(format!("it has more than {ENTRIES} entries"));
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let shown = plain::line(&path, 120);
        match entry.header().entry_type() {
            EntryType::Directory => {}
            EntryType::Regular => {
                let mut bytes = Vec::new();
                // It is in memory already, and so is no larger than that.
                entry.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
                if files.insert(path, bytes).is_some() {
                    return Err(format!("`{shown}` is there twice"));
                }
            }
            other => return Err(format!("`{shown}` is no file ({other:?})")),
        }
    }
    Ok(files)
}

/// The blob that is meant, with its digest and size.
fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, meant: &Descriptor) -> Result<&'a Vec<u8>, LayoutError> {
    let path = format!("blobs/sha256/{}", meant.digest.hex());
    let bytes = files.get(&path).ok_or(LayoutError::Missing(meant.digest))?;
    let found = Digest::of(bytes);
    if found != meant.digest {
        return Err(LayoutError::WrongDigest { named: meant.digest, found });
    }
    if bytes.len() as u64 != meant.size {
        return Err(LayoutError::Form(format!("its blob {found} has {} bytes, not {}", bytes.len(), meant.size)));
    }
    Ok(bytes)
}

fn json_of<T: for<'de> Deserialize<'de>>(name: &str, bytes: &[u8]) -> Result<T, LayoutError> {
    if bytes.len() > MANIFEST_BYTES {
        return Err(LayoutError::Form(format!("`{name}` has more than {MANIFEST_BYTES} bytes")));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| LayoutError::Form(format!("`{name}`: {}", plain::line(&error.to_string(), 200))))
}
