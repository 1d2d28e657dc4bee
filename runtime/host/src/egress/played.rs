//! A network that is played: nothing leaves, and whoever plays answers each request as the server at its address.
//!
//! All that is before the wire is as ever: the gate, the limits, redirects, secrets and what keeps them out of answers.
//! Only names, addresses and encryption are left out. For the tests of plugins.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;

use super::Target;

/// Bytes on their way to the one side or to the other.
const ON_THE_WAY: usize = 64 << 10;

/// Plays all servers.
pub trait Play: Send + Sync {
    /// Answers a request, whose URI is whole. The error is for whoever plays: the asking side sees a host that it cannot
    /// reach.
    fn answer(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Result<http::Response<Bytes>, String>>;
}

/// A connection to the server of `target`. It ends with the side that is answered.
pub(super) fn connect(play: Arc<dyn Play>, target: &Target) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(ON_THE_WAY);
    let site = format!("{}://{}", target.url().scheme(), target.authority());
    tokio::spawn(async move {
        let serve = service_fn(|request| answer(&*play, &site, request));
        if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(theirs), serve).await {
            tracing::debug!("a played connection ended: {error}");
        }
    });
    ours
}

async fn answer(
    play: &dyn Play,
    site: &str,
    request: http::Request<Incoming>,
) -> Result<http::Response<Full<Bytes>>, io::Error> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    head.uri = format!("{site}{}", head.uri).parse().map_err(io::Error::other)?;
    let answer = play.answer(http::Request::from_parts(head, body)).await.map_err(io::Error::other)?;
    Ok(answer.map(Full::new))
}
