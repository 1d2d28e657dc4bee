//! One prompt to its stop: the model's stream, its tool calls through the gate, limits and cancellation.
//!
//! A turn only emits events; the history that the next model request is made from is built from those same events.
//! Knows nothing about mailboxes, clients or disks. Tested with a scripted model and fake tools in `tests/it`.

mod call;
mod compaction;

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::capability::Roots;
use crate::context;
use crate::event::{EventSink as _, SessionEvent};
use crate::gate::Gate;
use crate::model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ReasoningEffort};
use crate::options::Options;
use crate::session::Outbox;
use crate::store::StoreError;
use crate::tool::{ToolCatalog, ToolError};
use crate::transcript::{MessageId, StopReason, SystemPrompt, ToolCall, ToolOutcome};

use call::Announced;
pub use compaction::Compaction;

/// How far one turn may go.
#[derive(Debug, Clone, Copy)]
pub struct TurnLimits {
    /// Model requests in one turn; default 50. Reaching it ends the turn with [`StopReason::MaxTurnRequests`].
    pub model_requests: u32,
    /// Bytes of one tool call's text that are kept and shown to the model; default 64 KiB.
    pub tool_output: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { model_requests: 50, tool_output: 64 * 1024 }
    }
}

/// Why a turn failed. What was said until then stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The session could not be kept; nothing is shown that was not kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tool or the runtime itself is broken.
    #[error("{0}")]
    Internal(String),
}

/// What turns of one session work with.
pub struct TurnContext {
    /// Which model answers, and in which mode.
    pub options: Arc<Options>,
    /// What the model may call. A turn sees it as it stands when it begins.
    pub tools: ToolCatalog,
    /// Decides on every effect.
    pub gate: Arc<Gate>,
    /// The session's folders.
    pub roots: Roots,
    /// The client's own instructions for the model.
    pub system_prompt: Option<SystemPrompt>,
    /// How far a turn may go.
    pub limits: TurnLimits,
    /// Takes the events.
    pub outbox: Outbox,
}

impl TurnContext {
    /// Answers the conversation as it stands, to its end with the model that is chosen now.
    pub async fn answer(&self, cancel: &CancellationToken) -> Result<StopReason, TurnError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(StopReason::Cancelled),
            () = self.tools.settle() => {}
        }
        let tools = self.tools.now();
        let (model, effort) = self.options.seat().get();
        for _ in 0..self.limits.model_requests {
            let message = self.outbox.next_message();
            let Some((stop, calls)) = self.ask_model((&*model, effort), &tools, &message, cancel).await? else {
                return Ok(StopReason::Cancelled);
            };
            if calls.is_empty() {
                return Ok(stop);
            }
            self.run_calls(&tools, message, calls, cancel).await?;
            if cancel.is_cancelled() {
                return Ok(StopReason::Cancelled);
            }
        }
        Ok(StopReason::MaxTurnRequests)
    }

    /// One tool call for a person's command. Its outcome is shown and not sent to the model.
    pub async fn call_for_person(
        &self,
        name: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Result<ToolOutcome, ToolError>, TurnError> {
        let call = ToolCall { id: self.outbox.next_call(), name: name.to_owned(), arguments };
        let announced = self.announce(&self.tools.now(), self.outbox.next_message(), call, true);
        let outcome = self.execute(announced, cancel).await;
        self.outbox.ready().await?;
        Ok(outcome)
    }

    /// Streams one answer; none if it was cancelled.
    async fn ask_model(
        &self,
        (model, effort): (&dyn Model, Option<ReasoningEffort>),
        tools: &ToolCatalog,
        message: &MessageId,
        cancel: &CancellationToken,
    ) -> Result<Option<(StopReason, Vec<(String, Value)>)>, TurnError> {
        let request = ModelRequest {
            system: context::system_prompt(&self.roots, self.options.mode(), self.system_prompt.as_ref()),
            messages: self.outbox.messages(),
            tools: tools.specs(),
            effort,
        };
        let mut stream = model.stream(request);
        let mut calls = Vec::new();
        while let Some(event) = next(model, &mut stream, cancel).await? {
            match event {
                ModelEvent::Text(text) => {
                    self.outbox.emit(SessionEvent::AgentText { id: message.clone(), text, local: false });
                }
                ModelEvent::Thought(text) => {
                    self.outbox.emit(SessionEvent::AgentThought { id: message.clone(), text, signature: None });
                }
                ModelEvent::ThoughtSignature(signature) => {
                    let text = String::new();
                    let signature = Some(signature);
                    self.outbox.emit(SessionEvent::AgentThought { id: message.clone(), text, signature });
                }
                ModelEvent::ToolCall { name, arguments } => calls.push((name, arguments)),
                ModelEvent::Usage(usage) => self.outbox.emit(SessionEvent::Usage(usage)),
                ModelEvent::Stop(stop) => return Ok(Some((stop, calls))),
            }
            self.outbox.ready().await?;
        }
        Ok(None)
    }

    /// Announces all calls of one answer, then runs them one after another. Each gets an outcome, whatever happens:
    /// a conversation with an unanswered call is refused by providers.
    async fn run_calls(
        &self,
        tools: &ToolCatalog,
        message: MessageId,
        calls: Vec<(String, Value)>,
        cancel: &CancellationToken,
    ) -> Result<(), TurnError> {
        let announced: Vec<Announced> = calls
            .into_iter()
            .map(|(name, arguments)| {
                let call = ToolCall { id: self.outbox.next_call(), name, arguments };
                self.announce(tools, message.clone(), call, false)
            })
            .collect();
        let mut fatal = None;
        for call in announced {
            if let Err(ToolError::Fatal(reason)) = self.execute(call, cancel).await {
                fatal.get_or_insert(reason);
            }
            self.outbox.ready().await?;
        }
        fatal.map_or(Ok(()), |reason| Err(TurnError::Internal(reason)))
    }
}

/// The model's next event; none if it was cancelled.
async fn next(
    model: &dyn Model,
    stream: &mut BoxStream<'_, Result<ModelEvent, ModelError>>,
    cancel: &CancellationToken,
) -> Result<Option<ModelEvent>, ModelError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(None),
        next = stream.next() => match next {
            Some(event) => event.map(Some),
            None => Err(failed(model, ModelErrorKind::Network, "the model's answer was cut off before its end; try again")),
        },
    }
}

fn failed(model: &dyn Model, kind: ModelErrorKind, message: &str) -> ModelError {
    let (message, provider) = (message.to_owned(), model.id().to_owned());
    ModelError { message, kind, provider, status: None, retry_after: None }
}
