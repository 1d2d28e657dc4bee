//! One connection for one request, to an address that was judged.
//!
//! Connections are not shared: none can carry what another plugin was allowed, and no name is looked up between the
//! judgement and the connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;

use super::{Reach, Target};
use crate::limits::NetLimits;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What encrypts connections: the system's certificates, read when they are needed first.
#[derive(Default)]
pub(super) struct Tls(OnceCell<Arc<ClientConfig>>);

impl Tls {
    async fn config(&self) -> Result<Arc<ClientConfig>, String> {
        let read = || async {
            let made = tokio::task::spawn_blocking(configure).await;
            made.map_err(|error| error.to_string())?.map(Arc::new).map_err(|error| error.to_string())
        };
        self.0.get_or_try_init(read).await.cloned()
    }
}

fn configure() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_platform_verifier()?.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A connection that ends when this is dropped.
pub(super) struct Connection {
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    pub(super) lead: Lead,
    /// How many headers of an answer are taken, and how many bytes of them.
    pub(super) headers: (usize, usize),
}

/// Whoever drives a connection, as long as this lives.
pub(super) struct Lead(AbortHandle);

impl Drop for Lead {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Connects to one of `addresses`, in their order, and speaks with the host of `target` there.
pub(super) async fn open(
    target: &Target,
    addresses: &[IpAddr],
    (reach, tls): (&dyn Reach, &Tls),
    net: &NetLimits,
) -> Result<Connection, String> {
    let stream = connect(target.port(), addresses, reach, net).await.map_err(|error| error.to_string())?;
    // What is sent is a request and then nothing for long.
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let stream: Box<dyn Stream> = if target.is_https() {
        let host = target.url().host_str().unwrap_or_default();
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(|error| error.to_string())?;
        let tls = TlsConnector::from(tls.config().await?);
        Box::new(tls.connect(name, stream).await.map_err(|error| error.to_string())?)
    } else {
        Box::new(stream)
    };
    begin(stream, net).await
}

/// Speaks HTTP over a stream.
pub(super) async fn begin(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    net: &NetLimits,
) -> Result<Connection, String> {
    let mut builder = http1::Builder::new();
    let headers = (net.answered.headers, net.answered.header_bytes);
    builder.max_headers(headers.0).max_header_size(headers.1);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("a connection ended: {error}");
        }
    });
    Ok(Connection { sender, lead: Lead(driver.abort_handle()), headers })
}

async fn connect(port: u16, addresses: &[IpAddr], reach: &dyn Reach, net: &NetLimits) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    for &address in addresses {
        match tokio::time::timeout(net.time.connect, reach.connect(SocketAddr::new(address, port))).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "no connection came about in time"),
        }
    }
    Err(last)
}
