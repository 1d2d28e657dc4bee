//! One client, one session: hello, prompts, streams, tools of plugins, modes, cancellation, failures.

use std::time::{Duration, Instant};

use acp_runtime_tests::{Answer, EditorOptions, Runtime, Turn};
use serde_json::{Value, json};

/// Says `Hello, you.` in two chunks, after a thought.
const HELLO: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ thought = "A greeting." }, { text = "Hello, " }, { text = "you." }]
"#;

/// Speaks, then waits far longer than any test.
const ENDLESS: &str = r#"
quiet = true
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }, { text = "never" }]
[[reply]]
steps = [{ text = "Again." }]
"#;

#[tokio::test]
async fn hello_says_what_the_agent_can_do() {
    let editor = Runtime::new().editor().await;
    let again = editor.request("initialize", json!({ "protocolVersion": 1 })).await;
    assert_eq!(again.unwrap_err().code, -32600);
    editor.close().await;

    for (asked, label) in [(json!(1), "one"), (json!(65535), "newer"), (json!("1"), "text")] {
        let editor = Runtime::new().spawn(EditorOptions::default());
        let hello = editor.call("initialize", json!({ "protocolVersion": asked })).await;
        assert_eq!(hello["protocolVersion"], 1, "{label}");
        assert_eq!(hello["agentInfo"]["name"], "acp-runtime");
        let can = &hello["agentCapabilities"];
        assert_eq!(can["loadSession"], true);
        for capability in ["list", "resume", "close", "delete", "fork", "additionalDirectories", "systemPrompt"] {
            assert!(can["sessionCapabilities"][capability].is_object(), "{capability}");
        }
        assert_eq!(can["_meta"]["aar"]["panels"], 1);
        assert_ne!(hello["authMethods"], json!([]), "a client wants a method that it can call");
        let method = json!({ "methodId": hello["authMethods"][0]["id"] });
        editor.call("authenticate", method).await;
        editor.close().await;
    }
}

#[tokio::test]
async fn a_session_has_modes_and_then_tells_its_commands() {
    let runtime = Runtime::scripted(HELLO);
    let editor = runtime.editor().await;
    let session = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await;
    assert_eq!(session["modes"]["currentModeId"], "review");
    let modes = session["modes"]["availableModes"].as_array().unwrap();
    let ids: Vec<&str> = modes.iter().filter_map(|mode| mode["id"].as_str()).collect();
    assert_eq!(ids, ["review", "auto-edit", "auto", "read-only", "plan"]);

    let id = session["sessionId"].as_str().unwrap();
    let commands = editor.until_update(id, "the commands", |update| update["availableCommands"].is_array()).await;
    let names: Vec<&str> = commands["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|command| command["name"].as_str())
        .collect();
    for name in ["help", "tools", "call", "panel"] {
        assert!(names.contains(&name), "`{name}` is not among {names:?}");
    }
    editor.close().await;
}

#[tokio::test]
async fn a_turn_streams_thoughts_and_text() {
    let editor = Runtime::scripted(HELLO).editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Hi").await;
    assert_eq!(turn.stop, "end_turn");
    assert_eq!(turn.text(), "Hello, you.");
    assert_eq!(turn.said("agent_thought_chunk"), "A greeting.");
    let messages: Vec<&Value> = turn.of("agent_message_chunk").map(|chunk| &chunk["messageId"]).collect();
    assert!(messages.windows(2).all(|pair| pair[0] == pair[1]), "one message has one id: {messages:?}");
    editor.close().await;
}

#[tokio::test]
async fn a_scripted_model_says_that_it_is_one() {
    let editor = Runtime::scripted("[[reply]]\nsteps = [{ text = \"Hello.\" }]\n").editor().await;
    let session = editor.new_session().await;
    let text = editor.prompt(&session, "Hi").await.text();
    assert!(text.contains("script") && text.ends_with("Hello."), "{text}");
    editor.close().await;
}

#[tokio::test]
async fn a_plugin_does_the_work() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [{ text = "Counting. " }, { call = { tool = "code-stats", arguments = {} } }]
        [[reply]]
        when = "tool-succeeded"
        steps = [{ text = "Done." }]
    "#;
    let runtime = Runtime::scripted(scenario)
        .file("src/main.rs", "fn main() {\n    println!(\"hi\");\n}\n")
        .file(".gitignore", "generated.py\n")
        .file("generated.py", "x = 1\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "What is in here?").await;
    assert_eq!(turn.text(), "Counting. Done.");
    let call = turn.call();
    assert_eq!(call.statuses, ["pending", "in_progress", "completed"]);
    assert_eq!(call.fields["kind"], "read");
    assert_eq!(call.fields["rawInput"], json!({}));
    assert!(call.text().contains("Rust"), "{}", call.text());
    assert!(!call.text().contains("Python"), "an ignored file was counted: {}", call.text());
    assert_eq!(editor.permissions(), Vec::new(), "a bundled plugin may read the workspace");
    editor.close().await;
}

#[tokio::test]
async fn commands_work_without_a_model() {
    let runtime = Runtime::new().file("src/lib.rs", "pub fn f() {}\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(editor.prompt(&session, "/tools").await.text().contains("`code-stats`"));
    assert!(editor.prompt(&session, "/call code-stats {}").await.text().contains("Rust"));
    assert!(editor.prompt(&session, "/pannel").await.text().contains("`/panel`"), "a near name is offered");
    assert!(editor.prompt(&session, "/call code-stat {}").await.text().contains("`code-stats`"));
    let hello = editor.prompt(&session, "Hi").await.text();
    assert!(hello.contains("config"), "how to configure a model: {hello}");
    editor.close().await;
}

#[tokio::test]
async fn calls_that_cannot_run_are_told_to_the_model() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [
          { call = { tool = "read_fil", arguments = { path = "a" } } },
          { call = { tool = "read_file", arguments = { path = 5 } } },
          { call = { tool = "read_file", arguments = "README" } },
          { call = { tool = "read_file", arguments = { path = "../secret" } } },
          { call = { tool = "read_file", arguments = { path = "/etc/passwd" } } },
          { call = { tool = "read_file", arguments = { path = "not-there.txt" } } },
        ]
        [[reply]]
        when = "tool-failed"
        steps = [{ text = "I see." }]
    "#;
    let editor = Runtime::scripted(scenario).editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Go").await;
    let calls = turn.calls();
    let told: Vec<String> =
        calls.iter().map(|call| call.text().lines().next().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        told,
        [
            "there is no tool `read_fil`",
            "/path: 5 is not of type \"string\"",
            "the arguments are no JSON: expected value at line 1 column 1; write one JSON object",
            "`../secret` leaves the workspace",
            "`/etc/passwd` is not under any of the session's folders",
            "`not-there.txt` does not exist",
        ]
    );
    assert!(calls.iter().all(|call| call.status() == "failed"));
    assert_eq!(turn.text(), "I see.");
    assert!(editor.permissions().is_empty());
    editor.close().await;
}

#[tokio::test]
async fn what_the_model_cannot_do_is_an_error_with_its_reason() {
    for (kind, code) in [("auth", -32000), ("overloaded", -32603), ("request", -32603)] {
        let scenario = format!(
            r#"
            quiet = true
            [[reply]]
            steps = [{{ text = "Half a " }}, {{ error = {{ kind = "{kind}", message = "the provider said no" }} }}]
            [[reply]]
            steps = [{{ text = "Better." }}]
            "#
        );
        let editor = Runtime::scripted(&scenario).editor().await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, "Hi");
        let error = editor.turn(prompt).await.unwrap_err();
        assert_eq!(error.code, code, "{error:?}");
        assert_eq!(error.data["reason"], kind);
        assert!(error.message.contains("the provider said no"), "{error:?}");
        let said = Turn { stop: String::new(), updates: editor.updates(&session) };
        assert_eq!(said.text(), "Half a ", "what was said stays");
        assert_eq!(editor.prompt(&session, "Again").await.text(), "Better.");
        editor.close().await;
    }
}

#[tokio::test]
async fn cancel_ends_a_stream_and_the_next_prompt_works() {
    let editor = Runtime::scripted(ENDLESS).editor().await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Hi");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    let begin = Instant::now();
    editor.cancel(&session);
    assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled");
    assert!(begin.elapsed() < Duration::from_secs(2), "cancelled after {:?}", begin.elapsed());
    editor.cancel(&session);
    assert_eq!(editor.prompt(&session, "Again").await.text(), "Again.");
    editor.close().await;
}

#[tokio::test]
async fn cancel_withdraws_an_open_question() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [{ call = { tool = "write_file", arguments = { path = "a.txt", content = "x" } } }]
        [[reply]]
        steps = [{ text = "Again." }]
    "#;
    let runtime = Runtime::scripted(scenario);
    let editor = runtime.editor_with(EditorOptions::default().answering(|_| Answer::Hold)).await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Write");
    editor.until_asked(1).await;
    editor.cancel(&session);
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!(turn.stop, "cancelled");
    assert_eq!(turn.call().status(), "failed");
    assert!(!runtime.project().join("a.txt").exists());
    assert_eq!(editor.prompt(&session, "Again").await.text(), "Again.");
    editor.close().await;
}

#[tokio::test]
async fn prompts_wait_for_each_other_and_sessions_do_not() {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [{ text = "a" }, { delay_ms = 300 }, { text = "b" }]
        [[reply]]
        steps = [{ text = "c" }]
    "#;
    let editor = Runtime::scripted(scenario).editor().await;
    let (one, two) = (editor.new_session().await, editor.new_session().await);
    let begin = Instant::now();
    let prompts = [
        editor.begin_prompt(&one, "1"),
        editor.begin_prompt(&one, "2"),
        editor.begin_prompt(&two, "1"),
        editor.begin_prompt(&two, "2"),
    ];
    for prompt in prompts {
        assert_eq!(editor.turn(prompt).await.unwrap().stop, "end_turn");
    }
    for session in [&one, &two] {
        let all = Turn { stop: String::new(), updates: editor.updates(session) };
        assert_eq!(all.text(), "abc");
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    editor.close().await;
}

#[tokio::test]
async fn modes_hold_from_the_next_decision_on() {
    let scenario = r#"
        quiet = true
        repeat = true
        [[reply]]
        steps = [{ call = { tool = "write_file", arguments = { path = "a.txt", content = "x" } } }]
        [[reply]]
        steps = [{ text = "." }]
    "#;
    let editor = Runtime::scripted(scenario).editor().await;
    let session = editor.new_session().await;
    for (mode, status, asked) in [
        ("read-only", "failed", 0),
        ("plan", "failed", 0),
        ("auto-edit", "completed", 0),
        ("auto", "completed", 0),
        ("review", "completed", 1),
    ] {
        editor.set_mode(&session, mode).await;
        let call = editor.prompt(&session, "Write").await.call();
        assert_eq!((call.status(), editor.permissions().len()), (status, asked), "in mode `{mode}`");
    }
    let unknown = editor.request("session/set_mode", json!({ "sessionId": session, "modeId": "yolo" })).await;
    assert_eq!(unknown.unwrap_err().code, -32602);
    editor.close().await;
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let runtime = Runtime::scripted(ENDLESS);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let _running = editor.begin_prompt(&session, "Hi");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    editor.close().await;
    runtime.assert_no_process_left();
}
