//! Paths that cannot leave a root, and patterns over them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

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
        let starts_with_drive =
            relative.as_bytes().get(1) == Some(&b':') && relative.starts_with(|c: char| c.is_ascii_alphabetic());
        if relative.contains(['\0', '\\']) || starts_with_drive {
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

/// A set of relative paths.
#[derive(Debug, Clone)]
pub struct PathGlob {
    text: Arc<str>,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Exact,
    /// The folder before `/**`; empty for everything.
    Subtree(Arc<str>),
    /// Shared, since compiling one costs far more than all else that a session opens with.
    Pattern(Arc<GlobMatcher>),
    /// The same, where small letters and capitals are the same, of which nothing more than it says is ever meant.
    AnyCase(Arc<GlobMatcher>),
}

impl PathGlob {
    /// One path, taken literally.
    pub fn exact(path: &str) -> Self {
        Self { text: path.into(), form: Form::Exact }
    }

    /// A folder, itself included, and all below it; `""` is everything.
    pub fn subtree(folder: &str) -> Self {
        let text = if folder.is_empty() { "**".into() } else { format!("{folder}/**") };
        Self { text: text.into(), form: Form::Subtree(folder.into()) }
    }

    /// Parses a pattern: a plain path, `folder/**`, or a glob in which `*` stays in one name and `**` spans folders.
    pub fn parse(pattern: &str) -> Result<Self, PathError> {
        if pattern == "**" {
            return Ok(Self::subtree(""));
        }
        let special = |text: &str| text.contains(['*', '?', '[', '{']);
        if let Some(folder) = pattern.strip_suffix("/**").filter(|folder| !special(folder)) {
            let folder = WorkspacePath::new(RootId(0), folder)?;
            return Ok(Self::subtree(folder.as_str()));
        }
        if !special(pattern) {
            let path = WorkspacePath::new(RootId(0), pattern)?;
            return Ok(Self::exact(path.as_str()));
        }
        // As it is in paths: otherwise there would be none that fits.
        let names = pattern.split('/').filter(|name| !matches!(*name, "" | "."));
        let normal = names.collect::<Vec<_>>().join("/");
        let absolute = if pattern.starts_with('/') { "/" } else { "" };
        let text = format!("{absolute}{normal}");
        Ok(Self { form: Form::Pattern(Self::compiled(&text, false)?), text: text.into() })
    }

    /// Parses a glob in which small letters and capitals are the same, as they are in names on some disks. Where something
    /// is forbidden by it, what lies below is not.
    pub fn parse_in_any_case(pattern: &str) -> Result<Self, PathError> {
        Ok(Self { form: Form::AnyCase(Self::compiled(pattern, true)?), text: pattern.into() })
    }

    fn compiled(pattern: &str, any_case: bool) -> Result<Arc<GlobMatcher>, PathError> {
        if pattern.contains(['\\', '\0']) {
            return Err(PathError::Malformed(shown(pattern)));
        }
        if pattern.starts_with('/') || pattern.split('/').any(|name| name == "..") {
            return Err(PathError::Leaves(shown(pattern)));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .case_insensitive(any_case)
            .build()
            .map_err(|error| PathError::Pattern(shown(pattern), error.kind().to_string()))?;
        Ok(Arc::new(glob.compile_matcher()))
    }

    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The set as [`PathGlob::parse`] reads it.
    pub(super) fn to_pattern(&self) -> String {
        match &self.form {
            Form::Exact => escaped(or_dot(&self.text)),
            Form::Subtree(_) | Form::Pattern(_) | Form::AnyCase(_) => self.text.to_string(),
        }
    }

    /// Whether the relative, normalized `path` belongs to the set.
    pub fn matches(&self, path: &str) -> bool {
        match &self.form {
            Form::Exact => *self.text == *path,
            Form::Subtree(folder) => below(folder, path),
            Form::Pattern(matcher) | Form::AnyCase(matcher) => matcher.is_match(path),
        }
    }

    /// Whether what is forbidden by this set is forbidden for `path`, too: it belongs to it, or lies in a folder that does.
    pub fn bars_path(&self, path: &str) -> bool {
        match &self.form {
            Form::Exact => below(&self.text, path),
            Form::Pattern(matcher) => matcher.is_match(path) || above(path).any(|folder| matcher.is_match(folder)),
            Form::Subtree(_) | Form::AnyCase(_) => self.matches(path),
        }
    }

    /// Whether what is forbidden by this set is forbidden for all of `other`.
    pub fn bars(&self, other: &Self) -> bool {
        match &other.form {
            Form::Exact => self.bars_path(&other.text),
            Form::Subtree(_) | Form::Pattern(_) | Form::AnyCase(_) => {
                let base = other.base();
                // The folder of all is no entry that a glob could mean.
                let of_entries = matches!(self.form, Form::Pattern(_) | Form::AnyCase(_)) && base.is_empty();
                self.covers(other) || (!of_entries && self.bars_path(base))
            }
        }
    }

    /// Whether every path of `other` surely belongs to this set too. A pattern covers only single paths and itself.
    pub fn covers(&self, other: &Self) -> bool {
        match &other.form {
            Form::Exact => self.matches(&other.text),
            Form::Subtree(inner) => matches!(&self.form, Form::Subtree(outer) if below(outer, inner)),
            Form::Pattern(_) | Form::AnyCase(_) => {
                *self.text == *other.text || matches!(&self.form, Form::Subtree(outer) if outer.is_empty())
            }
        }
    }

    /// The folder of a `folder/**` pattern (empty for everything), or the path of a plain one: what can be opened to
    /// reach all that it names.
    pub fn base(&self) -> &str {
        match &self.form {
            Form::Exact => &self.text,
            Form::Subtree(folder) => folder,
            Form::Pattern(_) | Form::AnyCase(_) => {
                let fixed = self.text.split(['*', '?', '[', '{']).next().unwrap_or("");
                fixed.rsplit_once('/').map_or("", |(folder, _)| folder)
            }
        }
    }

    /// The folder that all it names lies in: the one to open to reach them; empty for the root.
    pub fn folder(&self) -> &str {
        match &self.form {
            Form::Exact => self.text.rsplit_once('/').map_or("", |(folder, _)| folder),
            Form::Subtree(_) | Form::Pattern(_) | Form::AnyCase(_) => self.base(),
        }
    }

    /// Whether something that it names may be `folder` itself, or lie in it or below. A pattern with `**` or braces may
    /// say yes where nothing does.
    fn leads_through(&self, folder: &str) -> bool {
        let on_the_way = |base: &str| below(base, folder) || below(folder, base);
        match &self.form {
            Form::Exact => below(folder, &self.text),
            Form::Subtree(base) => on_the_way(base),
            Form::Pattern(_) | Form::AnyCase(_) => {
                let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).count();
                let spans = self.text.contains("**") || self.text.contains('{');
                on_the_way(self.base()) && (spans || names(folder) < names(&self.text))
            }
        }
    }

    /// Whether it is a folder and all below it.
    pub fn is_subtree(&self) -> bool {
        matches!(self.form, Form::Subtree(_))
    }

    /// Whether there may be a path in both sets: of two patterns that is told by the folders that they begin in.
    pub fn may_meet(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (_, Form::Exact) => self.matches(&other.text),
            (Form::Exact, _) => other.matches(&self.text),
            (
                Form::Subtree(_) | Form::Pattern(_) | Form::AnyCase(_),
                Form::Subtree(_) | Form::Pattern(_) | Form::AnyCase(_),
            ) => below(self.base(), other.base()) || below(other.base(), self.base()),
        }
    }
}

impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathGlob {}

impl FromStr for PathGlob {
    type Err = PathError;

    fn from_str(pattern: &str) -> Result<Self, PathError> {
        Self::parse(pattern)
    }
}

/// As people and models read it, on one line: [`plain::name`].
impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&displayed(&self.text))
    }
}

fn displayed(path: &str) -> String {
    plain::name(or_dot(path))
}

/// The root as people know it.
pub(super) fn or_dot(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// The text for a pattern in which it is meant as it is.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?[]{}".contains(c) { pattern.extend(['[', c, ']']) } else { pattern.push(c) }
    }
    pattern
}

/// Whether `path` is `folder` itself, or lies in it or below.
pub(super) fn below(folder: &str, path: &str) -> bool {
    rest_below(folder, path).is_some()
}

/// The folders that `path` lies in, the nearest first; not the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').filter_map(|(at, _)| path.get(..at))
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
        self.glob.leads_through(at).then(|| WorkspacePath::root_of(inner).subtree())
    }

    /// A scope of the same kind at that base.
    fn of_base(&self, base: &WorkspacePath) -> Self {
        match self.glob.form {
            Form::Exact => base.scope(),
            Form::Subtree(_) | Form::Pattern(_) | Form::AnyCase(_) => base.subtree(),
        }
    }

    /// Whether something of it may be that folder, or lie in it or below.
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
    fn paths_are_normalized_and_contained() {
        for (text, normal) in
            [("a/b", "a/b"), ("./a//b/", "a/b"), ("a/../b", "b"), ("", ""), (".", ""), ("a/..", ""), ("...", "...")]
        {
            assert_eq!(path(text).as_deref(), Ok(normal), "{text}");
        }
        for bad in ["..", "a:b", "../x", "a/../../x", "/etc/passwd", "C:/x", "C:\\x", "\\\\host\\x", "a\0b", "//x"] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn patterns_match_and_cover() {
        let parse = |text| PathGlob::parse(text).unwrap();
        for (pattern, yes, no) in [
            ("**", vec!["", "a", "a/b"], vec![]),
            ("src/**", vec!["src", "src/a/b.rs"], vec!["srcs", "a/src"]),
            ("src/*.rs", vec!["src/a.rs"], vec!["src/a/b.rs", "src/a.txt"]),
            ("**/*.pem", vec!["a.pem", "x/y.pem"], vec!["a.pem.txt"]),
            ("notes", vec!["notes"], vec!["notes/a"]),
        ] {
            for text in yes {
                assert!(parse(pattern).matches(text), "{pattern} {text}");
            }
            for text in no {
                assert!(!parse(pattern).matches(text), "{pattern} {text}");
            }
        }
        for (outer, inner, covered) in [
            ("**", "a/**", true),
            ("**", "**/*.rs", true),
            ("a/**", "a/b/**", true),
            ("a/**", "a", true),
            ("a/**", "ab/**", false),
            ("a/b/**", "a/**", false),
            ("a", "a/**", false),
            ("*.rs", "*.rs", true),
            ("src/**", "**/*.rs", false),
        ] {
            assert_eq!(parse(outer).covers(&parse(inner)), covered, "{outer} {inner}");
        }
        for bad in ["../**", "/etc/**", "a/../../*", "[", "a\\b", "a\\*"] {
            assert!(PathGlob::parse(bad).is_err(), "{bad}");
        }
        let any_case = PathGlob::parse_in_any_case("**/*.git/Config").unwrap();
        for (text, yes) in [("a/.GIT/config", true), (".Git/CONFIG", true), ("a/.git/config2", false)] {
            assert_eq!(any_case.matches(text), yes, "{text}");
        }
    }

    #[test]
    fn a_pattern_leads_through_the_folders_above_what_it_names() {
        for (pattern, yes, no) in [
            ("**", vec!["", "a/b"], vec![]),
            ("docs/**", vec!["", "docs", "docs/a"], vec!["src", "docsx"]),
            ("docs/*.md", vec!["", "docs"], vec!["docs/a", "src"]),
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

        #[test]
        fn what_a_pattern_covers_it_matches(outer in "([ab*]/?){1,4}", inner in "([ab]/?){1,4}") {
            if let (Ok(outer), Ok(inner)) = (PathGlob::parse(&outer), PathGlob::parse(&inner))
                && outer.covers(&inner) {
                prop_assert!(outer.matches(inner.as_str()));
            }
        }
    }
}
