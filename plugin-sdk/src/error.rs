//! Why something was not done: the one error of plugins, as it crosses to the host and comes from it.

use std::fmt;

use crate::bindings::imports::types as wire;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What sort of failure it was. Programs branch on this; the message is for people and models.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The arguments do not fit.
    InvalidArgs,
    /// What was asked for is not there.
    NotFound,
    /// The host, or the person, did not allow it.
    Denied,
    /// It took too long.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// A limit was reached.
    Limit,
    /// Somebody else wrote first.
    Conflict,
    /// A host of the network cannot be reached, or its answer not be understood.
    Unreachable,
    /// Anything that is the plugin's or the host's own fault.
    Internal,
    /// A kind of its own, as `namespace:kind`.
    Other(String),
}

impl ErrorKind {
    /// The registered word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::InvalidArgs => "std:invalid-args",
            Self::NotFound => "std:not-found",
            Self::Denied => "std:denied",
            Self::Timeout => "std:timeout",
            Self::Cancelled => "std:cancelled",
            Self::Limit => "std:limit",
            Self::Conflict => "std:conflict",
            Self::Unreachable => "std:unreachable",
            Self::Internal => "std:internal",
            Self::Other(kind) => kind,
        }
    }

    fn parse(word: String) -> Self {
        match word.as_str() {
            "std:invalid-args" => Self::InvalidArgs,
            "std:not-found" => Self::NotFound,
            "std:denied" => Self::Denied,
            "std:timeout" => Self::Timeout,
            "std:cancelled" => Self::Cancelled,
            "std:limit" => Self::Limit,
            "std:conflict" => Self::Conflict,
            "std:unreachable" => Self::Unreachable,
            "std:internal" => Self::Internal,
            _ => Self::Other(word),
        }
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    retry: bool,
}

impl Error {
    /// An error of that kind. The message is one sentence: what, why, and what to do.
    pub fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), retry: false }
    }

    /// The arguments do not fit.
    pub fn invalid_args(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::InvalidArgs, message)
    }

    /// What was asked for is not there.
    pub fn not_found(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// A limit was reached.
    pub fn limit(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// The plugin's own fault.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The call was cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the call was cancelled")
    }

    /// Says that the same call may succeed later.
    #[must_use]
    pub fn retryable(self) -> Self {
        Self { retry: true, ..self }
    }

    /// What sort of failure it was.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later.
    pub fn may_retry(&self) -> bool {
        self.retry
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error)
    }
}

impl From<wire::Error> for Error {
    fn from(error: wire::Error) -> Self {
        Self { kind: ErrorKind::parse(error.kind), message: error.message, retry: error.retry }
    }
}

impl From<Error> for wire::Error {
    fn from(error: Error) -> Self {
        Self { kind: error.kind.as_str().to_owned(), message: error.message, retry: error.retry, extra: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_the_crossing() {
        let kinds = [
            ErrorKind::InvalidArgs,
            ErrorKind::NotFound,
            ErrorKind::Denied,
            ErrorKind::Timeout,
            ErrorKind::Cancelled,
            ErrorKind::Limit,
            ErrorKind::Conflict,
            ErrorKind::Internal,
            ErrorKind::Other("acme:melted".to_owned()),
        ];
        for kind in kinds {
            let error = Error::new(kind, "why").retryable();
            assert_eq!(Error::from(wire::Error::from(error.clone())), error);
        }
    }

    #[test]
    fn file_errors_keep_their_meaning() {
        let missing = Error::from(std::io::Error::from(std::io::ErrorKind::NotFound));
        assert_eq!(missing.kind(), &ErrorKind::NotFound);
        let refused = Error::from(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
        assert_eq!(refused.kind(), &ErrorKind::Denied);
    }
}
