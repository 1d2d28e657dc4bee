//! The updates of schema 1.20 that the SDK's types do not have yet, with the form that the schema gives them.

use agent_client_protocol::v1::schema::{ContentBlock, PlanEntry, SessionId, SessionUpdate};
use serde::Serialize;
use serde_json::{Map, Value};

/// One `update` of a `session/update`, in JSON: one that the SDK knows, or a newer one.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(in crate::acp) struct Update(Value);

impl Update {
    /// The parameters of the notification that tells `session`'s client of it.
    pub(in crate::acp) fn params(self, session: &SessionId) -> Value {
        let session = Value::String(session.to_string());
        Value::Object(Map::from_iter([("sessionId".to_owned(), session), ("update".to_owned(), self.0)]))
    }
}

/// An update that the SDK does not know.
#[derive(Debug, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Newer {
    /// A plan, whole.
    PlanUpdate {
        /// What is in it.
        plan: PlanContent,
    },
    /// A plan is no more.
    PlanRemoved {
        /// Which.
        plan_id: &'static str,
    },
    /// The conversation is being summed up for the model, or was.
    CompactionUpdate {
        /// The summary's id.
        compaction_id: String,
        /// How far it is.
        status: CompactionStatus,
        /// Why there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// More of a summary.
    CompactionSummaryChunk {
        /// Its id.
        compaction_id: String,
        /// The next piece.
        content: Box<ContentBlock>,
    },
}

/// How far a summary is.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CompactionStatus {
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

/// What is in a plan.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum PlanContent {
    /// Steps.
    Items {
        /// Which plan.
        plan_id: &'static str,
        /// Its steps.
        entries: Vec<PlanEntry>,
    },
}

impl From<SessionUpdate> for Update {
    fn from(update: SessionUpdate) -> Self {
        Self(json(update))
    }
}

impl From<Newer> for Update {
    fn from(update: Newer) -> Self {
        Self(json(update))
    }
}

/// Updates are plain data with a JSON form.
fn json(update: impl Serialize) -> Value {
    serde_json::to_value(update).unwrap_or_default()
}
