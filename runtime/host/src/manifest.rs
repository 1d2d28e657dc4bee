//! What a plugin says of itself: `plugin.toml` as its author writes it, and the `aar:manifest` section that the build
//! puts into the component.
//!
//! Both are parsed strictly: an unknown key, a class that this version does not offer, a value out of its range are
//! errors that name it. Everything is bounded, and texts lose what could deceive a reader. Knows nothing about files or
//! components. Tested by tables beside the code.

mod file;

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use acp_runtime_agent::capability::{Grant, GrantSet, HookEvent, PluginId, Tier, ToolName};
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::hook::Subscription;
use acp_runtime_agent::model::{InputSchema, ToolKind};
use acp_runtime_agent::panel::PanelInfo;
use acp_runtime_agent::plain;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::file::ManifestFile;

/// The name of the component's custom section.
pub const SECTION: &str = "aar:manifest";
/// The version of the section's form.
pub const SCHEMA: u32 = 1;
/// The most that a section or a `plugin.toml` may have, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// A checked manifest.
#[derive(Debug)]
pub struct Manifest {
    /// The plugin.
    pub id: PluginId,
    /// Its version.
    pub version: semver::Version,
    /// What people are told.
    pub about: About,
    /// How long an instance lives.
    pub lifecycle: Lifecycle,
    /// The ceiling: nothing else is ever allowed.
    pub capabilities: Vec<Capability>,
    /// The events that it wants to be told of, each with its place; the right to each is in the ceiling.
    pub hooks: Vec<Subscription>,
    /// The limits that it asks for.
    pub limits: AskedLimits,
    /// What its settings must be; none where it has no settings.
    pub settings: Option<InputSchema>,
    /// What it offers.
    pub inventory: Inventory,
}

/// What people are told about a plugin. All are single lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name for people.
    pub title: String,
    /// One sentence.
    pub description: String,
    /// An SPDX expression.
    pub license: String,
    /// A web page.
    pub homepage: Option<String>,
    /// Where its source is.
    pub source: Option<String>,
}

/// How long an instance lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// One call. State lives in `kv`.
    #[default]
    Call,
    /// Kept warm for a session. A cache: it may be thrown away at any moment between two calls.
    Session,
}

/// One line of the ceiling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// The right.
    pub grant: Grant,
    /// Why, in the author's words: one line of at most 200 characters.
    pub reason: String,
    /// For `fs.write`: the guest sees the folder as a writable WASI folder, and not only through `aar:host/workspace`.
    pub preopen: bool,
}

/// The right as people are shown it.
impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.grant.fmt(f)?;
        f.write_str(if self.preopen { " (preopen)" } else { "" })
    }
}

/// The limits that a manifest asks for, each in its range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedLimits {
    /// Bytes.
    pub memory: Option<u64>,
    /// From begin to end.
    pub wall: Option<Duration>,
    /// The guest's own running time.
    pub cpu: Option<Duration>,
    /// Bytes in `/data`.
    pub data: Option<u64>,
    /// Bytes in `/tmp`.
    pub tmp: Option<u64>,
}

/// What a plugin offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Tools; names are unique.
    #[serde(default)]
    pub tools: Vec<ToolEntry>,
    /// Panels; names are unique.
    #[serde(default)]
    pub panels: Vec<PanelInfo>,
    /// Slash commands; names are unique.
    #[serde(default)]
    pub commands: Vec<CommandInfo>,
    /// Events that its hooks can be told of; each is there once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookEvent>,
}

/// A tool that a plugin offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolEntry {
    /// `[a-z0-9_-]{1,64}`.
    pub name: String,
    /// What people see; the name where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the model is told.
    pub description: String,
    /// A JSON Schema of an object.
    pub input_schema: Value,
    /// `none`, `read`, `write`, `execute`, `network` or `external`.
    #[serde(default)]
    pub side_effects: Vec<String>,
}

/// Why a manifest is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not TOML or JSON of the right form; the text names the key and the place.
    #[error("{0}")]
    Form(String),
    /// A value that is not accepted.
    #[error("`{field}`: {problem}")]
    Value {
        /// The key, with the keys above it.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Written for a later runtime.
    #[error("the plugin needs acp-runtime `{needed}`; this is `{running}`")]
    HostTooOld {
        /// At least.
        needed: semver::Version,
        /// What runs.
        running: semver::Version,
    },
    /// More than [`MOST_BYTES`].
    #[error("the manifest has {0} bytes; at most {MOST_BYTES} are read")]
    TooLarge(usize),
}

impl ManifestError {
    fn value(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Value { field: field.into(), problem: problem.into() }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Form(_) | Self::Value { .. } => "correct it in `plugin.toml` and build the plugin again",
            Self::HostTooOld { .. } => "use a later version of acp-runtime, or an earlier one of the plugin",
            Self::TooLarge(_) => "shorten descriptions and schemas",
        }
    }
}

impl Manifest {
    /// Reads a `plugin.toml` and adds what the component itself says that it offers.
    pub fn from_toml(text: &str, inventory: Inventory) -> Result<Self, ManifestError> {
        ManifestFile::read_toml(text)?.check(inventory)
    }

    /// Reads the content of a component's section.
    pub fn from_section(bytes: &[u8]) -> Result<Self, ManifestError> {
        let (file, inventory) = ManifestFile::read_section(bytes)?;
        file.check(inventory)
    }

    /// The content of the section for a `plugin.toml` and what the component offers, once both were checked.
    pub fn section(toml: &str, inventory: &Inventory) -> Result<Vec<u8>, ManifestError> {
        Self::from_toml(toml, inventory.clone())?;
        ManifestFile::read_toml(toml)?.write_section(inventory)
    }

    /// The rights that the manifest asks for.
    pub fn ceiling(&self) -> Vec<Grant> {
        self.capabilities.iter().map(|capability| capability.grant.clone()).collect()
    }

    /// An event that it asks to be told of, and that the component does not know what to do with; none where all is well.
    pub fn unheard(&self) -> Option<HookEvent> {
        let asked = self.hooks.iter().map(|subscription| subscription.event);
        asked.into_iter().find(|event| !self.inventory.hooks.contains(event))
    }

    /// The rights of a plugin that was given `granted`; all that it asks for where that is none.
    pub fn grants(&self, tier: Tier, granted: Option<Vec<Grant>>) -> GrantSet {
        let ceiling = self.ceiling();
        let granted = granted.unwrap_or_else(|| ceiling.clone());
        GrantSet { tier, ceiling, granted }
    }
}

impl Inventory {
    /// Checks names and bounds, and cleans the texts.
    pub(crate) fn check(mut self) -> Result<Self, ManifestError> {
        at_most("tools", self.tools.len(), 128)?;
        at_most("panels", self.panels.len(), 16)?;
        at_most("commands", self.commands.len(), 64)?;
        unique("hooks", self.hooks.iter().map(|event| event.as_str()))?;
        unique("tools", self.tools.iter().map(|tool| tool.name.as_str()))?;
        unique("panels", self.panels.iter().map(|panel| panel.name.as_str()))?;
        unique("commands", self.commands.iter().map(|command| command.name.as_str()))?;
        self.tools.iter_mut().try_for_each(check_tool)?;
        self.panels.iter_mut().try_for_each(check_panel)?;
        self.commands.iter_mut().try_for_each(check_command)?;
        Ok(self)
    }

    /// The first difference from `other`, in words; none where both offer the same.
    pub fn difference(&self, other: &Self) -> Option<String> {
        fn first<'a, T: PartialEq>(
            what: &str,
            left: &'a [T],
            right: &'a [T],
            name: impl Fn(&'a T) -> &'a str,
        ) -> Option<String> {
            let only = |these: &'a [T], those: &'a [T]| these.iter().find(|item| !those.contains(item));
            only(left, right).or_else(|| only(right, left)).map(|item| format!("{what} `{}`", name(item)))
        }
        first("tool", &self.tools, &other.tools, |tool| &tool.name)
            .or_else(|| first("panel", &self.panels, &other.panels, |panel| panel.name.as_str()))
            .or_else(|| first("command", &self.commands, &other.commands, |command| &command.name))
            .or_else(|| first("hook for", &self.hooks, &other.hooks, |event| event.as_str()))
    }
}

impl ToolEntry {
    /// The icon that clients choose by, from the declared side effects and the name.
    pub fn kind(&self) -> ToolKind {
        let named = |words: &[&str]| self.name.split(['_', '-']).any(|word| words.contains(&word));
        let does = |effect: &str| self.side_effects.iter().any(|known| known == effect);
        match () {
            () if named(&["delete", "remove", "unlink"]) => ToolKind::Delete,
            () if named(&["move", "rename"]) => ToolKind::Move,
            () if named(&["search", "grep", "find", "glob"]) => ToolKind::Search,
            () if named(&["think", "reason", "reflect"]) => ToolKind::Think,
            () if does("execute") => ToolKind::Execute,
            () if does("write") => ToolKind::Edit,
            () if does("network") => ToolKind::Fetch,
            () if does("read") => ToolKind::Read,
            () => ToolKind::Other,
        }
    }
}

const SIDE_EFFECTS: [&str; 6] = ["none", "read", "write", "execute", "network", "external"];
const SCHEMA_BYTES: usize = 64 << 10;

fn check_tool(tool: &mut ToolEntry) -> Result<(), ManifestError> {
    let field = format!("tools.{}", tool.name);
    check_name(&field, &tool.name, &['_', '-'])?;
    ToolName::new(&tool.name).map_err(|error| ManifestError::value(&field, error.to_string()))?;
    tool.title = tool.title.as_deref().map(|title| plain::line(title, 120)).filter(|title| !title.is_empty());
    tool.description = plain::block(&tool.description, 4096);
    if tool.input_schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(ManifestError::value(format!("{field}.input-schema"), "must be a JSON Schema with `type: object`"));
    }
    at_most(&format!("{field}.input-schema"), tool.input_schema.to_string().len(), SCHEMA_BYTES)?;
    let unknown = tool.side_effects.iter().find(|effect| !SIDE_EFFECTS.contains(&effect.as_str()));
    match unknown {
        Some(effect) => Err(ManifestError::value(
            format!("{field}.side-effects"),
            format!("`{effect}` is unknown; expected one of `{}`", SIDE_EFFECTS.join("`, `")),
        )),
        None => Ok(()),
    }
}

fn check_panel(panel: &mut PanelInfo) -> Result<(), ManifestError> {
    let field = format!("panels.{}", panel.name);
    check_name(&field, panel.name.as_str(), &['_', '-'])?;
    at_most(&format!("{field}.actions"), panel.actions.len(), 64)?;
    unique(&format!("{field}.actions"), panel.actions.iter().map(|action| action.id.as_str()))?;
    panel.title = plain::line(&panel.title, 120);
    for action in &mut panel.actions {
        let field = format!("{field}.actions.{}", action.id);
        check_name(&field, &action.id, &['_', '-', '.'])?;
        at_most(&format!("{field}.kinds"), action.kinds.len(), 64)?;
        at_most(&format!("{field}.inputs"), action.inputs.len(), 16)?;
        action.label = plain::line(&action.label, 120);
        action.key = plain::line(&action.key, 16);
        action.confirm = plain::line(&action.confirm, 400);
        for text in action.kinds.iter_mut().chain(&mut action.inputs) {
            *text = plain::line(text, 64);
        }
    }
    Ok(())
}

fn check_command(command: &mut CommandInfo) -> Result<(), ManifestError> {
    check_name(&format!("commands.{}", command.name), &command.name, &['_', '-'])?;
    command.description = plain::line(&command.description, 400);
    command.hint = command.hint.as_deref().map(|hint| plain::line(hint, 120));
    Ok(())
}

fn check_name(field: &str, name: &str, also: &[char]) -> Result<(), ManifestError> {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || also.contains(&c);
    if (1..=64).contains(&name.len()) && name.chars().all(valid) {
        return Ok(());
    }
    let marks: Vec<String> = also.iter().map(|mark| format!("`{mark}`")).collect();
    let problem = format!("names are 1 to 64 lower-case letters, digits and {}", marks.join(", "));
    Err(ManifestError::value(plain::line(field, 200), problem))
}

fn at_most(field: &str, count: usize, most: usize) -> Result<(), ManifestError> {
    if count <= most {
        return Ok(());
    }
    Err(ManifestError::value(plain::line(field, 200), format!("{count} is too many; at most {most}")))
}

fn unique<'a>(field: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ManifestError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            let name = plain::line(name, 80);
            return Err(ManifestError::value(field, format!("`{name}` is there twice")));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "manifest/tests.rs"]
mod tests;
