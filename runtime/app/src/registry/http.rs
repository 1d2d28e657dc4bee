//! Requests to peers that are not trusted: bounded, followed by hand, repeated where the peer is busy.

use std::sync::OnceLock;
use std::time::Duration;

use acp_runtime_agent::plain;
use acp_runtime_host::package::{PeerLimits, Progress, SourceError};
use futures::stream;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER, USER_AGENT};
use http::{Method, StatusCode};
use reqwest::{Body, Client, Response};
use tokio::sync::mpsc;
use url::Url;

use super::is_loopback;

/// Bytes of one piece of what is sent.
const PIECE: usize = 64 << 10;
/// Bytes of an answer that says why not.
const COMPLAINT: u64 = 8 << 10;
/// Characters of that which people are shown.
const SHOWN: usize = 200;

/// The way to peers. Nothing of it is there before the first request.
pub(super) struct Http {
    client: OnceLock<Result<Client, String>>,
    pub(super) limits: PeerLimits,
}

/// What is asked.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// Goes to the host of the address and to no other.
    pub(super) authorization: Option<HeaderValue>,
    pub(super) body: Option<bytes::Bytes>,
}

impl Request {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), authorization: None, body: None }
    }

    pub(super) fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// With one more header. What no header can hold is left out: only our own texts are put there.
    pub(super) fn header(mut self, name: http::HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(name, value);
        }
        self
    }
}

/// What came back, up to its body.
pub(super) struct Answer {
    response: Response,
    place: String,
    /// When no more of it is read.
    until: tokio::time::Instant,
}

impl Http {
    pub(super) fn new(limits: PeerLimits) -> Self {
        Self { client: OnceLock::new(), limits }
    }

    fn client(&self) -> Result<&Client, &str> {
        let open = || {
            let agent = HeaderValue::from_static(concat!("acp-runtime/", env!("CARGO_PKG_VERSION")));
            let client = Client::builder()
                .default_headers(HeaderMap::from_iter([(USER_AGENT, agent)]))
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .no_gzip()
                .connect_timeout(self.limits.connect);
            client.build().map_err(|error| innermost(&error))
        };
        self.client.get_or_init(open).as_ref().map_err(String::as_str)
    }

    /// Asks, follows redirects of what only reads, and asks again where the peer is busy. Whoever watches is told how much
    /// was sent.
    pub(super) async fn send(&self, request: Request, progress: &dyn Progress) -> Result<Answer, SourceError> {
        let mut pause = self.limits.pause;
        let mut attempt = 1;
        loop {
            let wanted = match self.follow(request.clone(), progress).await {
                Ok(answer) if !is_busy(answer.status()) || attempt >= self.limits.attempts => return Ok(answer),
                Ok(answer) => {
                    let asked = answer.header(RETRY_AFTER).and_then(|text| text.trim().parse().ok());
                    asked.map(|seconds| Duration::from_secs(seconds).min(self.limits.longest_pause))
                }
                Err(SourceError::Unreachable { .. }) if attempt < self.limits.attempts => None,
                Err(error) => return Err(error),
            };
            let jitter = pause.mul_f64(fastrand::f64() / 2.0);
            let pausing = wanted.unwrap_or(pause + jitter);
            tracing::debug!(place = %shown(&request.url), attempt, ?pausing, "asking again");
            tokio::time::sleep(pausing).await;
            pause = pause.saturating_mul(2).min(self.limits.longest_pause);
            attempt += 1;
        }
    }

    async fn follow(&self, mut request: Request, progress: &dyn Progress) -> Result<Answer, SourceError> {
        let place = shown(&request.url);
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        for hop in 0.. {
            let answer = self.once(&request, progress).await?;
            if !reads || !answer.status().is_redirection() || answer.status() == StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            let refused = |problem: String| SourceError::Refused {
                place: place.clone(),
                problem,
                hint: "ask whoever runs the registry".to_owned(),
            };
            if hop >= self.limits.redirects {
                return Err(refused(format!("it leads on and on, more than {} times", self.limits.redirects)));
            }
            let location = answer.header(LOCATION).unwrap_or_default();
            let next =
                request.url.join(location).map_err(|error| refused(format!("it leads to no address: {error}")))?;
            check_hop(&request.url, &next).map_err(refused)?;
            if origin(&next) != origin(&request.url) {
                request.authorization = None;
            }
            request.url = next;
        }
        // The loop has no other end.
        Err(SourceError::Unreachable { place, problem: "it leads nowhere".to_owned() })
    }

    async fn once(&self, request: &Request, progress: &dyn Progress) -> Result<Answer, SourceError> {
        let place = shown(&request.url);
        let unreachable = |problem: String| SourceError::Unreachable { place: place.clone(), problem };
        let client = self.client().map_err(|problem| unreachable(problem.to_owned()))?;
        let until = tokio::time::Instant::now() + self.limits.whole;
        let mut building = client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
        if let Some(authorization) = &request.authorization {
            building = building.header(AUTHORIZATION, authorization.clone());
        }
        let (told, mut sent) = mpsc::unbounded_channel();
        let patience = if let Some(body) = &request.body {
            building = building.header(CONTENT_LENGTH, body.len()).body(pieces(body.clone(), told));
            self.limits.whole
        } else {
            drop(told);
            self.limits.idle
        };
        let watching = async {
            while let Some(bytes) = sent.recv().await {
                progress.advance(bytes);
            }
            std::future::pending::<()>().await;
        };
        let response = tokio::select! {
            response = tokio::time::timeout(patience, building.send()) => response,
            () = watching => return Err(unreachable("nobody waits for it".to_owned())),
        };
        let response = response.map_err(|_| unreachable(format!("no answer within {} s", patience.as_secs())))?;
        let response = response.map_err(|error| unreachable(innermost(&error)))?;
        Ok(Answer { response, place, until })
    }
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// A header that is text.
    pub(super) fn header(&self, name: http::HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// All headers of that name that are text.
    pub(super) fn headers(&self, name: http::HeaderName) -> impl Iterator<Item = &str> {
        self.response.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok())
    }

    /// Where it came from, after all redirects.
    pub(super) fn url(&self) -> &Url {
        self.response.url()
    }

    /// The whole body, of at most `most` bytes, within the limits of time.
    pub(super) async fn body(
        mut self,
        what: &'static str,
        most: u64,
        limits: &PeerLimits,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>, SourceError> {
        let (place, whole, idle) = (self.place, limits.whole, limits.idle);
        let too_large = || SourceError::TooLarge { place: place.clone(), what, most };
        if self.response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        loop {
            let unreachable = |problem: String| SourceError::Unreachable { place: place.clone(), problem };
            let deadline = self.until.min(tokio::time::Instant::now() + idle);
            let piece = tokio::time::timeout_at(deadline, self.response.chunk()).await.map_err(|_| {
                let problem = if tokio::time::Instant::now() >= self.until {
                    format!("it was not there as a whole within {} s", whole.as_secs())
                } else {
                    format!("nothing more came for {} s, after {} bytes", idle.as_secs(), bytes.len())
                };
                unreachable(problem)
            })?;
            let broken =
                |error| unreachable(format!("it broke off after {} bytes: {}", bytes.len(), innermost(&error)));
            let Some(piece) = piece.map_err(broken)? else { return Ok(bytes) };
            if bytes.len() as u64 + piece.len() as u64 > most {
                return Err(too_large());
            }
            progress.advance(piece.len() as u64);
            bytes.extend_from_slice(&piece);
        }
    }

    /// What the peer says about a refusal: the first error of a registry's form, or the beginning of what it says.
    pub(super) async fn complaint(self, limits: &PeerLimits) -> String {
        let status = self.status();
        let limits = PeerLimits { whole: limits.idle, ..limits.clone() };
        let body = self.body("answer", COMPLAINT, &limits, &acp_runtime_host::package::Unwatched).await;
        let body = body.unwrap_or_default();
        let said = serde_json::from_slice::<serde_json::Value>(&body).ok().and_then(|said| {
            let error = said["errors"].get(0)?;
            let (code, message) = (error["code"].as_str()?, error["message"].as_str().unwrap_or_default());
            Some(format!("{code} {message}"))
        });
        let said = plain::line(&said.unwrap_or_default(), SHOWN);
        if said.is_empty() { format!("it answers {status}") } else { format!("it answers {status} ({said})") }
    }
}

/// Whether a peer may be asked the same again.
fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// A hop leads to the web and nowhere else, never out of TLS, and never from another machine to this one.
pub(super) fn check_hop(from: &Url, to: &Url) -> Result<(), String> {
    let shown = shown(to);
    match to.scheme() {
        "https" => {}
        "http" if from.scheme() == "http" => {}
        "http" => return Err(format!("it leads from TLS to plain HTTP (`{shown}`)")),
        _ => return Err(format!("it leads to `{shown}`, which is not the web")),
    }
    if is_loopback(to) && !is_loopback(from) {
        return Err(format!("it leads to this machine (`{shown}`)"));
    }
    if from.scheme() == "http" && to.scheme() == "http" && is_loopback(from) && !is_loopback(to) {
        return Err(format!("it leads to plain HTTP on another machine (`{shown}`)"));
    }
    Ok(())
}

/// Scheme, host and port: whom an address is one of.
pub(super) fn origin(url: &Url) -> (&str, Option<&str>, Option<u16>) {
    (url.scheme(), url.host_str(), url.port_or_known_default())
}

/// An address without what may be a secret.
pub(super) fn shown(url: &Url) -> String {
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let shown = format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path());
    plain::line(&shown, SHOWN)
}

fn pieces(body: bytes::Bytes, told: mpsc::UnboundedSender<u64>) -> Body {
    let pieces = stream::unfold((body, told), |(mut rest, told)| async move {
        if rest.is_empty() {
            return None;
        }
        let piece = rest.split_to(rest.len().min(PIECE));
        // Nobody has to listen.
        let _ = told.send(piece.len() as u64);
        Some((Ok::<_, std::io::Error>(piece), (rest, told)))
    });
    Body::wrap_stream(pieces)
}

/// The words of whatever failed first.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    plain::line(&innermost.to_string(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_leads_nowhere_worse() {
        for (from, to, is_right) in [
            ("https://a.example/x", "https://b.example/y", true),
            ("https://a.example/x", "http://a.example/x", false),
            ("https://a.example/x", "https://127.0.0.1/x", false),
            ("https://a.example/x", "https://[::1]/x", false),
            ("https://a.example/x", "https://localhost/x", false),
            ("https://a.example/x", "file:///etc/hosts", false),
            ("http://127.0.0.1:1/x", "http://localhost:2/x", true),
            ("http://127.0.0.1:1/x", "http://a.example/x", false),
            ("http://127.0.0.1:1/x", "https://a.example/x", true),
            ("http://lan.example/x", "http://127.0.0.1/x", false),
        ] {
            let hop = check_hop(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
            assert_eq!(hop.is_ok(), is_right, "{from} {to}: {hop:?}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        let url = Url::parse("https://me:pw@host.example:444/v2/a?sig=secret#x").unwrap();
        assert_eq!(shown(&url), "https://host.example:444/v2/a");
    }
}
