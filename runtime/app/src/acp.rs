//! The agent's side of ACP: one client, its sessions, and everything that is said between them.
//!
//! [`serve`] answers a client over any [`Transport`] with sessions of any [`SessionFactory`]. Rooms inside: `agent`
//! (which method is answered how), `live` (the sessions of this client, and how they show themselves to it), `editor`
//! (the client as a person to ask and a place of files), `offers` (what the client can do), `panels` (`_aar/panel_*`), `teller` (the same words for
//! readers that are no clients), `wire` (conversions), `error`.
//! Knows no model, no tool and no disk. Tested in `tests.rs` with scripted sessions and a client at the other end.

mod accounts;
mod agent;
mod editor;
mod error;
mod live;
mod offers;
mod panels;
mod teller;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::session::SessionFactory;
use agent_client_protocol::{Agent, Builder, Client, ConnectionTo, Error};
use tokio::time::Instant;

use crate::redaction::Redaction;
use crate::transport::Transport;
pub use accounts::{Access, Accounts};
use agent::Desk;
pub use editor::Patience;
pub use teller::Teller;

/// How long requests may still run when the client has ended its input.
const FINISH: Duration = Duration::from_millis(1000);
/// How long what was cancelled may take until it is answered and kept.
const CANCEL: Duration = Duration::from_millis(900);
/// How long all of that may take together, with the last lines, of a client that does not read them.
const TOGETHER: Duration = Duration::from_millis(1950);

/// How the agent presents itself and behaves towards a client.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program's name, for other programs.
    pub name: String,
    /// The program's name, for people.
    pub title: String,
    /// The program's version.
    pub version: String,
    /// Where the program is, for clients that start it once more in a terminal; none where that is not known.
    pub program: Option<PathBuf>,
    /// How long the client may take to answer. A question that was not answered is denied.
    pub patience: Patience,
    /// Whether the person's own messages are told to the client while they are answered. In a replay they always are.
    pub echo: bool,
    /// How long an open session may be without use until it is unloaded; none to hold it in memory for ever.
    pub unload_after: Option<Duration>,
}

/// What a client is served with.
#[derive(Clone)]
pub struct Backing {
    /// Opens sessions.
    pub factory: Arc<dyn SessionFactory>,
    /// Knows of keys.
    pub accounts: Arc<dyn Accounts>,
    /// Keeps secrets out of errors.
    pub redaction: Redaction,
}

/// Serves one client until it ends its input or `shutdown` is done, then cancels what runs, keeps it and writes the
/// last lines; together within 2 s. Requests that run when the input ends get up to a second to end by themselves.
pub async fn serve(
    transport: Transport,
    backing: Backing,
    options: Options,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let Transport { channel, flow, drained } = transport;
    let desk = Desk::new(backing, options, flow);
    let state = desk.state();
    let served = Builder::new_with(Agent, desk)
        .name("acp-runtime")
        .connect_with(channel, async move |connection: ConnectionTo<Client>| {
            let ending = tokio::select! {
                () = connection.incoming_closed() => {
                    let ending = Instant::now();
                    let _ = tokio::time::timeout(FINISH, state.in_flight.idle()).await;
                    ending
                }
                () = shutdown => Instant::now(),
                never = state.clone().unload_idle(connection.clone()) => match never {},
                never = state.clone().renew_changed(connection.clone()) => match never {},
            };
            state.hurry();
            let ended = async {
                state.sessions.close_all().await;
                state.in_flight.idle().await;
            };
            if tokio::time::timeout(CANCEL, ended).await.is_err() {
                tracing::warn!("not everything that ran could be ended in time");
            }
            Ok(ending)
        })
        .await;
    let ending = served.as_ref().map_or_else(|_| Instant::now(), |ending| *ending);
    if tokio::time::timeout_at(ending + TOGETHER, drained).await.is_err() {
        tracing::warn!("the client did not read the last messages");
    }
    served.map(drop)
}

#[cfg(test)]
mod tests;
