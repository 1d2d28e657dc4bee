//! Another version of an installed plugin: what it asks for is compared with what was approved, and what is more waits.
#![expect(clippy::disallowed_methods, reason = "copies and changes files as a person would")]

use acp_runtime_tests::runtime::Finished;
use acp_runtime_tests::shop::{KV, NET, Offer, READ, READ_MORE};
use acp_runtime_tests::{EditorOptions, Runtime};
use expect_test::expect;
use serde_json::{Value, json};

/// A home in which version 0.1.0 is installed with all that it asks for.
fn shop(rights: &str) -> Runtime {
    let runtime = Runtime::new();
    Offer::of("0.1.0", rights).put(&runtime);
    install(&runtime, &["--yes"]);
    runtime
}

fn install(runtime: &Runtime, more: &[&str]) {
    let install = runtime.run(&[&["plugin", "install", "list.wasm"], more].concat());
    assert_eq!(install.code, Some(0), "{install:?}");
}

fn lines(finished: &Finished) -> Vec<Value> {
    finished.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The version that is used, and what it was granted.
fn used(runtime: &Runtime) -> (String, Vec<String>) {
    let info = runtime.run(&["plugin", "info", "acme:list", "--json"]);
    let info: Value = serde_json::from_str(&info.stdout).expect("JSON");
    let rights = info["capabilities"].as_array().expect("a list").iter().filter(|asked| asked["granted"] == true);
    let rights = rights.map(|asked| asked["right"].as_str().expect("a text").to_owned()).collect();
    (info["version"].as_str().expect("a text").to_owned(), rights)
}

/// What is said, without hashes.
fn told(finished: &Finished) -> String {
    let text = format!("exit {:?}\n{}---\n{}", finished.code, finished.stdout, finished.stderr);
    let mut parts = text.split("sha256:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{text}HASH{}", part.get(64..).unwrap_or_default()))
}

#[test]
fn a36_what_asks_for_more_or_says_something_else_waits_and_what_was_approved_is_used() {
    let wider = format!("{READ_MORE}{KV}");
    let host = format!("{READ}{KV}{NET}");
    let same = format!("{READ}{KV}");
    for (offer, what) in [
        (Offer::of("0.2.0", &host), "! added right net https://api.example.com/: \"asks for the weather\""),
        (
            Offer::of("0.2.0", &wider),
            "! widened right fs.read notes/** (before: fs.read notes/*.md): \"reads the notes\"",
        ),
        (
            Offer { is_reworded: true, ..Offer::of("0.2.0", &same) },
            "! changed tool add, its description: \"Adds tasks to the project's list, which the user sees as well. Use it",
        ),
    ] {
        let runtime = shop(&same);
        let before = used(&runtime);
        offer.put(&runtime);
        let outdated = lines(&runtime.run(&["plugin", "outdated", "--json"]));
        assert_eq!((outdated.len(), &outdated[0]["state"]), (1, &json!("waits")), "{outdated:?}");
        let hash = outdated[0]["available"]["terms"].as_str().expect("a hash").to_owned();

        let wrong = format!("sha256:{}", "0".repeat(64));
        for more in [&[][..], &["--accept-caps", &wrong]] {
            let update = runtime.run(&[&["plugin", "update", "acme:list"], more].concat());
            assert_eq!(update.code, Some(1), "{update:?}");
            assert!(update.stdout.starts_with("waiting acme:list 0.2.0 (sha256:"), "{update:?}");
            assert!(update.stderr.contains(what), "{update:?}");
            assert!(update.stderr.contains(&format!("plugin update acme:list --accept-caps {hash}")), "{update:?}");
            assert_eq!(used(&runtime), before, "what was approved is used");
        }
        assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));

        // What waits was checked and kept: it is approved without its source.
        std::fs::remove_file(runtime.project().join("list.wasm")).expect("it was there");
        let update = runtime.run(&["plugin", "update", "list", "--accept-caps", &hash]);
        assert_eq!((update.code, update.stderr.as_str()), (Some(0), ""), "{update:?}");
        assert_eq!(used(&runtime).0, "0.2.0");
    }
}

/// Of what cannot be asked for it is not known whether there is another version.
#[test]
fn a_place_that_is_gone_is_said_so() {
    let runtime = shop(READ);
    std::fs::remove_file(runtime.project().join("list.wasm")).expect("it is there");
    let outdated = runtime.run(&["plugin", "outdated", "--json"]);
    assert_eq!((outdated.code, &lines(&outdated)[0]["state"]), (Some(1), &json!("failed")), "{outdated:?}");
    assert!(
        outdated
            .stderr
            .ends_with("error: 1 plugin could not be looked for\nhint: what is installed of them is used as before\n"),
        "{outdated:?}"
    );
    assert_eq!(used(&runtime).0, "0.1.0");
}

#[test]
fn what_asks_for_no_more_is_used_at_once() {
    let runtime = shop(&format!("{READ_MORE}{KV}"));
    assert_eq!(told(&runtime.run(&["plugin", "outdated"])), "exit Some(0)\n---\n");
    Offer::of("0.2.0", READ).put(&runtime);
    let project = runtime.project().display().to_string();
    let outdated = told(&runtime.run(&["plugin", "outdated"])).replace(&project, "PROJECT");
    expect![[r"
        exit Some(0)
        acme:list  0.1.0  0.2.0  ready  PROJECT/list.wasm
        ---
    "]]
    .assert_eq(&outdated);
    let update = told(&runtime.run(&["plugin", "update", "--all"]));
    let size = update.rsplit_once("0.2.0 (").and_then(|(_, rest)| rest.split_once(';')).expect("a size").0.to_owned();
    expect![[r#"
        exit Some(0)
        updated acme:list 0.1.0 -> 0.2.0 (HASH)
        ---
        warning: nobody stands for `acme:list` 0.2.0: it is not signed
        `acme:list` 0.1.0 -> 0.2.0 (SIZE; signed by nobody)
          narrowed right fs.read notes/*.md (before: fs.read notes/**): "reads the notes"
          removed right kv
    "#]]
    .assert_eq(&update.replace(&size, "SIZE"));
    assert_eq!(used(&runtime), ("0.2.0".to_owned(), vec!["fs.read notes/*.md".to_owned()]));
    expect![[r"
        exit Some(0)
        acme:list 0.2.0 is up to date
        ---
    "]]
    .assert_eq(&told(&runtime.run(&["plugin", "update", "--all"])));
}

#[test]
fn what_was_refused_before_is_not_granted_by_an_update() {
    let runtime = shop(&format!("{READ}{KV}"));
    let index = runtime.home().join("plugins/index.toml");
    let text = std::fs::read_to_string(&index).expect("the index");
    let without = text.replace(", \"kv\"]", "]");
    assert_ne!(without, text);
    std::fs::write(&index, without).expect("it is written");
    let rights = format!("{READ}{KV}{NET}");
    Offer::of("0.2.0", &rights).put(&runtime);
    let outdated = lines(&runtime.run(&["plugin", "outdated", "--json"]));
    let hash = outdated[0]["available"]["terms"].as_str().expect("a hash");
    let update = runtime.run(&["plugin", "update", "--all", "--accept-caps", hash, "--json"]);
    assert_eq!(lines(&update)[0]["now"]["granted"], json!(["fs.read notes/*.md", "net https://api.example.com/"]));
}

#[test]
fn a_person_is_asked_about_what_is_more() {
    let runtime = shop(READ);
    let rights = format!("{READ}{NET}");
    Offer::of("0.2.0", &rights).put(&runtime);
    let (seen, code) = runtime.at_a_terminal(&["plugin", "update", "acme:list"], "n\n");
    assert!(seen.contains("! added right net") && seen.contains("Use 0.2.0 and grant what is new? [y/N]"), "{seen}");
    assert_eq!((code, used(&runtime).0.as_str()), (Some(1), "0.1.0"), "{seen}");
    let (seen, code) = runtime.at_a_terminal(&["plugin", "update", "acme:list"], "y\n");
    assert_eq!((code, used(&runtime).0.as_str()), (Some(0), "0.2.0"), "{seen}");
}

#[test]
fn a35_an_older_version_is_no_update_and_neither_is_another_content_of_the_same() {
    let runtime = shop(READ);
    Offer::of("0.2.0", READ).put(&runtime);
    assert_eq!(runtime.run(&["plugin", "update", "--all"]).code, Some(0));
    let refused = |problem: &str| {
        let outdated = lines(&runtime.run(&["plugin", "outdated", "--json"]));
        assert_eq!(outdated[0]["state"], "refused", "{outdated:?}");
        let update = runtime.run(&["plugin", "update", "--all"]);
        assert_eq!((update.code, update.stdout.as_str()), (Some(1), "kept acme:list 0.2.0\n"));
        assert!(update.stderr.contains(problem), "{update:?}");
        assert_eq!(used(&runtime).0, "0.2.0");
    };
    Offer::of("0.2.0", KV).put(&runtime);
    refused("0.2.0 has another content there than what is installed");
    Offer::of("0.1.5", READ).put(&runtime);
    refused("0.1.5 is older than 0.2.0");
    let install = runtime.run(&["plugin", "install", "list.wasm", "--yes"]);
    assert!(install.code == Some(1) && install.stderr.contains("0.2.0 is installed, which is newer"), "{install:?}");
    assert!(install.stderr.contains("--allow-downgrade"), "{install:?}");
    assert_eq!(runtime.run(&["plugin", "update", "--all", "--allow-downgrade"]).code, Some(0));
    assert_eq!(used(&runtime).0, "0.1.5");
}

/// Signed or not, a file of this machine or not: what is called 0.1.0 is one file. What somebody works on is not installed.
#[test]
fn a35_a_version_has_one_content_on_this_machine_as_well() {
    let runtime = shop(READ);
    let (before, lock) = (used(&runtime), runtime.home().join("acp-plugins.lock"));
    let noted = std::fs::read_to_string(&lock).expect("a lockfile");
    Offer::of("0.1.0", KV).put(&runtime);
    let refused = |source: &str, why: &str| {
        let install = runtime.run(&["plugin", "install", source, "--yes", "--allow-downgrade"]);
        assert_eq!((install.code, install.stdout.as_str()), (Some(1), ""), "{install:?}");
        assert!(
            install.stderr.contains(why) && install.stderr.contains("hint: a version has one content"),
            "{install:?}"
        );
        assert_eq!(std::fs::read_to_string(&lock).expect("it stays"), noted);
    };
    std::fs::create_dir(runtime.project().join("folder")).expect("a folder");
    std::fs::copy(runtime.project().join("list.wasm"), runtime.project().join("folder/list.wasm")).expect("a copy");
    for source in ["list.wasm", "./folder"] {
        refused(source, "`acme:list` 0.1.0 was refused: another file of that version is installed (sha256:");
    }
    assert_eq!(used(&runtime), before);

    // What the lockfile names need not be installed here.
    std::fs::remove_dir_all(runtime.home().join("plugins")).expect("it was there");
    refused("list.wasm", "`acme:list` was not installed: the lockfile names 0.1.0 (sha256:");
    // Another version is another content, and what was removed is forgotten.
    Offer::of("0.2.0", KV).put(&runtime);
    install(&runtime, &["--yes"]);
    assert_eq!(runtime.run(&["plugin", "remove", "acme:list"]).code, Some(0));
    Offer::of("0.2.0", READ).put(&runtime);
    install(&runtime, &["--yes"]);
    assert_eq!(used(&runtime), ("0.2.0".to_owned(), vec!["fs.read notes/*.md".to_owned()]));
}

#[test]
fn the_version_before_can_be_used_again_with_the_rights_that_it_had() {
    let runtime = shop(READ);
    let none = runtime.run(&["plugin", "rollback", "acme:list"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""));
    assert!(none.stderr.contains("no earlier version of `acme:list` is kept"), "{none:?}");
    let rights = format!("{READ}{KV}");
    Offer::of("0.2.0", &rights).put(&runtime);
    install(&runtime, &["--yes"]);
    expect![[r"
        exit Some(0)
        rolled back acme:list 0.2.0 -> 0.1.0 (HASH)
        ---
        hint: the same once more uses 0.2.0 again
    "]]
    .assert_eq(&told(&runtime.run(&["plugin", "rollback", "list"])));
    assert_eq!(used(&runtime), ("0.1.0".to_owned(), vec!["fs.read notes/*.md".to_owned()]));
    assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));
    let back = runtime.run(&["plugin", "rollback", "list", "--json"]);
    assert_eq!(lines(&back)[0]["now"]["version"], "0.2.0");
    let unknown = runtime.run(&["plugin", "rollback", "other"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("`other` is not installed"), "{unknown:?}");
}

#[tokio::test]
async fn what_waits_can_be_approved_in_a_session() {
    let runtime = shop(READ);
    let rights = format!("{READ}{NET}");
    Offer::of("0.2.0", &rights).put(&runtime);
    let editor = runtime.editor_with(EditorOptions::default()).await;
    let session = editor.new_session().await;
    assert_eq!(editor.prompt(&session, "/plugins waiting").await.text(), "No update waits for approval.");
    assert_eq!(runtime.run(&["plugin", "update", "--all"]).code, Some(1));
    let waiting = editor.prompt(&session, "/plugins waiting").await.text();
    let new = "- `acme:list` 0.1.0 -> 0.2.0, signed by nobody:\n  - **new** added right net https://api.example.com";
    assert!(waiting.starts_with(new), "{waiting}");
    let approve = waiting.rsplit('`').nth(1).expect("a command between two marks").to_owned();
    let (line, hash) = approve.rsplit_once(' ').expect("a hash at its end");
    assert_eq!(line, "/plugins approve acme:list");
    for (typed, told) in [
        (
            format!("{line} sha256:{}", "0".repeat(64)),
            "`acme:list` 0.2.0 waits for approval, and its hash is another one: sha256:",
        ),
        (format!("{line} 123"), "`123` is not a digest"),
        (line.to_owned(), "is not what it takes"),
        (format!("/plugins approve other {hash}"), "`other` is not installed"),
    ] {
        let answer = editor.prompt(&session, &typed).await.text();
        assert!(answer.contains(told), "{typed}: {answer}");
        assert_eq!(used(&runtime).0, "0.1.0");
    }
    let answer = editor.prompt(&session, &approve).await.text();
    assert!(answer.starts_with("Approved: `acme:list` 0.2.0."), "{answer}");
    assert_eq!(used(&runtime).0, "0.2.0");
    assert!(editor.prompt(&session, "/plugins").await.text().contains("- `acme:list` (on)"));
    editor.close().await;
}

/// A session keeps the version that it began with, however often what is installed changes, and its file stays as long as it
/// is used.
#[tokio::test]
async fn a_running_session_keeps_the_version_that_it_began_with() {
    let runtime = shop(READ);
    let editor = runtime.editor_with(EditorOptions::default()).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "/tools").await;
    for version in ["0.2.0", "0.3.0"] {
        Offer::of(version, READ).put(&runtime);
        assert_eq!(runtime.run(&["plugin", "update", "--all"]).code, Some(0));
    }
    let kept = || std::fs::read_dir(runtime.home().join("plugins/sha256")).expect("a folder").count();
    assert_eq!((used(&runtime).0.as_str(), kept()), ("0.3.0", 3));
    let other = editor.new_session().await;
    for session in [&session, &other] {
        let answer = editor.prompt(session, "/call list__list {}").await.text();
        assert!(!answer.contains("is gone") && !answer.contains("failed"), "{answer}");
    }
    editor.close().await;
    Offer::of("0.4.0", READ).put(&runtime);
    assert_eq!(runtime.run(&["plugin", "update", "--all"]).code, Some(0));
    assert_eq!(kept(), 2, "what nobody uses any more is gone");
}

#[test]
fn a_lockfile_says_exactly_what_is_installed_and_is_held_to() {
    let runtime = shop(READ);
    let lock = runtime.home().join("acp-plugins.lock");
    let text = std::fs::read_to_string(&lock).expect("a lockfile");
    let entry = text.split_once("[[plugin]]").expect("an entry").1;
    let line = |key: &str| entry.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).expect("it says so");
    assert_eq!((line("id"), line("version")), ("\"acme:list\"", "\"0.1.0\""));
    assert!(line("digest").starts_with("\"sha256:") && line("capabilities").starts_with("\"sha256:"), "{text}");

    // Elsewhere the same lockfile installs the same.
    let other = Runtime::new();
    let copy = || std::fs::write(other.home().join("acp-plugins.lock"), &text).expect("it is written");
    copy();
    let installed = other.run(&["plugin", "install", "--frozen", "--yes"]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert_eq!(std::fs::read_to_string(other.home().join("acp-plugins.lock")).expect("it stays"), text);
    let again = other.run(&["plugin", "install", "--locked"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{again:?}");
    assert_eq!(other.run(&["plugin", "remove", "acme:list"]).code, Some(0));

    // What it says of the file is held to as well, and never put right in silence.
    let zeros = format!("\"sha256:{}\"", "0".repeat(64));
    let signature = format!("[plugin.signature]\npublisher = \"acme\"\nkey = {zeros}\n");
    for (wrong, why) in [
        (text.replace(&format!("size = {}", line("size")), "size = 7"), "the lockfile says that it has 7 bytes"),
        (text.replace(line("capabilities"), &zeros), "the lockfile names other rights (sha256:0000"),
        (text.replace("version = \"0.1.0\"", "version = \"0.1.1\""), "the lockfile calls it 0.1.1, and it is 0.1.0"),
        (format!("{text}{signature}"), "the lockfile says that `acme` (sha256:0000"),
    ] {
        std::fs::write(other.home().join("acp-plugins.lock"), &wrong).expect("it is written");
        let refused = other.run(&["plugin", "install", "--locked", "--yes"]);
        assert!(refused.code == Some(1) && refused.stderr.contains(why), "{why}: {refused:?}");
        assert_eq!(std::fs::read_to_string(other.home().join("acp-plugins.lock")).expect("it stays"), wrong);
    }

    // What is another file by now is not installed, and nothing is changed.
    Offer::of("0.2.0", READ).put(&runtime);
    copy();
    for arguments in
        [&["plugin", "install", "--locked", "--yes"][..], &["plugin", "install", line("source"), "--frozen"]]
    {
        let arguments: Vec<&str> = arguments.iter().map(|argument| argument.trim_matches('"')).collect();
        let refused = other.run(&arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
        assert!(refused.stderr.contains("the lockfile names 0.1.0 (sha256:"), "{refused:?}");
    }
    assert_eq!(std::fs::read_to_string(other.home().join("acp-plugins.lock")).expect("it stays"), text);

    std::fs::write(other.home().join("acp-plugins.lock"), text.replace("version = 1\n", "version = 9\n"))
        .expect("written");
    let broken = other.run(&["plugin", "install", "--locked"]);
    assert!(broken.code == Some(1) && broken.stderr.contains("it has the form 9; this version reads 1"), "{broken:?}");
    std::fs::remove_file(other.home().join("acp-plugins.lock")).expect("it is there");
    let none = other.run(&["plugin", "install", "--locked"]);
    assert!(none.code == Some(2) && none.stderr.contains("there is no lockfile"), "{none:?}");
    let offline = other.run(&["plugin", "install", "oci://example.com/a:1", "--offline"]);
    assert!(offline.code == Some(1) && offline.stderr.contains("nothing is fetched with `--offline`"), "{offline:?}");
}

#[test]
fn a_projects_lockfile_is_installed_by_who_wishes_it_and_by_nobody_else() {
    let runtime = Runtime::new();
    Offer::of("0.1.0", KV).put(&runtime);
    install(&runtime, &["--yes", "--project"]);
    let lock = runtime.project().join(".acp-runtime/acp-plugins.lock");
    let text = std::fs::read_to_string(&lock).expect("a lockfile");
    assert!(text.contains("source = \"./list.wasm\"\n"), "{text}");

    // To have it loads nothing: not in its project, and not by asking for it without a yes.
    let other = Runtime::new();
    std::fs::create_dir(other.project().join(".acp-runtime")).expect("a folder");
    std::fs::write(other.project().join(".acp-runtime/acp-plugins.lock"), &text).expect("it is written");
    std::fs::copy(runtime.project().join("list.wasm"), other.project().join("list.wasm")).expect("it is copied");
    let list = || other.run(&["plugin", "list"]).stdout.contains("acme:list");
    assert_eq!(other.run(&["run", "/plugins"]).code, Some(0));
    let unasked = other.run(&["plugin", "install", "--locked", "--project"]);
    assert!(unasked.code == Some(2) && unasked.stderr.contains("nobody can be asked"), "{unasked:?}");
    assert!(!list());
    assert_eq!(other.run(&["plugin", "install", "--locked", "--project", "--yes"]).code, Some(0));
    assert!(list());

    // In the project, the same version has the same content for all.
    Offer::of("0.1.0", READ).put(&runtime);
    let refused = runtime.run(&["plugin", "install", "list.wasm", "--project", "--yes"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("the lockfile names 0.1.0 (sha256:"), "{refused:?}");
}

#[test]
fn whose_plugins_are_loaded_is_looked_at_each_time() {
    let runtime = shop(KV);
    let refused = |runtime: &Runtime, why: &str| {
        let list = runtime.run(&["plugin", "list"]);
        assert!(list.code == Some(0) && !list.stdout.contains("acme:list"), "{list:?}");
        assert!(list.stderr.contains(&format!("plugin `acme:list` is not loaded: {why}")), "{list:?}");
        let install = runtime.run(&["plugin", "install", "list.wasm", "--yes"]);
        assert!(install.code == Some(1) && install.stderr.contains(why), "{install:?}");
        let call = runtime.run(&["run", "/call list__list {}"]);
        assert_ne!(call.code, Some(0), "{call:?}");
    };
    let config = runtime.home().join("config.toml");
    let set = |text: &str| std::fs::write(&config, text).expect("it is written");
    set("[plugins.deny]\nnamespaces = [\"acme\"]\n");
    refused(&runtime, "its namespace `acme` is in `plugins.deny.namespaces`");
    set("[plugins.allow]\nnamespaces = [\"other\"]\n");
    refused(&runtime, "`plugins.allow` has neither its namespace `acme` nor who has signed it, nobody that is known");
    set("[plugins.allow]\nnamespaces = [\"acme\"]\n");
    let list = runtime.run(&["plugin", "list"]);
    assert!(list.stdout.contains("acme:list") && list.stdout.contains("aar:tasks"), "{list:?}");
    set("[plugins.deny]\nnamespaces = [\"aar\"]\n");
    let list = runtime.run(&["plugin", "list"]);
    assert!(list.stdout.contains("acme:list") && !list.stdout.contains("aar:tasks"), "{list:?}");
    set("[plugins.deny]\nnamespaces = [\"Acme:x\"]\n");
    let list = runtime.run(&["plugin", "list"]);
    assert!(list.code == Some(2) && list.stderr.contains("config.toml:2"), "{list:?}");
}

#[test]
fn what_came_with_the_program_is_installed_by_its_id() {
    let runtime = Runtime::new().config("plugins.bundled = false\n");
    assert_eq!(runtime.run(&["plugin", "list"]).stdout, "");
    let install = runtime.run(&["plugin", "install", "aar:tasks", "--yes", "--offline"]);
    assert_eq!(install.code, Some(0), "{install:?}");
    let list = runtime.run(&["plugin", "list"]).stdout;
    assert!(list.starts_with("aar:tasks  ") && list.contains("  installed  "), "{list}");
    assert_eq!(
        told(&runtime.run(&["plugin", "update", "--all"])),
        "exit Some(0)\naar:tasks 0.1.0 is up to date\n---\n"
    );
}
