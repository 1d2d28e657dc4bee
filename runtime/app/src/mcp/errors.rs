//! What a server's program writes to its standard error: for the log, and the last of it for people.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_runtime_agent::capability::ServerName;
use acp_runtime_agent::plain;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;

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
    pub(super) fn quoted(&self, problem: String) -> String {
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
}
