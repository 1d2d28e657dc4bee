//! What a provider is sent of a project's files for agents, and of what a prompt links to.
#![expect(clippy::disallowed_methods, reason = "lays out links")]

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{EditorDouble, EditorOptions, Runtime};
use serde_json::{Value, json};

fn lab(url: &str) -> Runtime {
    Runtime::new().config(&format!(
        "[providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\nretries = {{ attempts = 1 }}\n"
    ))
}

async fn double() -> ModelDouble {
    ModelDouble::start((0..6).map(|_| Reply::text("ok")).collect::<Vec<_>>()).await
}

fn text(content: &Value) -> String {
    content.as_str().map_or_else(|| content.to_string(), str::to_owned)
}

/// The system prompt, and the last message.
fn sent(double: &ModelDouble) -> (String, String) {
    let body = double.asked().pop().unwrap().body;
    let messages = body["messages"].as_array().unwrap().clone();
    (text(&messages[0]["content"]), text(&messages.last().unwrap()["content"]))
}

async fn prompt(editor: &EditorDouble, session: &str, blocks: Value) {
    let answer = editor.call("session/prompt", json!({ "sessionId": session, "prompt": blocks })).await;
    assert_eq!(answer["stopReason"], "end_turn");
}

#[tokio::test]
async fn the_project_s_files_go_to_the_provider_as_its_own_words() {
    let double = double().await;
    let runtime = lab(&double.base_url()).file("AGENTS.md", "Use tabs.").file("sub/CLAUDE.md", "No tabs here.");
    let runtime = runtime.file("sub/a.rs", "fn a() {}").file("secret/QCR.md", "hidden");
    std::os::unix::fs::symlink(runtime.outside("evil.md"), runtime.project().join("QCR.md")).unwrap();
    std::fs::write(runtime.outside("evil.md"), "from outside").unwrap();
    let runtime = runtime.config("[files]\ndeny = ['secret/**']\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "hi").await;
    let (system, _) = sent(&double);
    assert!(system.contains("are not the user's words") && system.contains("Use tabs."), "{system}");
    assert!(!system.contains("No tabs here.") && !system.contains("from outside"), "{system}");
    let link = |path: &str| {
        let uri = format!("file://{}", runtime.project().join(path).display());
        json!([{ "type": "text", "text": "look" }, { "type": "resource_link", "name": "it", "uri": uri }])
    };
    prompt(&editor, &session, link("sub/a.rs")).await;
    let (system, last) = sent(&double);
    assert!(system.contains("Use tabs.") && system.contains("No tabs here."), "{system}");
    assert!(last.contains("fn a() {}") && last.contains("<resource uri="), "{last}");
    // What is denied is denied here, too.
    prompt(&editor, &session, link("secret/QCR.md")).await;
    let (system, last) = sent(&double);
    assert!(!system.contains("hidden") && !last.contains("hidden"), "{system} {last}");
    assert!(last.contains("[not read: ") && last.contains("is on the deny list"), "{last}");
    prompt(&editor, &session, link("QCR.md")).await;
    assert!(sent(&double).1.contains("is outside the workspace"), "{}", sent(&double).1);
    editor.close().await;
}

#[tokio::test]
async fn a_linked_buffer_is_read_through_the_editor_and_kept_as_it_was() {
    let double = double().await;
    let runtime = lab(&double.base_url()).file("a.rs", "on disk");
    let path = runtime.project().join("a.rs");
    let editor = runtime.editor_with(EditorOptions::default().with_files().with_buffer(&path, "unsaved")).await;
    let session = editor.new_session().await;
    let uri = format!("file://{}", path.display());
    prompt(&editor, &session, json!([{ "type": "resource_link", "name": "a.rs", "uri": uri }])).await;
    assert!(sent(&double).1.contains("unsaved"), "{}", sent(&double).1);
    editor.close().await;
    // The client is told of its link again, and the model of what stood there.
    let editor = runtime.editor_with(EditorOptions::default()).await;
    let replay = editor.load_session(&session).await;
    let link = replay.of("user_message_chunk").next().unwrap();
    assert_eq!(
        (link["content"]["type"].as_str(), link["content"]["uri"].as_str()),
        (Some("resource_link"), Some(uri.as_str()))
    );
    editor.prompt(&session, "go on").await;
    let body = double.asked().pop().unwrap().body.to_string();
    assert!(body.contains("unsaved") && !body.contains("on disk"), "{body}");
    editor.close().await;
}
