//! `aar:host/plan`: the session's plan. Needs no right: it is shown to the person and changes nothing else.

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::plain;
use acp_runtime_agent::transcript::{PlanEntry, PlanPriority, PlanStatus};

use crate::state::{Call, HostError};

/// One entry as the guest gives it.
pub(crate) struct GuestEntry {
    pub(crate) content: String,
    pub(crate) priority: String,
    pub(crate) status: String,
}

/// Replaces the whole plan.
pub(crate) fn set(call: &mut Call, entries: &[GuestEntry]) -> Result<(), HostError> {
    let most = call.limits.traffic.plan;
    if entries.len() > most {
        return Err(HostError::limit(format!("{} entries are too many; at most {most}", entries.len())));
    }
    let entries: Vec<PlanEntry> = entries.iter().map(|given| entry(call, given)).collect::<Result<_, _>>()?;
    let session = call.session()?;
    session.notices.count().map_err(|most| HostError::limit(format!("a call tells of at most {most} things")))?;
    session.scope.events.emit(SessionEvent::Plan { entries });
    Ok(())
}

fn entry(call: &Call, entry: &GuestEntry) -> Result<PlanEntry, HostError> {
    let priority = match entry.priority.as_str() {
        "high" => PlanPriority::High,
        "medium" => PlanPriority::Medium,
        "low" => PlanPriority::Low,
        other => return Err(unknown(other, "priority", "`high`, `medium` or `low`")),
    };
    let status = match entry.status.as_str() {
        "pending" => PlanStatus::Pending,
        "in_progress" => PlanStatus::InProgress,
        "completed" => PlanStatus::Completed,
        other => return Err(unknown(other, "status", "`pending`, `in_progress` or `completed`")),
    };
    // Cut only when it is clean: of a secret that is cut the rest would not be known.
    Ok(PlanEntry { content: plain::line(&call.clean(entry.content.clone()), 1000), priority, status })
}

fn unknown(value: &str, what: &str, known: &str) -> HostError {
    HostError::invalid(format!("`{}` is not a {what}: use {known}", plain::line(value, 80)))
}
