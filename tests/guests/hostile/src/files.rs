//! Files that were not given, and files that were given to be read.
#![expect(clippy::disallowed_methods, reason = "whatever the standard library offers is tried")]

use std::fs::{self, OpenOptions};
use std::io::{Error, Result, Write as _};
use std::time::SystemTime;

use acp_plugin::workspace;

pub(crate) fn read(path: &str) -> Result<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn list(path: &str) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.join(" "))
}

pub(crate) fn write(path: &str) -> Result<String> {
    fs::write(path, "overwritten").map(|()| "written".to_owned())
}

pub(crate) fn read_text(path: &str) -> Result<String> {
    workspace::read(path).map_err(Error::other)
}

pub(crate) fn write_text(path: &str) -> Result<String> {
    workspace::write(path, "overwritten").map(|()| "written".to_owned()).map_err(Error::other)
}

pub(crate) fn list_text(path: &str) -> Result<String> {
    let entries = workspace::list(path).map_err(Error::other)?;
    Ok(entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>().join(" "))
}

pub(crate) fn append(path: &str) -> Result<String> {
    OpenOptions::new().append(true).open(path)?.write_all(b"appended").map(|()| "appended".to_owned())
}

pub(crate) fn truncate(path: &str) -> Result<String> {
    OpenOptions::new().write(true).truncate(true).open(path).map(|_| "truncated".to_owned())
}

pub(crate) fn make_folder(path: &str) -> Result<String> {
    fs::create_dir(path).map(|()| "made".to_owned())
}

pub(crate) fn hard_link(path: &str, to: &str) -> Result<String> {
    fs::hard_link(path, to).map(|()| "linked".to_owned())
}

pub(crate) fn rename(path: &str, to: &str) -> Result<String> {
    fs::rename(path, to).map(|()| "moved".to_owned())
}

pub(crate) fn remove(path: &str) -> Result<String> {
    fs::remove_file(path).map(|()| "removed".to_owned())
}

pub(crate) fn remove_folder(path: &str) -> Result<String> {
    fs::remove_dir(path).map(|()| "removed".to_owned())
}

pub(crate) fn look(path: &str) -> Result<String> {
    fs::symlink_metadata(path).map(|found| format!("{} bytes", found.len()))
}

pub(crate) fn read_link(path: &str) -> Result<String> {
    fs::read_link(path).map(|target| target.display().to_string())
}

/// Through a handle that was opened for reading.
pub(crate) fn touch(path: &str) -> Result<String> {
    fs::File::open(path)?.set_modified(SystemTime::UNIX_EPOCH).map(|()| "touched".to_owned())
}

/// Reads and writes a file for as long as somebody swaps what stands there, until it was seen and refused often enough.
/// Whatever else is seen than `expected` is told.
pub(crate) fn race(path: &str, expected: &str) -> String {
    const OFTEN: usize = 20;
    let (mut seen, mut refused) = (0, 0);
    for round in 0..50_000 {
        match fs::read_to_string(path) {
            Ok(text) if text == expected => seen += 1,
            Ok(other) => return format!("`{other}` was seen"),
            Err(_) => refused += 1,
        }
        if OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(expected.as_bytes())).is_err() {
            refused += 1;
        }
        if round >= 500 && seen >= OFTEN && refused >= OFTEN {
            return "nothing else was seen".to_owned();
        }
    }
    format!("{seen} times seen, {refused} times refused")
}
