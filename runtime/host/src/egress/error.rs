//! Why nothing was sent, or nothing came back.

use std::time::Duration;

use acp_runtime_agent::gate::Refusal;

/// Why there is no response, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The gate refused it.
    #[error("{}", .0.account())]
    Refused(Refusal),
    /// Nobody was asked.
    #[error("no permit for `{0}`")]
    NoPermit(String),
    /// It is not an address that requests go to.
    #[error("{0}")]
    Address(String),
    /// The name leads where nothing is sent to, whoever allows it.
    #[error("nothing is sent to `{host}`: its address {address} is {why}")]
    Forbidden {
        /// The host as it was named.
        host: String,
        /// Its address.
        address: String,
        /// What the address is.
        why: &'static str,
    },
    /// The method or a header may not be sent.
    #[error("{0}")]
    Request(String),
    /// A redirect that is not followed.
    #[error("{0}")]
    Redirect(String),
    /// A secret is not put into the request; the text names the rule.
    #[error("the secret `{name}` is not sent: {why}")]
    Secret {
        /// Its handle.
        name: String,
        /// The rule in a word, as the audit has it: `missing`, `unusable`, `audience`, `placement`, `range`.
        rule: &'static str,
        /// The rule, for people.
        why: String,
    },
    /// More than it may be.
    #[error("{0}")]
    Limit(String),
    /// It took too long.
    #[error("`{host}` did not answer within {} s", time.as_secs_f64())]
    TimedOut {
        /// The host.
        host: String,
        /// How long it was waited for.
        time: Duration,
    },
    /// The host cannot be found or reached, or the connection broke.
    #[error("`{host}` cannot be reached: {reason}")]
    Unreachable {
        /// The host.
        host: String,
        /// The system's words.
        reason: String,
    },
    /// What came is not what the protocol has.
    #[error("the answer of `{host}` cannot be understood: {reason}")]
    Answer {
        /// The host.
        host: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl EgressError {
    /// What to do about it, for a model or a guest.
    pub fn hint(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.hint,
            Self::Address(_) => "write it like `https://host/path`",
            Self::Forbidden { .. } => {
                "only hosts of the public network are reached; one on this machine by `localhost` or its address, and a \
                 right to that port"
            }
            Self::Request(_) => "leave it out: the host makes it itself",
            Self::Redirect(_) => "ask for the address that it names, if that is wanted",
            Self::Secret { .. } => "the user can see with `acp-runtime plugin doctor` what is missing",
            Self::Limit(_) | Self::NoPermit(_) => "ask for less",
            Self::TimedOut { .. } | Self::Unreachable { .. } => "try again later",
            Self::Answer { .. } => "ask another way, or elsewhere",
        }
    }
}

impl From<Refusal> for EgressError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
