//! One session told of in ACP's own words, for readers that are no clients: the lines of `acp-runtime run --json`.

use acp_runtime_agent::event::{SessionEvent, TurnEnd};
use acp_runtime_agent::session::{Answer, PromptError, SessionHandle};
use acp_runtime_agent::transcript::SessionId;
use agent_client_protocol::{Error, v1::schema};
use serde_json::{Value, json};

use super::error::{RequestError, cleaned};
use super::offers::{Offer, Offers};
use super::wire::{self, Narrator, Told};
use crate::redaction::Redaction;

/// Tells of one session.
pub struct Teller {
    session: SessionId,
    narrator: Narrator,
    redaction: Redaction,
    /// Why the last turn failed, in the words that people read.
    reason: Option<String>,
}

impl Teller {
    /// Of that session, from its beginning. Errors are told without what `redaction` knows.
    pub fn new(session: SessionId, redaction: Redaction) -> Self {
        let offers = Offers::default().with(Offer::Notices).with(Offer::Compactions);
        Self { session, narrator: Narrator::new(offers, false), redaction, reason: None }
    }

    /// Takes up the session where it is now.
    pub fn recall(&mut self, session: &SessionHandle) {
        self.narrator.recall(session.keeps_plan(), session.spending());
    }

    /// The parameters of each `session/update` that tells of the event.
    pub fn tell(&mut self, event: &SessionEvent) -> Vec<Value> {
        if let SessionEvent::TurnEnded { end: TurnEnd::Failed(reason) } = event {
            self.reason = Some(reason.clone());
        }
        let session = schema::SessionId::new(self.session.as_str());
        let updates = self.narrator.tell(event.clone(), Told::Live);
        updates.into_iter().map(|update| update.params(&session)).collect()
    }

    /// How the prompt ended: the `result` or the `error` of a `session/prompt`. To an editor's person a command that was
    /// not done is an answer, which they have read; to a program it is an error.
    pub fn end(&self, outcome: Result<Answer, PromptError>) -> Value {
        let error = match outcome {
            Ok(Answer { stop, fault: None }) => {
                let result = schema::PromptResponse::new(wire::stop_reason(stop));
                return json!({ "sessionId": self.session, "result": result });
            }
            Ok(Answer { fault: Some(fault), .. }) => {
                RequestError::Undone { fault, reason: self.reason.clone().unwrap_or_default() }
            }
            Err(error) => RequestError::Prompt { session: self.session.clone(), error },
        };
        json!({ "sessionId": self.session, "error": cleaned(Error::from(error), &self.redaction) })
    }
}
