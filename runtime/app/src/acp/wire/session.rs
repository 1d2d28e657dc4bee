//! Sessions, modes and what the agent offers.

use std::path::{Path, PathBuf};

use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::store::SessionRecord;
use acp_runtime_agent::transcript::StopReason;
use agent_client_protocol::v1::schema;
use serde_json::json;

use crate::acp::error::RequestError;
use crate::acp::panels;

/// What `initialize` offers. Nothing is offered that is not there.
pub(in crate::acp) fn capabilities() -> schema::AgentCapabilities {
    let sessions = schema::SessionCapabilities::new()
        .list(schema::SessionListCapabilities::new())
        .close(schema::SessionCloseCapabilities::new())
        .additional_directories(schema::SessionAdditionalDirectoriesCapabilities::new());
    let mut meta = schema::Meta::new();
    meta.insert("aar".to_owned(), json!({ "panels": 1, "methods": panels::METHODS }));
    schema::AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(schema::PromptCapabilities::new().image(true).embedded_context(true))
        .session_capabilities(sessions)
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

/// The session's folders, in the client's spelling: the first, and the others.
pub(in crate::acp) fn directories(cwd: &Path, additional: &[PathBuf]) -> Result<(String, Vec<String>), RequestError> {
    let absolute = |field: &'static str, path: &Path| match path.to_str() {
        Some(text) if path.is_absolute() && !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(RequestError::field(field, "must be an absolute path")),
    };
    let additional = additional.iter().map(|path| absolute("additionalDirectories", path)).collect::<Result<_, _>>()?;
    Ok((absolute("cwd", cwd)?, additional))
}

/// A line of `session/list`.
pub(in crate::acp) fn session_info(record: SessionRecord) -> schema::SessionInfo {
    // A clock that far off has no date to show.
    let updated = jiff::Timestamp::try_from(record.updated).ok().map(|at| format!("{at:.3}"));
    schema::SessionInfo::new(record.id.to_string(), record.cwd)
        .additional_directories(record.additional.into_iter().map(PathBuf::from).collect::<Vec<_>>())
        .title(record.title)
        .updated_at(updated)
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

    use acp_runtime_agent::transcript::SessionId;
    use expect_test::expect;

    use super::*;

    #[test]
    fn folders_must_be_absolute() {
        let read = |cwd: &str, more: &str| directories(Path::new(cwd), &[PathBuf::from(more)]).is_ok();
        assert!(read("/p", "/q"));
        for (cwd, more) in [("", "/q"), ("p", "/q"), (".", "/q"), ("/p", "q"), ("/p\0", "/q")] {
            assert!(!read(cwd, more), "{cwd:?} {more:?}");
        }
    }

    #[test]
    fn a_listed_session_has_a_date() {
        let record = SessionRecord {
            id: SessionId::new("s"),
            cwd: "/p".to_owned(),
            additional: vec!["/q".to_owned()],
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
