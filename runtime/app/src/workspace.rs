//! The files of a session's roots on this machine's disk.
//!
//! Every access goes through a directory handle that was opened for the root, with the containment of `cap-std`: `..`,
//! absolute paths, links that point out (an absolute target counts as out), magic links of `/proc` and races between
//! check and use lead nowhere. Links inside a root are followed when a path is judged and once more when it is used;
//! between looking and opening no link is followed at all, so what is opened is what was allowed. What is denied to
//! everyone is refused under whatever name it is reached, and not listed. Where the kernel makes the files up nothing is
//! read, also below a root such as `/`. Work that waits for the disk runs off the async threads. Knows nothing about
//! editors, sessions or why a permit was given. Tested by attacks on a real folder.

mod encoding;
mod file;
mod folder;
mod place;
mod root;
mod search;

use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, RootId, Roots, WorkspacePath};
use acp_runtime_agent::context::ProjectFiles;
use acp_runtime_agent::gate::{Ground, Permit};
use acp_runtime_agent::policy::Policy;
use acp_runtime_agent::workspace::{Entry, Excerpt, Found, LineRange, Search, Workspace, WorkspaceError, require};
use cap_std::fs::Dir;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::place::{Follow, Place};
pub use self::root::{OpenRoot, RootError, RootRegistry};

/// The roots of one session, opened.
pub struct DiskWorkspace {
    roots: Roots,
    handles: Vec<Arc<Dir>>,
    policy: Arc<Policy>,
}

impl DiskWorkspace {
    /// Over the folders `open`, the session's `cwd` first. What `policy` denies to everyone stays closed, under every
    /// name that it has where some of the folders lie in others.
    pub fn new(open: Vec<OpenRoot>, policy: Policy) -> Self {
        let roots = Roots::new(open.iter().map(|root| (root.path.clone(), root.canonical.clone())));
        let policy = Arc::new(policy.among(roots.clone()));
        Self { roots, handles: open.into_iter().map(|root| root.handle).collect(), policy }
    }

    /// The policy among these folders: the one to judge by whatever is done in them.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The roots, in the client's spelling.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// The held handle of a root, for what is made from it.
    pub fn handle(&self, root: RootId) -> Option<&Arc<Dir>> {
        self.handles.get(usize::from(root.0))
    }

    /// Where that leads now.
    async fn place(&self, path: &WorkspacePath, follow: Follow) -> Result<Place, WorkspaceError> {
        let shown = self.roots.spell(path);
        let root = self.handle(path.root()).ok_or_else(|| WorkspaceError::Outside(shown.clone()))?.clone();
        let place = Place { root, path: path.clone(), real: path.clone(), shown, policy: self.policy.clone() };
        off_thread(move || place.led(follow)).await
    }

    /// The place of something that is done there, which `permit` must allow by its name and where that leads.
    async fn allowed(
        &self,
        permit: &Permit,
        path: &WorkspacePath,
        follow: Follow,
        effect: impl Fn(&WorkspacePath) -> Effect,
    ) -> Result<Place, WorkspaceError> {
        require(permit, &effect(path))?;
        let place = self.place(path, follow).await?;
        self.refuse_elsewhere(permit, &effect(&place.real), &place.shown)?;
        Ok(place)
    }

    /// A permit for a folder is none for what is denied to everyone in it.
    fn refuse_elsewhere(&self, permit: &Permit, real: &Effect, shown: &str) -> Result<(), WorkspaceError> {
        if self.policy.forbids(real).is_some() {
            Err(WorkspaceError::Denied(shown.to_owned()))
        } else if permit.reaches(real) {
            Ok(())
        } else {
            Err(WorkspaceError::LeadsElsewhere(shown.to_owned()))
        }
    }
}

impl ProjectFiles for DiskWorkspace {
    /// What is denied to everyone is not read, by whatever name; nobody is asked, since nobody named them.
    fn texts(&self, paths: Vec<WorkspacePath>) -> BoxFuture<'_, Vec<Option<String>>> {
        async move {
            let count = paths.len();
            let places: Vec<Option<Place>> = paths
                .into_iter()
                .map(|path| {
                    let root = self.handle(path.root())?.clone();
                    let (shown, policy) = (self.roots.spell(&path), self.policy.clone());
                    Some(Place { root, path: path.clone(), real: path, shown, policy })
                })
                .collect();
            let read = off_thread(move || Ok(places.into_iter().map(|place| own_text(place?)).collect()));
            read.await.unwrap_or_else(|_| vec![None; count])
        }
        .boxed()
    }
}

/// The text of a file that nobody asked for; none where there is none that may be read.
fn own_text(place: Place) -> Option<String> {
    let forbidden = |path: &WorkspacePath| place.policy.forbids(&Effect::Read(path.scope())).is_some();
    if forbidden(&place.path) {
        return None;
    }
    let place = place.led(Follow::All).ok()?;
    if place.policy.forbids(&Effect::Read(place.real.scope())).is_some() {
        return None;
    }
    match file::read(&place) {
        Ok(text) => Some(text),
        Err(WorkspaceError::NotFound(_) | WorkspaceError::WrongKind { .. }) => None,
        Err(error) => {
            tracing::warn!("the model is not shown a file of the project: {error}");
            None
        }
    }
}

impl Ground for DiskWorkspace {
    fn real<'a>(&'a self, path: &'a WorkspacePath) -> BoxFuture<'a, Option<WorkspacePath>> {
        async move { self.place(path, Follow::All).await.ok().map(|place| place.real) }.boxed()
    }

    fn stamp<'a>(&'a self, real: &'a WorkspacePath) -> BoxFuture<'a, u64> {
        async move {
            match self.place(real, Follow::Entry).await {
                Ok(place) => off_thread(move || Ok(file::stamp(&place))).await.unwrap_or_default(),
                Err(_) => 0,
            }
        }
        .boxed()
    }
}

impl Workspace for DiskWorkspace {
    fn read<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        async move {
            let place = self.allowed(permit, path, Follow::All, |path| Effect::Read(path.scope())).await?;
            off_thread(move || file::read(&place)).await
        }
        .boxed()
    }

    fn read_lines<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        range: LineRange,
    ) -> BoxFuture<'a, Result<Excerpt, WorkspaceError>> {
        async move {
            let place = self.allowed(permit, path, Follow::All, |path| Effect::Read(path.scope())).await?;
            off_thread(move || file::read_lines(&place, range)).await
        }
        .boxed()
    }

    fn write<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            let place = self.allowed(permit, path, Follow::All, |path| Effect::Write(path.scope())).await?;
            let text = text.to_owned();
            off_thread(move || file::write(&place, &text)).await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, permit: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            let place = self.allowed(permit, path, Follow::Entry, |path| Effect::Delete(path.scope())).await?;
            let all = |path: &WorkspacePath| Effect::Delete(path.subtree());
            let with_all = permit.covers(&all(path)) && permit.reaches(&all(&place.real));
            off_thread(move || folder::delete(&place, with_all)).await
        }
        .boxed()
    }

    fn rename<'a>(
        &'a self,
        permit: &'a Permit,
        from: &'a WorkspacePath,
        to: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            require(permit, &Effect::Move { from: from.clone(), to: to.clone() })?;
            let (from, to) = (self.place(from, Follow::Entry).await?, self.place(to, Follow::Entry).await?);
            let real = Effect::Move { from: from.real.clone(), to: to.real.clone() };
            let stays = Effect::Move { from: from.real.clone(), to: from.real.clone() };
            let shown = if self.policy.forbids(&stays).is_some() { &from.shown } else { &to.shown };
            self.refuse_elsewhere(permit, &real, shown)?;
            off_thread(move || folder::rename(&from, &to)).await
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<Vec<Entry>, WorkspaceError>> {
        async move {
            let place = self.allowed(permit, path, Follow::All, |path| Effect::Read(path.scope())).await?;
            off_thread(move || folder::list(&place)).await
        }
        .boxed()
    }

    fn search<'a>(&'a self, permit: &'a Permit, search: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>> {
        async move {
            let place = self.allowed(permit, &search.under, Follow::All, |path| Effect::Read(path.subtree())).await?;
            let search = search.clone();
            let stop = CancellationToken::new();
            // A search that nobody waits for any more ends.
            let _guard = stop.clone().drop_guard();
            off_thread(move || search::search(&place, &search, &stop)).await
        }
        .boxed()
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let stopped = |error: tokio::task::JoinError| {
        Err(WorkspaceError::System { path: ".".to_owned(), reason: format!("the file task did not finish: {error}") })
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(stopped)
}

/// The system's words, without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
pub(crate) mod tests;
