//! Which projects the person has trusted, and which not: the content that was answered about, by the project's folder.
//!
//! Knows nothing about what the content is. A later answer about a project takes the place of an earlier one.

use std::time::SystemTime;

use acp_runtime_agent::store::StoreError;
use acp_runtime_host::package::Digest;
use rusqlite::{OptionalExtension as _, params};

use super::schema::Fault;
use super::{SqliteStore, journal};

/// What the person said of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectTrust {
    /// Its folder, absolute and without links.
    pub folder: String,
    /// Of what they looked at.
    pub content: Digest,
    /// Yes or no.
    pub trusted: bool,
    /// When.
    pub since: SystemTime,
}

impl SqliteStore {
    /// What was said of the project in `folder`; none where nothing was.
    pub async fn trust(&self, folder: &str) -> Result<Option<ProjectTrust>, StoreError> {
        let folder = folder.to_owned();
        let found = self.0.reader.submit(move |db| {
            let row = db
                .prepare_cached("SELECT folder, content, trusted, created FROM trust WHERE folder = ?1")?
                .query_row([folder], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
                .optional()?;
            row.map(trust).transpose()
        });
        found.await
    }

    /// All that was said, by folder.
    pub async fn all_trust(&self) -> Result<Vec<ProjectTrust>, StoreError> {
        let found = self.0.reader.submit(|db| {
            let mut select =
                db.prepare_cached("SELECT folder, content, trusted, created FROM trust ORDER BY folder")?;
            let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
            rows.map(|row| trust(row?)).collect()
        });
        found.await
    }

    /// Keeps what the person says of the project in `folder`.
    pub async fn set_trust(&self, folder: &str, content: Digest, trusted: bool) -> Result<(), StoreError> {
        let folder = folder.to_owned();
        let kept = self.0.writer.submit(move |db| {
            db.prepare_cached(
                "INSERT INTO trust (folder, content, trusted, created) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET content = excluded.content, trusted = excluded.trusted,
                     created = excluded.created",
            )?
            .execute(params![folder, content.to_string(), trusted, journal::micros(SystemTime::now())])?;
            Ok(())
        });
        kept.await
    }

    /// Forgets what was said of the project in `folder`; whether anything was.
    pub async fn forget_trust(&self, folder: &str) -> Result<bool, StoreError> {
        let folder = folder.to_owned();
        let forgotten = self
            .0
            .writer
            .submit(move |db| Ok(db.prepare_cached("DELETE FROM trust WHERE folder = ?1")?.execute([folder])? > 0));
        forgotten.await
    }
}

fn trust((folder, content, trusted, created): (String, String, bool, i64)) -> Result<ProjectTrust, Fault> {
    let content = content.parse().map_err(|error| Fault::Damaged(format!("trust in `{folder}`: {error}")))?;
    Ok(ProjectTrust { folder, content, trusted, since: journal::time(created) })
}
