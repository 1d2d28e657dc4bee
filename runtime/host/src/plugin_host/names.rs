//! Names in a session: what a plugin's tools, panels and commands are called where several plugins meet.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use acp_runtime_agent::capability::{PanelName, PluginId, ToolName};
use acp_runtime_agent::model::{InputSchema, ToolSpec};

use super::Plugin;
use crate::manifest::{Manifest, ToolEntry};

/// How the names of MCP servers' tools begin.
const SERVERS: &str = "mcp";

/// A plugin's tools as the model is told of them, made once for all sessions.
pub(super) struct Specs {
    plain: Vec<NamedTool>,
    /// With the namespace in front: for sessions in which two publishers clash.
    full: OnceLock<Vec<NamedTool>>,
}

/// The spec of a tool, or why its name cannot be used.
pub(super) type NamedTool = Result<Arc<ToolSpec>, String>;

impl Specs {
    pub(super) fn new(manifest: &Manifest) -> Self {
        let id = &manifest.id;
        // `mcp__server__tool` is a tool of an MCP server, and none of a plugin.
        let plain = if id.name() == SERVERS { specs(manifest, &in_full(id)) } else { specs(manifest, id.name()) };
        Self { plain, full: OnceLock::new() }
    }

    /// What the tool `own` is called without the namespace.
    pub(super) fn called(&self, manifest: &Manifest, own: &str) -> Option<&ToolName> {
        let at = manifest.inventory.tools.iter().position(|tool| tool.name == own)?;
        self.plain.get(at)?.as_ref().ok().map(|spec| &spec.name)
    }

    fn full(&self, manifest: &Manifest) -> &[NamedTool] {
        self.full.get_or_init(|| specs(manifest, &in_full(&manifest.id)))
    }
}

fn in_full(id: &PluginId) -> String {
    format!("{}__{}", id.namespace(), id.name())
}

/// `plugin__tool`, or just `plugin` when its only tool has that name.
fn specs(manifest: &Manifest, plugin: &str) -> Vec<NamedTool> {
    let tools = &manifest.inventory.tools;
    let spec = |tool: &ToolEntry| {
        let alone = tools.len() == 1 && tool.name == manifest.id.name();
        let name = if alone { plugin.to_owned() } else { format!("{plugin}__{}", tool.name) };
        let name = ToolName::new(&name).map_err(|error| format!("tool `{}` is left out: {error}", tool.name))?;
        Ok(Arc::new(ToolSpec {
            name,
            title: tool.title.clone().unwrap_or_else(|| tool.name.clone()),
            description: tool.description.clone(),
            input: InputSchema::new(tool.input_schema.clone()),
            kind: tool.kind(),
        }))
    };
    tools.iter().map(spec).collect()
}

/// Which names more than one plugin of a session has.
pub(super) struct Session<'a> {
    plugins: HashMap<&'a str, usize>,
    panels: HashMap<&'a str, usize>,
    commands: HashMap<&'a str, usize>,
}

impl<'a> Session<'a> {
    pub(super) fn of(plugins: &'a [Arc<Plugin>]) -> Self {
        let manifests = || plugins.iter().map(|plugin| plugin.manifest());
        Self {
            plugins: count(manifests().map(|manifest| manifest.id.name())),
            panels: count(manifests().flat_map(|manifest| &manifest.inventory.panels).map(|panel| panel.name.as_str())),
            commands: count(manifests().flat_map(|manifest| &manifest.inventory.commands).map(|it| it.name.as_str())),
        }
    }

    /// The plugin's tools, in the manifest's order.
    pub(super) fn tools<'p>(&self, plugin: &'p Plugin) -> &'p [NamedTool] {
        if self.is_shared(plugin.id()) { plugin.specs.full(plugin.manifest()) } else { &plugin.specs.plain }
    }

    /// A panel's name: its own where no other plugin has it, else `plugin/name`.
    pub(super) fn panel(&self, plugin: &PluginId, own: &PanelName) -> PanelName {
        if self.panels.get(own.as_str()).is_none_or(|count| *count < 2) {
            return own.clone();
        }
        let plugin = if self.is_shared(plugin) { plugin.as_str() } else { plugin.name() };
        PanelName::new(format!("{plugin}/{own}")).unwrap_or_else(|_| own.clone())
    }

    /// A command's name: its own where no other plugin has it, else `plugin:name`.
    pub(super) fn command(&self, plugin: &PluginId, own: &str) -> String {
        if self.commands.get(own).is_none_or(|count| *count < 2) {
            return own.to_owned();
        }
        let plugin = if self.is_shared(plugin) { plugin.as_str() } else { plugin.name() };
        format!("{plugin}:{own}")
    }

    fn is_shared(&self, plugin: &PluginId) -> bool {
        self.plugins.get(plugin.name()).is_some_and(|count| *count > 1)
    }
}

fn count<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}
