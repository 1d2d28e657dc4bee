//! One prompt to its stop: the model's stream, its tool calls through the gate, limits and cancellation.
//!
//! A turn only emits events; the history that the next model request is made from is built from those same events.
//! Knows nothing about mailboxes, clients or disks. Tested with a scripted model and fake tools in `tests/it`.

mod attach;
mod budget;
mod call;
mod compaction;
mod draft;
mod hooked;
mod limits;
mod partial;
mod repeats;
mod room;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::BoxStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::{self, Project, ProjectFile};
use crate::event::{EventSink as _, Notice, SessionEvent, Severity};
use crate::gate::Gate;
use crate::hook::Hooks;
use crate::model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ReasoningEffort};
use crate::options::Options;
use crate::outbox::Outbox;
use crate::store::StoreError;
use crate::tool::{ToolCatalog, ToolError};
use crate::transcript::{MessageId, StopReason, SystemPrompt, ToolCall, ToolCallId, ToolOutcome, Usage};

pub use budget::Budget;
use call::Announced;
pub use compaction::Compaction;
use draft::Drafts;
pub(crate) use limits::Reached;
pub use limits::TurnLimits;
use limits::{Meter, overdue};
use repeats::Repeats;
use room::Room;

/// Calls that run at the same time, at most.
const AT_ONCE: usize = 8;

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

/// A call as the model has asked for it.
struct Called {
    /// Its id, where the client knows of it already.
    call: Option<ToolCallId>,
    name: String,
    arguments: Value,
}

/// Why the model has stopped, and what it wants to be called.
type Answer = (StopReason, Vec<Called>);

/// Why there is no answer.
struct ModelFailure {
    error: TurnError,
    /// Whether something was said before.
    begun: bool,
}

impl ModelFailure {
    /// Whether the request was too long, and can be made shorter.
    fn is_overflow(&self) -> bool {
        let overflow =
            matches!(&self.error, TurnError::Model(ModelError { kind: ModelErrorKind::ContextOverflow, .. }));
        overflow && !self.begun
    }
}

/// What ends the work on a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The model's own, or that of whoever cancels.
    Model(StopReason),
    /// A limit.
    Limit(Reached),
}

impl End {
    pub(crate) fn stop(&self) -> StopReason {
        match self {
            Self::Model(stop) => *stop,
            Self::Limit(reached) => reached.stop(),
        }
    }
}

/// What turns of one session work with.
pub struct TurnContext {
    /// Which model answers, and in which mode.
    pub options: Arc<Options>,
    /// What the model may call. A turn sees it as it stands when it begins.
    pub tools: ToolCatalog,
    /// Decides on every effect.
    pub gate: Arc<Gate>,
    /// Are told of what happens, and may stop or change some of it.
    pub hooks: Hooks,
    /// The session's folders, and what they tell agents.
    pub project: Arc<Project>,
    /// The client's own instructions for the model.
    pub system_prompt: Option<SystemPrompt>,
    /// How far a turn may go.
    pub budget: Budget,
    /// Takes the events.
    pub outbox: Outbox,
}

impl TurnContext {
    /// Answers the conversation as it stands, to its end with the model that is chosen now. The person is told of a limit
    /// that ends it.
    pub async fn answer(&self, cancel: &CancellationToken) -> Result<StopReason, TurnError> {
        let end = self.work(cancel).await?;
        if let End::Limit(reached) = &end {
            let (id, text) = (self.outbox.next_message(), reached.said());
            self.outbox.emit(SessionEvent::AgentText { id, text, local: true });
        }
        Ok(end.stop())
    }

    /// The same, and nobody is told.
    pub(crate) async fn work(&self, cancel: &CancellationToken) -> Result<End, TurnError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(End::Model(StopReason::Cancelled)),
            () = self.tools.settle() => {}
        }
        let (end, reached) = self.in_time(cancel, |cancel| self.steps(cancel)).await;
        match (end?, reached) {
            (End::Model(StopReason::Cancelled), Some(reached)) if !cancel.is_cancelled() => Ok(End::Limit(reached)),
            (end, _) => Ok(end),
        }
    }

    /// Does a part of the turn, which is cancelled where the turn has taken its time, and comes to its end all the same.
    pub(crate) async fn in_time<T, W: Future<Output = T>>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce(CancellationToken) -> W,
    ) -> (T, Option<Reached>) {
        let end = cancel.child_token();
        let mut work = pin!(work(end.clone()));
        let time = tokio::select! {
            biased;
            outcome = &mut work => return (outcome, None),
            time = overdue(&self.budget, &self.outbox) => time,
        };
        let reached = Reached::Time(time);
        self.budget.ledger().break_off(reached.clone());
        end.cancel();
        (work.await, Some(reached))
    }

    /// Model requests and the calls that they lead to, until the model has finished or a limit is reached.
    async fn steps(&self, cancel: CancellationToken) -> Result<End, TurnError> {
        let cancel = &cancel;
        let tools = self.tools.now();
        let (model, effort) = self.options.seat().get();
        let mut meter = Meter::new(&self.budget, &self.outbox);
        let mut repeats = Repeats::new(self.budget.same_calls());
        let mut room = Room::default();
        self.project.look_again();
        loop {
            let request = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(End::Model(StopReason::Cancelled)),
                request = meter.request() => request,
            };
            let request = match request {
                Ok(request) => request,
                Err(reached) => return Ok(End::Limit(reached)),
            };
            if !self.make_room(&mut room, cancel).await? {
                return Ok(End::Model(StopReason::Cancelled));
            }
            let message = self.outbox.next_message();
            let answer = match self.ask_model((&*model, effort), &tools, &message, cancel).await {
                Err(failure) if failure.is_overflow() && self.may_make_room(&room) => {
                    drop(request);
                    match self.make_room_at_once(&mut room, cancel).await? {
                        Compaction::Done { .. } => continue,
                        Compaction::Nothing | Compaction::NoModel => return Err(failure.error),
                        Compaction::Cancelled => return Ok(End::Model(StopReason::Cancelled)),
                    }
                }
                answer => answer.map_err(|failure| failure.error)?,
            };
            let Some((stop, calls)) = answer else { return Ok(End::Model(StopReason::Cancelled)) };
            drop(request);
            self.tell_said(&message);
            if calls.is_empty() {
                return Ok(End::Model(stop));
            }
            self.run_calls(&tools, message, calls, &mut repeats, cancel).await?;
            if cancel.is_cancelled() {
                return Ok(End::Model(StopReason::Cancelled));
            }
            if let Some((tool, times)) = repeats.too_often() {
                return Ok(End::Limit(Reached::SameCalls { tool, times }));
            }
        }
    }

    /// One tool call for a person's command. Its outcome is shown and not sent to the model.
    pub(crate) async fn call_for_person(
        &self,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Result<Result<ToolOutcome, ToolError>, TurnError> {
        let call = ToolCall { id: self.outbox.next_call(), name: name.to_owned(), arguments };
        let announced = self.announce(&self.tools.now(), self.outbox.next_message(), call, true);
        let outcome = self.execute(announced, &cancel).await;
        self.outbox.ready().await?;
        Ok(outcome)
    }

    /// Why what was going on has been cancelled.
    fn why_cancelled(&self) -> ToolError {
        self.budget.ledger().broken_off().map_or_else(ToolError::cancelled, |reached| reached.as_error())
    }

    /// Counts and tells what a request took.
    fn spend(&self, usage: Usage) {
        self.budget.ledger().spend(&usage);
        self.outbox.emit(SessionEvent::Usage(usage));
    }

    fn system_prompt(&self, files: &[ProjectFile]) -> Arc<str> {
        let own = context::system_prompt(&self.project.roots, self.options.mode(), self.system_prompt.as_ref(), files);
        let switches = self.options.switches();
        let added = self.project.additions.framed(|plugin| switches.lets(Some(plugin)));
        if added.is_empty() { own } else { format!("{own}{added}").into() }
    }

    /// Streams one answer; none if it was cancelled.
    async fn ask_model(
        &self,
        (model, effort): (&dyn Model, Option<ReasoningEffort>),
        tools: &ToolCatalog,
        message: &MessageId,
        cancel: &CancellationToken,
    ) -> Result<Option<Answer>, ModelFailure> {
        let files = self.project.files(&self.outbox.places()).await;
        let cut = self.project.new_cuts(&files);
        if !cut.is_empty() {
            let title = format!("The model is shown only the beginning of: {}", cut.join(", "));
            self.outbox.emit(SessionEvent::Notice(Notice::new(Severity::Warning, title)));
        }
        let request = ModelRequest {
            system: self.system_prompt(&files),
            messages: self.outbox.messages(),
            tools: tools.specs(),
            effort,
        };
        let mut drafts = Drafts::new(self, tools, message);
        let mut begun = false;
        let answer = self.stream(model, request, &mut drafts, &mut begun, cancel).await;
        let why = match &answer {
            Ok(Some(_)) => ToolError::to_model("incomplete", "the answer ended before this call was complete"),
            Ok(None) => self.why_cancelled(),
            Err(_) => ToolError::to_model("incomplete", "the answer broke off before this call was complete"),
        };
        drafts.fail(&why);
        answer.map_err(|error| ModelFailure { error, begun })
    }

    /// `begun` becomes true with the first thing that is said.
    async fn stream(
        &self,
        model: &dyn Model,
        request: ModelRequest,
        drafts: &mut Drafts<'_>,
        begun: &mut bool,
        cancel: &CancellationToken,
    ) -> Result<Option<Answer>, TurnError> {
        let mut stream = model.stream(request);
        let mut calls = Vec::new();
        let id = drafts.message();
        loop {
            let event = tokio::select! {
                biased;
                event = next(model, &mut stream, cancel) => event?,
                () = drafts.due() => {
                    drafts.tell();
                    continue;
                }
            };
            let Some(event) = event else { return Ok(None) };
            *begun |= !matches!(event, ModelEvent::Usage(_));
            match event {
                ModelEvent::Text(text) => {
                    // What says that there is no model is no model's word.
                    let local = !model.understands();
                    self.outbox.emit(SessionEvent::AgentText { id: id.clone(), text, local });
                }
                ModelEvent::Thought(text) => {
                    self.outbox.emit(SessionEvent::AgentThought { id: id.clone(), text, signature: None });
                }
                ModelEvent::ThoughtSignature(signature) => {
                    let text = String::new();
                    let signature = Some(signature);
                    self.outbox.emit(SessionEvent::AgentThought { id: id.clone(), text, signature });
                }
                ModelEvent::ToolCallBegun { draft, name } => drafts.begin(draft, name),
                ModelEvent::ToolCallInput { draft, text } => drafts.write(draft, &text),
                ModelEvent::ToolCall { draft, name, arguments } => {
                    let call = draft.and_then(|draft| drafts.take(draft));
                    calls.push(Called { call, name, arguments });
                }
                ModelEvent::Usage(usage) => self.spend(usage),
                ModelEvent::Stop(stop) => return Ok(Some((stop, calls))),
            }
            self.outbox.ready().await?;
        }
    }

    /// Announces all calls of one answer, then runs them in their order: those that only read together with their
    /// neighbours of that kind, all others one after another. Each gets an outcome, whatever happens: a conversation with
    /// an unanswered call is refused by providers.
    async fn run_calls(
        &self,
        tools: &ToolCatalog,
        message: MessageId,
        calls: Vec<Called>,
        repeats: &mut Repeats,
        cancel: &CancellationToken,
    ) -> Result<(), TurnError> {
        let mut waiting: VecDeque<(ToolCall, Announced)> = calls
            .into_iter()
            .map(|Called { call, name, arguments }| {
                let call = ToolCall { id: call.unwrap_or_else(|| self.outbox.next_call()), name, arguments };
                (call.clone(), self.announce(tools, message.clone(), call, false))
            })
            .collect();
        let mut fatal = None;
        while let Some((call, announced)) = waiting.pop_front() {
            let announced = self.hooked(announced, cancel).await;
            let only_reads = announced.only_reads();
            let mut together = vec![announced.unless(repeats.make(&call))];
            while only_reads
                && together.len() < AT_ONCE
                && let Some((call, announced)) = waiting.pop_front_if(|(_, next)| next.only_reads())
            {
                let announced = self.hooked(announced, cancel).await;
                if !announced.only_reads() {
                    // It was changed to something else.
                    waiting.push_front((call, announced));
                    break;
                }
                together.push(announced.unless(repeats.make(&call)));
            }
            let outcomes = join_all(together.into_iter().map(|call| self.execute(call, cancel))).await;
            if !only_reads && outcomes.iter().any(Result::is_ok) {
                repeats.changed_by(&call);
            }
            let failed = outcomes.into_iter().find_map(|outcome| match outcome {
                Err(ToolError::Fatal(reason)) => Some(reason),
                Ok(_) | Err(ToolError::ToModel { .. }) => None,
            });
            fatal = fatal.or(failed);
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
