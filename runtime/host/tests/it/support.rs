//! A session around a plugin: doubles of the ports, and the way from the model to a tool.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, GrantSet, PluginId, Roots, SecretName, Tier, ToolName, WorkspacePath};
use acp_runtime_agent::context::Additions;
use acp_runtime_agent::elicit::{Elicitor, Form, Page, Reply};
use acp_runtime_agent::event::{EventSink, SessionEvent};
use acp_runtime_agent::gate::{
    Approval, Approver, Ask, AuditEntry, AuditSink, Gate, GrantBook, Ground, Origin, Permit,
};
use acp_runtime_agent::options::SharedLeeway;
use acp_runtime_agent::policy::{Mode, Policy};
use acp_runtime_agent::tool::{Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{Conversation, Message, MessageId, Part, Role, SessionId, ToolCallId, ToolOutcome};
use acp_runtime_agent::workspace::{Entry, Found, Search, Workspace, WorkspaceError, require};
use acp_runtime_host::egress::Egress;
use acp_runtime_host::kv::{KvEntry, KvError, KvSpace, KvStore};
use acp_runtime_host::limits::{LimitBook, LimitTable, Limits};
use acp_runtime_host::links;
use acp_runtime_host::manifest::{Inventory, Manifest, ToolEntry};
use acp_runtime_host::origin::PluginOrigin;
use acp_runtime_host::package::Package;
use acp_runtime_host::plugin_host::{Plugin, PluginHost, Ports, SessionPlugins};
use acp_runtime_host::scope::{Folders, HeldRoot, SessionScope, Transcript};
use acp_runtime_host::secrets::{SecretStore, SecretText};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::guest;
use crate::scripted::Scripted;
use crate::site::Map;

/// A host, a project folder and what the session lends.
pub struct Runtime {
    pub host: Arc<PluginHost>,
    pub project: TempDir,
    /// The session's folder: the project.
    pub root: PathBuf,
    pub events: Arc<Events>,
    pub person: Arc<Person>,
    pub mode: SharedLeeway,
    pub book: Arc<Book>,
    pub settings: BTreeMap<PluginId, Value>,
    /// What the session's project has narrowed.
    pub narrowed: LimitTable,
    pub form: Arc<Filled>,
    pub programs: Arc<Scripted>,
    pub additions: Additions,
    /// The network as plugins reach it.
    pub map: Arc<Map>,
    pub secrets: Arc<KeptSecrets>,
    pub audit: Arc<Audited>,
    packages: TempDir,
}

impl Runtime {
    pub fn new() -> Self {
        Self::with(None, Limits::default())
    }

    pub fn with(cache: Option<PathBuf>, limits: impl Into<LimitBook>) -> Self {
        let project = TempDir::new().unwrap();
        let (map, secrets) = (Arc::<Map>::default(), Arc::<KeptSecrets>::default());
        Self {
            root: project.path().to_owned(),
            project,
            host: PluginHost::new(cache, limits, ports(&map, &secrets)),
            map,
            secrets,
            events: Arc::default(),
            person: Arc::default(),
            mode: SharedLeeway::new(Mode::Auto),
            book: Arc::default(),
            settings: BTreeMap::new(),
            narrowed: LimitTable::default(),
            form: Arc::default(),
            programs: Arc::default(),
            additions: Additions::default(),
            audit: Arc::default(),
            packages: TempDir::new().unwrap(),
        }
    }

    /// The guest as a bundled plugin `test:<guest>` with one tool `run`, and `toml` at the end of its manifest.
    pub fn plugin(&self, guest: &str, toml: &str) -> Arc<Plugin> {
        self.named(&format!("test:{guest}"), guest, toml)
    }

    pub fn named(&self, id: &str, guest: &str, toml: &str) -> Arc<Plugin> {
        let path = self.packages.path().join(format!("{}.wasm", id.replace(':', "-")));
        let section = Manifest::section(&manifest(id, toml), &inventory()).unwrap();
        std::fs::write(&path, guest::with_manifest(guest::component(guest), &section)).unwrap();
        self.load(&path)
    }

    pub fn load(&self, path: &Path) -> Arc<Plugin> {
        let plugin = self.host.load(Package::read(path).unwrap());
        self.book.give(plugin.id(), plugin.manifest().grants(Tier::Bundled, None));
        plugin
    }

    pub fn open(&self, plugins: &[Arc<Plugin>]) -> SessionPlugins {
        self.host.open(plugins, self.scope())
    }

    fn scope(&self) -> SessionScope {
        let path = &*self.root;
        let names = Roots::new([(path.to_owned(), path.canonicalize().unwrap())]);
        let dir = Arc::new(Dir::open_ambient_dir(path, ambient_authority()).unwrap());
        let held = names.iter().map(|root| HeldRoot { id: root.id, dir: dir.clone() }).collect();
        SessionScope {
            session: SessionId::new("session-1"),
            project: path.display().to_string(),
            folders: Folders { names, held },
            gate: self.gate(),
            workspace: Arc::new(Texts(BTreeMap::from([("notes/a.md".to_owned(), "unsaved text".to_owned())]))),
            events: self.events.clone(),
            elicitor: self.form.clone(),
            programs: self.programs.clone(),
            transcript: Arc::new(Said),
            additions: self.additions.clone(),
            settings: self.settings.clone(),
            configured_in: "config.toml".to_owned(),
            limits: self.narrowed.clone(),
        }
    }

    pub fn gate(&self) -> Arc<Gate> {
        let (policy, mode) = (Arc::new(Policy::default()), self.mode.clone());
        let ground = Arc::new(Disk(Dir::open_ambient_dir(&*self.root, ambient_authority()).unwrap()));
        Arc::new(Gate::new(policy, mode, self.person.clone(), self.book.clone(), self.audit.clone(), ground))
    }

    /// Calls the only tool of a guest as the model would.
    pub async fn run(&self, guest: &str, toml: &str, arguments: Value) -> Result<String, ToolError> {
        let session = self.open(&[self.plugin(guest, toml)]);
        assert_eq!(session.problems, []);
        self.call(&*session.tools[0], arguments).await.map(|outcome| outcome.for_model())
    }

    pub async fn call(&self, tool: &dyn Tool, arguments: Value) -> Result<ToolOutcome, ToolError> {
        self.call_until(tool, arguments, CancellationToken::new()).await
    }

    pub async fn call_until(
        &self,
        tool: &dyn Tool,
        arguments: Value,
        cancel: CancellationToken,
    ) -> Result<ToolOutcome, ToolError> {
        let arguments = ToolArguments::validate(tool.spec(), arguments)?;
        let origin = Origin::Model { call: ToolCallId::new("call-1"), tool: tool.spec().name.clone() };
        let permit = self.gate().authorize(origin, tool.effects(&arguments)?).await?;
        tool.run(&permit, arguments, cancel).await
    }
}

/// A `plugin.toml`.
pub fn manifest(id: &str, toml: &str) -> String {
    format!(
        "id = \"{id}\"\nversion = \"0.1.0\"\ntitle = \"Test\"\ndescription = \"A guest.\"\nlicense = \"MIT\"\n{toml}\n"
    )
}

/// One tool `run`.
pub fn inventory() -> Inventory {
    let tool = ToolEntry {
        name: "run".to_owned(),
        title: None,
        description: "Does it.".to_owned(),
        input_schema: json!({ "type": "object" }),
        side_effects: Vec::new(),
    };
    Inventory { tools: vec![tool], ..Inventory::default() }
}

/// The error's kind and message.
pub fn told(error: &ToolError) -> (&str, &str) {
    match error {
        ToolError::ToModel { kind, message, .. } => (kind, message),
        ToolError::Fatal(message) => ("fatal", message),
    }
}

/// All events, in order.
#[derive(Default)]
pub struct Events {
    kept: Mutex<Vec<SessionEvent>>,
    came: Notify,
}

impl Events {
    pub fn take(&self) -> Vec<SessionEvent> {
        std::mem::take(&mut self.kept.lock().unwrap())
    }

    /// Waits until so many have come.
    pub async fn wait(&self, count: usize) {
        while self.kept.lock().unwrap().len() < count {
            self.came.notified().await;
        }
    }
}

/// A person who fills in forms with these answers, one after another, and then has nobody to ask; what they were shown.
#[derive(Default)]
pub struct Filled {
    pub replies: Mutex<Vec<Reply>>,
    pub forms: Mutex<Vec<Form>>,
}

impl Elicitor for Filled {
    fn fill_in(&self, form: Form) -> BoxFuture<'_, Reply> {
        self.forms.lock().unwrap().push(form);
        let reply = self.replies.lock().unwrap().pop().unwrap_or(Reply::NoChannel);
        Box::pin(async { reply })
    }

    fn open(&self, _page: Page) -> BoxFuture<'_, Reply> {
        Box::pin(async { Reply::NoChannel })
    }

    fn done(&self, _page: &Page) {}
}

impl EventSink for Events {
    fn emit(&self, event: SessionEvent) {
        self.kept.lock().unwrap().push(event);
        self.came.notify_one();
    }
}

/// Answers every question alike, and keeps the questions.
pub struct Person {
    pub answer: Mutex<Approval>,
    /// How long an answer takes.
    pub takes: Mutex<Duration>,
    pub asked: Mutex<Vec<Ask>>,
}

impl Default for Person {
    fn default() -> Self {
        Self { answer: Mutex::new(Approval::RejectOnce), takes: Mutex::default(), asked: Mutex::default() }
    }
}

impl Approver for Person {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        self.asked.lock().unwrap().push(ask);
        let (answer, takes) = (*self.answer.lock().unwrap(), *self.takes.lock().unwrap());
        async move {
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            answer
        }
        .boxed()
    }
}

/// What was granted; remembers no answers.
#[derive(Default)]
pub struct Book(Mutex<HashMap<PluginId, GrantSet>>);

impl Book {
    pub fn give(&self, plugin: &PluginId, grants: GrantSet) {
        self.0.lock().unwrap().insert(plugin.clone(), grants);
    }
}

impl GrantBook for Book {
    fn grants(&self, plugin: &PluginId) -> Option<GrantSet> {
        self.0.lock().unwrap().get(plugin).cloned()
    }
}

/// A conversation of one message.
struct Said;

impl Transcript for Said {
    fn messages(&self) -> Conversation {
        let parts = vec![Part::Text { text: "hello, secret".to_owned() }];
        [Message { id: MessageId::new("m"), role: Role::User, parts }].into_iter().collect()
    }

    fn clean(&self, text: &str) -> String {
        text.replace("secret", "****")
    }
}

/// What was decided about, as people would read it.
#[derive(Default)]
pub struct Audited(pub Mutex<Vec<String>>);

impl AuditSink for Audited {
    fn record(&self, entry: AuditEntry<'_>) {
        self.0.lock().unwrap().push(entry.effect.to_string());
    }
}

/// The folder, and where its links lead.
struct Disk(Dir);

impl Ground for Disk {
    fn real<'a>(&'a self, path: &'a WorkspacePath) -> BoxFuture<'a, Option<WorkspacePath>> {
        let real = links::real_path(&self.0, path).ok();
        async { real }.boxed()
    }
}

/// Texts by path, as an editor has them.
struct Texts(BTreeMap<String, String>);

impl Workspace for Texts {
    fn read<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        async move {
            require(permit, &Effect::Read(path.scope()))?;
            self.0.get(path.as_str()).cloned().ok_or_else(|| WorkspaceError::NotFound(path.to_string()))
        }
        .boxed()
    }

    fn write<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        _text: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move { require(permit, &Effect::Write(path.scope())) }.boxed()
    }

    fn delete<'a>(&'a self, _: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move { Err(WorkspaceError::NotFound(path.to_string())) }.boxed()
    }

    fn rename<'a>(
        &'a self,
        _: &'a Permit,
        from: &'a WorkspacePath,
        _: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        async move { Err(WorkspaceError::NotFound(from.to_string())) }.boxed()
    }

    fn list<'a>(&'a self, _: &'a Permit, _: &'a WorkspacePath) -> BoxFuture<'a, Result<Vec<Entry>, WorkspaceError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn search<'a>(&'a self, _: &'a Permit, _: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>> {
        async { Ok(Found::default()) }.boxed()
    }
}

/// What plugins have beside their sessions.
pub fn ports(map: &Arc<Map>, secrets: &Arc<KeptSecrets>) -> Ports {
    Ports { kv: Arc::new(MemoryKv::default()), secrets: secrets.clone(), egress: Egress::new(map.clone()) }
}

/// Secrets by name.
#[derive(Default)]
pub struct KeptSecrets(pub Mutex<HashMap<String, String>>);

impl KeptSecrets {
    pub fn keep(&self, name: &str, secret: &str) {
        self.0.lock().unwrap().insert(name.to_owned(), secret.to_owned());
    }
}

impl SecretStore for KeptSecrets {
    fn secret<'a>(
        &'a self,
        _origin: &'a PluginOrigin,
        name: &'a SecretName,
    ) -> BoxFuture<'a, Result<Option<SecretText>, String>> {
        let found = self.0.lock().unwrap().get(name.as_str()).map(|secret| SecretText::new(secret.as_str()));
        async { Ok(found) }.boxed()
    }
}

/// Values in memory.
#[derive(Default)]
pub struct MemoryKv(Mutex<HashMap<KvSpace, BTreeMap<String, KvEntry>>>);

impl KvStore for MemoryKv {
    fn get<'a>(&'a self, space: &'a KvSpace, key: &'a str) -> BoxFuture<'a, Result<Option<KvEntry>, KvError>> {
        let entry = self.0.lock().unwrap().get(space).and_then(|values| values.get(key)).cloned();
        async { Ok(entry) }.boxed()
    }

    fn set<'a>(
        &'a self,
        space: &'a KvSpace,
        key: &'a str,
        value: Vec<u8>,
        expected: Option<u64>,
        quota: u64,
    ) -> BoxFuture<'a, Result<u64, KvError>> {
        let mut spaces = self.0.lock().unwrap();
        let used = used(&spaces, &space.plugin);
        let values = spaces.entry(space.clone()).or_default();
        let before = values.get(key).map_or(0, |entry| key.len() + entry.value.len());
        let current = values.get(key).map_or(0, |entry| entry.version);
        let written = match expected {
            Some(expected) if expected != current => Err(KvError::Conflict { expected, current }),
            _ if (used - before + key.len() + value.len()) as u64 > quota => {
                Err(KvError::Full { used: used as u64, most: quota })
            }
            _ => {
                values.insert(key.to_owned(), KvEntry { value, version: current + 1 });
                Ok(current + 1)
            }
        };
        async { written }.boxed()
    }

    fn delete<'a>(&'a self, space: &'a KvSpace, key: &'a str) -> BoxFuture<'a, Result<bool, KvError>> {
        let removed = self.0.lock().unwrap().get_mut(space).and_then(|values| values.remove(key)).is_some();
        async move { Ok(removed) }.boxed()
    }

    fn keys<'a>(&'a self, space: &'a KvSpace, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, KvError>> {
        let spaces = self.0.lock().unwrap();
        let keys = spaces.get(space).into_iter().flat_map(BTreeMap::keys);
        let keys = keys.filter(|key| key.starts_with(prefix)).cloned().collect();
        async { Ok(keys) }.boxed()
    }

    fn forget<'a>(&'a self, origin: &'a PluginOrigin, plugin: &'a PluginId) -> BoxFuture<'a, Result<(), KvError>> {
        self.0.lock().unwrap().retain(|space, _| space.origin != *origin || space.plugin != *plugin);
        async { Ok(()) }.boxed()
    }
}

fn used(spaces: &HashMap<KvSpace, BTreeMap<String, KvEntry>>, plugin: &PluginId) -> usize {
    let own = spaces.iter().filter(|(space, _)| space.plugin == *plugin);
    own.flat_map(|(_, values)| values).map(|(key, entry)| key.len() + entry.value.len()).sum()
}

/// The name of a tool that the model sees.
pub fn tool_name(tool: &Arc<dyn Tool>) -> ToolName {
    tool.spec().name.clone()
}
