//! What a client says of a session when it opens it: folders beside the first, and instructions for the model.

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{CallView, EditorDouble, EditorOptions, Runtime};
use serde_json::{Value, json};

/// Reads a file with the person's own command.
async fn read(editor: &EditorDouble, session: &str, path: &str) -> CallView {
    editor.prompt(session, &format!("/call read_file {{\"path\": \"{path}\"}}")).await.call()
}

fn opening(runtime: &Runtime, fields: Value) -> Value {
    let mut params = json!({ "cwd": runtime.project(), "mcpServers": [] });
    params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    params
}

async fn new_session(editor: &EditorDouble, params: Value) -> String {
    editor.call("session/new", params).await["sessionId"].as_str().unwrap().to_owned()
}

async fn listed(editor: &EditorDouble, cwd: &str) -> Vec<Value> {
    editor.call("session/list", json!({ "cwd": cwd })).await["sessions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn further_folders_are_roots_for_as_long_as_they_are_named() {
    let runtime = Runtime::new().file("a.txt", "first\n").file("../second/b.txt", "second\n");
    let second = runtime.project().with_file_name("second").display().to_string();
    let file = format!("{second}/b.txt");

    let editor = runtime.editor().await;
    let params = opening(&runtime, json!({ "additionalDirectories": [format!("{second}/"), second] }));
    let session = new_session(&editor, params).await;
    let call = read(&editor, &session, &file).await;
    assert_eq!((call.status(), call.text().contains("second")), ("completed", true), "{}", call.text());
    assert_eq!(call.fields["locations"][0]["path"], file);
    let list = listed(&editor, &format!("{}/", runtime.project().display())).await;
    assert_eq!(list[0]["additionalDirectories"], json!([second]), "named once, however it is spelled");

    // Loaded without them, they are closed; and that is what the session is opened with from then on.
    let again = opening(&runtime, json!({ "sessionId": session }));
    editor.call("session/load", again).await;
    let call = read(&editor, &session, &file).await;
    assert_eq!(call.status(), "failed", "{}", call.text());
    assert_eq!(call.text(), format!("`{file}` is not under any of the session's folders"));
    assert_eq!(listed(&editor, &runtime.project().display().to_string()).await[0].get("additionalDirectories"), None);
    editor.close().await;
}

/// Many clients show nothing but the message.
#[tokio::test]
async fn a_refused_request_says_why_in_its_message() {
    let runtime = Runtime::new();
    let editor = runtime.spawn(EditorOptions::default());
    let project = runtime.project();
    let early = editor.request("session/list", json!({})).await.unwrap_err();
    assert_eq!(
        (early.code, early.message.as_str()),
        (-32600, "Invalid request: `initialize` must be the first request")
    );
    editor.initialize().await;
    let session = editor.new_session().await;
    for (method, params, code, message) in [
        ("session/new", json!({ "cwd": project }), -32602, "Invalid params: missing field `mcpServers`"),
        (
            "session/new",
            json!({ "cwd": "x", "mcpServers": [] }),
            -32602,
            "Invalid params: `cwd`: must be an absolute path, not `x`",
        ),
        (
            "session/new",
            json!({ "cwd": "/no/such", "mcpServers": [] }),
            -32602,
            "Invalid params: `/no/such` cannot be opened as a folder of the session: it does not exist; give the path of an existing folder",
        ),
        (
            "session/prompt",
            json!({ "sessionId": session, "prompt": [] }),
            -32602,
            "Invalid params: `prompt`: must not be empty",
        ),
        (
            "session/prompt",
            json!({ "sessionId": session, "prompt": [{ "type": "odd" }] }),
            -32602,
            "Invalid params: block 0: ",
        ),
        (
            "session/set_mode",
            json!({ "sessionId": session, "modeId": "x" }),
            -32602,
            "Invalid params: `modeId`: there is no mode `x`; there are `review`, `auto-edit`, `auto`, `read-only`, `plan`",
        ),
        (
            "session/load",
            json!({ "sessionId": "gone", "cwd": project, "mcpServers": [] }),
            -32002,
            "unknown session `gone`",
        ),
        ("session/frobnicate", json!({}), -32601, "Method not found: `session/frobnicate`"),
        // These are Aar's, and the words of its contract.
        ("_aar/panel_list", json!({}), -32602, "Invalid params"),
        ("_aar/frobnicate", json!({}), -32601, "Method not found"),
    ] {
        let error = editor.request(method, params).await.unwrap_err();
        assert_eq!(error.code, code, "{method}: {error:?}");
        let same = error.message == message || (message.ends_with(": ") && error.message.starts_with(message));
        assert!(same && !error.data.is_null() && !error.message.contains('\n'), "{method}: {error:?}");
    }
    editor.close().await;
}

#[tokio::test]
async fn folders_that_cannot_be_opened_are_refused_by_name() {
    let runtime = Runtime::new().file("a.txt", "");
    let file = runtime.project().join("a.txt").display().to_string();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "/help").await;
    let many: Vec<String> = (0..65).map(|n| format!("/{n}")).collect();
    for (folders, named) in [
        (json!(["relative"]), "`relative`"),
        (json!(["/no/such/folder"]), "`/no/such/folder`"),
        (json!([file]), file.as_str()),
        (json!([5]), ""),
        (json!(many), "65"),
    ] {
        for method in ["session/new", "session/load"] {
            let params = opening(&runtime, json!({ "sessionId": session, "additionalDirectories": folders }));
            let error = editor.request(method, params).await.unwrap_err();
            assert_eq!(error.code, -32602, "{method} {folders}");
            let said = &error.data[if named.is_empty() { "details" } else { "additionalDirectories" }];
            assert!(said.as_str().is_some_and(|said| said.contains(named)), "{method} {folders}: {:?}", error.data);
        }
    }
    // A refused request leaves the session as it was.
    assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn");
    editor.close().await;
}

#[tokio::test]
async fn a_session_moves_with_its_project() {
    let runtime = Runtime::new().file("a.txt", "here\n").file("moved/a.txt", "there\n");
    let (here, there) = (runtime.project(), runtime.project().join("moved"));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(read(&editor, &session, "a.txt").await.text().contains("here"));
    editor.call("session/load", json!({ "sessionId": session, "cwd": there, "mcpServers": [] })).await;
    assert!(read(&editor, &session, "a.txt").await.text().contains("there"));
    assert_eq!(listed(&editor, &here.display().to_string()).await, Vec::<Value>::new());
    assert_eq!(listed(&editor, &there.display().to_string()).await[0]["sessionId"], json!(session));
    editor.close().await;
}

/// What the model was told before the conversation, at each request.
fn told(double: &ModelDouble) -> Vec<String> {
    let system = |body: &Value| body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
    double.asked().iter().map(|asked| system(&asked.body)).collect()
}

#[tokio::test]
async fn a_client_s_instructions_hold_for_the_session_and_survive_the_process() {
    let double = ModelDouble::start((0..6).map(|_| Reply::text("Yes."))).await;
    let runtime = Runtime::new().config(&format!(
        "[providers.lab]\nwire = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"small\"\napi_key = \"k\"\n",
        double.base_url()
    ));
    let prompt = |mode: &str, text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "systemPrompt": { "mode": mode, "content": content } })
    };
    let editor = runtime.editor().await;
    let plain = editor.new_session().await;
    editor.prompt(&plain, "1").await;
    let poet = new_session(&editor, opening(&runtime, prompt("override", "You are a poet."))).await;
    editor.prompt(&poet, "2").await;
    let kind = new_session(&editor, opening(&runtime, prompt("append", "Be kind."))).await;
    editor.prompt(&kind, "3").await;
    editor.close().await;

    let editor = runtime.editor().await;
    editor.load_session(&poet).await;
    editor.prompt(&poet, "4").await;
    let mut replaced = opening(&runtime, prompt("append", "Be brief."));
    replaced["sessionId"] = json!(poet);
    editor.call("session/load", replaced).await;
    editor.prompt(&poet, "5").await;
    editor.close().await;
    let editor = runtime.editor().await;
    editor.load_session(&poet).await;
    editor.prompt(&poet, "6").await;
    editor.close().await;

    let told = told(&double);
    let own = &told[0];
    assert!(own.starts_with("You are a coding agent"), "{own}");
    let place = own.find("\n\nFolders:").map_or("", |at| &own[at..]);
    assert!(place.contains("Mode: Review"), "{own}");
    assert_eq!(told[1], format!("You are a poet.{place}"));
    assert_eq!(told[2], format!("{own}\n\nBe kind."));
    assert_eq!(told[3], told[1], "kept with the session");
    assert_eq!(told[4], format!("{own}\n\nBe brief."), "replaced by the client");
    assert_eq!(told[5], told[4], "and kept as it was replaced");
}

#[tokio::test]
async fn instructions_that_cannot_be_followed_are_refused() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let text = json!({ "type": "text", "text": "Be kind." });
    let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    for (prompt, said) in [
        (
            json!({ "mode": "_mine", "content": [text] }),
            r#"{"available":["append","override"],"systemPrompt":"unknown mode"}"#,
        ),
        (json!({ "mode": "append", "content": [] }), r#"{"systemPrompt":"content must not be empty"}"#),
        (json!({ "mode": "append", "content": [text, image] }), r#"{"systemPrompt":"block 1: only text is taken"}"#),
        (json!({ "content": [text] }), r#"{"details":"missing field `mode`"}"#),
    ] {
        let error =
            editor.request("session/new", opening(&runtime, json!({ "systemPrompt": prompt }))).await.unwrap_err();
        assert_eq!((error.code, error.data), (-32602, serde_json::from_str(said).unwrap()), "{prompt}");
    }
    let none = opening(&runtime, json!({ "systemPrompt": null }));
    editor.call("session/new", none).await;
    editor.close().await;
}
