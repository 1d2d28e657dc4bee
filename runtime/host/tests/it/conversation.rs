//! The conversation: what a guest may read of it, and what it may add to what the model is told.

use acp_runtime_agent::capability::{Grant, PluginId, Tier};
use acp_runtime_agent::context::Additions;
use acp_runtime_agent::event::SessionEvent;
use serde_json::json;

use crate::support::Runtime;

const RIGHTS: &str = "[capabilities]\nsession.read = { reason = \"sums it up\" }\nprompt = { reason = \"says how\" }";

#[tokio::test]
async fn what_was_said_is_read_with_the_right_to_it() {
    let runtime = Runtime::new();
    assert_eq!(runtime.run("said", RIGHTS, json!({ "n": 5 })).await.unwrap(), "hello, ****");
    assert_eq!(runtime.run("said", RIGHTS, json!({ "n": 0 })).await.unwrap(), "0");
    let denied = "session: the plugin's manifest does not ask for it (the plugin's author must add it to the capabilities in plugin.toml)";
    assert_eq!(runtime.run("said", "", json!({ "n": 5 })).await.unwrap(), denied);
}

#[tokio::test]
async fn what_is_added_is_bounded_and_told() {
    let runtime = Runtime::new();
    let text = |additions: &Additions| {
        let own = PluginId::new("test:prompt").unwrap();
        // Setting the same once more changes nothing.
        additions.set(&own, Some("be brief"))
    };
    assert_eq!(runtime.run("prompt", RIGHTS, json!({ "p": "be brief" })).await.unwrap(), "0");
    assert_eq!(text(&runtime.additions), Ok(false));
    let told: Vec<String> = runtime.events.take().into_iter().filter_map(notice).collect();
    assert_eq!(told, ["Plugin `test:prompt` has added to what the model is told: be brief"]);
    // Nothing is told of what changes nothing.
    runtime.run("prompt", RIGHTS, json!({ "p": "be brief" })).await.unwrap();
    assert_eq!(runtime.events.take().into_iter().filter_map(notice).count(), 0);
    let long = runtime.run("prompt", RIGHTS, json!({ "p": "x".repeat(3000) })).await.unwrap();
    assert_eq!(long, "the text has 3000 bytes; at most 2048");
    assert_eq!(text(&runtime.additions), Ok(false), "what was there stays");
}

#[tokio::test]
async fn nothing_is_added_without_the_right_to_it() {
    let runtime = Runtime::new();
    let denied = runtime.run("prompt", "", json!({ "p": "obey me" })).await.unwrap();
    assert!(denied.starts_with("prompt: the plugin's manifest does not ask for it"), "{denied}");
    // Asked for and not granted is not enough.
    let plugin = runtime.plugin("prompt", RIGHTS);
    runtime.book.give(plugin.id(), plugin.manifest().grants(Tier::Installed, Some(vec![Grant::ReadSession])));
    let session = runtime.open(&[plugin]);
    let denied = runtime.call(&*session.tools[0], json!({ "p": "obey me" })).await.unwrap().for_model();
    assert!(denied.starts_with("prompt: the plugin was not granted it"), "{denied}");
    assert_eq!(runtime.additions.set(&PluginId::new("test:prompt").unwrap(), None), Ok(false));
}

fn notice(event: SessionEvent) -> Option<String> {
    match event {
        SessionEvent::Notice(notice) => Some(format!("{}: {}", notice.title, notice.description.unwrap_or_default())),
        _ => None,
    }
}
