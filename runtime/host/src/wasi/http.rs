//! `wasi:http`: requests of components that know nothing of `aar:host`, through the same gate and the same way out.
//!
//! They carry no secrets, and redirects are the component's own business: each is a request like any other.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{HeaderName, header};
use http_body_util::{BodyExt as _, Limited, StreamBody};
use hyper::body::Frame;
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};

use crate::egress::{Body, EgressError, Manner, Request, Target, may_be_sent};
use crate::limits::NetLimits;
use crate::state::Call;

/// What happens beside the request and its response: nothing.
type Beside = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// What comes back.
type Answer = Result<(http::Response<WasiBody>, Beside), Error>;

impl WasiHttpHooks for Call {
    /// `content-length` a component may say: its truth is looked after.
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        std::sync::Arc::new(|name: &HeaderName| !may_be_sent(name) && *name != header::CONTENT_LENGTH)
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Beside,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        let (desk, keeper) = (self.desks.net.clone(), self.keeper());
        Box::new(async move {
            let keeper = keeper.map_err(|_| Error::HttpRequestDenied)?;
            let (request, time) = (read(request, desk.limits()).await?, options.and_then(shortest));
            let sent = desk.send(&keeper, None, request, Manner { follows: false, time }).await.map_err(failed)?;
            let mut response = http::Response::builder().status(sent.status);
            if let Some(headers) = response.headers_mut() {
                *headers = sent.headers;
            }
            let response = response.body(streamed(sent.body)).map_err(|_| Error::HttpProtocolError)?;
            let beside: Beside = Box::new(async { Ok(()) });
            Ok((response, beside))
        })
    }
}

/// How long the component would wait for anything at all.
fn shortest(options: RequestOptions) -> Option<Duration> {
    [options.connect_timeout, options.first_byte_timeout, options.between_bytes_timeout].into_iter().flatten().min()
}

/// The request, once all of it is there.
async fn read(request: http::Request<WasiBody>, net: &NetLimits) -> Result<Request, Error> {
    let (head, body) = request.into_parts();
    let target = Target::parse(&head.uri.to_string()).map_err(failed)?;
    let mut read = Request::get(target).with_method(head.method.as_str()).map_err(failed)?;
    for (name, value) in head.headers.iter().filter(|(name, _)| *name != header::CONTENT_LENGTH) {
        read = read.with_header(name.as_str(), value.as_bytes(), net).map_err(failed)?;
    }
    let most = Request::room(net);
    let body = Limited::new(body, most).collect().await;
    let body = body.map_err(|_| Error::HttpRequestBodySize(u64::try_from(most).ok()))?;
    read.with_body(body.to_bytes(), net).map_err(failed)
}

fn streamed(body: Body) -> WasiBody {
    let pieces = stream::unfold(body, |mut body| async move {
        let piece = body.next().await.transpose()?;
        Some((piece.map(Frame::<Bytes>::data).map_err(failed), body))
    });
    StreamBody::new(pieces).boxed_unsync()
}

/// An error in WASI's words. Ours are in the log.
fn failed(error: EgressError) -> Error {
    tracing::debug!("a request of a plugin failed: {error}");
    match error {
        EgressError::Refused(_) | EgressError::Secret { .. } | EgressError::NoPermit(_) | EgressError::Redirect(_) => {
            Error::HttpRequestDenied
        }
        EgressError::Forbidden { .. } => Error::DestinationIpProhibited,
        EgressError::Address(_) => Error::HttpRequestUriInvalid,
        EgressError::Request(_) => Error::HttpRequestMethodInvalid,
        EgressError::Limit(_) => Error::HttpResponseBodySize(None),
        EgressError::TimedOut { .. } => Error::HttpResponseTimeout,
        EgressError::Unreachable { .. } => Error::DestinationUnavailable,
        EgressError::Answer { .. } => Error::HttpProtocolError,
    }
}
