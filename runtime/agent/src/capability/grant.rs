//! Rights: what a manifest asks for at most, and what was given.

use std::fmt;

use super::{CommandLine, Effect, HookEvent, HostPattern, OwnFolder, PathGlob, RunRight, SecretName};

/// One right. In a manifest it is a line of the ceiling; given by a person it is a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// `fs.read`: paths of any root.
    Read(PathGlob),
    /// `fs.write`: paths of any root; moving and deleting there too.
    Write(PathGlob),
    /// `net`: hosts to talk to.
    Net(HostPattern),
    /// `secrets`: a secret to have put into requests.
    Secret(SecretRight),
    /// `exec`: a program with arguments by pattern.
    Run(RunRight),
    /// `kv`: own storage.
    Kv,
    /// `fs.data`, `fs.tmp`: a folder of its own.
    OwnFiles(OwnFolder),
    /// `session.read`: the transcript.
    ReadSession,
    /// `prompt`: additions to the system prompt.
    Prompt,
    /// `hooks`: an event of the session to be told of.
    Hook(HookEvent),
}

/// A right to have a secret sent: which, to whom, and where it stands in a request. All of it is what people agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRight {
    /// The secret.
    pub name: SecretName,
    /// The only hosts that it is sent to.
    pub audience: HostPattern,
    /// Where it stands.
    pub place: SecretPlace,
}

/// Where a secret stands in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretPlace {
    /// In a header, behind a text such as `Bearer `.
    Header {
        /// Its name, in lower case.
        name: String,
        /// What stands before the secret.
        prefix: String,
    },
    /// In the query, under that name.
    Query(String),
}

/// The class of a right, as a manifest spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrantClass {
    /// `fs.read`
    Read,
    /// `fs.write`
    Write,
    /// `net`
    Net,
    /// `secrets`
    Secret,
    /// `exec`
    Run,
    /// `kv`
    Kv,
    /// `fs.data`
    Data,
    /// `fs.tmp`
    Tmp,
    /// `session.read`
    ReadSession,
    /// `prompt`
    Prompt,
    /// `hooks`
    Hook,
}

impl Grant {
    /// Its class.
    pub fn class(&self) -> GrantClass {
        match self {
            Self::Read(_) => GrantClass::Read,
            Self::Write(_) => GrantClass::Write,
            Self::Net(_) => GrantClass::Net,
            Self::Secret(_) => GrantClass::Secret,
            Self::Run(_) => GrantClass::Run,
            Self::Kv => GrantClass::Kv,
            Self::OwnFiles(OwnFolder::Data) => GrantClass::Data,
            Self::OwnFiles(OwnFolder::Tmp) => GrantClass::Tmp,
            Self::ReadSession => GrantClass::ReadSession,
            Self::Prompt => GrantClass::Prompt,
            Self::Hook(_) => GrantClass::Hook,
        }
    }

    /// The hosts that it is a right to; none of a right to something else.
    pub fn net(&self) -> Option<&HostPattern> {
        match self {
            Self::Net(host) => Some(host),
            _ => None,
        }
    }

    /// The secret that it is a right to; none of a right to something else.
    pub fn secret(&self) -> Option<&SecretRight> {
        match self {
            Self::Secret(right) => Some(right),
            _ => None,
        }
    }

    /// Whether the right is a right to that effect.
    pub fn covers(&self, effect: &Effect) -> bool {
        match (self, effect) {
            (Self::Read(glob), Effect::Read(scope))
            | (Self::Write(glob), Effect::Write(scope) | Effect::Delete(scope)) => glob.covers(&scope.glob),
            (Self::Write(glob), Effect::Move { from, to }) => glob.matches(from.as_str()) && glob.matches(to.as_str()),
            (Self::Net(host), Effect::Fetch(request)) => host.matches(request),
            (Self::Secret(right), Effect::UseSecret(asked)) => right.name == *asked,
            (Self::Run(right), Effect::Run(line)) => right.covers(line),
            (Self::OwnFiles(folder), Effect::OwnFiles(asked)) => folder == asked,
            (Self::Hook(event), Effect::Hook(asked)) => event == asked,
            (Self::Kv, Effect::Kv(_)) | (Self::ReadSession, Effect::ReadSession) | (Self::Prompt, Effect::Prompt) => {
                true
            }
            (
                Self::Read(_)
                | Self::Write(_)
                | Self::Net(_)
                | Self::Secret(_)
                | Self::Run(_)
                | Self::Kv
                | Self::OwnFiles(_)
                | Self::ReadSession
                | Self::Prompt
                | Self::Hook(_),
                _,
            ) => false,
        }
    }
}

impl GrantClass {
    /// As a manifest spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "fs.read",
            Self::Write => "fs.write",
            Self::Net => "net",
            Self::Secret => "secrets",
            Self::Run => "exec",
            Self::Kv => "kv",
            Self::Data => "fs.data",
            Self::Tmp => "fs.tmp",
            Self::ReadSession => "session.read",
            Self::Prompt => "prompt",
            Self::Hook => "hooks",
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class().as_str())?;
        match self {
            Self::Read(glob) | Self::Write(glob) => write!(f, " {glob}"),
            Self::Net(host) => write!(f, " {host}"),
            Self::Secret(right) => write!(f, " {right}"),
            Self::Run(right) => write!(f, " {right}"),
            Self::Hook(event) => write!(f, " {event}"),
            Self::Kv | Self::OwnFiles(_) | Self::ReadSession | Self::Prompt => Ok(()),
        }
    }
}

impl fmt::Display for SecretRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} in ", self.name, self.audience)?;
        match &self.place {
            SecretPlace::Header { name, prefix } if prefix.is_empty() => write!(f, "the header {name}"),
            SecretPlace::Header { name, prefix } => write!(f, "the header {name} behind {:?}", prefix.trim_end()),
            SecretPlace::Query(name) => write!(f, "the query as {name}"),
        }
    }
}

/// How far the code behind an effect is trusted: decides the column of the policy table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Part of the runtime.
    Native,
    /// A plugin that came with the runtime.
    Bundled,
    /// Any other plugin.
    Installed,
}

/// All rights of one subject.
#[derive(Debug, Clone)]
pub struct GrantSet {
    /// Which column of the policy table it stands in.
    pub tier: Tier,
    /// What its manifest asks for at most; nothing outside is ever allowed. Unused for [`Tier::Native`].
    pub ceiling: Vec<Grant>,
    /// What it was given. Unused for [`Tier::Native`].
    pub granted: Vec<Grant>,
}

impl GrantSet {
    /// The runtime's own tools: no ceiling, policy alone decides.
    pub fn native() -> Self {
        Self { tier: Tier::Native, ceiling: Vec::new(), granted: Vec::new() }
    }

    /// Whether the manifest asked for it.
    pub fn declares(&self, effect: &Effect) -> bool {
        self.ceiling.iter().any(|grant| grant.covers(effect))
    }

    /// Whether it was given, inside what the manifest asked for.
    pub fn grants(&self, effect: &Effect) -> bool {
        self.declares(effect) && self.granted.iter().any(|grant| grant.covers(effect))
    }

    /// Names of the variables that the program of `line` gets, once that may run: those of the granted rights to it. Where
    /// it was not granted and a person has allowed it since, those of the right by which it was introduced to them, the first
    /// that the manifest asks for.
    pub fn environment(&self, line: &CommandLine) -> Vec<&str> {
        let mut rights: Vec<&RunRight> = rights_to(&self.granted, line).collect();
        if rights.is_empty() {
            rights.extend(rights_to(&self.ceiling, line).next());
        }
        rights.into_iter().flat_map(RunRight::environment).collect()
    }

    /// The same with a right to `effect`, as far as the manifest asks for it.
    #[must_use]
    pub fn and_live(mut self, effect: &Effect) -> Self {
        self.granted.extend(self.ceiling.iter().filter(|right| right.covers(effect)).cloned());
        self
    }
}

/// Those of `rights` that are rights to run `line`.
fn rights_to<'a>(rights: &'a [Grant], line: &CommandLine) -> impl Iterator<Item = &'a RunRight> {
    rights.iter().filter_map(move |right| match right {
        Grant::Run(right) if right.covers(line) => Some(right),
        _ => None,
    })
}
