//! A home that cannot be written: what was kept can be read, and nothing new is lost in silence.
#![expect(clippy::disallowed_methods, reason = "takes a home away and gives it back")]

use std::fs;
use std::process::Command;

use acp_runtime_tests::runtime::skip;
use acp_runtime_tests::{EditorOptions, Finished, Runtime};
use serde_json::{Value, json};

const HELLO: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ text = "Hello." }]
"#;

/// The reading commands, with what each must show.
const READING: [(&[&str], &str); 5] = [
    (&["session", "list"], "Before"),
    (&["session", "list", "--json"], "\"title\":\"Before\""),
    (&["session", "show"], "Hello."),
    (&["session", "show", "--json"], "Hello."),
    (&["session", "export"], "> Before"),
];

/// A runtime with one session.
fn with_a_session() -> Runtime {
    let runtime = Runtime::scripted(HELLO);
    assert_eq!(runtime.run(&["run", "Before"]).code, Some(0));
    runtime
}

fn assert_read(finished: &Finished, arguments: &[&str], shown: &str) {
    assert_eq!(finished.code, Some(0), "{arguments:?}: {finished:?}");
    assert!(finished.stdout.contains(shown), "{arguments:?}: {finished:?}");
    let told = finished.stderr.matches("it is only read, and nothing new is kept").count();
    assert_eq!(told, 1, "{arguments:?}: {finished:?}");
}

/// The store can be written no longer, not even by root: a link stands where a file beside it must be, and such links
/// are not followed.
fn obstruct(runtime: &Runtime) {
    let file = runtime.home().join("sessions.db-shm");
    std::os::unix::fs::symlink("nowhere", file).expect("no process has the store open");
}

fn free(runtime: &Runtime) {
    fs::remove_file(runtime.home().join("sessions.db-shm")).expect("it is there");
}

#[test]
fn what_was_kept_is_read_where_nothing_can_be_written() {
    let runtime = with_a_session();
    obstruct(&runtime);
    for (arguments, shown) in READING {
        assert_read(&runtime.run(arguments), arguments, shown);
    }
    let refused = runtime.run(&["run", "Again"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains("sessions.db` cannot be written: "), "{}", refused.stderr);
    let refused = runtime.run(&["session", "delete", "--yes", &id(&runtime)]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let doctor = runtime.run(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("fail  sessions  the session store at "), "{}", doctor.stdout);
    free(&runtime);
    assert_eq!(runtime.run(&["run", "Again"]).code, Some(0));
    assert_eq!(runtime.run(&["session", "list"]).stdout.lines().count(), 2);
}

/// The id of the newest session.
fn id(runtime: &Runtime) -> String {
    let list = runtime.run(&["session", "list", "--json"]).stdout;
    let newest: Value = serde_json::from_str(list.lines().next().expect("a session")).expect("JSON");
    newest["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_session_is_loaded_to_be_read_and_goes_on_when_it_can() {
    let runtime = with_a_session();
    let session = id(&runtime);
    obstruct(&runtime);
    let editor = runtime.editor_with(EditorOptions::default().offering("/session/notices", json!({}))).await;
    let listed = editor.call("session/list", json!({})).await;
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session));
    let replay = editor.load_session(&session).await;
    assert_eq!((replay.said("user_message_chunk").as_str(), replay.text().as_str()), ("Before", "Hello."));
    let notice = editor.until_update(&session, "a notice", |update| update["sessionUpdate"] == "notice").await;
    assert_eq!(notice["title"], "Nothing new in this session is kept");
    let described = notice["description"].as_str().expect("a text");
    assert!(described.contains("sessions.db` cannot be written"), "{notice}");

    let refused = editor.begin_prompt(&session, "refused");
    let error = editor.turn(refused).await.unwrap_err();
    assert_eq!((error.code, &error.data["reason"], &error.data["retryable"]), (-32603, &json!("store"), &json!(false)));
    free(&runtime);
    assert_eq!(editor.prompt(&session, "After").await.stop, "end_turn");
    let again = editor.load_session(&session).await;
    assert_eq!(again.said("user_message_chunk"), "BeforerefusedAfter");
    let elsewhere = runtime.run(&["session", "delete", "--yes", &session]);
    assert!(elsewhere.code == Some(1) && elsewhere.stderr.contains("is open in another process"), "{elsewhere:?}");
    editor.close().await;
}

#[tokio::test]
async fn a_session_that_went_on_elsewhere_meanwhile_is_not_mixed_up() {
    let runtime = with_a_session();
    let session = id(&runtime);
    obstruct(&runtime);
    let late = runtime.editor().await;
    late.load_session(&session).await;
    free(&runtime);
    let other = runtime.editor().await;
    other.load_session(&session).await;
    other.prompt(&session, "Elsewhere").await;
    other.close().await;
    let refused = late.begin_prompt(&session, "refused");
    let error = late.turn(refused).await.unwrap_err();
    assert!(error.message.contains("has gone on elsewhere meanwhile; load it again"), "{error:?}");
    assert_eq!(late.load_session(&session).await.said("user_message_chunk"), "BeforeElsewhere");
    assert_eq!(late.prompt(&session, "Here").await.stop, "end_turn");
    late.close().await;
}

#[tokio::test]
async fn a_turn_that_was_cut_short_is_read_as_such_and_repaired_when_it_can_be() {
    const SLOW: &str =
        "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"Half.\" }, { delay_ms = 600000 }]\n";
    let runtime = Runtime::scripted(SLOW);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let _unanswered = editor.begin_prompt(&session, "Before");
    editor.until_update(&session, "the half", |update| update["content"]["text"] == "Half.").await;
    editor.kill().await;
    drop(editor);
    // What the process has written last is in the log alone, and without this file there is no index of it.
    fs::remove_file(runtime.home().join("sessions.db-shm")).expect("it was killed");
    obstruct(&runtime);
    let editor = runtime.editor().await;
    let read = editor.load_session(&session).await;
    assert_eq!((read.said("user_message_chunk").as_str(), read.text().as_str()), ("Before", "Half."));
    free(&runtime);
    assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn");
    editor.close().await;
    let events = runtime.run(&["session", "show", "--json", &session]).stdout;
    let ends: Vec<usize> = events.match_indices("\"type\":\"turn_ended\"").map(|(at, _)| at).collect();
    let after = events.find("/help").expect("it was kept");
    assert!(ends.len() == 2 && ends[0] < after && after < ends[1], "{events}");
}

/// Prepares the home of `runtime` on a small disk of its own, then runs `finally` there with its arguments. None where
/// this user may not mount one.
fn on_a_small_disk(runtime: &Runtime, finally: &str) -> Option<Command> {
    const MOUNT: &str = "mount -t tmpfs -o size=2m none";
    let may_mount = |unshare: &str| {
        let trial = format!("{unshare} sh -c '{MOUNT} /tmp'");
        Command::new("sh").args(["-c", &trial]).output().is_ok_and(|output| output.status.success())
    };
    let unshare = ["unshare -m", "unshare -rm"].into_iter().find(|unshare| may_mount(unshare))?;
    let kept = runtime.outside("kept");
    let copied = Command::new("cp").arg("-r").arg(runtime.home()).arg(&kept).status();
    assert!(copied.is_ok_and(|copied| copied.success()), "the home is copied");
    // The mount is the process's own: nobody has to take it away.
    let inside = format!(
        r#"{MOUNT} "$ACP_RUNTIME_HOME" && cp -r {kept}/. "$ACP_RUNTIME_HOME" && {finally} && exec "$0" "$@""#,
        kept = kept.display()
    );
    let binary = runtime.command::<&str>(&[]);
    let mut command = Command::new("sh");
    runtime.furnish(&mut command);
    command.args(["-c", &format!(r#"exec {unshare} sh -c '{inside}' "$0" "$@""#)]).arg(binary.get_program());
    Some(command)
}

#[test]
fn a_disk_that_may_not_be_written_or_is_full_is_read() {
    for finally in [
        r#"mount -o remount,ro "$ACP_RUNTIME_HOME""#,
        r#"{ cat /dev/zero > "$ACP_RUNTIME_HOME/filler" 2>/dev/null || true; }"#,
    ] {
        let runtime = with_a_session();
        for (arguments, shown) in READING {
            let Some(mut command) = on_a_small_disk(&runtime, finally) else {
                return skip("this user may not mount a small disk");
            };
            command.args(arguments);
            assert_read(&acp_runtime_tests::runtime::finish(command), arguments, shown);
            fs::remove_dir_all(runtime.outside("kept")).expect("it is there");
        }
    }
}
