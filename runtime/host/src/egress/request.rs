//! A request as somebody wants it sent: what is in it is checked when it is put there, so that none can say more than one
//! request does, or speak for the host.

use acp_runtime_agent::capability::{SecretPlace, SecretRight};
use acp_runtime_agent::plain;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::{EgressError, Target};
use crate::limits::NetLimits;
use crate::secrets::SecretText;

/// Headers that belong to the connection and its framing, or say who the request is for.
const FORBIDDEN: [HeaderName; 13] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::VIA,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("http2-settings"),
];

/// Headers that are for one host alone: another one that it redirects to does not get them.
const PRIVATE: [HeaderName; 3] = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION];

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// Whether a header is one that whoever asks may set.
pub(crate) fn may_be_sent(name: &HeaderName) -> bool {
    !FORBIDDEN.contains(name) && !name.as_str().starts_with("proxy-")
}

/// A checked request.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    secrets: Vec<Lent>,
}

/// A secret that is put into the request as it leaves.
#[derive(Debug, Clone)]
struct Lent {
    right: SecretRight,
    secret: SecretText,
}

impl Request {
    /// A `GET` without headers of its own.
    pub fn get(target: Target) -> Self {
        Self { method: Method::GET, target, headers: HeaderMap::new(), body: Bytes::new(), secrets: Vec::new() }
    }

    /// With that method: one of `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` and `OPTIONS`.
    pub fn with_method(mut self, method: &str) -> Result<Self, EgressError> {
        let known = METHODS.into_iter().find(|known| known.as_str() == method);
        self.method = known.ok_or_else(|| {
            let names: Vec<String> = METHODS.iter().map(ToString::to_string).collect();
            let shown = plain::line(method, 40);
            EgressError::Request(format!("`{shown}` is not a method that is sent: use one of `{}`", names.join("`, `")))
        })?;
        Ok(self)
    }

    /// With one more header.
    pub fn with_header(mut self, name: &str, value: &[u8], net: &NetLimits) -> Result<Self, EgressError> {
        let shown = plain::line(name, 80);
        let bad = |why: &str| EgressError::Request(format!("the header `{shown}` is not sent: {why}"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("its name is none"))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| bad("there are control characters in its value"))?;
        if !may_be_sent(&name) {
            return Err(bad("it belongs to the host and the connection"));
        }
        self.headers.try_append(name, value).map_err(|_| bad("there are too many"))?;
        let size: usize = self.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        let (most, most_bytes) = (net.sent.headers, net.sent.header_bytes);
        if self.headers.len() > most {
            return Err(EgressError::Limit(format!("more than {most} headers are not sent")));
        }
        if size > most_bytes {
            return Err(EgressError::Limit(format!("headers of {size} bytes are not sent; at most {most_bytes}")));
        }
        Ok(self)
    }

    /// Bytes that a body may have.
    pub(crate) fn room(net: &NetLimits) -> usize {
        net.sent.body
    }

    /// With that body.
    pub fn with_body(mut self, body: impl Into<Bytes>, net: &NetLimits) -> Result<Self, EgressError> {
        let body = body.into();
        let (size, most) = (body.len(), Self::room(net));
        if size > most {
            return Err(EgressError::Limit(format!("a body of {size} bytes is not sent; at most {most}")));
        }
        self.body = body;
        Ok(self)
    }

    /// With a secret, which is sent to its audience alone. It takes no place that is taken, so that what is sent there is
    /// known to be the secret and nothing else.
    pub(crate) fn with_secret(mut self, right: &SecretRight, secret: SecretText) -> Result<Self, EgressError> {
        let bad = |rule, why: String| EgressError::Secret { name: right.name.handle().to_owned(), rule, why };
        let to = self.target.request();
        if !right.audience.matches(&to) {
            return Err(bad("audience", format!("it is for `{}`, and the request goes to `{to}`", right.audience)));
        }
        let taken = match &right.place {
            SecretPlace::Header { name, .. } => self.headers.contains_key(name.as_str()),
            SecretPlace::Query(name) => self.target.url().query_pairs().any(|(taken, _)| taken == name.as_str()),
        };
        if taken || self.secrets.iter().any(|lent| lent.right.place == right.place) {
            return Err(bad("placement", "its place in the request is taken already".to_owned()));
        }
        self.secrets.push(Lent { right: right.clone(), secret });
        Ok(self)
    }

    /// Where it goes, with the secrets that stand there, and its headers with theirs.
    pub(super) fn laden(&self) -> Result<(Target, HeaderMap), EgressError> {
        let (mut target, mut headers) = (self.target.clone(), self.headers.clone());
        if let Some(Lent { right, .. }) = self.secrets.first().filter(|_| headers.contains_key(header::RANGE)) {
            return Err(EgressError::Secret {
                name: right.name.handle().to_owned(),
                rule: "range",
                why: "a part of an answer is asked for, and a secret could come back piece by piece".to_owned(),
            });
        }
        for Lent { right, secret } in &self.secrets {
            match &right.place {
                SecretPlace::Query(name) => {
                    target.url_mut().query_pairs_mut().append_pair(name, secret.expose());
                }
                SecretPlace::Header { name, prefix } => {
                    let bad = || EgressError::Secret {
                        name: right.name.handle().to_owned(),
                        rule: "unusable",
                        why: "there are characters in it that no header has".to_owned(),
                    };
                    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
                    let mut value = HeaderValue::try_from(format!("{prefix}{}", secret.expose())).map_err(|_| bad())?;
                    value.set_sensitive(true);
                    headers.insert(name, value);
                }
            }
        }
        Ok((target, headers))
    }

    /// Where it goes.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The request that a response leads to; none where it leads nowhere. Another host is told nothing that was for this
    /// one, and nothing goes from an encrypted connection to one that is not.
    pub(super) fn redirected(&self, status: StatusCode, headers: &HeaderMap) -> Result<Option<Self>, EgressError> {
        let keeps_method = match status {
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method != Method::POST,
            StatusCode::SEE_OTHER => self.method == Method::HEAD,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
            _ => return Ok(None),
        };
        let Some(location) = headers.get(header::LOCATION) else { return Ok(None) };
        let location = std::str::from_utf8(location.as_bytes())
            .map_err(|_| EgressError::Redirect("it redirects to what is no text".to_owned()))?;
        let target =
            self.target.join(location).map_err(|error| EgressError::Redirect(format!("it redirects: {error}")))?;
        if self.target.is_https() && !target.is_https() {
            let shown = target.request();
            return Err(EgressError::Redirect(format!("it redirects to `{shown}`, which is not encrypted")));
        }
        let mut next = self.clone();
        if !keeps_method {
            next.method = Method::GET;
            next.body = Bytes::new();
            next.headers.remove(header::CONTENT_TYPE);
        }
        if !target.is_beside(&self.target) {
            for name in PRIVATE {
                next.headers.remove(name);
            }
            next.secrets.clear();
        }
        next.secrets.retain(|lent| lent.right.audience.matches(&target.request()));
        next.target = target;
        Ok(Some(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str) -> Request {
        Request::get(Target::parse(url).unwrap())
    }

    #[test]
    fn a24_no_header_says_more_than_it_seems() {
        let limits = NetLimits::default();
        let with = |name: &str, value: &str| request("https://a.com").with_header(name, value.as_bytes(), &limits);
        for (name, value) in [
            ("x", "a\r\nHost: evil.com"),
            ("x", "a\nb"),
            ("x", "a\0b"),
            ("x\r\nHost", "evil.com"),
            ("x: y", "z"),
            ("", "z"),
            ("x y", "z"),
            ("Host", "evil.com"),
            ("HOST", "evil.com"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "5"),
            ("Connection", "upgrade"),
            ("Upgrade", "h2c"),
            ("Proxy-Authorization", "x"),
            ("Proxy-Connection", "x"),
            ("Proxy-Anything", "x"),
            ("TE", "trailers"),
            ("Expect", "100-continue"),
        ] {
            assert!(with(name, value).is_err(), "{name:?}: {value:?}");
        }
        assert!(matches!(with("x", &"a".repeat(1 << 20)), Err(EgressError::Limit(_))));
        let many = (0..100).try_fold(request("https://a.com"), |request, number| {
            request.with_header(&format!("x-{number}"), b"a", &limits)
        });
        assert!(matches!(many, Err(EgressError::Limit(_))));
        assert!(with("Accept", "text/html").is_ok() && with("X-Umlaut", "ü").is_ok());
        for method in ["CONNECT", "TRACE", "get", "GET / HTTP/1.1\r\nx:", ""] {
            assert!(request("https://a.com").with_method(method).is_err(), "{method:?}");
        }
        let body = vec![0; limits.sent.body + 1];
        assert!(matches!(request("https://a.com").with_body(body, &limits), Err(EgressError::Limit(_))));
    }

    #[test]
    fn a21_a_redirect_takes_nothing_along_that_was_for_one_host() {
        let limits = NetLimits::default();
        let sent = request("https://a.com/x").with_method("POST").unwrap().with_body("body", &limits).unwrap();
        let sent = sent.with_header("authorization", b"Bearer x", &limits).unwrap();
        let sent = sent.with_header("accept", b"text/html", &limits).unwrap();
        let follow = |status: u16, location: &str| {
            let headers = HeaderMap::from_iter([(header::LOCATION, HeaderValue::from_str(location).unwrap())]);
            sent.redirected(StatusCode::from_u16(status).unwrap(), &headers).map(|next| {
                next.map(|next| {
                    let mut names: Vec<&str> = next.headers.keys().map(HeaderName::as_str).collect();
                    names.sort_unstable();
                    format!("{} {} {} {}", next.method, next.target.as_str(), names.join(","), next.body.len())
                })
            })
        };
        for (status, location, next) in [
            (200, "/y", None),
            (304, "/y", None),
            (302, "/y", Some("GET https://a.com/y accept,authorization 0")),
            (303, "/y", Some("GET https://a.com/y accept,authorization 0")),
            (307, "/y", Some("POST https://a.com/y accept,authorization 4")),
            (308, "https://b.com/", Some("POST https://b.com/ accept 4")),
            (302, "https://a.com:444/", Some("GET https://a.com:444/ accept 0")),
        ] {
            assert_eq!(follow(status, location).unwrap().as_deref(), next, "{status} {location}");
        }
        for location in ["http://a.com/", "file:///etc/passwd", "https://u:p@b.com/", "\\\\b.com"] {
            assert!(matches!(follow(302, location), Err(EgressError::Redirect(_))), "{location}");
        }
    }
}
