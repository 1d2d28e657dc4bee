//! `_aar/panel_*`: Aar's contract for panels, on the wire.
//!
//! The session resolves panel, action, node and kind; here are only the parameters and the answers. Knows no plugin.
//! Tested in `tests.rs` against the contract's table of errors.

use acp_runtime_agent::panel::{PanelError, PanelInfo, PanelNode, PanelReply, PanelView};
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
    Snapshot { panel: Name },
    Act { panel: Name, action: Name, node: Name, args: Map<String, Value> },
}

/// A parameter that names something.
pub(super) enum Name {
    Text(String),
    Missing,
    NotText,
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
            _ => return Err(RequestError::contract("sessionId", "required")),
        };
        let request = match method {
            "_aar/panel_list" => Self::List,
            "_aar/panel_snapshot" => Self::Snapshot { panel: Name::read(params.get("panel")) },
            _ => Self::Act {
                panel: Name::read(params.get("panel")),
                action: Name::read(params.get("action")),
                node: Name::read(either(&params, "nodeId", "node_id")),
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
                let view = session.panel_snapshot(panel.as_str()).await;
                let PanelView { root, status } =
                    view.map_err(|error| refused(error, &panel, &Name::Missing, &Name::Missing))?;
                json!({ "panel": panel.as_str(), "root": node(root), "status": status })
            }
            Self::Act { panel, action, node: id, args } => {
                let acted = session.panel_act(panel.as_str(), action.as_str(), id.as_str(), args).await;
                let PanelReply { message, failure: _, view } =
                    acted.map_err(|error| refused(error, &panel, &action, &id))?;
                let (panel, action) = (panel.as_str(), action.as_str());
                let (root, status) = (node(view.root), view.status);
                json!({ "panel": panel, "action": action, "message": message, "root": root, "status": status })
            }
        })
    }
}

impl Name {
    fn read(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Missing,
            Some(Value::String(text)) => Self::Text(text.clone()),
            Some(_) => Self::NotText,
        }
    }

    /// What is no name is the empty one, which nothing has.
    fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Missing | Self::NotText => "",
        }
    }

    /// That nothing is called so, as the contract begins it.
    fn unknown(&self, what: &str, field: &str) -> String {
        match self {
            Self::Text(text) => format!("unknown {what} '{text}'"),
            Self::Missing => format!("unknown {what}: `{field}` is missing"),
            Self::NotText => format!("unknown {what}: `{field}` must be a string"),
        }
    }
}

/// What the contract says to a request with these names.
fn refused(error: PanelError, panel: &Name, action: &Name, node: &Name) -> RequestError {
    match error {
        PanelError::UnknownPanel { available, .. } => {
            let reason = panel.unknown("panel", "panel");
            RequestError::Contract { field: "panel", reason, available: Some(available) }
        }
        PanelError::UnknownAction { available, .. } => {
            let reason = action.unknown("action", "action");
            RequestError::Contract { field: "action", reason, available: Some(available) }
        }
        PanelError::UnknownNode(_) => RequestError::contract("nodeId", node.unknown("node", "nodeId")),
        PanelError::WrongKind { action, kind } => {
            RequestError::contract("action", format!("'{action}' does not apply to node kind '{kind}'"))
        }
        PanelError::Busy => {
            RequestError::contract("action", "a prompt is in flight for this session — cancel it first")
        }
        PanelError::Failed { .. } => RequestError::Panel(error.to_string()),
    }
}

/// The first spelling that is there and not null.
fn either<'a>(params: &'a Map<String, Value>, first: &str, second: &str) -> Option<&'a Value> {
    [first, second].into_iter().filter_map(|name| params.get(name)).find(|value| !value.is_null())
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
