//! The options as clients are told of them.

use serde::{Deserialize, Serialize};

use super::{DEFAULT_EFFORT, Options, id};
use crate::model::{Model, ReasoningEffort};
use crate::policy::Mode;

/// One option and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// Unique in the session.
    pub id: String,
    /// What people see.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// What it is about.
    pub category: Category,
    /// Its value, and what else it can be.
    pub kind: OptionKind,
}

/// What an option is about, for clients that place and draw it accordingly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// How the session works.
    Mode,
    /// Which model.
    Model,
    /// How much it thinks.
    ThoughtLevel,
    /// A single flag of the mode.
    Permissions,
    /// Whether a plugin is there.
    Plugins,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// One of several.
    Select {
        /// Which one holds.
        current: String,
        /// All of them; one group without a title is a flat list.
        groups: Vec<OptionGroup>,
    },
    /// On or off.
    Flag {
        /// What holds.
        on: bool,
    },
}

/// Values under one heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionGroup {
    /// The heading; none where the list is flat.
    pub title: Option<String>,
    /// The values.
    pub choices: Vec<OptionChoice>,
}

/// One value of a select.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionChoice {
    /// Its id.
    pub value: String,
    /// What people see.
    pub name: String,
    /// One sentence, where the name does not say all.
    pub description: Option<String>,
}

impl ConfigOption {
    /// Every value that it can have.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let (groups, flags) = match &self.kind {
            OptionKind::Select { groups, .. } => (groups.as_slice(), &[][..]),
            OptionKind::Flag { .. } => (&[][..], &["true", "false"][..]),
        };
        let choices = groups.iter().flat_map(|group| &group.choices).map(|choice| choice.value.as_str());
        choices.chain(flags.iter().copied())
    }
}

pub(super) fn list(options: &Options) -> Vec<ConfigOption> {
    let leeway = options.leeway.get();
    let (model, effort) = options.seat.get();
    let mut list = vec![
        select(id::MODE, "Mode", "What may happen without asking", Category::Mode, leeway.mode().id(), modes()),
        select(
            id::MODEL,
            "Model",
            "Which model answers; holds from the next prompt on",
            Category::Model,
            model.id(),
            models(options),
        ),
        select(
            id::REASONING_EFFORT,
            "Reasoning effort",
            "How much the model should think; those that cannot reason ignore it",
            Category::ThoughtLevel,
            effort.map_or(DEFAULT_EFFORT, ReasoningEffort::id),
            efforts(&*model, effort),
        ),
    ];
    let flags = [
        (
            id::AUTO_APPROVE_WRITES,
            "Auto-approve writes",
            "Changes files without asking; off while read-only",
            leeway.writes(),
        ),
        (
            id::AUTO_APPROVE_EXECUTE,
            "Auto-approve execution",
            "Runs programs without asking; off while read-only",
            leeway.runs(),
        ),
        (id::READ_ONLY, "Read-only", "Changes nothing and runs nothing", leeway.read_only()),
    ];
    list.extend(flags.map(|(id, name, description, on)| ConfigOption {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        category: Category::Permissions,
        kind: OptionKind::Flag { on },
    }));
    list.extend(options.plugins().map(|(plugin, on)| ConfigOption {
        id: format!("{}{}", id::PLUGIN, plugin.id),
        name: plugin.title.clone(),
        description: plugin.description.clone(),
        category: Category::Plugins,
        kind: OptionKind::Flag { on },
    }));
    list
}

fn select(
    id: &str,
    name: &str,
    description: &str,
    category: Category,
    current: &str,
    groups: Vec<OptionGroup>,
) -> ConfigOption {
    ConfigOption {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        category,
        kind: OptionKind::Select { current: current.to_owned(), groups },
    }
}

fn flat(choices: Vec<OptionChoice>) -> Vec<OptionGroup> {
    vec![OptionGroup { title: None, choices }]
}

fn modes() -> Vec<OptionGroup> {
    let choice = |mode: Mode| OptionChoice {
        value: mode.id().to_owned(),
        name: mode.title().to_owned(),
        description: Some(mode.description().to_owned()),
    };
    flat(Mode::ALL.map(choice).into())
}

/// Those of the model, and the one that was chosen for another.
fn efforts(model: &dyn Model, chosen: Option<ReasoningEffort>) -> Vec<OptionGroup> {
    let choice =
        |value: &str, name: &str| OptionChoice { value: value.to_owned(), name: name.to_owned(), description: None };
    let takes = model.efforts();
    let offered = ReasoningEffort::ALL.into_iter().filter(|effort| takes.contains(effort) || chosen == Some(*effort));
    let offered = offered.map(|effort| choice(effort.id(), effort.title()));
    flat(std::iter::once(choice(DEFAULT_EFFORT, "Default")).chain(offered).collect())
}

/// Under their providers where there are several, else flat.
fn models(options: &Options) -> Vec<OptionGroup> {
    let mut groups: Vec<OptionGroup> = Vec::new();
    for model in options.models() {
        let choice = OptionChoice { value: model.id, name: model.name, description: None };
        let title = model.group.unwrap_or_else(|| "Other".to_owned());
        match groups.iter_mut().find(|group| group.title.as_ref() == Some(&title)) {
            Some(group) => group.choices.push(choice),
            None => groups.push(OptionGroup { title: Some(title), choices: vec![choice] }),
        }
    }
    if let [only] = groups.as_mut_slice() {
        only.title = None;
    }
    groups
}
