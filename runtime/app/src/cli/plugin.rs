//! `acp-runtime plugin`: which plugins there are, and what they may do.
#![expect(clippy::disallowed_methods, reason = "`plugin build` writes the file that it is asked for")]

mod doctor;
mod grant;
mod info;
mod install;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use acp_runtime_agent::capability::Grant;
use acp_runtime_host::build::{BuildError, embed};
use acp_runtime_host::limits::COMPONENT;
use acp_runtime_host::manifest::{Capability, MOST_BYTES};
use acp_runtime_host::package::{PackageError, read_whole};

use self::doctor::doctor;
use self::grant::{grant, revoke};
use self::info::{ambiguous, info, list, meant, unknown};
use self::install::{install, remove};
use super::arguments::PluginCommand;
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
        PluginCommand::Install { source, yes, json } => install(&runtime, &source, yes, json).await,
        PluginCommand::Remove { plugin, keep_data, json } => remove(&runtime, &plugin, keep_data, json).await,
        PluginCommand::Grant { plugin, effect, scope, json } => grant(&runtime, &plugin, &effect, scope, json).await,
        PluginCommand::Revoke { plugin, effect, json } => revoke(&runtime, &plugin, effect, json).await,
        PluginCommand::Doctor { plugin, json } => doctor(&runtime, plugin.as_deref(), json).await,
        PluginCommand::Build { component, manifest, output } => build(&runtime, &component, &manifest, &output).await,
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

async fn build(runtime: &Runtime, component: &Path, manifest: &Path, output: &Path) -> Result<(), Failure> {
    let bytes = read_whole(component, COMPONENT)?;
    let toml = String::from_utf8(read_whole(manifest, MOST_BYTES as u64)?).map_err(|error| {
        Failure::new(format!("`{}` is not text: {error}", manifest.display())).hint("name the plugin's `plugin.toml`")
    })?;
    let plugin = embed(runtime.shelf().host(), &bytes, &toml).await.map_err(|error| {
        let place = if matches!(error, BuildError::Manifest(_)) { manifest } else { component };
        Failure::new(format!("`{}`: {error}", place.display())).hint(error.hint())
    })?;
    // Renamed into place, so that a program that looks there never sees a half.
    let unfinished = output.with_extension("new");
    std::fs::write(&unfinished, plugin).and_then(|()| std::fs::rename(&unfinished, output)).map_err(|error| {
        Failure::new(format!("`{}` cannot be written: {error}", output.display()))
            .hint("check the path and its permissions")
    })?;
    writeln!(io::stdout(), "{}", output.display())?;
    Ok(())
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
