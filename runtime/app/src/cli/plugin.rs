//! `acp-runtime plugin`: which plugins there are, and what they may do.

mod dev;
mod doctor;
mod grant;
mod info;
mod install;
mod keys;
mod locked;
mod play;
mod progress;
mod project;
mod publish;
mod source;
mod upkeep;
mod verify;
mod vouch;

use std::io;
use std::sync::Arc;

use acp_runtime_agent::capability::Grant;
use acp_runtime_host::manifest::Capability;
use acp_runtime_host::package::PackageError;

use self::doctor::doctor;
pub(super) use self::grant::known;
use self::grant::{grant, revoke};
use self::info::{ambiguous, info, list, meant, unknown};
use self::install::{install, remove};
use self::keys::keygen;
use self::publish::{pack_plugin, publish};
use self::verify::verify;
use super::arguments::plugin::PluginCommand;
use super::failure::Failure;
use crate::compose::Runtime;
use crate::settings::PluginSettings;

pub(super) async fn command(
    runtime: Arc<Runtime>,
    wanted: &PluginSettings,
    command: PluginCommand,
) -> Result<(), Failure> {
    match command {
        PluginCommand::List { json } => list(&runtime, wanted, json).await,
        PluginCommand::Info { plugin, json } => info(&runtime, &plugin, json).await,
        // What is awaited is large, and lies on the heap until it is needed.
        PluginCommand::Install(arguments) => Box::pin(install(&runtime, arguments)).await,
        PluginCommand::Verify(arguments) => verify(&runtime, arguments),
        PluginCommand::Pack(arguments) => Box::pin(pack_plugin(&runtime, arguments)).await,
        PluginCommand::Publish(arguments) => Box::pin(publish(&runtime, arguments)).await,
        PluginCommand::Keygen(arguments) => keygen(arguments),
        PluginCommand::Remove { plugin, keep_data, json } => remove(&runtime, &plugin, keep_data, json).await,
        PluginCommand::Outdated(arguments) => Box::pin(upkeep::outdated(&runtime, &arguments)).await,
        PluginCommand::Update(arguments) => Box::pin(upkeep::update(&runtime, &arguments)).await,
        PluginCommand::Rollback(arguments) => upkeep::roll_back(&runtime, &arguments),
        PluginCommand::Grant { plugin, effect, scope, json } => grant(&runtime, &plugin, &effect, scope, json).await,
        PluginCommand::Revoke { plugin, effect, json } => revoke(&runtime, &plugin, effect, json).await,
        PluginCommand::Doctor { plugin, json } => doctor(&runtime, plugin.as_deref(), json).await,
        PluginCommand::New(arguments) => project::new(&arguments),
        PluginCommand::Build(arguments) => project::command(&runtime, arguments).await,
        PluginCommand::Dev(arguments) => dev::dev(&runtime, arguments).await,
        PluginCommand::Test(arguments) => play::test(&runtime, arguments).await,
    }
}

/// What a right means beyond its name.
fn lent(asked: &Capability) -> String {
    match &asked.grant {
        Grant::Hook(event) => format!(" ({})", event.meaning()),
        _ if asked.preopen => {
            " (lent as a whole: writing single files in it is not asked about, deleting and moving are)".to_owned()
        }
        _ => String::new(),
    }
}

impl From<PackageError> for Failure {
    fn from(error: PackageError) -> Self {
        let told = match &error {
            PackageError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::usage(error.to_string())
            }
            PackageError::Read { .. }
            | PackageError::NotAComponent { .. }
            | PackageError::NoManifest { .. }
            | PackageError::Manifest { .. }
            | PackageError::Changed { .. }
            | PackageError::Gone { .. }
            | PackageError::NotInstalled { .. }
            | PackageError::TooLarge { .. } => Self::new(error.to_string()),
        };
        told.hint(error.hint())
    }
}
