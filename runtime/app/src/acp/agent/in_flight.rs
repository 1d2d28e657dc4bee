//! The requests that are not answered yet.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::{RawJsonRpcId, RequestCancellation, Responder};
use serde_json::Value;
use tokio::sync::Notify;

use crate::acp::error::RequestError;

/// The ids of all requests that are not answered yet.
#[derive(Default)]
pub(in crate::acp) struct InFlight(Arc<Inner>);

#[derive(Default)]
struct Inner {
    open: Mutex<Open>,
    answered: Notify,
}

#[derive(Default)]
struct Open {
    requests: usize,
    /// Of those that no answer was given to.
    ids: HashSet<RawJsonRpcId>,
}

impl InFlight {
    /// Takes a request in, or gives it back where its id is taken.
    #[expect(clippy::result_large_err, reason = "a responder is moved, and only when a request is refused")]
    pub(super) fn enter(&self, responder: Responder) -> Result<Pending, Responder> {
        let id = responder.raw_id().clone();
        let mut open = self.0.lock();
        if !open.ids.insert(id.clone()) {
            return Err(responder);
        }
        open.requests += 1;
        drop(open);
        Ok(Pending { responder, ticket: Ticket { inner: self.0.clone(), id: Some(id) } })
    }

    /// Waits until all requests are answered.
    pub(in crate::acp) async fn idle(&self) {
        loop {
            let answered = self.0.answered.notified();
            if self.0.lock().requests == 0 {
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
    /// Given back after the responder was used, so that nobody sees the request as answered before it is.
    ticket: Ticket,
}

impl Pending {
    /// Says when the client cancels the request.
    pub(super) fn cancellation(&self) -> RequestCancellation {
        self.responder.cancellation()
    }

    pub(super) fn respond(self, answer: Result<Value, RequestError>) {
        let Self { responder, mut ticket } = self;
        // Whoever sees the answer may use the id again at once.
        ticket.give_id_back();
        if let Err(error) = responder.respond_with_result(answer.map_err(Into::into)) {
            tracing::debug!(code = ?error.code, "the client is gone and got no answer");
        }
        drop(ticket);
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
