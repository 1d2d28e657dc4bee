//! The secrets that plugins may have sent and the hosts that they may talk to: which rule stops each, where one does.
//!
//! What is said beforehand comes from the manifest, the rights, the rules and the names of the secrets that are kept; what
//! was stopped before comes from the audit. Nothing is sent and no secret is read. Tested over the real binary.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use acp_runtime_agent::capability::{Effect, EffectPattern, Grant, HostPattern, PluginId, SecretRight};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::plain;
use acp_runtime_agent::policy::Policy;
use acp_runtime_agent::store::StoreError;
use acp_runtime_host::egress::why_never;
use serde_json::Value;

use super::Check;
use crate::audit::{Filter, select};
use crate::compose::{KnownPlugin, Runtime};
use crate::secrets::SecretId;
use crate::store::Answer;

/// Things of the audit that are told of one plugin, the latest ones.
const TOLD: usize = 20;

/// Why nothing can be said of a plugin.
#[derive(Debug, thiserror::Error)]
pub enum LentError {
    /// The answers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The audit.
    #[error("the audit cannot be read: {0}")]
    Audit(#[from] io::Error),
}

/// What keeps `known` from having its secrets sent, or from its hosts: a line for each, and then what was stopped before.
pub async fn of_plugin(runtime: &Runtime, known: &KnownPlugin) -> Result<Vec<Check>, LentError> {
    let kept = kept(runtime);
    let answers = runtime.memory().answers_about(known.plugin.id()).await?;
    let policy = runtime.settings().policy();
    let mut checks: Vec<Check> = hosts(known).map(|host| of_host(known, host, &policy, &answers)).collect();
    for right in secrets_of(known) {
        let effect = Effect::UseSecret(right.name.clone());
        checks.push(match stopped(known, &effect, &policy, &answers) {
            Some((why, hint)) => {
                let what = format!("`{}` for `{}` is not sent: {why}", right.name.handle(), right.audience);
                Check::warn("secret", what, hint)
            }
            None => of_secret(known, right, &kept),
        });
    }
    if checks.is_empty() {
        let id = known.plugin.id();
        checks.push(Check::ok("plugin", format!("`{id}` asks for no host and for no secret")));
    }
    checks.extend(before(runtime, known.plugin.id())?);
    Ok(checks)
}

/// The hosts that its manifest asks for.
fn hosts(known: &KnownPlugin) -> impl Iterator<Item = &HostPattern> {
    known.plugin.manifest().capabilities.iter().filter_map(|asked| asked.grant.net())
}

/// The secrets that its manifest asks for.
fn secrets_of(known: &KnownPlugin) -> impl Iterator<Item = &SecretRight> {
    known.plugin.manifest().capabilities.iter().filter_map(|asked| asked.grant.secret())
}

fn of_host(known: &KnownPlugin, host: &HostPattern, policy: &Policy, answers: &[Answer]) -> Check {
    let Some(request) = host.request() else {
        let has = known.grants.granted.contains(&Grant::Net(host.clone()));
        let (what, id) = (format!("`{host}`, each host of these by itself"), known.plugin.id());
        return if has {
            Check::ok("host", format!("{what}: it was granted"))
        } else {
            let hint = format!("`acp-runtime plugin grant {id} fetch:{host}` grants it, if that is wanted");
            Check::warn("host", format!("{what}: it was not granted"), hint)
        };
    };
    let never =
        why_never(&request).map(|why| (why, "only this machine is reached, by `localhost`, beside public hosts"));
    let never = never.map(|(why, hint)| (format!("its address is {why}"), hint.to_owned()));
    match never.or_else(|| stopped(known, &Effect::Fetch(request), policy, answers)) {
        Some((why, hint)) => Check::warn("host", format!("`{host}` is not asked: {why}"), hint),
        None => Check::ok("host", format!("`{host}`: nothing stands in the way, except in mode `plan`")),
    }
}

/// Which rule stops that effect whatever the session, and what to do about it; none where none does.
fn stopped(known: &KnownPlugin, effect: &Effect, policy: &Policy, answers: &[Answer]) -> Option<(String, String)> {
    let (id, identity) = (known.plugin.id(), known.identity());
    if let Some(rule) = policy.forbids(effect) {
        return Some((rule.to_string(), "change `permission.deny` in the configuration".to_owned()));
    }
    let no = answers.iter().find(|answer| !answer.allowed && answer.is_about_effect(effect));
    if let Some(no) = no {
        let (about, scope) = (no.typed(), no.scope());
        let hint = format!("`/permissions` takes it back, or `acp-runtime plugin grant --scope {scope} {id} {about}`");
        return Some((format!("you have refused `{about}` for good"), hint));
    }
    if !known.grants.declares(effect) {
        let hint = "the plugin's author must add it to the capabilities in plugin.toml";
        return Some(("the plugin's manifest does not ask for it".to_owned(), hint.to_owned()));
    }
    let yes = |answer: &Answer| answer.allowed && answer.counts_for(&identity) && answer.is_about_effect(effect);
    if known.grants.grants(effect) || answers.iter().any(yes) {
        return None;
    }
    let pattern = EffectPattern::exactly(effect);
    let hint = format!("`acp-runtime plugin grant {id} {pattern}` grants it, if that is wanted");
    Some(("it was not granted".to_owned(), hint))
}

fn of_secret(known: &KnownPlugin, right: &SecretRight, kept: &BTreeSet<SecretId>) -> Check {
    let (handle, audience) = (right.name.handle(), &right.audience);
    let covered = right.audience.request().is_none_or(|to| known.grants.declares(&Effect::Fetch(to)));
    if !covered {
        let why = format!("`{handle}` for `{audience}` is not sent: the manifest asks for no requests to that host");
        return Check::warn("secret", why, "the plugin's author must add the host to `net` in plugin.toml");
    }
    if let Some(none) = none_kept(known, right, kept) {
        let why = format!("`{handle}` for `{audience}` is not sent: {none}");
        return Check::warn("secret", why, format!("`acp-runtime secret set {}` keeps one", right.name));
    }
    Check::ok("secret", format!("`{right}`: it is kept, and nothing stands in the way, except in mode `plan`"))
}

/// What was stopped, as the audit has it: each thing once, the latest last.
fn before(runtime: &Runtime, id: &PluginId) -> Result<Vec<Check>, LentError> {
    let filter = Filter { plugin: Some(id.to_string()), decision: Some("deny".to_owned()), ..Filter::default() };
    // What was stopped, by which rule: when last, and how often.
    let mut stops: BTreeMap<(String, String, String), (String, u64)> = BTreeMap::new();
    select(runtime.audit().folder(), &filter, |line| {
        let of = |name: &str| line.get(name).and_then(Value::as_str).map(plain::name).unwrap_or_default();
        let (class, what) = (of("class"), of("key"));
        if matches!(class.as_str(), "fetch" | "secret") {
            let stop = stops.entry((class, what, of("by"))).or_default();
            *stop = (of("time"), stop.1 + line.get("times").and_then(Value::as_u64).unwrap_or(1));
        }
        Ok(())
    })?;
    let mut stops: Vec<_> = stops.into_iter().collect();
    stops.sort_by(|(_, (one, _)), (_, (other, _))| one.cmp(other));
    let told = stops.len().saturating_sub(TOLD);
    let line = |((class, what, by), (last, times)): ((String, String, String), (String, u64))| {
        let (why, hint) = meaning(&by, id);
        let detail = format!("{class} `{what}` was stopped {}, the last time at {last}: {why}", counted(times, "time"));
        Check::warn("stopped", detail, hint)
    };
    Ok(stops.into_iter().skip(told).map(line).collect())
}

/// What a rule of the audit means, and what to do about it.
fn meaning(by: &str, id: &PluginId) -> (String, String) {
    let info = format!("`acp-runtime plugin info {id}` lists what it asks for and what it was granted");
    let (why, hint) = match by {
        "undeclared" => ("the plugin's manifest does not ask for it", info),
        "not-granted" => ("it was not granted", info),
        "mode" => ("the session's mode does not allow it", "change it with `/mode`".to_owned()),
        "deny-list" => {
            ("a rule forbids it", "change `permission.deny`, in the configuration or the project's".to_owned())
        }
        "remembered" => ("you had refused it for good", "`/permissions` takes that back".to_owned()),
        "person" => ("you refused it", "say yes the next time".to_owned()),
        "auto-deny" => (
            "you had refused such things again and again, so you were not asked",
            "`/permissions allow` allows it".to_owned(),
        ),
        "capped" => (
            "the plugin had asked too often in that turn",
            "`/permissions allow` allows it without a question; `permission.questions` sets how often".to_owned(),
        ),
        "no-channel" => ("there was nobody to ask", "allow it beforehand with `--allow`, or use an editor".to_owned()),
        "cancelled" => ("the question was withdrawn", "answer it the next time".to_owned()),
        "timeout" => ("nobody answered in time", "set `permission.timeout` higher".to_owned()),
        "address" => (
            "the name of the host leads to an address that is of no public network",
            "only this machine is reached beside public hosts, by `localhost` and a right to that port".to_owned(),
        ),
        "missing" => ("no such secret was kept", format!("`acp-runtime secret set {id}/HANDLE` keeps one")),
        "unusable" => (
            "the secret could not be used: it is too short, or has characters in it that no header has",
            format!("`acp-runtime secret set {id}/HANDLE` keeps another one"),
        ),
        "audience" => {
            ("the request went to another host than the secret is for", "the plugin's author can mend that".to_owned())
        }
        "placement" => (
            "the plugin had put something in the place of the secret itself",
            "the plugin's author can mend that".to_owned(),
        ),
        "view" => (
            "it was lent to be read only, or is no file of its folder: a link out of it, a device, a file with other names",
            info,
        ),
        "range" => (
            "the plugin had asked for a part of an answer, and a secret could come back piece by piece",
            "the plugin's author can mend that: a request with a secret is for the whole answer".to_owned(),
        ),
        other => return (format!("by `{}`", plain::name(other)), info),
    };
    (why.to_owned(), hint)
}

/// That no secret is kept for this plugin; none where one is.
fn none_kept(known: &KnownPlugin, right: &SecretRight, kept: &BTreeSet<SecretId>) -> Option<&'static str> {
    if kept.contains(&SecretId::lent(right.name.clone(), known.plugin.origin())) {
        return None;
    }
    match kept.iter().find(|kept| kept.name == right.name) {
        Some(orphan) if orphan.is_orphan() => Some("the one of that name was kept before it counted for whose plugin"),
        Some(_) => Some("the one of that name is kept for a plugin of somebody else"),
        None => Some("none is kept"),
    }
}

fn kept(runtime: &Runtime) -> BTreeSet<SecretId> {
    // That they cannot be read is said elsewhere.
    runtime.keys.secrets().list().unwrap_or_default().into_iter().map(|(name, _)| name).collect()
}

/// A line for each secret of each plugin. What is said of a plugin in single projects does not count here.
pub(super) async fn secrets(runtime: &Runtime) -> Vec<Check> {
    let (kept, policy) = (kept(runtime), runtime.settings().policy());
    // That the store cannot be read is said elsewhere.
    let answers = runtime.memory().answers_everywhere().await.unwrap_or_default();
    let mut checks = Vec::new();
    for known in &runtime.shelf.contents().plugins {
        let own = answers.iter().filter(|answer| answer.is_about_plugin(known.plugin.id())).cloned();
        let own: Vec<Answer> = own.collect();
        checks.extend(secrets_of(known).map(|right| check(known, right, &kept, &policy, &own)));
    }
    checks
}

fn check(
    known: &KnownPlugin,
    right: &SecretRight,
    kept: &BTreeSet<SecretId>,
    policy: &Policy,
    answers: &[Answer],
) -> Check {
    let what = format!("`{}` has `{}` sent to `{}`", known.plugin.id(), right.name.handle(), right.audience);
    if let Some((why, hint)) = stopped(known, &Effect::UseSecret(right.name.clone()), policy, answers) {
        return Check::warn("plugins", format!("{what}: {why}, so it is not sent"), hint);
    }
    let host = right.audience.request().map(Effect::Fetch);
    if let Some((why, hint)) = host.and_then(|host| stopped(known, &host, policy, answers)) {
        return Check::warn(
            "plugins",
            format!("{what}: it may not talk to that host ({why}), so it is not sent"),
            hint,
        );
    }
    if let Some(none) = none_kept(known, right, kept) {
        return Check::ok("plugins", format!("{what}: {none} (`acp-runtime secret set {}` keeps one)", right.name));
    }
    Check::ok("plugins", format!("{what}: it is kept"))
}
