//! `aar:host/kv`: the plugin's own storage, by session, project or user.

use acp_runtime_agent::capability::{Effect, KvScope};
use acp_runtime_agent::plain;

use crate::kv::{KvEntry, KvSpace};
use crate::state::{Call, HostError};

pub(crate) async fn get(call: &mut Call, scope: &str, key: &str) -> Result<Option<KvEntry>, HostError> {
    let space = enter(call, scope).await?;
    Ok(call.desks.kv.get(&space, key).await?)
}

pub(crate) async fn set(
    call: &mut Call,
    scope: &str,
    key: &str,
    value: Vec<u8>,
    expected: Option<u64>,
) -> Result<u64, HostError> {
    let space = enter(call, scope).await?;
    // What is kept would outlast what is known of secrets.
    let filter = call.desks.secrets.filter();
    let (key, value) = (filter.text(key), filter.bytes(value));
    Ok(call.desks.kv.set(&space, &key, value, expected).await?)
}

pub(crate) async fn delete(call: &mut Call, scope: &str, key: &str) -> Result<bool, HostError> {
    let space = enter(call, scope).await?;
    Ok(call.desks.kv.delete(&space, key).await?)
}

pub(crate) async fn list_keys(call: &mut Call, scope: &str, prefix: &str) -> Result<Vec<String>, HostError> {
    let space = enter(call, scope).await?;
    Ok(call.desks.kv.keys(&space, prefix).await?)
}

/// The space of that scope, once the gate has allowed it.
async fn enter(call: &mut Call, scope: &str) -> Result<KvSpace, HostError> {
    let plugin = call.plugin.clone();
    let session = &call.session()?.scope;
    let (scope, owner) = match scope {
        "session" => (KvScope::Session, session.session.to_string()),
        "project" => (KvScope::Project, session.project.clone()),
        "user" => (KvScope::User, String::new()),
        other => {
            let other = plain::line(other, 80);
            return Err(HostError::invalid(format!("`{other}` is not a scope: use `session`, `project` or `user`")));
        }
    };
    call.authorize(vec![Effect::Kv(scope)]).await?;
    let origin = call.desks.kv.origin().clone();
    Ok(KvSpace { origin, plugin, scope, owner })
}
