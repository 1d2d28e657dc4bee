//! The sessions of one client, and how each shows itself to it.
//!
//! Nothing of a session is shown before the request that opened it was answered, and nothing after it was closed. Which
//! sessions there are is the room `open`. Tested in `tests.rs`.

mod open;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use acp_runtime_agent::capability::Roots;
use acp_runtime_agent::elicit::Elicitor;
use acp_runtime_agent::event::{Notice, SessionEvent, Severity};
use acp_runtime_agent::gate::Approver;
use acp_runtime_agent::outbox::{Audience, Haste};
use acp_runtime_agent::session::{Face, SessionHandle, SessionRequest};
use acp_runtime_agent::store::KeptSession;
use acp_runtime_agent::terminal::Terminal;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_agent::workspace::Workspace;
use agent_client_protocol::v1::schema;
use agent_client_protocol::{Client, ConnectionTo, UntypedMessage};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::editor::{EditorApprover, EditorElicitor, EditorTerminal, EditorWorkspace, Patience, Peer};
use super::offers::{Offer, Offers};
use super::{Options, panels, wire};
use crate::transport::Flow;

pub(super) use open::{Door, Held, LiveSessions, Unloaded, Work};

/// Whether the client may see a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curtain {
    /// Not yet: the request that opens the session is not answered.
    Down,
    Up,
    /// Not any more.
    Fallen,
}

/// One client as a session sees it. Made anew for each session.
pub(super) struct EditorFace {
    connection: ConnectionTo<Client>,
    offers: Offers,
    /// Whether the client wants to be told of changed panels; shared by all its sessions.
    draws_panels: Arc<AtomicBool>,
    flow: Flow,
    patience: Patience,
    narrator: Arc<Mutex<wire::Narrator>>,
    curtain: watch::Sender<Curtain>,
}

impl EditorFace {
    pub(super) fn new(
        connection: ConnectionTo<Client>,
        offers: Offers,
        draws_panels: Arc<AtomicBool>,
        flow: Flow,
        options: &Options,
    ) -> Self {
        let (curtain, _) = watch::channel(Curtain::Down);
        let patience = options.patience;
        let narrator = Arc::new(Mutex::new(wire::Narrator::new(offers, options.echo)));
        Self { connection, offers, draws_panels, flow, patience, narrator, curtain }
    }

    fn peer(&self, session: &SessionId) -> Peer {
        Peer { connection: self.connection.clone(), session: named(session), patience: self.patience }
    }

    fn stage(&self, session: &SessionId) -> Stage {
        Stage {
            connection: self.connection.clone(),
            session: named(session),
            offers: self.offers,
            draws_panels: self.draws_panels.clone(),
            flow: self.flow.clone(),
            narrator: self.narrator.clone(),
            left_out: AtomicBool::new(false),
        }
    }
}

fn named(session: &SessionId) -> schema::SessionId {
    schema::SessionId::new(session.to_string())
}

impl Face for EditorFace {
    fn approver(&self, session: &SessionId) -> Arc<dyn Approver> {
        Arc::new(EditorApprover::new(self.peer(session)))
    }

    fn elicitor(&self, session: &SessionId) -> Arc<dyn Elicitor> {
        let (forms, pages) = (self.offers.has(Offer::Forms), self.offers.has(Offer::Pages));
        Arc::new(EditorElicitor { peer: self.peer(session), forms, pages })
    }

    fn terminal(&self, session: &SessionId, roots: &Roots, local: Arc<dyn Terminal>) -> Arc<dyn Terminal> {
        if !self.offers.has(Offer::Terminals) {
            return local;
        }
        Arc::new(EditorTerminal { peer: self.peer(session), roots: roots.clone() })
    }

    fn overlay(&self, session: &SessionId, roots: &Roots, disk: Arc<dyn Workspace>) -> Arc<dyn Workspace> {
        let (reads, writes) = (self.offers.has(Offer::ReadTextFile), self.offers.has(Offer::WriteTextFile));
        if !reads && !writes {
            return disk;
        }
        Arc::new(EditorWorkspace { peer: self.peer(session), roots: roots.clone(), disk, reads, writes })
    }

    fn audience(&self, session: &SessionId) -> Arc<dyn Audience> {
        Arc::new(EditorAudience { stage: self.stage(session), curtain: self.curtain.subscribe() })
    }
}

struct EditorAudience {
    stage: Stage,
    curtain: watch::Receiver<Curtain>,
}

impl Audience for EditorAudience {
    fn show<'a>(&'a self, events: Vec<SessionEvent>, haste: &'a Haste) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut curtain = self.curtain.clone();
            // An error means that the face is gone: it never opened its session.
            let seen = curtain.wait_for(|curtain| *curtain != Curtain::Down).await.map(|curtain| *curtain);
            if matches!(seen, Ok(Curtain::Up)) {
                for event in events {
                    let ended = matches!(event, SessionEvent::TurnEnded { .. });
                    self.stage.tell(event, wire::Told::Live, haste).await;
                    if ended {
                        self.stage.left_out.store(false, Ordering::Relaxed);
                        self.stage.update(wire::last_activity(SystemTime::now()), false, haste).await;
                    }
                }
            }
        })
    }
}

/// Where the events of one session are told to the client.
struct Stage {
    connection: ConnectionTo<Client>,
    session: schema::SessionId,
    offers: Offers,
    draws_panels: Arc<AtomicBool>,
    flow: Flow,
    narrator: Arc<Mutex<wire::Narrator>>,
    /// Whether the client was too far behind for a piece of the cancelled turn: what would follow it has a gap before it.
    left_out: AtomicBool,
}

impl Stage {
    /// Tells of one event; waits while the client does not read, unless in haste. Returns when it is in the connection's
    /// queue, or left out.
    async fn tell(&self, event: SessionEvent, told: wire::Told, haste: &Haste) {
        if let SessionEvent::PanelChanged { panel } = &event {
            if self.draws_panels.load(Ordering::Acquire) {
                let params = json!({ "sessionId": self.session, "panel": panel });
                if self.has_place(false, haste).await {
                    self.send(UntypedMessage { method: panels::CHANGED.to_owned(), params });
                }
            }
            return;
        }
        if let SessionEvent::Notice(notice) = &event
            && !self.offers.has(Offer::Notices)
        {
            self.log(notice);
            return;
        }
        let is_piece = event.is_piece();
        let updates = lock(&self.narrator).tell(event, told);
        for update in updates {
            self.update(update, is_piece, haste).await;
        }
    }

    /// What the client cannot show is at least in the log.
    fn log(&self, notice: &Notice) {
        let Notice { severity, title, description } = notice;
        let description = description.as_deref();
        match severity {
            Severity::Info => tracing::info!(session = %self.session, description, "{title}"),
            Severity::Warning | Severity::Error => tracing::warn!(session = %self.session, description, "{title}"),
        }
    }

    async fn update(&self, update: wire::Update, is_piece: bool, haste: &Haste) {
        if self.has_place(is_piece, haste).await {
            self.send(UntypedMessage { method: "session/update".to_owned(), params: update.params(&self.session) });
        }
    }

    /// Waits until the client has room for more; in haste for nothing. False for a piece that it has no room for then.
    async fn has_place(&self, is_piece: bool, haste: &Haste) -> bool {
        if is_piece && self.left_out.load(Ordering::Relaxed) {
            return false;
        }
        tokio::select! {
            biased;
            () = self.flow.room() => true,
            () = haste.begun() => {
                let fits = !is_piece || self.flow.has_room();
                self.left_out.fetch_or(!fits, Ordering::Relaxed);
                fits
            }
        }
    }

    fn send(&self, notification: UntypedMessage) {
        self.flow.announce();
        if let Err(error) = self.connection.send_notification(notification) {
            self.flow.lost();
            tracing::debug!(code = ?error.code, "the client is gone and was not told");
        }
    }
}

/// A session that the client has open.
pub(super) struct LiveSession {
    pub(super) handle: SessionHandle,
    /// How it was opened, and can be opened again.
    pub(super) request: SessionRequest,
    face: Arc<EditorFace>,
    panels: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    used: Mutex<Instant>,
}

impl LiveSession {
    /// Takes over a session that was opened with `face` by `request`. The client sees nothing of it yet.
    pub(super) fn new(handle: SessionHandle, face: Arc<EditorFace>, request: SessionRequest) -> Self {
        let (panels, mut requests) = mpsc::unbounded_channel::<BoxFuture<'static, ()>>();
        tokio::spawn(async move {
            while let Some(request) = requests.recv().await {
                request.await;
            }
        });
        Self { handle, request, face, panels, used: Mutex::new(Instant::now()) }
    }

    /// The client has just used it.
    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// For how long the client has not used it.
    fn unused(&self) -> Duration {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Tells the client all that was, as `session/load` does before its answer.
    pub(super) async fn replay(&self, (record, events): KeptSession) {
        let stage = self.face.stage(self.handle.id());
        for event in events {
            stage.tell(event, wire::Told::Again, &Haste::default()).await;
        }
        stage.update(wire::last_activity(record.updated), false, &Haste::default()).await;
    }

    /// The request that opened it is answered: from now on the client sees what happens, first of all the commands.
    pub(super) fn begin(&self) {
        self.go_on();
        self.handle.announce_commands();
    }

    /// The client knows it already: from now on it sees again what happens.
    pub(super) fn go_on(&self) {
        lock(&self.face.narrator).recall(self.handle.keeps_plan(), self.handle.spending());
        self.face.curtain.send_if_modified(|curtain| {
            let down = *curtain == Curtain::Down;
            if down {
                *curtain = Curtain::Up;
            }
            down
        });
    }

    /// Answers panel requests one after another, in the order of calls.
    pub(super) fn queue_for_panels(&self, request: BoxFuture<'static, ()>) {
        // The task that takes them lives as long as this session.
        let _ = self.panels.send(request);
    }

    /// Cancels what runs and ends the session. The client sees the end of what ran, and nothing after that.
    pub(super) async fn close(&self) {
        self.handle.close().await;
        self.face.curtain.send_replace(Curtain::Fallen);
    }

    /// The same for one that is opened anew at once.
    pub(super) async fn hand_over(&self) {
        self.handle.hand_over().await;
        self.face.curtain.send_replace(Curtain::Fallen);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
