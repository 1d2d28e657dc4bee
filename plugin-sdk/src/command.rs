//! Slash commands: what a person can type.

use crate::bindings::command::interface as wire;
use crate::bindings::imports::types;
use crate::{Error, Result};

/// A command, typed as `/name arguments`.
pub trait Command {
    /// `[a-z0-9_-]{1,64}`, unique in the plugin, without the slash.
    const NAME: &'static str;
    /// One sentence.
    const DESCRIPTION: &'static str;
    /// What to type after the name, as `TEXT`; nothing where it takes no arguments.
    const HINT: Option<&'static str> = None;

    /// Does it. `arguments` is everything after the name, without the space around it.
    fn run(arguments: &str) -> Result<Reply>;
}

/// What a command answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Shown to the person, as Markdown.
    pub text: String,
    /// Sent to the model as the person's prompt.
    pub prompt: Option<String>,
}

impl Reply {
    /// A text for the person; the model is not asked.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), prompt: None }
    }

    /// A text for the model, in the person's name.
    pub fn prompt(prompt: impl Into<String>) -> Self {
        Self { text: String::new(), prompt: Some(prompt.into()) }
    }
}

/// One command in the table that [`export!`](crate::export) makes.
#[doc(hidden)]
pub struct Entry {
    name: &'static str,
    description: &'static str,
    hint: Option<&'static str>,
    run: fn(&str) -> Result<Reply>,
}

impl Entry {
    /// The entry for that command.
    pub const fn of<C: Command>() -> Self {
        Self { name: C::NAME, description: C::DESCRIPTION, hint: C::HINT, run: C::run }
    }
}

/// The guest side of `list-commands`.
#[doc(hidden)]
pub fn list(entries: &[Entry]) -> Vec<wire::CommandDef> {
    let definition = |entry: &Entry| wire::CommandDef {
        name: entry.name.to_owned(),
        description: entry.description.to_owned(),
        hint: entry.hint.map(str::to_owned),
        extra: Vec::new(),
    };
    entries.iter().map(definition).collect()
}

/// The guest side of `run`.
#[doc(hidden)]
pub fn run(entries: &[Entry], name: &str, arguments: &str) -> Result<wire::Reply, types::Error> {
    let entry = entries.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| Error::not_found(format_args!("no command named `{name}`")))?;
    let reply = (entry.run)(arguments.trim())?;
    Ok(wire::Reply { text: reply.text, prompt: reply.prompt, extra: Vec::new() })
}
