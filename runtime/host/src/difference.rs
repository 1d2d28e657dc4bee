//! What another version of a plugin asks for and offers beside the one that was approved, and whether that needs a person.
//!
//! Pure: two manifests in, a list out. A right is compared by what its pattern means, so one that was narrowed is no news;
//! whatever the model is told of tools is compared word by word, since words that change after they were approved are an
//! attack. Knows nothing about where versions come from and who is asked. Tested by a table.

use std::collections::BTreeMap;
use std::fmt;
use std::slice::from_ref;
use std::time::Duration;

use acp_runtime_agent::capability::{Grant, include};
use acp_runtime_agent::panel::PanelInfo;
use acp_runtime_agent::plain;
use serde::Serialize;
use serde_json::Value;

use crate::limits::show_bytes;
use crate::manifest::{AskedLimits, Capability, Manifest, ToolEntry};
use crate::package::Digest;

/// Characters of a text of the plugin's that are shown.
const SHOWN: usize = 200;

/// All that is different, in the order in which it is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Difference {
    /// One line each.
    pub items: Vec<Item>,
}

/// One thing that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// How.
    pub change: Change,
    /// What sort of thing it is.
    pub what: What,
    /// Which one: a right as people are shown it, or a name.
    pub name: String,
    /// What of it, where not all of it is new or gone: `description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// As it was, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// As it is, on one line; of a new right the reason that its author gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

/// How something is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It was not there.
    Added,
    /// A right to more than before.
    Widened,
    /// Another one of the same name.
    Changed,
    /// A right to less than before.
    Narrowed,
    /// It is not there any more.
    Removed,
}

/// What sort of thing is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A right that it asks for; hooks are among them.
    Right,
    /// A tool.
    Tool,
    /// A panel.
    Panel,
    /// A slash command.
    Command,
    /// A limit that it asks for.
    Limit,
    /// The settings that it takes.
    Settings,
}

impl Item {
    /// Whether a person must have agreed to it: to more rights, and to whatever is offered to them or to the model that
    /// was not so before.
    pub fn waits(&self) -> bool {
        match (self.change, self.what) {
            (Change::Narrowed | Change::Removed, _) | (_, What::Limit | What::Settings) => false,
            (
                Change::Added | Change::Widened | Change::Changed,
                What::Right | What::Tool | What::Panel | What::Command,
            ) => true,
        }
    }

    fn new(change: Change, what: What, name: impl Into<String>) -> Self {
        Self { change, what, name: name.into(), part: None, before: None, now: None }
    }
}

impl Difference {
    /// What is different in `now`.
    pub fn between(before: &Manifest, now: &Manifest) -> Self {
        let mut items = rights(&before.capabilities, &now.capabilities);
        items.extend(offers(before, now));
        items.extend(limits(&before.limits, &now.limits));
        let settings = |manifest: &Manifest| manifest.settings.as_ref().map(|schema| schema.as_value().clone());
        match (settings(before), settings(now)) {
            (before, now) if before == now => {}
            (None, _) => items.push(Item::new(Change::Added, What::Settings, "settings")),
            (_, None) => items.push(Item::new(Change::Removed, What::Settings, "settings")),
            _ => items.push(Item::new(Change::Changed, What::Settings, "settings")),
        }
        Self { items }
    }

    /// Whether a person must have agreed to something of it.
    pub fn waits(&self) -> bool {
        self.items.iter().any(Item::waits)
    }
}

/// The hash of all that a person agrees to with a version of a plugin: the rights that it asks for, and what it offers with
/// all that is said of that. A version with the same hash asks for and offers the same; reasons are no part of it.
pub fn terms(manifest: &Manifest) -> Digest {
    let rights = manifest.capabilities.iter().map(ToString::to_string);
    let offers = &manifest.inventory;
    let offers = offered(&offers.tools)
        .chain(offered(&offers.panels))
        .chain(offered(&offers.commands))
        .chain(manifest.hooks.iter().map(|hook| format!("hook {} {}", hook.event, hook.priority)));
    let mut lines: Vec<String> = rights.chain(offers).collect();
    lines.sort_unstable();
    Digest::of(lines.join("\n").as_bytes())
}

fn offered<T: Serialize>(these: &[T]) -> impl Iterator<Item = String> {
    // All of them have been read from such a text; one that cannot be written would be a text of its own.
    let text = |one: &T| match serde_json::to_value(one) {
        Ok(value) => sorted(value).to_string(),
        Err(error) => error.to_string(),
    };
    these.iter().map(text)
}

/// The same with the keys of all its objects in order: in whatever order they came, it is the same text.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, field)| (name, sorted(field))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

fn rights(before: &[Capability], now: &[Capability]) -> Vec<Item> {
    let mut items = Vec::new();
    for right in now.iter().filter(|right| !before.iter().any(|old| same(old, right))) {
        // What it takes the place of: of those that are no longer asked for the first that it has something of.
        let gone = || before.iter().filter(|old| !now.iter().any(|right| same(old, right)));
        let change = match gone().find(|old| includes(from_ref(right), old)) {
            _ if includes(before, right) => Change::Narrowed,
            Some(_) => Change::Widened,
            None => Change::Added,
        };
        let was = gone().find(|old| match change {
            Change::Narrowed => includes(from_ref(old), right),
            Change::Widened => includes(from_ref(right), old),
            Change::Added | Change::Changed | Change::Removed => false,
        });
        let (before, now) = (was.map(ToString::to_string), Some(right.reason.clone()));
        items.push(Item { before, now, ..Item::new(change, What::Right, right.to_string()) });
    }
    // What something is left of was narrowed.
    let left = |old: &Capability, right: &Capability| includes(from_ref(old), right) || meet(old, right);
    let kept = |old: &Capability| {
        let part = |right: &Capability| left(old, right) && !before.iter().any(|it| same(it, right));
        includes(now, old) || now.iter().any(part)
    };
    let removed = before.iter().filter(|old| !kept(old));
    items.extend(removed.map(|old| Item::new(Change::Removed, What::Right, old.to_string())));
    items
}

/// Whether there may be files that both are rights to.
fn meet(one: &Capability, other: &Capability) -> bool {
    match (&one.grant, &other.grant) {
        (Grant::Read(one), Grant::Read(other)) | (Grant::Write(one), Grant::Write(other)) => one.may_meet(other),
        _ => false,
    }
}

fn same(one: &Capability, other: &Capability) -> bool {
    one.grant == other.grant && one.preopen == other.preopen
}

/// Whether `rights` include that one. A folder that is lent as a whole is more than the right to change the same files.
pub(crate) fn includes(rights: &[Capability], right: &Capability) -> bool {
    let enough = rights.iter().filter(|old| old.preopen || !right.preopen);
    let enough: Vec<Grant> = enough.map(|old| old.grant.clone()).collect();
    include(&enough, &right.grant)
}

fn offers(before: &Manifest, now: &Manifest) -> Vec<Item> {
    let (old, new) = (&before.inventory, &now.inventory);
    let mut items = compare(
        What::Tool,
        &old.tools,
        &new.tools,
        |tool| &tool.name,
        |was, is| {
            // In whatever order its keys are.
            let changed = was.input_schema != is.input_schema;
            let schema = |tool: &ToolEntry| if changed { tool.input_schema.to_string() } else { String::new() };
            vec![
                ("description", was.description.clone(), is.description.clone()),
                ("title", was.title.clone().unwrap_or_default(), is.title.clone().unwrap_or_default()),
                ("input schema", schema(was), schema(is)),
                ("side effects", was.side_effects.join(", "), is.side_effects.join(", ")),
            ]
        },
    );
    items.extend(compare(
        What::Panel,
        &old.panels,
        &new.panels,
        |panel| panel.name.as_str(),
        |was, is| {
            let actions = |panel: &PanelInfo| offered(&panel.actions).collect::<Vec<_>>().join(", ");
            vec![("title", was.title.clone(), is.title.clone()), ("actions", actions(was), actions(is))]
        },
    ));
    items.extend(compare(
        What::Command,
        &old.commands,
        &new.commands,
        |command| &command.name,
        |was, is| {
            let hint = |hint: &Option<String>| hint.clone().unwrap_or_default();
            vec![
                ("description", was.description.clone(), is.description.clone()),
                ("hint", hint(&was.hint), hint(&is.hint)),
            ]
        },
    ));
    items
}

/// Added, changed and removed ones of a kind. `parts` are what can be shown of a change; each that differs is.
fn compare<T>(
    what: What,
    before: &[T],
    now: &[T],
    name: impl Fn(&T) -> &str,
    parts: impl Fn(&T, &T) -> Vec<(&'static str, String, String)>,
) -> Vec<Item> {
    let mut items = Vec::new();
    for is in now {
        let Some(was) = before.iter().find(|was| name(was) == name(is)) else {
            items.push(Item::new(Change::Added, what, name(is)));
            continue;
        };
        let changed = parts(was, is).into_iter().filter(|(_, was, is)| was != is);
        items.extend(changed.map(|(part, old, new)| {
            let (before, now) = where_they_differ(&old, &new);
            Item {
                part: Some(part),
                before: Some(before),
                now: Some(now),
                ..Item::new(Change::Changed, what, name(is))
            }
        }));
    }
    let removed = before.iter().filter(|was| !now.iter().any(|is| name(is) == name(was)));
    items.extend(removed.map(|was| Item::new(Change::Removed, what, name(was))));
    items
}

/// Both texts on one line each, from a little before the place where they begin to differ; what is left out at the end is
/// counted.
fn where_they_differ(before: &str, now: &str) -> (String, String) {
    let same = before.chars().zip(now.chars()).take_while(|(was, is)| was == is).count();
    let skipped = if same < SHOWN / 2 { 0 } else { same - SHOWN / 4 };
    let shown = |text: &str| {
        let from: String = text.chars().skip(skipped).collect();
        let text = if skipped == 0 { from } else { format!("…{from}") };
        let line = plain::line(&text, SHOWN);
        // Who sees no end may believe that all of it was seen.
        match text.chars().count().saturating_sub(SHOWN) {
            0 => line,
            more => format!("{line}… ({more} more characters)"),
        }
    };
    (shown(before), shown(now))
}

fn limits(before: &AskedLimits, now: &AskedLimits) -> Vec<Item> {
    let bytes = |size: Option<u64>| size.map(show_bytes);
    let time = |time: Option<Duration>| time.map(|time| format!("{time:?}"));
    let pairs = [
        ("memory", bytes(before.memory), bytes(now.memory)),
        ("wall", time(before.wall), time(now.wall)),
        ("cpu", time(before.cpu), time(now.cpu)),
        ("data", bytes(before.data), bytes(now.data)),
        ("tmp", bytes(before.tmp), bytes(now.tmp)),
    ];
    let changed = pairs.into_iter().filter(|(_, before, now)| before != now);
    let item = |(name, before, now): (&str, Option<String>, Option<String>)| {
        let change = match (&before, &now) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            _ => Change::Changed,
        };
        Item { before, now, ..Item::new(change, What::Limit, name) }
    };
    changed.map(item).collect()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Widened => "widened",
            Self::Changed => "changed",
            Self::Narrowed => "narrowed",
            Self::Removed => "removed",
        })
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Right => "right",
            Self::Tool => "tool",
            Self::Panel => "panel",
            Self::Command => "command",
            Self::Limit => "limit",
            Self::Settings => "settings",
        })
    }
}

/// One line: what, which, and as it was and is.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, what, name, part, before, now } = self;
        match what {
            What::Settings => write!(f, "{change} settings")?,
            _ => write!(f, "{change} {what} {name}")?,
        }
        part.iter().try_for_each(|part| write!(f, ", its {part}"))?;
        match (what, before, now) {
            (What::Right, before, reason) => {
                before.iter().try_for_each(|before| write!(f, " (before: {before})"))?;
                reason.iter().try_for_each(|reason| write!(f, ": \"{}\"", plain::quote(reason, SHOWN)))
            }
            (_, Some(before), Some(now)) => write!(f, ": \"{before}\" is now \"{now}\""),
            (_, _, Some(now)) => write!(f, ": {now}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "difference/tests.rs"]
mod tests;
