//! The gate: the only maker of [`Permit`]s.
//!
//! Native tools, plugin imports, panel actions and slash commands all come here with what they want to do; the gate
//! judges by the policy, asks the person where the policy says so, and hands out a permit or a readable refusal. What it
//! judges of a path is where its links lead; the name that it was given is judged by what is denied to everyone, too.
//! Every decision is audited. Knows nothing about how a person is asked, where grants are kept or how links are followed:
//! those are ports.

mod audit;
mod concern;
mod lent;
mod why;
mod wish;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::capability::{CommandName, Effect, EffectPattern, GrantSet, PanelName, PluginId, ToolName};
use crate::options::SharedLeeway;
use crate::plain;
use crate::policy::{Decision, Policy, Rule};
use crate::transcript::{ToolCallId, ToolContent};
use audit::Request;
pub use audit::{AuditEntry, AuditSink};
pub use concern::Concern;
pub use lent::{Lent, Refused, Way};
use why::Why;
pub use wish::Ground;
use wish::Wish;

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
    /// A person linked to something in a prompt.
    Prompt,
}

impl Origin {
    /// Whose name a remembered answer is kept under: the tool, the plugin, the panel, the command or the prompt.
    pub fn subject(&self) -> String {
        match self {
            Self::Model { tool, .. } => format!("tool {tool}"),
            Self::Plugin { plugin, .. } => format!("plugin {plugin}"),
            Self::Panel(panel) => format!("panel {panel}"),
            Self::Command(command) => format!("command /{command}"),
            Self::Prompt => "prompt".to_owned(),
        }
    }

    /// By what name `/permissions` takes answers about it; none for those that it takes none about.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Model { tool, .. } => Some(tool.as_str()),
            Self::Plugin { plugin, .. } => Some(plugin.as_str()),
            Self::Panel(_) | Self::Command(_) | Self::Prompt => None,
        }
    }

    /// The tool call that it belongs to.
    pub fn call(&self) -> Option<&ToolCallId> {
        match self {
            Self::Model { call, .. } => Some(call),
            Self::Plugin { call, .. } => call.as_ref(),
            Self::Panel(_) | Self::Command(_) | Self::Prompt => None,
        }
    }
}

/// Proof that effects were allowed. Only [`Gate::authorize`] makes one.
#[derive(Debug)]
pub struct Permit {
    origin: Origin,
    wishes: Vec<Wish>,
    asked: bool,
}

impl Permit {
    /// Whether the permit is for `effect`, as it is named.
    pub fn covers(&self, effect: &Effect) -> bool {
        self.wishes.iter().any(|allowed| allowed.named.covers(effect))
    }

    /// Whether `real`, in which no path has a link, was allowed. Whoever follows links asks this about where they lead,
    /// for they may lead elsewhere by now.
    pub fn reaches(&self, real: &Effect) -> bool {
        self.wishes.iter().any(|allowed| allowed.real.covers(real))
    }

    /// What was allowed where exactly `named` was asked for: the same with its links followed.
    pub fn leads_to(&self, named: &Effect) -> Option<&Effect> {
        self.wishes.iter().find(|allowed| allowed.named == *named).map(|allowed| &allowed.real)
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
    /// One line: who wants to do what. A path that a link leads from is named beside where it leads.
    pub title: String,
    /// What exactly, with all links followed; never empty.
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
    /// What the client answered is no answer.
    Malformed,
}

/// Asks the person.
pub trait Approver: Send + Sync {
    /// Asks and waits. Dropping the future withdraws the question.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval>;

    /// What was allowed beforehand, where there is no person to ask and all else is a no; none where a person is asked.
    fn beforehand(&self) -> Option<&[EffectPattern]> {
        None
    }
}

/// An answer that was given for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Yes or no.
    pub allowed: bool,
    /// What it is about, as it can be typed: `read:secret/**`.
    pub about: String,
}

/// What was granted and remembered. A book without a memory asks each time.
pub trait GrantBook: Send + Sync {
    /// The rights of a plugin; none where it is not known.
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet>;

    /// A remembered answer.
    fn remembered<'a>(&'a self, origin: &'a Origin, effect: &'a Effect) -> BoxFuture<'a, Option<Remembered>> {
        let _ = (origin, effect);
        Box::pin(async { None })
    }

    /// What was refused to `origin` for good, as it is now; nothing where there is no memory.
    fn refused<'a>(&'a self, origin: &'a Origin) -> BoxFuture<'a, Refused> {
        let _ = origin;
        Box::pin(async {
            let nothing: Refused = Arc::new(|_| None);
            nothing
        })
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

/// A denial, as a value that guests, the model and people can read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("denied: {}", self.account())]
pub struct Refusal {
    /// The effect's class.
    pub class: &'static str,
    /// What exactly, on one line.
    pub key: String,
    /// Why, in words.
    pub reason: String,
    /// What a guest or a model can do about it.
    pub hint: String,
    /// What a person can do about it.
    pub remedy: Option<String>,
    /// Of which kind it is.
    pub kind: RefusalKind,
}

impl Refusal {
    /// What was refused and why, for those who learn from its kind that it was.
    pub fn account(&self) -> String {
        let Self { class, key, reason, .. } = self;
        if key.is_empty() { format!("{class}: {reason}") } else { format!("{class} `{key}`: {reason}") }
    }
}

/// Kinds of refusals, as guests and models tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// A rule or a person said no.
    Denied,
    /// The person let the question go (the turn was cancelled), rather than refusing.
    Cancelled,
    /// What the person was asked about had changed when they answered.
    Conflict,
}

/// What a question may show beside the effects.
#[derive(Debug, Clone, Default)]
pub struct Exhibit {
    /// What would change.
    pub content: Vec<ToolContent>,
    /// The exact arguments.
    pub raw: Option<Value>,
    /// What hooks want a person to decide; with any, nothing is allowed without a question.
    pub concerns: Vec<Concern>,
}

/// The gate of one session.
pub struct Gate {
    policy: Arc<Policy>,
    leeway: SharedLeeway,
    approver: Arc<dyn Approver>,
    book: Arc<dyn GrantBook>,
    audit: Arc<dyn AuditSink>,
    ground: Arc<dyn Ground>,
    /// The call that all calls here are a part of.
    behalf: Option<ToolCallId>,
}

impl Gate {
    /// A gate that judges by `policy` and `leeway`, asks `approver`, keeps to `book`, and follows links on `ground`.
    pub fn new(
        policy: Arc<Policy>,
        leeway: SharedLeeway,
        approver: Arc<dyn Approver>,
        book: Arc<dyn GrantBook>,
        audit: Arc<dyn AuditSink>,
        ground: Arc<dyn Ground>,
    ) -> Self {
        Self { policy, leeway, approver, book, audit, ground, behalf: None }
    }

    /// The same gate for a child of the session, whose calls are all a part of `call`: a person knows no others.
    #[must_use]
    pub fn on_behalf_of(&self, call: ToolCallId) -> Self {
        Self {
            policy: self.policy.clone(),
            leeway: self.leeway.clone(),
            approver: self.approver.clone(),
            book: self.book.clone(),
            audit: self.audit.clone(),
            ground: self.ground.clone(),
            behalf: Some(call),
        }
    }

    /// On whose behalf it is, as people know it.
    fn known(&self, origin: Origin) -> Origin {
        match (origin, &self.behalf) {
            (Origin::Model { tool, .. }, Some(call)) => Origin::Model { call: call.clone(), tool },
            (origin, _) => origin,
        }
    }

    /// What it judges by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The rights of a plugin; none where it is not known.
    pub fn grants(&self, plugin: &PluginId) -> Option<GrantSet> {
        self.book.grants(plugin)
    }

    /// What was allowed beforehand by somebody who cannot be asked; none where there is somebody to ask.
    pub fn beforehand(&self) -> Option<&[EffectPattern]> {
        self.approver.beforehand()
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
        let request = Request::now(&exhibit);
        let (origin, mut wishes) = (self.known(origin), self.wishes(effects).await);
        if wishes.is_empty() {
            wishes.extend(exhibit.concerns.first().map(Concern::wish));
        }
        let pressed = !exhibit.concerns.is_empty();
        let mut open = Vec::new();
        for wish in &wishes {
            let decision = match self.judge(&origin, wish) {
                Decision::Deny(rule) => return Err(self.refuse_by_rule(&origin, wish, &rule, request)),
                decision @ (Decision::Allow | Decision::Ask) => decision,
            };
            // Whatever allows it, a no that was given for good goes before that.
            match (self.remembered(&origin, wish).await, decision) {
                (Some(Remembered { allowed: false, about }), _) => {
                    return Err(self.refuse(&origin, wish, "remembered", Why::Remembered(&about), request));
                }
                (None | Some(Remembered { allowed: true, .. }), _) if pressed => open.push(wish),
                (_, Decision::Allow) => self.note(&origin, wish, true, "policy", request),
                (Some(Remembered { allowed: true, .. }), _) => self.note(&origin, wish, true, "remembered", request),
                (None, _) => open.push(wish),
            }
        }
        if let Some(first) = open.first() {
            let before = self.stamps(&open).await;
            self.ask(&origin, &open, first, exhibit, request).await?;
            // While the question was open the mode may have become narrower; what it forbids now, no answer allows.
            for wish in &wishes {
                if let Decision::Deny(rule) = self.judge(&origin, wish) {
                    return Err(self.refuse_by_rule(&origin, wish, &rule, request));
                }
            }
            // The answer was about what stood there.
            let now = self.stamps(&open).await;
            if let Some((wish, _)) = open.iter().zip(before.iter().zip(&now)).find(|(_, (before, now))| before != now) {
                return Err(self.refuse(&origin, wish, "changed", Why::Changed, request));
            }
        }
        let asked = !open.is_empty();
        Ok(Permit { origin, wishes, asked })
    }

    /// A permit for what is allowed without a question; none where a rule refuses it or a person would have to decide.
    /// Nothing is refused by that, so only what is allowed is audited.
    pub async fn unasked(&self, origin: Origin, effects: Vec<Effect>) -> Option<Permit> {
        let request = Request::now(&Exhibit::default());
        let (origin, wishes) = (self.known(origin), self.wishes(effects).await);
        let mut by = Vec::with_capacity(wishes.len());
        for wish in &wishes {
            let decision = self.judge(&origin, wish);
            let remembered = self.remembered(&origin, wish).await.map(|answer| answer.allowed);
            by.push(match (remembered, decision) {
                (Some(false), _) | (_, Decision::Deny(_)) | (None, Decision::Ask) => return None,
                (_, Decision::Allow) => "policy",
                (Some(true), Decision::Ask) => "remembered",
            });
        }
        for (wish, by) in wishes.iter().zip(by) {
            self.note(&origin, wish, true, by, request);
        }
        Some(Permit { origin, wishes, asked: false })
    }

    /// Keeps a line about something that was allowed and then not done: `by` is the rule of whoever does it.
    pub fn record_undone(&self, origin: &Origin, effect: &Effect, by: &str) {
        let took = Duration::ZERO;
        self.audit.record(AuditEntry { origin, effect, allowed: false, by, times: 1, bytes: None, took });
    }

    async fn wishes(&self, effects: Vec<Effect>) -> Vec<Wish> {
        let mut wishes = Vec::with_capacity(effects.len());
        for effect in effects {
            wishes.push(Wish::of(effect, &*self.ground).await);
        }
        wishes
    }

    /// What is denied to everyone holds for the name that was given, too: a rule about a link says what it says.
    fn judge(&self, origin: &Origin, wish: &Wish) -> Decision {
        if let Some(rule) = self.policy.forbids(&wish.named) {
            return Decision::Deny(rule);
        }
        let (effect, leeway) = (&wish.real, self.leeway.get());
        match origin {
            Origin::Plugin { plugin, .. } => match self.book.grants(plugin) {
                Some(grants) => self.policy.decide(effect, &grants, leeway),
                None => Decision::Deny(Rule::NotGranted),
            },
            Origin::Model { .. } | Origin::Panel(_) | Origin::Command(_) | Origin::Prompt => {
                self.policy.decide(effect, &GrantSet::native(), leeway)
            }
        }
    }

    /// A remembered no about the name that was given is one, and so is one about what a move does besides; a yes counts for
    /// where it leads, and not for code that changes under its name.
    async fn remembered(&self, origin: &Origin, wish: &Wish) -> Option<Remembered> {
        let besides: Vec<Effect> = wish.named.besides().into_iter().chain(wish.real.besides()).collect();
        for other in wish.is_elsewhere().then_some(&wish.named).into_iter().chain(&besides) {
            let no = self.book.remembered(origin, other).await.filter(|answer| !answer.allowed);
            if no.is_some() {
                return no;
            }
        }
        let answer = self.book.remembered(origin, &wish.real).await;
        answer.filter(|answer| !answer.allowed || self.book.keeps(origin))
    }

    async fn stamps(&self, wishes: &[&Wish]) -> Vec<u64> {
        let mut stamps = Vec::with_capacity(wishes.len());
        for wish in wishes {
            stamps.push(wish.stamp(&*self.ground).await);
        }
        stamps
    }

    async fn ask(
        &self,
        origin: &Origin,
        open: &[&Wish],
        first: &Wish,
        exhibit: Exhibit,
        request: Request,
    ) -> Result<(), Refusal> {
        let Exhibit { content, raw, concerns } = exhibit;
        let subject = origin.subject();
        // A hook asks each time, whatever was answered before.
        let plain = concerns.is_empty() && self.book.keeps(origin);
        let may_remember = plain && !open.iter().any(|wish| matches!(wish.real, Effect::Run(_)));
        let approval = self
            .approver
            .ask(Ask {
                call: origin.call().cloned(),
                title: {
                    let effects: Vec<String> = open.iter().map(ToString::to_string).collect();
                    format!("{subject}: {}{}", effects.join(", "), Concern::told(&concerns))
                },
                subject,
                effects: open.iter().map(|wish| wish.real.clone()).collect(),
                content: concerns.iter().map(Concern::shown).chain(content).collect(),
                raw,
                may_remember,
            })
            .await;
        let allowed = matches!(approval, Approval::AllowOnce | Approval::AllowAlways);
        if (may_remember && approval == Approval::AllowAlways) || approval == Approval::RejectAlways {
            for wish in open {
                self.book.remember(origin, &wish.real, allowed).await;
            }
        }
        let (by, why) = match approval {
            Approval::AllowOnce | Approval::AllowAlways => {
                for wish in open {
                    self.note(origin, wish, true, "person", request);
                }
                return Ok(());
            }
            Approval::RejectOnce | Approval::RejectAlways => ("person", Why::Person),
            Approval::Cancelled => ("cancelled", Why::Cancelled),
            Approval::Late(patience) => ("timeout", Why::Late(patience)),
            Approval::NoChannel => ("no-channel", Why::NoChannel(open)),
            Approval::Malformed => ("malformed", Why::Malformed),
        };
        Err(self.refuse(origin, first, by, why, request))
    }

    fn refuse_by_rule(&self, origin: &Origin, wish: &Wish, rule: &Rule, request: Request) -> Refusal {
        let by = match rule {
            Rule::Mode(_) => "mode",
            Rule::DenyList(_) => "deny-list",
            Rule::Undeclared => "undeclared",
            Rule::NotGranted => "not-granted",
            Rule::NotForThisCode => "not-for-this-code",
            Rule::SessionFolder => "session-folder",
            Rule::Dangerous(_) => "dangerous",
        };
        self.refuse(origin, wish, by, Why::Rule(rule), request)
    }

    fn refuse(&self, origin: &Origin, wish: &Wish, by: &str, why: Why<'_>, request: Request) -> Refusal {
        self.note(origin, wish, false, by, request);
        Self::refusal(origin, wish, why)
    }

    fn refusal(origin: &Origin, wish: &Wish, why: Why<'_>) -> Refusal {
        let named = wish.is_elsewhere().then(|| format!("; `{}` leads there", plain::name(&wish.named.key())));
        Refusal {
            class: wish.real.class(),
            key: plain::name(&wish.real.key()),
            reason: format!("{why}{}", named.unwrap_or_default()),
            hint: why.hint().into_owned(),
            remedy: why.remedy(origin).map(Cow::into_owned),
            kind: why.kind(),
        }
    }

    fn note(&self, origin: &Origin, wish: &Wish, allowed: bool, by: &str, request: Request) {
        let Request { since, bytes } = request;
        let (effect, took) = (&wish.real, since.elapsed());
        self.audit.record(AuditEntry { origin, effect, allowed, by, times: 1, bytes, took });
    }
}

#[cfg(test)]
#[path = "gate/tests.rs"]
mod tests;
