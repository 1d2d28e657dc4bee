//! An MCP server on loopback, over streamable HTTP: one tool, `echo`, for those who send the right header.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The server. It ends when it is dropped.
pub struct McpDouble {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl McpDouble {
    /// Starts it at a free port.
    pub async fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts it at the address of another one that is gone.
    pub async fn start_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let heard = Arc::default();
        let router = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&heard));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("the double serves") });
        Self { address, heard, server }
    }

    /// Starts one that answers everything with this status, these headers and this body.
    pub async fn saying(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let mut answer = Response::builder().status(status);
        for (name, value) in headers {
            answer = answer.header(*name, *value);
        }
        let (head, ()) = answer.body(()).expect("a status and headers").into_parts();
        let body = body.to_owned();
        let router = Router::new().fallback(move || {
            let (head, body) = (head.clone(), body.clone());
            async move { (head.status, head.headers, body).into_response() }
        });
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("the double serves") });
        Self { address, heard: Arc::default(), server }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its protocol is spoken.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The methods that it was asked for, in order.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("no panic while it was held").clone()
    }
}

impl Drop for McpDouble {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(heard): State<Arc<Mutex<Vec<String>>>>, headers: HeaderMap, body: Bytes) -> Response {
    if headers.get("x-key").is_none_or(|key| key != "sesame") {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], "who are you?").into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    heard.lock().expect("no panic while it was held").push(method.clone());
    if message["id"].is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = match method.as_str() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "double", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "echo",
            "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
        }] }),
        "tools/call" => {
            json!({ "content": [{ "type": "text", "text": message["params"]["arguments"].to_string() }] })
        }
        _ => json!({}),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}
