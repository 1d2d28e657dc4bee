//! Folders of a session of which one lies in another: a file has a path in each, and what is denied under one of them is
//! denied under all.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Runtime};
use serde_json::{Value, json};

/// The last lines are about paths from the top of `inner`, the others about paths from the top of the project.
const RULES: &str = "mode = \"auto\"\n[files]\ndeny = [\"inner/shut/**\", \"own/**\"]\n[permission]\ndeny = [\
     \"read:inner/hidden/**\", \"write:inner/fixed.txt\", \"delete:inner/kept/**\", \"move:inner/kept/**\", \
     \"read:secret/**\", \"write:still.txt\"]\n";

/// A project in which `inner` holds what the rules are about, and a link to `inner` beside it.
fn laid_out(rules: &str) -> Runtime {
    let mut runtime = Runtime::new().config(rules);
    for path in
        ["shut/a", "own/a", "hidden/a", "fixed.txt", "kept/a", "secret/a", "still.txt", "free/a", "notes/plan.md"]
    {
        runtime = runtime.file(&format!("inner/{path}"), "needle\n");
    }
    symlink(runtime.project().join("inner"), runtime.outside("link")).unwrap();
    runtime
}

/// All ways for one folder of a session to lie in another: the session's `cwd` and the other one.
fn arrangements(runtime: &Runtime) -> Vec<[PathBuf; 2]> {
    let (outer, inner, link) = (runtime.project(), runtime.project().join("inner"), runtime.outside("link"));
    vec![[outer.clone(), inner.clone()], [inner, outer.clone()], [outer.clone(), link.clone()], [link, outer]]
}

async fn opened(editor: &EditorDouble, [cwd, other]: &[PathBuf; 2]) -> String {
    let params = json!({ "cwd": cwd, "additionalDirectories": [other], "mcpServers": [] });
    editor.call("session/new", params).await["sessionId"].as_str().unwrap().to_owned()
}

/// The status of a call, and what it says.
async fn call(editor: &EditorDouble, session: &str, tool: &str, arguments: Value) -> (String, String) {
    let call = editor.prompt(session, &format!("/call {tool} {arguments}")).await.call();
    (call.status().to_owned(), call.text())
}

#[tokio::test]
async fn what_is_denied_under_one_name_is_denied_under_all() {
    let runtime = laid_out(RULES);
    let editor = runtime.editor().await;
    for folders in arrangements(&runtime) {
        let session = opened(&editor, &folders).await;
        // A relative path is one of the `cwd`, an absolute one of the innermost folder that it lies in.
        let relative = if folders[0] == runtime.project() { "inner/" } else { "" };
        let absolute = format!("{}/", runtime.project().join("inner").display());
        let linked = format!("{}/", folders.iter().find(|path| **path != runtime.project()).unwrap().display());
        for inner in [relative, &absolute, &linked] {
            let at = |path: &str| format!("{inner}{path}");
            let path = |path: &str| json!({ "path": at(path) });
            let text = |path: &str| json!({ "path": at(path), "content": "changed" });
            let moved = |from: &str, to: &str| json!({ "from": at(from), "to": at(to) });
            for (tool, arguments, rule) in [
                ("read_file", path("shut/a"), "inner/shut/**"),
                ("read_file", path("own/a"), "own/**"),
                ("read_file", path("hidden/a"), "read:inner/hidden/**"),
                ("read_file", path("secret/a"), "read:secret/**"),
                ("list_directory", path("hidden"), "read:inner/hidden/**"),
                ("list_directory", path("secret"), "read:secret/**"),
                ("grep", json!({ "pattern": "needle", "path": at("secret") }), "read:secret/**"),
                ("shell", json!({ "command": "cat a", "cwd": at("secret") }), "read:secret/**"),
                ("write_file", text("fixed.txt"), "write:inner/fixed.txt"),
                ("write_file", text("still.txt"), "write:still.txt"),
                ("write_file", text("shut/new"), "inner/shut/**"),
                ("delete_path", path("kept/a"), "delete:inner/kept/**"),
                ("move_path", moved("kept/a", "free/b"), "move:inner/kept/**"),
                ("move_path", moved("free/a", "kept/b"), "move:inner/kept/**"),
                ("move_path", moved("secret/a", "free/b"), "read:secret/**"),
            ] {
                let (status, told) = call(&editor, &session, tool, arguments.clone()).await;
                let refused = status == "failed" && told.contains(&format!("`{rule}` is on the deny list"));
                assert!(refused, "{folders:?} {tool} {arguments}: {told}");
            }
            for (tool, arguments) in [
                ("delete_path", json!({ "path": at("kept"), "recursive": true })),
                ("move_path", moved("secret", "public")),
            ] {
                let (status, told) = call(&editor, &session, tool, arguments.clone()).await;
                assert_eq!(status, "failed", "{folders:?} {tool} {arguments}: {told}");
            }
            assert_eq!(
                call(&editor, &session, "read_file", path("free/a")).await.0,
                "completed",
                "{folders:?} {inner}"
            );
        }
        // Nothing of it is found from above either.
        for folder in &folders {
            let arguments = json!({ "pattern": "needle", "path": folder });
            let (_, found) = call(&editor, &session, "grep", arguments).await;
            for hidden in ["shut", "own", "hidden", "secret"] {
                let told = found.contains(&format!("{hidden}/a"));
                assert!(found.contains("free/a") && !told, "{folders:?} {found}");
            }
        }
    }
    editor.close().await;
    assert_eq!(runtime.read("inner/fixed.txt"), "needle\n");
    assert!(runtime.project().join("inner/kept/a").exists() && runtime.project().join("inner/secret/a").exists());
}

/// What was allowed is the name: an answer about one path says nothing of the other.
#[tokio::test]
async fn a_no_is_about_the_file_and_a_yes_about_its_name() {
    let runtime = laid_out("");
    let no = EditorOptions::default().answering(|_| Answer::Pick("reject_once"));
    let editor = runtime.editor_with(no).await;
    let (outer, inner) = (runtime.project(), runtime.project().join("inner"));
    let at = |path: &str| inner.join(path).display().to_string();

    let session = opened(&editor, &[outer.clone(), inner.clone()]).await;
    for answer in
        ["deny grep read:inner/secret/**", "deny read_file read:inner/secret/**", "allow write_file write:inner/**"]
    {
        editor.prompt(&session, &format!("/permissions {answer}")).await;
    }
    for (tool, arguments) in [
        ("grep", json!({ "pattern": "needle", "path": at("secret") })),
        ("grep", json!({ "pattern": "needle", "path": at("") })),
        ("read_file", json!({ "path": at("secret/a") })),
    ] {
        let (status, told) = call(&editor, &session, tool, arguments.clone()).await;
        let refused = status == "failed" && told.contains("the user has refused");
        assert!(refused, "{tool} {arguments}: {told}");
    }
    let write = |path: String| json!({ "path": path, "content": "changed" });
    assert_eq!(call(&editor, &session, "write_file", write("inner/free/a".to_owned())).await.0, "completed");
    assert_eq!(editor.permissions().len(), 0);
    assert_eq!(call(&editor, &session, "write_file", write(at("free/a"))).await.0, "failed");
    assert_eq!(editor.permissions().len(), 1, "another name was asked about");

    // In the other order the answer is about the other folder's paths.
    let session = opened(&editor, &[inner.clone(), outer.clone()]).await;
    editor.prompt(&session, "/permissions deny list_directory read:secret/**").await;
    for folder in [at("secret"), outer.display().to_string()] {
        let (status, told) = call(&editor, &session, "list_directory", json!({ "path": folder })).await;
        assert_eq!(status == "failed", folder.ends_with("secret"), "{folder}: {told}");
    }
    editor.prompt(&session, "/permissions deny find_files read:secret/**").await;
    let everywhere = json!({ "pattern": "**", "path": outer });
    assert_eq!(call(&editor, &session, "find_files", everywhere).await.0, "failed", "the folder is in there");
    editor.close().await;
}

/// With a folder, what was said about the paths below it would go elsewhere.
#[tokio::test]
async fn a_folder_of_the_session_stays_where_it_is() {
    let runtime = laid_out("mode = \"auto\"\n").file("deep/er/a", "a");
    let editor = runtime.editor().await;
    let deeper = runtime.project().join("deep/er");
    for folders in [[runtime.project(), deeper.clone()], [deeper, runtime.project()]] {
        let session = opened(&editor, &folders).await;
        let at = |path: &str| runtime.project().join(path).display().to_string();
        for (tool, arguments) in [
            ("move_path", json!({ "from": at("deep"), "to": at("other") })),
            ("delete_path", json!({ "path": at("deep"), "recursive": true })),
        ] {
            let (status, told) = call(&editor, &session, tool, arguments).await;
            let why = "it is one of the session's folders, or holds one";
            assert!(status == "failed" && told.contains(why), "{tool}: {told}");
        }
    }
    editor.close().await;
    assert_eq!(runtime.read("deep/er/a"), "a");
}

#[tokio::test]
async fn a_plugin_reaches_what_is_denied_under_no_name() {
    let runtime = laid_out(RULES);
    let guest = build_folder().join("guests/hostile.wasm");
    let installed = runtime.run(&["plugin", "install", "--yes", &guest.display().to_string()]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let editor = runtime.editor().await;
    for folders in arrangements(&runtime) {
        let session = opened(&editor, &folders).await;
        let is_outer_first = folders[0] == runtime.project();
        let (outer, inner) =
            if is_outer_first { ("/workspace", "/workspace-2") } else { ("/workspace-2", "/workspace") };
        for (attack, path, expected) in [
            ("read", "shut/a", "refused: "),
            ("read", "own/a", "refused: "),
            ("read", "hidden/a", "refused: "),
            ("read", "secret/a", "refused: "),
            ("look", "secret/a", "refused: "),
            ("list", "secret", "refused: "),
            ("list", "shut", "refused: "),
            ("list", "", "done: fixed.txt free kept notes still.txt"),
            ("read", "free/a", "done: needle\n"),
        ] {
            for folder in [format!("{outer}/inner"), inner.to_owned()] {
                let arguments = json!({ "attack": attack, "path": format!("{folder}/{path}") });
                let went = editor.prompt(&session, &format!("/call hostile__attempt {arguments}")).await.text();
                let exact = expected.starts_with("done: ");
                let right = if exact { went == expected } else { went.starts_with(expected) };
                assert!(right, "{folders:?} {arguments}: {went}");
            }
        }
    }
    editor.close().await;
}

/// Through `aar:host/workspace`, and in a folder that was lent for writing.
#[tokio::test]
async fn a_plugin_s_folder_has_its_rules_from_above() {
    let rules =
        "mode = \"auto\"\n[permission]\ndeny = [\"read:inner/notes/plan.md\", \"write:inner/notes/fixed/**\"]\n";
    let runtime = laid_out(rules).file("inner/notes/fixed/a", "fixed").file("inner/notes/open.md", "# open\n");
    let guest = build_folder().join("guests/hostile.wasm");
    assert_eq!(runtime.run(&["plugin", "install", "--yes", &guest.display().to_string()]).code, Some(0));
    let editor = runtime.editor().await;
    let session = opened(&editor, &[runtime.project().join("inner"), runtime.project()]).await;
    let (status, told) = call(&editor, &session, "notes__read", json!({ "note": "plan" })).await;
    assert!(status == "failed" && told.contains("`read:inner/notes/plan.md` is on the deny list"), "{told}");
    assert_eq!(call(&editor, &session, "notes__read", json!({ "note": "open" })).await.0, "completed");
    for (attack, path, to, expected) in [
        ("write", "notes/fixed/a", "", "refused: "),
        ("write", "notes/fixed/new", "", "refused: "),
        ("make_folder", "notes/fixed/new", "", "refused: "),
        ("rename", "notes/fixed/a", "notes/loose", "refused: "),
        ("rename", "notes/fixed", "notes/loose", "refused: "),
        ("rename", "notes/plan.md", "notes/other.md", "refused: "),
        ("write", "notes/new", "", "done: written"),
    ] {
        let at = |path: &str| if path.is_empty() { String::new() } else { format!("/workspace/{path}") };
        let arguments = json!({ "attack": attack, "path": at(path), "to": at(to) });
        let went = editor.prompt(&session, &format!("/call hostile__attempt {arguments}")).await.text();
        assert!(went.starts_with(expected), "{arguments}: {went}");
    }
    editor.close().await;
    assert_eq!(runtime.read("inner/notes/fixed/a"), "fixed");
    assert!(!fs::exists(runtime.project().join("inner/notes/loose")).unwrap());
    assert_eq!(runtime.read("inner/notes/plan.md"), "needle\n");
}
