//! Where the servers of a session tell what becomes of them: to the session that has them now. One that is opened anew takes
//! them over from the one before, and is told what happened in between.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::event::{EventSink, SessionEvent};

/// Events that wait for a session at most.
const MOST: usize = 64;

/// A sink whose other end can change.
pub(super) struct Relay(Mutex<Listener>);

enum Listener {
    Session(Arc<dyn EventSink>),
    /// Nobody, until the next session is there.
    Nobody(Vec<SessionEvent>),
}

impl Relay {
    pub(super) fn new(session: Arc<dyn EventSink>) -> Self {
        Self(Mutex::new(Listener::Session(session)))
    }

    /// Nothing is told to the session any more.
    pub(super) fn hold(&self) {
        *self.lock() = Listener::Nobody(Vec::new());
    }

    /// Everything is told to that session from now on, and first of all what it has missed.
    pub(super) fn tell(&self, session: Arc<dyn EventSink>) {
        let mut listener = self.lock();
        if let Listener::Nobody(missed) = &mut *listener {
            missed.drain(..).for_each(|event| session.emit(event));
        }
        *listener = Listener::Session(session);
    }

    fn lock(&self) -> MutexGuard<'_, Listener> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Relay {
    fn emit(&self, event: SessionEvent) {
        match &mut *self.lock() {
            Listener::Session(session) => session.emit(event),
            Listener::Nobody(missed) => {
                // How the servers are is told whole each time.
                if matches!(event, SessionEvent::ServersChanged { .. }) {
                    missed.retain(|event| !matches!(event, SessionEvent::ServersChanged { .. }));
                }
                if missed.len() < MOST {
                    missed.push(event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::event::{Notice, Severity};

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<SessionEvent>>);

    impl EventSink for Heard {
        fn emit(&self, event: SessionEvent) {
            self.0.lock().unwrap().push(event);
        }
    }

    #[test]
    fn nothing_is_told_to_whom_it_is_no_matter_and_nothing_is_lost() {
        let (first, second) = (Arc::new(Heard::default()), Arc::new(Heard::default()));
        let relay = Relay::new(first.clone());
        let notice = |text: &str| SessionEvent::Notice(Notice::new(Severity::Info, text));
        relay.emit(notice("one"));
        relay.hold();
        relay.emit(SessionEvent::ServersChanged { servers: Vec::new() });
        relay.emit(notice("two"));
        relay.emit(SessionEvent::ServersChanged { servers: Vec::new() });
        relay.tell(second.clone());
        relay.emit(notice("three"));
        assert_eq!(*first.0.lock().unwrap(), [notice("one")]);
        let changed = SessionEvent::ServersChanged { servers: Vec::new() };
        assert_eq!(*second.0.lock().unwrap(), [notice("two"), changed, notice("three")]);
    }
}
