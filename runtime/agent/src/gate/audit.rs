//! What is kept of each decision, as a port.

use std::time::{Duration, Instant};

use super::{Exhibit, Origin};
use crate::capability::Effect;
use crate::transcript::ToolContent;

/// Keeps a line for every decision.
pub trait AuditSink: Send + Sync {
    /// Keeps it.
    fn record(&self, entry: AuditEntry<'_>);
}

/// One decision.
#[derive(Debug)]
pub struct AuditEntry<'a> {
    /// On whose behalf.
    pub origin: &'a Origin,
    /// What, with all links followed.
    pub effect: &'a Effect,
    /// Whether it may happen.
    pub allowed: bool,
    /// Who decided: `policy`, `remembered`, `person`, `lent`, `cancelled`, `timeout`, `no-channel`, `malformed`,
    /// `changed`, or the rule that refused; of what was allowed and not done, that of whoever does it. Of a hook what it did: `replace`,
    /// `block`, `ask`, `fail-closed`, `fail-open`.
    pub by: &'a str,
    /// How often: more than once for what was only counted.
    pub times: u64,
    /// Bytes of the text that would be written, where it was known beforehand.
    pub bytes: Option<u64>,
    /// How long the decision took: mostly the time of a person.
    pub took: Duration,
}

/// What is asked of the gate at once.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) since: Instant,
    /// Of the text that would be written.
    pub(super) bytes: Option<u64>,
}

impl Request {
    pub(super) fn now(exhibit: &Exhibit) -> Self {
        let written = exhibit.content.iter().filter_map(|content| match content {
            ToolContent::Diff { new, .. } => Some(new.len() as u64),
            ToolContent::Text { .. }
            | ToolContent::Resource { .. }
            | ToolContent::Image { .. }
            | ToolContent::Terminal { .. }
            | ToolContent::Link { .. } => None,
        });
        Self { since: Instant::now(), bytes: written.reduce(|sum, bytes| sum + bytes) }
    }
}
