//! A prompt from both sides: who put it in waits for its end and may take it back; the actor has it in its queue.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::actor::Letter;
use crate::trace::TraceContext;
use crate::transcript::{Part, StopReason};
use crate::turn::TurnError;

/// Why a prompt was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The turn failed.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// Another prompt runs, or too many wait.
    #[error("the session is busy with another prompt: wait for it, or cancel it")]
    Busy,
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

/// How a prompt ended that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Why its turn ended.
    pub stop: StopReason,
    /// Why what it asked for was not done; none where it was. The person has read the reason.
    pub fault: Option<Fault>,
}

/// Why what a prompt asked for was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It makes no sense: there is no such command or no such name, or the command is used in another way.
    Misused,
    /// There is no model that could do it.
    NoModel,
    /// It was tried and failed, or was refused.
    Failed,
}

impl Answer {
    pub(super) fn well(stop: StopReason) -> Self {
        Self { stop, fault: None }
    }
}

/// How a prompt ended.
pub(super) type Outcome = Result<Answer, PromptError>;

/// A prompt that was put in. Awaited, it says why its turn ended, when all its events were shown; dropped, it goes on
/// all the same.
#[must_use = "a prompt does not say by itself how it ended"]
pub struct Prompt {
    withdrawal: Withdrawal,
    answer: oneshot::Receiver<Outcome>,
}

/// Takes one prompt back, and no other; cheap to clone.
#[derive(Clone)]
pub struct Withdrawal {
    ticket: u64,
    cancel: CancellationToken,
    mailbox: mpsc::UnboundedSender<Letter>,
}

impl Withdrawal {
    /// Its turn is cancelled, or it leaves the queue. It is answered as cancelled then, unless it has ended already. What
    /// the person answers after this call counts no more.
    pub fn withdraw(&self) {
        self.cancel.cancel();
        // A closed session has answered.
        let _ = self.mailbox.send(Letter::Withdraw(self.ticket));
    }
}

impl Prompt {
    pub(super) fn new(
        ticket: u64,
        cancel: CancellationToken,
        mailbox: mpsc::UnboundedSender<Letter>,
    ) -> (Self, oneshot::Sender<Outcome>) {
        let (reply, answer) = oneshot::channel();
        (Self { withdrawal: Withdrawal { ticket, cancel, mailbox }, answer }, reply)
    }

    /// Takes it back.
    pub fn withdrawal(&self) -> Withdrawal {
        self.withdrawal.clone()
    }
}

impl Prompt {
    /// Waits as whoever awaits it does, and says also whether what it asked for was done.
    pub async fn answered(self) -> Result<Answer, PromptError> {
        self.answer.await.unwrap_or(Err(PromptError::Closed))
    }
}

impl Future for Prompt {
    type Output = Result<StopReason, PromptError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.answer).poll(context);
        answer.map(|answer| answer.unwrap_or(Err(PromptError::Closed)).map(|answer| answer.stop))
    }
}

/// A prompt in the actor's hands.
pub(super) struct Entry {
    pub(super) ticket: u64,
    pub(super) parts: Vec<Part>,
    pub(super) trace: TraceContext,
    pub(super) cancel: CancellationToken,
    pub(super) reply: oneshot::Sender<Outcome>,
}
