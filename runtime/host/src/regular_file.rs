//! Opening and reading what is a regular file, and nothing else.
//!
//! At the path of a file there may stand a pipe, which would be waited for, a device, which has no end, or a folder. All
//! of these are refused with a word on what they are, nothing is waited for, and no more is read than the caller says.
//! Links are followed to files that a person names, and refused in the place of those that this program keeps for itself.
//! Knows nothing about what is in the files. Tested here, and by what every room does that keeps files of its own.
#![expect(clippy::disallowed_methods, reason = "this room opens files for those that own them")]

use std::fs::{File, FileType, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// How soon it is looked again whether a lock is free.
const PAUSE: Duration = Duration::from_millis(10);

/// Opens a regular file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true))
}

/// Opens a regular file with these options, or makes it where they say so.
pub fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open_that(path, options, Links::Followed, is_file)
}

/// Opens a file that this program keeps for itself, or makes it where the options say so. A link in its place is refused,
/// also one to nothing: what is written must not end up in a file of somebody else.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open_that(path, options, Links::Refused, is_file)
}

/// [`open_with`], where also a character device is right: a terminal, or one that forgets all that is written to it.
pub fn open_or_device(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = open_that(path, options, Links::Followed, is_file_or_device)?;
    if !file.metadata()?.is_file() {
        wait_again(&file)?;
    }
    Ok(file)
}

/// Fails where something stands at the path that is no regular file, with a word on what it is.
pub fn require(path: &Path) -> io::Result<()> {
    require_that(path, Links::Followed, is_file)
}

/// [`require`] for a file that this program keeps for itself: a link is none.
pub fn require_own(path: &Path) -> io::Result<()> {
    require_that(path, Links::Refused, is_file)
}

/// [`require`], where also a character device is right.
pub fn require_or_device(path: &Path) -> io::Result<()> {
    require_that(path, Links::Followed, is_file_or_device)
}

/// Fails where what is open is no regular file, with a word on what it is.
pub fn require_open(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    require_kind(&metadata, is_file)?;
    Ok(metadata)
}

/// All of a regular file, which may have at most `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, most)
}

/// The text of a regular file, which may have at most `most` bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(open(path)?, most)
}

/// The text of an open file, which may have at most `most` bytes.
pub fn text(file: File, most: u64) -> io::Result<String> {
    String::from_utf8(whole(file, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Opens the lock file at `path`, makes it where there is none, and waits until no other process holds it, at most for so
/// long. The lock ends with the file; another process that does not let go of it is an error of the kind `WouldBlock`.
pub fn lock(path: &Path, patience: Duration) -> io::Result<File> {
    let file = open_own(path, private(OpenOptions::new().write(true).create(true).truncate(false)))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let held = format!("another process has held it for {} s", patience.as_secs());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, held));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Files that are made so can be read and written by their owner alone.
#[cfg(unix)]
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

/// Elsewhere the folder of the person's own data is private by itself.
#[cfg(not(unix))]
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Makes a folder that nobody else may look into, with those above it. One that is there stays as it is.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let mut folders = std::fs::DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.create(folder)
}

fn whole(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// What becomes of a link at the end of a path.
#[derive(Clone, Copy)]
enum Links {
    Followed,
    Refused,
}

/// Asked before it is opened, since to open a device is to use it; and once more afterwards, since something else may
/// stand there by then.
fn open_that(path: &Path, options: &mut OpenOptions, links: Links, is_right: fn(FileType) -> bool) -> io::Result<File> {
    require_that(path, links, is_right)?;
    let file = with_care(options, links).open(path)?;
    require_kind(&file.metadata()?, is_right)?;
    Ok(file)
}

fn require_that(path: &Path, links: Links, is_right: fn(FileType) -> bool) -> io::Result<()> {
    let there = match links {
        Links::Followed => std::fs::metadata(path),
        Links::Refused => std::fs::symlink_metadata(path),
    };
    match there {
        Ok(there) => require_kind(&there, is_right),
        // To open it says so, or makes it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(error),
    }
}

fn require_kind(there: &Metadata, is_right: fn(FileType) -> bool) -> io::Result<()> {
    let kind = there.file_type();
    if is_right(kind) { Ok(()) } else { Err(io::Error::other(format!("it is {}, not a file", name(kind)))) }
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else {
        "a device"
    }
}

fn is_file(kind: FileType) -> bool {
    kind.is_file()
}

#[cfg(unix)]
fn is_file_or_device(kind: FileType) -> bool {
    kind.is_file() || std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_file_or_device(kind: FileType) -> bool {
    !kind.is_dir()
}

/// Opening a pipe would wait for its other end. On a regular file that changes nothing.
#[cfg(unix)]
fn with_care(options: &mut OpenOptions, links: Links) -> &mut OpenOptions {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = match links {
        Links::Followed => flags,
        Links::Refused => flags | rustix::fs::OFlags::NOFOLLOW,
    };
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed())
}

#[cfg(not(unix))]
fn with_care(options: &mut OpenOptions, _links: Links) -> &mut OpenOptions {
    options
}

/// A terminal that is slow is waited for when it is written to.
#[cfg(unix)]
fn wait_again(device: &File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(device)?;
    Ok(rustix::fs::fcntl_setfl(device, flags - rustix::fs::OFlags::NONBLOCK)?)
}

#[cfg(not(unix))]
fn wait_again(_device: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use super::*;

    /// A folder with one of each kind, and a link to each.
    fn odd() -> (tempfile::TempDir, Vec<(PathBuf, &'static str)>) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        drop(UnixListener::bind(at("socket")).unwrap());
        let mut kinds = vec![
            (at("pipe"), "it is a named pipe, not a file"),
            (at("socket"), "it is a socket, not a file"),
            (folder.path().to_owned(), "it is a folder, not a file"),
            (PathBuf::from("/dev/zero"), "it is a device, not a file"),
        ];
        for (number, (path, kind)) in kinds.clone().into_iter().enumerate() {
            let link = at(&format!("link-{number}"));
            std::os::unix::fs::symlink(path, &link).unwrap();
            kinds.push((link, kind));
        }
        (folder, kinds)
    }

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
        let (_folder, kinds) = odd();
        for (path, kind) in kinds {
            let refused = [
                open(&path).map(drop),
                open_with(&path, OpenOptions::new().append(true).create(true)).map(drop),
                open_with(&path, OpenOptions::new().write(true)).map(drop),
                read(&path, 10).map(drop),
                read_text(&path, 10).map(drop),
                require(&path),
            ];
            for error in refused {
                assert_eq!(error.unwrap_err().to_string(), kind, "{}", path.display());
            }
            let own = if path.is_symlink() { "it is a link, not a file" } else { kind };
            let refused = [
                open_own(&path, OpenOptions::new().append(true).create(true)).map(drop),
                lock(&path, Duration::ZERO).map(drop),
                require_own(&path),
            ];
            for error in refused {
                assert_eq!(error.unwrap_err().to_string(), own, "{}", path.display());
            }
            let is_device = kind.contains("device");
            assert_eq!(open_or_device(&path, OpenOptions::new().read(true)).is_ok(), is_device, "{}", path.display());
            assert_eq!(require_or_device(&path).is_ok(), is_device, "{}", path.display());
        }
    }

    #[test]
    fn a_link_is_no_file_of_our_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("theirs"), "").unwrap();
        for (link, target) in [("link", "theirs"), ("dangling", "nothing")] {
            std::os::unix::fs::symlink(at(target), at(link)).unwrap();
            let opened = open_own(&at(link), OpenOptions::new().append(true).create(true));
            assert_eq!(opened.unwrap_err().to_string(), "it is a link, not a file");
            open_with(&at(link), OpenOptions::new().append(true).create(true)).unwrap();
        }
        // Where it is put there in that moment, the system says so.
        let raced = with_care(OpenOptions::new().append(true), Links::Refused).open(at("link"));
        assert_eq!(raced.unwrap_err().raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
        // A folder on the way may be one: where the home of a person is, is theirs to say.
        std::os::unix::fs::symlink(folder.path(), at("home")).unwrap();
        open_own(&at("home").join("theirs"), OpenOptions::new().read(true)).unwrap();
    }

    #[test]
    fn no_more_is_read_than_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(read(&path, 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(read_text(&path, 3).unwrap(), "abc");
        assert_eq!(read(&path, 2).unwrap_err().to_string(), "it has more than 2 bytes");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path, 3).unwrap_err().to_string(), "it is not UTF-8 text");
    }

    #[test]
    fn a_lock_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path, Duration::ZERO).unwrap();
        let refused = lock(&path, Duration::ZERO).unwrap_err();
        assert_eq!(refused.to_string(), "another process has held it for 0 s");
        let waiting = std::thread::spawn(move || lock(&path, Duration::from_mins(1)).map(drop));
        drop(held);
        waiting.join().unwrap().unwrap();
    }
}
