//! What was granted and what was answered, as a port: a plugin's rights, and answers that hold longer than a question.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::{Origin, Refused};
use crate::capability::{Effect, GrantSet, PluginId};

/// How long, and where, an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// In one session, while this process has it.
    Session,
    /// In all sessions of a project.
    Project,
    /// In all projects of this user.
    User,
}

impl Scope {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Session, Self::Project, Self::User];

    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Project => "project",
            Self::User => "user",
        }
    }

    /// The scope of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == id)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a plugin is introduced to the person who is asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// Who stands for it, in words.
    pub publisher: String,
    /// Its version.
    pub version: String,
    /// Why it needs what it wants, in its own words; none where it says nothing of that.
    pub reason: Option<String>,
}

/// An answer that holds longer than a question. A yes is also a right, where the plugin's manifest asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Yes or no.
    pub allowed: bool,
    /// What it is about, as it can be typed: `read:secret/**`.
    pub about: String,
    /// How long it holds.
    pub scope: Scope,
}

/// What was granted and remembered. A book without a memory asks each time.
pub trait GrantBook: Send + Sync {
    /// The rights of a plugin; none where it is not known.
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet>;

    /// A remembered answer.
    fn remembered<'a>(&'a self, origin: &'a Origin, effect: &'a Effect) -> BoxFuture<'a, Option<Remembered>> {
        let _ = (origin, effect);
        Box::pin(async { None })
    }

    /// What was refused to `origin` for good, as it is now; nothing where there is no memory.
    fn refused<'a>(&'a self, origin: &'a Origin) -> BoxFuture<'a, Refused> {
        let _ = origin;
        Box::pin(async {
            let nothing: Refused = Arc::new(|_| None);
            nothing
        })
    }

    /// How `plugin`, which wants `effect`, is introduced; none where it is not known.
    fn introduces(&self, plugin: &PluginId, effect: &Effect) -> Option<Introduction> {
        let _ = (plugin, effect);
        None
    }

    /// Whether a yes may be remembered for longer than a session: not for code that changes under its name.
    fn keeps(&self, origin: &Origin) -> bool {
        let _ = origin;
        false
    }

    /// Remembers an answer for this project, before the gate goes on.
    fn remember<'a>(&'a self, origin: &'a Origin, effect: &'a Effect, allowed: bool) -> BoxFuture<'a, ()> {
        let _ = (origin, effect, allowed);
        Box::pin(async {})
    }
}
