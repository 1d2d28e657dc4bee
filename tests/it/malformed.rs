//! An editor whose answers are not those of the protocol: it is said in words which request was answered wrongly, and
//! nothing of what it sent is repeated.

use acp_runtime_tests::{EditorOptions, Filled, Manner, Runtime};
use serde_json::json;

const ASK: &str = r#"/call ask_user {"question": "Which port?", "choices": ["8080", "9090"]}"#;
const WRITE: &str = r#"/call write_file {"path": "b.txt", "content": "x"}"#;
const READ: &str = r#"/call read_file {"path": "a.txt"}"#;
const SHELL: &str = r#"/call shell {"command": "echo done"}"#;

/// The mode, the method, its answer, what is typed, and what is told of it.
const WRONG: &[(&str, &str, &str, &str, &str)] = &[
    ("auto", "fs/read_text_file", r#"{"text": "hush"}"#, READ, "missing field `content`"),
    ("auto", "fs/read_text_file", r#"{"content": ["hush"]}"#, READ, "invalid type, expected a string"),
    ("auto", "fs/write_text_file", r#""hush""#, WRITE, ""),
    ("auto", "terminal/create", r#"{"id": "hush"}"#, SHELL, "missing field `terminalId`"),
    ("auto", "terminal/wait_for_exit", r#"["hush", 1]"#, SHELL, ""),
    ("auto", "terminal/output", r#"{"text": "hush"}"#, SHELL, "missing field `output`"),
    ("auto", "elicitation/create", r#"{"answer": "hush"}"#, ASK, "it has another form"),
];

fn options(method: &'static str, answer: &'static str) -> EditorOptions {
    let manner = move |asked: &str| if asked == method { Manner::Give(answer) } else { Manner::Serve };
    EditorOptions::default().with_files().with_terminals().filling(|_| Filled::Cancel).behaving(manner)
}

#[tokio::test]
async fn an_answer_of_another_form_is_told_of_in_words() {
    for &(mode, method, answer, typed, problem) in WRONG {
        let runtime = Runtime::new().config(&format!("mode = '{mode}'\n")).file("a.txt", "text");
        let editor = runtime.editor_with(options(method, answer)).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, typed).await;
        let told = format!("{}\n{}", turn.text(), json!(turn.updates));
        let words = format!("the editor answered `{method}` with what the protocol does not have there: {problem}");
        assert!(told.contains(&words), "{method} {answer}: {told}");
        assert!(!told.contains("hush") && !told.contains("deserialization"), "{method} {answer}: {told}");
        assert_eq!(editor.prompt(&session, "/help").await.stop, "end_turn", "it goes on");
        editor.close().await;
    }
}

/// A question that was answered with nonsense is a no, and not one of a person.
#[tokio::test]
async fn a_permission_that_cannot_be_understood_is_none() {
    for answer in [r#"{"outcome": "yes"}"#, r#"{"allowed": true}"#, "true", "null"] {
        let runtime = Runtime::new();
        let editor = runtime.editor_with(options("session/request_permission", answer)).await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, WRITE).await;
        let told = turn.text();
        let reason = "write `b.txt`: the client's answer to the question has not the form of one";
        assert!(told.contains(reason) && told.contains("hint: update the client"), "{answer}: {told}");
        assert!(!runtime.project().join("b.txt").exists(), "{answer}");
        let log = editor.stderr();
        let words = "the editor answered `session/request_permission` with what the protocol does not have there";
        assert!(log.contains(words), "{answer}: {log}");
        editor.close().await;
    }
}
