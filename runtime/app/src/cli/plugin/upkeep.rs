//! `acp-runtime plugin outdated`, `update` and `rollback`: another version of what is installed. One that asks for more, or
//! offers something else, is not used before somebody has approved it.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::noun::counted;
use acp_runtime_host::approval::{ApprovalError, approve, roll_back as go_back};
use acp_runtime_host::difference::{Difference, terms};
use acp_runtime_host::install::Predecessor;
use acp_runtime_host::limits::show_bytes;
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::{Digest, Installed, Kept, StoreError, Unfit};
use acp_runtime_host::publishers::Standing as TrustStanding;
use serde_json::{Value, json};

use super::super::arguments::upkeep::{OutdatedArguments, RollbackArguments, UpdateArguments};
use super::super::confirm::{can_ask, confirmed};
use super::super::failure::Failure;
use super::install::refuse_backward;
use super::source::Found;
use super::vouch::{Leave, Vouched};
use crate::compose::{Origin, Runtime};

/// What there is for an installed plugin in the place where it came from.
enum Standing {
    /// What is installed.
    Current,
    /// What may not take its place, and why.
    Refused(String),
    /// Another version, which may.
    Newer(Box<Newer>),
}

struct Newer {
    found: Found,
    before: Predecessor,
    /// None where the installed file cannot be read, so all of it is new.
    difference: Option<Difference>,
}

impl Newer {
    fn waits(&self) -> bool {
        self.difference.as_ref().is_none_or(Difference::waits)
    }
}

/// Looks at what there is in place of `active`.
async fn look(
    runtime: &Runtime,
    id: &PluginId,
    active: &Installed,
    offline: bool,
    may_go_back: bool,
) -> Result<Standing, Failure> {
    let Some(mut found) = Found::look_again(runtime, active, offline).await? else { return Ok(Standing::Current) };
    let manifest = found.manifest();
    let (version, digest) = (&manifest.version, found.digest);
    if manifest.id != *id {
        return Ok(Standing::Refused(format!("`{}` is `{}` now", active.source, manifest.id)));
    }
    if digest == active.digest {
        return Ok(Standing::Current);
    }
    match active.gives_way_to(version, digest, may_go_back) {
        Err(Unfit::OtherContent) => {
            return Ok(Standing::Refused(format!(
                "{version} has another content there than what is installed ({digest}), and a version has one content"
            )));
        }
        Err(Unfit::Older) => return Ok(Standing::Refused(format!("{version} is older than {}", active.version))),
        Ok(()) => {}
    }
    // Who stands for it, as far as that is known without asking.
    match found.arrival().standing(&runtime.publishers().read()?) {
        Err(distrust) => return Ok(Standing::Refused(format!("{version}: {distrust}"))),
        Ok(TrustStanding::Trusted { publisher, .. }) => found.from.publisher = Some(publisher),
        Ok(TrustStanding::New { .. } | TrustStanding::Stranger { .. } | TrustStanding::Unsigned { .. }) => {}
    }
    let before = Predecessor::of(runtime.shelf().installed(), active.clone());
    let difference = before.difference(found.manifest());
    Ok(Standing::Newer(Box::new(Newer { found, before, difference })))
}

pub(super) async fn outdated(runtime: &Runtime, arguments: &OutdatedArguments) -> Result<(), Failure> {
    let (mut out, mut failed) = (io::stdout(), 0);
    for (id, kept) in runtime.shelf().installed().kept()? {
        let Installed { version, digest, source, .. } = &kept.active;
        let (there, state, why, difference) =
            match Box::pin(look(runtime, &id, &kept.active, arguments.offline, false)).await {
                Ok(Standing::Current) => continue,
                Ok(Standing::Refused(why)) => (None, "refused", Some(why), None),
                Err(Failure::Told { message, hint, .. }) => {
                    failed += 1;
                    hint.map_or(Ok(()), |hint| writeln!(io::stderr(), "hint: `{id}`: {hint}"))?;
                    (None, "failed", Some(message), None)
                }
                Err(gone @ Failure::ReaderGone) => return Err(gone),
                Ok(Standing::Newer(newer)) => {
                    let state = if newer.waits() { "waits" } else { "ready" };
                    (Some(described(&newer.found)), state, None, newer.difference)
                }
            };
        if arguments.json {
            let line = json!({
                "id": id,
                "installed": { "version": version, "digest": digest },
                "available": there,
                "state": state,
                "problem": why,
                "difference": difference,
                "source": source,
            });
            writeln!(out, "{line}")?;
        } else {
            let there = there.as_ref().and_then(|there| there["version"].as_str()).unwrap_or("-");
            writeln!(out, "{id}  {version}  {there}  {state}  {source}")?;
            if let Some(why) = why {
                writeln!(io::stderr(), "warning: `{id}`: {why}")?;
            }
        }
    }
    match failed {
        0 => Ok(()),
        failed => Err(Failure::new(format!("{} could not be looked for", counted(failed, "plugin")))
            .hint("what is installed of them is used as before")),
    }
}

fn described(found: &Found) -> Value {
    let manifest = found.manifest();
    json!({
        "version": manifest.version,
        "digest": found.digest,
        "size": found.size(),
        "publisher": found.from.publisher,
        "terms": terms(manifest),
    })
}

/// What became of one plugin.
enum Outcome {
    Current,
    Updated(Installed),
    Waiting(Installed, Digest),
    Refused(String),
}

pub(super) async fn update(runtime: &Runtime, arguments: &UpdateArguments) -> Result<(), Failure> {
    let installed = runtime.shelf().installed().kept()?;
    let chosen: BTreeMap<PluginId, Kept> = if arguments.all {
        installed
    } else {
        let chosen = arguments.plugins.iter().map(|plugin| named(&installed, plugin));
        chosen.collect::<Result<_, _>>()?
    };
    let (mut waiting, mut failed) = (0, 0);
    for (id, kept) in chosen {
        let outcome = match Box::pin(one(runtime, &id, &kept, arguments)).await {
            Err(Failure::Told { message, hint, .. }) => {
                hint.map_or(Ok(()), |hint| writeln!(io::stderr(), "hint: `{id}`: {hint}"))?;
                Outcome::Refused(message)
            }
            outcome => outcome?,
        };
        waiting += usize::from(matches!(outcome, Outcome::Waiting(..)));
        failed += usize::from(matches!(outcome, Outcome::Refused(_)));
        tell(&id, &kept.active, &outcome, arguments.json)?;
    }
    match (waiting, failed) {
        (0, 0) => Ok(()),
        (0, failed) => Err(Failure::new(format!("{} could not be updated", counted(failed, "plugin")))
            .hint("what is installed of them is used as before")),
        (waiting, _) => Err(Failure::new(format!("{} for approval", waits(waiting)))
            .hint("look at what is different, and pass `--accept-caps` with the hash of what you approve")),
    }
}

fn waits(count: usize) -> String {
    if count == 1 { "1 update waits".to_owned() } else { format!("{count} updates wait") }
}

/// The installed plugin that is meant by an id or a name.
pub(super) fn named(installed: &BTreeMap<PluginId, Kept>, plugin: &str) -> Result<(PluginId, Kept), Failure> {
    match PluginId::meant_by(plugin, installed.keys()).as_slice() {
        [id] => Ok(((*id).clone(), installed[*id].clone())),
        [] => Err(Failure::usage(format!("`{plugin}` is not installed")).hint("see `acp-runtime plugin list`")),
        several => {
            let ids: Vec<&str> = several.iter().map(|id| id.as_str()).collect();
            Err(Failure::usage(format!("several installed plugins have the name `{plugin}`"))
                .hint(format!("name `{}`", ids.join("` or `"))))
        }
    }
}

async fn one(runtime: &Runtime, id: &PluginId, kept: &Kept, arguments: &UpdateArguments) -> Result<Outcome, Failure> {
    let store = runtime.shelf().installed();
    // What waits was checked when it came, and is approved without looking for it again.
    for hash in arguments.accept_caps.iter().filter(|_| kept.waiting.is_some()) {
        let must_be_signed = |waiting: &Installed| runtime.settings().plugins.signatures.must_be_signed(waiting);
        match approve(store, &runtime.publishers(), id, *hash, must_be_signed) {
            Err(ApprovalError::Store(error))
                if matches!(*error, StoreError::OtherTerms { .. } | StoreError::NothingWaits { .. }) => {}
            approved => return Ok(Outcome::Updated(approved?)),
        }
    }
    let mut newer = match look(runtime, id, &kept.active, arguments.offline, arguments.allow_downgrade).await? {
        Standing::Current => return Ok(Outcome::Current),
        Standing::Refused(why) => return Ok(Outcome::Refused(why)),
        Standing::Newer(newer) => *newer,
    };
    let vouched = newer.found.vouch(runtime, &Leave::default())?;
    refuse_backward(&newer.before, &newer.found, arguments.allow_downgrade)?;
    let publisher = newer.found.from.publisher.as_deref();
    if let Some(why) = runtime.shelf().refusal(id, publisher, Origin::Installed) {
        return Ok(Outcome::Refused(why));
    }
    let candidate = newer.found.check(runtime).await?;
    if let Vouched::ByNobody(Some(warning)) = &vouched {
        writeln!(io::stderr(), "warning: {warning}")?;
    }
    show(&mut io::stderr(), id, &kept.active, &newer)?;
    let (manifest, hash) = (candidate.manifest(), terms(candidate.manifest()));
    let approved = !newer.waits()
        || accepted(arguments, manifest)
        || (can_ask() && confirmed(&format!("Use {} and grant what is new?", manifest.version))?);
    let (from, may_go_back) = (newer.found.from.clone(), arguments.allow_downgrade);
    if approved {
        let granted = newer.before.carried(manifest, true);
        return Ok(Outcome::Updated(candidate.install(store, &granted, from, may_go_back)?));
    }
    Ok(Outcome::Waiting(candidate.hold(store, from, may_go_back)?, hash))
}

fn accepted(arguments: &UpdateArguments, manifest: &Manifest) -> bool {
    arguments.accept_caps.contains(&terms(manifest))
}

/// What is different, for whoever decides about it.
fn show(out: &mut impl io::Write, id: &PluginId, active: &Installed, newer: &Newer) -> io::Result<()> {
    let Newer { found, difference, .. } = newer;
    let size = match active.size {
        Some(before) if before != found.size() => {
            format!("{}, before {}", show_bytes(found.size()), show_bytes(before))
        }
        _ => show_bytes(found.size()),
    };
    let by = found.from.publisher.as_deref().unwrap_or("nobody");
    writeln!(out, "`{id}` {} -> {} ({size}; signed by {by})", active.version, found.manifest().version)?;
    match difference {
        Some(difference) if difference.items.is_empty() => writeln!(out, "  asks for and offers the same"),
        Some(difference) => difference.items.iter().try_for_each(|item| {
            let mark = if item.waits() { "!" } else { " " };
            writeln!(out, "{mark} {item}")
        }),
        None => {
            writeln!(out, "! what is installed cannot be read, so all of it is new")?;
            found.manifest().capabilities.iter().try_for_each(|asked| writeln!(out, "! right {}", asked.grant))
        }
    }
}

fn tell(id: &PluginId, before: &Installed, outcome: &Outcome, json: bool) -> Result<(), Failure> {
    let mut out = io::stdout();
    let was = &before.version;
    if json {
        let (state, now, hash, problem) = match outcome {
            Outcome::Current => ("current", None, None, None),
            Outcome::Updated(now) => ("updated", Some(now), None, None),
            Outcome::Waiting(now, hash) => ("waiting", Some(now), Some(hash), None),
            Outcome::Refused(why) => ("refused", None, None, Some(why)),
        };
        let now = now.map(|now| json!({ "version": now.version, "digest": now.digest, "granted": now.granted }));
        let line = json!({
            "id": id,
            "state": state,
            "before": { "version": was, "digest": before.digest },
            "now": now,
            "acceptCaps": hash,
            "problem": problem,
        });
        writeln!(out, "{line}")?;
        return Ok(());
    }
    match outcome {
        Outcome::Current => writeln!(out, "{id} {was} is up to date")?,
        Outcome::Updated(now) => writeln!(out, "updated {id} {was} -> {} ({})", now.version, now.digest)?,
        Outcome::Waiting(now, hash) => {
            writeln!(out, "waiting {id} {} ({}); {was} is used", now.version, now.digest)?;
            writeln!(io::stderr(), "hint: to approve it: acp-runtime plugin update {id} --accept-caps {hash}")?;
        }
        Outcome::Refused(why) => {
            writeln!(out, "kept {id} {was}")?;
            writeln!(io::stderr(), "warning: `{id}`: {why}")?;
        }
    }
    Ok(())
}

impl From<ApprovalError> for Failure {
    fn from(error: ApprovalError) -> Self {
        match error {
            ApprovalError::Store(error) => (*error).into(),
            ApprovalError::Trust(error) => error.into(),
            ApprovalError::Forsaken { .. } => Self::new(error.to_string()).hint(error.hint()),
        }
    }
}

pub(super) fn roll_back(runtime: &Runtime, arguments: &RollbackArguments) -> Result<(), Failure> {
    let store = runtime.shelf().installed();
    let (id, kept) = named(&store.kept()?, &arguments.plugin)?;
    let now = go_back(store, &runtime.publishers(), &id)?;
    let mut out = io::stdout();
    let was = &kept.active;
    if arguments.json {
        let line = json!({
            "id": id,
            "before": { "version": was.version, "digest": was.digest },
            "now": { "version": now.version, "digest": now.digest, "granted": now.granted },
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "rolled back {id} {} -> {} ({})", was.version, now.version, now.digest)?;
        writeln!(io::stderr(), "hint: the same once more uses {} again", was.version)?;
    }
    Ok(())
}
