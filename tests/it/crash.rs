//! `kill -9` in the middle of a turn, at random moments: what the client was shown is there afterwards.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

use acp_runtime_tests::{EditorOptions, Runtime, Turn};
use serde_json::Value;

/// A turn with a bit of everything, long enough to be killed in.
fn scenario() -> String {
    let round = |round: usize| {
        let word = |word: usize| format!("{{ text = \"round {round} word {word}. \" }}, {{ delay_ms = 1 }}");
        let words = (0..8).map(word).collect::<Vec<_>>().join(", ");
        format!(
            r#"
            [[reply]]
            steps = [
              {words},
              {{ thought = "Hm." }},
              {{ usage = {{ input = 5, output = 5, window = 8000 }} }},
              {{ call = {{ tool = "read_file", arguments = {{ path = "a.txt" }} }} }},
              {{ call = {{ tool = "write_file", arguments = {{ path = "b.txt", content = "b" }} }} }},
            ]
            "#
        )
    };
    let rounds: String = (0..40).map(round).collect();
    format!("quiet = true\n{rounds}\n[[reply]]\nsteps = [{{ text = \"Done.\" }}]\n")
}

/// What a client would look at, by the ids that it knows: text of messages, state of tool calls.
fn shown(updates: &[Value]) -> (BTreeMap<String, String>, BTreeMap<String, (String, String)>) {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for update in updates {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if kind.ends_with("_chunk") {
            let key = format!("{kind} {}", update["messageId"].as_str().expect("every chunk names its message"));
            texts.entry(key).or_default().push_str(update["content"]["text"].as_str().unwrap_or_default());
        }
    }
    let turn = Turn { stop: String::new(), updates: updates.to_vec() };
    let calls = turn.calls().into_iter().map(|call| (call.id.clone(), (call.status().to_owned(), call.text())));
    (texts, calls.collect())
}

/// Kills after `most` updates at the latest, and compares.
async fn killed_at(runtime: &Runtime, moment: usize) {
    let editor = runtime.editor_with(EditorOptions::default()).await;
    let session = editor.new_session().await;
    editor.set_mode(&session, "auto").await;
    let _prompt = editor.begin_prompt(&session, "Go");
    editor.until_updates(&session, moment).await;
    editor.kill().await;
    let heard = editor.updates(&session);
    drop(editor);

    let editor = runtime.editor_with(EditorOptions::default()).await;
    let replay = editor.load_session(&session).await;
    let ((texts, calls), (kept_texts, kept_calls)) = (shown(&heard), shown(&replay.updates));
    for (message, text) in texts {
        let kept = kept_texts.get(&message).map_or("", String::as_str);
        assert!(kept.starts_with(&text), "killed at update {moment}: `{message}` was `{text}` and is `{kept}`");
    }
    for (call, (status, text)) in calls {
        let (kept_status, kept_text) =
            kept_calls.get(&call).unwrap_or_else(|| panic!("killed at update {moment}: call `{call}` is lost"));
        let over = ["completed", "failed"].contains(&status.as_str());
        assert!(!over || (&status, &text) == (kept_status, kept_text), "killed at update {moment}: call `{call}`");
    }
    assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn", "the session goes on");
    editor.close().await;
}

async fn killed_often(times: u64) {
    let runtime = Runtime::scripted(&scenario()).config("limits.same_calls = 0\n").file("a.txt", "a\n");
    for time in 0..times {
        let random = RandomState::new().hash_one(time);
        // The commands and the mode come first; before them nothing of the session was shown that is kept.
        killed_at(&runtime, 2 + usize::try_from(random % 400).expect("a small number")).await;
    }
    runtime.assert_no_process_left();
}

#[tokio::test]
async fn every_event_survives_20_kills() {
    killed_often(20).await;
}

mod slow_series {
    #[tokio::test]
    async fn every_event_survives_50_kills() {
        super::killed_often(50).await;
    }
}
