//! Requests to the network: the only place where what a plugin or a tool wants to send leaves.
//!
//! An address is read once, by one parser, and asked for at the gate, hop by hop. Its name is looked up once, every
//! address that it has is judged, and the connection goes to a judged one and nowhere else: a name that answers
//! differently the next time is not asked again. Nothing but the public network is reached, except this machine under
//! its own names, for which the right to that host and port was the person's. There are no proxies, no connections that
//! are shared, no cookies that are kept. All that is sent and answered is bounded (`NetLimits`). Knows nothing about
//! guests and tools. Tested in `tests/it/egress.rs` with a resolver that lies and servers that misbehave.

mod address;
mod body;
mod connection;
mod error;
mod played;
mod reach;
mod request;
mod target;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, NetRequest};
use acp_runtime_agent::gate::{Permit, Refusal};
use futures::future::BoxFuture;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::response::Parts;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Host;

pub use self::body::Body;
use self::body::Course;
use self::connection::{Connection, Tls};
pub use self::error::EgressError;
pub use self::played::Play;
pub use self::reach::{Reach, SystemReach};
pub use self::request::Request;
pub(crate) use self::request::may_be_sent;
pub use self::target::Target;
use crate::limits::NetLimits;
use crate::secrets::Filter;

/// Headers of a response that are about its connection.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("alt-svc"),
];

/// The way to the network. One for a process.
pub struct Egress(Way);

/// What is at the other end.
enum Way {
    /// The network.
    Network { reach: Arc<dyn Reach>, tls: Tls },
    /// Somebody who plays it.
    Played(Arc<dyn Play>),
}

/// Where one plugin's requests are sent from, or those of all native tools: its limits hold for all of them together.
pub struct Desk {
    egress: Arc<Egress>,
    net: NetLimits,
    turns: Arc<Semaphore>,
    /// Keeps out of answers what was sent.
    filter: Filter,
}

/// Who decides on each hop of a request.
pub trait Gatekeeper: Send + Sync {
    /// Asks the gate.
    fn admit(&self, effects: Vec<Effect>) -> BoxFuture<'_, Result<Permit, Refusal>>;

    /// What the gate has allowed is not done, by the rule that is named.
    fn undone(&self, effect: &Effect, by: &str);
}

/// What is wrong with the address that a request names: of no public network, and not this machine's. None where nothing
/// is, or where a name must be looked up for that.
pub fn why_never(request: &NetRequest) -> Option<&'static str> {
    let named = request.host.trim_start_matches('[').trim_end_matches(']');
    named.parse::<IpAddr>().ok().filter(|_| !request.is_local()).and_then(address::why_not)
}

/// How a request goes on.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Whether it follows redirects, each of which is decided on.
    pub follows: bool,
    /// How long it may take from its beginning to the last byte of the answer; at most as long as the limits say.
    pub time: Option<Duration>,
}

/// What came back.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Where it came from: the last hop.
    pub target: Target,
    /// Its headers, without those of the connection and of packing.
    pub headers: HeaderMap,
    /// What follows.
    pub body: Body,
}

impl Egress {
    /// The network, reached through `reach`. Opens nothing yet.
    pub fn new(reach: Arc<dyn Reach>) -> Arc<Self> {
        Arc::new(Self(Way::Network { reach, tls: Tls::default() }))
    }

    /// A network of which `play` is every server. Nothing leaves.
    pub fn played(play: Arc<dyn Play>) -> Arc<Self> {
        Arc::new(Self(Way::Played(play)))
    }

    /// A desk with these limits, from which no secrets are sent.
    pub fn desk(self: &Arc<Self>, net: NetLimits) -> Desk {
        self.desk_of(net, Filter::default())
    }

    /// A desk with these limits, whose answers go through `filter`.
    pub(crate) fn desk_of(self: &Arc<Self>, net: NetLimits, filter: Filter) -> Desk {
        Desk { egress: self.clone(), turns: Arc::new(Semaphore::new(net.requests)), net, filter }
    }

    /// Where the host is. One address that is not to be reached is enough to reach none.
    async fn addresses(reach: &dyn Reach, target: &Target, most: usize) -> Result<Vec<IpAddr>, EgressError> {
        let host = target.url().host_str().unwrap_or_default();
        let local = target.request().is_local();
        let mut found = match target.host() {
            Some(Host::Ipv4(address)) => vec![IpAddr::V4(address)],
            Some(Host::Ipv6(address)) => vec![IpAddr::V6(address)],
            // Whatever the resolver says of it, this name is this machine's.
            Some(Host::Domain(_)) if local => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            Some(Host::Domain(name)) => reach.resolve(name).await.map_err(|error| unreachable(host, &error))?,
            None => Vec::new(),
        };
        if found.is_empty() {
            return Err(unreachable(host, &"its name has no address"));
        }
        let forbidden = found.iter().find_map(|address| Some((*address, address::why_not(*address)?)));
        if let Some((address, why)) = forbidden.filter(|_| !local) {
            return Err(EgressError::Forbidden { host: host.to_owned(), address: address.to_string(), why });
        }
        found.truncate(most);
        Ok(found)
    }
}

impl Desk {
    /// The limits of its requests.
    pub fn limits(&self) -> &NetLimits {
        &self.net
    }

    /// Sends a request, hop by hop, and gives what comes back. `permit` is one for the first hop, where there is one
    /// already; `keeper` decides on all others. The time that it needs for that is not counted.
    pub async fn send(
        &self,
        keeper: &dyn Gatekeeper,
        permit: Option<&Permit>,
        mut request: Request,
        manner: Manner,
    ) -> Result<Response, EgressError> {
        let most = self.net.time.whole;
        let whole = manner.time.map_or(most, |time| time.min(most));
        let (mut left, mut hops, mut given) = (whole, 0, permit);
        loop {
            let effect = request.target.effect();
            if self.filter.finds(effect.key()) {
                // People would be asked about it, and it would be kept in the audit. In a redirect it is masked already.
                return Err(EgressError::Redirect("a secret is in the path or the host of an address".to_owned()));
            }
            let asked;
            let permit = if let Some(permit) = given.take() {
                permit
            } else {
                asked = keeper.admit(vec![effect.clone()]).await?;
                &asked
            };
            let end = Instant::now() + left;
            let sent = tokio::time::timeout_at(end, self.exchange(permit, &request, end, whole)).await;
            left = end.saturating_duration_since(Instant::now());
            let sent = sent
                .unwrap_or_else(|_| Err(EgressError::TimedOut { host: request.target.request().host, time: whole }));
            if let Err(EgressError::Forbidden { .. }) = sent {
                keeper.undone(&effect, "address");
            }
            let (head, body) = sent?;
            let next = if manner.follows { request.redirected(head.status, &head.headers)? } else { None };
            let Some(next) = next else {
                return Ok(Response {
                    status: head.status.as_u16(),
                    target: request.target,
                    headers: head.headers,
                    body,
                });
            };
            hops += 1;
            let most = self.net.redirects;
            if hops > most {
                return Err(EgressError::Redirect(format!("it redirects more than {most} times")));
            }
            request = next;
        }
    }

    /// One hop.
    async fn exchange(
        &self,
        permit: &Permit,
        request: &Request,
        end: Instant,
        time: Duration,
    ) -> Result<(Parts, Body), EgressError> {
        let target = &request.target;
        if !permit.covers(&target.effect()) {
            return Err(EgressError::NoPermit(target.request().to_string()));
        }
        let host = target.request().host;
        let turn = self.turns.clone().acquire_owned().await.map_err(|error| unreachable(&host, &error))?;
        let opened = match &self.egress.0 {
            Way::Network { reach, tls } => {
                let addresses = Egress::addresses(&**reach, target, self.net.addresses).await?;
                connection::open(target, &addresses, (&**reach, tls), &self.net).await
            }
            Way::Played(play) => connection::begin(played::connect(play.clone(), target), &self.net).await,
        };
        let Connection { mut sender, lead, headers } =
            opened.map_err(|reason| EgressError::Unreachable { host: host.clone(), reason })?;
        let answer = sender.send_request(written(request)?).await.map_err(|error| failed(&host, &error, headers))?;
        let (mut head, incoming) = answer.into_parts();
        let packed = unpack(&host, &mut head.headers, &incoming)?;
        for name in HOP_BY_HOP {
            head.headers.remove(name);
        }
        let names: Vec<HeaderName> = head.headers.keys().filter(|name| self.filter.finds(name)).cloned().collect();
        for name in names {
            head.headers.remove(name);
        }
        for value in head.headers.values_mut() {
            let clean = self.filter.bytes(value.as_bytes().to_vec());
            if clean != value.as_bytes() {
                *value = HeaderValue::from_bytes(&clean).unwrap_or_else(|_| HeaderValue::from_static("****"));
            }
        }
        let course = Course { host, end, time, lead, turn, filter: self.filter.stream() };
        Ok((head, Body::new(incoming, packed, course, &self.net)))
    }
}

/// Why there was no answer that fits, of which so many headers are taken, and so many bytes of them.
fn failed(host: &str, error: &hyper::Error, (most, bytes): (usize, usize)) -> EgressError {
    if error.is_parse_too_large() {
        return EgressError::Limit(format!(
            "the answer of `{host}` has more than {most} headers or {bytes} bytes of them"
        ));
    }
    if error.is_parse() {
        return EgressError::Answer { host: host.to_owned(), reason: error.to_string() };
    }
    unreachable(host, error)
}

/// The request as it is sent.
fn written(request: &Request) -> Result<http::Request<Full<bytes::Bytes>>, EgressError> {
    let (target, own) = request.laden()?;
    let bad =
        |error: http::Error| EgressError::Address(format!("`{}` cannot be sent: {error}", request.target.request()));
    let host = HeaderValue::try_from(target.authority()).map_err(|error| bad(error.into()))?;
    let mut written = http::Request::builder().method(request.method.clone()).uri(target.path_and_query());
    if let Some(headers) = written.headers_mut() {
        headers.insert(header::HOST, host);
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        let agent = HeaderValue::from_static(concat!("acp-runtime/", env!("CARGO_PKG_VERSION")));
        headers.insert(header::USER_AGENT, agent);
        for name in own.keys() {
            headers.remove(name);
        }
        for (name, value) in &own {
            headers.append(name, value.clone());
        }
        // What is packed in any other way could not be looked into.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    }
    written.body(Full::new(request.body.clone())).map_err(bad)
}

/// Whether the body is packed. What is said of the packing is no longer true once it is unpacked.
fn unpack(host: &str, headers: &mut HeaderMap, incoming: &Incoming) -> Result<bool, EgressError> {
    let packings: Vec<String> = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase())
        .filter(|packing| !packing.is_empty() && packing != "identity")
        .collect();
    match packings.as_slice() {
        [] => return Ok(false),
        [one] if one == "gzip" || one == "x-gzip" => {}
        others => {
            let packing = acp_runtime_agent::plain::line(&others.join(", "), 80);
            let reason = format!("it is packed as `{packing}`, which was not asked for");
            return Err(EgressError::Answer { host: host.to_owned(), reason });
        }
    }
    headers.remove(header::CONTENT_ENCODING);
    headers.remove(header::CONTENT_LENGTH);
    Ok(!incoming.is_end_stream())
}

fn unreachable(host: &str, reason: &dyn std::fmt::Display) -> EgressError {
    EgressError::Unreachable { host: host.to_owned(), reason: reason.to_string() }
}
