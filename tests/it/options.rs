//! Modes and config options: what a client is offered, what each change does, and who is told.

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{EditorDouble, EditorOptions, Runtime, Turn};
use serde_json::{Value, json};

/// Writes `a.txt` in every turn.
const WRITES: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ call = { tool = "write_file", arguments = { path = "a.txt", content = "x" } } }]
[[reply]]
steps = [{ text = "." }]
"#;

fn takes_flags() -> EditorOptions {
    let capabilities = json!({ "session": { "configOptions": { "boolean": {} } } });
    EditorOptions { capabilities, ..EditorOptions::default() }
}

/// A session, its id, and the answer that opened it.
async fn opened(runtime: &Runtime, options: EditorOptions) -> (EditorDouble, String, Value) {
    let editor = runtime.editor_with(options).await;
    let answer = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await;
    let session = answer["sessionId"].as_str().unwrap().to_owned();
    (editor, session, answer)
}

async fn set(editor: &EditorDouble, session: &str, option: &str, value: impl Into<Value>) -> Value {
    let value = value.into();
    let mut params = json!({ "sessionId": session, "configId": option, "value": value });
    if value.is_boolean() {
        params["type"] = json!("boolean");
    }
    editor.call("session/set_config_option", params).await
}

/// Each option's value.
fn values(answer: &Value) -> Value {
    let options = answer["configOptions"].as_array().unwrap();
    options.iter().map(|option| (option["id"].as_str().unwrap().to_owned(), option["currentValue"].clone())).collect()
}

/// The values of the mode and its flags.
fn flags(answer: &Value) -> Value {
    let values = values(answer);
    json!([values["mode"], values["auto_approve_writes"], values["auto_approve_execute"], values["read_only"]])
}

fn option<'a>(answer: &'a Value, id: &str) -> &'a Value {
    answer["configOptions"].as_array().unwrap().iter().find(|option| option["id"] == id).unwrap()
}

/// The next update of that kind after `from` updates.
async fn told(editor: &EditorDouble, session: &str, from: usize, kind: &str) -> Value {
    editor.until_update_after(session, from, kind, |update| update["sessionUpdate"] == kind).await
}

#[tokio::test]
async fn a_session_says_what_can_be_set() {
    let runtime = Runtime::new();
    let (editor, session, answer) = opened(&runtime, takes_flags()).await;
    let shown: Vec<Value> = answer["configOptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| json!([option["id"], option["category"], option["type"], option["currentValue"]]))
        .collect();
    assert_eq!(
        shown,
        [
            json!(["mode", "mode", "select", "review"]),
            json!(["model", "model", "select", "none"]),
            json!(["reasoning_effort", "thought_level", "select", "default"]),
            json!(["auto_approve_writes", "_permissions", "boolean", false]),
            json!(["auto_approve_execute", "_permissions", "boolean", false]),
            json!(["read_only", "_permissions", "boolean", false]),
            json!(["plugin:aar:code-stats", "_plugins", "boolean", true]),
            json!(["plugin:aar:git-info", "_plugins", "boolean", true]),
            json!(["plugin:aar:http-fetch", "_plugins", "boolean", true]),
            json!(["plugin:aar:notes", "_plugins", "boolean", true]),
            json!(["plugin:aar:tasks", "_plugins", "boolean", true]),
        ]
    );
    let modes: Vec<&Value> =
        answer["modes"]["availableModes"].as_array().unwrap().iter().map(|mode| &mode["id"]).collect();
    let values: Vec<&Value> =
        option(&answer, "mode")["options"].as_array().unwrap().iter().map(|choice| &choice["value"]).collect();
    assert_eq!(modes, values, "both surfaces offer the same modes");
    editor.prompt(&session, "/help").await;
    let again =
        editor.call("session/load", json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] }));
    assert_eq!(again.await["configOptions"], answer["configOptions"]);
    editor.close().await;
}

#[tokio::test]
async fn a_client_without_flags_gets_two_values() {
    let (editor, session, answer) = opened(&Runtime::new(), EditorOptions::default()).await;
    let read_only = option(&answer, "read_only");
    assert_eq!((&read_only["type"], &read_only["currentValue"]), (&json!("select"), &json!("false")));
    assert_eq!(read_only["options"], json!([{ "value": "true", "name": "On" }, { "value": "false", "name": "Off" }]));
    let answer = set(&editor, &session, "read_only", "true").await;
    assert_eq!(flags(&answer), json!(["read-only", "false", "false", "true"]));
    // A client that did not say that it takes flags may send one all the same.
    let answer = set(&editor, &session, "read_only", false).await;
    assert_eq!(flags(&answer), json!(["review", "false", "false", "false"]));
    editor.close().await;
}

#[tokio::test]
async fn a_mode_sets_every_flag_and_a_flag_sets_one() {
    let (editor, session, _) = opened(&Runtime::new(), takes_flags()).await;
    for (id, value, expected) in [
        ("mode", json!("auto"), json!(["auto", true, true, false])),
        ("read_only", json!(true), json!(["read-only", false, false, true])),
        ("read_only", json!(false), json!(["auto", true, true, false])),
        ("mode", json!("review"), json!(["review", false, false, false])),
        ("auto_approve_execute", json!(true), json!(["review", false, true, false])),
        ("auto_approve_writes", json!(true), json!(["auto", true, true, false])),
        ("auto_approve_execute", json!(false), json!(["auto-edit", true, false, false])),
        ("mode", json!("read-only"), json!(["read-only", false, false, true])),
    ] {
        let answer = set(&editor, &session, id, value.clone()).await;
        assert_eq!(flags(&answer), expected, "after {id} = {value}");
    }
    editor.close().await;
}

#[tokio::test]
async fn every_change_is_told_wherever_it_comes_from() {
    let (editor, session, _) = opened(&Runtime::new(), takes_flags()).await;
    editor.until_update(&session, "the commands", |update| update["availableCommands"].is_array()).await;

    let from = editor.updates(&session).len();
    editor.set_mode(&session, "plan").await;
    assert_eq!(told(&editor, &session, from, "current_mode_update").await["currentModeId"], "plan");
    assert_eq!(
        flags(&told(&editor, &session, from, "config_option_update").await),
        json!(["plan", false, false, true])
    );

    let from = editor.updates(&session).len();
    let answer = set(&editor, &session, "mode", "auto").await;
    assert_eq!(told(&editor, &session, from, "current_mode_update").await["currentModeId"], "auto");
    let update = told(&editor, &session, from, "config_option_update").await;
    assert_eq!(update["configOptions"], answer["configOptions"], "the update is the full list, too");

    let turn = editor.prompt(&session, "/mode review").await;
    assert_eq!(turn.of("current_mode_update").next().unwrap()["currentModeId"], "review");
    assert_eq!(flags(turn.of("config_option_update").next().unwrap()), json!(["review", false, false, false]));

    let turn = editor.prompt(&session, "/plugins off aar:notes").await;
    assert_eq!(values(turn.of("config_option_update").next().unwrap())["plugin:aar:notes"], false);

    // What stays as it is is not told.
    let from = editor.updates(&session).len();
    set(&editor, &session, "mode", "review").await;
    editor.set_mode(&session, "review").await;
    let turn = editor.prompt(&session, "/help").await;
    assert_eq!(turn.of("config_option_update").count() + turn.of("current_mode_update").count(), 0);
    assert!(editor.updates(&session)[from..].iter().all(|update| update["sessionUpdate"] != "config_option_update"));
    editor.close().await;
}

#[tokio::test]
async fn flags_decide_what_is_asked() {
    let (editor, session, _) = opened(&Runtime::scripted(WRITES), takes_flags()).await;
    for (id, value, status, asked) in [
        ("auto_approve_execute", true, "completed", 1),
        ("auto_approve_writes", true, "completed", 1),
        ("read_only", true, "failed", 1),
        ("read_only", false, "completed", 1),
        ("auto_approve_writes", false, "completed", 2),
    ] {
        set(&editor, &session, id, value).await;
        let call = editor.prompt(&session, "Write").await.call();
        assert_eq!((call.status(), editor.permissions().len()), (status, asked), "after {id} = {value}");
    }
    editor.close().await;
}

#[tokio::test]
async fn what_is_not_offered_is_refused_with_what_is() {
    let (editor, session, answer) = opened(&Runtime::new(), takes_flags()).await;
    let refused = async |params: Value| {
        let error = editor.request("session/set_config_option", params).await.unwrap_err();
        assert_eq!(error.code, -32602);
        error.data
    };
    let params = json!({ "sessionId": session, "configId": "mode", "value": "yolo" });
    let error = editor.request("session/set_config_option", params).await.unwrap_err();
    let there_are =
        "`yolo` is not a value of the option `mode`; there are `review`, `auto-edit`, `auto`, `read-only`, `plan`";
    assert!(error.message.ends_with(there_are), "who shows the message alone shows them, too: {error:?}");
    let modes = json!(["review", "auto-edit", "auto", "read-only", "plan"]);
    let data = refused(json!({ "sessionId": session, "configId": "mode", "value": "yolo" })).await;
    assert_eq!(data, json!({ "value": "`yolo` is not a value of the option `mode`", "available": modes }));
    let data = refused(json!({ "sessionId": session, "configId": "modus", "value": "auto" })).await;
    assert_eq!((&data["configId"], &data["available"][0]), (&json!("there is no option `modus`"), &json!("mode")));
    for params in [
        json!({ "sessionId": session, "configId": "mode", "value": true, "type": "boolean" }),
        json!({ "sessionId": session, "configId": "read_only", "value": "yes" }),
        json!({ "sessionId": session, "configId": "read_only", "value": 1 }),
        json!({ "sessionId": session, "configId": "read_only" }),
        json!({ "sessionId": session, "configId": "plugin:aar:absent", "value": false }),
        json!({ "sessionId": session, "configId": "model", "value": "gpt-5.2" }),
    ] {
        refused(params).await;
    }
    let unknown = json!({ "sessionId": "no-such", "configId": "mode", "value": "auto" });
    assert_eq!(editor.request("session/set_config_option", unknown).await.unwrap_err().code, -32002);
    let now = set(&editor, &session, "mode", "review").await;
    assert_eq!(now["configOptions"], answer["configOptions"], "nothing was changed");
    editor.close().await;
}

#[tokio::test]
async fn the_model_and_its_effort_hold_from_the_next_prompt_on() {
    let double = ModelDouble::start((0..4).map(|_| Reply::text("ok"))).await;
    let url = double.base_url();
    let runtime = Runtime::new().config(&format!(
        "[providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\nmodels = ['large']\n\
         [providers.zoo]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'owl'\n"
    ));
    let (editor, session, answer) = opened(&runtime, takes_flags()).await;
    let groups = option(&answer, "model")["options"].as_array().unwrap();
    let shown: Vec<Value> = groups
        .iter()
        .map(|group| {
            let values = group["options"].as_array().unwrap().iter().map(|choice| choice["value"].clone());
            json!([group["name"], values.collect::<Vec<_>>()])
        })
        .collect();
    assert_eq!(shown, [json!(["lab", ["lab/small", "lab/large"]]), json!(["zoo", ["zoo/owl"]])]);

    editor.prompt(&session, "Hi").await;
    let answer = set(&editor, &session, "model", "lab/large").await;
    assert_eq!(values(&answer)["model"], "lab/large");
    set(&editor, &session, "reasoning_effort", "high").await;
    editor.prompt(&session, "Hi").await;
    let set_model = json!({ "sessionId": session, "modelId": "zoo/owl" });
    assert_eq!(editor.call("session/set_model", set_model).await, json!({}));
    set(&editor, &session, "reasoning_effort", "default").await;
    editor.prompt(&session, "Hi").await;
    assert!(editor.prompt(&session, "/model lab/unlisted").await.text().contains("**now** `lab/unlisted`"));
    editor.prompt(&session, "Hi").await;
    let asked: Vec<Value> =
        double.asked().iter().map(|asked| json!([asked.body["model"], asked.body["reasoning_effort"]])).collect();
    assert_eq!(
        asked,
        [json!(["small", null]), json!(["large", "high"]), json!(["owl", null]), json!(["unlisted", null])]
    );

    let unknown = json!({ "sessionId": session, "modelId": "sky/moon" });
    let error = editor.request("session/set_model", unknown).await.unwrap_err();
    assert_eq!(error.code, -32602);
    assert!(error.data["modelId"].as_str().unwrap().contains("configured are `lab`, `zoo`"), "{error:?}");
    let typed = editor.prompt(&session, "/model sky/moon").await.text();
    assert!(typed.starts_with("error: ") && typed.contains("configured are `lab`, `zoo`"), "{typed}");
    editor.close().await;
}

#[tokio::test]
async fn a_plugin_that_is_switched_off_leaves_at_once() {
    let double = ModelDouble::start((0..3).map(|_| Reply::text("ok"))).await;
    let url = double.base_url();
    let lab = format!("[providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\n");
    let (editor, session, _) = opened(&Runtime::new().config(&lab), takes_flags()).await;
    let panels = async || {
        let list = editor.call("_aar/panel_list", json!({ "sessionId": session })).await;
        list["panels"].as_array().unwrap().iter().any(|panel| panel["name"] == "tasks")
    };
    let tools = async || {
        editor.prompt(&session, "Hi").await;
        let asked = double.asked().pop().unwrap();
        let tools = asked.body["tools"].as_array().unwrap();
        tools.iter().any(|tool| tool["function"]["name"].as_str().unwrap().starts_with("tasks__"))
    };
    let note = |update: &Value| {
        let commands = update["availableCommands"].as_array();
        commands.is_some_and(|commands| commands.iter().any(|command| command["name"] == "note"))
    };
    editor.until_update(&session, "the commands", note).await;
    assert!(panels().await && tools().await);

    set(&editor, &session, "plugin:aar:tasks", false).await;
    assert!(!panels().await && !tools().await);
    assert_eq!(editor.until_notified("_aar/panel_changed").await["panel"], "tasks");
    let call = editor.prompt(&session, r#"/call tasks__add {"text": "x"}"#).await.text();
    assert!(call.starts_with("error: ") && call.contains("there is no tool `tasks__add`"), "{call}");
    let shown = editor.prompt(&session, "/panel tasks").await.text();
    assert!(shown.contains("unknown panel `tasks`"), "{shown}");

    let from = editor.updates(&session).len();
    set(&editor, &session, "plugin:aar:notes", false).await;
    let without = told(&editor, &session, from, "available_commands_update").await;
    assert!(!note(&without), "{without}");
    assert!(editor.prompt(&session, "/note x").await.text().starts_with("error: there is no command `/note`"));
    assert!(!editor.prompt(&session, "/help").await.text().contains("`/note"));

    set(&editor, &session, "plugin:aar:tasks", true).await;
    assert!(panels().await && tools().await, "it comes back as it was");
    editor.close().await;
}

#[tokio::test]
async fn choices_are_the_sessions_own() {
    let runtime = Runtime::new();
    let (editor, one, _) = opened(&runtime, takes_flags()).await;
    set(&editor, &one, "mode", "auto").await;
    set(&editor, &one, "plugin:aar:tasks", false).await;
    let other = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await;
    assert_eq!(flags(&other), json!(["review", false, false, false]));
    assert_eq!(values(&other)["plugin:aar:tasks"], true);
    editor.close().await;
}

/// What was chosen in it, as `session/load` answers in another process.
async fn loaded(runtime: &Runtime, session: &str) -> Value {
    let editor = runtime.editor_with(takes_flags()).await;
    let params = json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });
    let answer = editor.call("session/load", params).await;
    editor.close().await;
    answer
}

#[tokio::test]
async fn a_plugin_that_is_off_is_off_in_a_loaded_session() {
    let runtime = Runtime::new();
    let (editor, session, _) = opened(&runtime, takes_flags()).await;
    set(&editor, &session, "plugin:aar:tasks", false).await;
    set(&editor, &session, "plugin:aar:notes", false).await;
    editor.prompt(&session, "/plugins on aar:notes").await;
    editor.close().await;
    let plugins = |answer: &Value| {
        let values = values(answer);
        json!([values["plugin:aar:code-stats"], values["plugin:aar:notes"], values["plugin:aar:tasks"]])
    };
    assert_eq!(plugins(&loaded(&runtime, &session).await), json!([true, true, false]));

    // Also after the plugin was away, and in a fork that begins before the choice.
    let runtime = runtime.file("away.toml", "plugins.disabled = ['aar:tasks']\n");
    let away = runtime.project().join("away.toml").display().to_string();
    let runtime = runtime.env("ACP_RUNTIME_CONFIG", &away);
    assert_eq!(plugins(&loaded(&runtime, &session).await), json!([true, true, null]));
    let runtime = runtime.env("ACP_RUNTIME_CONFIG", "");
    assert_eq!(plugins(&loaded(&runtime, &session).await), json!([true, true, false]));
    let editor = runtime.editor_with(takes_flags()).await;
    editor.load_session(&session).await;
    let fork = editor.fork_session(&session, json!({ "messageId": "msg-1", "position": "before" })).await;
    editor.prompt(&fork, "/help").await;
    editor.close().await;
    assert_eq!(plugins(&loaded(&runtime, &fork).await), json!([true, true, false]));
}

#[tokio::test]
async fn single_flags_stay_as_narrow_as_they_were_left() {
    for (configured, chosen, kept) in [
        // A flag that is off stays off, and the other one as it is configured.
        ("auto", ("auto_approve_writes", false), json!(["review", false, true, false])),
        ("auto", ("auto_approve_execute", false), json!(["auto-edit", true, false, false])),
        ("auto", ("read_only", true), json!(["read-only", false, false, true])),
        // One that is on was a right, which ends with its process.
        ("review", ("auto_approve_execute", true), json!(["review", false, false, false])),
        ("plan", ("read_only", false), json!(["plan", false, false, true])),
    ] {
        let runtime = Runtime::new().config(&format!("mode = '{configured}'\n"));
        let (editor, session, _) = opened(&runtime, takes_flags()).await;
        set(&editor, &session, chosen.0, chosen.1).await;
        editor.prompt(&session, "/help").await;
        editor.close().await;
        let answer = loaded(&runtime, &session).await;
        assert_eq!(flags(&answer), kept, "{configured} {chosen:?}");
        assert_eq!(loaded(&runtime, &session).await["configOptions"], answer["configOptions"], "and so from then on");
        if chosen == ("read_only", true) {
            let editor = runtime.editor_with(takes_flags()).await;
            editor.load_session(&session).await;
            let answer = set(&editor, &session, "read_only", false).await;
            assert_eq!(flags(&answer), json!(["auto", true, true, false]), "the other flags were kept as they were");
            editor.close().await;
        }
    }
}

#[tokio::test]
async fn a_loaded_session_begins_as_configured_and_stays_as_narrow_as_it_was() {
    for (configured, chosen, loaded) in [
        ("review", "auto", "review"),
        ("auto-edit", "auto", "auto-edit"),
        ("review", "plan", "plan"),
        ("auto", "read-only", "read-only"),
        ("auto", "review", "review"),
    ] {
        let runtime = Runtime::new().config(&format!("mode = '{configured}'\n"));
        let (editor, session, answer) = opened(&runtime, takes_flags()).await;
        assert_eq!(answer["modes"]["currentModeId"], configured, "seeded from the configuration");
        set(&editor, &session, "mode", chosen).await;
        editor.prompt(&session, "/help").await;
        editor.close().await;

        let editor = runtime.editor_with(takes_flags()).await;
        let params = json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });
        let answer = editor.call("session/load", params).await;
        assert_eq!((&answer["modes"]["currentModeId"], &values(&answer)["mode"]), (&json!(loaded), &json!(loaded)));
        editor.prompt(&session, "/help").await;
        let told = Turn { stop: String::new(), updates: editor.updates(&session) };
        let last = told.of("current_mode_update").last().unwrap();
        assert_eq!(last["currentModeId"], loaded, "{configured} {chosen}: the replay does not have the last word");
        editor.close().await;
    }
}

/// Who asks for it learns where it was disabled, whatever disables it.
#[tokio::test]
async fn a_plugin_that_the_configuration_disables_says_where() {
    let runtime = Runtime::new()
        .config("plugins.disabled = ['aar:tasks']\n")
        .file(".acp-runtime/config.toml", "plugins.disabled = ['aar:notes']\n");
    let (editor, session, _) = opened(&runtime, takes_flags()).await;
    let say = async |text: &str| editor.prompt(&session, text).await.text();
    let files = [runtime.home().join("config.toml"), runtime.project().join(".acp-runtime/config.toml")];
    for (id, name, file) in [("aar:tasks", "tasks", &files[0]), ("aar:notes", "notes", &files[1])] {
        let by = format!("disabled by `plugins.disabled` in `{}`", file.display());
        for typed in [id, name] {
            let told = say(&format!("/plugins on {typed}")).await;
            assert!(told.contains(&format!("the plugin `{id}` is {by}: take it out there, and begin anew")), "{told}");
        }
        let listed = say("/plugins").await;
        assert!(listed.contains(&format!("- `{id}` ({by}) – ")), "{listed}");
        let params =
            json!({ "sessionId": session, "configId": format!("plugin:{id}"), "type": "boolean", "value": true });
        let error = editor.request("session/set_config_option", params).await.unwrap_err();
        assert!(error.code == -32602 && error.message.contains(&by), "{error:?}");
    }
    // A name is enough where only one plugin has it.
    assert!(say("/plugins off code-stats").await.contains("- `aar:code-stats` (off) – "));
    let unknown = say("/plugins on code-stat").await;
    assert!(unknown.contains("there is no plugin `code-stat`\nhint: did you mean `aar:code-stats`?"), "{unknown}");
    editor.close().await;
}
