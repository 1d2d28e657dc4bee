//! What a person can type, over the real binary.

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::runtime::bundled_plugins;
use acp_runtime_tests::{EditorDouble, Runtime};
use expect_test::expect;
use serde_json::{Value, json};

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
        format!("- plugins: {} of {} on", bundled_plugins() - 1, bundled_plugins()),
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

/// Without a person, what would be asked for is a no, unless it was allowed beforehand.
#[test]
fn the_policy_of_a_run_is_what_it_was_given() {
    let runtime = Runtime::new();
    let policy = |arguments: &[&str]| runtime.run(&[&["run"][..], arguments, &["/policy"]].concat()).stdout;
    let bare = policy(&[]);
    let nobody = "- write a file: no, unless `/permissions` has an answer: there is nobody to ask\n";
    assert!(bare.contains(nobody) && !bare.contains("is asked for,") && !bare.contains("beforehand"), "{bare}");
    let given = policy(&["--allow", "write:notes/**", "--allow", "run", "--deny", "delete"]);
    for line in [
        nobody,
        "- run a program: yes: it was allowed beforehand\n",
        "- delete a file: no: `delete` is on the deny list\n",
        "allowed beforehand where it is one of these:\n\n- `write:notes/**`\n- `run`\n",
    ] {
        assert!(given.contains(line), "`{line}` is not in {given}");
    }
    let plan = policy(&["--allow", "all", "--mode", "plan"]);
    assert!(plan.contains("- run a program: no: the session is in mode `plan`"), "{plan}");
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
async fn a_command_is_the_title_until_something_is_said() {
    let scenario = "quiet = true\nrepeat = true\n[[reply]]\nsteps = [{ text = \"ok\" }]\n";
    let runtime = Runtime::scripted(scenario);
    for (said, titles, kept) in [
        (&["/help", "/status"][..], vec!["/help"], "/help"),
        (
            &["/mode plan", "/no-such", "Mend the door\nplease", "/help", "And paint it"],
            vec!["/mode plan", "Mend the door"],
            "Mend the door",
        ),
        (&["/init", "Mend the door"], vec!["/init", "Mend the door"], "Mend the door"),
        (&["/usr/bin/env is what?", "Mend the door"], vec!["/usr/bin/env is what?"], "/usr/bin/env is what?"),
    ] {
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        for text in said {
            editor.prompt(&session, text).await;
        }
        let told: Vec<Value> = editor
            .updates(&session)
            .into_iter()
            .filter(|update| update["title"].is_string() && update["sessionUpdate"] == "session_info_update")
            .collect();
        let told: Vec<&str> = told.iter().filter_map(|update| update["title"].as_str()).collect();
        assert_eq!(told, titles, "{said:?}");
        let list = editor.call("session/list", json!({})).await;
        let listed = list["sessions"].as_array().unwrap().iter().find(|listed| listed["sessionId"] == session.as_str());
        assert_eq!(listed.unwrap()["title"], kept);
        editor.close().await;
        // A loaded session knows whether it has one.
        let editor = runtime.editor().await;
        editor.load_session(&session).await;
        let turn = editor.prompt(&session, "Later").await;
        assert_eq!(
            turn.of("session_info_update").any(|update| update["title"] == "Later"),
            kept == "/help",
            "{said:?}"
        );
        editor.close().await;
    }
}

#[tokio::test]
async fn a_tool_is_shown_with_what_it_takes() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let shown = said(&editor, &session, "/tools tasks__add").await;
    expect![[r#"
        **`tasks__add`** – Add tasks

        Adds tasks to the project's list, which the user sees as well. Use it at the beginning of work with several steps, and whenever a new step turns up.

        Arguments:

        - `text` (string, required) – What is to be done, in one line. Several lines make several tasks.

        To call it: `/call tasks__add {"text": …}`"#]]
    .assert_eq(&shown);
    for line in [
        "- `path` (string, required)",
        "- `content` (string, required)",
        "`/call write_file {\"path\": …, \"content\": …}`",
    ] {
        let shown = said(&editor, &session, "/tools write_file").await;
        assert!(shown.contains(line), "`{line}` is not in {shown}");
    }
    let unknown = said(&editor, &session, "/tools write_fil").await;
    assert!(unknown.starts_with("error: ") && unknown.contains("did you mean `write_file`"), "{unknown}");
    assert!(said(&editor, &session, "/tools").await.contains("- `write_file` – "));
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
