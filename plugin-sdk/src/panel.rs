//! Panels: a tree that the editor draws beside the conversation, and the actions that apply to its nodes.
//!
//! A panel has no state of its own: every call may run in a fresh instance. Keep what must last in [`kv`](crate::kv).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::bindings::imports::types;
use crate::bindings::panel::interface as wire;
use crate::host::imports;
use crate::{Error, Result};

/// A panel.
pub trait Panel {
    /// `[a-z0-9_-]{1,64}`, unique in the plugin.
    const NAME: &'static str;
    /// What people see.
    const TITLE: &'static str;

    /// What can be done, in the order that it is shown.
    fn actions() -> Vec<Action> {
        Vec::new()
    }

    /// The state now.
    fn snapshot() -> Result<View>;

    /// Does one of the actions and answers a line for the person.
    fn act(acting: &Acting) -> Result<Option<String>> {
        Err(Error::not_found(format_args!("no action `{}`", acting.action)))
    }
}

/// Says that a snapshot of the panel would now look different.
pub fn changed<P: Panel>() {
    imports::panel::changed(P::NAME);
}

/// A panel's state at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The tree. The host takes up to 10,000 nodes, 64 deep.
    pub root: Node,
    /// A short text for a chip, as `2/5`; empty hides it.
    pub status: String,
}

impl View {
    /// A tree without a status.
    pub fn new(root: Node) -> Self {
        Self { root, status: String::new() }
    }

    /// Sets the text of the chip.
    #[must_use]
    pub fn status(mut self, status: impl Into<String>) -> Self {
        self.status = status.into();
        self
    }
}

/// One row of a panel, with the rows below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Stable across snapshots, unique in one, and not empty: people's selection hangs on it.
    pub id: String,
    /// The text of the row.
    pub label: String,
    /// Decides which actions apply; `info` where nothing else is said.
    pub kind: String,
    /// How it looks.
    pub style: Style,
    /// Whether it starts unfolded.
    pub expanded: bool,
    /// The plugin's own data, handed back with an action.
    pub data: Map<String, Value>,
    /// The rows below, in order.
    pub children: Vec<Node>,
}

/// How a row looks; the editor's theme decides the colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// Like any text.
    #[default]
    Plain,
    /// The current one.
    Active,
    /// Done with, or unimportant.
    Dim,
    /// Needs a look.
    Warn,
}

impl Style {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Active => "active",
            Self::Dim => "dim",
            Self::Warn => "warn",
        }
    }

    fn parse(word: &str) -> Self {
        match word {
            "active" => Self::Active,
            "dim" => Self::Dim,
            "warn" => Self::Warn,
            _ => Self::Plain,
        }
    }
}

impl Node {
    /// A row of kind `info`, unfolded, without children.
    pub fn new(id: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
            kind: "info".to_owned(),
            style: Style::Plain,
            expanded: true,
            data: Map::new(),
            children: Vec::new(),
        }
    }

    /// Sets the kind.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = kind.into();
        self
    }

    /// Sets how it looks.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Starts folded.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.expanded = false;
        self
    }

    /// Keeps `value` under `key` in the data.
    #[must_use]
    pub fn data(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.insert(key.into(), value.into());
        self
    }

    /// One more row below.
    #[must_use]
    pub fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// More rows below.
    #[must_use]
    pub fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    /// The node with that id in this tree, depth first.
    pub fn find(&self, id: &str) -> Option<&Self> {
        if self.id == id {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(id))
    }

    /// The whole data as one type.
    pub fn data_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(Value::Object(self.data.clone())).map_err(Error::invalid_args)
    }
}

/// What can be done with nodes of some kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    id: String,
    label: String,
    key: String,
    kinds: Vec<String>,
    confirm: Option<String>,
    inputs: Vec<String>,
    mutates: bool,
}

impl Action {
    /// An action for nodes of those kinds. It counts as one that changes something, until [`reads`](Self::reads).
    pub fn new<'a>(id: impl Into<String>, label: impl Into<String>, kinds: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
            key: String::new(),
            kinds: kinds.into_iter().map(str::to_owned).collect(),
            confirm: None,
            inputs: Vec::new(),
            mutates: true,
        }
    }

    /// The key that starts it while the panel has the focus.
    #[must_use]
    pub fn key(mut self, key: char) -> Self {
        self.key = key.to_string();
        self
    }

    /// Asks the person first; `{label}` in the question stands for the node's label.
    #[must_use]
    pub fn destructive(mut self, question: impl Into<String>) -> Self {
        self.confirm = Some(question.into());
        self
    }

    /// One more argument that the person is asked for: `message` is a line of text, `force` a yes or no.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>) -> Self {
        self.inputs.push(name.into());
        self
    }

    /// It changes nothing, so it is there while a prompt runs as well.
    #[must_use]
    pub fn reads(mut self) -> Self {
        self.mutates = false;
        self
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn applies_to(&self, action: &str, kind: &str) -> bool {
        self.id == action && self.kinds.iter().any(|known| known == kind)
    }
}

/// An action that a person started.
#[derive(Debug, Clone, PartialEq)]
pub struct Acting {
    /// The action's id.
    pub action: String,
    /// The node, as it was in a fresh snapshot, without its children.
    pub node: Node,
    /// What the person was asked for.
    pub inputs: Map<String, Value>,
}

impl Acting {
    /// The text that was asked for under that name, without the space around it; nothing where it is empty.
    pub fn text(&self, input: &str) -> Option<&str> {
        self.inputs.get(input).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The yes or no that was asked for under that name; no where it is missing.
    pub fn flag(&self, input: &str) -> bool {
        self.inputs.get(input).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// One panel in the table that [`export!`](crate::export) makes.
#[doc(hidden)]
pub struct Entry {
    name: &'static str,
    definition: fn() -> wire::PanelDef,
    snapshot: fn() -> Result<View>,
    act: fn(&Acting) -> Result<Option<String>>,
}

impl Entry {
    /// The entry for that panel.
    pub const fn of<P: Panel>() -> Self {
        Self { name: P::NAME, definition: definition::<P>, snapshot: P::snapshot, act: P::act }
    }
}

fn definition<P: Panel>() -> wire::PanelDef {
    wire::PanelDef {
        name: P::NAME.to_owned(),
        title: P::TITLE.to_owned(),
        actions: P::actions().into_iter().map(Into::into).collect(),
        extra: Vec::new(),
    }
}

fn find<'a>(entries: &'a [Entry], panel: &str) -> Result<&'a Entry> {
    let entry = entries.iter().find(|entry| entry.name == panel);
    entry.ok_or_else(|| Error::not_found(format_args!("no panel named `{panel}`")))
}

/// The guest side of `list-panels`.
#[doc(hidden)]
pub fn list(entries: &[Entry]) -> Vec<wire::PanelDef> {
    entries.iter().map(|entry| (entry.definition)()).collect()
}

/// The guest side of `snapshot`.
#[doc(hidden)]
pub fn snapshot(entries: &[Entry], panel: &str) -> Result<wire::View, types::Error> {
    let view = (find(entries, panel)?.snapshot)()?;
    Ok(view.into())
}

/// The guest side of `act`.
#[doc(hidden)]
pub fn act(
    entries: &[Entry],
    panel: &str,
    action: String,
    node: wire::Node,
    inputs: &str,
) -> Result<Option<String>, types::Error> {
    let entry = find(entries, panel)?;
    let inputs = serde_json::from_str(inputs).map_err(Error::invalid_args)?;
    let node = Node::try_from(node)?;
    Ok((entry.act)(&Acting { action, node, inputs })?)
}

impl From<View> for wire::View {
    fn from(view: View) -> Self {
        let mut nodes = Vec::new();
        flatten(view.root, None, &mut nodes);
        Self { nodes, status: view.status, extra: Vec::new() }
    }
}

/// Writes the tree as the flat list in pre-order that crosses to the host.
fn flatten(node: Node, parent: Option<u32>, nodes: &mut Vec<wire::Node>) {
    let index = u32::try_from(nodes.len()).ok(); // the host stops far below 2^32 nodes
    nodes.push(wire::Node {
        id: node.id,
        parent,
        label: node.label,
        kind: node.kind,
        style: node.style.as_str().to_owned(),
        expanded: node.expanded,
        data: Value::Object(node.data).to_string(),
        extra: Vec::new(),
    });
    for child in node.children {
        flatten(child, index, nodes);
    }
}

impl TryFrom<wire::Node> for Node {
    type Error = Error;

    fn try_from(node: wire::Node) -> Result<Self> {
        Ok(Self {
            id: node.id,
            label: node.label,
            kind: node.kind,
            style: Style::parse(&node.style),
            expanded: node.expanded,
            data: serde_json::from_str(&node.data).map_err(Error::invalid_args)?,
            children: Vec::new(),
        })
    }
}

impl From<Action> for wire::Action {
    fn from(action: Action) -> Self {
        Self {
            id: action.id,
            label: action.label,
            key: action.key,
            kinds: action.kinds,
            destructive: action.confirm.is_some(),
            confirm: action.confirm.unwrap_or_default(),
            inputs: action.inputs,
            mutates: action.mutates,
            extra: Vec::new(),
        }
    }
}
