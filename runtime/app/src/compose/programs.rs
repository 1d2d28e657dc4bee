//! The programs of plugins, as the settings say.

use crate::process::Launcher;
use crate::programs::{Confinement, PluginPrograms};
use crate::redaction::Redaction;
use crate::settings::{ExecSettings, variable};

/// The programs of all plugins, which `launcher` starts.
pub(super) fn programs(launcher: Launcher, settings: &ExecSettings, redaction: &Redaction) -> PluginPrograms {
    let confinement = Confinement {
        readable: settings.readable.clone(),
        network: settings.network,
        at_once: settings.at_once.size(),
    };
    PluginPrograms::new(launcher, variable, confinement, redaction.clone())
}
