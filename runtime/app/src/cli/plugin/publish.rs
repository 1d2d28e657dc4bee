//! `acp-runtime plugin pack` and `publish`: a plugin leaves, checked and signed.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use acp_runtime_host::install::Candidate;
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::signature::{Minisign, SignatureKind as _, Signed};
use acp_runtime_host::package::{Digest, LocalSource, OciRef, PackageRef, Written, pack, write};
use acp_runtime_host::whole_file;
use serde_json::json;

use super::super::arguments::{PackArguments, PublishArguments};
use super::super::failure::Failure;
use super::keys::SigningKey;
use super::progress::Bar;
use crate::compose::Runtime;
use crate::registry::{Publication, Published};

/// A plugin that could be installed, and the form in which it leaves.
struct Parcel {
    candidate: Candidate,
    bytes: Vec<u8>,
    written: Written,
    /// Signatures that came along and are for it.
    signatures: Vec<String>,
}

impl Parcel {
    /// Nothing leaves that could not be installed.
    async fn read(runtime: &Runtime, path: &Path) -> Result<Self, Failure> {
        let fetched = LocalSource::read(path)?;
        let candidate = Candidate::of(runtime.shelf().host(), path, fetched.bytes.clone()).await?;
        let written = write(&fetched.bytes, candidate.manifest())
            .map_err(|problem| Failure::new(format!("`{}`: {problem}", path.display())))?;
        let statement = signed(candidate.manifest(), &fetched.bytes).statement();
        let is_for_it = |text: &String| Minisign.read(text).is_ok_and(|signature| signature.statement == statement);
        let signatures = fetched.signatures.into_iter().filter(is_for_it).collect();
        Ok(Self { candidate, bytes: fetched.bytes, written, signatures })
    }

    fn manifest(&self) -> &Manifest {
        self.candidate.manifest()
    }

    /// Signed with the key in that file.
    fn sign(&mut self, key: &Path) -> Result<(), Failure> {
        let key = SigningKey::read(key)?;
        self.signatures = vec![key.sign(signed(self.manifest(), &self.bytes))?];
        Ok(())
    }

    fn digest(&self) -> Digest {
        Digest::of(&self.written.manifest)
    }
}

fn signed<'a>(manifest: &'a Manifest, bytes: &'a [u8]) -> Signed<'a> {
    Signed { bytes, id: &manifest.id, version: &manifest.version }
}

pub(super) async fn pack_plugin(runtime: &Runtime, arguments: PackArguments) -> Result<(), Failure> {
    let PackArguments { plugin, output, key } = arguments;
    let mut parcel = Parcel::read(runtime, &plugin).await?;
    if let Some(key) = key {
        parcel.sign(&key)?;
        if plugin.is_file() {
            let beside = Minisign.beside(&plugin);
            let signature = parcel.signatures.concat();
            whole_file::put(&beside, signature.as_bytes()).map_err(|error| Failure::unwritable(&beside, &error))?;
        }
    }
    let name = format!("{}-{}.tar", parcel.manifest().id.name(), parcel.manifest().version);
    let output = output.unwrap_or_else(|| PathBuf::from(name));
    let tar = pack(&parcel.written, &parcel.bytes, &parcel.signatures)
        .map_err(|error| Failure::new(format!("`{}` cannot be packed: {error}", plugin.display())))?;
    whole_file::put(&output, &tar).map_err(|error| Failure::unwritable(&output, &error))?;
    writeln!(io::stdout(), "{}", output.display())?;
    if parcel.signatures.is_empty() {
        writeln!(io::stderr(), "warning: it is not signed; sign it with `--key FILE`")?;
    }
    Ok(())
}

pub(super) async fn publish(runtime: &Runtime, arguments: PublishArguments) -> Result<(), Failure> {
    let PublishArguments { plugin, place, key, unsigned, replace, json } = arguments;
    let mut parcel = Parcel::read(runtime, &plugin).await?;
    let place = place_of(&place, parcel.manifest())?;
    if let Some(key) = key {
        parcel.sign(&key)?;
    }
    if unsigned {
        parcel.signatures.clear();
    } else if parcel.signatures.is_empty() {
        return Err(Failure::usage(format!("`{}` is not signed", plugin.display()))
            .hint("name your key with `--key FILE`, or make one with `acp-runtime plugin keygen FILE`"));
    }
    let signature = parcel.signatures.first().map(String::as_str);
    let what = Publication { written: &parcel.written, plugin: &parcel.bytes, signature, replace };
    let Published { manifest, was_there } = runtime.registries().publish(&place, what, &Bar::default()).await?;
    let (id, version) = (&parcel.manifest().id, &parcel.manifest().version);
    let mut out = io::stdout();
    if json {
        let line = json!({
            "id": id, "version": version, "place": place.to_string(), "manifest": manifest,
            "digest": parcel.written.layer.digest, "signed": signature.is_some(), "wasThere": was_there,
        });
        writeln!(out, "{line}")?;
    } else {
        let what = if was_there { "is there already" } else { "is published" };
        writeln!(out, "{id} {version} {what}: {}", place.pinned(parcel.digest()))?;
    }
    Ok(())
}

/// Where a plugin is published. The tag is its version, unless the person names one.
fn place_of(text: &str, manifest: &Manifest) -> Result<OciRef, Failure> {
    let version = &manifest.version;
    let no_place = || {
        Failure::usage(format!("`{text}` is no place in a registry"))
            .hint("write it like `oci://registry.example/path/name`")
    };
    if !text.starts_with("oci://") {
        return Err(no_place());
    }
    let whole = match text.parse::<PackageRef>() {
        Ok(whole) => Ok(whole),
        // Where only the tag is missing, all else is right.
        Err(error) => format!("{text}:{}", OciRef::tag_for(version)).parse().map_err(|_| error),
    };
    let whole = whole.map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))?;
    let PackageRef::Oci(place) = whole else { return Err(no_place()) };
    if place.digest.is_some() {
        return Err(Failure::usage(format!("`{text}` names a digest, which follows from the plugin"))
            .hint("name a tag, or nothing: it is the version then"));
    }
    let said = place.tag.as_deref().and_then(OciRef::version_of);
    if let Some(said) = said.filter(|said| said != version) {
        return Err(Failure::usage(format!("`{text}` says version {said}, and the plugin is {version}"))
            .hint("leave out the tag, or change `version` in `plugin.toml` and build it again"));
    }
    Ok(place)
}
