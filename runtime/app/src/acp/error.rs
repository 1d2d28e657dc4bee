//! Why a request is not answered with a result, and the one place that gives it a JSON-RPC form.
//!
//! Each error has the code of the protocol, a message that says why, and `data` that says what to do. What a peer sent
//! is never repeated, apart from ids, paths and the names of methods. Tested by a table.

use acp_runtime_agent::capability::RootId;
use acp_runtime_agent::model::{ModelError, ModelErrorKind};
use acp_runtime_agent::options::OptionError;
use acp_runtime_agent::session::{Fault, OpenError, PromptError};
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_agent::turn::TurnError;
use agent_client_protocol::{Error, ErrorCode};
use serde_json::{Map, Value, json};

use crate::redaction::Redaction;
use crate::transport::because;

/// Why a request is refused or has failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// Something else came before `initialize`.
    #[error("`initialize` must be the first request")]
    NotInitialized,
    /// `initialize` came twice.
    #[error("`initialize` was answered already")]
    Initialized,
    /// The id of a request that is not answered yet.
    #[error("a request with this id is not answered yet: ids are unique while in flight")]
    TakenId,
    /// The client has cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
    /// Nobody here answers that method.
    #[error("there is no method of that name")]
    UnknownMethod(String),
    /// The parameters do not have the form that the method asks for.
    #[error("{0}")]
    Form(String),
    /// One parameter is not right.
    #[error("`{field}`: {reason}{}", there_are(available.as_deref()))]
    Field {
        /// Which.
        field: &'static str,
        /// What is expected.
        reason: String,
        /// What there is to choose from, where that is known.
        available: Option<Vec<String>>,
    },
    /// A content block of a prompt cannot be taken.
    #[error("block {index}{}: {reason}", kind.map_or(String::new(), |kind| format!(" ({kind})")))]
    Block {
        /// Counted from 0.
        index: usize,
        /// What it is; none for what is no kind of content.
        kind: Option<&'static str>,
        /// Why.
        reason: String,
    },
    /// No such session.
    #[error("unknown session `{0}`")]
    UnknownSession(SessionId),
    /// A session could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The sessions could not be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A prompt was not answered.
    #[error("{error}")]
    Prompt {
        /// Of which session.
        session: SessionId,
        /// Why.
        error: PromptError,
    },
    /// A prompt was answered, and what it asked for was not done.
    #[error("{reason}")]
    Undone {
        /// Of which kind that is.
        fault: Fault,
        /// Why, as people have read it.
        reason: String,
    },
    /// A key is missing, or the client has logged out.
    #[error(transparent)]
    Access(ModelError),
    /// The kept keys could not all be forgotten.
    #[error("not every key could be forgotten: {0}")]
    Logout(String),
    /// What Aar's contract says to a request for a panel: its words are in `data`, and clients look at them there.
    #[error("{field}: {reason}")]
    Contract {
        /// The parameter.
        field: &'static str,
        /// What the contract says of it.
        reason: String,
        /// What there is to choose from, where the contract has that.
        available: Option<Vec<String>>,
    },
    /// A panel could not be drawn; why.
    #[error("{0}")]
    Panel(String),
}

impl RequestError {
    /// One parameter is not right.
    pub(super) fn field(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Field { field, reason: reason.into(), available: None }
    }

    /// What Aar's contract says of a parameter.
    pub(super) fn contract(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Contract { field, reason: reason.into(), available: None }
    }

    /// An option that was not changed; `field` has its value.
    pub(super) fn option(field: &'static str, error: OptionError) -> Self {
        match error {
            OptionError::Unknown { option, available } => {
                let reason = format!("there is no option `{option}`");
                Self::Field { field: "configId", reason, available: Some(available) }
            }
            OptionError::Value { option, value, available } => {
                let reason = format!("`{value}` is not a value of the option `{option}`");
                Self::Field { field, reason, available: Some(available) }
            }
            OptionError::Model(reason) => Self::field(field, reason),
            error @ OptionError::Withheld { .. } => Self::field("configId", error.to_string()),
        }
    }

    /// Parameters that could not be read.
    pub(super) fn form(error: &serde_json::Error) -> Self {
        Self::Form(without_input(&error.to_string()))
    }
}

/// What there is to choose from, as the end of a sentence; `data` has all of it.
fn there_are(available: Option<&[String]>) -> String {
    const MOST: usize = 20;
    match available {
        None | Some([]) => String::new(),
        Some(all) if all.len() <= MOST => format!("; there are `{}`", all.join("`, `")),
        Some(all) => {
            let (first, rest) = all.split_at(MOST);
            format!("; there are `{}` and {} more", first.join("`, `"), rest.len())
        }
    }
}

/// What serde says of parameters, without the piece of input that it quotes.
pub(super) fn without_input(message: &str) -> String {
    let other = || "the parameters do not have the form that the protocol gives them".to_owned();
    misfit(message).unwrap_or_else(other)
}

/// What serde says, without the piece of input that it quotes; none where nothing else is left.
pub(super) fn misfit(message: &str) -> Option<String> {
    const EXPECTED: &str = ", expected ";
    if message.starts_with("missing field ") {
        return Some(message.to_owned());
    }
    let found = message.split([':', '`']).next().unwrap_or_default().trim_end();
    let expected = message.rfind(EXPECTED).and_then(|at| message.get(at..))?;
    Some(format!("{found}{expected}"))
}

/// The error without secrets, whoever said them.
pub(super) fn cleaned(mut error: Error, redaction: &Redaction) -> Error {
    error.message = redaction.clean(&error.message).into_owned();
    error.data = error.data.map(|data| redaction.clean_json(data));
    error
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        let message = error.to_string();
        match error {
            RequestError::NotInitialized | RequestError::Initialized | RequestError::TakenId => {
                because(Self::invalid_request(), &message).data(json!({ "reason": message }))
            }
            RequestError::Cancelled => Self::request_cancelled(),
            RequestError::UnknownMethod(method) => unknown_method(&method),
            RequestError::Form(details) => invalid(&details).data(json!({ "details": details })),
            RequestError::Field { field, reason, available } => invalid(&message).data(about(field, reason, available)),
            RequestError::Block { index, kind, reason: _ } => {
                invalid(&message).data(json!({ "prompt": message, "block": index, "kind": kind }))
            }
            RequestError::UnknownSession(id) => unknown_session(&id, message),
            RequestError::Open(error) => open(error, message),
            RequestError::Store(StoreError::BadCursor(_)) => {
                Self::from(RequestError::field("cursor", "not a cursor of this list"))
            }
            RequestError::Store(error) => store(&error),
            RequestError::Prompt { session, error } => prompt(&session, error, message),
            RequestError::Undone { fault, reason } => undone(fault, &reason),
            RequestError::Access(error) => model(&error),
            RequestError::Logout(details) => {
                let data = json!({ "details": details, "reason": "secrets", "retryable": true });
                Self::new(ErrorCode::INTERNAL_ERROR, message).data(data)
            }
            RequestError::Contract { field, reason, available } => {
                Self::invalid_params().data(about(field, reason, available))
            }
            RequestError::Panel(message) => {
                let data = json!({ "details": message, "reason": "panel", "retryable": true });
                Self::new(ErrorCode::INTERNAL_ERROR, message).data(data)
            }
        }
    }
}

fn invalid(reason: &str) -> Error {
    because(Error::invalid_params(), reason)
}

/// `data` about one parameter.
fn about(field: &str, reason: String, available: Option<Vec<String>>) -> Value {
    let available = available.map(|available| ("available".to_owned(), available.into()));
    Value::Object(std::iter::once((field.to_owned(), reason.into())).chain(available).collect())
}

/// The message of Aar's own methods is the contract's.
fn unknown_method(method: &str) -> Error {
    let error = Error::method_not_found();
    let error = if method.starts_with("_aar/") { error } else { because(error, &format!("`{method}`")) };
    error.data(json!({ "method": method }))
}

fn unknown_session(id: &SessionId, message: String) -> Error {
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, message).data(json!({ "sessionId": id.as_str() }))
}

fn open(error: OpenError, message: String) -> Error {
    match error {
        OpenError::Unknown(id) => unknown_session(&id, message),
        OpenError::Folder { root: RootId(0), .. } => invalid(&message).data(json!({ "cwd": message })),
        OpenError::Folder { .. } => invalid(&message).data(json!({ "additionalDirectories": message })),
        OpenError::NoMessage { .. } => invalid(&message).data(json!({ "_meta.aar.messageId": message })),
        OpenError::Store(error) => store(&error),
        OpenError::Setup { message, hint } => {
            let data = json!({ "details": message, "reason": "configuration", "hint": hint, "retryable": false });
            Error::new(ErrorCode::INTERNAL_ERROR, message).data(data)
        }
    }
}

fn store(error: &StoreError) -> Error {
    let message = error.to_string();
    if let StoreError::InUse { session, process } = error {
        let data = json!({
            "sessionId": session.as_str(),
            "details": format!("{message}; close it there, or end that process, and try again"),
            "reason": "in_use",
            "process": process,
            "retryable": true,
        });
        return Error::new(ErrorCode::INVALID_REQUEST, message).data(data);
    }
    if matches!(error, StoreError::TakenBack) {
        return Error::request_cancelled();
    }
    let retryable = matches!(error, StoreError::Unwritable { retryable: true, .. } | StoreError::Busy { .. });
    let details = match error {
        StoreError::Busy { .. } => format!("{message}; end that process, or wait for it, and try again"),
        _ => message.clone(),
    };
    let data = json!({ "details": details, "reason": "store", "retryable": retryable });
    Error::new(ErrorCode::INTERNAL_ERROR, message).data(data)
}

fn prompt(session: &SessionId, error: PromptError, message: String) -> Error {
    match error {
        PromptError::Busy => {
            because(Error::invalid_request(), &message).data(json!({ "reason": "busy", "details": message }))
        }
        PromptError::Closed => unknown_session(session, message),
        PromptError::Turn(TurnError::Model(error)) => model(&error),
        PromptError::Turn(TurnError::Store(error)) => store(&error),
        PromptError::Turn(TurnError::Internal(details)) => {
            let data = json!({ "details": details, "reason": "internal", "retryable": false });
            Error::new(ErrorCode::INTERNAL_ERROR, details).data(data)
        }
    }
}

/// The first line says why, the next ones what to do.
fn undone(fault: Fault, details: &str) -> Error {
    let (code, reason) = match fault {
        Fault::Misused => (ErrorCode::INVALID_PARAMS, "misused"),
        Fault::NoModel => (ErrorCode::INTERNAL_ERROR, "unconfigured"),
        Fault::Failed => (ErrorCode::INTERNAL_ERROR, "failed"),
    };
    let message = details.lines().next().unwrap_or_default();
    Error::new(code, message).data(json!({ "details": details, "reason": reason }))
}

fn model(error: &ModelError) -> Error {
    let mut data = Map::new();
    data.insert("details".to_owned(), error.message.as_str().into());
    data.insert("reason".to_owned(), error.kind.as_str().into());
    data.insert("provider".to_owned(), error.provider.as_str().into());
    if let Some(status) = error.status {
        data.insert("status".to_owned(), status.into());
    }
    if let Some(after) = error.retry_after {
        data.insert("retryAfterSeconds".to_owned(), after.as_secs().into());
    }
    data.insert("retryable".to_owned(), error.kind.retryable().into());
    let code = match error.kind {
        ModelErrorKind::Auth => ErrorCode::AUTH_REQUIRED,
        ModelErrorKind::RateLimit
        | ModelErrorKind::Overloaded
        | ModelErrorKind::Network
        | ModelErrorKind::Certificate
        | ModelErrorKind::Request
        | ModelErrorKind::ContextOverflow
        | ModelErrorKind::Malformed
        | ModelErrorKind::Empty
        | ModelErrorKind::Unconfigured => ErrorCode::INTERNAL_ERROR,
    };
    Error::new(code, error.message.as_str()).data(Value::Object(data))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use acp_runtime_agent::transcript::MessageId;
    use agent_client_protocol::v1::schema;
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_error_has_its_code_and_says_what_to_do() {
        let session = || SessionId::new("s-1");
        let turn = |error| RequestError::Prompt { session: session(), error: PromptError::Turn(error) };
        let model = |kind, status| {
            turn(TurnError::Model(ModelError {
                message: "the key was not accepted; check `api_key`".to_owned(),
                kind,
                provider: "anthropic".to_owned(),
                status,
                retry_after: Some(Duration::from_secs(3)),
            }))
        };
        let unwritable = |reason: &str, retryable| StoreError::Unwritable {
            path: "/db".to_owned(),
            reason: reason.to_owned(),
            retryable,
        };
        let table: Vec<String> = [
            RequestError::NotInitialized,
            RequestError::Initialized,
            RequestError::TakenId,
            RequestError::Cancelled,
            RequestError::UnknownMethod("x/y".to_owned()),
            RequestError::field("cwd", "must be an absolute path"),
            RequestError::UnknownSession(session()),
            OpenError::Unknown(session()).into(),
            OpenError::Folder { root: RootId(0), path: "/x".to_owned(), reason: "not found".to_owned() }.into(),
            OpenError::Folder { root: RootId(2), path: "/y".to_owned(), reason: "not found".to_owned() }.into(),
            OpenError::NoMessage { session: session(), message: MessageId::new("msg-9") }.into(),
            OpenError::Setup { message: "no model `x`".to_owned(), hint: "see `acp-runtime models`".to_owned() }.into(),
            OpenError::Store(unwritable("No space left", true)).into(),
            OpenError::Store(StoreError::InUse { session: session(), process: 4711 }).into(),
            StoreError::Busy { path: "/db".to_owned() }.into(),
            StoreError::TakenBack.into(),
            StoreError::BadCursor("secret".to_owned()).into(),
            model(ModelErrorKind::Auth, Some(401)),
            model(ModelErrorKind::RateLimit, Some(429)),
            turn(TurnError::Store(unwritable("it may only be read", false))),
            turn(TurnError::Internal("a tool is broken".to_owned())),
            RequestError::Prompt { session: session(), error: PromptError::Busy },
            RequestError::Prompt { session: session(), error: PromptError::Closed },
            RequestError::contract("nodeId", "unknown node 'n'"),
            RequestError::UnknownMethod("_aar/x".to_owned()),
            RequestError::Panel("panel `tasks` failed: trap".to_owned()),
        ]
        .into_iter()
        .map(|error| serde_json::to_string(&Error::from(error)).unwrap())
        .collect();
        expect![[r#"
            {"code":-32600,"message":"Invalid request: `initialize` must be the first request","data":{"reason":"`initialize` must be the first request"}}
            {"code":-32600,"message":"Invalid request: `initialize` was answered already","data":{"reason":"`initialize` was answered already"}}
            {"code":-32600,"message":"Invalid request: a request with this id is not answered yet: ids are unique while in flight","data":{"reason":"a request with this id is not answered yet: ids are unique while in flight"}}
            {"code":-32800,"message":"Request cancelled"}
            {"code":-32601,"message":"Method not found: `x/y`","data":{"method":"x/y"}}
            {"code":-32602,"message":"Invalid params: `cwd`: must be an absolute path","data":{"cwd":"must be an absolute path"}}
            {"code":-32002,"message":"unknown session `s-1`","data":{"sessionId":"s-1"}}
            {"code":-32002,"message":"unknown session `s-1`","data":{"sessionId":"s-1"}}
            {"code":-32602,"message":"Invalid params: `/x` cannot be opened as a folder of the session: not found","data":{"cwd":"`/x` cannot be opened as a folder of the session: not found"}}
            {"code":-32602,"message":"Invalid params: `/y` cannot be opened as a folder of the session: not found","data":{"additionalDirectories":"`/y` cannot be opened as a folder of the session: not found"}}
            {"code":-32602,"message":"Invalid params: session `s-1` has no message `msg-9`","data":{"_meta.aar.messageId":"session `s-1` has no message `msg-9`"}}
            {"code":-32603,"message":"no model `x`","data":{"details":"no model `x`","reason":"configuration","hint":"see `acp-runtime models`","retryable":false}}
            {"code":-32603,"message":"the session store at `/db` cannot be written: No space left","data":{"details":"the session store at `/db` cannot be written: No space left","reason":"store","retryable":true}}
            {"code":-32600,"message":"session `s-1` is open in another process (4711)","data":{"sessionId":"s-1","details":"session `s-1` is open in another process (4711); close it there, or end that process, and try again","reason":"in_use","process":4711,"retryable":true}}
            {"code":-32603,"message":"the session store at `/db` is held by another process, which does not let go of it","data":{"details":"the session store at `/db` is held by another process, which does not let go of it; end that process, or wait for it, and try again","reason":"store","retryable":true}}
            {"code":-32800,"message":"Request cancelled"}
            {"code":-32602,"message":"Invalid params: `cursor`: not a cursor of this list","data":{"cursor":"not a cursor of this list"}}
            {"code":-32000,"message":"the key was not accepted; check `api_key`","data":{"details":"the key was not accepted; check `api_key`","reason":"auth","provider":"anthropic","status":401,"retryAfterSeconds":3,"retryable":false}}
            {"code":-32603,"message":"the key was not accepted; check `api_key`","data":{"details":"the key was not accepted; check `api_key`","reason":"rate_limit","provider":"anthropic","status":429,"retryAfterSeconds":3,"retryable":true}}
            {"code":-32603,"message":"the session store at `/db` cannot be written: it may only be read","data":{"details":"the session store at `/db` cannot be written: it may only be read","reason":"store","retryable":false}}
            {"code":-32603,"message":"a tool is broken","data":{"details":"a tool is broken","reason":"internal","retryable":false}}
            {"code":-32600,"message":"Invalid request: the session is busy with another prompt: wait for it, or cancel it","data":{"reason":"busy","details":"the session is busy with another prompt: wait for it, or cancel it"}}
            {"code":-32002,"message":"the session is closed","data":{"sessionId":"s-1"}}
            {"code":-32602,"message":"Invalid params","data":{"nodeId":"unknown node 'n'"}}
            {"code":-32601,"message":"Method not found","data":{"method":"_aar/x"}}
            {"code":-32603,"message":"panel `tasks` failed: trap","data":{"details":"panel `tasks` failed: trap","reason":"panel","retryable":true}}"#]].assert_eq(&table.join("\n"));
    }

    #[test]
    fn what_was_sent_is_never_repeated() {
        let secret = "sk-secret, expected nothing";
        for params in [
            json!({ "sessionId": secret, "prompt": secret }),
            json!({ "sessionId": "s", "prompt": [{ "type": secret }] }),
            json!({ "sessionId": { "k": secret }, "prompt": [] }),
            json!([secret]),
            json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": 5, "x": secret }] }),
        ] {
            let error = serde_json::from_value::<schema::PromptRequest>(params).unwrap_err();
            let said = serde_json::to_string(&Error::from(RequestError::form(&error))).unwrap();
            assert!(!said.contains("sk-secret"), "{said}");
        }
        assert_eq!(without_input("missing field `cwd`"), "missing field `cwd`");
        assert_eq!(
            without_input("invalid type: string \"x\", expected a sequence"),
            "invalid type, expected a sequence"
        );
        assert_eq!(without_input("unknown variant `x`, expected `a` or `b`"), "unknown variant, expected `a` or `b`");
    }
}
