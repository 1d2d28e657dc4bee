//! Listing folders; removing and moving what is in them.

use std::path::Path;

use acp_runtime_agent::capability::{Effect, PathScope, WorkspacePath};
use acp_runtime_agent::plain;
use acp_runtime_agent::workspace::{Entry, EntryKind, WorkspaceError};
use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType};

use super::place::Place;

/// The most entries of one folder that are listed.
const MOST_ENTRIES: usize = 100_000;

/// How deep a folder is looked into.
pub(super) const MOST_DEPTH: usize = 128;

/// A folder's entries that may be read, sorted by name.
pub(super) fn list(place: &Place) -> Result<Vec<Entry>, WorkspaceError> {
    let fail = |error| place.failure(&error);
    if !place.is_folder()? {
        return Err(place.not_a("directory"));
    }
    let mut entries = Vec::new();
    for entry in place.folder(&place.real)?.entries().map_err(fail)? {
        if entries.len() == MOST_ENTRIES {
            return Err(place.unusable(format!("it has more than {MOST_ENTRIES} entries")));
        }
        // What has vanished meanwhile is not listed.
        let Ok(entry) = entry else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        if place.forbids(&Path::new(place.real.as_str()).join(entry.file_name()), Effect::Read) {
            continue;
        }
        entries.push(Entry {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind: kind(metadata.file_type()),
            size: metadata.len(),
        });
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(entries)
}

/// What stands there, in the port's words.
pub(super) fn kind(found: FileType) -> EntryKind {
    if found.is_symlink() {
        EntryKind::Link
    } else if found.is_dir() {
        EntryKind::Directory
    } else if found.is_file() {
        EntryKind::File
    } else {
        EntryKind::Other
    }
}

/// Removes a file or a link; a folder with all in it only where `with_all` allows that.
pub(super) fn delete(place: &Place, with_all: bool) -> Result<(), WorkspaceError> {
    let fail = |error| place.failure(&error);
    let (folder, name) = entry(place)?;
    let folder = place.folder(&folder)?;
    if !folder.symlink_metadata(name).map_err(fail)?.is_dir() {
        return folder.remove_file(name).map_err(fail);
    }
    if !with_all {
        return Err(WorkspaceError::NoPermit(Effect::Delete(place.path.subtree()).to_string()));
    }
    refuse_denied_below(place, &folder, &Effect::Delete)?;
    folder.remove_dir_all(name).map_err(fail)
}

fn entry(place: &Place) -> Result<(WorkspacePath, &str), WorkspaceError> {
    place.entry().ok_or_else(|| place.unusable("it is the workspace itself"))
}

/// Moves `from` to the free path `to`; links are moved, not followed.
pub(super) fn rename(from: &Place, to: &Place) -> Result<(), WorkspaceError> {
    let (folder_from, name_from) = entry(from)?;
    let (folder_to, name_to) = entry(to)?;
    let folder_from = from.folder(&folder_from)?;
    if folder_from.symlink_metadata(name_from).map_err(|error| from.failure(&error))?.is_dir() {
        refuse_denied_below(from, &folder_from, &moved(from, to))?;
    }
    if Path::new(folder_to.as_str()).starts_with(from.real.as_str()) {
        return Err(to.unusable("a folder cannot be moved into itself"));
    }
    let folder_to = to.folder_made(&folder_to)?;
    rename_to_free(&folder_from, name_from, &folder_to, name_to).map_err(|error| to.failure(&error))
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_to_free(from: &Dir, name_from: &str, to: &Dir, name_to: &str) -> std::io::Result<()> {
    Ok(rustix::fs::renameat_with(from, name_from, to, name_to, rustix::fs::RenameFlags::NOREPLACE)?)
}

/// Here another process may take the name between the look and the move.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_to_free(from: &Dir, name_from: &str, to: &Dir, name_to: &str) -> std::io::Result<()> {
    if to.symlink_metadata(name_to).is_ok() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    from.rename(name_from, to, name_to)
}

/// The effect on an entry of a folder that is moved.
fn moved<'a>(from: &'a Place, to: &'a Place) -> impl Fn(PathScope) -> Effect + 'a {
    let target = |path: &WorkspacePath| {
        let below = path.as_str().strip_prefix(from.real.as_str())?.trim_start_matches('/');
        to.real.join(below).ok()
    };
    move |scope| {
        let path = WorkspacePath::new(scope.root, scope.glob.as_str()).ok();
        match path.and_then(|path| Some((target(&path)?, path))) {
            Some((to, from)) => Effect::Move { from, to },
            // No rule about moves names it; one about all that is done to it may.
            None => Effect::Read(scope),
        }
    }
}

/// A folder with something in it that the rules keep from `effect` is neither removed nor moved.
fn refuse_denied_below(
    place: &Place,
    parent: &Dir,
    effect: &dyn Fn(PathScope) -> Effect,
) -> Result<(), WorkspaceError> {
    fn look(
        place: &Place,
        folder: &Dir,
        real: &Path,
        effect: &dyn Fn(PathScope) -> Effect,
    ) -> Result<(), WorkspaceError> {
        let fail = |error| place.failure(&error);
        if real.components().count() > MOST_DEPTH {
            return Err(place.unusable(format!("it is more than {MOST_DEPTH} folders deep")));
        }
        for entry in folder.entries().map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = real.join(entry.file_name());
            if place.forbids(&path, effect) {
                return Err(WorkspaceError::Denied(plain::name(&path.to_string_lossy())));
            }
            if entry.file_type().map_err(fail)?.is_dir() {
                look(place, &folder.open_dir_nofollow(entry.file_name()).map_err(fail)?, &path, effect)?;
            }
        }
        Ok(())
    }
    let folder = parent.open_dir_nofollow(place.real.name()).map_err(|error| place.failure(&error))?;
    look(place, &folder, Path::new(place.real.as_str()), effect)
}
