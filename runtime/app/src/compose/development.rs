//! Plugins that somebody is just working on: a session has them in the place of others of their ids, as they are when it
//! is opened, and everything that is asked or shown for them says `DEV`.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use acp_runtime_agent::capability::{EffectPattern, PluginId};
use acp_runtime_agent::gate::{Approval, Approver, Ask};
use acp_runtime_agent::panel::{PanelActing, PanelInfo, PanelSource, PanelView};
use futures::future::BoxFuture;

use super::Runtime;
use super::shelf::{KnownPlugin, Origin};
use crate::authoring::Developments;
use crate::settings::PluginSettings;

/// How often it is looked whether something has changed.
const PAUSE: Duration = Duration::from_millis(500);
/// What stands before whatever is asked or shown for such a plugin.
const MARK: &str = "DEV";

impl Runtime {
    /// Where it is seen what is worked on.
    pub fn developments(&self) -> &Developments {
        &self.developments
    }

    /// Waits until something else is worked on, or something is built anew.
    pub(super) async fn development_changed(&self) {
        loop {
            let now = self.developments.glimpse();
            let before =
                std::mem::replace(&mut *self.glimpse.lock().unwrap_or_else(PoisonError::into_inner), now.clone());
            if before != now {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// All plugins that a session has which begins now, and those that it would have if they were not disabled. Those of
    /// its project are not among them.
    pub fn known(&self) -> Vec<KnownPlugin> {
        let mut known = self.shelf.contents().plugins.clone();
        take_over(&mut known, &self.developed());
        known
    }

    /// What is worked on and not disabled.
    pub(super) fn in_development(&self, settings: &PluginSettings) -> Vec<KnownPlugin> {
        let mut known = self.developed();
        known.retain(|known| !settings.disabled.contains(known.plugin.id()));
        known
    }

    /// What is worked on, and may be loaded like what is installed.
    fn developed(&self) -> Vec<KnownPlugin> {
        let mut developed = Vec::new();
        for development in self.developments.now() {
            match self.shelf.in_development(&development) {
                Ok(known) => {
                    let id = known.plugin.id();
                    match self.shelf.refusal(id, None, Origin::Development) {
                        Some(why) => tracing::warn!("plugin `{id}` (DEV) is not loaded: {why}"),
                        None => developed.push(known),
                    }
                }
                Err(error) => tracing::warn!("{error} ({})", error.hint()),
            }
        }
        developed
    }
}

impl Runtime {
    /// Adds to a session's plugins what its project brings along and what is worked on, and has that compiled. Answers the
    /// ids of what is worked on.
    pub(super) fn add_brought(
        &self,
        plugins: &mut Vec<KnownPlugin>,
        own: Vec<KnownPlugin>,
        developed: &[KnownPlugin],
    ) -> BTreeSet<PluginId> {
        let brought = own.iter().chain(developed).map(|known| known.plugin.clone());
        self.shelf.warm_in_the_background(brought.collect());
        plugins.extend(own);
        take_over(plugins, developed);
        developed.iter().map(|known| known.plugin.id().clone()).collect()
    }
}

/// Puts plugins that are worked on in the place of others of their ids.
pub(super) fn take_over(plugins: &mut Vec<KnownPlugin>, developed: &[KnownPlugin]) {
    let is_developed = |known: &KnownPlugin| developed.iter().any(|other| other.plugin.id() == known.plugin.id());
    plugins.retain(|known| !is_developed(known));
    plugins.extend_from_slice(developed);
}

/// An approver whose person sees what is asked for a plugin that is worked on.
pub(super) fn marking(approver: impl Approver + 'static, marked: &BTreeSet<PluginId>) -> Arc<dyn Approver> {
    let approver = Arc::new(approver);
    if marked.is_empty() { approver } else { Arc::new(Marking { approver, marked: marked.clone() }) }
}

struct Marking {
    approver: Arc<dyn Approver>,
    marked: BTreeSet<PluginId>,
}

impl Approver for Marking {
    fn ask(&self, mut ask: Ask) -> BoxFuture<'_, Approval> {
        if self.marked.iter().any(|id| ask.subject == format!("plugin {id}")) {
            ask.title = format!("{MARK}: {}", ask.title);
        }
        self.approver.ask(ask)
    }

    fn beforehand(&self) -> Option<&[EffectPattern]> {
        self.approver.beforehand()
    }
}

/// A panel with the mark in its title, where its plugin is worked on.
pub(super) fn marked_panel(panel: Arc<dyn PanelSource>, marked: &BTreeSet<PluginId>) -> Arc<dyn PanelSource> {
    match panel.plugin() {
        Some(plugin) if marked.contains(plugin) => {
            let info = PanelInfo { title: format!("{} ({MARK})", panel.info().title), ..panel.info().clone() };
            Arc::new(MarkedPanel { panel, info })
        }
        Some(_) | None => panel,
    }
}

struct MarkedPanel {
    panel: Arc<dyn PanelSource>,
    info: PanelInfo,
}

impl PanelSource for MarkedPanel {
    fn info(&self) -> &PanelInfo {
        &self.info
    }

    fn plugin(&self) -> Option<&PluginId> {
        self.panel.plugin()
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<PanelView, String>> {
        self.panel.snapshot()
    }

    fn act(&self, acting: PanelActing) -> BoxFuture<'_, Result<Option<String>, String>> {
        self.panel.act(acting)
    }
}
