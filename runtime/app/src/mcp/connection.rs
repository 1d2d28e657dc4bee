//! One connection to one server: its program or its address, the handshake, its tools, and the end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::capability::ServerName;
use acp_runtime_agent::plain;
use acp_runtime_agent::server::Reach;
use futures::future::BoxFuture;
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Uri};
use rmcp::model::{ErrorCode, PaginatedRequestParams, ProtocolVersion, ServerNotification, SubscriptionFilter, Tool};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, QuitReason, ServiceError, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{Peer, RoleClient};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::errors::ErrorLog;
use super::handler::{Handler, ProgressBoard};
use super::offer::TOOLS;
use super::reason;
use super::settings::Patience;
use crate::process::{Input, Launcher, Program, Running, StartError};

/// Bytes of one message from a server.
pub(super) const MESSAGE: usize = 8 << 20;
/// Pages that a list of tools may have.
const PAGES: usize = 64;
/// How long a program that has failed may take to end by itself, and one that is told to end to do so.
const FAREWELL: Duration = Duration::from_millis(250);
/// How long the last words to a server may take, and its program to end by itself when its input has ended. Where the
/// machine is busy that takes longer than it seems; the end of this process does not wait for it.
const PARTING: Duration = Duration::from_secs(1);

/// Connects servers.
pub(super) trait Connector: Send + Sync {
    /// Connects and asks for the tools, all within the patience that there is for it.
    fn connect<'a>(
        &'a self,
        server: &'a ServerName,
        reach: &'a Reach,
        patience: Patience,
    ) -> BoxFuture<'a, Result<(Connection, Vec<Tool>), Refusal>>;
}

/// What connections of a session are made with.
pub(super) struct Means {
    pub(super) launcher: Launcher,
    /// The session's folders, as URIs.
    pub(super) roots: Vec<String>,
    /// Where programs are started.
    pub(super) folder: PathBuf,
}

/// What calls need of a connection.
pub(super) struct Link {
    pub(super) peer: Peer<RoleClient>,
    pub(super) progress: Arc<ProgressBoard>,
    /// Told by a call that it does not work any more: an address that does not answer is seen there alone.
    pub(super) doubt: Notify,
    /// What its program writes beside messages; nothing of an address.
    pub(super) errors: ErrorLog,
}

/// A connection whose handshake is over.
pub(super) struct Connection {
    pub(super) link: Arc<Link>,
    changes: mpsc::Receiver<()>,
    /// Dropped, the connection ends.
    stop: DropGuard,
    served: Option<JoinHandle<Result<QuitReason, tokio::task::JoinError>>>,
    /// Its program; none where it has an address.
    process: Option<Running>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct Refusal {
    /// In a sentence without its end.
    pub(super) problem: String,
    /// What to do about it.
    pub(super) hint: String,
    /// Whether another attempt would end in the same way.
    pub(super) lasting: bool,
}

impl Refusal {
    /// So would every other attempt end.
    pub(super) fn lasting(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into(), lasting: true }
    }

    /// Another attempt may do better.
    pub(super) fn passing(problem: impl Into<String>) -> Self {
        let hint = "its words in the log may say more: `--log-level mcp=info`";
        Self { problem: problem.into(), hint: hint.to_owned(), lasting: false }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }
}

impl Connector for Means {
    fn connect<'a>(
        &'a self,
        server: &'a ServerName,
        reach: &'a Reach,
        patience: Patience,
    ) -> BoxFuture<'a, Result<(Connection, Vec<Tool>), Refusal>> {
        Box::pin(connect(server, reach, patience, self))
    }
}

async fn connect(
    server: &ServerName,
    reach: &Reach,
    patience: Patience,
    means: &Means,
) -> Result<(Connection, Vec<Tool>), Refusal> {
    let errors = ErrorLog::new(server.clone());
    let attempt = async {
        // Servers that know no handshake any more say so at once; those that do would not all answer to anything else.
        match open(server, reach, ClientLifecycleMode::Initialize, means, &errors).await {
            Err(Failure::NoHandshake) => {
                let modern = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
                open(server, reach, modern, means, &errors).await
            }
            outcome => outcome,
        }
    };
    match tokio::time::timeout(patience.start, attempt).await {
        Ok(Ok(connected)) => Ok(connected),
        Ok(Err(failure)) => Err(failure.explain(&errors).await),
        Err(_) => {
            Err(Refusal::passing(errors.quoted(format!("it did not answer within {} s", patience.start.as_secs()))))
        }
    }
}

#[derive(Debug)]
pub(super) enum Failure {
    Refused(Refusal),
    NoHandshake,
    Ended(ExitStatus),
    Handshake(Box<ClientInitializeError>),
    Tools(ServiceError),
}

impl Failure {
    async fn explain(self, errors: &ErrorLog) -> Refusal {
        if let Some(problem) = errors.flood() {
            return Refusal::passing(problem).hint("its author can make its messages smaller");
        }
        let refusal = match self {
            Self::Refused(refusal) => return refusal,
            Self::NoHandshake => return reason::no_version(None),
            Self::Ended(status) => Refusal::passing(ended_with(status)),
            Self::Handshake(error) => reason::of_handshake(&error),
            Self::Tools(error) => reason::of_tools(&error),
        };
        Refusal { problem: errors.last_words(refusal.problem).await, ..refusal }
    }
}

fn ended_with(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it ended with exit code {code}"),
        None => "it was killed".to_owned(),
    }
}

async fn open(
    server: &ServerName,
    reach: &Reach,
    lifecycle: ClientLifecycleMode,
    means: &Means,
    errors: &ErrorLog,
) -> Result<(Connection, Vec<Tool>), Failure> {
    let handler = |changes| {
        let progress = Arc::new(ProgressBoard::default());
        Handler { server: server.clone(), roots: means.roots.clone(), progress, changes }
    };
    match reach {
        Reach::Program { program, arguments, environment } => {
            let program = Program {
                arguments: arguments.clone(),
                environment: environment.clone(),
                input: Input::Piped,
                ..Program::new(program, &means.folder)
            };
            let mut running =
                means.launcher.start(program).await.map_err(|error| Failure::Refused(not_started(&error)))?;
            if let Some(output) = running.errors.take() {
                errors.read(output);
            }
            let (Some(output), Some(input)) = (running.output.take(), running.input.take()) else {
                return Err(Failure::Refused(Refusal::passing("its program has no input and output")));
            };
            let output = errors.watch(output);
            // Longer lines than ours end the output before they are left out.
            let transport = AsyncRwTransport::new_client(output.clone(), input).with_max_line_length(usize::MAX);
            let mut talk = pin!(async {
                let connection = handshake(handler, transport, lifecycle, errors).await?;
                let tools = tools(&connection.link.peer).await?;
                Ok((connection, tools))
            });
            let talked = tokio::select! {
                talked = &mut talk => talked,
                status = running.wait() => {
                    // What it has written may be on its way still, and says more than that it has ended.
                    drop(tokio::time::timeout(FAREWELL, talk).await);
                    Err(match status {
                        Ok(status) => Failure::Ended(status),
                        Err(error) => Failure::Refused(Refusal::passing(format!("it cannot be waited for: {error}"))),
                    })
                }
            };
            let failure = match talked {
                Ok((connection, tools)) => {
                    errors.understood();
                    return Ok((Connection { process: Some(running), ..connection }, tools));
                }
                // What ends its output is about to end; how says more than that it did.
                Err(Failure::Handshake(error)) if is_end(&error) => {
                    match tokio::time::timeout(FAREWELL, running.wait()).await {
                        Ok(Ok(status)) => Failure::Ended(status),
                        Ok(Err(_)) | Err(_) => Failure::Handshake(error),
                    }
                }
                Err(failure) => failure,
            };
            // One that was gone before it could be told anything was not heard out.
            if matches!(&failure, Failure::Ended(_)) || matches!(&failure, Failure::Handshake(error) if is_end(error)) {
                output.look_at_the_rest().await;
            }
            Err(failure)
        }
        Reach::Http { url, headers } => {
            let config = http_config(url, headers).map_err(Failure::Refused)?;
            let transport = StreamableHttpClientTransport::from_config(config);
            let connection = handshake(handler, transport, lifecycle, errors).await?;
            let tools = tools(&connection.link.peer).await?;
            Ok((connection, tools))
        }
        Reach::Unusable { problem, hint } => Err(Failure::Refused(Refusal::lasting(problem, hint))),
    }
}

/// Whether the server has gone, without a word of why.
fn is_end(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. })
}

fn not_started(error: &StartError) -> Refusal {
    match error {
        StartError::System { .. } => Refusal::passing(error.to_string()),
        StartError::NotFound(_) | StartError::NotExecutable(_) | StartError::NoFolder(_) => {
            Refusal::lasting(error.to_string(), error.hint())
        }
    }
}

fn http_config(url: &str, headers: &BTreeMap<String, String>) -> Result<StreamableHttpClientTransportConfig, Refusal> {
    check_address(url)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.custom_headers = headers.iter().map(|(name, value)| header(name, value)).collect::<Result<_, _>>()?;
    config.max_sse_event_size = MESSAGE;
    config.max_json_response_size = MESSAGE;
    Ok(config)
}

/// Whether a server can be asked at that address. It is not repeated, since it may hold a secret.
pub(super) fn check_address(url: &str) -> Result<(), Refusal> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let problem = match url.parse::<Uri>() {
        _ if !matches!(scheme.as_deref(), Some("http" | "https")) => "it does not begin with `http://` or `https://`",
        Err(_) => "it is no address",
        Ok(uri) => match uri.authority().map(Authority::as_str) {
            None | Some("") => "it names no host",
            Some(authority) if authority.contains('@') => "it has a name or a password in it",
            Some(_) => return Ok(()),
        },
    };
    Err(Refusal::lasting(
        format!("its address cannot be used: {problem}"),
        "write `https://HOST/PATH`, and secrets as `headers`",
    ))
}

/// A header to send. Its value is not repeated.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Refusal> {
    let pair = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
    let (Ok(header), Ok(mut value)) = pair else {
        let name = plain::line(name, 80);
        return Err(Refusal::lasting(format!("`{name}` in its headers is no header"), "correct its name or value"));
    };
    value.set_sensitive(true);
    Ok((header, value))
}

pub(super) async fn handshake<T, E, A>(
    handler: impl FnOnce(mpsc::Sender<()>) -> Handler,
    transport: T,
    lifecycle: ClientLifecycleMode,
    errors: &ErrorLog,
) -> Result<Connection, Failure>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (changed, changes) = mpsc::channel(1);
    let listens = lifecycle != ClientLifecycleMode::Initialize;
    let handler = handler(changed.clone());
    let progress = handler.progress.clone();
    let token = CancellationToken::new();
    let stop = token.clone().drop_guard();
    let service =
        serve_client_with_lifecycle_and_ct(handler, transport, lifecycle, token).await.map_err(refused_handshake)?;
    if let Some(version) = service.peer().peer_info().map(|info| info.protocol_version.clone())
        && !ProtocolVersion::KNOWN_VERSIONS.contains(&version)
    {
        return Err(Failure::Refused(reason::no_version(Some(std::slice::from_ref(&version)))));
    }
    let (peer, errors) = (service.peer().clone(), errors.clone());
    let link = Arc::new(Link { peer, progress, doubt: Notify::new(), errors });
    let served = Some(tokio::spawn(service.waiting()));
    if listens {
        tokio::spawn(listen(link.peer.clone(), changed));
    }
    Ok(Connection { link, changes, stop, served, process: None })
}

/// Servers that know no handshake tell of changes only those who listen.
async fn listen(peer: Peer<RoleClient>, changed: mpsc::Sender<()>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    // One that has no such news says so.
    let Ok(mut news) = peer.listen(filter).await else { return };
    while let Ok(Some(notification)) = news.next().await {
        if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
            // One that is waiting says as much as two.
            let _ = changed.try_send(());
        }
    }
}

fn refused_handshake(error: ClientInitializeError) -> Failure {
    match &error {
        ClientInitializeError::JsonRpcError(data)
            if [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION].contains(&data.code) =>
        {
            Failure::NoHandshake
        }
        _ => Failure::Handshake(Box::new(error)),
    }
}

/// All tools, page by page; none of a server that knows no tools.
pub(super) async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, Failure> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let mut page = PaginatedRequestParams::default();
        page.cursor = cursor;
        let page = match peer.list_tools(Some(page)).await {
            Ok(page) => page,
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => break,
            Err(error) => return Err(Failure::Tools(error)),
        };
        tools.extend(page.tools);
        cursor = page.next_cursor;
        // One more than can be offered is enough to say that there are too many.
        if cursor.is_none() || tools.len() > TOOLS {
            break;
        }
    }
    Ok(tools)
}

/// What a connection has to tell.
pub(super) enum News {
    /// The server's tools have changed.
    Tools,
    /// It is over; why, in a sentence without its end.
    Ended(String),
}

impl Connection {
    /// Waits for what happens next. Not to be asked again once it has ended.
    pub(super) async fn news(&mut self) -> News {
        let served = async {
            if let Some(served) = &mut self.served {
                // Why it ended does not matter, only that it did.
                drop(served.await);
            }
        };
        let Some(process) = &mut self.process else {
            return tokio::select! {
                Some(()) = self.changes.recv() => News::Tools,
                () = served => {
                    self.served = None;
                    News::Ended("the connection was closed".to_owned())
                }
            };
        };
        let status = tokio::select! {
            Some(()) = self.changes.recv() => return News::Tools,
            status = process.wait() => status.ok(),
            () = served => {
                self.served = None;
                // Whose message was too long, it waits for a reader.
                let patience = if self.link.errors.flood().is_some() { Duration::ZERO } else { FAREWELL };
                tokio::time::timeout(patience, process.wait()).await.ok().and_then(Result::ok)
            }
        };
        let end = status.map_or_else(|| "it closed its output".to_owned(), ended_with);
        News::Ended(match self.link.errors.flood() {
            Some(problem) => problem,
            None => self.link.errors.last_words(end).await,
        })
    }

    /// The server's tools now.
    pub(super) async fn tools(&self, patience: Patience) -> Result<Vec<Tool>, String> {
        match tokio::time::timeout(patience.start, tools(&self.link.peer)).await {
            Ok(Ok(tools)) => Ok(tools),
            Ok(Err(failure)) => Err(failure.explain(&ErrorLog::default()).await.problem),
            Err(_) => Err(format!("it did not tell of its tools within {} s", patience.start.as_secs())),
        }
    }

    /// Ends it: the server's input is closed, and a program that does not end then is killed with all that it started.
    pub(super) async fn close(self) {
        let Self { stop, served, process, .. } = self;
        drop(stop);
        let patience = Instant::now() + PARTING;
        if let Some(served) = served {
            // One that does not read its last message is killed below.
            let _ = tokio::time::timeout_at(patience, served).await;
        }
        if let Some(mut running) = process
            && tokio::time::timeout_at(patience, running.wait()).await.is_err()
            && let Err(error) = running.stop(FAREWELL).await
        {
            tracing::warn!("the program of an MCP server cannot be waited for: {error}");
        }
    }
}
