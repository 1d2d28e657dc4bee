//! What a person has answered for good: this subject may, or may not, do this in this project.
//!
//! Answers are looked up while a person could be asked at that moment, so they are read from the file at the first such
//! moment and kept in memory. Knows nothing about which answers may be remembered; the gate decides that.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;

use acp_runtime_agent::capability::{Effect, RootId, Roots, WorkspacePath};
use futures::executor::block_on;
use rusqlite::params;

use super::{SqliteStore, journal};

/// The remembered answers of one project.
pub struct Answers {
    store: SqliteStore,
    roots: Roots,
    /// None until they were read.
    known: RwLock<Option<Known>>,
}

type Known = HashMap<Question, bool>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Question {
    subject: String,
    class: String,
    key: String,
}

impl Answers {
    /// Those of the project whose folder is the first of `roots`. Costs nothing until the first question.
    pub fn new(store: SqliteStore, roots: Roots) -> Self {
        Self { store, roots, known: RwLock::default() }
    }

    /// The answer to this very question: yes, no, or none. A store that cannot be read has none, so the person is
    /// asked again.
    pub fn remembered(&self, subject: &str, effect: &Effect) -> Option<bool> {
        let question = self.question(subject, effect);
        if let Some(known) = &*self.known.read().unwrap_or_else(PoisonError::into_inner) {
            return known.get(&question).copied();
        }
        self.with_known(|known| known.get(&question).copied())
    }

    /// Remembers an answer, at once here and soon in the file.
    pub fn remember(&self, subject: &str, effect: &Effect, allowed: bool) {
        let question = self.question(subject, effect);
        self.with_known(|known| known.insert(question.clone(), allowed));
        let project = self.project();
        // Not waited for; a failure is logged by the writer.
        drop(self.store.0.writer.submit(move |db| {
            db.prepare_cached(
                "INSERT INTO answer (project, subject, effect_class, effect_key, allowed, created)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET allowed = excluded.allowed, created = excluded.created",
            )?
            .execute(params![
                project,
                question.subject,
                question.class,
                question.key,
                allowed,
                journal::micros(SystemTime::now())
            ])?;
            Ok(())
        }));
    }

    fn with_known<T>(&self, use_it: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *known {
            Some(known) => use_it(known),
            none => match self.read() {
                Ok(read) => use_it(none.insert(read)),
                Err(error) => {
                    tracing::warn!("remembered answers are not available: {error}");
                    use_it(&mut Known::new())
                }
            },
        }
    }

    /// Waits for the reader: about a millisecond, once in a session, and right before a person would be asked.
    fn read(&self) -> Result<Known, acp_runtime_agent::store::StoreError> {
        let project = self.project();
        block_on(self.store.0.reader.submit(move |db| {
            let known = db
                .prepare_cached("SELECT subject, effect_class, effect_key, allowed FROM answer WHERE project = ?1")?
                .query_map([project], |row| {
                    Ok((Question { subject: row.get(0)?, class: row.get(1)?, key: row.get(2)? }, row.get(3)?))
                })?
                .collect::<Result<_, _>>()?;
            Ok(known)
        }))
    }

    fn project(&self) -> String {
        self.roots.get(RootId(0)).map(|root| root.canonical.display().to_string()).unwrap_or_default()
    }

    /// Numbers of roots mean other folders in the next session, and a server may take back that it only reads: both
    /// are spelled out.
    fn question(&self, subject: &str, effect: &Effect) -> Question {
        let in_root = |root: RootId| match self.roots.get(root) {
            Some(found) if root != RootId(0) => format!("{}/", found.canonical.display()),
            _ => String::new(),
        };
        let path = |path: &WorkspacePath| format!("{}{path}", in_root(path.root()));
        let key = match effect {
            Effect::Read(scope) | Effect::Write(scope) | Effect::Delete(scope) => {
                format!("{}{}", in_root(scope.root), scope.glob)
            }
            Effect::Move { from, to } => format!("{} -> {}", path(from), path(to)),
            Effect::CallServer { read_only: true, .. } => format!("{} read-only", effect.key()),
            Effect::CallServer { read_only: false, .. }
            | Effect::Run(_)
            | Effect::Fetch(_)
            | Effect::UseSecret(_)
            | Effect::CallPlugin(..)
            | Effect::ReadSession
            | Effect::Kv(_)
            | Effect::Prompt => effect.key(),
        };
        Question { subject: subject.to_owned(), class: effect.class().to_owned(), key }
    }
}
