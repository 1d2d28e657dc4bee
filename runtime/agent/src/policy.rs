//! Pure judgement: may this effect happen, must a person be asked, or is it refused?
//!
//! One table, no state, no I/O; every match is exhaustive, so a new effect does not compile until it is judged. Knows
//! nothing about who asks the person or how. Tested row by row.

mod acted_on;
mod leeway;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::capability::{Danger, Effect, EffectPattern, GrantSet, PathGlob, Roots, Tier, Touched};
pub use leeway::Leeway;

/// How much a session may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reads are free; writes and programs are asked for.
    #[default]
    Review,
    /// Writes are free as well; deleting and programs are asked for.
    AutoEdit,
    /// Nothing is asked for.
    Auto,
    /// Nothing is changed and nothing is run.
    ReadOnly,
    /// As read-only, and no network: for thinking about what to do.
    Plan,
}

impl Mode {
    /// All modes, in the order that clients show them.
    pub const ALL: [Self; 5] = [Self::Review, Self::AutoEdit, Self::Auto, Self::ReadOnly, Self::Plan];

    /// The id on the wire and in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::AutoEdit => "auto-edit",
            Self::Auto => "auto",
            Self::ReadOnly => "read-only",
            Self::Plan => "plan",
        }
    }

    /// The name that people see.
    pub fn title(self) -> &'static str {
        match self {
            Self::Review => "Review",
            Self::AutoEdit => "Auto-edit",
            Self::Auto => "Auto",
            Self::ReadOnly => "Read-only",
            Self::Plan => "Plan",
        }
    }

    /// One sentence on what it means.
    pub fn description(self) -> &'static str {
        match self {
            Self::Review => "Asks before files are changed and before programs are run",
            Self::AutoEdit => "Changes files without asking; asks before deleting and before programs are run",
            Self::Auto => "Changes files and runs programs without asking",
            Self::ReadOnly => "Changes nothing and runs nothing",
            Self::Plan => "Changes nothing, runs nothing and stays off the network",
        }
    }

    /// The mode with that id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

/// What is to happen with an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may happen.
    Allow,
    /// A person decides.
    Ask,
    /// It may not happen, and nobody is asked.
    Deny(Rule),
}

/// Which rule refused an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The session's mode does not allow effects of this class.
    Mode(Mode),
    /// The user's or the project's deny list has it.
    DenyList(String),
    /// The plugin's manifest never asked for it.
    Undeclared,
    /// The manifest asks for it, but it was not granted.
    NotGranted,
    /// There is no such effect for this kind of code.
    NotForThisCode,
    /// One of the session's folders would be moved or removed.
    SessionFolder,
    /// No plugin may give that to a program, whatever was granted.
    Dangerous(Danger),
    /// Other programs act on what lies in that folder, and no right of the plugin names it.
    Unnamed(&'static str),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => write!(f, "the session is in mode `{}`", mode.id()),
            Self::DenyList(glob) => write!(f, "`{glob}` is on the deny list"),
            Self::Undeclared => f.write_str("the plugin's manifest does not ask for it"),
            Self::NotGranted => f.write_str("the plugin was not granted it"),
            Self::NotForThisCode => f.write_str("it is not available to this kind of code"),
            Self::SessionFolder => f.write_str("it is one of the session's folders, or holds one"),
            Self::Dangerous(danger) => danger.fmt(f),
            Self::Unnamed(folder) => {
                write!(f, "other programs act on what lies in `{folder}`, and no right of the plugin names that folder")
            }
        }
    }
}

/// The rules of one user and project.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    denied: Vec<PathGlob>,
    forbidden: Vec<EffectPattern>,
    roots: Roots,
}

impl Policy {
    /// `denied`: paths of any root that nobody may read or write, whatever else is said.
    pub fn new(denied: Vec<PathGlob>) -> Self {
        Self { denied, ..Self::default() }
    }

    /// Further denies these paths, in any root.
    #[must_use]
    pub fn deny(mut self, paths: impl IntoIterator<Item = PathGlob>) -> Self {
        self.denied.extend(paths);
        self
    }

    /// Further forbids what `patterns` name, to everyone and in every mode.
    #[must_use]
    pub fn forbid(mut self, patterns: impl IntoIterator<Item = EffectPattern>) -> Self {
        self.forbidden.extend(patterns);
        self
    }

    /// Among these folders, of which some may lie in others: what is denied under one name of a file is denied under all.
    #[must_use]
    pub fn among(mut self, roots: Roots) -> Self {
        self.roots = roots;
        self
    }

    /// What is denied whatever else is said: paths, and patterns over effects.
    pub fn denied(&self) -> impl Iterator<Item = String> {
        let paths = self.denied.iter().map(|glob| glob.as_str().to_owned());
        paths.chain(self.forbidden.iter().map(ToString::to_string))
    }

    /// Judges `effect` of a subject with the rights `grants`, in a mode or with single flags of it. The deny list goes
    /// first and wins.
    pub fn decide(&self, effect: &Effect, grants: &GrantSet, leeway: impl Into<Leeway>) -> Decision {
        if let Some(rule) = self.forbids(effect) {
            return Decision::Deny(rule);
        }
        let leeway = leeway.into();
        let judged = match grants.tier {
            Tier::Native => return Self::native(effect, leeway),
            Tier::Bundled => Self::bundled(effect, grants, leeway),
            Tier::Installed => Self::installed(effect, grants, leeway),
        };
        match judged {
            Decision::Deny(_) => judged,
            Decision::Allow | Decision::Ask => self.keeps_from(effect, grants).map_or(judged, Decision::Deny),
        }
    }

    /// The rule that denies `effect` to everyone and in every mode, under this or another name of its files; none where
    /// there is none. A move must break no rule about what it is besides, at either of its places. The folders of the
    /// session stay where they are: with them, rules about what lies in them would go elsewhere.
    pub fn forbids(&self, effect: &Effect) -> Option<Rule> {
        let other_names = || self.roots.aliases(effect).iter().find_map(|other| self.forbids_as_named(other));
        self.forbids_as_named(effect).or_else(other_names).or_else(|| self.keeps_folders(effect))
    }

    /// The rule that denies `effect` to a plugin with the rights `grants`, whatever these cover.
    pub fn keeps_from(&self, effect: &Effect, grants: &GrantSet) -> Option<Rule> {
        let unnamed = |effect: &Effect| acted_on::unnamed(effect, grants).map(Rule::Unnamed);
        unnamed(effect).or_else(|| self.roots.aliases(effect).iter().find_map(unnamed))
    }

    fn forbids_as_named(&self, effect: &Effect) -> Option<Rule> {
        let besides = || effect.besides().iter().find_map(|other| self.forbids_itself(other));
        self.forbids_itself(effect).or_else(besides)
    }

    fn keeps_folders(&self, effect: &Effect) -> Option<Rule> {
        let gone = match effect.touched() {
            Touched::Places { from, .. } => Some(from.clone()),
            Touched::Scope(scope) if matches!(effect, Effect::Delete(_)) => Some(scope.base()),
            Touched::Scope(_) | Touched::Nothing => None,
        };
        gone.filter(|path| self.roots.stand_on(path)).map(|_| Rule::SessionFolder)
    }

    fn forbids_itself(&self, effect: &Effect) -> Option<Rule> {
        // A rule narrows, and a hook does, too: a rule that kept a guard from being told would widen.
        if matches!(effect, Effect::Hook(_)) {
            return None;
        }
        let path = self.denied_by(effect).map(|glob| glob.as_str().to_owned());
        let effects = || self.forbidden.iter().find(|pattern| pattern.touches(effect)).map(ToString::to_string);
        path.or_else(effects).map(Rule::DenyList)
    }

    fn denied_by(&self, effect: &Effect) -> Option<&PathGlob> {
        let touched = |path: &str| self.denied.iter().find(|glob| glob.bars_path(path));
        match effect.touched() {
            // A subtree that holds denied paths is not refused as a whole: its entries are judged one by one.
            Touched::Scope(scope) => self.denied.iter().find(|glob| glob.bars(&scope.glob)),
            Touched::Places { from, to } => touched(from.as_str()).or_else(|| touched(to.as_str())),
            Touched::Nothing => None,
        }
    }

    fn native(effect: &Effect, leeway: Leeway) -> Decision {
        match effect {
            // A question that a hook asks about a call is about nothing else than that.
            Effect::Read(_) | Effect::CallPlugin(..) | Effect::Hook(_) => Decision::Allow,
            Effect::Write(_) | Effect::Move { .. } => change(leeway, leeway.writes()),
            Effect::Delete(_) => change(leeway, leeway.writes() && leeway.runs()),
            Effect::Run(_) => change(leeway, leeway.runs()),
            Effect::Fetch(_) if leeway.offline() => denied_by_mode(leeway),
            // What listens on this machine takes whoever reaches it for its person: only they say so.
            Effect::Fetch(request) if request.is_local() => Decision::Ask,
            Effect::Fetch(_) => allowed_if(leeway.writes() && leeway.runs()),
            // A server's word that it only reads is believed once a person has agreed, or wants no questions at all.
            Effect::CallServer { read_only: true, .. } => allowed_if(leeway.writes() && leeway.runs()),
            Effect::CallServer { read_only: false, .. } => change(leeway, leeway.runs()),
            Effect::UseSecret(_) | Effect::ReadSession | Effect::Kv(_) | Effect::OwnFiles(_) | Effect::Prompt => {
                Decision::Deny(Rule::NotForThisCode)
            }
        }
    }

    fn bundled(effect: &Effect, grants: &GrantSet, leeway: Leeway) -> Decision {
        if let Some(refusal) = dangerous(effect).or_else(|| undeclared(effect, grants)) {
            return refusal;
        }
        match effect {
            Effect::UseSecret(_) | Effect::ReadSession | Effect::OwnFiles(_) | Effect::Prompt | Effect::Hook(_) => {
                granted(effect, grants)
            }
            Effect::Kv(_) => Decision::Allow,
            Effect::CallServer { .. } => Decision::Deny(Rule::NotForThisCode),
            Effect::Read(_)
            | Effect::Write(_)
            | Effect::Move { .. }
            | Effect::Delete(_)
            | Effect::Run(_)
            | Effect::Fetch(_)
            | Effect::CallPlugin(..) => match granted(effect, grants) {
                Decision::Allow => Self::native(effect, leeway),
                refusal => refusal,
            },
        }
    }

    fn installed(effect: &Effect, grants: &GrantSet, leeway: Leeway) -> Decision {
        if let Some(refusal) = dangerous(effect).or_else(|| undeclared(effect, grants)) {
            return refusal;
        }
        let granted = granted(effect, grants);
        match effect {
            Effect::Read(_) | Effect::OwnFiles(_) if granted == Decision::Allow => Decision::Allow,
            Effect::Read(_) | Effect::OwnFiles(_) => Decision::Ask,
            Effect::Kv(_) => Decision::Allow,
            Effect::UseSecret(_) | Effect::ReadSession | Effect::Prompt | Effect::Hook(_) => granted,
            Effect::CallServer { .. } | Effect::CallPlugin(..) => Decision::Deny(Rule::NotForThisCode),
            Effect::Write(_) | Effect::Move { .. } if granted == Decision::Allow => change(leeway, leeway.writes()),
            Effect::Delete(_) if granted == Decision::Allow => change(leeway, leeway.writes() && leeway.runs()),
            Effect::Run(_) if granted == Decision::Allow => change(leeway, leeway.runs()),
            Effect::Fetch(_) if granted == Decision::Allow && leeway.offline() => denied_by_mode(leeway),
            Effect::Write(_) | Effect::Move { .. } | Effect::Delete(_) | Effect::Run(_) | Effect::Fetch(_) => granted,
        }
    }
}

/// Nothing outside the manifest's ceiling is ever asked for, let alone allowed.
fn undeclared(effect: &Effect, grants: &GrantSet) -> Option<Decision> {
    (!grants.declares(effect)).then_some(Decision::Deny(Rule::Undeclared))
}

/// What is not for plugins at all, whatever they ask for.
fn dangerous(effect: &Effect) -> Option<Decision> {
    match effect {
        Effect::Run(line) => Danger::of(line).map(|danger| Decision::Deny(Rule::Dangerous(danger))),
        Effect::Read(_)
        | Effect::Write(_)
        | Effect::Delete(_)
        | Effect::Move { .. }
        | Effect::Fetch(_)
        | Effect::UseSecret(_)
        | Effect::CallPlugin(..)
        | Effect::CallServer { .. }
        | Effect::ReadSession
        | Effect::Kv(_)
        | Effect::OwnFiles(_)
        | Effect::Prompt
        | Effect::Hook(_) => None,
    }
}

fn granted(effect: &Effect, grants: &GrantSet) -> Decision {
    if grants.grants(effect) { Decision::Allow } else { Decision::Deny(Rule::NotGranted) }
}

/// What changes something, and is free where `free`.
fn change(leeway: Leeway, free: bool) -> Decision {
    if leeway.read_only() { denied_by_mode(leeway) } else { allowed_if(free) }
}

fn allowed_if(free: bool) -> Decision {
    if free { Decision::Allow } else { Decision::Ask }
}

fn denied_by_mode(leeway: Leeway) -> Decision {
    Decision::Deny(Rule::Mode(leeway.mode()))
}

#[cfg(test)]
#[path = "policy/tests.rs"]
mod tests;
