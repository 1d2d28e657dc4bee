//! The one place where concrete types are chosen: settings, store, models, plugins and tools become sessions.
//!
//! Making a [`Runtime`] opens nothing and starts nothing, so `initialize` is answered before anything is loaded. A
//! session gets its own gate, workspace and catalogues; what sessions can share (specs, handles of folders, compiled
//! plugins) they share. Tested through the real binary in `tests/it`.

mod accounts;
mod belongings;
mod book;
mod brought;
pub mod checks;
mod commands;
mod compiler;
mod development;
mod disk;
mod doctor;
mod fork;
mod furnish;
mod keys;
mod options;
mod packages;
mod permissions;
mod programs;
mod sessions;
mod shelf;
mod stage;
mod storage;
mod transcript;
mod updates;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use acp_runtime_agent::capability::{PluginId, RootId};
use acp_runtime_agent::context::{Additions, History, Project};
use acp_runtime_agent::event::{EventSink as _, Notice, SessionEvent, Severity};
use acp_runtime_agent::gate::Gate;
use acp_runtime_agent::hook::Hooks;
use acp_runtime_agent::options::{Bounds, Choices};
use acp_runtime_agent::outbox::Outbox;
use acp_runtime_agent::panel::{PanelBoard, StalePanels};
use acp_runtime_agent::session::{
    OpenError, OrderedApprover, OrderedElicitor, OrderedTerminal, SessionHandle, SessionParts, SessionRequest,
    Subagents, command_catalog,
};
use acp_runtime_agent::store::{Claim, SessionSetup, StoreError};
use acp_runtime_agent::tool::ToolCatalog;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_agent::turn::{Budget, TurnContext};
use acp_runtime_host::egress::Desk;
use acp_runtime_host::plugin_host::{PluginHost, Ports};
use acp_runtime_host::scope::{Folders, HeldRoot, SessionScope};

use crate::acp;
use crate::audit::AuditLog;
use crate::authoring::{Developments, Glimpse};
use crate::mcp::{Mcp, McpCommand};
use crate::models::{Models, ModelsError};
use crate::process::{BASE_VARIABLES, Launcher, Stops, own_executable};
use crate::redaction::Redaction;
use crate::settings::{Paths, Settings, SettingsError, variable};
use crate::store::{Answers, SqliteStore};
use crate::tools::{Network, Surroundings, native_tools, subagent_tool};
use crate::transport::{Transport, stdio};
use crate::workspace::{OpenRoot, RootError, RootRegistry};

use accounts::Accounts;
use belongings::{Belongings, Had};
use book::Book;
use brought::{Brought, TrustCommand};
use commands::Commands;
pub use compiler::play;
use doctor::Doctor;
use fork::ForkCommand;
use furnish::{add, digests, furnish};
pub use keys::Keys;
use permissions::Permissions;
use programs::ProgramsOfPlugins;
use sessions::forget_old_sessions;
pub use shelf::{Contents, KnownPlugin, Origin, Problem, Reason, Shelf};
pub use stage::Stage;
use stage::World;
use storage::{PluginSecrets, PluginStorage};
use transcript::SessionTranscript;
use updates::Updates;

/// How long a client may take for what needs no person: a file, a terminal.
const CLIENT_PATIENCE: Duration = Duration::from_secs(30);
/// How long the store may take at the end of the process.
const LEAVING: Duration = Duration::from_millis(500);

/// Everything of one process.
pub struct Runtime {
    /// For those that may outlive it.
    own: Weak<Self>,
    settings: Settings,
    paths: Paths,
    /// The program's file, for clients that start it once more.
    program: Option<PathBuf>,
    models: Arc<Models>,
    keys: Keys,
    store: SqliteStore,
    folders: RootRegistry,
    audit: AuditLog,
    shelf: Shelf,
    /// Plugins that somebody is just working on, and what was last seen of that.
    developments: Developments,
    glimpse: Mutex<Glimpse>,
    mcp: Mcp,
    commands: Commands,
    programs: ProgramsOfPlugins,
    /// What the tools of all sessions send goes from here.
    desk: Arc<Desk>,
}

/// A session that is about to begin.
struct Opened {
    parts: SessionParts,
    /// What it is held to, where its history says something else: a fork may begin before the last change of its source
    /// is kept.
    untold: Vec<SessionEvent>,
    /// What the person should know when it begins.
    notice: Option<Notice>,
}

impl Opened {
    /// Tells that nothing new is kept, and why. What would have been told and kept is to be kept later.
    fn tell_unkept(&mut self, why: &StoreError) -> Vec<SessionEvent> {
        let notice = Notice::new(Severity::Warning, "Nothing new in this session is kept").described(why.to_string());
        self.parts.turns.outbox.emit(SessionEvent::Notice(notice));
        std::mem::take(&mut self.untold)
    }

    /// Begins, once the store has the session.
    fn begin(self, claim: Claim) -> SessionHandle {
        for event in self.untold {
            self.parts.turns.outbox.emit(event);
        }
        if let Some(notice) = self.notice {
            self.parts.turns.outbox.emit(SessionEvent::Notice(notice));
        }
        SessionHandle::spawn(self.parts, claim)
    }
}

/// Why the runtime cannot work with these settings.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A model that is named cannot be had.
    #[error(transparent)]
    Models(#[from] ModelsError),
    /// The protocol's descriptors cannot be had, or the connection broke.
    #[error("the connection to the client failed: {0}")]
    Connection(String),
}

impl Runtime {
    /// A runtime with these settings. Opens, reads and starts nothing.
    pub fn new(settings: Settings, paths: &Paths, keys: &Keys) -> Result<Arc<Self>, SetupError> {
        Self::within(World::Machine, settings, paths, keys)
    }

    fn within(world: World, settings: Settings, paths: &Paths, keys: &Keys) -> Result<Arc<Self>, SetupError> {
        let models = Arc::new(keys.models(&settings)?);
        let store = SqliteStore::new(paths.sessions());
        let egress = world.egress();
        let ports = Ports {
            kv: Arc::new(PluginStorage::new(store.clone())),
            secrets: Arc::new(PluginSecrets::new(keys.secrets().clone())),
            egress: egress.clone(),
        };
        let limits = settings.plugin_limits();
        let desk = Arc::new(egress.desk(limits.usual().net.clone()));
        let launcher = Launcher::new(own_executable(paths.program()), inherited(&BASE_VARIABLES));
        let host = PluginHost::new(Some(paths.compiled()), limits, ports).keeping(paths.plugin_data());
        let host = compiler::apart(host, &launcher);
        let keys = keys.clone();
        let audit = AuditLog::new(paths.audit(), settings.limits.audit(), keys.redaction().clone());
        let program = paths.program().map(Path::to_owned).or_else(|| std::env::current_exe().ok());
        let commands = Commands::new(launcher.clone(), &settings.shell);
        let programs = world.programs(launcher.clone(), &settings.exec, keys.redaction());
        let developments = world.developments(paths);
        let shelf = world.shelf(host, &settings.plugins, paths);
        let mcp = Mcp::new(launcher, settings.mcp.clone(), variable, keys.redaction().clone());
        let folders = RootRegistry::default();
        let paths = paths.clone();
        Ok(Arc::new_cyclic(|own| Self {
            own: own.clone(),
            settings,
            paths,
            program,
            models,
            keys,
            store,
            folders,
            audit,
            shelf,
            developments,
            glimpse: Mutex::default(),
            mcp,
            commands,
            programs,
            desk,
        }))
    }

    /// The settings of the user.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What keeps secrets out of texts.
    pub fn redaction(&self) -> &Redaction {
        self.keys.redaction()
    }

    /// Where decisions are kept.
    pub fn audit(&self) -> &AuditLog {
        &self.audit
    }

    /// The plugins of this process.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Serves ACP on stdin and stdout until the client goes away or the process is asked to stop.
    pub async fn serve_acp(self: Arc<Self>) -> Result<(), SetupError> {
        let transport = stdio::open(self.wire_limits()).map_err(broken)?;
        self.serve(transport, asked_to_stop()).await
    }

    /// How much may travel to and from one client.
    pub fn wire_limits(&self) -> stdio::Limits {
        stdio::Limits { incoming: self.settings.limits.message.get(), ..stdio::Limits::default() }
    }

    /// Serves ACP over any transport, such as one that [`stdio::over`] makes of two streams, until the client goes away or
    /// `shutdown` is done.
    pub async fn serve(
        self: Arc<Self>,
        transport: Transport,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), SetupError> {
        let accounts = Arc::new(Accounts::new(self.models.clone(), self.keys.secrets().clone()));
        let redaction = self.keys.redaction().clone();
        let backing = acp::Backing { factory: self.clone(), accounts, redaction };
        let options = acp::Options {
            name: "acp-runtime".to_owned(),
            title: "ACP Runtime".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program: self.program.clone(),
            patience: acp::Patience { person: self.settings.permission.timeout.duration(), client: CLIENT_PATIENCE },
            echo: self.settings.prompt.echo,
            unload_after: self.settings.session.unload_after.duration(),
        };
        let background = self.clone();
        tokio::spawn(async move {
            background.clone().make_ready().await;
            background.shelf.warm().await;
            forget_old_sessions(background).await;
        });
        acp::serve(transport, backing, options, shutdown).await.map_err(broken)
    }

    /// The last thing before the end of the process: what was to be kept is.
    pub async fn leave(&self) {
        self.store.leave(LEAVING).await;
    }

    /// Does beforehand what the first session would have to wait for. One that comes meanwhile waits for that alone.
    async fn make_ready(self: Arc<Self>) {
        let work = move || {
            self.shelf.contents();
            drop(self.settings.policy());
            self.keys.secrets().learn();
        };
        if let Err(error) = tokio::task::spawn_blocking(work).await {
            tracing::warn!("nothing was made ready for the first session: {error}");
        }
    }

    /// What a session is made of that goes on from `history`, with what it `had` when it was open before.
    fn open(
        &self,
        id: SessionId,
        request: SessionRequest,
        history: History,
        had: Had,
        brought: Brought,
    ) -> Result<Opened, OpenError> {
        let SessionRequest { setup, servers, face } = request;
        let folders = self.open_folders(&setup)?;
        let first = folders.first().cloned();
        let shelf = had.shelf.unwrap_or_else(|| self.shelf.for_session());
        let settings = self.settings_in(&folders, &shelf)?;
        let disk = Arc::new(self.disk(folders, &settings));
        let roots = disk.roots().clone();
        let held = roots
            .iter()
            .filter_map(|root| Some(HeldRoot { id: root.id, dir: disk.handle(root.id)?.clone() }))
            .collect();

        let (stale, mut plugins) = (StalePanels::default(), shelf.enabled(&settings.plugins));
        let own = brought.plugins(&self.shelf, &shelf, &settings.plugins.disabled);
        let (configured, kept) = (Bounds::from(settings.mode), history.bounds().cloned());
        let choices = had.choices.unwrap_or_else(|| first_choices(&configured, kept.as_ref()));
        let developed = self.in_development(&settings.plugins);
        let there = (&*shelf.plugins, &*own, &*developed);
        let options = Arc::new(self.options(choices, &settings, there, Path::new(&setup.cwd))?);
        let marked = self.add_brought(&mut plugins, own, &developed);
        let outbox = Outbox::new(id.clone(), history, stale.clone(), Arc::new(self.store.clone()), face.audience(&id));
        let approver = development::marking(OrderedApprover::new(outbox.clone(), face.approver(&id)), &marked);
        let question = brought.question(approver.clone(), &outbox, &self.store, &self.audit);
        let book = Arc::new(Book::new(&plugins, Answers::new(self.store.clone(), roots.clone())));
        let (leeway, audit) = (options.leeway().clone(), self.audit.sink(id.clone(), digests(&plugins)));
        let gate = Gate::new(disk.policy().clone(), leeway, approver, book.clone(), audit.clone(), disk.clone());
        let gate = Arc::new(gate.asking_at_most(settings.permission.questions.into()));
        let workspace = face.overlay(&id, &roots, disk.clone());
        let elicitor = Arc::new(OrderedElicitor::new(outbox.clone(), face.elicitor(&id)));

        let project = roots.iter().next().map(|root| root.canonical.display().to_string()).unwrap_or_default();
        let additions = Additions::default();
        let scope = SessionScope {
            session: id.clone(),
            project,
            folders: Folders { names: roots.clone(), held },
            gate: gate.clone(),
            workspace: workspace.clone(),
            elicitor: elicitor.clone(),
            programs: self.programs.session(&roots),
            transcript: Arc::new(SessionTranscript::of(&outbox, self.keys.redaction())),
            additions: additions.clone(),
            events: Arc::new(outbox.clone()),
            settings: settings.plugins.settings.iter().map(|(id, own)| (id.clone(), own.clone().into())).collect(),
            configured_in: self.paths.config().display().to_string(),
            limits: settings.narrowed_limits().clone(),
        };
        let offered = self.shelf.open(&plugins, scope);
        let hooks = Hooks::new(id.clone(), options.switches().clone(), &offered.hooks, self.keys.veil());
        let hooks = hooks.told_at_most(settings.limits.hook_payload.size());
        let mut tools = ToolCatalog::new(options.switches().clone());
        let terminal = face.terminal(&id, &roots, self.commands.terminal(&roots));
        let (files, turn) = (workspace.clone(), settings.limits.turn());
        let surroundings = Surroundings {
            workspace,
            roots: roots.clone(),
            elicitor,
            terminal: Arc::new(OrderedTerminal::new(outbox.clone(), terminal)),
            shell: self.commands.limits(turn.tool_output),
            network: Network { desk: self.desk.clone(), gate: gate.clone() },
            events: Arc::new(outbox.clone()),
        };
        for tool in native_tools(surroundings) {
            add(tools.add(tool));
        }
        let mut panels = PanelBoard::new(stale, options.switches().clone());
        let plugin_commands = furnish(offered, &marked, &mut tools, &mut panels);
        let mut commands = command_catalog(options.switches().clone());
        let updates = Updates::new(self.shelf.installed().clone(), self.publishers(), self.settings.plugins.signatures);
        commands.extend(Updates::WORDS, Arc::new(updates));
        let servers = self.servers(had.servers, servers, &roots, &outbox, face.stays());
        add(commands.add(Arc::new(McpCommand::new(servers.clone(), gate.clone()))));
        let doctor = Doctor::new(self.own.clone(), Path::new(&setup.cwd), options.clone(), servers.clone(), plugins);
        add(commands.add(Arc::new(doctor)));
        if let Some(root) = first {
            add(commands.add(Arc::new(TrustCommand::new(root, self.store.clone(), self.audit.clone(), question))));
        }
        tools.follow(servers.clone());
        let (system_prompt, budget) = (setup.system_prompt, Budget::new(turn));
        let project = Project::new(roots, files, disk, settings.context.budget());
        let project = Arc::new(project.with(additions).steered_by(brought.steering()));
        let subagents = Subagents {
            options: options.clone(),
            tools: tools.clone(),
            gate: gate.clone(),
            hooks: hooks.clone(),
            project: project.clone(),
            budget: budget.clone(),
            outbox: outbox.clone(),
        };
        add(tools.add(subagent_tool(subagents)));
        add(commands.add(Arc::new(Permissions::new(book, tools.clone(), audit))));
        add(commands.add(Arc::new(ForkCommand::new(&id, &self.store, &options, &configured, &outbox))));
        for command in plugin_commands {
            add(commands.add(command));
        }
        let untold = SessionEvent::bounds_changed(&kept.unwrap_or(configured), options.bounds());
        let turns = TurnContext { options, tools, gate, hooks, project, system_prompt, budget, outbox };
        let (on_busy, panels) = (settings.prompt.on_busy(), Arc::new(panels));
        let belongings = Arc::new(Belongings { shelf, servers });
        let parts = SessionParts { id, turns, commands, panels, on_busy, belongings };
        Ok(Opened { parts, untold, notice: brought.notice() })
    }

    /// All folders that the session is about; the first is its `cwd`.
    fn open_folders(&self, setup: &SessionSetup) -> Result<Vec<OpenRoot>, OpenError> {
        let paths = std::iter::once(&setup.cwd).chain(&setup.additional);
        let open = |(id, path)| self.folders.open(Path::new(path)).map_err(|error| folder(RootId(id), &error));
        (0..).zip(paths).map(open).collect()
    }

    /// The settings as they hold in the first of `folders`, the session's `cwd`.
    fn settings_in(&self, folders: &[OpenRoot], shelf: &Contents) -> Result<Settings, OpenError> {
        let Some(cwd) = folders.first() else { return Ok(self.settings.clone()) };
        let project = self
            .settings
            .in_project(cwd)
            .map_err(|error: SettingsError| OpenError::Setup { message: error.to_string(), hint: error.hint() })?;
        for ignored in &project.ignored {
            tracing::warn!("{ignored}");
        }
        let mut settings = project.settings;
        // A project may narrow, and to be without what stops things is wider.
        let guards = |id: &PluginId| shelf.plugins.iter().any(|known| known.plugin.id() == id && known.guards());
        settings.plugins.disabled.retain(|id| {
            let kept = !self.settings.plugins.disabled.contains(id) && guards(id);
            if kept {
                tracing::warn!("the project cannot disable the plugin `{id}`: its hooks narrow what may happen");
            }
            !kept
        });
        Ok(settings)
    }
}

/// What holds when a session begins. What a person has narrowed in it holds again when it is loaded; what they have
/// widened ended with the process.
fn first_choices(configured: &Bounds, kept: Option<&Bounds>) -> Choices {
    let bounds = kept.map_or_else(|| configured.clone(), |kept| configured.narrowed_to(kept));
    Choices { bounds, ..Choices::default() }
}

/// The variables of that name which are set here.
fn inherited(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?))).collect()
}

fn folder(root: RootId, error: &RootError) -> OpenError {
    let path = match error {
        RootError::Relative(path)
        | RootError::NotFound(path)
        | RootError::NotAFolder(path)
        | RootError::MadeUp(path) => path,
        RootError::System { path, .. } => path,
    };
    OpenError::Folder { root, path: path.clone(), reason: error.to_string() }
}

fn broken(error: impl std::fmt::Display) -> SetupError {
    SetupError::Connection(error.to_string())
}

/// Done when the process is asked to stop.
async fn asked_to_stop() {
    match Stops::listen() {
        Ok(mut stops) => {
            let stop = stops.next().await;
            tracing::info!("stopped by {}", stop.name());
        }
        Err(error) => {
            tracing::warn!("nothing that asks this process to stop can be heard: {error}");
            std::future::pending::<()>().await;
        }
    }
}
