//! `/tools` and `/call`.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::noun::counted;
use serde_json::{Map, Value};

use super::{Reply, only, schema, word};
use crate::command::CommandReply;
use crate::model::ToolSpec;
use crate::near::near;
use crate::plain;
use crate::server::ServerStatus;
use crate::session::Shared;
use crate::tool::ToolError;

pub(super) async fn answer(session: &Shared, arguments: &str) -> Reply {
    let tool = only("tools", arguments)?;
    let text = if tool.is_empty() { list(session).await } else { described(&*find(session, tool).await?) };
    Ok(CommandReply::Text(text))
}

async fn list(session: &Shared) -> String {
    session.turns.tools.settle_to_show().await;
    let mut text = String::new();
    for tool in session.turns.tools.now().iter() {
        let spec = tool.spec();
        let first_line = spec.description.lines().next().unwrap_or_default();
        let _ = writeln!(text, "- `{}` – {first_line}", spec.name);
    }
    if text.is_empty() {
        text.push_str("There are no tools.\n");
    }
    let away = session.turns.tools.servers().into_iter().filter(|server| server.status != ServerStatus::Connected);
    for (index, server) in away.enumerate() {
        let before = if index == 0 { "\nThese MCP servers are not connected:\n\n" } else { "" };
        let _ = writeln!(text, "{before}- `{}`: {server}", server.name);
    }
    text
}

/// What a tool does and takes.
fn described(spec: &ToolSpec) -> String {
    const MOST: usize = 4000;
    let ToolSpec { name, title, description, input, .. } = spec;
    let title = plain::line(title, MOST);
    let title = if title.is_empty() || title == name.as_str() { title } else { format!(" – {title}") };
    let (arguments, example) = schema::described(input.as_value());
    format!("**`{name}`**{title}\n\n{}\n\n{arguments}\nTo call it: `/call {name} {example}`", shown(description, MOST))
}

/// Text of at most `most` characters. What is cut says so.
fn shown(text: &str, most: usize) -> String {
    let block = plain::block(text, most);
    match text.trim().chars().count().saturating_sub(most) {
        0 => block,
        more => format!("{block}… [{}]", counted(more, "more character")),
    }
}

/// A tool that is on its way is waited for; one that is there does not wait for others.
async fn find(session: &Shared, tool: &str) -> Result<Arc<ToolSpec>, ToolError> {
    let mut tools = session.turns.tools.now();
    if tools.get(tool).is_none() {
        session.turns.tools.settle().await;
        tools = session.turns.tools.now();
    }
    tools.get(tool).map(|tool| tool.spec().clone()).ok_or_else(|| {
        let known = tools.iter().map(|tool| tool.spec().name.as_str());
        ToolError::not_found(format!("there is no tool `{tool}`"), &near(tool, known))
            .or_hint(|| "type `/tools` for those that there are".to_owned())
    })
}

pub(super) async fn call(session: &Shared, arguments: &str) -> Reply {
    let (tool, json) = word(arguments);
    if tool.is_empty() {
        return Err(ToolError::invalid("no tool was named").hint("type `/call TOOL {json}`, or `/tools` for the tools"));
    }
    find(session, tool).await?;
    Ok(CommandReply::Call { tool: tool.to_owned(), arguments: object(json)?.into() })
}

/// A JSON object; an empty one where nothing is written.
pub(super) fn object(json: &str) -> Result<Map<String, Value>, ToolError> {
    match json.trim() {
        "" => Ok(Map::new()),
        json => serde_json::from_str(json)
            .map_err(|error| ToolError::invalid(format!("`{json}` is not a JSON object: {error}"))),
    }
}
