//! Finding what a guest names: the folder that it stands in and its name there, with every link on the way followed.
//!
//! What is then done is done to that name in that folder, and no link is followed any more: what was judged is what is
//! touched. Most names have no link in them, and are found with one question to the system.

use std::io;

use acp_runtime_agent::capability::{PathError, WorkspacePath};
use acp_runtime_agent::gate::Way;
use cap_std::fs::Dir;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use crate::links;

/// A name in its folder.
pub(super) struct Spot {
    /// Which path it is.
    pub(super) way: Way,
    /// The folder. Nothing can be listed through the handle.
    pub(super) folder: Dir,
    /// The name; `.` for the folder itself.
    pub(super) name: String,
}

/// Finds `path` below the folder `dir` of a guest, which stands at `at` below `root`. A link that leads out of that
/// folder is refused; one at the end is followed where `follow`.
pub(super) fn find(root: &Dir, dir: &Dir, at: &Way, path: &str, follow: bool) -> FsResult<Spot> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry.into());
    }
    let wanted = WorkspacePath::new(at.real.root(), path).map_err(out_of_reach)?;
    let Some(parent) = wanted.parent() else {
        return Ok(Spot { way: at.clone(), folder: dir.try_clone()?, name: ".".to_owned() });
    };
    let way = Way {
        named: at.named.join(wanted.as_str()).map_err(out_of_reach)?,
        real: at.real.join(wanted.as_str()).map_err(out_of_reach)?,
    };
    if let Some(folder) = links::plain_folder(dir, &parent)?
        && !(follow && is_link(&folder, wanted.name())?)
    {
        return Ok(Spot { way, folder, name: wanted.name().to_owned() });
    }
    let real = if follow { links::real_path(root, &way.real)? } else { real_entry(root, &way.real)? };
    if !at.real.subtree().covers(&real.scope()) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let Some(parent) = real.parent().filter(|_| real != at.real) else {
        return Ok(Spot { way: Way { real, ..way }, folder: dir.try_clone()?, name: ".".to_owned() });
    };
    let (folder, name) = (links::open_folder(root, &parent)?, real.name().to_owned());
    Ok(Spot { way: Way { real, ..way }, folder, name })
}

/// Links are followed up to the entry, which may be one itself.
fn real_entry(root: &Dir, path: &WorkspacePath) -> io::Result<WorkspacePath> {
    let parent = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let parent = links::real_path(root, &parent)?;
    parent.join(path.name()).map_err(io::Error::other)
}

/// What is not there is no link.
fn is_link(folder: &Dir, name: &str) -> io::Result<bool> {
    match folder.symlink_metadata(name) {
        Ok(found) => Ok(found.is_symlink()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn out_of_reach(error: PathError) -> ErrorCode {
    match error {
        PathError::Leaves(_) | PathError::OutsideRoots(_) => ErrorCode::NotPermitted,
        PathError::Malformed(_) | PathError::Pattern(..) | PathError::Host(..) => ErrorCode::Invalid,
    }
}
