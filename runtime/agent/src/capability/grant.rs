//! Rights: what a manifest asks for at most, and what was given.

use std::fmt;

use super::{Effect, NetRequest, OwnFolder, PathError, PathGlob, RunRight, SecretName};

/// One right. In a manifest it is a line of the ceiling; given by a person it is a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// `fs.read`: paths of any root.
    Read(PathGlob),
    /// `fs.write`: paths of any root; moving and deleting there too.
    Write(PathGlob),
    /// `net`: hosts to talk to.
    Net(HostPattern),
    /// `secrets`: a secret to have injected.
    Secret(SecretName),
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
        }
    }

    /// Whether the right is a right to that effect.
    pub fn covers(&self, effect: &Effect) -> bool {
        match (self, effect) {
            (Self::Read(glob), Effect::Read(scope))
            | (Self::Write(glob), Effect::Write(scope) | Effect::Delete(scope)) => glob.covers(&scope.glob),
            (Self::Write(glob), Effect::Move { from, to }) => glob.matches(from.as_str()) && glob.matches(to.as_str()),
            (Self::Net(host), Effect::Fetch(request)) => host.matches(request),
            (Self::Secret(name), Effect::UseSecret(asked)) => name == asked,
            (Self::Run(right), Effect::Run(line)) => right.covers(line),
            (Self::OwnFiles(folder), Effect::OwnFiles(asked)) => folder == asked,
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
                | Self::Prompt,
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
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class().as_str())?;
        match self {
            Self::Read(glob) | Self::Write(glob) => write!(f, " {glob}"),
            Self::Net(host) => write!(f, " {host}"),
            Self::Secret(name) => write!(f, " {name}"),
            Self::Run(right) => write!(f, " {right}"),
            Self::Kv | Self::OwnFiles(_) | Self::ReadSession | Self::Prompt => Ok(()),
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
}

/// Hosts of the network: `scheme://host[:port][/path]`, the host exact or `*.suffix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    scheme: String,
    host: String,
    port: u16,
    path: String,
}

impl HostPattern {
    /// Parses `https://api.example.com/v1/`; the scheme is `https` or `http`, the port defaults to the scheme's.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let bad = |why: &str| PathError::Pattern(text.chars().take(200).collect(), why.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("expected `scheme://host`"))?;
        let default_port = match scheme {
            "https" => 443,
            "http" => 80,
            _ => return Err(bad("the scheme must be `https` or `http`")),
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| bad("the port must be a number up to 65535"))?),
            None => (authority, default_port),
        };
        let name = host.strip_prefix("*.").unwrap_or(host);
        let valid = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.');
        if !valid {
            return Err(bad("the host must be lower-case letters, digits, `-` and `.`, with at most a leading `*.`"));
        }
        Ok(Self { scheme: scheme.to_owned(), host: host.to_owned(), port, path: path.to_owned() })
    }

    /// Whether that request goes to one of these hosts.
    pub fn matches(&self, request: &NetRequest) -> bool {
        let host = match self.host.strip_prefix('*') {
            Some(suffix) => request.host.len() > suffix.len() && request.host.ends_with(suffix),
            None => request.host == self.host,
        };
        host && request.scheme == self.scheme && request.port == self.port && request.path.starts_with(&self.path)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}{}", self.scheme, self.host, self.port, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(scheme: &str, host: &str, port: u16, path: &str) -> NetRequest {
        NetRequest { scheme: scheme.into(), host: host.into(), port, path: path.into() }
    }

    #[test]
    fn hosts_match_exactly() {
        let exact = HostPattern::parse("https://api.good.com/v1").unwrap();
        let suffix = HostPattern::parse("https://*.good.com").unwrap();
        assert!(exact.matches(&request("https", "api.good.com", 443, "/v1/x")));
        assert!(suffix.matches(&request("https", "a.b.good.com", 443, "/")));
        for (scheme, host, port, path) in [
            ("http", "api.good.com", 443, "/v1"),
            ("https", "api.good.com", 8443, "/v1"),
            ("https", "api.good.com.evil.com", 443, "/v1"),
            ("https", "good.com", 443, "/v1"),
            ("https", "evilgood.com", 443, "/v1"),
            ("https", "api.good.com", 443, "/v2"),
        ] {
            assert!(!exact.matches(&request(scheme, host, port, path)), "{scheme} {host} {port} {path}");
        }
        assert!(!suffix.matches(&request("https", "good.com", 443, "/")));
        assert!(!suffix.matches(&request("https", "evilgood.com", 443, "/")));
        for bad in [
            "api.good.com",
            "ftp://x",
            "https://",
            "https://A.com",
            "https://u@x.com",
            "https://x:99999",
            "https://a*b",
        ] {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
    }
}
