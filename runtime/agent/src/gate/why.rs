//! Why something was refused, and what can be done about it: words to paste, where there are some. Tested with the gate.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use super::{Origin, RefusalKind, Wish};
use crate::capability::{Effect, EffectPattern, PluginId};
use crate::plain;
use crate::policy::Rule;

/// The reason of a refusal.
#[derive(Clone, Copy)]
pub(super) enum Why<'a> {
    Rule(&'a Rule),
    /// The manifest asks for it, and it was not granted.
    NotGranted {
        plugin: &'a PluginId,
        effect: &'a Effect,
        /// Whether an answer about the plugin holds longer than a session.
        keeps: bool,
    },
    /// The person has refused such things too often.
    Enough {
        plugin: &'a PluginId,
        effect: &'a Effect,
        keeps: bool,
    },
    /// The plugin has asked so often in this turn.
    Capped(NonZeroU32),
    /// An answer about this.
    Remembered(&'a str),
    Person,
    Changed,
    Cancelled,
    Late(Duration),
    /// Somebody would have to say yes to all of these.
    NoChannel(&'a [&'a Wish]),
    Malformed,
    NotLent,
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => rule.fmt(f),
            Self::NotGranted { .. } => Rule::NotGranted.fmt(f),
            Self::Enough { effect, .. } => {
                let class = effect.class();
                write!(
                    f,
                    "the user has refused `{class}` to this plugin again and again, so it is not asked for any more"
                )
            }
            Self::Capped(most) => write!(f, "the plugin has had the user asked {most} times in this turn"),
            Self::Remembered(about) => write!(f, "the user has refused {} for good", plain::code(about)),
            Self::Person => f.write_str("the user refused"),
            Self::Changed => f.write_str("it changed while the user was asked, and was left as it is"),
            Self::Cancelled => f.write_str("the question was withdrawn before it was answered"),
            Self::Late(patience) => write!(f, "no answer within {} s", patience.as_secs_f64()),
            Self::NoChannel(_) => f.write_str("it needs a person's approval and there is nobody to ask"),
            Self::Malformed => f.write_str("the client's answer to the question has not the form of one"),
            Self::NotLent => f.write_str("it is not in what the plugin was lent"),
        }
    }
}

impl Why<'_> {
    /// What a guest or a model can do about it.
    pub(super) fn hint(&self) -> Cow<'static, str> {
        let hint = match self {
            Self::Rule(Rule::Mode(_)) => "the user can change the session's mode",
            Self::Rule(Rule::DenyList(_)) => {
                "the user can change the deny list: in the configuration, the project's or theirs, or in `--deny`"
            }
            Self::Rule(Rule::Undeclared) => "the plugin's author must add it to the capabilities in plugin.toml",
            Self::Rule(Rule::NotGranted) => "the user can install the plugin anew and grant it",
            Self::Rule(Rule::NotForThisCode) => "use another way",
            Self::Rule(Rule::SessionFolder) => "the user can move it after the session",
            Self::Rule(Rule::Dangerous(_)) => "nobody can allow it to a plugin: leave that out",
            Self::Rule(Rule::Unnamed(_)) => "the plugin's author must name that folder in `fs.write` in plugin.toml",
            Self::Remembered(_) | Self::Person => "ask the user what to do instead",
            Self::NotGranted { plugin, effect, keeps } | Self::Enough { plugin, effect, keeps } => {
                return Cow::Owned(format!("the user can {}", granting(plugin, effect, *keeps)));
            }
            Self::Capped(_) => "go on in the next turn, or ask the user to allow it with `/permissions`",
            Self::Changed => "look at it again",
            Self::Cancelled => "try again in a later turn",
            Self::Late(_) => "go on without it, or end the turn and say what is needed",
            Self::NoChannel(open) => return Cow::Owned(allowing(open)),
            Self::Malformed => "go on without it, and tell the user that their client could not be understood",
            Self::NotLent => "the plugin's author must add it to the capabilities in plugin.toml",
        };
        Cow::Borrowed(hint)
    }

    /// What a person can do about it.
    pub(super) fn remedy(&self, origin: &Origin) -> Option<Cow<'static, str>> {
        let remedy = match self {
            Self::Rule(Rule::Mode(_)) => Some("change the session's mode, with `/mode` or `--mode`"),
            Self::Rule(Rule::DenyList(_)) => {
                Some("change the deny list: in the configuration, the project's or your own, or in `--deny`")
            }
            Self::Rule(Rule::Undeclared | Rule::Unnamed(_)) | Self::NotLent | Self::NoChannel(_) => {
                return Some(self.hint());
            }
            Self::Rule(Rule::NotGranted) => Some("install the plugin anew and grant it"),
            Self::Rule(Rule::NotForThisCode | Rule::Dangerous(_)) | Self::Person | Self::Cancelled => None,
            Self::Rule(Rule::SessionFolder) => Some("move it after the session, or open one without that folder"),
            Self::Remembered(about) => return Some(Cow::Owned(taking_back(origin, about))),
            Self::NotGranted { plugin, effect, keeps } | Self::Enough { plugin, effect, keeps } => {
                return Some(Cow::Owned(granting(plugin, effect, *keeps)));
            }
            Self::Capped(_) => Some("allow it with `/permissions`, or set `permission.questions` higher"),
            Self::Changed => Some("look at it again"),
            Self::Malformed => Some("update the client: the log says what is wrong with its answer"),
            Self::Late(_) => Some("set `permission.timeout` higher in the configuration, or to 0"),
        };
        remedy.map(Cow::Borrowed)
    }

    /// Of which kind the refusal is.
    pub(super) fn kind(self) -> RefusalKind {
        match self {
            Self::Rule(_)
            | Self::NotGranted { .. }
            | Self::Enough { .. }
            | Self::Capped(_)
            | Self::Remembered(_)
            | Self::Person
            | Self::Late(_)
            | Self::NoChannel(_)
            | Self::Malformed
            | Self::NotLent => RefusalKind::Denied,
            Self::Cancelled => RefusalKind::Cancelled,
            Self::Changed => RefusalKind::Conflict,
        }
    }
}

/// How to give a plugin a right, or to have it asked for once more.
fn granting(plugin: &PluginId, effect: &Effect, keeps: bool) -> String {
    // Events are subscribed to when a session begins.
    if matches!(effect, Effect::Hook(_)) {
        return "install the plugin anew and grant it".to_owned();
    }
    let scope = if keeps { "" } else { "--scope session " };
    let pattern = EffectPattern::exactly(effect);
    format!("allow it with `/permissions allow {scope}{plugin} {pattern}`")
}

/// How to allow all of these before there is nobody to ask.
fn allowing(open: &[&Wish]) -> String {
    let mut patterns: Vec<String> = open.iter().map(|wish| EffectPattern::exactly(&wish.real).to_string()).collect();
    patterns.dedup();
    let options: Vec<String> = patterns.iter().map(|pattern| format!("--allow {}", quoted(pattern))).collect();
    format!("allow it beforehand with `{}`, or run in an editor", options.join(" "))
}

/// One word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// How to take the answer back.
fn taking_back(origin: &Origin, about: &str) -> String {
    match origin.name().filter(|_| plain::name(about) == about) {
        Some(name) => format!("take the answer back with `/permissions revoke {name} {about}`"),
        None => "take the answer back with `/permissions`".to_owned(),
    }
}
