//! Manifests that are read, and those that are refused with a reason.

use std::time::Duration;

use serde_json::json;

use super::*;

const TASKS: &str = r#"
id = "aar:tasks"
version = "0.1.0"
title = "Tasks"
description = "Keeps a list\u202e of tasks."
license = "MIT OR Apache-2.0"

[capabilities]
fs.read = [{ glob = "**", reason = "counts the lines" }]
fs.write = [{ glob = "notes/**", reason = "keeps notes", preopen = true }]
fs.data = { reason = "keeps an index" }
fs.tmp = { reason = "sorts" }
kv = { reason = "keeps the list" }
session.read = { reason = "sums it up" }
prompt = { reason = "says how" }

[limits]
memory = "16 MiB"
wall = "30 s"
data = "2 MiB"
tmp = "1 GiB"

[settings]
type = "object"
"#;

fn tool(name: &str) -> ToolEntry {
    ToolEntry {
        name: name.to_owned(),
        title: None,
        description: "Does it.".to_owned(),
        input_schema: json!({ "type": "object" }),
        side_effects: Vec::new(),
    }
}

fn inventory(tools: Vec<ToolEntry>) -> Inventory {
    Inventory { tools, ..Inventory::default() }
}

fn problem(toml: &str) -> String {
    Manifest::from_toml(toml, Inventory::default()).unwrap_err().to_string()
}

#[test]
fn both_forms_are_the_same_manifest() {
    let offered = inventory(vec![tool("add")]);
    let written = Manifest::from_toml(TASKS, offered.clone()).unwrap();
    let section = Manifest::section(TASKS, &offered).unwrap();
    let read = Manifest::from_section(&section).unwrap();
    for manifest in [&written, &read] {
        assert_eq!(manifest.id.as_str(), "aar:tasks");
        assert_eq!(manifest.about.description, "Keeps a list of tasks.");
        assert_eq!(manifest.limits.memory, Some(16 << 20));
        assert_eq!(manifest.limits.wall, Some(Duration::from_secs(30)));
        assert_eq!((manifest.limits.data, manifest.limits.tmp), (Some(2 << 20), Some(1 << 30)));
        assert_eq!(manifest.lifecycle, Lifecycle::Call);
        assert!(manifest.settings.is_some());
        let shown: Vec<String> = manifest.capabilities.iter().map(|line| line.grant.to_string()).collect();
        let rights = ["fs.read **", "fs.write notes/**", "fs.data", "fs.tmp", "kv", "session.read", "prompt"];
        assert_eq!(shown, rights);
        assert_eq!(manifest.capabilities.iter().filter(|line| line.preopen).count(), 1);
        assert_eq!(manifest.inventory, offered);
    }
    let grants = written.grants(Tier::Installed, Some(vec![Grant::Kv]));
    assert_eq!((grants.ceiling.len(), grants.granted.len()), (7, 1));
}

#[test]
fn unknown_keys_and_classes_are_named() {
    let unknown = problem(&TASKS.replace("title", "titel"));
    assert!(unknown.contains("unknown field `titel`") && unknown.contains("`title`"), "{unknown}");
    assert!(unknown.contains("line 4"), "{unknown}");
    let class = problem(&TASKS.replace("kv =", "sockets ="));
    assert!(class.contains("unknown field `sockets`") && class.contains("`kv`"), "{class}");
    let class = problem(&TASKS.replace("fs.read", "fs.execute"));
    assert!(class.contains("unknown field `execute`, expected one of `read`, `write`, `data`, `tmp`"), "{class}");
    let limit = problem(&TASKS.replace("wall =", "walls ="));
    assert!(
        limit.contains("unknown variant `walls`, expected one of `memory`, `wall`, `cpu`, `data`, `tmp`"),
        "{limit}"
    );
}

#[test]
fn forms_are_told_as_they_are_written() {
    let kv = "kv = { reason = \"keeps the list\" }";
    for (instead, told) in [
        ("kv = true", "invalid type: boolean `true`, expected `{ reason = \"…\" }`"),
        ("net = [\"x\"]", "invalid type: string \"x\", expected `{ host = \"…\", reason = \"…\" }`"),
        ("exec = [\"git\"]", "expected `{ program = \"…\", arguments = […], reason = \"…\" }`"),
        ("net = [{ host = \"x.com\", reason = \"r\" }]", "`x.com` is not a valid host: expected `https://host`"),
    ] {
        let problem = problem(&TASKS.replace(kv, instead));
        assert!(problem.contains(told), "{problem}");
    }
    let write = problem(&TASKS.replace("fs.write = [", "fs.write = [\"**\", "));
    let told = "invalid type: string \"**\", expected `{ glob = \"…\", reason = \"…\" }`";
    assert!(write.contains(told), "{write}");
    let version = problem(&TASKS.replace("\"0.1.0\"", "\"1.0\""));
    assert!(version.contains("`1.0` is no version such as `1.0.0`: "), "{version}");
}

#[test]
fn rights_to_the_network_say_where_to_and_where_secrets_stand() {
    let with = |line: &str| TASKS.replace("kv = { reason = \"keeps the list\" }", line);
    let net =
        "net = [{ host = \"https://*.x.com\", reason = \"r\" }, { host = \"http://localhost:8080\", reason = \"r\" }]";
    let secret = |text: &str| format!("{net}\nsecrets = [{{ {text}, reason = \"r\" }}]");
    let good = [
        "name = \"key\", audience = \"https://api.x.com/v1\", header = \"X-Key\"",
        "name = \"key\", audience = \"https://api.x.com\", header = \"Authorization\", prefix = \"Bearer \"",
        "name = \"key\", audience = \"http://localhost:8080\", query = \"key\"",
    ];
    let shown: Vec<String> = good
        .iter()
        .map(|text| {
            let manifest = Manifest::from_toml(&with(&secret(text)), Inventory::default()).unwrap();
            let section = Manifest::section(&with(&secret(text)), &Inventory::default()).unwrap();
            assert_eq!(Manifest::from_section(&section).unwrap().ceiling(), manifest.ceiling());
            let secret = manifest.ceiling().into_iter().find(|right| matches!(right, Grant::Secret(_)));
            secret.unwrap().to_string()
        })
        .collect();
    assert_eq!(
        shown,
        [
            "secrets aar:tasks/key to https://api.x.com/v1 in the header x-key",
            "secrets aar:tasks/key to https://api.x.com/ in the header authorization behind \"Bearer\"",
            "secrets aar:tasks/key to http://localhost:8080/ in the query as key",
        ]
    );
    for (line, expected) in [
        ("net = [{ host = \"x.com\", reason = \"r\" }]".to_owned(), "`capabilities.net`: `x.com` is not a valid"),
        (
            "net = [{ host = \"https://x.com\", reason = \"\" }]".to_owned(),
            "`capabilities.net.reason`: must not be empty",
        ),
        (secret("name = \"a/b\", audience = \"https://x.com\", query = \"k\""), "`capabilities.secrets.name`: "),
        (secret("name = \"k\", audience = \"https://*.x.com\", query = \"k\""), "`capabilities.secrets.audience`: "),
        (secret("name = \"k\", audience = \"https://*\", query = \"k\""), "`capabilities.secrets.audience`: "),
        (secret("name = \"k\", audience = \"http://x.com\", query = \"k\""), "`capabilities.secrets.audience`: "),
        (secret("name = \"k\", audience = \"https://x.com\""), "`capabilities.secrets.header`: a secret has one place"),
        (
            secret("name = \"k\", audience = \"https://x.com\", query = \"k\", header = \"k\""),
            "`capabilities.secrets.header`: a secret has one place",
        ),
        (secret("name = \"k\", audience = \"https://x.com\", header = \"Host\""), "`capabilities.secrets.header`: "),
        (secret("name = \"k\", audience = \"https://x.com\", header = \"a b\""), "`capabilities.secrets.header`: "),
        (
            secret("name = \"k\", audience = \"https://x.com\", header = \"k\", prefix = \"a\\r\\nb\""),
            "`capabilities.secrets.prefix`: ",
        ),
        (secret("name = \"k\", audience = \"https://x.com\", query = \"a&b\""), "`capabilities.secrets.query`: "),
    ] {
        assert!(problem(&with(&line)).starts_with(expected), "{line}: {}", problem(&with(&line)));
    }
    let one = "{ name = \"k\", audience = \"https://x.com\", query = \"k\", reason = \"r\" }";
    let twice = problem(&with(&format!("secrets = [{one}, {one}]")));
    assert!(twice.contains("`k` is there twice"), "{twice}");
}

#[test]
fn values_out_of_bounds_are_refused() {
    for (from, to, expected) in [
        ("16 MiB", "2 GiB", "`limits.memory`: `2 GiB` is out of range: 1 MiB to 1024 MiB"),
        ("30 s", "301 s", "`limits.wall`: `301 s` is out of range: 1s to 300s"),
        ("data = \"2 MiB\"", "data = \"2 KiB\"", "`limits.data`: `2 KiB` is out of range: 1 MiB to 1024 MiB"),
        ("tmp = \"1 GiB\"", "tmp = \"2 GiB\"", "`limits.tmp`: `2 GiB` is out of range: 1 MiB to 1024 MiB"),
        ("keeps an index", "", "`capabilities.fs.data.reason`: must not be empty"),
        ("30 s", "soon", "`limits.wall`: `soon` is not a time: write it like `60 s`"),
        (
            "notes/**",
            "*.md",
            "`capabilities.fs.write`: `*.md` cannot be preopened: only a folder and all below it, such as `notes/**`",
        ),
        ("notes/**", "../x/**", "`capabilities.fs.write`: `../x/**` leaves the workspace"),
        ("\"Tasks\"", "\"\\u0007\"", "`title`: must not be empty"),
        ("keeps notes", &"x".repeat(201), "`capabilities.fs.write.reason`: 201 is too many; at most 200"),
        ("type = \"object\"", "type = \"array\"", "`settings`: must be a JSON Schema with `type = \"object\"`"),
    ] {
        assert_eq!(problem(&TASKS.replace(from, to)), expected);
    }
    let late = TASKS.replace("license", "minimum-host = \"99.0.0\"\nlicense");
    assert_eq!(problem(&late), "the plugin needs acp-runtime `99.0.0`; this is `0.1.0`");
    let long = format!("{TASKS}# {}", "x".repeat(MOST_BYTES));
    assert!(problem(&long).ends_with("at most 1048576 are read"), "{}", problem(&long));
    let deep = format!("{TASKS}x = {}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(Manifest::from_toml(&deep, Inventory::default()).is_err());
}

#[test]
fn hooks_are_rights_with_a_place() {
    let hooks = |lines: &str| TASKS.replace("kv = { reason = \"keeps the list\" }", &format!("hooks = [{lines}]"));
    let call = "{ event = \"tool-call\", priority = 10, reason = \"guards\" }";
    let said = "{ event = \"user-message\", reason = \"reads along\" }";
    let offered = Inventory { hooks: vec![HookEvent::ToolCall], ..Inventory::default() };
    let section = Manifest::section(&hooks(&format!("{call}, {said}")), &offered).unwrap();
    let manifest = Manifest::from_section(&section).unwrap();
    let shown: Vec<String> = manifest.ceiling().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "fs.read **",
            "fs.write notes/**",
            "fs.data",
            "fs.tmp",
            "session.read",
            "prompt",
            "hooks tool-call",
            "hooks user-message",
        ]
    );
    let places: Vec<_> = manifest.hooks.iter().map(|hook| (hook.event.as_str(), hook.priority)).collect();
    assert_eq!(places, [("tool-call", 10), ("user-message", 500)]);
    assert_eq!(manifest.unheard(), Some(HookEvent::UserMessage));
    for (lines, expected) in [
        (format!("{call}, {call}"), "`capabilities.hooks`: `tool-call` is there twice"),
        (call.replace("10", "1001"), "`capabilities.hooks.priority`: `1001` is out of range: 0 to 1000"),
        (call.replace("guards", ""), "`capabilities.hooks.reason`: must not be empty"),
    ] {
        assert_eq!(problem(&hooks(&lines)), expected);
    }
    let unknown = problem(&hooks(&call.replace("tool-call", "everything")));
    assert!(unknown.contains("unknown variant `everything`, expected one of `session-start`"), "{unknown}");
    let twice = Inventory { hooks: vec![HookEvent::Error, HookEvent::Error], ..Inventory::default() };
    assert_eq!(Manifest::from_toml(TASKS, twice).unwrap_err().to_string(), "`hooks`: `error` is there twice");
}

#[test]
fn a39_what_a_component_says_is_checked_as_well() {
    let refused = |tools| Manifest::from_toml(TASKS, inventory(tools)).unwrap_err().to_string();
    assert_eq!(refused(vec![tool("add"), tool("add")]), "`tools`: `add` is there twice");
    let names = "names are 1 to 64 lower-case letters, digits and `_`, `-`";
    assert_eq!(refused(vec![tool("Add")]), format!("`tools.Add`: {names}"));
    assert_eq!(refused(vec![tool("a\u{202e}b")]), format!("`tools.ab`: {names}"));
    assert!(refused(vec![tool(&"x".repeat(10_000))]).ends_with(names));
    let schema = ToolEntry { input_schema: json!({ "type": "string" }), ..tool("add") };
    assert_eq!(refused(vec![schema]), "`tools.add.input-schema`: must be a JSON Schema with `type: object`");
    let effects = ToolEntry { side_effects: vec!["magic".to_owned()], ..tool("add") };
    assert!(refused(vec![effects]).starts_with("`tools.add.side-effects`: `magic` is unknown; expected one of `none`"));
    assert_eq!(refused((0..129).map(|n| tool(&n.to_string())).collect()), "`tools`: 129 is too many; at most 128");
}

#[test]
fn sections_of_other_forms_are_refused() {
    let section = Manifest::section(TASKS, &Inventory::default()).unwrap();
    let text = String::from_utf8(section).unwrap();
    for (from, to, expected) in [
        ("\"schema\":1", "\"schema\":2", "`schema`: 2 is not known; this version reads 1"),
        (
            "\"schema\":1",
            "\"schema\":1,\"more\":1",
            "unknown field `more`, expected one of `schema`, `plugin`, `inventory`",
        ),
    ] {
        let error = Manifest::from_section(text.replace(from, to).as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let bomb = "[".repeat(200_000);
    assert!(Manifest::from_section(bomb.as_bytes()).is_err());
    assert!(Manifest::from_section(b"").is_err());
    assert!(Manifest::from_section(&vec![b' '; MOST_BYTES + 1]).is_err());
}

#[test]
fn kinds_follow_side_effects_and_names() {
    for (name, effect, kind) in [
        ("add", "write", ToolKind::Edit),
        ("find_notes", "read", ToolKind::Search),
        ("remove-note", "write", ToolKind::Delete),
        ("weather", "network", ToolKind::Fetch),
        ("code-stats", "read", ToolKind::Read),
        ("undeleted", "none", ToolKind::Other),
    ] {
        let tool = ToolEntry { side_effects: vec![effect.to_owned()], ..tool(name) };
        assert_eq!(tool.kind(), kind, "{name}");
    }
}

#[test]
fn inventories_are_compared_item_by_item() {
    let one = inventory(vec![tool("add"), tool("list")]);
    assert_eq!(one.difference(&one.clone()), None);
    assert_eq!(one.difference(&inventory(vec![tool("add")])), Some("tool `list`".to_owned()));
    let other = ToolEntry { description: "Does something else.".to_owned(), ..tool("add") };
    assert_eq!(one.difference(&inventory(vec![other, tool("list")])), Some("tool `add`".to_owned()));
}

#[test]
fn programs_are_asked_for_with_their_arguments() {
    let asked = |line: &str| {
        let toml = TASKS.replace("kv = { reason = \"keeps the list\" }", &format!("exec = [{{ {line} }}]"));
        let section = Manifest::section(&toml, &Inventory::default())?;
        let right = |capability: &Capability| matches!(capability.grant, Grant::Run(_)).then(|| capability.clone());
        let found = Manifest::from_section(&section)?.capabilities.iter().find_map(right);
        Ok::<_, ManifestError>(found.map(|found| format!("{}: {}", found.grant, found.reason)).unwrap_or_default())
    };
    let told = |line: &str| asked(line).unwrap_or_else(|error| error.to_string());
    for (line, expected) in [
        ("program = \"git\", arguments = [\"log\", \"**\"], reason = \"r\"", "exec git log **: r"),
        ("program = \"date\", env = [\"TZ\"], reason = \"r\"", "exec date (with TZ): r"),
        ("program = \"date\", reason = \"\"", "`capabilities.exec.reason`: must not be empty"),
        (
            "program = \"./date\", reason = \"r\"",
            "`capabilities.exec`: `./date` is not the name of a program: write it without a folder, as `git`",
        ),
        (
            "program = \"git\", arguments = [\"log\", \"--output=*\"], reason = \"r\"",
            "`capabilities.exec`: git's `--output=*` is not for plugins: it makes it read or write somewhere else",
        ),
        (
            "program = \"git\", env = [\"GIT_DIR\"], reason = \"r\"",
            "`capabilities.exec`: `GIT_DIR` is not given to programs: it decides what they run",
        ),
    ] {
        assert_eq!(told(line), expected);
    }
    assert!(told("program = \"git\", shell = true, reason = \"r\"").contains("unknown field `shell`"));
}
