//! Requests to the hosts that the manifest asks for and that were granted. For any other host there is an error of kind
//! [`Denied`](crate::ErrorKind::Denied), and so there is for addresses that are not the public network's.
//!
//! ```
//! use acp_plugin::http::Request;
//! use acp_plugin::testing::Host;
//!
//! let host = Host::fresh();
//! host.put_page("https://api.example.com/v1/status", 200, "application/json", r#"{"up":true}"#);
//! let answer = Request::get("https://api.example.com/v1/status").send()?;
//! assert_eq!(answer.status(), 200);
//! let status: std::collections::BTreeMap<String, bool> = answer.json()?;
//! assert!(status["up"]);
//! # Ok::<(), acp_plugin::Error>(())
//! ```

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::imports;
use crate::bindings::imports::host::http as wire;
use crate::{Error, ErrorKind, Result};

/// Bytes that are asked for at once.
const PIECE: u32 = 256 << 10;

/// A request that is being put together.
#[derive(Debug, Clone)]
pub struct Request(wire::Request);

impl Request {
    /// A request with that method: `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE` or `OPTIONS`. It follows redirects.
    pub fn new(method: &str, url: &str) -> Self {
        Self(wire::Request {
            method: method.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            secrets: Vec::new(),
            follow_redirects: true,
            timeout_ms: None,
            extra: Vec::new(),
        })
    }

    /// A `GET`.
    pub fn get(url: &str) -> Self {
        Self::new("GET", url)
    }

    /// A `POST`.
    pub fn post(url: &str) -> Self {
        Self::new("POST", url)
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.0.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    /// With the secret of that handle, which the host puts where the manifest says.
    #[must_use]
    pub fn secret(mut self, handle: &str) -> Self {
        self.0.secrets.push(handle.to_owned());
        self
    }

    /// With that body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.0.body = body.into();
        self
    }

    /// With `value` as a body of JSON.
    pub fn json<T: Serialize>(self, value: &T) -> Result<Self> {
        Ok(self.header("content-type", "application/json").body(serde_json::to_vec(value)?))
    }

    /// With less time than the host's own limit.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.0.timeout_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// With redirects as answers of their own.
    #[must_use]
    pub fn without_redirects(mut self) -> Self {
        self.0.follow_redirects = false;
        self
    }

    /// Sends it, and waits for the head of the answer.
    pub fn send(&self) -> Result<Response> {
        Ok(Response(imports::http::send(&self.0)?))
    }
}

/// An answer, whose body is read when it is asked for: as a whole, or through [`io::Read`] piece by piece.
#[derive(Debug)]
pub struct Response(imports::http::Response);

impl Response {
    /// The status, such as 200.
    pub fn status(&self) -> u16 {
        self.0.status()
    }

    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status())
    }

    /// The address that answered, after redirects.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// All headers; names are in lower case.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        self.0.headers()
    }

    /// The first header of that name, as far as it is text.
    pub fn header(&self, name: &str) -> Option<String> {
        let headers = self.0.headers();
        let (_, value) = headers.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        String::from_utf8(value).ok()
    }

    /// The whole body.
    pub fn bytes(self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let piece = self.0.read(PIECE)?;
            if piece.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(&piece);
        }
    }

    /// The whole body as text.
    pub fn text(self) -> Result<String> {
        let url = self.url();
        String::from_utf8(self.bytes()?)
            .map_err(|_| Error::new(ErrorKind::Unreachable, format_args!("what `{url}` answers is no text")))
    }

    /// The whole body, as JSON.
    pub fn json<T: DeserializeOwned>(self) -> Result<T> {
        let url = self.url();
        serde_json::from_slice(&self.bytes()?).map_err(|error| {
            Error::new(ErrorKind::Unreachable, format_args!("what `{url}` answers cannot be understood: {error}"))
        })
    }
}

impl io::Read for Response {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let most = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let piece = self.0.read(most).map_err(|error| io::Error::other(Error::from(error)))?;
        for (place, byte) in buffer.iter_mut().zip(&piece) {
            *place = *byte;
        }
        Ok(piece.len())
    }
}
