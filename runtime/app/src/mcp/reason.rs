//! Why a server cannot be asked, in plain words and with what to do: what the libraries say of it is for programmers.
//!
//! Nothing of an address is repeated but its host. What a server says is quoted shortly. Tested over the real binary.

use std::error::Error;
use std::io::{self, ErrorKind};

use acp_runtime_agent::plain;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::connection::Refusal;
use super::handler::LINE;

/// Characters of a server's own words.
const WORDS: usize = 200;
/// What to do where the address may lead to something else.
const CHECK: &str = "check its `url`: it must be the one for streamable HTTP";

/// The handshake failed.
pub(super) fn of_handshake(error: &ClientInitializeError) -> Refusal {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::JsonRpcError(error) => of_answer(error),
        ClientInitializeError::ConnectionClosed(_) => Refusal::passing("it closed its output without an answer"),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => no_server("it does not answer what it is asked"),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            no_version(Some(server_supported.as_slice()))
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_handshake(fallback),
        other => Refusal::passing(format!("the handshake failed: {}", root(other))),
    }
}

/// Its tools cannot be had.
pub(super) fn of_tools(error: &ServiceError) -> Refusal {
    let refusal = match error {
        ServiceError::TransportSend(error) => of_transport(error),
        error => Refusal::passing(of_call(error)),
    };
    Refusal { problem: format!("it does not tell of its tools: {}", refusal.problem), ..refusal }
}

/// A request was not answered; why, as the end of a sentence.
pub(super) fn of_call(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => said(error),
        ServiceError::TransportSend(error) => of_transport(error).problem,
        ServiceError::TransportClosed => "the connection was closed".to_owned(),
        ServiceError::UnexpectedResponse => "it answered something else than it was asked".to_owned(),
        other => root(other),
    }
}

/// It speaks these versions of the protocol, or none that it could say, and none of them is known here.
pub(super) fn no_version(spoken: Option<&[ProtocolVersion]>) -> Refusal {
    let list = |versions: &[ProtocolVersion]| {
        let versions: Vec<String> =
            versions.iter().take(8).map(|version| format!("`{}`", plain::line(version.as_str(), 40))).collect();
        versions.join(", ")
    };
    let spoken = spoken.filter(|spoken| !spoken.is_empty()).map_or_else(
        || "it speaks no version of the protocol that is known here".to_owned(),
        |spoken| format!("it speaks version {} of the protocol, which is not known here", list(spoken)),
    );
    let known = list(ProtocolVersion::KNOWN_VERSIONS);
    Refusal::lasting(spoken, format!("use a release of the server that speaks one of {known}"))
}

fn of_transport(error: &DynamicTransportError) -> Refusal {
    match (error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>(), error.error.downcast_ref::<io::Error>()) {
        (Some(error), _) => of_http(error),
        (None, Some(error)) => Refusal::passing(format!("it does not take what it is told: {}", root(error))),
        (None, None) => Refusal::passing(root(&*error.error)),
    }
}

fn of_http(error: &StreamableHttpError<reqwest::Error>) -> Refusal {
    match error {
        StreamableHttpError::Client(error) => of_request(error),
        StreamableHttpError::HttpStatus(error) => of_status(error.status, ""),
        StreamableHttpError::AuthRequired(_) => of_status(401, ""),
        StreamableHttpError::InsufficientScope(_) => of_status(403, ""),
        StreamableHttpError::SessionExpired => Refusal::passing("it has forgotten the session (HTTP 404)"),
        StreamableHttpError::UnexpectedServerResponse(text) => match status(text) {
            Some((status, says)) => of_status(status, says),
            None => no_server("what it answers is no message of the protocol"),
        },
        StreamableHttpError::Deserialize(_) => no_server("what it answers is no message of the protocol"),
        StreamableHttpError::UnexpectedContentType(Some(kind)) if kind.starts_with("text/html") => {
            no_server("it answers with a web page")
        }
        StreamableHttpError::UnexpectedContentType(Some(kind)) => {
            no_server(&format!("it answers with `{}`", plain::line(kind, 80)))
        }
        StreamableHttpError::UnexpectedContentType(None) => no_server("it does not say what its answer is"),
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            Refusal::passing(format!("its answer has more than {max_size} bytes"))
        }
        StreamableHttpError::ReservedHeaderConflict(name) => Refusal::lasting(
            format!("`{}` in its headers is one that the protocol sets by itself", plain::line(name, 80)),
            "leave it out",
        ),
        StreamableHttpError::ReinitializationFailed(error) => of_answer(error),
        StreamableHttpError::SessionRecoveryTimeout | StreamableHttpError::ControlRequestTimeout => {
            Refusal::passing("it did not answer in time")
        }
        StreamableHttpError::TransportChannelClosed => Refusal::passing("the connection was closed"),
        other => Refusal::passing(format!("the connection broke: {}", root(other))),
    }
}

/// There was no answer.
fn of_request(error: &reqwest::Error) -> Refusal {
    let host = error.url().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    let (name, place) = host.map_or_else(
        || ("its host".to_owned(), "its address".to_owned()),
        |(host, port)| (format!("`{}`", plain::line(host, 120)), format!("`{}:{port}`", plain::line(host, 120))),
    );
    let network = "check its `url`, and the network";
    if error.is_builder() {
        return Refusal::lasting("its address cannot be used", "write `https://HOST/PATH`");
    }
    if error.is_dns() {
        let problem = format!("the host {name} was not found ({})", root(error));
        return Refusal::passing(problem).hint(network);
    }
    let system = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    match system.map(io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => {
            Refusal::passing(format!("connection refused: nothing listens at {place}"))
                .hint("start it, or check its `url`")
        }
        Some(ErrorKind::TimedOut) => Refusal::passing(format!("{place} did not answer in time")).hint(network),
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown) => {
            Refusal::passing(format!("{place} cannot be reached: {}", root(error))).hint(network)
        }
        // The system's own errors have a number; what a library puts into its form is about the secure connection.
        Some(_) if error.is_connect() && system.is_some_and(|error| error.raw_os_error().is_none()) => {
            Refusal::passing(format!("no secure connection (TLS) with {place}: {}", root(error)))
                .hint("check whether it is `http://` or `https://`, its certificate, and `SSL_CERT_FILE`")
        }
        _ if error.is_timeout() => Refusal::passing(format!("{place} did not answer in time")).hint(network),
        _ => Refusal::passing(format!("{place} gave no answer: {}", root(error))).hint(CHECK),
    }
}

/// An answer without success, and what it says.
fn of_status(status: u16, says: &str) -> Refusal {
    let says = plain::line(says, WORDS);
    let says = if says.is_empty() || says.starts_with('<') { String::new() } else { format!(": {says}") };
    match status {
        401 => Refusal::lasting(
            "it asks for an authorization (HTTP 401)",
            "put one into the server's `headers`, such as `Authorization`",
        ),
        403 => Refusal::lasting(
            "it refuses the access (HTTP 403)",
            "check what the key in the server's `headers` is allowed to",
        ),
        300..=399 => Refusal::lasting(
            format!("it points to another address (HTTP {status}), which is not followed"),
            "write that address as its `url`",
        ),
        404 | 410 => Refusal::passing(format!("there is nothing at its address (HTTP {status})")).hint(CHECK),
        405 => Refusal::passing("it takes no messages at its address (HTTP 405)").hint(CHECK),
        429 => {
            Refusal::passing("it takes no more requests for now (HTTP 429)").hint("`/mcp restart NAME` tries it again")
        }
        500.. => Refusal::passing(format!("it has a problem of its own (HTTP {status}){says}"))
            .hint("its operator can see why; `/mcp restart NAME` tries it again"),
        _ => Refusal::passing(format!("it does not accept the request (HTTP {status}){says}")).hint(CHECK),
    }
}

/// It answers with an error.
fn of_answer(error: &ErrorData) -> Refusal {
    if error.message.to_ascii_lowercase().contains("protocol version") {
        let problem = format!("it does not speak our version of the protocol: {}", plain::line(&error.message, WORDS));
        let hint = no_version(None).hint;
        return Refusal::lasting(problem, hint);
    }
    Refusal::passing(format!("it refuses the handshake: {}", said(error)))
}

fn no_server(why: &str) -> Refusal {
    Refusal::passing(format!("this is no MCP server: {why}")).hint(CHECK)
}

fn said(error: &ErrorData) -> String {
    format!("error {}: {}", error.code.0, plain::line(&error.message, WORDS))
}

/// The status and the words of `HTTP 418 I'm a teapot: WORDS`.
fn status(text: &str) -> Option<(u16, &str)> {
    let rest = text.strip_prefix("HTTP ")?;
    let status = rest.get(..3)?.parse().ok()?;
    Some((status, rest.split_once(": ").map_or("", |(_, says)| says)))
}

/// The first cause: what is around it says only that something failed.
fn root(error: &(dyn Error + 'static)) -> String {
    let last = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    plain::line(&last, LINE)
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
