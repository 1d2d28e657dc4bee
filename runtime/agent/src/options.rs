//! Modes and config options of a session: their values, their rules, and what a change implies.
//!
//! [`Options`] is a view of what the parts of a session share: how much may happen without asking ([`SharedLeeway`]),
//! which model is asked and how ([`ModelSeat`]), which plugins are there ([`Switches`]). A part reads what it needs at
//! the moment of use, so a change holds at once, and the model from the next turn on. Values live in memory; of them
//! the [`Bounds`] are kept with the session, and a fork begins with all of its parent's [`Choices`]. Knows nothing about
//! clients and how they are told. Tested by tables.

mod bounds;
mod list;
mod shared;

use std::sync::Arc;

use crate::capability::PluginId;
use crate::model::{Model, ModelChoice, ModelSource, ReasoningEffort};
use crate::plain;
use crate::policy::Mode;

pub use bounds::Bounds;
pub use list::{Category, ConfigOption, OptionChoice, OptionGroup, OptionKind};
pub use shared::{ModelSeat, SharedLeeway, Switches};

/// The options' ids.
pub mod id {
    /// The mode: a select of category `mode`, always in step with the session's mode.
    pub const MODE: &str = "mode";
    /// The model: a select of category `model`.
    pub const MODEL: &str = "model";
    /// How much the model should think: a select of category `thought_level`.
    pub const REASONING_EFFORT: &str = "reasoning_effort";
    /// Files are written without asking.
    pub const AUTO_APPROVE_WRITES: &str = "auto_approve_writes";
    /// Programs are run without asking.
    pub const AUTO_APPROVE_EXECUTE: &str = "auto_approve_execute";
    /// Nothing is changed and nothing is run.
    pub const READ_ONLY: &str = "read_only";
    /// Before a plugin's id: whether the plugin is there.
    pub const PLUGIN: &str = "plugin:";
}

/// The value of [`id::REASONING_EFFORT`] that leaves it to the configuration and the provider.
pub const DEFAULT_EFFORT: &str = "default";

/// A plugin that can be switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginChoice {
    /// Its id.
    pub id: PluginId,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub description: String,
}

/// A plugin that is there, and that sessions are without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldPlugin {
    /// The plugin.
    pub plugin: PluginChoice,
    /// Why.
    pub why: Withheld,
}

/// Why sessions are without a plugin that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// It was disabled: by what, as the end of a sentence, a key and its file.
    Disabled(String),
    /// It came with the program, has hooks, and was not enabled: the end of a sentence, a key and its file.
    NotEnabled(String),
    /// It cannot be used with what is configured for it.
    Misconfigured {
        /// What is wrong, as a sentence without its end.
        problem: String,
        /// What to correct, as the end of a sentence: a key and its file.
        place: String,
    },
}

impl Withheld {
    /// What brings the plugin back, as a part of a sentence.
    pub fn remedy(&self) -> String {
        match self {
            Self::Disabled(_) => "take it out there".to_owned(),
            Self::NotEnabled(place) => format!("add it to {place}"),
            Self::Misconfigured { place, .. } => format!("correct {place}"),
        }
    }
}

impl std::fmt::Display for Withheld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Disabled(by) => write!(f, "disabled by {by}"),
            Self::NotEnabled(_) => f.write_str("disabled by default, since it has hooks"),
            Self::Misconfigured { problem, .. } => write!(f, "left out: {problem}"),
        }
    }
}

/// Characters of a value that is repeated.
const VALUE: usize = 80;

/// What was chosen in a session; what is absent was left as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    /// What it is held to.
    pub bounds: Bounds,
    /// The model's id.
    pub model: Option<String>,
    /// How much it should think.
    pub effort: Option<ReasoningEffort>,
}

/// A value from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionValue<'a> {
    /// One of a select's values. `true` and `false` are a flag's.
    Id(&'a str),
    /// A flag.
    Flag(bool),
}

/// Why an option was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option; those that there are.
    #[error("there is no option `{option}`")]
    Unknown {
        /// What was asked for, in a line.
        option: String,
        /// What there is.
        available: Vec<String>,
    },
    /// Not one of the option's values; those that it has.
    #[error("`{option}` does not have the value `{value}`")]
    Value {
        /// The option.
        option: String,
        /// What it was to be, in a line.
        value: String,
        /// What there is.
        available: Vec<String>,
    },
    /// The model cannot be asked.
    #[error("{0}")]
    Model(String),
    /// The plugin cannot be switched here.
    #[error("the plugin `{plugin}` is {why}: {}, and begin anew", .why.remedy())]
    Withheld {
        /// The plugin.
        plugin: PluginId,
        /// Why.
        why: Withheld,
    },
}

/// The options of one session.
pub struct Options {
    leeway: SharedLeeway,
    seat: ModelSeat,
    switches: Switches,
    models: Arc<dyn ModelSource>,
    plugins: Vec<PluginChoice>,
    withheld: Vec<WithheldPlugin>,
}

impl Options {
    /// The options of a session that starts with `choices`. Fails where the model cannot be had. A plugin that is off and
    /// not there is off when it comes back.
    pub fn new(
        choices: Choices,
        models: Arc<dyn ModelSource>,
        plugins: Vec<PluginChoice>,
    ) -> Result<Self, OptionError> {
        let model = open(&*models, choices.model.as_deref())?;
        let Bounds { leeway, off } = choices.bounds;
        let seat = ModelSeat::new(model, choices.effort);
        let (leeway, switches) = (SharedLeeway::new(leeway), Switches::new(off));
        Ok(Self { leeway, seat, switches, models, plugins, withheld: Vec::new() })
    }

    /// With plugins that cannot be switched, so that whoever asks for one learns why it is not there.
    #[must_use]
    pub fn withholding(self, withheld: Vec<WithheldPlugin>) -> Self {
        Self { withheld, ..self }
    }

    /// How much may happen without asking, for the gate.
    pub fn leeway(&self) -> &SharedLeeway {
        &self.leeway
    }

    /// Which model is asked, for turns.
    pub fn seat(&self) -> &ModelSeat {
        &self.seat
    }

    /// Which plugins are there, for the catalogues.
    pub fn switches(&self) -> &Switches {
        &self.switches
    }

    /// The mode now.
    pub fn mode(&self) -> Mode {
        self.leeway.get().mode()
    }

    /// The plugins that can be switched, and whether each is on.
    pub fn plugins(&self) -> impl Iterator<Item = (&PluginChoice, bool)> {
        self.plugins.iter().map(|plugin| (plugin, self.switches.lets(Some(&plugin.id))))
    }

    /// The plugins that cannot be switched.
    pub fn withheld(&self) -> &[WithheldPlugin] {
        &self.withheld
    }

    /// The models to choose from: the configured ones, and the current one where it is not among them.
    pub fn models(&self) -> Vec<ModelChoice> {
        let mut models = self.models.list();
        let current = self.seat.get().0;
        if !models.iter().any(|choice| choice.id == current.id()) {
            models.push(ModelChoice { id: current.id().to_owned(), name: current.id().to_owned(), group: None });
        }
        models
    }

    /// How models are named that the list does not have, in sentences; empty where there are no others.
    pub fn other_models(&self) -> String {
        self.models.others()
    }

    /// What was chosen, for a session that begins as this one is.
    pub fn choices(&self) -> Choices {
        let (model, effort) = self.seat.get();
        Choices { bounds: self.bounds(), model: Some(model.id().to_owned()), effort }
    }

    /// What the session is held to.
    pub fn bounds(&self) -> Bounds {
        Bounds { leeway: self.leeway.get(), off: self.switches.off() }
    }

    /// All options with their values, in the order that clients show them.
    pub fn list(&self) -> Vec<ConfigOption> {
        list::list(self)
    }

    /// Sets every flag as the mode says.
    pub fn set_mode(&self, mode: Mode) {
        self.leeway.set(mode);
    }

    /// Takes a model: one of the list, or any that its provider may know.
    pub fn set_model(&self, id: &str) -> Result<(), OptionError> {
        self.seat.set_model(open(&*self.models, Some(id))?);
        Ok(())
    }

    /// Changes one option. Only values that the list offers are taken.
    pub fn set(&self, option: &str, value: OptionValue<'_>) -> Result<(), OptionError> {
        let wrong = || self.wrong_value(option, value);
        match option {
            id::MODE => self.set_mode(value.of_select().and_then(Mode::from_id).ok_or_else(wrong)?),
            id::MODEL => {
                let model = value.of_select().ok_or_else(wrong)?;
                // The one that is asked already keeps its place: a scenario would begin anew.
                if self.seat.get().0.id() == model {
                    return Ok(());
                }
                if !self.models().iter().any(|choice| choice.id == model) {
                    return Err(wrong());
                }
                self.set_model(model)?;
            }
            id::REASONING_EFFORT => self.seat.set_effort(match value.of_select().ok_or_else(wrong)? {
                DEFAULT_EFFORT => None,
                effort => Some(ReasoningEffort::from_id(effort).ok_or_else(wrong)?),
            }),
            id::AUTO_APPROVE_WRITES => self.leeway.set(self.leeway.get().with_writes(value.flag().ok_or_else(wrong)?)),
            id::AUTO_APPROVE_EXECUTE => self.leeway.set(self.leeway.get().with_runs(value.flag().ok_or_else(wrong)?)),
            id::READ_ONLY => self.leeway.set(self.leeway.get().with_read_only(value.flag().ok_or_else(wrong)?)),
            _ => {
                let plugin = self.plugin(option).ok_or_else(|| self.absent(option))?;
                self.switches.set(&plugin.id, value.flag().ok_or_else(wrong)?);
            }
        }
        Ok(())
    }

    fn plugin(&self, option: &str) -> Option<&PluginChoice> {
        let plugin = option.strip_prefix(id::PLUGIN)?;
        self.plugins.iter().find(|known| known.id.as_str() == plugin)
    }

    fn absent(&self, option: &str) -> OptionError {
        let plugin = option.strip_prefix(id::PLUGIN).unwrap_or_default();
        if let Some(found) = self.withheld.iter().find(|withheld| withheld.plugin.id.as_str() == plugin) {
            return OptionError::Withheld { plugin: found.plugin.id.clone(), why: found.why.clone() };
        }
        let available = self.list().into_iter().map(|option| option.id).collect();
        OptionError::Unknown { option: plain::line(option, VALUE), available }
    }

    fn wrong_value(&self, option: &str, value: OptionValue<'_>) -> OptionError {
        let found = self.list().into_iter().find(|known| known.id == option);
        let available = found.map(|option| option.values().map(str::to_owned).collect()).unwrap_or_default();
        let value = match value {
            OptionValue::Id(id) => plain::line(id, VALUE),
            OptionValue::Flag(flag) => flag.to_string(),
        };
        OptionError::Value { option: option.to_owned(), value, available }
    }
}

impl<'a> OptionValue<'a> {
    fn of_select(self) -> Option<&'a str> {
        match self {
            Self::Id(id) => Some(id),
            Self::Flag(_) => None,
        }
    }

    /// Clients without flags choose one of two values.
    fn flag(self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(flag),
            Self::Id(id) => id.parse().ok(),
        }
    }
}

fn open(models: &dyn ModelSource, id: Option<&str>) -> Result<Arc<dyn Model>, OptionError> {
    models.open(id).map_err(OptionError::Model)
}

#[cfg(test)]
#[path = "options/tests.rs"]
mod tests;
