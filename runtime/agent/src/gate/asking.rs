//! Questions to the person: what they say, and what becomes of the answers.
//!
//! All of it is written by the runtime; what a plugin says of itself is quoted, cleaned and short. However a question ends,
//! there is a line in the audit: also where it was withdrawn before anybody answered. Tested with the gate.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use super::{Concern, Exhibit, Gate, Origin, Refusal, Request, Scope, Settled, Verdict, Why, Wish};
use crate::capability::{Effect, EffectPattern, PluginId};
use crate::plain;
use crate::transcript::{ToolCallId, ToolContent};

/// Characters of what a plugin says about itself.
const REASON: usize = 200;

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

/// A question that is open. Dropped without an answer it was withdrawn: that is a no, and audited.
struct Open<'a> {
    gate: &'a Gate,
    origin: &'a Origin,
    wishes: &'a [&'a Wish],
    request: Request,
    answered: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.answered {
            for wish in self.wishes {
                self.gate.note(self.origin, wish, false, "cancelled", self.request);
            }
        }
    }
}

impl Gate {
    /// Has the person decide about all of `open` together.
    pub(super) async fn ask(
        &self,
        origin: &Origin,
        open: &[&Wish],
        first: &Wish,
        exhibit: Exhibit,
        request: Request,
    ) -> Result<(), Refusal> {
        let subject = origin.plugin();
        if let Some(plugin) = subject
            && let Some(effect) = self.questions.refused(plugin, open.iter().map(|wish| &wish.real))
        {
            let why = Why::Enough { plugin, effect, keeps: self.book.keeps(origin) };
            return Err(self.refuse(origin, first, "auto-deny", why, request));
        }
        let concerned = exhibit.concerns.iter().map(|concern| &concern.plugin);
        let mut plugins: Vec<&PluginId> = subject.into_iter().chain(concerned).collect();
        plugins.sort_unstable();
        plugins.dedup();
        let ask = self.question(origin, open, &exhibit);
        let may_remember = ask.may_remember;
        let Some(answer) = self.questions.put(&self.approver, ask, &plugins, subject) else {
            let why = Why::Capped(self.questions.most());
            return Err(self.refuse(origin, first, "capped", why, request));
        };
        let mut pending = Open { gate: self, origin, wishes: open, request, answered: false };
        let approval = answer.await;
        pending.answered = true;
        let allowed = matches!(approval, Approval::AllowOnce | Approval::AllowAlways);
        if (may_remember && approval == Approval::AllowAlways) || approval == Approval::RejectAlways {
            for wish in open {
                self.book.remember(origin, &wish.real, allowed).await;
                let about = EffectPattern::exactly(&wish.real).to_string();
                let (plugin, scope) = (subject, Scope::Project);
                let verdict = if allowed { Verdict::Allowed } else { Verdict::Denied };
                self.audit.settled(&Settled { subject: &origin.subject(), plugin, about: &about, scope, verdict });
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

    fn question(&self, origin: &Origin, open: &[&Wish], exhibit: &Exhibit) -> Ask {
        let Exhibit { content, raw, concerns } = exhibit;
        let subject = origin.subject();
        let effects: Vec<String> = open.iter().map(ToString::to_string).collect();
        let effects = effects.join(", ");
        // A hook asks each time, whatever was answered before.
        let plain = concerns.is_empty() && self.book.keeps(origin);
        let introduced = origin.plugin().and_then(|plugin| self.introduced(plugin, open));
        Ask {
            call: origin.call().cloned(),
            title: format!("{subject}: {effects}{}", Concern::told(concerns)),
            subject,
            effects: open.iter().map(|wish| wish.real.clone()).collect(),
            content: introduced
                .into_iter()
                .chain(concerns.iter().map(Concern::shown))
                .chain(content.iter().cloned())
                .collect(),
            raw: raw.clone(),
            may_remember: plain && !open.iter().any(|wish| matches!(wish.real, Effect::Run(_))),
        }
    }

    /// Who wants what, and why: a paragraph, in which only what is in quotes is the plugin's.
    fn introduced(&self, plugin: &PluginId, open: &[&Wish]) -> Option<ToolContent> {
        let introductions: Vec<_> =
            open.iter().filter_map(|wish| Some((wish, self.book.introduces(plugin, &wish.real)?))).collect();
        let (_, first) = introductions.first()?;
        let (version, publisher) = (plain::line(&first.version, 40), plain::line(&first.publisher, 120));
        let mut text = format!("The plugin `{plugin}` {version} ({publisher}) wants to do this.");
        let mut reasons: Vec<String> = Vec::new();
        for (wish, introduction) in &introductions {
            let Some(reason) = introduction.reason.as_deref() else { continue };
            let reason = plain::quote(reason, REASON);
            let told = format!(" Its reason to {}, in its own words: \"{reason}\".", wish.real.class());
            if !reasons.contains(&told) {
                reasons.push(told);
            }
        }
        text.extend(reasons);
        Some(ToolContent::Text { text })
    }
}
