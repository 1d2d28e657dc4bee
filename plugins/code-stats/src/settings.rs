//! What a person can set, as in the schema in `plugin.toml`.

use acp_plugin::{Result, settings};
use serde::Deserialize;

/// The plugin's settings.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Settings {
    /// Globs of files and folders that are not counted.
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
}

impl Settings {
    /// As they are now.
    pub(crate) fn get() -> Result<Self> {
        settings::get()
    }
}
