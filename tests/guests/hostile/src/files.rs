//! Files that were not given, and files that were given to be read.
#![expect(clippy::disallowed_methods, reason = "whatever the standard library offers is tried")]

use std::fs::{self, OpenOptions};
use std::io::{Result, Write as _};
use std::time::SystemTime;

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
