//! MCP servers as a source of tools: those that the client names for a session, and those of our own configuration.
//!
//! Opening a session only begins to connect: every server has a task of its own that connects, reconnects and ends it,
//! and a server that fails, hangs or talks nonsense is a line in `/mcp` and a notice. Its tools are tools of the session
//! like all others: validated, judged by the gate as one effect, bounded, and told to stop when nobody waits for them.
//! Servers are not trusted: whatever they say is cleaned and limited before it is shown to anybody.
//!
//! | inside | what it decides |
//! |---|---|
//! | `settings`, `variables` | how a server is written down |
//! | `names`, `offer` | what its tools are called, and which of them can be used |
//! | `check` | what is wrong with what is written down, before anything is started |
//! | `connection`, `handler` | one connection: the handshake, and what the server may ask |
//! | `errors`, `reason` | the last words of its program, and why there is no connection |
//! | `server` | one server, kept connected |
//! | `tool`, `outcome` | one call, and what it gave |
//! | `board`, `command` | how the servers are, for the client and the person |
//! | `relay` | which session is told of it |
//!
//! Knows nothing about ACP. Tested with a double that speaks the protocol line by line, and with real servers in
//! `tests/it`.

mod board;
mod check;
mod command;
mod connection;
mod errors;
mod handler;
mod names;
mod offer;
mod outcome;
mod reason;
mod relay;
mod server;
mod settings;
mod tool;
mod variables;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_runtime_agent::capability::Roots;
use acp_runtime_agent::event::EventSink;
use acp_runtime_agent::server::{ServerEntry, ServerState, ServerStatus};
use acp_runtime_agent::tool::{Tool, ToolSource};
use futures::future::{BoxFuture, join_all};

pub use check::{Finding, Health};
pub use command::McpCommand;
pub use settings::{Patience, ServerSettings, from_json};

use crate::process::Launcher;
use crate::redaction::Redaction;
use board::Board;
use connection::{Connector, Means};
use relay::Relay;
use server::{Server, Session, Wanted};

/// Servers of one session.
const SERVERS: usize = 64;

/// What servers are made with.
#[derive(Clone)]
pub struct Mcp {
    launcher: Launcher,
    configured: BTreeMap<String, ServerSettings>,
    environment: fn(&str) -> Option<String>,
    redaction: Redaction,
}

impl Mcp {
    /// Servers are started by `launcher`; `configured` are those that every session has. `environment` answers the
    /// variables that their settings name; `redaction` learns their secrets, and keeps them out of what servers say of
    /// themselves. Starts nothing.
    pub fn new(
        launcher: Launcher,
        configured: BTreeMap<String, ServerSettings>,
        environment: fn(&str) -> Option<String>,
        redaction: Redaction,
    ) -> Self {
        Self { launcher, configured, environment, redaction }
    }

    /// Begins to connect the servers of a session with these folders: those that the client named, and those of the
    /// configuration whose names it left free. A client that `stays` learns by itself of what becomes of them.
    pub fn open(
        &self,
        named: Vec<ServerEntry>,
        roots: &Roots,
        events: Arc<dyn EventSink>,
        stays: bool,
    ) -> Arc<SessionServers> {
        let folder = roots.iter().next().map_or_else(|| PathBuf::from("/"), |root| root.canonical.clone());
        let means = Means { launcher: self.launcher.clone(), roots: uris(roots), folder };
        let servers = SessionServers::new(Box::new(means), events, self.redaction.clone());
        let servers = Arc::new(SessionServers { stays, ..servers });
        let named = named.into_iter().map(|entry| Wanted { entry, patience: Patience::default() });
        let configured = self.configured.iter().filter(|(_, settings)| settings.enabled()).map(|(name, settings)| {
            let entry = ServerEntry { name: name.clone(), reach: settings.reach(self.environment) };
            Wanted { entry, patience: settings.patience() }
        });
        for wanted in named.chain(configured) {
            servers.begin(wanted);
        }
        servers
    }
}

/// The servers of one session. Dropped, they end in the background.
pub struct SessionServers {
    session: Arc<Session>,
    servers: Mutex<Vec<Arc<Server>>>,
    relay: Arc<Relay>,
    /// Whether they were ended with their session.
    ended: AtomicBool,
    /// Whether the client learns by itself of what becomes of them.
    stays: bool,
}

impl SessionServers {
    fn new(connector: Box<dyn Connector>, events: Arc<dyn EventSink>, redaction: Redaction) -> Self {
        let relay = Arc::new(Relay::new(events));
        let session =
            Arc::new(Session { connector, board: Board::new(relay.clone()), events: relay.clone(), redaction });
        Self { session, servers: Mutex::default(), relay, ended: AtomicBool::new(false), stays: true }
    }

    /// From now on they are those of another session, which goes on where theirs ended; not where they ended with it.
    pub fn taken_over(self: Arc<Self>, events: Arc<dyn EventSink>) -> Option<Arc<Self>> {
        if self.ended.load(Ordering::Acquire) {
            return None;
        }
        self.relay.tell(events);
        Some(self)
    }

    /// How each of them is.
    pub fn states(&self) -> Vec<ServerState> {
        self.session.board.states()
    }

    fn get(&self, title: &str) -> Option<Arc<Server>> {
        self.lock().iter().find(|server| server.title == title).cloned()
    }

    /// Adds one for this session.
    fn add(&self, entry: ServerEntry) -> Option<Arc<Server>> {
        self.begin(Wanted { entry, patience: Patience::default() })
    }

    /// Ends one.
    async fn remove(&self, title: &str) {
        let found = {
            let mut servers = self.lock();
            let place = servers.iter().position(|server| server.title == title);
            place.map(|place| servers.remove(place))
        };
        if let Some(server) = found {
            server.close().await;
            self.session.board.remove(title);
        }
    }

    fn begin(&self, wanted: Wanted) -> Option<Arc<Server>> {
        let title = wanted.entry.name.clone();
        let mut servers = self.lock();
        let refused = |problem: &str, hint: &str| self.session.board.warn(&title, ServerStatus::Off, problem, hint);
        if servers.iter().any(|server| server.title == title) {
            refused("another server has that name", "give each server a name of its own");
            return None;
        }
        if servers.len() >= SERVERS {
            refused(&format!("a session has at most {SERVERS} servers"), "name fewer");
            return None;
        }
        let taken: HashSet<_> = servers.iter().map(|server| server.name.clone()).collect();
        let Some(name) = names::server(&title, &taken) else {
            refused("its name is too much like another's", "give each server a name of its own");
            return None;
        };
        let server = Arc::new(Server::begin(name, wanted, self.session.clone()));
        servers.push(server.clone());
        Some(server)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolSource for SessionServers {
    fn settle(&self) -> BoxFuture<'_, ()> {
        let servers = self.lock().clone();
        Box::pin(async move {
            join_all(servers.iter().map(|server| server.settle())).await;
        })
    }

    fn settle_to_show(&self) -> BoxFuture<'_, ()> {
        if self.stays { Box::pin(async {}) } else { self.settle() }
    }

    fn servers(&self) -> Vec<ServerState> {
        self.states()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.lock().iter().flat_map(|server| server.tools()).collect()
    }

    fn hand_over(&self) {
        self.relay.hold();
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.ended.store(true, Ordering::Release);
        let (servers, relay) = (std::mem::take(&mut *self.lock()), self.relay.clone());
        Box::pin(async move {
            join_all(servers.iter().map(|server| server.close())).await;
            // Whoever remembers the session may hold on to its servers, which would hold on to all that was said in it.
            relay.hold();
        })
    }
}

/// The folders as servers are told of them.
fn uris(roots: &Roots) -> Vec<String> {
    let uri = |path: &Path| path.display().to_string().bytes().map(percent).collect::<String>();
    roots.iter().map(|root| format!("file://{}", uri(&root.path))).collect()
}

/// A byte of a path in a URI.
fn percent(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

#[cfg(test)]
mod tests;
