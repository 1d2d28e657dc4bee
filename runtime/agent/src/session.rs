//! A session: one mailbox, at most one turn, everything it emits in one order.
//!
//! [`SessionHandle`] is what the world holds; behind it an actor runs prompts one after another. Panels answer beside a
//! running turn, in the order that they were asked. Every event goes through the [`outbox`](crate::outbox): kept first, then
//! shown.
//! Knows nothing about wire formats; clients, stores and models are ports. Tested in `tests/it`.

mod actor;
mod commands;
mod directory;
mod fork;
mod message;
mod ordered;
mod prompt;
mod subagent;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::capability::{PanelName, RootId, Roots};
use crate::command::CommandCatalog;
use crate::elicit::{Elicitor, NoElicitor};
use crate::event::{EventSink as _, SessionEvent};
use crate::gate::Approver;
use crate::options::{Choices, ConfigOption, OptionError, OptionValue, Options};
use crate::outbox::Audience;
use crate::panel::{PanelBoard, PanelError, PanelInfo, PanelReply, PanelView};
use crate::policy::Mode;
use crate::server::ServerEntry;
use crate::store::{Claim, KeptSession, PointOfNoReturn, SessionSetup, SessionStore, StoreError};
use crate::terminal::Terminal;
use crate::trace::TraceContext;
use crate::transcript::{MessageId, Part, SessionId, Spending};
use crate::turn::TurnContext;
use crate::workspace::Workspace;

pub use commands::command_catalog;
pub use directory::Sessions;
pub use fork::{Fork, ForkPoint, ForkSide, branch};
pub use ordered::{OrderedApprover, OrderedElicitor, OrderedTerminal};
pub use prompt::{Answer, Fault, Prompt, PromptError, Withdrawal};
pub use subagent::{Subagents, Task};

use actor::{Actor, Ending, Letter};

/// How one client looks to the sessions that it opens.
pub trait Face: Send + Sync {
    /// Asks its person.
    fn approver(&self, session: &SessionId) -> Arc<dyn Approver>;
    /// Asks its person for values. By default nobody can be asked.
    fn elicitor(&self, session: &SessionId) -> Arc<dyn Elicitor> {
        let _ = session;
        Arc::new(NoElicitor)
    }
    /// Where its commands run: in its own terminals, or in `local`. By default in `local`.
    fn terminal(&self, session: &SessionId, roots: &Roots, local: Arc<dyn Terminal>) -> Arc<dyn Terminal> {
        let _ = (session, roots);
        local
    }
    /// Puts the client's own files (unsaved text) over the disk's. By default it has none.
    fn overlay(&self, session: &SessionId, roots: &Roots, disk: Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        let _ = (session, roots);
        disk
    }
    /// Shows it what happens.
    fn audience(&self, session: &SessionId) -> Arc<dyn Audience>;
    /// Whether it is still there after an answer, and learns of what changes then. For one that is not, an answer about
    /// what is on its way waits for that.
    fn stays(&self) -> bool {
        true
    }
}

/// A client's wish to open a session.
#[derive(Clone)]
pub struct SessionRequest {
    /// What it says of the session. Without instructions for the model, those that are kept with the session hold.
    pub setup: SessionSetup,
    /// The MCP servers that it names.
    pub servers: Vec<ServerEntry>,
    /// The client.
    pub face: Arc<dyn Face>,
}

/// What an open session goes on with when it is opened anew in this process, and nobody else knows the form of.
pub type Belongings = Arc<dyn Any + Send + Sync>;

/// What a session was that is opened anew.
#[derive(Clone)]
pub struct Before {
    /// What was chosen in it.
    pub choices: Choices,
    /// What it had.
    pub belongings: Belongings,
}

/// Why a session could not be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// No session of that id is kept.
    #[error("unknown session `{0}`")]
    Unknown(SessionId),
    /// A kept session has no such message.
    #[error("session `{session}` has no message `{message}`")]
    NoMessage {
        /// The session.
        session: SessionId,
        /// The message that is not there.
        message: MessageId,
    },
    /// A root that is not an absolute path of a folder that can be opened.
    #[error("`{path}` cannot be opened as a folder of the session: {reason}")]
    Folder {
        /// Which of them.
        root: RootId,
        /// As the client wrote it.
        path: String,
        /// Why.
        reason: String,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration does not allow it: a model that is not there, a broken setting.
    #[error("{message}")]
    Setup {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: String,
    },
}

/// Opens sessions with everything that they need.
pub trait SessionFactory: Send + Sync {
    /// A new session.
    fn create(&self, request: SessionRequest) -> BoxFuture<'_, Result<SessionHandle, OpenError>>;
    /// Whether a session could be opened like that now, without opening one.
    fn check(&self, setup: &SessionSetup) -> Result<(), OpenError>;
    /// A kept session, with all its events for the client. What was kept of it changes only if it could be opened, and
    /// not where it was taken back before `point`. `before` is what it was while it was open in this process, and goes on
    /// as; without that it begins as it is configured now.
    fn load(
        &self,
        id: SessionId,
        request: SessionRequest,
        before: Option<Before>,
        point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<(SessionHandle, KeptSession), OpenError>>;
    /// A new session that goes on from a kept one. Nothing is left of it where it was taken back before `point`.
    fn fork(
        &self,
        fork: Fork,
        request: SessionRequest,
        point: PointOfNoReturn,
    ) -> BoxFuture<'_, Result<SessionHandle, OpenError>>;
    /// Waits until an open session would become another one if it were opened anew, such as by a plugin that somebody
    /// works on.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
    /// Where sessions are kept.
    fn store(&self) -> Arc<dyn SessionStore>;
}

/// What a session is made of.
pub struct SessionParts {
    /// Its id.
    pub id: SessionId,
    /// What its turns work with.
    pub turns: TurnContext,
    /// What a person can type.
    pub commands: CommandCatalog,
    /// What it shows.
    pub panels: Arc<PanelBoard>,
    /// What to do with a prompt while another one runs.
    pub on_busy: OnBusy,
    /// What it goes on with when it is opened anew.
    pub belongings: Belongings,
}

/// What to do with a prompt that comes while another one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBusy {
    /// Let it wait, at most so many.
    Queue(usize),
    /// Refuse it.
    Reject,
}

/// A live session from outside; cheap to clone.
#[derive(Clone)]
pub struct SessionHandle {
    shared: Arc<Shared>,
    mailbox: mpsc::UnboundedSender<Letter>,
}

struct Shared {
    id: SessionId,
    turns: TurnContext,
    commands: CommandCatalog,
    panels: Arc<PanelBoard>,
    belongings: Belongings,
    busy: AtomicBool,
    prompts: AtomicU64,
    /// Above the tokens of all prompts since the last cancel.
    cancel: Mutex<CancellationToken>,
    /// Held while options change, so that they are told of in the order of the changes.
    changing: Mutex<()>,
}

impl SessionHandle {
    /// Starts the session's actor, which keeps the `claim` until the session is closed.
    pub fn spawn(parts: SessionParts, claim: Claim) -> Self {
        let SessionParts { id, turns, commands, panels, on_busy, belongings } = parts;
        let (busy, prompts) = (AtomicBool::new(false), AtomicU64::new(0));
        let (cancel, changing) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { id, turns, commands, panels, belongings, busy, prompts, cancel, changing });
        let (mailbox, letters) = mpsc::unbounded_channel();
        tokio::spawn(Actor::new(shared.clone(), on_busy).run(letters, claim));
        Self { shared, mailbox }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.shared.id
    }

    /// Its folders.
    pub fn roots(&self) -> &Roots {
        &self.shared.turns.project.roots
    }

    /// Its mode now.
    pub fn mode(&self) -> Mode {
        self.shared.turns.options.mode()
    }

    /// Puts a prompt into the mailbox at once; awaited, it gives the answer. The order of calls is the order of turns.
    pub fn prompt(&self, parts: Vec<Part>) -> Prompt {
        self.prompt_within(parts, TraceContext::default())
    }

    /// [`SessionHandle::prompt`], as a part of a trace: whoever is called in its turn learns of it.
    pub fn prompt_within(&self, parts: Vec<Part>, trace: TraceContext) -> Prompt {
        let ticket = self.shared.prompts.fetch_add(1, Ordering::Relaxed);
        let cancel = self.shared.lock_cancel().child_token();
        let (prompt, reply) = Prompt::new(ticket, cancel.clone(), self.mailbox.clone());
        // A closed session drops the letter, and with it the reply.
        let _ = self.mailbox.send(Letter::Prompt(prompt::Entry { ticket, parts, trace, cancel, reply }));
        prompt
    }

    /// Cancels the running prompt and those that wait: what the person answers after this call counts no more. Where
    /// there is none and none has just ended, it counts for one that comes at once.
    pub fn cancel(&self) {
        let before = std::mem::take(&mut *self.shared.lock_cancel());
        before.cancel();
        // A closed session has nothing to cancel.
        let _ = self.mailbox.send(Letter::Cancel);
    }

    /// Its options now.
    pub fn options(&self) -> Vec<ConfigOption> {
        self.shared.turns.options.list()
    }

    /// What was chosen in it, for a session that begins as this one is.
    pub fn choices(&self) -> Choices {
        self.shared.turns.options.choices()
    }

    /// What it is, for the same session opened anew.
    pub fn before(&self) -> Before {
        Before { choices: self.choices(), belongings: self.shared.belongings.clone() }
    }

    /// Changes the mode. Holds from the next decision on, also in a running turn.
    pub fn set_mode(&self, mode: Mode) {
        self.shared.change(|options| options.set_mode(mode));
    }

    /// Changes the model, to any that its provider may know. Holds from the next turn on.
    pub fn set_model(&self, id: &str) -> Result<(), OptionError> {
        self.shared.change(|options| options.set_model(id))
    }

    /// Changes one option.
    pub fn set_option(&self, id: &str, value: OptionValue<'_>) -> Result<(), OptionError> {
        self.shared.change(|options| options.set(id, value))
    }

    /// What all model requests of the session have cost.
    pub fn spending(&self) -> Spending {
        self.shared.turns.outbox.spending()
    }

    /// Whether the session keeps a plan of its own.
    pub fn keeps_plan(&self) -> bool {
        self.shared.turns.outbox.keeps_plan()
    }

    /// Tells the client of the session's commands.
    pub fn announce_commands(&self) {
        let commands = self.shared.commands.infos();
        self.shared.turns.outbox.emit(SessionEvent::CommandsChanged { commands });
    }

    /// Tells the client that all panels may look different.
    pub fn announce_panels(&self) {
        for panel in self.shared.panel_names() {
            self.shared.turns.outbox.show_panel_changed(panel);
        }
    }

    /// Every panel with its status text.
    pub async fn panels(&self) -> Vec<(PanelInfo, String)> {
        self.shared.panels.list().await
    }

    /// A panel's state now.
    pub async fn panel_snapshot(&self, panel: &str) -> Result<PanelView, PanelError> {
        self.shared.panels.snapshot(panel).await
    }

    /// Does an action on a node of a panel.
    pub async fn panel_act(
        &self,
        panel: &str,
        action: &str,
        node: &str,
        args: Map<String, Value>,
    ) -> Result<PanelReply, PanelError> {
        let busy = || self.shared.busy.load(Ordering::Acquire);
        let reply = self.shared.panels.act(panel, action, node, args, busy).await?;
        if !busy() {
            self.shared.show_stale_panels();
        }
        Ok(reply)
    }

    /// Cancels what runs, answers what waits, and ends the session. Returns when all of it was shown.
    pub async fn close(&self) {
        self.end(Ending::Closed).await;
    }

    /// The same for a session that is opened anew at once: what stands behind its tools is kept for that one.
    pub async fn hand_over(&self) {
        self.end(Ending::HandedOver).await;
    }

    async fn end(&self, ending: Ending) {
        let (done, closed) = oneshot::channel();
        if self.mailbox.send(Letter::Close { ending, done }).is_ok() {
            // An actor that is gone has closed.
            let _ = closed.await;
        }
    }
}

impl Shared {
    /// The one way in which options change, whoever changes them: the client is told of all that became different.
    fn change<T>(&self, change: impl FnOnce(&Options) -> T) -> T {
        let Self { turns: TurnContext { options, outbox, .. }, commands, .. } = self;
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = (options.bounds(), options.list(), commands.infos(), self.panel_names());
        let outcome = change(options);
        let (list, commands) = (options.list(), commands.infos());
        SessionEvent::bounds_changed(&before.0, options.bounds()).into_iter().for_each(|event| outbox.emit(event));
        if list != before.1 {
            outbox.emit(SessionEvent::OptionsChanged { options: list });
        }
        if commands != before.2 {
            outbox.emit(SessionEvent::CommandsChanged { commands });
        }
        for panel in before.3.symmetric_difference(&self.panel_names()) {
            outbox.show_panel_changed(panel.clone());
        }
        outcome
    }

    fn lock_cancel(&self) -> MutexGuard<'_, CancellationToken> {
        self.cancel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn panel_names(&self) -> BTreeSet<PanelName> {
        self.panels.infos().map(|info| info.name.clone()).collect()
    }

    fn show_stale_panels(&self) {
        for panel in self.panels.stale() {
            self.turns.outbox.show_panel_changed(panel);
        }
    }
}
