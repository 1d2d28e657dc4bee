//! A client at the other end of two pipes.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, PipeWriter, Write as _};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use agent_client_protocol::Error;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::login::Wallet;
use super::sessions::Factory;
use crate::acp::{Backing, Options, Patience, serve};
use crate::redaction::Redaction;
use crate::transport::stdio::{self, Limits};

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An agent that waits for its client longer than the client for it.
pub(super) const PATIENT: Patience = Patience { person: None, client: PATIENCE };

pub(super) struct Client {
    pub(super) factory: Arc<Factory>,
    pub(super) wallet: Arc<Wallet>,
    /// What the agent's errors are kept clean by.
    pub(super) redaction: Redaction,
    /// None after the end of its input.
    pub(super) input: Option<PipeWriter>,
    lines: mpsc::UnboundedReceiver<Value>,
    /// Read and not yet asked for.
    aside: VecDeque<Value>,
    asked: i64,
    reading: Arc<(Mutex<bool>, Condvar)>,
    /// Ends the server without an end of the input.
    pub(super) stop: Option<oneshot::Sender<()>>,
    pub(super) served: JoinHandle<Result<(), Error>>,
}

impl Client {
    /// A client that has said nothing yet.
    pub(super) fn connect() -> Self {
        Self::connect_with(Limits::default(), PATIENT)
    }

    pub(super) fn connect_with(limits: Limits, patience: Patience) -> Self {
        let (theirs, input) = std::io::pipe().unwrap();
        let (output, ours) = std::io::pipe().unwrap();
        let transport = stdio::over(theirs, ours, limits).unwrap();
        let (factory, wallet) = (Arc::new(Factory::default()), Arc::new(Wallet::default()));
        let redaction = Redaction::default();
        let backing = Backing { factory: factory.clone(), accounts: wallet.clone(), redaction: redaction.clone() };
        let options = Options {
            name: "acp-runtime".to_owned(),
            title: "ACP Runtime".to_owned(),
            version: "0.0.0".to_owned(),
            program: Some("/bin/acp-runtime".into()),
            patience,
            echo: false,
            unload_after: None,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let served = tokio::spawn(serve(transport, backing, options, shutdown));
        let (read, lines) = mpsc::unbounded_channel();
        let reading = Arc::new((Mutex::new(true), Condvar::new()));
        let allowed = reading.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                drop(allowed.1.wait_while(allowed.0.lock().unwrap(), |reads| !*reads).unwrap());
                let Ok(line) = line else { break };
                let message: Value = serde_json::from_str(&line).unwrap();
                let most = if message["method"] == "session/update" { 48 } else { 1024 };
                assert!(line.len() < most * 1024, "a line of {} bytes", line.len());
                if read.send(message).is_err() {
                    break;
                }
            }
        });
        let (input, stop) = (Some(input), Some(stop));
        Self { factory, wallet, redaction, input, lines, aside: VecDeque::new(), asked: 0, reading, stop, served }
    }

    /// Whether the client reads what it is sent.
    pub(super) fn reads(&self, reads: bool) {
        *self.reading.0.lock().unwrap() = reads;
        self.reading.1.notify_all();
    }

    /// A client with one session, `s-1`, in `/p`.
    pub(super) async fn with_session(capabilities: Value) -> Self {
        let mut client = Self::connect();
        client.open(capabilities).await;
        client
    }

    pub(super) async fn open(&mut self, capabilities: Value) {
        self.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": capabilities })).await;
        let answer = self.call("session/new", json!({ "cwd": "/p", "mcpServers": [] })).await;
        assert_eq!(answer["result"]["sessionId"], "s-1", "{answer}");
        assert_eq!(update_kind(&self.next().await), "current_mode_update");
        assert_eq!(update_kind(&self.next().await), "available_commands_update");
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and gives its id.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        self.asked
    }

    pub(super) fn prompt(&mut self, text: &str) -> i64 {
        self.ask("session/prompt", json!({ "sessionId": "s-1", "prompt": [{ "type": "text", "text": text }] }))
    }

    pub(super) fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// The next message that nobody has looked at.
    pub(super) async fn next(&mut self) -> Value {
        match self.aside.pop_front() {
            Some(message) => message,
            None => self.read().await.expect("the connection is open"),
        }
    }

    async fn read(&mut self) -> Option<Value> {
        tokio::time::timeout(PATIENCE, self.lines.recv()).await.expect("an answer in time")
    }

    /// The first message for which that holds; the others stay for [`Client::next`].
    pub(super) async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&wanted) {
            return self.aside.remove(at).unwrap();
        }
        loop {
            let message = self.read().await.expect("the connection is open");
            if wanted(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    pub(super) async fn response(&mut self, id: i64) -> Value {
        self.find(|message| message["id"] == id && message["method"].is_null()).await
    }

    /// The next request or notification of that method.
    pub(super) async fn called(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    pub(super) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.response(id).await
    }

    /// Everything up to the answer to `id`, in order, one line each.
    pub(super) async fn until(&mut self, id: i64) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.next().await;
            let last = message["id"] == id && message["method"].is_null();
            messages.push(message);
            if last {
                return messages;
            }
        }
    }

    /// Ends the input and gives everything that still comes.
    pub(super) async fn end(mut self) -> Vec<Value> {
        self.input = None;
        let mut messages: Vec<Value> = self.aside.drain(..).collect();
        while let Some(message) = self.read().await {
            messages.push(message);
        }
        self.served.await.unwrap().unwrap();
        messages
    }
}

/// What a `session/update` updates; the method for anything else.
pub(super) fn update_kind(message: &Value) -> &str {
    message["params"]["update"]["sessionUpdate"].as_str().or(message["method"].as_str()).unwrap_or("response")
}
