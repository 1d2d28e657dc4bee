//! `_aar/panel_*` over the plugin `tasks`: the tree, the actions, every error in its order, and the way without a
//! client that draws panels.

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, RpcError, Runtime};
use serde_json::{Value, json};

const PANELS: [&str; 3] = ["_aar/panel_list", "_aar/panel_snapshot", "_aar/panel_action"];

/// Adds a task, then speaks; afterwards waits far longer than any test.
const SCENARIO: &str = r#"
quiet = true
[[reply]]
steps = [{ call = { tool = "tasks__add", arguments = { text = "from the model" } } }]
[[reply]]
steps = [{ text = "Added." }]
[[reply]]
steps = [{ text = "Nothing." }]
[[reply]]
steps = [{ text = "Nothing." }]
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }]
"#;

async fn opened(runtime: &Runtime) -> (EditorDouble, String) {
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    (editor, session)
}

fn action(session: &str, action: &str, node: &str, message: &str) -> Value {
    json!({ "sessionId": session, "panel": "tasks", "action": action, "nodeId": node, "args": { "message": message } })
}

/// The error's code and data, where a request was refused.
async fn refused(editor: &EditorDouble, method: &str, params: Value) -> (i64, Value) {
    let shown = format!("{method} {params}");
    match editor.request(method, params).await {
        Err(RpcError { code, data, .. }) => (code, data),
        Ok(answer) => panic!("{shown} was answered with {answer}"),
    }
}

#[tokio::test]
async fn panels_are_listed_with_their_actions() {
    let (editor, session) = opened(&Runtime::new()).await;
    let list = editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
    let panels = list["panels"].as_array().unwrap();
    let tasks = panels.iter().find(|panel| panel["name"] == "tasks").expect("the panel `tasks`");
    let ids: Vec<&Value> = tasks["actions"].as_array().unwrap().iter().map(|action| &action["id"]).collect();
    assert_eq!(ids, ["add", "start", "done", "delete", "clear", "refresh"]);
    let delete = &tasks["actions"][3];
    assert_eq!((&delete["destructive"], &delete["mutates"]), (&json!(true), &json!(true)));
    assert!(panels.iter().any(|panel| panel["name"] == "code-stats"), "{panels:?}");
    editor.close().await;
}

#[tokio::test]
async fn actions_change_what_is_shown_and_it_stays() {
    let runtime = Runtime::new();
    let (editor, session) = opened(&runtime).await;
    let empty = editor.call("_aar/panel_snapshot", json!({ "sessionId": session, "panel": "tasks" })).await;
    assert_eq!((&empty["status"], &empty["root"]["children"]), (&json!(""), &json!([])));
    let added = editor.call("_aar/panel_action", action(&session, "add", "tasks", "one\ntwo")).await;
    assert_eq!((&added["message"], &added["status"]), (&json!("✓ added 2 tasks"), &json!("0/2")));
    assert_eq!(added["root"]["children"][1]["id"], "task:2");
    let spelled =
        json!({ "session_id": session, "panel": "tasks", "action": "done", "node_id": "task:1", "sessionId": null });
    let done = editor.call("_aar/panel_action", spelled).await;
    assert_eq!((&done["status"], &done["root"]["children"][0]["kind"]), (&json!("1/2"), &json!("done")));
    let no_args =
        json!({ "sessionId": session, "panel": "tasks", "action": "refresh", "nodeId": "tasks", "args": [1] });
    assert_eq!(editor.call("_aar/panel_action", no_args).await["message"], Value::Null);
    editor.close().await;

    let (editor, session) = opened(&runtime).await;
    let kept = editor.call("_aar/panel_snapshot", json!({ "sessionId": session, "panel": "tasks" })).await;
    assert_eq!(kept["status"], "1/2", "the list outlives the process");
    editor.close().await;
}

#[tokio::test]
async fn a46_every_error_in_its_order() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Wait\" }, { delay_ms = 600000 }]\n");
    let (editor, session) = opened(&runtime).await;

    for params in [json!([]), json!({ "sessionId": 5 }), json!({ "sessionId": session })] {
        let unknown = refused(&editor, "_aar/panel_erase", params).await;
        assert_eq!(unknown, (-32601, json!({ "method": "_aar/panel_erase" })));
    }
    for method in PANELS {
        for params in [json!({}), json!({ "sessionId": "" }), json!({ "sessionId": 5 }), json!([1]), Value::Null] {
            assert_eq!(
                refused(&editor, method, params).await,
                (-32602, json!({ "sessionId": "required" })),
                "{method}"
            );
        }
        let elsewhere = refused(&editor, method, json!({ "sessionId": "no-such", "panel": "x" })).await;
        assert_eq!(elsewhere, (-32602, json!({ "sessionId": "unknown session 'no-such'" })), "{method}");
    }
    let panels = editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
    let mut names: Vec<&str> =
        panels["panels"].as_array().unwrap().iter().filter_map(|panel| panel["name"].as_str()).collect();
    names.sort_unstable();
    let no_panel = json!({ "panel": "unknown panel 'x'", "available": names });
    let params = json!({ "sessionId": session, "panel": "x", "action": "y", "nodeId": "z" });
    for method in ["_aar/panel_snapshot", "_aar/panel_action"] {
        assert_eq!(refused(&editor, method, params.clone()).await, (-32602, no_panel.clone()), "{method}");
    }

    for (params, problem) in [
        (json!({ "sessionId": session }), "unknown panel: `panel` is missing"),
        (json!({ "sessionId": session, "panel": null }), "unknown panel: `panel` is missing"),
        (json!({ "sessionId": session, "panel": 5 }), "unknown panel: `panel` must be a string"),
    ] {
        for method in ["_aar/panel_snapshot", "_aar/panel_action"] {
            let data = json!({ "panel": problem, "available": names });
            assert_eq!(refused(&editor, method, params.clone()).await, (-32602, data), "{method}");
        }
    }

    editor.call("_aar/panel_action", action(&session, "add", "tasks", "one")).await;
    let available = ["add", "start", "done", "delete", "clear", "refresh"];
    let busy = json!({ "action": "a prompt is in flight for this session — cancel it first" });
    // All of it once while nothing runs, then again while a prompt does: only the last check depends on that.
    for running in [false, true] {
        let prompt = running.then(|| editor.begin_prompt(&session, "Hi"));
        if running {
            editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
        }
        for (name, node, expected) in [
            ("y", "z", json!({ "action": "unknown action 'y'", "available": available })),
            ("delete", "z", json!({ "nodeId": "unknown node 'z'" })),
            ("delete", "tasks", json!({ "action": "'delete' does not apply to node kind 'root'" })),
        ] {
            let answer = refused(&editor, "_aar/panel_action", action(&session, name, node, "")).await;
            assert_eq!(answer, (-32602, expected));
        }
        let no_action = json!({ "sessionId": session, "panel": "tasks" });
        let data = json!({ "action": "unknown action: `action` is missing", "available": available });
        assert_eq!(refused(&editor, "_aar/panel_action", no_action).await, (-32602, data));
        let no_node = json!({ "sessionId": session, "panel": "tasks", "action": "done", "nodeId": null });
        let data = json!({ "nodeId": "unknown node: `nodeId` is missing" });
        assert_eq!(refused(&editor, "_aar/panel_action", no_node).await, (-32602, data));
        if let Some(prompt) = prompt {
            let answer = refused(&editor, "_aar/panel_action", action(&session, "done", "task:1", "")).await;
            assert_eq!(answer, (-32602, busy.clone()));
            editor.call("_aar/panel_action", action(&session, "refresh", "task:1", "")).await;
            editor.call("_aar/panel_snapshot", json!({ "sessionId": session, "panel": "tasks" })).await;
            editor.cancel(&session);
            assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
        }
    }
    let failed = editor.call("_aar/panel_action", action(&session, "add", "tasks", "  ")).await;
    let message = failed["message"].as_str().unwrap();
    assert!(message.starts_with("✗ add: "), "a handler's error is a message: {message}");
    assert_eq!(failed["status"], "0/1", "and the panel as it is comes with it");
    editor.close().await;
}

#[tokio::test]
async fn a_change_is_told_until_somebody_looks() {
    let (editor, session) = opened(&Runtime::scripted(SCENARIO)).await;
    editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
    let told = || editor.notifications().iter().filter(|(_, params)| params["panel"] == "tasks").count();
    let turn = editor.prompt(&session, "Add").await;
    assert_eq!(turn.text(), "Added.");
    assert_eq!(turn.of("plan").last().unwrap()["entries"][0]["content"], "from the model");
    let changed = editor.until_notified("_aar/panel_changed").await;
    assert_eq!(changed, json!({ "sessionId": session, "panel": "tasks" }));
    let before = told();
    editor.prompt(&session, "Again").await;
    editor.call("_aar/panel_snapshot", json!({ "sessionId": session, "panel": "tasks" })).await;
    assert_eq!(told(), before + 1, "it is told again after the next prompt");
    editor.prompt(&session, "Once more").await;
    editor.call("session/list", json!({})).await;
    assert_eq!(told(), before + 1, "and not any more once it was looked at");
    editor.close().await;
}

#[tokio::test]
async fn a_client_that_knows_no_panels_is_told_nothing() {
    let (editor, session) = opened(&Runtime::scripted(SCENARIO)).await;
    editor.prompt(&session, "Add").await;
    editor.call("session/list", json!({})).await;
    assert_eq!(editor.notifications(), Vec::new());
    editor.close().await;
}

#[tokio::test]
async fn panels_work_as_text() {
    let (editor, session) = opened(&Runtime::new()).await;
    assert!(editor.prompt(&session, "/panel").await.text().contains("`/panel tasks`"));
    let added = editor.prompt(&session, r#"/panel tasks add tasks {"message": "from the keyboard"}"#).await.text();
    assert!(added.contains("✓ added") && added.contains("from the keyboard") && added.contains("task:1"), "{added}");
    let done = editor.prompt(&session, "/panel tasks done task:1").await.text();
    assert!(done.contains("1/1"), "{done}");
    let unknown = editor.prompt(&session, "/panel task").await.text();
    assert!(unknown.contains("error") && unknown.contains("tasks"), "{unknown}");
    editor.close().await;
}

/// A click is no right: an action of a plugin that can change files is announced as one that does, whatever it says, is not
/// there during a prompt, and what it does is asked for.
#[tokio::test]
async fn a47_an_action_that_hides_what_it_does_is_shown_as_one_and_asked_for() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"Wait\" }, { delay_ms = 600000 }]\n");
    let guest = build_folder().join("guests/hostile.wasm").display().to_string();
    assert_eq!(runtime.run(&["plugin", "install", "--yes", &guest]).code, Some(0));
    let options = EditorOptions::default().answering(|_| Answer::Pick("reject_once"));
    let editor = runtime.editor_with(options).await;
    let session = editor.new_session().await;
    let list = editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
    let sly = list["panels"].as_array().unwrap().iter().find(|panel| panel["name"] == "sly").unwrap();
    let look = &sly["actions"][0];
    assert_eq!((&look["destructive"], &look["mutates"]), (&json!(true), &json!(true)));
    assert_eq!(look["confirm"], "Look: {label}? The plugin can change files or run programs.");

    let click = json!({ "sessionId": session, "panel": "sly", "action": "look", "nodeId": "root", "args": {} });
    let answer = editor.call("_aar/panel_action", click.clone()).await;
    assert!(answer["message"].as_str().unwrap().contains("the user refused"), "{answer}");
    let asked = editor.permissions();
    assert!(asked.iter().any(|asked| asked.title().contains("write `notes/sly.txt`")), "{:?}", asked[0].title());
    editor.set_mode(&session, "read-only").await;
    editor.call("_aar/panel_action", click.clone()).await;
    assert!(!runtime.project().join("notes/sly.txt").exists());

    let prompt = editor.begin_prompt(&session, "Wait");
    editor.until_updates(&session, 1).await;
    let (_, told) = refused(&editor, "_aar/panel_action", click).await;
    assert!(told.to_string().contains("prompt"), "{told}");
    editor.cancel(&session);
    editor.turn(prompt).await.unwrap();
    editor.close().await;
}
