//! `/permissions`: what the person has answered for good in this project, to look at, take back and widen.
//!
//! An answer in a question is about one exact effect; whoever types it here may answer for all that a pattern covers.

use std::fmt::Write as _;
use std::sync::Arc;

use acp_runtime_agent::capability::{EffectPattern, PluginId};
use acp_runtime_agent::command::{Command, CommandReply};
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::gate::Origin;
use acp_runtime_agent::near::near;
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::tool::{ToolCatalog, ToolError};
use acp_runtime_agent::transcript::ToolCallId;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{Timestamp, Unit};
use tokio_util::sync::CancellationToken;

use super::book::Book;
use crate::store::{Answer, Subject};

const USAGE: &str = "type `/permissions`, `/permissions revoke NUMBER`, `/permissions revoke all`, or \
                     `/permissions allow NAME EFFECT` and `/permissions deny NAME EFFECT`, such as \
                     `/permissions allow write_file write:notes/**`";

pub(super) struct Permissions {
    info: CommandInfo,
    book: Arc<Book>,
    tools: ToolCatalog,
}

impl Permissions {
    /// Over the answers of `book`, about these tools and the book's plugins.
    pub(super) fn new(book: Arc<Book>, tools: ToolCatalog) -> Self {
        let info = CommandInfo {
            name: "permissions".to_owned(),
            description: "Lists what was answered for good, takes it back, or answers for more".to_owned(),
            hint: Some("[revoke NUMBER|all | allow|deny NAME EFFECT]".to_owned()),
        };
        Self { info, book, tools }
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let words: Vec<&str> = arguments.splitn(3, char::is_whitespace).map(str::trim).collect();
        let done = match words.as_slice() {
            [""] => String::new(),
            ["revoke", which] => self.revoke(which).await?,
            ["allow", name, effect] => self.decide(name, effect, true).await?,
            ["deny", name, effect] => self.decide(name, effect, false).await?,
            _ => return Err(invalid(USAGE)),
        };
        Ok(format!("{done}{}", shown(&self.list().await?)))
    }

    async fn list(&self) -> Result<Vec<Answer>, ToolError> {
        self.book.answers().list().await.map_err(|error| unkept(&error))
    }

    async fn revoke(&self, which: &str) -> Result<String, ToolError> {
        let mut answers = self.list().await?;
        if which != "all" {
            let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let Some(answer) = number.filter(|index| *index < answers.len()).map(|index| answers.swap_remove(index))
            else {
                return Err(invalid(format!("there is no answer `{which}`: `/permissions` has their numbers")));
            };
            answers = vec![answer];
        }
        let revoked = match answers.as_slice() {
            [one] => format!("Taken back: {}. It is asked for again.\n\n", line(one)),
            all => format!("Taken back: {} answers. What they were about is asked for again.\n\n", all.len()),
        };
        self.book.answers().revoke(answers).await.map_err(|error| unkept(&error))?;
        Ok(revoked)
    }

    async fn decide(&self, name: &str, effect: &str, allowed: bool) -> Result<String, ToolError> {
        let subject = self.subject(name)?;
        let pattern = EffectPattern::parse(effect.trim()).map_err(|error| invalid(error.to_string()))?;
        self.book.answers().decide(&subject, &pattern, allowed).await.map_err(|error| unkept(&error))?;
        Ok("Remembered. The mode and the deny list still go first.\n\n".to_owned())
    }

    /// The tool or the plugin of that name.
    fn subject(&self, name: &str) -> Result<Subject, ToolError> {
        if let Some(plugin) = self.book.plugins().find(|plugin| plugin.as_str() == name) {
            return Ok(self.book.subject(&Origin::Plugin { plugin: plugin.clone(), call: None }));
        }
        let tools = self.tools.now();
        if let Some(tool) = tools.get(name) {
            // Which call it is makes no difference.
            let (call, tool) = (ToolCallId::new(""), tool.spec().name.clone());
            return Ok(self.book.subject(&Origin::Model { call, tool }));
        }
        let plugins = self.book.plugins().map(PluginId::as_str);
        let meant = match near(name, tools.iter().map(|tool| tool.spec().name.as_str()).chain(plugins)).as_slice() {
            [] => String::new(),
            near => format!("; did you mean `{}`?", near.join("`, `")),
        };
        Err(ToolError::to_model("not-found", format!("there is no tool and no plugin `{name}`{meant}")))
    }
}

impl Command for Permissions {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    fn run<'a>(
        &'a self,
        arguments: &'a str,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CommandReply, ToolError>> {
        async move { self.answer(arguments).await.map(CommandReply::Text) }.boxed()
    }
}

fn shown(answers: &[Answer]) -> String {
    if answers.is_empty() {
        return "Nothing was answered for good in this project.".to_owned();
    }
    let mut text = String::from("Answered for good in this project:\n\n");
    for (index, answer) in answers.iter().enumerate() {
        let since = Timestamp::try_from(answer.since).ok().and_then(|at| at.round(Unit::Second).ok());
        let since = since.map_or_else(String::new, |at| format!(" (since {at})"));
        let _ = writeln!(text, "{}. {}{since}", index + 1, line(answer));
    }
    text.push_str("\n`/permissions revoke NUMBER` takes one back.");
    text
}

fn line(answer: &Answer) -> String {
    let verdict = if answer.allowed { "allowed" } else { "denied" };
    format!("{}: {} {verdict}", answer.subject, answer.effects)
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::to_model("invalid-args", message)
}

fn unkept(error: &StoreError) -> ToolError {
    ToolError::to_model("internal", error.to_string())
}
