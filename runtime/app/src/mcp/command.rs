//! `/mcp`: the servers of a session, and what a person can do with them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use acp_runtime_agent::capability::{CommandLine, CommandName, Effect, NetRequest};
use acp_runtime_agent::command::TextCommand;
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::gate::{Gate, Origin};
use acp_runtime_agent::near::near;
use acp_runtime_agent::plain;
use acp_runtime_agent::server::{Reach, ServerEntry, ServerState};
use acp_runtime_agent::tool::{ToolError, ToolSource as _};
use http::Uri;

use super::SessionServers;
use super::server::Server;

/// `/mcp`
pub struct McpCommand {
    info: CommandInfo,
    servers: Arc<SessionServers>,
    gate: Arc<Gate>,
}

impl McpCommand {
    /// For a session with these servers. What a person adds passes `gate` first.
    pub fn new(servers: Arc<SessionServers>, gate: Arc<Gate>) -> Self {
        let hint = "[add NAME COMMAND ARGS… | add NAME URL | remove NAME | restart NAME]";
        let info = CommandInfo {
            name: "mcp".to_owned(),
            description: "Lists the MCP servers; adds, removes or restarts one for this session".to_owned(),
            hint: Some(hint.to_owned()),
        };
        Self { info, servers, gate }
    }

    fn misused(&self, how: &str) -> ToolError {
        let usage = format!("type `/mcp`, or `/mcp {}`", self.info.hint.as_deref().unwrap_or_default());
        ToolError::invalid(how).hint(usage)
    }

    async fn list(&self) -> String {
        self.servers.settle_to_show().await;
        let lines = self.servers.lines();
        if lines.is_empty() {
            return "There are no MCP servers. Name some in the configuration (`[mcp.NAME]`), or type \
                    `/mcp add NAME COMMAND ARGS…`."
                .to_owned();
        }
        let mut text = String::new();
        for line in lines {
            let _ = writeln!(text, "- {line}");
        }
        text
    }

    async fn add(&self, name: &str, place: &[&str]) -> Result<String, ToolError> {
        if self.servers.get(name).is_some() {
            return Err(ToolError::invalid(format!("there is a server `{name}` already"))
                .hint("remove it first, or choose another name"));
        }
        let (reach, effect) = reach(place)?;
        let command = CommandName::new("mcp").map_err(|error| ToolError::Fatal(error.to_string()))?;
        self.gate.authorize(Origin::Command(command), vec![effect]).await?;
        let server = self
            .servers
            .add(ServerEntry { name: name.to_owned(), reach })
            .ok_or_else(|| ToolError::invalid(format!("`{name}` cannot be the name of one more server")))?;
        server.settle().await;
        Ok(self.told(name))
    }

    async fn remove(&self, name: &str) -> Result<String, ToolError> {
        self.find(name)?;
        self.servers.remove(name).await;
        Ok(format!("`{name}` is removed from this session."))
    }

    async fn restart(&self, name: &str) -> Result<String, ToolError> {
        self.find(name)?.restart().await;
        Ok(self.told(name))
    }

    fn find(&self, name: &str) -> Result<Arc<Server>, ToolError> {
        self.servers.get(name).ok_or_else(|| {
            let states = self.servers.states();
            let near = near(name, states.iter().map(|state| state.name.as_str()));
            ToolError::not_found(format!("there is no MCP server `{name}`"), &near)
                .or_hint(|| "type `/mcp` for those that there are".to_owned())
        })
    }

    fn told(&self, name: &str) -> String {
        let states = self.servers.states();
        let state = states.iter().find(|state| state.name == name);
        state.map_or_else(|| format!("`{name}` is gone."), |state| line(state, self.servers.get(name).as_deref()))
    }
}

impl SessionServers {
    /// How each of them is, in a line of Markdown.
    pub fn lines(&self) -> Vec<String> {
        self.states().iter().map(|state| line(state, self.get(&state.name).as_deref())).collect()
    }
}

impl TextCommand for McpCommand {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let words = shlex::split(arguments)
            .ok_or_else(|| ToolError::invalid("a quotation mark or a backslash has nothing that belongs to it"))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(self.list().await),
            ["add", name, place @ ..] if !place.is_empty() => self.add(name, place).await,
            ["remove", name] => self.remove(name).await,
            ["restart", name] => self.restart(name).await,
            ["add", ..] => Err(self.misused("`/mcp add` takes a name, and a command or an address")),
            ["remove" | "restart", ..] => Err(self.misused("`/mcp remove` and `/mcp restart` take one server's name")),
            [other, ..] => Err(self.misused(&format!("`/mcp` has no `{}`", plain::line(other, 80)))),
        }
    }
}

fn line(state: &ServerState, server: Option<&Server>) -> String {
    let place = server.map(|server| server.place.as_str()).filter(|place| !place.is_empty());
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    format!("`{}`{place} – {state}", state.name)
}

/// How to reach what was typed, and what that does.
fn reach(place: &[&str]) -> Result<(Reach, Effect), ToolError> {
    let (first, rest) = place.split_first().ok_or_else(|| ToolError::invalid("no command was typed"))?;
    if !first.contains("://") {
        let arguments: Vec<String> = rest.iter().map(|&word| word.to_owned()).collect();
        let line = CommandLine { program: (*first).to_owned(), arguments: arguments.clone() };
        let program = Reach::Program { program: (*first).to_owned(), arguments, environment: BTreeMap::new() };
        return Ok((program, Effect::Run(line)));
    }
    if !rest.is_empty() {
        return Err(ToolError::invalid("nothing may follow the address").hint("headers belong into the configuration"));
    }
    let uri = first.parse::<Uri>().map_err(|_| ToolError::invalid(format!("`{first}` is no address")))?;
    let (Some(scheme @ ("http" | "https")), Some(host)) = (uri.scheme_str(), uri.host()) else {
        return Err(ToolError::invalid(format!("`{first}` does not begin with `http://` or `https://`")));
    };
    let request = NetRequest {
        scheme: scheme.to_owned(),
        host: host.to_ascii_lowercase(),
        port: uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 }),
        path: uri.path().to_owned(),
    };
    Ok((Reach::Http { url: (*first).to_owned(), headers: BTreeMap::new() }, Effect::Fetch(request)))
}
