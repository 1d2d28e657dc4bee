//! What can be chosen in a session: the models, and the plugins that are there.

use std::path::Path;

use acp_runtime_agent::options::{Choices, Options, PluginChoice, Withheld, WithheldPlugin};
use acp_runtime_agent::session::OpenError;

use super::development::take_over;
use super::shelf::Absence;
use super::{KnownPlugin, Runtime};
use crate::settings::{PROJECT_FILE, Settings};

impl Runtime {
    /// The options of a session in `folder`, where `settings` hold: there are the plugins on the `shelf`, the project has some
    /// of its `own`, and others are just `developed`.
    pub(super) fn options(
        &self,
        choices: Choices,
        settings: &Settings,
        (shelf, own, developed): (&[KnownPlugin], &[KnownPlugin], &[KnownPlugin]),
        folder: &Path,
    ) -> Result<Options, OpenError> {
        let (mut withheld, mut there) = (Vec::new(), Vec::new());
        let mut all = [shelf, own].concat();
        take_over(&mut all, developed);
        for known in &all {
            match self.withheld(known, settings, folder) {
                Some(why) => withheld.push(WithheldPlugin { plugin: choice(known), why }),
                None => there.push(choice(known)),
            }
        }
        let options = Options::new(choices, self.models.clone(), there);
        let options = options.map_err(|error| OpenError::Setup {
            message: error.to_string(),
            hint: "name another one with `--model`, or correct `model` in the file of `acp-runtime config path`"
                .to_owned(),
        })?;
        Ok(options.withholding(withheld))
    }

    /// Why sessions in `folder`, where `settings` hold, are without a plugin; none where they have it.
    fn withheld(&self, known: &KnownPlugin, settings: &Settings, folder: &Path) -> Option<Withheld> {
        let id = known.plugin.id();
        if settings.plugins.disabled.contains(id) {
            let by_user = self.settings.plugins.disabled.contains(id);
            let file = if by_user { self.settings.file().to_owned() } else { folder.join(PROJECT_FILE) };
            return Some(Withheld::Disabled(format!("`plugins.disabled` in `{}`", file.display())));
        }
        if known.absence(&settings.plugins) == Some(Absence::NotEnabled) {
            return Some(Withheld::NotEnabled(format!("`plugins.enabled` in `{}`", self.settings.file().display())));
        }
        let problem = known.misfit(&settings.plugins)?;
        Some(Withheld::Misconfigured { problem, place: self.settings.plugin_place(id) })
    }
}

fn choice(known: &KnownPlugin) -> PluginChoice {
    let manifest = known.plugin.manifest();
    let (title, description) = (manifest.about.title.clone(), manifest.about.description.clone());
    PluginChoice { id: manifest.id.clone(), title, description }
}
