//! What a person has answered for good: this subject may, or may not, do this in this project, or in all of them.
//!
//! An answer is about one exact effect, or, typed by the person, about all that a pattern covers. A yes about a plugin
//! holds while the plugin has the same publisher and asks for the same rights; a no holds for whatever has its id. Nothing
//! is held in memory: what one session remembers or takes back holds at once for all, in other processes too. Knows nothing
//! about which answers may be remembered; the gate decides that.

use std::sync::Arc;
use std::time::SystemTime;

use acp_runtime_agent::capability::{Effect, EffectPattern, PluginId, RootId, Roots, Touched, WorkspacePath};
use acp_runtime_agent::gate::{Refused, Remembered, Scope};
use acp_runtime_agent::store::StoreError;
use rusqlite::{Connection, Row, params};

use super::schema::Fault;
use super::{SqliteStore, journal};

/// In the place of an effect's class: the key is a pattern.
const PATTERN: &str = "pattern";
/// In the place of a project: in all of them. No folder is called so.
const EVERYWHERE: &str = "*";

/// The remembered answers of one project; cheap to clone.
#[derive(Clone)]
pub struct Answers {
    store: SqliteStore,
    roots: Roots,
}

/// Whom an answer is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `tool write_file`, `plugin aar:notes`.
    pub name: String,
    /// Where it is a plugin.
    pub plugin: Option<PluginIdentity>,
}

/// What makes a plugin the one that was answered for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Who stands for it.
    pub publisher: String,
    /// Its id.
    pub id: PluginId,
    /// A digest of the rights that it asks for, and of what else must stay the same.
    pub capabilities: String,
}

impl Subject {
    /// The plugin that is known as this.
    pub fn plugin(identity: PluginIdentity) -> Self {
        Self { name: format!("plugin {}", identity.id), plugin: Some(identity) }
    }
}

/// A remembered answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whom it is about: `tool write_file`, `plugin aar:notes`.
    pub subject: String,
    /// What it is about, such as ``write `a.txt` ``, or a pattern.
    pub effects: String,
    /// Yes or no.
    pub allowed: bool,
    /// When it was given.
    pub since: SystemTime,
    /// The project that it holds in; none where it holds in all of them.
    pub project: Option<String>,
    class: String,
    key: String,
    publisher: Option<String>,
    capabilities: Option<String>,
}

impl Answer {
    /// Whether it is the one about what was typed, as [`Remembered::about`] says it or as it is listed.
    pub fn is_about(&self, text: &str) -> bool {
        text == self.effects || text == typed(&self.class, &self.key)
    }

    /// As it can be typed: `write:notes/**`.
    pub fn typed(&self) -> String {
        typed(&self.class, &self.key)
    }

    /// Where it holds.
    pub fn scope(&self) -> Scope {
        if self.project.is_some() { Scope::Project } else { Scope::User }
    }

    /// Whether it still counts: a yes was given to just this plugin.
    pub fn counts_for(&self, plugin: &PluginIdentity) -> bool {
        let same = self.publisher.as_ref() == Some(&plugin.publisher)
            && self.capabilities.as_ref() == Some(&plugin.capabilities);
        !self.allowed || same
    }

    /// Whether it is about that effect, which is about no file.
    pub fn is_about_effect(&self, effect: &Effect) -> bool {
        match EffectPattern::parse(&self.typed()) {
            Ok(pattern) if self.allowed => pattern.covers(effect),
            Ok(pattern) => pattern.touches(effect),
            Err(_) => !self.allowed,
        }
    }

    /// Whether what it is about and what `pattern` is about have something in common.
    pub fn meets(&self, pattern: &EffectPattern) -> bool {
        // One that cannot be read was written by a version that knew more.
        self.typed() == pattern.to_string()
            || EffectPattern::parse(&self.typed()).map_or(true, |own| own.meets(pattern))
    }

    /// Whether it is about that plugin.
    pub fn is_about_plugin(&self, id: &PluginId) -> bool {
        self.subject.strip_prefix("plugin ") == Some(id.as_str())
    }

    /// Whether it is about a plugin.
    pub fn is_about_a_plugin(&self) -> bool {
        self.subject.starts_with("plugin ")
    }
}

impl Answers {
    /// Those of the project whose folder is the first of `roots`.
    pub fn new(store: SqliteStore, roots: Roots) -> Self {
        Self { store, roots }
    }

    /// The answer to this very question: yes, no, or none. Of several, a no goes first, and then the narrowest. A store that
    /// cannot be read has none, so the person is asked again.
    pub async fn remembered(&self, subject: &Subject, effect: &Effect) -> Option<Remembered> {
        let kept = self.about(subject).await;
        let applying = kept.into_iter().filter(|kept| kept.applies(effect, &self.roots, subject));
        let answer = applying.min_by_key(|kept| (kept.allowed, kept.scope))?;
        Some(Remembered { allowed: answer.allowed, about: typed(&answer.class, &answer.key), scope: answer.scope })
    }

    /// What was refused to the subject, as it is now: the answer that refuses an effect, as it can be typed.
    pub async fn refused(&self, subject: &Subject) -> Refused {
        let mut refused = self.about(subject).await;
        refused.retain(|kept| !kept.allowed);
        let (roots, subject) = (self.roots.clone(), subject.clone());
        Arc::new(move |effect: &Effect| {
            let refusing = refused.iter().find(|kept| kept.applies(effect, &roots, &subject))?;
            Some(typed(&refusing.class, &refusing.key))
        })
    }

    /// Of an answer that is not kept: whether `pattern` answers for that effect of that subject.
    pub fn would_hold(&self, pattern: &EffectPattern, allowed: bool, subject: &Subject, effect: &Effect) -> bool {
        let kept = Kept { class: PATTERN.to_owned(), key: pattern.to_string(), allowed, scope: Scope::Session };
        kept.applies(effect, &self.roots, subject)
    }

    /// What is kept about the subject; nothing where the store cannot be read.
    async fn about(&self, subject: &Subject) -> Vec<Kept> {
        let (project, subject) = (self.project(), subject.clone());
        let found = self.store.0.reader.submit(move |db| about(db, &project, &subject));
        found.await.unwrap_or_else(|error| {
            tracing::warn!("remembered answers are not available: {error}");
            Vec::new()
        })
    }

    /// Remembers the answer to this very question. One that cannot be kept is asked for again.
    pub async fn remember(&self, subject: &Subject, effect: &Effect, allowed: bool) {
        let (class, key) = exactly(effect, &self.roots);
        if let Err(error) = self.keep(self.project(), subject, class, key, allowed).await {
            tracing::warn!("the answer is not remembered: {error}");
        }
    }

    /// Answers for everything that the pattern covers in the folder of the project, or of each.
    pub async fn decide(
        &self,
        subject: &Subject,
        pattern: &EffectPattern,
        allowed: bool,
        everywhere: bool,
    ) -> Result<(), StoreError> {
        let project = if everywhere { EVERYWHERE.to_owned() } else { self.project() };
        self.keep(project, subject, PATTERN, pattern.to_string(), allowed).await
    }

    /// All of the project and of all projects, oldest first.
    pub async fn list(&self) -> Result<Vec<Answer>, StoreError> {
        self.store.answers("project IN (?1, ?2)", [self.project(), EVERYWHERE.to_owned()]).await
    }

    /// Forgets answers: what they were about is asked for again.
    pub async fn revoke(&self, answers: Vec<Answer>) -> Result<(), StoreError> {
        self.store.forget_answers(answers).await
    }

    async fn keep(
        &self,
        project: String,
        subject: &Subject,
        class: &str,
        key: String,
        allowed: bool,
    ) -> Result<(), StoreError> {
        let class = class.to_owned();
        let Subject { name, plugin } = subject.clone();
        self.store
            .0
            .writer
            .submit(move |db| {
                let plugin = plugin.as_ref();
                db.prepare_cached(
                    "INSERT INTO answer
                     (project, subject, effect_class, effect_key, allowed, created, publisher, plugin, capability_hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT DO UPDATE SET allowed = excluded.allowed, created = excluded.created,
                     publisher = excluded.publisher, plugin = excluded.plugin,
                     capability_hash = excluded.capability_hash",
                )?
                .execute(params![
                    project,
                    name,
                    class,
                    key,
                    allowed,
                    journal::micros(SystemTime::now()),
                    plugin.map(|plugin| &plugin.publisher),
                    plugin.map(|plugin| plugin.id.as_str()),
                    plugin.map(|plugin| &plugin.capabilities),
                ])?;
                Ok(())
            })
            .await
    }

    fn project(&self) -> String {
        self.roots.get(RootId(0)).map(|root| root.canonical.display().to_string()).unwrap_or_default()
    }
}

impl SqliteStore {
    /// All that was answered about a plugin, in all projects, oldest first.
    pub async fn answers_about(&self, plugin: &PluginId) -> Result<Vec<Answer>, StoreError> {
        let subject = format!("plugin {plugin}");
        self.answers("subject IN (?1, ?2)", [subject.clone(), subject]).await
    }

    /// All that was answered for all projects, oldest first.
    pub async fn answers_everywhere(&self) -> Result<Vec<Answer>, StoreError> {
        self.answers("project IN (?1, ?2)", [EVERYWHERE, EVERYWHERE].map(str::to_owned)).await
    }

    /// Forgets answers: what they were about is asked for again.
    pub async fn forget_answers(&self, answers: Vec<Answer>) -> Result<(), StoreError> {
        let forgotten = self.0.writer.submit(move |db| {
            let mut delete = db.prepare_cached(
                "DELETE FROM answer WHERE project = ?1 AND subject = ?2 AND effect_class = ?3 AND effect_key = ?4",
            )?;
            for Answer { project, subject, class, key, .. } in &answers {
                delete.execute(params![project.as_deref().unwrap_or(EVERYWHERE), subject, class, key])?;
            }
            Ok(())
        });
        forgotten.await
    }

    async fn answers(&self, which: &'static str, values: [String; 2]) -> Result<Vec<Answer>, StoreError> {
        let found = self.0.reader.submit(move |db| {
            let select = format!(
                "SELECT subject, effect_class, effect_key, allowed, created, project, publisher, capability_hash
                 FROM answer WHERE {which} ORDER BY created, subject, effect_class, effect_key, project"
            );
            let listed = db.prepare_cached(&select)?.query_map(values.each_ref(), answer)?.collect::<Result<_, _>>()?;
            Ok(listed)
        });
        found.await
    }
}

/// An answer about one subject.
struct Kept {
    class: String,
    key: String,
    allowed: bool,
    scope: Scope,
}

impl Kept {
    /// Whether it answers for that effect of that subject.
    fn applies(&self, effect: &Effect, roots: &Roots, subject: &Subject) -> bool {
        let says = |effect: &Effect| {
            if self.class == PATTERN {
                return in_first_root(effect) && pattern_holds(&self.key, effect, self.allowed, subject);
            }
            let (class, key) = exactly(effect, roots);
            self.class == class && self.key == key
        };
        // A yes is about the name that it was given for, a no about the file.
        says(effect) || (!self.allowed && roots.aliases(effect).iter().any(says))
    }
}

/// What an answer is about, to be typed.
fn typed(class: &str, key: &str) -> String {
    match (class, key) {
        (PATTERN, pattern) => pattern.to_owned(),
        (class, "") => class.to_owned(),
        (class, key) => format!("{class}:{key}"),
    }
}

/// The effect's class and key. Numbers of roots mean other folders in the next session, and a server may take back that
/// it only reads: both are spelled out.
fn exactly(effect: &Effect, roots: &Roots) -> (&'static str, String) {
    let in_root = |root: RootId| match roots.get(root) {
        Some(found) if root != RootId(0) => format!("{}/", found.canonical.display()),
        _ => String::new(),
    };
    let path = |path: &WorkspacePath| format!("{}{path}", in_root(path.root()));
    let key = match (effect.touched(), effect) {
        (Touched::Scope(scope), _) => format!("{}{}", in_root(scope.root), scope.glob),
        (Touched::Places { from, to }, _) => format!("{} -> {}", path(from), path(to)),
        (Touched::Nothing, Effect::CallServer { read_only: true, .. }) => format!("{} read-only", effect.key()),
        (Touched::Nothing, _) => effect.key(),
    };
    (effect.class(), key)
}

/// What was answered about that subject, as it is now. A yes is for just this plugin; a no stays when its code or its
/// publisher becomes another one.
fn about(db: &Connection, project: &str, subject: &Subject) -> Result<Vec<Kept>, Fault> {
    let plugin = subject.plugin.as_ref();
    let kept = db
        .prepare_cached(
            "SELECT effect_class, effect_key, allowed, project FROM answer
             WHERE project IN (?1, ?6) AND subject = ?2
                 AND (allowed = 0 OR (publisher IS ?3 AND plugin IS ?4 AND capability_hash IS ?5))",
        )?
        .query_map(
            params![
                project,
                subject.name,
                plugin.map(|plugin| &plugin.publisher),
                plugin.map(|plugin| plugin.id.as_str()),
                plugin.map(|plugin| &plugin.capabilities),
                EVERYWHERE,
            ],
            |row| {
                let everywhere = row.get::<_, String>(3)? == EVERYWHERE;
                let scope = if everywhere { Scope::User } else { Scope::Project };
                Ok(Kept { class: row.get(0)?, key: row.get(1)?, allowed: row.get(2)?, scope })
            },
        )?
        .collect::<Result<_, _>>()?;
    Ok(kept)
}

fn answer(row: &Row<'_>) -> rusqlite::Result<Answer> {
    let (class, key): (String, String) = (row.get(1)?, row.get(2)?);
    let effects = match (class.as_str(), key.as_str()) {
        (PATTERN, pattern) => pattern.to_owned(),
        (class, "") => class.to_owned(),
        (class, key) => format!("{class} `{key}`"),
    };
    Ok(Answer {
        subject: row.get(0)?,
        effects,
        allowed: row.get(3)?,
        since: journal::time(row.get(4)?),
        project: Some(row.get(5)?).filter(|project| project != EVERYWHERE),
        class,
        key,
        publisher: row.get(6)?,
        capabilities: row.get(7)?,
    })
}

/// A yes needs all of the effect, a no some of it, also of what is in a folder. In a folder that a plugin is lent each
/// path is judged for itself.
fn pattern_holds(pattern: &str, effect: &Effect, allowed: bool, subject: &Subject) -> bool {
    match EffectPattern::parse(pattern) {
        Ok(pattern) if allowed => pattern.covers(effect),
        Ok(pattern) if subject.plugin.is_some() => pattern.touches(effect),
        Ok(pattern) => pattern.may_touch(effect),
        // Written by a version that knew more.
        Err(_) => !allowed,
    }
}

/// A pattern says nothing of other folders: they may be others in the next session.
fn in_first_root(effect: &Effect) -> bool {
    let first = |root: RootId| root == RootId(0);
    match effect.touched() {
        Touched::Scope(scope) => first(scope.root),
        Touched::Places { from, to } => first(from.root()) && first(to.root()),
        Touched::Nothing => true,
    }
}

#[cfg(test)]
mod tests;
