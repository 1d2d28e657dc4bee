//! `/panel`: panels as text, for clients that do not draw them.

use std::fmt::Write as _;

use super::tools::object;
use super::{Reply, word};
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
        (name, action, "") => {
            return Err(ToolError::invalid(format!("no node was named for `{action}`"))
                .hint(format!("`/panel {name}` shows the nodes, their names in brackets")));
        }
        (name, action, node) => {
            let args = object(json)?;
            let known = announced(panels, name).and_then(|info| info.actions.iter().find(|known| known.id == action));
            if let Some(known) = known.filter(|known| known.inputs.iter().any(|input| !args.contains_key(input))) {
                return Err(ToolError::invalid(format!("`{action}` needs more: `{}`", known.inputs.join("`, `")))
                    .hint(format!("type `/panel {name} {action} {node}{}`", inputs(known))));
            }
            // The command is itself the prompt that runs, so nothing else can be in the way.
            let reply = panels.act(name, action, node, args, || false).await.map_err(|error| shown(&error))?;
            if let Some(reason) = reply.failure {
                return Err(ToolError::to_model("panel", format!("{action}: {reason}")));
            }
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
    let there_are = |what: &str, available: &[String]| match available {
        [] => format!("there are no {what}"),
        available => format!("there are `{}`", available.join("`, `")),
    };
    let told = error.to_string();
    match error {
        PanelError::UnknownPanel { available, .. } => {
            ToolError::not_found(told, &[]).hint(there_are("panels", available))
        }
        PanelError::UnknownAction { available, .. } => {
            ToolError::not_found(told, &[]).hint(there_are("actions", available))
        }
        PanelError::UnknownNode(_) => {
            ToolError::not_found(told, &[]).hint("the panel shows the names of its nodes in brackets")
        }
        PanelError::WrongKind { .. } => ToolError::invalid(told),
        PanelError::Busy | PanelError::Failed { .. } => ToolError::to_model("panel", told),
    }
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
    let inputs = inputs(action);
    format!("`/panel {panel} {} NODE{inputs}` – {} ({})", action.id, action.label, action.kinds.join(", "))
}

/// What is to be typed behind the node, as an object to fill in.
fn inputs(action: &PanelAction) -> String {
    if action.inputs.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = action.inputs.iter().map(|input| format!("\"{input}\": …")).collect();
    format!(" {{{}}}", pairs.join(", "))
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
