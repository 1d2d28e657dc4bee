//! How a command ends that does not end well: `error: …`, `hint: …` and the exit code.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use acp_runtime_agent::session::{OpenError, PromptError};
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::turn::TurnError;
use acp_runtime_host::full_disk;

use super::exit::{FAILED, MISUSED};
use super::transcript::harmless;
use crate::compose::SetupError;
use crate::compose::checks::store_hint;
use crate::models::ModelsError;
use crate::settings::SettingsError;

/// Why a command ends early.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something to tell.
    Told {
        exit: u8,
        /// The value and the reason.
        message: String,
        /// The next step.
        hint: Option<String>,
    },
    /// Whoever read the output has seen enough; that is a success.
    ReaderGone,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::Told { exit: FAILED, message: message.into(), hint: None }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Told { exit: MISUSED, message: message.into(), hint: None }
    }

    pub(super) fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Told { exit, message, .. } => Self::Told { exit, message, hint: Some(text.into()) },
            Self::ReaderGone => Self::ReaderGone,
        }
    }

    /// A file or a folder that the system does not let be read.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::new(format!("`{}` cannot be read: {error}", path.display())).hint("check the path and its permissions")
    }

    /// A file or a folder that the system does not let be written.
    pub(super) fn unwritable(path: &Path, error: &io::Error) -> Self {
        let hint = if full_disk::explains(error) {
            "make room on the disk and try again"
        } else {
            "check the path and its permissions"
        };
        Self::new(format!("`{}` cannot be written: {error}", path.display())).hint(hint)
    }

    /// Tells it on the standard error stream.
    pub(super) fn report(self) -> ExitCode {
        match self {
            Self::ReaderGone => ExitCode::SUCCESS,
            Self::Told { exit, message, hint } => {
                // With nobody to tell, the exit code has to do.
                let told = told(&message, hint.as_deref(), io::stderr().is_terminal());
                let _ = io::stderr().write_all(told.as_bytes());
                ExitCode::from(exit)
            }
        }
    }
}

/// Both lines. What they quote, such as a path or a provider's words, may be meant for a terminal.
fn told(message: &str, hint: Option<&str>, terminal: bool) -> String {
    let hint = hint.map_or(String::new(), |hint| format!("hint: {hint}\n"));
    let text = format!("error: {message}\n{hint}");
    if terminal { harmless(&text).into_owned() } else { text }
}

/// What is told cannot be written. An error about a file has its own words: [`Failure::unwritable`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::new(format!("the output cannot be written: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::usage(error.to_string()).hint(error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = store_hint(&error);
        Self::new(error.to_string()).hint(hint)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error.into(),
            OpenError::Setup { message, hint } => Self::usage(message).hint(hint),
            OpenError::Folder { .. } => Self::usage(error.to_string()).hint("name an existing folder with `--cwd`"),
            OpenError::Unknown(_) | OpenError::NoMessage { .. } => {
                Self::usage(error.to_string()).hint("see `acp-runtime session list`")
            }
        }
    }
}

impl From<PromptError> for Failure {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Turn(TurnError::Store(error)) => error.into(),
            PromptError::Turn(TurnError::Model(_) | TurnError::Internal(_))
            | PromptError::Busy
            | PromptError::Closed => Self::new(error.to_string()),
        }
    }
}

impl From<ModelsError> for Failure {
    fn from(error: ModelsError) -> Self {
        Self::usage(error.to_string()).hint("see `model` and `[providers]` in the file of `acp-runtime config path`")
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Models(error) => error.into(),
            SetupError::Connection(_) => Self::new(error.to_string()).hint("see the log for what came before"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_quotes_does_not_command_a_terminal() {
        let (message, hint) = ("`a\x1b[2J` is not there", Some("see\u{202e} there"));
        assert_eq!(told(message, hint, true), "error: `a[2J` is not there\nhint: see there\n");
        assert_eq!(told(message, hint, false), "error: `a\x1b[2J` is not there\nhint: see\u{202e} there\n");
    }
}
