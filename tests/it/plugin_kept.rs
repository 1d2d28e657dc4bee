//! Plugins of one id that come from different places: what is kept for one, no other ever has.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "puts plugins into folders")]

use std::fs;
use std::path::PathBuf;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{EditorDouble, Runtime};
use serde_json::json;

/// A plugin that keeps values, and one that keeps files; both bundled nowhere.
fn plugin(name: &str) -> PathBuf {
    let folder = build_folder();
    let path = if name == "tasks" { folder.join("plugins/tasks.wasm") } else { folder.join("guests/hostile.wasm") };
    assert!(path.is_file(), "{} is not there: `cargo xtask plugins` builds it", path.display());
    path
}

fn runtime(config: &str) -> Runtime {
    Runtime::new().config(&format!("mode = \"auto\"\n{config}"))
}

/// In place of the configuration that there was.
fn configure(runtime: &Runtime, config: &str) {
    fs::write(runtime.home().join("config.toml"), format!("mode = \"auto\"\n{config}")).unwrap();
}

fn install(runtime: &Runtime, name: &str) {
    let installed = runtime.run(&["plugin", "install", "--yes", &plugin(name).display().to_string()]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
}

/// Who is asked in this session: adds a task and a file of that name, and says what there is of both.
async fn keep(editor: &EditorDouble, session: &str, name: &str) -> (String, String) {
    // Of a plugin that is not there nothing is said.
    let said = async |call: String| {
        let turn = editor.turn(editor.begin_prompt(session, &call)).await;
        turn.map(|turn| turn.text()).unwrap_or_default()
    };
    said(format!("/call tasks__add {}", json!({ "text": name }))).await;
    said(format!("/call hostile__attempt {}", json!({ "attack": "write", "path": format!("/data/{name}") }))).await;
    let files = said(format!("/call hostile__attempt {}", json!({ "attack": "list", "path": "/data" }))).await;
    (said("/call tasks__list {}".to_owned()).await, files)
}

async fn kept(runtime: &Runtime, name: &str) -> (String, String) {
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let kept = keep(&editor, &session, name).await;
    editor.close().await;
    kept
}

#[tokio::test]
async fn a30_what_one_plugin_keeps_another_of_its_id_never_sees() {
    let runtime = runtime("[plugins]\nbundled = false\n");
    install(&runtime, "tasks");
    install(&runtime, "hostile");
    let (tasks, files) = kept(&runtime, "installed").await;
    assert!(tasks.contains("installed") && files == "done: installed", "{tasks} {files}");
    // The same ids, from a folder that the settings name; what is installed is not loaded beside them.
    let folder = runtime.outside("named");
    fs::create_dir(&folder).unwrap();
    for name in ["tasks", "hostile"] {
        fs::copy(plugin(name), folder.join(format!("{name}.wasm"))).unwrap();
    }
    configure(&runtime, &format!("[plugins]\nbundled = false\npaths = [{:?}]\n", folder.display().to_string()));
    let (tasks, files) = kept(&runtime, "named").await;
    assert!(tasks.contains("named") && !tasks.contains("installed"), "{tasks}");
    assert!(!files.contains("installed"), "{files}");
    // Those that came with the program: of these there is only the one that keeps values.
    configure(&runtime, "");
    let (tasks, files) = kept(&runtime, "bundled").await;
    assert_eq!(files, "done: bundled installed");
    assert!(tasks.contains("bundled") && !tasks.contains("named") && !tasks.contains("installed"), "{tasks}");
    // And each still has its own.
    configure(&runtime, "[plugins]\nbundled = false\n");
    let (tasks, files) = kept(&runtime, "again").await;
    assert!(tasks.contains("installed") && tasks.contains("again") && !tasks.contains("named"), "{tasks}");
    assert_eq!(files, "done: again bundled installed");
}

#[tokio::test]
async fn a30_a_project_s_plugin_has_nothing_of_another_project_s() {
    let runtime = runtime("[plugins]\nbundled = false\n");
    install(&runtime, "tasks");
    let (tasks, _) = kept(&runtime, "installed").await;
    assert!(tasks.contains("installed"), "{tasks}");
    let removed = runtime.run(&["plugin", "remove", "aar:tasks", "--keep-data"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    fs::create_dir_all(runtime.project().join(".acp-runtime/plugins")).unwrap();
    fs::copy(plugin("tasks"), runtime.project().join(".acp-runtime/plugins/tasks.wasm")).unwrap();
    let project = runtime.project().display().to_string();
    let trusted = runtime.run(&["trust", "add", &project, "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:?}");
    let (tasks, _) = kept(&runtime, "brought").await;
    assert!(tasks.contains("brought") && !tasks.contains("installed"), "{tasks}");
}

#[tokio::test]
async fn what_a_plugin_keeps_is_removed_with_it_unless_somebody_wants_it_kept() {
    let runtime = runtime("[plugins]\nbundled = false\n");
    for (options, expected) in [(&[][..], false), (&["--keep-data"], true), (&["--json"], false)] {
        install(&runtime, "tasks");
        install(&runtime, "hostile");
        let (tasks, files) = kept(&runtime, "first").await;
        assert!(tasks.contains("first") && files.contains("first"), "{tasks} {files}");
        for id in ["aar:tasks", "test:hostile"] {
            let removed = runtime.run(&[&["plugin", "remove", id][..], options].concat());
            assert_eq!((removed.code, removed.stderr.as_str()), (Some(0), ""), "{removed:?}");
            assert!(
                !removed.stdout.contains("dataKept") || removed.stdout.contains("\"dataKept\":false"),
                "{removed:?}"
            );
        }
        install(&runtime, "tasks");
        install(&runtime, "hostile");
        let (tasks, files) = kept(&runtime, "second").await;
        let found = (tasks.contains("first"), files.contains("first"));
        assert_eq!(found, (expected, expected), "{options:?}: {tasks} {files}");
        for id in ["aar:tasks", "test:hostile"] {
            assert_eq!(runtime.run(&["plugin", "remove", id]).code, Some(0));
        }
    }
}

/// What was kept before publishers were told apart is that of what was installed.
#[tokio::test]
async fn files_from_before_are_found_again() {
    let runtime = runtime("[plugins]\nbundled = false\n");
    install(&runtime, "hostile");
    assert_eq!(kept(&runtime, "old").await.1, "done: old");
    let data = runtime.home().join("plugin-data");
    fs::create_dir(data.join("test")).unwrap();
    fs::rename(data.join("@installed/test/hostile"), data.join("test/hostile")).unwrap();
    assert_eq!(kept(&runtime, "new").await.1, "done: new old");
    assert!(!data.join("test/hostile").exists());
}
