//! What is forgotten, and what is left of it.

use super::*;

#[tokio::test]
async fn old_sessions_go_when_they_are_not_to_be_kept() {
    let place = place();
    let store = one_session(&place.file).await;
    create(&store, record("old", "/project")).await;
    append(&store, "old", &[text("m", "x")]).await.unwrap();
    let two_days_ago = journal::micros(SystemTime::now() - Duration::from_hours(48));
    Connection::open(&place.file)
        .unwrap()
        .execute("UPDATE session SET updated = ?1 WHERE id = 'old'", [two_days_ago])
        .unwrap();
    let days = |days| Retention { days, sessions: 0 };
    let open = store.claim(&id("old")).await.unwrap();
    assert_eq!(store.retain(days(1)).await, Ok(0), "it is open here");
    assert_eq!(SqliteStore::new(&place.file).retain(days(1)).await, Ok(0), "it is open there");
    open.give_back().await;
    for (number, gone) in [(0, 0), (3, 0), (u32::MAX, 0), (1, 1), (1, 0)] {
        assert_eq!(store.retain(days(number)).await, Ok(gone), "{number}");
    }
    assert_eq!(store.load(&id("old")).await, Ok(None));
    assert!(store.load(&id("s")).await.unwrap().is_some());
    let left: i64 = Connection::open(&place.file)
        .unwrap()
        .query_row("SELECT count(DISTINCT session) FROM event", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 1, "events go with their session");
}

#[tokio::test]
async fn only_so_many_sessions_are_kept_and_none_that_was_never_used() {
    let place = place();
    let store = SqliteStore::new(&place.file);
    assert_eq!(store.retain(Retention { days: 1, sessions: 1 }).await, Ok(0));
    assert!(!place.file.exists(), "nothing is made to forget nothing");
    for n in 0..5 {
        create(&store, record(&format!("s{n}"), "/project")).await;
        append(&store, &format!("s{n}"), &[text("m", "x")]).await.unwrap();
    }
    let long_ago =
        SessionRecord { updated: SystemTime::now() - Duration::from_hours(25), ..record("never", "/project") };
    create(&store, long_ago).await;
    create(&store, record("fresh", "/project")).await;
    let open = store.claim(&id("s0")).await.unwrap();
    let reader = SqliteStore::new(&place.file);
    let kept = async || {
        let mut kept = Vec::new();
        for session in ["s0", "s1", "s2", "s3", "s4", "never", "fresh"] {
            kept.extend(reader.load(&id(session)).await.unwrap().map(|_| session));
        }
        kept
    };
    for (sessions, left) in [
        (0, vec!["s0", "s1", "s2", "s3", "s4", "fresh"]),
        (9, vec!["s0", "s1", "s2", "s3", "s4", "fresh"]),
        (3, vec!["s0", "s2", "s3", "s4", "fresh"]),
        (1, vec!["s0", "s4", "fresh"]),
    ] {
        store.retain(Retention { days: 0, sessions }).await.unwrap();
        assert_eq!(kept().await, left, "{sessions}");
    }
    open.give_back().await;
    assert_eq!(store.retain(Retention { days: 0, sessions: 1 }).await, Ok(1), "what was open goes when it is not");
}

#[tokio::test]
async fn nothing_of_a_deleted_session_stays_in_the_file() {
    const SECRET: &str = "the password is swordfish";
    let place = place();
    let store = one_session(&place.file).await;
    for n in 0..50 {
        append(&store, "s", &[text("m", &format!("{n}: {SECRET} {}", "x".repeat(n * 100)))]).await.unwrap();
    }
    let holds_secret = |file: &Path| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    };
    store.delete(&id("s"), PointOfNoReturn::default()).await.unwrap();
    drop(store);
    let files: Vec<PathBuf> =
        std::fs::read_dir(place.file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let left: Vec<&PathBuf> = files.iter().filter(|file| file.is_file() && holds_secret(file)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn outputs_go_with_their_session() {
    let place = place();
    let store = one_session(&place.file).await;
    let folder = place.file.with_file_name("sessions.db-outputs");
    let keep = |session: &str| store.keep_output(&id(session), &ToolCallId::new("call-1"), "whole".to_owned());
    for session in ["s", "young-stray", "old-stray"] {
        assert_eq!(keep(session).await.map(|kept| kept.size), Some(5));
    }
    let two_hours_ago = SystemTime::now() - Duration::from_hours(2);
    for session in ["s", "old-stray"] {
        std::fs::File::open(folder.join(session)).unwrap().set_modified(two_hours_ago).unwrap();
    }
    assert_eq!(store.retain(Retention::default()).await, Ok(0));
    let left = |session: &str| folder.join(session).is_dir();
    assert_eq!(["s", "young-stray", "old-stray"].map(left), [true, true, false]);
    store.delete(&id("s"), PointOfNoReturn::default()).await.unwrap();
    assert!(!left("s"));
    assert_eq!(keep("../s").await, None, "what cannot be kept is only missing");
}
