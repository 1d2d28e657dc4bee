//! What can be chosen in a session: the models, and the plugins that are there.

use std::path::Path;

use acp_runtime_agent::options::{Choices, Options, PluginChoice, WithheldPlugin};
use acp_runtime_agent::session::OpenError;

use super::{KnownPlugin, Runtime};
use crate::settings::{PROJECT_FILE, Settings};

impl Runtime {
    /// The options of a session in `folder`, where `settings` hold and the project has plugins of its `own`.
    pub(super) fn options(
        &self,
        choices: Choices,
        settings: &Settings,
        own: &[KnownPlugin],
        folder: &Path,
    ) -> Result<Options, OpenError> {
        let disabled = |known: &&KnownPlugin| settings.plugins.disabled.contains(known.plugin.id());
        let (withheld, there): (Vec<_>, Vec<_>) = self.shelf.plugins().iter().partition(disabled);
        let withheld = withheld.into_iter().map(|known| {
            let by_user = self.settings.plugins.disabled.contains(known.plugin.id());
            let file = if by_user { self.settings.file().to_owned() } else { folder.join(PROJECT_FILE) };
            let by = format!("`plugins.disabled` in `{}`", file.display());
            WithheldPlugin { plugin: choice(known), by }
        });
        let there = there.into_iter().chain(own).map(choice).collect();
        let options = Options::new(choices, self.models.clone(), there);
        let options = options.map_err(|error| OpenError::Setup {
            message: error.to_string(),
            hint: "name another one with `--model`, or correct `model` in the file of `acp-runtime config path`"
                .to_owned(),
        })?;
        Ok(options.withholding(withheld.collect()))
    }
}

fn choice(known: &KnownPlugin) -> PluginChoice {
    let manifest = known.plugin.manifest();
    let (title, description) = (manifest.about.title.clone(), manifest.about.description.clone());
    PluginChoice { id: manifest.id.clone(), title, description }
}
