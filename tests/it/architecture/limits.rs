//! Each limit is read in exactly one place: outside of where limits are kept, one line of the runtime names it. There it is
//! called by its group and its name (`kv.total`), and a group has no other name, so that there is no other way to read one.

use std::collections::BTreeMap;

use super::{code, sources};

/// The groups of a plugin's limits, and their types.
const GROUPS: [(&str, &str); 10] = [
    ("space", "SpaceLimits"),
    ("time", "TimeLimits"),
    ("traffic", "TrafficLimits"),
    ("kv", "KvLimits"),
    ("folders", "FolderLimits"),
    ("panel", "PanelLimits"),
    ("exec", "ExecLimits"),
    ("session", "SessionLimits"),
    ("net", "NetLimits"),
    ("hook", "HookLimits"),
];

/// What has its one place where limits are kept: there the limits of a hook's call are made of it.
const OF_HOOKS: &str = "let HookLimits { cpu, wall, memory, answer, crossing, calls: _ } = self.hook;";

/// Lines of code, with their paths, outside of tests and of the files that `kept` names.
fn lines(folder: &str, kept: &[&str]) -> Vec<(String, String)> {
    let is_kept = |path: &str| kept.iter().any(|kept| path.starts_with(kept));
    let is_test = |path: &str| path.contains("/tests") || path.contains("/benches/");
    let files = sources(folder).into_iter().filter(|(path, _)| !is_kept(path) && !is_test(path));
    let lines = files
        .flat_map(|(path, text)| code(&text).map(|line| (path.clone(), line.trim().to_owned())).collect::<Vec<_>>());
    lines.collect()
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// How often `line` has `field` as a whole, which is no part of another group's.
fn names(line: &str, field: &str) -> usize {
    let own = |at: usize, before: &str| {
        let after = line[at + field.len()..].chars().next();
        let part = before.strip_suffix('.').is_some_and(|before| before.ends_with("net") && !field.starts_with("net"));
        !part && !before.ends_with(is_word) && !after.is_some_and(|letter| is_word(letter) || letter == '(')
    };
    line.match_indices(field).filter(|(at, _)| own(*at, &line[..*at])).count()
}

/// The limits of plugins as the catalog has them: the name in a configuration, and the field.
fn catalog() -> BTreeMap<String, String> {
    let files = sources("runtime/host/src/limits");
    let text = &files["runtime/host/src/limits/catalog.rs"];
    let entry = |line: &str| {
        let (name, rest) = line.strip_prefix("    ")?.split_once(" (")?;
        let (field, rest) = rest.split_once(") ")?;
        let is_entry = ["Most ", "Least ", "Shared "].iter().any(|kind| rest.starts_with(kind));
        is_entry.then(|| (name.to_owned(), field.to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

#[test]
fn each_limit_of_plugins_is_read_in_one_place() {
    let catalog = catalog();
    assert!(catalog.len() > 50, "{catalog:?}");
    let lines = lines("runtime", &["runtime/host/src/limits"]);
    let limits = &sources("runtime/host/src")["runtime/host/src/limits.rs"];
    assert_eq!(limits.matches(OF_HOOKS).count(), 1);
    let mut wrong = Vec::new();
    for (name, field) in &catalog {
        let places: Vec<String> = lines
            .iter()
            .flat_map(|(path, line)| std::iter::repeat_n(format!("{path}: {line}"), names(line, field)))
            .collect();
        let of_hooks = field.strip_prefix("hook.").is_some_and(|hook| hook != "calls");
        if places.len() != usize::from(!of_hooks) {
            wrong.push(format!("`{name}` (`{field}`) is read here: {places:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What was to be found by its name must have it.
#[test]
fn a_group_of_limits_has_no_other_name() {
    let mut others = Vec::new();
    for (path, line) in lines("runtime/host/src", &["runtime/host/src/limits"]) {
        for (group, kind) in GROUPS {
            let typed = [format!(": {kind}"), format!(": &{kind}")];
            let declared = typed.iter().find_map(|typed| line.split_once(typed.as_str())).map(|(before, _)| before);
            let named = line.split_once(&format!("limits.{group}")).filter(|(_, after)| !after.starts_with(['.', '_']));
            // Bound as it is, and not handed to something.
            let bound = named.and_then(|(before, _)| before.split_once("let ")?.1.split_once(" = "));
            let bound = bound.filter(|(_, path)| path.chars().all(|letter| is_word(letter) || "&.".contains(letter)));
            let wrong =
                declared.is_some_and(|before| !before.ends_with(group)) || bound.is_some_and(|(name, _)| name != group);
            if wrong || line.contains("limits().") {
                others.push(format!("{path}: {line}"));
            }
        }
    }
    assert_eq!(others, Vec::<String>::new());
}

/// Fields of a struct, by their names.
fn fields(text: &str, of: &str) -> Vec<String> {
    let (_, after) = text.split_once(&format!("pub struct {of} {{")).expect("the struct");
    let (fields, _) = after.split_once("\n}").expect("its end");
    let names = fields.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// `[limits]`: a setting goes to one place, whether the settings hand it over together with others or by itself.
#[test]
fn each_limit_of_the_configuration_is_read_in_one_place() {
    let kept = sources("runtime/app/src/settings");
    let text = &kept["runtime/app/src/settings/limits.rs"];
    let outside = lines("runtime/app/src", &["runtime/app/src/settings"]);
    let inside: Vec<(String, String)> = lines("runtime/app/src/settings", &[])
        .into_iter()
        .filter(|(path, _)| ["limits.rs", "sections.rs"].iter().any(|file| path.ends_with(&format!("settings/{file}"))))
        .collect();
    let fields = fields(text, "LimitSettings");
    assert!(fields.len() > 10, "{fields:?}");
    for field in fields {
        let [in_it, of_it] = [format!("self.{field}"), format!("limits.{field}")];
        let own = inside.iter().filter(|(path, line)| {
            (path.ends_with("limits.rs") && names(line, &in_it) > 0) || line.contains(&format!("self.{of_it}"))
        });
        let others = outside.iter().filter(|(_, line)| names(line, &of_it) > 0 && !line.contains(&format!("`{of_it}")));
        let places: Vec<String> = own.chain(others).map(|(path, line)| format!("{path}: {line}")).collect();
        assert_eq!(places.len(), 1, "`{field}`: {places:#?}");
    }
}

/// The limits of a turn are its budget's alone.
#[test]
fn the_limits_of_a_turn_are_read_by_its_budget() {
    let own = ["runtime/agent/src/turn/budget.rs", "runtime/agent/src/turn/limits.rs"];
    let others = lines("runtime/agent/src", &own);
    let fields = fields(&sources("runtime/agent/src/turn")[own[1]], "TurnLimits");
    assert!(fields.len() > 5, "{fields:?}");
    for (path, line) in others {
        let reads =
            fields.iter().any(|field| names(&line, &format!("limits.{field}")) > 0) || line.contains("limits().");
        assert!(!reads && !line.contains("TurnLimits {"), "{path}: {line}");
    }
}
