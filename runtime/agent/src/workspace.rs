//! The files of a session's roots, as a port. Nothing else in the runtime opens a file of the project.
//!
//! Every method takes a permit and checks that it covers the effect; implementers must call [`require`] first, and
//! whoever follows links checks that the permit reaches where they lead ([`Permit::reaches`]). Knows nothing about disks
//! or editors.

use std::fmt;

use futures::future::BoxFuture;

use crate::capability::{Effect, PathError, WorkspacePath};
use crate::gate::Permit;

/// Why a file operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// There is nothing at that path.
    #[error("`{0}` does not exist")]
    NotFound(String),
    /// The path is not inside the workspace, or resolves to a place outside.
    #[error("`{0}` is outside the workspace")]
    Outside(String),
    /// Its links lead elsewhere than they did when it was allowed.
    #[error("`{0}` leads to another place than the one that was allowed: look at it again")]
    LeadsElsewhere(String),
    /// Something else stands where a file or folder was expected.
    #[error("`{path}` is not a {expected}")]
    WrongKind {
        /// The path.
        path: String,
        /// `file` or `directory`.
        expected: &'static str,
    },
    /// The file is not text.
    #[error("`{path}` is not a text file: it seems to be {seems}")]
    NotText {
        /// The path.
        path: String,
        /// What it is instead, such as `a PNG image`.
        seems: &'static str,
    },
    /// More than the limit, in bytes.
    #[error("`{path}` has {size} bytes; at most {limit} are read")]
    TooLarge {
        /// The path.
        path: String,
        /// What it has.
        size: u64,
        /// What may be.
        limit: u64,
    },
    /// Something is there already.
    #[error("`{0}` exists already")]
    Exists(String),
    /// The file has several hard links, so a write could change a file elsewhere.
    #[error(
        "`{0}` has several hard links and may be a file outside the workspace: put a new file in its place (delete it and \
         write it again), which leaves it as it is under its other names"
    )]
    MultiplyLinked(String),
    /// The deny list has it, under this or another name.
    #[error("`{0}` is on the deny list")]
    Denied(String),
    /// A glob or a regular expression that cannot be parsed.
    #[error("`{pattern}` is not a valid pattern: {reason}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It lies where the kernel makes the files up: no project's, and what they tell of processes is nobody's to read.
    #[error("`{0}` is not on a disk: the kernel makes up what is there")]
    MadeUp(String),
    /// What was asked cannot be done with that path.
    #[error("`{path}`: {reason}")]
    Unusable {
        /// The path.
        path: String,
        /// What is in the way.
        reason: String,
    },
    /// The system does not let this user do it.
    #[error("`{path}`: the system does not allow it: {reason}")]
    Forbidden {
        /// The path.
        path: String,
        /// Such as `Permission denied`.
        reason: String,
    },
    /// The permit does not cover what was tried: a defect of the caller.
    #[error("no permit for {0}")]
    NoPermit(String),
    /// The system's own words.
    #[error("`{path}`: {reason}")]
    System {
        /// The path.
        path: String,
        /// Such as `No space left on device`.
        reason: String,
    },
}

impl From<PathError> for WorkspaceError {
    fn from(error: PathError) -> Self {
        match error {
            PathError::Leaves(path) | PathError::OutsideRoots(path) | PathError::Malformed(path) => Self::Outside(path),
            PathError::Pattern(pattern, reason) | PathError::Host(pattern, reason) => {
                Self::BadPattern { pattern, reason }
            }
        }
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// In bytes.
    pub size: u64,
}

/// What to look for.
#[derive(Debug, Clone)]
pub struct Search {
    /// Where to begin.
    pub under: WorkspacePath,
    /// Only paths that match one of these globs (relative to `under`); empty for all.
    pub globs: Vec<String>,
    /// Lines that match this regular expression; none to find files by name alone.
    pub pattern: Option<String>,
    /// Whether letters match in both cases.
    pub ignore_case: bool,
    /// Stop after so many hits.
    pub limit: usize,
}

/// A file that was found, or a line in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The file.
    pub path: WorkspacePath,
    /// The line, counted from 1, and its text; none where only the name was asked for.
    pub line: Option<(u64, String)>,
}

/// What a search gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// In the order of paths.
    pub hits: Vec<Hit>,
    /// Whether the limit cut the list.
    pub cut: bool,
    /// What was not searched though it was asked for: one entry for each reason.
    pub missed: Vec<Missed>,
}

/// What was not searched, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// Why.
    pub reason: MissReason,
    /// How many files and folders; what lies in a folder is not counted.
    pub count: usize,
    /// The first of them, on one line.
    pub first: String,
}

/// Why something was not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissReason {
    /// Folders are searched only so deep.
    TooDeep,
    /// Its name is no text in UTF-8, or has a backslash: no path of the workspace can name it.
    Unnamed,
    /// The system does not let it be opened.
    Closed,
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooDeep => "too many folders deep",
            Self::Unnamed => "a name that no path here can have",
            Self::Closed => "the system does not open it",
        })
    }
}

/// Which lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first, counted from 1.
    pub first: u32,
    /// At most so many.
    pub most: u32,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines, with their ends.
    pub text: String,
    /// How many lines the file has; none where nobody looked for its end.
    pub total: Option<usize>,
}

impl Excerpt {
    /// Those lines of a whole text.
    pub fn of(text: &str, range: LineRange) -> Self {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let lines = text.split_inclusive('\n').skip(count(range.first.max(1)) - 1).take(count(range.most));
        Self { text: lines.collect(), total: Some(text.lines().count()) }
    }
}

/// The files of a session.
pub trait Workspace: Send + Sync {
    /// A file's text. Needs `Read` of it.
    fn read<'a>(&'a self, permit: &'a Permit, path: &'a WorkspacePath)
    -> BoxFuture<'a, Result<String, WorkspaceError>>;

    /// Some lines of a file's text. Needs `Read` of it. By default they are cut out of the whole.
    fn read_lines<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        range: LineRange,
    ) -> BoxFuture<'a, Result<Excerpt, WorkspaceError>> {
        Box::pin(async move { Ok(Excerpt::of(&self.read(permit, path).await?, range)) })
    }

    /// Creates or replaces a file, with the folders above it. Needs `Write` of it.
    fn write<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Removes a file, or a folder with all in it. Needs `Delete` of it; of the subtree where it is a folder.
    fn delete<'a>(&'a self, permit: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// Moves a file or folder; the new path must be free. Needs `Move`.
    fn rename<'a>(
        &'a self,
        permit: &'a Permit,
        from: &'a WorkspacePath,
        to: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;

    /// A folder's entries, sorted by name, without those whose reading is denied to everyone. Needs `Read` of it.
    fn list<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<Vec<Entry>, WorkspaceError>>;

    /// Finds files, or lines in files, honouring `.gitignore`; nothing is told of what may not be read. Needs `Read` of
    /// the subtree.
    fn search<'a>(&'a self, permit: &'a Permit, search: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>>;
}

/// The check that every method begins with.
pub fn require(permit: &Permit, effect: &Effect) -> Result<(), WorkspaceError> {
    if permit.covers(effect) { Ok(()) } else { Err(WorkspaceError::NoPermit(effect.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_has_its_lines_and_the_count_of_all() {
        for (text, first, most, lines, total) in [
            ("a\nb\nc\n", 1, 9, "a\nb\nc\n", 3),
            ("a\nb\nc", 2, 1, "b\n", 3),
            ("a\nb\nc", 3, 9, "c", 3),
            ("a\r\nb", 1, 1, "a\r\n", 2),
            ("a\nb", 0, 1, "a\n", 2),
            ("a\nb", 3, 1, "", 2),
            ("a\nb", 1, 0, "", 2),
            ("", 1, 9, "", 0),
        ] {
            let excerpt = Excerpt::of(text, LineRange { first, most });
            assert_eq!((excerpt.text.as_str(), excerpt.total), (lines, Some(total)), "{text:?} {first} {most}");
        }
    }
}
