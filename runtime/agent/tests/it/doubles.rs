//! The doubles that the scenarios are played with.

mod files;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use acp_runtime_agent::capability::{Effect, GrantSet, PluginId, RootId, Roots, ToolName, WorkspacePath};
use acp_runtime_agent::context::{ContextBudget, History, Project};
use acp_runtime_agent::event::{SessionEvent, ToolCallStatus, TurnEnd};
use acp_runtime_agent::gate::{Approval, Approver, Ask, AuditEntry, AuditSink, Gate, GrantBook, Ground, Permit};
use acp_runtime_agent::hook::{Hook, Hooks};
use acp_runtime_agent::model::{
    InputSchema, Model, ModelChoice, ModelError, ModelEvent, ModelRequest, ModelSource, ToolKind, ToolSpec,
};
use acp_runtime_agent::options::{Choices, Options, PluginChoice};
use acp_runtime_agent::outbox::{Audience, Haste, Outbox};
use acp_runtime_agent::panel::{PanelBoard, StalePanels};
use acp_runtime_agent::policy::{Mode, Policy};
use acp_runtime_agent::session::{OnBusy, OrderedApprover, SessionHandle, SessionParts, command_catalog};
use acp_runtime_agent::store::{
    Claim, KeptOutput, ListQuery, PointOfNoReturn, SessionPage, SessionRecord, SessionSetup, SessionStore, StoreError,
};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolCatalog, ToolError, ToolSource};
use acp_runtime_agent::transcript::{Conversation, Location, Part, SessionId, ToolCallId, ToolContent, ToolOutcome};
use acp_runtime_agent::turn::{Budget, TurnContext, TurnLimits};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use files::Files;

/// What the model does for one request, in order.
pub enum Line {
    Say(ModelEvent),
    Fail(ModelError),
    /// Waits until the test says go, or for ever.
    Wait(Arc<Notify>),
}

#[derive(Default)]
pub struct ScriptedModel {
    name: &'static str,
    answers: Mutex<VecDeque<Vec<Line>>>,
    pub requests: Mutex<Vec<Conversation>>,
    /// The system prompt of each request.
    pub systems: Mutex<Vec<String>>,
}

impl Model for ScriptedModel {
    fn id(&self) -> &'static str {
        self.name
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        self.requests.lock().unwrap().push(request.messages);
        self.systems.lock().unwrap().push(request.system.to_string());
        let lines = self.answers.lock().unwrap().pop_front().unwrap_or_default();
        futures::stream::iter(lines)
            .filter_map(|line| async {
                match line {
                    Line::Say(event) => Some(Ok(event)),
                    Line::Fail(error) => Some(Err(error)),
                    Line::Wait(go) => {
                        go.notified().await;
                        None
                    }
                }
            })
            .boxed()
    }
}

/// The first is what sessions begin with.
struct Shelf([Arc<ScriptedModel>; 2]);

impl ModelSource for Shelf {
    fn list(&self) -> Vec<ModelChoice> {
        let choice = |model: &Arc<ScriptedModel>| ModelChoice {
            id: model.name.to_owned(),
            name: model.name.to_uppercase(),
            group: None,
        };
        self.0.iter().map(choice).collect()
    }

    fn open(&self, id: Option<&str>) -> Result<Arc<dyn Model>, String> {
        let found = self.0.iter().find(|model| id.is_none_or(|id| id == model.name));
        found.map(|model| model.clone() as Arc<dyn Model>).ok_or_else(|| "no such model".to_owned())
    }
}

/// Keeps everything in memory, but slowly; can be told to fail.
#[derive(Default)]
pub struct MemoryStore {
    events: Mutex<HashMap<SessionId, Vec<SessionEvent>>>,
    pub full: AtomicBool,
    /// How many sessions are claimed.
    pub claims: Arc<AtomicUsize>,
}

impl MemoryStore {
    pub fn kept(&self) -> Vec<SessionEvent> {
        self.events.lock().unwrap().get(&SessionId::new("s")).cloned().unwrap_or_default()
    }
}

impl SessionStore for MemoryStore {
    fn create(&self, _: SessionRecord) -> BoxFuture<'_, Result<Claim, StoreError>> {
        Box::pin(async { Ok(Claim::new(|| Box::pin(async {}))) })
    }

    fn claim(&self, _: &SessionId) -> BoxFuture<'_, Result<Claim, StoreError>> {
        Box::pin(async { Ok(Claim::new(|| Box::pin(async {}))) })
    }

    fn set_up(&self, _: &SessionId, _: SessionSetup) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn append(&self, session: &SessionId, events: Arc<[SessionEvent]>) -> BoxFuture<'_, Result<(), StoreError>> {
        let session = session.clone();
        Box::pin(async move {
            // Whoever does not wait for the answer is faster.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            if self.full.load(Ordering::SeqCst) {
                let reason = "No space left on device".into();
                return Err(StoreError::Unwritable { path: "/store".into(), reason, retryable: true });
            }
            self.events.lock().unwrap().entry(session).or_default().extend(events.iter().cloned());
            Ok(())
        })
    }

    fn fork(
        &self,
        _: &SessionId,
        record: SessionRecord,
        events: Arc<[SessionEvent]>,
        _: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<Claim, StoreError>> {
        Box::pin(async move {
            self.append(&record.id, events).await?;
            self.claim(&record.id).await
        })
    }

    fn load(
        &self,
        session: &SessionId,
    ) -> BoxFuture<'_, Result<Option<(SessionRecord, Vec<SessionEvent>)>, StoreError>> {
        let events = self.events.lock().unwrap().get(session).cloned();
        let record = SessionRecord {
            id: session.clone(),
            setup: SessionSetup { cwd: "/p".into(), additional: Vec::new(), system_prompt: None },
            title: None,
            updated: SystemTime::UNIX_EPOCH,
        };
        Box::pin(async { Ok(events.map(|events| (record, events))) })
    }

    fn list(&self, _: ListQuery) -> BoxFuture<'_, Result<SessionPage, StoreError>> {
        Box::pin(async { Ok(SessionPage::default()) })
    }

    fn keep_output(&self, _: &SessionId, call: &ToolCallId, text: String) -> BoxFuture<'_, Option<KeptOutput>> {
        let name = format!("{call}.txt");
        let kept = KeptOutput { uri: format!("file:///outputs/{name}"), name, size: text.len() as u64 };
        let full = self.full.load(Ordering::SeqCst);
        Box::pin(async move { (!full).then_some(kept) })
    }

    fn delete(&self, _: &SessionId, _: PointOfNoReturn) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Remembers what it was shown; can refuse to take more until it is told to.
#[derive(Default)]
pub struct Screen {
    shown: Mutex<Vec<SessionEvent>>,
    pub stuck: AtomicBool,
    pub go_on: Notify,
    more: Notify,
}

impl Screen {
    pub fn shown(&self) -> Vec<SessionEvent> {
        self.shown.lock().unwrap().clone()
    }
}

impl Stage {
    /// Waits until the script of what was shown has that in it.
    pub async fn until_shown(&self, text: &str) {
        loop {
            let more = self.screen.more.notified();
            if script(&self.screen.shown()).contains(text) {
                return;
            }
            more.await;
        }
    }
}

impl Audience for Screen {
    fn show<'a>(&'a self, events: Vec<SessionEvent>, _haste: &'a Haste) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            while self.stuck.load(Ordering::SeqCst) {
                self.go_on.notified().await;
            }
            self.shown.lock().unwrap().extend(events);
            self.more.notify_one();
        })
    }
}

/// Answers every question alike, and remembers what was on the screen when it was asked.
pub struct Person {
    pub answer: Approval,
    /// What it waits for before it answers.
    pub hold: Option<Arc<Notify>>,
    pub asked: Mutex<Vec<(Ask, usize)>>,
    screen: Arc<Screen>,
}

impl Approver for Person {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Approval> {
        self.asked.lock().unwrap().push((ask, self.screen.shown().len()));
        let (answer, hold) = (self.answer, self.hold.clone());
        Box::pin(async move {
            if let Some(hold) = hold {
                hold.notified().await;
            }
            answer
        })
    }
}

struct NoBook;

impl GrantBook for NoBook {
    fn grants(&self, _: &PluginId) -> Option<GrantSet> {
        None
    }
}

impl Ground for NoBook {}

impl AuditSink for NoBook {
    fn record(&self, _: AuditEntry<'_>) {}
}

type Act = Box<dyn Fn(Value) -> Result<ToolOutcome, ToolError> + Send + Sync>;

/// A tool that writes the file `out`, after a preview, and answers what its function says.
pub struct FakeTool {
    spec: Arc<ToolSpec>,
    writes: bool,
    act: Act,
    hang: Option<(Arc<Notify>, Hang)>,
    plugin: Option<PluginId>,
    locations: Vec<Location>,
}

/// What a tool waits for that has said that it started.
enum Hang {
    ForEver,
    Until(Arc<Notify>),
    UntilCancelled,
}

impl FakeTool {
    pub fn new(name: &str, writes: bool, act: fn(Value) -> Result<ToolOutcome, ToolError>) -> Arc<dyn Tool> {
        Self::build(name, writes, Box::new(act), None)
    }

    /// A tool that only reads, with a state.
    pub fn acting(
        name: &str,
        act: impl Fn(Value) -> Result<ToolOutcome, ToolError> + Send + Sync + 'static,
    ) -> Arc<dyn Tool> {
        Self::build(name, false, Box::new(act), None)
    }

    /// A tool that says that it started and then never ends, whatever it is told.
    pub fn hanging(name: &str, started: Arc<Notify>) -> Arc<dyn Tool> {
        Self::build(name, false, Box::new(|_| Ok(ToolOutcome::default())), Some((started, Hang::ForEver)))
    }

    /// A tool that says that it started and then waits for `go`.
    pub fn waiting(name: &str, writes: bool, started: Arc<Notify>, go: Arc<Notify>) -> Arc<dyn Tool> {
        Self::build(name, writes, Box::new(|_| Ok(ToolOutcome::text("waited"))), Some((started, Hang::Until(go))))
    }

    /// A tool that says that it started and ends with `act` when it is cancelled.
    pub fn until_cancelled(
        name: &str,
        started: Arc<Notify>,
        act: fn(Value) -> Result<ToolOutcome, ToolError>,
    ) -> Arc<dyn Tool> {
        Self::build(name, false, Box::new(act), Some((started, Hang::UntilCancelled)))
    }

    /// A tool of [`plugin`].
    pub fn of_plugin(name: &str) -> Arc<dyn Tool> {
        Arc::new(Self {
            plugin: Some(plugin()),
            ..Self::make(name, false, Box::new(|_| Ok(ToolOutcome::text("x"))), None)
        })
    }

    /// A tool that works on a file.
    pub fn at(name: &str, location: Location) -> Arc<dyn Tool> {
        let locations = vec![location];
        Arc::new(Self { locations, ..Self::make(name, false, Box::new(|_| Ok(ToolOutcome::text("x"))), None) })
    }

    fn build(name: &str, writes: bool, act: Act, hang: Option<(Arc<Notify>, Hang)>) -> Arc<dyn Tool> {
        Arc::new(Self::make(name, writes, act, hang))
    }

    fn make(name: &str, writes: bool, act: Act, hang: Option<(Arc<Notify>, Hang)>) -> Self {
        let spec = ToolSpec {
            name: ToolName::new(name).unwrap(),
            title: name.to_owned(),
            description: format!("Does {name}."),
            input: InputSchema::new(json!({ "type": "object", "properties": { "n": { "type": "integer" } } })),
            kind: ToolKind::Other,
        };
        Self { spec: Arc::new(spec), writes, act, hang, plugin: None, locations: Vec::new() }
    }
}

/// The plugin that sessions here can switch.
pub fn plugin() -> PluginId {
    PluginId::new("test:looks").unwrap()
}

impl Tool for FakeTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn plugin(&self) -> Option<&PluginId> {
        self.plugin.as_ref()
    }

    fn effects(&self, _: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        let path = WorkspacePath::new(RootId(0), "out").unwrap();
        let mut effects = vec![Effect::Read(path.scope())];
        if self.writes {
            effects.push(Effect::Write(path.scope()));
        }
        Ok(effects)
    }

    fn present(&self, _: &ToolArguments) -> Presentation {
        let (title, locations) = (self.spec.title.clone(), self.locations.clone());
        Presentation { title, locations, ..Presentation::default() }
    }

    fn preview<'a>(
        &'a self,
        permit: &'a Permit,
        _: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        let path = WorkspacePath::new(RootId(0), "out").unwrap();
        assert!(permit.covers(&Effect::Read(path.scope())) && !permit.covers(&Effect::Write(path.scope())));
        Box::pin(async { Ok(vec![ToolContent::Diff { path: "/p/out".into(), old: None, new: "new".into() }]) })
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        for effect in self.effects(&arguments).unwrap() {
            assert!(permit.covers(&effect), "{effect}");
        }
        Box::pin(async move {
            if let Some((started, hang)) = &self.hang {
                started.notify_one();
                match hang {
                    Hang::ForEver => futures::future::pending().await,
                    Hang::Until(go) => go.notified().await,
                    Hang::UntilCancelled => cancel.cancelled().await,
                }
            }
            (self.act)(arguments.as_value().clone())
        })
    }
}

/// One session with all its doubles.
pub struct Stage {
    pub session: SessionHandle,
    pub model: Arc<ScriptedModel>,
    /// `other`, which says nothing and stops.
    pub other: Arc<ScriptedModel>,
    pub store: Arc<MemoryStore>,
    pub screen: Arc<Screen>,
    pub person: Arc<Person>,
}

pub struct Setting {
    pub mode: Mode,
    pub answer: Approval,
    pub hold: Option<Arc<Notify>>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub source: Option<Arc<dyn ToolSource>>,
    pub on_busy: OnBusy,
    pub limits: TurnLimits,
    pub budget: ContextBudget,
    pub files: Files,
    /// Continues what this store has kept.
    pub store: Arc<MemoryStore>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            mode: Mode::Review,
            answer: Approval::AllowOnce,
            hold: None,
            tools: Vec::new(),
            hooks: Vec::new(),
            source: None,
            on_busy: OnBusy::Queue(2),
            limits: TurnLimits::default(),
            budget: ContextBudget::default(),
            files: Files::default(),
            store: Arc::default(),
        }
    }
}

impl Setting {
    pub fn play(self, answers: Vec<Vec<Line>>) -> Stage {
        let model = |name, answers: Vec<Vec<Line>>| {
            let answers = Mutex::new(answers.into());
            Arc::new(ScriptedModel { name, answers, ..ScriptedModel::default() })
        };
        let (model, other) = (model("scripted", answers), model("other", (0..9).map(|_| vec![stop()]).collect()));
        let screen = Arc::new(Screen::default());
        let person =
            Arc::new(Person { answer: self.answer, hold: self.hold, asked: Mutex::default(), screen: screen.clone() });
        let stale = StalePanels::default();
        let id = SessionId::new("s");
        let history = History::of(&self.store.kept());
        let outbox = Outbox::new(id.clone(), history, stale.clone(), self.store.clone(), screen.clone());
        let approver = Arc::new(OrderedApprover::new(outbox.clone(), person.clone()));
        let plugins =
            vec![PluginChoice { id: plugin(), title: "Looks".to_owned(), description: "Looks at things.".to_owned() }];
        let choices = Choices { bounds: self.mode.into(), ..Choices::default() };
        let options =
            Arc::new(Options::new(choices, Arc::new(Shelf([model.clone(), other.clone()])), plugins).unwrap());
        let leeway = options.leeway().clone();
        let nothing = Arc::new(NoBook);
        let gate = Gate::new(Arc::new(Policy::default()), leeway, approver, nothing.clone(), nothing.clone(), nothing);
        let mut tools = ToolCatalog::new(options.switches().clone());
        for tool in self.tools {
            tools.add(tool).unwrap();
        }
        self.source.into_iter().for_each(|source| tools.follow(source));
        let panels = Arc::new(PanelBoard::new(stale, options.switches().clone()));
        let commands = command_catalog(options.switches().clone());
        let roots = Roots::new([(PathBuf::from("/p"), PathBuf::from("/p"))]);
        let files = Arc::new(self.files);
        let project = Arc::new(Project::new(roots, files.clone(), files, self.budget));
        let (gate, budget, system_prompt) = (Arc::new(gate), Budget::new(self.limits), None);
        let hooks = Hooks::new(id.clone(), options.switches().clone(), &self.hooks, Arc::new(|_| None));
        let turns = TurnContext { options, tools, gate, hooks, project, system_prompt, budget, outbox };
        let claims = self.store.claims.clone();
        claims.fetch_add(1, Ordering::SeqCst);
        let claim = Claim::new(move || {
            claims.fetch_sub(1, Ordering::SeqCst);
            Box::pin(async {})
        });
        let parts = SessionParts { id, turns, commands, panels, on_busy: self.on_busy, belongings: Arc::new(()) };
        let session = SessionHandle::spawn(parts, claim);
        Stage { session, model, other, store: self.store, screen, person }
    }
}

pub fn say(text: &str) -> Line {
    Line::Say(ModelEvent::Text(text.to_owned()))
}

pub fn call(name: &str, arguments: Value) -> Line {
    Line::Say(ModelEvent::call(name, arguments))
}

pub fn stop() -> Line {
    Line::Say(ModelEvent::Stop(acp_runtime_agent::transcript::StopReason::EndTurn))
}

pub fn text(text: &str) -> Vec<Part> {
    vec![Part::Text { text: text.to_owned() }]
}

/// Events as lines that a person reads.
pub fn script(events: &[SessionEvent]) -> String {
    let mut script = String::new();
    for event in events {
        let line = match event {
            SessionEvent::UserMessage { id, parts, local } => {
                let said = parts.iter().map(|part| match part {
                    Part::Text { text } => text.clone(),
                    other => format!("{other:?}"),
                });
                format!("{id} user{}: {}", if *local { " (local)" } else { "" }, said.collect::<Vec<_>>().join(" + "))
            }
            SessionEvent::MessageReplaced { id, text, by } => {
                let by: Vec<&str> = by.iter().map(PluginId::as_str).collect();
                format!("{id} replaced by {}: {text}", by.join(", "))
            }
            SessionEvent::AgentText { id, text, local } => {
                format!("{id} agent{}: {}", if *local { " (local)" } else { "" }, text.trim_end().replace('\n', " | "))
            }
            SessionEvent::AgentThought { id, text, .. } => format!("{id} thinks: {text}"),
            SessionEvent::ToolCallStarted { message, call, title, local, .. } => {
                format!("{message} {} {}{} pending: {title}", call.id, call.name, if *local { " (local)" } else { "" })
            }
            SessionEvent::ToolCallUpdated(update) => {
                let status = match update.status {
                    Some(ToolCallStatus::Pending) => "pending",
                    Some(ToolCallStatus::InProgress) => "in progress",
                    Some(ToolCallStatus::Completed) => "completed",
                    Some(ToolCallStatus::Failed) => "failed",
                    None => "shows",
                };
                let shown: Vec<String> = update
                    .content
                    .iter()
                    .flatten()
                    .map(|content| match content {
                        ToolContent::Text { text } => text.clone(),
                        ToolContent::Diff { path, new, .. } => format!("diff of {path}: {new}"),
                        ToolContent::Resource { uri, .. } => uri.clone(),
                        ToolContent::Image { mime, .. } => mime.clone(),
                        ToolContent::Link { name, uri, size, .. } => format!("link to {name} at {uri}, {size:?} bytes"),
                        ToolContent::Terminal { output, .. } => output.clone(),
                    })
                    .collect();
                format!("{} {status} {}", update.id, shown.join(" + ")).trim_end().to_owned()
            }
            SessionEvent::Title { title, provisional } => {
                format!("title{}: {title}", if *provisional { " (provisional)" } else { "" })
            }
            SessionEvent::CompactionStarted { id } => format!("{id} sums up"),
            SessionEvent::CompactionText { id, text } => format!("{id} summary: {}", text.replace('\n', " | ")),
            SessionEvent::CompactionEnded { id, end } => format!("{id} {end:?}"),
            SessionEvent::TurnEnded { end: TurnEnd::Stopped(stop) } => format!("end: {stop:?}"),
            SessionEvent::TurnEnded { end: TurnEnd::Failed(reason) } => {
                format!("failed: {}", reason.replace('\n', " | "))
            }
            other => format!("{other:?}"),
        };
        script.push_str(&line);
        script.push('\n');
    }
    script
}
