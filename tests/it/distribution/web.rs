//! Plugins that are files on the web, over TLS, named with their digest: what a server does otherwise, nothing comes of it.

use super::*;
use acp_runtime_tests::registry_double::digest;
use acp_runtime_tests::{TlsDouble, WebDouble, WebPage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Bytes of the largest file that is taken.
const MOST: u64 = 256 << 20;

/// The publisher's plugin, signed, and its digest as an address has it.
fn packed(publisher: &Publisher) -> (Vec<u8>, String, String) {
    assert_eq!(publisher.runtime.run(&["plugin", "pack", "list.wasm", "--key", "key"]).code, Some(0));
    let bytes = std::fs::read(publisher.runtime.project().join("list.wasm")).unwrap();
    let fragment = format!("#{}", digest(&bytes).replace(':', "="));
    (bytes, publisher.runtime.read("list.wasm.minisig"), fragment)
}

/// They know the authority of the double's certificate.
fn knowing(runtime: Runtime) -> Runtime {
    runtime.env("SSL_CERT_FILE", &TlsDouble::authority().display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_on_the_web_is_named_with_its_digest() {
    let publisher = Publisher::new();
    let (bytes, signature, fragment) = packed(&publisher);
    let (page, beside) = (bytes.clone(), signature.clone());
    let web = WebDouble::start(move |visit| match visit.path.as_str() {
        "/list.wasm" | "/unsigned.wasm" => WebPage::new("application/wasm", page.clone()),
        "/list.wasm.minisig" | "/long.wasm.minisig" => WebPage::new("text/plain", beside.clone()),
        _ => WebPage::new("text/plain", "none").with_status(404),
    })
    .await;
    let tls = TlsDouble::start(web.port());
    let url = |path: &str| format!("https://localhost:{}{path}", tls.port());
    let source = format!("{}{fragment}", url("/list.wasm"));
    let runtime = knowing(trusting(&publisher));
    let said = installed(&runtime, &source, &[]);
    assert!(!said.contains("warning"), "{said}");
    let entry = entry(&runtime, "acme:list");
    assert_eq!(entry["digest"].as_str(), Some(digest(&bytes).as_str()));
    assert_eq!((entry["source"].as_str(), entry["publisher"].as_str()), (Some(source.as_str()), Some("acme")));
    assert_eq!(runtime.run(&["plugin", "verify", "--all"]).code, Some(0));
    let update = runtime.run(&["plugin", "update", "acme:list"]);
    assert_eq!((update.code, update.stdout.as_str()), (Some(0), "acme:list 1.0.0 is up to date\n"), "{update:?}");
    let visits: Vec<String> = web.visits().into_iter().map(|visit| visit.path).collect();
    assert_eq!(visits, ["/list.wasm", "/list.wasm.minisig"], "its update asks nobody");

    // Another machine has the same from the lockfile.
    let other = knowing(trusting(&publisher));
    std::fs::copy(runtime.home().join("acp-plugins.lock"), other.home().join("acp-plugins.lock")).unwrap();
    let locked = other.run(&["plugin", "install", "--locked", "--yes"]);
    assert_eq!(locked.code, Some(0), "{locked:?}");

    // Nobody stands for it, or nobody knows the server.
    let unsigned = format!("{}{fragment}", url("/unsigned.wasm"));
    let said = refused(&knowing(person()), &unsigned, &[], "`acme:list` 1.0.0 was not installed: it is not signed");
    assert!(said.contains(&format!("--allow-unsigned {}", digest(&bytes))), "{said}");
    installed(&knowing(person()), &unsigned, &["--allow-unsigned", &digest(&bytes)]);
    refused(&knowing(person()), &source, &[], "its publisher is not trusted, and nobody can be asked");
    refused(&trusting(&publisher), &source, &[], "certificate");
    refused(&runtime, &format!("{}{fragment}", url("/absent.wasm")), &[], "it answers 404 Not Found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_on_the_web_without_its_digest_or_with_another_is_refused() {
    let publisher = Publisher::new();
    let (bytes, _, fragment) = packed(&publisher);
    let web = WebDouble::start(move |_| WebPage::new("application/wasm", bytes.clone())).await;
    let tls = TlsDouble::start(web.port());
    let url = format!("https://localhost:{}/list.wasm", tls.port());
    let runtime = knowing(trusting(&publisher));
    let (hex, plain) = (&fragment[8..], web.url("/list.wasm"));
    for (source, why) in [
        (url.clone(), "no `#sha256=`"),
        (format!("{url}#"), "no `#sha256=`"),
        (format!("{url}#sha512={hex}"), "no `#sha256=`"),
        (format!("{url}#sha256="), "is not a digest"),
        (format!("{url}#sha256={}", &hex[1..]), "is not a digest"),
        (format!("{plain}{fragment}"), "not fetched over plain HTTP"),
    ] {
        refused(&runtime, &source, &[], why);
    }
    assert_eq!(web.visits().len(), 0, "what is not named whole is not asked for");
    let other = "0".repeat(64);
    let why = format!("the file has the digest sha256:{hex}, not sha256:{other}");
    refused(&runtime, &format!("{url}#sha256={other}"), &[], &why);
    let paths: Vec<String> = web.visits().into_iter().map(|visit| visit.path).collect();
    assert_eq!(paths, ["/list.wasm"], "its signature is not asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_on_the_web_may_be_elsewhere_and_never_out_of_tls() {
    let publisher = Publisher::new();
    let (bytes, signature, fragment) = packed(&publisher);
    let web = WebDouble::start(move |visit| match visit.path.as_str() {
        "/moved.wasm" => WebPage::leading_to("/files/1"),
        "/moved.wasm.minisig" => WebPage::leading_to("/files/2"),
        "/files/1" => WebPage::new("application/wasm", bytes.clone()),
        "/files/2" => WebPage::new("text/plain", signature.clone()),
        "/plain.wasm" => WebPage::leading_to("http://localhost:1/list.wasm"),
        "/file.wasm" => WebPage::leading_to("file:///etc/hosts"),
        _ => WebPage::leading_to("/round.wasm"),
    })
    .await;
    let tls = TlsDouble::start(web.port());
    let source = |path: &str| format!("https://localhost:{}{path}{fragment}", tls.port());
    let runtime = knowing(trusting(&publisher));
    installed(&runtime, &source("/moved.wasm"), &[]);
    assert_eq!(
        entry(&runtime, "acme:list")["source"].as_str(),
        Some(source("/moved.wasm").as_str()),
        "as it was named"
    );
    for (path, why) in [
        ("/plain.wasm", "it leads from TLS to plain HTTP (`http://localhost:1/list.wasm`)"),
        ("/file.wasm", "it leads to `file:///etc/hosts`, which is not the web"),
        ("/round.wasm", "it leads on and on, more than 5 times"),
    ] {
        refused(&knowing(trusting(&publisher)), &source(path), &[], why);
    }
}

/// A server that answers whatever it is asked with this, then as much more of nothing, and ends the connection; TLS before it.
async fn saying(head: String, mut rest: u64) -> TlsDouble {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has a free port");
    let port = listener.local_addr().expect("a bound port").port();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut piece = [0; 4096];
                match peer.read(&mut piece).await {
                    Ok(read @ 1..) => asked.extend_from_slice(&piece[..read]),
                    Ok(0) | Err(_) => break,
                }
            }
            let mut said = peer.write_all(head.as_bytes()).await;
            let nothing = vec![0; 1 << 20];
            while said.is_ok() && rest > 0 {
                let piece = rest.min(nothing.len() as u64);
                rest -= piece;
                said = peer.write_all(&nothing[..usize::try_from(piece).expect("a mebibyte")]).await;
            }
        }
    });
    TlsDouble::start(port)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_on_the_web_that_is_too_large_or_ends_too_soon_is_refused() {
    let publisher = Publisher::new();
    let (bytes, _, fragment) = packed(&publisher);
    let large = format!("the file is larger than {MOST} bytes");
    for (head, rest, why) in [
        // Nothing is read of what says that it is too large, and no more of what does not than is taken.
        (format!("Content-Length: {}", MOST + 1), 0, large.as_str()),
        ("X-Length: unknown".to_owned(), MOST + (1 << 20), &large),
        (format!("Content-Length: {}", bytes.len()), 1000, "it broke off after 1000 bytes"),
        ("Transfer-Encoding: chunked".to_owned(), 0, "it broke off after 0 bytes"),
        ("X-Length: unknown".to_owned(), 1000, "it broke off after 1000 bytes"),
    ] {
        let tls = saying(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n"), rest).await;
        let source = format!("https://localhost:{}/list.wasm{fragment}", tls.port());
        refused(&knowing(trusting(&publisher)), &source, &[], why);
    }

    // So is its signature.
    let web = WebDouble::start(move |visit| match visit.path.as_str() {
        "/list.wasm" => WebPage::new("application/wasm", bytes.clone()),
        _ => WebPage::new("text/plain", "x".repeat(10_000)),
    })
    .await;
    let tls = TlsDouble::start(web.port());
    let source = format!("https://localhost:{}/list.wasm{fragment}", tls.port());
    refused(&knowing(trusting(&publisher)), &source, &[], "the signature is larger than 8192 bytes");
}
