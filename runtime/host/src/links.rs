//! Links below a root: where they lead, and opening without following any.
//!
//! What is allowed is a place and not a name for it. So a path's links are followed once, when it is judged, and what is
//! then opened must lie at that very place: a link that was put there meanwhile is not followed. Knows nothing about
//! permits. Tested by the attacks of those who use it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, PathBuf};

use acp_runtime_agent::capability::WorkspacePath;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

/// How many links are followed on one way: as many as Linux does.
const MOST_LINKS: usize = 40;

/// The path with its links followed, as far as it exists; a link to nothing stays as it is. Links that lead out of the
/// root are an error (an absolute target counts as out), and so is a place that no path of the workspace can name.
///
/// The names are walked one by one. Asking the system what an open file is called is no way: one that is replaced in that
/// moment is called `x (deleted)`.
pub fn real_path(root: &Dir, path: &WorkspacePath) -> io::Result<WorkspacePath> {
    let names = Walk::new(root, path).finish()?;
    let real = names.into_iter().collect::<PathBuf>();
    let named = real.to_str().and_then(|real| WorkspacePath::new(path.root(), real).ok());
    named.ok_or_else(|| io::Error::other("its links lead to a name that no path here can have"))
}

/// The way along a path.
struct Walk<'a> {
    root: &'a Dir,
    /// The folders that were entered, below the root.
    entered: Vec<(OsString, Dir)>,
    /// The names that come next, the first one last.
    ahead: Vec<OsString>,
    /// The outermost link that is being followed.
    link: Option<Link>,
    /// How many were followed.
    links: usize,
}

/// A link, in case that it leads to nothing.
struct Link {
    /// The path to it, and behind it.
    unfollowed: Vec<OsString>,
    /// How many names come after it.
    after: usize,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Dir, path: &WorkspacePath) -> Self {
        let ahead = names(path).rev().map(OsString::from).collect();
        Self { root, entered: Vec::new(), ahead, link: None, links: 0 }
    }

    fn finish(mut self) -> io::Result<Vec<OsString>> {
        loop {
            if self.link.as_ref().is_some_and(|link| self.ahead.len() <= link.after) {
                self.link = None;
            }
            let Some(name) = self.ahead.pop() else { return Ok(self.at(None)) };
            if name == ".." {
                self.entered.pop().ok_or_else(leads_out)?;
                continue;
            }
            let folder = self.entered.last().map_or(self.root, |(_, folder)| folder);
            match folder.open_dir_nofollow(&name) {
                Ok(folder) => {
                    self.entered.push((name, folder));
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(self.at_nothing(name)),
                // Something else than a folder: a link, or the end.
                Err(_) => {}
            }
            match folder.symlink_metadata(&name) {
                Ok(found) if found.is_symlink() => self.follow(name)?,
                Ok(_) if self.ahead.is_empty() => return Ok(self.at(Some(name))),
                Ok(_) => return Ok(self.at_nothing(name)),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(self.at_nothing(name)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts what the link says in its place.
    fn follow(&mut self, name: OsString) -> io::Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(too_many_links());
        }
        let folder = self.entered.last().map_or(self.root, |(_, folder)| folder);
        let target = folder.read_link_contents(&name)?;
        if self.link.is_none() {
            self.link = Some(Link { after: self.ahead.len(), unfollowed: self.at_nothing(name) });
        }
        for part in target.components().rev() {
            match part {
                Component::Normal(_) | Component::ParentDir => self.ahead.push(part.as_os_str().to_owned()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(leads_out()),
            }
        }
        Ok(())
    }

    /// Where it is, or `name` there.
    fn at(&self, name: Option<OsString>) -> Vec<OsString> {
        self.entered.iter().map(|(name, _)| name.clone()).chain(name).collect()
    }

    /// The path, where there is nothing at `name`: as it was before the link that led here, and all that comes after.
    fn at_nothing(&self, name: OsString) -> Vec<OsString> {
        match &self.link {
            Some(link) => link.unfollowed.clone(),
            None => self.at(Some(name)).into_iter().chain(self.ahead.iter().rev().cloned()).collect(),
        }
    }
}

/// As the containment of `cap-std` says it: an error without a number of the system.
fn leads_out() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, "a link leads out of the folder")
}

#[cfg(unix)]
fn too_many_links() -> io::Error {
    rustix::io::Errno::LOOP.into()
}

#[cfg(not(unix))]
fn too_many_links() -> io::Error {
    io::Error::other("its links lead in a circle, or there are too many of them")
}

/// The folder at `path` below `folder`; none where one of its names is a link. Nothing can be listed through the handle.
#[cfg(target_os = "linux")]
pub(crate) fn plain_folder(folder: &Dir, path: &WorkspacePath) -> io::Result<Option<Dir>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;
    if path.as_str().is_empty() {
        return folder.try_clone().map(Some);
    }
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let way = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, path.as_str(), how, Mode::empty(), way) {
        Ok(found) => Ok(Some(Dir::from_std_file(found.into()))),
        Err(Errno::LOOP) => Ok(None),
        // Kernels and sandboxes without the call, and a folder that was moved in that moment.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => name_by_name(folder, path),
        Err(error) => Err(error.into()),
    }
}

/// The folder at `path` below `folder`; none where one of its names is a link.
#[cfg(not(target_os = "linux"))]
pub(crate) fn plain_folder(folder: &Dir, path: &WorkspacePath) -> io::Result<Option<Dir>> {
    name_by_name(folder, path)
}

fn name_by_name(folder: &Dir, path: &WorkspacePath) -> io::Result<Option<Dir>> {
    let mut folder = folder.try_clone()?;
    for name in names(path) {
        folder = match folder.open_dir_nofollow(name) {
            Ok(inner) => inner,
            Err(_) if folder.symlink_metadata(name)?.is_symlink() => return Ok(None),
            Err(error) => return Err(error),
        };
    }
    Ok(Some(folder))
}

/// Opens the folder at `real`, in which no name is a link.
pub fn open_folder(root: &Dir, real: &WorkspacePath) -> io::Result<Dir> {
    names(real).try_fold(root.try_clone()?, |folder, name| folder.open_dir_nofollow(name))
}

/// [`open_folder`], and makes what is missing of it.
pub fn make_folder(root: &Dir, real: &WorkspacePath) -> io::Result<Dir> {
    names(real).try_fold(root.try_clone()?, |folder, name| match folder.open_dir_nofollow(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match folder.create_dir(name) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            folder.open_dir_nofollow(name)
        }
        opened => opened,
    })
}

fn names(path: &WorkspacePath) -> impl DoubleEndedIterator<Item = &str> {
    path.as_str().split('/').filter(|name| !name.is_empty())
}
