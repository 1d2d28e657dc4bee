//! Which method is answered how.
//!
//! The dispatch loop is serial, so a handler here only reads its parameters and does what must happen in the order of
//! messages; the rest runs in a task of its own. No client request is ever awaited in the loop. Tested in `tests.rs`.

mod in_flight;
mod lifecycle;
mod unload;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use acp_runtime_agent::plain;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::session::{OpenError, SessionFactory};
use acp_runtime_agent::store::PointOfNoReturn;
use acp_runtime_agent::transcript::{SessionId, StopReason};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema;
use agent_client_protocol::{
    Client, ConnectionTo, Dispatch, Error, HandleDispatchFrom, Handled, RequestCancellation, Responder, UntypedMessage,
};
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::accounts::Login;
use super::error::RequestError;
use super::live::{Door, LiveSession, LiveSessions};
use super::offers::{Offer, Offers};
use super::panels::PanelRequest;
use super::{Backing, Options, accounts, wire};
use crate::transport::Flow;
use in_flight::{InFlight, Pending};

/// What the handlers of one connection share.
pub(super) struct State {
    factory: Arc<dyn SessionFactory>,
    login: Arc<Login>,
    options: Options,
    flow: Flow,
    /// Set by `initialize`.
    offers: OnceLock<Offers>,
    draws_panels: Arc<AtomicBool>,
    pub(super) sessions: LiveSessions,
    pub(super) in_flight: InFlight,
}

/// Takes every message of one client.
pub(super) struct Desk(Arc<State>);

impl Desk {
    pub(super) fn new(backing: Backing, options: Options, flow: Flow) -> Self {
        let Backing { factory, accounts, redaction } = backing;
        Self(Arc::new(State {
            factory,
            login: Arc::new(Login::new(accounts)),
            options,
            flow,
            offers: OnceLock::new(),
            draws_panels: Arc::default(),
            sessions: LiveSessions::default(),
            in_flight: InFlight::new(redaction),
        }))
    }

    pub(super) fn state(&self) -> Arc<State> {
        self.0.clone()
    }
}

impl HandleDispatchFrom<Client> for Desk {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        connection: ConnectionTo<Client>,
    ) -> Result<Handled<Dispatch>, Error> {
        match message {
            Dispatch::Request(request, responder) => self.0.clone().request(request, responder, connection)?,
            Dispatch::Notification(notification) => self.0.clone().notification(notification, connection),
            // The connection routes it to whoever asked.
            message @ Dispatch::Response(..) => return Ok(Handled::No { message, retry: false }),
        }
        Ok(Handled::Yes)
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        "acp-runtime"
    }
}

type Work<T> = BoxFuture<'static, Result<T, RequestError>>;

/// How a request is answered. What works in a task of its own is dropped where it stands when the client cancels the
/// request before its point of no return, and leaves nothing then: it is answered as cancelled. After that point it is
/// done to its end, and answered as if nobody had cancelled it.
enum Answer {
    /// At once.
    Now(Value),
    /// From a task of its own.
    Later(Work<Value>, PointOfNoReturn),
    /// From a task of its own; the session begins to show itself after the answer, and what waits at the door is done
    /// after that.
    Opening(Work<(Value, Arc<LiveSession>)>, PointOfNoReturn, Option<Arc<Door>>),
}

impl State {
    fn request(
        self: Arc<Self>,
        request: UntypedMessage,
        responder: Responder,
        connection: ConnectionTo<Client>,
    ) -> Result<(), Error> {
        let (method, params) = request.into_parts();
        let session = session_of(&params);
        let pending = match self.in_flight.enter(responder, &method, session.as_ref(), wire::trace(&params)) {
            Ok(pending) => pending,
            Err(responder) => return responder.respond_with_error(RequestError::TakenId.into()),
        };
        let (state, client) = (self.clone(), connection.clone());
        let work = move |opened: Result<(), OpenError>| match opened {
            Ok(()) => state.work_on(pending, &method, params, client),
            Err(error) => pending.respond(Err(error.into())),
        };
        self.when_open(session.as_ref(), Box::new(work), connection);
        Ok(())
    }

    fn work_on(self: Arc<Self>, pending: Pending, method: &str, params: Value, connection: ConnectionTo<Client>) {
        let cancellation = pending.cancellation();
        if cancellation.is_cancelled() {
            return pending.respond(Err(RequestError::Cancelled));
        }
        match self.clone().answer(method, params, &pending, connection) {
            Ok(Answer::Now(value)) => pending.respond(Ok(value)),
            Err(error) => pending.respond(Err(error)),
            Ok(Answer::Later(work, point)) => {
                tokio::spawn(async move { pending.respond(or_cancelled(work, &point, &cancellation).await) });
            }
            Ok(Answer::Opening(work, point, door)) => {
                tokio::spawn(async move {
                    match or_cancelled(work, &point, &cancellation).await {
                        Ok((value, session)) => {
                            self.sessions.insert(session.clone());
                            pending.respond(Ok(value));
                            session.begin();
                        }
                        Err(error) => pending.respond(Err(error)),
                    }
                    drop(door);
                });
            }
        }
    }

    fn answer(
        self: Arc<Self>,
        method: &str,
        params: Value,
        pending: &Pending,
        connection: ConnectionTo<Client>,
    ) -> Result<Answer, RequestError> {
        if method == "initialize" {
            return self.initialize(&params);
        }
        let Some(offers) = self.offers.get().copied() else { return Err(RequestError::NotInitialized) };
        if method.starts_with("_aar/") {
            return self.panel(method, params);
        }
        match method {
            "authenticate" => self.authenticate(params),
            "logout" => self.log_out(params),
            "session/new" => self.new_session(params, offers, connection),
            "session/load" => self.load_session(params, offers, connection),
            "session/resume" => self.resume_session(params, offers, connection),
            "session/fork" => self.fork_session(params, offers, connection),
            "session/list" => self.list_sessions(params),
            "session/close" => self.close_session(params),
            "session/delete" => self.delete_session(params),
            "session/set_mode" => self.set_mode(params),
            "session/set_model" => self.set_model(params),
            "session/set_config_option" => self.set_option(params, offers),
            "session/prompt" => self.prompt(params, pending),
            _ => Err(RequestError::UnknownMethod(method.to_owned())),
        }
    }

    fn notification(self: Arc<Self>, notification: UntypedMessage, connection: ConnectionTo<Client>) {
        let (method, params) = notification.into_parts();
        match method.as_str() {
            "session/cancel" => self.cancel(params, connection),
            // The connection has told the request of it; what its prompt asks for must not be answered before that.
            "$/cancel_request" => self.in_flight.withdraw(&params),
            _ => tracing::debug!(method, "ignored a notification"),
        }
    }

    fn cancel(self: Arc<Self>, params: Value, connection: ConnectionTo<Client>) {
        let session = session_of(&params);
        let state = self.clone();
        let cancel = move |_| match read::<schema::CancelNotification>(params) {
            Ok(cancel) => {
                if let Ok(session) = state.session(&cancel.session_id) {
                    session.handle.cancel();
                }
            }
            Err(error) => tracing::warn!(%error, "ignored a `session/cancel`"),
        };
        self.when_open(session.as_ref(), Box::new(cancel), connection);
    }

    /// The version is a number, but some clients send a text; each gets the only version that there is.
    fn initialize(&self, params: &Value) -> Result<Answer, RequestError> {
        if !matches!(params.get("protocolVersion"), Some(Value::Number(_) | Value::String(_))) {
            return Err(RequestError::field("protocolVersion", "must be a number"));
        }
        let offers = params.get("clientCapabilities").map(Offers::read).unwrap_or_default();
        self.offers.set(offers).map_err(|_| RequestError::Initialized)?;
        if offers.has(Offer::Panels) {
            self.draws_panels.store(true, Ordering::Release);
        }
        let Options { name, title, version, program, .. } = &self.options;
        let mut hello = json(
            schema::InitializeResponse::new(ProtocolVersion::V1)
                .agent_info(schema::Implementation::new(name, version).title(title.clone()))
                .agent_capabilities(wire::capabilities())
                .auth_methods(accounts::methods(offers, program.as_ref())),
        );
        hello["agentCapabilities"]["sessionCapabilities"]["fork"] = wire::fork_capability();
        Ok(Answer::Now(hello))
    }

    fn authenticate(&self, params: Value) -> Result<Answer, RequestError> {
        let params: schema::AuthenticateRequest = read(params)?;
        self.login.authenticate(&params.method_id.0)?;
        value(schema::AuthenticateResponse::new())
    }

    fn log_out(&self, params: Value) -> Result<Answer, RequestError> {
        let schema::LogoutRequest { .. } = read(params)?;
        let login = self.login.clone();
        let work = Box::pin(async move {
            login.log_out().await?;
            Ok(json(schema::LogoutResponse::new()))
        });
        Ok(Answer::Later(work, PointOfNoReturn::passed()))
    }

    fn set_mode(&self, params: Value) -> Result<Answer, RequestError> {
        let params: schema::SetSessionModeRequest = read(params)?;
        let session = self.session(&params.session_id)?;
        let mode = Mode::from_id(&params.mode_id.0).ok_or_else(|| RequestError::Field {
            field: "modeId",
            reason: format!("there is no mode `{}`", plain::line(&params.mode_id.0, 80)),
            available: Some(Mode::ALL.into_iter().map(|mode| mode.id().to_owned()).collect()),
        })?;
        session.handle.set_mode(mode);
        value(schema::SetSessionModeResponse::new())
    }

    fn set_model(&self, params: Value) -> Result<Answer, RequestError> {
        let params: wire::SetModelRequest = read(params)?;
        let session = self.session(&params.session_id)?;
        session.handle.set_model(&params.model_id).map_err(|error| RequestError::option("modelId", error))?;
        Ok(Answer::Now(Value::Object(Map::new())))
    }

    fn set_option(&self, params: Value, offers: Offers) -> Result<Answer, RequestError> {
        let params: wire::SetOptionRequest = read(params)?;
        let session = self.session(&params.session_id)?;
        let changed = session.handle.set_option(&params.config_id, params.value()?);
        changed.map_err(|error| RequestError::option("value", error))?;
        value(schema::SetSessionConfigOptionResponse::new(wire::options(session.handle.options(), offers)))
    }

    /// Cancelling the request takes this prompt back, and no other of the session.
    fn prompt(&self, params: Value, pending: &Pending) -> Result<Answer, RequestError> {
        let params: wire::PromptRequest = read(params)?;
        let session = self.session(&params.session_id)?;
        let parts = wire::parts(params)?;
        let prompt = session.handle.prompt_within(parts, pending.trace().clone());
        pending.is_taken_back_by(prompt.withdrawal());
        let cancellation = pending.cancellation();
        let work = Box::pin(async move {
            let stop = prompt.await;
            session.touch();
            match stop {
                Ok(StopReason::Cancelled) if cancellation.is_cancelled() => Err(RequestError::Cancelled),
                Ok(stop) => Ok(json(schema::PromptResponse::new(wire::stop_reason(stop)))),
                Err(error) => Err(RequestError::Prompt { session: session.handle.id().clone(), error }),
            }
        });
        // Its turn knows of the cancellation.
        Ok(Answer::Later(work, PointOfNoReturn::passed()))
    }

    /// Panel requests of one session are answered one after another, in their order. One that is cancelled while its
    /// plugin works ends there, as a call of a tool does: what the plugin has done by then stays.
    fn panel(&self, method: &str, params: Value) -> Result<Answer, RequestError> {
        let (id, request) = PanelRequest::read(method, params)?;
        self.draws_panels.store(true, Ordering::Release);
        let session = self
            .sessions
            .get(&id)
            .ok_or_else(|| RequestError::contract("sessionId", format!("unknown session '{id}'")))?;
        let (mut reply, answer) = oneshot::channel();
        let handle = session.handle.clone();
        session.queue_for_panels(Box::pin(async move {
            let answer = tokio::select! {
                biased;
                () = reply.closed() => return,
                answer = request.answer(handle) => answer,
            };
            // Whoever asked may have cancelled at the last moment.
            let _ = reply.send(answer);
        }));
        let work = Box::pin(async move {
            let answer = answer.await.unwrap_or_else(|_| Err(RequestError::UnknownSession(id)));
            session.touch();
            answer
        });
        Ok(Answer::Later(work, PointOfNoReturn::default()))
    }

    /// The process is about to end, and no other one is waited for.
    pub(super) fn hurry(&self) {
        self.factory.store().hurry();
    }

    fn session(&self, id: &schema::SessionId) -> Result<Arc<LiveSession>, RequestError> {
        let id = SessionId::new(&id.0);
        self.sessions.get(&id).ok_or(RequestError::UnknownSession(id))
    }
}

/// The result of `work`, or that the client has cancelled it before it passed `point`.
async fn or_cancelled<T>(
    mut work: Work<T>,
    point: &PointOfNoReturn,
    cancellation: &RequestCancellation,
) -> Result<T, RequestError> {
    tokio::select! {
        biased;
        answer = &mut work => return answer,
        () = cancellation.cancelled() => {}
    }
    if point.turn_back() { Err(RequestError::Cancelled) } else { work.await }
}

/// The session that parameters are about, if they name one, in the spelling of ACP or of Aar's panels.
fn session_of(params: &Value) -> Option<SessionId> {
    ["sessionId", "session_id"].into_iter().find_map(|name| params.get(name)?.as_str()).map(SessionId::new)
}

/// Reads parameters by name; none at all count as empty ones.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, RequestError> {
    let params = match params {
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) => params,
        _ => return Err(RequestError::Form("invalid type, expected an object".to_owned())),
    };
    serde_json::from_value(params).map_err(|error| RequestError::form(&error))
}

#[expect(clippy::unnecessary_wraps, reason = "the last word of handlers that can fail")]
fn value(answer: impl Serialize) -> Result<Answer, RequestError> {
    Ok(Answer::Now(json(answer)))
}

/// Answers are plain data with a JSON form.
fn json(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}
