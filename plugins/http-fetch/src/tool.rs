//! The tool.

use std::fmt::Write as _;

use acp_plugin::http::{Request, Response};
use acp_plugin::{Call, Error, ErrorKind, Outcome, Result, SideEffect, Tool, secrets};
use serde_json::Value;

/// The host that the token is for, and the token's handle.
const GITHUB: (&str, &str) = ("https://api.github.com/", "github-token");

/// Bytes of text that are shown.
const SHOWN: usize = 48 << 10;

/// Headers of an answer that say something of its content.
const TOLD: [&str; 6] = ["content-type", "etag", "last-modified", "link", "location", "retry-after"];

/// The arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpFetch {
    /// The address, such as `https://api.github.com/repos/rust-lang/rust`.
    url: String,
    /// The media type to ask for; `application/json` by default.
    #[serde(default)]
    accept: String,
    /// A JSON Pointer to the part of a JSON answer that is wanted, such as `/items/0/title`. By default all of it.
    #[serde(default)]
    pointer: String,
}

impl Tool for HttpFetch {
    const NAME: &str = "http-fetch";
    const TITLE: Option<&str> = Some("HTTP fetch");
    const DESCRIPTION: &str = "Gets what a web service answers at an https address: the status, the headers that matter, \
                               and the body, JSON laid out. For pages made for people use `fetch`.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Network];

    fn run(self, _call: &Call) -> Result<Outcome> {
        if !self.url.starts_with("https://") {
            return Err(Error::invalid_args(format_args!("`{}` does not begin with `https://`", self.url)));
        }
        let accept = if self.accept.is_empty() { "application/json" } else { &self.accept };
        let mut request = Request::get(&self.url).header("accept", accept);
        let (host, token) = GITHUB;
        if self.url.starts_with(host) && secrets::available(token)? {
            request = request.secret(token);
        }
        let answer = request.send()?;
        let mut text = head(&answer);
        let body = answer.bytes()?;
        text.push('\n');
        text.push_str(&self.shown(body)?);
        Ok(Outcome::text(text))
    }
}

/// The status, and the headers that say something.
fn head(answer: &Response) -> String {
    let mut text = format!("{}: status {}\n", answer.url(), answer.status());
    for name in TOLD {
        if let Some(value) = answer.header(name) {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    text
}

impl HttpFetch {
    fn shown(&self, body: Vec<u8>) -> Result<String> {
        let size = body.len();
        let text = String::from_utf8(body).map_err(|_| {
            Error::new(ErrorKind::Limit, format_args!("the answer is no text, but {size} bytes of data"))
        })?;
        let text = match serde_json::from_str::<Value>(&text) {
            Ok(json) => {
                let part = json.pointer(&self.pointer).ok_or_else(|| {
                    Error::not_found(format_args!("there is nothing at `{}` in the answer", self.pointer))
                })?;
                serde_json::to_string_pretty(part)?
            }
            Err(_) if self.pointer.is_empty() => text,
            Err(_) => return Err(Error::invalid_args("`pointer` needs an answer in JSON, and this is none")),
        };
        let end = text.floor_char_boundary(SHOWN);
        let Some(shown) = text.get(..end).filter(|shown| shown.len() < text.len()) else { return Ok(text) };
        Ok(format!("{shown}\n[{} of {} bytes are shown: name a part with `pointer`]", shown.len(), text.len()))
    }
}
