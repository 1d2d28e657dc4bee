//! The database file: making it, opening it, bringing an older one up to date, and saying what is wrong with it.
//!
//! Knows the tables but not what is kept in them. A newer file and a foreign one are refused before anything in them is
//! changed. A file that cannot be written can still be read: then nothing is made or changed, the files beside it
//! included. Tested through `SqliteStore`.

use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_host::{full_disk, regular_file};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, TransactionBehavior};

use super::patience::Waiting;

/// `ACPR`: says whose database it is (`PRAGMA application_id`).
const APPLICATION: i64 = 0x4143_5052;

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
    "
    CREATE TABLE trust (
        folder TEXT PRIMARY KEY,  -- a project's
        content TEXT NOT NULL,  -- the digest of what was looked at
        trusted INTEGER NOT NULL,
        created INTEGER NOT NULL  -- microseconds since 1970
    ) STRICT, WITHOUT ROWID;
",
    "
    -- The publisher stands before the plugin's id. Nothing says whose values these were: ours, or those of what was
    -- installed under that id.
    UPDATE kv SET plugin = CASE WHEN plugin LIKE 'aar:%' THEN 'bundled ' ELSE 'installed ' END || plugin;
    UPDATE kv_usage SET plugin = CASE WHEN plugin LIKE 'aar:%' THEN 'bundled ' ELSE 'installed ' END || plugin;
",
];

/// Why work on the database failed, before the file's name is added.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database's own words.
    Sqlite(rusqlite::Error),
    /// The system or the caller's data did not let it be written.
    Unwritable {
        /// Why.
        reason: String,
        /// Whether the same may work later.
        retryable: bool,
    },
    /// What is in it cannot be understood.
    Damaged(String),
    /// Something in it has a format that is not known yet.
    Newer { found: i64, known: i64 },
    /// Another process works on the session.
    InUse { session: SessionId, process: u32 },
    /// It was taken back before it was begun.
    TakenBack,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        let retryable = full_disk::explains(&error);
        Self::Unwritable { reason: error.to_string(), retryable }
    }
}

impl Fault {
    /// Not to be written, whatever happens later.
    pub(super) fn unwritable(reason: impl Into<String>) -> Self {
        Self::Unwritable { reason: reason.into(), retryable: false }
    }

    /// Whether the system does not let the file be written, so that reading it is worth trying. Whoever waits for
    /// another process is not among them: it is just writing.
    fn is_of_the_system(&self) -> bool {
        match self {
            Self::Unwritable { .. } => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                        | ErrorCode::PermissionDenied
                        | ErrorCode::SystemIoFailure
                )
            ),
            Self::Damaged(_) | Self::Newer { .. } | Self::InUse { .. } | Self::TakenBack => false,
        }
    }

    /// The error for callers, with what to do about it.
    pub(super) fn at(self, path: &Path) -> StoreError {
        let path = path.display().to_string();
        let unwritable = |reason: String, retryable| StoreError::Unwritable { path: path.clone(), reason, retryable };
        let damaged = |reason: &dyn std::fmt::Display| StoreError::Damaged {
            path: path.clone(),
            reason: format!("{reason}; move the file away to begin a new one"),
        };
        match self {
            Self::Unwritable { reason, retryable } => unwritable(reason, retryable),
            Self::Damaged(reason) => damaged(&reason),
            Self::Newer { found, known } => StoreError::Newer { path, found, known },
            Self::InUse { session, process } => StoreError::InUse { session, process },
            Self::TakenBack => StoreError::TakenBack,
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => unwritable(format!("{error}; free some space and try again"), true),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
                Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                    unwritable(format!("{error}; check the permissions of the file and its folder"), false)
                }
                // A disk without room for the files beside the database is among them.
                Some(
                    ErrorCode::SystemIoFailure
                    | ErrorCode::OutOfMemory
                    | ErrorCode::OperationInterrupted
                    | ErrorCode::OperationAborted
                    | ErrorCode::FileLockingProtocolFailed,
                ) => unwritable(format!("{error}; see that the disk has room, and try again"), true),
                Some(ErrorCode::TooBig | ErrorCode::NoLargeFileSupport) => unwritable(error.to_string(), false),
                _ => damaged(&error),
            },
        }
    }
}

/// Opens the database, makes it where there is none (mode 0600 in a folder of mode 0700), and brings it up to date.
pub(super) fn open(path: &Path, waiting: &Waiting) -> Result<Connection, Fault> {
    require_files(path)?;
    make_private_file(path)?;
    let mut db =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    wait(&mut db, waiting)?;
    if db.is_readonly(MAIN_DB)? {
        return Err(Fault::unwritable("it may only be read; check the permissions of the file and its folder"));
    }
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

/// A database as it can be read.
pub(super) enum Readable {
    /// As ever.
    Whole(Connection),
    /// It cannot be written, and the fault says why. Good for one question: what other processes write meanwhile, and
    /// that it can be written again, may not be seen.
    Frozen(Connection, Fault),
}

/// [`open`], and where the system does not let the file be written, whatever can be read of it.
pub(super) fn open_to_read(path: &Path, waiting: &Waiting) -> Result<Readable, Fault> {
    match open(path, waiting) {
        Ok(db) => Ok(Readable::Whole(db)),
        Err(fault) if fault.is_of_the_system() => match open_frozen(path, waiting) {
            Ok(db) => Ok(Readable::Frozen(db, fault)),
            // What cannot even be read has the first fault, unless it is not the system's.
            Err(second) if second.is_of_the_system() => Err(fault),
            Err(second) => Err(second),
        },
        Err(fault) => Err(fault),
    }
}

/// Opens the database and leaves all files as they are; where there is none, an empty one in memory.
fn open_frozen(path: &Path, waiting: &Waiting) -> Result<Connection, Fault> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match std::fs::metadata(path) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            let mut db = Connection::open_in_memory()?;
            migrate(&mut db)?;
            return Ok(db);
        }
        there => there?,
    };
    // Beside a process that writes, or after one that was killed, the files beside it are there and can be read.
    let db = readable(Connection::open_with_flags(path, READ_ONLY)?, waiting)
        .or_else(|_| readable(open_alone(path)?, waiting))?;
    match refuse_newer(&db)? {
        version if version == STEPS.len() => Ok(db),
        _ => Err(Fault::unwritable("an older version made it, and bringing it up to date means writing to it")),
    }
}

const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The database, which no other process can be writing: without the index of its log, which cannot be made.
fn open_alone(path: &Path) -> Result<Connection, Fault> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.is_file() && log.len() > 0) {
        let db = Connection::open_with_flags_and_vfs(path, READ_ONLY, UNLOCKED)?;
        // The index is in memory then.
        db.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
        return Ok(db);
    }
    // All is in the one file. That can be said in an address only.
    let flags = READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(format!("{}?immutable=1", address(path)), flags)?)
}

fn address(path: &Path) -> String {
    path.as_os_str().as_encoded_bytes().iter().fold("file:".to_owned(), |mut address, byte| {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => address.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(address, "%{byte:02x}")),
        }
        address
    })
}

/// The system's files without locks on them: no process that may not write can lock.
const UNLOCKED: &CStr = if cfg!(unix) { c"unix-none" } else { c"win32-none" };

/// The database, if it is ours and can be read.
fn readable(mut db: Connection, waiting: &Waiting) -> Result<Connection, Fault> {
    wait(&mut db, waiting)?;
    refuse_foreign(&db)?;
    Ok(db)
}

/// Other processes that hold the file are waited for like that.
fn wait(db: &mut Connection, waiting: &Waiting) -> Result<(), Fault> {
    let waiting = waiting.clone();
    Ok(db.busy_handler(Some(move |tried| waiting.once_more(tried)))?)
}

/// `SQLite` opens whatever stands at the paths of its files: it would wait at a pipe without end, and fill the file that a
/// link leads to. Asked by name alone: to open one of these files beside `SQLite` and close it is to let go of its locks.
fn require_files(path: &Path) -> Result<(), Fault> {
    // What cannot be looked at cannot be opened either, and that says why.
    let odd = |looked_at: io::Result<()>| looked_at.err().filter(|error| error.kind() == io::ErrorKind::Other);
    if let Some(error) = odd(regular_file::require_own(path)) {
        return Err(Fault::Damaged(error.to_string()));
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        let file = Path::new(&file);
        let beside = |error: io::Error| {
            format!("`{}` beside it: {error}", file.file_name().unwrap_or(file.as_os_str()).display())
        };
        if let Some(error) = odd(regular_file::require(file)) {
            return Err(Fault::Damaged(beside(error)));
        }
        // What is in the database itself can still be read: `SQLite` follows none of these links.
        if let Some(error) = odd(regular_file::require_own(file)) {
            return Err(Fault::unwritable(format!("{}; remove it", beside(error))));
        }
    }
    Ok(())
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
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        regular_file::private_folder(folder)?;
    }
    regular_file::open_own(path, regular_file::private(OpenOptions::new().append(true).create(true))).map(drop)
}
