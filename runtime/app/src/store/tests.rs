//! The store from outside: the rules of the port, damage, full disks, killed processes.

#![expect(clippy::disallowed_methods, reason = "the tests damage files and kill a child of their own")]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use acp_runtime_agent::capability::{KvScope, PluginId};
use acp_runtime_agent::event::ToolCallUpdate;
use acp_runtime_agent::store::conformance::{self, record, text};
use acp_runtime_agent::transcript::ToolCallId;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;

mod forks;
mod retention;
mod unwritable;

struct Place {
    folder: TempDir,
    file: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/sessions.db");
    Place { folder, file }
}

fn id(session: &str) -> SessionId {
    SessionId::new(session)
}

async fn create(store: &SqliteStore, record: SessionRecord) {
    let _given_back = store.create(record).await.unwrap();
}

async fn append(store: &SqliteStore, session: &str, events: &[SessionEvent]) -> Result<(), StoreError> {
    store.append(&id(session), events.into()).await
}

async fn one_session(file: &Path) -> SqliteStore {
    let store = SqliteStore::new(file);
    create(&store, record("s", "/project")).await;
    append(&store, "s", &[text("m", "kept")]).await.unwrap();
    store
}

async fn events(store: &SqliteStore, session: &str) -> Vec<SessionEvent> {
    store.load(&id(session)).await.unwrap().unwrap().1
}

#[tokio::test]
async fn keeps_the_rules_of_every_session_store() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    conformance::check(|| {
        number.set(number.get() + 1);
        SqliteStore::new(folder.path().join(format!("{}.db", number.get())))
    })
    .await;
}

#[tokio::test]
async fn twenty_thousand_events_come_back_in_order_from_a_new_process() {
    let place = place();
    let made: Vec<SessionEvent> = (0..20_000)
        .map(|n| match n % 100 {
            0 => SessionEvent::ToolCallUpdated(ToolCallUpdate::of(ToolCallId::new(format!("c{n}")))),
            _ => text(&format!("m{}", n / 500), &format!("piece {n} ")),
        })
        .collect();
    let store = SqliteStore::new(&place.file);
    create(&store, record("s", "/project")).await;
    let begun = Instant::now();
    for batch in made.chunks(256) {
        append(&store, "s", batch).await.unwrap();
    }
    println!("20,000 events appended in {:?}", begun.elapsed());
    drop(store);
    let begun = Instant::now();
    let loaded = events(&SqliteStore::new(&place.file), "s").await;
    println!("loaded in {:?}", begun.elapsed());
    assert_eq!(loaded, made);
}

#[tokio::test]
async fn a_new_store_touches_nothing() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    store.leave(Duration::from_secs(1)).await;
    drop(store);
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_was_submitted_is_written_before_the_store_is_gone() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    for n in 0..500 {
        create(&store, record(&format!("s{n}"), "/project")).await;
    }
    drop(store);
    let store = SqliteStore::new(&place.file);
    for n in [0, 499] {
        assert!(store.load(&id(&format!("s{n}"))).await.unwrap().is_some(), "{n}");
    }
}

#[tokio::test]
async fn nobody_else_may_read_it() {
    let place = place();
    let _open = one_session(&place.file).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(place.file.parent().unwrap()), 0o700);
    for entry in std::fs::read_dir(place.file.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[tokio::test]
async fn several_stores_share_a_new_file() {
    let place = place();
    let stores: Vec<SqliteStore> = (0..8).map(|_| SqliteStore::new(&place.file)).collect();
    let work = stores.iter().enumerate().map(async |(n, store)| {
        let session = format!("s{n}");
        create(store, record(&session, "/project")).await;
        for _ in 0..20 {
            append(store, &session, &[text("m", "x")]).await.unwrap();
        }
        store.list(ListQuery { limit: 100, ..ListQuery::default() }).await.unwrap();
    });
    futures::future::join_all(work).await;
    let page = stores[0].list(ListQuery { limit: 100, ..ListQuery::default() }).await.unwrap();
    assert_eq!(page.sessions.len(), 8);
}

#[tokio::test]
async fn an_older_file_is_brought_up_to_date_with_all_that_is_in_it() {
    let place = place();
    std::fs::create_dir(place.file.parent().unwrap()).unwrap();
    let db = Connection::open(&place.file).unwrap();
    db.execute_batch(schema::STEPS[0]).unwrap();
    db.execute_batch(&format!(
        "PRAGMA application_id = {}; PRAGMA user_version = 1;
         INSERT INTO session (id, cwd, additional, title, updated, events) VALUES ('s', '/p', '[\"/q\"]', 'T', 7, 1);
         INSERT INTO event VALUES (1, 0, 1, '{{\"type\":\"title\",\"title\":\"T\"}}');
         INSERT INTO kv VALUES ('aar:tasks', 'user', '', 'k', CAST('ours' AS BLOB), 3);
         INSERT INTO kv VALUES ('acme:x', 'user', '', 'k', CAST('theirs' AS BLOB), 1);",
        0x4143_5052
    ))
    .unwrap();
    drop(db);
    let store = SqliteStore::new(&place.file);
    let _claim = store.claim(&id("s")).await.unwrap();
    let (record, events) = store.load(&id("s")).await.unwrap().unwrap();
    assert_eq!((record.setup.additional, record.setup.system_prompt), (vec!["/q".to_owned()], None));
    assert_eq!(events, [SessionEvent::Title { title: "T".to_owned(), provisional: false }]);
    append(&store, "s", &[text("m", "later")]).await.unwrap();
    for (origin, plugin, value) in [
        ("bundled", "aar:tasks", Some((b"ours".to_vec(), 3))),
        ("installed", "aar:tasks", None),
        ("installed", "acme:x", Some((b"theirs".to_vec(), 1))),
        ("path", "acme:x", None),
    ] {
        let plugin = PluginId::new(plugin).unwrap();
        let space = KvSpace { origin: origin.to_owned(), plugin, scope: KvScope::User, owner: String::new() };
        assert_eq!(store.kv_get(space.clone(), "k".into()).await, Ok(value.clone()), "{space:?}");
        let bytes = value.map_or(0, |(value, _)| 1 + value.len() as u64 + 64);
        assert_eq!(store.kv_usage(space.clone()).await, Ok(bytes), "{space:?}");
    }
    drop(store);
    let version = |db: &Connection| db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    assert_eq!(version(&Connection::open(&place.file).unwrap()), Ok(6));
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let place = place();
    drop(one_session(&place.file).await);
    Connection::open(&place.file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let store = SqliteStore::new(&place.file);
    let refused = store.load(&id("s")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, known: 6, .. }), "{refused}");
    create(&store, record("t", "/project")).await;
    assert_eq!(append(&store, "t", &[text("m", "x")]).await, Err(refused));
    let version: i64 = Connection::open(&place.file)
        .unwrap()
        .query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[tokio::test]
async fn an_event_of_a_newer_format_is_refused() {
    let place = place();
    drop(one_session(&place.file).await);
    let db = Connection::open(&place.file).unwrap();
    db.execute("UPDATE event SET format = 7, body = '{\"type\":\"unheard_of\"}'", []).unwrap();
    let refused = SqliteStore::new(&place.file).load(&id("s")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 7, .. }), "{refused}");
}

#[tokio::test]
async fn damage_is_named_with_what_to_do() {
    let foreign = |file: &Path| {
        std::fs::remove_file(file).unwrap();
        Connection::open(file).unwrap().execute_batch("CREATE TABLE cookies (name)").unwrap();
    };
    let garbage =
        |file: &Path| std::fs::write(file, "this is not a database, whatever its name says\n".repeat(99)).unwrap();
    let holes = |file: &Path| {
        let mut bytes = std::fs::read(file).unwrap();
        let end = bytes.len();
        bytes[4096..end].fill(0xA5);
        std::fs::write(file, bytes).unwrap();
    };
    let body = |file: &Path| {
        Connection::open(file).unwrap().execute("UPDATE event SET body = '{\"type\":'", []).unwrap();
    };
    for (name, damage) in [("foreign", foreign as fn(&Path)), ("garbage", garbage), ("holes", holes), ("body", body)] {
        let place = place();
        drop(one_session(&place.file).await);
        damage(&place.file);
        let store = SqliteStore::new(&place.file);
        let refused = store.load(&id("s")).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Damaged { .. }), "{name}: {refused}");
        assert!(refused.to_string().ends_with("move the file away to begin a new one"), "{name}: {refused}");

        std::fs::rename(&place.file, place.folder.path().join("away")).unwrap();
        assert_eq!(store.load(&id("s")).await, Ok(None), "{name}: a new one was begun");
    }
}

#[tokio::test]
async fn a_repaired_file_works_again_without_a_restart() {
    let place = place();
    drop(one_session(&place.file).await);
    let whole = std::fs::read(&place.file).unwrap();
    std::fs::write(&place.file, "x".repeat(9000)).unwrap();
    let store = SqliteStore::new(&place.file);
    assert!(append(&store, "s", &[text("m", "lost")]).await.is_err());
    std::fs::write(&place.file, whole).unwrap();
    append(&store, "s", &[text("n", "later")]).await.unwrap();
    assert_eq!(events(&store, "s").await, [text("m", "kept"), text("n", "later")]);
}

#[tokio::test]
async fn where_nothing_can_be_written_it_says_so_and_later_goes_on() {
    let place = place();
    // A file stands where the folder should be: the same for every user, root included.
    let folder = place.file.parent().unwrap();
    std::fs::write(folder, "").unwrap();
    let store = SqliteStore::new(&place.file);
    create(&store, record("s", "/project")).await;
    let refused = append(&store, "s", &[text("m", "x")]).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Unwritable { path, .. } if *path == place.file.display().to_string()));
    std::fs::remove_file(folder).unwrap();
    append(&store, "s", &[text("m", "x")]).await.unwrap();
    assert_eq!(events(&store, "s").await.len(), 1);
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_later_appends_work() {
    let place = place();
    let store = one_session(&place.file).await;
    let pages = |most: i64| {
        store.0.writer.submit(move |db| {
            Ok(db.query_row(&format!("PRAGMA max_page_count = {most}"), [], |row| row.get::<_, i64>(0))?)
        })
    };
    pages(1).await.unwrap();
    let big = text("big", &"x".repeat(200_000));
    let refused = append(&store, "s", &[text("m2", "small"), big.clone()]).await.unwrap_err();
    assert!(refused.to_string().contains("free some space"), "{refused}");
    assert_eq!(events(&store, "s").await, [text("m", "kept")], "all or none");
    pages(1_000_000).await.unwrap();
    append(&store, "s", std::slice::from_ref(&big)).await.unwrap();
    assert_eq!(events(&store, "s").await, [text("m", "kept"), big]);
}

#[tokio::test]
async fn one_failed_append_does_not_take_others_with_it() {
    let place = place();
    let store = one_session(&place.file).await;
    let (good, bad) = (id("s"), id("nobody"));
    let all: Vec<_> = (0..40)
        .map(|n| store.append(if n % 2 == 0 { &good } else { &bad }, [text(&format!("m{n}"), "x")].into()))
        .collect();
    let ends = futures::future::join_all(all).await;
    assert!(ends.iter().enumerate().all(|(n, end)| end.is_ok() == (n % 2 == 0)), "{ends:?}");
    assert_eq!(events(&store, "s").await.len(), 21);
}

/// A second store on one file is as a second process: the lock is the open file's.
#[tokio::test]
async fn a_session_is_one_process_s_until_that_gives_it_back() {
    let place = place();
    let (one, other) = (SqliteStore::new(&place.file), SqliteStore::new(&place.file));
    let process = std::process::id();
    let in_use = |claim: Result<Claim, StoreError>| match claim {
        Err(StoreError::InUse { session, process: found }) => session == id("s") && found == process,
        Err(error) => panic!("{error}"),
        Ok(_) => false,
    };
    let created = one.create(record("s", "/project")).await.unwrap();
    append(&one, "s", &[text("m", "x")]).await.unwrap();
    assert!(in_use(other.claim(&id("s")).await));
    let again = one.claim(&id("s")).await.unwrap();
    drop(created);
    assert!(in_use(other.claim(&id("s")).await), "a second claim holds as well");
    assert_eq!(
        other.delete(&id("s"), PointOfNoReturn::default()).await,
        Err(StoreError::InUse { session: id("s"), process }),
        "nor is it deleted under its owner's hands"
    );
    drop(again);
    one.claim(&id("s")).await.unwrap().give_back().await;
    let taken = other.claim(&id("s")).await.unwrap();
    assert!(in_use(one.claim(&id("s")).await));
    taken.give_back().await;
    drop(other);
    drop(one.claim(&id("s")).await.unwrap());
    drop(one);
    let left = std::fs::read_dir(place.folder.path().join("data/sessions.db-owners")).unwrap().count();
    assert_eq!(left, 0, "a process that ends well takes its file with it");
}

/// In the child, `ACP_RUNTIME_TEST_STORE` names the file: it appends and says after each answer how far it is, until
/// it is killed.
#[test]
fn killing_the_process_loses_nothing_that_was_answered() {
    const CHILD: &str = "ACP_RUNTIME_TEST_STORE";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(file) = std::env::var_os(CHILD) {
        runtime.block_on(async {
            let store = SqliteStore::new(file);
            create(&store, record("s", "/project")).await;
            for n in 0.. {
                append(&store, "s", &[text(&format!("m{n}"), "x"), text(&format!("n{n}"), "y")]).await.unwrap();
                println!("kept {n}");
            }
        });
    }
    for kill_after in [0_usize, 3, 40, 400] {
        let place = place();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::tests::killing_the_process_loses_nothing_that_was_answered", "--nocapture"])
            .env(CHILD, &place.file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let sign = format!("kept {kill_after}");
        assert!(lines.any(|line| line.ends_with(&sign)));
        child.kill().unwrap();
        child.wait().unwrap();
        let last = lines
            .filter_map(|line| line.strip_prefix("kept ").and_then(|n| n.parse::<usize>().ok()))
            .last()
            .unwrap_or(kill_after);
        let found = runtime.block_on(events(&SqliteStore::new(&place.file), "s"));
        assert!(found.len() >= 2 * (last + 1), "answered {last}, found {}", found.len());
        let whole: Vec<SessionEvent> =
            (0..found.len() / 2).flat_map(|n| [text(&format!("m{n}"), "x"), text(&format!("n{n}"), "y")]).collect();
        assert_eq!(found, whole, "in order, and no batch by halves");
    }
}

#[tokio::test]
async fn plugins_keep_values_apart_and_notice_each_other_s_writes() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    let space = |plugin: &str, scope, owner: &str| KvSpace {
        origin: "bundled".to_owned(),
        plugin: PluginId::new(plugin).unwrap(),
        scope,
        owner: owner.to_owned(),
    };
    let mine = space("aar:tasks", KvScope::Project, "/project");
    let set = |space: &KvSpace, key: &str, value: &str, expected| {
        store.kv_set(space.clone(), key.to_owned(), value.into(), expected, 1000)
    };
    for (expected, outcome) in [
        (Some(3), KvWrite::Conflict(0)),
        (Some(0), KvWrite::Written(1)),
        (Some(0), KvWrite::Conflict(1)),
        (Some(1), KvWrite::Written(2)),
        (None, KvWrite::Written(3)),
    ] {
        assert_eq!(set(&mine, "a%_", "value", expected).await, Ok(outcome), "{expected:?}");
    }
    assert_eq!(store.kv_get(mine.clone(), "a%_".into()).await, Ok(Some((b"value".to_vec(), 3))));
    for other in [
        space("aar:other", KvScope::Project, "/project"),
        space("aar:tasks", KvScope::Session, "/project"),
        space("aar:tasks", KvScope::Project, "/project2"),
        KvSpace { origin: "installed".to_owned(), ..mine.clone() },
        KvSpace { origin: "project /a bundled".to_owned(), ..mine.clone() },
    ] {
        assert_eq!(store.kv_get(other.clone(), "a%_".into()).await, Ok(None), "{other:?}");
        assert_eq!(store.kv_delete(other, "a%_".into()).await, Ok(false));
    }
    set(&mine, "aXb", "", None).await.unwrap();
    set(&mine, "b", "", None).await.unwrap();
    for (prefix, keys) in [("", vec!["a%_", "aXb", "b"]), ("a", vec!["a%_", "aXb"]), ("a%", vec!["a%_"]), ("c", vec![])]
    {
        let listed = store.kv_list_keys(mine.clone(), prefix.into()).await.unwrap();
        assert_eq!(listed, keys, "{prefix}");
    }
    assert_eq!(store.kv_delete(mine.clone(), "b".into()).await, Ok(true));
    assert_eq!(store.kv_usage(mine.clone()).await, Ok((3 + 5 + 64) + (3 + 64)));
    // What one of the id has kept goes without what another has.
    let other = KvSpace { origin: "installed".to_owned(), ..mine.clone() };
    set(&other, "a", "other", None).await.unwrap();
    store.kv_forget("bundled", &mine.plugin).await.unwrap();
    assert_eq!((store.kv_usage(mine.clone()).await, store.kv_usage(other.clone()).await), (Ok(0), Ok(1 + 5 + 64)));
    assert_eq!(store.kv_list_keys(mine, String::new()).await, Ok(Vec::new()));
    assert_eq!(store.kv_list_keys(other, String::new()).await, Ok(vec!["a".to_owned()]));
}

#[tokio::test]
async fn a_quota_is_kept_and_room_can_be_made() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    let (origin, plugin) = ("bundled".to_owned(), PluginId::new("aar:tasks").unwrap());
    let space = KvSpace { origin, plugin, scope: KvScope::Session, owner: "s".to_owned() };
    let set = |key: &str, bytes: usize, quota| store.kv_set(space.clone(), key.to_owned(), vec![0; bytes], None, quota);
    assert_eq!(set("k", 135, 200).await, Ok(KvWrite::Written(1)), "exactly full");
    assert_eq!(set("k", 136, 200).await, Ok(KvWrite::OverQuota(200)));
    assert_eq!(set("l", 0, 200).await, Ok(KvWrite::OverQuota(200)), "empty values are not free");
    assert_eq!(set("k", 100, 50).await, Ok(KvWrite::Written(2)), "less is allowed under a lower quota");
    assert_eq!(store.kv_get(space.clone(), "k".into()).await.unwrap().unwrap().0.len(), 100);
    create(&store, record("s", "/project")).await;
    store.delete(&id("s"), PointOfNoReturn::default()).await.unwrap();
    assert_eq!(store.kv_get(space.clone(), "k".into()).await, Ok(None), "a session's values go with it");
    assert_eq!(store.kv_usage(space.clone()).await, Ok(0));
}
