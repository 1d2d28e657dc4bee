//! `_aar/panel_*`: Aar's contract for panels, on the wire.
//!
//! The session resolves panel, action, node and kind; here are only the parameters and the answers. Knows no plugin.
//! Tested in `tests.rs` against the contract's table of errors.

use acp_runtime_agent::panel::{PanelInfo, PanelNode, PanelReply, PanelView};
use acp_runtime_agent::session::SessionHandle;
use acp_runtime_agent::transcript::SessionId;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::RequestError;

/// The methods that are answered.
pub(super) const METHODS: [&str; 3] = ["_aar/panel_list", "_aar/panel_snapshot", "_aar/panel_action"];
/// The notification that a panel would now look different.
pub(super) const CHANGED: &str = "_aar/panel_changed";

/// A request for a panel, with its parameters as Aar reads them.
pub(super) enum PanelRequest {
    List,
    Snapshot { panel: String },
    Act { panel: String, action: String, node: String, args: Map<String, Value> },
}

impl PanelRequest {
    /// Reads a request and the session that it is for. Parameters that are no object count as none given.
    pub(super) fn read(method: &str, params: Value) -> Result<(SessionId, Self), RequestError> {
        if !METHODS.contains(&method) {
            return Err(RequestError::UnknownMethod(method.to_owned()));
        }
        let mut params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        let session = match either(&params, "sessionId", "session_id") {
            Some(Value::String(id)) if !id.is_empty() => SessionId::new(id),
            _ => return Err(RequestError::field("sessionId", "required")),
        };
        let request = match method {
            "_aar/panel_list" => Self::List,
            "_aar/panel_snapshot" => Self::Snapshot { panel: text(params.get("panel")) },
            _ => Self::Act {
                panel: text(params.get("panel")),
                action: text(params.get("action")),
                node: text(either(&params, "nodeId", "node_id")),
                args: match params.remove("args") {
                    Some(Value::Object(args)) => args,
                    _ => Map::new(),
                },
            },
        };
        Ok((session, request))
    }

    /// Has the session do it.
    pub(super) async fn answer(self, session: SessionHandle) -> Result<Value, RequestError> {
        Ok(match self {
            Self::List => {
                let panels: Vec<Value> =
                    session.panels().await.into_iter().map(|(info, status)| announced(&info, status)).collect();
                json!({ "panels": panels })
            }
            Self::Snapshot { panel } => {
                let PanelView { root, status } = session.panel_snapshot(&panel).await?;
                json!({ "panel": panel, "root": node(root), "status": status })
            }
            Self::Act { panel, action, node: id, args } => {
                let PanelReply { message, view } = session.panel_act(&panel, &action, &id, args).await?;
                let (root, status) = (node(view.root), view.status);
                json!({ "panel": panel, "action": action, "message": message, "root": root, "status": status })
            }
        })
    }
}

/// The first spelling that is there and not null.
fn either<'a>(params: &'a Map<String, Value>, first: &str, second: &str) -> Option<&'a Value> {
    [first, second].into_iter().filter_map(|name| params.get(name)).find(|value| !value.is_null())
}

/// A name as it was sent; what is no text is the JSON that it was, and names nothing.
fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn announced(info: &PanelInfo, status: String) -> Value {
    json!({ "name": info.name, "title": info.title, "status": status, "actions": as_value(&info.actions) })
}

fn node(root: PanelNode) -> Value {
    as_value(&root)
}

/// Panels are plain data, whose form is the contract's.
fn as_value(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}
