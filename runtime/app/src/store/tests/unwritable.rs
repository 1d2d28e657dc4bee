//! A store that can be read and not written. A link stands where a file beside it must be, and such links are not
//! followed: the same for every user, root included.

use super::*;

fn beside(place: &Place, ending: &str) -> PathBuf {
    let mut path = place.file.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

fn obstruct(place: &Place) {
    std::os::unix::fs::symlink("nowhere", beside(place, "-shm")).unwrap();
}

fn free(place: &Place) {
    std::fs::remove_file(beside(place, "-shm")).unwrap();
}

async fn assert_only_read(store: &SqliteStore, expected: &[SessionEvent]) {
    assert_eq!(events(store, "s").await, expected);
    let page = store.list(ListQuery { limit: 10, ..ListQuery::default() }).await.unwrap();
    assert_eq!(page.sessions.len(), 1);
    let refused = append(store, "s", &[text("m", "x")]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unwritable { retryable: false, .. }), "{refused}");
    assert_eq!(store.check_writable().await, Err(refused));
}

#[tokio::test]
async fn it_is_read_without_a_log_and_with_one() {
    for has_log in [false, true] {
        let place = place();
        let store = one_session(&place.file).await;
        if has_log {
            drop(store);
            // As after a kill, on a disk that was copied without the index of the log.
            let whole = one_session(&place.folder.path().join("other/sessions.db")).await;
            std::fs::remove_file(&place.file).unwrap();
            for ending in ["", "-wal"] {
                let from = place.folder.path().join(format!("other/sessions.db{ending}"));
                std::fs::copy(from, beside(&place, ending)).unwrap();
            }
            drop(whole);
            assert_ne!(std::fs::metadata(beside(&place, "-wal")).unwrap().len(), 0);
        } else {
            drop(store);
        }
        obstruct(&place);
        let store = SqliteStore::new(&place.file);
        assert_only_read(&store, &[text("m", "kept")]).await;

        free(&place);
        append(&store, "s", &[text("n", "later")]).await.unwrap();
        assert_eq!(events(&store, "s").await, [text("m", "kept"), text("n", "later")], "without a restart");
    }
}

#[tokio::test]
async fn where_there_is_none_it_is_empty_and_an_older_one_is_refused() {
    let place = place();
    std::fs::write(place.file.parent().unwrap(), "").unwrap();
    let store = SqliteStore::new(&place.file);
    assert_eq!(store.list(ListQuery { limit: 10, ..ListQuery::default() }).await, Ok(SessionPage::default()));
    assert_eq!(store.load(&id("s")).await, Ok(None));

    std::fs::remove_file(place.file.parent().unwrap()).unwrap();
    drop(one_session(&place.file).await);
    Connection::open(&place.file).unwrap().pragma_update(None, "user_version", 3).unwrap();
    obstruct(&place);
    let refused = SqliteStore::new(&place.file).load(&id("s")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unwritable { .. }), "{refused}");
}

#[tokio::test]
async fn what_is_owed_to_a_session_goes_before_what_follows() {
    let place = place();
    drop(one_session(&place.file).await);
    let setup = SessionSetup { cwd: "/elsewhere".to_owned(), additional: Vec::new(), system_prompt: None };
    let owed = |seen| Arrears { seen, setup: setup.clone(), events: vec![text("r", "owed")] };
    obstruct(&place);
    let store = SqliteStore::new(&place.file);
    assert!(store.claim(&id("s")).await.is_err());
    let claim = store.claim_unwritten(&id("s"), owed(1));
    assert!(append(&store, "s", &[text("n", "later")]).await.is_err());
    free(&place);
    for said in ["later", "again"] {
        append(&store, "s", &[text("n", said)]).await.unwrap();
    }
    let (kept, found) = store.load(&id("s")).await.unwrap().unwrap();
    assert_eq!(found, [text("m", "kept"), text("r", "owed"), text("n", "later"), text("n", "again")]);
    assert_eq!(kept.setup, setup);
    let other = SqliteStore::new(&place.file);
    assert!(matches!(other.claim(&id("s")).await, Err(StoreError::InUse { .. })), "it is claimed by now");
    claim.give_back().await;
    other.claim(&id("s")).await.unwrap().give_back().await;

    let late = store.claim_unwritten(&id("s"), owed(1));
    let refused = append(&store, "s", &[text("n", "mixed up")]).await.unwrap_err();
    assert!(refused.to_string().contains("has gone on elsewhere meanwhile"), "{refused}");
    late.give_back().await;
}
