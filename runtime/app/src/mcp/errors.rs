//! What a server's program writes to its standard error: for the log, and the last of it for people. Beside that, what
//! it writes to its standard output and is no message: until it has been understood, that may be the reason. A message
//! that is too long ends its output, and is the reason itself.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use acp_runtime_agent::capability::ServerName;
use acp_runtime_agent::plain;
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::sync::watch;

use super::connection::MESSAGE;
use super::handler::LINE;

/// Lines that are kept.
const KEPT: usize = 3;
/// Bytes of a line; what follows is on a line of its own.
const LONGEST: usize = 4096;
/// How long the last words of a program that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The last lines; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct ErrorLog {
    server: Option<ServerName>,
    last: Arc<Mutex<VecDeque<String>>>,
    /// The first line of its standard output that is no message.
    stray: Arc<Mutex<Option<String>>>,
    /// Whether a message of it was too long.
    flooded: Arc<AtomicBool>,
    /// Outputs that are being read.
    open: Arc<watch::Sender<usize>>,
}

impl ErrorLog {
    pub(super) fn new(server: ServerName) -> Self {
        Self { server: Some(server), ..Self::default() }
    }

    /// Reads an output to its end, in a task of its own.
    pub(super) fn read(&self, output: impl AsyncRead + Send + Unpin + 'static) {
        let log = self.clone();
        log.open.send_modify(|open| *open += 1);
        tokio::spawn(async move {
            log.take(output).await;
            log.open.send_modify(|open| *open -= 1);
        });
    }

    /// Its standard output, passed on as it is up to a message that is too long.
    pub(super) fn watch<R: AsyncRead + Unpin>(&self, output: R) -> Watched<R> {
        let tap = Tap { output, log: self.clone(), line: Vec::new(), length: 0, is_over: false };
        Watched(Arc::new(Mutex::new(tap)))
    }

    /// That a message of it was too long, where it was: nothing is read of it since.
    pub(super) fn flood(&self) -> Option<String> {
        let flooded = self.flooded.load(Ordering::Relaxed);
        flooded.then(|| format!("one of its messages has more than {MESSAGE} bytes"))
    }

    /// It speaks the protocol: what else it wrote to its standard output does not matter.
    pub(super) fn understood(&self) {
        *self.stray.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn take(&self, mut output: impl AsyncRead + Unpin) {
        let mut line = Vec::new();
        let mut chunk = [0; 4096];
        // An output that cannot be read has ended.
        while let Ok(size @ 1..) = output.read(&mut chunk).await {
            for &byte in chunk.iter().take(size) {
                if byte == b'\n' || line.len() >= LONGEST {
                    self.add(&line);
                    line.clear();
                }
                if byte != b'\n' {
                    line.push(byte);
                }
            }
        }
        self.add(&line);
    }

    fn add(&self, line: &[u8]) {
        let line = plain::line(&String::from_utf8_lossy(line), LONGEST);
        if line.is_empty() {
            return;
        }
        if let Some(server) = &self.server {
            tracing::info!(target: "mcp", %server, "{line}");
        }
        let mut last = self.lock();
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(line);
    }

    /// `problem` of a program that has ended, and what it said last: its output may still be on its way.
    pub(super) async fn last_words(&self, problem: String) -> String {
        let mut open = self.open.subscribe();
        // What comes later is in the log.
        let _ = tokio::time::timeout(LAST_WORDS, open.wait_for(|open| *open == 0)).await;
        self.quoted(problem)
    }

    /// `problem`, and what the program said last.
    pub(super) fn quoted(&self, mut problem: String) -> String {
        if let Some(stray) = &*self.stray.lock().unwrap_or_else(PoisonError::into_inner) {
            problem =
                format!("{problem}; what it writes to its standard output is no message of the protocol: `{stray}`");
        }
        let said: Vec<String> = self.lock().iter().cloned().collect();
        if said.is_empty() {
            return problem;
        }
        format!("{problem}; it said: {}", plain::line(&said.join(" / "), LINE))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The standard output of a program, whose lines are looked at on their way. Cheap to clone: what one of them has not
/// read, another one can.
pub(super) struct Watched<R>(Arc<Mutex<Tap<R>>>);

struct Tap<R> {
    output: R,
    log: ErrorLog,
    /// The beginning of the line that is on its way.
    line: Vec<u8>,
    /// All bytes of that line.
    length: usize,
    /// Whether a line was found that is no message.
    is_over: bool,
}

impl<R> Clone for Watched<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Watched<R> {
    fn lock(&self) -> MutexGuard<'_, Tap<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: AsyncRead + Unpin> Watched<R> {
    /// Looks at what is there still of a program that has ended, once nobody else reads it.
    pub(super) async fn look_at_the_rest(mut self) {
        let mut chunk = [0; 4096];
        let rest = async { while !self.lock().is_over && matches!(self.read(&mut chunk).await, Ok(1..)) {} };
        // What it has started may hold the output open.
        let _ = tokio::time::timeout(LAST_WORDS, rest).await;
    }
}

impl<R> Tap<R> {
    /// Looks at what was read; none is the end. False where a message is too long.
    fn look(&mut self, bytes: &[u8]) -> bool {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            self.length += text.len();
            if self.length > MESSAGE {
                self.log.flooded.store(true, Ordering::Relaxed);
                return false;
            }
            let room = LINE.saturating_sub(self.line.len()).min(text.len());
            self.line.extend(text.iter().take(room));
            if ends {
                self.judge();
            }
        }
        if bytes.is_empty() {
            self.judge();
        }
        true
    }

    /// A message is an object, or a list of objects.
    fn judge(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.length = 0;
        if self.is_over {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let inside = text.trim_start();
        let inside = inside.strip_prefix('[').map_or(inside, str::trim_start);
        let line = plain::line(&text, LINE);
        if inside.starts_with('{') || line.is_empty() {
            return;
        }
        self.is_over = true;
        if let Some(server) = &self.log.server {
            tracing::info!(target: "mcp", %server, "on its standard output: {line}");
        }
        *self.log.stray.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut tap = self.lock();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut tap.output).poll_read(cx, buffer))?;
        let fits = tap.look(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(if fits { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn quoted(output: &[u8]) -> String {
        let log = ErrorLog::default();
        log.take(output).await;
        log.quoted("it ended".to_owned())
    }

    #[tokio::test]
    async fn the_last_words_are_quoted() {
        assert_eq!(quoted(b"").await, "it ended");
        assert_eq!(quoted(b"\n \n").await, "it ended");
        assert_eq!(quoted(b"1\n2\n3\n\n4").await, "it ended; it said: 2 / 3 / 4");
        assert_eq!(quoted(b"\x1b[31mred\xff\n").await, "it ended; it said: [31mred\u{fffd}");
        let endless = quoted(&vec![b'x'; 1 << 20]).await;
        assert_eq!(endless.len(), "it ended; it said: ".len() + LINE);
    }

    #[tokio::test]
    async fn what_is_no_message_is_quoted_until_one_is_understood() {
        for (output, stray) in [
            ("", None),
            ("{\"jsonrpc\": 1}\n\n [ {}, {}]\n", None),
            ("{}\nWelcome!\nagain\n", Some("Welcome!")),
            ("[INFO] it begins\n{}\n", Some("[INFO] it begins")),
            ("Content-Length: 12\r\n\r\n{}", Some("Content-Length: 12")),
            ("no end", Some("no end")),
        ] {
            let log = ErrorLog::default();
            let mut text = String::new();
            log.watch(output.as_bytes()).read_to_string(&mut text).await.unwrap();
            assert_eq!(text, output);
            let quoted = log.quoted("it ended".to_owned());
            let stray = stray.map_or(String::new(), |stray| {
                format!("; what it writes to its standard output is no message of the protocol: `{stray}`")
            });
            assert_eq!(quoted, format!("it ended{stray}"), "{output:?}");
            log.understood();
            assert_eq!(log.quoted("it ended".to_owned()), "it ended");
        }
        let log = ErrorLog::default();
        let mut text = String::new();
        log.watch("x".repeat(1 << 20).as_bytes()).read_to_string(&mut text).await.unwrap();
        assert!(log.quoted(String::new()).len() < 2 * LINE);
    }
}
