//! What is said of plugins: what they offer, what they may do and use, and how they are set.

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::{build_folder, bundled_plugins};
use expect_test::expect;
use serde_json::{Value, json};

const SETTINGS: &str = r#"
[settings]
type = "object"
required = ["folder"]

[settings.properties.folder]
type = "string"
description = "Where lists are kept."

[settings.properties.depth]
type = "integer"
default = 3

[settings.properties.names]
type = "array"
items = { type = "string" }

[settings.properties.colour]
enum = ["red", "blue"]

[settings.properties.api_token]
type = "string"
description = "Opens the door."
"#;

const CONFIG: &str = r#"
[plugins.settings."acme:list"]
folder = "lists"
names = ["a", "b"]
api_token = "hunter2-hunter2"
"#;

/// A plugin with settings, limits of its own and three rights, in the project.
fn built(runtime: Runtime) -> Runtime {
    let manifest = "id = \"acme:list\"\nversion = \"1.2.0\"\ntitle = \"List\"\ndescription = \"A list.\"\n\
                    license = \"MIT\"\n[capabilities]\n\
                    fs.read = [{ glob = \"a/**\", reason = \"reads\" }, { glob = \"b/**\", reason = \"reads more\" }]\n\
                    fs.write = [{ glob = \"a/**\", reason = \"writes\" }]\nkv = { reason = \"remembers\" }\n\
                    [limits]\nmemory = \"32 MiB\"\nwall = \"5 s\"\n";
    let runtime = runtime.file("plugin.toml", &format!("{manifest}{SETTINGS}"));
    let component = build_folder().join("plugins/tasks.wasm").display().to_string();
    let arguments = ["--component", &component, "--manifest", "plugin.toml", "--output", "list.wasm"];
    let build = runtime.run(&[&["plugin", "build"][..], &arguments].concat());
    assert_eq!(build.code, Some(0), "{build:?}");
    runtime
}

fn json(runtime: &Runtime, arguments: &[&str]) -> Value {
    serde_json::from_str(&runtime.run(arguments).stdout).expect("JSON")
}

#[test]
fn a_plugin_is_told_of_whole() {
    let runtime = built(Runtime::new().config(CONFIG));
    assert_eq!(runtime.run(&["plugin", "install", "list.wasm", "--yes"]).code, Some(0));
    let info = runtime.run(&["plugin", "info", "acme:list"]);
    assert_eq!((info.code, info.stderr.as_str()), (Some(0), ""));
    let digest = json(&runtime, &["plugin", "info", "acme:list", "--json"])["digest"].as_str().unwrap().to_owned();
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    let own = info.stdout.replace(&digest, "DIGEST").replace(&runtime.project().display().to_string(), "PROJECT");
    let own: Vec<&str> = own.lines().filter(|line| !line.starts_with("tool ")).collect();
    expect![[r#"
        acme:list 1.2.0 (installed)
        List: A list.
        from: PROJECT/list.wasm
        digest: DIGEST
        license: MIT
        panel tasks: Tasks
        granted fs.read a/**: "reads"
        granted fs.read b/**: "reads more"
        granted fs.write a/**: "writes"
        granted kv: "remembers"
        setting api_token (string): Opens the door. [set to "****"]
        setting colour ("red" or "blue") [not set]
        setting depth (integer) [not set, so 3]
        setting folder (string, required): Where lists are kept. [set to "lists"]
        setting names (list of string) [set to ["a","b"]]
        an instance lives for: one call
        limit of memory: 32 MiB
        limit of a call: 5s, of which it may compute 10s
        limit of calls at once: 4
        limit of storage: 10 MiB"#]]
    .assert_eq(&own.join("\n"));

    let info = json(&runtime, &["plugin", "info", "acme:list", "--json"]);
    assert_eq!(info["limits"]["memory"], 32 << 20);
    assert_eq!((&info["limits"]["wallMs"], &info["limits"]["cpuMs"]), (&json!(5000), &json!(10_000)));
    let token = info["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == "api_token").unwrap();
    assert_eq!(token["value"], "****");
    for arguments in
        [&["plugin", "info", "acme:list", "--json"][..], &["config", "show"], &["plugin", "list", "--json"]]
    {
        let told = runtime.run(arguments).stdout;
        assert!(!told.contains("hunter2"), "{told}");
    }

    // A file that is not installed is told of in the same way.
    let file = json(&runtime, &["plugin", "info", "./list.wasm", "--json"]);
    assert_eq!((&file["digest"], &file["origin"]), (&json!(digest), &json!("not installed")));
}

/// A plugin that the configuration does not fit is never shown as on: what is wrong is said, and where it is corrected.
#[tokio::test]
async fn settings_that_do_not_fit_are_told_of_everywhere() {
    let runtime = built(Runtime::new().config("[plugins.settings.'acme:list']\nfolder = 'a'\ncolour = 'gren'\n"));
    assert_eq!(runtime.run(&["plugin", "install", "list.wasm", "--yes"]).code, Some(0));
    let problem = "left out: its settings in the configuration are not valid: /colour: \"gren\" is not one of \"red\" or \
                   \"blue\"";
    let place = format!("`[plugins.settings.\"acme:list\"]` in `{}`", runtime.home().join("config.toml").display());
    for command in [&["plugin", "list"][..], &["plugin", "info", "acme:list"]] {
        let told = runtime.run(command);
        let warning = format!("warning: `acme:list` is {problem}\nhint: correct {place}\n");
        assert!(told.code == Some(0) && told.stderr.contains(&warning), "{told:?}");
    }
    assert!(runtime.run(&["plugin", "list"]).stdout.contains("acme:list  1.2.0  left out  "));
    let listed = runtime.run(&["plugin", "list", "--json"]).stdout;
    let line = listed.lines().find(|line| line.contains("acme:list")).unwrap();
    assert!(serde_json::from_str::<Value>(line).unwrap()["problem"].as_str().unwrap().contains("/colour"), "{line}");

    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let say = async |text: &str| editor.prompt(&session, text).await.text();
    let plugins = say("/plugins").await;
    assert!(
        plugins.contains(&format!("- `acme:list` ({problem}; correct {place}, and begin anew) – List")),
        "{plugins}"
    );
    let status = say("/status").await;
    let on = bundled_plugins();
    assert!(status.contains(&format!("- plugins: {on} of {on} on\n")), "{status}");
    assert!(
        status.contains(&format!("- plugin `acme:list`: {problem}; correct {place}, and begin anew\n")),
        "{status}"
    );
    let refused = say("/plugins on acme:list").await;
    assert!(
        refused.contains(&format!("the plugin `acme:list` is {problem}: correct {place}, and begin anew")),
        "{refused}"
    );
    let doctor = say("/doctor").await;
    assert!(doctor.contains("- `acme:list` (installed, left out) – not called"), "{doctor}");
    editor.close().await;
}

#[test]
fn a_list_says_what_each_may_do() {
    let runtime = built(Runtime::new());
    let rights = |runtime: &Runtime, id: &str| {
        let list = runtime.run(&["plugin", "list"]).stdout;
        let line =
            list.lines().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{id} in {list}")).to_owned();
        line.split("  ").nth(3).unwrap_or_default().to_owned()
    };
    assert_eq!(rights(&runtime, "aar:code-stats"), "fs.read kv");
    assert_eq!(rights(&runtime, "aar:notes"), "fs.read fs.write");
    assert_eq!(runtime.run(&["plugin", "install", "list.wasm", "--yes"]).code, Some(0));
    assert_eq!(rights(&runtime, "acme:list"), "fs.read fs.write kv");
    let listed = runtime.run(&["plugin", "list", "--json"]).stdout;
    let line = listed.lines().find(|line| line.contains("acme:list")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["rights"], json!(["fs.read a/**", "fs.read b/**", "fs.write a/**", "kv"]));
    // One that is named by a path was granted nothing: what it reads is asked for.
    let path = runtime.project().join("list.wasm");
    let named = Runtime::new().config(&format!("[plugins]\npaths = ['{}']\n", path.display()));
    assert_eq!(rights(&named, "acme:list"), "fs.read?");
}
