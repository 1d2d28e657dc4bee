//! Text files of the project, through the editor where it offers that: unsaved text is seen, and a write is shown as
//! an edit that a person can review. For reading in bulk use `std::fs` below the paths of [`roots`].
//!
//! Paths are as the plugin sees them (`/workspace/notes/a.md`), or relative to the first root.

use super::imports;
use crate::Result;

/// One of the session's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where the plugin sees it: `/workspace`, `/workspace-2`…
    pub path: String,
    /// The folder's own name.
    pub name: String,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, without the folders above.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// In bytes.
    pub size: u64,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// The session's folders, the main one first.
pub fn roots() -> Vec<Root> {
    imports::workspace::roots().into_iter().map(|root| Root { path: root.path, name: root.name }).collect()
}

/// A whole text file.
pub fn read(path: &str) -> Result<String> {
    Ok(imports::workspace::read_text(path, None, None)?)
}

/// Up to `limit` lines of a text file, from `line` on, counted from 1.
pub fn read_lines(path: &str, line: u32, limit: u32) -> Result<String> {
    Ok(imports::workspace::read_text(path, Some(line), Some(limit))?)
}

/// Writes a whole text file; makes the folders above it. Where the file changed while the person was asked it is left as
/// it is, with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict).
pub fn write(path: &str, text: &str) -> Result<()> {
    Ok(imports::workspace::write_text(path, text)?)
}

/// What is in a folder.
pub fn list(path: &str) -> Result<Vec<DirEntry>> {
    let entries = imports::workspace::list_directory(path)?;
    let entry = |entry: crate::bindings::imports::host::workspace::DirEntry| DirEntry {
        name: entry.name,
        kind: match entry.kind.as_str() {
            "file" => Kind::File,
            "directory" => Kind::Directory,
            "link" => Kind::Link,
            _ => Kind::Other,
        },
        size: entry.size,
    };
    Ok(entries.into_iter().map(entry).collect())
}
