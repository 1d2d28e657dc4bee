//! What a session lends to its plugins, and the folders that guests see of it.
//!
//! Guests see the session's roots as `/workspace`, `/workspace-2` and so on. A folder is mounted only after the gate
//! has allowed something in it, from the handle that the session holds: a folder that is renamed or replaced by a link
//! meanwhile leads nowhere else. What of it the guest may touch is judged path by path, in `wasi`. Knows nothing about
//! instances. Tested beside the code and by the guests that try to get out.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

use acp_runtime_agent::capability::{
    Effect, Grant, PathError, PathGlob, PathScope, PluginId, RootId, Roots, WorkspacePath,
};
use acp_runtime_agent::context::Additions;
use acp_runtime_agent::elicit::Elicitor;
use acp_runtime_agent::event::EventSink;
use acp_runtime_agent::gate::{Gate, Permit, Way};
use acp_runtime_agent::transcript::{Conversation, SessionId};
use acp_runtime_agent::workspace::Workspace;
use cap_std::fs::Dir;
use serde_json::Value;
use wasmtime_wasi::FsPerms;

use crate::exec::Programs;
use crate::limits::LimitTable;
use crate::links;
use crate::manifest::Capability;

/// What a session lends to its plugins.
pub struct SessionScope {
    /// The session.
    pub session: SessionId,
    /// Who shares `kv` values of scope `project`: the session's `cwd`.
    pub project: String,
    /// Its folders.
    pub folders: Folders,
    /// Decides on every effect.
    pub gate: Arc<Gate>,
    /// Its files, for text.
    pub workspace: Arc<dyn Workspace>,
    /// Asks its person for settings that are missing.
    pub elicitor: Arc<dyn Elicitor>,
    /// Runs the programs that plugins were granted.
    pub programs: Arc<dyn Programs>,
    /// What was said in it.
    pub transcript: Arc<dyn Transcript>,
    /// What plugins add to what the model is told.
    pub additions: Additions,
    /// Where progress, plans and changed panels go.
    pub events: Arc<dyn EventSink>,
    /// The settings of each plugin, as they are configured; not yet validated.
    pub settings: BTreeMap<PluginId, Value>,
    /// The file that they are in, for people.
    pub configured_in: String,
    /// What none of its plugins passes, whatever they may elsewhere.
    pub limits: LimitTable,
}

/// What was said in a session, for plugins that may read it.
pub trait Transcript: Send + Sync {
    /// All that the model has of it, oldest first.
    fn messages(&self) -> Conversation;

    /// The text without secrets that are known.
    fn clean(&self, text: &str) -> String;
}

/// A session's folders: their names, and the handles that are held on them.
#[derive(Clone)]
pub struct Folders {
    /// Translates between paths and names.
    pub names: Roots,
    /// A handle for each of them.
    pub held: Vec<HeldRoot>,
}

/// A root of the session with the handle that was opened for it.
#[derive(Clone)]
pub struct HeldRoot {
    /// Which root.
    pub id: RootId,
    /// Opened when the session began.
    pub dir: Arc<Dir>,
}

/// Where a guest sees a root.
pub(crate) fn guest_root(id: RootId) -> String {
    if id.0 == 0 { "/workspace".to_owned() } else { format!("/workspace-{}", u32::from(id.0) + 1) }
}

impl Folders {
    /// Reads a path as a guest writes it: under one of its roots, or relative to the first.
    pub(crate) fn resolve(&self, text: &str) -> Result<WorkspacePath, PathError> {
        if !text.starts_with('/') {
            return WorkspacePath::new(RootId(0), text);
        }
        for root in self.names.iter() {
            if let Some(rest) = text.strip_prefix(&guest_root(root.id))
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return WorkspacePath::new(root.id, rest.trim_start_matches('/'));
            }
        }
        Err(PathError::OutsideRoots(text.chars().take(200).collect()))
    }

    /// What the manifest asks to read, in every root.
    pub(crate) fn readable(&self, capabilities: &[Capability]) -> Vec<PathScope> {
        let asked = capabilities.iter().filter_map(|capability| match &capability.grant {
            Grant::Read(glob) => Some(glob),
            _ => None,
        });
        asked.flat_map(|glob| self.scopes(glob)).collect()
    }

    /// What the manifest asks to be lent for writing, in every root.
    pub(crate) fn writable(&self, capabilities: &[Capability]) -> Vec<PathScope> {
        let asked = capabilities.iter().filter(|capability| capability.preopen);
        let globs = asked.filter_map(|capability| match &capability.grant {
            Grant::Write(glob) => Some(glob),
            _ => None,
        });
        globs.flat_map(|glob| self.scopes(glob)).collect()
    }

    fn scopes<'a>(&'a self, glob: &'a PathGlob) -> impl Iterator<Item = PathScope> + 'a {
        self.held.iter().map(move |root| PathScope { root: root.id, glob: glob.clone() })
    }

    fn held(&self, id: RootId) -> Option<&Dir> {
        self.held.iter().find(|root| root.id == id).map(|root| &*root.dir)
    }

    /// The session's own handle of a root.
    pub(crate) fn root(&self, id: RootId) -> Result<&Dir, Error> {
        self.held(id).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

/// A folder of the session that a guest sees through WASI. What of it, is said by the permits that it is lent under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// As the guest sees it.
    folder: WorkspacePath,
    /// The folder that was allowed to be written, where its links led then; none for one that is only read.
    writable: Option<WorkspacePath>,
}

/// A mount that was opened.
pub(crate) struct Mounted {
    /// Where the guest sees it.
    pub(crate) guest: String,
    /// Which folder it is.
    pub(crate) way: Way,
    /// Held for as long as the guest lives.
    pub(crate) dir: Dir,
    /// Whether anything can be changed in it.
    pub(crate) perms: FsPerms,
}

impl Mount {
    /// The folders that hold all of `scopes`, none inside of another.
    pub(crate) fn readable(scopes: &[PathScope]) -> Vec<Self> {
        let mut folders: Vec<WorkspacePath> = Vec::new();
        for folder in scopes.iter().map(PathScope::folder) {
            if !folders.iter().any(|outer| outer.subtree().covers(&folder.scope())) {
                folders.retain(|inner| !folder.subtree().covers(&inner.scope()));
                folders.push(folder);
            }
        }
        folders.into_iter().map(|folder| Self { folder, writable: None }).collect()
    }

    /// The folder that `permit` allows to be written.
    pub(crate) fn writable(scope: &PathScope, permit: &Permit) -> Self {
        let place = match permit.leads_to(&Effect::Write(scope.clone())) {
            Some(Effect::Write(real)) => real.folder(),
            Some(_) | None => scope.folder(),
        };
        Self { folder: scope.folder(), writable: Some(place) }
    }

    /// Opens it. A folder that is not there is left out, but a writable one is made under the first root.
    pub(crate) fn open(&self, folders: &Folders) -> Result<Option<Mounted>, Error> {
        let id = self.folder.root();
        let Some(root) = folders.held(id) else { return Ok(None) };
        let opened = match &self.writable {
            Some(place) if id == RootId(0) => links::make_folder(root, place).map(|dir| (place.clone(), dir)),
            Some(place) => links::open_folder(root, place).map(|dir| (place.clone(), dir)),
            None => links::real_path(root, &self.folder)
                .and_then(|real| links::open_folder(root, &real).map(|dir| (real, dir))),
        };
        let (real, dir) = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotADirectory && self.writable.is_none() => return Ok(None),
            opened => opened?,
        };
        let perms = if self.writable.is_some() { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let mut guest = guest_root(id);
        if !self.folder.as_str().is_empty() {
            guest = format!("{guest}/{}", self.folder.as_str());
        }
        Ok(Some(Mounted { guest, way: Way { named: self.folder.clone(), real }, dir, perms }))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use acp_runtime_agent::fuzz::Fuzz;
    use cap_std::ambient_authority;

    use super::*;

    fn folders() -> Folders {
        let names = Roots::new(["/a", "/b"].map(|path| (PathBuf::from(path), PathBuf::from(path))));
        let dir = Arc::new(Dir::open_ambient_dir(".", ambient_authority()).unwrap());
        let held = names.iter().map(|root| HeldRoot { id: root.id, dir: dir.clone() }).collect();
        Folders { names, held }
    }

    fn read(glob: &str) -> Capability {
        Capability { grant: Grant::Read(PathGlob::parse(glob).unwrap()), reason: String::new(), preopen: false }
    }

    #[test]
    fn guest_paths_lead_into_the_roots_only() {
        let folders = folders();
        for (text, root, path) in [
            ("/workspace/src/a.rs", 0, "src/a.rs"),
            ("/workspace", 0, ""),
            ("src/a.rs", 0, "src/a.rs"),
            ("/workspace-2/x", 1, "x"),
        ] {
            let resolved = folders.resolve(text).unwrap();
            assert_eq!((resolved.root().0, resolved.as_str()), (root, path), "{text}");
        }
        for bad in
            ["/etc/passwd", "/workspace/../etc", "/workspace-3/x", "/workspacex", "../x", "/a/x", "/workspace/\0"]
        {
            assert!(folders.resolve(bad).is_err(), "{bad}");
        }
    }

    fn fuzz() -> Fuzz {
        let honest = ["/workspace/src/a.rs", "/workspace-2/./b//c", "src/../a", "/data/x"];
        Fuzz::of(honest).with_words([
            "/",
            "//",
            "..",
            "/../",
            ".",
            "\0",
            "\\",
            "-2",
            "-65536",
            "-99999999999",
            "workspace",
            "C:",
            "%2e",
        ])
    }

    /// It is a path in one of the roots, and what it was made of says so.
    fn check(input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        let Ok(path) = folders().resolve(&text) else { return };
        assert!(path.root().0 < 2 && path.as_str().split('/').all(|name| name != ".." && name != "."), "{text}");
        let root = if path.root().0 == 0 { "/workspace" } else { "/workspace-2" };
        assert!(text.starts_with(root) || !text.starts_with('/'), "{text}");
        assert_eq!(folders().resolve(&format!("{root}/{}", path.as_str())), Ok(path), "{text}");
    }

    #[test]
    fn a10_whatever_a_guest_calls_a_path_is_in_a_root() {
        fuzz().quick(check);
    }

    #[test]
    fn slow_fuzz_a10_whatever_a_guest_calls_a_path_is_in_a_root() {
        fuzz().slow(check);
    }

    #[test]
    fn folders_are_mounted_once() {
        let folders = folders();
        let shown = |capabilities: &[Capability]| -> Vec<String> {
            let mounts = Mount::readable(&folders.readable(capabilities));
            mounts.iter().map(|mount| format!("{} {}", mount.folder.root().0, mount.folder)).collect()
        };
        assert_eq!(shown(&[read("**"), read("docs/**")]), ["0 .", "1 ."]);
        assert_eq!(shown(&[read("docs/**"), read("src/*.rs")]), ["0 docs", "1 docs", "0 src", "1 src"]);
        assert_eq!(shown(&[read("docs/a/**"), read("docs/*.md")]), ["0 docs", "1 docs"]);
        assert_eq!(shown(&[read("docs/**"), read("a.txt")]), ["0 .", "1 ."]);
        assert!(folders.writable(&[read("**")]).is_empty());
    }
}
