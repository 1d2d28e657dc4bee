//! The host's log. What a plugin prints goes there as well.

use std::fmt::Display;

use super::imports;

/// Something broke.
pub fn error(message: impl Display) {
    imports::log::emit("error", &message.to_string());
}

/// Something looks wrong.
pub fn warn(message: impl Display) {
    imports::log::emit("warn", &message.to_string());
}

/// Something worth knowing.
pub fn info(message: impl Display) {
    imports::log::emit("info", &message.to_string());
}

/// For whoever works on the plugin.
pub fn debug(message: impl Display) {
    imports::log::emit("debug", &message.to_string());
}
