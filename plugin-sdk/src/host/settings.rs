//! The plugin's own settings, as the person wrote them.

use serde::de::DeserializeOwned;

use super::imports;
use crate::{Error, Result};

/// The settings, valid by the schema in `plugin.toml`. Give each field a `#[serde(default)]`: where a person set
/// nothing, this is `{}`.
pub fn get<T: DeserializeOwned>() -> Result<T> {
    serde_json::from_str(&imports::settings::get())
        .map_err(|error| Error::invalid_args(format_args!("settings: {error}")))
}
