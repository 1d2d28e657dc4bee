//! Requests to the network, and patterns over the hosts that they go to.

use std::borrow::Cow;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::PathError;

/// A request to the network, before anything was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetRequest {
    /// `http` or `https`.
    pub scheme: String,
    /// Lower-case host name, or an address in its usual form; that of version 6 between brackets.
    pub host: String,
    /// The port, the scheme's own where none was written.
    pub port: u16,
    /// The path, starting with `/`, without `.` and `..`. No query.
    pub path: String,
}

impl NetRequest {
    /// Whether its host is by its name this machine: `localhost`, or an address such as `127.0.0.1`.
    pub fn is_local(&self) -> bool {
        is_local(&self.host)
    }
}

fn is_local(host: &str) -> bool {
    let loopback = || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || loopback()
}

impl fmt::Display for NetRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.scheme, &self.host, self.port)?;
        f.write_str(&self.path)
    }
}

/// Hosts of the network: `scheme://host[:port][/path]`. The host is exact, `*.suffix` for all names below one, or `*` for
/// every name. Addresses are only ever meant by themselves. A path means itself and all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    scheme: String,
    host: Hosts,
    port: u16,
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    /// All names, and no address.
    Any,
    /// With the dot that it begins with.
    Below(String),
    Exact(String),
}

impl HostPattern {
    /// Parses `https://api.example.com/v1/`; the scheme is `https` or `http`, the port defaults to the scheme's.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let bad = |why: &str| PathError::Host(text.chars().take(200).collect(), why.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("expected `https://host`"))?;
        let usual = usual_port(scheme).ok_or_else(|| bad("the scheme must be `https` or `http`"))?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        // The colons of an address of version 6 are between brackets.
        let name_end = authority.rfind(']').map_or(0, |at| at + 1);
        let (host, port) = match authority.get(name_end..).and_then(|rest| rest.rfind(':')) {
            Some(at) => {
                let (host, port) = authority.split_at(name_end + at);
                let port = port.strip_prefix(':').filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
                let port = port.and_then(|port| port.parse().ok()).filter(|port| *port > 0);
                (host, port.ok_or_else(|| bad("the port must be a number from 1 to 65535"))?)
            }
            None => (authority, usual),
        };
        let host = Hosts::parse(host).map_err(bad)?;
        if path.contains(['?', '#', '\\', '%', '*']) || path.split('/').any(|name| name == "." || name == "..") {
            return Err(bad("a path has no `.`, `..`, `?`, `#`, `%`, `*` and backslash in it"));
        }
        Ok(Self { scheme: scheme.to_owned(), host, port, path: path.to_owned() })
    }

    /// Whether that request goes to one of these hosts.
    pub fn matches(&self, request: &NetRequest) -> bool {
        self.host.matches(&request.host)
            && request.scheme == self.scheme
            && request.port == self.port
            && self.holds_path(&request.path)
    }

    /// Whether that request may go to one of these hosts or paths: what a prohibition needs. Every name is then also every
    /// address, and a path with codes in it may be any. A host is meant by either scheme, and by any port where none is
    /// written; only all of `http://*` means what is not encrypted, and nothing else.
    pub fn touches(&self, request: &NetRequest) -> bool {
        let host = self.host == Hosts::Any || self.host.matches(&request.host);
        let path = request.path.starts_with(&self.path) || request.path.contains('%');
        let unencrypted = self.host == Hosts::Any && self.scheme == "http";
        let scheme = !unencrypted || request.scheme == self.scheme;
        let port = usual_port(&self.scheme) == Some(self.port) || request.port == self.port;
        host && path && scheme && port
    }

    /// A request that goes there; none where it names several hosts.
    pub fn request(&self) -> Option<NetRequest> {
        let Hosts::Exact(host) = &self.host else { return None };
        let (scheme, path) = (self.scheme.clone(), self.path.clone());
        Some(NetRequest { scheme, host: host.clone(), port: self.port, path })
    }

    /// Whether it names this machine.
    pub fn is_local(&self) -> bool {
        matches!(&self.host, Hosts::Exact(name) if is_local(name))
    }

    /// Whether what it means is encrypted on its way, and goes to who it is meant for.
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// Whether every host of `other` is one of these.
    pub(super) fn hosts_include(&self, other: &Self) -> bool {
        match (&self.host, &other.host) {
            (one, other) if one == other => true,
            // This machine is meant only by who names it.
            (Hosts::Any, Hosts::Below(suffix)) => !suffix.ends_with(".localhost"),
            (Hosts::Below(outer), Hosts::Below(inner)) => inner.ends_with(outer.as_str()),
            (hosts, Hosts::Exact(name)) => hosts.matches(name),
            (Hosts::Exact(_), Hosts::Below(_) | Hosts::Any) | (Hosts::Any | Hosts::Below(_), Hosts::Any) => false,
        }
    }

    /// Whether `other` has the same scheme and port, and no path but those below this one.
    pub(super) fn reaches_as(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.port == other.port && self.holds_path(&other.path)
    }

    /// Names of a path end at a slash. What a server may take for another slash is in no path but all of them.
    fn holds_path(&self, path: &str) -> bool {
        if self.path == "/" {
            return true;
        }
        let hidden = path.to_ascii_lowercase();
        let hidden = ["%2f", "%5c", "%2e", "\\"].iter().any(|slash| hidden.contains(slash));
        let below = path.strip_prefix(self.path.as_str());
        !hidden && below.is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/'))
    }
}

impl Hosts {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some(address) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address: Ipv6Addr = address.parse().map_err(|_| "between brackets stands an address of version 6")?;
            return Ok(Self::Exact(format!("[{address}]")));
        }
        let name = text.strip_prefix("*.").unwrap_or(text);
        let label = |label: &str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
            !label.is_empty() && label.chars().all(plain)
        };
        if !name.split('.').all(label) {
            return Err("the host must be lower-case letters, digits, `-` and `.`, with at most a leading `*.`");
        }
        // What ends in a number is read as an address, whatever stands before.
        let numeric = name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        let is_address = name.parse::<Ipv4Addr>().is_ok_and(|address| address.to_string() == name);
        match (text == name, numeric) {
            (true, true) if is_address => Ok(Self::Exact(name.to_owned())),
            (_, true) => Err("a host that ends in a number must be an address in its usual form, such as `127.0.0.1`"),
            (true, false) => Ok(Self::Exact(name.to_owned())),
            (false, false) => Ok(Self::Below(format!(".{name}"))),
        }
    }

    fn matches(&self, host: &str) -> bool {
        let is_name = || !host.starts_with('[') && host.parse::<Ipv4Addr>().is_err();
        match self {
            // This machine is meant only by who names it.
            Self::Any => is_name() && host != "localhost" && !host.ends_with(".localhost"),
            Self::Below(suffix) => is_name() && host.len() > suffix.len() && host.ends_with(suffix.as_str()),
            Self::Exact(name) => host == name,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host: Cow<'_, str> = match &self.host {
            Hosts::Any => "*".into(),
            Hosts::Below(suffix) => format!("*{suffix}").into(),
            Hosts::Exact(name) => name.into(),
        };
        write_place(f, &self.scheme, &host, self.port)?;
        f.write_str(&self.path)
    }
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    }
}

/// Scheme, host and port; not the port that everybody expects.
fn write_place(f: &mut fmt::Formatter<'_>, scheme: &str, host: &str, port: u16) -> fmt::Result {
    write!(f, "{scheme}://{host}")?;
    if usual_port(scheme) == Some(port) { Ok(()) } else { write!(f, ":{port}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(scheme: &str, host: &str, port: u16, path: &str) -> NetRequest {
        NetRequest { scheme: scheme.into(), host: host.into(), port, path: path.into() }
    }

    #[test]
    fn hosts_match_exactly() {
        let exact = HostPattern::parse("https://api.good.com/v1").unwrap();
        let suffix = HostPattern::parse("https://*.good.com").unwrap();
        assert!(exact.matches(&request("https", "api.good.com", 443, "/v1/x")));
        assert!(exact.matches(&request("https", "api.good.com", 443, "/v1")));
        assert!(suffix.matches(&request("https", "a.b.good.com", 443, "/")));
        for (scheme, host, port, path) in [
            ("http", "api.good.com", 443, "/v1"),
            ("https", "api.good.com", 8443, "/v1"),
            ("https", "api.good.com.evil.com", 443, "/v1"),
            ("https", "good.com", 443, "/v1"),
            ("https", "evilgood.com", 443, "/v1"),
            ("https", "api.good.com", 443, "/v2"),
            ("https", "api.good.com", 443, "/v1evil"),
            ("https", "api.good.com", 443, "/v1/..%2fadmin"),
            ("https", "api.good.com", 443, "/v1/%2E%2E/admin"),
            ("https", "api.good.com", 443, "/V1"),
        ] {
            assert!(!exact.matches(&request(scheme, host, port, path)), "{scheme} {host} {port} {path}");
        }
        assert!(!suffix.matches(&request("https", "good.com", 443, "/")));
        assert!(!suffix.matches(&request("https", "evilgood.com", 443, "/")));
    }

    #[test]
    fn addresses_and_this_machine_are_only_meant_by_themselves() {
        for (pattern, host, matches) in [
            ("https://*", "anything.example", true),
            ("https://*", "10.0.0.1", false),
            ("https://*", "[::1]", false),
            ("https://*", "localhost", false),
            ("https://*", "a.localhost", false),
            ("https://127.0.0.1", "127.0.0.1", true),
            ("https://127.0.0.1", "127.0.0.2", false),
            ("https://[::1]", "[::1]", true),
            ("https://[0:0:0:0:0:0:0:1]", "[::1]", true),
        ] {
            let pattern = HostPattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(&request("https", host, 443, "/")), matches, "{pattern} {host}");
        }
        for (host, local) in [
            ("localhost", true),
            ("a.localhost", true),
            ("127.9.9.9", true),
            ("[::1]", true),
            ("localhost.evil.com", false),
            ("128.0.0.1", false),
        ] {
            assert_eq!(request("http", host, 80, "/").is_local(), local, "{host}");
        }
    }

    #[test]
    fn a_prohibition_means_more_than_a_right() {
        for (pattern, host, path, touches) in [
            ("https://*", "10.0.0.1", "/", true),
            ("https://*", "localhost", "/", true),
            ("https://a.com/admin", "a.com", "/admin/x", true),
            ("https://a.com/admin", "a.com", "/%61dmin", true),
            ("https://a.com/admin", "a.com", "/other", false),
            ("https://a.com", "b.com", "/", false),
        ] {
            let pattern = HostPattern::parse(pattern).unwrap();
            assert_eq!(pattern.touches(&request("https", host, 443, path)), touches, "{pattern} {host}{path}");
        }
        for (pattern, scheme, port, touches) in [
            ("https://a.com", "http", 80, true),
            ("https://a.com", "https", 8443, true),
            ("https://a.com", "http", 8080, true),
            ("http://a.com", "https", 443, true),
            ("https://*.com", "http", 80, true),
            ("https://*", "http", 80, true),
            ("http://*", "https", 443, false),
            ("http://*", "http", 8080, true),
            ("http://*:8080", "http", 80, false),
            ("https://a.com:8443", "http", 8443, true),
            ("https://a.com:8443", "https", 443, false),
        ] {
            let parsed = HostPattern::parse(pattern).unwrap();
            assert_eq!(parsed.touches(&request(scheme, "a.com", port, "/")), touches, "{pattern} {scheme} {port}");
        }
    }

    #[test]
    fn patterns_are_checked_and_shown_as_people_write_them() {
        for bad in [
            "api.good.com",
            "ftp://x",
            "https://",
            "https://A.com",
            "https://u@x.com",
            "https://x:99999",
            "https://x:0",
            "https://x:+1",
            "https://a*b",
            "https://*.0.0.1",
            "https://0x7f.1",
            "https://127.1",
            "https://2130706433",
            "https://010.0.0.1",
            "https://x.com.",
            "https://x.com/a?b",
            "https://x.com/a/../b",
            "https://x.com/%2e",
            "https://[::1",
            "https://[fe80::1%25eth0]",
        ] {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
        for (text, shown) in [
            ("https://api.good.com", "https://api.good.com/"),
            ("https://api.good.com:443/v1", "https://api.good.com/v1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("http://[::1]:8080", "http://[::1]:8080/"),
            ("https://*.good.com", "https://*.good.com/"),
            ("https://*", "https://*/"),
        ] {
            let pattern = HostPattern::parse(text).unwrap();
            assert_eq!(pattern.to_string(), shown);
            assert_eq!(HostPattern::parse(shown).unwrap(), pattern, "what is shown means the same");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// The matcher allows nothing that is not below the suffix label by label, of the same scheme and port.
        #[test]
        fn never_more_than_the_labels_say(
            pattern in "(\\*\\.)?(a|b|evil)(\\.(a|b|com)){0,2}",
            host in "(a|b|evil|xa|xb)(\\.(a|b|com|evil)){0,3}",
            ports in (1u16..4, 1u16..4),
        ) {
            let parsed = HostPattern::parse(&format!("http://{pattern}:{}", ports.0)).unwrap();
            let labels: Vec<&str> = host.split('.').rev().collect();
            let named: Vec<&str> = pattern.trim_start_matches("*.").split('.').rev().collect();
            let below = labels.starts_with(&named);
            let expected = if pattern.starts_with("*.") { below && labels.len() > named.len() } else { labels == named };
            let matches = parsed.matches(&request("http", &host, ports.1, "/"));
            prop_assert_eq!(matches, expected && ports.0 == ports.1);
        }
    }
}
