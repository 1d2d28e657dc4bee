//! The plugins that this process knows: those that came with it, those that the settings name, and installed ones.
//!
//! Read when the first session needs them or in the background: manifests only, no code. What is installed is looked at
//! again for each session, which costs a look at one file where nothing has changed; a session that is open keeps the
//! [`Contents`] that it began with. A plugin that cannot be read is left out with its problem; of two with one id the
//! first is taken, in the order above, and the other is a problem too. Problems are logged when the first session has to
//! do without. A project's own plugins are no part of it: a session brings them once they are trusted.

mod contents;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use acp_runtime_agent::capability::{Grant, GrantSet, HookRole, PluginId, Tier};
use acp_runtime_host::origin::PluginOrigin;
use acp_runtime_host::package::{Digest, Package, PackageError, PackageStore};
use acp_runtime_host::plugin_host::{Plugin, PluginHost, SessionPlugins};
use acp_runtime_host::scope::SessionScope;

pub use self::contents::Contents;
use self::contents::Found;
use crate::authoring::Development;
use crate::settings::{PluginSettings, ProjectPlugin};

/// Where a plugin is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It came with the program.
    Bundled,
    /// The settings name it.
    Named,
    /// It was installed.
    Installed,
    /// The project of a session has it.
    Project,
    /// Somebody is just working on it.
    Development,
}

impl Origin {
    /// One word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bundled => "bundled",
            Self::Named => "named",
            Self::Installed => "installed",
            Self::Project => "project",
            Self::Development => "DEV",
        }
    }

    /// Who stands for its plugins where nobody has signed them, in a few words for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Bundled => "it came with acp-runtime",
            Self::Named => "a development build, named in `plugins.paths`",
            Self::Installed => "you installed it; nobody has signed it",
            Self::Project => "this project brings it along",
            Self::Development => "you are just working on it",
        }
    }
}

/// A plugin that can be used.
#[derive(Clone)]
pub struct KnownPlugin {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// Where it is from.
    pub origin: Origin,
    /// Its file; of an installed one what it was installed from.
    pub source: String,
    /// What it may do.
    pub grants: GrantSet,
}

/// Why sessions are without a plugin that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// `plugins.disabled` names it.
    Disabled,
    /// It came with the program, has hooks, and nobody has wished for it.
    NotEnabled,
}

impl KnownPlugin {
    /// Why it cannot be used with what is configured for it, as a sentence without its end; none where it can.
    pub fn misfit(&self, settings: &PluginSettings) -> Option<String> {
        let own = settings.settings.get(self.plugin.id())?;
        self.plugin.accepts(&own.clone().into()).err()
    }

    /// Why it is not in sessions in which `wanted` holds; none where it is. Nobody is to meet the hooks of a plugin that
    /// they have neither installed nor enabled.
    pub fn absence(&self, wanted: &PluginSettings) -> Option<Absence> {
        let id = self.plugin.id();
        let has_hooks = !self.plugin.manifest().hooks.is_empty();
        if wanted.disabled.contains(id) {
            return Some(Absence::Disabled);
        }
        let wished = self.origin != Origin::Bundled || wanted.enabled.contains(id);
        (has_hooks && !wished).then_some(Absence::NotEnabled)
    }

    /// Whether it was given the right to stop what would happen without it.
    pub fn guards(&self) -> bool {
        let gates = |right: &Grant| matches!(right, Grant::Hook(event) if event.role() == HookRole::Gate);
        self.grants.granted.iter().any(gates)
    }
}

/// Why a plugin is left out.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What is wrong, as a sentence without its end.
    pub message: String,
    /// What sort of reason it is.
    pub reason: Reason,
}

/// Why a plugin is left out, as far as that makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Something is wrong with it.
    Unusable,
    /// It is only in the way of another one of its id, which is used.
    Second,
    /// `plugins.allow` or `plugins.deny` says so.
    Refused,
}

impl Problem {
    fn unreadable(message: String) -> Self {
        Self { message, reason: Reason::Unusable }
    }
}

/// All plugins of a process.
pub struct Shelf {
    host: Arc<PluginHost>,
    bundled: Option<PathBuf>,
    named: Vec<PathBuf>,
    installed: PackageStore,
    /// What says whose plugins are loaded.
    rules: PluginSettings,
    /// Where those are that came with the program, whether they are used or not.
    beside: Option<PathBuf>,
    /// What does not change as long as the process lives.
    fixed: OnceLock<Found>,
    contents: Mutex<Option<Arc<Contents>>>,
    /// Those of projects, by file and digest: the sessions of one project share them.
    brought: Mutex<HashMap<(PathBuf, Digest), Weak<Plugin>>>,
    /// The problems that were logged.
    logged: Mutex<HashSet<String>>,
}

impl Shelf {
    /// A shelf of the component files in `bundled`, those in or at `named`, and those of the store in the folder
    /// `installed`. Reads nothing yet.
    pub fn new(host: Arc<PluginHost>, bundled: Option<&Path>, named: Vec<PathBuf>, installed: PathBuf) -> Self {
        let installed = PackageStore::new(installed);
        let (fixed, contents) = (OnceLock::new(), Mutex::default());
        let (brought, logged) = (Mutex::default(), Mutex::default());
        let (bundled, rules) = (bundled.map(Path::to_owned), PluginSettings::default());
        Self { host, bundled, named, installed, rules, beside: None, fixed, contents, brought, logged }
    }

    /// The same, with what is installed noted in `lockfile`, only with plugins that may be loaded by these settings, and
    /// with those in `beside` to be installed by their ids.
    #[must_use]
    pub fn ruled(self, lockfile: PathBuf, rules: PluginSettings, beside: Option<&Path>) -> Self {
        let installed = self.installed.locking(lockfile).telling(waits);
        Self { installed, rules, beside: beside.map(Path::to_owned), ..self }
    }

    /// The file of a plugin that came with the program, whether it is used or not.
    pub fn bundled(&self, id: &PluginId) -> Option<PathBuf> {
        let files = components(self.beside.as_deref()?).ok()?;
        files.into_iter().find(|file| Package::read(file).is_ok_and(|package| package.manifest().id == *id))
    }

    /// A shelf of one plugin and no other. Knows no store.
    pub(super) fn of_one(host: Arc<PluginHost>, plugin: KnownPlugin) -> Self {
        let contents = Mutex::new(Some(Arc::new(Contents::of_one(plugin))));
        Self { contents, ..Self::new(host, None, Vec::new(), PathBuf::new()) }
    }

    /// What runs them.
    pub fn host(&self) -> &Arc<PluginHost> {
        &self.host
    }

    /// Lends a session to plugins.
    pub fn open(&self, plugins: &[KnownPlugin], scope: SessionScope) -> SessionPlugins {
        let plugins: Vec<_> = plugins.iter().map(|known| known.plugin.clone()).collect();
        self.host.open(&plugins, scope)
    }

    /// Where installed plugins are kept.
    pub fn installed(&self) -> &PackageStore {
        &self.installed
    }

    /// What there is now.
    pub fn contents(&self) -> Arc<Contents> {
        let mut current = lock(&self.contents);
        if let Some(contents) = current.as_ref().filter(|contents| contents.holds(&self.installed)) {
            return contents.clone();
        }
        let contents = Arc::new(Contents::read(self, current.as_deref()));
        *current = Some(contents.clone());
        contents
    }

    /// The same for a session that begins. What has come meanwhile is compiled in the background, as at the beginning.
    pub fn for_session(&self) -> Arc<Contents> {
        let contents = self.contents();
        self.warm_in_the_background(contents.take_new());
        let mut logged = lock(&self.logged);
        for problem in &contents.problems {
            if logged.insert(problem.message.clone()) {
                tracing::warn!("{}", problem.message);
            }
        }
        contents
    }

    /// The plugin of that id that is there without being installed: an installed one would not be loaded beside it.
    pub fn fixed(&self, id: &PluginId) -> Option<KnownPlugin> {
        let contents = self.contents();
        let mut fixed = contents.plugins.iter().filter(|known| known.origin != Origin::Installed);
        fixed.find(|known| known.plugin.id() == id).cloned()
    }

    /// A plugin of a project, which was trusted as a file with this digest: no other code is run. Whoever trusted it has
    /// agreed to what its hooks are told of, and to nothing else: its reads are asked for, and the rest is refused.
    pub fn of_project(&self, file: &ProjectPlugin) -> Result<KnownPlugin, PackageError> {
        let folder = file.path.parent().unwrap_or(&file.path).display().to_string();
        let plugin = self.pinned(&file.path, file.digest, PluginOrigin::Project(folder))?;
        let hooks = plugin.manifest().ceiling().into_iter().filter(|right| matches!(right, Grant::Hook(_)));
        let grants = plugin.manifest().grants(Tier::Installed, Some(hooks.collect()));
        Ok(KnownPlugin { plugin, origin: Origin::Project, source: file.path.display().to_string(), grants })
    }

    /// A plugin that somebody works on, with the rights that they have granted it for as long.
    pub(super) fn in_development(&self, development: &Development) -> Result<KnownPlugin, PackageError> {
        let plugin = self.pinned(&development.file, development.digest, PluginOrigin::Path)?;
        let granted = plugin.manifest().ceiling().into_iter().filter(|right| {
            let right = right.to_string();
            development.granted.contains(&right)
        });
        let grants = plugin.manifest().grants(Tier::Installed, Some(granted.collect()));
        Ok(KnownPlugin { plugin, origin: Origin::Development, source: development.source.clone(), grants })
    }

    /// The plugin of that file, which must have this digest. Sessions share it.
    fn pinned(&self, path: &Path, digest: Digest, from: PluginOrigin) -> Result<Arc<Plugin>, PackageError> {
        let key = (path.to_owned(), digest);
        let mut brought = lock(&self.brought);
        if let Some(plugin) = brought.get(&key).and_then(Weak::upgrade) {
            return Ok(plugin);
        }
        let plugin = self.host.load(Package::read_pinned(path, digest)?.with_origin(from));
        brought.retain(|_, plugin| plugin.strong_count() > 0);
        brought.insert(key, Arc::downgrade(&plugin));
        Ok(plugin)
    }

    /// Reads and compiles everything, in the background.
    pub async fn warm(&self) {
        // Not all the while: what is no longer installed is not kept for this.
        let plugins: Vec<_> = self.contents().plugins.iter().map(|known| known.plugin.clone()).collect();
        self.host.warm(&plugins).await;
    }

    /// Compiles plugins while their session begins.
    pub fn warm_in_the_background(&self, plugins: Vec<Arc<Plugin>>) {
        if !plugins.is_empty() {
            let host = self.host.clone();
            tokio::spawn(async move { host.warm(&plugins).await });
        }
    }

    /// Why a plugin is not loaded that is there, as a sentence without its end; none where it may be.
    pub fn refusal(&self, id: &PluginId, publisher: Option<&str>, origin: Origin) -> Option<String> {
        self.rules.refusal(id, publisher, origin == Origin::Bundled)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says why nothing happens: on a terminal somebody sits before it.
fn waits(lock: &Path) {
    tracing::warn!("another process changes what is installed, and is waited for (`{}`)", lock.display());
}

/// The component files of a folder, sorted; a file itself.
#[expect(clippy::disallowed_methods, reason = "the folders of plugins are this room's")]
fn components(place: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(place)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
