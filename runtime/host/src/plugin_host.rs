//! Plugins as tools, panels, commands and hooks of a session.
//!
//! Loading a plugin and opening a session read nothing and run nothing: a component is compiled when it is first
//! called, or by [`PluginHost::warm`], once for all who wait for it. What a plugin may do is decided by the session's
//! gate, import by import. Tested in `tests/it`.

mod bound;
mod hook;
mod names;
mod narrower;
mod settings;
mod workshop;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use acp_runtime_agent::capability::{Grant, PluginId, ToolName};
use acp_runtime_agent::command::Command;
use acp_runtime_agent::hook::Hook;
use acp_runtime_agent::panel::PanelSource;
use acp_runtime_agent::tool::Tool;
use futures::future::FutureExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::bound::BoundPlugin;
use self::hook::{BrokenHook, HookDesk};
use self::names::Specs;
use self::narrower::{Narrower, Turns};
use self::workshop::{Compiling, Workshop};
use crate::call_thread::CallThread;
use crate::compile::Compiler;
use crate::crew::Crew;
use crate::egress::Egress;
use crate::engine::TICK;
use crate::instance::{CallError, Compiled};
use crate::kv::{KvDesk, KvStore};
use crate::limits::{LimitBook, Limits};
use crate::manifest::{Inventory, Manifest};
use crate::origin::PluginOrigin;
use crate::own_files::OwnFiles;
use crate::package::{Digest, Package, PackageError};
use crate::record::{Calls, Record};
use crate::scope::SessionScope;
use crate::secrets::{SecretDesk, SecretStore};
use crate::state::{Call, CallLog, Deadline, Desks, SessionCall};

/// Runs plugins. One for a process.
pub struct PluginHost {
    workshop: Arc<Workshop>,
    limits: LimitBook,
    surroundings: Surroundings,
}

/// What all plugins of a process have around them.
#[derive(Clone)]
struct Surroundings {
    ports: Ports,
    /// Where the plugins' `/data` are.
    kept: Option<PathBuf>,
}

/// What plugins have beside their sessions, as the application makes it.
#[derive(Clone)]
pub struct Ports {
    /// Keeps their own values.
    pub kv: Arc<dyn KvStore>,
    /// Keeps the secrets that they may have sent.
    pub secrets: Arc<dyn SecretStore>,
    /// The way to the network.
    pub egress: Arc<Egress>,
}

impl Surroundings {
    /// Those of one plugin, which is from there and asks for these rights.
    fn desks(&self, origin: &PluginOrigin, plugin: &PluginId, limits: &Arc<Limits>, asked: &[Grant]) -> Desks {
        let secrets = SecretDesk::new(self.ports.secrets.clone(), origin.clone(), asked);
        self.desks_with(origin, plugin, limits, Arc::new(secrets))
    }

    /// Those of one plugin, whose secrets are known.
    fn desks_with(
        &self,
        origin: &PluginOrigin,
        plugin: &PluginId,
        limits: &Arc<Limits>,
        secrets: Arc<SecretDesk>,
    ) -> Desks {
        let net = self.ports.egress.desk_of(limits.net.clone(), secrets.filter().clone());
        let kv = Arc::new(KvDesk::new(self.ports.kv.clone(), origin.place(), limits.clone()));
        let own_files = Arc::new(OwnFiles::new(self.kept.as_ref(), origin, plugin, limits.clone()));
        Desks { kv, own_files, net: Arc::new(net), secrets }
    }
}

/// A plugin that sessions can use.
pub struct Plugin {
    workshop: Arc<Workshop>,
    package: Arc<Package>,
    surroundings: Surroundings,
    limits: Arc<Limits>,
    desks: Desks,
    calls: Turns,
    hooks: HookDesk,
    specs: Arc<Specs>,
    record: Record,
    compiled: Arc<Mutex<Option<Compiling>>>,
    /// The same for sessions in which it may do less.
    narrower: Narrower,
}

/// What a session's plugins offer.
#[derive(Default)]
pub struct SessionPlugins {
    /// Tools; no two have the same name.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Panels; no two have the same name.
    pub panels: Vec<Arc<dyn PanelSource>>,
    /// Slash commands; no two have the same name.
    pub commands: Vec<Arc<dyn Command>>,
    /// Hooks, at most one object for each plugin.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// What is left out, and why.
    pub problems: Vec<Problem>,
}

/// Something of a plugin that is left out of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}`: {what}")]
pub struct Problem {
    /// The plugin.
    pub plugin: PluginId,
    /// A sentence.
    pub what: String,
}

/// Why a component could not be asked what it offers.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct InspectError {
    message: String,
    /// Whether it needed more than it may.
    is_limit: bool,
}

impl InspectError {
    /// What whoever installs it can do about it.
    pub fn hint(&self) -> &'static str {
        if self.is_limit {
            "ask its author for a smaller build, or raise the limit in `[limits.plugin]` of the configuration"
        } else {
            "ask the plugin's author for a build for this version"
        }
    }
}

impl PluginHost {
    /// A host that keeps compiled code in `cache`, if that is given. Nothing is started yet.
    pub fn new(cache: Option<PathBuf>, limits: impl Into<LimitBook>, ports: Ports) -> Arc<Self> {
        let limits = limits.into();
        let workshop = Workshop::new(cache, limits.widest(limits.usual().space.stack));
        Arc::new(Self { workshop: Arc::new(workshop), limits, surroundings: Surroundings { ports, kept: None } })
    }

    /// The same, which keeps the plugins' own files (`/data`) in that folder; without it they have none. It is made when
    /// it is needed.
    #[must_use]
    pub fn keeping(self: Arc<Self>, kept: PathBuf) -> Arc<Self> {
        let Self { workshop, limits, surroundings } = &*self;
        let surroundings = Surroundings { kept: Some(kept), ..surroundings.clone() };
        Arc::new(Self { workshop: workshop.clone(), limits: limits.clone(), surroundings })
    }

    /// The same, for which `compiler` compiles; without it that is done in this process, and cannot be ended there.
    #[must_use]
    pub fn compiled_by(self: Arc<Self>, compiler: Arc<dyn Compiler>) -> Arc<Self> {
        let Self { workshop, limits, surroundings } = &*self;
        let workshop = Arc::new(workshop.with(compiler));
        Arc::new(Self { workshop, limits: limits.clone(), surroundings: surroundings.clone() })
    }

    /// The limits of the plugin that says this of itself.
    pub fn limits_of(&self, manifest: &Manifest) -> Arc<Limits> {
        self.limits.of(&manifest.id, &manifest.limits)
    }

    /// Makes a plugin of a package. Nothing is read or compiled.
    pub fn load(self: &Arc<Self>, package: Package) -> Arc<Plugin> {
        let (manifest, origin) = (package.manifest(), package.origin());
        let limits = self.limits_of(manifest);
        Arc::new(Plugin {
            workshop: self.workshop.clone(),
            specs: Arc::new(Specs::new(manifest)),
            desks: self.surroundings.desks(origin, &manifest.id, &limits, &manifest.ceiling()),
            surroundings: self.surroundings.clone(),
            calls: Turns::of_calls(&limits, None),
            hooks: HookDesk::new(&limits),
            package: Arc::new(package),
            limits,
            record: Record::default(),
            compiled: Arc::default(),
            narrower: Narrower::default(),
        })
    }

    /// Removes all that a plugin has kept: its values and the files in its `/data`. The error is for people.
    pub async fn forget(&self, origin: &PluginOrigin, plugin: &PluginId) -> Result<(), String> {
        let origin = origin.place();
        self.surroundings.ports.kv.forget(&origin, plugin).await.map_err(|error| error.to_string())?;
        let Some(kept) = self.surroundings.kept.clone() else { return Ok(()) };
        let (plugin, shown) = (plugin.clone(), kept.display().to_string());
        let forgotten = tokio::task::spawn_blocking(move || OwnFiles::forget(&kept, &origin, &plugin)).await;
        let forgotten = forgotten.map_err(io::Error::other).flatten();
        forgotten.map_err(|error| format!("what it has below `{shown}` cannot be removed: {error}"))
    }

    /// Lends a session to plugins.
    pub fn open(&self, plugins: &[Arc<Plugin>], scope: SessionScope) -> SessionPlugins {
        let scope = Arc::new(scope);
        let names = names::Session::of(plugins);
        let mut opened = SessionPlugins::default();
        for plugin in plugins {
            match BoundPlugin::new(plugin, &scope, &names) {
                Ok(bound) => Arc::new(bound).offer(&names, &mut opened),
                Err(what) => {
                    // What was to be decided by it is not done without it.
                    opened.hooks.extend(BrokenHook::of(plugin, &scope, &what));
                    opened.problems.push(Problem { plugin: plugin.id().clone(), what });
                }
            }
        }
        opened
    }

    /// Compiles plugins that are not compiled yet, one after the other and at low priority.
    pub async fn warm(&self, plugins: &[Arc<Plugin>]) {
        let crew = Crew::ahead();
        for plugin in plugins {
            if let Err(error) = plugin.compiled_by(&crew).await {
                tracing::warn!("plugin `{}`: {error}", plugin.id());
            }
        }
    }

    /// Asks a component what it offers. It is lent nothing but its limits.
    pub async fn inspect(self: &Arc<Self>, id: &PluginId, component: Vec<u8>) -> Result<Inventory, InspectError> {
        let failed = |error: CallError| InspectError {
            message: error.to_string(),
            is_limit: matches!(error, CallError::Limit(_) | CallError::TimedOut(_)),
        };
        let inventory = self.ask_inventory(id, component).await.map_err(failed)?;
        inventory.check().map_err(|error| InspectError { message: error.to_string(), is_limit: false })
    }

    async fn ask_inventory(self: &Arc<Self>, id: &PluginId, component: Vec<u8>) -> Result<Inventory, CallError> {
        let limits = Arc::new(self.limits.usual().clone());
        let digest = Digest::of(&component);
        let compiled = self.workshop.begin(&Crew::Awaited, &limits, move || Ok((component, digest))).await?;
        let desks = self.surroundings.desks(&PluginOrigin::default(), id, &limits, &[]);
        let call = new_call(id, &limits, &desks, &Record::default(), None, CancellationToken::new());
        compiled.run(call, Vec::new(), |guest, exports| guest.inventory(exports).boxed()).await
    }
}

impl Plugin {
    /// Its id.
    pub fn id(&self) -> &PluginId {
        &self.manifest().id
    }

    /// Who it is from.
    pub fn origin(&self) -> &PluginOrigin {
        self.package.origin()
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        self.package.manifest()
    }

    /// The name of its tool `own` for models, in sessions where no other plugin has its own name.
    pub fn called(&self, own: &str) -> Option<&ToolName> {
        self.specs.called(self.manifest(), own)
    }

    /// The digest of its file, which is read for that.
    pub fn digest(&self) -> Result<Digest, PackageError> {
        self.package.bytes().map(|(_, digest)| digest)
    }

    /// The digest that its file must have; none of one that may change.
    pub fn pinned(&self) -> Option<Digest> {
        self.package.pinned()
    }

    /// The digest of the code that its calls run; none before it was compiled. Reads nothing.
    pub fn running(&self) -> Option<Digest> {
        Some(self.lock().as_ref()?.peek()?.as_ref().ok()?.digest())
    }

    /// Whether it can be used with these settings in the configuration. The error says why not.
    pub fn accepts(self: &Arc<Self>, settings: &Value) -> Result<(), String> {
        settings::Settings::new(self, Some(settings)).map(drop)
    }

    /// What is remembered of its calls in this process, whatever session they were of.
    pub fn calls(&self) -> Calls {
        self.record.get()
    }

    /// The compiled component. Who comes while it is compiled waits; a caller that goes away stops nothing.
    async fn compiled(&self) -> Result<Arc<Compiled>, CallError> {
        self.compiled_by(&Crew::Awaited).await
    }

    async fn compiled_by(&self, crew: &Crew) -> Result<Arc<Compiled>, CallError> {
        let compiling = self.lock().get_or_insert_with(|| self.compile(crew)).clone();
        let compiled = compiling.clone().await;
        if compiled.is_err() {
            // The next call tries again: the file may have been repaired.
            let mut current = self.lock();
            if current.as_ref().is_some_and(|current| current.ptr_eq(&compiling)) {
                *current = None;
            }
        }
        compiled
    }

    fn compile(&self, crew: &Crew) -> Compiling {
        let package = self.package.clone();
        self.workshop.begin(crew, &self.limits, move || {
            package.bytes().map_err(|error| CallError::Unusable(format!("{error} ({})", error.hint())))
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Compiling>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that begins now.
fn new_call(
    plugin: &PluginId,
    limits: &Arc<Limits>,
    desks: &Desks,
    record: &Record,
    session: Option<SessionCall>,
    cancel: CancellationToken,
) -> Call {
    let cpu = limits.time.cpu;
    Call {
        plugin: plugin.clone(),
        limits: limits.clone(),
        desks: desks.clone(),
        session,
        deadline: Deadline::after(limits.time.wall),
        cpu,
        ticks: u64::try_from(cpu.as_millis() / TICK.as_millis()).unwrap_or(u64::MAX),
        crossing: limits.traffic.crossing,
        handles: limits.space.handles,
        cancel,
        log: CallLog::new(plugin.clone(), &limits.traffic, record.clone(), desks.secrets.filter().clone()),
        runs: 0,
        thread: CallThread::default(),
    }
}
