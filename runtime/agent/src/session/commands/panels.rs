//! `/panel`: panels as text, for clients that do not draw them.

use std::fmt::Write as _;

use super::tools::object;
use super::{Reply, invalid, word};
use crate::command::CommandReply;
use crate::panel::{PanelAction, PanelBoard, PanelError, PanelInfo, PanelNode, PanelView};
use crate::session::Shared;
use crate::tool::ToolError;

pub(super) async fn answer(session: &Shared, arguments: &str) -> Reply {
    let panels = &*session.panels;
    let (name, rest) = word(arguments);
    let (action, rest) = word(rest);
    let (node, json) = word(rest);
    let text = match (name, action, node) {
        ("", ..) => list(panels).await,
        (name, "", _) => drawn(announced(panels, name), &panels.snapshot(name).await.map_err(|error| shown(&error))?),
        (_, action, "") => {
            return Err(invalid(format!("no node was named for `{action}`: the panel shows them in brackets")));
        }
        (name, action, node) => {
            // The command is itself the prompt that runs, so nothing else can be in the way.
            let acted = panels.act(name, action, node, object(json)?, || false).await;
            let reply = acted.map_err(|error| shown(&error))?;
            let panel = drawn(announced(panels, name), &reply.view);
            reply.message.map_or(panel.clone(), |message| format!("{message}\n\n{panel}"))
        }
    };
    Ok(CommandReply::Text(text))
}

async fn list(panels: &PanelBoard) -> String {
    if panels.is_empty() {
        return "There are no panels.".to_owned();
    }
    let mut text = String::new();
    for (info, status) in panels.list().await {
        let status = if status.is_empty() { status } else { format!(" ({status})") };
        let _ = writeln!(text, "- `/panel {}` – {}{status}", info.name, info.title);
    }
    text
}

fn announced<'a>(panels: &'a PanelBoard, name: &str) -> Option<&'a PanelInfo> {
    panels.infos().find(|info| info.name.as_str() == name)
}

fn shown(error: &PanelError) -> ToolError {
    let available = match error {
        PanelError::UnknownPanel { available, .. } | PanelError::UnknownAction { available, .. } => {
            format!(" (there are: {})", available.join(", "))
        }
        PanelError::UnknownNode(_) | PanelError::WrongKind { .. } | PanelError::Busy | PanelError::Failed { .. } => {
            String::new()
        }
    };
    ToolError::to_model("panel", format!("{error}{available}"))
}

/// A panel as text: the tree in a code block, then what can be done.
fn drawn(info: Option<&PanelInfo>, view: &PanelView) -> String {
    let mut text = String::new();
    let title = info.map_or("", |info| info.title.as_str());
    let status = if view.status.is_empty() { String::new() } else { format!(" – {}", view.status) };
    let _ = writeln!(text, "**{title}**{status}\n\n```text");
    draw(&mut text, &view.root, "", "");
    text.push_str("```\n");
    for action in info.map_or(&[][..], |info| &info.actions) {
        let _ = writeln!(text, "- {}", usage(info.map_or("", |info| info.name.as_str()), action));
    }
    text
}

fn usage(panel: &str, action: &PanelAction) -> String {
    let inputs = match action.inputs.as_slice() {
        [] => String::new(),
        inputs => {
            let pairs: Vec<String> = inputs.iter().map(|input| format!("\"{input}\": …")).collect();
            format!(" {{{}}}", pairs.join(", "))
        }
    };
    format!("`/panel {panel} {} NODE{inputs}` – {} ({})", action.id, action.label, action.kinds.join(", "))
}

fn draw(text: &mut String, node: &PanelNode, lead: &str, below: &str) {
    let label = node.label.replace("```", "'''");
    let _ = writeln!(text, "{lead}{label}  [{}]", node.id);
    let last = node.children.len().saturating_sub(1);
    for (index, child) in node.children.iter().enumerate() {
        let (branch, rail) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(text, child, &format!("{below}{branch}"), &format!("{below}{rail}"));
    }
}
