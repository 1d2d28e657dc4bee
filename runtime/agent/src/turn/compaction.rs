//! What was said, summed up by the model: the session keeps it all, and the model is shown the summary from then on.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{TurnContext, TurnError, failed, next};
use crate::context::{self, SUMMARY_INSTRUCTIONS, Split};
use crate::event::{CompactionEnd, ContextSize, EventSink as _, SessionEvent};
use crate::model::{Model, ModelErrorKind, ModelEvent, ModelRequest};
use crate::transcript::{MessageId, StopReason, Usage};

/// Bytes of a conversation that a summary is made of, at most, for each token of the model's window: what there is to sum
/// up must leave room for the summary.
const ASKED_BYTES: usize = 2;
/// The same, where the window is not known.
const ASKED: usize = 1024 * 1024;

/// What became of a wish to sum up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// The model is shown the summary from now on.
    Done {
        /// And so many turns as they were.
        turns: usize,
    },
    /// There is nothing yet to sum up.
    Nothing,
    /// There is no model that could.
    NoModel,
    /// Nobody wants it any more; all is as it was.
    Cancelled,
}

impl TurnContext {
    /// Has the model that is chosen now sum up what was said, except for the last turns. `keep` is what the person wants
    /// to be in the summary; may be empty. Where that fails or is cancelled all is as it was.
    pub async fn compact(&self, keep: &str, cancel: &CancellationToken) -> Result<Compaction, TurnError> {
        self.compact_within(usize::MAX, keep, cancel).await
    }

    /// The same, of at most so many bytes of what was said.
    pub(super) async fn compact_within(
        &self,
        most: usize,
        keep: &str,
        cancel: &CancellationToken,
    ) -> Result<Compaction, TurnError> {
        let (model, effort) = self.options.seat().get();
        if !model.understands() {
            return Ok(Compaction::NoModel);
        }
        let Some(split) = self.outbox.split() else { return Ok(Compaction::Nothing) };
        let id = self.outbox.next_message();
        let window = self.outbox.fill().and_then(|size| usize::try_from(size.window).ok());
        let most = most.min(window.map_or(ASKED, |window| window.saturating_mul(ASKED_BYTES)));
        let messages = split.question(id.clone(), keep, most);
        let asked = SUMMARY_INSTRUCTIONS.len() + messages.iter().map(context::size).sum::<usize>();
        let request = ModelRequest { system: SUMMARY_INSTRUCTIONS.into(), messages, tools: Arc::default(), effort };
        self.outbox.emit(SessionEvent::CompactionStarted { id: id.clone() });
        let (end, outcome) = match self.write_summary(&*model, request, &id, cancel).await {
            Ok(Some((length, usage))) => {
                let context = usage.and_then(|usage| self.context_size(&split, length, asked, &usage));
                let end = CompactionEnd::Completed { kept: split.kept, context };
                (end, Ok(Compaction::Done { turns: split.turns }))
            }
            Ok(None) => (CompactionEnd::Cancelled, Ok(Compaction::Cancelled)),
            Err(error) => (CompactionEnd::Failed { reason: error.to_string() }, Err(error)),
        };
        self.outbox.emit(SessionEvent::CompactionEnded { id, end });
        outcome
    }

    /// Streams the summary; its length and what it cost, or none if it was cancelled.
    async fn write_summary(
        &self,
        model: &dyn Model,
        request: ModelRequest,
        id: &MessageId,
        cancel: &CancellationToken,
    ) -> Result<Option<(usize, Option<Usage>)>, TurnError> {
        let mut stream = model.stream(request);
        let (mut length, mut used) = (0, None);
        while let Some(event) = next(model, &mut stream, cancel).await? {
            match event {
                ModelEvent::Text(text) => {
                    length += text.trim().len();
                    self.outbox.emit(SessionEvent::CompactionText { id: id.clone(), text });
                }
                ModelEvent::Usage(usage) => {
                    used = Some(usage.clone());
                    self.spend(usage);
                }
                // It was given no tools, and what it thinks is not in the summary.
                ModelEvent::Thought(_)
                | ModelEvent::ThoughtSignature(_)
                | ModelEvent::ToolCallBegun { .. }
                | ModelEvent::ToolCallInput { .. }
                | ModelEvent::ToolCall { .. } => {}
                ModelEvent::Stop(StopReason::EndTurn) if length > 0 => return Ok(Some((length, used))),
                ModelEvent::Stop(stop) => {
                    let why = match stop {
                        StopReason::MaxTokens => "the summary reached the model's limit of tokens and is not used",
                        StopReason::Refusal => "the model refuses to sum up what was said",
                        StopReason::EndTurn | StopReason::MaxTurnRequests | StopReason::Cancelled => {
                            "the model wrote no summary; try again, or choose another model"
                        }
                    };
                    return Err(failed(model, ModelErrorKind::Malformed, why).into());
                }
            }
            self.outbox.ready().await?;
        }
        Ok(None)
    }

    /// How large the next request will be without its prompt: what it has in bytes, by the tokens that the `asked` bytes
    /// of the request for the summary had.
    fn context_size(&self, split: &Split, summary: usize, asked: usize, usage: &Usage) -> Option<ContextSize> {
        let window = usage.window?;
        let system = self.system_prompt(&self.project.shown());
        let specs = self.tools.now().specs();
        let tools = specs.iter().map(|spec| spec.description.len() + spec.input.as_value().to_string().len());
        let recent = split.recent.iter().map(context::size);
        let bytes = u64::try_from(system.len() + summary + tools.chain(recent).sum::<usize>()).ok()?;
        let asked = u64::try_from(asked).ok().filter(|asked| *asked > 0)?;
        let used = (usage.input > 0).then(|| bytes.saturating_mul(usage.input) / asked)?;
        Some(ContextSize { used: used.min(window), window })
    }
}
