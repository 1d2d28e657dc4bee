//! What plugins have from this application: their own storage, in the session store's file, and the secrets that they may
//! have sent.

use acp_runtime_agent::capability::{PluginId, SecretName};
use acp_runtime_agent::store::StoreError;
use acp_runtime_host::kv::{KvEntry, KvError, KvSpace, KvStore};
use acp_runtime_host::origin::PluginOrigin;
use acp_runtime_host::secrets::{self, SecretText};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::Runtime;
use crate::secrets::{SecretId, SecretStore, SecretsError};
use crate::store::{KvWrite, SqliteStore};

pub(super) struct PluginStorage(SqliteStore);

impl PluginStorage {
    pub(super) fn new(store: SqliteStore) -> Self {
        Self(store)
    }
}

impl KvStore for PluginStorage {
    fn get<'a>(&'a self, space: &'a KvSpace, key: &'a str) -> BoxFuture<'a, Result<Option<KvEntry>, KvError>> {
        async move {
            let entry = self.0.kv_get(ours(space), key.to_owned()).await.map_err(failed)?;
            Ok(entry.map(|(value, version)| KvEntry { value, version }))
        }
        .boxed()
    }

    fn set<'a>(
        &'a self,
        space: &'a KvSpace,
        key: &'a str,
        value: Vec<u8>,
        expected: Option<u64>,
        quota: u64,
    ) -> BoxFuture<'a, Result<u64, KvError>> {
        async move {
            match self.0.kv_set(ours(space), key.to_owned(), value, expected, quota).await.map_err(failed)? {
                KvWrite::Written(version) => Ok(version),
                KvWrite::Conflict(current) => {
                    Err(KvError::Conflict { expected: expected.unwrap_or_default(), current })
                }
                KvWrite::OverQuota(used) => Err(KvError::Full { used, most: quota }),
            }
        }
        .boxed()
    }

    fn delete<'a>(&'a self, space: &'a KvSpace, key: &'a str) -> BoxFuture<'a, Result<bool, KvError>> {
        async move { self.0.kv_delete(ours(space), key.to_owned()).await.map_err(failed) }.boxed()
    }

    fn keys<'a>(&'a self, space: &'a KvSpace, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, KvError>> {
        async move { self.0.kv_list_keys(ours(space), prefix.to_owned()).await.map_err(failed) }.boxed()
    }

    fn forget<'a>(&'a self, origin: &'a PluginOrigin, plugin: &'a PluginId) -> BoxFuture<'a, Result<(), KvError>> {
        async move { self.0.kv_forget(&origin.to_string(), plugin).await.map_err(failed) }.boxed()
    }
}

/// The person's secrets, for requests of plugins.
pub(super) struct PluginSecrets(SecretStore);

impl PluginSecrets {
    pub(super) fn new(store: SecretStore) -> Self {
        Self(store)
    }
}

impl secrets::SecretStore for PluginSecrets {
    fn secret<'a>(
        &'a self,
        origin: &'a PluginOrigin,
        name: &'a SecretName,
    ) -> BoxFuture<'a, Result<Option<SecretText>, String>> {
        async move {
            let (store, name) = (self.0.clone(), SecretId::lent(name.clone(), origin));
            // The keyring may hold the thread.
            let found = tokio::task::spawn_blocking(move || store.get(&name, false)).await;
            let found =
                found.map_err(|error| error.to_string())?.map_err(|error| format!("{error}; {}", error.hint()))?;
            Ok(found.map(|secret| SecretText::new(secret.expose())))
        }
        .boxed()
    }
}

impl Runtime {
    /// Removes the secrets that were kept for that plugin of that origin. Answers which.
    pub fn forget_secrets(&self, origin: &PluginOrigin, plugin: &PluginId) -> Result<Vec<SecretName>, SecretsError> {
        let secrets = self.keys.secrets();
        let of_it =
            |id: &SecretId| id.name.plugin().as_ref() == Some(plugin) && *id == SecretId::lent(id.name.clone(), origin);
        let mut removed = Vec::new();
        for (id, _) in secrets.list()?.into_iter().filter(|(id, _)| of_it(id)) {
            if secrets.remove(&id)? {
                removed.push(id.name);
            }
        }
        Ok(removed)
    }
}

fn ours(space: &KvSpace) -> crate::store::KvSpace {
    let KvSpace { origin, plugin, scope, owner } = space.clone();
    crate::store::KvSpace { origin: origin.to_string(), plugin, scope, owner }
}

fn failed(error: StoreError) -> KvError {
    KvError::Failed(error.to_string())
}
