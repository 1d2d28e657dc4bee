//! Sessions that go on from others, by themselves.

use acp_runtime_tests::runtime::bundled_plugins;
use acp_runtime_tests::{Runtime, Turn};
use serde_json::{Value, json};

/// Each prompt is two messages of the model: one that reads, one that tells.
const WORK: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ text = "Looking. " }, { call = { tool = "read_file", arguments = { path = "a.txt" } } }]
[[reply]]
steps = [{ text = "It says hi." }]
"#;

fn work() -> Runtime {
    Runtime::scripted(WORK).file("a.txt", "hi\n")
}

/// The ids of all messages and calls, each once, in order.
fn ids(turn: &Turn) -> Vec<String> {
    let mut ids = Vec::new();
    for update in &turn.updates {
        for field in ["messageId", "toolCallId"] {
            if let Some(id) = update[field].as_str().filter(|id| !ids.iter().any(|known| known == id)) {
                ids.push(id.to_owned());
            }
        }
    }
    ids
}

#[tokio::test]
async fn a_fork_has_all_of_it_and_then_its_own() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "One").await;
    editor.set_mode(&session, "plan").await;
    let fork = editor.fork_session(&session, Value::Null).await;
    editor.prompt(&fork, "Two").await;
    editor.prompt(&session, "Three").await;
    editor.close().await;

    let editor = runtime.editor().await;
    let (source, forked) = (editor.load_session(&session).await, editor.load_session(&fork).await);
    assert_eq!(source.said("user_message_chunk"), "OneThree");
    assert_eq!(forked.said("user_message_chunk"), "OneTwo");
    assert_eq!(ids(&source), ids(&forked), "the same ids, before the fork and after it");
    assert_eq!(forked.calls().len(), 2);
    let list = editor.call("session/list", json!({ "cwd": runtime.project() })).await;
    let titles: Vec<&Value> = list["sessions"].as_array().unwrap().iter().map(|session| &session["title"]).collect();
    assert_eq!(titles, ["One", "One"]);
    editor.close().await;
}

#[tokio::test]
async fn what_is_chosen_in_a_session_comes_along() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "One").await;
    let choose = |id: &str, option: &str, value: &str| json!({ "sessionId": id, "configId": option, "value": value });
    let fork = async |from: &str, aar: Value| {
        let params = json!({ "sessionId": from, "cwd": runtime.project(), "_meta": { "aar": aar } });
        editor.call("session/fork", params).await
    };
    let chosen = |answer: &Value| -> Vec<String> {
        let options = answer["configOptions"].as_array().unwrap().iter();
        let of = |id: &'static str| options.clone().find(|option| option["id"] == id).unwrap()["currentValue"].clone();
        [of("mode"), of("reasoning_effort"), of("plugin:aar:tasks")]
            .map(|value| value.as_str().unwrap().to_owned())
            .to_vec()
    };
    for (option, value) in [("mode", "plan"), ("reasoning_effort", "low"), ("plugin:aar:tasks", "false")] {
        editor.call("session/set_config_option", choose(&session, option, value)).await;
    }
    // Also where the fork begins before anything was chosen.
    for at in [Value::Null, json!({ "messageId": "msg-1", "position": "before" })] {
        let answer = fork(&session, at.clone()).await;
        assert_eq!(chosen(&answer), ["plan", "low", "false"], "{at}");
        // And it is the fork's own from then on; what is stricter holds in the next process, too.
        let id = answer["sessionId"].as_str().unwrap();
        editor.prompt(id, "/help").await;
        let other = runtime.editor().await;
        editor.call("session/close", json!({ "sessionId": id })).await;
        let params = json!({ "sessionId": id, "cwd": runtime.project(), "mcpServers": [] });
        assert_eq!(other.call("session/load", params).await["modes"]["currentModeId"], "plan", "{at}");
        other.close().await;
    }
    editor.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(
        chosen(&fork(&session, Value::Null).await),
        ["plan", "default", "false"],
        "of a closed one, what is kept"
    );
    editor.close().await;
}

#[tokio::test]
async fn a_fork_at_a_message_ends_there() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let first = editor.prompt(&session, "One").await;
    let second = editor.prompt(&session, "Two").await;
    let (reads, tells) = (&ids(&first)[0], &ids(&first)[2]);
    assert_eq!(&ids(&second)[0..1], ["msg-5"]);

    for (at, said, calls) in [
        (json!({ "messageId": reads }), "Looking. ", 1),
        (json!({ "messageId": tells }), "Looking. It says hi.", 1),
        (json!({ "messageId": "msg-4", "position": "before" }), "Looking. It says hi.", 1),
        (json!({ "messageId": "msg-4", "position": "after" }), "Looking. It says hi.", 1),
        (json!({ "messageId": "msg-1", "position": "before" }), "", 0),
    ] {
        let fork = editor.fork_session(&session, at.clone()).await;
        // The conversation goes on: no call is left without an outcome.
        assert_eq!(editor.prompt(&fork, "Go on").await.stop, "end_turn", "{at}");
        let told = editor.load_session(&fork).await;
        assert_eq!(told.text(), format!("{said}Looking. It says hi."), "{at}");
        assert_eq!(told.calls().len(), calls + 1, "{at}");
        assert!(told.calls().iter().all(|call| call.status() == "completed"), "{at}");
    }
    assert_eq!(editor.load_session(&session).await.said("user_message_chunk"), "OneTwo", "the source is as it was");
    editor.close().await;
}

#[tokio::test]
async fn forks_that_make_no_sense_are_refused() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "One").await;
    for (fields, code, named) in [
        (json!({ "sessionId": "nope" }), -32002, "nope"),
        (json!({ "cursorId": "c" }), -32602, "messageId"),
        (json!({ "_meta": { "aar": { "messageId": "msg-9" } } }), -32602, "msg-9"),
        (json!({ "_meta": { "aar": { "messageId": 9 } } }), -32602, "string"),
        (json!({ "_meta": { "aar": { "messageId": "msg-1", "position": "x" } } }), -32602, "before"),
        (json!({ "cwd": "relative" }), -32602, "relative"),
        (json!({ "cwd": "/no/such/folder" }), -32602, "/no/such/folder"),
        (json!({ "cwd": null }), -32602, "string"),
    ] {
        let mut params = json!({ "sessionId": session, "cwd": runtime.project() });
        params.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let error = editor.request("session/fork", params).await.unwrap_err();
        assert_eq!(error.code, code, "{fields}");
        assert!(error.data.to_string().contains(named), "{fields}: {:?}", error.data);
    }
    let list = editor.call("session/list", json!({})).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "a refused fork leaves no session");
    editor.close().await;
}

#[tokio::test]
async fn a_fork_needs_no_open_source_and_no_source_at_all_later() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "One").await;
    editor.close().await;
    let editor = runtime.editor().await;
    let fork = editor.fork_session(&session, Value::Null).await;
    editor.call("session/delete", json!({ "sessionId": session })).await;
    assert_eq!(editor.load_session(&fork).await.said("user_message_chunk"), "One");
    editor.close().await;
}

/// The id that `/fork` names.
fn forked(said: &str) -> String {
    let id = said.split('`').nth(1).unwrap_or_default();
    assert!(said.starts_with("Session `") && id.len() == 32, "{said}");
    id.to_owned()
}

#[tokio::test]
async fn a_person_forks_a_session_and_goes_on_in_both() {
    let runtime = work();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let nothing = editor.prompt(&session, "/fork").await.text();
    assert!(nothing.starts_with("error: ") && nothing.contains("nothing was said"), "{nothing}");
    editor.prompt(&session, "One").await;
    editor.prompt(&session, "Two").await;
    editor.set_mode(&session, "plan").await;
    editor.prompt(&session, "/plugins off aar:tasks").await;
    let said = editor.prompt(&session, "/fork").await.text();
    let fork = forked(&said);
    assert!(said.contains(&format!("`acp-runtime session show {fork}`")), "{said}");
    editor.prompt(&session, "Three").await;

    // It is in the list, is nobody's yet, and is held to what the session is held to.
    let other = runtime.editor().await;
    let list = other.call("session/list", json!({ "cwd": runtime.project() })).await;
    assert!(list["sessions"].as_array().unwrap().iter().any(|listed| listed["sessionId"] == fork.as_str()), "{list}");
    let params = json!({ "sessionId": fork, "cwd": runtime.project(), "mcpServers": [] });
    let answer = other.call("session/load", params).await;
    assert_eq!(answer["modes"]["currentModeId"], "plan");
    let status = other.prompt(&fork, "/status").await.text();
    let plugins = format!("- plugins: {} of {} on", bundled_plugins() - 1, bundled_plugins());
    assert!(status.contains(&plugins), "{status}");
    other.prompt(&fork, "Four").await;
    other.close().await;
    let shown = runtime.run(&["session", "show", &fork]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let said = |turn: &Turn| turn.said("user_message_chunk");
    assert_eq!(said(&editor.load_session(&fork).await), "/forkOneTwo/plugins off aar:tasks/statusFour");
    assert_eq!(said(&editor.load_session(&session).await), "/forkOneTwo/plugins off aar:tasks/forkThree");
    editor.close().await;
}

#[tokio::test]
async fn a_person_forks_at_a_message() {
    let editor = work().editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "One\nand more").await;
    editor.prompt(&session, "Two").await;
    for (typed, said, answered) in [
        ("/fork msg-1", "One\nand more", ""),
        ("/fork msg-2", "One\nand more", "Looking. "),
        ("/fork before msg-4", "One\nand more", "Looking. It says hi."),
        ("/fork msg-4", "One\nand moreTwo", "Looking. It says hi."),
    ] {
        let fork = forked(&editor.prompt(&session, typed).await.text());
        let replay = editor.load_session(&fork).await;
        assert_eq!((replay.said("user_message_chunk").as_str(), replay.text().as_str()), (said, answered), "{typed}");
        assert_eq!(editor.prompt(&fork, "Go on").await.stop, "end_turn", "{typed}");
    }
    let list = "- `msg-1` – One\n- `msg-4` – Two\n";
    assert!(editor.prompt(&session, "/fork list").await.text().ends_with(list));
    let unknown = editor.prompt(&session, "/fork msg-99").await.text();
    assert_eq!(unknown, "error: there is no message `msg-99`\nhint: type `/fork list` for those that there are");
    for typed in ["/fork before", "/fork msg-1 msg-2", "/fork before msg-1"] {
        assert!(editor.prompt(&session, typed).await.text().starts_with("error: "), "{typed}");
    }
    editor.close().await;
}
