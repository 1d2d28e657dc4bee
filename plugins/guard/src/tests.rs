//! The hook over the double.

use acp_plugin::testing::{Host, tell};
use acp_plugin::{Decision, EventKind};
use serde_json::{Value, json};

use crate::{Guard, secrets};

fn call(effects: &[(&str, &str)]) -> Decision {
    let effects: Vec<Value> = effects.iter().map(|(class, key)| json!({ "class": class, "key": key })).collect();
    let payload = json!({ "tool": "t", "kind": "edit", "arguments": {}, "effects": effects });
    tell::<Guard>(EventKind::ToolCall, &payload, false).unwrap()
}

fn prompt(text: &str) -> Decision {
    tell::<Guard>(EventKind::UserMessage, &json!({ "text": text, "attached": [] }), false).unwrap()
}

fn key(begins: &str) -> String {
    format!("{begins}{}", "A1B2C3D4E5".repeat(4))
}

#[test]
fn protected_paths_are_not_changed() {
    Host::fresh();
    let block = |path: &str| Decision::Block(format!("`{path}` is protected"));
    for (effect, expected) in [
        (("write", "src/lib.rs"), Decision::NoOpinion),
        (("read", "Cargo.lock"), Decision::NoOpinion),
        (("write", "Cargo.lock"), block("Cargo.lock")),
        (("write", "deep/in/yarn.lock"), block("deep/in/yarn.lock")),
        (("delete", ".github/workflows/ci.yml"), block(".github/workflows/ci.yml")),
        (("write", "app/.env.local"), block("app/.env.local")),
        (("move", "a -> Cargo.lock"), block("Cargo.lock")),
        (("move", ".gitlab-ci.yml -> b"), block(".gitlab-ci.yml")),
        (("move", "a -> b"), Decision::NoOpinion),
        (
            ("move", ".github -> ci"),
            Decision::Ask("`.github` may hold something that is protected (`.github/**`)".to_owned()),
        ),
        (
            ("delete", ".github/**"),
            Decision::Ask("`.github` may hold something that is protected (`.github/**`)".to_owned()),
        ),
        (("delete", "**"), Decision::Ask("`.` may hold something that is protected (`.github/**`)".to_owned())),
        (
            ("run", "sh -c \"rm ./Cargo.lock; ls\""),
            Decision::Ask("the command names `Cargo.lock`, which is protected".to_owned()),
        ),
        (("run", "cargo test"), Decision::NoOpinion),
    ] {
        assert_eq!(call(&[effect]), expected, "{effect:?}");
    }
    // The worst of several counts: a link is there under both names.
    assert_eq!(call(&[("write", "notes"), ("write", "Cargo.lock"), ("run", "cat Cargo.lock")]), block("Cargo.lock"));
}

#[test]
fn what_is_protected_can_be_set() {
    let host = Host::fresh();
    host.set_settings(json!({ "protected": ["migrations/**"], "on_protected": "ask" }));
    assert_eq!(call(&[("write", "Cargo.lock")]), Decision::NoOpinion);
    let ask = Decision::Ask("`migrations/1.sql` is protected".to_owned());
    assert_eq!(call(&[("write", "migrations/1.sql")]), ask);
    assert_eq!(call(&[("delete", "src/**")]), Decision::NoOpinion);
    host.set_settings(json!({ "protected": [] }));
    assert_eq!(call(&[("delete", "**")]), Decision::NoOpinion);
    host.set_settings(json!({ "protected": ["a{b"] }));
    let payload = json!({ "effects": [{ "class": "write", "key": "a" }] });
    let error = tell::<Guard>(EventKind::ToolCall, &payload, false).unwrap_err();
    assert!(error.message().starts_with("setting `protected`: "), "{error}");
}

#[test]
fn secrets_in_prompts_are_stopped() {
    Host::fresh();
    for (text, what) in [
        (format!("use {} please", key("sk-ant-")), Some("a key of Anthropic")),
        (format!("token={}", key("ghp_")), Some("a token of GitHub")),
        ("AKIAABCDEFGHIJKLMNOP".to_owned(), Some("a key of AWS")),
        ("use [kept secret].".to_owned(), Some("a secret that is kept on this machine")),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----".to_owned(),
            Some("a private key"),
        ),
        ("-----BEGIN CERTIFICATE-----".to_owned(), None),
        ("a task-list, sk-short and ghp_short".to_owned(), None),
        (format!("a{}", key("sk-")), None),
        (String::new(), None),
    ] {
        let expected = what.map_or(Decision::NoOpinion, |what| Decision::Block(format!("there is {what} in it")));
        assert_eq!(prompt(&text), expected, "{text}");
    }
    let attached = json!({ "text": "see", "attached": [{ "uri": "a" }, { "uri": "b", "text": key("glpat-") }] });
    let block = Decision::Block("there is a token of GitLab in it".to_owned());
    assert_eq!(tell::<Guard>(EventKind::UserMessage, &attached, false), Ok(block));
    let long = tell::<Guard>(EventKind::UserMessage, &json!({ "text": "x" }), true).unwrap();
    assert_eq!(long, Decision::Ask("it is too long to be looked at whole for secrets".to_owned()));
}

#[test]
fn what_becomes_of_secrets_can_be_set() {
    let host = Host::fresh();
    let text = format!("use {} and {}.", key("sk-ant-"), key("hf_"));
    host.set_settings(json!({ "on_secret": "remove" }));
    let removed = "use [removed: a key of Anthropic] and [removed: a token of Hugging Face].";
    assert_eq!(prompt(&text), Decision::Replace(removed.to_owned()));
    let attached = json!({ "text": "see", "attached": [{ "uri": "b", "text": text }] });
    let attached = tell::<Guard>(EventKind::UserMessage, &attached, false).unwrap();
    assert!(matches!(attached, Decision::Block(_)), "what is attached cannot be replaced");
    host.set_settings(json!({ "on_secret": "ask" }));
    assert_eq!(prompt(&text), Decision::Ask("there is a key of Anthropic in it".to_owned()));
    host.set_settings(json!({ "on_secret": "ignore" }));
    assert_eq!(prompt(&text), Decision::NoOpinion);
}

#[test]
fn a_private_key_is_removed_whole() {
    let text = "a\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nb";
    assert_eq!(secrets::removed(text), "a\n[removed: a private key]\nb");
    assert_eq!(secrets::removed("x -----BEGIN PRIVATE KEY-----\nabc"), "x [removed: a private key]");
}
