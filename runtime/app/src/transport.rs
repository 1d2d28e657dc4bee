//! How ACP messages travel: what every transport hands to [`crate::acp`].
//!
//! A transport moves JSON-RPC frames and says how much of its output still waits. It knows nothing about what the
//! messages mean. Tested in each transport's own room.

mod backlog;
mod envelope;
pub mod stdio;

use std::sync::Arc;

use agent_client_protocol::Channel;
use futures::future::BoxFuture;

use backlog::Backlog;
pub use envelope::because;

/// A connection to one client, ready to be served.
pub struct Transport {
    /// Frames in both directions. Its receiving half ends when the client is gone.
    pub channel: Channel,
    /// How much output waits.
    pub flow: Flow,
    /// Done when all output was written, or given up. Begins to count when the channel's sending half was dropped.
    pub drained: BoxFuture<'static, ()>,
}

impl From<Channel> for Transport {
    /// A transport inside the process: its frames go nowhere else, so nothing waits.
    fn from(channel: Channel) -> Self {
        Self { channel, flow: Flow(None), drained: Box::pin(async {}) }
    }
}

/// Lets whoever produces output wait while the client does not read; cheap to clone.
#[derive(Clone)]
pub struct Flow(Option<Arc<Backlog>>);

impl Flow {
    /// Waits while too much output is unwritten. Returns at once when the client was given up: output then goes nowhere.
    pub async fn room(&self) {
        // Producers that never wait for anything else must let the transport's own task run.
        tokio::task::coop::consume_budget().await;
        if let Some(backlog) = &self.0 {
            backlog.room().await;
        }
    }

    /// A notification is about to be sent: it counts from now on.
    pub fn announce(&self) {
        if let Some(backlog) = &self.0 {
            backlog.announce();
        }
    }

    /// One that was announced could not be sent.
    pub fn lost(&self) {
        if let Some(backlog) = &self.0 {
            backlog.arrived();
        }
    }

    /// Whether [`Flow::room`] would have nothing to wait for.
    pub fn has_room(&self) -> bool {
        self.0.as_ref().is_none_or(|backlog| backlog.has_room())
    }
}
