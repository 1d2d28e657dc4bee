//! The audit: a line for every decision of the gate, in files that only grow, each line hanging on the one before it.
//!
//! A line of `audit/decisions.jsonl` is a JSON object: `seq` (its number), `time`, `session`, `origin`, `plugin` and
//! `digest` (of its code) where one acts or is called, `call`, `class`, `key` (without known secrets), `decision`, `by`,
//! `times` where it is about several at once, `bytes` of the text that would be written, `ms` that the decision took,
//! `prev` and `hash` (see `chain`). What was decided for longer than one time has a line with the class `grant` or `trust`,
//! too, with its `scope`. The same goes to the log under the target `audit`. At the end of a session that had
//! decisions there is a line with their number, and its place is kept in `heads.jsonl` and told to the log. A full file
//! is put aside, and the chain goes on in the next one (see `book`).
//!
//! A decision never waits for the disk: lines go through a bounded queue to a thread of their own. What does not fit, and
//! what cannot be written, is counted in a line with `lost` as soon as there is room; files that cannot be written cost
//! one warning each time, never a call, and are tried again with the next decision. Knows nothing about policy.
#![expect(clippy::disallowed_methods, reason = "this room owns the audit's files")]

mod book;
mod chain;
mod files;
mod heads;
mod lines;
mod select;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use acp_runtime_agent::capability::{CommandLine, Effect, PluginId};
use acp_runtime_agent::gate::{AuditEntry, AuditSink, Origin, Settled, Verdict};
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_host::package::Digest;
use jiff::Timestamp;
use serde::Serialize;

use self::book::Book;
use crate::redaction::Redaction;

pub use self::book::Bounds;
pub use self::files::FILE;
pub use self::select::{Filter, select};
pub use self::verify::{Finding, Report, verify};

/// Lines that may wait for the disk.
const QUEUE: usize = 4096;

/// The audit of a process; cheap to clone. Nothing is opened before the first decision; what was decided is on disk
/// when the last clone and the last sink are gone.
#[derive(Clone)]
pub struct AuditLog(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    bounds: Bounds,
    redaction: Redaction,
    writer: OnceLock<Option<Writer>>,
    lost: Arc<AtomicU64>,
}

struct Writer {
    records: Option<SyncSender<Record>>,
    thread: Option<JoinHandle<()>>,
}

/// What a line says.
#[derive(Serialize)]
#[serde(untagged)]
enum Record {
    Decision(Box<Decision>),
    Change(Box<Change>),
    /// A session has ended.
    End {
        time: String,
        session: SessionId,
        /// How many it had, also those that were lost.
        decisions: u64,
    },
    /// So many decisions before it are not kept.
    Lost {
        time: String,
        lost: u64,
    },
}

#[derive(Serialize)]
struct Decision {
    time: String,
    session: SessionId,
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<PluginId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    class: &'static str,
    key: String,
    decision: &'static str,
    by: String,
    #[serde(skip_serializing_if = "is_once")]
    times: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    ms: u64,
}

/// Something was decided for longer than one time.
#[derive(Serialize)]
struct Change {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<PluginId>,
    class: &'static str,
    key: String,
    decision: &'static str,
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
}

/// The classes of such lines, beside those of effects.
pub const CHANGES: [&str; 2] = ["grant", "trust"];

/// What a person said of what a project brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Yes.
    Trusted,
    /// No.
    Refused,
    /// What was said before holds no more.
    Forgotten,
}

/// What goes without saying.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_once(times: &u64) -> bool {
    *times == 1
}

/// Says which code of a plugin runs; none while nothing of it was compiled.
pub type Digests = Box<dyn Fn(&PluginId) -> Option<Digest> + Send + Sync>;

impl AuditLog {
    /// An audit in `folder`, which is made when it is needed. What `redaction` knows is kept out of it.
    pub fn new(folder: PathBuf, bounds: Bounds, redaction: Redaction) -> Self {
        Self(Arc::new(Inner { folder, bounds, redaction, writer: OnceLock::new(), lost: Arc::default() }))
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Keeps that something was decided for longer than one time, in a session or outside of any.
    pub fn settled(&self, session: Option<&SessionId>, settled: &Settled<'_>) {
        let Settled { subject, plugin, about, scope, verdict } = *settled;
        self.change(Change {
            time: Timestamp::now().to_string(),
            session: session.cloned(),
            origin: subject.to_owned(),
            plugin: plugin.cloned(),
            class: "grant",
            key: about.to_owned(),
            decision: if verdict == Verdict::Allowed { "allow" } else { "deny" },
            by: verdict.as_str(),
            scope: Some(scope.as_str()),
        });
    }

    /// Keeps what a person said of what the project in `folder` brings along; `content` is the digest of that.
    pub fn trust(&self, folder: &str, content: Option<Digest>, said: Trust) {
        let content = content.map_or(String::new(), |content| format!(" {content}"));
        self.change(Change {
            time: Timestamp::now().to_string(),
            session: None,
            origin: "this project".to_owned(),
            plugin: None,
            class: "trust",
            key: format!("{folder}{content}"),
            decision: if said == Trust::Trusted { "allow" } else { "deny" },
            by: match said {
                Trust::Trusted => "trusted",
                Trust::Refused => "refused",
                Trust::Forgotten => "forgotten",
            },
            scope: None,
        });
    }

    fn change(&self, change: Change) {
        let change = Change { key: self.0.redaction.clean(&change.key).into_owned(), ..change };
        let Change { origin, class, key, decision, by, .. } = &change;
        tracing::info!(target: "audit", origin, class, key, decision, by);
        self.0.keep(Record::Change(Box::new(change)));
    }

    /// The sink for the decisions of one session, which ends with it.
    pub fn sink(&self, session: SessionId, digests: Digests) -> Arc<dyn AuditSink> {
        Arc::new(SessionSink { log: self.clone(), session, digests, decisions: AtomicU64::new(0) })
    }
}

struct SessionSink {
    log: AuditLog,
    session: SessionId,
    digests: Digests,
    decisions: AtomicU64,
}

impl AuditSink for SessionSink {
    fn record(&self, entry: AuditEntry<'_>) {
        let AuditEntry { origin, effect, allowed, by, times, bytes, took } = entry;
        let plugin = match (origin, effect) {
            (Origin::Plugin { plugin, .. }, _) | (_, Effect::CallPlugin(plugin, _)) => Some(plugin),
            _ => None,
        };
        let decision = Decision {
            time: Timestamp::now().to_string(),
            session: self.session.clone(),
            origin: origin.subject(),
            plugin: plugin.cloned(),
            digest: plugin.and_then(|plugin| (self.digests)(plugin)),
            call: origin.call().map(ToString::to_string),
            class: effect.class(),
            key: discreet(effect, &self.log.0.redaction),
            decision: if allowed { "allow" } else { "deny" },
            by: by.to_owned(),
            times,
            bytes,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        tracing::info!(
            target: "audit",
            session = %decision.session,
            origin = decision.origin,
            class = decision.class,
            key = decision.key,
            decision = decision.decision,
            by = decision.by,
            times = decision.times,
        );
        self.decisions.fetch_add(1, Ordering::Relaxed);
        self.log.0.keep(Record::Decision(Box::new(decision)));
    }

    fn settled(&self, settled: &Settled<'_>) {
        self.log.settled(Some(&self.session), settled);
    }
}

/// What exactly, without secrets: those in the arguments of a program are looked for before these are quoted.
fn discreet(effect: &Effect, redaction: &Redaction) -> String {
    let clean = |text: &str| redaction.clean(text).into_owned();
    match effect {
        Effect::Run(CommandLine { program, arguments }) => {
            let arguments = arguments.iter().map(|argument| clean(argument)).collect();
            CommandLine { program: clean(program), arguments }.to_string()
        }
        other => clean(&other.key()),
    }
}

impl Drop for SessionSink {
    /// The session has ended. One without decisions leaves nothing.
    fn drop(&mut self) {
        let decisions = self.decisions.load(Ordering::Relaxed);
        if decisions > 0 {
            let (time, session) = (Timestamp::now().to_string(), self.session.clone());
            self.log.0.keep(Record::End { time, session, decisions });
        }
    }
}

impl Inner {
    fn keep(&self, record: Record) {
        let writer = self.writer.get_or_init(|| Writer::start(Book::new(self.folder.clone(), self.bounds), &self.lost));
        let Some(records) = writer.as_ref().and_then(|writer| writer.records.as_ref()) else { return };
        if records.try_send(record).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Writer {
    fn start(book: Book, lost: &Arc<AtomicU64>) -> Option<Self> {
        let (records, queue) = sync_channel(QUEUE);
        let lost = lost.clone();
        let write = move || write_all(book, &queue, &lost);
        match std::thread::Builder::new().name("audit".to_owned()).spawn(write) {
            Ok(thread) => Some(Self { records: Some(records), thread: Some(thread) }),
            Err(error) => {
                tracing::warn!("decisions are not kept: no thread for it: {error}");
                None
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.records = None;
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

/// Writes until the queue is closed: what waits together in one piece.
fn write_all(mut book: Book, queue: &Receiver<Record>, lost: &AtomicU64) {
    while let Ok(first) = queue.recv() {
        book.write(std::iter::once(first).chain(queue.try_iter().take(QUEUE)), lost);
    }
    if lost.load(Ordering::Relaxed) > 0 {
        book.write(std::iter::empty(), lost);
    }
}

#[cfg(test)]
mod tests;
