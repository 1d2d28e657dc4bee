//! Something the person should know that is no part of the conversation.

use serde::{Deserialize, Serialize};

/// A message beside the conversation: a server that does not answer, a setting that was left out. Shown at the moment
/// by clients that show such things, and logged for the others; never kept and never sent to the model. Nothing may
/// depend on its being seen.
///
/// Any room that holds a session's [`EventSink`](super::EventSink) tells it as [`SessionEvent::Notice`](super::SessionEvent).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// How grave it is.
    pub severity: Severity,
    /// One line that says it all. An empty one is not shown.
    pub title: String,
    /// What else there is to know, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is missing or weaker than wanted.
    Warning,
    /// Something failed.
    Error,
}

impl Notice {
    /// A notice that is its title.
    pub fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self { severity, title: title.into(), description: None }
    }

    /// Adds what else there is to know.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl Severity {
    /// One word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}
