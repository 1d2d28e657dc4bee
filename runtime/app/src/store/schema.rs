//! The database file: making it, opening it, bringing an older one up to date, and saying what is wrong with it.
//!
//! Knows the tables but not what is kept in them. A newer file and a foreign one are refused before anything in them is
//! changed. Tested through `SqliteStore`.

#![expect(clippy::disallowed_methods, reason = "this room owns the database file")]

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::transcript::SessionId;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

/// `ACPR`: says whose database it is (`PRAGMA application_id`).
const APPLICATION: i64 = 0x4143_5052;

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

/// The steps from one version of the tables to the next; their number is the version (`PRAGMA user_version`). A step
/// that was released is never changed.
pub(super) const STEPS: &[&str] = &[
    "
    CREATE TABLE session (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        cwd TEXT NOT NULL,
        additional TEXT NOT NULL,  -- a JSON array
        title TEXT,
        updated INTEGER NOT NULL,  -- microseconds since 1970
        events INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX session_by_time ON session (updated DESC, key DESC) WHERE events > 0;

    CREATE TABLE event (
        session INTEGER NOT NULL REFERENCES session (key) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        format INTEGER NOT NULL,
        body TEXT NOT NULL,  -- JSON
        PRIMARY KEY (session, place)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE kv (
        plugin TEXT NOT NULL,
        scope TEXT NOT NULL,
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        version INTEGER NOT NULL,
        PRIMARY KEY (plugin, scope, owner, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX kv_by_owner ON kv (scope, owner);

    -- What each plugin's entries cost, kept by the triggers below; an entry costs its bytes and 64 more.
    CREATE TABLE kv_usage (plugin TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TRIGGER kv_inserted AFTER INSERT ON kv BEGIN
        INSERT INTO kv_usage VALUES (new.plugin, octet_length(new.key) + octet_length(new.value) + 64)
            ON CONFLICT (plugin) DO UPDATE SET bytes = bytes + excluded.bytes;
    END;
    CREATE TRIGGER kv_updated AFTER UPDATE OF value ON kv BEGIN
        UPDATE kv_usage SET bytes = bytes + octet_length(new.value) - octet_length(old.value)
            WHERE plugin = new.plugin;
    END;
    CREATE TRIGGER kv_deleted AFTER DELETE ON kv BEGIN
        UPDATE kv_usage SET bytes = bytes - octet_length(old.key) - octet_length(old.value) - 64
            WHERE plugin = old.plugin;
    END;

    CREATE TABLE answer (
        subject TEXT NOT NULL,
        project TEXT NOT NULL,
        effect_class TEXT NOT NULL,
        effect_key TEXT NOT NULL,
        allowed INTEGER NOT NULL,
        created INTEGER NOT NULL,  -- microseconds since 1970
        publisher TEXT,
        plugin TEXT,
        capability_hash TEXT,
        PRIMARY KEY (project, subject, effect_class, effect_key)
    ) STRICT, WITHOUT ROWID;
",
    "
    ALTER TABLE session ADD COLUMN owner TEXT;  -- the process that works on it: a file in the folder of owners
",
    "
    ALTER TABLE session ADD COLUMN system_prompt TEXT;  -- a JSON object
",
    "
    -- Kept without saying which plugin they are about: asked for again.
    DELETE FROM answer WHERE subject LIKE 'plugin %' AND (plugin IS NULL OR capability_hash IS NULL);
",
];

/// Why work on the database failed, before the file's name is added.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database's own words.
    Sqlite(rusqlite::Error),
    /// The system or the caller's data did not let it be written.
    Unwritable(String),
    /// What is in it cannot be understood.
    Damaged(String),
    /// Something in it has a format that is not known yet.
    Newer { found: i64, known: i64 },
    /// Another process works on the session.
    InUse { session: SessionId, process: u32 },
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

impl Fault {
    /// The error for callers, with what to do about it.
    pub(super) fn at(self, path: &Path) -> StoreError {
        let path = path.display().to_string();
        let unwritable = |reason: String| StoreError::Unwritable { path: path.clone(), reason };
        let damaged = |reason: &dyn std::fmt::Display| StoreError::Damaged {
            path: path.clone(),
            reason: format!("{reason}; move the file away to begin a new one"),
        };
        match self {
            Self::Unwritable(reason) => unwritable(reason),
            Self::Damaged(reason) => damaged(&reason),
            Self::Newer { found, known } => StoreError::Newer { path, found, known },
            Self::InUse { session, process } => StoreError::InUse { session, process },
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => unwritable(format!("{error}; free some space and try again")),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    unwritable(format!("{error}; another process is writing to it, try again"))
                }
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    unwritable(format!("{error}; check the permissions of the file and its folder"))
                }
                Some(
                    ErrorCode::SystemIoFailure
                    | ErrorCode::OutOfMemory
                    | ErrorCode::TooBig
                    | ErrorCode::OperationInterrupted
                    | ErrorCode::OperationAborted
                    | ErrorCode::FileLockingProtocolFailed
                    | ErrorCode::NoLargeFileSupport,
                ) => unwritable(error.to_string()),
                _ => damaged(&error),
            },
        }
    }
}

/// Opens the database, makes it where there is none (mode 0600 in a folder of mode 0700), and brings it up to date.
pub(super) fn open(path: &Path) -> Result<Connection, Fault> {
    make_private_file(path)?;
    let mut db =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(PATIENCE)?;
    refuse_foreign(&db)?;
    let journal: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if journal != "wal" {
        db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    }
    db.execute_batch(
        "PRAGMA synchronous = NORMAL;
         PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON;
         PRAGMA journal_size_limit = 16777216;",
    )?;
    migrate(&mut db)?;
    Ok(db)
}

fn refuse_foreign(db: &Connection) -> Result<(), Fault> {
    // One statement, so that a process which is just making the tables is seen before or after, never in between.
    let query = "SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id";
    let (application, tables): (i64, i64) = db.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if application != APPLICATION && (application != 0 || tables != 0) {
        return Err(Fault::Damaged("it is a database of another program".to_owned()));
    }
    refuse_newer(db).map(|_| ())
}

fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// The version of the tables.
fn refuse_newer(db: &Connection) -> Result<usize, Fault> {
    let found: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match usize::try_from(found) {
        Ok(version) if version <= STEPS.len() => Ok(version),
        Ok(_) => Err(Fault::Newer { found, known: newest() }),
        Err(_) => Err(Fault::Damaged(format!("its version is `{found}`"))),
    }
}

fn migrate(db: &mut Connection) -> Result<(), Fault> {
    if refuse_newer(db)? == STEPS.len() {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have been faster.
    for step in STEPS.iter().skip(refuse_newer(&transaction)?) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", newest())?;
    Ok(transaction.commit()?)
}

/// The files beside it (`-wal`, `-shm`) get the mode of this one.
fn make_private_file(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let mut folders = std::fs::DirBuilder::new();
    let mut file = OpenOptions::new();
    folders.recursive(true);
    file.append(true).create(true);
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        folders.create(folder)?;
    }
    file.open(path).map(|_| ())
}
