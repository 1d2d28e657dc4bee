//! Sessions that nobody uses are held on disk alone, and opened again when something is asked of them.
//!
//! The client has them open all the while: nothing is told of it, and what was chosen in a session holds. Tested over
//! the real binary.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::session::SessionRequest;
use acp_runtime_agent::store::PointOfNoReturn;
use acp_runtime_agent::transcript::SessionId;
use agent_client_protocol::{Client, ConnectionTo};
use futures::future::join_all;

use super::State;
use crate::acp::live::{Door, Held, LiveSession, Unloaded, Work};

/// So many sessions are unloaded together. One after the other, a thousand that became idle at once would wait for a
/// thousand writes to the disk; all together, they would keep the store from the sessions that are used.
const AT_ONCE: usize = 32;

/// How soon it is looked again whether a session is idle that is to be opened anew.
const RENEW_PAUSE: Duration = Duration::from_millis(100);

impl State {
    /// Does `work` as soon as the session that it is about is open.
    pub(super) fn when_open(
        self: &Arc<Self>,
        session: Option<&SessionId>,
        work: Work,
        connection: ConnectionTo<Client>,
    ) {
        if let Some((door, unloaded)) = self.sessions.when_open(session, work) {
            tokio::spawn(self.clone().open_again(door, unloaded, connection));
        }
    }

    /// Unloads what is not used, for as long as the client is there.
    pub(in crate::acp) async fn unload_idle(self: Arc<Self>, connection: ConnectionTo<Client>) -> Infallible {
        let Some(after) = self.options.unload_after else { return std::future::pending().await };
        let pause = (after / 4).clamp(Duration::from_millis(10), Duration::from_secs(60));
        loop {
            tokio::time::sleep(pause).await;
            loop {
                let unused = self.sessions.take_unused(after, AT_ONCE);
                if unused.is_empty() {
                    break;
                }
                let unload = |(door, session)| self.clone().unload(door, session, connection.clone());
                join_all(unused.into_iter().map(unload)).await;
            }
        }
    }

    async fn unload(self: Arc<Self>, door: Arc<Door>, session: Held, connection: ConnectionTo<Client>) {
        let unloaded = match session.to_unload(&*self.factory.store()).await {
            Ok(unloaded) => unloaded,
            Err(error) => {
                tracing::warn!(session = %door.session(), "a session is not unloaded: {error}");
                // It is not tried again at once.
                return session.touch();
            }
        };
        session.keep().close().await;
        tracing::debug!(session = %door.session(), "unloaded");
        self.put_away(door, unloaded, connection).await;
    }

    /// Opens sessions anew once they would become others by that, for as long as the client is there. One in which
    /// something runs goes on as it is until that has ended.
    pub(in crate::acp) async fn renew_changed(self: Arc<Self>, connection: ConnectionTo<Client>) -> Infallible {
        loop {
            self.factory.changed().await;
            let mut waiting = self.sessions.open();
            while !waiting.is_empty() {
                for (door, session) in self.sessions.take_idle(&waiting) {
                    waiting.remove(door.session());
                    self.clone().renew(door, session, connection.clone()).await;
                }
                waiting.retain(|id| self.sessions.is_open(id));
                if !waiting.is_empty() {
                    tokio::time::sleep(RENEW_PAUSE).await;
                }
            }
        }
    }

    async fn renew(self: Arc<Self>, door: Arc<Door>, session: Held, connection: ConnectionTo<Client>) {
        let id = door.session().clone();
        match session.to_unload(&*self.factory.store()).await {
            Ok(unloaded) => {
                session.keep().hand_over().await;
                self.clone().open_again(door, unloaded, connection).await;
                if let Some(session) = self.sessions.get(&id) {
                    session.handle.announce_commands();
                    session.handle.announce_panels();
                }
            }
            Err(error) => tracing::warn!(session = %id, "a session is not opened anew: {error}"),
        }
    }

    /// Holds a session on disk alone, until something is asked of it; that may have happened already.
    pub(super) async fn put_away(
        self: Arc<Self>,
        door: Arc<Door>,
        unloaded: Unloaded,
        connection: ConnectionTo<Client>,
    ) {
        if let Some(unloaded) = self.sessions.unloaded(&door, unloaded) {
            self.open_again(door, unloaded, connection).await;
        }
    }

    async fn open_again(self: Arc<Self>, door: Arc<Door>, unloaded: Unloaded, connection: ConnectionTo<Client>) {
        let Unloaded { request, before, claim } = unloaded;
        let offers = self.offers.get().copied().unwrap_or_default();
        let face = self.face(offers, connection);
        let request = SessionRequest { face: face.clone(), ..request };
        let point = PointOfNoReturn::passed();
        match self.factory.load(door.session().clone(), request.clone(), Some(before), point).await {
            Ok((handle, _)) => {
                let session = Arc::new(LiveSession::new(handle, face, request));
                session.go_on();
                self.sessions.insert(session);
                tracing::debug!(session = %door.session(), "loaded again");
            }
            Err(error) => {
                tracing::warn!(session = %door.session(), "a session that was unloaded cannot be loaded again: {error}");
                door.fail(error);
            }
        }
        drop(door);
        // The session has a claim of its own, or is nobody's.
        drop(claim);
    }
}
