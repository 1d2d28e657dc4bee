//! Whether rights include another one: what tells a right that was narrowed from one that was widened.
//!
//! It is judged by what patterns mean and not by how they are written: `notes/*.md` is in `notes/**`, and
//! `{docs,notes}/**` in both of its folders taken together. Where that cannot be told, it is a no: a person looks at a
//! right once too often rather than once too seldom. Nothing here allows an effect. Tested by a table, and against what
//! the patterns match.

use std::collections::{BTreeSet, HashSet};

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};

use super::{Grant, HostPattern, PathGlob, RunRight, SecretRight};

/// Pairs of states that are looked at. Patterns that people write have some tens.
const MOST_PAIRS: usize = 4096;

/// Whether all that `right` is a right to, `rights` together are rights to as well.
pub fn include(rights: &[Grant], right: &Grant) -> bool {
    match right {
        Grant::Read(glob) => {
            within(glob, rights.iter().filter_map(|old| if let Grant::Read(old) = old { Some(old) } else { None }))
        }
        Grant::Write(glob) => {
            within(glob, rights.iter().filter_map(|old| if let Grant::Write(old) = old { Some(old) } else { None }))
        }
        Grant::Net(host) => rights.iter().any(|old| matches!(old, Grant::Net(old) if old.includes(host))),
        Grant::Secret(asked) => rights.iter().any(|old| matches!(old, Grant::Secret(old) if old.includes(asked))),
        Grant::Run(run) => rights.iter().any(|old| matches!(old, Grant::Run(old) if old.includes(run))),
        Grant::Kv | Grant::OwnFiles(_) | Grant::ReadSession | Grant::Prompt | Grant::Hook(_) => rights.contains(right),
    }
}

impl SecretRight {
    /// Whether it is the same secret in the same place, for hosts that are all among these.
    fn includes(&self, other: &Self) -> bool {
        self.name == other.name && self.place == other.place && self.audience.includes(&other.audience)
    }
}

impl HostPattern {
    /// Whether all that `other` names belongs to it.
    pub fn includes(&self, other: &Self) -> bool {
        self.hosts_include(other) && self.reaches_as(other)
    }
}

impl RunRight {
    /// Whether every line that `other` is a right to, with the variables that it names, is one of these.
    pub fn includes(&self, other: &Self) -> bool {
        let mut variables = other.environment();
        variables.all(|name| self.environment().any(|own| own == name)) && self.lines_include(other)
    }
}

/// Whether every path of `glob` is one of those of `others`, taken together.
fn within<'a>(glob: &PathGlob, others: impl Iterator<Item = &'a PathGlob> + Clone) -> bool {
    others.clone().any(|other| other.covers(glob)) || language(&[glob.expression()], others).unwrap_or(false)
}

/// Whether what the first expression matches, one of the others does; none where it would take too long to tell.
fn language<'a>(inner: &[String], outer: impl Iterator<Item = &'a PathGlob>) -> Option<bool> {
    let outer: Vec<String> = outer.map(PathGlob::expression).collect();
    if outer.is_empty() {
        return Some(false);
    }
    let (mut inner, mut outer) = (Automaton::new(inner)?, Automaton::new(&outer)?);
    let bytes = distinct_bytes(&inner, &outer);
    let first = (inner.start()?, outer.start()?);
    let (mut seen, mut open) = (HashSet::from([first]), vec![first]);
    while let Some((here, there)) = open.pop() {
        if inner.accepts(here)? && !outer.accepts(there)? {
            return Some(false);
        }
        for &byte in &bytes {
            let next = inner.step(here, byte)?;
            if next.is_dead() {
                continue;
            }
            let pair = (next, outer.step(there, byte)?);
            if seen.insert(pair) {
                open.push(pair);
            }
        }
        if seen.len() > MOST_PAIRS {
            return None;
        }
    }
    Some(true)
}

/// One byte for all that neither of the two tells apart.
fn distinct_bytes(one: &Automaton, other: &Automaton) -> Vec<u8> {
    let mut seen = BTreeSet::new();
    let (one, other) = (one.dfa.byte_classes(), other.dfa.byte_classes());
    (0..=u8::MAX).filter(|byte| seen.insert((one.get(*byte), other.get(*byte)))).collect()
}

struct Automaton {
    dfa: DFA,
    cache: Cache,
}

impl Automaton {
    /// Of expressions of [`PathGlob`], where a dot is also the end of a line.
    fn new(expressions: &[String]) -> Option<Self> {
        let dfa = DFA::builder()
            .syntax(syntax::Config::new().utf8(false).dot_matches_new_line(true))
            .thompson(thompson::Config::new().utf8(false))
            // States are compared with each other, so none may be forgotten.
            .configure(DFA::config().match_kind(MatchKind::All).minimum_cache_clear_count(Some(0)))
            .build_many(expressions)
            .ok()?;
        let cache = dfa.create_cache();
        Some(Self { dfa, cache })
    }

    fn start(&mut self) -> Option<LazyStateID> {
        self.dfa.start_state(&mut self.cache, &start::Config::new().anchored(Anchored::Yes)).ok()
    }

    fn step(&mut self, state: LazyStateID, byte: u8) -> Option<LazyStateID> {
        self.dfa.next_state(&mut self.cache, state, byte).ok().filter(|next| !next.is_quit())
    }

    fn accepts(&mut self, state: LazyStateID) -> Option<bool> {
        self.dfa.next_eoi_state(&mut self.cache, state).ok().map(|end| end.is_match())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{CommandLine, NetRequest, RunPattern, SecretName, SecretPlace};
    use super::*;

    fn read(globs: &[&str]) -> Vec<Grant> {
        globs.iter().map(|glob| Grant::Read(PathGlob::parse(glob).unwrap())).collect()
    }

    fn net(hosts: &[&str]) -> Vec<Grant> {
        hosts.iter().map(|host| Grant::Net(HostPattern::parse(host).unwrap())).collect()
    }

    fn run(lines: &[&str]) -> Vec<Grant> {
        let right = |line: &&str| {
            let (line, variables) = line.split_once(" with ").unwrap_or((line, ""));
            let mut words = line.split(' ').map(str::to_owned);
            let pattern = RunPattern { program: words.next().unwrap(), arguments: words.collect() };
            let variables: Vec<String> = variables.split_whitespace().map(str::to_owned).collect();
            Grant::Run(RunRight::new(pattern, &variables).unwrap())
        };
        lines.iter().map(right).collect()
    }

    #[test]
    fn paths_are_judged_by_what_they_match() {
        for (old, new, included) in [
            (&["notes/**"][..], "notes/**", true),
            (&["notes/**"], "notes", true),
            (&["notes/**"], "notes/a/**", true),
            (&["notes/**"], "notes/*.md", true),
            (&["notes/**"], "notes/**/*.{md,txt}", true),
            (&["notes/*.{md,txt}"], "notes/*.md", true),
            (&["notes/*.{md,txt}"], "notes/[ab]*.txt", true),
            (&["docs/**", "notes/**"], "{docs,notes}/**", true),
            (&["**/*.md"], "notes/*.md", true),
            (&["**/*.md"], "README.md", true),
            (&["notes/*"], "notes/a?c", true),
            (&["**"], "*/x/**", true),
            (&["**"], ".", true),
            (&["[a-z]*"], "[b-d]*", true),
            (&["notes/*"], "notes/**", false),
            (&["notes/*.md"], "notes/*", false),
            (&["notes/**"], "note*/**", false),
            (&["notes/**"], "notes2/**", false),
            (&["notes/a/**"], "notes/**", false),
            (&["[b-d]*"], "[a-z]*", false),
            (&["docs/**", "notes/**"], "{docs,notes,src}/**", false),
            (&["docs/**", "notes/**"], "**", false),
            (&[], "a", false),
        ] {
            assert_eq!(include(&read(old), &read(&[new])[0]), included, "{old:?} {new}");
        }
        let [write] = [Grant::Write(PathGlob::parse("a").unwrap())];
        assert!(!include(&read(&["**"]), &write), "to read is not to write");
    }

    #[test]
    fn hosts_are_judged_by_what_they_match() {
        for (old, new, included) in [
            ("https://api.example.com", "https://api.example.com/", true),
            ("https://api.example.com", "https://api.example.com/v1", true),
            ("https://api.example.com/v1", "https://api.example.com/v1/users", true),
            ("https://*.example.com", "https://api.example.com", true),
            ("https://*.example.com", "https://*.api.example.com", true),
            ("https://*", "https://api.example.com", true),
            ("https://*", "https://*.example.com", true),
            ("https://api.example.com/v1", "https://api.example.com", false),
            ("https://api.example.com/v1", "https://api.example.com/v10", false),
            ("https://api.example.com", "http://api.example.com", false),
            ("https://api.example.com", "https://api.example.com:8443", false),
            ("https://*.example.com", "https://example.com", false),
            ("https://*.example.com", "https://*.ample.com", false),
            ("https://*.example.com", "https://*", false),
            ("https://*", "https://localhost", false),
            ("https://*", "https://*.localhost", false),
            ("https://*", "https://10.0.0.1", false),
            ("https://*", "https://[::1]", false),
        ] {
            assert_eq!(include(&net(&[old]), &net(&[new])[0]), included, "{old} {new}");
            let secret = |host: &str, name: &str| {
                let (name, audience) = (SecretName::new(name).unwrap(), HostPattern::parse(host).unwrap());
                Grant::Secret(SecretRight { name, audience, place: SecretPlace::Query("key".into()) })
            };
            assert_eq!(include(&[secret(old, "a:b/key")], &secret(new, "a:b/key")), included, "{old} {new}");
            assert!(!include(&[secret(old, "a:b/key")], &secret(new, "a:b/other")));
        }
    }

    #[test]
    fn programs_are_judged_by_what_they_run() {
        for (old, new, included) in [
            ("git log **", "git log", true),
            ("git log **", "git log *", true),
            ("git log **", "git log * *", true),
            ("git log **", "git log a b", true),
            ("git log *", "git log main", true),
            ("git log --max-count=*", "git log --max-count=5", true),
            ("git log --max-count=*", "git log --max-count=5*", true),
            ("make x* with LANG TERM", "make xy with TERM", true),
            ("git log", "git log **", false),
            ("git log *", "git log", false),
            ("git log *", "git log **", false),
            ("git log *", "git log --max-count=5", false),
            ("git log **", "git log ../x", false),
            ("git log --max-count=5", "git log --max-count=*", false),
            ("git log --max-count=*", "git log --max-count=../x", false),
            ("git log **", "git show **", false),
            ("make x", "cmake x", false),
            ("make x with TERM", "make x with LANG", false),
        ] {
            assert_eq!(include(&run(&[old]), &run(&[new])[0]), included, "{old} {new}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_not_included() {
        let many = "{a,b}*".repeat(14);
        let [old, new] = [format!("{many}x*"), format!("{many}y*")];
        assert!(!include(&read(&[&old]), &read(&[&new])[0]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        /// The question and the patterns themselves never contradict each other.
        #[test]
        fn what_is_included_matches_nothing_else(
            old in "([ab*?]|\\{a,b\\}|\\*\\*/|/){1,5}",
            new in "([ab*?]|\\{a,b\\}|\\*\\*/|/){1,5}",
            paths in proptest::collection::vec("[abc](/?[abc]){0,3}", 40),
        ) {
            let (Ok(old), Ok(new)) = (PathGlob::parse(&old), PathGlob::parse(&new)) else { return Ok(()) };
            let included = include(&[Grant::Read(old.clone())], &Grant::Read(new.clone()));
            for path in paths {
                prop_assert!(!included || !new.matches(&path) || old.matches(&path), "{old} {new} {path}");
            }
            prop_assert!(!old.covers(&new) || included);
            prop_assert!(include(&[Grant::Read(new.clone())], &Grant::Read(new)));
        }

        #[test]
        fn hosts_that_are_included_match_nothing_else(
            old in "https://(\\*|(\\*\\.)?[ab](\\.[ab]){0,2})(/[ab]?){0,2}",
            new in "https://(\\*|(\\*\\.)?[ab](\\.[ab]){0,2})(/[ab]?){0,2}",
            host in "[ab](\\.[ab]){0,2}", path in "(/[ab%]){1,3}",
        ) {
            let (Ok(old), Ok(new)) = (HostPattern::parse(&old), HostPattern::parse(&new)) else { return Ok(()) };
            let request = NetRequest { scheme: "https".into(), host, port: 443, path };
            prop_assert!(!old.includes(&new) || !new.matches(&request) || old.matches(&request), "{old} {new} {request}");
        }

        #[test]
        fn lines_that_are_included_match_nothing_else(
            old in "git log( (-?[ab]|\\*|a\\*|-a=\\*)){0,2}( \\*\\*)?",
            new in "git log( (-?[ab]|\\*|a\\*|-a=\\*)){0,2}( \\*\\*)?",
            line in "log( (-?[ab]|ab|-a=[ab]|\\.\\.|a/\\.\\.)){0,3}",
        ) {
            let right = |text: &str| {
                let mut words = text.split(' ').map(str::to_owned);
                RunRight::new(RunPattern { program: words.next().unwrap(), arguments: words.collect() }, &[])
            };
            let (Ok(old), Ok(new)) = (right(&old), right(&new)) else { return Ok(()) };
            let line = CommandLine { program: "git".into(), arguments: line.split(' ').map(str::to_owned).collect() };
            prop_assert!(!old.includes(&new) || !new.covers(&line) || old.covers(&line), "{old} {new} {line}");
        }
    }
}
