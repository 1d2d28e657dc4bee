//! `acp-runtime plugin grant` and `revoke`: what a plugin may do is widened inside what its manifest asks for, and taken
//! back. Both hold at once in all processes, and both are audited.

use std::io::{self, Write as _};
use std::path::Path;

use acp_runtime_agent::capability::{EffectPattern, Grant, PluginId};
use acp_runtime_agent::gate::{Scope, Settled, Verdict};
use serde_json::json;

use super::super::failure::Failure;
use super::super::run::absolute;
use super::super::transcript::harmless;
use super::{ambiguous, meant, unknown};
use crate::compose::{KnownPlugin, Runtime};
use crate::store::{Answer, Subject};

pub(super) async fn grant(
    runtime: &Runtime,
    plugin: &str,
    effect: &EffectPattern,
    scope: Scope,
    json: bool,
) -> Result<(), Failure> {
    let folder = absolute(".".into())?;
    let known = known(runtime, plugin, &folder).await?;
    let id = known.plugin.id();
    if !known.grants.ceiling.iter().any(|right| effect.may_need(right)) {
        return Err(Failure::new(format!("the manifest of `{id}` asks for nothing that `{effect}` would allow"))
            .hint(format!("`acp-runtime plugin info {id}` lists what it asks for")));
    }
    if !known.is_settled() {
        return Err(Failure::new(format!(
            "`{id}` is named by a path in the configuration, and what changes under its name is never allowed for good"
        ))
        .hint(format!(
            "install it with `acp-runtime plugin install`, or allow it in a session: `/permissions allow --scope session \
             {id} {effect}`"
        )));
    }
    let answers = runtime.memory().answers_about(id).await?;
    let (same, others): (Vec<Answer>, Vec<Answer>) = answers
        .into_iter()
        .filter(|answer| !answer.allowed && answer.meets(effect))
        .partition(|answer| answer.typed() == effect.to_string());
    let was_revoked = same.iter().any(|answer| answer.scope() == Scope::User);
    runtime.memory().forget_answers(same).await?;
    // What it had before that was taken back it has again, and no more.
    let had = was_revoked && known.grants.granted.iter().any(|right| effect.may_need(right));
    if !had {
        let subject = Subject::plugin(known.identity());
        runtime.decide_in(Path::new(&folder), &subject, effect, scope).await?;
    }
    let scope = if had { Scope::User } else { scope };
    note(runtime, id, effect, scope, Verdict::Allowed);
    let mut out = io::stdout();
    if json {
        writeln!(out, "{}", json!({ "id": id, "granted": effect.to_string(), "scope": scope.as_str(), "again": had }))?;
    } else if had {
        writeln!(out, "{id} has {effect} again, as it was granted before")?;
    } else {
        let place =
            if scope == Scope::User { "in all projects".to_owned() } else { format!("in {}", harmless(&folder)) };
        writeln!(out, "granted {effect} to {id} {place}")?;
    }
    for answer in others {
        writeln!(io::stderr(), "hint: {} stays denied to it, and a no goes first", answer.effects)?;
    }
    Ok(())
}

pub(super) async fn revoke(
    runtime: &Runtime,
    plugin: &str,
    effect: Option<EffectPattern>,
    json: bool,
) -> Result<(), Failure> {
    let folder = absolute(".".into())?;
    let known = match known(runtime, plugin, &folder).await {
        Ok(known) => Some(known),
        // Of one that is gone there may still be answers.
        Err(error) => match PluginId::new(plugin) {
            Ok(id) if !runtime.memory().answers_about(&id).await?.is_empty() => None,
            Ok(_) | Err(_) => return Err(error),
        },
    };
    let id = match &known {
        Some(known) => known.plugin.id().clone(),
        None => PluginId::new(plugin).map_err(|error| Failure::usage(error.to_string()))?,
    };
    let effect = effect.unwrap_or_else(EffectPattern::everything);
    let mut answers = runtime.memory().answers_about(&id).await?;
    answers.retain(|answer| answer.allowed && answer.meets(&effect));
    let granted = known.as_ref().map(|known| known.grants.granted.as_slice()).unwrap_or_default();
    let denied = known.as_ref().filter(|_| granted.iter().any(|right| effect.may_need(right)));
    if answers.is_empty() && denied.is_none() {
        return Err(Failure::new(format!("`{id}` was granted nothing that `{effect}` is about"))
            .hint(format!("`acp-runtime plugin info {id}` lists what it was granted")));
    }
    for answer in &answers {
        if let Ok(about) = EffectPattern::parse(&answer.typed()) {
            note(runtime, &id, &about, answer.scope(), Verdict::TakenBack);
        }
    }
    let taken: Vec<String> = answers.iter().map(told).collect();
    runtime.memory().forget_answers(answers).await?;
    if let Some(known) = denied {
        runtime.deny_everywhere(&Subject::plugin(known.identity()), &effect).await?;
        note(runtime, &id, &effect, Scope::User, Verdict::Denied);
    }
    let mut out = io::stdout();
    if json {
        let denied = denied.map(|_| effect.to_string());
        writeln!(out, "{}", json!({ "id": id, "revoked": taken, "denied": denied }))?;
        return Ok(());
    }
    for answer in taken {
        writeln!(out, "revoked {answer}")?;
    }
    let mut err = io::stderr();
    if denied.is_some() {
        writeln!(out, "denied {effect} to {id} in all projects")?;
        writeln!(err, "hint: `acp-runtime plugin grant {id} {effect}` takes that back")?;
    }
    if effect.class().is_none() && granted.iter().any(|right| matches!(right, Grant::Hook(_))) {
        writeln!(err, "hint: it is still told of events; `plugins.disabled = [\"{id}\"]` ends that")?;
    }
    Ok(())
}

/// Takes back what a plugin was allowed that is gone: one that comes back under its name begins anew. What it was denied
/// stays so.
pub(super) async fn forget(runtime: &Runtime, id: &PluginId) -> Result<(), Failure> {
    let mut answers = runtime.memory().answers_about(id).await?;
    answers.retain(|answer| answer.allowed);
    for answer in &answers {
        if let Ok(about) = EffectPattern::parse(&answer.typed()) {
            note(runtime, id, &about, answer.scope(), Verdict::TakenBack);
        }
    }
    Ok(runtime.memory().forget_answers(answers).await?)
}

/// An answer with the place that it holds in.
pub(super) fn told(answer: &Answer) -> String {
    match &answer.project {
        Some(project) => format!("{} (in {})", answer.typed(), harmless(project)),
        None => format!("{} (in all projects)", answer.typed()),
    }
}

/// The plugin that is meant: one of this process, or of the project in `folder`, where that is trusted.
pub(in crate::cli) async fn known(runtime: &Runtime, plugin: &str, folder: &str) -> Result<KnownPlugin, Failure> {
    // What is worked on is granted what it has when that begins.
    let there = runtime.shelf().contents();
    match meant(&there.plugins, plugin).as_slice() {
        [known] => return Ok((*known).clone()),
        [] => {}
        several => return Err(ambiguous(plugin, several)),
    }
    let mut own = runtime.plugins_of_project(folder).await;
    own.retain(|known| known.plugin.id().as_str() == plugin || known.plugin.id().name() == plugin);
    own.pop().ok_or_else(|| unknown(&there.plugins, plugin))
}

fn note(runtime: &Runtime, id: &PluginId, effect: &EffectPattern, scope: Scope, verdict: Verdict) {
    let settled =
        Settled { subject: &format!("plugin {id}"), plugin: Some(id), about: &effect.to_string(), scope, verdict };
    runtime.audit().settled(None, &settled);
}
