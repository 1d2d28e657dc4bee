//! `/permissions`: what the person has answered for longer than one time, to look at, take back and widen.
//!
//! An answer in a question is about one exact effect in this project; whoever types it here may answer for all that a
//! pattern covers, for this session, this project or all of them. A yes about a plugin is also a right that it was not
//! granted when it was installed, as far as its manifest asks for it. Each change is audited.

use std::fmt::Write as _;
use std::sync::Arc;

use acp_runtime_agent::capability::{EffectPattern, PluginId};
use acp_runtime_agent::command::TextCommand;
use acp_runtime_agent::event::CommandInfo;
use acp_runtime_agent::gate::{AuditSink, GrantBook as _, Origin, Scope, Settled, Verdict};
use acp_runtime_agent::near::near;
use acp_runtime_agent::plain;
use acp_runtime_agent::store::StoreError;
use acp_runtime_agent::tool::{ToolCatalog, ToolError};
use acp_runtime_agent::transcript::ToolCallId;
use jiff::{Timestamp, Unit};

use super::book::{Book, Passing};
use crate::store::Answer;

const USAGE: &str = "type `/permissions`, `/permissions revoke NUMBER`, `/permissions revoke NAME EFFECT`, \
                     `/permissions revoke all`, or `/permissions allow NAME EFFECT` and `/permissions deny NAME EFFECT`, \
                     such as `/permissions allow write_file write:notes/**`, behind `allow` and `deny` with `--scope \
                     session|project|user` where it is not the project";
/// What the names of MCP servers' tools begin with.
const SERVERS: &str = "mcp__";
/// Before the scope of an answer.
const SCOPE: &str = "--scope";

pub(super) struct Permissions {
    info: CommandInfo,
    book: Arc<Book>,
    tools: ToolCatalog,
    audit: Arc<dyn AuditSink>,
}

/// What was answered.
#[derive(Clone)]
enum Given {
    /// For this session.
    Passing(Passing),
    /// For longer.
    Kept(Answer),
}

impl Given {
    fn subject(&self) -> &str {
        match self {
            Self::Passing(passing) => &passing.subject,
            Self::Kept(answer) => &answer.subject,
        }
    }

    fn is_about(&self, text: &str) -> bool {
        match self {
            Self::Passing(passing) => passing.pattern.to_string() == text,
            Self::Kept(answer) => answer.is_about(text),
        }
    }

    fn about(&self) -> String {
        match self {
            Self::Passing(passing) => passing.pattern.to_string(),
            Self::Kept(answer) => answer.typed(),
        }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::Passing(_) => Scope::Session,
            Self::Kept(answer) => answer.scope(),
        }
    }

    fn line(&self) -> String {
        let (effects, allowed) = match self {
            Self::Passing(passing) => (passing.pattern.to_string(), passing.allowed),
            Self::Kept(answer) => (answer.effects.clone(), answer.allowed),
        };
        let verdict = if allowed { "allowed" } else { "denied" };
        let scope = match self.scope() {
            Scope::Session => " in this session",
            Scope::Project => "",
            Scope::User => " in all projects",
        };
        format!("{}: {effects} {verdict}{scope}", self.subject())
    }
}

impl Permissions {
    /// Over the answers of `book`, about these tools and the book's plugins.
    pub(super) fn new(book: Arc<Book>, tools: ToolCatalog, audit: Arc<dyn AuditSink>) -> Self {
        let info = CommandInfo {
            name: "permissions".to_owned(),
            description: "Lists the answers that hold, takes them back, or answers for more".to_owned(),
            hint: Some("[revoke NUMBER|all | revoke NAME EFFECT | allow|deny [--scope SCOPE] NAME EFFECT]".to_owned()),
        };
        Self { info, book, tools, audit }
    }

    async fn list(&self) -> Result<Vec<Given>, ToolError> {
        let kept = self.book.answers().list().await.map_err(|error| unkept(&error))?;
        let passing = self.book.passed().into_iter().map(Given::Passing);
        Ok(kept.into_iter().map(Given::Kept).chain(passing).collect())
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
        answers.retain(|answer| subjects.iter().any(|known| known == answer.subject()) && answer.is_about(effect));
        if answers.is_empty() {
            return Err(unknown(&format!("{name} {effect}")));
        }
        self.take_back(answers).await
    }

    async fn take_back(&self, answers: Vec<Given>) -> Result<String, ToolError> {
        let revoked = match answers.as_slice() {
            [one] => format!("Taken back: {}. It is asked for again.\n\n", one.line()),
            all => format!("Taken back: {} answers. What they were about is asked for again.\n\n", all.len()),
        };
        let (mut kept, mut passing) = (Vec::new(), Vec::new());
        for answer in answers.clone() {
            match answer {
                Given::Kept(answer) => kept.push(answer),
                Given::Passing(answer) => passing.push(answer),
            }
        }
        self.book.forget(&passing);
        self.book.answers().revoke(kept).await.map_err(|error| unkept(&error))?;
        for answer in &answers {
            self.note(answer.subject(), &answer.about(), answer.scope(), Verdict::TakenBack);
        }
        Ok(revoked)
    }

    /// Keeps a line about a change.
    fn note(&self, subject: &str, about: &str, scope: Scope, verdict: Verdict) {
        let id = subject.strip_prefix("plugin ").and_then(|id| PluginId::new(id).ok());
        self.audit.settled(&Settled { subject, plugin: id.as_ref(), about, scope, verdict });
    }

    async fn decide(&self, name: &str, effect: &str, allowed: bool, scope: Scope) -> Result<String, ToolError> {
        let pattern = EffectPattern::parse(effect.trim()).map_err(|error| ToolError::invalid(error.to_string()))?;
        self.tools.settle_to_show().await;
        let origin = self.origin(name, &pattern)?;
        if let (Some(plugin), true) = (origin.plugin(), allowed)
            && !self.book.asks_for(plugin, &pattern)
        {
            let why = format!("the manifest of `{plugin}` asks for nothing that `{pattern}` would allow");
            return Err(ToolError::to_model("denied", why)
                .hint(format!("`acp-runtime plugin info {plugin}` lists what it asks for")));
        }
        if allowed && scope != Scope::Session && !self.book.keeps(&origin) {
            let why = format!(
                "`{name}` is named by a path in the configuration, and what changes under its name is never allowed for \
                 good"
            );
            return Err(ToolError::to_model("denied", why).hint(format!(
                "install it with `acp-runtime plugin install`, or allow it here and now: `/permissions allow --scope session \
                 {name} {pattern}`"
            )));
        }
        if scope == Scope::User && name.starts_with(SERVERS) {
            return Err(ToolError::invalid(format!("`{name}` may be another server's tool in another project"))
                .hint("answer for this project, without `--scope`"));
        }
        let subject = self.book.subject(&origin);
        self.book.decide(&subject, &pattern, allowed, scope).await.map_err(|error| unkept(&error))?;
        self.note(&subject.name, &pattern.to_string(), scope, if allowed { Verdict::Allowed } else { Verdict::Denied });
        let first = if allowed { "The mode and the deny list still go first." } else { "It holds in every mode." };
        let run = allowed && origin.plugin().is_some() && matches!(pattern.class(), None | Some("run"));
        let each = if run { " Each run of a program is asked for all the same." } else { "" };
        Ok(format!("Remembered. {first}{each}\n\n"))
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

impl TextCommand for Permissions {
    fn info(&self) -> &CommandInfo {
        &self.info
    }

    async fn answer(&self, arguments: &str) -> Result<String, ToolError> {
        let (arguments, scope) = scoped(arguments)?;
        let words: Vec<&str> = arguments.splitn(3, char::is_whitespace).map(str::trim).collect();
        let done = match words.as_slice() {
            [""] => String::new(),
            ["revoke", which] => self.revoke(which).await?,
            ["revoke", name, effect] => self.revoke_about(name, effect).await?,
            ["allow", name, effect] => self.decide(name, effect, true, scope.unwrap_or(Scope::Project)).await?,
            ["deny", name, effect] => self.decide(name, effect, false, scope.unwrap_or(Scope::Project)).await?,
            ["revoke"] => return Err(misused("no answer was named")),
            ["allow" | "deny", ..] => return Err(misused("a name and an effect are needed")),
            [other, ..] => return Err(misused(&format!("`/permissions` has no `{}`", plain::line(other, 80)))),
            [] => return Err(misused("nothing was typed")),
        };
        Ok(format!("{done}{}", shown(&self.list().await?)))
    }
}

/// The arguments without a scope behind their first word, and the scope.
fn scoped(arguments: &str) -> Result<(String, Option<Scope>), ToolError> {
    let mut words = arguments.trim().splitn(4, char::is_whitespace);
    let (Some(verb @ ("allow" | "deny")), Some(SCOPE)) = (words.next(), words.next()) else {
        return Ok((arguments.to_owned(), None));
    };
    let (named, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let scope = Scope::from_id(named).ok_or_else(|| {
        let scopes = Scope::ALL.map(Scope::as_str).join("`, `");
        ToolError::invalid(format!("there is no scope `{}`", plain::line(named, 80))).hint(format!("one of `{scopes}`"))
    })?;
    Ok((format!("{verb} {}", rest.trim_start()), Some(scope)))
}

fn shown(answers: &[Given]) -> String {
    if answers.is_empty() {
        return "No answer holds in this project.".to_owned();
    }
    let mut text = String::from("The answers that hold in this project:\n\n");
    for (index, answer) in answers.iter().enumerate() {
        let since = match answer {
            Given::Kept(answer) => Timestamp::try_from(answer.since).ok().and_then(|at| at.round(Unit::Second).ok()),
            Given::Passing(_) => None,
        };
        let since = since.map_or_else(String::new, |at| format!(" (since {at})"));
        let _ = writeln!(text, "{}. {}{since}", index + 1, answer.line());
    }
    text.push_str("\n`/permissions revoke NUMBER` takes one back.");
    if answers.iter().any(|answer| matches!(answer, Given::Kept(answer) if answer.is_about_a_plugin())) {
        text.push_str(
            " A yes about a plugin holds as long as the plugin has the same publisher (where it comes from, who has signed it, \
             and the name before the colon of its id) and asks for the same rights; about one of the project's own plugins, \
             as long as its file is the same. A no holds for every plugin with that id.",
        );
    }
    text
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
