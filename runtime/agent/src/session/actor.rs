//! The actor behind a [`SessionHandle`](super::SessionHandle): idle, running one prompt, or cancelling it.
//!
//! Prompts run one after another; the next one begins when the one before has ended and all of it was shown. Whoever
//! cancels a prompt cancels its token at once, so that nothing which comes later overtakes that; the letter that follows
//! is about what waits. A cancelled prompt that does not end by itself is cut short, so that its answer never waits for a
//! tool.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::prompt::{Answer, Entry, Fault, Outcome};
use super::{OnBusy, PromptError, Shared, commands, message};
use crate::capability::HookEvent;
use crate::command::{CommandReply, Typed};
use crate::context::Title;
use crate::event::{EventSink as _, SessionEvent, TurnEnd};
use crate::store::Claim;
use crate::tool::ToolError;
use crate::transcript::{Part, StopReason};
use crate::turn::{Compaction, Reached, TurnError};

/// How long a cancelled prompt may take to end by itself; together with what follows it is answered within 2 s.
const GRACE: Duration = Duration::from_millis(1500);
/// A cancel that comes so soon after the end of a prompt was meant for that one.
const AFTER: Duration = Duration::from_secs(1);
/// Any other cancel with nothing to cancel was meant for a prompt that comes so soon after it: the two were written at
/// once, by different threads of the client. Nobody who stops what is not there, and then asks for something, is so fast.
const BEFORE: Duration = Duration::from_millis(250);

pub(super) enum Letter {
    Prompt(Entry),
    /// The prompt with this ticket was cancelled.
    Withdraw(u64),
    /// All that were put in before were cancelled.
    Cancel,
    Close {
        ending: Ending,
        done: oneshot::Sender<()>,
    },
}

/// How a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// For good, or until somebody opens it again.
    Closed,
    /// It is opened anew at once, and goes on with what it has.
    HandedOver,
}

/// The prompt that runs.
struct Current {
    work: JoinHandle<Result<Answer, TurnError>>,
    cancel: CancellationToken,
    course: Course,
    reply: oneshot::Sender<Outcome>,
}

/// How far the prompt that runs is on its way to its end.
#[derive(Clone, Copy)]
enum Course {
    Running,
    /// It was cancelled, and is cut short then.
    Ending(Instant),
    /// It was left to itself; what is shown still is being shown.
    CutShort,
}

/// What the actor wakes up for.
enum Event {
    /// None when every handle is gone.
    Letter(Option<Letter>),
    Ended(Result<Result<Answer, TurnError>, JoinError>),
    Cancelled,
    /// The cancelled prompt has not ended in time.
    Overdue,
}

pub(super) struct Actor {
    shared: Arc<Shared>,
    on_busy: OnBusy,
    current: Option<Current>,
    waiting: VecDeque<Entry>,
    ended: Option<Instant>,
    /// A cancel that came before its prompt.
    cancelled: Option<Instant>,
}

impl Actor {
    pub(super) fn new(shared: Arc<Shared>, on_busy: OnBusy) -> Self {
        Self { shared, on_busy, current: None, waiting: VecDeque::new(), ended: None, cancelled: None }
    }

    /// Runs until the session is closed or every handle is gone. The session is this process's for as long.
    pub(super) async fn run(mut self, mut letters: mpsc::UnboundedReceiver<Letter>, claim: Claim) {
        let hooks = self.shared.turns.hooks.clone();
        hooks.tell(HookEvent::SessionStart, || json!({}));
        let (ending, closing) = loop {
            match self.next(&mut letters).await {
                Event::Ended(outcome) => self.finish(outcome),
                Event::Cancelled => self.await_end(),
                Event::Overdue => self.cut_short(),
                Event::Letter(Some(Letter::Prompt(entry))) => self.take(entry),
                Event::Letter(Some(Letter::Withdraw(ticket))) => self.withdraw(ticket),
                Event::Letter(Some(Letter::Cancel)) => self.cancel(),
                Event::Letter(Some(Letter::Close { ending, done })) => break (ending, Some(done)),
                Event::Letter(None) => break (Ending::Closed, None),
            }
        };
        letters.close();
        self.cancel();
        while self.current.is_some() {
            match self.next(&mut letters).await {
                Event::Ended(outcome) => self.finish(outcome),
                Event::Cancelled => self.await_end(),
                Event::Overdue => self.cut_short(),
                Event::Letter(_) => {}
            }
        }
        hooks.tell(HookEvent::SessionEnd, || json!({}));
        hooks.close().await;
        if ending == Ending::HandedOver {
            self.shared.turns.tools.hand_over();
        }
        // What happened outside of a turn, such as a change of the mode, may be on its way still.
        if let Err(error) = self.shared.turns.outbox.flush().await {
            tracing::warn!(session = %self.shared.id, %error, "the end of a session is not kept");
        }
        if ending == Ending::Closed {
            self.shared.turns.tools.close().await;
        }
        claim.give_back().await;
        if let Some(done) = closing {
            // Whoever closed may not wait.
            let _ = done.send(());
        }
    }

    async fn next(&mut self, letters: &mut mpsc::UnboundedReceiver<Letter>) -> Event {
        let Some(Current { work, cancel, course, .. }) = &mut self.current else {
            return Event::Letter(letters.recv().await);
        };
        let turning = async {
            match *course {
                Course::Running => {
                    cancel.cancelled().await;
                    Event::Cancelled
                }
                Course::Ending(overdue) => {
                    tokio::time::sleep_until(overdue).await;
                    Event::Overdue
                }
                Course::CutShort => std::future::pending().await,
            }
        };
        tokio::select! {
            outcome = work => Event::Ended(outcome),
            event = turning => event,
            letter = letters.recv(), if !letters.is_closed() => Event::Letter(letter),
        }
    }

    fn take(&mut self, entry: Entry) {
        match (&self.current, self.on_busy) {
            (None, _) => {
                if self.cancelled.take().is_some_and(|cancelled| cancelled.elapsed() < BEFORE) {
                    entry.cancel.cancel();
                }
                self.start(entry);
            }
            (Some(_), OnBusy::Queue(most)) if self.waiting.len() < most => self.waiting.push_back(entry),
            (Some(_), OnBusy::Queue(_) | OnBusy::Reject) => answer(entry.reply, Err(PromptError::Busy)),
        }
    }

    fn start(&mut self, entry: Entry) {
        let Entry { ticket, parts, trace, cancel, reply } = entry;
        self.shared.busy.store(true, Ordering::Release);
        let work = trace.within(prompt(self.shared.clone(), parts, cancel.clone()));
        let work = tokio::spawn(self.shared.turns.outbox.in_turn(ticket, work));
        self.current = Some(Current { work, cancel, course: Course::Running, reply });
    }

    fn finish(&mut self, outcome: Result<Result<Answer, TurnError>, JoinError>) {
        self.shared.busy.store(false, Ordering::Release);
        self.shared.turns.outbox.hurry(false);
        self.ended = Some(Instant::now());
        let outcome = outcome.unwrap_or_else(|error| {
            tracing::error!(session = %self.shared.id, %error, "a turn ended in a panic");
            Err(TurnError::Internal("the runtime failed in this turn; its log says where".to_owned()))
        });
        if let Some(current) = self.current.take() {
            answer(current.reply, outcome.map_err(PromptError::from));
        }
        while let Some(next) = self.waiting.pop_front() {
            if !next.cancel.is_cancelled() {
                return self.start(next);
            }
            answer(next.reply, Ok(Answer::well(StopReason::Cancelled)));
        }
    }

    /// Cancels what runs and what waits.
    fn cancel(&mut self) {
        match &self.current {
            Some(current) => current.cancel.cancel(),
            None if self.ended.is_none_or(|ended| ended.elapsed() >= AFTER) => self.cancelled = Some(Instant::now()),
            None => {}
        }
        for entry in self.waiting.drain(..) {
            answer(entry.reply, Ok(Answer::well(StopReason::Cancelled)));
        }
    }

    /// Answers one that waits.
    fn withdraw(&mut self, ticket: u64) {
        let place = self.waiting.iter().position(|entry| entry.ticket == ticket);
        if let Some(entry) = place.and_then(|place| self.waiting.remove(place)) {
            answer(entry.reply, Ok(Answer::well(StopReason::Cancelled)));
        }
    }

    /// The cancelled prompt gets its time to end by itself, and a client that is behind is not waited for.
    fn await_end(&mut self) {
        if let Some(current) = &mut self.current {
            current.course = Course::Ending(Instant::now() + GRACE);
            self.shared.turns.outbox.hurry(true);
        }
    }

    /// Leaves the cancelled prompt to itself. It may not be over: what it still tells is not heard.
    fn cut_short(&mut self) {
        let Some(current) = &mut self.current else { return };
        tracing::warn!(session = %self.shared.id, "a cancelled prompt did not end by itself: left alone");
        current.work.abort();
        current.course = Course::CutShort;
        let outbox = self.shared.turns.outbox.clone();
        outbox.cut_short(&ToolError::cancelled(), TurnEnd::Stopped(StopReason::Cancelled));
        current.work = tokio::spawn(async move {
            outbox.flush().await?;
            Ok(Answer::well(StopReason::Cancelled))
        });
    }
}

fn answer(reply: oneshot::Sender<Outcome>, outcome: Outcome) {
    // A client that went away does not wait for the answer.
    let _ = reply.send(outcome);
}

/// One prompt: a command, or a turn of the model. All events were shown when it returns.
async fn prompt(shared: Arc<Shared>, parts: Vec<Part>, cancel: CancellationToken) -> Result<Answer, TurnError> {
    let outbox = &shared.turns.outbox;
    // Prompts to a full disk are refused and do not gather: what waits to be kept must fit when there is a little room.
    outbox.settle().await?;
    let typed = parts.first().and_then(|part| match part {
        Part::Text { text } => Some(text.clone()),
        _ => None,
    });
    let typed = shared.commands.read(typed.as_deref().unwrap_or_default());
    let local = !matches!(typed, Typed::Prompt);
    let title = match outbox.title() {
        Title::Missing => title(&parts),
        Title::Provisional if !local => title(&parts),
        Title::Provisional | Title::Given => None,
    };
    shared.turns.budget.begin();
    shared.turns.gate.turn();
    let outcome = match typed {
        Typed::Prompt => {
            let parts = shared.turns.attach(parts, &cancel).await;
            ask(&shared, parts, &cancel).await
        }
        Typed::Command(command, arguments) => {
            message::keep(&shared, parts, true);
            obey(&shared, |cancel| command.run(arguments, cancel), &cancel).await
        }
        Typed::Own(own, arguments) => {
            message::keep(&shared, parts, true);
            obey(&shared, |_| commands::run(&shared, &own.name, arguments), &cancel).await
        }
        Typed::Unknown(name, near) => {
            message::keep(&shared, parts, true);
            Ok(fail(&shared, Fault::Misused, unknown(name, &near)))
        }
    };
    if let Some(title) = title {
        outbox.emit(SessionEvent::Title { title, provisional: local });
    }
    shared.show_stale_panels();
    let end = match &outcome {
        Ok(Answered::Well(stop)) => TurnEnd::Stopped(*stop),
        Ok(Answered::Badly(_, reason)) => TurnEnd::Failed(reason.clone()),
        Ok(Answered::Over(reached)) => TurnEnd::Stopped(reached.stop()),
        Err(error) => TurnEnd::Failed(error.to_string()),
    };
    outbox.emit(SessionEvent::TurnEnded { end });
    outbox.flush().await?;
    outcome.map(|answered| match answered {
        Answered::Well(stop) => Answer::well(stop),
        // The person has read why, and types the next prompt.
        Answered::Badly(fault, _) => Answer { stop: StopReason::EndTurn, fault: Some(fault) },
        Answered::Over(reached) => Answer { stop: reached.stop(), fault: Some(Fault::Failed) },
    })
}

/// How a prompt ended that was answered.
enum Answered {
    Well(StopReason),
    /// What was asked for was not done; the reason was said.
    Badly(Fault, String),
    /// It was broken off at a limit, as was said.
    Over(Reached),
}

/// What comes of a command.
async fn obey<C: Future<Output = Result<CommandReply, ToolError>>>(
    shared: &Shared,
    command: impl FnOnce(CancellationToken) -> C,
    cancel: &CancellationToken,
) -> Result<Answered, TurnError> {
    let command = async |end: CancellationToken| {
        tokio::select! {
            biased;
            () = end.cancelled() => None,
            reply = command(end.child_token()) => Some(reply),
        }
    };
    match shared.turns.in_time(cancel, command).await {
        (Some(reply), _) => follow(shared, reply, cancel).await,
        (None, reached) => Ok(broken_off(shared, reached, cancel)),
    }
}

/// How a prompt ends whose work was cancelled: by its person, or at a limit.
fn broken_off(shared: &Shared, reached: Option<Reached>, cancel: &CancellationToken) -> Answered {
    match reached.filter(|_| !cancel.is_cancelled()) {
        Some(reached) => {
            say(shared, reached.said());
            Answered::Over(reached)
        }
        None => Answered::Well(StopReason::Cancelled),
    }
}

/// A turn of the model about what a person said, where the hooks let it. Where there is no model, what stands in for it
/// says so.
async fn ask(shared: &Shared, parts: Vec<Part>, cancel: &CancellationToken) -> Result<Answered, TurnError> {
    if let Err(why) = message::put(shared, parts, cancel).await {
        if cancel.is_cancelled() {
            return Ok(Answered::Well(StopReason::Cancelled));
        }
        return Ok(fail(shared, Fault::Failed, why.for_person()));
    }
    let turns = &shared.turns;
    turns.hooks.tell(HookEvent::BeforeTurn, || json!({ "message": turns.outbox.turn() }));
    let outcome = turns.answer(cancel).await;
    turns.hooks.tell(HookEvent::AfterTurn, || match &outcome {
        Ok(stop) => json!({ "stop": stop }),
        Err(error) => json!({ "failed": error.to_string() }),
    });
    if let Err(error) = &outcome {
        turns.hooks.tell(HookEvent::Error, || json!({ "message": error.to_string() }));
    }
    let understood = turns.options.seat().get().0.understands();
    Ok(match outcome? {
        StopReason::EndTurn if !understood => Answered::Badly(Fault::NoModel, "no model is configured".to_owned()),
        stop => Answered::Well(stop),
    })
}

/// What a command's reply leads to.
async fn follow(
    shared: &Shared,
    reply: Result<CommandReply, ToolError>,
    cancel: &CancellationToken,
) -> Result<Answered, TurnError> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return Ok(fail(shared, fault_of_command(&error), error.for_person())),
    };
    match reply {
        CommandReply::Text(text) => {
            say(shared, text);
            Ok(Answered::Well(StopReason::EndTurn))
        }
        CommandReply::Prompt { text, prompt } => {
            if !text.is_empty() {
                say(shared, text);
            }
            ask(shared, vec![Part::Text { text: prompt }], cancel).await
        }
        CommandReply::Call { tool, arguments } => {
            let turns = &shared.turns;
            let (outcome, reached) = turns.in_time(cancel, |end| turns.call_for_person(&tool, arguments, end)).await;
            match outcome? {
                _ if cancel.is_cancelled() || reached.is_some() => Ok(broken_off(shared, reached, cancel)),
                Ok(outcome) => {
                    say(shared, outcome.for_model());
                    if outcome.failed {
                        return Ok(fail(shared, Fault::Failed, format!("`{tool}` has failed: see what it gave")));
                    }
                    Ok(Answered::Well(StopReason::EndTurn))
                }
                Err(error) => Ok(fail(shared, fault_of_call(&error), error.for_person())),
            }
        }
        CommandReply::Compact { keep } => compact(shared, &keep, cancel).await,
    }
}

/// Sums up what was said, for the model.
async fn compact(shared: &Shared, keep: &str, cancel: &CancellationToken) -> Result<Answered, TurnError> {
    const NO_MODEL: &str = "a summary needs a model, and none is configured\nhint: choose one with `/model`, or add one to \
                            the file of `acp-runtime config path`";
    let turns = &shared.turns;
    let (summary, reached) = turns.in_time(cancel, async |end| turns.compact(keep, &end).await).await;
    Ok(match summary? {
        Compaction::Done { turns } => {
            say(shared, summed_up(turns));
            Answered::Well(StopReason::EndTurn)
        }
        Compaction::Nothing => {
            say(shared, "There is nothing yet to sum up.".to_owned());
            Answered::Well(StopReason::EndTurn)
        }
        Compaction::NoModel => fail(shared, Fault::NoModel, NO_MODEL.to_owned()),
        Compaction::Cancelled => broken_off(shared, reached, cancel),
    })
}

/// What the person is told of a summary; `turns` stay as they were.
fn summed_up(turns: usize) -> String {
    let recent = match turns {
        0 => String::new(),
        1 => " and the last turn".to_owned(),
        turns => format!(" and the last {turns} turns"),
    };
    format!("From now on the model is shown this summary{recent}. The session keeps all that was said.")
}

fn say(shared: &Shared, text: String) {
    let outbox = &shared.turns.outbox;
    outbox.emit(SessionEvent::AgentText { id: outbox.next_message(), text, local: true });
}

fn fail(shared: &Shared, fault: Fault, reason: String) -> Answered {
    say(shared, format!("error: {reason}"));
    Answered::Badly(fault, reason)
}

/// A command that does not find what it is told to look for was told a wrong name.
fn fault_of_command(error: &ToolError) -> Fault {
    match error {
        ToolError::ToModel { kind, .. } if kind == "not-found" => Fault::Misused,
        ToolError::ToModel { .. } | ToolError::Fatal(_) => fault_of_call(error),
    }
}

/// A tool that does not find something was called as it is meant to be.
fn fault_of_call(error: &ToolError) -> Fault {
    match error {
        ToolError::ToModel { kind, .. } if kind == "invalid-args" => Fault::Misused,
        ToolError::ToModel { .. } | ToolError::Fatal(_) => Fault::Failed,
    }
}

fn unknown(name: &str, near: &[&str]) -> String {
    let hint = match near {
        [] => "type `/help` for the commands that there are".to_owned(),
        near => format!("did you mean `/{}`?", near.join("`, `/")),
    };
    format!("there is no command `/{name}`\nhint: {hint}")
}

/// The first line of the first text, cut to what fits a list.
fn title(parts: &[Part]) -> Option<String> {
    const MOST: usize = 80;
    let text = parts.iter().find_map(|part| match part {
        Part::Text { text } => text.lines().map(str::trim).find(|line| !line.is_empty()),
        _ => None,
    })?;
    let line: String = text.chars().filter(|c| !c.is_control()).take(MOST).collect();
    (!line.is_empty()).then_some(line)
}
