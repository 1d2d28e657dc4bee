//! An editor on the other end of the binary's pipes, or of those of a server in this process.
//!
//! It speaks ACP by raw lines, so that a test can also say what no library would. Every line that comes back is judged
//! by the [`Ledger`]; the first violation fails the next step of the test, or its end.

mod agent;
mod desk;
mod requests;
mod terminals;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::{mpsc, watch};

use crate::ledger::{Ledger, Message, RpcError};
use crate::runtime::resident_bytes;
use crate::turn::Turn;
pub use agent::Served;
use agent::{Agent, Ends};
use desk::Desk;
pub use desk::{Answer, EditorOptions, Filled, Manner, Permission};
use terminals::Late;

/// How long any one thing may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A client on one agent.
pub struct EditorDouble {
    agent: Agent,
    project: PathBuf,
    shared: Arc<Shared>,
    input: Mutex<Option<mpsc::UnboundedSender<Vec<u8>>>>,
    reading: watch::Sender<bool>,
    /// Keeps the folders of the process for as long as it is spoken to.
    _place: Arc<TempDir>,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// From the end of its input to its own end.
    pub took: Duration,
    /// All that it wrote to stderr.
    pub stderr: String,
}

/// A prompt that has not been answered yet.
#[derive(Debug)]
pub struct OpenPrompt {
    id: u64,
    session: String,
    from: usize,
}

impl OpenPrompt {
    /// The id of its request.
    pub fn id(&self) -> u64 {
        self.id
    }
}

struct Shared {
    options: EditorOptions,
    /// Answers that come when they are ready.
    late: Late,
    heard: Mutex<Heard>,
    changed: watch::Sender<()>,
}

/// All that was said and done until now.
#[derive(Default)]
struct Heard {
    ledger: Ledger,
    desk: Desk,
    next_id: u64,
    answers: HashMap<String, VecDeque<Result<Value, RpcError>>>,
    unreadable: VecDeque<RpcError>,
    updates: HashMap<String, Vec<Value>>,
    notifications: Vec<(String, Value)>,
    stderr: String,
    killed: bool,
    ended: bool,
}

impl EditorDouble {
    /// Starts `command` as an agent for `project`. Nothing is said yet.
    pub fn spawn(
        command: std::process::Command,
        project: PathBuf,
        place: Arc<TempDir>,
        options: EditorOptions,
    ) -> Self {
        Self::on(Agent::start(command), project, place, options)
    }

    /// Speaks to a server for `project` in this process. Nothing is said yet.
    pub fn over(served: Served, project: PathBuf, place: Arc<TempDir>, options: EditorOptions) -> Self {
        Self::on(Agent::here(served), project, place, options)
    }

    fn on((agent, ends): (Agent, Ends), project: PathBuf, place: Arc<TempDir>, options: EditorOptions) -> Self {
        let Ends { input: theirs, output, errors } = ends;
        let desk = Desk { buffers: options.buffers.clone(), ..Desk::default() };
        let mut heard = Heard { desk, ..Heard::default() };
        if options.echo {
            heard.ledger.allow_echo();
        }
        let heard = Mutex::new(heard);
        let (input, lines) = mpsc::unbounded_channel::<Vec<u8>>();
        let late = late(input.downgrade());
        let shared = Arc::new(Shared { options, late, heard, changed: watch::Sender::new(()) });
        let (reading, may_read) = watch::channel(true);
        tokio::spawn(write(theirs, lines));
        tokio::spawn(shared.clone().listen(output, may_read, input.clone().downgrade()));
        if let Some(errors) = errors {
            tokio::spawn(shared.clone().overhear(errors));
        }
        Self { agent, project, shared, input: Mutex::new(Some(input)), reading, _place: place }
    }

    /// Says hello with the options' capabilities; answers the agent's.
    pub async fn initialize(&self) -> Value {
        let client = json!({ "name": "editor-double", "version": "1" });
        let capabilities = self.shared.options.capabilities.clone();
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client });
        self.call("initialize", params).await
    }

    /// Opens a session in the project; answers its id.
    pub async fn new_session(&self) -> String {
        let answer = self.call("session/new", json!({ "cwd": self.project, "mcpServers": [] })).await;
        answer["sessionId"].as_str().expect("a session has an id").to_owned()
    }

    /// Loads a kept session; answers its replay.
    pub async fn load_session(&self, session: &str) -> Turn {
        let from = self.shared.lock().updates.get(session).map_or(0, Vec::len);
        self.call("session/load", json!({ "sessionId": session, "cwd": self.project, "mcpServers": [] })).await;
        Turn { stop: String::new(), updates: self.updates(session).split_off(from) }
    }

    /// Forks a session, whole where `aar` is null, else where it says; answers the new one's id.
    pub async fn fork_session(&self, session: &str, aar: Value) -> String {
        let params = json!({ "sessionId": session, "cwd": self.project, "_meta": { "aar": aar } });
        let answer = self.call("session/fork", params).await;
        answer["sessionId"].as_str().expect("a session has an id").to_owned()
    }

    /// Changes a session's mode.
    pub async fn set_mode(&self, session: &str, mode: &str) {
        self.call("session/set_mode", json!({ "sessionId": session, "modeId": mode })).await;
    }

    /// Prompts and waits for the end of the turn, which must not be an error.
    pub async fn prompt(&self, session: &str, text: &str) -> Turn {
        let prompt = self.begin_prompt(session, text);
        self.turn(prompt).await.unwrap_or_else(|error| panic!("the prompt `{text}` failed: {error:?}"))
    }

    /// Prompts and does not wait.
    pub fn begin_prompt(&self, session: &str, text: &str) -> OpenPrompt {
        let from = self.shared.lock().updates.get(session).map_or(0, Vec::len);
        let prompt = json!([{ "type": "text", "text": text }]);
        let id = self.send("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
        OpenPrompt { id, session: session.to_owned(), from }
    }

    /// Waits for the end of a turn.
    pub async fn turn(&self, prompt: OpenPrompt) -> Result<Turn, RpcError> {
        let answer = self.answer_to(prompt.id).await?;
        let stop = answer["stopReason"].as_str().unwrap_or_default().to_owned();
        Ok(Turn { stop, updates: self.updates(&prompt.session).split_off(prompt.from) })
    }

    /// Cancels the session's prompts; what its person holds is given up.
    pub fn cancel(&self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
        let held = self.shared.lock().desk.release();
        for (id, answer) in held {
            self.write_message(&reply(&id, answer));
        }
    }

    /// Sends a request; answers its id.
    pub fn send(&self, method: &str, params: Value) -> u64 {
        let mut heard = self.shared.lock();
        heard.next_id += 1;
        let id = heard.next_id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        heard.ledger.sent(&message);
        drop(heard);
        self.write_message(&message);
        id
    }

    /// Waits for the answer to a request.
    pub async fn answer_to(&self, id: u64) -> Result<Value, RpcError> {
        self.answer_to_id(&json!(id)).await
    }

    /// Waits for the answer to a request with an id of any kind.
    pub async fn answer_to_id(&self, id: &Value) -> Result<Value, RpcError> {
        let id = id.to_string();
        self.until(&format!("the answer to request {id}"), |heard| heard.answers.get_mut(&id)?.pop_front()).await
    }

    /// Sends a request and waits for its answer.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.send(method, params);
        self.answer_to(id).await
    }

    /// Sends a request that must succeed.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        answer.unwrap_or_else(|error| panic!("`{method}` was refused: {error:?}\n{}", self.stderr()))
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.write_message(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Writes bytes as they are. What is JSON-RPC in them is noted, so that the answers are expected.
    pub fn send_raw(&self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            let start = line.iter().position(|byte| *byte == b'{').unwrap_or(line.len());
            if let Ok(message) = serde_json::from_slice(&line[start..]) {
                self.shared.lock().ledger.sent(&message);
            }
        }
        self.write_bytes(bytes.to_vec());
    }

    /// Writes bytes that stand for `message`, and that no parser here could read.
    pub fn send_raw_as(&self, message: &Value, bytes: &[u8]) {
        self.shared.lock().ledger.sent(message);
        self.write_bytes(bytes.to_vec());
    }

    /// Waits for the next error without an id: the answer to something unreadable.
    pub async fn unreadable(&self) -> RpcError {
        self.until("an error without an id", |heard| heard.unreadable.pop_front()).await
    }

    /// Waits until one of the session's updates satisfies `wanted`.
    pub async fn until_update(&self, session: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until_update_after(session, 0, what, wanted).await
    }

    /// Waits until one of the session's updates after the first `from` satisfies `wanted`.
    pub async fn until_update_after(
        &self,
        session: &str,
        from: usize,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until(what, |heard| heard.updates.get(session)?.iter().skip(from).find(|update| wanted(update)).cloned())
            .await
    }

    /// Waits until the session had so many updates in all.
    pub async fn until_updates(&self, session: &str, count: usize) {
        self.until(&format!("{count} updates"), |heard| {
            (heard.updates.get(session).map_or(0, Vec::len) >= count).then_some(())
        })
        .await;
    }

    /// Waits until the person was asked so many times in all.
    pub async fn until_asked(&self, times: usize) -> Permission {
        self.until("a permission request", |heard| heard.desk.permissions.get(times - 1).cloned()).await
    }

    /// Waits for a notification of that method.
    pub async fn until_notified(&self, method: &str) -> Value {
        self.until(method, |heard| {
            heard.notifications.iter().find(|(known, _)| known == method).map(|(_, params)| params.clone())
        })
        .await
    }

    /// All updates of a session until now.
    pub fn updates(&self, session: &str) -> Vec<Value> {
        self.shared.lock().updates.get(session).cloned().unwrap_or_default()
    }

    /// Forgets a session's updates, when no prompt of it is waited for.
    pub fn forget_updates(&self, session: &str) {
        self.shared.lock().updates.remove(session);
    }

    /// All notifications that are not updates: method and params.
    pub fn notifications(&self) -> Vec<(String, Value)> {
        self.shared.lock().notifications.clone()
    }

    /// All permission requests until now.
    pub fn permissions(&self) -> Vec<Permission> {
        self.shared.lock().desk.permissions.clone()
    }

    /// Method and path of all file calls until now.
    pub fn file_calls(&self) -> Vec<(String, String)> {
        self.shared.lock().desk.file_calls.clone()
    }

    /// The text that an open buffer has now.
    pub fn buffer(&self, path: &std::path::Path) -> Option<String> {
        self.shared.lock().desk.buffers.get(&path.display().to_string()).cloned()
    }

    /// What the process wrote to stderr until now.
    pub fn stderr(&self) -> String {
        self.shared.lock().stderr.clone()
    }

    /// The memory that the process holds now, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(self.process())
    }

    /// The id of the process.
    pub fn process(&self) -> Pid {
        self.agent.process()
    }

    /// Stops or goes on reading what the agent writes.
    pub fn read_on(&self, reading: bool) {
        self.reading.send_replace(reading);
    }

    /// Ends the process's input.
    pub fn end_input(&self) {
        lock(&self.input).take();
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        self.shared.lock().killed |= signal == Signal::KILL;
        rustix::process::kill_process(self.process(), signal).expect("the process can be signalled");
    }

    /// Kills the process as it stands; what it had written until then was heard.
    pub async fn kill(&self) {
        self.signal(Signal::KILL);
        self.wait().await;
    }

    /// Ends the input and waits for the process's own end, which must come within 2 seconds and be a success.
    pub async fn close(self) -> Ended {
        let begin = Instant::now();
        self.end_input();
        let status = self.wait().await;
        let ended = Ended { status, took: begin.elapsed(), stderr: self.stderr() };
        assert!(ended.took < Duration::from_secs(2), "the agent outlived its input by {:?}", ended.took);
        assert!(ended.status.success(), "the agent ended with {}: {}", ended.status, ended.stderr);
        let leaked = self.shared.lock().desk.terminals.leaked();
        assert!(leaked.is_empty(), "terminals were not released, or more than once: {leaked:?}");
        ended
    }

    /// Waits for the process's end, and until all that it said was heard.
    pub async fn wait(&self) -> ExitStatus {
        let status = self.wait_unread().await;
        self.until("the end of the agent's output", |heard| heard.ended.then_some(())).await;
        status
    }

    /// Waits for the process's end and leaves unread what it said.
    pub async fn wait_unread(&self) -> ExitStatus {
        tokio::time::timeout(PATIENCE, self.agent.wait())
            .await
            .unwrap_or_else(|_| panic!("the agent does not end: {}", self.stderr()))
    }

    async fn until<T>(&self, what: &str, mut look: impl FnMut(&mut Heard) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        let search = async {
            loop {
                {
                    let mut heard = self.shared.lock();
                    if let Some(found) = look(&mut heard) {
                        assert!(
                            heard.ledger.violations().is_empty(),
                            "the agent broke rules: {:#?}",
                            heard.ledger.violations()
                        );
                        return found;
                    }
                    assert!(!heard.ended, "the agent ended before {what}: {}", heard.stderr);
                }
                // The sender lives as long as this editor.
                let _ = changed.changed().await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, search).await;
        found.unwrap_or_else(|_| panic!("no {what} within {PATIENCE:?}: {}", self.stderr()))
    }

    fn write_message(&self, message: &Value) {
        self.write_bytes(framed(message, self.shared.options.headers));
    }

    fn write_bytes(&self, bytes: Vec<u8>) {
        if let Some(input) = &*lock(&self.input) {
            // A process that is gone hears nothing; whoever waits for its answer learns of that.
            let _ = input.send(bytes);
        }
    }
}

impl Drop for EditorDouble {
    fn drop(&mut self) {
        let heard = self.shared.lock();
        if !std::thread::panicking() {
            assert!(heard.ledger.violations().is_empty(), "the agent broke rules: {:#?}", heard.ledger.violations());
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }

    async fn listen(
        self: Arc<Self>,
        output: Box<dyn AsyncRead + Send + Unpin>,
        mut may_read: watch::Receiver<bool>,
        input: mpsc::WeakUnboundedSender<Vec<u8>>,
    ) {
        let mut output = BufReader::with_capacity(1 << 16, output);
        let mut line = Vec::new();
        loop {
            if may_read.wait_for(|reading| *reading).await.is_err() {
                return;
            }
            line.clear();
            let (more, whole) = if self.options.headers {
                body(&mut output, &mut line).await
            } else {
                text(&mut output, &mut line).await
            };
            if more && (whole || !self.lock().killed) {
                let answers = self.hear(&line);
                if let Some(input) = input.upgrade() {
                    for answer in answers {
                        // Nobody reads answers any more when the process is gone.
                        let _ = input.send(framed(&answer, self.options.headers));
                    }
                }
            }
            self.lock().ended |= !more;
            self.changed.send_replace(());
            if !more {
                return;
            }
        }
    }

    /// Takes one line; gives the answers that it calls for.
    fn hear(&self, line: &[u8]) -> Vec<Value> {
        let mut heard = self.lock();
        match heard.ledger.received(line) {
            None => Vec::new(),
            Some(Message::Response { id: Value::Null, outcome: Err(error) }) => {
                heard.unreadable.push_back(error);
                Vec::new()
            }
            Some(Message::Response { id, outcome }) => {
                heard.answers.entry(id.to_string()).or_default().push_back(outcome);
                Vec::new()
            }
            Some(Message::Request { id, method, params }) => {
                let Heard { desk, ledger, .. } = &mut *heard;
                let answer = desk.answer(&self.options, &id, &method, &params, &self.late);
                ledger.answered(&method, answer.as_ref());
                answer.map(|answer| reply(&id, answer)).into_iter().collect()
            }
            Some(Message::Notification { method, params }) if method == "session/update" => {
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                heard.updates.entry(session).or_default().push(params["update"].clone());
                Vec::new()
            }
            Some(Message::Notification { method, params }) if method == "$/cancel_request" => {
                let id = &params["requestId"];
                heard.desk.withdraw(id).map(|answer| reply(id, answer)).into_iter().collect()
            }
            Some(Message::Notification { method, params }) => {
                heard.notifications.push((method, params));
                Vec::new()
            }
        }
    }

    async fn overhear(self: Arc<Self>, mut stderr: ChildStderr) {
        let mut block = [0; 8192];
        while let Ok(read @ 1..) = stderr.read(&mut block).await {
            self.lock().stderr.push_str(&String::from_utf8_lossy(&block[..read]));
        }
    }
}

/// The bytes of a message.
fn framed(message: &Value, headers: bool) -> Vec<u8> {
    let text = message.to_string();
    if headers { format!("Content-Length: {}\r\n\r\n{text}", text.len()) } else { text + "\n" }.into_bytes()
}

/// Reads a line without its end; whether there was any, and whether it was whole.
async fn text(output: &mut BufReader<impl AsyncRead + Unpin>, line: &mut Vec<u8>) -> (bool, bool) {
    let more = output.read_until(b'\n', line).await.is_ok_and(|read| read > 0);
    let whole = line.pop_if(|last| *last == b'\n').is_some();
    (more, whole)
}

/// Reads a body behind its header; whether there was any, and whether it was whole.
async fn body(output: &mut BufReader<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) -> (bool, bool) {
    let mut header = String::new();
    if !output.read_line(&mut header).await.is_ok_and(|read| read > 0) {
        return (false, false);
    }
    let length = header.strip_prefix("Content-Length: ").and_then(|rest| rest.strip_suffix("\r\n")?.parse().ok());
    let length: usize = length.unwrap_or_else(|| panic!("no header: {header:?}"));
    let mut blank = [0; 2];
    bytes.resize(length, 0);
    let whole = output.read_exact(&mut blank).await.is_ok() && output.read_exact(bytes).await.is_ok();
    assert!(!whole || blank == *b"\r\n", "no blank line after the header");
    (true, whole)
}

async fn write(mut input: Box<dyn AsyncWrite + Send + Unpin>, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if input.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Sends what is answered later, as long as the editor lives.
fn late(input: mpsc::WeakUnboundedSender<Vec<u8>>) -> Late {
    Arc::new(move |message| {
        if let Some(input) = input.upgrade() {
            // Nobody reads answers any more when the process is gone.
            let _ = input.send(format!("{message}\n").into_bytes());
        }
    })
}

/// A whole response: `answer` holds its `result` or `error`.
fn reply(id: &Value, mut answer: Value) -> Value {
    answer["jsonrpc"] = json!("2.0");
    answer["id"] = id.clone();
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
