//! Values that a file holds as text: read by their own rules, and shown as they were written.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::ops::Deref;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that is written as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written<T>(pub T);

impl<T> Deref for Written<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl<T: Display> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<T> JsonSchema for Written<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// What to log: a level, or `target=level` pairs between commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter as `tracing` reads it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self("warn".to_owned())
    }
}

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
        let level = |text: &str| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(text.trim()));
        let wrong = text.split(',').find(|directive| {
            let (target, named) = directive.rsplit_once('=').unwrap_or(("all", directive));
            target.trim().is_empty() || !level(named)
        });
        match wrong {
            None => Ok(Self(text.to_owned())),
            Some(wrong) => Err(format!(
                "`{}` is not a log level: expected `{}`, or `target=level` pairs between commas",
                wrong.trim(),
                LEVELS.join("`, `")
            )),
        }
    }
}

impl Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
