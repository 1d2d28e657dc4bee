//! A server's tool, as a tool of the session. What it does is the server's affair: to the gate it is one effect.

use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, ServerName};
use acp_runtime_agent::event::{EventSink, SessionEvent, ToolCallUpdate};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::ToolSpec;
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::{Tool, ToolArguments, ToolError};
use acp_runtime_agent::trace::TraceContext;
use acp_runtime_agent::transcript::{ToolCallId, ToolContent, ToolOutcome};
use futures::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, RequestMetaObject, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Link;
use super::offer::Offered;
use super::outcome::outcome;
use super::reason;
use super::server::Line;

/// The time between two lines of progress that are shown.
const BETWEEN: Duration = Duration::from_millis(100);
/// How long the news that a call is cancelled may take.
const NEWS: Duration = Duration::from_secs(2);
/// Characters of a server's own error.
const ERROR: usize = 2000;

pub(super) struct ServerTool {
    server: ServerName,
    offered: Offered,
    line: Line,
    events: Arc<dyn EventSink>,
}

impl ServerTool {
    pub(super) fn new(server: ServerName, offered: Offered, line: Line, events: Arc<dyn EventSink>) -> Self {
        Self { server, offered, line, events }
    }

    fn effect(&self) -> Effect {
        let Offered { name, read_only, .. } = &self.offered;
        Effect::CallServer { server: self.server.clone(), tool: name.clone(), read_only: *read_only }
    }

    async fn call(
        &self,
        call: Option<&ToolCallId>,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> Result<ToolOutcome, ToolError> {
        let link = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            link = self.line.link() => link.map_err(|problem| self.error("server", &format!("cannot be asked: {problem}")))?,
        };
        let mut running = self.begin(&link, arguments).await?;
        let mut watch = link.progress.watch(running.token());
        let patience = self.line.patience().call;
        let mut deadline = Instant::now() + patience;
        let mut shown = Instant::now();
        let answer = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled()),
                answer = running.answer() => break answer,
                line = watch.next() => {
                    deadline = Instant::now() + patience;
                    if shown.elapsed() >= BETWEEN || line.starts_with("100 %") {
                        shown = Instant::now();
                        self.show(call, line);
                    }
                }
                () = tokio::time::sleep_until(deadline) => {
                    let limit = patience.as_secs();
                    return Err(self.error("timeout", &format!("did not answer within {limit} s, and was told to stop")));
                }
            }
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => outcome(result),
            Ok(ServerResult::InputRequiredResult(_)) => {
                Err(self.error("server", "wants to ask for more, which is not supported"))
            }
            Ok(_) => Err(self.error("server", "answered with something that is no result of a tool")),
            Err(error) => Err(self.failed(&error, &link)),
        }
    }

    async fn begin(&self, link: &Link, arguments: ToolArguments) -> Result<Running, ToolError> {
        let mut params = CallToolRequestParams::new(self.offered.called.clone());
        params.arguments = arguments.as_value().as_object().cloned();
        let request = CallToolRequest::new(params);
        let options = PeerRequestOptions::no_options().with_meta(meta(&TraceContext::current()));
        match link.peer.send_cancellable_request(request.into(), options).await {
            Ok(handle) => Ok(Running(Some(handle))),
            Err(error) => Err(self.failed(&error, link)),
        }
    }

    fn failed(&self, error: &ServiceError, link: &Link) -> ToolError {
        match error {
            ServiceError::McpError(error) => {
                let code = error.code.0;
                self.error("server", &format!("reports error {code}: {}", plain::block(&error.message, ERROR)))
            }
            error if error.is_authorization_required() => self.error("denied", "asks for an authorization"),
            error => {
                link.doubt.notify_one();
                let why = link.errors.flood().unwrap_or_else(|| reason::of_call(error));
                self.error("server", &format!("was lost during the call: {why}"))
            }
        }
    }

    fn error(&self, kind: &str, what: &str) -> ToolError {
        ToolError::to_model(kind, format!("the MCP server `{}` {}", self.server, self.line.clean(what)))
    }

    fn show(&self, call: Option<&ToolCallId>, line: String) {
        let Some(call) = call.filter(|_| !line.is_empty()) else { return };
        let content = Some(vec![ToolContent::Text { text: line }]);
        self.events.emit(SessionEvent::ToolCallUpdated(ToolCallUpdate { content, ..ToolCallUpdate::of(call.clone()) }));
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.offered.spec
    }

    fn effects(&self, _arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(vec![self.effect()])
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(async move {
            if !permit.covers(&self.effect()) {
                return Err(ToolError::to_model("internal", "the call was not allowed"));
            }
            self.call(permit.origin().call(), arguments, cancel).await
        })
    }
}

/// What a call says of the trace that it belongs to, under the names that MCP reserves for it as ACP does.
fn meta(trace: &TraceContext) -> RequestMetaObject {
    let fields: Map<String, Value> = trace.fields().map(|(name, text)| (name.to_owned(), text.into())).collect();
    fields.into()
}

fn cancelled() -> ToolError {
    ToolError::to_model("cancelled", "the call was cancelled")
}

/// A call that waits for its answer. Dropped before that, the server is told that nobody waits any more.
struct Running(Option<RequestHandle<RoleClient>>);

impl Running {
    fn token(&self) -> rmcp::model::ProgressToken {
        match &self.0 {
            Some(handle) => handle.progress_token.clone(),
            None => rmcp::model::ProgressToken(rmcp::model::NumberOrString::Number(-1)),
        }
    }

    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.0 else { return std::future::pending().await };
        let answer = (&mut handle.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(handle) = self.0.take() else { return };
        // Without threads there is nobody to tell it, and the server is about to be ended.
        if let Ok(threads) = tokio::runtime::Handle::try_current() {
            threads.spawn(async move {
                let told = handle.cancel(Some("the call was given up".to_owned()));
                let _ = tokio::time::timeout(NEWS, told).await;
            });
        }
    }
}
