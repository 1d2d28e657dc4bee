//! What comes back: bounded in size as it travels and as it is unpacked, in time, and without the secrets that were sent.

use std::io::{self, Write as _};
use std::time::Duration;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::EgressError;
use super::connection::Lead;
use crate::limits::NetLimits;
use crate::secrets::Stream;

/// The body of a response. What was not read when it is dropped is never read.
pub struct Body {
    incoming: Incoming,
    unpacking: Option<MultiGzDecoder<Unpacked>>,
    host: String,
    /// When all of it must be there, and how long that was from the beginning.
    end: Instant,
    time: Duration,
    idle: Duration,
    /// Bytes that may still come, of how many.
    left: u64,
    most: usize,
    over: bool,
    filter: Stream,
    _lead: Lead,
    _turn: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("host", &self.host).field("over", &self.over).finish_non_exhaustive()
    }
}

/// What a body needs of the request that it answers.
pub(super) struct Course {
    pub(super) host: String,
    pub(super) end: Instant,
    pub(super) time: Duration,
    pub(super) lead: Lead,
    pub(super) turn: OwnedSemaphorePermit,
    /// Keeps out of it what was sent.
    pub(super) filter: Stream,
}

/// Takes what is unpacked, as long as there is room for it.
struct Unpacked {
    bytes: Vec<u8>,
    room: usize,
}

impl io::Write for Unpacked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.room -= bytes.len();
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Body {
    pub(super) fn new(incoming: Incoming, packed: bool, course: Course, net: &NetLimits) -> Self {
        let most = net.answered.body;
        let unpacked = Unpacked { bytes: Vec::new(), room: most };
        Self {
            incoming,
            unpacking: packed.then(|| MultiGzDecoder::new(unpacked)),
            host: course.host,
            end: course.end,
            time: course.time,
            idle: net.time.idle,
            left: most as u64,
            most,
            over: false,
            filter: course.filter,
            _lead: course.lead,
            _turn: course.turn,
        }
    }

    /// The next piece; none at the end. After an error there is none either.
    pub async fn next(&mut self) -> Result<Option<Bytes>, EgressError> {
        while !self.over {
            match self.step().await {
                Ok(Some(piece)) => {
                    let shown = self.filter.push(&piece);
                    if !shown.is_empty() {
                        return Ok(Some(shown.into()));
                    }
                }
                Ok(None) => {
                    self.over = true;
                    let last = self.filter.finish();
                    return Ok(Some(last.into()).filter(|last: &Bytes| !last.is_empty()));
                }
                Err(error) => {
                    self.over = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// All that is left, at most `most` bytes of it; whether there would have been more.
    pub async fn read(&mut self, most: usize) -> Result<(Vec<u8>, bool), EgressError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            let room = most - all.len();
            if piece.len() > room {
                all.extend_from_slice(piece.get(..room).unwrap_or_default());
                return Ok((all, true));
            }
            all.extend_from_slice(&piece);
        }
        Ok((all, false))
    }

    async fn step(&mut self) -> Result<Option<Bytes>, EgressError> {
        let by = self.end.min(Instant::now() + self.idle);
        let frame = tokio::time::timeout_at(by, self.incoming.frame()).await.map_err(|_| EgressError::TimedOut {
            host: self.host.clone(),
            time: if by == self.end { self.time } else { self.idle },
        })?;
        let Some(frame) = frame else { return self.finish() };
        let frame = frame.map_err(|error| EgressError::Unreachable {
            host: self.host.clone(),
            reason: format!("the connection broke: {error}"),
        })?;
        // Trailers are nobody's.
        let Ok(data) = frame.into_data() else { return Ok(Some(Bytes::new())) };
        self.left = self.left.checked_sub(data.len() as u64).ok_or_else(|| self.too_much())?;
        let Some(unpacking) = &mut self.unpacking else { return Ok(Some(data)) };
        if let Err(error) = unpacking.write_all(&data) {
            return Err(self.broken(&error));
        }
        Ok(Some(std::mem::take(&mut unpacking.get_mut().bytes).into()))
    }

    fn finish(&mut self) -> Result<Option<Bytes>, EgressError> {
        let Some(mut unpacking) = self.unpacking.take() else { return Ok(None) };
        if self.left == self.most as u64 {
            return Ok(None);
        }
        if let Err(error) = unpacking.try_finish() {
            return Err(self.broken(&error));
        }
        // The body is over once nothing is left of this either.
        let last = std::mem::take(&mut unpacking.get_mut().bytes);
        Ok(Some(last.into()).filter(|last: &Bytes| !last.is_empty()))
    }

    fn broken(&self, error: &io::Error) -> EgressError {
        if error.kind() == io::ErrorKind::FileTooLarge {
            return self.too_much();
        }
        EgressError::Answer { host: self.host.clone(), reason: format!("it cannot be unpacked: {error}") }
    }

    fn too_much(&self) -> EgressError {
        EgressError::Limit(format!("the answer of `{}` has more than {} bytes", self.host, self.most))
    }
}
