//! Sessions and their events as rows.
//!
//! An event is a row of JSON. The functions run inside the worker's transaction. Knows nothing about threads and queues.

use std::collections::HashSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acp_runtime_agent::event::{self, SessionEvent};
use acp_runtime_agent::store::{KeptSession, ListQuery, SessionPage, SessionRecord, SessionSetup, StoreError};
use acp_runtime_agent::transcript::SessionId;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::de::DeserializeOwned;

use super::owner::Owner;
use super::schema::Fault;
use super::{Arrears, Retention};

const COLUMNS: &str = "id, cwd, additional, title, updated, key, system_prompt";

/// Makes a session known and the owner's; one that is known already stays as it is.
pub(super) fn insert(db: &Connection, owner: &Owner, record: &SessionRecord) -> Result<(), Fault> {
    let SessionRecord { id, setup, title, updated } = record;
    let (additional, system_prompt) = as_json(setup)?;
    let (updated, name) = (micros(*updated), owner.name()?);
    db.prepare_cached(
        "INSERT INTO session (id, cwd, additional, title, updated, owner, system_prompt)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (id) DO NOTHING",
    )?
    .execute(params![id.as_str(), setup.cwd, additional, title, updated, name, system_prompt])?;
    Ok(())
}

/// Makes a session the owner's, unless it is that of another process that lives.
pub(super) fn claim(db: &Connection, owner: &Owner, session: &SessionId) -> Result<(), Fault> {
    refuse_foreign(db, owner, session)?;
    db.prepare_cached("UPDATE session SET owner = ?2 WHERE id = ?1")?
        .execute(params![session.as_str(), owner.name()?])?;
    Ok(())
}

/// Writes what is owed to a session. Fails where another process has gone on with it meanwhile.
pub(super) fn make_good(db: &Connection, owner: &Owner, session: &SessionId, owed: &Arrears) -> Result<(), Fault> {
    claim(db, owner, session)?;
    let kept: Option<i64> = db
        .prepare_cached("SELECT events FROM session WHERE id = ?1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    if kept.is_some_and(|kept| usize::try_from(kept) != Ok(owed.seen)) {
        return Err(Fault::unwritable(format!("session `{session}` has gone on elsewhere meanwhile; load it again")));
    }
    set_up(db, session, &owed.setup)?;
    if owed.events.is_empty() { Ok(()) } else { append(db, session, &owed.events) }
}

/// Makes the owner's session nobody's.
pub(super) fn give_back(db: &Connection, owner: &Owner, session: &SessionId) -> Result<(), Fault> {
    db.prepare_cached("UPDATE session SET owner = NULL WHERE id = ?1 AND owner = ?2")?
        .execute(params![session.as_str(), owner.name()?])?;
    Ok(())
}

fn refuse_foreign(db: &Connection, owner: &Owner, session: &SessionId) -> Result<(), Fault> {
    let name: Option<Option<String>> = db
        .prepare_cached("SELECT owner FROM session WHERE id = ?1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    match name.flatten().map(|name| owner.holder(&name)).transpose()?.flatten() {
        Some(process) => Err(Fault::InUse { session: session.clone(), process }),
        None => Ok(()),
    }
}

/// Keeps what a known session is opened with from now on.
pub(super) fn set_up(db: &Connection, session: &SessionId, setup: &SessionSetup) -> Result<(), Fault> {
    let (additional, system_prompt) = as_json(setup)?;
    db.prepare_cached("UPDATE session SET cwd = ?2, additional = ?3, system_prompt = ?4 WHERE id = ?1")?
        .execute(params![session.as_str(), setup.cwd, additional, system_prompt])?;
    Ok(())
}

/// The columns of a setup that are JSON: the further roots, and the client's instructions.
fn as_json(setup: &SessionSetup) -> Result<(String, Option<String>), Fault> {
    let additional = serde_json::to_string(&setup.additional).map_err(|error| unserializable(&error))?;
    let system_prompt = setup.system_prompt.as_ref().map(serde_json::to_string).transpose();
    Ok((additional, system_prompt.map_err(|error| unserializable(&error))?))
}

/// Keeps events of a known session, in order.
pub(super) fn append(db: &Connection, session: &SessionId, events: &[SessionEvent]) -> Result<(), Fault> {
    let title = events.iter().rev().find_map(|event| match event {
        SessionEvent::Title { title, .. } => Some(title),
        _ => None,
    });
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    let (key, end): (i64, i64) = db
        .prepare_cached(
            "UPDATE session SET events = events + ?2, updated = ?3, title = coalesce(?4, title) WHERE id = ?1
             RETURNING key, events",
        )?
        .query_row(params![session.as_str(), count, micros(SystemTime::now()), title], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?
        .ok_or_else(|| Fault::unwritable(format!("it knows no session `{session}`; it may have been deleted")))?;
    let mut insert = db.prepare_cached("INSERT INTO event (session, place, format, body) VALUES (?1, ?2, ?3, ?4)")?;
    for (place, event) in (end - count..).zip(events) {
        let body = serde_json::to_string(event).map_err(|error| unserializable(&error))?;
        insert.execute(params![key, place, event::FORMAT, body])?;
    }
    Ok(())
}

/// Keeps a new session with its first events, and copies what plugins have stored for the one that it goes on from.
pub(super) fn fork(
    db: &Connection,
    owner: &Owner,
    source: &SessionId,
    record: &SessionRecord,
    events: &[SessionEvent],
) -> Result<(), Fault> {
    insert(db, owner, record)?;
    if !events.is_empty() {
        append(db, &record.id, events)?;
    }
    db.prepare_cached(
        "INSERT INTO kv (plugin, scope, owner, key, value, version)
         SELECT plugin, scope, ?2, key, value, version FROM kv WHERE scope = 'session' AND owner = ?1",
    )?
    .execute([source.as_str(), record.id.as_str()])?;
    Ok(())
}

/// A session and all its events in order.
pub(super) fn load(db: &Connection, session: &SessionId) -> Result<Option<KeptSession>, Fault> {
    let found = db
        .prepare_cached(&format!("SELECT {COLUMNS} FROM session WHERE id = ?1"))?
        .query_row([session.as_str()], |row| Ok((record(row)?, row.get::<_, i64>(5)?)))
        .optional()?;
    let Some((record, key)) = found else { return Ok(None) };
    let mut select = db.prepare_cached("SELECT format, body, place FROM event WHERE session = ?1 ORDER BY place")?;
    let mut rows = select.query([key])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let (found, known) = (row.get(0)?, i64::from(event::FORMAT));
        if found > known {
            return Err(Fault::Newer { found, known });
        }
        let body = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let event = serde_json::from_str(body).map_err(|error| {
            let place = row.get::<_, i64>(2).unwrap_or_default();
            Fault::Damaged(format!("event {place} of session `{session}` cannot be read: {error}"))
        })?;
        events.push(event);
    }
    Ok(Some((record, events)))
}

/// One page of the sessions that have events, newest first.
pub(super) fn list(
    db: &Connection,
    cwd: Option<&str>,
    after: Option<Place>,
    limit: usize,
) -> Result<SessionPage, Fault> {
    let limit_and_one = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut select = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM session
         WHERE events > 0 AND (:cwd IS NULL OR cwd = :cwd)
           AND (:updated IS NULL OR (updated, key) < (:updated, :key))
         ORDER BY updated DESC, key DESC LIMIT :limit"
    ))?;
    let rows = select.query_map(
        named_params! {
            ":cwd": cwd,
            ":updated": after.map(|place| place.updated),
            ":key": after.map(|place| place.key),
            ":limit": limit_and_one,
        },
        |row| Ok((record(row)?, Place { updated: row.get(4)?, key: row.get(5)? })),
    )?;
    let mut found: Vec<(SessionRecord, Place)> = rows.collect::<Result<_, _>>()?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|(_, place)| place.cursor());
    Ok(SessionPage { sessions: found.into_iter().map(|(record, _)| record).collect(), next })
}

/// Forgets a session, its events and what plugins have stored for it, unless another process works on it.
pub(super) fn delete(db: &Connection, owner: &Owner, session: &SessionId) -> Result<(), Fault> {
    refuse_foreign(db, owner, session)?;
    forget(db, session.as_str())
}

fn forget(db: &Connection, session: &str) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM session WHERE id = ?1")?.execute([session])?;
    db.prepare_cached("DELETE FROM kv WHERE scope = 'session' AND owner = ?1")?.execute([session])?;
    Ok(())
}

/// Forgets what plugins have stored for a session that is forgotten, since then.
pub(super) fn forget_values(db: &Connection, session: &SessionId) -> Result<(), Fault> {
    db.prepare_cached(
        "DELETE FROM kv WHERE scope = 'session' AND owner = ?1
         AND NOT EXISTS (SELECT 1 FROM session WHERE id = ?1)",
    )?
    .execute([session.as_str()])?;
    Ok(())
}

/// Forgets the sessions that are not to be kept and that nobody works on; says how many.
pub(super) fn forget_old(
    db: &Connection,
    owner: &Owner,
    now: SystemTime,
    retention: Retention,
) -> Result<usize, Fault> {
    const DAY: Duration = Duration::from_hours(24);
    let Retention { days, sessions } = retention;
    let before = |days: u32| now.checked_sub(DAY * days).filter(|_| days > 0).map(micros);
    let old: Vec<(String, Option<String>)> = db
        .prepare_cached(
            "SELECT id, owner FROM session
             WHERE updated < :limit
                OR (events = 0 AND updated < :yesterday)
                OR key IN (SELECT key FROM session WHERE events > 0 AND :most > 0
                           ORDER BY updated DESC, key DESC LIMIT -1 OFFSET :most)",
        )?
        .query_map(named_params! { ":limit": before(days), ":yesterday": before(1), ":most": sessions }, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut forgotten = 0;
    for (session, name) in old {
        let is_open = match &name {
            Some(name) => owner.is_me(name) || owner.holder(name)?.is_some(),
            None => false,
        };
        if !is_open {
            forget(db, &session)?;
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

/// The ids of all sessions.
pub(super) fn ids(db: &Connection) -> Result<HashSet<String>, Fault> {
    Ok(db.prepare_cached("SELECT id FROM session")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Where a page ends: the last session on it. Later insertions do not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    updated: i64,
    key: i64,
}

impl Place {
    /// Reads the cursor of a query.
    pub(super) fn of(query: &ListQuery) -> Result<Option<Self>, StoreError> {
        let Some(cursor) = &query.cursor else { return Ok(None) };
        let place = Self::parse(cursor).ok_or_else(|| StoreError::BadCursor(cursor.chars().take(100).collect()))?;
        Ok(Some(place))
    }

    fn cursor(self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(format!("{}.{}", self.updated, self.key))
    }

    fn parse(cursor: &str) -> Option<Self> {
        let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (updated, key) = text.split_once('.')?;
        let place = Self { updated: updated.parse().ok()?, key: key.parse().ok()? };
        // Only the one spelling that this list gives out.
        (place.cursor() == cursor).then_some(place)
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let setup = SessionSetup {
        cwd: row.get(1)?,
        additional: from_json(row, 2)?.unwrap_or_default(),
        system_prompt: from_json(row, 6)?,
    };
    Ok(SessionRecord {
        id: SessionId::new(row.get_ref(0)?.as_str()?),
        setup,
        title: row.get(3)?,
        updated: time(row.get(4)?),
    })
}

fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
    let value = serde_json::from_str(text);
    value.map(Some).map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

/// Microseconds since 1970.
pub(super) fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// What [`micros`] wrote.
pub(super) fn time(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros.try_into().unwrap_or(0))
}

fn unserializable(error: &serde_json::Error) -> Fault {
    Fault::unwritable(format!("not expressible as JSON: {error}"))
}
