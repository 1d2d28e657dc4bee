//! Keeps secrets out of texts that others had a hand in: what providers say, what is logged.
//!
//! Whoever gets hold of a secret lets the [`Redaction`] learn it; whoever shows a text lets it be cleaned first. Knows
//! nothing about where secrets are kept or where texts go. Tested by tables.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use acp_runtime_agent::hook::Veil;
use acp_runtime_agent::plain::is_plain;
use regex::Regex;
use serde_json::Value;

use crate::secret::Secret;

/// What stands where a secret was.
const MASK: &str = "****";
/// Shorter secrets are also words and pieces of words, which texts would lose. They are not looked for: `doctor` and
/// `config check` warn of them.
const SHORTEST: usize = 8;
/// The most characters of a quotation.
const QUOTE: usize = 300;
/// Secrets that are known at once. When there are more, the oldest is forgotten: keys that a command makes come and go.
const MOST: usize = 256;

/// Keeps secrets out of texts: those that it was told of, and what has the form of one. Clones share what they know.
#[derive(Clone, Default)]
pub struct Redaction(Arc<RwLock<VecDeque<String>>>);

impl Redaction {
    /// Whether texts can be kept clean of a secret: one that is too short cannot be told from a word.
    pub fn can_learn(secret: &Secret) -> bool {
        secret.expose().len() >= SHORTEST
    }

    /// Learns a secret, as it is and as JSON writes it, if it can.
    pub fn learn(&self, secret: &Secret) {
        let plain = secret.expose();
        if !Self::can_learn(secret) || self.knows(plain) {
            return;
        }
        let quoted = Value::from(plain).to_string();
        let escaped = quoted.get(1..quoted.len() - 1).filter(|escaped| *escaped != plain);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(std::iter::once(plain).chain(escaped).map(str::to_owned));
        let surplus = known.len().saturating_sub(MOST);
        known.drain(..surplus);
    }

    /// Learns the value of a header, a variable or a part of a query, if its name says that it is a secret.
    pub fn learn_named(&self, name: &str, value: &str) {
        if is_of_a_secret(name) {
            // `Bearer …` is also repeated without its first word.
            for secret in [Some(value), value.rsplit_once(' ').map(|(_, last)| last)].into_iter().flatten() {
                self.learn(&Secret::new(secret));
            }
        }
    }

    /// The text without secrets.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for secret in found(&known, |secret| text.contains(secret)) {
            clean = Cow::Owned(clean.replace(secret, MASK));
        }
        for form in FORMS.iter() {
            if let Cow::Owned(masked) = form.replace_all(&clean, "${label}****") {
                clean = Cow::Owned(masked);
            }
        }
        clean
    }

    /// Puts `mask` in the place of the secrets that it was told of. What only looks like one stays.
    pub fn veil(&self, mask: &'static str) -> Veil {
        let known = self.clone();
        Arc::new(move |text| {
            let known = known.0.read().unwrap_or_else(PoisonError::into_inner);
            let found = found(&known, |secret| text.contains(secret));
            let hide = |text: String, secret: &str| text.replace(secret, mask);
            (!found.is_empty()).then(|| found.into_iter().fold(text.to_owned(), hide))
        })
    }

    /// The bytes without the secrets that it was told of. What only looks like one stays.
    pub fn without_known(&self, bytes: Vec<u8>) -> Vec<u8> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let place = |bytes: &[u8], secret: &str| bytes.windows(secret.len()).position(|part| part == secret.as_bytes());
        found(&known, |secret| place(&bytes, secret).is_some()).into_iter().fold(bytes, |mut bytes, secret| {
            let mut from = 0;
            while let Some(at) = bytes.get(from..).and_then(|rest| place(rest, secret)) {
                bytes.splice(from + at..from + at + secret.len(), MASK.bytes());
                from += at + MASK.len();
            }
            bytes
        })
    }

    /// Words of others, fit to be quoted in a message: one line of at most 300 characters, without secrets and without
    /// characters that command a terminal, reorder or hide text.
    pub fn quote(&self, text: &str) -> String {
        // Cleaned twice: a secret may have line ends in it, or characters within it that are left out.
        let line = self.clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let plain: String = line.chars().filter(|&character| is_plain(character)).collect();
        let clean = self.clean(&plain);
        match clean.char_indices().nth(QUOTE) {
            Some((end, _)) => format!("{}…", clean.get(..end).unwrap_or_default()),
            None => clean.into_owned(),
        }
    }

    /// Cleans every text in a value, names of members included.
    pub fn clean_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.clean(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.clean_json(item)).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, member)| (self.clean(&name).into_owned(), self.clean_json(member)))
                .collect(),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    fn knows(&self, plain: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == plain)
    }
}

/// A value of a configuration as it can be shown: without what the names of its members say to be secret.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, member): (&String, &Value)| {
                let shown = if is_of_a_secret(name) { MASK.into() } else { masked(member) };
                (name.clone(), shown)
            };
            members.iter().map(member).collect()
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain.clone(),
    }
}

/// Those that are there, the longest first: of one that is a part of another the rest would be left.
fn found(known: &VecDeque<String>, is_there: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut found: Vec<&str> = known.iter().map(String::as_str).filter(|secret| is_there(secret)).collect();
    found.sort_unstable_by_key(|secret| Reverse(secret.len()));
    found
}

fn is_of_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// What is in the names of secrets.
const SECRET_NAMES: [&str; 8] =
    ["authorization", "key", "token", "secret", "passw", "cookie", "credential", "signature"];

/// What keys of well-known services, tokens and private keys look like, and what stands behind a name such as
/// `api_key`. A part called `label` stays.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        r"(?<label>)\b(?:sk|pk|rk)[-_](?:ant-|proj-|live_|test_)?[A-Za-z0-9_-]{16,}",
        r"(?<label>)\b(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b)",
        r"(?<label>)\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
        r"(?<label>)\b(?:xox[a-z]-[A-Za-z0-9-]{10,}|(?:hf|gsk|npm|xai)[_-][A-Za-z0-9]{20,})",
        r"(?<label>)\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"(?<label>)-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"(?i)(?<label>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
        r#"(?i)(?<label>\b(?:x-)?(?:api[-_ ]?key|(?:access|auth|refresh)[-_]?token|client[-_]?secret|password)["']?\s*[:=]\s*["']?)[^\s"',;&}*]{4,}"#,
        r#"(?i)(?<label>(?:^|[\s"'])--?(?:[a-z]+-)*(?:token|secret|passw(?:or)?d|key)=)[^\s"']{4,}"#,
        r"(?<label>://[^\s/:@]*:)[^\s/@]+@",
        r#"(?i)(?<label>[?&](?:[a-z_-]*(?:key|token|secret|password|signature|auth)|sig|code)=)[^&\s"'`<>()*]+"#,
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_learnt_is_masked() {
        let redaction = Redaction::default();
        for secret in ["correct horse", "with \"quotes\"\nand lines", "short", ""] {
            redaction.learn(&Secret::new(secret));
        }
        for (text, clean) in [
            ("the key correct horse is wrong", "the key **** is wrong"),
            ("correct horsecorrect horse", "********"),
            (r#"{"k":"with \"quotes\"\nand lines"}"#, r#"{"k":"****"}"#),
            ("with \"quotes\"\nand lines", "****"),
            ("a short text stays", "a short text stays"),
        ] {
            assert_eq!(redaction.clean(text), clean);
        }
        let data = json!({ "a": ["correct horse", 1, null], "correct horse": { "b": true } });
        assert_eq!(redaction.clean_json(data), json!({ "a": ["****", 1, null], "****": { "b": true } }));
    }

    #[test]
    fn a_secret_that_begins_as_another_one_is_masked_as_a_whole() {
        let redaction = Redaction::default();
        for secret in ["hunter22-old", "hunter22-old-and-new"] {
            redaction.learn(&Secret::new(secret));
        }
        let (text, masked) = ("hunter22-old-and-new, hunter22-old", "****, ****");
        assert_eq!(redaction.clean(text), masked);
        assert_eq!(redaction.without_known(text.as_bytes().to_vec()), masked.as_bytes());
        assert_eq!(redaction.veil(MASK)(text).as_deref(), Some(masked));
        assert_eq!(redaction.veil(MASK)("nothing"), None);
    }

    #[test]
    fn known_secrets_are_taken_out_of_bytes() {
        let redaction = Redaction::default();
        redaction.learn(&Secret::new("top-secret-1"));
        let clean = |bytes: &[u8]| redaction.without_known(bytes.to_vec());
        assert_eq!(clean(b"\xfftop-secret-1,top-secret-1\xff"), b"\xff****,****\xff");
        assert_eq!(clean(b"api_key=sk-aaaaaaaaaaaaaaaaaaaa"), b"api_key=sk-aaaaaaaaaaaaaaaaaaaa");
        assert_eq!(clean(b""), b"");
    }

    #[test]
    fn what_a_name_says_to_be_secret_is_not_shown() {
        let value = json!({ "api_key": "abc", "list": [{ "Token": { "a": 1 }, "name": "n" }], "keys": 3, "depth": 2 });
        let shown =
            json!({ "api_key": "****", "list": [{ "Token": "****", "name": "n" }], "keys": "****", "depth": 2 });
        assert_eq!(masked(&value), shown);
    }

    #[test]
    fn a_name_says_whether_its_value_is_a_secret() {
        let redaction = Redaction::default();
        for (name, value) in [
            ("Authorization", "Bearer abcdefgh-1"),
            ("GITHUB_TOKEN", "abcdefgh-2"),
            ("x-api-key", "abcdefgh-3"),
            ("GIT_AUTHOR_NAME", "abcdefgh-4"),
            ("PASSWD", "short"),
        ] {
            redaction.learn_named(name, value);
        }
        let text = "abcdefgh-1 abcdefgh-2 abcdefgh-3 abcdefgh-4 short";
        assert_eq!(redaction.clean(text), "**** **** **** abcdefgh-4 short");
    }

    #[test]
    fn what_is_quoted_is_short_and_plain() {
        let redaction = Redaction::default();
        redaction.learn(&Secret::new("a secret of two\nlines"));
        for (text, quoted) in [
            ("plain", "plain"),
            ("two\n  lines\t", "two lines"),
            ("\u{1b}[31mred\u{7}\u{9b}", "[31mred"),
            ("it is\u{202e} `a\u{200b}b`", "it is `ab`"),
            ("key a secret of two\nlines.", "key ****."),
            ("key a sec\u{200b}ret of two\nlines sk-proj-\u{1b}abcdefghij0123456789", "key a secret of two lines ****"),
        ] {
            assert_eq!(redaction.quote(text), quoted, "{text:?}");
        }
        assert_eq!(redaction.quote(&"é".repeat(400)), format!("{}…", "é".repeat(QUOTE)));
        assert_eq!(redaction.quote(&"\u{1b}".repeat(1 << 20)), "");
    }

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let redaction = Redaction::default();
        assert!(FORMS.len() == 11, "every form can be read");
        for (text, clean) in [
            ("Incorrect API key provided: sk-proj-abcdefghij0123456789.", "Incorrect API key provided: ****."),
            ("sk-ant-api03-AbCdEfGhIjKlMnOp_-x and more", "**** and more"),
            ("key=AIzaSyA1234567890abcdefghijklmnopqrstuv", "key=****"),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "****"),
            ("AWS AKIAIOSFODNN7EXAMPLE used", "AWS **** used"),
            ("xoxb-123456789012-abcdef", "****"),
            ("Authorization: Bearer abc.def-123456", "Authorization: Bearer ****"),
            ("proxy-authorization: Basic dXNlcjpwYXNz", "proxy-authorization: Basic ****"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig", "jwt ****"),
            (r#"{"api_key":"0123abcd","x":1}"#, r#"{"api_key":"****","x":1}"#),
            ("api-key = 0123abcd, x", "api-key = ****, x"),
            ("?access_token=0123abcd&x=1", "?access_token=****&x=1"),
            ("password: hunter22", "password: ****"),
            ("run --token=hunter22-abc now", "run --token=**** now"),
            ("--api-key=hunter22", "--api-key=****"),
            ("https://me:hunter22@host/", "https://me:****host/"),
            ("(https://host/mcp?key=k1&x=y&api-token=abc)", "(https://host/mcp?key=****&x=y&api-token=****)"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n****\nb"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE", "****"),
        ] {
            assert_eq!(redaction.clean(text), clean);
        }
        for text in [
            "unexpected token: identifier",
            "`api_key` is empty; leave it out, or set `api_key_env`",
            "session 0198c1f2a6b87d3e9f00 sk-short task-list-of-many-things",
            "the password is wrong",
            "https://host:8080/v1/models",
            "12:30:15 at 2026-11-30T12:30:15Z",
            "https://host/search?q=key&page=2",
        ] {
            assert_eq!(redaction.clean(text), text);
        }
    }

    #[test]
    fn old_secrets_make_room_for_new_ones() {
        let redaction = Redaction::default();
        for number in 0..1000 {
            redaction.learn(&Secret::new(format!("number {number:04}")));
        }
        assert_eq!(redaction.clean("number 0999 number 0000"), "**** number 0000");
    }
}
