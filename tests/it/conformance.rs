//! What the protocol's public test kit asks of an agent, by its areas: INIT, SESSION, PROMPT, MODES, AUTH, CLIENTCAP,
//! EXT, framing, shutdown. Where an id of the kit is known, a case has it in its name.
//!
//! Each case has an agent of its own, as in the kit, and needs no model: once the binary in a process of its own, and once
//! the library in this one, over pipes. The double validates every line by the schema.

use std::future::pending;
use std::path::Path;

use acp_runtime::compose::{self, Keys};
use acp_runtime::redaction::Redaction;
use acp_runtime::settings::{Overrides, Paths, Settings};
use acp_runtime::transport::stdio;
use acp_runtime_tests::runtime::binary;
use acp_runtime_tests::{EditorDouble, EditorOptions, Runtime, Served};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Each case, with each agent.
macro_rules! cases {
    ($($case:ident,)*) => {
        mod binary {
            $(#[tokio::test]
            async fn $case() {
                super::$case(super::Agent::Binary).await;
            })*
        }

        mod in_process {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Agent::Library).await;
            })*
        }
    };
}

cases! {
    init_comes_first_and_once,
    acp_init_003_an_unknown_version_is_not_echoed,
    session_life,
    session_new_checks_its_parameters,
    prompt_takes_what_was_announced_and_refuses_the_rest,
    prompt_can_be_cancelled,
    modes_and_options_are_kept_in_step,
    auth_has_a_method_that_works,
    acp_clientcap_001_to_003_nothing_is_called_that_was_not_offered,
    acp_ext_001_an_unknown_extension_request_is_answered,
    framing_is_a_message_a_line,
    shutdown_is_prompt_and_clean,
}

/// What is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Agent {
    Binary,
    Library,
}

impl Agent {
    /// An editor on a fresh agent, to which nothing has been said yet.
    fn spawn(self, runtime: &Runtime) -> EditorDouble {
        match self {
            Self::Binary => runtime.spawn(EditorOptions::default()),
            Self::Library => runtime.spawn_over(served(&runtime.home()), EditorOptions::default()),
        }
    }

    /// An editor on a fresh agent, initialized.
    async fn editor(self, runtime: &Runtime) -> EditorDouble {
        let editor = self.spawn(runtime);
        editor.initialize().await;
        editor
    }
}

/// The library with the files of that home, over pipes.
fn served(home: &Path) -> Served {
    let paths = Paths::under(home).expect("an absolute path").of_program(&binary());
    let settings = Settings::load(&paths, Overrides::default()).expect("a configuration");
    let keys = Keys::new(&settings, &paths, Redaction::default());
    let runtime = compose::Runtime::new(settings, &paths, &keys).expect("a runtime");
    let (theirs, input) = std::io::pipe().expect("a pipe");
    let (output, ours) = std::io::pipe().expect("a pipe");
    let transport = stdio::over(theirs, ours, runtime.wire_limits()).expect("threads");
    let ended = tokio::spawn(async move {
        let served = runtime.clone().serve(transport, pending()).await;
        runtime.leave().await;
        served.is_ok()
    });
    Served { input, output, ended }
}

const HELLO: &str = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"Hello.\" }]\n";

async fn code(editor: &EditorDouble, method: &str, params: Value) -> i64 {
    editor.request(method, params).await.expect_err(method).code
}

async fn init_comes_first_and_once(agent: Agent) {
    let runtime = Runtime::new();
    let editor = agent.spawn(&runtime);
    let early = json!({ "cwd": runtime.project(), "mcpServers": [] });
    editor.send_raw(
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": 77, "method": "session/new", "params": early })).as_bytes(),
    );
    assert_eq!(editor.answer_to(77).await.unwrap_err().code, -32600);
    let hello = editor.initialize().await;
    assert_eq!(hello["protocolVersion"], 1);
    assert!(hello["agentCapabilities"].is_object() && hello["agentInfo"]["version"].is_string());
    assert_eq!(code(&editor, "initialize", json!({ "protocolVersion": 1 })).await, -32600);
    editor.close().await;
}

async fn acp_init_003_an_unknown_version_is_not_echoed(agent: Agent) {
    let editor = agent.spawn(&Runtime::new());
    let hello = editor.call("initialize", json!({ "protocolVersion": 65535 })).await;
    assert_eq!(hello["protocolVersion"], 1);
    editor.close().await;
}

/// Whatever was announced works, and what was not is refused.
async fn session_life(agent: Agent) {
    let runtime = Runtime::scripted(HELLO);
    let editor = agent.spawn(&runtime);
    let can = editor.initialize().await["agentCapabilities"].clone();
    let session = editor.new_session().await;
    assert_ne!(session, editor.new_session().await, "ids are unique");
    editor.prompt(&session, "Hi").await;
    let of = |more: Value| {
        let mut params = json!({ "sessionId": session, "cwd": runtime.project(), "mcpServers": [] });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    assert_eq!(can["loadSession"], true);
    assert_eq!(editor.load_session(&session).await.text(), "Hello.");
    for capability in ["list", "delete", "close", "resume", "additionalDirectories"] {
        assert!(can["sessionCapabilities"][capability].is_object(), "`{capability}` is announced");
    }
    let listed = editor.call("session/list", json!({ "cwd": runtime.project() })).await;
    assert!(listed["sessions"].as_array().unwrap().iter().any(|listed| listed["sessionId"] == session));
    assert_eq!(code(&editor, "session/list", json!({ "cursor": "unknown" })).await, -32602);
    assert!(editor.call("session/resume", of(json!({ "additionalDirectories": [runtime.home()] }))).await.is_object());
    assert_eq!(editor.call("session/close", json!({ "sessionId": session })).await, json!({}));
    assert_eq!(code(&editor, "session/prompt", json!({ "sessionId": session, "prompt": [] })).await, -32002);
    assert_eq!(editor.call("session/delete", json!({ "sessionId": session })).await, json!({}));
    assert_eq!(editor.call("session/delete", json!({ "sessionId": session })).await, json!({}), "silently");
    assert_eq!(code(&editor, "session/load", of(json!({}))).await, -32002);
    editor.close().await;
}

async fn session_new_checks_its_parameters(agent: Agent) {
    let editor = agent.editor(&Runtime::new()).await;
    for params in [
        json!({ "mcpServers": [] }),
        json!({ "cwd": "relative", "mcpServers": [] }),
        json!({ "cwd": 5, "mcpServers": [] }),
        json!({ "cwd": "/no/such/folder", "mcpServers": [] }),
        json!({ "cwd": "/", "mcpServers": [], "additionalDirectories": ["relative"] }),
    ] {
        assert_eq!(code(&editor, "session/new", params.clone()).await, -32602, "{params}");
    }
    editor.close().await;
}

async fn prompt_takes_what_was_announced_and_refuses_the_rest(agent: Agent) {
    let runtime = Runtime::scripted(HELLO);
    let editor = agent.spawn(&runtime);
    let can = editor.initialize().await["agentCapabilities"]["promptCapabilities"].clone();
    let session = editor.new_session().await;
    for (block, announced) in [
        (json!({ "type": "text", "text": "Hi" }), true),
        (json!({ "type": "resource_link", "name": "a", "uri": "file:///a" }), true),
        (json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" }), can["image"] == true),
        (json!({ "type": "audio", "data": "aGk=", "mimeType": "audio/wav" }), can["audio"] == true),
        (
            json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "a" } }),
            can["embeddedContext"] == true,
        ),
        (json!({ "type": "hologram" }), false),
    ] {
        let params = json!({ "sessionId": session, "prompt": [block] });
        match editor.request("session/prompt", params).await {
            Ok(answer) => assert!(announced && answer["stopReason"] == "end_turn", "{block}: {answer}"),
            Err(error) => {
                assert!(!announced && error.code == -32602, "{block}: {error:?}");
                assert_eq!(error.data["block"], 0);
            }
        }
    }
    let unknown = json!({ "sessionId": "unknown", "prompt": [{ "type": "text", "text": "Hi" }] });
    let error = editor.request("session/prompt", unknown).await.unwrap_err();
    assert_eq!((error.code, &error.data["sessionId"]), (-32002, &json!("unknown")));
    editor.close().await;
}

async fn prompt_can_be_cancelled(agent: Agent) {
    let scenario = "quiet = true\n[[reply]]\nsteps = [{ text = \"Wait\" }, { delay_ms = 600000 }]\n";
    let editor = agent.editor(&Runtime::scripted(scenario)).await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Go");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    editor.cancel(&session);
    assert_eq!(editor.turn(prompt).await.expect("never an error").stop, "cancelled");
    editor.close().await;
}

async fn modes_and_options_are_kept_in_step(agent: Agent) {
    let runtime = Runtime::scripted(HELLO);
    let editor = agent.editor(&runtime).await;
    let answer = editor.call("session/new", json!({ "cwd": runtime.project(), "mcpServers": [] })).await;
    let session = answer["sessionId"].clone();
    for mode in answer["modes"]["availableModes"].as_array().unwrap() {
        editor.call("session/set_mode", json!({ "sessionId": session, "modeId": mode["id"] })).await;
    }
    assert_eq!(code(&editor, "session/set_mode", json!({ "sessionId": session, "modeId": "unknown" })).await, -32602);
    for option in answer["configOptions"].as_array().unwrap() {
        let params = json!({ "sessionId": session, "configId": option["id"], "value": option["currentValue"] });
        let all = editor.call("session/set_config_option", params).await;
        assert!(!all["configOptions"].as_array().unwrap().is_empty(), "the answer is the whole list");
        let unknown = json!({ "sessionId": session, "configId": option["id"], "value": "no such value" });
        assert_eq!(code(&editor, "session/set_config_option", unknown).await, -32602, "{}", option["id"]);
    }
    let unknown = json!({ "sessionId": session, "configId": "unknown", "value": "x" });
    assert_eq!(code(&editor, "session/set_config_option", unknown).await, -32602);
    editor.close().await;
}

async fn auth_has_a_method_that_works(agent: Agent) {
    let runtime = Runtime::new();
    let editor = agent.spawn(&runtime);
    let methods = editor.initialize().await["authMethods"].as_array().unwrap().clone();
    assert!(!methods.is_empty());
    assert!(methods.iter().all(|method| method["type"] != "terminal"), "a terminal was not offered");
    assert_eq!(editor.call("authenticate", json!({ "methodId": methods[0]["id"] })).await, json!({}));
    assert_eq!(code(&editor, "authenticate", json!({ "methodId": "unknown" })).await, -32602);
    editor.new_session().await;
    editor.close().await;
}

/// The ledger refuses a call that was not offered: here everything is used that could lead to one.
async fn acp_clientcap_001_to_003_nothing_is_called_that_was_not_offered(agent: Agent) {
    let scenario = r#"
        quiet = true
        [[reply]]
        steps = [
          { call = { tool = "read_file", arguments = { path = "a.txt" } } },
          { call = { tool = "write_file", arguments = { path = "b.txt", content = "b" } } },
          { call = { tool = "shell", arguments = { command = "true" } } },
          { call = { tool = "ask_user", arguments = {} } },
        ]
        [[reply]]
        steps = [{ text = "Done." }]
    "#;
    let editor = agent.editor(&Runtime::scripted(scenario).file("a.txt", "a\n")).await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Go").await;
    assert_eq!((turn.stop.as_str(), turn.calls().len()), ("end_turn", 4));
    assert_eq!(editor.file_calls(), Vec::new());
    editor.close().await;
}

async fn acp_ext_001_an_unknown_extension_request_is_answered(agent: Agent) {
    let editor = agent.editor(&Runtime::new()).await;
    assert_eq!(code(&editor, "_unknown/method", json!({})).await, -32601);
    editor.notify("_unknown/notification", json!({}));
    editor.new_session().await;
    editor.close().await;
}

async fn framing_is_a_message_a_line(agent: Agent) {
    let editor = agent.editor(&Runtime::new()).await;
    editor.send_raw(b"{\"jsonrpc\":\"2.0\",\n");
    assert_eq!(editor.unreadable().await.code, -32700);
    editor.send_raw(b"[]\n");
    assert_eq!(editor.unreadable().await.code, -32600);
    assert_eq!(code(&editor, "unknown/method", json!({})).await, -32601);
    editor.notify("unknown/notification", json!({}));
    editor.new_session().await;
    editor.close().await;
}

async fn shutdown_is_prompt_and_clean(agent: Agent) {
    let scenario = "quiet = true\n[[reply]]\nsteps = [{ text = \"Wait\" }, { delay_ms = 600000 }]\n";
    // Signals are of a process.
    let signals =
        [Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP)].into_iter().filter(|_| agent == Agent::Binary);
    for signal in signals.chain([None]) {
        let runtime = Runtime::scripted(scenario);
        let editor = agent.editor(&runtime).await;
        let session = editor.new_session().await;
        let _running = editor.begin_prompt(&session, "Go");
        editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
        if let Some(signal) = signal {
            let begin = std::time::Instant::now();
            editor.signal(signal);
            assert!(editor.wait().await.success(), "{signal:?}");
            assert!(begin.elapsed() < std::time::Duration::from_secs(2), "{signal:?}: {:?}", begin.elapsed());
        } else {
            editor.close().await;
        }
        runtime.assert_no_process_left();
    }
}
