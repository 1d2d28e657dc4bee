//! ACP over stdin and stdout, hardened: one message a line, whatever the client sends.
//!
//! Two threads of their own read and write, so a client that stops reading or never ends its input cannot keep the
//! process from exiting. Bad input (too long, not UTF-8, not JSON, not JSON-RPC, a batch) is answered without an echo of
//! it, and the next line is read. A client that frames its messages with `Content-Length` headers is answered in kind.
//! Knows nothing about methods or sessions. Tested over pipes in `stdio/tests.rs`.

mod descriptors;
mod reader;

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use agent_client_protocol::{Channel, Error, RawJsonRpcMessage, RawJsonRpcResponse, TransportFrame};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use serde_json::json;
use tokio::sync::oneshot;

use super::backlog::Backlog;
use super::{Flow, Transport};
use reader::{Incoming, Reader};

/// How much may travel, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one incoming message; default 32 MiB. A longer one is skipped and refused.
    pub incoming: usize,
    /// Bytes of one outgoing line; default 1 MiB. A longer response becomes an error, anything else is dropped.
    pub outgoing: usize,
    /// Bytes that may wait for the client before sessions are held back; default 1 MiB.
    pub backlog: usize,
    /// How long a client may leave its output unread before it is given up; default 60 s.
    pub stall: Duration,
    /// How long the last lines may take at the end; default 2 s.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            incoming: 32 << 20,
            outgoing: 1 << 20,
            backlog: 1 << 20,
            stall: Duration::from_secs(60),
            farewell: Duration::from_secs(2),
        }
    }
}

/// Takes the process's stdin and stdout for the protocol. From then on fd 0 is empty and fd 1 goes to stderr, so nothing
/// else in the process can break the framing. Must be called in a tokio runtime, once.
pub fn open(limits: Limits) -> io::Result<Transport> {
    let (input, output) = descriptors::take()?;
    over(input, output, limits)
}

/// The same over any two streams. Must be called in a tokio runtime.
pub fn over(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    limits: Limits,
) -> io::Result<Transport> {
    let (channel, ours) = Channel::duplex();
    let (outgoing, incoming) = ours.into_parts();
    let backlog = Arc::new(Backlog::new(limits.backlog));
    let by_length = Arc::new(AtomicBool::new(false));
    let (written, done) = oneshot::channel();

    let reading = ReadingThread {
        reader: Reader::new(input, limits.incoming),
        frames: incoming.clone(),
        backlog: backlog.clone(),
        by_length: by_length.clone(),
    };
    thread::Builder::new().name("acp-stdin".to_owned()).spawn(move || reading.run())?;
    let queue = backlog.clone();
    let client = incoming.clone();
    thread::Builder::new().name("acp-stdout".to_owned()).spawn(move || {
        if let Err(error) = write_all(&queue, output) {
            tracing::warn!(%error, "the client's end of stdout is closed");
            queue.give_up();
            client.close_channel();
        }
        // Nobody waits for it before the end.
        let _ = written.send(());
    })?;
    tokio::spawn(Pump { outgoing, incoming, backlog: backlog.clone(), by_length, limits }.run());

    let drained = Box::pin(async move {
        if tokio::time::timeout(limits.farewell, done).await.is_err() {
            tracing::warn!("the client did not read the last messages");
        }
    });
    Ok(Transport { channel, flow: Flow(Some(backlog)), drained })
}

struct ReadingThread<R> {
    reader: Reader<R>,
    frames: UnboundedSender<TransportFrame>,
    backlog: Arc<Backlog>,
    by_length: Arc<AtomicBool>,
}

impl<R: Read> ReadingThread<R> {
    fn run(mut self) {
        while self.backlog.may_read() {
            let incoming = match self.reader.next() {
                Ok(Some(incoming)) => incoming,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "stdin cannot be read");
                    break;
                }
            };
            if self.reader.saw_length_header() {
                self.by_length.store(true, Ordering::Release);
            }
            if self.frames.unbounded_send(frame(incoming)).is_err() {
                break;
            }
        }
        self.frames.close_channel();
    }
}

/// What was read, as the protocol's own frame. Errors say what is wrong and never repeat the input.
fn frame(incoming: Incoming) -> TransportFrame {
    let (raw, error) = match incoming {
        Incoming::Message(text) => match TransportFrame::parse_json(&text) {
            // The raw text stays: a broken response is told from a broken request by it.
            TransportFrame::Malformed { raw, error } => {
                let reason = if error.code == Error::parse_error().code {
                    "the line is not JSON"
                } else {
                    "the line is not one JSON-RPC 2.0 message; batches are not supported"
                };
                let error = Error::new(error.code, error.code.to_string()).data(json!({ "reason": reason }));
                (raw, error)
            }
            message => return message,
        },
        Incoming::NotText => {
            (String::new(), Error::parse_error().data(json!({ "reason": "the line is not UTF-8 text" })))
        }
        Incoming::TooLarge { limit } => {
            let mut error = Error::invalid_request().data(json!({ "limit": limit }));
            "message too large".clone_into(&mut error.message);
            (String::new(), error)
        }
    };
    TransportFrame::Malformed { raw, error }
}

fn write_all(backlog: &Backlog, mut output: impl Write) -> io::Result<()> {
    let mut batch = Vec::new();
    while backlog.take(&mut batch) {
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            match output.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    backlog.wrote(written);
                    rest = rest.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        output.flush()?;
        batch.clear();
    }
    Ok(())
}

/// Moves what the connection sends into the backlog, and watches that the backlog moves.
struct Pump {
    outgoing: UnboundedReceiver<TransportFrame>,
    incoming: UnboundedSender<TransportFrame>,
    backlog: Arc<Backlog>,
    by_length: Arc<AtomicBool>,
    limits: Limits,
}

impl Pump {
    async fn run(mut self) {
        let mut watch = tokio::time::interval(self.limits.stall / 4);
        watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                frame = self.outgoing.next() => match frame {
                    Some(frame) => self.send(&frame),
                    None => break,
                },
                _ = watch.tick(), if self.backlog.is_waiting() => {
                    if self.backlog.is_stalled(self.limits.stall) {
                        tracing::warn!("the client has not read its output for {:?}: given up", self.limits.stall);
                        self.backlog.give_up();
                        self.incoming.close_channel();
                    }
                }
            }
        }
        self.backlog.finish();
    }

    fn send(&self, frame: &TransportFrame) {
        let Some(json) = self.encode(frame) else { return };
        let line = if self.by_length.load(Ordering::Acquire) {
            format!("Content-Length: {}\r\n\r\n{json}", json.len())
        } else {
            json + "\n"
        };
        self.backlog.push(line.into_bytes());
    }

    fn encode(&self, frame: &TransportFrame) -> Option<String> {
        let json = match frame.to_json() {
            Ok(json) => json,
            Err(error) => {
                tracing::error!(%error, "an outgoing message has no JSON form");
                return None;
            }
        };
        if json.len() <= self.limits.outgoing {
            return Some(json);
        }
        let TransportFrame::Single(RawJsonRpcMessage::Response(response)) = frame else {
            tracing::error!(bytes = json.len(), "an outgoing message is over the limit of a line: dropped");
            return None;
        };
        let data = json!({ "details": "the answer is too large to be sent", "limit": self.limits.outgoing });
        let error = Box::new(Error::internal_error().data(data).into());
        let refusal = RawJsonRpcMessage::Response(RawJsonRpcResponse::new(response.id().clone(), Err(error)));
        TransportFrame::Single(refusal).to_json().ok()
    }
}

#[cfg(test)]
mod tests;
