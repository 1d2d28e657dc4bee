//! Plugins in a session: names, panels, commands, progress, settings, and what an opening costs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_runtime_agent::capability::{CommandName, Grant, GrantSet, Tier};
use acp_runtime_agent::command::CommandReply;
use acp_runtime_agent::elicit::{FieldKind, Reply};
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::Origin;
use acp_runtime_agent::options::Switches;
use acp_runtime_agent::panel::{PanelBoard, PanelError, StalePanels};
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::tool::{Tool, ToolArguments};
use acp_runtime_agent::transcript::{ToolCallId, ToolContent};
use acp_runtime_host::build;
use acp_runtime_host::limits::Limits;
use acp_runtime_host::plugin_host::Plugin;
use expect_test::expect;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::guest;
use crate::support::{Runtime, manifest, told, tool_name};

/// The guest that offers one of each, under that id.
pub async fn everything(runtime: &Runtime, id: &str, folder: &std::path::Path) -> Arc<Plugin> {
    let plugin = build::embed(&runtime.host, &guest::component("everything"), &manifest(id, "")).await.unwrap();
    let path = folder.join(format!("{}.wasm", id.replace(':', "-")));
    std::fs::write(&path, plugin).unwrap();
    runtime.load(&path)
}

#[tokio::test]
async fn a_plugin_offers_tools_panels_and_commands() {
    let (runtime, folder) = (Runtime::new(), tempfile::TempDir::new().unwrap());
    let session = runtime.open(&[everything(&runtime, "test:everything", folder.path()).await]);
    assert_eq!(session.problems, []);
    let spec = session.tools[0].spec();
    expect![[r#"("everything__echo", "Echo", "Answers with its arguments.", Other)"#]]
        .assert_eq(&format!("{:?}", (spec.name.as_str(), &spec.title, &spec.description, spec.kind)));
    let outcome = runtime.call(&*session.tools[0], json!({ "a": [1, 2] })).await.unwrap();
    assert_eq!(outcome.for_model(), r#"{"a":[1,2]}"#);

    let mut board = PanelBoard::new(StalePanels::default(), Switches::default());
    session.panels.into_iter().for_each(|panel| board.add(panel).unwrap());
    let view = board.snapshot("board").await.unwrap();
    let task = &view.root.children[0];
    expect![[r#"("All tasks", "1 open", "task-1", "Write tests", "active", {"n": Number(1)})"#]]
        .assert_eq(&format!("{:?}", (&view.root.label, &view.status, &task.id, &task.label, &task.style, &task.data)));
    let reply = board.act("board", "done", "task-1", Map::new(), || false).await.unwrap();
    assert_eq!(reply.message.as_deref(), Some("task-1"));
    let broken = board.snapshot("broken").await.unwrap_err();
    let PanelError::Failed { reason, .. } = broken else { panic!("{broken:?}") };
    assert_eq!(reason, "the plugin failed: node `root` of the panel: its id is there twice");

    let command = &session.commands[0];
    assert_eq!(command.info().name, "hello");
    let reply = command.run("you", CancellationToken::new()).await.unwrap();
    assert_eq!(reply, CommandReply::Text("you".to_owned()));
}

#[tokio::test]
async fn a39_names_are_spelled_out_where_plugins_meet() {
    let (runtime, folder) = (Runtime::new(), tempfile::TempDir::new().unwrap());
    let mut plugins = Vec::new();
    for id in ["acme:all", "beta:all", "acme:more"] {
        plugins.push(everything(&runtime, id, folder.path()).await);
    }
    plugins.push(runtime.named("acme:run", "echo", ""));
    plugins.push(runtime.named("acme:mcp", "echo", ""));
    plugins.push(runtime.named("acme:very-long-name-of-a-plugin-that-somebody-has-made-for-no-good", "echo", ""));
    let session = runtime.open(&plugins);
    let tools: Vec<String> = session.tools.iter().map(|tool| tool_name(tool).to_string()).collect();
    let panels: Vec<String> = session.panels.iter().map(|panel| panel.info().name.to_string()).collect();
    let commands: Vec<&str> = session.commands.iter().map(|command| command.info().name.as_str()).collect();
    let problems: Vec<String> = session.problems.iter().map(ToString::to_string).collect();
    assert_eq!(tools, ["acme__all__echo", "beta__all__echo", "more__echo", "run", "acme__mcp__run"]);
    assert_eq!(
        panels,
        ["acme:all/board", "acme:all/broken", "beta:all/board", "beta:all/broken", "more/board", "more/broken"]
    );
    assert_eq!(commands, ["acme:all:hello", "beta:all:hello", "more:hello"]);
    commands.iter().for_each(|name| drop(CommandName::new(name).unwrap()));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("tool `run` is left out"), "{problems:?}");
}

#[tokio::test]
async fn a_tool_runs_only_with_a_permit_for_it() {
    let runtime = Runtime::new();
    let session = runtime.open(&[runtime.plugin("echo", ""), runtime.named("test:other", "echo", "")]);
    let [tool, other] = session.tools.as_slice() else { panic!("two tools") };
    let arguments = ToolArguments::validate(tool.spec(), json!({})).unwrap();
    let origin = Origin::Command(CommandName::new("call").unwrap());
    let permit = runtime.gate().authorize(origin, other.effects(&arguments).unwrap()).await.unwrap();
    let error = tool.run(&permit, arguments, CancellationToken::new()).await.unwrap_err();
    assert_eq!(told(&error), ("fatal", "no permit for plugin `test:echo run`"));
    let invalid = runtime.call(&**tool, json!([])).await.unwrap_err();
    assert_eq!(told(&invalid).0, "invalid-args");
}

#[tokio::test]
async fn rights_to_read_are_asked_for_before_the_guest_runs() {
    let runtime = Runtime::new();
    let plugin = runtime.plugin("files", "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]");
    let ceiling = plugin.manifest().ceiling();
    runtime.book.give(plugin.id(), GrantSet { tier: Tier::Installed, ceiling, granted: Vec::<Grant>::new() });
    let session = runtime.open(&[plugin]);
    let error = runtime.call(&*session.tools[0], json!({ "p": "rx" })).await.unwrap_err();
    assert_eq!(told(&error), ("denied", "read `**`: the user refused"));
    assert_eq!(runtime.person.asked.lock().unwrap()[0].title, "plugin test:files: read `**`");
}

#[tokio::test]
async fn a7_progress_is_shown_and_not_too_often() {
    let runtime = Runtime::new();
    let manifest = manifest("test:notices", "");
    let panel = json!([{ "name": "board", "title": "Board", "actions": [] }]);
    let tools = serde_json::to_value(crate::support::inventory()).unwrap()["tools"].take();
    let inventory = serde_json::from_value(json!({ "tools": tools, "panels": panel })).unwrap();
    let section = acp_runtime_host::manifest::Manifest::section(&manifest, &inventory).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("plugin.wasm");
    std::fs::write(&path, guest::with_manifest(guest::component("notices"), &section)).unwrap();
    let session = runtime.open(&[runtime.load(&path)]);
    let outcome = runtime.call(&*session.tools[0], json!({})).await.unwrap();
    assert_eq!(outcome.for_model(), "0");
    let events = runtime.events.take();
    let lines: Vec<&ToolContent> = events
        .iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCallUpdated(update) => update.content.as_ref(),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(lines[0], &ToolContent::Text { text: "50 % · halfway".to_owned() });
    let changes = events.iter().filter(|event| matches!(event, SessionEvent::PanelChanged { .. })).count();
    // The first of each at once, the last change when the call ends; ten thousand would take seconds.
    assert!(lines.len() < 20 && (2..20).contains(&changes), "{} lines, {changes} changes", lines.len());
    assert!(matches!(events.last(), Some(SessionEvent::PanelChanged { panel }) if panel.as_str() == "board"));
}

#[tokio::test]
async fn settings_are_validated_and_handed_over() {
    let mut runtime = Runtime::new();
    let schema = "[settings]\ntype = \"object\"\n[settings.properties.depth]\ntype = \"integer\"";
    let plugin = runtime.plugin("settings", schema);
    assert_eq!(runtime.run("settings", schema, json!({})).await.unwrap(), "{}");
    runtime.settings.insert(plugin.id().clone(), json!({ "depth": 3 }));
    assert_eq!(runtime.run("settings", schema, json!({})).await.unwrap(), r#"{"depth":3}"#);
    runtime.settings.insert(plugin.id().clone(), json!({ "depth": "deep" }));
    let session = runtime.open(&[plugin.clone()]);
    assert!(session.tools.is_empty());
    assert_eq!(
        session.problems[0].to_string(),
        "plugin `test:settings`: its settings in the configuration are not valid: /depth: \"deep\" is not of type \
         \"integer\""
    );
}

const REQUIRED: &str = "[settings]\ntype = \"object\"\nrequired = [\"depth\", \"style\"]\n\
    [settings.properties.depth]\ntype = \"integer\"\nminimum = 1\n\
    [settings.properties.style]\ntype = \"string\"\ntitle = \"Style\"\nenum = [\"a\", \"b\"]";

#[tokio::test]
async fn missing_settings_are_asked_for_once_in_a_session() {
    let mut runtime = Runtime::new();
    let plugin = runtime.plugin("settings", REQUIRED);
    runtime.settings.insert(plugin.id().clone(), json!({ "style": "b" }));
    let given = json!({ "depth": 3 }).as_object().unwrap().clone();
    runtime.form.replies.lock().unwrap().extend([Reply::Accepted(given), Reply::Declined]);
    let session = runtime.open(&[plugin]);
    assert_eq!(session.problems, []);
    let call = || runtime.call(&*session.tools[0], json!({}));
    let refused = call().await.unwrap_err().to_string();
    assert!(refused.contains("needs the settings `depth`, and the user does not want to give them"), "{refused}");
    for _ in 0..2 {
        let outcome = call().await.unwrap().for_model();
        assert_eq!(serde_json::from_str::<Value>(&outcome).unwrap(), json!({ "depth": 3, "style": "b" }));
    }
    let forms = runtime.form.forms.lock().unwrap();
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[1].call, Some(ToolCallId::new("call-1")));
    assert!(forms[1].message.contains("(test:settings) needs settings"), "{}", forms[1].message);
    let fields: Vec<_> = forms[1].fields.iter().map(|field| (field.name.as_str(), &field.kind)).collect();
    assert_eq!(fields, [("depth", &FieldKind::Integer)]);
}

#[tokio::test]
async fn settings_that_nobody_gives_are_an_error_of_the_call() {
    for (reply, problem) in [
        (Reply::NoChannel, "the user's client cannot show a question"),
        (Reply::Dismissed, "the user closed the question"),
        (
            Reply::Accepted(json!({ "depth": 0, "style": "a" }).as_object().unwrap().clone()),
            "what was given is not valid: /depth: 0 is less than the minimum of 1",
        ),
    ] {
        let runtime = Runtime::new();
        runtime.form.replies.lock().unwrap().push(reply);
        let error = runtime.run("settings", REQUIRED, json!({})).await.unwrap_err().to_string();
        assert!(error.contains(&format!("needs the settings `depth`, `style`, and {problem}")), "{error}");
        assert!(error.contains("`[plugins.settings.\"test:settings\"]`"), "{error}");
    }
    let nested = "[settings]\ntype = \"object\"\nrequired = [\"deep\"]\n[settings.properties.deep]\ntype = \"object\"";
    let runtime = Runtime::new();
    let error = runtime.run("settings", nested, json!({})).await.unwrap_err().to_string();
    assert!(error.contains("`deep` is nothing that can be asked for"), "{error}");
    assert!(runtime.form.forms.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_warm_instance_lives_for_its_session_until_it_is_idle_or_fails() {
    let mut limits = Limits::default();
    limits.time.idle = Duration::from_secs(60);
    let runtime = Runtime::with(None, limits);
    let counts = async |tool: &Arc<dyn Tool>, n: u32| {
        runtime.call(&**tool, json!({ "n": n })).await.map(|outcome| outcome.for_model()).unwrap_or_default()
    };
    let plugin = runtime.plugin("counter", "lifecycle = \"session\"");
    let [first, second] = [&plugin, &plugin].map(|plugin| runtime.open(&[plugin.clone()]).tools[0].clone());
    assert_eq!([counts(&first, 1).await, counts(&first, 1).await, counts(&second, 1).await], ["1", "2", "1"]);
    assert_eq!([counts(&first, 0).await, counts(&first, 1).await], ["", "1"]);
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(counts(&second, 1).await, "2");
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(counts(&second, 1).await, "3");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(counts(&second, 1).await, "1");
    let alone = runtime.open(&[runtime.named("test:alone", "counter", "")]).tools[0].clone();
    assert_eq!([counts(&alone, 1).await, counts(&alone, 1).await], ["1", "1"]);
}

#[tokio::test]
async fn a_busy_warm_instance_holds_nobody_up() {
    let runtime = Runtime::new();
    let tool = runtime.open(&[runtime.plugin("cancel", "lifecycle = \"session\"")]).tools[0].clone();
    let cancel = CancellationToken::new();
    let call = || runtime.call_until(&*tool, json!({}), cancel.clone());
    // Each says that it runs, and goes on until both are cancelled.
    let both_run = async {
        runtime.events.wait(2).await;
        cancel.cancel();
    };
    let (left, right, ()) = tokio::join!(call(), call(), both_run);
    for error in [left.unwrap_err(), right.unwrap_err()] {
        assert_eq!(told(&error).0, "cancelled");
    }
}

#[tokio::test]
async fn a_warm_instance_loses_a_folder_with_the_right_to_it() {
    let runtime = Runtime::new();
    let toml = "lifecycle = \"session\"\n[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]\n\
                fs.write = [{ glob = \"notes/**\", reason = \"writes\", preopen = true }]";
    let tool = runtime.open(&[runtime.plugin("files", toml)]).tools[0].clone();
    let write = || async { runtime.call(&*tool, json!({ "p": "wnew.txt" })).await.unwrap().for_model() };
    assert_eq!(write().await, "done");
    runtime.mode.set(Mode::ReadOnly);
    assert_ne!(write().await, "done");
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_plugin_wait_for_each_other_beyond_four() {
    let mut limits = Limits::default();
    limits.time.wall = Duration::from_millis(300);
    let runtime = Runtime::with(None, limits);
    let tool = runtime.open(&[runtime.plugin("sleep", "")]).tools[0].clone();
    runtime.call(&*tool, json!({})).await.unwrap_err();
    let begin = tokio::time::Instant::now();
    futures::future::join_all((0..5).map(|_| runtime.call(&*tool, json!({})))).await;
    assert_eq!(begin.elapsed().as_millis(), 600);
}

#[tokio::test]
async fn opening_a_session_starts_nothing() {
    let runtime = Runtime::new();
    let plugins: Vec<_> = (0..50).map(|n| runtime.named(&format!("test:p{n}"), "echo", "")).collect();
    runtime.open(&plugins);
    let begin = Instant::now();
    let session = runtime.open(&plugins);
    let elapsed = begin.elapsed();
    assert_eq!(session.tools.len(), 50);
    assert!(elapsed < Duration::from_millis(20), "{elapsed:?}");
}
