//! What rights and prohibitions match, against models that are written another way: no right is one to more than its
//! model says, and a prohibition never means less than a right of the same text.

use acp_runtime_agent::capability::{
    CommandLine, Effect, EffectPattern, HostPattern, NetRequest, PathGlob, PathScope, RootId, RunPattern, RunRight,
    WorkspacePath,
};
use proptest::prelude::*;
use proptest::sample::select;

const CASES: u32 = 10_000;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) }
}

/// Names and parts of names as people who want out write them.
const NAMES: [&str; 28] = [
    "a",
    "b",
    "A",
    "ab",
    "a.b",
    ".a",
    ".",
    "..",
    "...",
    "",
    "a*",
    "[a]",
    "{a}",
    "**",
    "*",
    "é",
    "a b",
    "a,b",
    "a:",
    "C:",
    "a\u{202e}",
    "a\0",
    "a\\b",
    "%2e%2e",
    "\u{ff0e}\u{ff0e}",
    "a\n",
    "~",
    "a]",
];

/// Names of patterns. Of the braces some hold whole paths.
const PATTERNS: [&str; 32] = [
    "a", "b", "A", "ab", "a.b", ".a", ".", "", "*", "**", "?", "a*", "*b", "a?", "a**", "[ab]", "[!a]", "[a-c]*",
    "[]a]", "[!]]", "[/a]", "[*]", "{a,b}", "{a,ab}*", "{,a}b", "{a,b/a}", "{**,a}", "é", "a,b", "..", "[", "{a",
];

/// Names, with a slash or two between them.
fn path() -> impl Strategy<Value = String> {
    joined(select(NAMES.to_vec()))
}

fn pattern() -> impl Strategy<Value = String> {
    joined(select(PATTERNS.to_vec()))
}

fn joined(name: impl Strategy<Value = &'static str>) -> impl Strategy<Value = String> {
    (prop::collection::vec((name, select(vec!["/", "/", "/", "//", "/./"])), 1..5), 0..8).prop_map(|(parts, ends)| {
        let text: String = parts.iter().flat_map(|(name, slash)| [*name, *slash]).collect();
        match ends {
            0 => text,
            1 => format!("/{text}"),
            _ => text.trim_end_matches('/').to_owned(),
        }
    })
}

/// The path that a text names, by the system's own reading of it; none where it leaves or cannot be.
fn named(text: &str) -> Option<String> {
    use std::path::{Component, Path};
    let mut names: Vec<&str> = Vec::new();
    for component in Path::new(text).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => names.push(name.to_str()?),
            Component::ParentDir => drop(names.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!text.contains(['\0', '\\'])).then(|| names.join("/"))
}

/// One name of a pattern.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Char(char),
    One,
    Any,
    /// Whether those are meant or all others, from and to.
    Class(bool, Vec<(char, char)>),
}

/// Every text that the braces of a pattern stand for; braces in braces are not in these tests.
fn without_braces(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let Some(close) = pattern[open..].find('}').map(|at| open + at) else { return Vec::new() };
    let rest = without_braces(&pattern[close + 1..]);
    let choices = pattern[open + 1..close].split(',');
    choices.flat_map(|choice| rest.iter().map(move |rest| format!("{}{choice}{rest}", &pattern[..open]))).collect()
}

/// What stands between brackets: single ones, and from one to another.
fn ranges(within: &[char]) -> Vec<(char, char)> {
    match within {
        [] => Vec::new(),
        [from, '-', to, rest @ ..] => [vec![(*from, *to)], ranges(rest)].concat(),
        [single, rest @ ..] => [vec![(*single, *single)], ranges(rest)].concat(),
    }
}

/// The names of a pattern, each taken apart; none for `**`.
fn pieces(pattern: &str) -> Option<Vec<Option<Vec<Piece>>>> {
    let chars: Vec<char> = pattern.chars().collect();
    let (mut names, mut name, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        at += 1;
        match c {
            '/' => names.push(std::mem::take(&mut name)),
            '?' => name.push(Piece::One),
            '*' => name.push(Piece::Any),
            '[' => {
                let others = matches!(chars.get(at), Some('!' | '^'));
                at += usize::from(others);
                let from = at;
                at += 1;
                while *chars.get(at)? != ']' {
                    at += 1;
                }
                let within = &chars[from..at];
                at += 1;
                name.push(Piece::Class(!others, ranges(within)));
            }
            c => name.push(Piece::Char(c)),
        }
    }
    names.push(name);
    let mut kept: Vec<Vec<Piece>> = Vec::new();
    for name in names {
        match name[..] {
            [] | [Piece::Char('.')] => {}
            // Only what has no pattern in it may go up, and never further than it went down.
            [Piece::Char('.'), Piece::Char('.')] => drop(kept.pop()),
            // Several are one.
            [Piece::Any, Piece::Any] if kept.last() == Some(&name) => {}
            _ => kept.push(name),
        }
    }
    Some(kept.into_iter().map(|name| (name != [Piece::Any, Piece::Any]).then_some(name)).collect())
}

fn name_fits(pieces: &[Piece], name: &[char]) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return name.is_empty() };
    let one = |fits: &dyn Fn(char) -> bool| {
        name.split_first().is_some_and(|(&first, after)| fits(first) && name_fits(rest, after))
    };
    match piece {
        Piece::Any => (0..=name.len()).any(|taken| name_fits(rest, &name[taken..])),
        Piece::One => one(&|_| true),
        Piece::Char(c) => one(&|first| first == *c),
        Piece::Class(meant, ranges) => {
            one(&|first| ranges.iter().any(|(from, to)| (*from..=*to).contains(&first)) == *meant)
        }
    }
}

fn names_fit(pattern: &[Option<Vec<Piece>>], path: &[Vec<char>], literal: bool) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        // A folder is in its own `folder/**`, where it is named without a pattern.
        Some((None, [])) => literal || !path.is_empty(),
        Some((None, rest)) => (0..=path.len()).any(|passed| names_fit(rest, &path[passed..], false)),
        Some((Some(name), rest)) => {
            let plain = literal && name.iter().all(|piece| matches!(piece, Piece::Char(_)));
            path.split_first().is_some_and(|(first, after)| name_fits(name, first) && names_fit(rest, after, plain))
        }
    }
}

/// Whether the model of patterns has that path.
fn has(pattern: &str, path: &str) -> bool {
    let path: Vec<Vec<char>> =
        path.split('/').filter(|name| !name.is_empty()).map(|name| name.chars().collect()).collect();
    let literal = !pattern.contains(['*', '?', '[', '{']) || pattern.contains("**");
    without_braces(pattern)
        .iter()
        .any(|pattern| pieces(pattern).is_some_and(|pieces| names_fit(&pieces, &path, literal)))
}

/// Sets of paths as they come about: by a pattern, or from a path that there is.
fn set() -> impl Strategy<Value = Option<PathGlob>> {
    (pattern(), path(), 0..4).prop_map(|(pattern, path, how)| match how {
        0 => PathGlob::parse(&pattern).ok(),
        1 => PathGlob::parse_in_any_case(&pattern).ok(),
        2 => WorkspacePath::new(RootId(0), &path).ok().map(|path| PathGlob::exact(path.as_str())),
        _ => WorkspacePath::new(RootId(0), &path).ok().map(|path| PathGlob::subtree(path.as_str())),
    })
}

fn scope(glob: PathGlob) -> PathScope {
    PathScope { root: RootId(0), glob }
}

fn covers_at_most_what_it_touches(pattern: &EffectPattern, effect: &Effect) -> Result<(), TestCaseError> {
    if pattern.covers(effect) {
        prop_assert!(pattern.touches(effect), "`{}` covers {} and does not touch it", pattern, effect);
    }
    if pattern.touches(effect) {
        prop_assert!(pattern.may_touch(effect), "`{}` touches {} and may not", pattern, effect);
    }
    let exact = EffectPattern::exactly(effect);
    prop_assert!(exact.covers(effect) && exact.touches(effect), "`{}` is to be exactly {}", exact, effect);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a10_a_path_is_what_the_system_reads_in_it_or_none(text in path()) {
        if let Ok(path) = WorkspacePath::new(RootId(0), &text) {
            prop_assert_eq!(Some(path.as_str().to_owned()), named(&text));
            let again = WorkspacePath::new(RootId(0), path.as_str());
            prop_assert_eq!(again.as_ref(), Ok(&path), "what was taken once is taken again");
        }
    }

    #[test]
    fn a10_nothing_leaves_by_being_joined(folder in path(), text in path()) {
        let Ok(folder) = WorkspacePath::new(RootId(0), &folder) else { return Ok(()) };
        if let Ok(joined) = folder.join(&text) {
            let read = named(format!("{folder}/{text}", folder = folder.as_str()).trim_start_matches('/'));
            prop_assert_eq!(Some(joined.as_str().to_owned()), read);
        }
    }

    #[test]
    fn a_pattern_has_the_paths_that_its_model_has(pattern in pattern(), path in path()) {
        let (Ok(glob), Ok(path)) = (PathGlob::parse(&pattern), WorkspacePath::new(RootId(0), &path)) else {
            return Ok(());
        };
        let (found, expected) = (glob.matches(path.as_str()), has(&pattern, path.as_str()));
        prop_assert!(expected || !found, "`{}` has `{}`, and should not", pattern, path);
        // What is in braces is read as one piece: there the model may take more.
        if !pattern.contains("{**") && !pattern.contains("b/a}") {
            prop_assert!(found || !expected, "`{}` forbids nothing of `{}`", pattern, path);
        }
        // All but one letter are none of its two forms.
        let any_case = PathGlob::parse_in_any_case(&pattern);
        let as_much = !found || pattern.contains("[!");
        prop_assert!(as_much || any_case.is_ok_and(|glob| glob.matches(path.as_str())), "`{}` `{}`", pattern, path);
    }

    #[test]
    fn what_one_set_covers_of_another_it_has(outer in set(), inner in set(), path in path()) {
        let (Some(outer), Some(inner), Ok(path)) = (outer, inner, WorkspacePath::new(RootId(0), &path)) else {
            return Ok(());
        };
        let both = (outer.matches(path.as_str()), inner.matches(path.as_str()));
        if outer.covers(&inner) {
            prop_assert!(both.0 || !both.1, "{:?} covers {:?} without `{}`", outer, inner, path);
        }
        if both == (true, true) {
            prop_assert!(outer.may_meet(&inner) && inner.may_meet(&outer), "{:?} {:?} meet at `{}`", outer, inner, path);
        }
        if both.0 {
            let mut above = path.parent();
            while let Some(folder) = above {
                prop_assert!(scope(outer.clone()).leads_through(&folder), "{:?} leads to `{}`", outer, path);
                above = folder.parent();
            }
        }
    }

    #[test]
    fn a_prohibition_of_paths_means_no_less_than_a_right(pattern in pattern(), set in set(), places in (path(), path())) {
        let Some(set) = set else { return Ok(()) };
        let mut effects = vec![("read", Effect::Read(scope(set.clone()))), ("delete", Effect::Delete(scope(set)))];
        let place = |text: &str| WorkspacePath::new(RootId(0), text);
        if let (Ok(from), Ok(to)) = (place(&places.0), place(&places.1)) {
            effects.push(("move", Effect::Move { from, to }));
        }
        for (class, effect) in effects {
            let text = format!("{class}:{pattern}");
            let Ok(parsed) = EffectPattern::parse(&text) else { return Ok(()) };
            covers_at_most_what_it_touches(&parsed, &effect)?;
            let covers = parsed.covers(&effect) && !text.contains("[!");
            if let (true, Ok(any_case)) = (covers, EffectPattern::parse_in_any_case(&text)) {
                prop_assert!(any_case.may_touch(&effect), "`{}` in any case, {}", text, effect);
            }
        }
    }
}

const WORDS: [&str; 22] = [
    "a",
    "log",
    "-p",
    "--count=3",
    "--count=",
    "--count=/x",
    "--count=../x",
    "--output=x",
    "--",
    "-",
    "/etc",
    "~",
    "..",
    "a/../b",
    "a..b",
    "x=/etc",
    "file:///x",
    "HEAD:../x",
    "a\nb",
    "a\0b",
    "",
    "é",
];

const WORD_PATTERNS: [&str; 10] = ["a", "log", "*", "**", "--count=*", "--count=3", "a*", "-p", "--", "--*"];

fn words<const N: usize>(words: [&'static str; N]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(select(words.to_vec()).prop_map(str::to_owned), 0..5)
}

/// Whether the model of patterns for arguments has those; `prefixes` where `--count=*` is one, too, and what stands in
/// the place of a star must stay inside.
fn takes(patterns: &[String], arguments: &[String], prefixes: bool) -> bool {
    let free = |text: &str| !text.starts_with('-') && !text.contains(['\n', '\0']);
    let inside = |text: &str| {
        let parts = || text.split(['/', '\\', ':', '=']);
        !prefixes || !(text.starts_with(['/', '~']) || parts().any(|part| part == "..") || text.contains("=/"))
    };
    match (patterns.split_first(), arguments.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((last, [])), _) if last == "**" => arguments.iter().all(|text| free(text) && inside(text)),
        (Some(_), None) => false,
        (Some((pattern, patterns)), Some((argument, arguments))) => {
            let begun = || pattern.strip_suffix('*').filter(|begin| prefixes && !begin.is_empty());
            let fits = pattern == argument
                || (pattern == "*" && free(argument) && inside(argument))
                || begun().and_then(|begin| argument.strip_prefix(begin)).is_some_and(|rest| {
                    !rest.contains(['\n', '\0']) && !rest.starts_with(['/', '~']) && inside(argument)
                });
            fits && takes(patterns, arguments, prefixes)
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_command_line_is_covered_argument_by_argument(patterns in words(WORD_PATTERNS), line in words(WORDS)) {
        let line = CommandLine { program: "tool".to_owned(), arguments: line };
        let effect = Effect::Run(line.clone());
        if let Ok(pattern) = EffectPattern::parse(&format!("run:tool {}", patterns.join(" "))) {
            prop_assert!(takes(&patterns, &line.arguments, false) || !pattern.covers(&effect), "{} {}", pattern, effect);
            covers_at_most_what_it_touches(&pattern, &effect)?;
        }
        let pattern = RunPattern { program: "tool".to_owned(), arguments: patterns.clone() };
        if let Ok(right) = RunRight::new(pattern, &[]) {
            prop_assert!(takes(&patterns, &line.arguments, true) || !right.covers(&line), "{} {}", right, effect);
            let other = CommandLine { program: "./tool".to_owned(), ..line };
            prop_assert!(!right.covers(&other));
        }
    }
}

/// A name of hosts as the matcher is given it: as it was read from an address.
fn host() -> impl Strategy<Value = String> {
    let label = select(vec!["a", "b", "com", "evil", "xa", "localhost", "good-b", "127", "1"]);
    let address = select(vec!["127.0.0.1", "10.0.0.1", "1.1.1.1", "[::1]", "[::ffff:7f00:1]"]).prop_map(str::to_owned);
    prop_oneof![6 => prop::collection::vec(label, 1..4).prop_map(|labels| labels.join(".")), 1 => address]
}

fn request() -> impl Strategy<Value = NetRequest> {
    let path =
        select(vec!["/", "/v1", "/v1/", "/v1/x", "/v1x", "/V1", "/v1/%2e%2e/x", "/v1%2f..%2fx", "/%761", "//v1"]);
    (select(vec!["http", "https"]), host(), 79_u16..82, path).prop_map(|(scheme, host, port, path)| NetRequest {
        scheme: scheme.to_owned(),
        host,
        port,
        path: path.to_owned(),
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a16_a_right_to_a_host_is_one_to_its_labels(
        scheme in select(vec!["http", "https"]),
        star in select(vec!["", "*."]),
        name in host(),
        any in 0..6,
        port in 79_u16..82,
        path in select(vec!["", "/", "/v1", "/v1/"]),
        asked in request(),
    ) {
        let name = if any == 0 { "*".to_owned() } else { format!("{star}{name}") };
        let text = format!("{scheme}://{name}:{port}{path}");
        let Ok(pattern) = HostPattern::parse(&text) else { return Ok(()) };
        let labels = |name: &str| name.split('.').rev().map(str::to_owned).collect::<Vec<_>>();
        let is_address = asked.host.starts_with('[') || asked.host.parse::<std::net::Ipv4Addr>().is_ok();
        let is_host = match name.strip_prefix("*.") {
            Some(below) => {
                let (inner, outer) = (labels(&asked.host), labels(below));
                !is_address && inner.len() > outer.len() && inner.starts_with(&outer)
            }
            None if name == "*" => !is_address && labels(&asked.host).first().is_some_and(|top| top != "localhost"),
            None => asked.host == name,
        };
        let names = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let is_below = match path.trim_end_matches('/') {
            "" => true,
            top => names(&asked.path).starts_with(&names(top)) && !asked.path.contains('%'),
        };
        let expected = asked.scheme == scheme && asked.port == port && is_host && is_below;
        prop_assert!(expected || !pattern.matches(&asked), "`{}` has {}", text, asked);
        let effect = Effect::Fetch(asked);
        let pattern = EffectPattern::parse(&format!("fetch:{text}")).unwrap();
        covers_at_most_what_it_touches(&pattern, &effect)?;
    }
}
