//! Slash commands: what a person can type, and how it is read.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::capability::{CommandName, PluginId};
use crate::event::CommandInfo;
use crate::options::Switches;
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
    /// What was said is summed up for the model.
    Compact {
        /// What the person wants to be in the summary; may be empty.
        keep: String,
    },
}

/// A slash command.
pub trait Command: Send + Sync {
    /// What it announces.
    fn info(&self) -> &CommandInfo;

    /// The plugin that it belongs to.
    fn plugin(&self) -> Option<&PluginId> {
        None
    }

    /// Runs with what was typed after the name. The future may be dropped at any moment.
    fn run<'a>(
        &'a self,
        arguments: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>>;
}

/// A command of the runtime's own that answers with a text and nothing else.
pub trait TextCommand: Send + Sync {
    /// What it announces.
    fn info(&self) -> &CommandInfo;

    /// Answers what was typed after the name. The future may be dropped at any moment.
    fn answer(&self, arguments: &str) -> impl Future<Output = Result<String, ToolError>> + Send;
}

impl<T: TextCommand> Command for T {
    fn info(&self) -> &CommandInfo {
        TextCommand::info(self)
    }

    fn run<'a>(
        &'a self,
        arguments: &'a str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        Box::pin(async move { self.answer(arguments).await.map(CommandReply::Text) })
    }
}

/// Refuses what was typed after a command that takes nothing.
pub fn takes_nothing(command: &str, arguments: &str) -> Result<(), ToolError> {
    if arguments.is_empty() {
        return Ok(());
    }
    let arguments = crate::plain::line(arguments, 80);
    let refused = ToolError::invalid(format!("`/{command}` takes nothing, and `{arguments}` follows it"));
    Err(refused.hint(format!("type `/{command}`")))
}

/// A name that another command has already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a command named `/{0}` exists already")]
pub struct CommandNameTaken(pub String);

/// Whether a prompt's text has the form of a command, and is not sent to the model.
pub fn has_form(text: &str) -> bool {
    split(text).is_some()
}

/// The name of a command and what follows it; none where the text has not that form.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    CommandName::new(name).is_ok().then_some((name, arguments))
}

/// The commands of a session. What belongs to a plugin that is switched off is not found.
#[derive(Clone)]
pub struct CommandCatalog {
    /// Those that the session answers itself.
    own: Vec<CommandInfo>,
    commands: Vec<Arc<dyn Command>>,
    /// Others that answer some first words behind a command of the session's own.
    further: Vec<(&'static [&'static str], Arc<dyn Command>)>,
    switches: Switches,
}

/// What a prompt's text is.
pub enum Typed<'a> {
    /// Not a command.
    Prompt,
    /// A command that the session answers itself, and what follows its name.
    Own(&'a CommandInfo, &'a str),
    /// A command and what follows its name.
    Command(&'a Arc<dyn Command>, &'a str),
    /// It has the form of a command, but there is none of that name; names that look like it.
    Unknown(&'a str, Vec<&'a str>),
}

impl CommandCatalog {
    /// The commands that a session with these switches answers itself.
    pub fn new(own: Vec<CommandInfo>, switches: Switches) -> Self {
        Self { own, commands: Vec::new(), further: Vec::new(), switches }
    }

    /// Adds a command. A taken name is an error, never shadowed.
    pub fn add(&mut self, command: Arc<dyn Command>) -> Result<(), CommandNameTaken> {
        let name = &command.info().name;
        let taken =
            self.own.iter().chain(self.commands.iter().map(|known| known.info())).any(|known| known.name == *name);
        if taken {
            return Err(CommandNameTaken(name.clone()));
        }
        self.commands.push(command);
        Ok(())
    }

    /// Lets `command` answer where one of `words` comes first behind the command of its name that the session answers
    /// itself; what it announces is announced of both.
    pub fn extend(&mut self, words: &'static [&'static str], command: Arc<dyn Command>) {
        if let Some(own) = self.own.iter_mut().find(|own| own.name == command.info().name) {
            own.clone_from(command.info());
            self.further.push((words, command));
        }
    }

    /// What clients are told of them.
    pub fn infos(&self) -> Vec<CommandInfo> {
        self.iter_infos().cloned().collect()
    }

    fn iter_infos(&self) -> impl Iterator<Item = &CommandInfo> {
        self.own.iter().chain(self.iter().map(|command| command.info()))
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<dyn Command>> {
        self.commands.iter().filter(|command| self.switches.lets(command.plugin()))
    }

    /// Reads a prompt. A path (`/usr/bin/x`) is not a command, and neither is a `/` in the middle of a text.
    pub fn read<'a>(&'a self, text: &'a str) -> Typed<'a> {
        let Some((name, arguments)) = split(text) else { return Typed::Prompt };
        if let Some(own) = self.own.iter().find(|own| own.name == name) {
            let arguments = arguments.trim();
            let first = arguments.split_whitespace().next().unwrap_or_default();
            let answers =
                |(words, command): &&(&[&str], Arc<dyn Command>)| command.info().name == name && words.contains(&first);
            return match self.further.iter().find(answers) {
                Some((_, command)) => Typed::Command(command, arguments),
                None => Typed::Own(own, arguments),
            };
        }
        if let Some(command) = self.iter().find(|command| command.info().name == name) {
            return Typed::Command(command, arguments.trim());
        }
        let known = self.iter_infos().map(|info| info.name.as_str());
        Typed::Unknown(name, crate::near::near(name, known))
    }
}
