//! A disk that is full and later is not: prompts fail with the reason, nothing that was shown is lost, and it goes on.
#![expect(clippy::disallowed_methods, reason = "fills a disk")]

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use acp_runtime_tests::runtime::skip;
use acp_runtime_tests::{EditorDouble, EditorOptions, Runtime, Turn};
use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::json;

const HELLO: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ text = "Hello." }]
"#;

/// Speaks, then waits far longer than any test, when it is asked for the second time.
const ENDLESS: &str = r#"
quiet = true
[[reply]]
steps = [{ text = "Hello." }]
[[reply]]
steps = [{ text = "Wait" }, { delay_ms = 600000 }]
[[reply]]
steps = [{ text = "Again." }]
"#;

/// Bytes of a prompt that is refused. There is room for one of them afterwards, but not for all.
const LONG: usize = 100_000;
const ROOM: u64 = 400_000;

/// Fills the disk with `fill` and makes room with `free`, several times; then compares what was shown with what is
/// kept.
async fn full_and_free(editor: &EditorDouble, fill: impl Fn(), free: impl Fn()) {
    editor.initialize().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "before").await;
    // From now on the store has its file open twice, so its log is not folded away when one of the two is closed.
    editor.call("session/list", json!({})).await;
    for round in 0..3 {
        fill();
        for _ in 0..5 {
            let prompt = editor.begin_prompt(&session, &format!("refused {}", "x".repeat(LONG)));
            let error = editor.turn(prompt).await.unwrap_err();
            assert_eq!((error.code, &error.data["reason"]), (-32603, &json!("store")), "{error:?}");
            assert!(error.message.contains("sessions.db"), "{error:?}");
        }
        free();
        for prompt in ["after", "and again"] {
            assert_eq!(editor.prompt(&session, prompt).await.stop, "end_turn", "round {round}");
        }
    }
    let shown = Turn { stop: String::new(), updates: editor.updates(&session) };
    let replay = editor.load_session(&session).await;
    assert_eq!(replay.text(), shown.text());
    let prompts = replay.said("user_message_chunk");
    assert_eq!((prompts.matches("after").count(), prompts.matches("refused").count()), (3, 3), "one a round is kept");
}

/// No file may grow any more: to the store it is as a disk that is full.
#[tokio::test]
async fn a_session_goes_on_when_files_may_grow_again() {
    let runtime = Runtime::scripted(HELLO);
    let editor = runtime.spawn_prepared("trap '' XFSZ", EditorOptions::default());
    let limit_at = |room: u64| {
        let log = std::fs::metadata(runtime.home().join("sessions.db-wal")).expect("the store has a log").len();
        let limit = Rlimit { current: Some(log + room), maximum: None };
        prlimit(Some(editor.process()), Resource::Fsize, limit).expect("a child can be limited");
    };
    full_and_free(&editor, || limit_at(0), || limit_at(ROOM)).await;
    editor.close().await;
}

/// A session that cannot be deleted is as it was, whatever runs in it.
#[tokio::test]
async fn what_cannot_be_deleted_goes_on() {
    let runtime = Runtime::scripted(ENDLESS);
    let editor = runtime.spawn_prepared("trap '' XFSZ", EditorOptions::default());
    editor.initialize().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "before").await;
    let running = editor.begin_prompt(&session, "and on");
    editor.until_update(&session, "the first chunk", |update| update["content"]["text"] == "Wait").await;
    // From now on the store has its file open twice, so its log is not folded away.
    editor.call("session/list", json!({})).await;
    let log = std::fs::metadata(runtime.home().join("sessions.db-wal")).expect("the store has a log").len();
    let most = |current| prlimit(Some(editor.process()), Resource::Fsize, Rlimit { current, maximum: None });
    most(Some(log)).expect("a child can be limited");
    let refused = editor.request("session/delete", json!({ "sessionId": session })).await.unwrap_err();
    assert_eq!((refused.code, &refused.data["reason"]), (-32603, &json!("store")), "{refused:?}");

    most(None).expect("a child can be limited");
    editor.cancel(&session);
    assert_eq!(editor.turn(running).await.expect("it ran all the while").stop, "cancelled");
    assert_eq!(editor.prompt(&session, "after").await.stop, "end_turn");
    assert_eq!(editor.load_session(&session).await.said("user_message_chunk"), "beforeand onafter");

    // When it can be, what runs is cancelled, and nothing of it comes back.
    let running = editor.begin_prompt(&session, "/call shell {\"command\": \"echo > ready; sleep 600\"}");
    while !runtime.project().join("ready").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    editor.call("session/delete", json!({ "sessionId": session })).await;
    assert_eq!(editor.turn(running).await.expect("it is answered").stop, "cancelled");
    assert_eq!(editor.call("session/list", json!({})).await["sessions"], json!([]));
    let gone = editor.turn(editor.begin_prompt(&session, "anybody?")).await.unwrap_err();
    assert_eq!(gone.code, -32002);
    editor.close().await;
    let shown = runtime.run(&["session", "show", &session]);
    assert_eq!(shown.code, Some(2), "{shown:?}");
    runtime.assert_no_process_left();
}

/// A small disk. Where nobody may mount one, the test above stands alone, and this one says so.
#[tokio::test]
async fn a_session_goes_on_when_the_disk_has_room_again() {
    const MOUNT: &str = "mount -t tmpfs -o size=2m none";
    let may_mount = |unshare: &str| {
        let trial = format!("{unshare} sh -c '{MOUNT} /tmp'");
        Command::new("sh").args(["-c", &trial]).output().is_ok_and(|output| output.status.success())
    };
    let Some(unshare) = ["unshare -m", "unshare -rm"].into_iter().find(|unshare| may_mount(unshare)) else {
        return skip("this user may not mount a small disk");
    };
    let runtime = Runtime::scripted(HELLO);
    let home = runtime.home();
    let config = std::fs::read_to_string(home.join("config.toml")).expect("it was written");
    let runtime = runtime.env("CONFIG", &config);
    // The mount is the process's own: nobody has to take it away.
    let inside = format!(
        r#"{MOUNT} "$ACP_RUNTIME_HOME" && printf %s "$CONFIG" > "$ACP_RUNTIME_HOME/config.toml" && exec "$0" "$@""#
    );
    let editor =
        runtime.spawn_prepared(&format!(r#"exec {unshare} sh -c '{inside}' "$0" "$@""#), EditorOptions::default());
    let process = editor.process().as_raw_nonzero();
    let disk = PathBuf::from(format!("/proc/{process}/root")).join(home.strip_prefix("/").expect("it is absolute"));
    let filler = disk.join("filler");
    let fill = || {
        let mut file = File::create(&filler).expect("a file on the disk");
        while file.write_all(&[0; 4096]).is_ok() {}
    };
    full_and_free(&editor, fill, || std::fs::remove_file(&filler).expect("it is there")).await;
    editor.close().await;
}
