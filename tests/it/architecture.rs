//! The checkable part of the house's invariants: who may name whom, and how big a room may grow.
#![expect(clippy::disallowed_methods, reason = "this test reads the project's own source")]

mod limits;
mod reach;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `runtime/agent`, floor by floor: a room names only rooms of its own floor or of those before it.
const FLOORS: &[&[&str]] = &[
    &["fuzz", "near", "noun", "plain", "capability", "transcript", "trace", "server"],
    &["policy", "panel", "model", "options"],
    &["gate"],
    &["event", "elicit", "terminal", "workspace", "tool", "command"],
    &["store", "context", "hook"],
    &["outbox"],
    &["turn"],
    &["session"],
];

/// Rooms of `runtime/app` that others must not name: each is met at a trait, and joined in `compose` alone. Only the
/// settings know the form of the models' own.
const APART: &[&str] = &["models", "tools", "mcp", "terminal", "workspace", "store", "secrets", "registry", "acp"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace").to_path_buf()
}

/// Every source file under `folder` of the workspace, by its path there.
fn sources(folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("source is text");
                found.insert(path.strip_prefix(root()).expect("under the root").display().to_string(), text);
            }
        }
    }
    assert!(!found.is_empty(), "no source under `{folder}`");
    found
}

/// Everything but these tests, which name what they look for.
fn all_sources() -> BTreeMap<String, String> {
    let folders = ["runtime", "plugin-sdk", "plugins", "tests", "xtask"];
    let own = |path: &String| path.starts_with("tests/it/architecture");
    folders.into_iter().flat_map(sources).filter(|(path, _)| !own(path)).collect()
}

/// The lines of code: no comments, and nothing of a module of tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| !["#[cfg(test)]", "#[cfg(all(test"].iter().any(|test| line.starts_with(test)))
        .filter(|line| !line.trim_start().starts_with("//"))
}

/// The room of a file: `runtime/agent/src/turn/call.rs` is in `turn`.
fn room<'a>(path: &'a str, source: &str) -> &'a str {
    let inside = path.strip_prefix(source).unwrap_or(path);
    inside.split(['/', '.']).next().unwrap_or_default()
}

/// Every line of code that offends, with its path.
fn offences(sources: &BTreeMap<String, String>, offends: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let lines = sources.iter().flat_map(|(path, text)| code(text).map(move |line| (path.as_str(), line.trim())));
    lines.filter(|(path, line)| offends(path, line)).map(|(path, line)| format!("{path}: {line}")).collect()
}

#[test]
fn rooms_of_the_agent_name_only_floors_below() {
    const SOURCE: &str = "runtime/agent/src/";
    let floor = |room: &str| FLOORS.iter().position(|floor| floor.contains(&room));
    let upward = offences(&sources(SOURCE), |path, line| {
        let own = room(path, SOURCE);
        if own == "lib" || path.ends_with("tests.rs") {
            return false;
        }
        let from = floor(own).unwrap_or_else(|| panic!("room `{own}` stands on no floor"));
        let named = line.split("crate::").skip(1).filter_map(|rest| rest.split([':', ';', ' ', '{']).next());
        named.filter_map(floor).any(|to| to > from)
    });
    assert_eq!(upward, Vec::<String>::new());
}

#[test]
fn rooms_of_the_app_meet_in_compose() {
    const SOURCE: &str = "runtime/app/src/";
    let across = offences(&sources(SOURCE), |path, line| {
        let own = room(path, SOURCE);
        let free = ["compose", "cli", "lib", "main", "settings"].contains(&own) || path.ends_with("tests.rs");
        !free && APART.iter().any(|other| *other != own && line.contains(&format!("crate::{other}::")))
    });
    assert_eq!(across, Vec::<String>::new());
}

#[test]
fn only_the_host_names_wasmtime_and_only_its_bindings_generate() {
    let elsewhere = |path: &str, line: &str| {
        let names = line.contains("wasmtime::") || line.contains("wasmtime_wasi::");
        let generates = line.contains("bindgen!");
        (names && !path.starts_with("runtime/host/"))
            || (generates && path.starts_with("runtime/") && !path.starts_with("runtime/host/src/bindings"))
    };
    assert_eq!(offences(&all_sources(), elsewhere), Vec::<String>::new());
}

#[test]
fn only_the_gate_makes_permits() {
    let makes = |path: &str, line: &str| {
        let made = line.contains("Permit {") && !["struct ", "impl ", "-> "].iter().any(|word| line.contains(word));
        made && path != "runtime/agent/src/gate.rs"
    };
    assert_eq!(offences(&all_sources(), makes), Vec::<String>::new());
}

#[test]
fn decisions_have_no_wildcard_arm() {
    let mut places = sources("runtime/agent/src");
    places.extend(sources("runtime/host/src"));
    let strict = |path: &str| {
        ["agent/src/policy.rs", "agent/src/gate.rs", "host/src/bindings.rs", "host/src/bindings/v"]
            .iter()
            .any(|place| path.contains(place))
    };
    assert_eq!(
        offences(&places, |path, line| strict(path) && line.trim_start().starts_with("_ =>")),
        Vec::<String>::new()
    );
}

#[test]
fn no_room_has_a_name_that_says_nothing() {
    let banned = ["utils", "util", "common", "helpers", "helper", "types", "misc", "prelude"];
    let sources = all_sources();
    let rooms = sources.keys().filter(|path| path.split(['/', '.']).any(|part| banned.contains(&part)));
    assert_eq!(rooms.collect::<Vec<_>>(), Vec::<&String>::new());
    let managers = offences(&sources, |_, line| line.contains("Manager"));
    assert_eq!(managers, Vec::<String>::new());
}

#[test]
fn no_file_outgrows_a_reader() {
    let begins = |text: &str| text.starts_with("//!") || text.starts_with("#![");
    let fits = |text: &str| text.lines().count() <= 600 && begins(text);
    let bad = all_sources().into_iter().filter(|(_, text)| !fits(text)).map(|(path, _)| path);
    assert_eq!(bad.collect::<Vec<_>>(), Vec::<String>::new(), "too long, or without a word on what it is");
}
