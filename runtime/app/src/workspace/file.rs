//! Reading and replacing one file.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use acp_runtime_agent::workspace::{Excerpt, LineRange, WorkspaceError};
use cap_std::fs::{Dir, File, Metadata, OpenOptions, Permissions};

use super::encoding::{self, Encoding};
use super::place::Place;

/// The most that is read of a file, in bytes.
pub(super) const MOST_READ: u64 = 16 * 1024 * 1024;

/// The most that is looked at of a larger one, of which some lines are wanted.
const MOST_SCANNED: u64 = 1024 * 1024 * 1024;

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
    text(place, bytes)
}

/// Some lines of a file's text. Of a file that is too large to be read as a whole no more than is asked for is read, and
/// how many lines it has is told only where its end was seen.
pub(super) fn read_lines(place: &Place, range: LineRange) -> Result<Excerpt, WorkspaceError> {
    let fail = |error| place.failure(&error);
    let (file, metadata) = place.file()?;
    if metadata.len() <= MOST_READ {
        return Ok(Excerpt::of(&read(place)?, range));
    }
    let mut reader = BufReader::new(file.take(MOST_SCANNED));
    let mut before = 0;
    while before + 1 < range.first.max(1) {
        if reader.skip_until(b'\n').map_err(fail)? == 0 {
            return end_of(place, reader.get_ref(), before, String::new());
        }
        before += 1;
    }
    let (mut bytes, mut lines) = (Vec::new(), 0);
    while lines < range.most {
        let left = MOST_READ.saturating_sub(bytes.len() as u64);
        if left == 0 {
            break;
        }
        match (&mut reader).take(left).read_until(b'\n', &mut bytes).map_err(fail)? {
            0 => return end_of(place, reader.get_ref(), before + lines, text(place, bytes)?),
            _ => lines += 1,
        }
    }
    Ok(Excerpt { text: text(place, bytes)?, total: None })
}

/// What was read to the end of a file, or of what is looked at of one.
fn end_of(place: &Place, rest: &io::Take<File>, lines: u32, text: String) -> Result<Excerpt, WorkspaceError> {
    if rest.limit() == 0 {
        let (path, size) = (place.shown.clone(), MOST_SCANNED);
        return Err(WorkspaceError::TooLarge { path, size, limit: MOST_SCANNED });
    }
    Ok(Excerpt { text, total: usize::try_from(lines).ok() })
}

fn text(place: &Place, bytes: Vec<u8>) -> Result<String, WorkspaceError> {
    encoding::read(bytes)
        .map(|(text, _)| text)
        .map_err(|seems| WorkspaceError::NotText { path: place.shown.clone(), seems })
}

/// Creates or replaces a file, whole or not at all, with the folders above it. Text takes the place of text in the same
/// encoding.
pub(super) fn write(place: &Place, text: &str) -> Result<(), WorkspaceError> {
    let fail = |error| place.failure(&error);
    let (folder, name) = place.entry().ok_or_else(|| place.not_a("file"))?;
    let folder = place.folder_made(&folder)?;
    let old = match folder.symlink_metadata(name) {
        Ok(metadata) => Some(replaceable(place, &metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(fail(error)),
    };
    let encoding = if old.is_some() { encoding_of(place) } else { Encoding::Utf8 };
    let bytes = encoding.write(text).map_err(|error| place.unusable(error.to_string()))?;
    replace(&folder, name, old, |file| file.write_all(&bytes)).map_err(fail)
}

/// Puts a file there, whole or not at all, with the folders above it. What is there gives way; a link is not followed.
pub(super) fn put(place: &Place, text: &str) -> Result<(), WorkspaceError> {
    let (folder, name) = place.entry().ok_or_else(|| place.not_a("file"))?;
    let folder = place.folder_made(&folder)?;
    replace(&folder, name, None, |file| file.write_all(text.as_bytes())).map_err(|error| place.failure(&error))
}

/// How the text of a file is written; what is no text gives way to UTF-8.
fn encoding_of(place: &Place) -> Encoding {
    let Ok((file, metadata)) = place.file() else { return Encoding::Utf8 };
    let mut bytes = Vec::new();
    if metadata.len() > MOST_READ || file.take(MOST_READ).read_to_end(&mut bytes).is_err() {
        return Encoding::Utf8;
    }
    encoding::read(bytes).map_or(Encoding::Utf8, |(_, encoding)| encoding)
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
