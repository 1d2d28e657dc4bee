//! What a host function answers instead of a result: a value that the guest can read, never a trap.

use acp_runtime_agent::capability::PathError;
use acp_runtime_agent::gate::{Refusal, RefusalKind};
use acp_runtime_agent::workspace::WorkspaceError;

use crate::egress::EgressError;
use crate::exec::ProgramError;
use crate::kv::KvError;

/// An `aar:types` error, before it takes a version's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostError {
    /// `std:denied` and so on.
    pub(crate) kind: &'static str,
    /// A sentence, with what to do about it.
    pub(crate) message: String,
    /// Whether the same call may succeed later.
    pub(crate) retry: bool,
}

impl HostError {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry: false }
    }

    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new("std:denied", message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new("std:invalid-args", message)
    }

    /// Something changed meanwhile; after another look the same call may succeed.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self { retry: true, ..Self::new("std:conflict", message) }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new("std:limit", message)
    }
}

impl From<EgressError> for HostError {
    fn from(error: EgressError) -> Self {
        let (kind, retry) = match &error {
            EgressError::Refused(refusal) => return Self::from(refusal),
            EgressError::Forbidden { .. }
            | EgressError::Redirect(_)
            | EgressError::Secret { .. }
            | EgressError::NoPermit(_) => ("std:denied", false),
            EgressError::Address(_) | EgressError::Request(_) => ("std:invalid-args", false),
            EgressError::Limit(_) => ("std:limit", false),
            EgressError::TimedOut { .. } => ("std:timeout", true),
            EgressError::Unreachable { .. } => ("std:unreachable", true),
            EgressError::Answer { .. } => ("std:unreachable", false),
        };
        Self { kind, message: format!("{error} ({})", error.hint()), retry }
    }
}

impl From<&Refusal> for HostError {
    fn from(refusal: &Refusal) -> Self {
        let kind = match refusal.kind {
            RefusalKind::Denied => "std:denied",
            RefusalKind::Cancelled => "std:cancelled",
            RefusalKind::Conflict => "std:conflict",
        };
        let retry = refusal.kind == RefusalKind::Conflict;
        Self { kind, message: format!("{} ({})", refusal.account(), refusal.hint), retry }
    }
}

impl From<PathError> for HostError {
    fn from(error: PathError) -> Self {
        match &error {
            PathError::Leaves(_) | PathError::OutsideRoots(_) => Self::denied(error.to_string()),
            PathError::Malformed(_) | PathError::Pattern(..) | PathError::Host(..) => Self::invalid(error.to_string()),
        }
    }
}

impl From<WorkspaceError> for HostError {
    fn from(error: WorkspaceError) -> Self {
        let kind = match &error {
            WorkspaceError::NotFound(_) => "std:not-found",
            WorkspaceError::Outside(_)
            | WorkspaceError::Denied(_)
            | WorkspaceError::MultiplyLinked(_)
            | WorkspaceError::MadeUp(_)
            | WorkspaceError::Forbidden { .. } => "std:denied",
            WorkspaceError::LeadsElsewhere(_) => "std:conflict",
            WorkspaceError::TooLarge { .. } => "std:limit",
            WorkspaceError::WrongKind { .. }
            | WorkspaceError::NotText { .. }
            | WorkspaceError::Exists(_)
            | WorkspaceError::Unusable { .. }
            | WorkspaceError::BadPattern { .. } => "std:invalid-args",
            WorkspaceError::NoPermit(_) | WorkspaceError::System { .. } => "std:internal",
        };
        let retry = matches!(error, WorkspaceError::LeadsElsewhere(_));
        Self { kind, message: error.to_string(), retry }
    }
}

impl From<ProgramError> for HostError {
    fn from(error: ProgramError) -> Self {
        let kind = match &error {
            ProgramError::NotFound(_) => "std:not-found",
            ProgramError::InSession(_) | ProgramError::Replaced(_) => "std:denied",
            ProgramError::TimedOut(..) => "std:timeout",
            ProgramError::TooMuch(..) => "std:limit",
            ProgramError::NoPermit(_) | ProgramError::System(..) => "std:internal",
        };
        Self::new(kind, error.to_string())
    }
}

impl From<KvError> for HostError {
    fn from(error: KvError) -> Self {
        let message = error.to_string();
        match error {
            KvError::Conflict { .. } => Self::conflict(message),
            KvError::Limit(_) | KvError::Full { .. } => Self::limit(message),
            KvError::Failed(_) => Self::new("std:internal", message),
        }
    }
}
