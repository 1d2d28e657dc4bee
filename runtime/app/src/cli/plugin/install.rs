//! `acp-runtime plugin install` and `remove`: nothing is installed before somebody has seen what it asks for, and has
//! granted it. What was decided about a right holds for the next version as well.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::PathBuf;

use acp_runtime_agent::capability::{Grant, PluginId};
use acp_runtime_host::install::{Candidate, InstallError, Predecessor, Provenance};
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::{
    Fetched, OciRef, PackageRef, PackageSource as _, ReferenceError, Resolved, SourceError, StoreError,
    capability_hash, manifest_of,
};
use acp_runtime_host::publisher::Publisher;
use serde_json::json;

use super::super::arguments::InstallArguments;
use super::super::confirm::{can_ask, confirmed};
use super::super::failure::Failure;
use super::grant::forget;
use super::lent;
use super::progress::Bar;
use super::vouch::{Arrival, Vouched, Voucher, vouch};
use crate::compose::{KnownPlugin, Origin, Runtime};

pub(super) async fn install(runtime: &Runtime, arguments: InstallArguments) -> Result<(), Failure> {
    let reference = reference(&arguments.source)?;
    let registries = runtime.registries();
    let resolved = registries.resolve(&reference).await?;
    let Fetched { bytes, digest, manifest: oci, signatures } = registries.fetch(&resolved, &Bar::default()).await?;
    let place = PathBuf::from(resolved.reference.to_string());
    let manifest = manifest_of(&place, &bytes)?;
    let id = manifest.id.clone();
    keeps_its_word(&reference, &resolved, &manifest)?;
    refuse_in_vain(runtime, &id)?;
    let settings = &runtime.settings().plugins.signatures;
    let requirement = if resolved.is_remote() { settings.remote } else { settings.local };
    let arrival = Arrival { manifest: &manifest, bytes: &bytes, digest, signatures: &signatures };
    let publishers = runtime.publishers();
    let vouched = vouch(&publishers, arrival, requirement, &arguments)?;
    let voucher = vouched.voucher();
    let signature = voucher.and_then(|voucher| arrival.signature_of(&voucher.key));
    let candidate = Candidate::of(runtime.shelf().host(), &place, bytes).await?;
    let before = candidate.predecessor(runtime.shelf().installed())?;
    if let Some(before) = &before {
        refuse_backward(before, &candidate, voucher, resolved.is_remote(), arguments.allow_downgrade)?;
    }
    if let Vouched::ByNobody(Some(warning)) = &vouched {
        writeln!(io::stderr(), "warning: {warning}")?;
    }
    show_rights(&mut io::stderr(), candidate.manifest(), before.as_ref())?;
    let granted = consent(candidate.manifest(), before.as_ref(), arguments.yes, "installed")?;
    let mut refused = candidate.manifest().ceiling();
    refused.retain(|right| !granted.contains(right));
    let source = match &resolved.reference {
        PackageRef::Path(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string(),
        pinned @ (PackageRef::Oci(_) | PackageRef::Named(_) | PackageRef::Web(_)) => pinned.to_string(),
    };
    if let Some(voucher) = voucher {
        voucher.keep(&publishers)?;
    }
    let from = Provenance {
        source,
        manifest: oci,
        publisher: voucher.map(|voucher| voucher.publisher.clone()),
        key: voucher.map(|voucher| voucher.key.fingerprint()),
        signature,
    };
    let installed = candidate.install(runtime.shelf().installed(), &granted, from)?;
    let json = arguments.json;
    let mut out = io::stdout();
    if json {
        let line = json!({
            "id": id,
            "version": installed.version,
            "digest": installed.digest,
            "granted": installed.granted,
            "notGranted": refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "replaced": before.map(|before| before.version().to_string()),
            "publisher": installed.publisher,
            "key": installed.key,
        });
        writeln!(out, "{line}")?;
        return Ok(());
    }
    writeln!(out, "installed {id} {} ({})", installed.version, installed.digest)?;
    if let Some(publisher) = &installed.publisher {
        writeln!(out, "signed by {publisher}")?;
    }
    for right in &granted {
        writeln!(out, "granted {right}")?;
    }
    for right in &refused {
        writeln!(out, "not granted {right}")?;
    }
    let mut err = io::stderr();
    if !refused.is_empty() {
        writeln!(err, "hint: install it with `--yes` to grant all that it asks for")?;
    }
    // A process reads once which plugins there are.
    writeln!(err, "hint: an agent that is running in an editor has it once it is restarted")?;
    Ok(())
}

/// What was typed, as a reference. A path need not be text.
fn reference(source: &OsStr) -> Result<PackageRef, Failure> {
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

/// What is installed is not replaced by somebody else's, by an older version, or by another file of the same version.
fn refuse_backward(
    before: &Predecessor,
    candidate: &Candidate,
    voucher: Option<&Voucher>,
    is_remote: bool,
    allow_downgrade: bool,
) -> Result<(), Failure> {
    let (id, version) = (&candidate.manifest().id, &candidate.manifest().version);
    let (installed, old) = (before.installed(), before.version());
    let publisher = voucher.map(|voucher| voucher.publisher.as_str());
    let remove = format!("if that is meant, remove the installed one first: `acp-runtime plugin remove {id}`");
    if let Some(theirs) = installed.publisher.as_deref().filter(|theirs| Some(*theirs) != publisher) {
        let by = publisher.map_or("nobody stands for this one".to_owned(), |by| format!("this one is by `{by}`"));
        return Err(Failure::new(format!(
            "`{id}` {version} was refused: what is installed is by `{theirs}`, and {by}"
        ))
        .hint(remove));
    }
    if version < old && !allow_downgrade {
        return Err(Failure::new(format!("`{id}` {version} was refused: {old} is installed, which is newer"))
            .hint("pass `--allow-downgrade` if that is meant"));
    }
    let is_held = is_remote || installed.publisher.is_some();
    if version == old && candidate.digest() != installed.digest && is_held {
        return Err(Failure::new(format!(
            "`{id}` {version} was refused: another file of that version is installed ({}, not {})",
            installed.digest,
            candidate.digest()
        ))
        .hint(remove));
    }
    Ok(())
}

/// Refuses to install what would never be loaded.
fn refuse_in_vain(runtime: &Runtime, id: &PluginId) -> Result<(), Failure> {
    let Some(KnownPlugin { origin, source, .. }) = runtime.shelf().fixed(id) else { return Ok(()) };
    let what = match origin {
        Origin::Bundled => "comes with this program",
        Origin::Named => "is named in `plugins.paths`",
        Origin::Installed | Origin::Project | Origin::Development => return Ok(()),
    };
    Err(Failure::new(format!("`{id}` {what} (`{source}`), and an installed one would never be loaded beside it"))
        .hint(format!("{}, then install it", without(*origin))))
}

/// How to do without a plugin that was not installed.
fn without(origin: Origin) -> &'static str {
    match origin {
        Origin::Bundled => "set `plugins.bundled = false` to do without all bundled plugins",
        Origin::Named => "take it out of `plugins.paths`",
        Origin::Installed => "remove it with `acp-runtime plugin remove`",
        Origin::Project => "remove it from the project's folder",
        Origin::Development => "end its `acp-runtime plugin dev`",
    }
}

/// What the plugin asks for, with its author's reasons, and what became of that in the version before.
pub(super) fn show_rights(
    out: &mut impl io::Write,
    manifest: &Manifest,
    before: Option<&Predecessor>,
) -> io::Result<()> {
    let what = if manifest.capabilities.is_empty() { "no rights" } else { "these rights" };
    let before_it = before.map_or(String::new(), |before| format!("; {} is installed", before.version()));
    writeln!(out, "`{}` {} asks for {what}{before_it}", manifest.id, manifest.version)?;
    for asked in &manifest.capabilities {
        let standing = match before.map(|before| before.decided(&asked.grant)) {
            None => "",
            Some(None) => " (new)",
            Some(Some(true)) => " (granted before)",
            Some(Some(false)) => " (not granted before)",
        };
        writeln!(out, "  {}{}: \"{}\"{standing}", asked.grant, lent(asked), asked.reason)?;
    }
    for right in before.iter().flat_map(|before| before.no_longer_asked(manifest)) {
        writeln!(out, "  {right} (no longer asked for)")?;
    }
    Ok(())
}

/// What is granted of the plugin's ceiling: what the person says. Who has decided about all of it before is not asked
/// again, and where nobody can be asked nothing is decided in silence.
pub(super) fn consent(
    manifest: &Manifest,
    before: Option<&Predecessor>,
    yes: bool,
    done: &str,
) -> Result<Vec<Grant>, Failure> {
    let ceiling = manifest.ceiling();
    if yes {
        return Ok(ceiling);
    }
    let decided = ceiling.iter().map(|right| before.and_then(|before| before.decided(right)));
    if let Some(decided) = decided.collect::<Option<Vec<bool>>>() {
        return Ok(ceiling.into_iter().zip(decided).filter_map(|(right, granted)| granted.then_some(right)).collect());
    }
    let not_installed = format!("`{}` {} was not {done}", manifest.id, manifest.version);
    if !can_ask() {
        return Err(Failure::usage(format!("{not_installed}: nobody can be asked whether to grant its rights"))
            .hint("pass `--yes` to grant all that it asks for"));
    }
    if confirmed("Grant all of them?")? {
        return Ok(ceiling);
    }
    Err(Failure::new(format!("{not_installed}: its rights were not granted")))
}

pub(super) async fn remove(runtime: &Runtime, plugin: &str, keep_data: bool, json: bool) -> Result<(), Failure> {
    let id = match (PluginId::new(plugin), super::meant(runtime, plugin).as_slice()) {
        (Ok(id), _) => id,
        (Err(_), [known]) => known.plugin.id().clone(),
        (Err(error), []) => return Err(Failure::usage(error.to_string()).hint("such as `aar:notes`")),
        (Err(_), several) => return Err(super::ambiguous(plugin, several)),
    };
    let removed = match (runtime.shelf().installed().remove(&id), runtime.shelf().fixed(&id)) {
        (Err(error @ StoreError::NotInstalled { .. }), Some(KnownPlugin { origin, source, .. })) => {
            return Err(Failure::usage(format!("{error}, it is {} (`{source}`)", origin.as_str()))
                .hint(format!("leave it out with `plugins.disabled = [\"{id}\"]`, or {}", without(*origin))));
        }
        (removed, _) => removed?,
    };
    forget(runtime, &id).await?;
    let mut out = io::stdout();
    if json {
        let line = json!({
            "id": id, "version": removed.version, "digest": removed.digest, "dataKept": keep_data,
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "removed {id} {}", removed.version)?;
    }
    if keep_data {
        return Ok(());
    }
    let forgotten = runtime.shelf().host().forget(&Publisher::Installed, &id).await;
    forgotten.map_err(|why| {
        Failure::new(format!("`{id}` is removed, and what it has kept is not: {why}"))
            .hint("see that nothing uses it, install it again, and remove it")
    })
}

impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Package(error) => error.into(),
            InstallError::Source(error) => error.into(),
            InstallError::Invalid { .. } | InstallError::Inspect { .. } | InstallError::Differs { .. } => {
                Self::new(error.to_string()).hint(error.hint())
            }
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Package(error) => error.into(),
            SourceError::NotOnePlugin { .. }
            | SourceError::Layout { .. }
            | SourceError::Artifact { .. }
            | SourceError::WrongDigest { .. }
            | SourceError::NotFound { .. }
            | SourceError::Unauthorized { .. }
            | SourceError::TooLarge { .. }
            | SourceError::Unreachable { .. }
            | SourceError::Refused { .. } => Self::new(error.to_string()).hint(error.hint()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let told = match error {
            StoreError::System { .. } | StoreError::Index { .. } => Self::new(error.to_string()),
            StoreError::NotInstalled { .. } => Self::usage(error.to_string()),
        };
        told.hint(error.hint())
    }
}
