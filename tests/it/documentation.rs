//! What the documents say of the program is what it does: settings, their defaults, commands and options.
#![expect(clippy::disallowed_methods, reason = "reads the documents")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use acp_runtime_tests::Runtime;
use serde_json::Value;

/// A document of the repository.
fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The TOML below that heading, with the keys that are commented out in it.
fn block(document: &str, heading: &str) -> String {
    let (_, below) = document.split_once(heading).expect("the heading is there");
    let block = below.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of TOML");
    let lines = block.lines().map(|line| match line.strip_prefix("# ") {
        Some(commented) if commented.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => commented,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The names of all keys of a JSON Schema.
fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                found.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| keys(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether TOML has a key of that name anywhere.
fn has_key(toml: &toml::Table, name: &str) -> bool {
    toml.iter().any(|(key, value)| key == name || value.as_table().is_some_and(|inner| has_key(inner, name)))
}

#[test]
fn every_setting_is_documented_with_its_default() {
    let text = block(&document("docs/configuration.md"), "## The user's file");
    let runtime = Runtime::new().file("documented.toml", &text);
    let shown = runtime.run(&["--config", "documented.toml", "config", "show"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "every key that is documented is one");

    let documented: toml::Table = text.parse().expect("TOML");
    let mut known = BTreeSet::new();
    keys(&serde_json::from_str(&runtime.run(&["config", "schema"]).stdout).expect("JSON"), &mut known);
    assert!(known.len() > 50, "{known:?}");
    let missing: Vec<&String> = known.iter().filter(|key| !has_key(&documented, key)).collect();
    assert!(missing.is_empty(), "not in docs/configuration.md: {missing:?}");

    let defaults: toml::Table = runtime.run(&["config", "show"]).stdout.parse().expect("TOML");
    for (section, values) in defaults.iter().filter_map(|(section, value)| Some((section, value.as_table()?))) {
        for (key, default) in values.iter().filter(|(_, value)| !value.is_table()) {
            let written = documented[section].get(key).expect("it was found above");
            let whole = written.as_integer().and_then(|whole| i32::try_from(whole).ok()).map(f64::from);
            let same = written == default || (whole.is_some() && whole == default.as_float());
            assert!(same, "the default of `{section}.{key}` is {default}, and documented is {written}");
        }
    }
}

#[test]
fn what_a_project_may_say_is_documented() {
    let text = block(&document("docs/configuration.md"), "## The project's file");
    let runtime = Runtime::new().file(".acp-runtime/config.toml", &text);
    let checked = runtime.run(&["config", "check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{checked:?}");
}

#[test]
fn every_command_and_option_is_documented() {
    let documents = ["README.md", "docs/configuration.md", "docs/plugin-authoring.md"].map(document).join("\n");
    let runtime = Runtime::new();
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(command) = waiting.pop() {
        seen += 1;
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let page = runtime.run(&arguments).stdout;
        let mut heading = "";
        for line in page.lines() {
            let word = line.split_whitespace().next().unwrap_or_default();
            if !line.starts_with(' ') {
                heading = line;
            } else if heading == "Commands:" && line.starts_with("  ") && !line.starts_with("   ") && word != "help" {
                assert!(documents.contains(word), "`{word}` of {command:?} is not documented");
                waiting.push(command.iter().cloned().chain([word.to_owned()]).collect());
            } else if let Some(option) = line.split([' ', ',']).find(|word| word.starts_with("--")) {
                let documented = documents.contains(option) || ["--help", "--version"].contains(&option);
                assert!(documented, "`{option}` of {command:?} is not documented");
            }
        }
    }
    assert!(seen > 20, "{seen} commands");
}
