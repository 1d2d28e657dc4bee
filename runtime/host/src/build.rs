//! From a component and a `plugin.toml` to a plugin: asks the component what it offers and puts the manifest into it.
//!
//! Knows nothing about compilers or project folders. Tested in `tests/it/packages.rs`.

use std::io::Cursor;
use std::sync::Arc;

use acp_runtime_agent::model::InputSchema;

use crate::manifest::{Inventory, Manifest, ManifestError};
use crate::package;
use crate::plugin_host::{InspectError, PluginHost};

/// Why there is no plugin.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The `plugin.toml`, or what the component says that it offers.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Not a component.
    #[error("the file is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// The component cannot be run.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// A JSON Schema is broken.
    #[error("{0}")]
    Schema(String),
    /// The manifest asks for an event that the component has no hook for.
    #[error("{0}")]
    Hooks(String),
}

impl BuildError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Manifest(error) => error.hint(),
            Self::NotAComponent(_) => "build it for `wasm32-wasip2`",
            Self::Inspect(_) => {
                "export an interface of `wit/` and keep `list-tools`, `list-panels`, `list-commands` and `list-events` simple"
            }
            Self::Hooks(_) => {
                "take it out of `capabilities.hooks` in `plugin.toml`, or add it to the component's hooks"
            }
            Self::Schema(_) => "write the schema as JSON Schema 2020-12, without references to other documents",
        }
    }
}

/// The component with its manifest inside, in place of one that it had.
pub async fn embed(host: &Arc<PluginHost>, component: &[u8], toml: &str) -> Result<Vec<u8>, BuildError> {
    let alone = Manifest::from_toml(toml, Inventory::default())?;
    // The compiler's words about it would be long, and about something else.
    package::check_beginning(&mut Cursor::new(component)).map_err(BuildError::NotAComponent)?;
    let inventory = host.inspect(&alone.id, component.to_vec()).await?;
    let manifest = Manifest::from_toml(toml, inventory.clone())?;
    check_schemas(&manifest).map_err(BuildError::Schema)?;
    check_hooks(&manifest).map_err(BuildError::Hooks)?;
    let section = Manifest::section(toml, &inventory)?;
    package::replace(component, &section).map_err(BuildError::NotAComponent)
}

/// A hook that is asked for and not there would fail each time; one that decides would stop everything.
pub(crate) fn check_hooks(manifest: &Manifest) -> Result<(), String> {
    match manifest.unheard() {
        None => Ok(()),
        Some(event) => Err(format!("the manifest asks for the event `{event}`, and the component has no hook for it")),
    }
}

/// Compiles every JSON Schema of a manifest; when a session opens there is no time for that.
pub(crate) fn check_schemas(manifest: &Manifest) -> Result<(), String> {
    for tool in &manifest.inventory.tools {
        let checked = InputSchema::new(tool.input_schema.clone()).check();
        checked.map_err(|problem| format!("tool `{}`: {problem}", tool.name))?;
    }
    let settings = manifest.settings.as_ref().map_or(Ok(()), InputSchema::check);
    settings.map_err(|problem| format!("settings: {problem}"))
}
