//! `tests/guests/parrot` in the real binary: a plugin that got to know a secret says it in every way that there is, and
//! nobody hears it.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "looks for a secret in all that was written")]

use std::fmt::Write as _;
use std::path::Path;

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, Runtime, WebDouble, WebPage};
use serde_json::{Value, json};

const SECRET: &str = "s3cret/T0ken+4711-xyz";

/// The ways of the guest's tool `say`, and what is heard of it: what is told to the model begins so.
const WAYS: [(&str, &str); 23] = [
    ("text", "****"),
    ("bytes", "[xxx"),
    ("structured", "done"),
    ("location", "done"),
    ("error", "****"),
    ("kind", "no"),
    ("panic", ""),
    ("log", "done"),
    ("print", "done"),
    ("plan", "done"),
    ("progress", "done"),
    ("prompt", "done"),
    ("keep", ""),
    ("key", ""),
    ("write", "a secret is in the text"),
    ("name", "a secret is in what it names"),
    ("read", "known: ****"),
    ("run", "a secret is in the command"),
    ("output", "known: ****"),
    ("address", "a secret is in the address"),
    ("query", "a secret is in the address"),
    ("header", "a secret is in a header"),
    ("body", "a secret is in the body"),
];

const FORMS: [&str; 5] = ["plain", "base64", "hex", "percent", "hidden"];

/// A runtime with the guest, which was granted all that it asks for, and knows the secret.
async fn parrot(site: &WebDouble, model: &ModelDouble) -> (Runtime, EditorDouble, String) {
    let manifest = include_str!("../guests/parrot/plugin.toml");
    let manifest = manifest.replace("http://localhost", &format!("http://localhost:{}", site.port()));
    let runtime = Runtime::new().file("plugin.toml", &manifest).config(&format!(
        "model = 'lab'\nmode = 'auto'\n[log]\nlevel = 'debug'\n[secrets]\nstore = 'file'\n\
         [providers.lab]\nwire = 'openai-chat'\nbase_url = '{}'\nmodel = 'small'\n",
        model.base_url()
    ));
    let component = build_folder().join("guests/parrot.wasm").display().to_string();
    let arguments = ["--component", &component, "--manifest", "plugin.toml", "--output", "parrot.wasm"];
    for arguments in
        [&[&["plugin", "build"][..], &arguments].concat()[..], &["plugin", "install", "parrot.wasm", "--yes"]]
    {
        let done = runtime.run(arguments);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    runtime.keep_secret("test:parrot/token", SECRET);
    std::fs::write(runtime.project().join("known.txt"), format!("known: {SECRET}")).unwrap();
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let learn = json!({ "url": site.url("/backwards") });
    let learnt = editor.prompt(&session, &format!("/call parrot__learn {learn}")).await.text();
    assert_eq!(learnt, format!("{} bytes", SECRET.len()));
    (runtime, editor, session)
}

async fn site() -> WebDouble {
    WebDouble::start(|visit| {
        let sent = visit.headers.get("authorization").cloned().unwrap_or_default();
        WebPage::new("text/plain", sent.chars().rev().collect::<String>())
    })
    .await
}

async fn model() -> ModelDouble {
    ModelDouble::start((0..40).map(|_| Reply::text("Aye.")).collect::<Vec<_>>()).await
}

/// Every form in which it could be read by others, half of each included: in texts that may have been cut.
fn sightings() -> Vec<String> {
    let hex = |before: &str| {
        SECRET.bytes().fold(String::new(), |mut hex, byte| {
            write!(hex, "{before}{byte:02x}").unwrap();
            hex
        })
    };
    // What `k:` and the secret have in base64, without the first and the last characters.
    let base64 = "zM2NyZXQvVDBrZW4rNDcxMS14e";
    let whole = [SECRET.to_owned(), hex(""), hex("%"), base64.to_owned(), "s3cret%2FT0ken%2B4711-xyz".to_owned()];
    whole.iter().flat_map(|form| [form[..form.len() / 2].to_owned(), form[form.len() / 2..].to_owned()]).collect()
}

/// Nothing of the secret is in a text that somebody may be shown, whatever it has in it that cannot be seen.
fn assert_silent(what: &str, text: &str) {
    let seen = text.replace('\u{200b}', "").replace("\\u{200b}", "").replace("\\u200b", "");
    for form in sightings() {
        let found = seen.to_ascii_lowercase().find(&form.to_ascii_lowercase());
        let around = || String::from_utf8_lossy(&seen.as_bytes()[found.unwrap_or_default().saturating_sub(1000)..]);
        assert!(found.is_none(), "`{form}` in {what}: …{}", around().chars().take(2000).collect::<String>());
    }
}

/// Every file below `folder` in which something of it is.
fn holders(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holders(&path, found);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
        let holds = |form: &String| bytes.windows(form.len()).any(|part| part == form.to_ascii_lowercase().as_bytes());
        if sightings().iter().any(holds) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
}

/// Everything that came out in the end: the editor's log, the model's requests, and all that was kept.
async fn assert_nothing_left(runtime: &Runtime, editor: EditorDouble, session: &str, model: &ModelDouble) {
    let told: Vec<String> = editor.updates(session).iter().map(Value::to_string).collect();
    assert_silent("the updates", &told.join("\n"));
    assert_silent("the questions", &format!("{:?}", editor.permissions()));
    assert_silent("the notifications", &format!("{:?}", editor.notifications()));
    for asked in model.asked() {
        assert_silent("a request to the model", &asked.body.to_string());
    }
    let ended = editor.close().await;
    assert_silent("the log", &ended.stderr);
    let mut found = Vec::new();
    holders(&runtime.home(), &mut found);
    holders(&runtime.project(), &mut found);
    found.sort();
    assert_eq!(found, ["known.txt", "secrets.json"], "only where the person has put it");
    let audit = runtime.run(&["audit", "show"]);
    assert_silent("the audit", &format!("{}{}", audit.stdout, audit.stderr));
}

#[tokio::test]
async fn a27_a_tool_says_a_secret_in_no_way_and_no_form() {
    let (site, model) = (site().await, model().await);
    let (runtime, editor, session) = parrot(&site, &model).await;
    for (way, begins) in WAYS {
        for form in FORMS {
            let turn =
                editor.prompt(&session, &format!("/call parrot__say {}", json!({ "way": way, "form": form }))).await;
            let told = turn.text();
            assert_silent(&format!("{way} {form}"), &format!("{told}\n{}", json!(turn.updates)));
            // Which way it was is as it should be, so that none is silent for another reason.
            let heard = told.replace("Error: ", "").replace("error: ", "");
            let plain = form == "plain" || !begins.starts_with("a secret");
            assert!(!plain || heard.contains(begins), "{way} {form}: {told}");
        }
    }
    assert_eq!(site.visits().len(), 1, "and it is sent nowhere");
    editor.prompt(&session, "What is new?").await;
    assert_nothing_left(&runtime, editor, &session, &model).await;
}

#[tokio::test]
async fn a27_neither_do_a_panel_a_command_and_a_hook() {
    let (site, model) = (site().await, model().await);
    let (runtime, editor, session) = parrot(&site, &model).await;
    let snapshot = editor.call("_aar/panel_snapshot", json!({ "sessionId": session, "panel": "perch" })).await;
    assert_silent("the panel", &snapshot.to_string());
    assert!(snapshot.to_string().contains("****"), "{snapshot}");
    for action in ["peck", "fall"] {
        let params = json!({ "sessionId": session, "panel": "perch", "action": action, "nodeId": "top", "args": {} });
        let acted = format!("{:?}", editor.request("_aar/panel_action", params).await);
        assert_silent(action, &acted);
        assert!(acted.contains("****"), "{acted}");
    }
    assert_silent("the panel as text", &editor.prompt(&session, "/panel perch").await.text());
    for form in FORMS {
        let turn = editor.prompt(&session, &format!("/squawk {form}")).await;
        assert!(turn.text().contains("****"), "{form}: {}", turn.text());
    }
    for heard in [
        "squawk replace",
        "squawk block",
        "squawk ask",
        "squawk fail",
        r#"/call write_file {"path": "a.txt", "content": "squawk replace"}"#,
        r#"/call write_file {"path": "a.txt", "content": "squawk block"}"#,
        r#"/call write_file {"path": "a.txt", "content": "squawk ask"}"#,
        r#"/call write_file {"path": "a.txt", "content": "squawk fail"}"#,
        r#"/call think {"thought": "squawk replace"}"#,
    ] {
        let prompt = editor.begin_prompt(&session, heard);
        let ended = format!("{:?}", editor.turn(prompt).await);
        assert_silent(heard, &ended);
        let asked = editor.permissions().last().map(|asked| asked.call.to_string()).unwrap_or_default();
        let told = if heard.contains("squawk ask") { asked } else { ended };
        assert!(told.contains("****") || heard.contains("think"), "{heard}: {told}");
    }
    let list = editor.call("session/list", json!({})).await;
    assert_silent("the list of sessions", &list.to_string());
    assert_nothing_left(&runtime, editor, &session, &model).await;
}
