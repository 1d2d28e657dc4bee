//! Secrets that plugins have put into their requests: the port that keeps them, and what keeps them out of all that a
//! plugin gets and says.
//!
//! A plugin names a secret by its handle and never sees it. What comes back from a host that it was sent to may repeat
//! it: so a [`Filter`] knows the secrets of a plugin from the moment on that they are sent, and masks them, as they are
//! and as they are usually encoded, in answers, logs, outcomes, panels and stored values. Knows nothing about where
//! secrets are kept and how they are sent. Tested beside the code.

mod forms;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use acp_runtime_agent::capability::{Grant, SecretName, SecretRight};
use acp_runtime_agent::plain;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use futures::future::BoxFuture;
use serde_json::Value;

use self::forms::forms;
use crate::origin::PluginOrigin;

/// What stands where a secret was.
const MASK: &[u8] = b"****";

/// Bytes that a secret has at least: a shorter one is in many texts that do not mean it, and could not be kept out.
pub const SHORTEST: usize = 8;

/// The value of a secret. It is not shown.
#[derive(Clone)]
pub struct SecretText(Arc<str>);

/// Keeps the person's secrets.
pub trait SecretStore: Send + Sync {
    /// The secret of that name that is kept for plugins of that origin; none where none is kept. The error says why it
    /// cannot be had, and nothing of it.
    fn secret<'a>(
        &'a self,
        origin: &'a PluginOrigin,
        name: &'a SecretName,
    ) -> BoxFuture<'a, Result<Option<SecretText>, String>>;
}

impl SecretText {
    /// Keeps the text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

/// The secrets of one plugin: which it may have sent, and what is known of them.
pub(crate) struct SecretDesk {
    store: Arc<dyn SecretStore>,
    origin: PluginOrigin,
    rights: Vec<SecretRight>,
    filter: Filter,
}

impl SecretDesk {
    /// Those that the manifest of a plugin of that origin asks for.
    pub(crate) fn new(store: Arc<dyn SecretStore>, origin: PluginOrigin, asked: &[Grant]) -> Self {
        let rights = asked.iter().filter_map(Grant::secret).cloned().collect();
        Self { store, origin, rights, filter: Filter::default() }
    }

    /// The secret that the plugin calls `handle`.
    pub(crate) fn right(&self, handle: &str) -> Option<&SecretRight> {
        self.rights.iter().find(|right| right.name.handle() == handle)
    }

    /// The value, for a request that the gate has allowed; from now on it is kept out of what the plugin gets and says.
    /// The error names the rule that stops it, in a word and for people.
    pub(crate) async fn lend(&self, right: &SecretRight) -> Result<SecretText, (&'static str, String)> {
        let kept = self.store.secret(&self.origin, &right.name).await.map_err(|why| ("unusable", why))?;
        let none = || format!("none is kept; the user can do that with `acp-runtime secret set {}`", right.name);
        let secret = kept.ok_or_else(|| ("missing", none()))?;
        self.filter.learn(&secret).map_err(|why| ("unusable", why.to_owned()))?;
        Ok(secret)
    }

    /// Whether one is kept.
    pub(crate) async fn is_kept(&self, right: &SecretRight) -> Result<bool, String> {
        Ok(self.store.secret(&self.origin, &right.name).await?.is_some())
    }

    /// What keeps them out of texts.
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }
}

/// Masks the secrets that it knows. Clones know the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter(Arc<RwLock<Known>>);

#[derive(Debug, Default)]
struct Known {
    secrets: Vec<SecretText>,
    finder: Option<Finder>,
}

/// Finds all forms of all secrets.
#[derive(Debug, Clone)]
struct Finder {
    forms: AhoCorasick,
    longest: usize,
}

impl Filter {
    /// Knows the secret from now on. The error is that it cannot be kept out of texts.
    pub(crate) fn learn(&self, secret: &SecretText) -> Result<(), &'static str> {
        if secret.expose().len() < SHORTEST {
            return Err("it has less than 8 characters, and could not be kept out of answers");
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.secrets.iter().any(|other| other.expose() == secret.expose()) {
            return Ok(());
        }
        known.secrets.push(secret.clone());
        let forms: Vec<Vec<u8>> = known.secrets.iter().flat_map(|secret| forms(secret.expose())).collect();
        let longest = forms.iter().map(Vec::len).max().unwrap_or_default();
        let built = AhoCorasickBuilder::new()
            // The digits of hexadecimal and percent codes have two spellings.
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        if let Ok(forms) = built {
            known.finder = Some(Finder { forms, longest });
            return Ok(());
        }
        known.secrets.pop();
        Err("it is too long")
    }

    /// The text without secrets. Invisible characters within a secret do not hide it: whoever shows the text may drop them.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(finder) = self.finder() else { return text.into() };
        let masked = finder.masked_text(text);
        match seen(&masked) {
            Some(seen) if finder.forms.is_match(&seen) => finder.masked_text(&seen).into_owned().into(),
            Some(_) | None => masked,
        }
    }

    /// A JSON text without secrets, whatever characters of them it has written as codes.
    pub(crate) fn json(&self, text: String) -> String {
        let Some(finder) = self.finder() else { return text };
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return self.owned(text) };
        let masked = self.value(value.clone());
        if masked == value && !finder.forms.is_match(&text) { text } else { masked.to_string() }
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.owned(text)),
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(values) => {
                values.into_iter().map(|(key, value)| (self.owned(key), self.value(value))).collect()
            }
            Value::Number(number) => match self.text(&number.to_string()) {
                Cow::Borrowed(_) => Value::Number(number),
                Cow::Owned(masked) => Value::String(masked),
            },
            Value::Null | Value::Bool(_) => value,
        }
    }

    /// Whether a secret is in it, with or without invisible characters.
    pub(crate) fn finds(&self, bytes: impl AsRef<[u8]>) -> bool {
        let Some(finder) = self.finder() else { return false };
        let bytes = bytes.as_ref();
        let seen = || std::str::from_utf8(bytes).ok().and_then(seen);
        finder.forms.is_match(bytes) || seen().is_some_and(|seen| finder.forms.is_match(&seen))
    }

    /// Bytes that the longest form of any has.
    pub(crate) fn longest(&self) -> usize {
        self.finder().map_or(0, |finder| finder.longest)
    }

    /// [`Filter::text`], for a text that is no longer needed.
    pub(crate) fn owned(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        }
    }

    /// The bytes without secrets.
    pub(crate) fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.finder() {
            Some(finder) => finder.masked(&bytes, bytes.len()).0,
            None => bytes,
        }
    }

    /// For bytes that come piece by piece, with the secrets that are known now.
    pub(crate) fn stream(&self) -> Stream {
        Stream { finder: self.finder(), held: Vec::new() }
    }

    fn finder(&self) -> Option<Finder> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).finder.clone()
    }
}

impl Finder {
    fn masked_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.forms.is_match(text) {
            return text.into();
        }
        String::from_utf8_lossy(&self.masked(text.as_bytes(), text.len()).0).into_owned().into()
    }

    /// The bytes without secrets, and how many of them it is about: secrets that begin in the first `sure` bytes are
    /// masked as a whole, and what comes after is left.
    fn masked(&self, bytes: &[u8], sure: usize) -> (Vec<u8>, usize) {
        let (mut masked, mut done) = (Vec::with_capacity(bytes.len()), 0);
        for found in self.forms.find_iter(bytes).take_while(|found| found.start() < sure) {
            masked.extend_from_slice(bytes.get(done..found.start()).unwrap_or_default());
            masked.extend_from_slice(MASK);
            done = found.end();
        }
        if done < sure {
            masked.extend_from_slice(bytes.get(done..sure).unwrap_or_default());
            done = sure;
        }
        (masked, done)
    }
}

/// Masks secrets in bytes that come piece by piece, also a secret that lies in several pieces: as many bytes are held back
/// as the longest secret has.
pub(crate) struct Stream {
    finder: Option<Finder>,
    held: Vec<u8>,
}

impl Stream {
    /// What can be passed on of what has come until now.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(finder) = &self.finder else { return piece.to_vec() };
        self.held.extend_from_slice(piece);
        let sure = (self.held.len() + 1).saturating_sub(finder.longest);
        let (masked, done) = finder.masked(&self.held, sure);
        self.held.drain(..done);
        masked
    }

    /// The rest.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match &self.finder {
            Some(finder) => finder.masked(&held, held.len()).0,
            None => held,
        }
    }
}

/// The text without its invisible characters; none where it has none.
fn seen(text: &str) -> Option<String> {
    let hidden = |c: char| c != '\n' && c != '\t' && !plain::is_plain(c);
    text.contains(hidden).then(|| text.replace(hidden, ""))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

    use super::*;

    const SECRET: &str = "s3cr\u{e9}t/To+ken 42";

    fn filter() -> Filter {
        let filter = Filter::default();
        filter.learn(&SecretText::new(SECRET)).unwrap();
        filter
    }

    /// The secret in every form, and longer texts in which it is a part.
    fn sightings() -> Vec<String> {
        let mut sightings: Vec<String> =
            forms(SECRET).into_iter().map(|form| String::from_utf8(form).unwrap()).collect();
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat();
        sightings.push(hex(SECRET));
        for around in ["", "a", "ab", "abc", "Bearer ", "user:"] {
            let text = format!("{around}{SECRET}{around}!");
            sightings.push(text.clone());
            sightings.push(STANDARD_NO_PAD.encode(&text));
            sightings.push(URL_SAFE_NO_PAD.encode(&text));
            sightings.push(STANDARD_NO_PAD.encode(&text).replace('/', r"\/"));
            sightings.push(STANDARD_NO_PAD.encode(&text).replace('+', "%2B").replace('/', "%2F"));
            sightings.push(hex(&text));
            sightings.push(format!("{{\"a\":{}}}", serde_json::Value::from(text.as_str())));
        }
        sightings.push("https://a.com/?k=s3cr%C3%A9t%2FTo%2Bken%2042&x=1".to_owned());
        sightings.push("k=s3cr%C3%A9t%2FTo%2Bken+42".to_owned());
        sightings.push("/s3cr%c3%a9t/To+ken%2042".to_owned());
        sightings.push("s3cr%C3%A9t/To%2Bken%2042".to_owned());
        // By the writers of PHP, Python, .NET, Go and JavaScript.
        sightings.push(r"s3cr\u00e9t\/To+ken 42".to_owned());
        sightings.push(r"s3cr\u00e9t/To+ken 42".to_owned());
        sightings.push(r"s3cr\u00E9t/To\u002Bken 42".to_owned());
        sightings.push("<p>s3cr\u{e9}t/To&#43;ken 42</p>".to_owned());
        sightings.push("<p>s3cr\u{e9}t&#x2F;To+ken 42</p>".to_owned());
        sightings
    }

    #[test]
    fn a27_every_form_is_masked() {
        let filter = filter();
        for text in sightings() {
            let masked = filter.text(&text);
            assert!(masked.contains("****"), "{text}: {masked}");
            assert!(forms(SECRET).iter().all(|form| !masked.as_bytes().windows(form.len()).any(|part| part == form)));
        }
        for text in ["", "nothing of it", "s3cret", "To+ken 42", "****"] {
            assert_eq!(filter.text(text), text);
        }
        assert_eq!(filter.text(&format!("a{SECRET}{SECRET}b")), "a********b");
    }

    #[test]
    fn a27_marks_of_pages_and_of_json_are_seen_through() {
        let filter = Filter::default();
        filter.learn(&SecretText::new("a&b<c>d\"e'f=g/h")).unwrap();
        for text in [
            r#"a&b<c>d\"e'f=g/h"#,
            r#"a\u0026b\u003cc\u003ed\"e'f=g/h"#,
            r"a\u0026b\u003Cc\u003Ed\u0022e\u0027f=g/h",
            r#"a&b<c>d\"e'f=g\/h"#,
            "a&amp;b&lt;c&gt;d&quot;e&#x27;f=g/h",
            "a&amp;b&lt;c&gt;d&#34;e&#39;f=g/h",
            "a&amp;b&lt;c&gt;d&quot;e&#039;f=g/h",
            "a&amp;b&lt;c&gt;d&quot;e&apos;f=g/h",
            "a&amp;b&lt;c&gt;d\"e'f=g/h",
            "a&amp;b&lt;c&gt;d&quot;e&#39;f&#x3D;g&#x2F;h",
        ] {
            assert_eq!(filter.text(text), "****", "{text}");
        }
    }

    #[test]
    fn a27_in_pieces_it_is_masked_as_in_one() {
        let filter = filter();
        for text in sightings() {
            let whole = filter.bytes(text.clone().into_bytes());
            for size in 1..=text.len() {
                let mut stream = filter.stream();
                let mut masked: Vec<u8> = text.as_bytes().chunks(size).flat_map(|piece| stream.push(piece)).collect();
                masked.extend(stream.finish());
                assert_eq!(masked, whole, "{text} in pieces of {size}");
            }
        }
        let mut stream = Filter::default().stream();
        assert_eq!((stream.push(b"as it is"), stream.finish()), (b"as it is".to_vec(), Vec::new()));
    }

    #[test]
    fn a27_it_is_masked_behind_what_cannot_be_seen_and_behind_codes() {
        let filter = Filter::default();
        filter.learn(&SecretText::new("s3cret-t0ken")).unwrap();
        for text in ["s3c\u{200b}ret-t0ken", "\u{202e}s3cret\u{7}-t0ken", "s3cret-\r\u{feff}t0ken s3cret-t0ken"] {
            let masked = filter.text(text);
            assert!(masked.contains("****") && !plain::line(&masked, 100).contains("s3cret"), "{text:?}: {masked:?}");
        }
        assert_eq!(filter.text("as\u{200b}it is\r"), "as\u{200b}it is\r", "what has no secret in it stays as it is");
        for json in [
            r#"{"a":["s3cret-t0ken"]}"#,
            r#"{"a":["\u00733cret-t0ken"]}"#,
            r#"{"\u00733cret\u002dt0ken":1}"#,
            r#"{"a":"s3cret-t0ken","a":1}"#,
            r#"{"a":"s3c\u200bret-t0ken"}"#,
            r#""s3cret-t0ken""#,
            "no JSON: s3cret-t0ken",
        ] {
            let masked = filter.json(json.to_owned());
            let plain = serde_json::from_str::<Value>(&masked).map_or(masked.clone(), |value| value.to_string());
            assert!(!plain::line(&plain, 100).contains("s3cret"), "{json}: {masked}");
        }
        let digits = Filter::default();
        digits.learn(&SecretText::new("1234567890")).unwrap();
        assert_eq!(digits.json(r#"{"a":1234567890,"b":12}"#.to_owned()), r#"{"a":"****","b":12}"#);
        assert_eq!(digits.json("{\"a\" : 1.0}".to_owned()), "{\"a\" : 1.0}");
        assert!(filter.finds("xs3cret-t0ken") && filter.finds("s3c\u{200b}ret-t0ken") && !filter.finds("s3cret-t0ke"));
    }

    #[test]
    fn a_secret_that_is_too_short_is_not_taken() {
        let filter = Filter::default();
        assert!(filter.learn(&SecretText::new("1234567")).is_err());
        assert_eq!(filter.text("1234567"), "1234567");
        assert_eq!(format!("{:?}", SecretText::new(SECRET)), "****");
        for secret in ["12345678", "abcdefgh-2"] {
            filter.learn(&SecretText::new(secret)).unwrap();
            filter.learn(&SecretText::new(secret)).unwrap();
        }
        assert_eq!(filter.text("12345678 abcdefgh-2 MTIzNDU2Nzg"), "**** **** ****g");
    }
}
