//! The grant book of one session: the plugins' rights, and what the person answered: for this session, for good in this
//! project, or for good in all.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::capability::{Effect, EffectPattern, GrantSet, PluginId, Roots};
use acp_runtime_agent::gate::{GrantBook, Introduction, Origin, Refused, Remembered, Scope};
use acp_runtime_agent::store::StoreError;
use acp_runtime_host::package::{Digest, capability_hash};
use acp_runtime_host::plugin_host::Plugin;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{KnownPlugin, Runtime, shelf};
use crate::store::{Answers, PluginIdentity, SqliteStore, Subject};

pub(super) struct Book {
    plugins: HashMap<PluginId, Known>,
    answers: Answers,
    /// What was answered for this session alone, oldest first.
    passing: Mutex<Vec<Passing>>,
}

struct Known {
    plugin: Arc<Plugin>,
    grants: GrantSet,
    identity: PluginIdentity,
    origin: shelf::Origin,
    /// Who stands for it, for people.
    publisher: String,
}

/// An answer that ends with the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passing {
    /// Whom it is about: `tool write_file`, `plugin aar:notes`.
    pub(super) subject: String,
    /// What it is about.
    pub(super) pattern: EffectPattern,
    /// Yes or no.
    pub(super) allowed: bool,
}

impl Book {
    pub(super) fn new(plugins: &[KnownPlugin], answers: Answers) -> Self {
        let known = |known: &KnownPlugin| Known {
            plugin: known.plugin.clone(),
            grants: known.grants.clone(),
            identity: known.identity(),
            origin: known.origin,
            publisher: known.whose(),
        };
        let plugins = plugins.iter().map(|plugin| (plugin.plugin.id().clone(), known(plugin))).collect();
        Self { plugins, answers, passing: Mutex::default() }
    }

    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    pub(super) fn plugins(&self) -> impl Iterator<Item = &PluginId> {
        self.plugins.keys()
    }

    /// Whom an answer to that origin is about.
    pub(super) fn subject(&self, origin: &Origin) -> Subject {
        let known = origin.plugin().and_then(|plugin| self.plugins.get(plugin));
        Subject { name: origin.subject(), plugin: known.map(|known| known.identity.clone()) }
    }

    /// Whether the manifest of `plugin` asks for something of what the pattern is about; so it is where it is not known.
    pub(super) fn asks_for(&self, plugin: &PluginId, pattern: &EffectPattern) -> bool {
        let known = self.plugins.get(plugin);
        known.is_none_or(|known| known.grants.ceiling.iter().any(|right| pattern.may_need(right)))
    }

    /// Answers for everything that the pattern covers.
    pub(super) async fn decide(
        &self,
        subject: &Subject,
        pattern: &EffectPattern,
        allowed: bool,
        scope: Scope,
    ) -> Result<(), StoreError> {
        match scope {
            Scope::Session => {
                let passing = Passing { subject: subject.name.clone(), pattern: pattern.clone(), allowed };
                let mut all = self.passing();
                all.retain(|other| other.subject != passing.subject || other.pattern != passing.pattern);
                all.push(passing);
                Ok(())
            }
            Scope::Project => self.answers.decide(subject, pattern, allowed, false).await,
            Scope::User => self.answers.decide(subject, pattern, allowed, true).await,
        }
    }

    /// What was answered for this session alone.
    pub(super) fn passed(&self) -> Vec<Passing> {
        self.passing().clone()
    }

    /// Forgets what was answered for this session alone.
    pub(super) fn forget(&self, forgotten: &[Passing]) {
        self.passing().retain(|passing| !forgotten.contains(passing));
    }

    fn passing(&self) -> MutexGuard<'_, Vec<Passing>> {
        self.passing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What of these answers is about that effect of that subject; a no goes first.
    fn of_session(&self, passing: &[Passing], subject: &Subject, effect: &Effect) -> Option<Remembered> {
        let applying = passing.iter().filter(|passing| {
            let Passing { subject: name, pattern, allowed } = passing;
            *name == subject.name && self.answers.would_hold(pattern, *allowed, subject, effect)
        });
        let Passing { pattern, allowed, .. } = applying.min_by_key(|passing| passing.allowed)?;
        Some(Remembered { allowed: *allowed, about: pattern.to_string(), scope: Scope::Session })
    }
}

impl KnownPlugin {
    /// What makes it the one that was answered for: who stands for it and which rights it asks for. Nobody stands for a
    /// project's own plugin, so of that it is each byte. An answer about a bundled plugin says nothing about one of the same
    /// id from elsewhere, and one about a publisher's nothing about another publisher's.
    pub fn identity(&self) -> PluginIdentity {
        let manifest = self.plugin.manifest();
        let (publisher, key) =
            (format!("{} {}", self.origin.as_str(), manifest.id.namespace()), self.plugin.origin().key());
        let mut capabilities = capability_hash(manifest);
        if self.origin == shelf::Origin::Project {
            // Of what cannot be read no other answer is ever found.
            let content = self.plugin.digest().map_or_else(|_| uuid::Uuid::now_v7().to_string(), |it| it.to_string());
            capabilities = Digest::of(format!("{capabilities} {content}").as_bytes());
        }
        PluginIdentity {
            publisher: key.map_or(publisher.clone(), |key| format!("{publisher} {key}")),
            id: manifest.id.clone(),
            capabilities: capabilities.hex(),
        }
    }

    /// Who stands for it, in a few words for people.
    pub fn whose(&self) -> String {
        match self.plugin.origin().key() {
            Some(key) => format!("signed by whoever has the key {key}"),
            None => self.origin.meaning().to_owned(),
        }
    }

    /// Whether it is what its name says: nobody builds it anew under the same one.
    pub fn is_settled(&self) -> bool {
        is_settled(self.origin)
    }
}

fn is_settled(origin: shelf::Origin) -> bool {
    match origin {
        // What changes under a project's name is not loaded.
        shelf::Origin::Bundled | shelf::Origin::Installed | shelf::Origin::Project => true,
        shelf::Origin::Named | shelf::Origin::Development => false,
    }
}

impl GrantBook for Book {
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet> {
        self.plugins.get(plugin).map(|known| known.grants.clone())
    }

    fn remembered<'a>(&'a self, origin: &'a Origin, effect: &'a Effect) -> BoxFuture<'a, Option<Remembered>> {
        async move {
            let subject = self.subject(origin);
            let kept = self.answers.remembered(&subject, effect).await;
            let passing = self.of_session(&self.passing(), &subject, effect);
            passing.into_iter().chain(kept).min_by_key(|answer| (answer.allowed, answer.scope))
        }
        .boxed()
    }

    fn refused<'a>(&'a self, origin: &'a Origin) -> BoxFuture<'a, Refused> {
        async move {
            let subject = self.subject(origin);
            let kept = self.answers.refused(&subject).await;
            let (answers, mut passing) = (self.answers.clone(), self.passed());
            passing.retain(|passing| !passing.allowed && passing.subject == subject.name);
            let refused: Refused = Arc::new(move |effect| {
                let refusing = || {
                    let holds = |passing: &&Passing| answers.would_hold(&passing.pattern, false, &subject, effect);
                    passing.iter().find(holds).map(|passing| passing.pattern.to_string())
                };
                kept(effect).or_else(refusing)
            });
            refused
        }
        .boxed()
    }

    fn introduces(&self, plugin: &PluginId, effect: &Effect) -> Option<Introduction> {
        let Known { plugin, publisher, .. } = self.plugins.get(plugin)?;
        let manifest = plugin.manifest();
        let asked = manifest.capabilities.iter().find(|asked| asked.grant.covers(effect));
        Some(Introduction {
            publisher: publisher.clone(),
            version: manifest.version.to_string(),
            reason: asked.map(|asked| asked.reason.clone()),
        })
    }

    fn keeps(&self, origin: &Origin) -> bool {
        match origin {
            Origin::Plugin { plugin, .. } => self.plugins.get(plugin).is_some_and(|known| is_settled(known.origin)),
            Origin::Model { .. } | Origin::Panel(_) | Origin::Command(_) | Origin::Prompt => true,
        }
    }

    fn remember<'a>(&'a self, origin: &'a Origin, effect: &'a Effect, allowed: bool) -> BoxFuture<'a, ()> {
        async move { self.answers.remember(&self.subject(origin), effect, allowed).await }.boxed()
    }
}

impl Runtime {
    /// Where it is kept which projects are trusted, and what was answered for good.
    pub fn memory(&self) -> &SqliteStore {
        &self.store
    }

    /// Allows a plugin something for good, in the project in `folder` or in all of them.
    pub async fn decide_in(
        &self,
        folder: &Path,
        subject: &Subject,
        effect: &EffectPattern,
        scope: Scope,
    ) -> Result<(), StoreError> {
        let roots = match self.folders.open(folder) {
            Ok(root) => Roots::new([(root.path.clone(), root.canonical.clone())]),
            Err(_) => Roots::new([(folder.to_owned(), folder.to_owned())]),
        };
        Answers::new(self.store.clone(), roots).decide(subject, effect, true, scope == Scope::User).await
    }

    /// Denies a plugin something for good, in all projects.
    pub async fn deny_everywhere(&self, subject: &Subject, effect: &EffectPattern) -> Result<(), StoreError> {
        Answers::new(self.store.clone(), Roots::default()).decide(subject, effect, false, true).await
    }
}
