//! `[exec]`: how the programs run that plugins were granted.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use acp_runtime_host::limits::ExecLimits;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// `[exec]`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecSettings {
    /// Seconds that a program may take.
    pub timeout: Within<1, 600, 30>,
    /// Bytes that a program may write to each of its outputs.
    pub output: Within<1024, 16_777_216, 1_048_576>,
    /// How many programs of plugins run at once; further ones wait.
    pub at_once: Within<1, 64, 8>,
    /// Files and folders that programs of plugins may read beside the session's folders and the system's. Relative to this
    /// file.
    pub readable: Vec<PathBuf>,
    /// Whether programs of plugins may make connections.
    pub network: bool,
}

impl ExecSettings {
    /// What holds for each call of a plugin.
    pub fn limits(&self) -> ExecLimits {
        ExecLimits {
            time: Duration::from_secs(self.timeout.get().into()),
            output: usize::try_from(self.output.get()).unwrap_or(usize::MAX),
            ..ExecLimits::default()
        }
    }
}

/// A whole number from `LEAST` to `MOST`; `USUAL` where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Within<const LEAST: u32, const MOST: u32, const USUAL: u32>(u32);

impl<const LEAST: u32, const MOST: u32, const USUAL: u32> Within<LEAST, MOST, USUAL> {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
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
