//! The checkable part of the house's invariants: who may name whom, and how big a room may grow.
#![expect(clippy::disallowed_methods, reason = "this test reads the project's own source")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `runtime/agent`, floor by floor: a room names only rooms of floors before its own, or of its own where
/// the floor says so by standing on one line.
const FLOORS: &[&[&str]] = &[
    &["near", "capability", "transcript"],
    &["policy", "panel"],
    &["model"],
    &["gate"],
    &["event", "workspace", "tool", "command"],
    &["store", "context"],
    &["turn", "session"],
];

/// Rooms of `runtime/app` that others must not name: each is met at a trait, and joined in `compose` alone.
const APART: &[&str] = &["models", "tools", "workspace", "store", "acp"];

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
                let name = path.strip_prefix(root()).expect("under the root").display().to_string();
                found.insert(name, fs::read_to_string(&path).expect("source is text"));
            }
        }
    }
    assert!(!found.is_empty(), "no source under `{folder}`");
    found
}

fn all_sources() -> BTreeMap<String, String> {
    ["runtime", "plugin-sdk", "plugins", "tests", "xtask"].into_iter().flat_map(sources).collect()
}

/// The lines of code: no comments, and nothing of a module of tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .filter(|line| !line.trim_start().starts_with("//"))
}

/// The room of a file: `runtime/agent/src/turn/call.rs` is in `turn`.
fn room<'a>(path: &'a str, source: &str) -> &'a str {
    let inside = path.strip_prefix(source).unwrap_or(path);
    inside.split(['/', '.']).next().unwrap_or_default()
}

/// Files of `folder` in `offenders`' eyes: path, and the line that offends.
fn offences(sources: &BTreeMap<String, String>, offends: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources {
        let bad = code(text).filter(|line| offends(path, line));
        found.extend(bad.map(|line| format!("{path}: {}", line.trim())));
    }
    found
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
        let free = ["compose", "cli", "lib", "main", "transport"].contains(&own) || path.ends_with("tests.rs");
        !free && APART.iter().any(|other| *other != own && line.contains(&format!("crate::{other}::")))
    });
    assert_eq!(across, Vec::<String>::new());
}

#[test]
fn only_the_host_names_wasmtime_and_only_bindings_name_generated_types() {
    let names = |path: &str, line: &str| line.contains("wasmtime") && !path.starts_with("runtime/host/");
    let mut elsewhere = all_sources();
    elsewhere.remove("tests/it/architecture.rs");
    assert_eq!(
        offences(&elsewhere, |path, line| names(path, line) && line.contains("wasmtime::")),
        Vec::<String>::new()
    );
}

#[test]
fn only_the_gate_makes_permits() {
    let makes = |path: &str, line: &str| {
        let made = line.contains("Permit {") && !line.contains("struct Permit") && !line.contains("impl Permit");
        made && path != "runtime/agent/src/gate.rs" && path != "tests/it/architecture.rs"
    };
    assert_eq!(offences(&all_sources(), makes), Vec::<String>::new());
}

#[test]
fn decisions_have_no_wildcard_arm() {
    let mut places = sources("runtime/agent/src");
    places.extend(sources("runtime/host/src"));
    let strict = |path: &str| {
        ["agent/src/policy.rs", "agent/src/gate.rs", "host/src/bindings"].iter().any(|place| path.contains(place))
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
    let managers = offences(&sources, |path, line| line.contains("Manager") && path != "tests/it/architecture.rs");
    assert_eq!(managers, Vec::<String>::new());
}

#[test]
fn no_file_outgrows_a_reader() {
    let sources = all_sources();
    let long = sources.iter().filter(|(_, text)| text.lines().count() > 600).map(|(path, _)| path);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<&String>::new());
    let undescribed =
        sources.iter().filter(|(_, text)| !text.starts_with("//!") && !text.starts_with("#![")).map(|(path, _)| path);
    assert_eq!(undescribed.collect::<Vec<_>>(), Vec::<&String>::new());
}
