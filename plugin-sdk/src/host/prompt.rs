//! What the plugin adds to what the model is told, as its own words. Needs the right `prompt`.

use super::imports;
use crate::Result;

/// Puts `text` in the place of what the plugin has added; from the next request of the model on, until the session is no
/// longer in memory. At most 2 KiB, and 8 KiB of all plugins.
pub fn set(text: &str) -> Result<()> {
    Ok(imports::prompt::set(Some(text))?)
}

/// Adds nothing any more.
pub fn clear() -> Result<()> {
    Ok(imports::prompt::set(None)?)
}
