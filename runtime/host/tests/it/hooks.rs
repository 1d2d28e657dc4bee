//! Hooks of plugins: what they are told, what they can say, and what becomes of those that try more.

use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::capability::{Grant, GrantSet, HookEvent, Tier};
use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::hook::{Occurrence, PAYLOAD, Verdict};
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::transcript::{SessionId, ToolCallId};
use acp_runtime_host::build;
use acp_runtime_host::install::Candidate;
use acp_runtime_host::limits::Limits;
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::plugin_host::Plugin;
use serde_json::json;

use crate::guest;
use crate::support::{Runtime, manifest};

const RIGHTS: &str = "[capabilities]\nkv = { reason = \"remembers\" }\n\
    fs.write = [{ glob = \"notes/**\", reason = \"writes\" }]\n\
    hooks = [{ event = \"tool-call\", priority = 3, reason = \"guards\" }, { event = \"error\", reason = \"looks on\" }]\n\
    [settings]\ntype = \"object\"\nadditionalProperties = false\n\
    [settings.properties.n]\ntype = \"integer\"\n";

/// Enough time for a machine that does other things as well.
fn patient() -> Runtime {
    patient_with(Limits::default())
}

pub fn patient_with(mut limits: Limits) -> Runtime {
    limits.hook = limits.hook.lasting(Duration::from_secs(5));
    Runtime::with(None, limits)
}

/// The guest, which does what `mode` says.
pub async fn plugin(runtime: &mut Runtime, mode: u32) -> Arc<Plugin> {
    let whole = build::embed(&runtime.host, &guest::component("hook"), &manifest("test:hook", RIGHTS)).await.unwrap();
    let path = runtime.project.path().join(format!("hook-{mode}.wasm"));
    std::fs::write(&path, whole).unwrap();
    let plugin = runtime.load(&path);
    runtime.settings.insert(plugin.id().clone(), json!({ "n": mode }));
    plugin
}

pub fn occurrence(event: HookEvent, payload: &str) -> Occurrence {
    let (session, call) = (SessionId::new("session-1"), Some(ToolCallId::new("call-1")));
    Occurrence { event, session, call, payload: payload.to_owned(), truncated: false, masked: false }
}

/// What the hook says to a call.
pub async fn asked(runtime: &mut Runtime, mode: u32, payload: &str) -> Result<Verdict, String> {
    let plugin = plugin(runtime, mode).await;
    let session = runtime.open(&[plugin]);
    assert_eq!(session.problems, []);
    let told = occurrence(HookEvent::ToolCall, payload);
    session.hooks[0].handle(&told).await.map_err(|failure| failure.to_string())
}

#[tokio::test]
async fn a_hook_says_what_it_can_say() {
    for (mode, expected) in [
        (0, Verdict::NoOpinion),
        (6, Verdict::Replace("{\"n\":2}".to_owned())),
        (7, Verdict::Block("{\"a\":1}".to_owned())),
        (8, Verdict::Ask("{\"a\":1}".to_owned())),
        // It sees no folders.
        (12, Verdict::NoOpinion),
    ] {
        assert_eq!(asked(&mut patient(), mode, "{\"a\":1}").await, Ok(expected), "{mode}");
    }
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(PAYLOAD - 8));
    assert_eq!(asked(&mut patient(), 7, &large).await, Ok(Verdict::Block(large)));
}

#[tokio::test]
async fn a45_a_hook_cannot_allow() {
    let said = asked(&mut patient(), 5, "{}").await.unwrap_err();
    assert!(said.contains("`allow` is nothing that a hook can say"), "{said}");
}

/// The budgets, with the time that hooks have by default.
#[tokio::test]
async fn a45_a_hook_that_takes_more_than_it_may_fails() {
    for (mode, expected) in [
        (1, "the plugin was stopped: it computed for longer than 50ms"),
        (2, "the plugin failed: wasm trap: wasm `unreachable` instruction executed"),
        (3, "too much data"),
        (4, "the plugin was stopped: it wanted more memory than 16 MiB"),
    ] {
        let said = asked(&mut Runtime::new(), mode, "{}").await.unwrap_err();
        assert!(said.contains(expected), "{mode}: {said}");
    }
}

#[tokio::test]
async fn a45_a_hook_that_sleeps_is_not_waited_for() {
    let mut limits = Limits::default();
    limits.hook.wall = Duration::from_millis(100);
    let said = asked(&mut Runtime::with(None, limits), 10, "{}").await.unwrap_err();
    assert_eq!(said, "the plugin was stopped: it took longer than 100ms");
}

/// Whatever it imports: nobody is asked on behalf of a hook, and what needs a question is not done.
#[tokio::test]
async fn a_hook_asks_nobody_by_what_it_does() {
    let mut runtime = patient();
    runtime.mode.set(Mode::Review);
    *runtime.person.answer.lock().unwrap() = Approval::AllowAlways;
    let said = asked(&mut runtime, 11, "{}").await.unwrap();
    let Verdict::Block(why) = said else { panic!("{said:?}") };
    assert!(why.starts_with("write `notes/a.md`: a hook can only do what is allowed without a question"), "{why}");
    assert!(runtime.person.asked.lock().unwrap().is_empty());
    runtime.mode.set(Mode::Auto);
    assert_eq!(asked(&mut runtime, 11, "{}").await, Ok(Verdict::NoOpinion));
}

#[tokio::test]
async fn events_that_were_not_granted_are_not_delivered() {
    let mut runtime = patient();
    let plugin = plugin(&mut runtime, 2).await;
    let session = runtime.open(&[plugin.clone()]);
    let hook = &session.hooks[0];
    let places: Vec<_> = hook.subscriptions().iter().map(|hook| (hook.event, hook.priority)).collect();
    assert_eq!(places, [(HookEvent::ToolCall, 3), (HookEvent::Error, 500)]);
    assert!(hook.handle(&occurrence(HookEvent::ToolCall, "{}")).await.is_err());
    // What its component could hear and its manifest does not ask for,
    assert_eq!(hook.handle(&occurrence(HookEvent::UserMessage, "{}")).await, Ok(Verdict::NoOpinion));
    // and what was not granted.
    let ceiling = plugin.manifest().ceiling();
    let granted = vec![Grant::Hook(HookEvent::Error)];
    runtime.book.give(plugin.id(), GrantSet { tier: Tier::Installed, ceiling, granted });
    assert_eq!(hook.handle(&occurrence(HookEvent::ToolCall, "{}")).await, Ok(Verdict::NoOpinion));
    assert!(hook.handle(&occurrence(HookEvent::Error, "{}")).await.is_err());
}

/// A plugin that cannot be used is left out, and what it was to decide is not decided by its absence.
#[tokio::test]
async fn a_plugin_that_is_left_out_does_not_open_the_gate() {
    let mut runtime = patient();
    let plugin = plugin(&mut runtime, 0).await;
    runtime.settings.insert(plugin.id().clone(), json!({ "n": "none" }));
    let session = runtime.open(&[plugin]);
    assert_eq!(session.problems.len(), 1);
    let failure = session.hooks[0].handle(&occurrence(HookEvent::ToolCall, "{}")).await.unwrap_err();
    assert!(failure.to_string().contains("its settings in the configuration are not valid"), "{failure}");
}

#[tokio::test]
async fn a_plugin_with_a_hook_that_is_not_there_is_not_made() {
    let (runtime, folder) = (Runtime::new(), tempfile::TempDir::new().unwrap());
    let asks = "[capabilities]\nhooks = [{ event = \"session-start\", reason = \"greets\" }]";
    let toml = manifest("test:hook", asks);
    let expected = "the manifest asks for the event `session-start`, and the component has no hook for it";
    for guest in ["hook", "everything"] {
        let refused = build::embed(&runtime.host, &guest::component(guest), &toml).await.unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let path = folder.path().join("hook.wasm");
    let section = Manifest::section(&toml, &acp_runtime_host::manifest::Inventory::default()).unwrap();
    std::fs::write(&path, guest::with_manifest(guest::component("hook"), &section)).unwrap();
    let refused = Candidate::check(&runtime.host, &path).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("plugin `test:hook` is not valid: {expected}"));
}
