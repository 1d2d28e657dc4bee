//! What a session lends to its plugins, and the folders that guests see of it.
//!
//! Guests see the session's roots as `/workspace`, `/workspace-2` and so on. A folder is mounted only after the gate
//! has allowed it, at the place where its links led then, and from the handle that the session holds: a folder that is
//! renamed or replaced by a link meanwhile leads nowhere else. Knows nothing about instances. Tested beside the code and by the guests that try to get out.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;

use acp_runtime_agent::capability::{
    Effect, Grant, PathError, PathGlob, PathScope, PluginId, RootId, Roots, WorkspacePath,
};
use acp_runtime_agent::elicit::Elicitor;
use acp_runtime_agent::event::EventSink;
use acp_runtime_agent::gate::{Gate, Permit};
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_agent::workspace::Workspace;
use cap_std::fs::Dir;
use serde_json::Value;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

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
    /// Where progress, plans and changed panels go.
    pub events: Arc<dyn EventSink>,
    /// The settings of each plugin, as they are configured; not yet validated.
    pub settings: BTreeMap<PluginId, Value>,
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

    /// What the guest may see of these folders, as its manifest asks for it: whole folders only, each once.
    pub(crate) fn readable(&self, capabilities: &[Capability]) -> Vec<Mount> {
        let asked: Vec<&PathGlob> = capabilities
            .iter()
            .filter_map(|capability| match &capability.grant {
                Grant::Read(glob) if glob.is_subtree() => Some(glob),
                _ => None,
            })
            .collect();
        let inner = |glob: &PathGlob| asked.iter().any(|outer| *outer != glob && outer.covers(glob));
        let globs = asked.iter().filter(|glob| !inner(glob));
        globs.flat_map(|glob| self.mounts(glob, false)).collect()
    }

    /// Those folders that the manifest wants to be writable.
    pub(crate) fn writable(&self, capabilities: &[Capability]) -> Vec<Mount> {
        let asked = capabilities.iter().filter(|capability| capability.preopen);
        let globs = asked.filter_map(|capability| match &capability.grant {
            Grant::Write(glob) => Some(glob),
            _ => None,
        });
        globs.flat_map(|glob| self.mounts(glob, true)).collect()
    }

    fn mounts<'a>(&'a self, glob: &'a PathGlob, writable: bool) -> impl Iterator<Item = Mount> + 'a {
        self.held.iter().map(move |root| {
            let scope = PathScope { root: root.id, glob: glob.clone() };
            Mount { place: scope.base(), scope, writable }
        })
    }
}

/// A folder of the session that a guest sees through WASI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// As the manifest names it, and the guest sees it.
    scope: PathScope,
    /// The folder that it is.
    place: WorkspacePath,
    writable: bool,
}

impl Mount {
    /// What must be allowed before it is mounted.
    pub(crate) fn effect(&self) -> Effect {
        if self.writable { Effect::Write(self.scope.clone()) } else { Effect::Read(self.scope.clone()) }
    }

    /// The mount as `permit` allows it: of the folder that its links lead to.
    pub(crate) fn allowed(self, permit: &Permit) -> Self {
        let place = match permit.leads_to(&self.effect()) {
            Some(Effect::Read(scope) | Effect::Write(scope)) => scope.base(),
            Some(_) | None => self.place,
        };
        Self { place, ..self }
    }

    /// Mounts it. A folder that is not there is left out, but a writable one is made under the first root.
    pub(crate) fn open(&self, folders: &Folders, wasi: &mut WasiCtxBuilder) -> Result<(), Error> {
        let Some(root) = folders.held.iter().find(|root| root.id == self.scope.root) else { return Ok(()) };
        let perms = if self.writable { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        let opened = if self.writable && root.id == RootId(0) {
            links::make_folder(&root.dir, &self.place)
        } else {
            links::open_folder(&root.dir, &self.place)
        };
        let dir = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let mut guest = guest_root(root.id);
        if !self.scope.glob.base().is_empty() {
            guest = format!("{guest}/{}", self.scope.glob.base());
        }
        let place = self.place.as_str();
        let named = || folders.names.get(root.id).map(|root| root.canonical.join(place)).unwrap_or_default();
        let mounted = wasi.preopened_dir(held_path(&dir, named), guest, perms);
        mounted.map(|_| ()).map_err(|error| Error::other(format!("{error:#}")))
    }
}

/// A path that leads to that very folder, whatever its name leads to by now.
#[cfg(target_os = "linux")]
fn held_path(dir: &Dir, _named: impl FnOnce() -> PathBuf) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

/// Elsewhere a handle has no path, so the folder is opened once more by its name: who can replace the folders above the
/// root between two calls can lead the guest elsewhere.
#[cfg(not(target_os = "linux"))]
fn held_path(_dir: &Dir, named: impl FnOnce() -> PathBuf) -> PathBuf {
    named()
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn whole_folders_are_mounted_once() {
        let folders = folders();
        let shown = |capabilities: &[Capability]| -> Vec<String> {
            let mounts = folders.readable(capabilities);
            mounts.iter().map(|mount| format!("{} {}", mount.scope.root.0, mount.scope.glob)).collect()
        };
        assert_eq!(shown(&[read("**"), read("docs/**")]), ["0 **", "1 **"]);
        assert_eq!(shown(&[read("docs/**"), read("*.md"), read("a.txt")]), ["0 docs/**", "1 docs/**"]);
        assert!(folders.writable(&[read("**")]).is_empty());
    }
}
