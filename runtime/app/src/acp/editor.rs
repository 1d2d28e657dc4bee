//! The client as the person to ask, as a place of files, and as a place to run commands.
//!
//! Nothing is asked of a client that it did not offer. Requests are sent from the session's own tasks, never from the
//! dispatch loop; each has its time, and dropping one withdraws it. Tested in `tests.rs` with a client at the other end.

mod approver;
mod elicitor;
mod files;
mod terminal;

use std::time::Duration;

use agent_client_protocol::v1::schema;
use agent_client_protocol::{
    Client, ConnectionTo, Error, JsonRpcNotification, JsonRpcRequest, is_connection_terminated,
    is_incoming_transport_closed,
};

pub(super) use approver::EditorApprover;
pub(super) use elicitor::EditorElicitor;
pub(super) use files::EditorWorkspace;
pub(super) use terminal::EditorTerminal;

/// How long a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For what its person must answer; none to wait for ever.
    pub person: Option<Duration>,
    /// For what it does by itself: files, terminals.
    pub client: Duration,
}

/// A client, as one session reaches it.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) connection: ConnectionTo<Client>,
    pub(super) session: schema::SessionId,
    pub(super) patience: Patience,
}

/// Why a client did not do what it was asked for.
enum Unanswered {
    /// It said no.
    Refused(Error),
    /// It took too long.
    Late(Duration),
    /// The connection ended.
    Gone,
}

impl Peer {
    /// Asks for something that needs no person.
    async fn ask<Req: JsonRpcRequest>(&self, request: Req) -> Result<Req::Response, Unanswered> {
        self.ask_within(self.patience.client, request).await
    }

    async fn ask_within<Req: JsonRpcRequest>(
        &self,
        patience: Duration,
        request: Req,
    ) -> Result<Req::Response, Unanswered> {
        within(patience, self.connection.send_request(request).block_task()).await
    }

    /// Asks for something that the person must answer.
    async fn ask_person<Req: JsonRpcRequest>(&self, request: Req) -> Result<Req::Response, Unanswered> {
        let answer = self.connection.send_request(request).block_task();
        match self.patience.person {
            Some(patience) => within(patience, answer).await,
            None => Ok(answer.await?),
        }
    }

    /// Asks, and does not wait for the answer. The request is on its way when this returns.
    fn send(&self, request: impl JsonRpcRequest) {
        self.connection.send_request(request).detach();
    }

    fn tell(&self, notification: impl JsonRpcNotification) {
        if let Err(error) = self.connection.send_notification(notification) {
            tracing::debug!(code = ?error.code, "the client is gone and was not told");
        }
    }
}

/// An answer in its time. One that comes too late is withdrawn.
async fn within<T>(patience: Duration, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Unanswered> {
    match tokio::time::timeout(patience, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Unanswered::Late(patience)),
    }
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        if is_incoming_transport_closed(&error) || is_connection_terminated(&error) {
            Self::Gone
        } else {
            Self::Refused(error)
        }
    }
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the editor refused: {}", said(error)),
            Self::Late(patience) => write!(f, "the editor did not answer within {} s", patience.as_secs_f32()),
            Self::Gone => f.write_str("the editor is gone"),
        }
    }
}

/// An error in the client's own words: its message, and what its data adds.
fn said(error: &Error) -> String {
    const MOST: usize = 300;
    let details = error.data.as_ref().map(|data| match data {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let text = match details {
        Some(details) => format!("{}: {details}", error.message),
        None => error.message.clone(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect()
}
