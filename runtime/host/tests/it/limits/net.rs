//! The limits of requests.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::gate::Approval;
use acp_runtime_host::egress::{Egress, Reach};
use acp_runtime_host::limits::Limits;
use acp_runtime_host::plugin_host::PluginHost;
use futures::future::{BoxFuture, FutureExt, join_all};
use serde_json::json;
use tokio::net::TcpStream;

use crate::site::{Piece, Site, ok, redirect};
use crate::support::{Runtime, ports, told};

/// What comes of it when a guest does what the limit of that name is about.
pub(super) async fn meet(name: &str, mut limits: Limits) -> String {
    if name == "net_requests" {
        limits.net.time.whole = Duration::from_secs(1);
    }
    let runtime = Runtime::with(None, limits.clone());
    match name {
        "net_requests" => {
            let site = Site::start(|_| vec![Piece::Stall]).await;
            let plugin = runtime.plugin("http", &right(&site.url("")));
            runtime.host.warm(&[plugin.clone()]).await;
            *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
            let tool = runtime.open(&[plugin]).tools[0].clone();
            let calls = join_all((0..3).map(|_| runtime.call(&*tool, json!({ "p": site.url("/") }))));
            // Before any of them has given up.
            let look = async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                site.most_at_once()
            };
            let (most, _) = tokio::join!(look, calls);
            format!("{most} at once")
        }
        "net_redirects" => {
            let site = Site::saying(redirect(302, "/again")).await;
            ask(&runtime, "http", &site.url("/")).await
        }
        "net_addresses" => {
            // Nobody listens there.
            let port = Site::saying("").await.port;
            *runtime.map.site.lock().unwrap() = Some(port);
            runtime.map.name("many.example", &[&["1.2.3.4", "1.2.3.5", "1.2.3.6"]]);
            ask(&runtime, "http", "http://many.example/").await;
            format!("{} tried", runtime.map.connected.lock().unwrap().len())
        }
        "net_sent_headers" | "net_sent_header_bytes" | "net_sent_body" => {
            let site = Site::saying(ok("", "hello")).await;
            format!("{:?}", ask(&runtime, "post", &site.url("/")).await)
        }
        "net_headers" => answered(&runtime, "a: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n").await,
        "net_header_bytes" => answered(&runtime, &format!("a: {}\r\n", "x".repeat(20_000))).await,
        "net_body" => answered(&runtime, "").await,
        "net_connect_seconds" => connecting(limits).await,
        "net_idle_seconds" => {
            let head = || Piece::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n".to_vec());
            let site = Site::start(move |_| vec![head(), Piece::Stall]).await;
            ask(&runtime, "http", &site.url("/")).await
        }
        "net_seconds" => {
            let site = Site::start(|_| vec![Piece::Stall]).await;
            ask(&runtime, "http", &site.url("/")).await
        }
        other => panic!("no guest meets the limit `{other}`"),
    }
}

/// What a guest says that asks for `url`, which its person agrees to.
async fn ask(runtime: &Runtime, guest: &str, url: &str) -> String {
    *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
    let host = url.rsplit_once('/').map_or(url, |(host, _)| host);
    runtime.run(guest, &right(host), json!({ "p": url })).await.unwrap_or_else(|error| told(&error).1.to_owned())
}

/// The right to ask that host.
fn right(host: &str) -> String {
    format!("[capabilities]\nnet = [{{ host = \"{host}\", reason = \"asks\" }}]\n")
}

async fn answered(runtime: &Runtime, headers: &str) -> String {
    let site = Site::saying(ok(headers, "hello")).await;
    ask(runtime, "http", &site.url("/")).await
}

/// How long it takes until a guest is told that nobody accepts a connection.
async fn connecting(limits: Limits) -> String {
    let mut runtime = Runtime::new();
    let mut around = ports(&runtime.map, &runtime.secrets);
    around.egress = Egress::new(Arc::new(Deaf));
    runtime.host = PluginHost::new(None, limits, around);
    *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
    let tool = runtime.open(&[runtime.plugin("http", &right("http://deaf.example"))]).tools[0].clone();
    // It is compiled before the clock is stopped.
    runtime.call(&*tool, json!({ "p": "nothing" })).await.unwrap();
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    let said = runtime.call(&*tool, json!({ "p": "http://deaf.example/" })).await.unwrap().for_model();
    let elapsed = begin.elapsed();
    tokio::time::resume();
    format!("{}: {said}", super::about(elapsed))
}

/// A host that has one address and never answers there.
struct Deaf;

impl Reach for Deaf {
    fn resolve<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async { Ok(vec![IpAddr::from([1, 2, 3, 4])]) }.boxed()
    }

    fn connect(&self, _address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        std::future::pending().boxed()
    }
}
