//! Paths that cannot leave a root, and scopes of them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::PathGlob;
use crate::plain;

/// The place of a root in its session: 0 is the session's `cwd`, the others its `additionalDirectories`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootId(pub u16);

/// Why a text is not a path inside a root, or not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `..` leads above the root.
    #[error("`{0}` leaves the workspace")]
    Leaves(String),
    /// An absolute path under none of the roots.
    #[error("`{0}` is not under any of the session's folders")]
    OutsideRoots(String),
    /// NUL, a backslash, a drive letter: not spelled as a workspace path.
    #[error("`{0}` is not a valid path: use `/` between names, without NUL or drive letters")]
    Malformed(String),
    /// A glob that cannot be parsed.
    #[error("`{0}` is not a valid path pattern: {1}")]
    Pattern(String, String),
    /// Hosts that cannot be parsed.
    #[error("`{0}` is not a valid host: {1}")]
    Host(String, String),
}

/// A path in a root: relative, normalized, `/` between names, without `.` and `..`; empty for the root itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkspacePath {
    root: RootId,
    path: Arc<str>,
}

impl WorkspacePath {
    /// Normalizes `relative` and checks that it stays in the root.
    pub fn new(root: RootId, relative: &str) -> Result<Self, PathError> {
        if relative.contains(['\0', '\\']) {
            return Err(PathError::Malformed(shown(relative)));
        }
        if relative.starts_with('/') {
            return Err(PathError::OutsideRoots(shown(relative)));
        }
        let mut names: Vec<&str> = Vec::new();
        for name in relative.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop().ok_or_else(|| PathError::Leaves(shown(relative)))?;
                }
                name => names.push(name),
            }
        }
        // Of what is left: what stood before it may be gone by now.
        if names.first().is_some_and(|first| is_drive(first)) {
            return Err(PathError::Malformed(shown(relative)));
        }
        Ok(Self { root, path: names.join("/").into() })
    }

    /// The root itself.
    pub fn root_of(root: RootId) -> Self {
        Self { root, path: "".into() }
    }

    /// Which root it lies in.
    pub fn root(&self) -> RootId {
        self.root
    }

    /// The normalized relative path; empty for the root itself.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// The last name; empty for the root itself.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or("")
    }

    /// The folder it lies in; none for the root itself.
    pub fn parent(&self) -> Option<Self> {
        if self.path.is_empty() {
            return None;
        }
        let parent = self.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(Self { root: self.root, path: parent.into() })
    }

    /// `relative` below this one.
    pub fn join(&self, relative: &str) -> Result<Self, PathError> {
        if relative.starts_with('/') {
            return Err(PathError::OutsideRoots(shown(relative)));
        }
        Self::new(self.root, format!("{}/{relative}", self.path).trim_start_matches('/'))
    }

    /// The same place in a root that has this path's root at `at`.
    pub(super) fn seen_from(&self, outer: RootId, at: &str) -> Self {
        Self { root: outer, path: joined(at, &self.path) }
    }

    /// The same place in the root `inner`, which stands at `at` of this path's root; none where it does not lie there.
    pub(super) fn seen_in(&self, inner: RootId, at: &str) -> Option<Self> {
        rest_below(at, &self.path).map(|rest| Self { root: inner, path: rest.into() })
    }

    /// Exactly this path, as a scope.
    pub fn scope(&self) -> PathScope {
        PathScope { root: self.root, glob: PathGlob::exact(&self.path) }
    }

    /// This path and all below it, as a scope.
    pub fn subtree(&self) -> PathScope {
        PathScope { root: self.root, glob: PathGlob::subtree(&self.path) }
    }
}

/// As people and models read it, on one line: [`plain::name`].
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&displayed(&self.path))
    }
}

pub(super) fn displayed(path: &str) -> String {
    plain::name(or_dot(path))
}

/// Whether a name is one that some systems take for a drive.
fn is_drive(name: &str) -> bool {
    name.as_bytes().get(1) == Some(&b':') && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The root as people know it.
pub(super) fn or_dot(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Whether `path` is `folder` itself, or lies in it or below.
pub(super) fn below(folder: &str, path: &str) -> bool {
    rest_below(folder, path).is_some()
}

/// The path from `folder` on; none where it does not lie there.
fn rest_below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// `path` below `folder`.
fn joined(folder: &str, path: &str) -> Arc<str> {
    match (folder, path) {
        ("", path) => path.into(),
        (folder, "") => folder.into(),
        (folder, path) => format!("{folder}/{path}").into(),
    }
}

/// Paths of one root: one path, or many by a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathScope {
    /// The root they lie in.
    pub root: RootId,
    /// Which of its paths.
    pub glob: PathGlob,
}

impl PathScope {
    /// The path that it is, or the folder that all its paths lie in.
    pub fn base(&self) -> WorkspacePath {
        WorkspacePath { root: self.root, path: self.glob.base().into() }
    }

    /// The folder that all its paths lie in.
    pub fn folder(&self) -> WorkspacePath {
        WorkspacePath { root: self.root, path: self.glob.folder().into() }
    }

    /// The scope with its base at another place; a pattern becomes all that lies there.
    #[must_use]
    pub fn rebased(&self, base: &WorkspacePath) -> Self {
        if *base == self.base() {
            return self.clone();
        }
        self.of_base(base)
    }

    /// The same places in a root that has this scope's root at `at`. A pattern becomes all that lies in its folder.
    pub(super) fn seen_from(&self, outer: RootId, at: &str) -> Self {
        self.of_base(&self.base().seen_from(outer, at))
    }

    /// What of it lies in the root `inner`, which stands at `at` of this scope's root: nothing, or a part, or all. A
    /// pattern becomes all that lies in its folder.
    pub(super) fn seen_in(&self, inner: RootId, at: &str) -> Option<Self> {
        if let Some(base) = self.base().seen_in(inner, at) {
            return Some(self.of_base(&base));
        }
        (self.glob.leads_through(at) || self.glob.matches(at)).then(|| WorkspacePath::root_of(inner).subtree())
    }

    /// A scope of the same kind at that base.
    fn of_base(&self, base: &WorkspacePath) -> Self {
        if self.glob.is_exact() { base.scope() } else { base.subtree() }
    }

    /// Whether something of it may lie in that folder or below; of a path or a whole folder, also be that folder.
    pub fn leads_through(&self, folder: &WorkspacePath) -> bool {
        self.root == folder.root && self.glob.leads_through(&folder.path)
    }

    /// Whether every path of `other` surely belongs to this scope too.
    pub fn covers(&self, other: &Self) -> bool {
        self.root == other.root && self.glob.covers(&other.glob)
    }
}

pub(super) fn shown(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> Result<String, PathError> {
        WorkspacePath::new(RootId(0), text).map(|path| path.as_str().to_owned())
    }

    #[test]
    fn a10_paths_are_normalized_and_contained() {
        for (text, normal) in
            [("a/b", "a/b"), ("./a//b/", "a/b"), ("a/../b", "b"), ("", ""), (".", ""), ("a/..", ""), ("...", "...")]
        {
            assert_eq!(path(text).as_deref(), Ok(normal), "{text}");
        }
        for bad in [
            "..",
            "a:b",
            "../x",
            "a/../../x",
            "/etc/passwd",
            "C:/x",
            "C:\\x",
            "\\\\host\\x",
            "a\0b",
            "//x",
            "./C:/x",
            "a/../C:/x",
        ] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_pattern_leads_through_the_folders_above_what_it_names() {
        for (pattern, yes, no) in [
            ("**", vec!["", "a/b"], vec![]),
            ("docs/**", vec!["", "docs", "docs/a"], vec!["src", "docsx"]),
            ("docs/*.md", vec!["", "docs"], vec!["docs/a", "docs/a.md", "src"]),
            ("docs/**/*.md", vec!["", "docs", "docs/a/b"], vec!["src"]),
            ("*/a.md", vec!["", "x"], vec!["x/y"]),
            ("docs/a/b.md", vec!["", "docs", "docs/a", "docs/a/b.md"], vec!["docs/b", "docs/a/b"]),
        ] {
            let scope = PathScope { root: RootId(0), glob: PathGlob::parse(pattern).unwrap() };
            let leads = |folder: &str| scope.leads_through(&WorkspacePath::new(RootId(0), folder).unwrap());
            for folder in yes {
                assert!(leads(folder), "{pattern} {folder}");
            }
            for folder in no {
                assert!(!leads(folder), "{pattern} {folder}");
            }
            assert!(!scope.leads_through(&WorkspacePath::root_of(RootId(1))), "{pattern}: of another root");
        }
        for (pattern, folder) in [("a/b.md", "a"), ("b.md", ""), ("a/**", "a"), ("a/b/*.md", "a/b"), ("**", "")] {
            assert_eq!(PathGlob::parse(pattern).unwrap().folder(), folder, "{pattern}");
        }
    }

    #[test]
    fn a_scope_moves_with_its_base() {
        for (glob, base, moved) in [
            ("a/b", "c", "c"),
            ("a/**", "c/d", "c/d/**"),
            ("a/*.rs", "c", "c/**"),
            ("a/*.rs", "a", "a/*.rs"),
            ("**", "", "**"),
        ] {
            let scope = PathScope { root: RootId(1), glob: PathGlob::parse(glob).unwrap() };
            let moved_to = scope.rebased(&WorkspacePath::new(RootId(1), base).unwrap());
            assert_eq!((moved_to.root, moved_to.glob.as_str()), (RootId(1), moved), "{glob} {base}");
        }
    }

    #[test]
    fn a_path_is_shown_on_one_line() {
        let path = WorkspacePath::new(RootId(1), "a\nb/\u{202e}c").unwrap();
        assert_eq!(path.to_string(), "a\\nb/\\u{202e}c");
        assert_eq!(path.subtree().glob.to_string(), "a\\nb/\\u{202e}c/**");
    }

    proptest! {
        #[test]
        fn no_text_makes_a_path_that_leaves(text in "[a./\\\\:\0]{0,24}") {
            if let Ok(path) = path(&text) {
                prop_assert!(!path.starts_with('/'));
                prop_assert!(path.split('/').all(|name| name != ".." && name != "."));
            }
        }
    }
}
