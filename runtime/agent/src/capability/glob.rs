//! Patterns over the paths of a root.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};

use super::path::{below, displayed, or_dot, shown};
use super::{PathError, RootId, WorkspacePath};

/// Bytes of a compiled pattern: enough for each path that is written as one. What it costs to match one grows with that, and
/// patterns are written by strangers, too.
const LARGEST: usize = 512 * 1024;
/// Bytes of a pattern: those of the longest path, each in brackets. Reading one takes some thousand times as many.
const LONGEST: usize = 3 * 4096;

/// A set of relative paths.
#[derive(Clone)]
pub struct PathGlob {
    text: Arc<str>,
    form: Form,
}

#[derive(Clone)]
enum Form {
    Exact,
    /// The folder before `/**`; empty for everything.
    Subtree(Arc<str>),
    Pattern {
        /// Shared, since compiling one costs far more than all else that a session opens with.
        matcher: Arc<Regex>,
        any_case: bool,
    },
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

    /// Parses a pattern: a plain path, `folder/**`, or a glob in which `*` stays in one name and `**` spans folders. It is
    /// normalized as a path is: one with a name that no path has would match nothing.
    pub fn parse(pattern: &str) -> Result<Self, PathError> {
        if !special(pattern) {
            let path = WorkspacePath::new(RootId(0), pattern)?;
            return Ok(Self::exact(path.as_str()));
        }
        let pattern = normal_pattern(pattern)?;
        match folder_of_all(&pattern) {
            Some(folder) if !special(folder) => Ok(Self::subtree(WorkspacePath::new(RootId(0), folder)?.as_str())),
            Some(folder) => Self::compiled(&[folder, &pattern], &pattern, false),
            None => Self::compiled(&[&pattern], &pattern, false),
        }
    }

    /// Parses the same where small letters and capitals are one, as they are in names on some disks. Where something is
    /// forbidden by it, what lies below is not.
    pub fn parse_in_any_case(pattern: &str) -> Result<Self, PathError> {
        if !special(pattern) {
            let path = WorkspacePath::new(RootId(0), pattern)?;
            return Self::compiled(&[&escaped(path.as_str())], path.as_str(), true);
        }
        let pattern = normal_pattern(pattern)?;
        match folder_of_all(&pattern) {
            Some("") | None => Self::compiled(&[&pattern], &pattern, true),
            Some(folder) => {
                let folder = if special(folder) { folder.to_owned() } else { escaped(folder) };
                Self::compiled(&[&folder, &format!("{folder}/**")], &pattern, true)
            }
        }
    }

    /// What any of `globs` matches.
    fn compiled(globs: &[&str], text: &str, any_case: bool) -> Result<Self, PathError> {
        let broken = |why: String| PathError::Pattern(shown(text), why);
        if text.len() > LONGEST {
            return Err(broken(format!("it has {} bytes, more than the {LONGEST} that any path needs", text.len())));
        }
        let expression = |glob: &&str| {
            let glob = GlobBuilder::new(glob)
                .literal_separator(true)
                // `secret{,s}` names both.
                .empty_alternates(true)
                .case_insensitive(any_case)
                .build()
                .map_err(|error| broken(error.kind().to_string()))?;
            Ok(of_characters(glob.regex()))
        };
        let expressions = globs.iter().map(expression).collect::<Result<Vec<_>, _>>()?;
        let matcher = RegexBuilder::new(&expressions.join("|")).dot_matches_new_line(true).size_limit(LARGEST).build();
        let matcher = matcher.map_err(|error| {
            broken(match error {
                regex::Error::CompiledTooBig(_) => "it is too large: make several of it".to_owned(),
                other => other.to_string(),
            })
        })?;
        Ok(Self { text: text.into(), form: Form::Pattern { matcher: Arc::new(matcher), any_case } })
    }

    /// A regular expression that matches the same paths.
    pub(super) fn expression(&self) -> String {
        match &self.form {
            Form::Exact => format!("^{}$", regex::escape(&self.text)),
            Form::Subtree(folder) if folder.is_empty() => "^(?-u:.*)$".to_owned(),
            Form::Subtree(folder) => format!("^{}(?:/(?-u:.*))?$", regex::escape(folder)),
            Form::Pattern { matcher, .. } => matcher.as_str().to_owned(),
        }
    }

    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The set as [`PathGlob::parse`] reads it.
    pub(super) fn to_pattern(&self) -> String {
        match &self.form {
            Form::Exact => escaped(or_dot(&self.text)),
            Form::Subtree(_) | Form::Pattern { .. } => self.text.to_string(),
        }
    }

    /// Whether the relative, normalized `path` belongs to the set.
    pub fn matches(&self, path: &str) -> bool {
        match &self.form {
            Form::Exact => *self.text == *path,
            Form::Subtree(folder) => below(folder, path),
            // A name is never empty, and the root has none.
            Form::Pattern { .. } if path.is_empty() => matches!(&*self.text, "" | "**"),
            Form::Pattern { matcher, .. } => matcher.is_match(path.as_bytes()),
        }
    }

    /// Whether what is forbidden by this set is forbidden for `path`, too: it belongs to it, or lies in a folder that does.
    pub fn bars_path(&self, path: &str) -> bool {
        match &self.form {
            Form::Exact => below(&self.text, path),
            Form::Pattern { any_case: false, .. } => {
                self.matches(path) || above(path).any(|folder| self.matches(folder))
            }
            Form::Subtree(_) | Form::Pattern { any_case: true, .. } => self.matches(path),
        }
    }

    /// Whether what is forbidden by this set is forbidden for all of `other`.
    pub fn bars(&self, other: &Self) -> bool {
        match &other.form {
            Form::Exact => self.bars_path(&other.text),
            Form::Subtree(_) | Form::Pattern { .. } => {
                let base = other.base();
                // The folder of all is no entry that a glob could mean.
                let of_entries = matches!(self.form, Form::Pattern { .. }) && base.is_empty();
                self.covers(other) || (!of_entries && self.bars_path(base))
            }
        }
    }

    /// Whether every path of `other` surely belongs to this set too. A pattern covers only single paths and itself.
    pub fn covers(&self, other: &Self) -> bool {
        match &other.form {
            Form::Exact => self.matches(&other.text),
            Form::Subtree(inner) => matches!(&self.form, Form::Subtree(outer) if below(outer, inner)),
            Form::Pattern { .. } => self == other || matches!(&self.form, Form::Subtree(outer) if outer.is_empty()),
        }
    }

    /// The folder of a `folder/**` pattern (empty for everything), or the path of a plain one: what can be opened to
    /// reach all that it names.
    pub fn base(&self) -> &str {
        match &self.form {
            Form::Exact => &self.text,
            Form::Subtree(folder) => folder,
            Form::Pattern { .. } => {
                let fixed = self.text.split(['*', '?', '[', '{']).next().unwrap_or("");
                fixed.rsplit_once('/').map_or("", |(folder, _)| folder)
            }
        }
    }

    /// The folder that all it names lies in: the one to open to reach them; empty for the root.
    pub fn folder(&self) -> &str {
        match &self.form {
            Form::Exact => self.text.rsplit_once('/').map_or("", |(folder, _)| folder),
            Form::Subtree(_) | Form::Pattern { .. } => self.base(),
        }
    }

    /// Whether something that it names may lie in `folder` or below; of a path or a whole folder, also be `folder` itself. A
    /// pattern with `**` or braces may say yes where nothing does.
    pub(super) fn leads_through(&self, folder: &str) -> bool {
        let on_the_way = |base: &str| below(base, folder) || below(folder, base);
        match &self.form {
            Form::Exact => below(folder, &self.text),
            Form::Subtree(base) => on_the_way(base),
            Form::Pattern { .. } => {
                let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).count();
                let spans = self.text.contains("**") || self.text.contains('{');
                on_the_way(self.sure_base()) && (spans || names(folder) < names(&self.text))
            }
        }
    }

    /// Whether it is one path.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self.form, Form::Exact)
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
            (Form::Subtree(_) | Form::Pattern { .. }, Form::Subtree(_) | Form::Pattern { .. }) => {
                let (one, other) = (self.sure_base(), other.sure_base());
                below(one, other) || below(other, one)
            }
        }
    }

    /// [`PathGlob::base`], as far as it is spelled in one way only.
    fn sure_base(&self) -> &str {
        if matches!(self.form, Form::Pattern { any_case: true, .. }) { "" } else { self.base() }
    }
}

/// A path that is taken literally is not the pattern of the same text.
impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        let same_form = match (&self.form, &other.form) {
            (Form::Exact, Form::Exact) | (Form::Subtree(_), Form::Subtree(_)) => true,
            (Form::Pattern { any_case: one, .. }, Form::Pattern { any_case: other, .. }) => one == other,
            (Form::Exact | Form::Subtree(_) | Form::Pattern { .. }, _) => false,
        };
        same_form && self.text == other.text
    }
}

impl Eq for PathGlob {}

impl FromStr for PathGlob {
    type Err = PathError;

    fn from_str(pattern: &str) -> Result<Self, PathError> {
        Self::parse(pattern)
    }
}

impl fmt::Debug for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match &self.form {
            Form::Exact => "exact",
            Form::Subtree(_) => "subtree",
            Form::Pattern { any_case: false, .. } => "pattern",
            Form::Pattern { any_case: true, .. } => "pattern in any case",
        };
        f.debug_tuple("PathGlob").field(&self.text).field(&form).finish()
    }
}

/// As people and models read it, on one line: [`plain::name`].
impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&displayed(&self.text))
    }
}

/// Whether it is a pattern, rather than a path.
fn special(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// The folder of a `folder/**`, or the folders where braces name several; empty for everything. None where a pattern stands
/// in the place of a name.
fn folder_of_all(pattern: &str) -> Option<&str> {
    let folder = if pattern == "**" { Some("") } else { pattern.strip_suffix("/**") };
    folder.filter(|folder| !folder.contains(['*', '?', '[']))
}

/// The pattern without what no normalized path has: empty names and `.`, and one `**` for several. What would have to be
/// left out between braces is refused.
fn normal_pattern(pattern: &str) -> Result<String, PathError> {
    if pattern.contains(['\\', '\0']) {
        return Err(PathError::Malformed(shown(pattern)));
    }
    if pattern.starts_with('/') {
        return Err(PathError::Leaves(shown(pattern)));
    }
    let refused = |why: &str| PathError::Pattern(shown(pattern), why.to_owned());
    let mut names: Vec<&str> = Vec::new();
    for name in names_of(pattern) {
        match name {
            "" | "." => {}
            "**" if names.last() == Some(&"**") => {}
            ".." => return Err(PathError::Leaves(shown(pattern))),
            name => names.push(name),
        }
    }
    let braced = names.iter().filter(|name| name.contains('{') && name.contains('/'));
    let odd = ["//", "/./", "/../", "{./", "{../", ",./", ",../"];
    if braced.into_iter().any(|name| odd.iter().any(|odd| name.contains(odd))) {
        return Err(refused("between braces stand no empty names, no `.` and no `..`"));
    }
    // Each of their bytes would be a character.
    let bracketed = pattern.split('[').skip(1).map(|rest| rest.split(']').next().unwrap_or(rest));
    if !bracketed.into_iter().all(str::is_ascii) {
        return Err(refused("between brackets stand only letters and marks of ASCII"));
    }
    Ok(names.join("/"))
}

/// The names of a pattern. A slash between braces or brackets is none of those between them.
fn names_of(pattern: &str) -> Vec<&str> {
    let (mut names, mut from, mut braces) = (Vec::new(), 0_usize, 0_usize);
    // Where the class began in which the scan is.
    let mut class: Option<usize> = None;
    for (at, c) in pattern.char_indices() {
        match (c, class) {
            // The first one in a class is one of its characters.
            (']', Some(begin)) => {
                if !matches!(pattern.get(begin..at), Some("[" | "[!" | "[^")) {
                    class = None;
                }
            }
            (_, Some(_)) => {}
            ('[', None) => class = Some(at),
            ('{', None) => braces += 1,
            ('}', None) => braces = braces.saturating_sub(1),
            ('/', None) if braces == 0 => {
                names.extend(pattern.get(from..at));
                from = at + 1;
            }
            (_, None) => {}
        }
    }
    names.extend(pattern.get(from..));
    names
}

/// The folders that `path` lies in, the nearest first; not the root.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// The expression of a glob, which is one over bytes, for text: a character that is not named is one of several bytes, too.
fn of_characters(expression: &str) -> String {
    const LONGER: &str = r"[\xC2-\xDF][\x80-\xBF]|[\xE0-\xEF][\x80-\xBF]{2}|[\xF0-\xF4][\x80-\xBF]{3}";
    /// What no text has.
    const NEVER: &str = r"[^\s\S]";
    let (mut whole, mut rest) = (String::with_capacity(expression.len()), expression);
    while let Some(at) = rest.find(['\\', '[']) {
        let (before, from) = rest.split_at(at);
        whole.push_str(before);
        let end = if from.starts_with('\\') { escape(from) } else { class(from) };
        let (piece, after) = from.split_at(end);
        match piece.strip_prefix("[^").and_then(|class| class.strip_suffix(']')) {
            Some(named) if piece != NEVER => {
                whole.extend(["(?:[^", named, r"\x80-\xFF]|", LONGER, ")"]);
            }
            Some(_) | None => whole.push_str(piece),
        }
        rest = after;
    }
    whole + rest
}

/// Where the escape ends that a text begins with.
fn escape(text: &str) -> usize {
    text.chars().take(2).map(char::len_utf8).sum()
}

/// Where the class ends that a text begins with.
fn class(text: &str) -> usize {
    let mut at = 1;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(']') {
            return at + 1;
        }
        at += if rest.starts_with('\\') { escape(rest) } else { rest.chars().next().map_or(1, char::len_utf8) };
    }
    text.len()
}

/// The text of a path, for a pattern between braces.
pub(super) fn in_braces(path: &str) -> String {
    escaped(path).replace(',', "[,]")
}

/// The text for a pattern in which it is meant as it is.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?[]{}".contains(c) { pattern.extend(['[', c, ']']) } else { pattern.push(c) }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capability::{EffectPattern, HostPattern};
    use crate::fuzz::Fuzz;

    #[test]
    fn patterns_match_and_cover() {
        let parse = |text| PathGlob::parse(text).unwrap();
        for (pattern, yes, no) in [
            ("**", vec!["", "a", "a/b"], vec![]),
            ("src/**", vec!["src", "src/a/b.rs"], vec!["srcs", "a/src"]),
            ("src/*.rs", vec!["src/a.rs"], vec!["src/a/b.rs", "src/a.txt"]),
            ("**/*.pem", vec!["a.pem", "x/y.pem"], vec!["a.pem.txt"]),
            ("notes", vec!["notes"], vec!["notes/a"]),
            // A pattern is read as a path is: as it was written these would match nothing, and forbid nothing.
            ("./src/*.rs", vec!["src/a.rs"], vec!["src/b/a.rs"]),
            ("src//*.rs", vec!["src/a.rs"], vec![]),
            ("src/./*.rs/", vec!["src/a.rs"], vec![]),
            ("./**/a", vec!["a", "b/a"], vec![]),
            ("a/**/**", vec!["a", "a/b/c"], vec!["b"]),
            ("secret{,s}", vec!["secret", "secrets"], vec!["secretx"]),
            ("{a,b/c}/**", vec!["a", "b/c", "a/d", "b/c/d"], vec!["b", "c", "a,b"]),
            ("a[!b]c", vec!["axc", "aéc", "a\u{1f512}c"], vec!["a/c", "abc", "a\u{e9}\u{e9}c"]),
            ("a?c", vec!["axc", "aéc", "a\nc"], vec!["ac", "a/c", "aéec"]),
            ("é?*.{é,x}", vec!["éa.é", "ééé.x"], vec!["é.é", "e.x"]),
            ("a[/.]b", vec!["a.b"], vec!["a/b"]),
            ("*", vec!["a"], vec!["", "a/b"]),
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
        for odd in ["*", "]a", "]\u{1027}C"] {
            let path = PathGlob::exact(&odd.repeat(4096 / odd.len()));
            assert!(PathGlob::parse(&path.to_pattern()).is_ok_and(|again| again.matches(path.as_str())), "{odd}");
        }
        let large = PathGlob::parse(&"*/".repeat(2000)).unwrap_err().to_string();
        assert!(large.contains("too large"), "{large}");
        for long in ["{a,b}".repeat(200_000), "*".repeat(LONGEST + 1), format!("[a]{}", "b".repeat(LONGEST))] {
            for parse in [PathGlob::parse, PathGlob::parse_in_any_case] {
                let why = parse(&long).unwrap_err().to_string();
                assert!(why.ends_with("more than the 12288 that any path needs") && why.len() < 600, "{why}");
            }
        }
        for bad in [
            "../**",
            "/etc/**",
            "a/../../*",
            "[",
            "a\\b",
            "a\\*",
            "{a//b,c}",
            "{./a,b}*",
            "*{a/../b,c}",
            "*\0",
            "[é]",
            "[!aé]*",
        ] {
            assert!(PathGlob::parse(bad).is_err(), "{bad}");
        }
        let (literal, pattern) = (PathGlob::exact("a*"), parse("a*"));
        assert!(!literal.covers(&pattern) && !PathGlob::subtree("a*").covers(&parse("a*/**")), "another set");
        assert!(literal != pattern && PathGlob::parse_in_any_case("a*").unwrap() != pattern);
        assert!(PathGlob::parse_in_any_case("Src/**").unwrap().matches("src"), "a folder is in its own");
        assert!(PathGlob::parse_in_any_case(".").unwrap().matches(""), "the root can be named");
        for (plain, path) in
            [("a/../Src", "src"), ("a/..", ""), ("Odd}]", "odd}]"), ("Odd}/**", "odd}"), ("{A,b}/**", "B")]
        {
            assert!(PathGlob::parse_in_any_case(plain).unwrap().matches(path), "{plain} is read as a path");
        }
        assert!(PathGlob::parse_in_any_case("Src/*.rs").unwrap().may_meet(&PathGlob::subtree("src")));
        let any_case = PathGlob::parse_in_any_case("**/*.git/Config").unwrap();
        for (text, yes) in [("a/.GIT/config", true), (".Git/CONFIG", true), ("a/.git/config2", false)] {
            assert_eq!(any_case.matches(text), yes, "{text}");
        }
    }

    fn fuzz() -> Fuzz {
        let honest =
            ["src/**/*.rs", "./a/../b", "**/*.{pem,key}", "[!a-z]?/**", "C:/x", "/etc/passwd", "run:cargo test **"];
        let others = ["fetch:https://*.example.com:8443/v1", "https://[::1]:80/a", "plugin:aar:*", "secret:a/b"];
        Fuzz::of(honest.into_iter().chain(others))
            .with_words([
                "**/",
                "{",
                "}",
                ",",
                "[",
                "]",
                "[!",
                "..",
                "/",
                "\0",
                "\\",
                "{a,b}",
                "\u{202e}",
                "\u{ff0e}",
                "://",
                "@",
                ":",
                "%2e",
                "*.",
                "write:",
                "run:",
                "fetch:http://",
            ])
            // A glob is compiled, and a star of it to some thousands of bytes.
            .costing(64 << 20)
    }

    /// Whatever they are, they mean nothing outside, and are read as they are shown.
    fn check(input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        let path = WorkspacePath::new(RootId(0), &text);
        let inside = |path: &str| !path.starts_with('/') && path.split('/').all(|name| name != ".." && name != ".");
        if let Ok(path) = &path {
            assert!(inside(path.as_str()));
            assert_eq!(WorkspacePath::new(RootId(0), path.as_str()).as_ref(), Ok(path));
        }
        for glob in [PathGlob::parse(&text), PathGlob::parse_in_any_case(&text)].into_iter().flatten() {
            assert!(inside(glob.base()) && inside(glob.folder()), "{glob:?}");
            if let Ok(path) = &path {
                let meets = glob.matches(path.as_str());
                assert!(!meets || glob.may_meet(&PathGlob::subtree(path.as_str())), "{glob:?} {path}");
            }
        }
        if let Ok(glob) = PathGlob::parse(&text) {
            let again = PathGlob::parse(&glob.to_pattern()).unwrap();
            assert!(again == glob || glob.is_exact() && again.matches(glob.as_str()), "{glob:?} is read as {again:?}");
        }
        if let Ok(pattern) = EffectPattern::parse(&text) {
            let shown = pattern.to_string();
            assert_eq!(EffectPattern::parse(&shown).unwrap().to_string(), shown);
        }
        if let Ok(host) = HostPattern::parse(&text) {
            assert_eq!(HostPattern::parse(&host.to_string()), Ok(host.clone()));
            assert!(host.request().is_none_or(|request| host.matches(&request) && host.touches(&request)));
        }
    }

    #[test]
    fn whatever_is_a_path_or_a_pattern_stays_inside() {
        fuzz().quick(check);
    }

    #[test]
    fn slow_fuzz_whatever_is_a_path_or_a_pattern_stays_inside() {
        fuzz().slow(check);
    }

    proptest! {
        #[test]
        fn what_a_pattern_covers_it_matches(outer in "([ab*]/?){1,4}", inner in "([ab]/?){1,4}") {
            if let (Ok(outer), Ok(inner)) = (PathGlob::parse(&outer), PathGlob::parse(&inner))
                && outer.covers(&inner) {
                prop_assert!(outer.matches(inner.as_str()));
            }
        }
    }
}
