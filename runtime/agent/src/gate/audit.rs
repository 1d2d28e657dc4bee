//! What is kept of each decision, as a port.

use std::time::{Duration, Instant};

use super::{Exhibit, Origin, Scope};
use crate::capability::{Effect, PluginId};
use crate::transcript::ToolContent;

/// Keeps a line for every decision.
pub trait AuditSink: Send + Sync {
    /// Keeps it.
    fn record(&self, entry: AuditEntry<'_>);

    /// Keeps that something was decided for longer than one time.
    fn settled(&self, settled: &Settled<'_>) {
        let _ = settled;
    }
}

/// An answer that holds longer than a question, as it was given.
#[derive(Debug, Clone, Copy)]
pub struct Settled<'a> {
    /// Whom it is about: `tool write_file`, `plugin aar:notes`.
    pub subject: &'a str,
    /// Where it is a plugin.
    pub plugin: Option<&'a PluginId>,
    /// What it is about, as it can be typed: `write:notes/**`.
    pub about: &'a str,
    /// How long it holds.
    pub scope: Scope,
    /// What was said.
    pub verdict: Verdict,
}

/// An answer, or the end of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Allowed,
    /// No.
    Denied,
    /// What was said before holds no more.
    TakenBack,
}

impl Verdict {
    /// In a word, as audits say who decided.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "granted",
            Self::Denied => "denied",
            Self::TakenBack => "revoked",
        }
    }
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
    /// `changed`, `auto-deny` (refused by the person again and again), `capped` (asked too often in a turn), or the rule
    /// that refused; of what was allowed and not done, that of whoever does it. Of a hook what it did: `replace`,
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
