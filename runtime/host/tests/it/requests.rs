//! Requests of plugins: what was not granted is not sent, and secrets go where they belong and nowhere else.

use acp_runtime_agent::capability::{Grant, HostPattern, Tier};
use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::tool::ToolError;
use acp_runtime_host::plugin_host::SessionPlugins;
use serde_json::json;

use crate::site::{Piece, Site, ok, redirect};
use crate::support::{Runtime, told};

const SECRET: &str = "s3cret-t0ken/+42";

/// A right to hosts.
fn net(hosts: &[&str]) -> String {
    let lines: Vec<String> = hosts.iter().map(|host| format!("{{ host = \"{host}\", reason = \"asks\" }}")).collect();
    format!("[capabilities]\nnet = [{}]\n", lines.join(", "))
}

/// A right to the secret `token`.
fn secret(audience: &str, place: &str) -> String {
    format!("[[capabilities.secrets]]\nname = \"token\"\naudience = \"{audience}\"\n{place}\nreason = \"asks\"\n")
}

/// A session with that guest as an installed plugin that was granted all.
fn installed(runtime: &Runtime, guest: &str, toml: &str) -> SessionPlugins {
    let plugin = runtime.plugin(guest, toml);
    runtime.book.give(plugin.id(), plugin.manifest().grants(Tier::Installed, None));
    let session = runtime.open(&[plugin]);
    assert_eq!(session.problems, []);
    session
}

async fn get(runtime: &Runtime, session: &SessionPlugins, url: &str) -> Result<String, ToolError> {
    runtime.call(&*session.tools[0], json!({ "p": url })).await.map(|outcome| outcome.for_model())
}

/// A site of public names.
fn public(runtime: &Runtime, site: &Site, names: &[&str]) {
    *runtime.map.site.lock().unwrap() = Some(site.port);
    for name in names {
        runtime.map.name(name, &[&["1.2.3.4"]]);
    }
}

#[tokio::test]
async fn a_plugin_asks_the_hosts_that_it_was_granted() {
    let site = Site::saying(ok("", "hello")).await;
    let runtime = Runtime::new();
    public(&runtime, &site, &["api.good.com", "other.com"]);
    let session =
        installed(&runtime, "http", &net(&["http://*.good.com/v1", &format!("http://localhost:{}", site.port)]));
    assert_eq!(get(&runtime, &session, "http://api.good.com/v1/a").await.unwrap(), "hello");
    // The right to a port of this machine is one that was given for it.
    assert_eq!(get(&runtime, &session, &site.url("/")).await.unwrap(), "hello");
    assert!(runtime.person.asked.lock().unwrap().is_empty(), "what was granted is not asked for");
    runtime.mode.set(Mode::Plan);
    let refused = get(&runtime, &session, "http://api.good.com/v1/a").await.unwrap();
    assert!(refused.contains("the session is in mode `plan`"), "{refused}");
}

#[tokio::test]
async fn a16_no_host_beside_those_is_looked_up_or_reached() {
    let site = Site::saying(ok("", "hello")).await;
    let runtime = Runtime::new();
    public(&runtime, &site, &["api.good.com"]);
    let session = installed(&runtime, "http", &net(&["http://api.good.com/v1"]));
    for url in [
        "http://other.com/v1",
        "https://api.good.com/v1",
        "http://api.good.com:8080/v1",
        "http://api.good.com/",
        "http://api.good.com/v1evil",
        "http://api.good.com/v1/..%2f..",
        "http://api.good.com/v1/../admin",
        "http://api.good.com.evil.com/v1",
        "http://evilapi.good.com/v1",
        "http://127.0.0.1/v1",
        "http://2130706433/v1",
        "http://0x7f.1/v1",
        "http://127.1/v1",
        "http://localhost/v1",
        "http://[::1]/v1",
        "http://169.254.169.254/v1",
    ] {
        let refused = get(&runtime, &session, url).await.unwrap();
        assert!(refused.contains("the plugin's manifest does not ask for it"), "{url}: {refused}");
    }
    for url in ["http://api.good.com@evil.com/v1", "http://api.good.com\\\\@evil.com/v1", "ftp://api.good.com/v1", ""] {
        let refused = get(&runtime, &session, url).await.unwrap();
        assert!(refused.contains("(write it like `https://host/path`)"), "{url}: {refused}");
    }
    assert_eq!(*runtime.map.looked_up.lock().unwrap(), Vec::<String>::new());
    assert_eq!(*runtime.map.connected.lock().unwrap(), []);
    // Declared and not granted is not enough either.
    let plugin = runtime.plugin("http", &net(&["http://api.good.com/v1", "http://other.com"]));
    let granted = vec![Grant::Net(HostPattern::parse("http://other.com").unwrap())];
    runtime.book.give(plugin.id(), plugin.manifest().grants(Tier::Installed, Some(granted)));
    let session = runtime.open(&[plugin]);
    let refused = get(&runtime, &session, "http://api.good.com/v1").await.unwrap();
    assert!(refused.contains("the plugin was not granted it"), "{refused}");
}

#[tokio::test]
async fn a17_a_granted_name_that_leads_inside_is_refused_and_a_redirect_is_decided_on() {
    let inner = Site::saying(ok("", "inner")).await;
    let to = inner.url("/");
    let site = Site::start(move |request| {
        let answer = match request.split(' ').nth(1).unwrap() {
            "/inner" => redirect(302, &to),
            "/other" => redirect(302, "http://other.com/"),
            _ => ok("", "here"),
        };
        vec![Piece::Bytes(answer)]
    })
    .await;
    let runtime = Runtime::new();
    public(&runtime, &site, &["good.com", "other.com"]);
    runtime.map.name("inside.good.com", &[&["10.0.0.1"]]);
    let session = installed(&runtime, "http", &net(&["http://good.com", "http://*.good.com"]));
    for (url, why) in [
        ("http://inside.good.com/", "its address 10.0.0.1 is a private network"),
        ("http://good.com/inner", "the plugin's manifest does not ask for it"),
        ("http://good.com/other", "the plugin's manifest does not ask for it"),
        ("http://good.com/", "here"),
    ] {
        let told = get(&runtime, &session, url).await.unwrap();
        assert!(told.contains(why), "{url}: {told}");
    }
    assert_eq!(inner.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_bundled_plugin_asks_as_the_agent_s_own_tools_do() {
    let site = Site::saying(ok("", "hello")).await;
    let runtime = Runtime::new();
    public(&runtime, &site, &["good.com"]);
    runtime.mode.set(Mode::Review);
    let toml = net(&["http://good.com"]);
    let refused = runtime.run("http", &toml, json!({ "p": "http://good.com/" })).await.unwrap();
    assert!(refused.contains("the user refused"), "{refused}");
    *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
    assert_eq!(runtime.run("http", &toml, json!({ "p": "http://good.com/" })).await.unwrap(), "hello");
    let asked = runtime.person.asked.lock().unwrap();
    assert_eq!(asked[1].title, "plugin test:http: fetch `http://good.com/`");
}

#[tokio::test]
async fn the_host_puts_the_secret_where_the_manifest_says() {
    let site = Site::saying(ok("", "hello")).await;
    let runtime = Runtime::new();
    runtime.secrets.keep("test:secret/token", SECRET);
    let host = format!("http://localhost:{}", site.port);
    for (place, sent) in [
        ("header = \"Authorization\"\nprefix = \"Bearer \"", format!("\r\nauthorization: Bearer {SECRET}\r\n")),
        ("header = \"x-api-key\"", format!("\r\nx-api-key: {SECRET}\r\n")),
        ("query = \"key\"", "GET /a?b=c&key=s3cret-t0ken%2F%2B42 HTTP/1.1\r\n".to_owned()),
    ] {
        let session = installed(&runtime, "secret", &(net(&[&host]) + &secret(&host, place)));
        assert_eq!(get(&runtime, &session, &site.url("/a?b=c")).await.unwrap(), "hello", "{place}");
        let asked = site.asked().pop().unwrap();
        assert!(asked.contains(&sent), "{place}: {asked}");
    }
}

#[tokio::test]
async fn a26_a_secret_is_for_its_audience() {
    let other = Site::saying(ok("", "other")).await;
    let (to, same) = (other.url("/"), "/after");
    let site = Site::start(move |request| {
        let answer = match request.split(' ').nth(1).unwrap() {
            "/away" => redirect(307, &to),
            "/beside" => redirect(307, same),
            _ => ok("", "here"),
        };
        vec![Piece::Bytes(answer)]
    })
    .await;
    let runtime = Runtime::new();
    runtime.secrets.keep("test:secret/token", SECRET);
    let (host, elsewhere) = (format!("http://localhost:{}", site.port), format!("http://localhost:{}", other.port));
    let toml = net(&[&host, &elsewhere]) + &secret(&host, "header = \"authorization\"");
    let session = installed(&runtime, "secret", &toml);
    // Another host is not told, by the plugin or by a redirect;
    let told = get(&runtime, &session, &other.url("/")).await.unwrap();
    assert!(told.starts_with("the secret `token` is not sent: it is for `"), "{told}");
    assert_eq!(get(&runtime, &session, &site.url("/away")).await.unwrap(), "other");
    assert!(site.asked().pop().unwrap().contains(SECRET));
    assert!(!other.asked().concat().contains("s3cret"), "{:?}", other.asked());
    // the same one is, after a redirect as well.
    assert_eq!(get(&runtime, &session, &site.url("/beside")).await.unwrap(), "here");
    assert!(site.asked().pop().unwrap().contains(SECRET));
    // And a place that is taken is not shared.
    let toml = net(&[&host]) + &secret(&host, "query = \"key\"");
    let session = installed(&runtime, "secret", &toml);
    let told = get(&runtime, &session, &site.url("/?key=mine")).await.unwrap();
    assert!(told.contains("its place in the request is taken already"), "{told}");
}

#[tokio::test]
async fn a27_what_a_host_repeats_of_a_secret_is_masked() {
    let runtime = Runtime::new();
    runtime.secrets.keep("test:secret/token", SECRET);
    let hex = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let echo = format!("{SECRET} {hex} {} s3cret-t0ken%2F%2B42 czNjcmV0LXQwa2VuLys0Mg==", hex.to_uppercase());
    // In pieces that cut through it, too.
    let site = Site::start(move |_| {
        let mut pieces = vec![Piece::Bytes(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec())];
        for part in echo.as_bytes().chunks(5) {
            let chunk = format!("{:x}\r\n{}\r\n", part.len(), String::from_utf8_lossy(part));
            pieces.push(Piece::Bytes(chunk.into_bytes()));
        }
        pieces.push(Piece::Bytes(b"0\r\n\r\n".to_vec()));
        pieces
    })
    .await;
    let host = format!("http://localhost:{}", site.port);
    let session = installed(&runtime, "secret", &(net(&[&host]) + &secret(&host, "header = \"authorization\"")));
    let mut body = get(&runtime, &session, &site.url("/")).await.unwrap();
    // The guest reads one piece; what it says is masked once more.
    assert!(!body.contains("s3cret") && !body.contains("czNj") && !body.contains(&hex[..16]), "{body}");
    body = body.replace("****", "");
    assert!(body.trim_matches([' ', '=', 'g']).is_empty() || body.len() < 8, "{body}");
    // A header that repeats it, and an error that does.
    let site = Site::saying(redirect(302, &format!("http://{}.example/", "s3cret-t0ken"))).await;
    let host = format!("http://localhost:{}", site.port);
    let session = installed(&runtime, "secret", &(net(&[&host]) + &secret(&host, "header = \"authorization\"")));
    runtime.secrets.keep("test:secret/token", "s3cret-t0ken");
    let told = get(&runtime, &session, &site.url("/")).await.unwrap();
    assert!(told.contains("it redirects: `http://****.example/` has no usable host"), "{told}");
    let audited = runtime.audit.0.lock().unwrap().join("\n");
    assert!(!audited.contains("s3cret"), "{audited}");
}

#[tokio::test]
async fn each_rule_that_stops_a_secret_is_named() {
    let site = Site::saying(ok("", "hello")).await;
    let runtime = Runtime::new();
    let host = format!("http://localhost:{}", site.port);
    let toml = net(&[&host]) + &secret(&host, "header = \"authorization\"");
    let session = installed(&runtime, "secret", &toml);
    let refused = |told: String, why: &str| assert!(told.contains(why), "{told}");
    refused(
        get(&runtime, &session, &site.url("/")).await.unwrap(),
        "the secret `token` is not sent: none is kept; the user can do that with `acp-runtime secret set \
         test:secret/token`",
    );
    runtime.secrets.keep("test:secret/token", "short");
    refused(get(&runtime, &session, &site.url("/")).await.unwrap(), "it has less than 8 characters");
    runtime.secrets.keep("test:secret/token", "with\na line end");
    refused(get(&runtime, &session, &site.url("/")).await.unwrap(), "there are characters in it that no header has");
    // A secret that the manifest does not ask for, under whatever name it is kept.
    runtime.secrets.keep("token", SECRET);
    runtime.secrets.keep("test:other/token", SECRET);
    let session = installed(&runtime, "secret", &net(&[&host]));
    refused(
        get(&runtime, &session, &site.url("/")).await.unwrap(),
        "secret `token`: the plugin's manifest does not ask",
    );
    // One that was not granted.
    let plugin = runtime.plugin("secret", &toml);
    let granted = plugin.manifest().ceiling().into_iter().filter(|grant| matches!(grant, Grant::Net(_))).collect();
    runtime.book.give(plugin.id(), plugin.manifest().grants(Tier::Installed, Some(granted)));
    let session = runtime.open(&[plugin]);
    refused(
        get(&runtime, &session, &site.url("/")).await.unwrap(),
        "secret `test:secret/token`: the plugin was not granted it",
    );
    assert_eq!(site.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a6_a_server_that_never_answers_ends_with_the_call() {
    let site = Site::start(|_| vec![Piece::Stall]).await;
    let runtime = Runtime::new();
    let host = format!("http://localhost:{}", site.port);
    let toml = net(&[&host]) + "[limits]\nwall = \"1 s\"\n";
    let error = runtime.open(&[runtime.plugin("http", &toml)]);
    *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
    let error = get(&runtime, &error, &site.url("/")).await.unwrap_err();
    assert_eq!(told(&error).0, "timeout");
    while site.is_busy() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a23_wasi_http_goes_the_same_way() {
    let site = Site::saying(ok("", "hello").into_iter().collect::<Vec<u8>>()).await;
    let runtime = Runtime::new();
    public(&runtime, &site, &["good.com"]);
    runtime.map.name("inside.good.com", &[&["10.0.0.1"]]);
    let local = format!("localhost:{}", site.port);
    let session =
        installed(&runtime, "wasi-http", &net(&["http://good.com", "http://*.good.com", &format!("http://{local}")]));
    // Cases of `error-code`.
    let (denied, prohibited) = ("1015", "1004");
    for (authority, outcome) in [
        ("good.com", "200"),
        (&*local, "200"),
        ("other.com", denied),
        ("good.com:8080", denied),
        ("127.0.0.1", denied),
        ("169.254.169.254", denied),
        ("inside.good.com", prohibited),
    ] {
        assert_eq!(get(&runtime, &session, authority).await.unwrap(), outcome, "{authority}");
    }
    assert_eq!(site.asked().len(), 2);
    assert!(site.asked()[0].starts_with("GET / HTTP/1.1\r\nhost: good.com\r\n"), "{:?}", site.asked());
    runtime.mode.set(Mode::Plan);
    assert_eq!(get(&runtime, &session, "good.com").await.unwrap(), denied);
}
