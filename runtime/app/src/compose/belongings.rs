//! What an open session goes on with when it is opened anew in this process: the plugins that it began with, whatever was
//! installed since, and its MCP servers, which go on running.

use std::sync::Arc;

use acp_runtime_agent::capability::Roots;
use acp_runtime_agent::options::Choices;
use acp_runtime_agent::outbox::Outbox;
use acp_runtime_agent::server::ServerEntry;
use acp_runtime_agent::session::Before;

use super::Runtime;
use super::shelf::Contents;
use crate::mcp::SessionServers;

/// What a session holds on to.
pub(super) struct Belongings {
    pub(super) shelf: Arc<Contents>,
    pub(super) servers: Arc<SessionServers>,
}

impl Runtime {
    /// The servers of a session: those that it had, or else those that its client names, and the configuration.
    pub(super) fn servers(
        &self,
        had: Option<Arc<SessionServers>>,
        named: Vec<ServerEntry>,
        roots: &Roots,
        outbox: &Outbox,
        stays: bool,
    ) -> Arc<SessionServers> {
        let had = had.and_then(|had| had.taken_over(Arc::new(outbox.clone())));
        had.unwrap_or_else(|| self.mcp.open(named, roots, Arc::new(outbox.clone()), stays))
    }
}

/// What a session begins with that was open before, or that is forked from one.
#[derive(Default)]
pub(super) struct Had {
    pub(super) choices: Option<Choices>,
    pub(super) shelf: Option<Arc<Contents>>,
    pub(super) servers: Option<Arc<SessionServers>>,
}

impl From<Option<Before>> for Had {
    fn from(before: Option<Before>) -> Self {
        let Some(Before { choices, belongings }) = before else { return Self::default() };
        let (shelf, servers) = match belongings.downcast::<Belongings>() {
            Ok(belongings) => (Some(belongings.shelf.clone()), Some(belongings.servers.clone())),
            Err(_) => (None, None),
        };
        Self { choices: Some(choices), shelf, servers }
    }
}

impl From<Option<Choices>> for Had {
    fn from(choices: Option<Choices>) -> Self {
        Self { choices, ..Self::default() }
    }
}
