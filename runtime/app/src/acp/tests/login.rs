//! Logging in and out, with keys that come and go.

use std::fmt::Write as _;
use std::sync::Mutex;

use acp_runtime_agent::model::{ModelError, ModelErrorKind};
use expect_test::expect;
use serde_json::{Value, json};

use super::client::Client;
use crate::acp::{Access, Accounts};

/// The key of the one provider, if it needs one.
#[derive(Default)]
pub(super) struct Wallet(Mutex<Key>);

#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    #[default]
    NotNeeded,
    Missing,
    Kept,
    Elsewhere,
    Stuck,
}

impl Wallet {
    fn put(&self, key: Key) {
        *self.0.lock().unwrap() = key;
    }

    fn key(&self) -> Key {
        *self.0.lock().unwrap()
    }
}

impl Accounts for Wallet {
    fn access(&self) -> Result<Access, ModelError> {
        match self.key() {
            Key::NotNeeded => Ok(Access::Free),
            Key::Kept | Key::Elsewhere | Key::Stuck => Ok(Access::Keyed { provider: "lab".to_owned() }),
            Key::Missing => Err(ModelError {
                message: "`lab` needs an API key; run `acp-runtime login lab`".to_owned(),
                kind: ModelErrorKind::Auth,
                provider: "lab".to_owned(),
                status: None,
                retry_after: None,
            }),
        }
    }

    fn forget(&self) -> Result<(), String> {
        match self.key() {
            Key::Kept => self.put(Key::Missing),
            Key::Stuck => return Err("the keyring is locked".to_owned()),
            Key::NotNeeded | Key::Missing | Key::Elsewhere => {}
        }
        Ok(())
    }
}

async fn initialized(capabilities: Value) -> (Client, Value) {
    let mut client = Client::connect();
    let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
    let methods = client.call("initialize", params).await["result"]["authMethods"].clone();
    (client, methods)
}

/// What opening a session gives: `opened`, or the error.
async fn opening(client: &mut Client) -> String {
    let answer = client.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
    if answer["error"].is_null() { "opened".to_owned() } else { answer["error"].to_string() }
}

#[tokio::test]
async fn each_client_is_offered_the_ways_that_it_knows() {
    let mut table = String::new();
    for capabilities in [
        json!({}),
        json!({ "auth": { "terminal": true } }),
        json!({ "_meta": { "terminal-auth": true } }),
        json!({ "auth": { "terminal": true }, "_meta": { "terminal-auth": true } }),
    ] {
        let (client, methods) = initialized(capabilities).await;
        for method in methods.as_array().unwrap() {
            let mut method = method.clone();
            method.as_object_mut().unwrap().remove("description");
            writeln!(table, "{method}").unwrap();
        }
        table.push('\n');
        client.end().await;
    }
    expect![[r#"
        {"id":"settings","name":"Settings and environment"}

        {"id":"settings","name":"Settings and environment"}
        {"type":"terminal","id":"login","name":"Log in","args":["--login"]}

        {"id":"settings","name":"Settings and environment"}
        {"id":"login","name":"Log in","_meta":{"terminal-auth":{"label":"acp-runtime login","command":"/bin/acp-runtime","args":["login"],"env":{}}}}

        {"id":"settings","name":"Settings and environment"}
        {"type":"terminal","id":"login","name":"Log in","args":["--login"]}

    "#]].assert_eq(&table);
}

#[tokio::test]
async fn a_missing_key_is_told_before_a_session_is_opened_and_looked_for_each_time() {
    let (mut client, _) = initialized(json!({})).await;
    client.wallet.put(Key::Missing);
    let refused = opening(&mut client).await;
    expect![[r#"{"code":-32000,"message":"`lab` needs an API key; run `acp-runtime login lab`","data":{"details":"`lab` needs an API key; run `acp-runtime login lab`","reason":"auth","provider":"lab","retryable":false}}"#]].assert_eq(&refused);
    let answer = client.call("authenticate", json!({ "methodId": "settings" })).await;
    assert_eq!(answer["error"].to_string(), refused, "an authentication does not pretend");

    // Somebody logs in elsewhere.
    client.wallet.put(Key::Kept);
    assert_eq!(opening(&mut client).await, "opened");
    client.end().await;
}

#[tokio::test]
async fn clients_may_authenticate_unasked_and_by_any_method() {
    let (mut client, _) = initialized(json!({})).await;
    for key in [Key::NotNeeded, Key::Kept] {
        client.wallet.put(key);
        for method in ["settings", "login"] {
            let answer = client.call("authenticate", json!({ "methodId": method })).await;
            assert_eq!(answer["result"], json!({}), "{answer}");
        }
    }
    let answer = client.call("authenticate", json!({ "methodId": "oauth" })).await;
    assert_eq!(answer["error"]["data"], json!({ "methodId": "unknown method", "available": ["settings"] }));
    client.end().await;
}

#[tokio::test]
async fn after_a_logout_new_sessions_need_a_login() {
    let (mut client, _) = initialized(json!({})).await;
    client.wallet.put(Key::Kept);
    assert_eq!(client.call("logout", json!({})).await["result"], json!({}));
    assert!(client.wallet.key() == Key::Missing, "the kept key is gone");
    assert!(opening(&mut client).await.contains("run `acp-runtime login lab`"));

    // The key of the environment cannot be removed, but it counts for nothing until the client logs in.
    client.wallet.put(Key::Elsewhere);
    let refused = opening(&mut client).await;
    expect![[r#"{"code":-32000,"message":"you have logged out of `lab`; log in again: `authenticate` with `settings`","data":{"details":"you have logged out of `lab`; log in again: `authenticate` with `settings`","reason":"auth","provider":"lab","retryable":false}}"#]].assert_eq(&refused);
    client.call("authenticate", json!({ "methodId": "settings" })).await;
    assert_eq!(opening(&mut client).await, "opened");

    client.call("logout", json!({})).await;
    client.wallet.put(Key::NotNeeded);
    assert_eq!(opening(&mut client).await, "opened", "a model without a key needs no login");
    client.end().await;
}

#[tokio::test]
async fn a_key_that_cannot_be_forgotten_is_told() {
    let (mut client, _) = initialized(json!({})).await;
    client.wallet.put(Key::Stuck);
    let answer = client.call("logout", json!(null)).await;
    expect![[r#"{"code":-32603,"message":"not every key could be forgotten: the keyring is locked","data":{"details":"the keyring is locked","reason":"secrets","retryable":true}}"#]].assert_eq(&answer["error"].to_string());
    assert!(opening(&mut client).await.contains("-32000"), "it is not used all the same");
    client.end().await;
}
