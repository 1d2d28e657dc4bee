//! The files of a session's roots on this machine's disk.
//!
//! Every access goes through a directory handle that was opened for the root, with the containment of `cap-std`: `..`,
//! absolute paths, links that point out (an absolute target counts as out), magic links of `/proc` and races between
//! check and use lead nowhere. Where the kernel makes the files up nothing is read, also below a root such as `/`. What is on the deny list is refused under whatever name it is reached. Work that waits
//! for the disk runs off the async threads. Knows nothing about editors, sessions or why a permit was given. Tested by
//! attacks on a real folder.

mod file;
mod folder;
mod place;
mod root;
mod search;

use std::path::PathBuf;
use std::sync::Arc;

use acp_runtime_agent::capability::{Effect, PathGlob, RootId, Roots, WorkspacePath};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::workspace::{Entry, Found, Search, Workspace, WorkspaceError, require};
use cap_std::fs::Dir;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::place::Place;
pub use self::root::{OpenRoot, RootError, RootRegistry};

/// The roots of one session, opened.
pub struct DiskWorkspace {
    roots: Roots,
    handles: Vec<Arc<Dir>>,
    denied: Arc<[PathGlob]>,
}

impl DiskWorkspace {
    /// Opens `folders`, the session's `cwd` first. `denied`: paths of any root that stay closed by whatever name.
    pub fn open(registry: &RootRegistry, folders: &[PathBuf], denied: Arc<[PathGlob]>) -> Result<Self, RootError> {
        let open: Vec<OpenRoot> = folders.iter().map(|folder| registry.open(folder)).collect::<Result<_, _>>()?;
        let roots = Roots::new(folders.iter().cloned().zip(open.iter().map(|root| root.canonical.clone())));
        Ok(Self { roots, handles: open.into_iter().map(|root| root.handle).collect(), denied })
    }

    /// The roots, in the client's spelling.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// The held handle of a root, for what is made from it.
    pub fn handle(&self, root: RootId) -> Option<&Arc<Dir>> {
        self.handles.get(usize::from(root.0))
    }

    fn place(&self, path: &WorkspacePath) -> Result<Place, WorkspaceError> {
        let shown = self.roots.spell(path);
        let root = self.handle(path.root()).ok_or_else(|| WorkspaceError::Outside(shown.clone()))?.clone();
        Ok(Place { root, path: path.clone(), shown, denied: self.denied.clone() })
    }
}

impl Workspace for DiskWorkspace {
    fn read<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        async move {
            require(permit, &Effect::Read(path.scope()))?;
            let place = self.place(path)?;
            off_thread(move || file::read(&place)).await
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
            require(permit, &Effect::Write(path.scope()))?;
            let place = self.place(path)?;
            let text = text.to_owned();
            off_thread(move || file::write(&place, &text)).await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, permit: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move {
            require(permit, &Effect::Delete(path.scope()))?;
            let with_all = permit.covers(&Effect::Delete(path.subtree()));
            let place = self.place(path)?;
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
            let (from, to) = (self.place(from)?, self.place(to)?);
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
            require(permit, &Effect::Read(path.scope()))?;
            let place = self.place(path)?;
            off_thread(move || folder::list(&place)).await
        }
        .boxed()
    }

    fn search<'a>(&'a self, permit: &'a Permit, search: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>> {
        async move {
            require(permit, &Effect::Read(search.under.subtree()))?;
            let place = self.place(&search.under)?;
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
