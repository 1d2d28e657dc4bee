//! How the servers of a session are, for the client: told whenever it changes.

use std::sync::{Arc, Mutex, PoisonError};

use acp_runtime_agent::event::{EventSink, Notice, SessionEvent, Severity};
use acp_runtime_agent::server::{ServerState, ServerStatus};

/// The states of all servers, in the order that they came.
pub(super) struct Board {
    events: Arc<dyn EventSink>,
    states: Mutex<Vec<ServerState>>,
}

impl Board {
    pub(super) fn new(events: Arc<dyn EventSink>) -> Self {
        Self { events, states: Mutex::default() }
    }

    /// A server is like this now. The client is told where that is new.
    pub(super) fn put(&self, state: ServerState) {
        self.change(|states| match states.iter_mut().find(|known| known.name == state.name) {
            Some(known) => *known = state,
            None => states.push(state),
        });
    }

    /// There is no such server any more.
    pub(super) fn remove(&self, name: &str) {
        self.change(|states| states.retain(|state| state.name != name));
    }

    /// All of them.
    pub(super) fn states(&self) -> Vec<ServerState> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells the person that something is wrong with a server.
    pub(super) fn warn(&self, name: &str, status: ServerStatus, problem: &str, hint: &str) {
        let (severity, what) = match status {
            ServerStatus::Off => (Severity::Warning, "is not used"),
            ServerStatus::Connecting | ServerStatus::Connected => (Severity::Warning, "has a problem"),
            ServerStatus::Failed => (Severity::Error, "does not work"),
        };
        let notice = Notice::new(severity, format!("The MCP server `{name}` {what}: {problem}"));
        self.events.emit(SessionEvent::Notice(notice.described(hint)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<ServerState>)) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let before = states.clone();
        change(&mut states);
        if *states != before {
            // Told while it is held, so that the last one told is the one that holds.
            self.events.emit(SessionEvent::ServersChanged { servers: states.clone() });
        }
    }
}
