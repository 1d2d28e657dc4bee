//! The client's person, asked through `session/request_permission`.

use std::sync::atomic::{AtomicU64, Ordering};

use acp_runtime_agent::gate::{Approval, Approver, Ask};
use agent_client_protocol::v1::schema;
use futures::future::BoxFuture;

use super::{Peer, Unanswered};
use crate::acp::wire;

/// Asks the person.
pub(in crate::acp) struct EditorApprover {
    peer: Peer,
    /// Questions that belong to no call, to name them.
    asked: AtomicU64,
}

impl EditorApprover {
    pub(in crate::acp) fn new(peer: Peer) -> Self {
        Self { peer, asked: AtomicU64::new(0) }
    }
}

impl Approver for EditorApprover {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let synthetic = format!("ask-{}", self.asked.fetch_add(1, Ordering::Relaxed) + 1);
            let wire::Question { call, options } = wire::question(&ask, &synthetic);
            let request = schema::RequestPermissionRequest::new(self.peer.session.clone(), call, options.clone());
            match self.peer.ask_person(request).await {
                Ok(answer) => wire::approval(&answer.outcome, &options),
                Err(Unanswered::Late(patience)) => Approval::Late(patience),
                Err(unanswered) => {
                    tracing::warn!("a question was not answered, which is a no: {unanswered}");
                    if matches!(unanswered, Unanswered::Malformed(..)) {
                        Approval::Malformed
                    } else {
                        Approval::NoChannel
                    }
                }
            }
        })
    }
}
