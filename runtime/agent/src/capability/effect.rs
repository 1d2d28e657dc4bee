//! What a tool, a plugin or a person's click would do to the world.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::path::or_dot;
use super::{HookEvent, NetRequest, PathScope, PluginId, SecretName, ServerName, ToolName, WorkspacePath};
use crate::plain;

/// One effect. Closed: a new kind of effect must be judged everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read files, or list folders.
    Read(PathScope),
    /// Create files and folders, or change what is in them.
    Write(PathScope),
    /// Remove files or folders.
    Delete(PathScope),
    /// Give a file or folder another path.
    Move {
        /// Where it is.
        from: WorkspacePath,
        /// Where it goes.
        to: WorkspacePath,
    },
    /// Run a program.
    Run(CommandLine),
    /// Send a request to the network.
    Fetch(NetRequest),
    /// Have a secret put into a request.
    UseSecret(SecretName),
    /// Call a plugin's tool. What the guest then does is judged again, import by import.
    CallPlugin(PluginId, ToolName),
    /// Call an MCP server's tool.
    CallServer {
        /// The server.
        server: ServerName,
        /// Its tool.
        tool: ToolName,
        /// What the server says of it (`readOnlyHint`).
        read_only: bool,
    },
    /// Read what was said in the session.
    ReadSession,
    /// Use the plugin's own storage.
    Kv(KvScope),
    /// Use a folder that belongs to the plugin alone.
    OwnFiles(OwnFolder),
    /// Add to the system prompt.
    Prompt,
    /// Be told of an event of the session, and decide about it where its hooks can.
    Hook(HookEvent),
}

/// The paths that an effect is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touched<'a> {
    /// One path, or many: of a read, a write or a removal.
    Scope(&'a PathScope),
    /// Both places of a move.
    Places {
        /// Where it is.
        from: &'a WorkspacePath,
        /// Where it goes.
        to: &'a WorkspacePath,
    },
    /// No file of the session.
    Nothing,
}

/// A program and its arguments, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program as it was asked for.
    pub program: String,
    /// Its arguments, one by one.
    pub arguments: Vec<String>,
}

/// Who shares a stored value: one session, one project, or all that this user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KvScope {
    /// One session.
    Session,
    /// All sessions with the same `cwd`.
    Project,
    /// All sessions of this user.
    User,
}

/// A folder that belongs to one plugin alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OwnFolder {
    /// `/data`: kept, for each project.
    Data,
    /// `/tmp`: gone with the instance that made it.
    Tmp,
}

impl OwnFolder {
    /// Its class in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Tmp => "tmp",
        }
    }
}

impl Effect {
    /// The class in a word, as settings and refusals name it.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Delete(_) => "delete",
            Self::Move { .. } => "move",
            Self::Run(_) => "run",
            Self::Fetch(_) => "fetch",
            Self::UseSecret(_) => "secret",
            Self::CallPlugin(..) => "plugin",
            Self::CallServer { .. } => "server",
            Self::ReadSession => "session",
            Self::Kv(_) => "kv",
            Self::OwnFiles(folder) => folder.as_str(),
            Self::Prompt => "prompt",
            Self::Hook(_) => "hook",
        }
    }

    /// What exactly: a path, a command line, a URL; empty where the class says all. As it is: people are shown what
    /// [`plain::name`] makes of it.
    pub fn key(&self) -> String {
        match self {
            Self::Read(scope) | Self::Write(scope) | Self::Delete(scope) => or_dot(scope.glob.as_str()).to_owned(),
            Self::Move { from, to } => format!("{} -> {}", or_dot(from.as_str()), or_dot(to.as_str())),
            Self::Run(line) => line.to_string(),
            Self::Fetch(request) => request.to_string(),
            Self::UseSecret(name) => name.to_string(),
            Self::CallPlugin(plugin, tool) => format!("{plugin} {tool}"),
            Self::CallServer { server, tool, .. } => format!("{server} {tool}"),
            Self::Kv(KvScope::Session) => "session".to_owned(),
            Self::Kv(KvScope::Project) => "project".to_owned(),
            Self::Kv(KvScope::User) => "user".to_owned(),
            Self::OwnFiles(folder) => format!("/{}", folder.as_str()),
            Self::Hook(event) => event.to_string(),
            Self::ReadSession | Self::Prompt => String::new(),
        }
    }

    /// Whether a right to `self` is a right to `other`.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Read(outer), Self::Read(inner))
            | (Self::Write(outer), Self::Write(inner))
            | (Self::Delete(outer), Self::Delete(inner)) => outer.covers(inner),
            (outer, inner) => outer == inner,
        }
    }

    /// Which paths it is about.
    pub fn touched(&self) -> Touched<'_> {
        match self {
            Self::Read(scope) | Self::Write(scope) | Self::Delete(scope) => Touched::Scope(scope),
            Self::Move { from, to } => Touched::Places { from, to },
            Self::Run(_)
            | Self::Fetch(_)
            | Self::UseSecret(_)
            | Self::CallPlugin(..)
            | Self::CallServer { .. }
            | Self::ReadSession
            | Self::Kv(_)
            | Self::OwnFiles(_)
            | Self::Prompt
            | Self::Hook(_) => Touched::Nothing,
        }
    }

    /// What it reads, writes or removes; none for other effects.
    pub fn scope(&self) -> Option<&PathScope> {
        match self.touched() {
            Touched::Scope(scope) => Some(scope),
            Touched::Places { .. } | Touched::Nothing => None,
        }
    }

    /// The same done to `scope`; an effect that has no scope stays as it is.
    #[must_use]
    pub fn done_to(&self, scope: PathScope) -> Self {
        match self {
            Self::Read(_) => Self::Read(scope),
            Self::Write(_) => Self::Write(scope),
            Self::Delete(_) => Self::Delete(scope),
            Self::Move { .. }
            | Self::Run(_)
            | Self::Fetch(_)
            | Self::UseSecret(_)
            | Self::CallPlugin(..)
            | Self::CallServer { .. }
            | Self::ReadSession
            | Self::Kv(_)
            | Self::OwnFiles(_)
            | Self::Prompt
            | Self::Hook(_) => self.clone(),
        }
    }

    /// What a move does to its two places beside moving: a rule about one of these would be left behind by it, or gone
    /// around. Nothing for other effects.
    pub fn besides(&self) -> Vec<Self> {
        let Self::Move { from, to } = self else { return Vec::new() };
        let changed = [from.scope(), to.scope()].into_iter().flat_map(|at| [Self::Read(at.clone()), Self::Write(at)]);
        changed.chain([Self::Delete(from.scope())]).collect()
    }

    /// Whether it leaves everything as it is.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Read(_) | Self::ReadSession)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key();
        if key.is_empty() { f.write_str(self.class()) } else { write!(f, "{} {}", self.class(), plain::code(&key)) }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", self::argument(argument, "")))?;
        Ok(())
    }
}

/// An argument as people read it: quoted where it has more in it than letters, digits, a few marks and those of `also`.
pub(super) fn argument<'a>(argument: &'a str, also: &str) -> Cow<'a, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c) || also.contains(c);
    if !argument.is_empty() && argument.chars().all(plain) { argument.into() } else { format!("{argument:?}").into() }
}
