//! Who may use the models: `authenticate`, `logout`, and what new sessions need.
//!
//! Keys are not sent over the protocol. They are in the settings, in the environment, or kept by `acp-runtime login` in
//! a terminal, and each request looks for its key anew; so a login anywhere holds here at once, and `authenticate` has
//! nothing to do but to say whether there is a key now. Tested in `tests/login.rs`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use acp_runtime_agent::model::{ModelError, ModelErrorKind};
use agent_client_protocol::v1::schema;
use serde_json::json;

use super::error::RequestError;
use super::offers::{Offer, Offers};

/// The method that looks for keys. It comes first: some clients take the first one unasked.
const SETTINGS: &str = "settings";
/// The method that asks for a key in a terminal.
const LOGIN: &str = "login";

/// The keys of the models, as far as clients have to do with them.
pub trait Accounts: Send + Sync {
    /// What the model of new sessions needs. The error says that it is not there, and how to get it.
    fn access(&self) -> Result<Access, ModelError>;

    /// Forgets every key that was kept. The error is for people. May block.
    fn forget(&self) -> Result<(), String>;
}

/// What a model needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// No key.
    Free,
    /// A key, which is there.
    Keyed {
        /// Of this provider.
        provider: String,
    },
}

/// The login of one client.
pub(super) struct Login {
    accounts: Arc<dyn Accounts>,
    /// Whether the client has logged out and not in again: then keys count for nothing that were there all the time.
    out: AtomicBool,
}

impl Login {
    pub(super) fn new(accounts: Arc<dyn Accounts>) -> Self {
        Self { accounts, out: AtomicBool::new(false) }
    }

    /// Whether sessions may be opened.
    pub(super) fn check(&self) -> Result<(), RequestError> {
        match self.accounts.access().map_err(RequestError::Access)? {
            Access::Keyed { provider } if self.out.load(Ordering::Acquire) => Err(RequestError::Access(ModelError {
                message: format!("you have logged out of `{provider}`; log in again: `authenticate` with `{SETTINGS}`"),
                kind: ModelErrorKind::Auth,
                provider,
                status: None,
                retry_after: None,
            })),
            Access::Keyed { .. } | Access::Free => Ok(()),
        }
    }

    /// Looks for the key, whatever the method: by any of them it may have come.
    pub(super) fn authenticate(&self, method: &str) -> Result<(), RequestError> {
        if ![SETTINGS, LOGIN].contains(&method) {
            return Err(RequestError::Field {
                field: "methodId",
                reason: "unknown method".to_owned(),
                available: Some(vec![SETTINGS.to_owned()]),
            });
        }
        self.accounts.access().map_err(RequestError::Access)?;
        self.out.store(false, Ordering::Release);
        Ok(())
    }

    /// Forgets the kept keys. Whatever key is left counts for nothing until the client authenticates again.
    pub(super) async fn log_out(&self) -> Result<(), RequestError> {
        self.out.store(true, Ordering::Release);
        let accounts = self.accounts.clone();
        let forgotten = tokio::task::spawn_blocking(move || accounts.forget()).await;
        forgotten.unwrap_or_else(|error| Err(error.to_string())).map_err(RequestError::Logout)
    }
}

/// The ways to log in that this client knows. `program` is this one, for clients with the older way of terminals.
pub(super) fn methods(offers: Offers, program: Option<&PathBuf>) -> Vec<schema::AuthMethod> {
    let settings = schema::AuthMethodAgent::new(SETTINGS, "Settings and environment")
        .description("Uses the key from the settings, the environment, or an earlier login".to_owned());
    let (name, description) = ("Log in", "Asks for a provider's API key in a terminal, and keeps it".to_owned());
    let login = if offers.has(Offer::TerminalLogin) {
        let login = schema::AuthMethodTerminal::new(LOGIN, name).description(description);
        Some(schema::AuthMethod::Terminal(login.args(vec!["--login".to_owned()])))
    } else if let Some(program) = program.filter(|_| offers.has(Offer::CommandLogin)) {
        let command = json!({ "label": "acp-runtime login", "command": program, "args": ["login"], "env": {} });
        let meta = schema::Meta::from_iter([("terminal-auth".to_owned(), command)]);
        Some(schema::AuthMethod::Agent(schema::AuthMethodAgent::new(LOGIN, name).description(description).meta(meta)))
    } else {
        None
    };
    std::iter::once(schema::AuthMethod::Agent(settings)).chain(login).collect()
}
