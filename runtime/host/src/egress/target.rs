//! Where a request goes, as read by the one parser of this room: what is judged and what is connected to are the same.

use acp_runtime_agent::capability::{Effect, NetRequest};
use acp_runtime_agent::plain;
use url::{Host, Url};

use super::EgressError;

/// Bytes that an address may have.
const MOST: usize = 8 << 10;

/// An `http` or `https` address, checked: with a host, without a user's name and without a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(Url);

impl Target {
    /// Reads an address as somebody wrote it.
    pub fn parse(text: &str) -> Result<Self, EgressError> {
        let url = checked(text, |text| {
            // Parsers also take `https:a` and `https:///a` for what is meant by `https://a`.
            let (scheme, rest) = text.split_once("://").ok_or(url::ParseError::RelativeUrlWithoutBase)?;
            let named = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if named && !rest.starts_with('/') { Url::parse(text) } else { Err(url::ParseError::EmptyHost) }
        })?;
        Self::of(url)
    }

    /// Where `location` leads from here.
    pub(super) fn join(&self, location: &str) -> Result<Self, EgressError> {
        let url = checked(location, |text| self.0.join(text))?;
        Self::of(url)
    }

    fn of(mut url: Url) -> Result<Self, EgressError> {
        let shown = plain::cut(url.as_str(), 200).to_owned();
        let bad = |why: &str| EgressError::Address(format!("`{shown}` {why}"));
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("does not begin with `http://` or `https://`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The password is not repeated.
            return Err(EgressError::Address("the address has a user's name in it".to_owned()));
        }
        if url.port() == Some(0) {
            return Err(bad("has the port 0"));
        }
        url.set_fragment(None);
        // `good.com.` is `good.com`.
        if let Some(name) = url.domain().and_then(|name| name.strip_suffix('.')).map(str::to_owned) {
            // `127.0.0.1..` would become an address.
            if name.is_empty() || name.ends_with('.') {
                return Err(bad("has no usable host"));
            }
            url.set_host(Some(&name)).map_err(|error| bad(&format!("has no usable host: {error}")))?;
        }
        match url.host() {
            Some(Host::Domain(name)) if !is_name(name) => Err(bad("has no usable host")),
            Some(_) => Ok(Self(url)),
            None => Err(bad("has no host")),
        }
    }

    /// What the gate is asked about.
    pub fn request(&self) -> NetRequest {
        NetRequest {
            scheme: self.0.scheme().to_owned(),
            host: self.0.host_str().unwrap_or_default().to_owned(),
            port: self.port(),
            path: self.0.path().to_owned(),
        }
    }

    /// The same as an effect.
    pub fn effect(&self) -> Effect {
        Effect::Fetch(self.request())
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    pub(super) fn url_mut(&mut self) -> &mut Url {
        &mut self.0
    }

    pub(super) fn host(&self) -> Option<Host<&str>> {
        self.0.host()
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether both are the same host in the same way.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.0.scheme() == other.0.scheme() && self.0.host() == other.0.host() && self.port() == other.port()
    }

    /// What stands in the first line of a request.
    pub(super) fn path_and_query(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().to_owned(),
        }
    }

    /// What stands in the header `host`.
    pub(super) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// What stands between the slashes of an address and its path, where there is such a part.
fn authority(text: &str) -> Option<&str> {
    let (before, rest) = text.split_once("//")?;
    (before.is_empty() || before.ends_with(':')).then(|| rest.split(['/', '?', '#']).next().unwrap_or(rest))
}

/// Whether it is a name that a host can have. Parsers take others.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.split('.').all(|label| !label.is_empty() && label.bytes().all(plain))
}

/// Parsers leave out tabs and line ends, and take backslashes for slashes: what people read is another address then.
fn checked(text: &str, parse: impl Fn(&str) -> Result<Url, url::ParseError>) -> Result<Url, EgressError> {
    let in_bounds = |text: &str| match text.len() {
        0..=MOST => Ok(()),
        more => Err(EgressError::Limit(format!("the address has {more} bytes; at most {MOST}"))),
    };
    in_bounds(text)?;
    let bad =
        |why: &str| EgressError::Address(format!("`{}` is no address: {why}", plain::name(plain::cut(text, 200))));
    if text.chars().any(|c| c.is_whitespace() || !plain::is_plain(c)) {
        return Err(bad("there are spaces or control characters in it"));
    }
    if text.contains('\\') {
        return Err(bad("there is a backslash in it"));
    }
    // An empty one is left out by parsers.
    if authority(text).is_some_and(|authority| authority.contains('@')) {
        return Err(EgressError::Address("the address has a user's name in it".to_owned()));
    }
    let url = parse(text).map_err(|error| bad(&error.to_string()))?;
    // What is no letter of an address is written in three.
    in_bounds(url.as_str())?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_bounded_as_it_is_sent() {
        let address = format!("https://good.com/{}", "é".repeat(2000));
        assert!(address.len() < MOST);
        assert_eq!(request(&address), "the address has 12017 bytes; at most 8192");
    }

    fn request(text: &str) -> String {
        match Target::parse(text) {
            Ok(target) => target.request().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_is_judged_is_what_is_connected_to() {
        for (text, judged) in [
            ("https://Good.COM", "https://good.com/"),
            ("https://good.com:443/a/../b?q=1#f", "https://good.com/b"),
            ("https://good.com./a", "https://good.com/a"),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://127.1:8080", "http://127.0.0.1:8080/"),
            ("http://017700000001", "http://127.0.0.1/"),
            ("http://[::ffff:10.0.0.1]/", "http://[::ffff:a00:1]/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://evil.com#good.com", "https://evil.com/"),
            ("https://evil.com?good.com", "https://evil.com/"),
            ("https://api.good.com.evil.com/", "https://api.good.com.evil.com/"),
            ("https://good.com/%2e%2e/a", "https://good.com/a"),
        ] {
            assert_eq!(request(text), judged, "{text}");
        }
    }

    #[test]
    fn a16_what_reads_as_another_host_is_no_address() {
        for text in [
            "",
            "good.com",
            "//good.com",
            "https://",
            "https:///a",
            "ftp://good.com",
            "file:///etc/passwd",
            "gopher://good.com",
            "data:text/plain,x",
            "javascript:x",
            "https://good.com@evil.com/",
            "https://user:secret@good.com/",
            "https://good.com\\@evil.com/",
            "https://good.com\t.evil.com/",
            "https://good.com\r\nHost: evil.com/",
            "https://good.com /",
            "https://good.com:0/",
            "https://good.com:99999/",
            "https://good.com../",
            "https://good..com/",
            "https://127.0.0.1../",
            "http:/\"/[::ff://[",
            "http:/good.com://",
            "https://good\"com/",
            "https://good.com!/",
            "https://@good.com/",
            "https://:@good.com/",
            "https://good$com/",
            "https://good\u{ad}.com/",
            "https://[fe80::1%25eth0]/",
            "https://good\u{202e}.com/",
            "http://1.2.3.4.5/",
            "http://256.1.1.1/",
        ] {
            assert!(Target::parse(text).is_err(), "{text:?}: {}", request(text));
        }
        assert!(!request("https://user:s3cret@good.com/").contains("s3cret"));
        assert!(Target::parse(&format!("https://a.com/{}", "a".repeat(9000))).is_err());
    }

    #[test]
    fn a_location_leads_on_from_where_it_was_said() {
        let from = Target::parse("https://a.com/b/c?d").unwrap();
        let to = |location: &str| from.join(location).map(|target| target.as_str().to_owned());
        assert_eq!(to("/x").unwrap(), "https://a.com/x");
        assert_eq!(to("x?y#z").unwrap(), "https://a.com/b/x?y");
        assert_eq!(to("//b.com").unwrap(), "https://b.com/");
        for bad in ["file:///etc/passwd", "https://u@b.com", "//@b.com", "\\\\b.com", "a\nb"] {
            assert!(to(bad).is_err(), "{bad:?}");
        }
        let beside = |location: &str| from.join(location).unwrap().is_beside(&from);
        assert!(beside("/x") && beside("https://a.com:443/"));
        assert!(!beside("http://a.com/b") && !beside("https://a.com:444/") && !beside("https://b.a.com/"));
    }
}
