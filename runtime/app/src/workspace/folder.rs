//! Listing folders; removing and moving what is in them.

use std::path::Path;

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::workspace::{Entry, EntryKind, WorkspaceError};
use cap_std::fs::{Dir, FileType};

use super::place::Place;

/// The most entries of one folder that are listed.
const MOST_ENTRIES: usize = 100_000;

/// How deep a folder is looked into.
pub(super) const MOST_DEPTH: usize = 128;

/// A folder's entries, sorted by name.
pub(super) fn list(place: &Place) -> Result<Vec<Entry>, WorkspaceError> {
    let real = place.real()?;
    let fail = |error| place.failure(&error);
    if !place.root.metadata(place.relative()).map_err(fail)?.is_dir() {
        return Err(place.not_a("directory"));
    }
    let mut entries = Vec::new();
    for entry in place.folder(&real)?.entries().map_err(fail)? {
        if entries.len() == MOST_ENTRIES {
            return Err(place.unusable(format!("it has more than {MOST_ENTRIES} entries")));
        }
        // What has vanished meanwhile is not listed.
        let Ok(entry) = entry else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
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
    let (real, name) = place.entry()?;
    let folder = place.folder(&real)?;
    if !folder.symlink_metadata(name).map_err(fail)?.is_dir() {
        return folder.remove_file(name).map_err(fail);
    }
    if !with_all {
        return Err(WorkspaceError::NoPermit(Effect::Delete(place.path.subtree()).to_string()));
    }
    refuse_denied_below(place, &folder, name, &real.join(name))?;
    folder.remove_dir_all(name).map_err(fail)
}

/// Moves `from` to the free path `to`; links are moved, not followed.
pub(super) fn rename(from: &Place, to: &Place) -> Result<(), WorkspaceError> {
    let (real_from, name_from) = from.entry()?;
    let (real_to, name_to) = to.entry()?;
    let folder_from = from.folder(&real_from)?;
    if folder_from.symlink_metadata(name_from).map_err(|error| from.failure(&error))?.is_dir() {
        refuse_denied_below(from, &folder_from, name_from, &real_from.join(name_from))?;
    }
    if real_to.starts_with(real_from.join(name_from)) {
        return Err(to.unusable("a folder cannot be moved into itself"));
    }
    let folder_to = to.folder_made(&real_to)?;
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

/// A folder with something on the deny list in it is neither removed nor moved.
fn refuse_denied_below(place: &Place, folder: &Dir, name: &str, real: &Path) -> Result<(), WorkspaceError> {
    fn find(place: &Place, folder: &Dir, real: &Path, depth: usize) -> Result<(), WorkspaceError> {
        let fail = |error| place.failure(&error);
        if depth == MOST_DEPTH {
            return Err(place.unusable(format!("it is more than {MOST_DEPTH} folders deep")));
        }
        for entry in folder.entries().map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = real.join(entry.file_name());
            if place.is_denied(&path) {
                return Err(WorkspaceError::Denied(path.display().to_string()));
            }
            if entry.file_type().map_err(fail)?.is_dir() {
                find(place, &folder.open_dir(entry.file_name()).map_err(fail)?, &path, depth + 1)?;
            }
        }
        Ok(())
    }
    if place.denied.is_empty() {
        return Ok(());
    }
    find(place, &folder.open_dir(name).map_err(|error| place.failure(&error))?, real, 0)
}
