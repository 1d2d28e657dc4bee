//! Modes, sessions of a list, and what the agent offers.

use std::path::PathBuf;
use std::time::SystemTime;

use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::store::SessionRecord;
use acp_runtime_agent::transcript::StopReason;
use agent_client_protocol::v1::schema;
use serde_json::json;

use super::newer::Update;
use super::prompt::prompt_capabilities;
use crate::acp::panels;

/// What `initialize` offers. Nothing is offered that is not there.
pub(in crate::acp) fn capabilities() -> schema::AgentCapabilities {
    let sessions = schema::SessionCapabilities::new()
        .list(schema::SessionListCapabilities::new())
        .resume(schema::SessionResumeCapabilities::new())
        .close(schema::SessionCloseCapabilities::new())
        .delete(schema::SessionDeleteCapabilities::new())
        .additional_directories(schema::SessionAdditionalDirectoriesCapabilities::new())
        .system_prompt(
            schema::SessionSystemPromptCapabilities::new().mode(
                schema::SessionSystemPromptModeCapabilities::new()
                    .override_(schema::SessionSystemPromptOverrideCapabilities::new()),
            ),
        );
    let mut meta = schema::Meta::new();
    meta.insert("aar".to_owned(), json!({ "panels": 1, "methods": panels::METHODS }));
    schema::AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompt_capabilities())
        .mcp_capabilities(schema::McpCapabilities::new().http(true))
        .session_capabilities(sessions)
        .auth(schema::AgentAuthCapabilities::new().logout(schema::LogoutCapabilities::new()))
        .meta(meta)
}

/// All modes, and the one that holds.
pub(in crate::acp) fn modes(current: Mode) -> schema::SessionModeState {
    let all = Mode::ALL
        .into_iter()
        .map(|mode| schema::SessionMode::new(mode.id(), mode.title()).description(mode.description().to_owned()))
        .collect();
    schema::SessionModeState::new(current.id(), all)
}

/// A line of `session/list`.
pub(in crate::acp) fn session_info(record: SessionRecord) -> schema::SessionInfo {
    schema::SessionInfo::new(record.id.to_string(), record.setup.cwd)
        .additional_directories(record.setup.additional.into_iter().map(PathBuf::from).collect::<Vec<_>>())
        .title(record.title)
        .updated_at(date(record.updated))
}

/// When something last happened in a session.
pub(in crate::acp) fn last_activity(at: SystemTime) -> Update {
    let info = schema::SessionInfoUpdate::new();
    let info = match date(at) {
        Some(date) => info.updated_at(date),
        None => info,
    };
    schema::SessionUpdate::SessionInfoUpdate(info).into()
}

/// A clock that is far off has no date to show.
pub(super) fn date(at: SystemTime) -> Option<String> {
    jiff::Timestamp::try_from(at).ok().map(|at| format!("{at:.3}"))
}

/// Why a turn ended.
pub(in crate::acp) fn stop_reason(stop: StopReason) -> schema::StopReason {
    match stop {
        StopReason::EndTurn => schema::StopReason::EndTurn,
        StopReason::MaxTokens => schema::StopReason::MaxTokens,
        StopReason::MaxTurnRequests => schema::StopReason::MaxTurnRequests,
        StopReason::Refusal => schema::StopReason::Refusal,
        StopReason::Cancelled => schema::StopReason::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use acp_runtime_agent::store::SessionSetup;
    use acp_runtime_agent::transcript::SessionId;
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_listed_session_has_a_date() {
        let record = SessionRecord {
            id: SessionId::new("s"),
            setup: SessionSetup { cwd: "/p".to_owned(), additional: vec!["/q".to_owned()], system_prompt: None },
            title: Some("Hello".to_owned()),
            updated: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        };
        expect![[r#"{"sessionId":"s","cwd":"/p","additionalDirectories":["/q"],"title":"Hello","updatedAt":"2023-11-14T22:13:20.000Z"}"#]].assert_eq(&serde_json::to_string(&session_info(record)).unwrap());
    }

    #[test]
    fn the_modes_are_all_there() {
        expect![[r#"
            {
              "currentModeId": "plan",
              "availableModes": [
                {
                  "id": "review",
                  "name": "Review",
                  "description": "Asks before files are changed and before programs are run"
                },
                {
                  "id": "auto-edit",
                  "name": "Auto-edit",
                  "description": "Changes files without asking; asks before deleting and before programs are run"
                },
                {
                  "id": "auto",
                  "name": "Auto",
                  "description": "Changes files and runs programs without asking"
                },
                {
                  "id": "read-only",
                  "name": "Read-only",
                  "description": "Changes nothing and runs nothing"
                },
                {
                  "id": "plan",
                  "name": "Plan",
                  "description": "Changes nothing, runs nothing and stays off the network"
                }
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&modes(Mode::Plan)).unwrap());
    }
}
