//! What the documents say of the program is what it does: settings, their defaults, commands and options.
#![expect(clippy::disallowed_methods, reason = "reads the documents")]

use std::collections::{BTreeMap, BTreeSet};
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

/// Each limit of plugins stands there with its default and its range.
#[test]
fn every_limit_of_plugins_is_documented_with_its_range() {
    let text = block(&document("docs/configuration.md"), "## The user's file");
    let schema: Value = serde_json::from_str(&Runtime::new().run(&["config", "schema"]).stdout).expect("JSON");
    let limits = schema.pointer("/$defs/LimitSettings/properties/plugin/properties").expect("the limits of plugins");
    let limits = limits.as_object().expect("an object");
    assert!(limits.len() > 50, "{}", limits.len());
    for (name, limit) in limits {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} = "))).expect("it is documented");
        let begins = format!("{name} = {}", limit["default"]);
        let range = format!("# {} to {}", limit["minimum"], limit["maximum"]);
        let said = line.strip_prefix(&begins).is_some_and(|rest| rest.starts_with(' ') && rest.contains(&range));
        assert!(said, "`{line}` should begin with `{begins}`, and say `{range}`");
    }
}

/// The published schema is the program's own, takes what is documented, and refuses what the program refuses.
#[test]
fn the_published_schema_is_strict_and_in_step() {
    let printed = Runtime::new().run(&["config", "schema"]).stdout;
    assert_eq!(document("docs/config.schema.json"), printed, "write it anew: acp-runtime config schema");
    let schema: Value = serde_json::from_str(&printed).expect("JSON");
    let mut strangers = Vec::new();
    without_words(&schema, "", &mut strangers);
    assert_eq!(strangers, Vec::<String>::new(), "objects that take any key, and keys without a description");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let read =
        |toml: &str| -> Value { serde_json::to_value(toml.parse::<toml::Table>().expect("TOML")).expect("JSON") };
    let documented = block(&document("docs/configuration.md"), "## The user's file");
    let problems: Vec<String> = validator.iter_errors(&read(&documented)).map(|error| error.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());

    let provider = "[providers.lab]\nwire = 'ollama'\nmodel = 'm'\n";
    for (toml, place, unknown, meant) in [
        ("modell = 'none'".to_owned(), "1:1", "key `modell`", "model"),
        ("[promt]\nqueue = 1".to_owned(), "1:2", "key `promt`", "prompt"),
        ("[session]\nunload = 1".to_owned(), "2:1", "key `unload`", "unload_after"),
        ("[prompt]\nqeue = 1".to_owned(), "2:1", "key `qeue`", "queue"),
        ("prompt = { qeue = 1 }".to_owned(), "1:12", "key `qeue`", "queue"),
        ("[permission]\ndenny = []".to_owned(), "2:1", "key `denny`", "deny"),
        ("[files]\nbuiltin_deni = true".to_owned(), "2:1", "key `builtin_deni`", "builtin_deny"),
        ("[shell]\ntimout = 3".to_owned(), "2:1", "key `timout`", "timeout"),
        ("[plugins]\nbundeld = true".to_owned(), "2:1", "key `bundeld`", "bundled"),
        ("[limits]\nmodel_request = 3".to_owned(), "2:1", "key `model_request`", "model_requests"),
        ("[limits.plugin]\ncall = 3".to_owned(), "2:1", "key `call`", "calls"),
        ("[log]\n\nlevell = 'warn'".to_owned(), "3:1", "key `levell`", "level"),
        ("[secrets]\nstor = 'file'".to_owned(), "2:1", "key `stor`", "store"),
        ("[mcp.x]\ncomand = 'y'".to_owned(), "2:1", "key `comand`", "command"),
        (format!("{provider}base = 'x'"), "4:1", "key `base`", "base_url"),
        (format!("{provider}timeouts = {{ silence = 3 }}"), "4:14", "key `silence`", "silence_secs"),
        (format!("{provider}[providers.lab.retries]\nattempt = 3"), "5:1", "key `attempt`", "attempts"),
        (format!("{provider}prices.m = {{ input = 1, output = 1, cachd = 1 }}"), "4:37", "key `cachd`", "cached"),
        ("mode = 'autoedit'".to_owned(), "1:8", "value `autoedit`", "auto-edit"),
        ("[prompt]\non_busy = 'quue'".to_owned(), "2:11", "value `quue`", "queue"),
        ("[shell]\ncontainment = 'landlok'".to_owned(), "2:15", "value `landlok`", "landlock"),
        ("[secrets]\nstore = 'fle'".to_owned(), "2:9", "value `fle`", "file"),
        (format!("{provider}reasoning_effort = 'hihg'"), "4:20", "value `hihg`", "high"),
    ] {
        assert!(!validator.is_valid(&read(&toml)), "the schema takes {toml}");
        let runtime = Runtime::new().config(&toml);
        let checked = runtime.run(&["config", "check"]);
        assert_eq!(checked.code, Some(2), "{toml}: {checked:?}");
        let file = runtime.home().join("config.toml");
        let begins = format!("error: {}:{place}: ", file.display());
        let told = checked.stderr.starts_with(&begins) && checked.stderr.contains(&format!("unknown {unknown}"));
        assert!(told, "{toml}: {}", checked.stderr);
        assert!(checked.stderr.ends_with(&format!("\nhint: did you mean `{meant}`?\n")), "{toml}: {}", checked.stderr);
    }
}

/// What an editor could not help with.
fn without_words(schema: &Value, place: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                if object.get("additionalProperties") != Some(&Value::Bool(false)) {
                    found.push(place.to_owned());
                }
                let silent = properties.iter().filter(|(_, property)| property.get("description").is_none());
                found.extend(silent.map(|(name, _)| format!("{place}/{name}")));
            }
            object.iter().for_each(|(key, value)| without_words(value, &format!("{place}/{key}"), found));
        }
        Value::Array(values) => values.iter().for_each(|value| without_words(value, place, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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
    let documents =
        ["README.md", "docs/configuration.md", "docs/plugins.md", "docs/distribution.md"].map(document).join("\n");
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

/// The names of all functions of the project's sources.
fn functions() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = ["runtime", "plugin-sdk", "plugins", "tests", "xtask"].map(|name| root.join(name)).into();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("source is text");
                let names =
                    text.lines().filter_map(|line| line.trim_start().split("fn ").nth(1)?.split(['(', '<']).next());
                found.extend(names.map(str::to_owned));
            }
        }
    }
    found
}

/// The attack that a test is about, by its name: `a7_…`.
fn attack(test: &str) -> Option<u32> {
    let (number, rest) = test.strip_prefix('a')?.split_once('_')?;
    ((1..=2).contains(&number.len()) && !rest.is_empty()).then(|| number.parse().ok())?
}

/// The words between backticks that can only be names of tests.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split('`').skip(1).step_by(2);
    words.filter(|word| {
        word.matches('_').count() > 2 && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    })
}

/// `UPDATE_EXPECT=1` writes the tests of each attack into its row.
#[test]
fn every_promise_and_every_attack_names_its_tests() {
    let (text, functions) = (document("docs/security.md"), functions());
    let mut attacks = BTreeMap::<u32, Vec<String>>::new();
    for test in &functions {
        if let Some(number) = attack(test) {
            attacks.entry(number).or_default().push(format!("`{test}`"));
        }
    }
    let mut seen = Vec::new();
    let lines = text.lines().map(|line| {
        let Some((number, row)) = line.strip_prefix("| A").and_then(|rest| rest.split_once(" | ")) else {
            return line.to_owned();
        };
        let number: u32 = number.parse().expect("a number");
        let (told, tests) = row.trim_end_matches(" |").rsplit_once(" | ").expect("four columns");
        seen.push(number);
        if let Some(own) = attacks.get(&number) {
            return format!("| A{number} | {told} | {} |", own.join(", "));
        }
        assert!(tests_in(tests).next().is_some(), "A{number} has no test");
        line.to_owned()
    });
    let right = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert_eq!(seen, (1..=56).collect::<Vec<_>>());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/security.md"), &right).expect("it is written");
    } else {
        assert_eq!(text, right, "the table in docs/security.md is old: `UPDATE_EXPECT=1` writes the tests into it");
    }
    let gone: Vec<&str> = tests_in(&right).filter(|test| !functions.contains(*test)).collect();
    assert!(gone.is_empty(), "docs/security.md names tests that are not there: {gone:#?}");
    let promises =
        right.split("## What is promised").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("promises");
    for promise in promises.split("\n**").skip(1) {
        assert!(promise.contains("Shown by "), "nothing shows that: {promise}");
    }
}
