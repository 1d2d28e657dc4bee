//! Tools: what the model can call. The type of the arguments is the tool; its JSON Schema comes from the type.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::imports::types;
use crate::bindings::tool::interface as wire;
use crate::{Error, Result};

/// A tool. Implement it for the type of the arguments: a struct with named fields, whose doc comments describe them to
/// the model.
pub trait Tool: DeserializeOwned + JsonSchema {
    /// `[a-z0-9_-]{1,64}`, unique in the plugin. The model sees `plugin__name`.
    const NAME: &'static str;
    /// What people see; the name where there is none.
    const TITLE: Option<&'static str> = None;
    /// What the model reads to decide: what it does, when to use it, what it answers.
    const DESCRIPTION: &'static str;
    /// What it does to the world; decides the icon that people see, never what is allowed.
    const SIDE_EFFECTS: &'static [SideEffect] = &[];

    /// Does it.
    fn run(self, call: &Call) -> Result<Outcome>;
}

/// A way in which a tool touches the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// Reads files.
    Read,
    /// Changes files.
    Write,
    /// Starts programs.
    Execute,
    /// Talks to the network.
    Network,
    /// Changes something that is neither a file nor a program.
    External,
}

impl SideEffect {
    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
            Self::External => "external",
        }
    }
}

/// The circumstances of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Unique in the session.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// The wall time that was left when the call began.
    pub deadline: Duration,
}

/// What a call gave: content for readers, and a JSON value for programs beside it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    content: Vec<Content>,
    structured: Option<serde_json::Value>,
    locations: Vec<Location>,
}

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text of that media type.
    Text(String, String),
    /// Bytes of that media type.
    Bytes(String, Vec<u8>),
}

/// A place in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// A guest path, as `/workspace/src/lib.rs`.
    pub path: String,
    /// Counted from 1.
    pub line: Option<u32>,
}

impl Outcome {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().with(Content::Text("text/plain".to_owned(), text.into()))
    }

    /// Text in Markdown.
    pub fn markdown(text: impl Into<String>) -> Self {
        Self::default().with(Content::Text("text/markdown".to_owned(), text.into()))
    }

    /// One more piece of content.
    #[must_use]
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// The value for programs.
    pub fn structured(mut self, value: &impl Serialize) -> Result<Self> {
        self.structured = Some(serde_json::to_value(value)?);
        Ok(self)
    }

    /// A file that the call is about; the editor may open it.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>, line: Option<u32>) -> Self {
        self.locations.push(Location { path: path.into(), line });
        self
    }

    /// All text in it, for tests and for tools that use one another.
    pub fn to_text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(_, text) => Some(text.as_str()),
            Content::Bytes(..) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The value for programs, if there is one.
    pub fn to_structured(&self) -> Option<&serde_json::Value> {
        self.structured.as_ref()
    }

    /// The files that the call is about.
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }
}

impl From<String> for Outcome {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Outcome {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// One tool in the table that [`export!`](crate::export) makes.
#[doc(hidden)]
pub struct Entry {
    name: &'static str,
    definition: fn() -> wire::ToolDef,
    call: fn(&str, &Call) -> Result<Outcome>,
}

impl Entry {
    /// The entry for that tool.
    pub const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, definition: definition::<T>, call: call::<T> }
    }
}

/// The guest side of `list-tools`.
#[doc(hidden)]
pub fn list(entries: &[Entry]) -> Vec<wire::ToolDef> {
    entries.iter().map(|entry| (entry.definition)()).collect()
}

/// The guest side of `call`.
#[doc(hidden)]
pub fn dispatch(
    entries: &[Entry],
    name: &str,
    arguments: &str,
    context: wire::CallContext,
) -> Result<wire::Outcome, types::Error> {
    let context =
        Call { id: context.call_id, session: context.session_id, deadline: Duration::from_millis(context.deadline_ms) };
    let entry = entries.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| Error::not_found(format_args!("no tool named `{name}`")))?;
    Ok((entry.call)(arguments, &context)?.into())
}

pub(crate) fn definition<T: Tool>() -> wire::ToolDef {
    let mut schema = schemars::schema_for!(T);
    schema.remove("title"); // the name of a Rust type, which says nothing to a model
    let mut side_effects: Vec<_> = T::SIDE_EFFECTS.iter().map(|effect| effect.as_str().to_owned()).collect();
    if side_effects.is_empty() {
        side_effects.push("none".to_owned());
    }
    wire::ToolDef {
        name: T::NAME.to_owned(),
        title: T::TITLE.map(str::to_owned),
        description: T::DESCRIPTION.to_owned(),
        input_schema: schema.as_value().to_string(),
        side_effects,
        extra: Vec::new(),
    }
}

pub(crate) fn call<T: Tool>(arguments: &str, context: &Call) -> Result<Outcome> {
    let arguments: T = serde_json::from_str(arguments).map_err(Error::invalid_args)?;
    arguments.run(context)
}

impl From<Outcome> for wire::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            content: outcome.content.into_iter().map(Into::into).collect(),
            structured: outcome.structured.map(|value| value.to_string()),
            locations: outcome.locations.into_iter().map(Into::into).collect(),
            extra: Vec::new(),
        }
    }
}

impl From<Content> for types::Content {
    fn from(content: Content) -> Self {
        match content {
            Content::Text(mime, text) => Self { mime, text: Some(text), data: None, extra: Vec::new() },
            Content::Bytes(mime, data) => Self { mime, text: None, data: Some(data), extra: Vec::new() },
        }
    }
}

impl From<Location> for types::Location {
    fn from(location: Location) -> Self {
        Self { path: location.path, line: location.line, extra: Vec::new() }
    }
}
