//! A thousand sessions in one process: what each of them costs.
#![expect(clippy::disallowed_methods, reason = "counts what a process holds open")]

use acp_runtime_tests::{EditorDouble, Runtime};

/// An answer in many pieces.
const ANSWER: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ chunks = { count = 2000, size = 6 } }]
"#;

async fn open_and_prompt(editor: &EditorDouble, sessions: usize) {
    for _ in 0..sessions {
        let session = editor.new_session().await;
        assert_eq!(editor.prompt(&session, "Speak").await.stop, "end_turn");
    }
}

fn open_files(editor: &EditorDouble) -> usize {
    let folder = format!("/proc/{}/fd", editor.process().as_raw_nonzero());
    std::fs::read_dir(folder).expect("the process is running").count()
}

#[tokio::test]
async fn a_further_idle_session_costs_little() {
    const SESSIONS: usize = 1000;
    let editor = Runtime::scripted(ANSWER).editor().await;
    // What is loaded once is there, and all that is compiled in the background.
    open_and_prompt(&editor, 20).await;
    let (memory, files) = (editor.resident_bytes(), open_files(&editor));
    open_and_prompt(&editor, SESSIONS).await;
    let more = editor.resident_bytes().saturating_sub(memory) / SESSIONS as u64;
    println!("{} KiB for each further session", more / 1024);
    assert!(more < 200 * 1024, "{more} bytes for each further session");
    assert!(open_files(&editor) < files + 20, "sessions in one folder share its handle");
    editor.close().await;
}
