//! Slash commands: what a person can type, and how it is read.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::capability::CommandName;
use crate::event::CommandInfo;
use crate::tool::ToolError;

/// What a command leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandReply {
    /// A text for the person.
    Text(String),
    /// A prompt for the model, in the person's place, and a text before it.
    Prompt {
        /// Shown first; may be empty.
        text: String,
        /// Goes to the model.
        prompt: String,
    },
    /// A tool call, whose outcome is shown.
    Call {
        /// The tool's name.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
}

/// A slash command.
pub trait Command: Send + Sync {
    /// What it announces.
    fn info(&self) -> &CommandInfo;

    /// Runs with what was typed after the name. The future may be dropped at any moment.
    fn run<'a>(
        &'a self,
        arguments: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>>;
}

/// A name that another command has already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a command named `/{0}` exists already")]
pub struct CommandNameTaken(pub String);

/// The commands of a session.
#[derive(Default, Clone)]
pub struct CommandCatalog(Vec<Arc<dyn Command>>);

/// What a prompt's text is.
pub enum Typed<'a> {
    /// Not a command.
    Prompt,
    /// A command and what follows its name.
    Command(&'a Arc<dyn Command>, &'a str),
    /// It has the form of a command, but there is none of that name; names that look like it.
    Unknown(&'a str, Vec<&'a str>),
}

impl CommandCatalog {
    /// Adds a command. A taken name is an error, never shadowed.
    pub fn add(&mut self, command: Arc<dyn Command>) -> Result<(), CommandNameTaken> {
        let name = &command.info().name;
        if self.0.iter().any(|known| known.info().name == *name) {
            return Err(CommandNameTaken(name.clone()));
        }
        self.0.push(command);
        Ok(())
    }

    /// What clients are told of them.
    pub fn infos(&self) -> Vec<CommandInfo> {
        self.0.iter().map(|command| command.info().clone()).collect()
    }

    /// Reads a prompt. A path (`/usr/bin/x`) is not a command, and neither is a `/` in the middle of a text.
    pub fn read<'a>(&'a self, text: &'a str) -> Typed<'a> {
        let Some(rest) = text.trim_start().strip_prefix('/') else { return Typed::Prompt };
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if CommandName::new(name).is_err() {
            return Typed::Prompt;
        }
        if let Some(command) = self.0.iter().find(|command| command.info().name == name) {
            return Typed::Command(command, arguments.trim());
        }
        let known = self.0.iter().map(|command| command.info().name.as_str());
        Typed::Unknown(name, crate::near::near(name, known))
    }
}
