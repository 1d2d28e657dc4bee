//! A whole piece of work over ACP: a scripted agent mends a small Rust project and proves it, in the sight of its person.
#![expect(clippy::disallowed_methods, reason = "the project is built with the compiler of this test")]

use std::fmt::Write as _;
use std::path::Path;

use acp_runtime_tests::{Answer, CallView, EditorOptions, Runtime, Turn};
use expect_test::expect;
use serde_json::{Value, json};

const CARGO_TOML: &str = "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

const LIB: &str = "/// The sum of both.
pub fn add(left: i32, right: i32) -> i32 {
    left - right
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_and_two() {
        assert_eq!(super::add(2, 2), 4);
    }
}
";

/// Looks, tests, sees the failure, mends, tests again, sees that it is mended.
const WORK: &str = r#"
quiet = true
[[reply]]
steps = [
  { text = "I will look first. " },
  { call = { tool = "update_plan", arguments = { plan = [
    { step = "Run the tests", status = "in_progress" },
    { step = "Mend what fails", status = "pending" },
  ] } } },
  { call = { tool = "read_file", arguments = { path = "src/lib.rs" } } },
  { call = { tool = "list_directory", arguments = {} } },
]
[[reply]]
steps = [{ call = { tool = "shell", arguments = { command = "cargo test --offline --lib", timeout = 300 } } }]
[[reply]]
when = "tool-failed"
steps = [
  { text = "It subtracts. " },
  { call = { tool = "update_plan", arguments = { plan = [
    { step = "Run the tests", status = "completed" },
    { step = "Mend what fails", status = "in_progress" },
  ] } } },
  { call = { tool = "edit_file", arguments = { path = "src/lib.rs", old_string = "left - right", new_string = "left + right" } } },
]
[[reply]]
when = "tool-succeeded"
steps = [{ call = { tool = "shell", arguments = { command = "cargo test --offline --lib", timeout = 300 } } }]
[[reply]]
when = "tool-succeeded"
steps = [
  { call = { tool = "update_plan", arguments = { plan = [
    { step = "Run the tests", status = "completed" },
    { step = "Mend what fails", status = "completed" },
  ] } } },
]
[[reply]]
when = "tool-succeeded"
steps = [{ text = "Mended: `add` adds." }, { usage = { input = 2000, output = 50, window = 100000 } }]
[[reply]]
when = "tool-failed"
steps = [{ text = "Then I leave it as it is." }]
"#;

/// With the compiler that this test was built with, and nothing of the person's own.
fn workshop() -> Runtime {
    let tools = Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    let path = format!("{tools}:{}", std::env::var("PATH").unwrap_or_default());
    Runtime::scripted(WORK).env("PATH", &path).file("Cargo.toml", CARGO_TOML).file("src/lib.rs", LIB)
}

/// What is alike in every run of what a call shows.
fn shown(call: &CallView, project: &str) -> String {
    let text = call.text();
    let told =
        |line: &&str| line.starts_with("test ") || line.starts_with("[exit code") || !text.contains("test result");
    let lines = text.lines().filter(told).map(|line| line.split("; finished in").next().unwrap_or(line));
    lines.fold(String::new(), |shown, line| shown + "    " + &line.replace(project, "/project") + "\n")
}

/// The turn as a person would tell of it: what was said, the plan, and each call with its end.
fn transcript(turn: &Turn, project: &str) -> String {
    let mut story = String::new();
    let calls = turn.calls();
    for update in &turn.updates {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => {
                let _ = writeln!(story, "says {}", update["content"]["text"]);
            }
            "plan" => {
                let step = |entry: &Value| format!("{} ({})", entry["content"], entry["status"]).replace('"', "");
                let steps: Vec<String> = update["entries"].as_array().unwrap().iter().map(step).collect();
                let _ = writeln!(story, "plans {}", steps.join(", "));
            }
            "tool_call" => {
                let call = calls.iter().find(|call| call.id == update["toolCallId"]).unwrap();
                let at = call.fields.get("locations").and_then(Value::as_array).map_or(0, Vec::len);
                let kind = call.fields.get("kind").and_then(Value::as_str).unwrap_or("other");
                let states = call.statuses.join(", ");
                let _ = writeln!(story, "{} ({kind}, {at} places): {states}", call.titles[0]);
                let diff = call.diff();
                if diff.is_null() {
                    story.push_str(&shown(call, project));
                } else {
                    let changed = |key: &str| diff[key].as_str().unwrap().lines().nth(2).unwrap().trim().to_owned();
                    let _ = writeln!(story, "    {} -> {}", changed("oldText"), changed("newText"));
                }
            }
            "usage_update" => {
                let _ = writeln!(story, "used {} of {}", update["used"], update["size"]);
            }
            "session_info_update" if update["title"].is_string() => {
                let _ = writeln!(story, "is titled {}", update["title"]);
            }
            _ => {}
        }
    }
    story
}

#[tokio::test]
async fn a_small_project_is_mended_in_the_sight_of_its_person() {
    let runtime = workshop();
    let editor = runtime.editor_with(EditorOptions::default().with_files()).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "The tests fail. Mend that.").await;
    assert_eq!(turn.stop, "end_turn");
    let project = runtime.project().display().to_string();
    expect![[r#"
        says "I will look first. "
        Update the plan (think, 0 places): pending, in_progress, completed
            The plan is shown: 0 of 2 steps completed. Now: Run the tests.
        Read `src/lib.rs` (read, 1 places): pending, in_progress, completed
                 1	/// The sum of both.
                 2	pub fn add(left: i32, right: i32) -> i32 {
                 3	    left - right
                 4	}
                 5	
                 6	#[cfg(test)]
                 7	mod tests {
                 8	    #[test]
                 9	    fn two_and_two() {
                10	        assert_eq!(super::add(2, 2), 4);
                11	    }
                12	}
        List `.` (read, 1 places): pending, in_progress, completed
            Cargo.toml (59 bytes)
            src/
        plans Run the tests (in_progress), Mend what fails (pending)
        cargo test --offline --lib (execute, 0 places): pending, in_progress, failed
            test tests::two_and_two ... FAILED
            test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
            [exit code 101]
        says "It subtracts. "
        Update the plan (think, 0 places): pending, in_progress, completed
            The plan is shown: 1 of 2 steps completed. Now: Mend what fails.
        Edit `src/lib.rs` (edit, 1 places): pending, in_progress, completed
            left - right -> left + right
        plans Run the tests (completed), Mend what fails (in_progress)
        cargo test --offline --lib (execute, 0 places): pending, in_progress, completed
            test tests::two_and_two ... ok
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
            [exit code 0]
        Update the plan (think, 0 places): pending, in_progress, completed
            The plan is shown: 2 of 2 steps completed.
        plans Run the tests (completed), Mend what fails (completed)
        says "Mended: `add` adds."
        used 2050 of 100000
        is titled "The tests fail. Mend that."
    "#]]
    .assert_eq(&transcript(&turn, &project));
    assert!(runtime.read("src/lib.rs").contains("left + right"));
    let asked: Vec<String> = editor.permissions().iter().map(|asked| asked.title().to_owned()).collect();
    expect![[r#"
        tool shell: run `cargo test --offline --lib`
        tool edit_file: write `src/lib.rs`
        tool shell: run `cargo test --offline --lib`
    "#]]
    .assert_eq(&(asked.join("\n") + "\n"));
    let edit = editor.permissions()[1].diff();
    assert!(edit["newText"].as_str().unwrap().contains("left + right"), "the question shows the change: {edit}");
    editor.close().await;
}

#[tokio::test]
async fn who_refuses_the_change_keeps_the_file() {
    let runtime = workshop();
    let no = |asked: &acp_runtime_tests::Permission| {
        Answer::Pick(if asked.title().contains("edit_file") { "reject_once" } else { "allow_once" })
    };
    let editor = runtime.editor_with(EditorOptions::default().answering(no)).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Mend it.").await;
    assert!(turn.text().ends_with("Then I leave it as it is."), "{}", turn.text());
    let edit = turn.calls().into_iter().find(|call| call.fields["kind"] == "edit").unwrap();
    assert_eq!(edit.status(), "failed");
    assert!(edit.text().contains("the user refused"), "{}", edit.text());
    assert_eq!(runtime.read("src/lib.rs"), LIB);
    editor.close().await;
}

/// Secrets of the person, in the session's folder and beside it.
#[tokio::test]
async fn keys_are_read_by_nobody() {
    let runtime = Runtime::new().file(".ssh/id_ed25519", "secret").file(".ssh/known_hosts", "secret");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let outside = runtime.outside(".ssh/id_ed25519").display().to_string();
    for (path, reason) in [
        (".ssh/id_ed25519", "is on the deny list"),
        (".ssh/known_hosts", "`**/.ssh/**` is on the deny list"),
        ("src/../.ssh/known_hosts", "`**/.ssh/**` is on the deny list"),
        (outside.as_str(), "is not under any of the session's folders"),
    ] {
        let said = editor.prompt(&session, &format!("/call read_file {}", json!({ "path": path }))).await.text();
        assert!(said.starts_with("error: ") && said.contains(reason), "{path}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
    editor.close().await;
}

/// Links that lead out of the session's folders, to a folder and to a file.
#[cfg(unix)]
#[tokio::test]
async fn no_search_follows_a_link_out() {
    let runtime = Runtime::new().file("src/own.txt", "needle in the project\n");
    let outside = runtime.outside("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "needle outside\n").unwrap();
    for (link, target) in [("src/folder", outside.clone()), ("src/file.txt", outside.join("secret.txt"))] {
        std::os::unix::fs::symlink(target, runtime.project().join(link)).unwrap();
    }
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (tool, arguments, found) in [
        ("find_files", json!({ "pattern": "*.txt" }), Some("src/own.txt")),
        ("grep", json!({ "pattern": "needle" }), Some("src/own.txt:1:needle in the project")),
        ("find_files", json!({ "pattern": "*", "path": "src/folder" }), None),
        ("grep", json!({ "pattern": "needle", "path": "src/folder" }), None),
        ("grep", json!({ "pattern": "needle", "path": "src/file.txt" }), None),
        ("list_directory", json!({ "path": "src/folder" }), None),
        ("read_file", json!({ "path": "src/file.txt" }), None),
        ("read_file", json!({ "path": "src/folder/secret.txt" }), None),
    ] {
        let said = editor.prompt(&session, &format!("/call {tool} {arguments}")).await.text();
        assert!(!said.contains("needle outside") && !said.contains("secret.txt:"), "{tool} {arguments}: {said}");
        match found {
            Some(found) => assert!(said.contains(found), "{tool} {arguments}: {said}"),
            None => assert!(said.starts_with("error: "), "{tool} {arguments}: {said}"),
        }
    }
    editor.close().await;
}
