//! What is around a runtime: this machine, or a stage for the tests of one plugin.
//!
//! On a stage everything is as ever but the ends: requests and programs are played, and there is one plugin and no other,
//! with the rights that whoever tests it says.

use std::path::PathBuf;
use std::sync::Arc;

use acp_runtime_agent::capability::{Grant, Tier};
use acp_runtime_host::egress::{Egress, Play, SystemReach};
use acp_runtime_host::exec::Programs;
use acp_runtime_host::package::Package;
use acp_runtime_host::plugin_host::PluginHost;

use super::programs::{ProgramsOfPlugins, programs};
use super::shelf::{KnownPlugin, Origin, Shelf};
use super::{Keys, Runtime, SetupError};
use crate::authoring::Developments;
use crate::process::Launcher;
use crate::redaction::Redaction;
use crate::settings::{ExecSettings, Paths, PluginSettings, Settings};

/// A stage for one plugin.
pub struct Stage {
    /// The plugin.
    pub package: Package,
    /// What it was granted of what it asks for.
    pub granted: Vec<Grant>,
    /// Plays the network.
    pub network: Arc<dyn Play>,
    /// Plays the programs.
    pub programs: Arc<dyn Programs>,
}

/// What a runtime meets.
pub(super) enum World {
    Machine,
    Stage(Box<Stage>),
}

impl World {
    pub(super) fn egress(&self) -> Arc<Egress> {
        match self {
            Self::Machine => Egress::new(Arc::new(SystemReach)),
            Self::Stage(stage) => Egress::played(stage.network.clone()),
        }
    }

    pub(super) fn programs(
        &self,
        launcher: Launcher,
        settings: &ExecSettings,
        redaction: &Redaction,
    ) -> ProgramsOfPlugins {
        match self {
            Self::Machine => ProgramsOfPlugins::Machine(programs(launcher, settings, redaction)),
            Self::Stage(stage) => ProgramsOfPlugins::Played(stage.programs.clone()),
        }
    }

    /// Where what is worked on is seen; nowhere on a stage.
    pub(super) fn developments(&self, paths: &Paths) -> Developments {
        Developments::new(match self {
            Self::Machine => paths.developments(),
            Self::Stage(_) => PathBuf::new(),
        })
    }

    pub(super) fn shelf(self, host: Arc<PluginHost>, settings: &PluginSettings, paths: &Paths) -> Shelf {
        match self {
            Self::Machine => {
                let bundled = paths.bundled_plugins().filter(|_| settings.bundled);
                Shelf::new(host, bundled, settings.paths.clone(), paths.plugins()).ruled(
                    paths.lockfile(),
                    settings.clone(),
                    paths.bundled_plugins(),
                )
            }
            Self::Stage(stage) => {
                let Stage { package, granted, .. } = *stage;
                let source = package.path().display().to_string();
                let plugin = host.load(package);
                let grants = plugin.manifest().grants(Tier::Installed, Some(granted));
                Shelf::of_one(host, KnownPlugin { plugin, origin: Origin::Installed, source, grants })
            }
        }
    }
}

impl Runtime {
    /// A runtime on a stage. Opens, reads and starts nothing.
    pub fn on_stage(stage: Stage, settings: Settings, paths: &Paths, keys: &Keys) -> Result<Arc<Self>, SetupError> {
        Self::within(World::Stage(Box::new(stage)), settings, paths, keys)
    }
}
