//! `/permissions`: what the person has answered for good in this project, to look at, take back and widen.
//!
//! An answer in a question is about one exact effect; whoever types it here may answer for all that a pattern covers.

use std::fmt::Write as _;
use std::sync::Arc;

use acp_runtime_agent::capability::{EffectPattern, PluginId};
use acp_runtime_agent::command::{Command, CommandReply};
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::gate::{GrantBook as _, Origin};
use acp_runtime_agent::near::near;
use acp_runtime_agent::plain;
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::tool::{ToolCatalog, ToolError};
use acp_runtime_agent::transcript::ToolCallId;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{Timestamp, Unit};
use tokio_util::sync::CancellationToken;

use super::book::Book;
use crate::store::Answer;

const USAGE: &str = "type `/permissions`, `/permissions revoke NUMBER`, `/permissions revoke NAME EFFECT`, \
                     `/permissions revoke all`, or `/permissions allow NAME EFFECT` and `/permissions deny NAME EFFECT`, \
                     such as `/permissions allow write_file write:notes/**`";

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
            hint: Some("[revoke NUMBER|all | revoke|allow|deny NAME EFFECT]".to_owned()),
        };
        Self { info, book, tools }
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let words: Vec<&str> = arguments.splitn(3, char::is_whitespace).map(str::trim).collect();
        let done = match words.as_slice() {
            [""] => String::new(),
            ["revoke", which] => self.revoke(which).await?,
            ["revoke", name, effect] => self.revoke_about(name, effect).await?,
            ["allow", name, effect] => self.decide(name, effect, true).await?,
            ["deny", name, effect] => self.decide(name, effect, false).await?,
            ["revoke"] => return Err(misused("no answer was named")),
            ["allow" | "deny", ..] => return Err(misused("a name and an effect are needed")),
            [other, ..] => return Err(misused(&format!("`/permissions` has no `{}`", plain::line(other, 80)))),
            [] => return Err(misused("nothing was typed")),
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
                return Err(unknown(which));
            };
            answers = vec![answer];
        }
        self.take_back(answers).await
    }

    /// Those about that tool or plugin, and exactly that effect.
    async fn revoke_about(&self, name: &str, effect: &str) -> Result<String, ToolError> {
        let subjects = [format!("tool {name}"), format!("plugin {name}")];
        let mut answers = self.list().await?;
        answers.retain(|answer| subjects.contains(&answer.subject) && answer.is_about(effect));
        if answers.is_empty() {
            return Err(unknown(&format!("{name} {effect}")));
        }
        self.take_back(answers).await
    }

    async fn take_back(&self, answers: Vec<Answer>) -> Result<String, ToolError> {
        let revoked = match answers.as_slice() {
            [one] => format!("Taken back: {}. It is asked for again.\n\n", line(one)),
            all => format!("Taken back: {} answers. What they were about is asked for again.\n\n", all.len()),
        };
        self.book.answers().revoke(answers).await.map_err(|error| unkept(&error))?;
        Ok(revoked)
    }

    async fn decide(&self, name: &str, effect: &str, allowed: bool) -> Result<String, ToolError> {
        let pattern = EffectPattern::parse(effect.trim()).map_err(|error| ToolError::invalid(error.to_string()))?;
        self.tools.settle_to_show().await;
        let origin = self.origin(name, &pattern)?;
        if allowed && !self.book.keeps(&origin) {
            let why = format!(
                "`{name}` is named by a path in the configuration, and what changes under its name is never allowed for \
                 good"
            );
            return Err(ToolError::to_model("denied", why).hint("install it with `acp-runtime plugin install`"));
        }
        let subject = self.book.subject(&origin);
        self.book.answers().decide(&subject, &pattern, allowed).await.map_err(|error| unkept(&error))?;
        let first = if allowed { "The mode and the deny list still go first." } else { "It holds in every mode." };
        Ok(format!("Remembered. {first}\n\n"))
    }

    /// The tool or the plugin of that name, as far as such effects are its own.
    fn origin(&self, name: &str, pattern: &EffectPattern) -> Result<Origin, ToolError> {
        if let Some(plugin) = self.book.plugins().find(|plugin| plugin.as_str() == name) {
            return Ok(Origin::Plugin { plugin: plugin.clone(), call: None });
        }
        let tools = self.tools.now();
        let Some(tool) = tools.get(name) else {
            let plugins = self.book.plugins().map(PluginId::as_str);
            let near = near(name, tools.iter().map(|tool| tool.spec().name.as_str()).chain(plugins));
            return Err(ToolError::not_found(format!("there is no tool and no plugin `{name}`"), &near)
                .or_hint(|| "type `/tools` and `/plugins` for those that there are".to_owned()));
        };
        if let Some(plugin) = tool.plugin().filter(|_| !matches!(pattern.class(), None | Some("plugin"))) {
            return Err(ToolError::invalid(format!("what `{name}` does is done by its plugin, `{plugin}`"))
                .hint(format!("name the plugin: `{plugin} {pattern}`")));
        }
        // Which call it is makes no difference.
        Ok(Origin::Model { call: ToolCallId::new(""), tool: tool.spec().name.clone() })
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
    if answers.iter().any(Answer::is_about_a_plugin) {
        text.push_str(
            " An answer about a plugin holds while it has the same publisher (where it comes from, and the name before \
             the colon of its id) and asks for the same rights.",
        );
    }
    text
}

fn line(answer: &Answer) -> String {
    let verdict = if answer.allowed { "allowed" } else { "denied" };
    format!("{}: {} {verdict}", answer.subject, answer.effects)
}

fn unknown(which: &str) -> ToolError {
    let unknown = ToolError::not_found(format!("there is no answer `{}`", plain::line(which, 200)), &[]);
    unknown.hint("type `/permissions` for their numbers")
}

fn misused(how: &str) -> ToolError {
    ToolError::invalid(how).hint(USAGE)
}

fn unkept(error: &StoreError) -> ToolError {
    ToolError::to_model("internal", error.to_string())
}
