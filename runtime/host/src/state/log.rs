//! A call's lines of log: what the guest logs, and what it writes to stdout and stderr.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::plain;
use bytes::Bytes;
use tokio::io::AsyncWrite;
use tracing::Level;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::limits::TrafficLimits;
use crate::record::Record;
use crate::secrets::Filter;

/// How much a guest may write to a stream at once, in bytes.
const WRITE: usize = 64 << 10;

/// Where a call's lines go. Clones are the same log.
#[derive(Debug, Clone)]
pub(crate) struct CallLog {
    plugin: PluginId,
    /// Lines that are kept of a call, and bytes of one.
    lines: u32,
    longest: usize,
    record: Record,
    filter: Filter,
    written: Arc<Mutex<u32>>,
}

impl CallLog {
    /// An empty log, of which `record` keeps the last lines. What goes into it goes through `filter`.
    pub(crate) fn new(plugin: PluginId, traffic: &TrafficLimits, record: Record, filter: Filter) -> Self {
        let (lines, longest) = (traffic.log_lines, traffic.log_line);
        Self { plugin, lines, longest, record, filter, written: Arc::default() }
    }

    /// Begins anew, for the next call in the same store.
    pub(crate) fn reset(&self) {
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = 0;
    }

    /// Writes one line, made harmless and cut. Lines beyond the limit are dropped; the first of those is said.
    pub(crate) fn line(&self, level: &str, source: &str, text: &str) {
        let count = {
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            *written = written.saturating_add(1);
            *written
        };
        let plugin = self.plugin.as_str();
        if count > self.lines {
            if count == self.lines + 1 {
                tracing::warn!(target: "plugin", plugin, "more than {} lines in a call: no more are kept", count - 1);
            }
            return;
        }
        let text = self.filter.text(text);
        let text = plain::line(plain::cut(&text, self.longest), self.longest);
        let level = match level {
            "error" => Level::ERROR,
            "warn" => Level::WARN,
            "debug" => Level::DEBUG,
            "trace" => Level::TRACE,
            _ => Level::INFO,
        };
        if level <= Level::INFO {
            self.record.logged(&format!("{} {source}: {text}", level.as_str().to_lowercase()));
        }
        match level {
            Level::ERROR => tracing::error!(target: "plugin", plugin, source, "{text}"),
            Level::WARN => tracing::warn!(target: "plugin", plugin, source, "{text}"),
            Level::INFO => tracing::info!(target: "plugin", plugin, source, "{text}"),
            Level::DEBUG => tracing::debug!(target: "plugin", plugin, source, "{text}"),
            Level::TRACE => tracing::trace!(target: "plugin", plugin, source, "{text}"),
        }
    }

    /// A stream whose lines go here.
    pub(crate) fn stream(&self, source: &'static str) -> LogStream {
        LogStream { lines: Arc::new(Mutex::new(Lines { log: self.clone(), source, open: Vec::new() })) }
    }
}

/// A guest's stdout or stderr. Clones write to the same lines.
#[derive(Clone)]
pub(crate) struct LogStream {
    lines: Arc<Mutex<Lines>>,
}

struct Lines {
    log: CallLog,
    source: &'static str,
    /// The line that is not over yet; never much longer than the longest line that is kept.
    open: Vec<u8>,
}

impl Lines {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let text = piece.strip_suffix(b"\n");
            // As much more than is kept as a secret may need that begins in it.
            let most = self.log.longest + self.log.filter.longest();
            let room = most.saturating_sub(self.open.len());
            self.open.extend(text.unwrap_or(piece).iter().take(room));
            if text.is_some() {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        let line = std::mem::take(&mut self.open);
        self.log.line("info", self.source, &String::from_utf8_lossy(&line));
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.open.is_empty() {
            self.end();
        }
    }
}

impl LogStream {
    fn put(&self, bytes: &[u8]) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).write(bytes);
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.put(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE)
    }
}

impl AsyncWrite for LogStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.put(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
