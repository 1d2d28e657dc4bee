//! ACP over stdin and stdout, hardened: one message a line, whatever the client sends.
//!
//! Two threads of their own read and write, so a client that stops reading or never ends its input cannot keep the
//! process from exiting. Bad input (too long, not UTF-8, not JSON, not JSON-RPC, a batch) is answered without an echo of
//! it, and the next message is read. A client whose first message has `Content-Length` headers is answered in kind.
//! Knows nothing about methods or sessions. Tested over pipes in `stdio/tests.rs`.

mod descriptors;
mod reader;

use std::io::{self, Read, Write};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use agent_client_protocol::{Channel, Error, RawJsonRpcMessage, RawJsonRpcResponse, TransportFrame};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender};
use serde_json::json;
use tokio::sync::oneshot;

use super::backlog::Backlog;
use super::envelope::{self, refusal};
use super::{Flow, Transport};
use reader::{Framing, Incoming, Reader};

/// How much may travel, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one incoming message; default 32 MiB. A longer one is skipped and refused.
    pub incoming: usize,
    /// Bytes of one outgoing line; default 1 MiB. A longer response becomes an error, anything else is dropped.
    pub outgoing: usize,
    /// Bytes that may wait for the client before sessions are held back; default 256 KiB. With what is on its
    /// way, so much lies between a cancel and its answer for a client that reads slowly.
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
            backlog: 256 << 10,
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
    let outlet = Outlet { backlog: backlog.clone(), framing: Arc::default() };
    let (written, done) = oneshot::channel();

    let reader = Reader::new(input, limits.incoming);
    let reading = ReadingThread { reader, frames: incoming.clone(), outlet: outlet.clone() };
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
    tokio::spawn(Pump { outgoing, incoming, outlet, limits }.run());

    let drained = Box::pin(async move {
        if tokio::time::timeout(limits.farewell, done).await.is_err() {
            tracing::warn!("the client did not read the last messages");
        }
    });
    Ok(Transport { channel, flow: Flow(Some(backlog)), drained })
}

/// Where messages leave; clones are the same place.
#[derive(Clone)]
struct Outlet {
    backlog: Arc<Backlog>,
    /// Set with the first message of the client, and never changed.
    framing: Arc<OnceLock<Framing>>,
}

impl Outlet {
    fn send(&self, json: String) {
        let message = match self.framing.get() {
            Some(Framing::Length) => format!("Content-Length: {}\r\n\r\n{json}", json.len()),
            Some(Framing::Lines) | None => json + "\n",
        };
        self.backlog.push(message.into_bytes());
    }
}

struct ReadingThread<R> {
    reader: Reader<R>,
    frames: UnboundedSender<TransportFrame>,
    outlet: Outlet,
}

impl<R: Read> ReadingThread<R> {
    fn run(mut self) {
        while self.outlet.backlog.may_read() {
            let incoming = match self.reader.next() {
                Ok(Some(incoming)) => incoming,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "stdin cannot be read");
                    break;
                }
            };
            if let Some(framing) = self.reader.framing() {
                self.outlet.framing.get_or_init(|| framing);
            }
            match read(incoming) {
                envelope::Read::Message(message) => {
                    if self.frames.unbounded_send(TransportFrame::Single(message)).is_err() {
                        break;
                    }
                }
                envelope::Read::Refused(answer) => self.outlet.send(answer),
                envelope::Read::Nothing => {}
            }
        }
        self.frames.close_channel();
    }
}

/// What came in. Errors say what is wrong and never repeat the input.
fn read(incoming: Incoming) -> envelope::Read {
    envelope::Read::Refused(match incoming {
        Incoming::Message(text) => return envelope::read(&text),
        Incoming::NotText => refusal(Error::parse_error(), "the message is not UTF-8 text", None),
        Incoming::NoLength { reason } => refusal(Error::parse_error(), reason, None),
        Incoming::TooLarge { limit } => {
            refusal(Error::invalid_request(), &format!("the message has more than {limit} bytes"), None)
        }
    })
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
    outlet: Outlet,
    limits: Limits,
}

impl Pump {
    async fn run(mut self) {
        let backlog = self.outlet.backlog.clone();
        let mut watch = tokio::time::interval(self.limits.stall / 4);
        watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                frame = self.outgoing.next() => match frame {
                    Some(frame) => self.send(&frame),
                    None => break,
                },
                _ = watch.tick(), if backlog.is_waiting() => {
                    if backlog.is_stalled(self.limits.stall) {
                        tracing::warn!("the client has not read its output for {:?}: given up", self.limits.stall);
                        backlog.give_up();
                        self.incoming.close_channel();
                    }
                }
            }
        }
        backlog.finish();
    }

    fn send(&self, frame: &TransportFrame) {
        if let Some(json) = self.encode(frame) {
            self.outlet.send(json);
        }
        // Those of the connection itself are announced by nobody.
        if let TransportFrame::Single(RawJsonRpcMessage::Notification(told)) = frame
            && !told.method.starts_with("$/")
        {
            self.outlet.backlog.arrived();
        }
    }

    fn encode(&self, frame: &TransportFrame) -> Option<String> {
        let json = match envelope::write(frame) {
            Ok(json) => json,
            Err(error) => {
                tracing::error!(code = ?error.code, "an outgoing message has no JSON form");
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
        envelope::write(&TransportFrame::Single(refusal)).ok()
    }
}

#[cfg(test)]
mod tests;
