//! Whose a plugin's secret is: of plugins with one id, only that one has it which it was kept for.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "lays out plugins and what an older version has kept")]

use std::os::unix::fs::PermissionsExt as _;

use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Finished, Runtime, WebDouble, WebPage};
use serde_json::{Value, json};

const SECRET: &str = "s3cret-t0ken-4711-xyz";
const NONE: &str = "refused: the secret `token` is not sent: none is kept";

/// A host that says what it was sent.
async fn site() -> WebDouble {
    WebDouble::start(|visit| {
        WebPage::new("text/plain", format!("heard {}", visit.headers.contains_key("authorization")))
    })
    .await
}

/// A person with the guest as `net.wasm`, unsigned, and as `net-0.1.0.tar`, signed by a key that they trust.
fn person(site: &WebDouble) -> Runtime {
    let host = format!("http://localhost:{}", site.port());
    let manifest = format!(
        "id = \"acme:net\"\nversion = \"0.1.0\"\ntitle = \"Net\"\ndescription = \"Asks.\"\nlicense = \"MIT\"\n\
         [capabilities]\nkv = {{ reason = \"keeps\" }}\nnet = [{{ host = \"{host}\", reason = \"asks\" }}]\n\
         secrets = [{{ name = \"token\", audience = \"{host}\", header = \"authorization\", reason = \"asks for you\" }}]\n"
    );
    let runtime = Runtime::new().config("").file("plugin.toml", &manifest);
    configure(&runtime, "");
    let component = build_folder().join("guests/hostile.wasm").display().to_string();
    let arguments = ["--component", &component, "--manifest", "plugin.toml", "--output", "net.wasm"];
    ran(&runtime, &[&["plugin", "build"][..], &arguments].concat());
    let key = ran(&runtime, &["plugin", "keygen", "key", "--no-password"]);
    let key = key.lines().next().unwrap().to_owned();
    ran(&runtime, &["trust", "add", "publisher", "acme", "--key", &key]);
    ran(&runtime, &["plugin", "pack", "net.wasm", "--key", "key"]);
    std::fs::remove_file(runtime.project().join("net.wasm.minisig")).unwrap();
    runtime
}

fn configure(runtime: &Runtime, plugins: &str) {
    let text = format!("[secrets]\nstore = \"file\"\n[plugins]\n{plugins}");
    std::fs::write(runtime.home().join("config.toml"), text).unwrap();
}

fn ran(runtime: &Runtime, arguments: &[&str]) -> String {
    let done = runtime.run(arguments);
    assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
    done.stdout
}

fn set(runtime: &Runtime) -> Finished {
    runtime.run_with(&["secret", "set", "acme:net/token"], SECRET)
}

/// Keeps the secret; what was said.
fn keep(runtime: &Runtime) -> String {
    let set = set(runtime);
    assert_eq!(set.code, Some(0), "{set:?}");
    set.stderr
}

/// What comes of the plugin's request with its secret, once it may do all that it asks for in this session.
async fn asks(runtime: &Runtime, site: &WebDouble) -> String {
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for effect in ["fetch", "secret"] {
        editor.prompt(&session, &format!("/permissions allow --scope session acme:net {effect}")).await;
    }
    let asked = json!({ "attack": "request", "to": site.url("/"), "path": "token" });
    let heard = editor.prompt(&session, &format!("/call net__attempt {asked}")).await.text();
    editor.close().await;
    heard
}

fn sent(heard: &str) {
    assert!(heard.contains("heard true"), "{heard}");
}

fn refused(heard: &str) {
    assert!(heard.starts_with(NONE), "{heard}");
}

fn doctor(runtime: &Runtime) -> String {
    ran(runtime, &["plugin", "doctor", "acme:net"])
}

#[tokio::test]
async fn a30_a_secret_is_for_the_plugin_of_whom_it_was_kept_for() {
    let site = site().await;
    let runtime = person(&site);
    let nobody = set(&runtime);
    assert!(
        nobody.code == Some(2) && nobody.stderr.contains("there is no plugin `acme:net`\nhint: have it first"),
        "{nobody:?}"
    );

    ran(&runtime, &["plugin", "install", "net-0.1.0.tar", "--yes"]);
    let said = keep(&runtime);
    assert!(said.contains("for the plugin as you have it now (signed by whoever has the key sha256:"), "{said}");
    sent(&asks(&runtime, &site).await);

    // One that nobody has signed takes its place, with the same rights granted.
    ran(&runtime, &["plugin", "remove", "acme:net", "--keep-data"]);
    ran(&runtime, &["plugin", "install", "net.wasm", "--yes"]);
    let visits = site.visits().len();
    refused(&asks(&runtime, &site).await);
    assert!(
        doctor(&runtime).contains("the one of that name is kept for a plugin of somebody else"),
        "{}",
        doctor(&runtime)
    );
    // One of its own changes nothing about the first's.
    assert!(keep(&runtime).contains("(you installed it; nobody has signed it)"));
    sent(&asks(&runtime, &site).await);
    let listed = ran(&runtime, &["secret", "list", "--json"]);
    let publishers: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["publisher"].clone()).collect();
    assert!(publishers.len() == 2 && publishers[0] == "installed", "{listed}");
    let removed = runtime.run(&["plugin", "remove", "acme:net"]);
    assert_eq!(removed.stderr, "the secret `acme:net/token` is removed\n", "{removed:?}");

    // One of a folder that the settings name, and one of the project.
    let folder = runtime.outside("named");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(runtime.project().join("net.wasm"), folder.join("net.wasm")).unwrap();
    configure(&runtime, &format!("paths = [{:?}]\n", folder.display().to_string()));
    refused(&asks(&runtime, &site).await);
    configure(&runtime, "");
    let own = runtime.project().join(".acp-runtime/plugins");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::copy(folder.join("net.wasm"), own.join("net.wasm")).unwrap();
    ran(&runtime, &["trust", "add", &runtime.project().display().to_string(), "--yes"]);
    refused(&asks(&runtime, &site).await);
    std::fs::remove_dir_all(runtime.project().join(".acp-runtime")).unwrap();
    assert_eq!(site.visits().len(), visits + 1, "nobody else was sent anything");

    // And the first has it as before.
    ran(&runtime, &["plugin", "install", "net-0.1.0.tar", "--yes"]);
    sent(&asks(&runtime, &site).await);
    ran(&runtime, &["plugin", "remove", "acme:net"]);
    assert_eq!(ran(&runtime, &["secret", "list"]), "", "what was kept for it goes with it");
}

/// What was kept before publishers counted is lent to nobody: it is not known for whose plugin it was.
#[tokio::test]
async fn what_was_kept_for_an_id_alone_is_lent_to_nobody() {
    let site = site().await;
    let runtime = person(&site);
    ran(&runtime, &["plugin", "install", "net-0.1.0.tar", "--yes"]);
    let path = runtime.home().join("secrets.json");
    let before =
        json!({ "version": 1, "secrets": { "acme:net/token": { "value": SECRET }, "lab": { "value": "sk-lab" } } });
    std::fs::write(&path, before.to_string()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused(&asks(&runtime, &site).await);
    assert!(site.visits().is_empty());
    let listed = ran(&runtime, &["secret", "list"]);
    assert!(
        listed.contains("file  nobody: it was kept before it counted for whose plugin; set it again\n"),
        "{listed}"
    );
    assert!(listed.ends_with("lab                       file\n"), "{listed}");
    assert!(doctor(&runtime).contains("was kept before it counted for whose plugin"), "{}", doctor(&runtime));
    keep(&runtime);
    sent(&asks(&runtime, &site).await);
    ran(&runtime, &["secret", "remove", "acme:net/token"]);
    assert_eq!(ran(&runtime, &["secret", "list"]), "lab                       file\n", "all of that name");
}
