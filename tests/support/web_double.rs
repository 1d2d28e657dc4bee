//! A web server on loopback with the pages that a test gives it. It remembers what it was asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The server. It ends when it is dropped.
pub struct WebDouble {
    port: u16,
    visits: Arc<Mutex<Vec<Visit>>>,
    server: JoinHandle<()>,
}

/// A request that was made of the double.
#[derive(Debug, Clone)]
pub struct Visit {
    /// `GET` and so on.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers by their lower-case names.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

/// What the double answers.
#[derive(Debug, Clone)]
#[must_use]
pub struct WebPage {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl WebPage {
    /// A page of that type.
    pub fn new(mime: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: vec![("content-type".to_owned(), mime.to_owned())], body: body.into() }
    }

    /// A redirect.
    pub fn leading_to(location: &str) -> Self {
        Self { status: 302, headers: vec![("location".to_owned(), location.to_owned())], body: Vec::new() }
    }

    /// With that status.
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// With one more header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl WebDouble {
    /// A server whose pages are answers to visits.
    pub async fn start(page: impl Fn(&Visit) -> WebPage + Send + Sync + 'static) -> Self {
        let visits: Arc<Mutex<Vec<Visit>>> = Arc::default();
        let (kept, page) = (visits.clone(), Arc::new(page));
        let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let named = headers.iter().map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            });
            let visit = Visit {
                method: method.to_string(),
                path: uri.to_string(),
                headers: named.collect(),
                body: String::from_utf8_lossy(&body).into_owned(),
            };
            let WebPage { status, headers, body } = page(&visit);
            kept.lock().expect("no test panics here").push(visit);
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            let response = response.body(Body::from(body)).expect("a page can be answered");
            async { response }
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has a free port");
        let port = listener.local_addr().expect("a bound port").port();
        let server = tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(answer)).await.expect("the server runs");
        });
        Self { port, visits, server }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// What it was asked for, in order.
    pub fn visits(&self) -> Vec<Visit> {
        self.visits.lock().expect("no test panics here").clone()
    }
}

impl Drop for WebDouble {
    fn drop(&mut self) {
        self.server.abort();
    }
}
