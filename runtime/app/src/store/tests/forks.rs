//! Sessions that go on from others.

use acp_runtime_agent::transcript::ToolContent;

use super::*;

fn no_return() -> PointOfNoReturn {
    PointOfNoReturn::default()
}

#[tokio::test]
async fn a_fork_begins_with_what_plugins_keep_for_its_source() {
    let place = place();
    let store = one_session(&place.file).await;
    let space = |owner: &str| KvSpace {
        origin: "bundled".to_owned(),
        plugin: PluginId::new("aar:tasks").unwrap(),
        scope: KvScope::Session,
        owner: owner.to_owned(),
    };
    let set = |owner: &str, value: &str| {
        store.kv_set(space(owner), "list".to_owned(), value.as_bytes().to_vec(), None, 10_000)
    };
    set("s", "one").await.unwrap();
    set("other", "elsewhere").await.unwrap();
    let begins_with = events(&store, "s").await.into();
    drop(store.fork(&id("s"), record("fork", "/project"), begins_with, no_return()).await.unwrap());
    set("fork", "two").await.unwrap();
    let get = async |owner: &str| store.kv_get(space(owner), "list".to_owned()).await.unwrap();
    assert_eq!(get("s").await, Some((b"one".to_vec(), 1)));
    assert_eq!(get("fork").await, Some((b"two".to_vec(), 2)), "it goes on counting from the source's version");
    store.delete(&id("s"), no_return()).await.unwrap();
    assert_eq!((get("s").await, get("fork").await.is_some()), (None, true));
}

#[tokio::test]
async fn a_fork_has_outputs_of_its_own() {
    let place = place();
    let store = one_session(&place.file).await;
    let call = |number: usize| ToolCallId::new(format!("call-{number}"));
    let keep = async |session: &str, number, text: &str| {
        store.keep_output(&id(session), &call(number), text.to_owned()).await.unwrap().uri
    };
    let update = |number, uri: &str| {
        let link = ToolContent::Link { name: String::new(), uri: uri.to_owned(), mime: None, size: None };
        SessionEvent::ToolCallUpdated(ToolCallUpdate { content: Some(vec![link]), ..ToolCallUpdate::of(call(number)) })
    };
    let (first, second) = (keep("s", 1, "first").await, keep("s", 2, "second").await);
    let elsewhere = "https://example.com/call-1.txt";
    let made = [update(1, &first), update(1, elsewhere), update(2, "file:///gone/call-9.txt")];
    append(&store, "s", &made).await.unwrap();
    drop(store.fork(&id("s"), record("fork", "/project"), made.clone().into(), no_return()).await.unwrap());

    let uris = |events: &[SessionEvent]| -> Vec<String> {
        let contents = events.iter().filter_map(|event| match event {
            SessionEvent::ToolCallUpdated(update) => update.content.clone(),
            _ => None,
        });
        let uri = |content| match content {
            ToolContent::Link { uri, .. } => Some(uri),
            _ => None,
        };
        contents.flatten().filter_map(uri).collect()
    };
    let found = uris(&events(&store, "fork").await);
    assert_eq!(found, [first.replace("/s/", "/fork/").as_str(), elsewhere, "file:///gone/call-9.txt"]);
    assert_eq!(uris(&events(&store, "s").await), uris(&made), "the source names its own");
    let read = |uri: &str| std::fs::read_to_string(uri.strip_prefix("file://").unwrap()).ok();
    assert_eq!(read(&found[0]).as_deref(), Some("first"));

    // The fork goes on with a call of a number that the source has as well.
    let other = keep("fork", 2, "another second").await;
    assert_eq!((read(&second).as_deref(), read(&other).as_deref()), (Some("second"), Some("another second")));
    store.delete(&id("s"), no_return()).await.unwrap();
    assert_eq!((read(&first), read(&found[0]).as_deref()), (None, Some("first")));
}

#[tokio::test]
async fn a_fork_that_is_taken_back_or_fails_leaves_no_outputs() {
    let place = place();
    let store = one_session(&place.file).await;
    let call = ToolCallId::new("call-1");
    let uri = store.keep_output(&id("s"), &call, "first".to_owned()).await.unwrap().uri;
    let link = ToolContent::Link { name: String::new(), uri, mime: None, size: None };
    let made: Arc<[SessionEvent]> =
        [SessionEvent::ToolCallUpdated(ToolCallUpdate { content: Some(vec![link]), ..ToolCallUpdate::of(call) })]
            .into();
    let outputs = place.folder.path().join("data/sessions.db-outputs");
    let kept = || std::fs::read_dir(&outputs).unwrap().count();

    let back = no_return();
    assert!(back.turn_back());
    let refused = store.fork(&id("s"), record("fork", "/project"), made.clone(), back).await;
    assert_eq!((refused.err(), kept()), (Some(StoreError::TakenBack), 1));
    // It takes the way back while the work waits for another writer.
    let other = Connection::open(&place.file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let point = no_return();
    let mut fork = store.fork(&id("s"), record("fork", "/project"), made.clone(), point.clone());
    while kept() == 1 {
        assert!(futures::poll!(&mut fork).is_pending());
        tokio::task::yield_now().await;
    }
    assert!(point.turn_back());
    drop(fork);
    drop(other);
    store.check_writable().await.unwrap();
    // Whoever did the work takes away what it had copied, a moment later.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while kept() > 1 && std::time::Instant::now() < deadline {
        tokio::task::yield_now().await;
    }
    assert_eq!((kept(), store.load(&id("fork")).await), (1, Ok(None)));
    drop(store.fork(&id("s"), record("fork", "/project"), made, no_return()).await.unwrap());
    assert_eq!(kept(), 2);
}
