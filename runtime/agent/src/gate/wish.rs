//! What somebody wants to do, as it was named and as it really is.
//!
//! A link in a path is another name for what it leads to. Rules and people speak of the files themselves, so the links
//! are followed before anything is judged, here and nowhere else. Tested with the gate.

use std::fmt;

use futures::future::BoxFuture;

use crate::capability::{Effect, PathScope, Touched, WorkspacePath};
use crate::plain;

/// What the gate has to know of the session's files. By default there are no links, and nothing changes.
pub trait Ground: Send + Sync {
    /// Where the path leads: without links, as far as it exists. None where that cannot be told; what is done there
    /// fails.
    fn real<'a>(&'a self, path: &'a WorkspacePath) -> BoxFuture<'a, Option<WorkspacePath>> {
        Box::pin(async { Some(path.clone()) })
    }

    /// A number that is another one once the file at that real path has changed, appeared or gone.
    fn stamp<'a>(&'a self, real: &'a WorkspacePath) -> BoxFuture<'a, u64> {
        let _ = real;
        Box::pin(async { 0 })
    }
}

/// An effect as it was named, and as it is with the links of its paths followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    /// As it was named.
    pub(super) named: Effect,
    /// What is judged.
    pub(super) real: Effect,
}

impl Wish {
    /// Follows the links of `named`. Where that cannot be done it is judged as it was named: whoever does it looks where
    /// it leads once more.
    pub(super) async fn of(named: Effect, ground: &dyn Ground) -> Self {
        let real = match named.touched() {
            // What is removed may be a link itself.
            Touched::Scope(scope) if matches!(named, Effect::Delete(_)) => {
                named.done_to(scope.rebased(&entry(&scope.base(), ground).await))
            }
            Touched::Scope(scope) => named.done_to(followed(scope, ground).await),
            Touched::Places { from, to } => {
                Effect::Move { from: entry(from, ground).await, to: entry(to, ground).await }
            }
            Touched::Nothing => named.clone(),
        };
        Self { named, real }
    }

    /// Whether a link leads elsewhere.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.named != self.real
    }

    /// A number for what it would change; another one once that has changed.
    pub(super) async fn stamp(&self, ground: &dyn Ground) -> u64 {
        match self.real.scope() {
            Some(scope) if !self.real.is_read() && !scope.glob.is_subtree() => ground.stamp(&scope.base()).await,
            Some(_) | None => 0,
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.real.fmt(f)?;
        if self.is_elsewhere() { write!(f, " (named {})", plain::code(&self.named.key())) } else { Ok(()) }
    }
}

async fn followed(scope: &PathScope, ground: &dyn Ground) -> PathScope {
    match ground.real(&scope.base()).await {
        Some(real) => scope.rebased(&real),
        None => scope.clone(),
    }
}

/// Links are followed up to the entry, which may be one itself: what is removed or moved is the link.
async fn entry(path: &WorkspacePath, ground: &dyn Ground) -> WorkspacePath {
    let Some(parent) = path.parent() else { return path.clone() };
    let real = ground.real(&parent).await.and_then(|folder| folder.join(path.name()).ok());
    real.unwrap_or_else(|| path.clone())
}
