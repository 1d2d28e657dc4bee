//! A thousand sessions in one process, and a thousand prompts in one session: what each further one costs.
#![expect(clippy::disallowed_methods, reason = "counts what a process holds open")]

use std::time::{Duration, Instant};

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

/// The median time of some prompts in each session, by turns, so that both see the same machine.
async fn compared(editor: &EditorDouble, sessions: [&str; 2]) -> [Duration; 2] {
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..60 {
        for (session, took) in sessions.into_iter().zip(&mut took) {
            let begin = Instant::now();
            editor.prompt(session, "Look").await;
            took.push(begin.elapsed());
        }
    }
    took.map(|mut took| {
        took.sort();
        took[took.len() / 2]
    })
}

mod slow_length {
    use super::*;

    /// Seven events a prompt.
    const LOOK: &str = r#"
quiet = true
repeat = true
[[reply]]
steps = [{ text = "Let me see." }, { call = { tool = "read_file", arguments = { path = "a.txt" } } }]
[[reply]]
steps = [{ text = "An a." }]
"#;

    #[tokio::test]
    async fn a_prompt_costs_the_same_however_long_its_session_is() {
        let runtime = Runtime::scripted(LOOK).file("a.txt", "a\n");
        let editor = runtime.editor().await;
        let long = editor.new_session().await;
        for _ in 0..1500 {
            editor.prompt(&long, "Look").await;
        }
        editor.close().await;

        let editor = runtime.editor().await;
        let begin = Instant::now();
        let replay = editor.load_session(&long).await;
        println!("{} updates in {:?}", replay.updates.len(), begin.elapsed());
        assert_eq!(replay.calls().len(), 1500);
        // The double looks at all that it heard of a session, too.
        editor.forget_updates(&long);
        let fresh = editor.new_session().await;
        let [long, fresh] = compared(&editor, [&long, &fresh]).await;
        println!("{long:?} against {fresh:?} in a fresh session");
        assert!(long < fresh * 3 / 2, "{long:?} against {fresh:?} in a fresh session");
        editor.close().await;
    }
}
