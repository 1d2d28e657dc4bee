//! The session's plan, as the editor shows it.

use super::imports;
use crate::Result;
use crate::bindings::imports::host::plan as wire;

/// One line of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What is to be done.
    pub content: String,
    /// How important it is.
    pub priority: Priority,
    /// How far it is.
    pub status: Status,
}

/// How important a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Priority {
    /// First.
    High,
    /// As usual.
    #[default]
    Medium,
    /// Can wait.
    Low,
}

/// How far a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl Entry {
    /// A line of medium priority that is not begun.
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), priority: Priority::Medium, status: Status::Pending }
    }

    /// Sets how important it is.
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Sets how far it is.
    #[must_use]
    pub fn status(self, status: Status) -> Self {
        Self { status, ..self }
    }
}

/// Replaces the whole plan.
pub fn set(entries: impl IntoIterator<Item = Entry>) -> Result<()> {
    let entries: Vec<_> = entries.into_iter().map(Into::into).collect();
    Ok(imports::plan::set(&entries)?)
}

impl Priority {
    fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl From<Entry> for wire::Entry {
    fn from(entry: Entry) -> Self {
        Self {
            content: entry.content,
            priority: entry.priority.as_str().to_owned(),
            status: entry.status.as_str().to_owned(),
            extra: Vec::new(),
        }
    }
}
