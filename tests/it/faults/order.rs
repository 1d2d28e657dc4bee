//! ORDER: updates against answers.

use acp_runtime_tests::Runtime;
use serde_json::{Value, json};

/// The ledger refuses an update before the answer; here the commands come at all, and come after it.
#[tokio::test]
async fn order_a_new_session_is_answered_before_it_shows_itself() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    for _ in 0..20 {
        let id = editor.send("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] }));
        let session = editor.answer_to(id).await.unwrap()["sessionId"].as_str().unwrap().to_owned();
        editor.until_update(&session, "the commands", |update| update["availableCommands"].is_array()).await;
    }
    editor.close().await;
}

#[tokio::test]
async fn order_a_prompt_is_answered_after_its_last_update() {
    let scenario = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ chunks = { count = 500, size = 8 } }]\n";
    let editor = Runtime::scripted(scenario).editor().await;
    let session = editor.new_session().await;
    for _ in 0..20 {
        // What came after the answer would be missing here, and the ledger would refuse it.
        assert_eq!(editor.prompt(&session, "Go").await.text().len(), 500 * 8);
    }
    editor.close().await;
}

#[tokio::test]
async fn order_commands_are_told_again_when_they_change() {
    let editor = Runtime::new().editor().await;
    let session = editor.new_session().await;
    let names = |update: &Value| -> Vec<String> {
        let commands = update["availableCommands"].as_array().into_iter().flatten();
        commands.filter_map(|command| Some(command["name"].as_str()?.to_owned())).collect()
    };
    let before = editor.until_update(&session, "the commands", |update| !names(update).is_empty()).await;
    let options = editor.call("session/new", json!({ "cwd": "/", "mcpServers": [] })).await["configOptions"].clone();
    let switch = options
        .as_array()
        .unwrap()
        .iter()
        .find(|option| option["id"].as_str().is_some_and(|id| id.contains("notes")))
        .expect("the notes plugin has a switch");
    let off = match &switch["options"] {
        Value::Array(values) => values
            .iter()
            .find(|value| value["value"] != switch["currentValue"])
            .expect("a switch has two values")["value"]
            .clone(),
        _ => json!(false),
    };
    let params = json!({ "sessionId": session, "configId": switch["id"], "value": off });
    editor.call("session/set_config_option", params).await;
    let fewer = |update: &Value| (1..names(&before).len()).contains(&names(update).len());
    editor.until_update(&session, "fewer commands", fewer).await;
    editor.close().await;
}

/// No banner and no version message in the chat.
#[tokio::test]
async fn order_nothing_is_said_before_somebody_asks() {
    let editor = Runtime::new().editor().await;
    let session = editor.new_session().await;
    editor.until_update(&session, "the commands", |update| update["availableCommands"].is_array()).await;
    let said = editor.updates(&session).iter().filter(|update| update.get("content").is_some()).count();
    assert_eq!(said, 0);
    editor.close().await;
}
