//! SIZE, SCHEMA, EXTENSION: what is on the wire.

use acp_runtime_tests::Runtime;
use serde_json::{Value, json};

/// The double refuses an update of more than 48 KiB: here everything is long at once.
#[tokio::test]
async fn size_of_every_update_is_bounded() {
    let long = "\\u0001".repeat(20_000);
    let steps: Vec<String> =
        (0..60).map(|_| format!("{{ step = \"{}\", status = \"pending\" }}", "ü".repeat(400))).collect();
    let scenario = format!(
        "quiet = true\n[[reply]]\nsteps = [\n\
         {{ thought = \"{long}\" }},\n{{ text = \"{long}\" }},\n\
         {{ call = {{ tool = \"write_file\", arguments = {{ path = \"a.txt\", content = \"{long}\" }} }} }},\n\
         {{ call = {{ tool = \"read_file\", arguments = {{ path = \"long.txt\" }} }} }},\n\
         {{ call = {{ tool = \"update_plan\", arguments = {{ plan = [{}] }} }} }},\n]\n\
         [[reply]]\nsteps = [{{ text = \"Done.\" }}]\n",
        steps.iter().take(50).cloned().collect::<Vec<_>>().join(", ")
    );
    let runtime = Runtime::scripted(&scenario).file("long.txt", &"\u{1}\"\\\n".repeat(30_000));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, &"x".repeat(200_000)).await;
    assert_eq!(turn.stop, "end_turn");
    assert!(turn.text().starts_with(&"\u{1}".repeat(20_000)), "text comes whole, in pieces");
    assert_eq!(turn.of("plan").last().unwrap()["entries"].as_array().unwrap().len(), 50);
    assert!(turn.calls().iter().all(|call| call.status() == "completed"));
    editor.load_session(&session).await;
    editor.close().await;
}

#[tokio::test]
async fn schema_options_have_the_ids_that_clients_look_for() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Hello.\" }]\n");
    let editor = runtime.editor().await;
    let answer = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await;
    let session = answer["sessionId"].clone();
    let options = answer["configOptions"].as_array().unwrap().clone();
    let of =
        |options: &[Value], id: &str| options.iter().find(|option| option["id"] == id).cloned().unwrap_or_default();
    assert_eq!(of(&options, "mode")["category"], "mode");
    assert_eq!(of(&options, "model")["category"], "model");
    assert!(options.iter().all(|option| option["type"] == "select"), "booleans were not offered: {options:?}");
    let params = json!({ "sessionId": session, "configId": "mode", "value": "plan" });
    let all = editor.call("session/set_config_option", params).await["configOptions"].as_array().unwrap().clone();
    assert_eq!(all.len(), options.len(), "the answer has every option");
    assert_eq!(of(&all, "mode")["currentValue"], "plan");
    // The old setter keeps both in step.
    editor.call("session/set_mode", json!({ "sessionId": session, "modeId": "auto" })).await;
    let id = session.as_str().unwrap();
    editor
        .until_update(id, "the mode as an option", |update| {
            let options = update["configOptions"].as_array().into_iter().flatten();
            options.into_iter().any(|option| option["id"] == "mode" && option["currentValue"] == "auto")
        })
        .await;
    editor.close().await;
}

#[tokio::test]
async fn extension_methods_are_known_by_their_whole_name_and_always_answered() {
    let editor = Runtime::new().editor().await;
    let session = editor.new_session().await;
    let params = json!({ "sessionId": session });
    assert!(editor.call("_aar/panel_list", params.clone()).await["panels"].is_array());
    for method in ["aar/panel_list", "_aar/panel_list2", "_aar", "_", "_other/thing", "_AAR/panel_list"] {
        let error = editor.request(method, params.clone()).await.unwrap_err();
        assert_eq!(error.code, -32601, "{method}");
    }
    editor.notify("_other/notice", json!({}));
    editor.notify("unknown", json!({}));
    assert!(editor.call("_aar/panel_list", params).await["panels"].is_array());
    editor.close().await;
}
