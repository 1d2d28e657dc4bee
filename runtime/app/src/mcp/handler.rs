//! Our side of a connection: what a server may ask of us, and what it tells by itself.
//!
//! It may ask for the session's folders. Sampling and elicitation are not offered, and refused where a server asks all
//! the same.
#![expect(deprecated, reason = "roots and logging leave the protocol; the servers that there are use them")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::capability::ServerName;
use acp_runtime_agent::plain;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode, ErrorData, Implementation,
    ListRootsResult, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, Root,
    RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::mpsc;

/// Characters of what a server says in one line.
pub(super) const LINE: usize = 400;

/// Answers a server.
pub(super) struct Handler {
    pub(super) server: ServerName,
    /// The session's folders, as URIs.
    pub(super) roots: Vec<String>,
    pub(super) progress: Arc<ProgressBoard>,
    /// Told when the server's tools have changed.
    pub(super) changes: mpsc::Sender<()>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        ClientConfig::new(capabilities, Implementation::new("acp-runtime", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.iter().map(Root::new).collect()))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "elicitation is not offered", None))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.progress.tell(&progress);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        // One that is waiting says as much as two.
        let _ = self.changes.try_send(());
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let text = message.data.as_str().map_or_else(|| message.data.to_string(), str::to_owned);
        let text = plain::line(&text, LINE);
        let server = &self.server;
        match message.level {
            LoggingLevel::Debug => tracing::debug!(target: "mcp", %server, "{text}"),
            LoggingLevel::Info | LoggingLevel::Notice => tracing::info!(target: "mcp", %server, "{text}"),
            LoggingLevel::Warning
            | LoggingLevel::Error
            | LoggingLevel::Critical
            | LoggingLevel::Alert
            | LoggingLevel::Emergency => tracing::warn!(target: "mcp", %server, "{text}"),
        }
    }
}

/// How far the running calls of a connection are.
#[derive(Default)]
pub(super) struct ProgressBoard(Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>);

/// One call's place on the board; given up when it is dropped.
pub(super) struct Watch {
    board: Arc<ProgressBoard>,
    token: ProgressToken,
    lines: mpsc::Receiver<String>,
}

impl ProgressBoard {
    /// Hears of the call with that token from now on.
    pub(super) fn watch(self: &Arc<Self>, token: ProgressToken) -> Watch {
        let (sender, lines) = mpsc::channel(8);
        self.lock().insert(token.clone(), sender);
        Watch { board: self.clone(), token, lines }
    }

    fn tell(&self, progress: &ProgressNotificationParam) {
        if let Some(sender) = self.lock().get(&progress.progress_token) {
            // What comes faster than it is shown is left out.
            let _ = sender.try_send(shown(progress));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// The next line about the call; may be empty.
    pub(super) async fn next(&mut self) -> String {
        match self.lines.recv().await {
            Some(line) => line,
            // The board keeps the sender for as long as this is there.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.board.lock().remove(&self.token);
    }
}

/// `40 % · Downloading`, or whatever of it there is.
fn shown(progress: &ProgressNotificationParam) -> String {
    let part = progress.total.filter(|total| *total > 0.0).map(|total| progress.progress / total);
    let percent = part.filter(|part| part.is_finite()).map(|part| format!("{:.0} %", part.clamp(0.0, 1.0) * 100.0));
    let message = progress.message.as_deref().map(|text| plain::line(text, LINE)).filter(|line| !line.is_empty());
    percent.into_iter().chain(message).collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    fn told(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
        let mut param = ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(1)), progress);
        param.total = total;
        param.message = message.map(str::to_owned);
        shown(&param)
    }

    #[test]
    fn progress_is_one_line() {
        for ((progress, total, message), line) in [
            ((2.0, Some(5.0), Some("Downloading")), "40 % · Downloading"),
            ((9.0, Some(5.0), None), "100 %"),
            ((-1.0, Some(5.0), None), "0 %"),
            ((2.0, None, Some("a\nb\u{1b}[1m")), "a b[1m"),
            ((2.0, None, None), ""),
            ((2.0, Some(0.0), None), ""),
            ((f64::NAN, Some(1.0), None), ""),
        ] {
            assert_eq!(told(progress, total, message), line, "{progress} {total:?} {message:?}");
        }
    }

    #[test]
    fn only_the_call_that_is_meant_hears_of_it() {
        let board = Arc::new(ProgressBoard::default());
        let token = |number| ProgressToken(NumberOrString::Number(number));
        let tell = |number| board.tell(&ProgressNotificationParam::new(token(number), 1.0));
        let mut first = board.watch(token(1));
        tell(2);
        assert!(first.lines.try_recv().is_err());
        (0..100).for_each(|_| tell(1));
        assert_eq!(first.lines.len(), 8, "what waits is bounded");
        drop(first);
        assert!(board.lock().is_empty());
    }
}
