//! The commands that every session has: `/help`, `/tools`, `/call`, `/panel`.
//!
//! They need no model, and they are how panels and tools are reached in a client that shows neither.

use std::fmt::Write as _;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::command::{Command, CommandReply};
use crate::event::CommandInfo;
use crate::panel::{PanelAction, PanelBoard, PanelError, PanelInfo, PanelNode, PanelView};
use crate::tool::{ToolCatalog, ToolError};

/// `/help`, `/tools`, `/call` and `/panel`, for a session with these tools and panels. `others` are the commands that
/// `/help` names beside them.
pub fn builtin_commands(
    tools: &ToolCatalog,
    panels: &Arc<PanelBoard>,
    others: &[CommandInfo],
) -> Vec<Arc<dyn Command>> {
    let tools_command = Tools { info: info("tools", "Lists the tools", None), tools: tools.clone() };
    let call = Call { info: info("call", "Calls a tool", Some("TOOL {json}")), tools: tools.clone() };
    let panel = Panel {
        info: info("panel", "Shows a panel, or does one of its actions", Some("[NAME [ACTION NODE [{json}]]]")),
        panels: panels.clone(),
    };
    let help_info = info("help", "Lists the commands", None);
    let mut infos = vec![help_info.clone(), tools_command.info.clone(), call.info.clone(), panel.info.clone()];
    infos.extend_from_slice(others);
    let help = Help { info: help_info, infos };
    vec![Arc::new(help), Arc::new(tools_command), Arc::new(call), Arc::new(panel)]
}

fn info(name: &str, description: &str, hint: Option<&str>) -> CommandInfo {
    CommandInfo { name: name.to_owned(), description: description.to_owned(), hint: hint.map(str::to_owned) }
}

struct Help {
    info: CommandInfo,
    infos: Vec<CommandInfo>,
}

impl Command for Help {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run<'a>(
        &'a self,
        _arguments: &'a str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        let mut text = String::new();
        for command in &self.infos {
            let hint = command.hint.as_ref().map_or(String::new(), |hint| format!(" {hint}"));
            let _ = writeln!(text, "- `/{}{hint}` – {}", command.name, command.description);
        }
        Box::pin(async { Ok(CommandReply::Text(text)) })
    }
}

struct Tools {
    info: CommandInfo,
    tools: ToolCatalog,
}

impl Command for Tools {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run<'a>(
        &'a self,
        _arguments: &'a str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        let mut text = String::new();
        for tool in self.tools.iter() {
            let spec = tool.spec();
            let first_line = spec.description.lines().next().unwrap_or_default();
            let _ = writeln!(text, "- `{}` – {first_line}", spec.name);
        }
        if text.is_empty() {
            text.push_str("There are no tools.");
        }
        Box::pin(async { Ok(CommandReply::Text(text)) })
    }
}

struct Call {
    info: CommandInfo,
    tools: ToolCatalog,
}

impl Command for Call {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run<'a>(
        &'a self,
        arguments: &'a str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        Box::pin(async move {
            let (tool, json) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
            if tool.is_empty() {
                return Err(invalid("no tool was named: type `/call TOOL {json}`, or `/tools` for the tools"));
            }
            if self.tools.get(tool).is_none() {
                let near = self.tools.near(tool);
                let hint = near.first().map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                return Err(ToolError::to_model("not-found", format!("there is no tool `{tool}`{hint}")));
            }
            Ok(CommandReply::Call { tool: tool.to_owned(), arguments: object(json)?.into() })
        })
    }
}

struct Panel {
    info: CommandInfo,
    panels: Arc<PanelBoard>,
}

impl Command for Panel {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run<'a>(
        &'a self,
        arguments: &'a str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        Box::pin(async move {
            let (name, rest) = word(arguments);
            let (action, rest) = word(rest);
            let (node, json) = word(rest);
            let text = match (name, action, node) {
                ("", ..) => self.list().await,
                (name, "", _) => {
                    drawn(self.announced(name), &self.panels.snapshot(name).await.map_err(|error| shown(&error))?)
                }
                (_, action, "") => {
                    return Err(invalid(format!("no node was named for `{action}`: the panel shows them in brackets")));
                }
                (name, action, node) => {
                    // The command is itself the prompt that runs, so nothing else can be in the way.
                    let reply = self
                        .panels
                        .act(name, action, node, object(json)?, || false)
                        .await
                        .map_err(|error| shown(&error))?;
                    let panel = drawn(self.announced(name), &reply.view);
                    reply.message.map_or(panel.clone(), |message| format!("{message}\n\n{panel}"))
                }
            };
            Ok(CommandReply::Text(text))
        })
    }
}

impl Panel {
    async fn list(&self) -> String {
        if self.panels.is_empty() {
            return "There are no panels.".to_owned();
        }
        let mut text = String::new();
        for (info, status) in self.panels.list().await {
            let status = if status.is_empty() { status } else { format!(" ({status})") };
            let _ = writeln!(text, "- `/panel {}` – {}{status}", info.name, info.title);
        }
        text
    }

    fn announced(&self, name: &str) -> Option<&PanelInfo> {
        self.panels.infos().find(|info| info.name.as_str() == name)
    }
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

fn object(json: &str) -> Result<Map<String, Value>, ToolError> {
    match json.trim() {
        "" => Ok(Map::new()),
        json => serde_json::from_str(json).map_err(|error| invalid(format!("`{json}` is not a JSON object: {error}"))),
    }
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::to_model("invalid-args", message)
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
