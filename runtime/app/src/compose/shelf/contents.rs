//! What is on the shelf at a moment: a session keeps it, and with it the files of what is installed.

use std::path::Path;
use std::sync::{Arc, Mutex};

use acp_runtime_agent::capability::{PluginId, Tier};
use acp_runtime_host::origin::PluginOrigin;
use acp_runtime_host::package::{Installed, Lease, Package, PackageStore, Stamp};
use acp_runtime_host::plugin_host::Plugin;

use super::{KnownPlugin, Origin, Problem, Reason, Shelf, components, lock};
use crate::settings::PluginSettings;

/// Plugins, and those that cannot be used.
#[derive(Clone, Default)]
pub(super) struct Found {
    plugins: Vec<KnownPlugin>,
    problems: Vec<Problem>,
}

/// What there is at a moment.
pub struct Contents {
    /// All that can be used.
    pub plugins: Vec<KnownPlugin>,
    /// What is left out, and why.
    pub problems: Vec<Problem>,
    holds: Holds,
    /// What was not there before, until somebody has it compiled.
    new: Mutex<Vec<Arc<Plugin>>>,
    /// Keeps the files of what is installed, whatever other processes do.
    _lease: Option<Lease>,
}

/// How long that is what there is.
enum Holds {
    /// There is nothing else, and never will be.
    Always,
    /// As long as the index looks like that.
    While(Stamp),
    /// It is tried again each time: the index could not be read.
    No,
}

impl Contents {
    /// One plugin and no other.
    pub(super) fn of_one(plugin: KnownPlugin) -> Self {
        let (plugins, problems, new) = (vec![plugin], Vec::new(), Mutex::default());
        Self { plugins, problems, holds: Holds::Always, new, _lease: None }
    }

    /// Reads what there is now; `before` is what there was, if it was read before.
    pub(super) fn read(shelf: &Shelf, before: Option<&Self>) -> Self {
        let mut found = shelf.fixed.get_or_init(|| Found::fixed(shelf)).clone();
        // Looked at before it is read: what changes in between is seen the next time.
        let stamp = shelf.installed.stamp();
        let (holds, lease) = match shelf.installed.lend() {
            Ok((installed, lease)) => {
                for (id, installed) in installed {
                    let same = before.and_then(|before| before.installed(&id, &installed));
                    found.take_installed(shelf, &id, installed, same);
                }
                (Holds::While(stamp), lease)
            }
            Err(error) => {
                found.problems.push(Problem::unreadable(format!("{error} ({})", error.hint())));
                (Holds::No, None)
            }
        };
        let Found { plugins, problems } = found;
        let is_new = |plugin: &&KnownPlugin| before.is_some_and(|before| !before.has(&plugin.plugin));
        let new = plugins.iter().filter(is_new).map(|known| known.plugin.clone()).collect();
        Self { plugins, problems, holds, new: Mutex::new(new), _lease: lease }
    }

    /// Whether that is still what there is.
    pub(super) fn holds(&self, store: &PackageStore) -> bool {
        match &self.holds {
            Holds::Always => true,
            Holds::While(stamp) => *stamp == store.stamp(),
            Holds::No => false,
        }
    }

    /// What was not there before, for whoever asks first.
    pub(super) fn take_new(&self) -> Vec<Arc<Plugin>> {
        std::mem::take(&mut *lock(&self.new))
    }

    /// Those of a session in which `wanted` holds.
    pub fn enabled(&self, wanted: &PluginSettings) -> Vec<KnownPlugin> {
        self.plugins.iter().filter(|known| known.absence(wanted).is_none()).cloned().collect()
    }

    /// The plugin that was loaded from the same file, when the same key stood for it.
    fn installed(&self, id: &PluginId, installed: &Installed) -> Option<Arc<Plugin>> {
        let origin = PluginOrigin::Installed(installed.key);
        let mut ours = self.plugins.iter().map(|known| &known.plugin).filter(|plugin| *plugin.origin() == origin);
        ours.find(|plugin| plugin.id() == id && plugin.pinned() == Some(installed.digest)).cloned()
    }

    fn has(&self, plugin: &Arc<Plugin>) -> bool {
        self.plugins.iter().any(|known| Arc::ptr_eq(&known.plugin, plugin))
    }
}

impl Found {
    /// What came with the program, and what the settings name.
    fn fixed(shelf: &Shelf) -> Self {
        let mut found = Self::default();
        if let Some(place) = &shelf.bundled {
            found.take_place(shelf, place, Origin::Bundled);
        }
        for place in &shelf.named {
            found.take_place(shelf, place, Origin::Named);
        }
        found
    }

    /// A component file, or all of a folder.
    fn take_place(&mut self, shelf: &Shelf, place: &Path, origin: Origin) {
        match components(place) {
            Ok(files) => files.iter().for_each(|file| self.take_file(shelf, file, origin)),
            Err(error) => {
                let message = format!("plugins at `{}` cannot be read: {error}", place.display());
                self.problems.push(Problem::unreadable(message));
            }
        }
    }

    fn take_file(&mut self, shelf: &Shelf, file: &Path, origin: Origin) {
        match Package::read(file) {
            Ok(package) if self.admits(shelf, &package.manifest().id, None, origin) => {
                // A bundled plugin was granted what it asks for by those who bundled it. One that the settings name
                // was not: its reads are asked for, and nothing else is allowed.
                let (tier, granted, from) = match origin {
                    Origin::Bundled => (Tier::Bundled, None, PluginOrigin::Bundled),
                    Origin::Named | Origin::Installed | Origin::Project | Origin::Development => {
                        (Tier::Installed, Some(Vec::new()), PluginOrigin::Path)
                    }
                };
                let package = package.with_origin(from);
                let grants = package.manifest().grants(tier, granted);
                let source = file.display().to_string();
                self.take(KnownPlugin { plugin: shelf.host.load(package), origin, source, grants });
            }
            Ok(_) => {}
            Err(error) => self.problems.push(Problem::unreadable(format!("{error} ({})", error.hint()))),
        }
    }

    /// One that is installed. What is there `before` as the same file is not read again, and stays compiled.
    fn take_installed(&mut self, shelf: &Shelf, id: &PluginId, installed: Installed, before: Option<Arc<Plugin>>) {
        if !self.admits(shelf, id, installed.publisher.as_deref(), Origin::Installed) {
            return;
        }
        let read = || {
            shelf
                .installed
                .package(&installed)
                .map(|package| package.with_origin(PluginOrigin::Installed(installed.key)))
        };
        match before.map_or_else(|| read().map(|package| shelf.host.load(package)), Ok) {
            Ok(plugin) if plugin.id() == id => {
                let (grants, origin) = (installed.grants(plugin.manifest()), Origin::Installed);
                self.take(KnownPlugin { plugin, origin, source: installed.source, grants });
            }
            Ok(plugin) => {
                let message = format!("plugin `{id}`: its file is of `{}`", plugin.id());
                self.problems.push(Problem::unreadable(message));
            }
            Err(error) => {
                self.problems.push(Problem::unreadable(format!("plugin `{id}`: {error} ({})", error.hint())));
            }
        }
    }

    /// Whether it may be loaded by what the settings say of namespaces and publishers.
    fn admits(&mut self, shelf: &Shelf, id: &PluginId, publisher: Option<&str>, origin: Origin) -> bool {
        let refusal = shelf.refusal(id, publisher, origin);
        let problem = refusal
            .map(|why| Problem { message: format!("plugin `{id}` is not loaded: {why}"), reason: Reason::Refused });
        let admitted = problem.is_none();
        self.problems.extend(problem);
        admitted
    }

    fn take(&mut self, plugin: KnownPlugin) {
        let id = plugin.plugin.id();
        match self.plugins.iter().find(|known| known.plugin.id() == id) {
            None => self.plugins.push(plugin),
            Some(known) => {
                let message = format!(
                    "plugin `{id}`: the {} one at `{}` is there already, so the {} one from `{}` is left out",
                    known.origin.as_str(),
                    known.source,
                    plugin.origin.as_str(),
                    plugin.source
                );
                self.problems.push(Problem { message, reason: Reason::Second });
            }
        }
    }
}
