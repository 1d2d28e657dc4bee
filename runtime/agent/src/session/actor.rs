//! The actor behind a [`SessionHandle`](super::SessionHandle): prompts one after another, cancel at any moment.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::prompt::{Entry, Outcome};
use super::{OnBusy, PromptError, Shared, commands};
use crate::command::{CommandReply, Typed};
use crate::event::{EventSink as _, SessionEvent, TurnEnd};
use crate::store::Claim;
use crate::tool::ToolError;
use crate::transcript::{Part, StopReason};
use crate::turn::TurnError;

pub(super) enum Letter {
    Prompt(Entry),
    /// The prompt with this ticket is no longer wanted.
    Withdraw(u64),
    Cancel,
    Close {
        done: oneshot::Sender<()>,
    },
}

struct Running {
    ticket: u64,
    turn: JoinHandle<Result<StopReason, TurnError>>,
    cancel: CancellationToken,
    reply: oneshot::Sender<Outcome>,
}

/// Runs until the session is closed or every handle is gone. The session is this process's for as long.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut letters: mpsc::UnboundedReceiver<Letter>,
    on_busy: OnBusy,
    claim: Claim,
) {
    let mut waiting: VecDeque<Entry> = VecDeque::new();
    let mut running: Option<Running> = None;
    let closing = loop {
        let letter = match running.as_mut() {
            None => letters.recv().await,
            Some(current) => tokio::select! {
                ended = &mut current.turn => {
                    finish(&shared, running.take(), ended);
                    running = waiting.pop_front().map(|entry| start(&shared, entry));
                    continue;
                }
                letter = letters.recv() => letter,
            },
        };
        match letter {
            Some(Letter::Prompt(entry)) => match (&running, on_busy) {
                (None, _) => running = Some(start(&shared, entry)),
                (Some(_), OnBusy::Queue(most)) if waiting.len() < most => waiting.push_back(entry),
                (Some(_), OnBusy::Queue(_) | OnBusy::Reject) => answer(entry.reply, Err(PromptError::Busy)),
            },
            Some(Letter::Withdraw(ticket)) => withdraw(ticket, running.as_ref(), &mut waiting),
            Some(Letter::Cancel) => cancel(running.as_ref(), &mut waiting),
            Some(Letter::Close { done }) => break Some(done),
            None => break None,
        }
    };
    letters.close();
    cancel(running.as_ref(), &mut waiting);
    if let Some(mut current) = running.take() {
        let ended = (&mut current.turn).await;
        finish(&shared, Some(current), ended);
    }
    // What happened outside of a turn, such as a change of the mode, may be on its way still.
    if let Err(error) = shared.turns.outbox.flush().await {
        tracing::warn!(session = %shared.id, %error, "the end of a session is not kept");
    }
    claim.give_back().await;
    if let Some(done) = closing {
        // Whoever closed may not wait.
        let _ = done.send(());
    }
}

fn start(shared: &Arc<Shared>, entry: Entry) -> Running {
    shared.busy.store(true, Ordering::Release);
    let Entry { ticket, parts, reply } = entry;
    let cancel = CancellationToken::new();
    let turn = tokio::spawn(prompt(shared.clone(), parts, cancel.clone()));
    Running { ticket, turn, cancel, reply }
}

fn finish(
    shared: &Shared,
    running: Option<Running>,
    ended: Result<Result<StopReason, TurnError>, tokio::task::JoinError>,
) {
    shared.busy.store(false, Ordering::Release);
    let outcome = ended.unwrap_or_else(|error| {
        tracing::error!(session = %shared.id, %error, "a turn ended in a panic");
        Err(TurnError::Internal("the runtime failed in this turn; its log says where".to_owned()))
    });
    if let Some(running) = running {
        answer(running.reply, outcome.map_err(PromptError::from));
    }
}

fn cancel(running: Option<&Running>, waiting: &mut VecDeque<Entry>) {
    if let Some(running) = running {
        running.cancel.cancel();
    }
    for entry in waiting.drain(..) {
        answer(entry.reply, Ok(StopReason::Cancelled));
    }
}

fn withdraw(ticket: u64, running: Option<&Running>, waiting: &mut VecDeque<Entry>) {
    if let Some(running) = running.filter(|running| running.ticket == ticket) {
        running.cancel.cancel();
    }
    let place = waiting.iter().position(|entry| entry.ticket == ticket);
    if let Some(entry) = place.and_then(|place| waiting.remove(place)) {
        answer(entry.reply, Ok(StopReason::Cancelled));
    }
}

fn answer(reply: oneshot::Sender<Outcome>, outcome: Outcome) {
    // A client that went away does not wait for the answer.
    let _ = reply.send(outcome);
}

/// One prompt: a command, or a turn of the model. All events were shown when it returns.
async fn prompt(shared: Arc<Shared>, parts: Vec<Part>, cancel: CancellationToken) -> Result<StopReason, TurnError> {
    let outbox = &shared.turns.outbox;
    // Prompts to a full disk are refused and do not gather: what waits to be kept must fit when there is a little room.
    outbox.settle().await?;
    let typed = parts.first().and_then(|part| match part {
        Part::Text { text } => Some(text.clone()),
        _ => None,
    });
    let title = (!outbox.has_title()).then(|| title(&parts)).flatten();
    let typed = shared.commands.read(typed.as_deref().unwrap_or_default());
    let local = !matches!(typed, Typed::Prompt);
    outbox.emit(SessionEvent::UserMessage { id: outbox.next_message(), parts, local });
    let outcome = match typed {
        Typed::Prompt => shared.turns.answer(&cancel).await.map(Answered::Well),
        Typed::Command(command, arguments) => tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(Answered::Well(StopReason::Cancelled)),
            reply = command.run(arguments, cancel.child_token()) => follow(&shared, reply, &cancel).await,
        },
        Typed::Own(own, arguments) => tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(Answered::Well(StopReason::Cancelled)),
            reply = commands::run(&shared, &own.name, arguments) => follow(&shared, reply, &cancel).await,
        },
        Typed::Unknown(name, near) => Ok(fail(&shared, unknown(name, &near))),
    };
    if let Some(title) = title {
        outbox.emit(SessionEvent::Title { title });
    }
    shared.show_stale_panels();
    let end = match &outcome {
        Ok(Answered::Well(stop)) => TurnEnd::Stopped(*stop),
        Ok(Answered::Badly(reason)) => TurnEnd::Failed(reason.clone()),
        Err(error) => TurnEnd::Failed(error.to_string()),
    };
    outbox.emit(SessionEvent::TurnEnded { end });
    outbox.flush().await?;
    outcome.map(|answered| match answered {
        Answered::Well(stop) => stop,
        // The person has read why, and types the next prompt.
        Answered::Badly(_) => StopReason::EndTurn,
    })
}

/// How a prompt ended that was answered.
enum Answered {
    Well(StopReason),
    /// What a command was to do was not done; the reason was said.
    Badly(String),
}

/// What a command's reply leads to.
async fn follow(
    shared: &Shared,
    reply: Result<CommandReply, ToolError>,
    cancel: &CancellationToken,
) -> Result<Answered, TurnError> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return Ok(fail(shared, error.to_string())),
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
            let outbox = &shared.turns.outbox;
            let parts = vec![Part::Text { text: prompt }];
            outbox.emit(SessionEvent::UserMessage { id: outbox.next_message(), parts, local: false });
            shared.turns.answer(cancel).await.map(Answered::Well)
        }
        CommandReply::Call { tool, arguments } => match shared.turns.call_for_person(&tool, arguments, cancel).await? {
            _ if cancel.is_cancelled() => Ok(Answered::Well(StopReason::Cancelled)),
            Ok(outcome) => {
                say(shared, outcome.for_model());
                Ok(Answered::Well(StopReason::EndTurn))
            }
            Err(error) => Ok(fail(shared, error.to_string())),
        },
    }
}

fn say(shared: &Shared, text: String) {
    let outbox = &shared.turns.outbox;
    outbox.emit(SessionEvent::AgentText { id: outbox.next_message(), text, local: true });
}

fn fail(shared: &Shared, reason: String) -> Answered {
    say(shared, format!("error: {reason}"));
    Answered::Badly(reason)
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
