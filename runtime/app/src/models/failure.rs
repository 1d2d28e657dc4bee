//! What went wrong with a provider, as a [`ModelError`] that says what to do.
//!
//! Messages name the provider and quote it shortly and cleanly (`Redaction::quote`).

use std::string::FromUtf8Error;
use std::time::Duration;

use acp_runtime_agent::model::{ModelError, ModelErrorKind};
use genai::webc::StreamTimeout;
use http::HeaderMap;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::flow::{Broken, TooMuch};
use super::keys::KeyPlace;
use super::overflow;
use crate::redaction::Redaction;

/// What messages about one model of a provider need to know.
pub(super) struct Failures {
    pub(super) provider: String,
    pub(super) model: String,
    /// Whether the provider was found by the model's name alone.
    pub(super) found: bool,
    pub(super) endpoint: String,
    pub(super) redaction: Redaction,
}

impl Failures {
    /// Why an answer goes no further. `began` tells whether it had begun.
    pub(super) fn translate(&self, broken: Broken, began: bool) -> ModelError {
        match broken {
            Broken::Genai(error, event) => self.of_genai(error, event.as_deref(), began),
            Broken::Early(event) => self.without_end(event.as_deref(), |event| self.cut(began, event)),
            Broken::Badly(event) => self.without_end(event.as_deref(), |_| self.no_stop_reason()),
            Broken::Malformed(reason) => self.malformed(&reason),
            Broken::TooMuch(too_much) => self.too_much(too_much),
            Broken::Silent => self.timeout(StreamTimeout::Read),
        }
    }

    /// `event` is the one that `genai` has made the error of, if it was made of one.
    fn of_genai(&self, error: genai::Error, event: Option<&Value>, began: bool) -> ModelError {
        use genai::Error as Genai;
        match error {
            Genai::WebStream { error, .. } => match error.downcast::<Genai>() {
                Ok(inner) => self.of_genai(*inner, event, began),
                Err(error) => match (error.downcast_ref::<StreamTimeout>(), error.downcast_ref::<FromUtf8Error>()) {
                    (Some(timeout), _) => self.timeout(*timeout),
                    (_, Some(_)) => self.malformed("bytes that are no text"),
                    (None, None) => self.broken(&root(error.as_ref()).to_string(), began),
                },
            },
            Genai::HttpError { status, body, headers, .. } => self.http(status.as_u16(), &body, &headers),
            Genai::ChatResponse { body, .. } => self.in_stream(&body),
            // Of a failed response `genai` only keeps its message.
            Genai::StreamParse { serde_error, .. } => match event.and_then(failed_response) {
                Some(failed) => self.in_stream(failed),
                None => self.malformed(&serde_error.to_string()),
            },
            Genai::JsonValueExt(error) if event.is_some() => self.malformed(&error.to_string()),
            Genai::SerdeJson(error) if event.is_some() => self.malformed(&error.to_string()),
            other => self.error(
                ModelErrorKind::Request,
                format!("the request to `{}` cannot be made: {}", self.provider, self.quote(&other.to_string())),
            ),
        }
    }

    /// An answer without success.
    fn http(&self, status: u16, body: &str, headers: &HeaderMap) -> ModelError {
        let Self { provider, model, endpoint, .. } = self;
        let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        let says = self.says(&body);
        let out_of_credit = code(&body).is_some_and(|code| code == "insufficient_quota");
        let (kind, text) = match status {
            300..=399 => (
                ModelErrorKind::Request,
                format!(
                    "`{provider}` points to another address (HTTP {status}), which is never followed; write the right \
                     `base_url` into `[providers.{provider}]`"
                ),
            ),
            // The provider's words may hold parts of the key.
            401 => {
                (ModelErrorKind::Auth, format!("`{provider}` wants an API key; set one in `[providers.{provider}]`"))
            }
            403 => (
                ModelErrorKind::Auth,
                format!("`{provider}` does not let this API key use `{model}`{says}; check the account's rights"),
            ),
            404 => (
                ModelErrorKind::Request,
                format!(
                    "`{provider}` does not know the model `{model}` at `{endpoint}`{says}; check `model` and \
                         `base_url` in `[providers.{provider}]`{}",
                    self.found_by_name()
                ),
            ),
            429 if out_of_credit => (
                ModelErrorKind::Request,
                format!("the account at `{provider}` has no credit left{says}; add some, or choose another model"),
            ),
            429 => (
                ModelErrorKind::RateLimit,
                format!("`{provider}` refuses more requests for now{says}; try again later"),
            ),
            408 | 409 | 500.. => (
                ModelErrorKind::Overloaded,
                format!("`{provider}` has a problem of its own (HTTP {status}){says}; try again later"),
            ),
            400 | 413 | 422 if overflow::says(&body) => (ModelErrorKind::ContextOverflow, self.too_long(&says)),
            _ => (
                ModelErrorKind::Request,
                format!(
                    "`{provider}` does not accept the request for `{model}` (HTTP {status}){says}; change it, or check \
                     `[providers.{provider}]`"
                ),
            ),
        };
        let retry_after = retry_after(headers).or_else(|| retry_delay(&body));
        ModelError { status: Some(status), retry_after, ..self.error(kind, text) }
    }

    /// An error that came as an event of the answer.
    fn in_stream(&self, body: &Value) -> ModelError {
        if overflow::says(body) {
            return self.error(ModelErrorKind::ContextOverflow, self.too_long(&self.says(body)));
        }
        let kind = match code(body).as_deref() {
            Some("authentication_error" | "permission_error" | "invalid_api_key" | "401" | "403") => {
                ModelErrorKind::Auth
            }
            Some("rate_limit_error" | "rate_limit_exceeded" | "429") => ModelErrorKind::RateLimit,
            Some(
                "invalid_request_error"
                | "not_found_error"
                | "billing_error"
                | "insufficient_quota"
                | "invalid_prompt"
                | "model_not_found"
                | "400"
                | "404"
                | "413",
            ) => ModelErrorKind::Request,
            _ => ModelErrorKind::Overloaded,
        };
        let advice = match kind {
            ModelErrorKind::Auth => format!("check the key in `[providers.{}]`", self.provider),
            ModelErrorKind::RateLimit => "try again later".to_owned(),
            ModelErrorKind::Request => "change the prompt, or choose another model".to_owned(),
            _ => "send the prompt again to go on".to_owned(),
        };
        let says = self.says(body);
        self.error(kind, format!("`{}` gave up on the answer{says}; {advice}", self.provider))
    }

    /// The conversation is longer than the model's window.
    fn too_long(&self, says: &str) -> String {
        format!(
            "the conversation is longer than what `{}` of `{}` takes in{says}; send less at once, begin a new session, or \
             choose a model with a larger window",
            self.model, self.provider
        )
    }

    /// An answer has no end. Its latest event may say why; else it is what `otherwise` makes of that event.
    fn without_end(&self, event: Option<&Value>, otherwise: impl FnOnce(Option<&Value>) -> ModelError) -> ModelError {
        let says = |event: &&Value| event.get("error").is_some_and(|error| !error.is_null());
        match event.and_then(|event| Some(event).filter(says).or_else(|| failed_response(event))) {
            Some(failed) => self.in_stream(failed),
            None => otherwise(event),
        }
    }

    /// Whether the provider refuses to tell what the model thinks: of a model that does not think, or to an account
    /// that has not shown who it is.
    pub(super) fn are_thoughts_refused(error: &ModelError) -> bool {
        let message = error.message.to_ascii_lowercase();
        let words = ["reasoning summar", "reasoning.summary", "encrypted content", "thinking is not"];
        error.status == Some(400) && words.iter().any(|words| message.contains(words))
    }

    fn timeout(&self, timeout: StreamTimeout) -> ModelError {
        let (what, setting) = match timeout {
            StreamTimeout::Headers => ("has not begun to answer", "response_secs"),
            StreamTimeout::Read => ("has stopped in the middle of its answer, and sent nothing more", "silence_secs"),
        };
        let text = format!(
            "`{0}` {what} within the seconds of `timeouts.{setting}`; try again, or set more of them in \
             `[providers.{0}]` if the model is slow",
            self.provider
        );
        self.error(ModelErrorKind::Network, text)
    }

    fn broken(&self, reason: &str, began: bool) -> ModelError {
        let Self { provider, endpoint, .. } = self;
        let unreached = Unreached::of(reason);
        let reason = self.quote(reason);
        if began {
            let text = format!(
                "the connection to `{provider}` broke in the middle of the answer ({reason}); send the prompt again"
            );
            return self.error(ModelErrorKind::Network, text);
        }
        let (kind, advice) = match unreached {
            Unreached::Untrusted => (
                ModelErrorKind::Certificate,
                "if it is the right server, name a file with its authority in the environment variable \
                 `SSL_CERT_FILE`",
            ),
            Unreached::NoTls => (ModelErrorKind::Certificate, "write `http://` in `base_url` if it speaks no TLS"),
            Unreached::NoName => (ModelErrorKind::Network, "check the host's name in `base_url`, and the network"),
            Unreached::Closed => {
                (ModelErrorKind::Network, "see that the server, or the proxy before it, runs and listens there")
            }
            Unreached::Proxy => {
                (ModelErrorKind::Network, "check the environment variables `HTTPS_PROXY` and `HTTP_PROXY`")
            }
            Unreached::Unanswered => {
                (ModelErrorKind::Network, "try again, and see what the server, or the proxy before it, says of that")
            }
            Unreached::Otherwise => (ModelErrorKind::Network, "check `base_url` and the network"),
        };
        let found = self.found_by_name();
        let what =
            if matches!(unreached, Unreached::Unanswered) { "has closed the connection" } else { "cannot be reached" };
        self.error(kind, format!("`{provider}` {what} at `{endpoint}` ({reason}); {advice}{found}"))
    }

    /// Why this provider was asked, where nobody has named it.
    fn found_by_name(&self) -> String {
        if !self.found {
            return String::new();
        }
        format!(
            ", or name another model: no configured provider has `{}`, so `{}` was asked",
            self.model, self.provider
        )
    }

    pub(super) fn too_much(&self, too_much: TooMuch) -> ModelError {
        let text = format!(
            "`{0}` sends what no model's answer has: {too_much}; check `wire` and `base_url` in `[providers.{0}]`",
            self.provider
        );
        self.error(ModelErrorKind::Malformed, text)
    }

    /// The answer ended without saying so. Nothing at all is no answer; `event` is the latest of one.
    fn cut(&self, began: bool, event: Option<&Value>) -> ModelError {
        if began || event.is_some() {
            return self.broken("it ended early", true);
        }
        let text = format!(
            "`{0}` answered at `{1}` with something else than a model's answer; check `wire` and `base_url` in \
             `[providers.{0}]`",
            self.provider, self.endpoint
        );
        self.error(ModelErrorKind::Malformed, text)
    }

    /// Something in the answer is not what the wire format says.
    fn malformed(&self, reason: &str) -> ModelError {
        let text = format!(
            "`{0}` sent what its wire format does not allow ({1}); check `wire` in `[providers.{0}]`, or send the \
             prompt again",
            self.provider,
            self.quote(reason)
        );
        self.error(ModelErrorKind::Malformed, text)
    }

    fn no_stop_reason(&self) -> ModelError {
        self.malformed("an answer that ends without a reason")
    }

    pub(super) fn odd_stop(&self, reason: &str) -> ModelError {
        self.malformed(&format!("an answer that ends with the reason `{reason}`"))
    }

    /// The answer is complete and says nothing.
    pub(super) fn empty(&self) -> ModelError {
        let text = format!("`{}` answered with neither text nor a tool call; send the prompt again", self.provider);
        self.error(ModelErrorKind::Empty, text)
    }

    /// None of the places has a key.
    pub(super) fn no_key(&self, places: &[KeyPlace]) -> ModelError {
        let text = format!("{}; {}", self.keyless(), self.ways_to_a_key(places));
        self.error(ModelErrorKind::Auth, text)
    }

    /// That there is no key, as a sentence without its end.
    pub(super) fn keyless(&self) -> String {
        format!("`{}` needs an API key and none is set", self.provider)
    }

    /// What to do where there is none.
    pub(super) fn ways_to_a_key(&self, places: &[KeyPlace]) -> String {
        let provider = &self.provider;
        let mut ways: Vec<String> = places
            .iter()
            .filter_map(|place| match place {
                KeyPlace::Command(_) => None,
                KeyPlace::Variable(name) => Some(format!("set the environment variable `{name}`")),
                KeyPlace::Kept(_) => Some(format!("run `acp-runtime login {provider}`")),
            })
            .rev()
            .collect();
        ways.push(format!("set `api_key` in `[providers.{provider}]`"));
        ways.join(", or ")
    }

    /// There may be a key, but it cannot be fetched.
    pub(super) fn key_out_of_reach(&self, reason: &str) -> ModelError {
        let text = format!("the API key of `{}` cannot be fetched ({})", self.provider, self.quote(reason));
        self.error(ModelErrorKind::Auth, text)
    }

    /// The message for a key that is not accepted. The provider's words may hold parts of it.
    pub(super) fn refused_key(&self, place: Option<&KeyPlace>) -> String {
        let provider = &self.provider;
        let (from, advice) = match place {
            None => (format!("`api_key` in `[providers.{provider}]`"), "set a valid one there".to_owned()),
            Some(place @ KeyPlace::Kept(_)) => {
                (place.described(), format!("run `acp-runtime login {provider}` with a valid one"))
            }
            Some(place @ (KeyPlace::Command(_) | KeyPlace::Variable(_))) => {
                (place.described(), "set a valid one there".to_owned())
            }
        };
        format!("`{provider}` does not accept the API key from {from}; {advice}")
    }

    pub(super) fn no_client(&self, reason: &str) -> ModelError {
        let reason = self.quote(reason);
        let text = format!("HTTP cannot be set up ({reason}); check the proxy and certificate variables");
        self.error(ModelErrorKind::Network, text)
    }

    fn error(&self, kind: ModelErrorKind, message: String) -> ModelError {
        ModelError { message, kind, provider: self.provider.clone(), status: None, retry_after: None }
    }

    /// The provider's own words as a part of a sentence, where there are any.
    fn says(&self, body: &Value) -> String {
        let text = words(body).map(|text| self.quote(text)).unwrap_or_default();
        if text.is_empty() { text } else { format!(": {text}") }
    }

    fn quote(&self, text: &str) -> String {
        self.redaction.quote(text)
    }
}

/// What an error body says to people.
pub(super) fn words(body: &Value) -> Option<&str> {
    ["/error/message", "/message", "/error", ""].into_iter().find_map(|path| body.pointer(path).and_then(Value::as_str))
}

/// The word or number that classifies an error body; providers nest it differently.
pub(super) fn code(body: &Value) -> Option<String> {
    ["/error/code", "/error/type", "/code", "/type"].into_iter().filter_map(|path| body.pointer(path)).find_map(
        |value| match value {
            Value::String(word) if word != "error" => Some(word.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        },
    )
}

/// `Retry-After` in seconds or as a date, or `retry-after-ms`.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTimeParser::new().parse_timestamp(after).ok()?;
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or_default())
}

/// Google's `RetryInfo`, which has the time that it asks for in the body: `"34s"`, or `"0.5s"`.
fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.pointer("/error/details").and_then(Value::as_array)?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// The object with the `error` of a response that has failed, in an event of the Responses format.
fn failed_response(event: &Value) -> Option<&Value> {
    event.get("response").filter(|response| response.get("error").is_some_and(|error| !error.is_null()))
}

/// Why a connection did not come about. Its layers have no types in common, so it is told by their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreached {
    /// The server's certificate is not accepted.
    Untrusted,
    /// The server does not speak TLS.
    NoTls,
    /// Its name has no address.
    NoName,
    /// Nobody listens.
    Closed,
    /// The way through the proxy is closed.
    Proxy,
    /// Somebody listens, and has gone away without an answer.
    Unanswered,
    /// Something else.
    Otherwise,
}

impl Unreached {
    fn of(reason: &str) -> Self {
        let reason = reason.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
        if has(&["certificate", "unknownissuer", "notvalidforname"]) {
            Self::Untrusted
        } else if has(&["corrupt message", "invalidcontenttype"]) {
            Self::NoTls
        } else if has(&["lookup address", "dns error", "name or service", "no such host"]) {
            Self::NoName
        } else if has(&["proxy", "tunnel"]) {
            Self::Proxy
        } else if has(&["refused"]) {
            Self::Closed
        } else if has(&["before message completed", "connection reset", "broken pipe"]) {
            Self::Unanswered
        } else {
            Self::Otherwise
        }
    }
}

/// The first cause: what is around it says only that something failed.
fn root<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn failures() -> Failures {
        let redaction = Redaction::default();
        redaction.learn(&Secret::new("sk-secret"));
        let (provider, model, endpoint) = ("lab".to_owned(), "m".to_owned(), "http://lab/".to_owned());
        Failures { provider, model, found: false, endpoint, redaction }
    }

    #[test]
    fn a_providers_words_are_found_wherever_they_are() {
        let failures = failures();
        for (body, says) in [
            (r#"{"error":{"message":"a","code":"x"}}"#, ": a"),
            (r#"{"message":"b sk-secret"}"#, ": b ****"),
            (r#"{"error":"c"}"#, ": c"),
            (r#""<html>d</html>""#, ": <html>d</html>"),
            (r#"{"detail":[1]}"#, ""),
            ("[]", ""),
        ] {
            assert_eq!(failures.says(&serde_json::from_str(body).unwrap()), says, "{body}");
        }
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        let read = |name: &'static str, value: &str| {
            retry_after(&HeaderMap::from_iter([(http::HeaderName::from_static(name), value.parse().unwrap())]))
        };
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(read("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(read("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        let later = read("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT").unwrap();
        assert!(later > Duration::from_secs(3600), "{later:?}");
        assert_eq!(read("retry-after", "soon"), None);
        assert_eq!(read("retry-after", "-5"), None);
    }

    #[test]
    fn googles_body_says_when_to_come_back() {
        for (delay, wait) in [("34s", Some(34_000)), ("0.5s", Some(500)), ("soon", None), ("-1s", None), ("nans", None)]
        {
            let details = serde_json::json!([{ "@type": "Help" }, { "@type": "RetryInfo", "retryDelay": delay }]);
            let body = serde_json::json!({ "error": { "code": 429, "details": details } });
            assert_eq!(retry_delay(&body), wait.map(Duration::from_millis), "{delay}");
        }
        assert_eq!(retry_delay(&Value::Null), None);
    }

    #[test]
    fn a_connection_that_fails_has_a_reason() {
        for (reason, unreached) in [
            ("invalid peer certificate: UnknownIssuer", Unreached::Untrusted),
            ("received corrupt message of type InvalidContentType", Unreached::NoTls),
            ("failed to lookup address information: Name or service not known", Unreached::NoName),
            ("proxy authentication required", Unreached::Proxy),
            ("tunnel error: unsuccessful", Unreached::Proxy),
            ("Connection refused (os error 111)", Unreached::Closed),
            ("connection closed before message completed", Unreached::Unanswered),
            ("Network is unreachable (os error 101)", Unreached::Otherwise),
        ] {
            assert_eq!(Unreached::of(reason), unreached, "{reason}");
        }
    }

    #[test]
    fn an_error_in_the_stream_has_a_kind() {
        for (body, kind) in [
            (r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#, ModelErrorKind::Overloaded),
            (r#"{"type":"error","error":{"type":"rate_limit_error"}}"#, ModelErrorKind::RateLimit),
            (r#"{"message":"x","code":429}"#, ModelErrorKind::RateLimit),
            (r#"{"message":"x","type":"invalid_request_error","code":null}"#, ModelErrorKind::Request),
            (r#"{"message":"x","type":"server_error"}"#, ModelErrorKind::Overloaded),
            (r#"{"error":{"code":"context_length_exceeded"}}"#, ModelErrorKind::ContextOverflow),
            (r#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#, ModelErrorKind::Overloaded),
            (r#"{"type":"error","code":"rate_limit_exceeded","message":"x"}"#, ModelErrorKind::RateLimit),
            (r#"{"error":"an error was encountered while running the model"}"#, ModelErrorKind::Overloaded),
            ("null", ModelErrorKind::Overloaded),
        ] {
            assert_eq!(failures().in_stream(&serde_json::from_str(body).unwrap()).kind, kind, "{body}");
        }
    }
}
