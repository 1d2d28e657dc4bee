//! A model provider on loopback: it answers requests with scripted replies, faults included, and remembers them.
//!
//! Replies say what a model does, not how it is written; a [`Wire`] writes it in a provider's format and is chosen by
//! the request's path. Each follows the provider's public documentation, which it names. The replies are used up in
//! order, whoever asks.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// The server. It ends when it is dropped.
pub struct ModelDouble {
    address: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

/// A request that was made of the double.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path, such as `/v1/chat/completions`.
    pub path: String,
    /// The headers by their lower-case names.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
}

/// What the double does with one request.
#[must_use]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    content: Content,
}

enum Content {
    /// A streamed answer.
    Stream(Vec<Step>),
    /// A body as it is; none for the wire's own error body.
    Whole(Option<String>),
    /// Not even a response head.
    Nothing,
}

/// A piece of a streamed answer.
enum Step {
    Text(String),
    Thought(String),
    Signature(String),
    SealedThought(String),
    Call(String),
    Arguments(String),
    CallEnd,
    Hold(Arc<Notify>),
    Usage { input: u64, output: u64 },
    Stop(Stop),
    Refusal(String),
    Heartbeat,
    Unknown,
    Malformed,
    Failure(String),
    Raw(String),
    Trickle(String),
    End,
    Disconnect,
    Stall,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It has finished.
    Finished,
    /// It wants tools to be run.
    Tools,
    /// The answer reached its limit.
    Length,
    /// A filter stepped in.
    Filter,
}

/// What an answer ends with.
#[derive(Debug, Clone, Copy, Default)]
struct Ending {
    stop: Option<Stop>,
    /// Tokens of the request and of the answer; of the former half were cached.
    usage: Option<(u64, u64)>,
}

/// How a provider writes what a model does. Every method gives bytes for the body.
trait Wire: Send {
    fn content_type(&self) -> &'static str {
        "text/event-stream"
    }
    /// What comes before everything.
    fn begin(&mut self) -> String {
        String::new()
    }
    fn text(&mut self, text: &str) -> String;
    fn thought(&mut self, text: &str) -> String;
    /// The proof of the thinking before it, or of what comes next. Formats without one leave it out.
    fn signature(&mut self, _signature: &str) -> String {
        String::new()
    }
    /// Thinking that only the provider can read. Formats without it leave it out.
    fn sealed_thought(&mut self, _data: &str) -> String {
        String::new()
    }
    /// A tool call begins.
    fn call(&mut self, name: &str) -> String;
    /// More of its arguments. Formats in which they come whole keep them until the end.
    fn arguments(&mut self, delta: &str) -> String;
    /// Its end.
    fn call_end(&mut self) -> String {
        String::new()
    }
    /// The tokens, where they are told before the end.
    fn usage(&mut self, _input: u64, _output: u64) -> String {
        String::new()
    }
    /// The reason to stop, where it is told before the end.
    fn stop(&mut self, _stop: Stop) -> String {
        String::new()
    }
    /// The model refuses, in these words or in none, and what it stops for. A format that has no form for it says the
    /// words.
    fn refusal(&mut self, words: &str) -> (String, Option<Stop>) {
        (self.text(words), None)
    }
    /// What ends every answer.
    fn end(&mut self, ending: Ending) -> String;
    /// A sign of life.
    fn heartbeat(&self) -> String {
        ": ping\n\n".to_owned()
    }
    /// An event of a kind that no client knows.
    fn unknown(&self) -> String;
    /// An event that is cut in its middle.
    fn malformed(&self) -> String;
    /// The provider gives up on the answer.
    fn failure(&self, message: &str) -> String;
    /// The body of an error.
    fn error(&self, status: u16) -> String;
}

/// Begins an answer in a format.
type Begin = fn() -> Box<dyn Wire>;

fn wire(path: &str) -> Option<Box<dyn Wire>> {
    let wires: [(&str, Begin); 5] = [
        ("/chat/completions", || Box::<openai_chat::OpenAiChat>::default()),
        ("/responses", || Box::<openai_responses::OpenAiResponses>::default()),
        ("/messages", || Box::<anthropic::Anthropic>::default()),
        (":streamGenerateContent", || Box::<gemini::Gemini>::default()),
        ("/api/chat", || Box::<ollama::Ollama>::default()),
    ];
    wires.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire())
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Asked>>,
    /// How many there are of them.
    count: watch::Sender<usize>,
    /// How many clients left before their answer was complete.
    left: watch::Sender<usize>,
}

impl ModelDouble {
    /// Listens on a free port.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound address").to_string();
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into_iter().collect()),
            asked: Mutex::default(),
            count: watch::Sender::new(0),
            left: watch::Sender::new(0),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("the double serves") });
        Self { address, shared, server }
    }

    /// The address for the settings, without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("an address with a port")
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().expect("the lock").clone()
    }

    /// Waits until it was asked.
    pub async fn was_asked(&self) {
        self.shared.count.subscribe().wait_for(|count| *count > 0).await.expect("the double runs");
    }

    /// Waits until a client has closed its connection before its answer was complete.
    pub async fn client_left(&self) {
        self.shared.left.subscribe().wait_for(|left| *left > 0).await.expect("the double runs");
    }
}

impl Drop for ModelDouble {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Reply {
    /// A streamed answer, empty so far. It is ended well unless a step says otherwise.
    pub fn answer() -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Stream(Vec::new()) }
    }

    /// An answer of this text.
    pub fn text(text: &str) -> Self {
        Self::answer().say(text)
    }

    /// An error.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), content: Content::Whole(None) }
    }

    /// Success, but no answer of a model.
    pub fn page(body: &str) -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Whole(Some(body.to_owned())) }
    }

    /// No response at all; the connection stays open.
    pub fn nothing() -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Nothing }
    }

    /// With this response header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// With this body, for errors.
    pub fn body(mut self, body: &str) -> Self {
        self.content = Content::Whole(Some(body.to_owned()));
        self
    }

    /// Then a chunk of text.
    pub fn say(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// Then many chunks of text.
    pub fn chunks(self, count: usize, text: &str) -> Self {
        (0..count).fold(self, |reply, _| reply.say(text))
    }

    /// Then a chunk of thinking.
    pub fn think(self, text: &str) -> Self {
        self.step(Step::Thought(text.to_owned()))
    }

    /// Then the signature of the thinking, or of what comes next.
    pub fn sign(self, signature: &str) -> Self {
        self.step(Step::Signature(signature.to_owned()))
    }

    /// Then thinking that only the provider can read.
    pub fn think_sealed(self, data: &str) -> Self {
        self.step(Step::SealedThought(data.to_owned()))
    }

    /// Then a tool call with its arguments in these pieces.
    pub fn call(self, name: &str, deltas: &[&str]) -> Self {
        self.begin_call(name, deltas).end_call()
    }

    /// Then a tool call that is not whole yet, with its arguments so far.
    pub fn begin_call(self, name: &str, deltas: &[&str]) -> Self {
        self.step(Step::Call(name.to_owned())).write_arguments(deltas)
    }

    /// Then more of the arguments of the call that was begun.
    pub fn write_arguments(self, deltas: &[&str]) -> Self {
        deltas.iter().fold(self, |reply, &delta| reply.step(Step::Arguments(delta.to_owned())))
    }

    /// Then the end of the call that was begun.
    pub fn end_call(self) -> Self {
        self.step(Step::CallEnd)
    }

    /// Then nothing until the test says go.
    pub fn hold(self, go: &Arc<Notify>) -> Self {
        self.step(Step::Hold(go.clone()))
    }

    /// Then the tokens.
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.step(Step::Usage { input, output })
    }

    /// Then the reason to stop. Left out, it is [`Stop::Tools`] after calls, else [`Stop::Finished`].
    pub fn stop(self, stop: Stop) -> Self {
        self.step(Step::Stop(stop))
    }

    /// Then the model refuses, in these words or, where they are empty, in none.
    pub fn refuse(self, words: &str) -> Self {
        self.step(Step::Refusal(words.to_owned()))
    }

    /// Then a sign of life.
    pub fn heartbeat(self) -> Self {
        self.step(Step::Heartbeat)
    }

    /// Then an event that no client knows.
    pub fn unknown(self) -> Self {
        self.step(Step::Unknown)
    }

    /// Then an event that is cut in its middle.
    pub fn malformed(self) -> Self {
        self.step(Step::Malformed)
    }

    /// Then the provider gives up on the answer.
    pub fn fail(self, message: &str) -> Self {
        self.step(Step::Failure(message.to_owned()))
    }

    /// Then bytes as they are.
    pub fn raw(self, bytes: &str) -> Self {
        self.step(Step::Raw(bytes.to_owned()))
    }

    /// Then these bytes ten times a second, without an end.
    pub fn trickle(self, bytes: &str) -> Self {
        self.step(Step::Trickle(bytes.to_owned()))
    }

    /// Then the end of the body, without a reason to stop.
    pub fn end(self) -> Self {
        self.step(Step::End)
    }

    /// Then the connection breaks.
    pub fn disconnect(self) -> Self {
        self.step(Step::Disconnect)
    }

    /// Then nothing more; the connection stays open.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    fn step(mut self, step: Step) -> Self {
        match &mut self.content {
            Content::Stream(steps) => steps.push(step),
            Content::Whole(_) | Content::Nothing => panic!("this reply is no streamed answer"),
        }
        self
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    shared.asked.lock().expect("the lock").push(Asked {
        path: uri.path().to_owned(),
        headers: headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    });
    shared.count.send_modify(|count| *count += 1);
    let Some(wire) = wire(uri.path()) else { return plain(StatusCode::NOT_FOUND, "no wire format has this path") };
    let Some(reply) = shared.replies.lock().expect("the lock").pop_front() else {
        return plain(StatusCode::IM_A_TEAPOT, "the test has scripted no more replies");
    };
    let watch = Leaving { left: shared.left.clone(), complete: false };
    let (kind, body) = match reply.content {
        Content::Stream(steps) => (wire.content_type(), Body::from_stream(events(steps, wire, watch))),
        Content::Whole(body) => {
            watch.complete();
            ("application/json", Body::from(body.unwrap_or_else(|| wire.error(reply.status))))
        }
        Content::Nothing => {
            let _watch = watch;
            std::future::pending().await
        }
    };
    let mut response = Response::builder().status(reply.status).header(header::CONTENT_TYPE, kind);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(body).expect("a response")
}

fn plain(status: StatusCode, text: &str) -> Response {
    Response::builder().status(status).body(Body::from(text.to_owned())).expect("a response")
}

/// Notes that a client left, unless its answer was complete.
struct Leaving {
    left: watch::Sender<usize>,
    complete: bool,
}

impl Leaving {
    fn complete(mut self) {
        self.complete = true;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.complete {
            self.left.send_modify(|left| *left += 1);
        }
    }
}

struct Playing {
    steps: VecDeque<Step>,
    wire: Box<dyn Wire>,
    ending: Ending,
    watch: Leaving,
}

/// The body, one chunk for each step.
fn events(mut steps: Vec<Step>, mut wire: Box<dyn Wire>, watch: Leaving) -> BoxStream<'static, io::Result<Bytes>> {
    if !steps.iter().any(|step| {
        matches!(step, Step::Stop(_) | Step::Refusal(_) | Step::End | Step::Disconnect | Step::Stall | Step::Trickle(_))
    }) {
        let calls = steps.iter().any(|step| matches!(step, Step::Call(_)));
        steps.push(Step::Stop(if calls { Stop::Tools } else { Stop::Finished }));
    }
    // Usage comes last, as from the providers.
    steps.sort_by_key(|step| matches!(step, Step::Usage { .. }));
    steps.insert(0, Step::Raw(wire.begin()));
    let playing = Playing { steps: steps.into(), wire, ending: Ending::default(), watch };
    stream::unfold(Some(playing), |playing| async move {
        let Playing { mut steps, mut wire, mut ending, watch } = playing?;
        let bytes = match steps.pop_front() {
            Some(Step::Text(text)) => wire.text(&text),
            Some(Step::Thought(text)) => wire.thought(&text),
            Some(Step::Signature(signature)) => wire.signature(&signature),
            Some(Step::SealedThought(data)) => wire.sealed_thought(&data),
            Some(Step::Refusal(words)) => {
                let (bytes, stop) = wire.refusal(&words);
                ending.stop = ending.stop.or(stop);
                bytes
            }
            Some(Step::Heartbeat) => wire.heartbeat(),
            Some(Step::Unknown) => wire.unknown(),
            Some(Step::Malformed) => wire.malformed(),
            Some(Step::Failure(message)) => wire.failure(&message),
            Some(Step::Call(name)) => wire.call(&name),
            Some(Step::Arguments(delta)) => wire.arguments(&delta),
            Some(Step::CallEnd) => wire.call_end(),
            Some(Step::Hold(go)) => {
                go.notified().await;
                String::new()
            }
            Some(Step::Usage { input, output }) => {
                ending.usage = Some((input, output));
                wire.usage(input, output)
            }
            Some(Step::Stop(stop)) => {
                ending.stop = Some(stop);
                wire.stop(stop)
            }
            Some(Step::Raw(bytes)) => bytes,
            Some(Step::Trickle(bytes)) => {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                steps.push_front(Step::Trickle(bytes.clone()));
                bytes
            }
            Some(Step::Stall) => std::future::pending().await,
            Some(Step::Disconnect) => {
                // Lets the server send what was said before.
                tokio::task::yield_now().await;
                watch.complete();
                return Some((Err(io::Error::other("the test breaks the connection")), None));
            }
            Some(Step::End) => {
                watch.complete();
                return None;
            }
            None => {
                watch.complete();
                return Some((Ok(Bytes::from(wire.end(ending))), None));
            }
        };
        Some((Ok(Bytes::from(bytes)), Some(Playing { steps, wire, ending, watch })))
    })
    // A chunk of no bytes would end the body.
    .filter(|chunk| std::future::ready(!matches!(chunk, Ok(bytes) if bytes.is_empty())))
    .boxed()
}
