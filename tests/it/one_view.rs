//! One view of the session's files for everybody, in each of its folders: the agent's own tools, plugins through WASI and
//! through the host's text, links in prompts, and links that an MCP server gives.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out what must not be reached")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::{Value, json};

/// What no one may see, wherever it lies.
const SECRET: &str = "the-hidden-words";

const RIGHTS: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]\n";

/// Two folders of the same form that do not lie in each other, and a secret beside them.
async fn folders() -> (Runtime, ModelDouble, [PathBuf; 2]) {
    let double = ModelDouble::start((0..40).map(|_| Reply::text("ok")).collect::<Vec<_>>()).await;
    let url = double.base_url();
    let runtime = Runtime::new().config(&format!(
        "mode = \"auto\"\n[files]\ndeny = [\"private/**\"]\n[permission]\ndeny = [\"write:fixed.txt\"]\n\
         [providers.lab]\nwire = 'openai-chat'\nbase_url = '{url}'\nmodel = 'small'\n"
    ));
    let both = [runtime.project(), runtime.outside("second")];
    for folder in &both {
        for (path, text) in [
            ("open.txt", "the open words"),
            ("fixed.txt", "fixed"),
            (".env", SECRET),
            ("private/a.txt", SECRET),
            ("deep/key.pem", SECRET),
        ] {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::write(runtime.outside("secret"), SECRET).unwrap();
        symlink(runtime.outside("secret"), folder.join("out")).unwrap();
        symlink("private", folder.join("alias")).unwrap();
    }
    runtime.install_guest("hostile", "test:hostile", RIGHTS);
    (runtime, double, both)
}

const HIDDEN: [&str; 6] = [".env", "private/a.txt", "alias/a.txt", "deep/key.pem", "out", "../secret"];

async fn open(editor: &EditorDouble, [cwd, other]: &[PathBuf; 2]) -> String {
    let server = json!({ "name": "double", "command": env!("CARGO_BIN_EXE_mcp-double"), "args": [], "env": [] });
    let params = json!({ "cwd": cwd, "additionalDirectories": [other], "mcpServers": [server] });
    editor.call("session/new", params).await["sessionId"].as_str().unwrap().to_owned()
}

async fn call(editor: &EditorDouble, session: &str, tool: &str, arguments: &Value) -> (String, String) {
    let call = editor.prompt(session, &format!("/call {tool} {arguments}")).await.call();
    (call.status().to_owned(), call.text())
}

#[tokio::test]
async fn what_is_denied_is_denied_to_everybody_in_every_folder() {
    let (runtime, double, both) = folders().await;
    let editor = runtime.editor().await;
    let session = open(&editor, &both).await;
    for (folder, seen) in both.iter().zip(["/workspace", "/workspace-2"]) {
        let at = |path: &str| folder.join(path).display().to_string();
        let (status, text) = call(&editor, &session, "read_file", &json!({ "path": at("open.txt") })).await;
        assert!(status == "completed" && text.contains("the open words"), "{text}");
        let guest = async |attack: &str, path: &str| {
            let arguments = json!({ "attack": attack, "path": format!("{seen}/{path}") });
            call(&editor, &session, "hostile__attempt", &arguments).await.1
        };
        assert_eq!(guest("read", "open.txt").await, "done: the open words");
        for hidden in HIDDEN {
            let (status, text) = call(&editor, &session, "read_file", &json!({ "path": at(hidden) })).await;
            assert!(status == "failed" && !text.contains(SECRET), "{folder:?} {hidden}: {text}");
            let told = guest("read", hidden).await;
            assert!(told.starts_with("refused: "), "{seen} {hidden}: {told}");
            // A link in a prompt, and what the model is told of it.
            let link = json!({ "type": "resource_link", "name": hidden, "uri": format!("file://{}", at(hidden)) });
            let prompt = json!([{ "type": "text", "text": "See." }, link]);
            editor.call("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
            let asked = double.asked().pop().unwrap().body.to_string();
            assert!(asked.contains("See.") && !asked.contains(SECRET), "{hidden}: {asked}");
            // What a server links to is a link: nothing is read for it.
            let uri = json!({ "uri": format!("file://{}", at(hidden)) });
            let (status, text) = call(&editor, &session, "mcp__double__content", &uri).await;
            assert!(status == "completed" && !text.contains(SECRET), "{hidden}: {text}");
        }
        let (status, text) = call(&editor, &session, "grep", &json!({ "pattern": SECRET, "path": folder })).await;
        assert!(status == "completed" && text.contains("no line"), "{text}");
        let change = json!({ "path": at("fixed.txt"), "content": "changed" });
        let (status, text) = call(&editor, &session, "write_file", &change).await;
        assert!(status == "failed" && text.contains("`write:fixed.txt` is on the deny list"), "{text}");
        assert_eq!(fs::read_to_string(folder.join("fixed.txt")).unwrap(), "fixed");
    }
    // A server is told of both folders, and of nothing else.
    let (_, told) = call(&editor, &session, "mcp__double__roots", &json!({})).await;
    for folder in &both {
        assert!(told.contains(&format!("file://{}", folder.canonicalize().unwrap().display())), "{told}");
    }
    assert_eq!(told.matches("file://").count(), 2, "{told}");
    editor.close().await;
}
