//! The secrets that plugins may have sent: which rule stops each, where one does.

use std::collections::BTreeSet;

use acp_runtime_agent::capability::{Effect, Grant, SecretName, SecretRight};

use super::Check;
use crate::compose::{KnownPlugin, Runtime};

/// A line for each secret of each plugin.
pub(super) fn secrets(runtime: &Runtime) -> Vec<Check> {
    // That they cannot be read is said elsewhere.
    let kept: BTreeSet<SecretName> =
        runtime.keys.secrets().list().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    let plugins = runtime.shelf.plugins().iter();
    plugins.flat_map(|known| rights(known).map(|right| check(known, right, &kept)).collect::<Vec<_>>()).collect()
}

fn rights(known: &KnownPlugin) -> impl Iterator<Item = &SecretRight> {
    known.plugin.manifest().capabilities.iter().filter_map(|asked| match &asked.grant {
        Grant::Secret(right) => Some(right),
        Grant::Read(_)
        | Grant::Write(_)
        | Grant::Net(_)
        | Grant::Run(_)
        | Grant::Kv
        | Grant::OwnFiles(_)
        | Grant::ReadSession
        | Grant::Prompt
        | Grant::Hook(_) => None,
    })
}

fn check(known: &KnownPlugin, right: &SecretRight, kept: &BTreeSet<SecretName>) -> Check {
    let (id, grants) = (known.plugin.id(), &known.grants);
    let what = format!("`{id}` has `{}` sent to `{}`", right.name.handle(), right.audience);
    let reaches = right.audience.request().is_some_and(|request| grants.grants(&Effect::Fetch(request)));
    if !grants.grants(&Effect::UseSecret(right.name.clone())) {
        let why = format!("{what}: it was not granted that, so it is not sent");
        return Check::warn("plugins", why, "install the plugin anew and grant it, if that is wanted");
    }
    if !reaches {
        let why = format!("{what}: it may not talk to that host, so it is not sent");
        return Check::warn(
            "plugins",
            why,
            "install the plugin anew and grant it `net` for that host, if that is wanted",
        );
    }
    if !kept.contains(&right.name) {
        return Check::ok(
            "plugins",
            format!("{what}: none is kept (`acp-runtime secret set {}` keeps one)", right.name),
        );
    }
    Check::ok("plugins", format!("{what}: it is kept"))
}
