//! A plugin with rights to the network and to a secret, in the real binary.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "looks for a secret in all that was written")]

use std::path::Path;

use acp_runtime_tests::runtime::{build_folder, finish};
use acp_runtime_tests::{EditorDouble, Runtime, WebDouble, WebPage};
use serde_json::{Value, json};

const SECRET: &str = "s3cret-t0ken-4711-xyz";

/// A runtime with the hostile guest as `acme:net`, which was granted one host, its own storage, and a secret for it.
fn installed(site: &WebDouble, also: &str) -> Runtime {
    let host = format!("http://localhost:{}", site.port());
    let manifest = format!(
        "id = \"acme:net\"\nversion = \"0.1.0\"\ntitle = \"Net\"\ndescription = \"Asks.\"\nlicense = \"MIT\"\n\
         [capabilities]\nkv = {{ reason = \"keeps\" }}\nnet = [{{ host = \"{host}\", reason = \"asks\" }}]\n\
         secrets = [{{ name = \"token\", audience = \"{host}\", header = \"authorization\", prefix = \"Bearer \", \
         reason = \"asks in your name\" }}]\n{also}"
    );
    let runtime = Runtime::new().config("[log]\nlevel = \"info\"\n[secrets]\nstore = \"file\"\n");
    let runtime = runtime.file("plugin.toml", &manifest);
    let component = build_folder().join("guests/hostile.wasm").display().to_string();
    let arguments = ["--component", &component, "--manifest", "plugin.toml", "--output", "net.wasm"];
    let build = runtime.run(&[&["plugin", "build"][..], &arguments].concat());
    assert_eq!(build.code, Some(0), "{build:?}");
    let install = runtime.run(&["plugin", "install", "net.wasm", "--yes"]);
    assert_eq!(install.code, Some(0), "{install:?}");
    let said = format!("{}{}", install.stdout, install.stderr);
    for right in [format!("net {host}/"), format!("secrets acme:net/token to {host}/ in the header authorization")] {
        assert!(said.contains(&right), "`{right}` is shown: {said}");
    }
    runtime
}

async fn site() -> WebDouble {
    WebDouble::start(|visit| {
        let sent = visit.headers.get("authorization").cloned().unwrap_or_default();
        match visit.path.as_str() {
            "/echo" => WebPage::new("text/plain", format!("heard {sent}")).with_header("x-echo", &sent),
            "/forms" => {
                let secret = sent.trim_start_matches("Bearer ");
                let hex =
                    |before: &str| secret.bytes().fold(String::new(), |text, byte| format!("{text}{before}{byte:02x}"));
                WebPage::new("text/plain", format!("{} {} {secret}", hex(""), hex("%")))
            }
            "/away" => WebPage::leading_to("http://127.0.0.1:1/"),
            other => WebPage::new("text/plain", other.to_owned()),
        }
    })
    .await
}

async fn attempt(editor: &EditorDouble, session: &str, arguments: Value) -> String {
    editor.prompt(session, &format!("/call net__attempt {arguments}")).await.text()
}

/// Every file below `folder` with the secret in it.
fn holders(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holders(&path, found);
        } else if std::fs::read(&path).unwrap().windows(SECRET.len()).any(|part| part == SECRET.as_bytes()) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
}

#[tokio::test]
async fn a27_a_secret_is_sent_and_seen_by_nobody_else() {
    let site = site().await;
    let runtime = installed(&site, "");
    let doctor = || runtime.run(&["doctor"]).stdout;
    assert!(doctor().contains("none is kept (`acp-runtime secret set acme:net/token` keeps one)"), "{}", doctor());
    runtime.keep_secret("acme:net/token", SECRET);
    assert!(doctor().contains("`acme:net` has `token` sent to"), "{}", doctor());
    assert!(doctor().contains("it is kept"), "{}", doctor());

    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let asked = json!({ "attack": "request", "to": site.url("/echo"), "path": "token" });
    let heard = attempt(&editor, &session, asked).await;
    assert!(heard.starts_with("done: 200 "), "{heard}");
    assert!(heard.contains("heard Bearer ****") && heard.contains("x-echo=Bearer ****"), "{heard}");
    assert_eq!(site.visits()[0].headers["authorization"], format!("Bearer {SECRET}"));

    // The guest itself is told none of it, in no form: what it says backwards is looked through by nobody.
    for path in ["/echo", "/forms"] {
        let asked = json!({ "attack": "request_backwards", "to": site.url(path), "path": "token" });
        let heard = attempt(&editor, &session, asked).await;
        assert!(heard.starts_with("done: ") && heard.contains("****"), "{path}: {heard}");
        let forward: String = heard.chars().rev().collect();
        let hex = SECRET.bytes().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        for form in [SECRET, &SECRET[..12], &SECRET[8..], &hex, &hex[..20], "%73%33%63"] {
            assert!(!forward.contains(form), "{path} {form}: {forward}");
        }
    }
    let visits = site.visits().len();

    // Nor does it come back piece by piece, none of which would be known to be one.
    let part = json!({ "attack": "request_part", "to": site.url("/echo"), "path": "token" });
    let refused = attempt(&editor, &session, part).await;
    assert!(
        refused.starts_with("refused: the secret `token` is not sent: a part of an answer is asked for"),
        "{refused}"
    );
    assert_eq!(site.visits().len(), visits);
    let doctor = runtime.run(&["plugin", "doctor", "acme:net"]).stdout;
    assert!(doctor.contains("the plugin had asked for a part of an answer"), "{doctor}");

    // Whatever the guest knows of it, it cannot say it, keep it or show it.
    let backwards: String = SECRET.chars().rev().collect();
    let told = attempt(&editor, &session, json!({ "attack": "tell", "path": backwards })).await;
    assert_eq!(told, "done: said ****, kept ****");
    let failed = attempt(&editor, &session, json!({ "attack": "complain", "path": backwards })).await;
    assert!(failed.contains("****") && !failed.contains("s3cret"), "{failed}");
    let ended = editor.close().await;
    assert!(ended.stderr.contains("logged ****") && ended.stderr.contains("printed ****"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("s3cret"), "{}", ended.stderr);
    let mut found = Vec::new();
    holders(&runtime.home(), &mut found);
    assert_eq!(found, ["secrets.json"]);
}

/// What is the host's to say is said by no guest, and nothing more is said than one header.
#[tokio::test]
async fn a24_a_guest_sends_no_header_that_is_more_than_one() {
    let site = site().await;
    let editor = installed(&site, "").editor().await;
    let session = editor.new_session().await;
    for header in [
        "host: evil.example",
        "x: a\r\nhost: evil.example",
        "x: a\n\nGET /other HTTP/1.1",
        "x\r\nhost: evil.example",
        "content-length: 5",
        "transfer-encoding: chunked",
        "connection: upgrade",
        "te: trailers",
        "proxy-authorization: Basic eDp5",
        "proxy-anything: x",
    ] {
        let asked = json!({ "attack": "request_header", "to": site.url("/plain"), "path": header });
        let went = attempt(&editor, &session, asked).await;
        assert!(went.starts_with("refused: the header `"), "{header:?}: {went}");
    }
    assert!(site.visits().is_empty());
    let asked = json!({ "attack": "request_header", "to": site.url("/plain"), "path": "x-own: value" });
    assert!(attempt(&editor, &session, asked).await.starts_with("done: 200 "));
    assert_eq!(site.visits()[0].headers["x-own"], "value");
    editor.close().await;
}

#[tokio::test]
async fn a16_a_right_to_one_host_is_none_to_another() {
    let (site, other) = (site().await, site().await);
    let runtime = installed(&site, "");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (to, secret, expected) in [
        (site.url("/plain"), "", "done: 200 "),
        (site.url("/away"), "", "refused: fetch `http://127.0.0.1:1/`: the plugin's manifest does not ask for it"),
        (other.url("/plain"), "", "refused: fetch `"),
        (format!("http://127.0.0.1:{}/", site.port()), "", "refused: fetch `"),
        ("http://169.254.169.254/".to_owned(), "", "refused: fetch `"),
        ("https://example.com/".to_owned(), "", "refused: fetch `"),
        (site.url("/plain"), "token", "refused: the secret `token` is not sent: none is kept"),
        (site.url("/plain"), "other", "refused: secret `other`: the plugin's manifest does not ask for it"),
    ] {
        let went = attempt(&editor, &session, json!({ "attack": "request", "to": to, "path": secret })).await;
        assert!(went.starts_with(expected), "{to} {secret}: {went}");
    }
    assert!(other.visits().is_empty());
    let doctor = editor.prompt(&session, "/doctor").await.text();
    assert!(doctor.contains("warn secrets: the secret `token` is not sent: none is kept"), "{doctor}");
    editor.set_mode(&session, "plan").await;
    let went = attempt(&editor, &session, json!({ "attack": "request", "to": site.url("/plain") })).await;
    assert!(went.contains("the session is in mode `plan`"), "{went}");
    editor.close().await;
}

#[tokio::test]
async fn the_bundled_one_asks_services_by_https_alone() {
    let site = site().await;
    let runtime = Runtime::new();
    for (url, code, expected) in [
        (site.url("/plain"), 2, "does not begin with `https://`"),
        (format!("https://localhost:{}/", site.port()), 1, "the plugin's manifest does not ask for it"),
        ("https://10.0.0.1/".to_owned(), 1, "the plugin's manifest does not ask for it"),
        ("https://example.com/".to_owned(), 1, "it needs a person's approval"),
    ] {
        let done = runtime.run(&["run", &format!("/call http-fetch {}", json!({ "url": url }))]);
        assert_eq!(done.code, Some(code), "{url}: {done:?}");
        assert!(done.stderr.contains(expected), "{url}: {done:?}");
    }
    let list = finish(runtime.command(&["plugin", "list"])).stdout;
    let line = list.lines().find(|line| line.starts_with("aar:http-fetch")).unwrap().to_owned();
    assert!(line.contains("net secrets"), "{line}");
}
