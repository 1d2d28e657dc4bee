//! MCP servers as a session sees them: which ones it is to have, and how each of them is.
//!
//! Plain data; knows nothing about how a server is reached or what it is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use crate::noun::counted;
use serde::{Deserialize, Serialize};

use crate::plain;

/// A server that a session is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// As it was named; any text.
    pub name: String,
    /// How to reach it.
    pub reach: Reach,
}

/// How a server is reached. Its values may be secrets, so they are never printed.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that speaks on its standard input and output.
    Program {
        /// A name or a path.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its variables.
        environment: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// What to send with every request.
        headers: BTreeMap<String, String>,
    },
    /// Not at all; why, and what to do about it.
    Unusable {
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
}

/// How a server is at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// How far the connection is.
    pub status: ServerStatus,
    /// How many tools it offers.
    pub tools: usize,
    /// What is wrong; none where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When one that failed is tried again; in the past while it is being tried. None where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<SystemTime>,
}

/// How far the connection to a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerStatus {
    /// Under way.
    Connecting,
    /// It can be asked.
    Connected,
    /// It cannot be asked now; it is tried again where that makes sense.
    Failed,
    /// It is not used: switched off, or of a kind that is not supported.
    Off,
}

impl ServerStatus {
    /// One word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::Off => "off",
        }
    }
}

/// All but the name, in a line: `connected, 2 tools`.
impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name: _, status, tools, problem, next_try } = self;
        f.write_str(status.as_str())?;
        if *tools > 0 {
            write!(f, ", {}", counted(*tools, "tool"))?;
        }
        if let Some(problem) = problem {
            write!(f, ": {problem}")?;
        }
        match (status, next_try.map(|at| at.duration_since(SystemTime::now()))) {
            (ServerStatus::Failed, Some(Ok(left))) => write!(f, "; the next try is in {} s", left.as_secs() + 1),
            (ServerStatus::Failed, Some(Err(_))) => f.write_str("; it is being tried again"),
            (ServerStatus::Failed, None) => f.write_str("; it is not tried again by itself"),
            (ServerStatus::Connecting | ServerStatus::Connected | ServerStatus::Off, _) => Ok(()),
        }
    }
}

impl Reach {
    /// One that cannot be used.
    pub fn unusable(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unusable { problem: problem.into(), hint: hint.into() }
    }

    /// One of a kind that there is no way to reach.
    pub fn unsupported(kind: &str) -> Self {
        let hint = match kind {
            "sse" => "use the server's address for streamable HTTP, with the type `http`",
            _ => "use the type `stdio` or `http`",
        };
        Self::unusable(format!("servers of the type `{}` are not supported", plain::line(kind, 40)), hint)
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |values: &BTreeMap<String, String>| values.keys().cloned().collect::<Vec<_>>();
        match self {
            Self::Program { program, arguments, environment } => f
                .debug_struct("Program")
                .field("program", program)
                .field("arguments", &arguments.len())
                .field("environment", &names(environment))
                .finish(),
            // An address can hold a key as well.
            Self::Http { url: _, headers } => f.debug_struct("Http").field("headers", &names(headers)).finish(),
            Self::Unusable { problem, hint: _ } => f.debug_tuple("Unusable").field(problem).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_state_is_a_line() {
        let state = |status, tools, problem: Option<&str>, next_try| ServerState {
            name: "s".to_owned(),
            status,
            tools,
            problem: problem.map(str::to_owned),
            next_try,
        };
        let (soon, past) = (SystemTime::now() + Duration::from_millis(14_500), SystemTime::UNIX_EPOCH);
        for (state, line) in [
            (state(ServerStatus::Connecting, 0, None, None), "connecting"),
            (state(ServerStatus::Connected, 1, None, None), "connected, 1 tool"),
            (state(ServerStatus::Connected, 2, Some("one is odd"), None), "connected, 2 tools: one is odd"),
            (state(ServerStatus::Off, 0, Some("no"), None), "off: no"),
            (
                state(ServerStatus::Failed, 0, Some("it ended"), None),
                "failed: it ended; it is not tried again by itself",
            ),
            (state(ServerStatus::Failed, 0, Some("it ended"), Some(past)), "failed: it ended; it is being tried again"),
            (state(ServerStatus::Failed, 2, Some("x"), Some(soon)), "failed, 2 tools: x; the next try is in 15 s"),
        ] {
            assert_eq!(state.to_string(), line);
        }
    }

    #[test]
    fn secrets_are_never_printed() {
        let secret = || BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
        let program = Reach::Program {
            program: "server".to_owned(),
            arguments: vec!["--token=s3cret".to_owned()],
            environment: secret(),
        };
        let http = Reach::Http { url: "https://host/?key=s3cret".to_owned(), headers: secret() };
        let printed = format!("{program:?} {http:?}");
        assert!(!printed.contains("s3cret") && printed.contains("KEY"), "{printed}");
    }
}
