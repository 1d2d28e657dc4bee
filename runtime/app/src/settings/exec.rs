//! `[exec]`: how the programs run that plugins were granted.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// `[exec]`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecSettings {
    /// How many programs of plugins run at once; further ones wait.
    pub at_once: Within<1, 64, 8>,
    /// Files and folders that programs of plugins may read beside the session's folders and the system's. Relative to this
    /// file.
    pub readable: Vec<PathBuf>,
    /// Whether programs of plugins may make connections.
    pub network: bool,
}

/// A whole number from `LEAST` to `MOST`; `USUAL` where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Within<const LEAST: u32, const MOST: u32, const USUAL: u32>(u32);

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> Within<LEAST, MOST, USUAL> {
    /// The number, of things in memory.
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> fmt::Display for Within<LEAST, MOST, USUAL> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> Default for Within<LEAST, MOST, USUAL> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> TryFrom<u32> for Within<LEAST, MOST, USUAL> {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        if (LEAST..=MOST).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("`{number}` is out of range: {LEAST} to {MOST}"))
        }
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> From<Within<LEAST, MOST, USUAL>> for u32 {
    fn from(number: Within<LEAST, MOST, USUAL>) -> Self {
        number.0
    }
}

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> JsonSchema for Within<LEAST, MOST, USUAL> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}
