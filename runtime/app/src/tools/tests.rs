//! The tools as a model calls them, on a real folder.

#![expect(clippy::disallowed_methods, reason = "the tests set up files and look at what became of them")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::elicit::NoElicitor;
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::policy::Policy;
use acp_runtime_agent::terminal::{Ran, ShellCommand, TerminalError, Viewer};
use acp_runtime_agent::tool::{ToolArguments, ToolCatalog};
use acp_runtime_agent::transcript::{Location, ToolContent, ToolOutcome};
use acp_runtime_host::egress::{Egress, SystemReach};
use acp_runtime_host::limits::NetLimits;
use expect_test::{Expect, expect};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::workspace::DiskWorkspace;
use crate::workspace::tests::{gate_on, opened, permit, permit_on};

mod changing;

struct Desk {
    folder: TempDir,
    tools: ToolCatalog,
    workspace: Arc<DiskWorkspace>,
}

/// Where nothing runs and nothing is told: commands have tests of their own.
struct Nowhere;

impl EventSink for Nowhere {
    fn emit(&self, event: SessionEvent) {
        panic!("{event:?}");
    }
}

impl Terminal for Nowhere {
    fn is_clients(&self) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        _permit: &'a Permit,
        _command: &'a ShellCommand,
        _viewer: &'a dyn Viewer,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Ran, TerminalError>> {
        Box::pin(async { Err(TerminalError::NotStarted("there is no terminal".to_owned())) })
    }
}

fn desk(files: &[(&str, &str)]) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workspace = Arc::new(opened(&[folder.path().to_owned()], Policy::default()));
    let roots = workspace.roots().clone();
    let mut tools = ToolCatalog::default();
    let surroundings = Surroundings {
        workspace: workspace.clone(),
        roots,
        elicitor: Arc::new(NoElicitor),
        terminal: Arc::new(Nowhere),
        shell: ShellLimits { timeout: Duration::from_secs(1), most: Duration::from_secs(1), output: 1024 },
        network: Network {
            desk: Arc::new(Egress::new(Arc::new(SystemReach)).desk(NetLimits::default())),
            gate: Arc::new(gate_on(workspace.clone(), Policy::default())),
        },
        events: Arc::new(Nowhere),
    };
    for tool in native_tools(surroundings) {
        tools.add(tool).unwrap();
    }
    Desk { folder, tools, workspace }
}

impl Desk {
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.get(name).unwrap()
    }

    async fn outcome(&self, name: &str, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let tool = self.tool(name);
        let arguments = ToolArguments::validate(tool.spec(), arguments)?;
        let permit = permit_on(self.workspace.clone(), Policy::default(), tool.effects(&arguments)?).await?;
        tool.run(&permit, arguments, CancellationToken::new()).await
    }

    /// What the model is shown: the text, or the error.
    async fn call(&self, name: &str, arguments: Value) -> String {
        match self.outcome(name, arguments).await {
            Ok(outcome) => outcome.for_model(),
            Err(error) => error.for_model(),
        }
    }

    async fn preview(&self, name: &str, arguments: Value) -> Result<Vec<ToolContent>, ToolError> {
        let tool = self.tool(name);
        let arguments = ToolArguments::validate(tool.spec(), arguments)?;
        // Nothing is written for a preview: a right to read is enough.
        let reads = tool.effects(&arguments)?.into_iter().filter(Effect::is_read).collect();
        tool.preview(&permit(reads).await, &arguments).await
    }

    fn title(&self, name: &str, arguments: Value) -> (String, Vec<Location>) {
        let tool = self.tool(name);
        let presentation = tool.present(&ToolArguments::validate(tool.spec(), arguments).unwrap());
        (presentation.title, presentation.locations)
    }
}

fn check(actual: &str, expected: &Expect) {
    expected.assert_eq(&format!("{actual}\n"));
}

#[test]
fn schemas_are_strict_plain_and_shared() {
    let (one, other) = (desk(&[]), desk(&[]));
    let names: Vec<&str> = one.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    let expected = [
        "read_file",
        "write_file",
        "edit_file",
        "move_path",
        "delete_path",
        "list_directory",
        "find_files",
        "grep",
        "shell",
        "fetch",
        "update_plan",
        "think",
        "ask_user",
    ];
    assert_eq!(names, expected);
    for tool in one.tools.iter() {
        let spec = tool.spec();
        assert!(Arc::ptr_eq(spec, other.tool(spec.name.as_str()).spec()), "{}", spec.name);
        assert_eq!(spec.input.check(), Ok(()));
        let schema = spec.input.as_value();
        assert_eq!(schema["additionalProperties"], json!(false), "{}", spec.name);
        let text = schema.to_string();
        for word in ["$schema", "\"format\"", "\"default\":null", "$ref", "anyOf", "null"] {
            assert!(!text.contains(word), "{}: {word} in {text}", spec.name);
        }
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{} {name}", spec.name);
        }
    }
    let schema = serde_json::to_string_pretty(one.tool("grep").spec().input.as_value()).unwrap();
    check(
        &schema,
        &expect![[r#"
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "pattern": {
                  "type": "string",
                  "description": "The regular expression, in the syntax of Rust's `regex`: no look-around, no back-references."
                },
                "path": {
                  "type": "string",
                  "description": "The file or folder to look in: absolute, or relative to the session's first folder.",
                  "default": "."
                },
                "include": {
                  "type": "string",
                  "description": "Only files whose path matches this glob, relative to `path`: `*.rs`, `src/**/*.ts`.",
                  "default": ""
                },
                "ignore_case": {
                  "type": "boolean",
                  "description": "Whether capital and small letters are alike.",
                  "default": false
                },
                "max_results": {
                  "type": "integer",
                  "default": 100,
                  "minimum": 1,
                  "maximum": 1000,
                  "description": "At most so many lines."
                }
              },
              "required": [
                "pattern"
              ]
            }
        "#]],
    );
}

#[tokio::test]
async fn wrong_arguments_are_explained() {
    let desk = desk(&[]);
    for (tool, arguments, problem) in [
        ("read_file", json!({}), "Error [invalid-args]: \"path\" is a required property"),
        (
            "read_file",
            json!({ "path": "a", "line": 3 }),
            "Error [invalid-args]: Additional properties are not allowed ('line' was unexpected)",
        ),
        ("read_file", json!({ "path": "../a" }), "Error [denied]: `../a` leaves the workspace"),
        (
            "read_file",
            json!({ "path": "/etc/passwd" }),
            "Error [denied]: `/etc/passwd` is not under any of the session's folders",
        ),
        ("read_file", json!({ "path": "gone" }), "Error [not-found]: `gone` does not exist"),
        ("list_directory", json!({ "path": "gone" }), "Error [not-found]: `gone` does not exist"),
        (
            "grep",
            json!({ "pattern": "a", "max_results": 0 }),
            "Error [invalid-args]: /max_results: 0 is less than the minimum of 1",
        ),
        (
            "find_files",
            json!({ "pattern": "{a" }),
            "Error [invalid-args]: `{a` is not a valid pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
    ] {
        assert_eq!(desk.call(tool, arguments.clone()).await, problem, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn read_file_numbers_lines() {
    let desk = desk(&[("a.txt", "one\ntwo\r\nthree\n"), ("empty", "")]);
    for (arguments, expected) in [
        (json!({}), "     1\tone\n     2\ttwo\n     3\tthree"),
        (json!({ "start_line": 2 }), "     2\ttwo\n     3\tthree"),
        (json!({ "start_line": 2, "end_line": 2 }), "     2\ttwo"),
        (json!({ "end_line": 99 }), "     1\tone\n     2\ttwo\n     3\tthree"),
        (json!({ "start_line": 0, "end_line": 0, "limit": 0 }), "     1\tone\n     2\ttwo\n     3\tthree"),
        (
            json!({ "limit": 2 }),
            "     1\tone\n     2\ttwo\n\n[lines 1-2 of 3: go on with start_line=3, or look for words with grep]",
        ),
        (json!({ "start_line": 3, "end_line": 2 }), "Error [invalid-args]: `end_line` 2 is before `start_line` 3"),
        (json!({ "start_line": 4 }), "Error [invalid-args]: `start_line` is 4, but `a.txt` has 3 lines"),
    ] {
        let mut call = arguments.clone();
        call["path"] = json!("a.txt");
        assert_eq!(desk.call("read_file", call).await, expected, "{arguments}");
    }
    assert_eq!(desk.call("read_file", json!({ "path": "empty" })).await, "(the file is empty)");
    let absolute = desk.path("a.txt").display().to_string();
    assert!(desk.call("read_file", json!({ "path": absolute })).await.starts_with("     1\tone"));
}

#[tokio::test]
async fn read_file_gives_long_files_in_parts_that_add_up() {
    let lines = (1..=5000).map(|n| format!("line {n} {}\n", "x".repeat(n % 60))).collect::<Vec<_>>().concat();
    let desk = desk(&[("long", &lines), ("wide", &format!("{}\nnext", "w".repeat(1_000_000)))]);
    let (mut start, mut gathered, mut calls) = (1, String::new(), 0);
    while start <= 5000 {
        let text = desk.call("read_file", json!({ "path": "long", "start_line": start })).await;
        assert!(text.len() <= output::MOST_TEXT, "{}", text.len());
        let (part, note) = text.split_once("\n\n[").unwrap_or((&text, ""));
        for line in part.lines() {
            gathered.push_str(line.split_once('\t').unwrap().1);
            gathered.push('\n');
            start += 1;
        }
        assert_eq!(note.contains(&format!("go on with start_line={start}")), start <= 5000, "{note}");
        calls += 1;
    }
    assert_eq!(gathered, lines);
    assert!(calls >= 3, "{calls}");
    let wide = desk.call("read_file", json!({ "path": "wide" })).await;
    assert!(wide.contains("… [998007 more characters in this line]\n     2\tnext"), "{}", wide.len());
}

#[tokio::test]
async fn write_file_says_and_shows_what_it_did() {
    let desk = desk(&[("old.txt", "before\n")]);
    fs::write(desk.path("image"), [0xFF, 0xD8]).unwrap();
    let diff = |path: &str, old: Option<&str>, new: &str| ToolContent::Diff {
        path: desk.path(path).display().to_string(),
        old: old.map(str::to_owned),
        new: new.to_owned(),
    };
    for (path, said, shown) in [
        ("new/file.txt", "Created `new/file.txt`: 2 lines", Some(diff("new/file.txt", None, "a\nb\n"))),
        ("old.txt", "Replaced `old.txt`: 2 lines", Some(diff("old.txt", Some("before\n"), "a\nb\n"))),
        ("image", "Replaced `image`: 2 lines", None),
    ] {
        let arguments = json!({ "path": path, "content": "a\nb\n" });
        let preview = desk.preview("write_file", arguments.clone()).await.unwrap();
        let outcome = desk.outcome("write_file", arguments).await.unwrap();
        assert_eq!(preview, Vec::from_iter(shown.clone()), "{path}");
        assert_eq!(outcome.content.get(1), shown.as_ref(), "{path}");
        assert_eq!(outcome.for_model(), said);
        assert_eq!(outcome.locations, [Location { path: desk.path(path).display().to_string(), line: None }]);
        assert_eq!(desk.text(path), "a\nb\n");
    }
    assert_eq!(
        desk.call("write_file", json!({ "path": "new", "content": "" })).await,
        "Error [invalid-args]: `new` is not a file"
    );
}

#[tokio::test]
async fn edit_file_replaces_what_is_there_once() {
    for (before, old, new, all, after) in [
        ("one two", "two", "three", false, "one three"),
        ("a a a", "a", "b", true, "b b b"),
        ("x\n\ty\n", "\ty\n", "", false, "x\n"),
        (
            "fn a() {\r\n    1\r\n}\r\n",
            "{\n    1\n}",
            "{\n    2;\n    3\n}",
            false,
            "fn a() {\r\n    2;\r\n    3\r\n}\r\n",
        ),
        ("a\r\nb\r\n", "b", "c\nd", false, "a\r\nc\r\nd\r\n"),
        ("dos\r\nunix\n", "unix\n", "new\n", false, "dos\r\nnew\n"),
        ("ünïcode €", "ï", "$1 \\0", false, "ün$1 \\0code €"),
    ] {
        let desk = desk(&[("f", before)]);
        let arguments = json!({ "path": "f", "old_string": old, "new_string": new, "replace_all": all });
        let preview = desk.preview("edit_file", arguments.clone()).await.unwrap();
        assert_eq!(desk.text("f"), before, "a preview changes nothing");
        let outcome = desk.outcome("edit_file", arguments).await.unwrap();
        assert_eq!(desk.text("f"), after);
        let path = desk.path("f").display().to_string();
        let shown = ToolContent::Diff { path, old: Some(before.to_owned()), new: after.to_owned() };
        assert_eq!((&preview[..], &outcome.content[1]), (&[shown.clone()][..], &shown));
    }
    let desk = desk(&[("f", "1\n2\nsame\n4\nsame\n")]);
    let arguments = json!({ "path": "f", "old_string": "same", "new_string": "other", "replace_all": true });
    let outcome = desk.outcome("edit_file", arguments).await.unwrap();
    assert_eq!(outcome.for_model(), "Edited `f` at lines 3, 5");
    assert_eq!(outcome.locations[0].line, Some(3));
}

#[tokio::test]
async fn edit_file_helps_where_it_cannot_edit() {
    let text = "fn main() {\n    let total = add(1, 2);\n    println!(\"{total}\");\n}\n\nfn add(a: u8, b: u8) {}\n";
    let desk = desk(&[("main.rs", text), ("many", &"x\n".repeat(30))]);
    let mut said = String::new();
    for (path, old, new) in [
        ("main.rs", "", "x"),
        ("main.rs", "fn", "fn"),
        ("main.rs", "fn ", "x"),
        ("many", "x", "y"),
        ("main.rs", "  let total = add(1, 2);\n  println!(\"{total}\");", "x"),
        ("main.rs", "    let totals = add(1, 3);", "x"),
        ("main.rs", "     2\t    let total = add(1, 2);", "x"),
        ("main.rs", "something else entirely", "x"),
        ("main.rs", "\n \n", "x"),
        ("gone.rs", "a", "b"),
    ] {
        let arguments = json!({ "path": path, "old_string": old, "new_string": new });
        let error = desk.call("edit_file", arguments.clone()).await;
        assert_eq!(desk.preview("edit_file", arguments).await.unwrap_err().for_model(), error);
        said.push_str(&error);
        said.push('\n');
    }
    assert_eq!(desk.text("main.rs"), text);
    check(
        &said,
        &expect![[r#"
            Error [invalid-args]: `old_string` is empty: to write a whole file use write_file
            Error [invalid-args]: `old_string` and `new_string` are the same: nothing would change
            Error [invalid-args]: `old_string` is in `main.rs` 2 times, at lines 1, 6: give lines around it until it is unique, or set `replace_all`
            Error [invalid-args]: `old_string` is in `many` 30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …: give lines around it until it is unique, or set `replace_all`
            Error [not-found]: `old_string` is not in `main.rs`: these lines differ from it in white space only
                 2	    let total = add(1, 2);
                 3	    println!("{total}");
            Error [not-found]: `old_string` is not in `main.rs`: the nearest lines are
                 2	    let total = add(1, 2);
            Error [not-found]: `old_string` is not in `main.rs`: leave out the line numbers and tabs that read_file puts before each line
            Error [not-found]: `old_string` is not in `main.rs`: nothing in the file is like it; read the file again
            Error [not-found]: `old_string` is not in `main.rs`: nothing in the file is like it; read the file again
            Error [not-found]: `gone.rs` does not exist

        "#]],
    );
}

#[tokio::test]
async fn list_directory_shows_kinds_and_sizes() {
    let desk = desk(&[("src/main.rs", "fn"), ("Cargo.toml", "[package]")]);
    std::os::unix::fs::symlink("src", desk.path("link")).unwrap();
    assert_eq!(desk.call("list_directory", json!({})).await, "Cargo.toml (9 bytes)\nlink (link)\nsrc/");
    assert_eq!(desk.call("list_directory", json!({ "path": "src" })).await, "main.rs (2 bytes)");
    fs::create_dir(desk.path("none")).unwrap();
    assert_eq!(desk.call("list_directory", json!({ "path": "none" })).await, "(the folder is empty)");
    for n in 0..1200 {
        fs::write(desk.path(&format!("none/{n:04}")), "").unwrap();
    }
    let many = desk.call("list_directory", json!({ "path": "none" })).await;
    let end = "0999 (0 bytes)\n\n[1000 of 1200 entries: look for others with find_files]";
    assert!(many.ends_with(end), "{many}");
}

#[tokio::test]
async fn find_files_and_grep_find() {
    let desk = desk(&[
        (".gitignore", "target/\n"),
        ("src/main.rs", "fn main() {}\n// NOTE: Main\n"),
        ("src/deep/lib.rs", "mod main;\n"),
        ("target/out.rs", "main\n"),
        ("notes.md", "main\n"),
    ]);
    for (tool, arguments, expected) in [
        ("find_files", json!({ "pattern": "*.rs" }), "src/deep/lib.rs\nsrc/main.rs"),
        ("find_files", json!({ "pattern": "*.rs", "path": "src/deep" }), "src/deep/lib.rs"),
        ("find_files", json!({ "pattern": "*.py", "path": "src" }), "(no file under `src` matches `*.py`)"),
        (
            "find_files",
            json!({ "pattern": "*", "max_results": 1 }),
            "notes.md\n\n[the first 1 file: narrow the glob, or raise max_results up to 2000]",
        ),
        (
            "grep",
            json!({ "pattern": "main" }),
            "notes.md:1:main\nsrc/deep/lib.rs:1:mod main;\nsrc/main.rs:1:fn main() {}",
        ),
        ("grep", json!({ "pattern": "^// .*main", "ignore_case": true }), "src/main.rs:2:// NOTE: Main"),
        ("grep", json!({ "pattern": "main", "include": "*.md" }), "notes.md:1:main"),
        ("grep", json!({ "pattern": "main", "path": "src/main.rs" }), "src/main.rs:1:fn main() {}"),
        ("grep", json!({ "pattern": "absent" }), "(no line under `.` matches `absent`)"),
        (
            "grep",
            json!({ "pattern": "main", "max_results": 2 }),
            "notes.md:1:main\nsrc/deep/lib.rs:1:mod main;\n\n[the first 2 lines: narrow pattern, path or include, \
             or raise max_results up to 1000]",
        ),
    ] {
        assert_eq!(desk.call(tool, arguments.clone()).await, expected, "{tool} {arguments}");
    }
    let wide = format!("{}\n", "needle ".repeat(80)).repeat(1000);
    fs::write(desk.path("wide"), wide).unwrap();
    let many = desk.call("grep", json!({ "pattern": "needle", "max_results": 1000 })).await;
    assert!(many.len() <= output::MOST_TEXT && many.contains("narrow pattern"), "{}", many.len());
}

/// A name that goes on like a line of the listing is one line all the same.
#[tokio::test]
async fn a_name_is_one_line() {
    let forged = "a\nsecret.txt (9 bytes)\u{202e}";
    let desk = desk(&[(forged, "needle"), ("b", "")]);
    let shown = "a\\nsecret.txt (9 bytes)\\u{202e}";
    for (tool, arguments, expected) in [
        ("list_directory", json!({}), format!("{shown} (6 bytes)\nb (0 bytes)")),
        ("find_files", json!({ "pattern": "a*" }), shown.to_owned()),
        ("grep", json!({ "pattern": "needle" }), format!("{shown}:1:needle")),
        ("grep", json!({ "pattern": "absent", "path": forged }), format!("(no line under `{shown}` matches `absent`)")),
        ("read_file", json!({ "path": forged }), "     1\tneedle".to_owned()),
        (
            "read_file",
            json!({ "path": forged, "start_line": 9 }),
            format!("Error [invalid-args]: `start_line` is 9, but `{shown}` has 1 line"),
        ),
        (
            "edit_file",
            json!({ "path": forged, "old_string": "needles", "new_string": "" }),
            format!("Error [not-found]: `old_string` is not in `{shown}`: the nearest lines are\n     1\tneedle"),
        ),
        ("write_file", json!({ "path": forged, "content": "" }), format!("Replaced `{shown}`: 0 lines")),
        ("read_file", json!({ "path": "\n" }), "Error [not-found]: `\\n` does not exist".to_owned()),
    ] {
        assert_eq!(desk.call(tool, arguments.clone()).await, expected, "{tool} {arguments}");
    }
    assert_eq!(desk.title("read_file", json!({ "path": forged })).0, format!("Read `{shown}`"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_was_not_searched_is_said_in_a_line() {
    use std::os::unix::ffi::OsStringExt as _;

    let deep = format!("{}f", "d/".repeat(130));
    let desk = desk(&[(&deep, "needle"), ("z", "needle")]);
    let not_deep = format!("1 (too many folders deep: `{}…`)", "d/".repeat(60));
    let alone = desk.call("find_files", json!({ "pattern": "f" })).await;
    assert_eq!(alone, format!("(no file under `.` matches `f`)\n\n[not searched: {not_deep}]"));
    for name in [b"\xFF.txt".to_vec(), b"\xFE.txt".to_vec()] {
        fs::write(desk.folder.path().join(std::ffi::OsString::from_vec(name)), "needle").unwrap();
    }
    let not_named = "2 (a name that no path here can have: such as `\u{FFFD}.txt`)";
    for (tool, arguments, expected) in [
        ("grep", json!({ "pattern": "needle" }), "z:1:needle\n\n"),
        ("find_files", json!({ "pattern": "*" }), "z\n\n"),
        ("grep", json!({ "pattern": "needle|absent", "max_results": 1, "include": "z" }), "z:1:needle\n\n"),
    ] {
        let named = if arguments["include"] == "z" { String::new() } else { format!(", {not_named}") };
        let expected = format!("{expected}[not searched: {not_deep}{named}]");
        assert_eq!(desk.call(tool, arguments.clone()).await, expected, "{tool} {arguments}");
    }
}

#[test]
fn people_see_what_is_to_be_done() {
    let desk = desk(&[]);
    let at = |path: &str, line| vec![Location { path: desk.path(path).display().to_string(), line }];
    let root = || vec![Location { path: desk.folder.path().display().to_string(), line: None }];
    let absolute = desk.path("src/../a.rs").display().to_string();
    for (tool, arguments, title, locations) in [
        ("read_file", json!({ "path": "src/a.rs" }), "Read `src/a.rs`", at("src/a.rs", None)),
        ("read_file", json!({ "path": absolute }), "Read `a.rs`", at("a.rs", None)),
        ("read_file", json!({ "path": "a", "start_line": 3, "end_line": 9 }), "Read `a` (lines 3-9)", at("a", Some(3))),
        ("read_file", json!({ "path": "a", "start_line": 3 }), "Read `a` from line 3", at("a", Some(3))),
        ("read_file", json!({ "path": "../a\n`b`" }), "Read `../a  b `", vec![]),
        ("write_file", json!({ "path": "a", "content": "" }), "Write `a`", at("a", None)),
        ("edit_file", json!({ "path": "a", "old_string": "b", "new_string": "c" }), "Edit `a`", at("a", None)),
        ("list_directory", json!({}), "List `.`", root()),
        ("find_files", json!({ "pattern": "*.rs" }), "Find `*.rs`", root()),
        ("grep", json!({ "pattern": "fn .*", "path": "src" }), "Search for `fn .*`", at("src", None)),
    ] {
        assert_eq!(desk.title(tool, arguments), (title.to_owned(), locations));
    }
}

#[tokio::test]
async fn a_cancelled_call_changes_nothing() {
    let desk = desk(&[("f", "old")]);
    for (name, arguments) in [
        ("read_file", json!({ "path": "f" })),
        ("write_file", json!({ "path": "f", "content": "new" })),
        ("edit_file", json!({ "path": "f", "old_string": "old", "new_string": "new" })),
        ("move_path", json!({ "from": "f", "to": "g" })),
        ("delete_path", json!({ "path": "f" })),
        ("list_directory", json!({})),
        ("find_files", json!({ "pattern": "*" })),
        ("grep", json!({ "pattern": "." })),
    ] {
        let tool = desk.tool(name);
        let arguments = ToolArguments::validate(tool.spec(), arguments).unwrap();
        let permit = permit(tool.effects(&arguments).unwrap()).await;
        let cancel = CancellationToken::new();
        cancel.cancel();
        let end = tool.run(&permit, arguments, cancel).await.unwrap_err();
        assert_eq!(end, ToolError::to_model("cancelled", "the call was cancelled"), "{name}");
    }
    assert_eq!(desk.text("f"), "old");
}

#[tokio::test]
async fn no_tool_runs_without_its_permit() {
    let desk = desk(&[("f", "old")]);
    for (name, arguments) in [
        ("read_file", json!({ "path": "f" })),
        ("write_file", json!({ "path": "f", "content": "new" })),
        ("edit_file", json!({ "path": "f", "old_string": "old", "new_string": "new" })),
        ("move_path", json!({ "from": "f", "to": "g" })),
        ("delete_path", json!({ "path": "f" })),
        ("list_directory", json!({})),
        ("find_files", json!({ "pattern": "*" })),
        ("grep", json!({ "pattern": "." })),
    ] {
        let tool = desk.tool(name);
        let arguments = ToolArguments::validate(tool.spec(), arguments).unwrap();
        let end = tool.run(&permit(Vec::new()).await, arguments, CancellationToken::new()).await.unwrap_err();
        assert!(end.for_model().starts_with("Error [internal]: no permit for "), "{name}: {end}");
    }
    assert_eq!(desk.text("f"), "old");
}
