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
    Client, ConnectionTo, Error, ErrorCode, JsonRpcNotification, JsonRpcRequest, is_connection_terminated,
    is_incoming_transport_closed,
};

use super::error::misfit;

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
    /// What it answered is not what the protocol has for that method; what is wrong with it.
    Malformed(String, String),
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
        match tokio::time::timeout(patience, self.answer(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Unanswered::Late(patience)),
        }
    }

    /// Asks and waits, for as long as the client takes.
    async fn answer<Req: JsonRpcRequest>(&self, request: Req) -> Result<Req::Response, Unanswered> {
        let method = request.method().to_owned();
        let answer = self.connection.send_request(request).block_task().await;
        answer.map_err(|error| Unanswered::to(&method, error))
    }

    /// Asks for something that the person must answer.
    async fn ask_person<Req: JsonRpcRequest>(&self, request: Req) -> Result<Req::Response, Unanswered> {
        match self.patience.person {
            Some(patience) => self.ask_within(patience, request).await,
            None => self.answer(request).await,
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

impl Unanswered {
    /// Why a request of that method has no answer.
    fn to(method: &str, error: Error) -> Self {
        if is_incoming_transport_closed(&error) || is_connection_terminated(&error) {
            return Self::Gone;
        }
        match misread(&error) {
            Some(problem) => Self::Malformed(method.to_owned(), problem),
            None => Self::Refused(error),
        }
    }
}

/// What is wrong with an answer that the SDK could not read, without a piece of it; none for a client's own error. The
/// SDK puts what it could not read beside the reason.
fn misread(error: &Error) -> Option<String> {
    let data = error.data.as_ref().filter(|_| error.code == ErrorCode::PARSE_ERROR)?;
    let why = data.get("error")?.as_str()?;
    let is_ours = data.get("phase")? == "deserialization" && data.get("json").is_some();
    is_ours.then(|| misfit(why).unwrap_or_else(|| "it has another form".to_owned()))
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the editor refused: {}", said(error)),
            Self::Malformed(method, problem) => {
                write!(f, "the editor answered `{method}` with what the protocol does not have there: {problem}")
            }
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
