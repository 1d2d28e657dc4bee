//! One server of a session, kept connected: it is connected, looked after, and connected again when it is lost.
//!
//! A task of its own does all of that; a server that is dead or hangs holds nobody up but those who call its tools, and
//! them for as long as they are patient.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use acp_runtime_agent::capability::ServerName;
use acp_runtime_agent::event::EventSink;
use acp_runtime_agent::server::{Reach, ServerEntry, ServerState, ServerStatus};
use acp_runtime_agent::tool::Tool;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::board::Board;
use super::connection::{Connection, Connector, Link, News, Refusal};
use super::offer::offered;
use super::settings::Patience;
use super::tool::ServerTool;
use crate::redaction::Redaction;

/// The pauses before a lost server is connected again; after the last one it is given up.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(60),
];
/// A pause that callers wait out.
const SOON: Duration = Duration::from_secs(1);
/// How long a connection that does not work may take to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a connection must have held for the pauses to begin anew.
const STEADY: Duration = Duration::from_secs(60);
/// Losses in a row after which a server must hold for [`HELD`] before it counts as connected again. Its tools can be
/// called at once.
const AGAIN: usize = 2;
/// See [`AGAIN`]: one that ends as soon as it has begun stays one that has failed.
pub(super) const HELD: Duration = Duration::from_secs(2);

/// What is asked for: a server, and how patient to be with it.
pub(super) struct Wanted {
    pub(super) entry: ServerEntry,
    pub(super) patience: Patience,
}

/// What all servers of a session share.
pub(super) struct Session {
    pub(super) connector: Box<dyn Connector>,
    pub(super) board: Board,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) redaction: Redaction,
}

/// How a server can be asked at the moment.
#[derive(Clone)]
pub(super) enum Stage {
    /// Not yet; for the first time since it was wanted.
    Beginning,
    /// Not now, but soon.
    Returning,
    /// Yes.
    Connected(Arc<Link>),
    /// No; why.
    Down(Arc<str>),
}

/// A way to a server for those who call its tools; cheap to clone.
#[derive(Clone)]
pub(super) struct Line {
    stage: watch::Receiver<Stage>,
    patience: Patience,
    redaction: Redaction,
}

/// A server of a session. Dropped, it ends in the background.
pub(super) struct Server {
    /// For settings and tools.
    pub(super) name: ServerName,
    /// As it was named.
    pub(super) title: String,
    /// In a few words.
    pub(super) place: String,
    line: Line,
    offered: Arc<Mutex<Offer>>,
    orders: mpsc::UnboundedSender<Order>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// What a server has at the moment.
#[derive(Default)]
struct Offer {
    tools: Vec<Arc<dyn Tool>>,
    /// What is wrong with some of them.
    problem: Option<String>,
}

enum Order {
    /// Connect anew.
    Restart(oneshot::Sender<()>),
    /// End.
    Close,
}

impl Server {
    /// Begins to connect.
    pub(super) fn begin(name: ServerName, wanted: Wanted, session: Arc<Session>) -> Self {
        let Wanted { entry: ServerEntry { name: title, reach }, patience } = wanted;
        let (stage, seen) = watch::channel(Stage::Beginning);
        let (orders, received) = mpsc::unbounded_channel();
        learn(&reach, &session.redaction);
        let line = Line { stage: seen, patience, redaction: session.redaction.clone() };
        let offered = Arc::default();
        let place = place(&reach);
        let keeper = Keeper {
            name: name.clone(),
            title: title.clone(),
            reach,
            session,
            stage,
            line: line.clone(),
            offered: Arc::clone(&offered),
        };
        keeper.show(ServerStatus::Connecting, None, None);
        let keeper = Mutex::new(Some(tokio::spawn(keeper.keep(received))));
        Self { name, title, place, line, offered, orders, keeper }
    }

    /// Waits until it is clear whether it can be connected.
    pub(super) async fn settle(&self) {
        let mut stage = self.line.stage.clone();
        // One that is gone is settled.
        let _ = stage.wait_for(|stage| !matches!(stage, Stage::Beginning)).await;
    }

    /// Its tools now.
    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).tools.clone()
    }

    /// Ends the connection and makes a new one; returns when it is clear what became of it.
    pub(super) async fn restart(&self) {
        let (begun, restarted) = oneshot::channel();
        if self.orders.send(Order::Restart(begun)).is_ok() && restarted.await.is_ok() {
            self.settle().await;
        }
    }

    /// Ends it; nothing of it runs when this returns.
    pub(super) async fn close(&self) {
        // One that is gone has ended.
        let _ = self.orders.send(Order::Close);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            // A panic in there has ended it as well.
            let _ = keeper.await;
        }
    }
}

impl Line {
    /// The connection, once there is one. While it comes about, this waits.
    pub(super) async fn link(&self) -> Result<Arc<Link>, Arc<str>> {
        let gone = || Arc::from("it was removed");
        let mut stage = self.stage.clone();
        let found = stage.wait_for(|stage| !matches!(stage, Stage::Beginning | Stage::Returning)).await;
        match found.map(|stage| stage.clone()) {
            Ok(Stage::Connected(link)) => Ok(link),
            Ok(Stage::Down(problem)) => Err(problem),
            Ok(Stage::Beginning | Stage::Returning) | Err(_) => Err(gone()),
        }
    }

    pub(super) fn patience(&self) -> Patience {
        self.patience
    }

    /// A text of the server or about it, without secrets.
    pub(super) fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redaction.clean(text)
    }
}

/// Lets `redaction` learn what others must not be told of the way to a server: it comes back in what goes wrong.
fn learn(reach: &Reach, redaction: &Redaction) {
    match reach {
        Reach::Program { environment, .. } => {
            environment.iter().for_each(|(name, value)| redaction.learn_named(name, value));
        }
        Reach::Http { url, headers } => {
            headers.iter().for_each(|(name, value)| redaction.learn_named(name, value));
            let query = url.split_once('?').map_or("", |(_, query)| query);
            query.split('&').filter_map(|pair| pair.split_once('=')).for_each(|(name, value)| {
                redaction.learn_named(name, value);
            });
        }
        Reach::Unusable { .. } => {}
    }
}

fn place(reach: &Reach) -> String {
    match reach {
        Reach::Program { program, .. } => format!("the program `{program}`"),
        Reach::Http { .. } => "over HTTP".to_owned(),
        Reach::Unusable { .. } => String::new(),
    }
}

/// The task that keeps a server connected.
struct Keeper {
    name: ServerName,
    title: String,
    reach: Reach,
    session: Arc<Session>,
    stage: watch::Sender<Stage>,
    line: Line,
    offered: Arc<Mutex<Offer>>,
}

/// What happens next.
enum Turn {
    /// Nobody wants the server any more.
    Close,
    /// It is connected anew, as if for the first time.
    Restart,
    /// It is tried again.
    Again,
}

/// How a connection ended.
enum End {
    /// It was lost; why.
    Lost(String),
    /// It was given up.
    Turn(Turn),
}

impl Keeper {
    async fn keep(self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut losses = 0;
        loop {
            let attempt = self.session.connector.connect(&self.name, &self.reach, self.line.patience);
            let turn = tokio::select! {
                connected = attempt => self.hold(connected, &mut losses, &mut orders).await,
                order = orders.recv() => self.taken(order),
            };
            match turn {
                Turn::Close => break,
                Turn::Restart => {
                    losses = 0;
                    self.show(ServerStatus::Connecting, None, None);
                }
                // It stays what it was told to be: one that has failed, and is tried again.
                Turn::Again => {}
            }
        }
    }

    /// Holds a connection for as long as that goes, and then waits until another attempt makes sense.
    async fn hold(
        &self,
        connected: Result<(Connection, Vec<rmcp::model::Tool>), Refusal>,
        losses: &mut usize,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> Turn {
        let refusal = match connected {
            Ok((connection, tools)) => {
                let since = Instant::now();
                let counts = if *losses < AGAIN { since } else { since + HELD };
                self.offer(tools, counts);
                self.stage.send_replace(Stage::Connected(connection.link.clone()));
                let mut tended = pin!(self.tend(connection, counts, orders));
                let end = tokio::select! {
                    end = &mut tended => end,
                    () = tokio::time::sleep_until(counts), if counts > since => {
                        // One that was just lost is still being closed.
                        if matches!(*self.stage.borrow(), Stage::Connected(_)) {
                            self.show_connected();
                        }
                        tended.await
                    }
                };
                if since.elapsed() >= STEADY {
                    *losses = 0;
                }
                match end {
                    End::Turn(turn) => return turn,
                    End::Lost(problem) => Refusal::passing(problem),
                }
            }
            Err(refusal) => refusal,
        };
        self.pause(refusal, losses, orders).await
    }

    /// Takes these tools. The server counts as connected from the moment `counts` on.
    fn offer(&self, tools: Vec<rmcp::model::Tool>, counts: Instant) {
        let (offered, problems) = offered(&self.name, tools);
        for problem in &problems {
            self.session.board.warn(&self.title, ServerStatus::Connected, problem, "its author can correct that");
        }
        let tool = |offered| -> Arc<dyn Tool> {
            Arc::new(ServerTool::new(self.name.clone(), offered, self.line.clone(), self.session.events.clone()))
        };
        let tools: Vec<_> = offered.into_iter().map(tool).collect();
        let problem = (!problems.is_empty()).then(|| problems.join("; "));
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Offer { tools, problem };
        if Instant::now() >= counts {
            self.show_connected();
        }
    }

    fn show_connected(&self) {
        let problem = self.offered.lock().unwrap_or_else(PoisonError::into_inner).problem.clone();
        self.show(ServerStatus::Connected, problem, None);
    }

    /// Looks after a connection to its end.
    async fn tend(
        &self,
        mut connection: Connection,
        counts: Instant,
        orders: &mut mpsc::UnboundedReceiver<Order>,
    ) -> End {
        let link = connection.link.clone();
        let end = loop {
            let asked = async {
                match connection.news().await {
                    News::Ended(problem) => Err(problem),
                    News::Tools => Ok(connection.tools(self.line.patience).await),
                }
            };
            tokio::select! {
                news = asked => match news {
                    Ok(Ok(tools)) => self.offer(tools, counts),
                    Ok(Err(problem)) => tracing::warn!(target: "mcp", server = %self.name, "{problem}"),
                    Err(problem) => break End::Lost(problem),
                },
                () = link.doubt.notified() => {
                    // A program that has just ended says so itself.
                    let last = tokio::time::timeout(LAST_WORDS, connection.news()).await;
                    break End::Lost(match last {
                        Ok(News::Ended(problem)) => problem,
                        Ok(News::Tools) | Err(_) => "the connection does not work any more".to_owned(),
                    });
                }
                order = orders.recv() => break End::Turn(self.taken(order)),
            }
        };
        // Nobody else calls on it meanwhile.
        self.stage.send_if_modified(|stage| {
            let held = matches!(stage, Stage::Connected(_));
            if held {
                *stage = Stage::Returning;
            }
            held
        });
        connection.close().await;
        end
    }

    /// Tells what is wrong, and waits until another attempt makes sense.
    async fn pause(&self, refusal: Refusal, losses: &mut usize, orders: &mut mpsc::UnboundedReceiver<Order>) -> Turn {
        let pause = PAUSES.get(*losses).copied().filter(|_| !refusal.lasting);
        let first = *losses == 0;
        *losses += 1;
        if pause.is_none() {
            *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Offer::default();
        }
        self.down(refusal, first, pause);
        let Some(pause) = pause else { return self.taken(orders.recv().await) };
        tokio::select! {
            () = tokio::time::sleep(pause) => {
                self.stage.send_replace(Stage::Returning);
                Turn::Again
            }
            order = orders.recv() => self.taken(order),
        }
    }

    fn down(&self, refusal: Refusal, first: bool, pause: Option<Duration>) {
        let Refusal { problem, hint, lasting: _ } = refusal;
        let problem = self.session.redaction.clean(&problem).into_owned();
        let status = match &self.reach {
            Reach::Unusable { .. } => ServerStatus::Off,
            Reach::Program { .. } | Reach::Http { .. } => ServerStatus::Failed,
        };
        self.show(status, Some(problem.clone()), pause.map(|pause| SystemTime::now() + pause));
        if first {
            self.session.board.warn(&self.title, status, &problem, &hint);
        } else {
            tracing::warn!(target: "mcp", server = %self.name, "{problem}");
        }
        // Those who call wait for what is back at once.
        let soon = pause.is_some_and(|pause| pause <= SOON);
        self.stage.send_replace(if soon { Stage::Returning } else { Stage::Down(problem.into()) });
    }

    fn taken(&self, order: Option<Order>) -> Turn {
        match order {
            None | Some(Order::Close) => Turn::Close,
            Some(Order::Restart(begun)) => {
                self.stage.send_replace(Stage::Beginning);
                // Whoever wanted it may not wait.
                let _ = begun.send(());
                Turn::Restart
            }
        }
    }

    fn show(&self, status: ServerStatus, problem: Option<String>, next_try: Option<SystemTime>) {
        let tools = self.offered.lock().unwrap_or_else(PoisonError::into_inner).tools.len();
        self.session.board.put(ServerState { name: self.title.clone(), status, tools, problem, next_try });
    }
}
