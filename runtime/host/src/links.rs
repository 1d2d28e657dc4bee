//! Links below a root: where they lead, and opening without following any.
//!
//! What is allowed is a place and not a name for it. So a path's links are followed once, when it is judged, and what is
//! then opened must lie at that very place: a link that was put there meanwhile is not followed. Knows nothing about
//! permits. Tested by the attacks of those who use it.

use std::io::{self, ErrorKind};
use std::path::Path;

use acp_runtime_agent::capability::WorkspacePath;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

/// The path with its links followed, as far as it exists. Links that lead out of the root are an error, and so is a place
/// that no path of the workspace can name.
pub fn real_path(root: &Dir, path: &WorkspacePath) -> io::Result<WorkspacePath> {
    let relative = Path::new(path.as_str());
    for existing in relative.ancestors() {
        let real = match root.canonicalize(if existing.as_os_str().is_empty() { Path::new(".") } else { existing }) {
            Ok(real) => real.join(relative.strip_prefix(existing).unwrap_or(Path::new(""))),
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(error),
        };
        let named = real.to_str().and_then(|real| WorkspacePath::new(path.root(), real).ok());
        return named.ok_or_else(|| io::Error::other("its links lead to a name that no path here can have"));
    }
    Err(ErrorKind::NotFound.into())
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

fn names(path: &WorkspacePath) -> impl Iterator<Item = &str> {
    path.as_str().split('/').filter(|name| !name.is_empty())
}

/// Nothing is there, or a file where a folder of the path should be.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
