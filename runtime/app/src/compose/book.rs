//! The grant book of one session: the plugins' rights, and what the person answered for good in this project.

use std::collections::HashMap;

use acp_runtime_agent::capability::{Effect, Grant, GrantSet, PluginId};
use acp_runtime_agent::gate::{GrantBook, Origin, Refused, Remembered};
use acp_runtime_host::package::Digest;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{KnownPlugin, shelf};
use crate::store::{Answers, PluginIdentity, Subject};

pub(super) struct Book {
    plugins: HashMap<PluginId, Known>,
    answers: Answers,
}

struct Known {
    grants: GrantSet,
    identity: PluginIdentity,
    /// It is what its name says: nobody builds it anew under the same one.
    settled: bool,
}

impl Book {
    pub(super) fn new(plugins: &[KnownPlugin], answers: Answers) -> Self {
        let known = |plugin: &KnownPlugin| Known {
            grants: plugin.grants.clone(),
            identity: identity(plugin),
            settled: match plugin.origin {
                // What changes under a project's name is not loaded.
                shelf::Origin::Bundled | shelf::Origin::Installed | shelf::Origin::Project => true,
                shelf::Origin::Named => false,
            },
        };
        let plugins = plugins.iter().map(|plugin| (plugin.plugin.id().clone(), known(plugin))).collect();
        Self { plugins, answers }
    }

    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    pub(super) fn plugins(&self) -> impl Iterator<Item = &PluginId> {
        self.plugins.keys()
    }

    /// Whom an answer to that origin is about.
    pub(super) fn subject(&self, origin: &Origin) -> Subject {
        let known = match origin {
            Origin::Plugin { plugin, .. } => self.plugins.get(plugin),
            Origin::Model { .. } | Origin::Panel(_) | Origin::Command(_) | Origin::Prompt => None,
        };
        Subject { name: origin.subject(), plugin: known.map(|known| known.identity.clone()) }
    }
}

/// An answer about a bundled plugin says nothing about one of the same id from elsewhere.
fn identity(known: &KnownPlugin) -> PluginIdentity {
    let manifest = known.plugin.manifest();
    PluginIdentity {
        publisher: format!("{} {}", known.origin.as_str(), manifest.id.namespace()),
        id: manifest.id.clone(),
        capabilities: digest(manifest.ceiling()),
    }
}

/// Of rights, in whatever order.
fn digest(rights: Vec<Grant>) -> String {
    let mut lines: Vec<String> = rights.iter().map(ToString::to_string).collect();
    lines.sort_unstable();
    Digest::of(lines.join("\n").as_bytes()).hex()
}

impl GrantBook for Book {
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet> {
        self.plugins.get(plugin).map(|known| known.grants.clone())
    }

    fn remembered<'a>(&'a self, origin: &'a Origin, effect: &'a Effect) -> BoxFuture<'a, Option<Remembered>> {
        async move { self.answers.remembered(&self.subject(origin), effect).await }.boxed()
    }

    fn refused<'a>(&'a self, origin: &'a Origin) -> BoxFuture<'a, Refused> {
        async move { self.answers.refused(&self.subject(origin)).await }.boxed()
    }

    fn keeps(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Plugin { plugin, .. } => self.plugins.get(plugin).is_some_and(|known| known.settled),
            Origin::Model { .. } | Origin::Panel(_) | Origin::Command(_) | Origin::Prompt => true,
        }
    }

    fn remember<'a>(&'a self, origin: &'a Origin, effect: &'a Effect, allowed: bool) -> BoxFuture<'a, ()> {
        async move { self.answers.remember(&self.subject(origin), effect, allowed).await }.boxed()
    }
}
