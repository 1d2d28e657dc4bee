//! `/doctor`: what `acp-runtime doctor` says, and how the session's models, servers and plugins do.

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::json;

async fn doctor(editor: &EditorDouble, session: &str) -> String {
    editor.prompt(session, "/doctor").await.text()
}

/// The entry of one plugin, with what is indented below it.
fn entry<'a>(text: &'a str, plugin: &str) -> &'a str {
    let start = text.find(&format!("- `{plugin}` ")).unwrap_or_else(|| panic!("no `{plugin}` in {text}"));
    let rest = &text[start..];
    rest.find("\n- ").map_or(rest, |end| &rest[..end])
}

#[tokio::test]
async fn it_says_what_the_command_line_says_and_how_things_do() {
    let runtime = Runtime::new()
        .config("[permission]\ntimeout = 7\n[providers.lab]\nwire = 'anthropic'\nmodel = 'm'\napi_key = 'lab-key-0123456789'\n")
        .config("[providers.zoo]\nwire = 'anthropic'\nmodel = 'owl'\napi_key_env = 'ZOO_KEY'\n")
        .file(".acp-runtime/config.toml", "mode = 'auto'\n")
        .file("a.rs", "fn main() {}\n");
    let typed = runtime.run(&["doctor", "--json"]);
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let text = doctor(&editor, &session).await;
    for line in typed.stdout.lines() {
        let check: serde_json::Value = serde_json::from_str(line).unwrap();
        let of = |field: &str| check[field].as_str().unwrap().to_owned();
        // The command line has the project as `.`.
        let detail = of("detail").replace("`./.acp-runtime", &format!("`{}/.acp-runtime", runtime.project().display()));
        let expected = format!("- {} {}: {detail}\n", of("outcome"), of("check"));
        assert!(text.contains(&expected), "`{expected}` is not in {text}");
        if let Some(hint) = check["hint"].as_str() {
            assert!(text.contains(&format!("  - hint: {hint}\n")), "{text}");
        }
    }
    assert!(text.contains("- warn project: "), "the project's own file is checked: {text}");
    for line in [
        "- `lab` – its key is from",
        "- `zoo` – it has no key: run `acp-runtime login zoo`",
        "**MCP servers**\n\nThere are none.",
        "- `aar:code-stats` (bundled, on) – not called",
    ] {
        assert!(text.contains(line), "`{line}` is not in {text}");
    }
    assert!(!text.contains("0123456789"), "no key is shown: {text}");

    editor.prompt(&session, "/call code-stats {}").await;
    editor.prompt(&session, "/plugins off aar:code-stats").await;
    let text = doctor(&editor, &session).await;
    let stats = entry(&text, "aar:code-stats");
    assert!(
        stats.contains("(bundled, off) – 1 call, half of them within ") && stats.contains(" ms, the longest "),
        "{stats}"
    );
    editor.close().await;
}

#[tokio::test]
async fn a_plugin_that_fails_has_its_last_words() {
    let guest = build_folder().join("guests/hostile.wasm").display().to_string();
    let runtime = Runtime::new().config("mode = 'auto'\n");
    let installed = runtime.run(&["plugin", "install", "--yes", &guest]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let attempt = async |attack: &str| {
        editor.prompt(&session, &format!("/call hostile__attempt {}", json!({ "attack": attack }))).await;
    };
    attempt("arguments").await;
    attempt("panic").await;
    let text = doctor(&editor, &session).await;
    let hostile = entry(&text, "test:hostile");
    assert!(hostile.contains("(installed, on) – 2 calls, 1 failed, half of them within "), "{hostile}");
    assert!(hostile.contains("\n  - the last failure: the plugin failed: "), "{hostile}");
    assert!(hostile.contains("\n    info stderr: ") && hostile.contains("panicked"), "{hostile}");

    // However much it says, little of it is kept, and less is shown.
    attempt("output").await;
    let text = doctor(&editor, &session).await;
    let lines = entry(&text, "test:hostile").lines().filter(|line| line.contains("info std")).count();
    assert!((1..=5).contains(&lines) && text.len() < 20_000, "{lines} lines, {} bytes: {text}", text.len());
    // Another session of the process is told the same, and another process begins anew.
    let other = editor.new_session().await;
    assert!(entry(&doctor(&editor, &other).await, "test:hostile").contains("3 calls"));
    editor.close().await;
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    assert!(entry(&doctor(&editor, &session).await, "test:hostile").contains("not called"));
    editor.close().await;
}

#[tokio::test]
async fn servers_are_shown_as_they_are() {
    let runtime = Runtime::new();
    let editor = runtime.editor().await;
    let servers = json!([{ "name": "absent", "command": "/no/such/program", "args": [], "env": [] }]);
    let params = json!({ "cwd": runtime.project(), "mcpServers": servers });
    let session = editor.call("session/new", params).await["sessionId"].as_str().unwrap().to_owned();
    let failed = |update: &serde_json::Value| update["_meta"]["aar"]["mcp"][0]["status"] == "failed";
    editor.until_update(&session, "the failure", failed).await;
    let text = doctor(&editor, &session).await;
    assert!(text.contains("- `absent` (the program `/no/such/program`) – failed: "), "{text}");
    let listed = editor.prompt(&session, "/mcp").await.text();
    assert!(text.contains(listed.trim_end()), "the line of `/mcp`: {listed}");
    editor.close().await;
}
