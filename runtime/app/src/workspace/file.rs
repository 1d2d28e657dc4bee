//! Reading and replacing one file.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use acp_runtime_agent::workspace::WorkspaceError;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};

use super::place::Place;

/// The most that is read of a file, in bytes.
pub(super) const MOST_READ: u64 = 16 * 1024 * 1024;

/// A file's text.
pub(super) fn read(place: &Place) -> Result<String, WorkspaceError> {
    let (mut file, metadata) = place.file()?;
    let too_large = |size| WorkspaceError::TooLarge { path: place.shown.clone(), size, limit: MOST_READ };
    if metadata.len() > MOST_READ {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    let size = (&mut file).take(MOST_READ + 1).read_to_end(&mut bytes).map_err(|error| place.failure(&error))?;
    if size as u64 > MOST_READ {
        return Err(too_large(size as u64));
    }
    String::from_utf8(bytes).map_err(|_| WorkspaceError::NotText(place.shown.clone()))
}

/// Creates or replaces a file, whole or not at all, with the folders above it.
pub(super) fn write(place: &Place, text: &str) -> Result<(), WorkspaceError> {
    let fail = |error| place.failure(&error);
    let (folder, name) = place.entry().ok_or_else(|| place.not_a("file"))?;
    let folder = place.folder_made(&folder)?;
    let old = match folder.symlink_metadata(name) {
        Ok(metadata) => Some(replaceable(place, &metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(fail(error)),
    };
    replace(&folder, name, old, |file| file.write_all(text.as_bytes())).map_err(fail)
}

/// A number for what stands there: for the bytes of a file, or for what is known of one that is too large to be read. One
/// that was written again with the same bytes has not changed.
pub(super) fn stamp(place: &Place) -> u64 {
    let mut stamp = DefaultHasher::new();
    match place.file() {
        Ok((mut file, metadata)) => {
            let mut bytes = Vec::new();
            if metadata.len() <= MOST_READ && (&mut file).take(MOST_READ + 1).read_to_end(&mut bytes).is_ok() {
                bytes.hash(&mut stamp);
            } else {
                let time = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
                (metadata.len(), time).hash(&mut stamp);
            }
        }
        Err(error) => error.to_string().hash(&mut stamp),
    }
    stamp.finish()
}

/// The mode of a file that may be replaced.
fn replaceable(place: &Place, metadata: &Metadata) -> Result<Permissions, WorkspaceError> {
    if metadata.is_symlink() {
        return Err(place.unusable("it is a link to nothing"));
    }
    place.expect_file(metadata)?;
    #[cfg(unix)]
    if cap_std::fs::MetadataExt::nlink(metadata) > 1 {
        return Err(WorkspaceError::MultiplyLinked(place.shown.clone()));
    }
    if metadata.permissions().readonly() {
        return Err(place.unusable("it is read-only"));
    }
    Ok(metadata.permissions())
}

/// Fills a new file beside `name` and puts it in its place; on any failure the old one stays as it was.
fn replace(
    folder: &Dir,
    name: &str,
    mode: Option<Permissions>,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let (temporary, mut new) = create_beside(folder)?;
    let finish = || {
        fill(&mut new)?;
        if let Some(mode) = mode {
            new.set_permissions(mode)?;
        }
        new.sync_all()?;
        folder.rename(&temporary, folder, name)
    };
    finish().inspect_err(|_| {
        // It may be gone already; the failure that is reported is the first one.
        let _ = folder.remove_file(&temporary);
    })
}

fn create_beside(folder: &Dir) -> io::Result<(String, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".acp-runtime-{}-{count}.tmp", std::process::id());
        match folder.open_with(&name, &options) {
            Ok(file) => return Ok((name, file)),
            // Left behind by a process that was killed and had our number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn a_full_disk_leaves_the_old_file_whole() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Dir::open_ambient_dir(temporary.path(), ambient_authority()).unwrap();
        folder.write("notes", "old").unwrap();
        let full = |file: &mut File| {
            file.write_all(b"half of the new")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let end = replace(&folder, "notes", None, full);
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(folder.read_to_string("notes").unwrap(), "old");
        assert_eq!(folder.entries().unwrap().count(), 1, "nothing is left behind");
    }
}
