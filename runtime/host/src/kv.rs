//! A plugin's own storage: the port that keeps it, and the quotas.
//!
//! Values belong to one plugin of one origin, and to a session, a project or the user. Knows nothing about where they are
//! kept and nothing about rights: the gate was asked before. Tested by the guests that fill it.

use std::sync::Arc;

use acp_runtime_agent::capability::{KvScope, PluginId};
use futures::future::BoxFuture;

use crate::limits::Limits;
use crate::origin::PluginOrigin;

/// Where a value belongs: nobody else ever sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KvSpace {
    /// Where the plugin is from.
    pub origin: PluginOrigin,
    /// The plugin.
    pub plugin: PluginId,
    /// Who shares it.
    pub scope: KvScope,
    /// The session's id or the project's folder; empty for the user.
    pub owner: String,
}

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvEntry {
    /// The bytes.
    pub value: Vec<u8>,
    /// 1 at first, one more with every write.
    pub version: u64,
}

/// Why a value was not read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KvError {
    /// Somebody else has written meanwhile.
    #[error("the value has version {current}, not {expected}: read it again")]
    Conflict {
        /// What was expected.
        expected: u64,
        /// What there is; 0 for nothing.
        current: u64,
    },
    /// A key or a value of a size that it may not have.
    #[error("{0}")]
    Limit(String),
    /// The plugin's storage has no room for it.
    #[error("the plugin's storage is full: {used} bytes are used, at most {most}; delete what is not needed")]
    Full {
        /// Bytes in use.
        used: u64,
        /// Bytes that may be used.
        most: u64,
    },
    /// The store does not work.
    #[error("the plugin's storage failed: {0}")]
    Failed(String),
}

/// Keeps the values of all plugins.
pub trait KvStore: Send + Sync {
    /// The value of a key; none where there is none.
    fn get<'a>(&'a self, space: &'a KvSpace, key: &'a str) -> BoxFuture<'a, Result<Option<KvEntry>, KvError>>;

    /// Writes and answers the new version. With `expected`, only over that version (0: over nothing), else
    /// [`KvError::Conflict`]. The bytes of all keys and values of the plugin, in every space, stay within `quota`, else
    /// [`KvError::Full`]. Comparison, count and write are one step, also between processes.
    fn set<'a>(
        &'a self,
        space: &'a KvSpace,
        key: &'a str,
        value: Vec<u8>,
        expected: Option<u64>,
        quota: u64,
    ) -> BoxFuture<'a, Result<u64, KvError>>;

    /// Removes a key and answers whether it was there.
    fn delete<'a>(&'a self, space: &'a KvSpace, key: &'a str) -> BoxFuture<'a, Result<bool, KvError>>;

    /// The keys with that prefix, sorted.
    fn keys<'a>(&'a self, space: &'a KvSpace, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, KvError>>;

    /// Removes all that is kept for a plugin, in every scope.
    fn forget<'a>(&'a self, origin: &'a PluginOrigin, plugin: &'a PluginId) -> BoxFuture<'a, Result<(), KvError>>;
}

/// A plugin's way to the store: checks keys and quotas.
pub(crate) struct KvDesk {
    store: Arc<dyn KvStore>,
    origin: PluginOrigin,
    limits: Arc<Limits>,
}

impl KvDesk {
    pub(crate) fn new(store: Arc<dyn KvStore>, origin: PluginOrigin, limits: Arc<Limits>) -> Self {
        Self { store, origin, limits }
    }

    /// Where its plugin is from.
    pub(crate) fn origin(&self) -> &PluginOrigin {
        &self.origin
    }

    pub(crate) async fn get(&self, space: &KvSpace, key: &str) -> Result<Option<KvEntry>, KvError> {
        self.check_key(key)?;
        self.store.get(space, key).await
    }

    pub(crate) async fn set(
        &self,
        space: &KvSpace,
        key: &str,
        value: Vec<u8>,
        expected: Option<u64>,
    ) -> Result<u64, KvError> {
        self.check_key(key)?;
        let (size, most) = (value.len(), self.limits.kv.value);
        if size > most {
            return Err(KvError::Limit(format!("the value has {size} bytes; at most {most}")));
        }
        self.store.set(space, key, value, expected, self.limits.kv.total).await
    }

    pub(crate) async fn delete(&self, space: &KvSpace, key: &str) -> Result<bool, KvError> {
        self.check_key(key)?;
        self.store.delete(space, key).await
    }

    pub(crate) async fn keys(&self, space: &KvSpace, prefix: &str) -> Result<Vec<String>, KvError> {
        self.store.keys(space, prefix).await
    }

    fn check_key(&self, key: &str) -> Result<(), KvError> {
        let most = self.limits.kv.key;
        if (1..=most).contains(&key.len()) {
            return Ok(());
        }
        Err(KvError::Limit(format!("a key has 1 to {most} bytes; this one has {}", key.len())))
    }
}
