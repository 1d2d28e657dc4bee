//! A text that is used and never shown: a key, a password, the value of a header.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that is never printed, neither as a value nor in what is said of a value that is not one.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps the text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("****")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Asked for a text, formats complain of something else themselves, and quote it.
        deserializer.deserialize_any(Text)
    }
}

/// Takes texts. Whatever else it is given may be a secret that was written without quotes: the error does not have it.
struct Text;

impl Visitor<'_> for Text {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
        Ok(Secret::new(text))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Secret, E> {
        Ok(Secret(text))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Secret, E> {
        Err(no_text())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Secret, E> {
        Err(no_text())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Secret, E> {
        Err(no_text())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Secret, E> {
        Err(no_text())
    }
}

fn no_text<E: Error>() -> E {
    E::custom("it is not a text: write it between quotes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_printed() {
        let secret: Secret = serde_json::from_str("\"s3cret\"").unwrap();
        let printed = format!("{secret} {secret:?} {}", serde_json::to_string(&secret).unwrap());
        assert_eq!((printed.as_str(), secret.expose()), ("**** **** \"****\"", "s3cret"));
    }

    #[test]
    fn what_is_no_text_is_not_quoted_either() {
        for json in ["4711", "-4711", "47.11", "true"] {
            let error = serde_json::from_str::<Secret>(json).unwrap_err().to_string();
            assert!(error.starts_with("it is not a text: write it between quotes at line"), "{error}");
        }
        for toml in ["4711", "47.11", "true", "['4711']", "2026-11-30", "{ a = '4711' }"] {
            let error = toml::from_str::<std::collections::BTreeMap<String, Secret>>(&format!("key = {toml}"));
            let error = error.unwrap_err();
            assert!(!error.message().contains("47") && !error.message().contains("2026"), "{}", error.message());
        }
    }
}
