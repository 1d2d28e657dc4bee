//! Files that come to be at once: whoever looks at the path sees what was there before, or all of what was put there.
//!
//! They can be read and written by their owner alone. Knows nothing about what is in them. Tested here.
#![expect(clippy::disallowed_methods, reason = "this room makes files for those that own them")]

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::regular_file;

/// Puts a file at `path`, in the place of what stands there.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    made(path, bytes, |new| std::fs::rename(new, path))
}

/// Puts a file at `path`. Where something stands there, it stays as it is, and that is an error of the kind
/// `AlreadyExists`.
pub fn put_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    made(path, bytes, |new| match std::fs::hard_link(new, path) {
        Ok(()) => std::fs::remove_file(new),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links.
        Err(_) => std::fs::rename(new, path),
    })
}

/// Makes a file beside `path` that `finish` moves there. Nothing is left of it where that fails.
fn made(path: &Path, bytes: &[u8], finish: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let new = beside(path);
    let made = || {
        let mut file = regular_file::private(OpenOptions::new().write(true).create_new(true)).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        finish(&new)?;
        // That it has this name now must outlast a loss of power as well. Not every file system can say so.
        if let Some(folder) = path.parent() {
            let _ = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    };
    made().inspect_err(|_| {
        // It may not even be there.
        let _ = std::fs::remove_file(&new);
    })
}

/// A name that nobody else takes: one of this process and this moment.
fn beside(path: &Path) -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    path.with_file_name(format!("{UNFINISHED}{process}-{number}-{since:08x}"))
}

/// How the names of files begin that are not finished.
const UNFINISHED: &str = ".acp-runtime-";

/// Whether a file of that name is one that is not finished: one that a stop has left behind, where nobody is at it.
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_whole_and_replaced_only_where_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        put_new(&path, b"first").unwrap();
        assert_eq!(put_new(&path, b"second").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        put(&path, b"third").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"third");
        assert_eq!(put(&folder.path().join("no/a"), b"").unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        put(&folder.path().join("folder"), b"").unwrap_err();
        let mut left: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a", "folder"], "nothing unfinished stays");
    }

    #[cfg(unix)]
    #[test]
    fn it_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        put(&path, b"x").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // A link that leads nowhere is something, too.
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        assert_eq!(put_new(&folder.path().join("link"), b"").unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
