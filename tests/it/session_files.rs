//! Writing and reading: what is asked, what is shown, and whose files are used.

use acp_runtime_tests::{Answer, EditorOptions, Runtime};
use serde_json::{Value, json};

const WRITE: &str = r##"
quiet = true
repeat = true
[[reply]]
steps = [{ call = { tool = "write_file", arguments = { path = "notes/today.md", content = "# Today\n" } } }]
[[reply]]
when = "tool-succeeded"
steps = [{ text = "Written." }]
[[reply]]
when = "tool-failed"
steps = [{ text = "As you wish." }]
"##;

const READ: &str = r#"
quiet = true
[[reply]]
steps = [{ call = { tool = "read_file", arguments = { path = "a.txt" } } }]
[[reply]]
steps = [{ text = "Read." }]
"#;

#[tokio::test]
async fn a_write_is_asked_with_its_diff() {
    let runtime = Runtime::scripted(WRITE).file("notes/today.md", "# Yesterday\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Write").await;
    assert_eq!(turn.text(), "Written.");
    let asked = editor.permissions();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].title().contains("notes/today.md"), "{}", asked[0].title());
    let path = runtime.project().join("notes/today.md");
    let diff = json!({ "type": "diff", "path": path, "oldText": "# Yesterday\n", "newText": "# Today\n" });
    assert_eq!(asked[0].diff(), diff, "the person sees what would change");
    let call = turn.call();
    assert_eq!(asked[0].call["toolCallId"], Value::from(call.id.clone()));
    assert_eq!(call.fields["kind"], "edit");
    assert_eq!(call.fields["locations"][0]["path"], json!(path));
    assert_eq!(call.diff(), diff);
    assert_eq!(call.status(), "completed");
    assert_eq!(runtime.read("notes/today.md"), "# Today\n");
    editor.close().await;
}

#[tokio::test]
async fn a_new_file_has_no_old_text() {
    let runtime = Runtime::scripted(WRITE);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Write").await;
    assert_eq!(editor.permissions()[0].diff()["oldText"], Value::Null);
    assert_eq!(runtime.read("notes/today.md"), "# Today\n");
    editor.close().await;
}

#[tokio::test]
async fn no_means_no() {
    for answer in [Answer::Pick("reject_once"), Answer::Cancel] {
        let runtime = Runtime::scripted(WRITE);
        let editor = runtime.editor_with(EditorOptions::default().answering(move |_| answer)).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Write").await;
        assert_eq!(turn.call().status(), "failed", "{answer:?}");
        assert!(!runtime.project().join("notes").exists(), "{answer:?}");
        editor.close().await;
    }
}

#[tokio::test]
async fn always_is_remembered_for_this_project_and_scope() {
    let runtime = Runtime::scripted(WRITE);
    let options = EditorOptions::default().answering(|_| Answer::Pick("allow_always"));
    for expected in [1, 0] {
        let editor = runtime.editor_with(options.clone()).await;
        let session = editor.new_session().await;
        editor.prompt(&session, "Write").await;
        editor.prompt(&session, "Write").await;
        assert_eq!(editor.permissions().len(), expected, "asked once, and the answer outlives the process");
        editor.close().await;
    }
}

#[tokio::test]
async fn unsaved_text_is_what_the_model_reads() {
    let runtime = Runtime::scripted(READ).file("a.txt", "on disk\n");
    let path = runtime.project().join("a.txt");
    let options = EditorOptions::default().with_files().with_buffer(&path, "not saved yet\n");
    let editor = runtime.editor_with(options).await;
    let session = editor.new_session().await;
    let call = editor.prompt(&session, "Read").await.call();
    assert!(call.text().contains("not saved yet"), "{}", call.text());
    assert_eq!(editor.file_calls(), [("fs/read_text_file".to_owned(), path.display().to_string())]);
    editor.close().await;
}

#[tokio::test]
async fn without_the_offer_the_disk_is_read() {
    let runtime = Runtime::scripted(READ).file("a.txt", "on disk\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let call = editor.prompt(&session, "Read").await.call();
    assert!(call.text().contains("on disk"), "{}", call.text());
    assert!(editor.file_calls().is_empty());
    editor.close().await;
}

#[tokio::test]
async fn a_write_goes_through_the_editor() {
    let runtime = Runtime::scripted(WRITE).file("notes/today.md", "# Yesterday\n");
    let path = runtime.project().join("notes/today.md");
    let options = EditorOptions::default().with_files().with_buffer(&path, "# Just typed\n");
    let editor = runtime.editor_with(options).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Write").await;
    assert_eq!(editor.permissions()[0].diff()["oldText"], "# Just typed\n");
    assert_eq!(editor.buffer(&path).as_deref(), Some("# Today\n"));
    let written = ("fs/write_text_file".to_owned(), path.display().to_string());
    assert!(editor.file_calls().contains(&written), "{:?}", editor.file_calls());
    editor.close().await;
}

#[tokio::test]
async fn a_plugin_s_write_is_shown_and_goes_through_the_editor() {
    const UNSAVED: &str = "# plan\n\nnot saved yet\n";
    const ADDED: &str = "# plan\n\nnot saved yet\n\nmore\n";
    let runtime = Runtime::new().file("notes/plan.md", "# plan\n");
    let path = runtime.project().join("notes/plan.md");
    let editor = runtime.editor_with(EditorOptions::default().with_files().with_buffer(&path, UNSAVED)).await;
    let session = editor.new_session().await;
    editor.prompt(&session, r#"/call notes__add {"title": "plan", "text": "more"}"#).await;
    let asked = editor.permissions();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].title(), "plugin aar:notes: write `notes/plan.md`");
    assert_eq!(asked[0].diff(), json!({ "type": "diff", "path": path, "oldText": UNSAVED, "newText": ADDED }));
    assert_eq!(editor.buffer(&path).as_deref(), Some(ADDED));
    let written = ("fs/write_text_file".to_owned(), path.display().to_string());
    assert!(editor.file_calls().contains(&written), "{:?}", editor.file_calls());
    editor.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_leads_out_is_not_followed() {
    let runtime = Runtime::scripted(READ);
    std::os::unix::fs::symlink("/etc/passwd", runtime.project().join("a.txt")).unwrap();
    for options in [EditorOptions::default(), EditorOptions::default().with_files()] {
        let editor = runtime.editor_with(options).await;
        let session = editor.new_session().await;
        let call = editor.prompt(&session, "Read").await.call();
        assert_eq!(call.status(), "failed");
        assert!(!call.text().contains("root:"), "{}", call.text());
        assert!(editor.file_calls().is_empty(), "the editor was sent after a link that leads out");
        editor.close().await;
    }
}

/// The person's own change, made while they are asked, is not overwritten by what they were shown before it.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the person's own program writes")]
async fn what_changes_while_a_question_is_open_is_left_as_it_is() {
    for before in [None, Some("# Yesterday\n")] {
        let mut runtime = Runtime::scripted(WRITE).file("notes/other.md", "");
        if let Some(text) = before {
            runtime = runtime.file("notes/today.md", text);
        }
        let file = runtime.project().join("notes/today.md");
        let meddling = EditorOptions::default().answering(move |_| {
            std::fs::write(&file, "# Mine\n").unwrap();
            Answer::Pick("allow_once")
        });
        let editor = runtime.editor_with(meddling).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Write").await;
        assert_eq!((turn.call().status(), turn.text()), ("failed", "As you wish.".to_owned()), "{before:?}");
        assert_eq!(runtime.read("notes/today.md"), "# Mine\n");
        editor.close().await;
    }
}
