//! What would make git run something: it is not written, made or moved into place, whatever its repository is like.

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

/// A repository, one whose `.git` is a file, a bare one, and what could be moved into one.
fn repositories() -> Runtime {
    Runtime::new()
        .config("mode = \"auto\"\n")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n")
        .file(".git/worktrees/tree/commondir", "../..\n")
        .file(".git/modules/sub/HEAD", "ref: refs/heads/main\n")
        .file(".git/modules/sub/config", "[core]\n")
        .file("tree/.git", "gitdir: ../.git/worktrees/tree\n")
        .file("bare.git/HEAD", "ref: refs/heads/main\n")
        .file("evil/HEAD", "ref: refs/heads/main\n")
        .file("pointer", "gitdir: evil\n")
        .file("notes/plan.md", "plan\n")
}

async fn call(editor: &EditorDouble, session: &str, tool: &str, arguments: &Value) -> (String, String) {
    let call = editor.prompt(session, &format!("/call {tool} {arguments}")).await.call();
    (call.status().to_owned(), call.text())
}

#[tokio::test]
async fn a13_no_tool_says_where_a_repository_is() {
    let runtime = repositories();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for path in [
        ".git",
        "tree/.git",
        "sub/.git",
        "sub/.GIT",
        ".git/config",
        ".Git/Config",
        ".git/hooks/pre-commit",
        ".git/hooks",
        ".git/worktrees/tree/commondir",
        ".git/worktrees/tree/gitdir",
        ".git/worktrees/tree/config.worktree",
        ".git/worktrees/new/commondir",
        ".git/modules/sub/config",
        ".git/modules/sub/hooks/post-checkout",
        ".git/modules/sub/worktrees/x/commondir",
        "bare.git/config",
        "bare.git/hooks/post-update",
        "bare.git/worktrees/x/commondir",
    ] {
        for (tool, arguments) in [
            ("write_file", json!({ "path": path, "content": "gitdir: evil\n" })),
            ("move_path", json!({ "from": "pointer", "to": path })),
            ("move_path", json!({ "from": "evil", "to": path })),
        ] {
            let (status, told) = call(&editor, &session, tool, &arguments).await;
            // What stands there is looked at before anybody is asked about a change.
            let why = if path == ".git" && tool == "write_file" { "is not a file" } else { "is on the deny list" };
            assert!(status == "failed" && told.contains(why), "{tool} {arguments}: {told}");
        }
    }
    let edit = json!({ "path": "tree/.git", "old_string": "../.git/worktrees/tree", "new_string": "../evil" });
    let away = json!({ "from": "tree/.git", "to": "tree/git" });
    for (tool, arguments) in [("edit_file", edit), ("move_path", away)] {
        let (status, told) = call(&editor, &session, tool, &arguments).await;
        let rule = "`write:**/.git` is on the deny list";
        assert!(status == "failed" && told.contains(rule), "{tool}: {told}");
    }
    // It may be read, and all else is free.
    for (tool, arguments, expected) in [
        ("read_file", json!({ "path": "tree/.git" }), "gitdir: ../.git/worktrees/tree"),
        ("list_directory", json!({ "path": "tree" }), ".git (31 bytes)"),
        ("list_directory", json!({ "path": ".git" }), "HEAD"),
        ("write_file", json!({ "path": ".gitignore", "content": "x\n" }), "Created"),
        ("write_file", json!({ "path": "src/git/config", "content": "x\n" }), "Created"),
        ("move_path", json!({ "from": "evil", "to": "good" }), "Moved"),
    ] {
        let (status, told) = call(&editor, &session, tool, &arguments).await;
        assert!(status == "completed" && told.contains(expected), "{tool} {arguments}: {told}");
    }
    editor.close().await;
    assert_eq!(runtime.read("tree/.git"), "gitdir: ../.git/worktrees/tree\n");
    assert_eq!(runtime.read(".git/worktrees/tree/commondir"), "../..\n");
}

#[tokio::test]
async fn a13_no_plugin_says_where_a_repository_is() {
    let runtime =
        repositories().file("notes/tree/.git", "gitdir: ../../.git\n").file("notes/pointer", "gitdir: evil\n");
    let guest = build_folder().join("guests/hostile.wasm");
    assert_eq!(runtime.run(&["plugin", "install", "--yes", &guest.display().to_string()]).code, Some(0));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (attack, path, to, expected) in [
        ("write", "notes/tree/.git", "", "refused: "),
        ("append", "notes/tree/.git", "", "refused: "),
        ("truncate", "notes/tree/.git", "", "refused: "),
        ("write", "notes/.git", "", "refused: "),
        ("make_folder", "notes/.git", "", "refused: "),
        ("make_folder", "notes/.GIT", "", "refused: "),
        ("rename", "notes/pointer", "notes/.git", "refused: "),
        ("rename", "notes/tree/.git", "notes/tree/git", "refused: "),
        ("read", "notes/tree/.git", "", "done: gitdir: ../../.git\n"),
        ("list", "notes/tree", "", "done: .git"),
    ] {
        let at = |path: &str| if path.is_empty() { String::new() } else { format!("/workspace/{path}") };
        let arguments = json!({ "attack": attack, "path": at(path), "to": at(to) });
        let went = editor.prompt(&session, &format!("/call hostile__attempt {arguments}")).await.text();
        assert!(went.starts_with(expected), "{arguments}: {went}");
    }
    editor.close().await;
    assert_eq!(runtime.read("notes/tree/.git"), "gitdir: ../../.git\n");
}

#[test]
fn whoever_switches_the_list_off_has_none_of_it() {
    let runtime = repositories().config("[files]\nbuiltin_deny = false\n");
    let write = format!("/call write_file {}", json!({ "path": "sub/.git", "content": "gitdir: evil\n" }));
    let done = runtime.run(&["run", &write]);
    assert_eq!(done.code, Some(0), "{done:?}");
}
