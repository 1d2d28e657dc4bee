//! Version 0.1 of the interfaces.

use std::time::Duration;

use acp_runtime_agent::capability::{HookEvent, PanelName};
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::hook::{Occurrence, Verdict};
use acp_runtime_agent::noun::counted;
use acp_runtime_agent::panel::{PanelActing, PanelAction, PanelInfo, PanelNode, PanelView};
use acp_runtime_agent::plain;
use acp_runtime_agent::transcript::{Location, ToolContent, ToolOutcome};
use acp_runtime_agent::workspace::EntryKind;
use serde_json::Value;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Instance, InstancePre, Linker, Resource};

use self::generated::aar::host;
use self::generated::aar::types::types;
use self::generated::exports::aar::{command::command, hooks::hooks, panel::panel, tool::tool};
use super::tree::{self, FlatNode};
use super::{CallContext, GuestError};
use crate::exec::{ProgramEnd, ProgramOutput};
use crate::imports;
use crate::imports::http::{GuestRequest, GuestResponse};
use crate::manifest::{Inventory, ToolEntry};
use crate::state::{Call, HostError, PluginState};

mod generated {
    wasmtime::component::bindgen!({
        path: [
            "../../wit/types",
            "../../wit/host",
            "../../wit/tool",
            "../../wit/panel",
            "../../wit/command",
            "../../wit/hooks",
            "../../wit/plugin",
        ],
        world: "aar:plugin/plugin",
        imports: { default: async },
        exports: { default: async },
        with: { "aar:host/http.response": crate::imports::http::GuestResponse },
    });
}

pub(super) fn link(linker: &mut Linker<PluginState>) -> wasmtime::Result<()> {
    type State = HasSelf<PluginState>;
    host::log::add_to_linker::<_, State>(linker, |state| state)?;
    host::progress::add_to_linker::<_, State>(linker, |state| state)?;
    host::http::add_to_linker::<_, State>(linker, |state| state)?;
    host::secrets::add_to_linker::<_, State>(linker, |state| state)?;
    host::kv::add_to_linker::<_, State>(linker, |state| state)?;
    host::workspace::add_to_linker::<_, State>(linker, |state| state)?;
    host::plan::add_to_linker::<_, State>(linker, |state| state)?;
    host::panel::add_to_linker::<_, State>(linker, |state| state)?;
    host::settings::add_to_linker::<_, State>(linker, |state| state)?;
    host::process::add_to_linker::<_, State>(linker, |state| state)?;
    host::session::add_to_linker::<_, State>(linker, |state| state)?;
    host::prompt::add_to_linker::<_, State>(linker, |state| state)?;
    types::add_to_linker::<_, State>(linker, |state| state)
}

// What guests import.

impl types::Host for PluginState {}

impl From<HostError> for types::Error {
    fn from(error: HostError) -> Self {
        Self { kind: error.kind.to_owned(), message: error.message, retry: error.retry, extra: Vec::new() }
    }
}

impl host::log::Host for PluginState {
    async fn emit(&mut self, level: String, message: String) {
        imports::log::emit(&self.call, &level, &message);
    }
}

impl host::progress::Host for PluginState {
    async fn emit(&mut self, fraction: Option<f64>, message: Option<String>) {
        imports::progress::emit(&mut self.call, fraction, message.as_deref());
    }

    async fn cancelled(&mut self) -> bool {
        imports::progress::cancelled(&self.call)
    }
}

impl host::kv::Host for PluginState {
    async fn get(&mut self, scope: String, key: String) -> Result<Option<host::kv::Entry>, types::Error> {
        let entry = imports::kv::get(&mut self.call, &scope, &key).await?;
        Ok(entry.map(|entry| host::kv::Entry { value: entry.value, version: entry.version, extra: Vec::new() }))
    }

    async fn set(
        &mut self,
        scope: String,
        key: String,
        value: Vec<u8>,
        expected: Option<u64>,
    ) -> Result<u64, types::Error> {
        Ok(imports::kv::set(&mut self.call, &scope, &key, value, expected).await?)
    }

    async fn delete(&mut self, scope: String, key: String) -> Result<bool, types::Error> {
        Ok(imports::kv::delete(&mut self.call, &scope, &key).await?)
    }

    async fn list_keys(&mut self, scope: String, prefix: String) -> Result<Vec<String>, types::Error> {
        Ok(imports::kv::list_keys(&mut self.call, &scope, &prefix).await?)
    }
}

impl host::http::Host for PluginState {
    async fn send(&mut self, request: host::http::Request) -> Result<Resource<GuestResponse>, types::Error> {
        let request = GuestRequest {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            secrets: request.secrets,
            follows: request.follow_redirects,
            time: request.timeout_ms.map(Duration::from_millis),
        };
        let response = imports::http::send(&mut self.call, request).await?;
        let pushed = self.table().push(response);
        Ok(pushed.map_err(|_| HostError::limit("there are too many open responses: drop those that are read"))?)
    }
}

impl host::http::HostResponse for PluginState {
    async fn status(&mut self, response: Resource<GuestResponse>) -> u16 {
        self.response(&response).map_or(0, |response| response.status)
    }

    async fn url(&mut self, response: Resource<GuestResponse>) -> String {
        self.response(&response).map_or_else(String::new, |response| response.url.clone())
    }

    async fn headers(&mut self, response: Resource<GuestResponse>) -> Vec<(String, Vec<u8>)> {
        self.response(&response).map_or_else(Vec::new, |response| response.headers.clone())
    }

    async fn read(&mut self, response: Resource<GuestResponse>, most: u32) -> Result<Vec<u8>, types::Error> {
        let (call, table) = self.call_and_table();
        let Ok(response) = table.get_mut(&response) else {
            return Err(HostError::invalid("the response was dropped").into());
        };
        Ok(imports::http::read(call, response, most).await?)
    }

    async fn drop(&mut self, response: Resource<GuestResponse>) -> wasmtime::Result<()> {
        self.table().delete(response)?;
        Ok(())
    }
}

impl PluginState {
    /// The guest cannot name one that it was not given, or has dropped.
    fn response(&mut self, response: &Resource<GuestResponse>) -> Option<&GuestResponse> {
        self.table().get(response).ok()
    }
}

impl host::secrets::Host for PluginState {
    async fn available(&mut self, name: String) -> Result<bool, types::Error> {
        Ok(imports::secrets::available(&mut self.call, &name).await?)
    }
}

impl host::workspace::Host for PluginState {
    async fn roots(&mut self) -> Vec<host::workspace::Root> {
        let roots = imports::workspace::roots(&mut self.call).into_iter();
        roots.map(|(path, name)| host::workspace::Root { path, name, extra: Vec::new() }).collect()
    }

    async fn read_text(&mut self, path: String, line: Option<u32>, limit: Option<u32>) -> Result<String, types::Error> {
        Ok(imports::workspace::read_text(&mut self.call, &path, line, limit).await?)
    }

    async fn write_text(&mut self, path: String, text: String) -> Result<(), types::Error> {
        Ok(imports::workspace::write_text(&mut self.call, &path, &text).await?)
    }

    async fn list_directory(&mut self, path: String) -> Result<Vec<host::workspace::DirEntry>, types::Error> {
        let entries = imports::workspace::list_directory(&mut self.call, &path).await?;
        let entries = entries.into_iter().map(|entry| {
            let kind = match entry.kind {
                EntryKind::File => "file",
                EntryKind::Directory => "directory",
                EntryKind::Link => "link",
                EntryKind::Other => "other",
            };
            host::workspace::DirEntry { name: entry.name, kind: kind.to_owned(), size: entry.size, extra: Vec::new() }
        });
        Ok(entries.collect())
    }
}

impl host::plan::Host for PluginState {
    async fn set(&mut self, entries: Vec<host::plan::Entry>) -> Result<(), types::Error> {
        let entries = entries.into_iter().map(|entry| imports::plan::GuestEntry {
            content: entry.content,
            priority: entry.priority,
            status: entry.status,
        });
        Ok(imports::plan::set(&mut self.call, &entries.collect::<Vec<_>>())?)
    }
}

impl host::panel::Host for PluginState {
    async fn changed(&mut self, panel: String) {
        imports::panel::changed(&mut self.call, &panel);
    }
}

impl host::settings::Host for PluginState {
    async fn get(&mut self) -> String {
        imports::settings::get(&self.call)
    }
}

impl host::process::Host for PluginState {
    async fn run(&mut self, command: host::process::Command) -> Result<host::process::Output, types::Error> {
        let host::process::Command { program, arguments, cwd, timeout_ms, extra: _ } = command;
        let asked = imports::process::Asked { program, arguments, folder: cwd, milliseconds: timeout_ms };
        let ProgramOutput { end, stdout, stderr } = imports::process::run(&mut self.call, asked).await?;
        let (code, signal) = match end {
            ProgramEnd::Exited(code) => (Some(code), None),
            ProgramEnd::Killed(signal) => (None, Some(signal)),
        };
        Ok(host::process::Output { code, signal, stdout, stderr, extra: Vec::new() })
    }
}

impl host::session::Host for PluginState {
    async fn read(&mut self, limit: u32) -> Result<Vec<host::session::Entry>, types::Error> {
        let said = imports::session::read(&mut self.call, limit).await?.into_iter();
        Ok(said.map(|(role, text)| host::session::Entry { role: role.to_owned(), text, extra: Vec::new() }).collect())
    }
}

impl host::prompt::Host for PluginState {
    async fn set(&mut self, text: Option<String>) -> Result<(), types::Error> {
        Ok(imports::prompt::set(&mut self.call, text.as_deref()).await?)
    }
}

// What guests export.

/// Which interfaces there are. A component may have any of them.
pub(super) struct Exports {
    tool: Option<tool::GuestIndices>,
    panel: Option<panel::GuestIndices>,
    command: Option<command::GuestIndices>,
    hooks: Option<hooks::GuestIndices>,
}

impl Exports {
    pub(super) fn of(component: &InstancePre<PluginState>) -> Self {
        Self {
            tool: tool::GuestIndices::new(component).ok(),
            panel: panel::GuestIndices::new(component).ok(),
            command: command::GuestIndices::new(component).ok(),
            hooks: hooks::GuestIndices::new(component).ok(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tool.is_none() && self.panel.is_none() && self.command.is_none() && self.hooks.is_none()
    }
}

pub(super) struct Guest {
    store: Store<PluginState>,
    instance: Instance,
}

impl Guest {
    pub(super) fn new(store: Store<PluginState>, instance: Instance) -> Self {
        Self { store, instance }
    }

    pub(super) fn state(&mut self) -> &mut PluginState {
        self.store.data_mut()
    }

    pub(super) fn store(&mut self) -> &mut Store<PluginState> {
        &mut self.store
    }

    pub(super) async fn inventory(&mut self, exports: &Exports) -> Result<Inventory, GuestError> {
        let mut inventory = Inventory::default();
        if let Some(indices) = &exports.tool {
            let tools = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
            let tools = tools.call_list_tools(&mut self.store).await.map_err(GuestError::Stopped)?;
            inventory.tools = tools.into_iter().map(tool_entry).collect::<Result<_, _>>()?;
        }
        if let Some(indices) = &exports.panel {
            let panels = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
            let panels = panels.call_list_panels(&mut self.store).await.map_err(GuestError::Stopped)?;
            inventory.panels = panels.into_iter().map(panel_info).collect::<Result<_, _>>()?;
        }
        if let Some(indices) = &exports.command {
            let commands = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
            let commands = commands.call_list_commands(&mut self.store).await.map_err(GuestError::Stopped)?;
            inventory.commands = commands.into_iter().map(command_info).collect();
        }
        if let Some(indices) = &exports.hooks {
            let hooks = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
            let events = hooks.call_list_events(&mut self.store).await.map_err(GuestError::Stopped)?;
            inventory.hooks = events.iter().map(|event| hook_event(event)).collect::<Result<_, _>>()?;
        }
        Ok(inventory)
    }

    pub(super) async fn call(
        &mut self,
        exports: &Exports,
        name: &str,
        arguments: &String,
        context: CallContext,
    ) -> Result<ToolOutcome, GuestError> {
        let indices = exports.tool.as_ref().ok_or(GuestError::Missing("aar:tool/tool"))?;
        let tools = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
        let left = self.store.data().call.deadline.left();
        let context = tool::CallContext {
            call_id: context.call,
            session_id: context.session,
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            extra: Vec::new(),
        };
        let answer = tools.call_call(&mut self.store, name, arguments, &context).await;
        outcome(self.said(answer)?, self.most(), self.running())
    }

    pub(super) async fn snapshot(&mut self, exports: &Exports, name: &str) -> Result<PanelView, GuestError> {
        let indices = exports.panel.as_ref().ok_or(GuestError::Missing("aar:panel/panel"))?;
        let panels = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
        let view = panels.call_snapshot(&mut self.store, name).await;
        let view = self.said(view)?;
        let call = self.running();
        let flat = view.nodes.into_iter().map(|node| FlatNode {
            parent: node.parent,
            id: call.clean(node.id),
            label: call.clean(node.label),
            kind: call.clean(node.kind),
            style: node.style,
            expanded: node.expanded,
            data: call.clean_json(node.data),
        });
        let root = tree::build(flat.collect(), &call.limits.panel)?;
        Ok(PanelView { root, status: plain::line(&call.clean(view.status), 120) })
    }

    pub(super) async fn act(
        &mut self,
        exports: &Exports,
        name: &str,
        acting: PanelActing,
    ) -> Result<Option<String>, GuestError> {
        let indices = exports.panel.as_ref().ok_or(GuestError::Missing("aar:panel/panel"))?;
        let panels = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
        let arguments = Value::Object(acting.args).to_string();
        let node = flat_node(acting.node);
        let message = panels.call_act(&mut self.store, name, &acting.action, &node, &arguments).await;
        let message = self.said(message)?;
        fits(message.as_ref().map_or(0, String::len), self.most())?;
        Ok(message.map(|text| self.running().clean(text)).map(|text| plain::block(&text, text.len())))
    }

    pub(super) async fn run(
        &mut self,
        exports: &Exports,
        name: &str,
        arguments: &str,
    ) -> Result<(String, Option<String>), GuestError> {
        let indices = exports.command.as_ref().ok_or(GuestError::Missing("aar:command/command"))?;
        let commands = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
        let reply = commands.call_run(&mut self.store, name, arguments).await;
        let reply = self.said(reply)?;
        fits(reply.text.len() + reply.prompt.as_ref().map_or(0, String::len), self.most())?;
        let (text, prompt) =
            (self.running().clean(reply.text), reply.prompt.map(|prompt| self.running().clean(prompt)));
        Ok((plain::block(&text, text.len()), prompt))
    }

    pub(super) async fn handle(&mut self, exports: &Exports, occurrence: &Occurrence) -> Result<Verdict, GuestError> {
        let indices = exports.hooks.as_ref().ok_or(GuestError::Missing("aar:hooks/hooks"))?;
        let guest = indices.load(&mut self.store, &self.instance).map_err(GuestError::Stopped)?;
        let left = self.store.data().call.deadline.left();
        let occurrence = hooks::Occurrence {
            event: occurrence.event.to_string(),
            session_id: occurrence.session.to_string(),
            call_id: occurrence.call.as_ref().map(ToString::to_string),
            payload: occurrence.payload.clone(),
            truncated: occurrence.truncated,
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            extra: Vec::new(),
        };
        let decision = guest.call_handle(&mut self.store, &occurrence).await;
        let decision = self.said(decision)?;
        fits(decision.text.as_ref().map_or(0, String::len), self.most())?;
        // What replaces something is often JSON.
        let text = decision.text.map(|text| self.running().clean_json(text)).unwrap_or_default();
        verdict(&self.running().clean(decision.kind), text)
    }

    /// The most that an outcome may have, in bytes.
    fn most(&self) -> usize {
        self.running().limits.traffic.output
    }

    /// The call that runs in it.
    fn running(&self) -> &Call {
        &self.store.data().call
    }

    fn said<T>(&self, answer: wasmtime::Result<Result<T, types::Error>>) -> Result<T, GuestError> {
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let message = plain::block(&self.running().clean(error.message), 4096);
                Err(GuestError::Said { kind: plain::line(&self.running().clean(error.kind), 80), message })
            }
            Err(stopped) => Err(GuestError::Stopped(stopped)),
        }
    }
}

fn fits(size: usize, most: usize) -> Result<(), GuestError> {
    if size <= most {
        return Ok(());
    }
    Err(GuestError::TooMuch(format!("the answer has {size} bytes; at most {most}: ask for less")))
}

fn tool_entry(tool: tool::ToolDef) -> Result<ToolEntry, GuestError> {
    let input_schema = serde_json::from_str(&tool.input_schema).map_err(|error| {
        let name = plain::line(&tool.name, 80);
        GuestError::Refused(format!("tool `{name}`: its input schema is not JSON: {error}"))
    })?;
    Ok(ToolEntry {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema,
        side_effects: tool.side_effects,
    })
}

fn panel_info(panel: panel::PanelDef) -> Result<PanelInfo, GuestError> {
    let actions = panel.actions.into_iter().map(|action| PanelAction {
        id: action.id,
        label: action.label,
        key: action.key,
        kinds: action.kinds,
        destructive: action.destructive,
        confirm: action.confirm,
        inputs: action.inputs,
        mutates: action.mutates,
    });
    let name = PanelName::new(&panel.name).map_err(|error| GuestError::Refused(error.to_string()))?;
    Ok(PanelInfo { name, title: panel.title, actions: actions.collect() })
}

fn command_info(command: command::CommandDef) -> CommandInfo {
    CommandInfo { name: command.name, description: command.description, hint: command.hint }
}

fn hook_event(event: &str) -> Result<HookEvent, GuestError> {
    HookEvent::from_id(event).ok_or_else(|| {
        GuestError::Refused(format!(
            "there is no event `{}`: hooks are told of {}",
            plain::line(event, 80),
            all_events()
        ))
    })
}

fn all_events() -> String {
    let events: Vec<&str> = HookEvent::ALL.into_iter().map(HookEvent::as_str).collect();
    format!("`{}`", events.join("`, `"))
}

/// Closed: whatever is not one of these words allows nothing.
fn verdict(kind: &str, text: String) -> Result<Verdict, GuestError> {
    match kind {
        "no-opinion" => Ok(Verdict::NoOpinion),
        "replace" => Ok(Verdict::Replace(text)),
        "block" => Ok(Verdict::Block(text)),
        "ask" => Ok(Verdict::Ask(text)),
        other => Err(GuestError::Refused(format!(
            "`{}` is nothing that a hook can say: only `no-opinion`, `replace`, `block` and `ask` are",
            plain::line(other, 80)
        ))),
    }
}

fn flat_node(node: PanelNode) -> panel::Node {
    panel::Node {
        id: node.id,
        parent: None,
        label: node.label,
        kind: node.kind,
        style: node.style,
        expanded: node.expanded,
        data: Value::Object(node.data).to_string(),
        extra: Vec::new(),
    }
}

fn outcome(outcome: tool::Outcome, most: usize, call: &Call) -> Result<ToolOutcome, GuestError> {
    let pieces = outcome.content.iter().map(|piece| piece.text.as_ref().map_or(0, String::len));
    fits(pieces.sum::<usize>() + outcome.structured.as_ref().map_or(0, String::len), most)?;
    let structured = outcome.structured.map(|json| serde_json::from_str(&call.clean_json(json))).transpose();
    let locations =
        outcome.locations.into_iter().map(|place| Location { path: call.clean(place.path), line: place.line });
    Ok(ToolOutcome {
        content: outcome.content.into_iter().map(|piece| content(piece, call)).collect(),
        locations: locations.take(1000).collect(),
        structured: structured
            .map_err(|error| GuestError::Refused(format!("the structured outcome is not JSON: {error}")))?,
        failed: false,
    })
}

/// What clients and models are not shown is at least named.
fn content(piece: types::Content, call: &Call) -> ToolContent {
    let text = match (piece.text, piece.data) {
        (Some(text), _) => text,
        (None, data) => {
            let size = counted(data.map_or(0, |data| data.len()), "byte");
            format!("[{}, {size}]", plain::line(&call.clean(piece.mime), 80))
        }
    };
    ToolContent::Text { text: call.clean(text) }
}
