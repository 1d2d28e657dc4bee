//! The exit codes of `acp-runtime run`: one table, in the help and in the README, and every prompt keeps to it.
#![expect(clippy::disallowed_methods, reason = "reads the README")]

use acp_runtime_tests::Runtime;

/// How a prompt ends: its exit code, and what is told of it, line by line.
const PROMPTS: &[(&str, i32, &[&str])] = &[
    // Done.
    ("/tools", 0, &[]),
    ("/tools read_file", 0, &[]),
    ("/help", 0, &[]),
    ("/help mode", 0, &[]),
    ("/help /mode", 0, &[]),
    ("/status", 0, &[]),
    ("/policy", 0, &[]),
    ("/cost", 0, &[]),
    ("/clear", 0, &[]),
    ("/mode plan", 0, &[]),
    ("/model none", 0, &[]),
    ("/plugins off aar:notes", 0, &[]),
    ("/panel tasks", 0, &[]),
    ("/panel tasks add tasks {\"message\": \"x\"}", 0, &[]),
    ("/mcp", 0, &[]),
    ("/permissions", 0, &[]),
    ("/doctor", 0, &[]),
    ("/fork list", 0, &[]),
    ("/call list_directory {}", 0, &[]),
    // Tried, and failed or refused.
    (
        "/call read_file {\"path\": \"no-such-file\"}",
        1,
        &["[Read `no-such-file`]", "[failed: `no-such-file` does not exist]", "error: `no-such-file` does not exist"],
    ),
    (
        "/call write_file {\"path\": \"a\", \"content\": \"b\"}",
        1,
        &[
            "error: write `a`: it needs a person's approval and there is nobody to ask",
            "hint: allow it beforehand with `--allow write:a`, or run in an editor",
        ],
    ),
    (
        "/mcp add far https://localhost:1/mcp",
        1,
        &["error: fetch `https://localhost:1/mcp`: it needs a person's approval"],
    ),
    // It makes no sense.
    ("/tolls", 2, &["error: there is no command `/tolls`", "hint: did you mean `/tools`?"]),
    ("/foo-bar-baz", 2, &["error: there is no command `/foo-bar-baz`", "hint: type `/help` for the commands"]),
    ("/help nope", 2, &["error: there is no command `/nope`"]),
    ("/status x", 2, &["error: `/status` takes nothing, and `x` follows it", "hint: type `/status`"]),
    ("/policy x", 2, &["error: `/policy` takes nothing"]),
    ("/cost x", 2, &["error: `/cost` takes nothing"]),
    ("/clear x", 2, &["error: `/clear` takes nothing"]),
    ("/init x", 2, &["error: `/init` takes nothing"]),
    ("/doctor x", 2, &["error: `/doctor` takes nothing"]),
    ("/tools nope", 2, &["error: there is no tool `nope`", "hint: type `/tools` for those that there are"]),
    (
        "/tools read_file grep",
        2,
        &["error: `/tools` takes one word, and `grep` follows `read_file`", "hint: type `/help tools`"],
    ),
    ("/call", 2, &["error: no tool was named", "hint: type `/call TOOL {json}`, or `/tools` for the tools"]),
    ("/call nope", 2, &["error: there is no tool `nope`", "hint: "]),
    ("/call read_fil {}", 2, &["error: there is no tool `read_fil`", "hint: did you mean `read_file`?"]),
    ("/call read_file {path", 2, &["error: `{path` is not a JSON object: "]),
    (
        "/call read_file {}",
        2,
        &["[read_file]", "[failed: \"path\" is a required property]", "error: \"path\" is a required"],
    ),
    ("/mode nope", 2, &["error: there is no mode `nope`", "hint: there are `review`, `auto-edit`"]),
    ("/mode plann", 2, &["error: there is no mode `plann`", "hint: did you mean `plan`?"]),
    ("/mode plan auto", 2, &["error: `/mode` takes one word, and `auto` follows `plan`"]),
    ("/model nope/x", 2, &["error: no provider `nope` for the model `nope/x`"]),
    ("/model a b", 2, &["error: `/model` takes one word"]),
    ("/plugins nope", 2, &["error: `/plugins` takes `on` or `off` and a plugin's name", "hint: type `/plugins`, "]),
    ("/plugins on aar:note", 2, &["error: there is no plugin `aar:note`", "hint: did you mean `aar:notes`?"]),
    ("/panel nope", 2, &["error: unknown panel `nope`", "hint: there are `code-stats`, `git`, `tasks`"]),
    ("/panel tasks nope tasks", 2, &["error: unknown action `nope`", "hint: there are `add`, `start`"]),
    ("/panel tasks add", 2, &["error: no node was named for `add`", "hint: `/panel tasks` shows the nodes"]),
    ("/panel tasks start nope", 2, &["error: unknown node `nope`", "hint: "]),
    ("/panel tasks done tasks", 2, &["error: `done` does not apply to nodes of kind `root`"]),
    (
        "/panel tasks add tasks",
        2,
        &["error: `add` needs more: `message`", "hint: type `/panel tasks add tasks {\"message\": …}`"],
    ),
    ("/mcp nope", 2, &["error: `/mcp` has no `nope`", "hint: type `/mcp`, or `/mcp [add"]),
    ("/mcp add x", 2, &["error: `/mcp add` takes a name, and a command or an address", "hint: "]),
    ("/mcp remove", 2, &["error: `/mcp remove` and `/mcp restart` take one server's name", "hint: "]),
    ("/mcp remove nope", 2, &["error: there is no MCP server `nope`", "hint: "]),
    ("/mcp add \"", 2, &["error: a quotation mark or a backslash"]),
    ("/permissions nope", 2, &["error: `/permissions` has no `nope`", "hint: type `/permissions`, "]),
    ("/permissions revoke", 2, &["error: no answer was named", "hint: "]),
    ("/permissions revoke 7", 2, &["error: there is no answer `7`", "hint: type `/permissions` for their numbers"]),
    ("/permissions allow read_file", 2, &["error: a name and an effect are needed", "hint: "]),
    ("/permissions deny nope read", 2, &["error: there is no tool and no plugin `nope`", "hint: "]),
    ("/permissions deny read_file raed", 2, &["error: `raed` is not a class of effects"]),
    (
        "/permissions deny code-stats read",
        2,
        &["error: what `code-stats` does is done by its plugin, `aar:code-stats`", "hint: "],
    ),
    ("/fork nope", 2, &["error: there is no message `nope`", "hint: type `/fork list`"]),
    ("/fork a b c", 2, &["error: `/fork` takes one message", "hint: type `/fork`, "]),
    ("/note", 2, &["error: there is no text"]),
    // There is no model.
    ("Hi", 2, &["error: no model is configured", "hint: add one to `config.toml`"]),
    ("/usr/bin is a path and no command", 2, &["error: no model is configured"]),
    ("/init", 2, &["error: no model is configured"]),
    ("/compact", 2, &["error: a summary needs a model, and none is configured", "hint: choose one with `/model`"]),
];

#[test]
fn every_prompt_ends_by_the_table_and_a_reason_is_no_data() {
    for (prompt, code, told) in PROMPTS {
        let finished = Runtime::new().run(&["run", prompt]);
        assert_eq!(finished.code, Some(*code), "{prompt}: {finished:?}");
        assert_eq!(finished.stdout.is_empty(), *code != 0, "{prompt}: {finished:?}");
        let mut lines = finished.stderr.lines();
        for wanted in *told {
            assert!(lines.any(|line| line.starts_with(wanted)), "{prompt}: `{wanted}` in {}", finished.stderr);
        }
        assert!(!finished.stderr.contains("Error ["), "{prompt}: {}", finished.stderr);
    }
}

#[test]
fn a_command_that_fails_keeps_its_output_and_fails() {
    let runtime = Runtime::new();
    let call = r#"/call shell {"command": "echo shown; exit 3"}"#;
    let finished = runtime.run(&["run", "--allow", "run", call]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.starts_with("shown\n"), "{finished:?}");
    assert!(finished.stderr.ends_with("error: `shell` has failed: see what it gave\n"), "{finished:?}");
}

#[test]
fn a_panel_s_action_that_fails_fails() {
    let finished = Runtime::new().run(&["run", "/panel tasks add tasks {\"message\": \" \"}"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
    assert!(finished.stderr.starts_with("error: add: the task has no text: say what is to be done"), "{finished:?}");
}

#[test]
fn the_table_is_documented() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).expect("it is there");
    let runtime = Runtime::new();
    let table = |arguments: &[&str]| {
        let page = runtime.run(arguments).stdout;
        let table = page.split_once("Exit code:\n").map(|(_, rest)| rest.to_owned()).expect("it has the table");
        table.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
    };
    let whole = table(&["--help"]);
    assert!(readme.contains(&whole), "{whole}");
    for page in [&["run", "--help"][..], &["doctor", "--help"]] {
        assert_eq!(table(page), whole, "{page:?}");
    }
}
