//! The HTTP client of all models, and the thread on which their answers arrive.
//!
//! Nothing of it is there before the first request. What a provider sends is read and parsed on that one thread, which
//! does nothing else: however much comes and however fast, sessions are not held up, and an answer that nobody waits for
//! any more is dropped before its next piece.

use std::future::ready;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{Stream, StreamExt as _};
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::{Client, ServiceTarget, WebConfig};
use http::header::{HeaderMap, HeaderValue, USER_AGENT};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::calls::NewParts;
use super::flow::{Broken, Watched};
use super::frames::Frames;
use super::settings::{Timeouts, WireFormat};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(15);
/// Chunks that go from one thread to the other together, where they have come together.
const BATCH: usize = 64;
/// Batches that may wait for whoever reads the answer.
const WAITING: usize = 16;

/// The client. It reads certificates and proxy settings (`HTTPS_PROXY`, `SSL_CERT_FILE`, …) from the environment when
/// the first request is made, and not before.
#[derive(Default)]
pub(super) struct HttpClient(OnceLock<Result<Line, String>>);

/// What is there from the first request on.
pub(super) struct Line {
    client: Client,
    thread: Handle,
    /// The thread ends with it.
    _stay: oneshot::Sender<()>,
}

impl HttpClient {
    pub(super) fn get(&self) -> Result<&Line, &str> {
        self.0.get_or_init(Line::open).as_ref().map_err(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn is_open(&self) -> bool {
        self.0.get().is_some()
    }
}

impl Line {
    fn open() -> Result<Self, String> {
        let agent = HeaderValue::from_static(concat!("acp-runtime/", env!("CARGO_PKG_VERSION")));
        let config = WebConfig::default()
            .with_connect_timeout(CONNECT)
            .with_default_headers(HeaderMap::from_iter([(USER_AGENT, agent)]));
        // A redirect would take the key, the headers and the conversation to whatever host the answer names. And a few
        // compressed bytes would become any number of them.
        let never = reqwest::redirect::Policy::none();
        let http = config.apply_to_builder(reqwest::Client::builder()).redirect(never).no_gzip().build();
        let http = http.map_err(|error| error.to_string())?;
        let client = Client::builder().with_reqwest(http).build().map_err(|error| error.to_string())?;

        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
        let (thread, (stay, leave)) = (runtime.handle().clone(), oneshot::channel());
        let work = move || {
            // That nobody is left is all that is ever said.
            let _ = runtime.block_on(leave);
        };
        std::thread::Builder::new().name("models".to_owned()).spawn(work).map_err(|error| error.to_string())?;
        Ok(Self { client, thread, _stay: stay })
    }

    /// Asks, and gives the answer as it comes.
    pub(super) async fn ask(
        &self,
        target: ServiceTarget,
        request: ChatRequest,
        options: ChatOptions,
        (wire, timeouts): (WireFormat, Timeouts),
    ) -> Result<Chunks, Broken> {
        let frames = Arc::new(Frames::new(wire));
        let options = options.with_raw_frame_sink_arc(frames.clone());
        // Where the whole call comes as well, each piece has all that came before.
        let repeats = options.capture_tool_calls != Some(false);
        let answer = self.client.exec_chat_stream(target, request, Some(&options)).await;
        let answer = answer.map_err(|error| Broken::Genai(error, None))?;
        let (sender, batches) = mpsc::channel(WAITING);
        let task = self.thread.spawn(async move {
            let answer = Watched::new(answer.stream, frames, timeouts);
            let mut new = NewParts::default();
            let wanted = answer.filter_map(|item| ready(if repeats { new.of(item) } else { Some(item) }));
            let mut together = pin!(wanted.ready_chunks(BATCH));
            while let Some(batch) = together.next().await {
                if sender.send(batch).await.is_err() {
                    return;
                }
            }
        });
        Ok(Chunks { batches, batch: Vec::new().into_iter(), task: task.abort_handle() })
    }
}

type Item = Result<ChatStreamEvent, Broken>;

/// What is answered, piece by piece. Dropping it ends the answer.
pub(super) struct Chunks {
    batches: mpsc::Receiver<Vec<Item>>,
    /// What is left of the latest one.
    batch: std::vec::IntoIter<Item>,
    task: AbortHandle,
}

impl Stream for Chunks {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        loop {
            if let Some(item) = self.batch.next() {
                return Poll::Ready(Some(item));
            }
            match self.batches.poll_recv(cx) {
                Poll::Ready(Some(batch)) => self.batch = batch.into_iter(),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.task.abort();
    }
}
