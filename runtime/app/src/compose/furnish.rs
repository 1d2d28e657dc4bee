//! What plugins offer, put into a session, and the digests of the code that it runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::command::Command;
use acp_runtime_agent::panel::PanelBoard;
use acp_runtime_agent::tool::ToolCatalog;
use acp_runtime_host::plugin_host::SessionPlugins;

use super::KnownPlugin;
use super::development::marked_panel;
use crate::audit::Digests;

/// What plugins offer, put beside what every session has. What cannot be added is left out and logged: nothing is ever
/// shadowed. Answers their commands, which come behind all that the runtime answers itself.
pub(super) fn furnish(
    offered: SessionPlugins,
    marked: &BTreeSet<PluginId>,
    tools: &mut ToolCatalog,
    panels: &mut PanelBoard,
) -> Vec<Arc<dyn Command>> {
    for problem in &offered.problems {
        tracing::warn!("{problem}");
    }
    for tool in offered.tools {
        add(tools.add(tool));
    }
    for panel in offered.panels {
        add(panels.add(marked_panel(panel, marked)));
    }
    offered.commands
}

/// Which code of these plugins runs.
pub(super) fn digests(plugins: &[KnownPlugin]) -> Digests {
    let plugins: Vec<_> = plugins.iter().map(|known| known.plugin.clone()).collect();
    Box::new(move |id| plugins.iter().find(|plugin| plugin.id() == id).and_then(|plugin| plugin.running()))
}

pub(super) fn add<E: std::fmt::Display>(added: Result<(), E>) {
    if let Err(taken) = added {
        tracing::warn!("left out: {taken}");
    }
}
