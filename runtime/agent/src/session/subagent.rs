//! A child of a session: it has a task of its own, some of the session's tools, and a budget; the session gets its report.
//!
//! The child asks the same model and passes the same gate, as a part of the call that began it: a person is asked about
//! its effects as about that call's, and sees there what it does. Its conversation is its own and is not kept. What it
//! uses up counts for the turn that it works for. Tested in `tests/it`.

mod unkept;

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::context::{History, Project};
use crate::event::{EventSink as _, SessionEvent, ToolCallStatus, ToolCallUpdate};
use crate::gate::Gate;
use crate::hook::Hooks;
use crate::noun::counted;
use crate::options::Options;
use crate::outbox::{Audience, Haste, Outbox};
use crate::panel::StalePanels;
use crate::tool::{ToolCatalog, ToolError};
use crate::transcript::{
    Part, Role, SessionId, StopReason, SystemPrompt, SystemPromptMode, ToolCallId, ToolContent, ToolOutcome, Usage,
};
use crate::turn::{Budget, End, TurnContext, TurnError};
use unkept::Unkept;

/// What a child is told beside what every session is told.
const INSTRUCTIONS: &str = "You are a subagent: another agent has given you the one task that follows, and nobody answers \
    questions. Do the task with the tools that you have, then write a report of what was found or done, with the paths \
    and names that are needed to go on. The report is all that the other agent sees of you.";

/// Lines of what a child did that are shown at a time.
const SHOWN: usize = 12;

/// What the children of a session work with.
pub struct Subagents {
    /// Which model answers, and in which mode.
    pub options: Arc<Options>,
    /// The tools that they can be given.
    pub tools: ToolCatalog,
    /// Decides on every effect.
    pub gate: Arc<Gate>,
    /// Decide about every call.
    pub hooks: Hooks,
    /// The session's project.
    pub project: Arc<Project>,
    /// How far a turn of the session may go, with all that its children do.
    pub budget: Budget,
    /// The session's events.
    pub outbox: Outbox,
}

/// What a child is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// In words, with all that it has to know.
    pub prompt: String,
    /// The names of the tools that it gets.
    pub tools: Vec<String>,
    /// How often it may ask the model.
    pub model_requests: u32,
}

impl Subagents {
    /// Has a child do `task` for the call `call`, to its end or until `cancel`. The outcome is its report.
    pub async fn run(
        &self,
        call: &ToolCallId,
        task: Task,
        cancel: &CancellationToken,
    ) -> Result<ToolOutcome, ToolError> {
        if !self.options.seat().get().0.understands() {
            return Err(ToolError::to_model("invalid-args", "a subagent needs a model, and none is configured"));
        }
        let (told, mut events) = mpsc::unbounded_channel();
        let child = self.child(call, &task, told)?;
        child.outbox.join_turn();
        let id = child.outbox.next_message();
        let parts = vec![Part::Text { text: task.prompt }];
        child.outbox.emit(SessionEvent::UserMessage { id, parts, local: false });
        let mut relay = Relay { call, outbox: &self.outbox, lines: Vec::new(), places: HashMap::new() };
        let outcome = {
            let mut answer = std::pin::pin!(child.work(cancel));
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.recv() => relay.tell(event),
                    outcome = &mut answer => break outcome,
                }
            }
        };
        // What is left of it is nobody's to keep, so it cannot fail.
        let _ = child.outbox.flush().await;
        while let Ok(event) = events.try_recv() {
            relay.tell(event);
        }
        let end = outcome.map_err(|error| match error {
            TurnError::Internal(reason) => ToolError::Fatal(reason),
            error @ (TurnError::Model(_) | TurnError::Store(_)) => {
                ToolError::to_model("internal", format!("the subagent failed: {error}"))
            }
        })?;
        relay.report(&child.outbox, &end)
    }

    /// A session that keeps nothing.
    fn child(
        &self,
        call: &ToolCallId,
        task: &Task,
        told: mpsc::UnboundedSender<SessionEvent>,
    ) -> Result<TurnContext, ToolError> {
        let outbox = Outbox::new(
            SessionId::new(format!("subagent-{call}")),
            History::default(),
            StalePanels::default(),
            Arc::new(Unkept),
            Arc::new(Channel(told)),
        );
        Ok(TurnContext {
            options: self.options.clone(),
            tools: self.tools_for(task)?,
            gate: Arc::new(self.gate.on_behalf_of(call.clone())),
            hooks: self.hooks.of_child(),
            project: self.project.clone(),
            system_prompt: Some(SystemPrompt { mode: SystemPromptMode::Append, text: INSTRUCTIONS.to_owned() }),
            budget: self.budget.for_child(task.model_requests),
            outbox,
        })
    }

    fn tools_for(&self, task: &Task) -> Result<ToolCatalog, ToolError> {
        let all = self.tools.now();
        let mut tools = ToolCatalog::new(self.options.switches().clone());
        for name in &task.tools {
            let tool = all.get(name).ok_or_else(|| {
                let near = all.near(name);
                let hint =
                    if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) };
                let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
                ToolError::to_model("invalid-args", format!("there is no tool `{name}` that a subagent can have{hint}"))
            })?;
            // One that is named twice is there once.
            let _ = tools.add(tool.clone());
        }
        Ok(tools)
    }
}

/// Hands on what a child tells to whoever waits for it.
struct Channel(mpsc::UnboundedSender<SessionEvent>);

impl Audience for Channel {
    fn show<'a>(&'a self, events: Vec<SessionEvent>, _haste: &'a Haste) -> BoxFuture<'a, ()> {
        for event in events {
            // Nobody waits for what comes after the end.
            let _ = self.0.send(event);
        }
        Box::pin(async {})
    }
}

/// Tells the session of what a child does.
struct Relay<'a> {
    call: &'a ToolCallId,
    outbox: &'a Outbox,
    /// What it has done.
    lines: Vec<String>,
    /// The line of each call.
    places: HashMap<ToolCallId, usize>,
}

impl Relay<'_> {
    fn tell(&mut self, event: SessionEvent) {
        match event {
            // How full its own window is says nothing of the session's.
            SessionEvent::Usage(usage) => self.outbox.emit(SessionEvent::Usage(Usage { window: None, ..usage })),
            SessionEvent::Notice(notice) => self.outbox.emit(SessionEvent::Notice(notice)),
            SessionEvent::ToolCallStarted { call, title, .. } => {
                self.places.insert(call.id, self.lines.len());
                self.lines.push(format!("- {title}"));
                self.show();
            }
            SessionEvent::ToolCallUpdated(ToolCallUpdate { id, status: Some(ToolCallStatus::Failed), .. }) => {
                let line = self.places.get(&id).and_then(|place| self.lines.get_mut(*place));
                if let Some(line) = line {
                    line.push_str(" (failed)");
                    self.show();
                }
            }
            _ => {}
        }
    }

    fn show(&self) {
        let content = Some(vec![ToolContent::Text { text: self.log() }]);
        self.outbox
            .emit(SessionEvent::ToolCallUpdated(ToolCallUpdate { content, ..ToolCallUpdate::of(self.call.clone()) }));
    }

    /// The last things that it did.
    fn log(&self) -> String {
        let before = self.lines.len().saturating_sub(SHOWN);
        let more = if before > 0 { format!("({before} before these)\n") } else { String::new() };
        format!("{more}{}", self.lines.get(before..).unwrap_or_default().join("\n"))
    }

    fn report(self, child: &Outbox, end: &End) -> Result<ToolOutcome, ToolError> {
        let messages = child.messages();
        let said = messages.iter().rev().find(|message| message.role == Role::Assistant).map(|message| {
            let texts = message.parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(text.trim()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n\n")
        });
        let said = said.filter(|said| !said.is_empty()).unwrap_or_else(|| "(the subagent wrote no report)".to_owned());
        let why = match end {
            End::Model(StopReason::EndTurn) => String::new(),
            End::Model(StopReason::MaxTokens) => "; its answer was cut off at the model's limit of tokens".to_owned(),
            End::Model(StopReason::Refusal) => "; its model refused to go on".to_owned(),
            End::Model(StopReason::Cancelled) => return Err(ToolError::cancelled()),
            End::Model(StopReason::MaxTurnRequests) => "; it was stopped".to_owned(),
            End::Limit(reached) => format!("; it was stopped before it had finished: {}", reached.why()),
        };
        let (calls, tokens) = (counted(self.lines.len(), "call"), counted(child.turn_use().tokens, "token"));
        let note = format!("[subagent: {calls}, {tokens}{why}]");
        let failed = *end != End::Model(StopReason::EndTurn);
        Ok(ToolOutcome { failed, ..ToolOutcome::text(format!("{said}\n\n{note}")) })
    }
}
