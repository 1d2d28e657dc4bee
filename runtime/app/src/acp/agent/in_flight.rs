//! The requests that are not answered yet.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use acp_runtime_agent::plain;
use acp_runtime_agent::session::Withdrawal;
use acp_runtime_agent::trace::TraceContext;
use acp_runtime_agent::transcript::SessionId;
use agent_client_protocol::{Error, ErrorCode, RawJsonRpcId, RequestCancellation, Responder};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::Notify;

use crate::acp::error::{RequestError, cleaned};
use crate::redaction::Redaction;

/// Characters of what a client wrote that the log shows.
const SHOWN: usize = 100;
/// Of the caller's own words about its trace.
const BAGGAGE: usize = 512;

/// The ids of all requests that are not answered yet.
pub(in crate::acp) struct InFlight {
    inner: Arc<Inner>,
    redaction: Redaction,
}

#[derive(Default)]
struct Inner {
    open: Mutex<Open>,
    answered: Notify,
}

#[derive(Default)]
struct Open {
    requests: usize,
    /// Of those that no answer was given to, and how to take back what they have begun where the session must know of it.
    ids: HashMap<RawJsonRpcId, Option<Withdrawal>>,
}

impl InFlight {
    /// None yet. What `redaction` knows is kept out of the errors that they are answered with.
    pub(super) fn new(redaction: Redaction) -> Self {
        Self { inner: Arc::default(), redaction }
    }

    /// Takes a request in, or gives it back where its id is taken.
    #[expect(clippy::result_large_err, reason = "a responder is moved, and only when a request is refused")]
    pub(super) fn enter(
        &self,
        responder: Responder,
        method: &str,
        session: Option<&SessionId>,
        trace: TraceContext,
    ) -> Result<Pending, Responder> {
        let id = responder.raw_id().clone();
        let mut open = self.inner.lock();
        if open.ids.contains_key(&id) {
            return Err(responder);
        }
        open.ids.insert(id.clone(), None);
        open.requests += 1;
        drop(open);
        let log = Log { method: plain::line(method, SHOWN), session: session.cloned(), trace, began: Instant::now() };
        let ticket = Ticket { inner: self.inner.clone(), id: Some(id) };
        Ok(Pending { responder, log, redaction: self.redaction.clone(), ticket })
    }

    /// Takes back at once what the request has begun that a `$/cancel_request` names.
    pub(super) fn withdraw(&self, params: &Value) {
        let id = params.get("requestId").and_then(|id| RawJsonRpcId::deserialize(id).ok());
        let withdrawal = id.and_then(|id| self.inner.lock().ids.get(&id).cloned().flatten());
        if let Some(withdrawal) = withdrawal {
            withdrawal.withdraw();
        }
    }

    /// Waits until all requests are answered.
    pub(in crate::acp) async fn idle(&self) {
        loop {
            let answered = self.inner.answered.notified();
            if self.inner.lock().requests == 0 {
                return;
            }
            answered.await;
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that must be answered. Dropping it answers with an internal error.
pub(super) struct Pending {
    responder: Responder,
    log: Log,
    redaction: Redaction,
    /// Given back after the responder was used, so that nobody sees the request as answered before it is.
    ticket: Ticket,
}

impl Pending {
    /// Says when the client cancels the request.
    pub(super) fn cancellation(&self) -> RequestCancellation {
        self.responder.cancellation()
    }

    /// The trace that the request belongs to.
    pub(super) fn trace(&self) -> &TraceContext {
        &self.log.trace
    }

    /// What the request has begun is taken back that way when the client cancels it, also if it has done so already.
    pub(super) fn is_taken_back_by(&self, withdrawal: Withdrawal) {
        if let Some(id) = &self.ticket.id {
            self.ticket.inner.lock().ids.insert(id.clone(), Some(withdrawal.clone()));
        }
        if self.cancellation().is_cancelled() {
            withdrawal.withdraw();
        }
    }

    pub(super) fn respond(self, answer: Result<Value, RequestError>) {
        let Self { responder, log, redaction, mut ticket } = self;
        let answer = answer.map_err(|error| cleaned(error.into(), &redaction));
        log.line(&answer);
        // Whoever sees the answer may use the id again at once.
        ticket.give_id_back();
        if let Err(error) = responder.respond_with_result(answer) {
            tracing::debug!(code = ?error.code, "the client is gone and got no answer");
        }
        drop(ticket);
    }
}

/// What the log says of a request: one line, when it is answered.
struct Log {
    method: String,
    session: Option<SessionId>,
    trace: TraceContext,
    began: Instant,
}

impl Log {
    fn line(&self, answer: &Result<Value, Error>) {
        let Self { method, session, trace, began } = self;
        // A session that is opened has its id in the answer.
        let opened = answer.as_ref().ok().and_then(|answer| answer.get("sessionId")?.as_str());
        let session = session.as_ref().map(SessionId::as_str).or(opened).map(|id| plain::line(id, SHOWN));
        let session = session.unwrap_or_default();
        let outcome = answer.as_ref().map_or_else(|error| i32::from(error.code).to_string(), |_| "ok".to_owned());
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (traceparent, tracestate) = (trace.parent(), trace.state());
        let baggage = trace.baggage().map(|baggage| plain::line(baggage, BAGGAGE));
        // What a client has done wrong is told to the client; it is no trouble of this program.
        let is_ours = answer.as_ref().is_err_and(|error| error.code == ErrorCode::INTERNAL_ERROR);
        if is_ours {
            tracing::warn!(target: "request", method, session, ms, traceparent, tracestate, baggage, outcome);
        } else {
            tracing::info!(target: "request", method, session, ms, traceparent, tracestate, baggage, outcome);
        }
    }
}

struct Ticket {
    inner: Arc<Inner>,
    /// None once it was given back.
    id: Option<RawJsonRpcId>,
}

impl Ticket {
    fn give_id_back(&mut self) {
        if let Some(id) = self.id.take() {
            self.inner.lock().ids.remove(&id);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.give_id_back();
        self.inner.lock().requests -= 1;
        self.inner.answered.notify_waiters();
    }
}
