//! What a person can type, over the real binary.

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{EditorDouble, Runtime};

async fn said(editor: &EditorDouble, session: &str, typed: &str) -> String {
    editor.prompt(session, typed).await.text()
}

fn lab(url: &str, more: &str) -> String {
    format!("{more}\n[providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\n")
}

#[tokio::test]
async fn the_status_says_how_the_session_stands() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    said(&editor, &session, "/mode plan").await;
    said(&editor, &session, "/plugins off aar:tasks").await;
    let status = said(&editor, &session, "/status").await;
    for line in [
        format!("- session: `{session}`"),
        "- mode: Plan".to_owned(),
        "- model: `none`".to_owned(),
        "- plugins: 2 of 3 on".to_owned(),
        format!("- folder: `{}`", runtime.project().display()),
    ] {
        assert!(status.contains(&line), "`{line}` is not in {status}");
    }
    editor.close().await;
}

#[tokio::test]
async fn the_policy_is_what_the_gate_judges_by() {
    let runtime = Runtime::new().config("[permission]\ndeny = ['fetch', 'write:migrations/**']\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (mode, lines) in [
        ("review", ["- read a file: yes", "- write a file: is asked for", "- run a program: is asked for"]),
        ("auto-edit", ["- write a file: yes", "- delete a file: is asked for", "- run a program: is asked for"]),
        ("auto", ["- write a file: yes", "- delete a file: yes", "- run a program: yes"]),
        ("plan", ["- read a file: yes", "- move a file: no: the session is in mode `plan`", "- run a program: no: "]),
    ] {
        said(&editor, &session, &format!("/mode {mode}")).await;
        let policy = said(&editor, &session, "/policy").await;
        for line in lines.iter().chain(&["- fetch from the network: no: `fetch` is on the deny list"]) {
            assert!(policy.contains(line), "`{line}` is not in {policy}");
        }
        for denied in ["- `**/.env`", "- `fetch`", "- `write:migrations/**`"] {
            assert!(policy.contains(denied), "{policy}");
        }
    }
    editor.close().await;
}

#[tokio::test]
async fn a_cleared_session_begins_anew_for_its_model_alone() {
    let double = ModelDouble::start((0..3).map(|_| Reply::text("ok"))).await;
    let runtime = Runtime::new().config(&lab(&double.base_url(), ""));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    said(&editor, &session, "apple").await;
    assert!(said(&editor, &session, "/clear").await.starts_with("The model begins anew"));
    said(&editor, &session, "banana").await;
    editor.close().await;
    let editor = runtime.editor().await;
    let replay = editor.load_session(&session).await;
    assert_eq!(replay.said("user_message_chunk"), "apple/clearbanana", "the session keeps what was said");
    said(&editor, &session, "cherry").await;
    let shown: Vec<String> = double.asked().iter().map(|asked| asked.body["messages"].to_string()).collect();
    assert!(shown[0].contains("apple"));
    assert!(!shown[1].contains("apple") && shown[1].contains("banana"), "{}", shown[1]);
    assert!(!shown[2].contains("apple") && shown[2].contains("banana") && shown[2].contains("cherry"), "{}", shown[2]);
    editor.close().await;
}

#[tokio::test]
async fn init_asks_the_model_and_nothing_unknown_does() {
    let double = ModelDouble::start([Reply::text("Written.")]).await;
    let editor = Runtime::new().config(&lab(&double.base_url(), "")).editor().await;
    let session = editor.new_session().await;
    for typed in ["/inti", "/no-such-command at all"] {
        assert!(said(&editor, &session, typed).await.starts_with("error: there is no command"), "{typed}");
    }
    assert!(double.asked().is_empty(), "never sent to the model by accident");
    assert_eq!(said(&editor, &session, "/init").await, "Written.");
    assert!(double.asked()[0].body["messages"].to_string().contains("AGENTS.md"));
    assert!(said(&editor, &session, "/cost").await.starts_with("No cost is known"));
    editor.close().await;
}
