//! Sessions with nothing real in them: a scripted model, a few tools, one panel, files and a journal in memory.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use acp_runtime_agent::capability::{Effect, PluginId, RootId, Roots, ToolName, WorkspacePath};
use acp_runtime_agent::context::{ContextBudget, History, Project};
use acp_runtime_agent::event::{EventSink as _, SessionEvent};
use acp_runtime_agent::gate::{Gate, Permit};
use acp_runtime_agent::hook::Hooks;
use acp_runtime_agent::model::{
    InputSchema, Model, ModelChoice, ModelError, ModelEvent, ModelRequest, ModelSource, ToolKind, ToolSpec,
};
use acp_runtime_agent::options::{Choices, Options, PluginChoice};
use acp_runtime_agent::outbox::Outbox;
use acp_runtime_agent::panel::{
    PanelActing, PanelAction, PanelBoard, PanelInfo, PanelNode, PanelSource, PanelView, StalePanels,
};
use acp_runtime_agent::policy::{Mode, Policy};
use acp_runtime_agent::session::{
    Before, Fork, OnBusy, OpenError, OrderedApprover, SessionFactory, SessionHandle, SessionParts, SessionRequest,
    branch, command_catalog,
};
use acp_runtime_agent::store::{
    Claim, KeptOutput, KeptSession, ListQuery, PointOfNoReturn, SessionPage, SessionRecord, SessionSetup, SessionStore,
    StoreError,
};
use acp_runtime_agent::tool::{Tool, ToolArguments, ToolCatalog, ToolError};
use acp_runtime_agent::transcript::{SessionId, StopReason, ToolCallId, ToolContent, ToolOutcome};
use acp_runtime_agent::turn::{Budget, TurnContext, TurnLimits};
use acp_runtime_agent::workspace::{Entry, Found, LineRange, Search, Workspace, WorkspaceError, require};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::nothing::Nothing;

/// How the model answers one request.
#[derive(Clone)]
pub(super) enum Turn {
    /// With these events.
    Says(Vec<ModelEvent>),
    /// With so many pieces of text, then well.
    Pieces(usize, String),
    /// Never.
    Hangs,
    /// Not at all.
    Fails(ModelError),
}

/// A model that plays its script, and says `ok` when that is over.
#[derive(Default)]
pub(super) struct Script {
    pub(super) turns: Mutex<VecDeque<Turn>>,
    /// Events that were taken from it.
    pub(super) taken: AtomicUsize,
    /// What it was told before the conversation, at each request.
    pub(super) told: Mutex<Vec<Arc<str>>>,
}

impl Model for Script {
    fn id(&self) -> &str {
        "script"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        use futures::StreamExt as _;
        self.told.lock().unwrap().push(request.system);
        let turn = self.turns.lock().unwrap().pop_front();
        let turn = turn.unwrap_or_else(|| Turn::Says(vec![ModelEvent::Text("ok".to_owned()), end()]));
        let events = match turn {
            Turn::Says(events) => futures::stream::iter(events.into_iter().map(Ok)).boxed(),
            Turn::Pieces(count, piece) => {
                let text = futures::stream::repeat(piece).take(count).map(|piece| Ok(ModelEvent::Text(piece)));
                text.chain(futures::stream::iter([Ok(end())])).boxed()
            }
            Turn::Hangs => futures::stream::pending().boxed(),
            Turn::Fails(error) => futures::stream::iter([Err(error)]).boxed(),
        };
        let count = |_: &_| {
            self.taken.fetch_add(1, Ordering::Relaxed);
        };
        events.inspect(count).boxed()
    }
}

/// The script under two names.
struct Shelf(Arc<Script>);

struct Named(&'static str, Arc<Script>);

impl Model for Named {
    fn id(&self) -> &str {
        self.0
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        self.1.stream(request)
    }
}

impl ModelSource for Shelf {
    fn list(&self) -> Vec<ModelChoice> {
        let choice = |id: &str, group: &str| ModelChoice {
            id: id.to_owned(),
            name: id.to_owned(),
            group: Some(group.to_owned()),
        };
        vec![choice("script", "lab"), choice("other", "zoo")]
    }

    fn open(&self, id: Option<&str>) -> Result<Arc<dyn Model>, String> {
        match id {
            None | Some("script") => Ok(self.0.clone()),
            Some("other") => Ok(Arc::new(Named("other", self.0.clone()))),
            Some(id) => Err(format!("no provider for the model `{id}`")),
        }
    }
}

pub(super) fn end() -> ModelEvent {
    ModelEvent::Stop(StopReason::EndTurn)
}

/// A journal in memory.
#[derive(Default)]
pub(super) struct Journal(Mutex<Vec<(SessionRecord, Vec<SessionEvent>)>>, pub(super) Stuck);

/// Claims, lists, loads, forks and deletes wait while it is set.
pub(super) struct Stuck(pub(super) watch::Sender<bool>);

impl Default for Stuck {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stuck {
    async fn wait(&self) {
        self.0.subscribe().wait_for(|stuck| !stuck).await.unwrap();
    }

    async fn pass(&self, point: &PointOfNoReturn) -> Result<(), StoreError> {
        self.wait().await;
        if point.pass() { Ok(()) } else { Err(StoreError::TakenBack) }
    }
}

impl Journal {
    pub(super) fn events(&self, id: &str) -> Vec<SessionEvent> {
        let sessions = self.0.lock().unwrap();
        sessions
            .iter()
            .find(|(record, _)| record.id.as_str() == id)
            .map(|(_, events)| events.clone())
            .unwrap_or_default()
    }
}

impl SessionStore for Journal {
    fn create(&self, record: SessionRecord) -> BoxFuture<'_, Result<Claim, StoreError>> {
        self.0.lock().unwrap().push((record, Vec::new()));
        Box::pin(async { Ok(Claim::new(|| Box::pin(async {}))) })
    }

    fn claim(&self, _session: &SessionId) -> BoxFuture<'_, Result<Claim, StoreError>> {
        Box::pin(async {
            self.1.wait().await;
            Ok(Claim::new(|| Box::pin(async {})))
        })
    }

    fn set_up(&self, session: &SessionId, setup: SessionSetup) -> BoxFuture<'_, Result<(), StoreError>> {
        for (record, _) in self.0.lock().unwrap().iter_mut().filter(|(record, _)| record.id == *session) {
            record.setup = setup.clone();
        }
        Box::pin(async { Ok(()) })
    }

    fn append(&self, session: &SessionId, events: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>> {
        for (record, kept) in self.0.lock().unwrap().iter_mut().filter(|(record, _)| record.id == *session) {
            for event in events.iter() {
                if let SessionEvent::Title { title, .. } = event {
                    record.title = Some(title.clone());
                }
            }
            kept.extend_from_slice(&events);
        }
        Box::pin(async { Ok(()) })
    }

    fn load(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'_, Result<Option<(SessionRecord, Vec<SessionEvent>)>, StoreError>> {
        let found = self.0.lock().unwrap().iter().find(|(record, _)| record.id == *session).cloned();
        Box::pin(async {
            self.1.wait().await;
            Ok(found)
        })
    }

    fn fork(
        &self,
        _source: &SessionId,
        record: SessionRecord,
        events: Arc<[SessionEvent]>,
        point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<Claim, StoreError>> {
        Box::pin(async move {
            self.1.pass(&point).await?;
            self.0.lock().unwrap().push((record, events.to_vec()));
            Ok(Claim::new(|| Box::pin(async {})))
        })
    }

    /// A cursor is the number of sessions before the page; a page has two.
    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, StoreError>> {
        let all: Vec<SessionRecord> = self
            .0
            .lock()
            .unwrap()
            .iter()
            .map(|(record, _)| record.clone())
            .filter(|record| query.cwd.as_ref().is_none_or(|cwd| record.setup.cwd == *cwd))
            .collect();
        Box::pin(async move {
            self.1.wait().await;
            let start = match query.cursor {
                None => 0,
                Some(cursor) => cursor.parse().map_err(|_| StoreError::BadCursor(cursor))?,
            };
            let page: Vec<_> = all.iter().skip(start).take(2).cloned().collect();
            let next = (start + page.len() < all.len()).then(|| (start + page.len()).to_string());
            Ok(SessionPage { sessions: page, next })
        })
    }

    fn keep_output(&self, _: &SessionId, _: &ToolCallId, _: String) -> BoxFuture<'_, Option<KeptOutput>> {
        Box::pin(async { None })
    }

    fn delete(&self, session: &SessionId, point: PointOfNoReturn) -> BoxFuture<'_, Result<(), StoreError>> {
        let session = session.clone();
        Box::pin(async move {
            self.1.pass(&point).await?;
            self.0.lock().unwrap().retain(|(record, _)| record.id != session);
            Ok(())
        })
    }
}

/// The disk: `link` leads out of the root.
#[derive(Default)]
pub(super) struct Files(pub(super) Mutex<BTreeMap<String, String>>);

impl Workspace for Files {
    fn read<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Read(path.scope()))?;
            if path.as_str() == "link" {
                return Err(WorkspaceError::Outside(path.to_string()));
            }
            let text = self.0.lock().unwrap().get(path.as_str()).cloned();
            text.ok_or_else(|| WorkspaceError::NotFound(path.to_string()))
        })
    }

    fn write<'a>(
        &'a self,
        permit: &'a Permit,
        path: &'a WorkspacePath,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move {
            require(permit, &Effect::Write(path.scope()))?;
            if path.as_str() == "link" {
                return Err(WorkspaceError::Outside(path.to_string()));
            }
            self.0.lock().unwrap().insert(path.as_str().to_owned(), text.to_owned());
            Ok(())
        })
    }

    fn delete<'a>(&'a self, _: &'a Permit, path: &'a WorkspacePath) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move { Err(WorkspaceError::NotFound(path.to_string())) })
    }

    fn rename<'a>(
        &'a self,
        _: &'a Permit,
        from: &'a WorkspacePath,
        _: &'a WorkspacePath,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        Box::pin(async move { Err(WorkspaceError::NotFound(from.to_string())) })
    }

    fn list<'a>(&'a self, _: &'a Permit, _: &'a WorkspacePath) -> BoxFuture<'a, Result<Vec<Entry>, WorkspaceError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn search<'a>(&'a self, _: &'a Permit, _: &'a Search) -> BoxFuture<'a, Result<Found, WorkspaceError>> {
        Box::pin(async { Ok(Found::default()) })
    }
}

/// `read` and `write` take `path` (and `text`, or `first` and `most`); `wait` never ends.
struct FileTool {
    spec: Arc<ToolSpec>,
    files: Arc<dyn Workspace>,
    roots: Roots,
    stale: StalePanels,
}

impl FileTool {
    fn new(name: &str, kind: ToolKind, files: &Arc<dyn Workspace>, roots: &Roots, stale: &StalePanels) -> Arc<Self> {
        let spec = ToolSpec {
            name: ToolName::new(name).unwrap(),
            title: name.to_owned(),
            description: name.to_owned(),
            input: InputSchema::new(json!({ "type": "object" })),
            kind,
        };
        Arc::new(Self { spec: Arc::new(spec), files: files.clone(), roots: roots.clone(), stale: stale.clone() })
    }

    fn path(&self, arguments: &ToolArguments) -> Result<WorkspacePath, ToolError> {
        Ok(self.roots.resolve(arguments.as_value()["path"].as_str().unwrap_or_default())?)
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let scope = self.path(arguments)?.scope();
        Ok(match self.spec.name.as_str() {
            "write" => vec![Effect::Read(scope.clone()), Effect::Write(scope)],
            "write_unread" => vec![Effect::Write(scope)],
            _ => vec![Effect::Read(scope)],
        })
    }

    fn preview<'a>(
        &'a self,
        _permit: &'a Permit,
        arguments: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        Box::pin(async move {
            let path = self.roots.display(&self.path(arguments)?);
            let new = arguments.as_value()["text"].as_str().unwrap_or_default().to_owned();
            Ok(vec![ToolContent::Diff { path, old: None, new }])
        })
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(async move {
            let path = self.path(&arguments)?;
            match self.spec.name.as_str() {
                "read" if arguments.as_value().get("first").is_none() => {
                    Ok(ToolOutcome::text(self.files.read(permit, &path).await?))
                }
                "read" => {
                    let number = |name: &str| arguments.as_value()[name].as_u64().unwrap().try_into().unwrap();
                    let range = LineRange { first: number("first"), most: number("most") };
                    let excerpt = self.files.read_lines(permit, &path, range).await?;
                    Ok(ToolOutcome::text(format!("{:?} of {:?}", excerpt.text, excerpt.total)))
                }
                "wait" => std::future::pending().await,
                _ => {
                    let text = arguments.as_value()["text"].as_str().unwrap_or_default();
                    self.files.write(permit, &path, text).await?;
                    self.stale.raise(tasks());
                    Ok(ToolOutcome::text("written"))
                }
            }
        })
    }
}

fn tasks() -> acp_runtime_agent::capability::PanelName {
    acp_runtime_agent::capability::PanelName::new("tasks").unwrap()
}

/// A panel `tasks` with one task.
struct Tasks {
    info: PanelInfo,
    plugin: PluginId,
    done: Mutex<bool>,
}

impl Tasks {
    fn new() -> Arc<Self> {
        let action = |id: &str, mutates| PanelAction {
            id: id.to_owned(),
            label: id.to_owned(),
            key: "k".to_owned(),
            kinds: vec!["task".to_owned()],
            destructive: false,
            confirm: String::new(),
            inputs: Vec::new(),
            mutates,
        };
        let actions = vec![action("finish", true), action("show", false), action("break", false)];
        Arc::new(Self {
            info: PanelInfo { name: tasks(), title: "Tasks".to_owned(), actions },
            plugin: PluginId::new("test:tasks").unwrap(),
            done: Mutex::new(false),
        })
    }
}

impl PanelSource for Tasks {
    fn info(&self) -> &PanelInfo {
        &self.info
    }

    fn plugin(&self) -> Option<&PluginId> {
        Some(&self.plugin)
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<PanelView, String>> {
        let node = |id: &str, kind: &str, children| PanelNode {
            id: id.to_owned(),
            label: id.to_owned(),
            kind: kind.to_owned(),
            expanded: true,
            style: String::new(),
            data: Map::new(),
            children,
        };
        let status = if *self.done.lock().unwrap() { "done" } else { "open" };
        let root = node("root", "root", vec![node("t1", "task", Vec::new())]);
        Box::pin(async move { Ok(PanelView { root, status: status.to_owned() }) })
    }

    fn act(&self, acting: PanelActing) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(async move {
            match acting.action.as_str() {
                "finish" => {
                    *self.done.lock().unwrap() = true;
                    Ok(Some(format!("finished {} {}", acting.node.id, Value::Object(acting.args))))
                }
                "show" => Ok(None),
                _ => Err("it broke".to_owned()),
            }
        })
    }
}

/// Opens sessions in memory. A folder with `missing` in its name is not there.
#[derive(Default)]
pub(super) struct Factory {
    pub(super) script: Arc<Script>,
    pub(super) journal: Arc<Journal>,
    pub(super) files: Arc<Files>,
    /// What the next session tells before its request is answered; must not be seen until then.
    pub(super) careless: Mutex<Vec<SessionEvent>>,
    opened: AtomicUsize,
}

impl Factory {
    /// Everything but the tasks that make it run.
    fn open(&self, id: SessionId, request: SessionRequest, history: History) -> Result<SessionParts, OpenError> {
        let SessionRequest { setup, servers: _, face } = request;
        self.check(&setup)?;
        let folder = PathBuf::from(&setup.cwd);
        let roots = Roots::new([(folder.clone(), folder)]);
        let stale = StalePanels::default();
        let audience = face.audience(&id);
        let outbox = Outbox::new(id.clone(), history, stale.clone(), self.journal.clone(), audience);
        let approver = Arc::new(OrderedApprover::new(outbox.clone(), face.approver(&id)));
        let nothing = Arc::new(Nothing);
        let plugin = PluginChoice {
            id: PluginId::new("test:tasks").unwrap(),
            title: "Tasks".to_owned(),
            description: "A list.".to_owned(),
        };
        let shelf = Arc::new(Shelf(self.script.clone()));
        let options = Arc::new(Options::new(Choices::default(), shelf, vec![plugin]).unwrap());
        let leeway = options.leeway().clone();
        let gate =
            Gate::new(Arc::new(Policy::default()), leeway, approver, nothing.clone(), nothing.clone(), nothing.clone());
        let files = face.overlay(&id, &roots, self.files.clone());
        let mut tools = ToolCatalog::new(options.switches().clone());
        for (name, kind) in [
            ("read", ToolKind::Read),
            ("write", ToolKind::Edit),
            ("write_unread", ToolKind::Edit),
            ("wait", ToolKind::Other),
        ] {
            tools.add(FileTool::new(name, kind, &files, &roots, &stale)).unwrap();
        }
        let mut panels = PanelBoard::new(stale, options.switches().clone());
        panels.add(Tasks::new()).unwrap();
        let panels = Arc::new(panels);
        let commands = command_catalog(options.switches().clone());
        let (gate, budget, system_prompt) = (Arc::new(gate), Budget::new(TurnLimits::default()), setup.system_prompt);
        let project = Arc::new(Project::new(roots, files, nothing, ContextBudget::default()));
        let hooks = Hooks::default();
        let turns = TurnContext { options, tools, gate, hooks, project, system_prompt, budget, outbox };
        self.careless.lock().unwrap().drain(..).for_each(|event| turns.outbox.emit(event));
        turns.outbox.emit(SessionEvent::ModeChanged { mode: Mode::Review });
        let (on_busy, belongings) = (OnBusy::Queue(1), Arc::new(()));
        Ok(SessionParts { id, turns, commands, panels, on_busy, belongings })
    }

    fn next_record(&self, setup: &SessionSetup) -> SessionRecord {
        let id = SessionId::new(format!("s-{}", self.opened.fetch_add(1, Ordering::Relaxed) + 1));
        let updated = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        SessionRecord { id, setup: setup.clone(), title: None, updated }
    }
}

impl SessionFactory for Factory {
    fn create(&self, request: SessionRequest) -> BoxFuture<'_, Result<SessionHandle, OpenError>> {
        Box::pin(async move {
            self.check(&request.setup)?;
            let record = self.next_record(&request.setup);
            let parts = self.open(record.id.clone(), request, History::default())?;
            Ok(SessionHandle::spawn(parts, self.journal.create(record).await?))
        })
    }

    fn check(&self, setup: &SessionSetup) -> Result<(), OpenError> {
        let paths = std::iter::once(&setup.cwd).chain(&setup.additional);
        match (0..).map(RootId).zip(paths).find(|(_, path)| path.contains("missing")) {
            None => Ok(()),
            Some((root, path)) => {
                let (path, reason) = (path.clone(), "No such file or directory".to_owned());
                Err(OpenError::Folder { root, path, reason })
            }
        }
    }

    fn load(
        &self,
        id: SessionId,
        request: SessionRequest,
        _before: Option<Before>,
        _point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<(SessionHandle, KeptSession), OpenError>> {
        Box::pin(async move {
            let claim = self.journal.claim(&id).await?;
            let kept = self.journal.load(&id).await?.ok_or_else(|| OpenError::Unknown(id.clone()))?;
            let parts = self.open(id, request, History::of(&kept.1))?;
            Ok((SessionHandle::spawn(parts, claim), kept))
        })
    }

    fn fork(
        &self,
        fork: Fork,
        request: SessionRequest,
        no_return: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<SessionHandle, OpenError>> {
        Box::pin(async move {
            let Fork { source, point, choices: _ } = fork;
            let (_, events) = branch(&*self.journal, &source, point).await?;
            self.check(&request.setup)?;
            let record = self.next_record(&request.setup);
            let parts = self.open(record.id.clone(), request, History::of(&events))?;
            let claim = self.journal.fork(&source, record, events.into(), no_return).await?;
            Ok(SessionHandle::spawn(parts, claim))
        })
    }

    fn store(&self) -> Arc<dyn SessionStore> {
        self.journal.clone()
    }
}
