//! A log in a file that only its owner can read, and that does not grow without end.
#![expect(clippy::disallowed_methods, reason = "this room owns the log file")]

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use acp_runtime_host::regular_file;

/// Bytes of a log file. When it is full it becomes the old one, `NAME.1`, in the place of that.
const MOST: u64 = 16 << 20;

pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    most: u64,
}

impl LogFile {
    /// Opens the file, or makes it.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        Self::with(path, MOST)
    }

    fn with(path: PathBuf, most: u64) -> io::Result<Self> {
        let (file, size) = open(&path)?;
        Ok(Self { path, file, size, most })
    }

    /// Begins anew. A file that cannot be moved away goes on.
    fn turn_over(&mut self) -> io::Result<()> {
        let mut old = OsString::from(&self.path);
        old.push(".1");
        // Another process may have done it meanwhile: then its new file is taken, and nothing is moved.
        let ours = self.file.metadata().and_then(|ours| Ok(same(&ours, &std::fs::metadata(&self.path)?)));
        if ours.unwrap_or(false) {
            std::fs::rename(&self.path, old)?;
        }
        (self.file, self.size) = open(&self.path)?;
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.size >= self.most {
            // A line too many is better than none.
            let _ = self.turn_over();
        }
        self.file.write_all(line)?;
        self.size += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file, and how many bytes it has; a device has none.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = regular_file::open_or_device(path, regular_file::private(OpenOptions::new().create(true).append(true)))?;
    let metadata = file.metadata()?;
    Ok((file, if metadata.is_file() { metadata.len() } else { 0 }))
}

#[cfg(unix)]
fn same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same(one: &Metadata, _other: &Metadata) -> bool {
    one.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_becomes_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = LogFile::with(path.clone(), 10).unwrap();
        for line in ["one\n", "two\n", "three\n", "four\n", "five, which is long\n", "six\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("log"), read("log.1")), ("six\n".to_owned(), "four\nfive, which is long\n".to_owned()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_and_a_folder_are_no_log_files() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for (path, kind) in [(pipe, "a named pipe"), (folder.path().to_owned(), "a folder")] {
            assert_eq!(LogFile::open(path).err().unwrap().to_string(), format!("it is {kind}, not a file"));
        }
    }
}
