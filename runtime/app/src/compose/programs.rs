//! The programs of plugins, as the settings say.

use std::sync::Arc;

use acp_runtime_agent::capability::Roots;
use acp_runtime_host::exec::Programs;

use crate::process::Launcher;
use crate::programs::{Confinement, PluginPrograms};
use crate::redaction::Redaction;
use crate::settings::{ExecSettings, variable};

/// What plugins run.
pub(super) enum ProgramsOfPlugins {
    /// The programs of this machine.
    Machine(PluginPrograms),
    /// Those that somebody plays.
    Played(Arc<dyn Programs>),
}

impl ProgramsOfPlugins {
    /// The programs of a session with these folders.
    pub(super) fn session(&self, roots: &Roots) -> Arc<dyn Programs> {
        match self {
            Self::Machine(programs) => programs.session(roots),
            Self::Played(programs) => programs.clone(),
        }
    }
}

/// The programs of all plugins, which `launcher` starts.
pub(super) fn programs(launcher: Launcher, settings: &ExecSettings, redaction: &Redaction) -> PluginPrograms {
    let confinement = Confinement {
        readable: settings.readable.clone(),
        network: settings.network,
        at_once: settings.at_once.size(),
    };
    PluginPrograms::new(launcher, variable, confinement, redaction.clone())
}
