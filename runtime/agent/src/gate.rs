//! The gate: the only maker of [`Permit`]s.
//!
//! Native tools, plugin imports, panel actions and slash commands all come here with what they want to do; the gate
//! judges by the policy, asks the person where the policy says so, and hands out a permit or a readable refusal. What it
//! judges of a path is where its links lead; the name that it was given is judged by what is denied to everyone, too.
//! Every decision is audited. Knows nothing about how a person is asked, where grants are kept or how links are followed:
//! those are ports.

mod asking;
mod audit;
mod book;
mod concern;
mod lent;
mod questions;
mod why;
mod wish;

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::capability::{CommandName, Effect, EffectPattern, GrantSet, PanelName, PluginId, ToolName};
use crate::options::SharedLeeway;
use crate::plain;
use crate::policy::{Decision, Policy, Rule};
use crate::transcript::{ToolCallId, ToolContent};
pub use asking::{Approval, Approver, Ask};
use audit::Request;
pub use audit::{AuditEntry, AuditSink, Settled, Verdict};
pub use book::{GrantBook, Introduction, Remembered, Scope};
pub use concern::Concern;
pub use lent::{Lent, Refused, Way};
pub use questions::QUESTIONS;
use questions::Questions;
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

    /// The plugin whose code asks; none where it is none.
    pub fn plugin(&self) -> Option<&PluginId> {
        match self {
            Self::Plugin { plugin, .. } => Some(plugin),
            Self::Model { .. } | Self::Panel(_) | Self::Command(_) | Self::Prompt => None,
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
    questions: Arc<Questions>,
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
        Self { policy, leeway, approver, book, audit, ground, questions: Arc::default(), behalf: None }
    }

    /// The same, with another bound on how often a plugin may have the person asked in one turn.
    #[must_use]
    pub fn asking_at_most(self, questions: NonZeroU32) -> Self {
        Self { questions: Arc::new(Questions::at_most(questions)), ..self }
    }

    /// A turn begins: what plugins had asked in the one before counts no more.
    pub(crate) fn turn(&self) {
        self.questions.turn();
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
            questions: self.questions.clone(),
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
        let (mut open, mut lent) = (Vec::new(), Vec::with_capacity(wishes.len()));
        for wish in &wishes {
            let Judged { decision, remembered, is_lent } = self.judged(&origin, wish).await;
            lent.push(is_lent);
            let decision = match decision {
                Decision::Deny(rule) => return Err(self.refuse_by_rule(&origin, wish, &rule, request)),
                decision @ (Decision::Allow | Decision::Ask) => decision,
            };
            // Whatever allows it, a no that was given for good goes before that.
            match (remembered, decision) {
                (Some(Remembered { allowed: false, about, .. }), _) => {
                    return Err(self.refuse(&origin, wish, "remembered", Why::Remembered(&about), request));
                }
                (None | Some(Remembered { allowed: true, .. }), _) if pressed => open.push(wish),
                (_, Decision::Allow) => {
                    self.note(&origin, wish, true, if is_lent { "remembered" } else { "policy" }, request);
                }
                (Some(Remembered { allowed: true, .. }), _) if !is_plugins_run(&origin, wish) => {
                    self.note(&origin, wish, true, "remembered", request);
                }
                (remembered, _) => {
                    if let (Some(plugin), Some(_)) = (origin.plugin(), remembered) {
                        // Whoever has said yes since is asked again.
                        self.questions.forgive(plugin, wish.real.class());
                    }
                    open.push(wish);
                }
            }
        }
        if let Some(first) = open.first() {
            let before = self.stamps(&open).await;
            self.ask(&origin, &open, first, exhibit, request).await?;
            // While the question was open the mode may have become narrower; what it forbids now, no answer allows.
            for (wish, is_lent) in wishes.iter().zip(lent) {
                if let Decision::Deny(rule) = self.judge(&origin, wish, is_lent) {
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
            let Judged { decision, remembered, is_lent } = self.judged(&origin, wish).await;
            let remembered = remembered.map(|answer| answer.allowed);
            by.push(match (remembered, decision) {
                (Some(false), _) | (_, Decision::Deny(_)) | (None, Decision::Ask) => return None,
                (Some(true), Decision::Ask) if is_plugins_run(&origin, wish) => return None,
                (_, Decision::Allow) if !is_lent => "policy",
                (_, Decision::Allow | Decision::Ask) => "remembered",
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

    /// Judges by the rules and by what was answered. A yes is also a right to what the plugin's manifest asks for, as if it
    /// had been granted with the plugin; what the manifest does not ask for, no answer is looked for.
    async fn judged(&self, origin: &Origin, wish: &Wish) -> Judged {
        let decision = self.judge(origin, wish, false);
        let remembered = match decision {
            Decision::Deny(Rule::NotGranted) | Decision::Allow | Decision::Ask => self.remembered(origin, wish).await,
            Decision::Deny(_) => None,
        };
        match (&decision, &remembered) {
            (Decision::Deny(Rule::NotGranted), Some(Remembered { allowed: true, .. })) => {
                Judged { decision: self.judge(origin, wish, true), remembered, is_lent: true }
            }
            (_, Some(_) | None) => Judged { decision, remembered, is_lent: false },
        }
    }

    /// What is denied to everyone holds for the name that was given, too: a rule about a link says what it says. `lent`:
    /// it was granted to the plugin by an answer.
    fn judge(&self, origin: &Origin, wish: &Wish, lent: bool) -> Decision {
        if let Some(rule) = self.policy.forbids(&wish.named) {
            return Decision::Deny(rule);
        }
        let (effect, leeway) = (&wish.real, self.leeway.get());
        match origin {
            Origin::Plugin { plugin, .. } => match self.book.grants(plugin) {
                Some(grants) if lent => self.policy.decide(effect, &grants.and_live(effect), leeway),
                Some(grants) => self.policy.decide(effect, &grants, leeway),
                None => Decision::Deny(Rule::NotGranted),
            },
            Origin::Model { .. } | Origin::Panel(_) | Origin::Command(_) | Origin::Prompt => {
                self.policy.decide(effect, &GrantSet::native(), leeway)
            }
        }
    }

    /// A remembered no about the name that was given is one, and so is one about what a move does besides; a yes counts for
    /// where it leads, and for code that changes under its name no longer than a session.
    async fn remembered(&self, origin: &Origin, wish: &Wish) -> Option<Remembered> {
        let besides: Vec<Effect> = wish.named.besides().into_iter().chain(wish.real.besides()).collect();
        for other in wish.is_elsewhere().then_some(&wish.named).into_iter().chain(&besides) {
            let no = self.book.remembered(origin, other).await.filter(|answer| !answer.allowed);
            if no.is_some() {
                return no;
            }
        }
        let answer = self.book.remembered(origin, &wish.real).await;
        answer.filter(|answer| !answer.allowed || answer.scope == Scope::Session || self.book.keeps(origin))
    }

    async fn stamps(&self, wishes: &[&Wish]) -> Vec<u64> {
        let mut stamps = Vec::with_capacity(wishes.len());
        for wish in wishes {
            stamps.push(wish.stamp(&*self.ground).await);
        }
        stamps
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
            Rule::Unnamed(_) => "unnamed",
        };
        let why = match (rule, origin.plugin()) {
            (Rule::NotGranted, Some(plugin)) => {
                Why::NotGranted { plugin, effect: &wish.real, keeps: self.book.keeps(origin) }
            }
            (rule, _) => Why::Rule(rule),
        };
        self.refuse(origin, wish, by, why, request)
    }

    fn refuse(&self, origin: &Origin, wish: &Wish, by: &str, why: Why<'_>, request: Request) -> Refusal {
        self.note(origin, wish, false, by, request);
        Self::refusal(origin, wish, why)
    }

    fn refusal(origin: &Origin, wish: &Wish, why: Why<'_>) -> Refusal {
        let named = wish.is_elsewhere().then(|| format!("; {} leads there", plain::code(&wish.named.key())));
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

/// What is to happen with a wish.
struct Judged {
    decision: Decision,
    remembered: Option<Remembered>,
    /// It is the plugin's right by an answer alone.
    is_lent: bool,
}

/// Each run of a program for a plugin is decided by itself: a yes is the right to have it asked for, and nothing more.
fn is_plugins_run(origin: &Origin, wish: &Wish) -> bool {
    origin.plugin().is_some() && matches!(wish.real, Effect::Run(_))
}

#[cfg(test)]
#[path = "gate/tests.rs"]
mod tests;
