//! The one queue of what a session emits: into the history at once, then kept by the store, then shown.
//!
//! Events that wait together are kept in one commit, and pieces of one text are joined; an event is shown only after
//! it was kept. A full queue holds the turn back ([`Outbox::ready`]), so a client that stops reading cannot make the
//! process grow. When a turn is cancelled, its audience is told to make haste: nothing waits then for a client that is
//! behind. What a turn tells that was cut short is not taken any more.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::capability::PanelName;
use crate::context::{History, Split, Title, TurnUse};
use crate::event::{ContextSize, EventSink, SessionEvent, TurnEnd};
use crate::panel::StalePanels;
use crate::store::{KeptOutput, SessionStore, StoreError};
use crate::tool::ToolError;
use crate::trace::TraceContext;
use crate::transcript::{Conversation, MessageId, SessionId, Spending, ToolCallId};

/// Events that may wait before the turn is held back.
const HIGH_WATER: usize = 4096;
/// Events that are kept in one commit at most.
const BATCH: usize = 1024;
/// Bytes of text that are joined into one event at most: its line on the wire stays below 48 KiB, escapes included.
const JOINED: usize = 8 * 1024;

tokio::task_local! {
    /// The turn that the task works for.
    static TURN: u64;
}

/// Does work on another thread, or in another task, as a part of the turn and of the trace that this task works for.
pub fn of_this_turn<F: Future>(work: F) -> impl Future<Output = F::Output> + use<F> {
    let (turn, trace) = (TURN.try_with(|turn| *turn), TraceContext::current());
    async move {
        match turn {
            Ok(turn) => TURN.scope(turn, trace.within(work)).await,
            Err(_) => trace.within(work).await,
        }
    }
}

/// Whoever is shown what happens in a session.
pub trait Audience: Send + Sync {
    /// Shows events, in order. Waits while it cannot take more; in haste for nothing, but may leave out pieces
    /// ([`SessionEvent::is_piece`]) to the end of the turn.
    fn show<'a>(&'a self, events: Vec<SessionEvent>, haste: &'a Haste) -> BoxFuture<'a, ()>;
}

/// Whether a turn was cancelled and its end is not shown yet: whoever waits for that has no use for all that it has said.
#[derive(Clone, Default)]
pub struct Haste(Option<watch::Receiver<bool>>);

impl Haste {
    /// Waits until there is some; for ever where there is none to come.
    pub async fn begun(&self) {
        let Some(haste) = &self.0 else { return std::future::pending().await };
        if haste.clone().wait_for(|haste| *haste).await.is_err() {
            // The session is gone, and nobody cancels a turn of it any more.
            std::future::pending::<()>().await;
        }
    }
}

/// The queue; cheap to clone.
#[derive(Clone)]
pub struct Outbox(Arc<Inner>);

struct Inner {
    session: SessionId,
    store: Arc<dyn SessionStore>,
    queue: mpsc::UnboundedSender<Item>,
    waiting: AtomicUsize,
    drained: Notify,
    /// Held while queueing, so that the history has the events in the order of the queue.
    said: Mutex<Said>,
    stale: StalePanels,
    failure: Mutex<Option<StoreError>>,
    haste: watch::Sender<bool>,
    questions: Mutex<Questions>,
}

/// How long the person was asked something, in all.
#[derive(Default)]
struct Questions {
    open: usize,
    /// When the first of those that are open began.
    since: Option<Instant>,
    before: Duration,
}

/// A question to the person that is open until this is dropped.
pub(crate) struct Question<'a>(&'a Mutex<Questions>);

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let mut questions = lock(self.0);
        questions.open -= 1;
        if questions.open == 0
            && let Some(since) = questions.since.take()
        {
            questions.before += since.elapsed();
        }
    }
}

struct Said {
    history: History,
    /// The last turn; none after it was cut short.
    turn: Option<u64>,
}

enum Item {
    Event(SessionEvent),
    Flush(oneshot::Sender<()>),
}

impl Outbox {
    /// A queue for `session` that continues `history`.
    pub fn new(
        session: SessionId,
        history: History,
        stale: StalePanels,
        store: Arc<dyn SessionStore>,
        audience: Arc<dyn Audience>,
    ) -> Self {
        let (queue, items) = mpsc::unbounded_channel();
        let (haste, seen) = watch::channel(false);
        let inner = Arc::new(Inner {
            session: session.clone(),
            store: store.clone(),
            queue,
            waiting: AtomicUsize::new(0),
            drained: Notify::new(),
            said: Mutex::new(Said { history, turn: None }),
            stale,
            failure: Mutex::default(),
            haste,
            questions: Mutex::default(),
        });
        let pump = Pump { session, store, audience, haste: Haste(Some(seen)), unkept: Vec::new() };
        tokio::spawn(pump.run(items, Arc::downgrade(&inner)));
        Self(inner)
    }

    /// Where the store could not keep the session it is tried once more, and the failure is told. Costs nothing
    /// otherwise.
    pub async fn settle(&self) -> Result<(), StoreError> {
        let failed = lock(&self.0.failure).is_some();
        if failed { self.flush().await } else { Ok(()) }
    }

    /// Waits while too much is waiting. Fails like [`Outbox::settle`].
    pub async fn ready(&self) -> Result<(), StoreError> {
        loop {
            let drained = self.0.drained.notified();
            self.settle().await?;
            if self.0.waiting.load(Ordering::Acquire) < HIGH_WATER {
                return Ok(());
            }
            drained.await;
        }
    }

    /// Waits until all that was emitted so far was kept and shown. Fails when it could not be kept; it is tried again
    /// with the next event.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let (done, flushed) = oneshot::channel();
        if self.0.queue.send(Item::Flush(done)).is_ok() {
            // A queue that is gone has nothing more to show.
            let _ = flushed.await;
        }
        lock(&self.0.failure).clone().map_or(Ok(()), Err)
    }

    /// Keeps a call's whole output where the client can read it; none where it cannot be kept.
    pub async fn keep_output(&self, call: &ToolCallId, text: String) -> Option<KeptOutput> {
        self.0.store.keep_output(&self.0.session, call, text).await
    }

    /// The conversation for the model.
    pub fn messages(&self) -> Conversation {
        lock(&self.0.said).history.messages()
    }

    /// An id for the next message.
    pub fn next_message(&self) -> MessageId {
        lock(&self.0.said).history.next_message()
    }

    /// An id for the next tool call.
    pub fn next_call(&self) -> ToolCallId {
        lock(&self.0.said).history.next_call()
    }

    /// Whether the session has a title.
    pub fn title(&self) -> Title {
        lock(&self.0.said).history.title()
    }

    /// The conversation as it can be summed up, if there is anything to sum up.
    pub fn split(&self) -> Option<Split> {
        lock(&self.0.said).history.split()
    }

    /// The message that began the turn which runs now.
    pub fn turn(&self) -> Option<MessageId> {
        lock(&self.0.said).history.turn().cloned()
    }

    /// Does the work of a turn, which is told apart from then on by its number.
    pub(crate) fn in_turn<F: Future>(&self, turn: u64, work: F) -> impl Future<Output = F::Output> + use<F> {
        lock(&self.0.said).turn = Some(turn);
        TURN.scope(turn, work)
    }

    /// Makes this the queue of a part of the turn that the task works for.
    pub(crate) fn join_turn(&self) {
        lock(&self.0.said).turn = TURN.try_with(|turn| *turn).ok();
    }

    /// Ends the turn for all but itself: what it left open is over, see [`History::cut_short`], and what its tasks still
    /// tell is dropped.
    pub(crate) fn cut_short(&self, why: &ToolError, end: TurnEnd) {
        let mut said = lock(&self.0.said);
        said.turn = None;
        for event in said.history.cut_short(why, end) {
            said.history.apply(&event);
            self.push(event);
        }
    }

    /// Whether the audience is to make haste.
    pub(crate) fn hurry(&self, hurry: bool) {
        self.0.haste.send_replace(hurry);
    }

    /// What the model requests of the turn took that runs now.
    pub fn turn_use(&self) -> TurnUse {
        lock(&self.0.said).history.turn_use().clone()
    }

    /// About how much of the model's window the conversation takes; none where nobody has told of a window.
    pub fn fill(&self) -> Option<ContextSize> {
        lock(&self.0.said).history.fill()
    }

    /// See [`History::keeps_task`].
    pub fn keeps_task(&self) -> bool {
        lock(&self.0.said).history.keeps_task()
    }

    /// About how many bytes the conversation has.
    pub fn bytes(&self) -> usize {
        lock(&self.0.said).history.bytes()
    }

    /// The files that tools and prompts named last: absolute paths.
    pub fn places(&self) -> Vec<String> {
        lock(&self.0.said).history.places()
    }

    /// See [`History::outputs_to_drop`].
    pub fn outputs_to_drop(&self, keep: usize) -> Option<SessionEvent> {
        lock(&self.0.said).history.outputs_to_drop(keep)
    }

    /// The person is being asked, until the answer is dropped.
    pub(crate) fn question(&self) -> Question<'_> {
        let mut questions = lock(&self.0.questions);
        questions.open += 1;
        questions.since.get_or_insert_with(Instant::now);
        Question(&self.0.questions)
    }

    /// How long the person was asked something, in all; questions at the same time count once.
    pub fn asked(&self) -> Duration {
        let questions = lock(&self.0.questions);
        questions.before + questions.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// What all model requests have cost.
    pub fn spending(&self) -> Spending {
        lock(&self.0.said).history.spending().clone()
    }

    /// Whether the session keeps a plan of its own.
    pub fn keeps_plan(&self) -> bool {
        lock(&self.0.said).history.keeps_plan()
    }

    pub(crate) fn show_panel_changed(&self, panel: PanelName) {
        self.push(SessionEvent::PanelChanged { panel });
    }

    fn push(&self, event: SessionEvent) {
        self.0.waiting.fetch_add(1, Ordering::AcqRel);
        // The pump lives as long as this queue.
        let _ = self.0.queue.send(Item::Event(event));
    }
}

impl EventSink for Outbox {
    /// A changed panel is only noted here; the session tells of it when the turn ends. A turn that was cut short has
    /// nothing more to tell.
    fn emit(&self, event: SessionEvent) {
        if let SessionEvent::PanelChanged { panel } = event {
            self.0.stale.raise(panel);
            return;
        }
        let mut said = lock(&self.0.said);
        let is_late = TURN.try_with(|turn| said.turn != Some(*turn)).unwrap_or(false);
        if is_late {
            tracing::debug!("dropped what a turn told after it was cut short");
            return;
        }
        said.history.apply(&event);
        self.push(event);
    }
}

/// Takes events from the queue, has them kept and shows them.
struct Pump {
    session: SessionId,
    store: Arc<dyn SessionStore>,
    audience: Arc<dyn Audience>,
    haste: Haste,
    /// What the store could not keep yet, and the client has not seen.
    unkept: Vec<SessionEvent>,
}

impl Pump {
    async fn run(mut self, mut items: mpsc::UnboundedReceiver<Item>, outbox: std::sync::Weak<Inner>) {
        // Made anew each time: what a long answer has needed is not held while the session is idle.
        let mut batch = Vec::new();
        while items.recv_many(&mut batch, BATCH).await > 0 {
            let mut rest = VecDeque::from(std::mem::take(&mut batch));
            while !rest.is_empty() {
                let taken = self.take_until_flush(&mut rest);
                let failure = self.keep_and_show().await.err();
                if let Some(inner) = outbox.upgrade() {
                    *lock(&inner.failure) = failure;
                    inner.waiting.fetch_sub(taken.events, Ordering::AcqRel);
                    inner.drained.notify_waiters();
                }
                if let Some(done) = taken.flush {
                    // Whoever waited may have given up.
                    let _ = done.send(());
                }
            }
        }
    }

    fn take_until_flush(&mut self, rest: &mut VecDeque<Item>) -> Taken {
        let mut events = 0;
        while let Some(item) = rest.pop_front() {
            match item {
                Item::Event(event) => {
                    events += 1;
                    let left = match self.unkept.last_mut() {
                        Some(last) => last.join(event, JOINED),
                        None => Some(event),
                    };
                    self.unkept.extend(left);
                }
                Item::Flush(done) => return Taken { events, flush: Some(done) },
            }
        }
        Taken { events, flush: None }
    }

    async fn keep_and_show(&mut self) -> Result<(), StoreError> {
        if self.unkept.is_empty() {
            return Ok(());
        }
        let kept: Arc<[SessionEvent]> = self.unkept.iter().filter(|event| event.is_kept()).cloned().collect();
        if !kept.is_empty() {
            self.store.append(&self.session, kept).await?;
        }
        self.audience.show(std::mem::take(&mut self.unkept), &self.haste).await;
        Ok(())
    }
}

struct Taken {
    events: usize,
    flush: Option<oneshot::Sender<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
