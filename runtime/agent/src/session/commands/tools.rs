//! `/tools` and `/call`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Reply, invalid, meant, word};
use crate::command::CommandReply;
use crate::session::Shared;
use crate::tool::ToolError;

pub(super) fn list(session: &Shared) -> String {
    let mut text = String::new();
    for tool in session.turns.tools.now().iter() {
        let spec = tool.spec();
        let first_line = spec.description.lines().next().unwrap_or_default();
        let _ = writeln!(text, "- `{}` – {first_line}", spec.name);
    }
    if text.is_empty() {
        text.push_str("There are no tools.");
    }
    text
}

/// A tool that is on its way is waited for; one that is there does not wait for others.
pub(super) async fn call(session: &Shared, arguments: &str) -> Reply {
    let (tool, json) = word(arguments);
    if tool.is_empty() {
        return Err(invalid("no tool was named: type `/call TOOL {json}`, or `/tools` for the tools"));
    }
    let mut tools = session.turns.tools.now();
    if tools.get(tool).is_none() {
        session.turns.tools.settle().await;
        tools = session.turns.tools.now();
    }
    if tools.get(tool).is_none() {
        let known = tools.iter().map(|tool| tool.spec().name.as_str());
        return Err(ToolError::to_model("not-found", format!("there is no tool `{tool}`{}", meant(tool, known))));
    }
    Ok(CommandReply::Call { tool: tool.to_owned(), arguments: object(json)?.into() })
}

/// A JSON object; an empty one where nothing is written.
pub(super) fn object(json: &str) -> Result<Map<String, Value>, ToolError> {
    match json.trim() {
        "" => Ok(Map::new()),
        json => serde_json::from_str(json).map_err(|error| invalid(format!("`{json}` is not a JSON object: {error}"))),
    }
}
