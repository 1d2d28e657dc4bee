//! PERMISSION, MCP, PATHS, AUTH, SECURITY: whom the agent believes, and what it reaches.

use acp_runtime_tests::{Answer, EditorOptions, Runtime};
use serde_json::json;

fn writes(path: &str) -> String {
    format!(
        "quiet = true\nrepeat = true\n[[reply]]\n\
         steps = [{{ call = {{ tool = \"write_file\", arguments = {{ path = \"{path}\", content = \"x\" }} }} }}]\n\
         [[reply]]\nsteps = [{{ text = \".\" }}]\n"
    )
}

/// A no in any form leaves the file alone and the turn alive.
#[tokio::test]
async fn permission_is_what_was_chosen_and_nothing_else() {
    for (answer, written) in [
        (Answer::Pick("allow_once"), true),
        (Answer::Pick("reject_once"), false),
        (Answer::Pick("reject_always"), false),
        (Answer::Cancel, false),
    ] {
        let runtime = Runtime::scripted(&writes("a.txt"));
        let editor = runtime.editor_with(EditorOptions::default().answering(move |_| answer)).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Write").await;
        assert_eq!(turn.stop, "end_turn", "{answer:?}");
        assert_eq!(runtime.project().join("a.txt").exists(), written, "{answer:?}");
        let asked = &editor.permissions()[0];
        let kinds: Vec<&str> = asked.options.iter().filter_map(|option| option["kind"].as_str()).collect();
        assert_eq!(kinds, ["allow_once", "allow_always", "reject_once", "reject_always"]);
        assert_eq!(asked.call["kind"], "edit", "never a kind that clients wave through");
        editor.close().await;
    }
}

#[tokio::test]
async fn mcp_servers_that_do_not_work_keep_no_session_from_being_opened() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Hello.\" }]\n");
    let editor = runtime.editor().await;
    let servers = json!([{ "name": "gone", "command": "/no/such/server", "args": [], "env": [] }]);
    let answer = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": servers })).await;
    let session = answer["sessionId"].as_str().unwrap();
    assert_eq!(editor.prompt(session, "Hi").await.text(), "Hello.");
    editor.close().await;
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn paths_are_absolute_and_spelled_as_the_client_does() {
    let runtime = Runtime::scripted(&writes("a.txt"));
    let editor = runtime.editor().await;
    for cwd in ["", ".", "project", "../project"] {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        assert_eq!(editor.request("session/new", params).await.unwrap_err().code, -32602, "{cwd:?}");
    }
    // A link to the project is the project, but it is not what the client wrote.
    let link = runtime.home().join("link");
    std::os::unix::fs::symlink(runtime.project(), &link).unwrap();
    let answer = editor.call("session/new", json!({ "cwd": link, "mcpServers": [] })).await;
    let session = answer["sessionId"].as_str().unwrap();
    let call = editor.prompt(session, "Write").await.call();
    assert_eq!(call.fields["locations"][0]["path"], json!(link.join("a.txt")));
    assert_eq!(runtime.read("a.txt"), "x");
    editor.close().await;
}

#[tokio::test]
async fn auth_is_asked_for_only_because_of_a_key_and_goes_on_in_the_same_process() {
    let scenario = "quiet = true\n[[reply]]\nsteps = [{ error = { kind = \"auth\", message = \"the key has expired\" } }]\n\
                    [[reply]]\nsteps = [{ text = \"Hello.\" }]\n";
    let runtime = Runtime::scripted(scenario);
    let editor = runtime.spawn(EditorOptions::default());
    let hello = editor.initialize().await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Hi");
    let error = editor.turn(prompt).await.unwrap_err();
    assert_eq!(error.code, -32000);
    assert!(error.data["details"].as_str().is_some_and(|details| details.contains("expired")), "{error:?}");
    let method = hello["authMethods"][0]["id"].clone();
    editor.call("authenticate", json!({ "methodId": method })).await;
    assert_eq!(editor.prompt(&session, "Again").await.text(), "Hello.");
    editor.new_session().await;
    editor.close().await;
}

/// The editor would read any file: it is never asked for one outside the roots.
#[tokio::test]
async fn security_the_editor_is_no_way_around_the_roots() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [
          { call = { tool = "read_file", arguments = { path = "/etc/passwd" } } },
          { call = { tool = "read_file", arguments = { path = "../secret" } } },
          { call = { tool = "read_file", arguments = { path = "way-out" } } },
          { call = { tool = "write_file", arguments = { path = "way-out", content = "x" } } },
          { call = { tool = "read_file", arguments = { path = ".env" } } },
        ]
        [[reply]]
        steps = [{ text = "." }]
    "#;
    let runtime = Runtime::scripted(scenario).file(".env", "KEY=secret\n");
    std::os::unix::fs::symlink("/etc/passwd", runtime.project().join("way-out")).unwrap();
    let editor = runtime.editor_with(EditorOptions::default().with_files()).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Go").await;
    for call in turn.calls() {
        assert_eq!(call.status(), "failed", "{call:?}");
        assert!(!call.text().contains("root:") && !call.text().contains("secret\n"), "{}", call.text());
    }
    let asked: Vec<(String, String)> = editor.file_calls();
    assert_eq!(asked, Vec::new(), "the editor was asked for a file that is out of reach");
    assert_eq!(turn.calls().len(), 5);
    editor.close().await;
}
