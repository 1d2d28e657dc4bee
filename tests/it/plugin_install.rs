//! Installing a plugin: nothing is granted that nobody has seen, and nothing that was granted is lost.
#![expect(clippy::disallowed_methods, reason = "changes an index as an older version has left it")]

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::build_folder;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

const READ: &str = "fs.read = [{ glob = \"notes/**\", reason = \"reads the notes\" }]\n";
const WRITE: &str = "fs.write = [{ glob = \"notes/**\", reason = \"writes the notes\" }]\n";
const KV: &str = "kv = { reason = \"remembers\" }\n";

/// A plugin `acme:list` of that version in the project, which asks for these rights.
fn built(runtime: Runtime, version: &str, rights: &str) -> Runtime {
    let runtime = runtime.file(
        "plugin.toml",
        &format!(
            "id = \"acme:list\"\nversion = \"{version}\"\ntitle = \"List\"\ndescription = \"A list.\"\n\
             license = \"MIT\"\n[capabilities]\n{rights}"
        ),
    );
    let component = build_folder().join("plugins/tasks.wasm").display().to_string();
    let build = runtime.run(&[
        "plugin",
        "build",
        "--component",
        &component,
        "--manifest",
        "plugin.toml",
        "--output",
        "list.wasm",
    ]);
    assert_eq!(build.code, Some(0), "{build:?}");
    runtime
}

/// Installs it without a terminal; the outcome, without the digest.
fn install(runtime: &Runtime, more: &[&str]) -> String {
    let finished = runtime.run(&[&["plugin", "install", "list.wasm"], more].concat());
    let stdout = match finished.stdout.split_once(" (sha256:") {
        Some((before, rest)) => format!("{before}{}", rest.split_once(')').expect("a digest").1),
        None => finished.stdout,
    };
    format!("exit {}\n--- stdout\n{stdout}--- stderr\n{}", finished.code.expect("an exit code"), finished.stderr)
}

fn check(runtime: &Runtime, more: &[&str], expected: &Expect) {
    expected.assert_eq(&install(runtime, more));
}

/// The rights of the installed plugin, with what was granted.
fn rights(runtime: &Runtime) -> Vec<(String, bool)> {
    let info = runtime.run(&["plugin", "info", "acme:list", "--json"]);
    let info: Value = serde_json::from_str(&info.stdout).expect("JSON");
    let asked = info["capabilities"].as_array().expect("a list").iter();
    asked.map(|asked| (asked["right"].as_str().unwrap().to_owned(), asked["granted"] == true)).collect()
}

#[test]
fn without_a_terminal_rights_are_shown_and_need_a_yes() {
    let runtime = built(Runtime::new(), "0.1.0", &format!("{READ}{KV}"));
    check(
        &runtime,
        &[],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        warning: nobody stands for `acme:list` 0.1.0: it is not signed
        `acme:list` 0.1.0 asks for these rights
          fs.read notes/**: "reads the notes"
          kv: "remembers"
        error: `acme:list` 0.1.0 was not installed: nobody can be asked whether to grant its rights
        hint: pass `--yes` to grant all that it asks for
    "#]],
    );
    assert_eq!(runtime.run(&["plugin", "info", "acme:list"]).code, Some(2), "nothing was installed");
    check(
        &runtime,
        &["--yes"],
        &expect![[r#"
            exit 0
            --- stdout
            installed acme:list 0.1.0
            granted fs.read notes/**
            granted kv
            --- stderr
            warning: nobody stands for `acme:list` 0.1.0: it is not signed
            `acme:list` 0.1.0 asks for these rights
              fs.read notes/**: "reads the notes"
              kv: "remembers"
            hint: an agent that is running in an editor has it in the next session
        "#]],
    );
    assert_eq!(rights(&runtime), [("fs.read notes/**".to_owned(), true), ("kv".to_owned(), true)]);

    let modest = built(Runtime::new(), "0.1.0", "");
    check(
        &modest,
        &[],
        &expect![[r#"
            exit 0
            --- stdout
            installed acme:list 0.1.0
            --- stderr
            warning: nobody stands for `acme:list` 0.1.0: it is not signed
            `acme:list` 0.1.0 asks for no rights
            hint: an agent that is running in an editor has it in the next session
        "#]],
    );
}

#[test]
fn what_was_granted_holds_for_the_next_version() {
    let runtime = built(Runtime::new(), "0.1.0", &format!("{READ}{KV}"));
    install(&runtime, &["--yes"]);
    let runtime = built(runtime, "0.2.0", &format!("{READ}{KV}"));
    check(
        &runtime,
        &[],
        &expect![[r#"
            exit 0
            --- stdout
            installed acme:list 0.2.0
            granted fs.read notes/**
            granted kv
            --- stderr
            warning: nobody stands for `acme:list` 0.2.0: it is not signed
            `acme:list` 0.2.0 asks for these rights; 0.1.0 is installed
              fs.read notes/**: "reads the notes" (granted before)
              kv: "remembers" (granted before)
            hint: an agent that is running in an editor has it in the next session
        "#]],
    );
    let runtime = built(runtime, "0.3.0", READ);
    check(
        &runtime,
        &[],
        &expect![[r#"
            exit 0
            --- stdout
            installed acme:list 0.3.0
            granted fs.read notes/**
            --- stderr
            warning: nobody stands for `acme:list` 0.3.0: it is not signed
            `acme:list` 0.3.0 asks for these rights; 0.2.0 is installed
              fs.read notes/**: "reads the notes" (granted before)
              kv (no longer asked for)
            hint: an agent that is running in an editor has it in the next session
        "#]],
    );
    let runtime = built(runtime, "0.4.0", &format!("{READ}{WRITE}"));
    check(
        &runtime,
        &[],
        &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        warning: nobody stands for `acme:list` 0.4.0: it is not signed
        `acme:list` 0.4.0 asks for these rights; 0.3.0 is installed
          fs.read notes/**: "reads the notes" (granted before)
          fs.write notes/**: "writes the notes" (new)
        error: `acme:list` 0.4.0 was not installed: nobody can be asked whether to grant its rights
        hint: pass `--yes` to grant all that it asks for
    "#]],
    );
    assert_eq!(rights(&runtime), [("fs.read notes/**".to_owned(), true)], "the version before is still there");
    check(
        &runtime,
        &["--yes"],
        &expect![[r#"
            exit 0
            --- stdout
            installed acme:list 0.4.0
            granted fs.read notes/**
            granted fs.write notes/**
            --- stderr
            warning: nobody stands for `acme:list` 0.4.0: it is not signed
            `acme:list` 0.4.0 asks for these rights; 0.3.0 is installed
              fs.read notes/**: "reads the notes" (granted before)
              fs.write notes/**: "writes the notes" (new)
            hint: an agent that is running in an editor has it in the next session
        "#]],
    );

    let json = runtime.run(&["plugin", "install", "list.wasm", "--json"]).stdout;
    let mut json: Value = serde_json::from_str(&json).expect("one object");
    assert!(json["digest"].take().as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    let expected = json!({
        "id": "acme:list", "version": "0.4.0", "digest": null, "replaced": "0.4.0",
        "granted": ["fs.read notes/**", "fs.write notes/**"], "notGranted": [], "denied": [], "publisher": null,
        "key": null,
    });
    assert_eq!(json, expected);
}

#[test]
fn what_was_not_granted_is_not_granted_by_the_next_version() {
    let runtime = built(Runtime::new(), "0.1.0", &format!("{READ}{KV}"));
    install(&runtime, &["--yes"]);
    let index = runtime.home().join("plugins/index.toml");
    let text = std::fs::read_to_string(&index).expect("the index");
    let without = text.replace(", \"kv\"]", "]");
    assert_ne!(without, text);
    std::fs::write(&index, without).expect("it is written");
    let runtime = built(runtime, "0.2.0", &format!("{READ}{KV}"));
    check(
        &runtime,
        &[],
        &expect![[r#"
            exit 0
            --- stdout
            installed acme:list 0.2.0
            granted fs.read notes/**
            not granted kv
            --- stderr
            warning: nobody stands for `acme:list` 0.2.0: it is not signed
            `acme:list` 0.2.0 asks for these rights; 0.1.0 is installed
              fs.read notes/**: "reads the notes" (granted before)
              kv: "remembers" (not granted before)
            hint: install it with `--yes` to grant all that it asks for
            hint: an agent that is running in an editor has it in the next session
        "#]],
    );
    assert_eq!(rights(&runtime), [("fs.read notes/**".to_owned(), true), ("kv".to_owned(), false)]);
}

#[test]
fn what_a_plugin_may_read_that_is_only_named_is_asked_for() {
    let runtime = built(Runtime::new().config("[plugins]\nbundled = false\n"), "0.1.0", &format!("{READ}{KV}"));
    let runtime = runtime.config("paths = [\"../project/list.wasm\"]\n");
    let info = runtime.run(&["plugin", "info", "acme:list"]).stdout;
    assert!(info.contains("acme:list 0.1.0 (named)\n"), "{info}");
    assert!(info.contains("\nasked for when used fs.read notes/**: \"reads the notes\"\n"), "{info}");
    assert!(info.contains("\nnot granted kv: \"remembers\"\n"), "{info}");
}

#[test]
fn a_person_is_asked_about_what_is_new() {
    let runtime = built(Runtime::new(), "0.1.0", READ);
    let arguments = ["plugin", "install", "list.wasm"];
    let (seen, code) = runtime.at_a_terminal(&arguments, "n\n");
    assert!(
        seen.contains("fs.read notes/**: \"reads the notes\"") && seen.contains("Grant all of them? [y/N]"),
        "{seen}"
    );
    assert!(seen.contains("error: `acme:list` 0.1.0 was not installed: its rights were not granted"), "{seen}");
    assert_eq!(code, Some(1));
    let (seen, code) = runtime.at_a_terminal(&arguments, "y\n");
    assert_eq!(code, Some(0), "{seen}");
    let (seen, code) = runtime.at_a_terminal(&arguments, "");
    assert!(code == Some(0) && !seen.contains("Grant"), "{seen}");

    let runtime = built(runtime, "0.2.0", &format!("{READ}{WRITE}"));
    let (seen, code) = runtime.at_a_terminal(&arguments, "y\n");
    assert!(seen.contains("asks for these rights; 0.1.0 is installed") && seen.contains("\" (new)"), "{seen}");
    assert_eq!(code, Some(0), "{seen}");
    assert!(rights(&runtime).iter().all(|(_, granted)| *granted), "{seen}");
}
