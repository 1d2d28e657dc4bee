//! A project made of text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::context::ProjectFiles;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::workspace::{Entry, EntryKind, Found, Search, Workspace, WorkspaceError, require};
use futures::future::BoxFuture;

/// The texts of a project's files, by path; everything else is not there, and nothing is written.
#[derive(Default)]
pub struct Files(Arc<Mutex<BTreeMap<String, String>>>);

impl Files {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self(Arc::new(Mutex::new(files.collect())))
    }

    /// The same files, to be changed by the test.
    pub fn shared(&self) -> Arc<Mutex<BTreeMap<String, String>>> {
        self.0.clone()
    }

    fn text(&self, path: &WorkspacePath) -> Option<String> {
        self.0.lock().unwrap().get(path.as_str()).cloned()
    }
}

impl ProjectFiles for Files {
    fn texts(&self, paths: Vec<WorkspacePath>) -> BoxFuture<'_, Vec<Option<String>>> {
        Box::pin(async move { paths.iter().map(|path| self.text(path)).collect() })
    }
}

impl Workspace for Files {
    fn read<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(path.scope()))?;
            let below = format!("{path}/");
            if self.0.lock().unwrap().keys().any(|name| name.starts_with(&below)) {
                return Err(WorkspaceError::WrongKind { path: path.to_string(), expected: "file" });
            }
            self.text(path).ok_or_else(|| WorkspaceError::NotFound(path.to_string()))
        })
    }

    fn write<'a>(
        &'a self,
        _: &'a Permit,
        path: &'a WorkspacePath,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move { Err(WorkspaceError::Denied(path.to_string())) })
    }

    fn delete<'a>(&'a self, _: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move { Err(WorkspaceError::Denied(path.to_string())) })
    }

    fn rename<'a>(
        &'a self,
        _: &'a Permit,
        from: &'a WorkspacePath,
        _: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move { Err(WorkspaceError::Denied(from.to_string())) })
    }

    fn list<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<Vec<Entry>, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(path.scope()))?;
            let below = format!("{path}/");
            let files = self.0.lock().unwrap();
            let names = files.keys().filter_map(|name| name.strip_prefix(&below));
            Ok(names.map(|name| Entry { name: name.to_owned(), kind: EntryKind::File, size: 1 }).collect())
        })
    }

    fn search<'a>(&'a self, _: &'a Permit, _: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>> {
        Box::pin(async { Ok(Found::default()) })
    }
}
