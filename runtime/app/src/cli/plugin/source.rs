//! Where plugins come from, for those commands that install them: what is there, before it is checked.

use std::ffi::OsStr;
use std::path::PathBuf;

use acp_runtime_host::install::{Candidate, Provenance};
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::{
    Digest, Fetched, Installed, NamedRef, OciRef, PackageRef, PackageSource as _, ReferenceError, Resolved,
    capability_hash, manifest_of,
};

use super::super::failure::Failure;
use super::progress::Bar;
use super::vouch::{Arrival, Leave, Vouched, vouch};
use crate::compose::Runtime;

/// A plugin as it is where it comes from. It was read and not checked, and nothing of it was run.
pub(super) struct Found {
    place: PathBuf,
    manifest: Manifest,
    bytes: Vec<u8>,
    signatures: Vec<String>,
    /// The digest of its file.
    pub(super) digest: Digest,
    /// Whether it came from another machine.
    pub(super) is_remote: bool,
    /// Whether it came with this program, which then stands for it.
    is_bundled: bool,
    /// Where it came from, and who stands for it once that was seen.
    pub(super) from: Provenance,
}

impl Found {
    /// Looks up what a reference means now, and gets it.
    pub(super) async fn look_up(runtime: &Runtime, reference: &PackageRef, offline: bool) -> Result<Self, Failure> {
        let bundled = match reference {
            PackageRef::Named(NamedRef { id, .. }) => runtime.shelf().bundled(id),
            PackageRef::Path(_) | PackageRef::Oci(_) | PackageRef::Web(_) => None,
        };
        let is_bundled = bundled.is_some();
        let wanted = bundled.map_or_else(|| reference.clone(), PackageRef::Path);
        if offline && !matches!(wanted, PackageRef::Path(_)) {
            return Err(Failure::new(format!(
                "`{wanted}` is not on this machine, and nothing is fetched with `--offline`"
            ))
            .hint("name a file, or do without `--offline`"));
        }
        let registries = runtime.registries();
        let resolved = registries.resolve(&wanted).await?;
        let Fetched { bytes, digest, manifest: oci, signatures } = registries.fetch(&resolved, &Bar::default()).await?;
        let place = PathBuf::from(resolved.reference.to_string());
        let manifest = manifest_of(&place, &bytes)?;
        keeps_its_word(reference, &resolved, &manifest)?;
        let source = match &resolved.reference {
            PackageRef::Path(_) if is_bundled => manifest.id.to_string(),
            PackageRef::Path(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string(),
            pinned @ (PackageRef::Oci(_) | PackageRef::Named(_) | PackageRef::Web(_)) => pinned.to_string(),
        };
        let from = Provenance { source, manifest: oci, ..Provenance::default() };
        Ok(Self { place, manifest, bytes, signatures, digest, is_remote: resolved.is_remote(), is_bundled, from })
    }

    /// Looks up what there is now in the place where an installed plugin came from; none where that place has only this one.
    pub(super) async fn look_again(
        runtime: &Runtime,
        installed: &Installed,
        offline: bool,
    ) -> Result<Option<Self>, Failure> {
        let now = match reference(installed.source.as_ref())? {
            PackageRef::Web(_) => return Ok(None),
            PackageRef::Oci(pinned) if offline => PackageRef::Oci(pinned),
            PackageRef::Oci(pinned) => {
                let open = OciRef { digest: None, ..pinned };
                let versions = runtime.registries().versions(&PackageRef::Oci(open.clone())).await?;
                let wished = |version: &semver::Version| version.pre.is_empty() || !installed.version.pre.is_empty();
                match (versions.into_iter().filter(wished).max(), &open.tag) {
                    (Some(newest), _) => PackageRef::Oci(OciRef { tag: Some(OciRef::tag_for(&newest)), ..open }),
                    (None, Some(_)) => PackageRef::Oci(open),
                    (None, None) => return Ok(None),
                }
            }
            other @ (PackageRef::Path(_) | PackageRef::Named(_)) => other,
        };
        Self::look_up(runtime, &now, offline).await.map(Some)
    }

    /// What it says of itself.
    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Bytes of its file.
    pub(super) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// What came, for those who judge its signatures.
    pub(super) fn arrival(&self) -> Arrival<'_> {
        let Self { manifest, bytes, digest, signatures, .. } = self;
        Arrival { manifest, bytes, digest: *digest, signatures }
    }

    /// Sees who stands for it, and whether that is enough. From then on it is known where it comes from.
    pub(super) fn vouch(&mut self, runtime: &Runtime, leave: &Leave) -> Result<Vouched, Failure> {
        if self.is_bundled {
            return Ok(Vouched::ByNobody(None));
        }
        let requirement = runtime.settings().plugins.signatures.of(self.is_remote);
        let vouched = vouch(&runtime.publishers(), self.arrival(), requirement, leave)?;
        let voucher = vouched.voucher();
        let signature = voucher.and_then(|voucher| self.arrival().signature_of(&voucher.key));
        self.from.publisher = voucher.map(|voucher| voucher.publisher.clone());
        self.from.key = voucher.map(|voucher| voucher.key.fingerprint());
        self.from.signature = signature;
        Ok(vouched)
    }

    /// Checks it, which compiles it.
    pub(super) async fn check(&self, runtime: &Runtime) -> Result<Candidate, Failure> {
        Ok(Candidate::of(runtime.shelf().host(), &self.place, self.bytes.clone()).await?)
    }
}

/// What was typed, as a reference. A path need not be text.
pub(super) fn reference(source: &OsStr) -> Result<PackageRef, Failure> {
    let Some(text) = source.to_str() else { return Ok(PackageRef::Path(source.into())) };
    text.parse().map_err(|error: ReferenceError| Failure::usage(error.to_string()).hint(error.hint()))
}

/// A package is what it was asked for by, and what is said of it without it: who says something else may want to be taken
/// for somebody else, or for a newer version.
fn keeps_its_word(asked: &PackageRef, resolved: &Resolved, manifest: &Manifest) -> Result<(), Failure> {
    let is = format!("`{}` {}", manifest.id, manifest.version);
    let refused = |said: String| {
        let shown = &resolved.reference;
        Err(Failure::new(format!("`{shown}` was refused: it is {is}, and {said}"))
            .hint("nothing of it was kept; ask its publisher"))
    };
    match asked {
        PackageRef::Named(named) if named.id != manifest.id => return refused(format!("not `{}`", named.id)),
        PackageRef::Named(named) if named.version.as_ref().is_some_and(|version| *version != manifest.version) => {
            return refused(format!("not `{named}`"));
        }
        PackageRef::Path(_) | PackageRef::Named(_) | PackageRef::Oci(_) | PackageRef::Web(_) => {}
    }
    if let PackageRef::Oci(OciRef { tag: Some(tag), .. }) = &resolved.reference
        && OciRef::version_of(tag).is_some_and(|version| version != manifest.version)
    {
        return refused(format!("its tag is `{tag}`"));
    }
    if let Some(version) = resolved.version.as_ref().filter(|version| **version != manifest.version) {
        return refused(format!("its OCI manifest says version {version}"));
    }
    let hash = capability_hash(manifest);
    match resolved.capabilities.filter(|said| *said != hash) {
        Some(_) => refused("its OCI manifest names other rights than it asks for".to_owned()),
        None => Ok(()),
    }
}
