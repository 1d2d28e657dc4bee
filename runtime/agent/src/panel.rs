//! Panels: what plugins show, and the one place that resolves panel → action → node → kind.
//!
//! The order of the checks, and what each error carries, is the contract of `_aar/panel_*`. Knows nothing about wire
//! names or sandboxes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capability::{PanelName, PluginId};
use crate::options::Switches;

/// One row of a panel, with the rows below it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PanelNode {
    /// Stable across snapshots, unique in one.
    pub id: String,
    /// The text of the row.
    pub label: String,
    /// Decides which actions apply.
    pub kind: String,
    /// Whether it starts unfolded.
    pub expanded: bool,
    /// `active`, `dim`, `warn` or empty.
    pub style: String,
    /// The plugin's own data, handed back with an action.
    pub data: Map<String, Value>,
    /// The rows below, in order.
    pub children: Vec<PanelNode>,
}

impl PanelNode {
    /// The node with that id, depth first.
    pub fn find(&self, id: &str) -> Option<&Self> {
        if self.id == id {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(id))
    }
}

/// What can be done with nodes of some kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanelAction {
    /// Unique in the panel.
    pub id: String,
    /// What people see.
    pub label: String,
    /// One key, while the panel has the focus.
    pub key: String,
    /// The kinds of node it applies to.
    pub kinds: Vec<String>,
    /// The client asks first.
    pub destructive: bool,
    /// The question, with `{label}` for the node's label.
    pub confirm: String,
    /// Further arguments that the client asks for.
    pub inputs: Vec<String>,
    /// Refused while a prompt runs.
    pub mutates: bool,
}

/// A panel as it is announced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanelInfo {
    /// Unique in the session.
    pub name: PanelName,
    /// What people see.
    pub title: String,
    /// In the order that they are shown.
    pub actions: Vec<PanelAction>,
}

/// A panel's state at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelView {
    /// The tree.
    pub root: PanelNode,
    /// A short text for a chip; empty hides it.
    pub status: String,
}

/// An action on a node. The node is from the host's own snapshot, never from the client.
#[derive(Debug, Clone)]
pub struct PanelActing {
    /// The action's id.
    pub action: String,
    /// The node as it was in a fresh snapshot, without its children.
    pub node: PanelNode,
    /// What the client asked the person for.
    pub args: Map<String, Value>,
}

/// What an action answered.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelReply {
    /// A line for the person.
    pub message: Option<String>,
    /// Why it was not done; the message says so as well.
    pub failure: Option<String>,
    /// The panel afterwards.
    pub view: PanelView,
}

/// What draws one panel.
pub trait PanelSource: Send + Sync {
    /// What it announces.
    fn info(&self) -> &PanelInfo;
    /// The plugin that it belongs to.
    fn plugin(&self) -> Option<&PluginId> {
        None
    }
    /// Its state now; the error is a sentence.
    fn snapshot(&self) -> BoxFuture<'_, Result<PanelView, String>>;
    /// Does what a person asked for and answers a line for them; the error is a sentence.
    fn act(&self, acting: PanelActing) -> BoxFuture<'_, Result<Option<String>, String>>;
}

/// Why a panel request was refused, in the order of the checks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PanelError {
    /// No such panel; the names that there are, sorted.
    #[error("unknown panel `{panel}`")]
    UnknownPanel {
        /// What was asked for.
        panel: String,
        /// What there is.
        available: Vec<String>,
    },
    /// No such action; the ids that there are, in order.
    #[error("unknown action `{action}`")]
    UnknownAction {
        /// What was asked for.
        action: String,
        /// What there is.
        available: Vec<String>,
    },
    /// No such node in a fresh snapshot.
    #[error("unknown node `{0}`")]
    UnknownNode(String),
    /// The action is not for nodes of that kind.
    #[error("`{action}` does not apply to nodes of kind `{kind}`")]
    WrongKind {
        /// The action.
        action: String,
        /// The node's kind.
        kind: String,
    },
    /// A mutating action while a prompt runs.
    #[error("a prompt is running in this session: cancel it first")]
    Busy,
    /// The plugin could not draw its panel.
    #[error("panel `{panel}` failed: {reason}")]
    Failed {
        /// The panel.
        panel: String,
        /// The plugin's sentence.
        reason: String,
    },
}

/// A name that another panel has already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a panel named `{0}` exists already")]
pub struct PanelNameTaken(pub PanelName);

/// The panels that changed since somebody last looked; shared by all that may say so.
#[derive(Debug, Clone, Default)]
pub struct StalePanels(Arc<Mutex<BTreeSet<PanelName>>>);

impl StalePanels {
    /// The panel would now look different.
    pub fn raise(&self, name: PanelName) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
    }

    fn lower(&self, name: &PanelName) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// All of them, sorted. They stay stale until a snapshot is taken.
    pub fn names(&self) -> Vec<PanelName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// All panels of a session. What belongs to a plugin that is switched off is not found.
#[derive(Default)]
pub struct PanelBoard {
    sources: Vec<Arc<dyn PanelSource>>,
    by_name: BTreeMap<PanelName, usize>,
    stale: StalePanels,
    switches: Switches,
    /// Requests are answered in the order that they came.
    order: tokio::sync::Mutex<()>,
}

impl PanelBoard {
    /// A board without panels, that lowers the flags in `stale`, for a session with these switches.
    pub fn new(stale: StalePanels, switches: Switches) -> Self {
        Self { stale, switches, ..Self::default() }
    }

    /// Adds a panel. A taken name is an error, never shadowed.
    pub fn add(&mut self, source: Arc<dyn PanelSource>) -> Result<(), PanelNameTaken> {
        let name = source.info().name.clone();
        if self.by_name.contains_key(&name) {
            return Err(PanelNameTaken(name));
        }
        self.by_name.insert(name, self.sources.len());
        self.sources.push(source);
        Ok(())
    }

    /// Whether there is any panel.
    pub fn is_empty(&self) -> bool {
        self.shown().next().is_none()
    }

    /// The panels as announced, in the order that they were added.
    pub fn infos(&self) -> impl Iterator<Item = &PanelInfo> {
        self.shown().map(|source| source.info())
    }

    /// The panels that changed since somebody last looked.
    pub fn stale(&self) -> Vec<PanelName> {
        let mut names = self.stale.names();
        names.retain(|name| self.source(name.as_str()).is_ok());
        names
    }

    fn shown(&self) -> impl Iterator<Item = &Arc<dyn PanelSource>> {
        self.sources.iter().filter(|source| self.switches.lets(source.plugin()))
    }

    /// Every panel with its status text; a panel that cannot be drawn has an empty one.
    pub async fn list(&self) -> Vec<(PanelInfo, String)> {
        let _turn = self.order.lock().await;
        let mut listed = Vec::with_capacity(self.sources.len());
        for source in self.shown() {
            let status = source.snapshot().await.map(|view| view.status).unwrap_or_default();
            listed.push((source.info().clone(), status));
        }
        listed
    }

    /// The panel's state now. It is no longer stale.
    pub async fn snapshot(&self, name: &str) -> Result<PanelView, PanelError> {
        let _turn = self.order.lock().await;
        self.view(self.source(name)?).await
    }

    /// Resolves and does an action. `busy` says whether a prompt runs at the moment of the check.
    pub async fn act(
        &self,
        name: &str,
        action: &str,
        node: &str,
        args: Map<String, Value>,
        busy: impl Fn() -> bool,
    ) -> Result<PanelReply, PanelError> {
        let _turn = self.order.lock().await;
        let source = self.source(name)?;
        let actions = &source.info().actions;
        let known = actions.iter().find(|known| known.id == action).ok_or_else(|| PanelError::UnknownAction {
            action: action.to_owned(),
            available: actions.iter().map(|known| known.id.clone()).collect(),
        })?;
        let before = self.view(source).await?;
        let target = before.root.find(node).ok_or_else(|| PanelError::UnknownNode(node.to_owned()))?;
        if !known.kinds.contains(&target.kind) {
            return Err(PanelError::WrongKind { action: action.to_owned(), kind: target.kind.clone() });
        }
        if known.mutates && busy() {
            return Err(PanelError::Busy);
        }
        let node = PanelNode { children: Vec::new(), ..target.clone() };
        let (message, failure) = match source.act(PanelActing { action: action.to_owned(), node, args }).await {
            Ok(message) => (message, None),
            Err(reason) => (Some(format!("✗ {action}: {reason}")), Some(reason)),
        };
        Ok(PanelReply { message, failure, view: self.view(source).await? })
    }

    fn source(&self, name: &str) -> Result<&Arc<dyn PanelSource>, PanelError> {
        let index = PanelName::new(name).ok().and_then(|name| self.by_name.get(&name).copied());
        let source = index.and_then(|index| self.sources.get(index));
        source.filter(|source| self.switches.lets(source.plugin())).ok_or_else(|| {
            let mut available: Vec<String> = self.infos().map(|info| info.name.to_string()).collect();
            available.sort_unstable();
            PanelError::UnknownPanel { panel: name.to_owned(), available }
        })
    }

    async fn view(&self, source: &Arc<dyn PanelSource>) -> Result<PanelView, PanelError> {
        let name = &source.info().name;
        self.stale.lower(name);
        source.snapshot().await.map_err(|reason| PanelError::Failed { panel: name.to_string(), reason })
    }
}

#[cfg(test)]
#[path = "panel/tests.rs"]
mod tests;
