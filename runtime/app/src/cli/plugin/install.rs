//! `acp-runtime plugin install` and `remove`: nothing is installed before somebody has seen what it asks for, and has
//! granted it. What was decided about a right holds for the next version as well.

use std::io::{self, Write as _};

use acp_runtime_agent::capability::{Grant, PluginId};
use acp_runtime_agent::plain;
use acp_runtime_host::difference::{Item, What};
use acp_runtime_host::install::{InstallError, Predecessor};
use acp_runtime_host::manifest::{Capability, Manifest};
use acp_runtime_host::origin::PluginOrigin;
use acp_runtime_host::package::{PackageRef, PluginLock, SourceError, StoreError, Unfit};
use serde_json::json;

use super::super::arguments::InstallArguments;
use super::super::confirm::{can_ask, confirmed};
use super::super::failure::Failure;
use super::grant::{forget, told};
use super::lent;
use super::locked::{ProjectLock, as_locked, refuse_other_content, refuse_other_than_locked};
use super::source::{Found, reference};
use super::vouch::{Leave, Vouched};
use crate::compose::{KnownPlugin, Origin, Runtime};

/// Characters of why a plugin asks for a right.
const REASON: usize = 200;

pub(super) async fn install(runtime: &Runtime, arguments: InstallArguments) -> Result<(), Failure> {
    let held = &arguments.held;
    let project = held.project.then(|| ProjectLock::here(runtime)).transpose()?;
    let locked = match (held.is_locked(), &project) {
        (false, _) => None,
        (true, Some(project)) => project.lock.clone(),
        (true, None) => runtime.shelf().installed().read_lock()?,
    };
    if held.is_locked() && locked.is_none() {
        let which = if project.is_some() { "this project has no" } else { "there is no" };
        return Err(Failure::usage(format!("{which} lockfile")).hint("install something first, without `--locked`"));
    }
    if let Some(source) = &arguments.source {
        let source = reference(source)?;
        there_or_told(runtime, &source)?;
        return Box::pin(one(runtime, &source, &arguments, locked.as_ref(), project)).await;
    }
    let installed = runtime.shelf().installed().list()?;
    for (id, entry) in locked.iter().flat_map(PluginLock::iter) {
        match installed.get(id) {
            Some(there) if there.digest == entry.digest => {
                writeln!(io::stderr(), "`{id}` {} is installed already", there.version)?;
            }
            _ => {
                let source = reference(entry.source.as_ref())?;
                Box::pin(one(runtime, &source, &arguments, locked.as_ref(), project.clone())).await?;
            }
        }
    }
    Ok(())
}

/// A word alone is the path of a file; who types one that is none has mostly meant a plugin.
fn there_or_told(runtime: &Runtime, source: &PackageRef) -> Result<(), Failure> {
    let PackageRef::Path(path) = source else { return Ok(()) };
    let Some(word) = path.to_str().filter(|word| PluginId::new(format!("any:{word}")).is_ok()) else { return Ok(()) };
    let Err(error) = path.symlink_metadata() else { return Ok(()) };
    let id = match super::meant(&runtime.shelf().contents().plugins, word).as_slice() {
        [known] => known.plugin.id().to_string(),
        _ => format!("acme:{word}"),
    };
    Err(Failure::usage(format!("`{word}` cannot be read: {error}"))
        .hint(format!("check the path; a plugin is named with its namespace, as `{id}`")))
}

/// Installs what a reference names, if it is what is locked.
async fn one(
    runtime: &Runtime,
    source: &PackageRef,
    arguments: &InstallArguments,
    locked: Option<&PluginLock>,
    project: Option<ProjectLock>,
) -> Result<(), Failure> {
    let store = runtime.shelf().installed();
    let mut found = Found::look_up(runtime, source, arguments.held.is_offline()).await?;
    let id = found.manifest().id.clone();
    refuse_in_vain(runtime, &id)?;
    match (locked, &project) {
        (Some(lock), _) => found.from.source = as_locked(lock, &found)?.source.clone(),
        (None, Some(ProjectLock { lock: Some(lock), .. })) => refuse_other_content(lock, &found)?,
        (None, _) => {}
    }
    let leave = Leave { publisher: arguments.trust_publisher.clone(), unsigned: arguments.allow_unsigned };
    let vouched = found.vouch(runtime, &leave)?;
    locked.map_or(Ok(()), |lock| refuse_other_than_locked(lock, &found))?;
    if let Some(why) = runtime.shelf().refusal(&id, found.from.publisher.as_deref(), Origin::Installed) {
        return Err(Failure::new(format!("`{id}` was not installed: {why}")).hint("see `acp-runtime config path`"));
    }
    let candidate = found.check(runtime).await?;
    let before = candidate.predecessor(store)?;
    if let Some(before) = &before {
        refuse_backward(before, &found, arguments.held.allow_downgrade)?;
    }
    if let (None, Some(own)) = (locked, store.read_lock()?) {
        // It may be noted there without being installed: the file is kept with others of the person's, and copied.
        refuse_other_content(&own, &found)?;
    }
    if let Vouched::ByNobody(Some(warning)) = &vouched {
        writeln!(io::stderr(), "warning: {warning}")?;
    }
    show_rights(&mut io::stderr(), candidate.manifest(), before.as_ref())?;
    let granted = consent(candidate.manifest(), before.as_ref(), arguments.yes, "installed")?;
    let mut refused = candidate.manifest().ceiling();
    refused.retain(|right| !granted.contains(right));
    let installed = candidate.install(store, &granted, found.from, arguments.held.allow_downgrade)?;
    if let Some(project) = project.filter(|_| locked.is_none()) {
        store.alone(|| project.note(&id, &installed))??;
    }
    // A no is about whatever has the id, so it has outlived what had it before.
    let mut denied = runtime.memory().answers_about(&id).await?;
    denied.retain(|answer| !answer.allowed);
    let denied: Vec<String> = denied.iter().map(told).collect();
    let mut out = io::stdout();
    if arguments.json {
        let line = json!({
            "id": id,
            "version": installed.version,
            "digest": installed.digest,
            "granted": installed.granted,
            "notGranted": refused.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "denied": denied,
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
    for no in &denied {
        writeln!(out, "still denied {no}")?;
    }
    let mut err = io::stderr();
    if !denied.is_empty() {
        writeln!(
            err,
            "hint: a no holds for whatever has the id; `acp-runtime plugin grant {id} EFFECT` takes it back"
        )?;
    }
    if !refused.is_empty() {
        writeln!(err, "hint: install it with `--yes` to grant all that it asks for")?;
    }
    // An open session keeps what it began with.
    writeln!(err, "hint: an agent that is running in an editor has it in the next session")?;
    Ok(())
}

/// What is installed is not replaced by somebody else's, by an older version, or by another file of the same version.
pub(super) fn refuse_backward(before: &Predecessor, found: &Found, allow_downgrade: bool) -> Result<(), Failure> {
    let (id, version) = (&found.manifest().id, &found.manifest().version);
    let (installed, old) = (before.installed(), before.version());
    let publisher = found.from.publisher.as_deref();
    let remove = format!("if that is meant, remove the installed one first: `acp-runtime plugin remove {id}`");
    if let Some(theirs) = installed.publisher.as_deref().filter(|theirs| Some(*theirs) != publisher) {
        let by = publisher.map_or("nobody stands for this one".to_owned(), |by| format!("this one is by `{by}`"));
        return Err(Failure::new(format!(
            "`{id}` {version} was refused: what is installed is by `{theirs}`, and {by}"
        ))
        .hint(remove));
    }
    installed.gives_way_to(version, found.digest, allow_downgrade).map_err(|unfit| match unfit {
        Unfit::Older => Failure::new(format!("`{id}` {version} was refused: {old} is installed, which is newer"))
            .hint("pass `--allow-downgrade` if that is meant"),
        Unfit::OtherContent => Failure::new(format!(
            "`{id}` {version} was refused: another file of that version is installed ({}, not {})",
            installed.digest, found.digest
        ))
        .hint(format!(
            "a version has one content, so give this one another; `acp-runtime plugin dev` is for what you are working on; \
             {remove}"
        )),
    })
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
        .hint(format!("{}, then install it", without(origin))))
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

/// What the plugin asks for, with its author's reasons, and what became of that in the version before; and what it offers
/// that is not as it was.
pub(super) fn show_rights(
    out: &mut impl io::Write,
    manifest: &Manifest,
    before: Option<&Predecessor>,
) -> io::Result<()> {
    let what = if manifest.capabilities.is_empty() { "no rights" } else { "these rights" };
    let before_it = before.map_or(String::new(), |before| format!("; {} is installed", before.version()));
    writeln!(out, "`{}` {} asks for {what}{before_it}", manifest.id, manifest.version)?;
    for asked in &manifest.capabilities {
        let standing = match before.map(|before| before.decided(asked)) {
            None => "",
            Some(None) => " (new)",
            Some(Some(true)) => " (granted before)",
            Some(Some(false)) => " (not granted before)",
        };
        let reason = plain::quote(&asked.reason, REASON);
        writeln!(out, "  {}{}: \"{reason}\"{standing}", asked.grant, lent(asked))?;
    }
    for right in before.iter().flat_map(|before| before.no_longer_asked(manifest)) {
        writeln!(out, "  {right} (no longer asked for)")?;
    }
    before.iter().flat_map(|before| offers(before, manifest)).try_for_each(|item| writeln!(out, "  {item}"))
}

/// What is offered that is not as it was approved.
fn offers(before: &Predecessor, manifest: &Manifest) -> Vec<Item> {
    let items = before.difference(manifest).map(|difference| difference.items).unwrap_or_default();
    items.into_iter().filter(|item| item.what != What::Right && item.waits()).collect()
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
    let decided = |asked: &Capability| before.is_some_and(|before| before.decided(asked).is_some());
    let is_decided = manifest.capabilities.iter().all(decided);
    let is_same = before.is_none_or(|before| offers(before, manifest).is_empty());
    let carried = || before.map_or(Vec::new(), |before| before.carried(manifest, false));
    if is_decided && is_same {
        return Ok(carried());
    }
    let (what, question, all) = if is_decided {
        ("whether to use what it newly offers", "Use it with what it newly offers?", carried())
    } else {
        ("whether to grant its rights", "Grant all of them?", ceiling)
    };
    let not_installed = format!("`{}` {} was not {done}", manifest.id, manifest.version);
    if !can_ask() {
        return Err(Failure::usage(format!("{not_installed}: nobody can be asked {what}"))
            .hint("pass `--yes` to grant all that it asks for"));
    }
    if confirmed(question)? {
        return Ok(all);
    }
    let reason = if is_decided { "what it newly offers was not approved" } else { "its rights were not granted" };
    Err(Failure::new(format!("{not_installed}: {reason}")))
}

pub(super) async fn remove(runtime: &Runtime, plugin: &str, keep_data: bool, json: bool) -> Result<(), Failure> {
    let id = if let Ok(id) = PluginId::new(plugin) {
        id
    } else {
        let there = runtime.shelf().contents();
        match super::meant(&there.plugins, plugin).as_slice() {
            [known] => known.plugin.id().clone(),
            [] => return Err(super::unknown(&there.plugins, plugin)),
            several => return Err(super::ambiguous(plugin, several)),
        }
    };
    let removed = match (runtime.shelf().installed().remove(&id), runtime.shelf().fixed(&id)) {
        (Err(error @ StoreError::NotInstalled { .. }), Some(KnownPlugin { origin, source, .. })) => {
            return Err(Failure::usage(format!("{error}, it is {} (`{source}`)", origin.as_str()))
                .hint(format!("leave it out with `plugins.disabled = [\"{id}\"]`, or {}", without(origin))));
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
    let origin = PluginOrigin::Installed(removed.key);
    let secrets = runtime.forget_secrets(&origin, &id).map_err(|error| {
        Failure::new(format!("`{id}` is removed, and the secrets that were kept for it are not: {error}"))
            .hint("see `acp-runtime secret list`, and remove them")
    })?;
    for name in secrets {
        writeln!(io::stderr(), "the secret `{name}` is removed")?;
    }
    let forgotten = runtime.shelf().host().forget(&origin, &id).await;
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
            StoreError::System { .. }
            | StoreError::Index { .. }
            | StoreError::Lockfile(_)
            | StoreError::SameVersion { .. }
            | StoreError::Downgrade { .. } => Self::new(error.to_string()),
            StoreError::NotInstalled { .. }
            | StoreError::NothingBefore { .. }
            | StoreError::NothingWaits { .. }
            | StoreError::OtherTerms { .. } => Self::usage(error.to_string()),
        };
        told.hint(error.hint())
    }
}
