//! The gate: the only maker of [`Permit`]s.
//!
//! Native tools, plugin imports, panel actions and slash commands all come here with what they want to do; the gate
//! judges by the policy, asks the person where the policy says so, and hands out a permit or a readable refusal. Every
//! decision is audited. Knows nothing about how a person is asked or where grants are kept: those are ports.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::capability::{CommandName, Effect, GrantSet, PanelName, PluginId, ToolName};
use crate::options::SharedLeeway;
use crate::policy::{Decision, Policy, Rule};
use crate::transcript::{ToolCallId, ToolContent};

/// On whose behalf something is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The model called a tool.
    Model {
        /// Its call.
        call: ToolCallId,
        /// The tool.
        tool: ToolName,
    },
    /// A plugin's code asks, inside a call.
    Plugin {
        /// The plugin.
        plugin: PluginId,
        /// The tool call that it runs in; none in a panel or a command.
        call: Option<ToolCallId>,
    },
    /// A person clicked in a panel.
    Panel(PanelName),
    /// A person typed a slash command.
    Command(CommandName),
}

impl Origin {
    /// Whose name a remembered answer is kept under: the tool, the plugin, the panel or the command.
    pub fn subject(&self) -> String {
        match self {
            Self::Model { tool, .. } => format!("tool {tool}"),
            Self::Plugin { plugin, .. } => format!("plugin {plugin}"),
            Self::Panel(panel) => format!("panel {panel}"),
            Self::Command(command) => format!("command /{command}"),
        }
    }

    /// The tool call that it belongs to.
    pub fn call(&self) -> Option<&ToolCallId> {
        match self {
            Self::Model { call, .. } => Some(call),
            Self::Plugin { call, .. } => call.as_ref(),
            Self::Panel(_) | Self::Command(_) => None,
        }
    }
}

/// Proof that effects were allowed. Only [`Gate::authorize`] makes one.
#[derive(Debug)]
pub struct Permit {
    origin: Origin,
    effects: Vec<Effect>,
    asked: bool,
}

impl Permit {
    /// Whether the permit allows `effect`.
    pub fn covers(&self, effect: &Effect) -> bool {
        self.effects.iter().any(|allowed| allowed.covers(effect))
    }

    /// On whose behalf.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether a person was asked: what they were shown may have changed meanwhile.
    pub fn was_asked(&self) -> bool {
        self.asked
    }
}

/// A question to the person, written by the runtime.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The tool call that it is about; none outside of one.
    pub call: Option<ToolCallId>,
    /// Who wants it: `tool write_file`, `plugin aar:notes`.
    pub subject: String,
    /// One line: who wants to do what.
    pub title: String,
    /// What exactly; never empty.
    pub effects: Vec<Effect>,
    /// What the effect would change, where that can be shown.
    pub content: Vec<ToolContent>,
    /// The exact arguments.
    pub raw: Option<Value>,
    /// Whether `always` may be offered: never for programs, and not for code that changes under its name.
    pub may_remember: bool,
}

/// What the person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, and do not ask again.
    RejectAlways,
    /// The question went away without an answer.
    Cancelled,
    /// Nobody answered in that time.
    Late(Duration),
    /// There is nobody to ask.
    NoChannel,
}

/// Asks the person.
pub trait Approver: Send + Sync {
    /// Asks and waits. Dropping the future withdraws the question.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval>;
}

/// What was granted and remembered. A book without a memory asks each time.
pub trait GrantBook: Send + Sync {
    /// The rights of a plugin; none where it is not known.
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet>;

    /// A remembered answer: yes or no.
    fn remembered<'a>(&'a self, origin: &'a Origin, effect: &'a Effect) -> BoxFuture<'a, Option<bool>> {
        let _ = (origin, effect);
        Box::pin(async { None })
    }

    /// Whether a yes may be remembered: not for code that changes under its name.
    fn keeps(&self, origin: &Origin) -> bool {
        let _ = origin;
        false
    }

    /// Remembers an answer for this project, before the gate goes on.
    fn remember<'a>(&'a self, origin: &'a Origin, effect: &'a Effect, allowed: bool) -> BoxFuture<'a, ()> {
        let _ = (origin, effect, allowed);
        Box::pin(async {})
    }
}

/// Keeps a line for every decision.
pub trait AuditSink: Send + Sync {
    /// Keeps it.
    fn record(&self, entry: AuditEntry<'_>);
}

/// One decision.
#[derive(Debug)]
pub struct AuditEntry<'a> {
    /// On whose behalf.
    pub origin: &'a Origin,
    /// What.
    pub effect: &'a Effect,
    /// Whether it may happen.
    pub allowed: bool,
    /// Who decided: `policy`, `remembered`, `person`, `timeout`, `no-channel`, or the rule that refused.
    pub by: &'a str,
}

/// A denial, as a value that guests, the model and people can read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("denied: {class} `{key}`: {reason}")]
pub struct Refusal {
    /// The effect's class.
    pub class: &'static str,
    /// What exactly.
    pub key: String,
    /// Why, in words.
    pub reason: String,
    /// How it could be allowed.
    pub hint: String,
    /// The person let the question go (the turn was cancelled), rather than refusing.
    pub cancelled: bool,
}

/// What a question may show beside the effects.
#[derive(Debug, Clone, Default)]
pub struct Exhibit {
    /// What would change.
    pub content: Vec<ToolContent>,
    /// The exact arguments.
    pub raw: Option<Value>,
}

/// The gate of one session.
pub struct Gate {
    policy: Arc<Policy>,
    leeway: SharedLeeway,
    approver: Arc<dyn Approver>,
    book: Arc<dyn GrantBook>,
    audit: Arc<dyn AuditSink>,
}

impl Gate {
    /// A gate that judges by `policy` and `leeway`, asks `approver`, and keeps to `book`.
    pub fn new(
        policy: Arc<Policy>,
        leeway: SharedLeeway,
        approver: Arc<dyn Approver>,
        book: Arc<dyn GrantBook>,
        audit: Arc<dyn AuditSink>,
    ) -> Self {
        Self { policy, leeway, approver, book, audit }
    }

    /// What it judges by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Decides on all `effects` together: one refusal refuses them all.
    pub async fn authorize(&self, origin: Origin, effects: Vec<Effect>) -> Result<Permit, Refusal> {
        self.authorize_with(origin, effects, Exhibit::default()).await
    }

    /// [`Gate::authorize`], with what the person is shown beside the question.
    pub async fn authorize_with(
        &self,
        origin: Origin,
        effects: Vec<Effect>,
        exhibit: Exhibit,
    ) -> Result<Permit, Refusal> {
        let subject = origin.subject();
        let mut open = Vec::new();
        for effect in &effects {
            match self.judge(&origin, effect) {
                Decision::Allow => self.note(&origin, effect, true, "policy"),
                Decision::Deny(rule) => return Err(self.refuse_by_rule(&origin, effect, &rule)),
                Decision::Ask => match self.book.remembered(&origin, effect).await {
                    Some(true) => self.note(&origin, effect, true, "remembered"),
                    Some(false) => return Err(self.refuse(&origin, effect, "remembered", Why::Remembered)),
                    None => open.push(effect),
                },
            }
        }
        if let Some(first) = open.first() {
            self.ask(&origin, &subject, &open, first, exhibit).await?;
            // While the question was open the mode may have become narrower; what it forbids now, no answer allows.
            for effect in &effects {
                if let Decision::Deny(rule) = self.judge(&origin, effect) {
                    return Err(self.refuse_by_rule(&origin, effect, &rule));
                }
            }
        }
        let asked = !open.is_empty();
        Ok(Permit { origin, effects, asked })
    }

    fn judge(&self, origin: &Origin, effect: &Effect) -> Decision {
        let leeway = self.leeway.get();
        match origin {
            Origin::Plugin { plugin, .. } => match self.book.grants(plugin) {
                Some(grants) => self.policy.decide(effect, &grants, leeway),
                None => Decision::Deny(Rule::NotGranted),
            },
            Origin::Model { .. } | Origin::Panel(_) | Origin::Command(_) => {
                self.policy.decide(effect, &GrantSet::native(), leeway)
            }
        }
    }

    async fn ask(
        &self,
        origin: &Origin,
        subject: &str,
        open: &[&Effect],
        first: &Effect,
        exhibit: Exhibit,
    ) -> Result<(), Refusal> {
        let may_remember = self.book.keeps(origin) && !open.iter().any(|effect| matches!(effect, Effect::Run(_)));
        let approval = self
            .approver
            .ask(Ask {
                call: origin.call().cloned(),
                subject: subject.to_owned(),
                title: format!("{subject}: {}", open.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
                effects: open.iter().map(|&effect| effect.clone()).collect(),
                content: exhibit.content,
                raw: exhibit.raw,
                may_remember,
            })
            .await;
        let allowed = matches!(approval, Approval::AllowOnce | Approval::AllowAlways);
        if (may_remember && approval == Approval::AllowAlways) || approval == Approval::RejectAlways {
            for effect in open {
                self.book.remember(origin, effect, allowed).await;
            }
        }
        match approval {
            Approval::AllowOnce | Approval::AllowAlways => {
                for effect in open {
                    self.note(origin, effect, true, "person");
                }
                Ok(())
            }
            Approval::RejectOnce | Approval::RejectAlways => Err(self.refuse(origin, first, "person", Why::Person)),
            Approval::Cancelled => Err(self.refuse(origin, first, "cancelled", Why::Cancelled)),
            Approval::Late(patience) => Err(self.refuse(origin, first, "timeout", Why::Late(patience))),
            Approval::NoChannel => Err(self.refuse(origin, first, "no-channel", Why::NoChannel)),
        }
    }

    fn refuse_by_rule(&self, origin: &Origin, effect: &Effect, rule: &Rule) -> Refusal {
        let by = match rule {
            Rule::Mode(_) => "mode",
            Rule::DenyList(_) => "deny-list",
            Rule::Undeclared => "undeclared",
            Rule::NotGranted => "not-granted",
            Rule::NotForThisCode => "not-for-this-code",
        };
        self.refuse(origin, effect, by, Why::Rule(rule))
    }

    fn refuse(&self, origin: &Origin, effect: &Effect, by: &str, why: Why<'_>) -> Refusal {
        self.note(origin, effect, false, by);
        Refusal {
            class: effect.class(),
            key: effect.key(),
            reason: why.to_string(),
            hint: why.hint().to_owned(),
            cancelled: matches!(why, Why::Cancelled),
        }
    }

    fn note(&self, origin: &Origin, effect: &Effect, allowed: bool, by: &str) {
        self.audit.record(AuditEntry { origin, effect, allowed, by });
    }
}

#[derive(Clone, Copy)]
enum Why<'a> {
    Rule(&'a Rule),
    Remembered,
    Person,
    Cancelled,
    Late(Duration),
    NoChannel,
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::Remembered => f.write_str("the user has refused this for good"),
            Self::Person => f.write_str("the user refused"),
            Self::Cancelled => f.write_str("the question was withdrawn before it was answered"),
            Self::Late(patience) => write!(f, "no answer within {} s", patience.as_secs_f64()),
            Self::NoChannel => f.write_str("it needs a person's approval and there is nobody to ask"),
        }
    }
}

impl Why<'_> {
    fn hint(&self) -> &'static str {
        match self {
            Self::Rule(Rule::Mode(_)) => "the user can change the session's mode",
            Self::Rule(Rule::DenyList(_)) => "the user can change the deny list in the configuration",
            Self::Rule(Rule::Undeclared) => "the plugin's author must add it to the capabilities in plugin.toml",
            Self::Rule(Rule::NotGranted) => "the user can install the plugin anew and grant it",
            Self::Rule(Rule::NotForThisCode) => "use another way",
            Self::Remembered | Self::Person => "ask the user what to do instead",
            Self::Cancelled => "try again in a later turn",
            Self::Late(_) => "go on without it, or end the turn and say what is needed",
            Self::NoChannel => "allow it beforehand, such as with `--allow`, or run in an editor",
        }
    }
}

#[cfg(test)]
#[path = "gate/tests.rs"]
mod tests;
