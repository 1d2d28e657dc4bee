//! Who asks: challenges, tokens, and who is given credentials.
//!
//! A registry answers with a challenge that names an address where tokens are given out. Credentials of the registry go
//! there where that is the registry's own host, a domain above it (`gitlab.com` for `registry.gitlab.com`), Docker
//! Hub's own, or a host that the configuration names; over TLS, or to the very port of a registry without it. Any other
//! address is asked without credentials, for a token that everybody can have.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use acp_runtime_agent::plain;
use acp_runtime_host::package::{SourceError, Unwatched};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use serde::Deserialize;
use url::{Host, Url, form_urlencoded};

use super::docker::{Credential, Credentials};
use super::http::{Answer, Http, Request, origin, shown};
use super::is_loopback;

/// What is to be done in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Access {
    Pull,
    Push,
}

/// What is asked for in a registry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking<'a> {
    /// As references name it.
    pub(super) registry: &'a str,
    pub(super) repository: &'a str,
    pub(super) access: Access,
}

impl Asking<'_> {
    fn scope(&self) -> String {
        let actions = match self.access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        format!("repository:{}:{actions}", self.repository)
    }
}

/// The tokens that were given out, and the credentials for more.
pub(super) struct Tokens {
    credentials: Credentials,
    hosts: BTreeSet<String>,
    known: Mutex<HashMap<(String, String), HeaderValue>>,
}

/// What a registry wants to know.
#[derive(Debug, PartialEq, Eq)]
enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

impl Tokens {
    pub(super) fn new(credentials: Credentials, hosts: BTreeSet<String>) -> Self {
        Self { credentials, hosts, known: Mutex::default() }
    }

    /// What is sent along without being asked for: what was right before.
    pub(super) fn known(&self, asking: Asking<'_>) -> Option<HeaderValue> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(asking.registry.to_owned(), asking.scope())).cloned()
    }

    /// What a registry that has answered 401 wants to be sent; none where there is nothing to send.
    pub(super) async fn answer(
        &self,
        http: &Http,
        asking: Asking<'_>,
        refusal: &Answer,
    ) -> Result<Option<HeaderValue>, SourceError> {
        let base = refusal.url().clone();
        let Some(challenge) = refusal.headers(WWW_AUTHENTICATE).find_map(read) else { return Ok(None) };
        let header = match challenge {
            Challenge::Basic => match self.credential(asking).await? {
                Some(Credential::Basic { user, password }) => Some(basic(&user, password.expose())),
                Some(Credential::Identity(_)) | None => None,
            },
            Challenge::Bearer { realm, service } => {
                Some(self.token(http, asking, &base, &realm, service.as_deref()).await?)
            }
        };
        if let Some(header) = &header {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert((asking.registry.to_owned(), asking.scope()), header.clone());
        }
        Ok(header)
    }

    async fn credential(&self, asking: Asking<'_>) -> Result<Option<Credential>, SourceError> {
        self.credentials.of(asking.registry).await.map_err(|problem| SourceError::Unauthorized {
            place: asking.registry.to_owned(),
            problem,
            hint: "see the Docker configuration (`~/.docker/config.json`), or log in anew with `docker login`"
                .to_owned(),
        })
    }

    async fn token(
        &self,
        http: &Http,
        asking: Asking<'_>,
        registry: &Url,
        realm: &str,
        service: Option<&str>,
    ) -> Result<HeaderValue, SourceError> {
        let refused = |problem: String, hint: String| SourceError::Unauthorized {
            place: format!("{}/{}", asking.registry, asking.repository),
            problem,
            hint,
        };
        let ask = || "ask whoever runs the registry".to_owned();
        let said = plain::line(realm, 120);
        let realm = Url::parse(realm)
            .map_err(|error| refused(format!("its token address `{said}` is none: {error}"), ask()))?;
        check_realm(registry, &realm).map_err(|problem| refused(problem, ask()))?;
        let credential = self.credential(asking).await?;
        let trusted = may_have_credentials(registry, &realm, &self.hosts);
        let withheld = credential.is_some() && !trusted;
        let request = token_request(&realm, service, &asking.scope(), credential.filter(|_| trusted));
        let answer = http.send(request, &Unwatched).await?;
        if answer.status() != StatusCode::OK {
            let host = realm.host_str().unwrap_or_default();
            let said = answer.complaint(&http.limits).await;
            let (why, hint) = if withheld {
                (
                    format!("it sends to `{host}` for a token, which was not given its credentials: {said}"),
                    format!("if `{host}` may have them, name it in `plugins.registry.token_hosts`"),
                )
            } else {
                (format!("`{}` gives out no token: {said}", shown(&realm)), "log in with `docker login`".to_owned())
            };
            return Err(refused(why, hint));
        }
        let body = answer.body("token", http.limits.token, &http.limits, &Unwatched).await?;
        let token = serde_json::from_slice::<Token>(&body)
            .ok()
            .and_then(|Token { token, access_token }| token.or(access_token));
        let header = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        let mut header = header.ok_or_else(|| refused(format!("`{}` gives out no token", shown(&realm)), ask()))?;
        header.set_sensitive(true);
        Ok(header)
    }
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

/// With a name and a password it is asked for as such; an identity token is exchanged (distribution specification, "Token
/// authentication" and "`OAuth2` token authentication").
fn token_request(realm: &Url, service: Option<&str>, scope: &str, credential: Option<Credential>) -> Request {
    if let Some(Credential::Identity(token)) = credential {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "refresh_token").append_pair("client_id", "acp-runtime");
        form.append_pair("scope", scope).append_pair("refresh_token", token.expose());
        service.into_iter().for_each(|service| {
            form.append_pair("service", service);
        });
        let mut request = Request::new(Method::POST, realm.clone());
        request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        request.body = Some(form.finish().into());
        return request;
    }
    let mut url = realm.clone();
    {
        let mut query = url.query_pairs_mut();
        service.into_iter().for_each(|service| {
            query.append_pair("service", service);
        });
        query.append_pair("scope", scope);
    }
    let mut request = Request::get(url);
    if let Some(Credential::Basic { user, password }) = credential {
        request.authorization = Some(basic(&user, password.expose()));
    }
    request
}

fn basic(user: &str, password: &str) -> HeaderValue {
    let text = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    // Base64 has no character that a header could not hold.
    let mut value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// An address where tokens are given out is one of the web, over TLS unless the registry is without.
fn check_realm(registry: &Url, realm: &Url) -> Result<(), String> {
    let address = shown(realm);
    match realm.scheme() {
        "https" => {}
        "http" if registry.scheme() == "http" && is_loopback(registry) == is_loopback(realm) => {}
        _ => return Err(format!("its token address `{address}` is not reached over TLS")),
    }
    if is_loopback(realm) && !is_loopback(registry) {
        return Err(format!("its token address `{address}` is on this machine"));
    }
    Ok(())
}

/// Whether an address may be given the credentials of a registry.
fn may_have_credentials(registry: &Url, realm: &Url, named: &BTreeSet<String>) -> bool {
    let (Some(host), Some(asker)) = (realm.host_str(), registry.host_str()) else { return false };
    let authority = realm.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    if named.contains(&authority) || (realm.port().is_none() && named.contains(host)) {
        return true;
    }
    if realm.scheme() != "https" {
        return origin(realm) == origin(registry);
    }
    let is_name = matches!(realm.host(), Some(Host::Domain(_)));
    // Whoever has the domain has all below it.
    let is_above = is_name && host.contains('.') && asker.strip_suffix(host).is_some_and(|below| below.ends_with('.'));
    let is_hub = asker == "registry-1.docker.io" && host == "auth.docker.io";
    host == asker || is_above || is_hub
}

/// Reads the first challenge of a header that is known.
fn read(header: &str) -> Option<Challenge> {
    let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let pairs = parameters(rest);
    let value =
        |name: &str| pairs.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone());
    Some(Challenge::Bearer { realm: value("realm")?, service: value("service") })
}

/// `a="b", c=d` (RFC 9110, 11.2): values are tokens or stand between quotes, where a backslash takes the next character
/// as it is.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(|c| *c == ',' || c.is_whitespace()).is_some() {}
        let mut key = String::new();
        while let Some(c) = characters.next_if(|c| *c != '=' && *c != ',') {
            key.push(c);
        }
        if characters.next_if_eq(&'=').is_none() {
            return pairs;
        }
        let mut value = String::new();
        if characters.next_if_eq(&'"').is_some() {
            while let Some(c) = characters.next() {
                match c {
                    '"' => break,
                    '\\' => value.extend(characters.next()),
                    c => value.push(c),
                }
            }
        } else {
            while let Some(c) = characters.next_if(|c| *c != ',' && !c.is_whitespace()) {
                value.push(c);
            }
        }
        pairs.push((key.trim().to_owned(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        for (header, expected) in [
            (
                "Bearer realm=\"https://a/t\",service=\"s\",scope=\"repository:x:pull\"",
                bearer("https://a/t", Some("s")),
            ),
            ("bearer service=s , realm=\"a,b\\\"c\"", bearer("a,b\"c", Some("s"))),
            ("Bearer scope=\"x\"", None),
            ("Bearer", None),
            ("Bearer realm=\"unfinished", bearer("unfinished", None)),
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("Negotiate abc", None),
            ("", None),
        ] {
            assert_eq!(read(header), expected, "{header}");
        }
    }

    #[test]
    fn credentials_go_to_their_own_host_and_to_those_above_it() {
        let named = BTreeSet::from(["auth.corp.example".to_owned(), "other.example:8443".to_owned()]);
        for (registry, realm, may) in [
            ("https://ghcr.io/v2/", "https://ghcr.io/token", true),
            ("https://git.example:5050/v2/", "https://git.example/jwt/auth", true),
            ("https://registry.gitlab.com/v2/", "https://gitlab.com/jwt/auth", true),
            ("https://registry-1.docker.io/v2/", "https://auth.docker.io/token", true),
            ("https://registry.example/v2/", "https://auth.docker.io/token", false),
            ("https://registry.example/v2/", "https://evil.example/token", false),
            ("https://registry.example/v2/", "https://example.evil/token", false),
            ("https://registry.example/v2/", "https://ample/token", false),
            ("https://myregistry.example/v2/", "https://registry.example/token", false),
            ("https://a.com/v2/", "https://com/token", false),
            ("https://gitlab.com/v2/", "https://registry.gitlab.com/token", false),
            ("https://10.0.0.1/v2/", "https://0.0.1/token", false),
            ("https://registry.example/v2/", "https://auth.corp.example/token", true),
            ("https://registry.example/v2/", "https://auth.corp.example:444/token", false),
            ("https://registry.example/v2/", "https://other.example:8443/token", true),
            ("https://registry.example/v2/", "https://other.example/token", false),
            ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5000/token", true),
            ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token", false),
            ("http://127.0.0.1:5000/v2/", "http://localhost:5000/token", false),
        ] {
            let (registry, realm) = (Url::parse(registry).unwrap(), Url::parse(realm).unwrap());
            assert_eq!(may_have_credentials(&registry, &realm, &named), may, "{registry} {realm}");
        }
    }

    #[test]
    fn tokens_are_not_fetched_from_worse_places() {
        for (registry, realm, may) in [
            ("https://a.example/", "https://b.example/t", true),
            ("https://a.example/", "http://a.example/t", false),
            ("https://a.example/", "https://127.0.0.1/t", false),
            ("https://a.example/", "ftp://a.example/t", false),
            ("http://127.0.0.1:1/", "http://localhost:2/t", true),
            ("http://127.0.0.1:1/", "http://a.example/t", false),
            ("http://lan.example/", "http://127.0.0.1/t", false),
            ("http://lan.example/", "http://lan.example/t", true),
        ] {
            let checked = check_realm(&Url::parse(registry).unwrap(), &Url::parse(realm).unwrap());
            assert_eq!(checked.is_ok(), may, "{registry} {realm}");
        }
    }
}
