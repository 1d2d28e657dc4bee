//! Small values that plugins keep: by origin and plugin, scope, owner and key.
//!
//! Each value has a version that grows with every write, so that two writers can notice each other. Every plugin sees
//! its own values alone, and a quota over all its scopes is kept inside the write. Values of a session go with it. A
//! write whose call was cancelled before its turn is not done.

use acp_runtime_agent::capability::{KvScope, PluginId};
use acp_runtime_agent::store::StoreError;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::schema::Fault;

/// Whose values: those of one plugin, for one session, one project or the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvSpace {
    /// Where the plugin is from, in a word or more. Two with one id share nothing.
    pub origin: String,
    /// The plugin.
    pub plugin: PluginId,
    /// Who shares them.
    pub scope: KvScope,
    /// The session's id, the project's folder; empty for the user.
    pub owner: String,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvWrite {
    /// It was done; the key has this version now.
    Written(u64),
    /// The key has another version than the expected one: 0 where it does not exist.
    Conflict(u64),
    /// It would take the plugin over its quota; so many bytes are used now.
    OverQuota(u64),
}

impl SqliteStore {
    /// A value and its version; versions start at 1.
    pub async fn kv_get(&self, space: KvSpace, key: String) -> Result<Option<(Vec<u8>, u64)>, StoreError> {
        let find = move |db: &Connection| {
            let found = db
                .prepare_cached(
                    "SELECT value, version FROM kv WHERE plugin = ?1 AND scope = ?2 AND owner = ?3 AND key = ?4",
                )?
                .query_row(params![space.whose(), space.scope(), space.owner, key], |row| {
                    Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
                })
                .optional()?;
            Ok(found)
        };
        self.0.reader.submit(find).await
    }

    /// Writes a value. With `expected`, only where that is the key's version (0: it does not exist). `quota` is for all
    /// that the plugin keeps, in bytes as [`SqliteStore::kv_usage`] counts them.
    pub async fn kv_set(
        &self,
        space: KvSpace,
        key: String,
        value: Vec<u8>,
        expected: Option<u64>,
        quota: u64,
    ) -> Result<KvWrite, StoreError> {
        self.0.writer.submit_while_wanted(move |db| write(db, &space, &key, &value, expected, quota)).await
    }

    /// Removes a value; says whether there was one.
    pub async fn kv_delete(&self, space: KvSpace, key: String) -> Result<bool, StoreError> {
        let remove = move |db: &Connection| {
            let gone = db
                .prepare_cached("DELETE FROM kv WHERE plugin = ?1 AND scope = ?2 AND owner = ?3 AND key = ?4")?
                .execute(params![space.whose(), space.scope(), space.owner, key])?;
            Ok(gone > 0)
        };
        self.0.writer.submit_while_wanted(remove).await
    }

    /// The keys that begin with `prefix`, sorted by their bytes.
    pub async fn kv_list_keys(&self, space: KvSpace, prefix: String) -> Result<Vec<String>, StoreError> {
        let list = move |db: &Connection| {
            let keys = db
                .prepare_cached(
                    "SELECT key FROM kv WHERE plugin = ?1 AND scope = ?2 AND owner = ?3
                     AND substr(key, 1, length(?4)) = ?4 ORDER BY key",
                )?
                .query_map(params![space.whose(), space.scope(), space.owner, prefix], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            Ok(keys)
        };
        self.0.reader.submit(list).await
    }

    /// What a plugin's values take in all scopes, in bytes: keys, values, and 64 for each of them. It is that of a space
    /// of its, whichever.
    pub async fn kv_usage(&self, space: KvSpace) -> Result<u64, StoreError> {
        self.0.reader.submit(move |db| usage(db, &space)).await
    }

    /// Removes all values of the plugin of that id which is from `origin`.
    pub async fn kv_forget(&self, origin: &str, plugin: &PluginId) -> Result<(), StoreError> {
        let whose = whose(origin, plugin);
        let forget = move |db: &Connection| {
            db.prepare_cached("DELETE FROM kv WHERE plugin = ?1")?.execute([&whose])?;
            db.prepare_cached("DELETE FROM kv_usage WHERE plugin = ?1")?.execute([&whose])?;
            Ok(())
        };
        self.0.writer.submit(forget).await
    }
}

/// As the table names the owner of a value. No id has a space in it.
fn whose(origin: &str, plugin: &PluginId) -> String {
    format!("{origin} {plugin}")
}

impl KvSpace {
    fn whose(&self) -> String {
        whose(&self.origin, &self.plugin)
    }

    fn scope(&self) -> &'static str {
        match self.scope {
            KvScope::Session => "session",
            KvScope::Project => "project",
            KvScope::User => "user",
        }
    }
}

fn write(
    db: &Connection,
    space: &KvSpace,
    key: &str,
    value: &[u8],
    expected: Option<u64>,
    quota: u64,
) -> Result<KvWrite, Fault> {
    let place = params![space.whose(), space.scope(), space.owner, key];
    let current = db
        .prepare_cached("SELECT version FROM kv WHERE plugin = ?1 AND scope = ?2 AND owner = ?3 AND key = ?4")?
        .query_row(place, |row| row.get::<_, i64>(0))
        .optional()?
        .unwrap_or(0)
        .unsigned_abs();
    if expected.is_some_and(|expected| expected != current) {
        return Ok(KvWrite::Conflict(current));
    }
    let before = usage(db, space)?;
    db.execute_batch("SAVEPOINT kv_write")?;
    let version: i64 = db
        .prepare_cached(
            "INSERT INTO kv (plugin, scope, owner, key, value, version) VALUES (?1, ?2, ?3, ?4, ?5, 1)
             ON CONFLICT DO UPDATE SET value = excluded.value, version = version + 1 RETURNING version",
        )?
        .query_row(params![space.whose(), space.scope(), space.owner, key, value], |row| row.get(0))?;
    let after = usage(db, space)?;
    // A write that frees space is always allowed: the quota may have been lowered.
    if after > quota && after > before {
        db.execute_batch("ROLLBACK TO kv_write; RELEASE kv_write")?;
        return Ok(KvWrite::OverQuota(before));
    }
    db.execute_batch("RELEASE kv_write")?;
    Ok(KvWrite::Written(version.unsigned_abs()))
}

fn usage(db: &Connection, space: &KvSpace) -> Result<u64, Fault> {
    let bytes = db
        .prepare_cached("SELECT bytes FROM kv_usage WHERE plugin = ?1")?
        .query_row([space.whose()], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(bytes.unwrap_or(0).unsigned_abs())
}
