//! The audit: a line for every decision of the gate, in a file that only grows.
//!
//! `audit/decisions.jsonl` has one JSON object a line: `time`, `session`, `origin`, `call`, `class`, `key`, `decision`,
//! `by`, and `times` where it is about several at once. The same goes to the log under the target `audit`. A decision never waits for the disk: lines go through a
//! bounded queue to a thread of their own. What does not fit, and what cannot be written, is counted in a line
//! `{"lost": n}` as soon as there is room; a file that cannot be written costs one warning each time, never a call, and
//! is tried again with the next decision. Knows nothing about sessions or policy.
#![expect(clippy::disallowed_methods, reason = "this room owns the audit file")]

mod discreet;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use acp_runtime_agent::gate::{AuditEntry, AuditSink};
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_host::regular_file;
use jiff::Timestamp;
use serde::Serialize;

pub use discreet::discreet;

/// Lines that may wait for the disk.
const QUEUE: usize = 4096;

/// The file in the audit folder.
pub const FILE: &str = "decisions.jsonl";

/// The audit of a process; cheap to clone. Nothing is opened before the first decision; what was decided is on disk
/// when the last clone and the last sink are gone.
#[derive(Clone)]
pub struct AuditLog(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    writer: OnceLock<Option<Writer>>,
    lost: Arc<AtomicU64>,
}

struct Writer {
    lines: Option<SyncSender<Line>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Serialize)]
struct Line {
    time: String,
    session: SessionId,
    origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    class: &'static str,
    key: String,
    decision: &'static str,
    by: String,
    #[serde(skip_serializing_if = "is_once")]
    times: u64,
}

/// What goes without saying.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_once(times: &u64) -> bool {
    *times == 1
}

#[derive(Serialize)]
struct Lost {
    time: String,
    lost: u64,
}

impl AuditLog {
    /// An audit in `folder`, which is made when it is needed.
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Inner { folder, writer: OnceLock::new(), lost: Arc::default() }))
    }

    /// The sink for the decisions of one session.
    pub fn sink(&self, session: SessionId) -> Arc<dyn AuditSink> {
        Arc::new(SessionSink { log: self.clone(), session })
    }
}

struct SessionSink {
    log: AuditLog,
    session: SessionId,
}

impl AuditSink for SessionSink {
    fn record(&self, entry: AuditEntry<'_>) {
        let line = Line {
            time: Timestamp::now().to_string(),
            session: self.session.clone(),
            origin: entry.origin.subject(),
            call: entry.origin.call().map(ToString::to_string),
            class: entry.effect.class(),
            key: entry.effect.key(),
            decision: if entry.allowed { "allow" } else { "deny" },
            by: entry.by.to_owned(),
            times: entry.times,
        };
        tracing::info!(
            target: "audit",
            session = %line.session,
            origin = line.origin,
            class = line.class,
            key = line.key,
            decision = line.decision,
            by = line.by,
            times = line.times,
        );
        self.log.0.keep(line);
    }
}

impl Inner {
    fn keep(&self, line: Line) {
        let writer = self.writer.get_or_init(|| Writer::start(&self.folder, self.lost.clone()));
        let Some(lines) = writer.as_ref().and_then(|writer| writer.lines.as_ref()) else { return };
        if lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Writer {
    fn start(folder: &Path, lost: Arc<AtomicU64>) -> Option<Self> {
        let (lines, queue) = sync_channel(QUEUE);
        let book = Book::new(folder.join(FILE));
        let write = move || write_all(book, &queue, &lost);
        match std::thread::Builder::new().name("audit".to_owned()).spawn(write) {
            Ok(thread) => Some(Self { lines: Some(lines), thread: Some(thread) }),
            Err(error) => {
                tracing::warn!("decisions are not kept: no thread for it: {error}");
                None
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

/// Writes until the queue is closed: what waits together in one piece, so that processes do not mix within a line.
fn write_all(mut book: Book, queue: &Receiver<Line>, lost: &AtomicU64) {
    while let Ok(first) = queue.recv() {
        book.write(std::iter::once(first).chain(queue.try_iter().take(QUEUE)), lost);
    }
    if lost.load(Ordering::Relaxed) > 0 {
        book.write(std::iter::empty(), lost);
    }
}

/// The file that the lines go to.
struct Book {
    path: PathBuf,
    /// None before the first line, and after a failure.
    file: Option<File>,
    /// Whether the last line may have no end.
    torn: bool,
    /// Whether it was told that nothing can be written.
    told: bool,
}

impl Book {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, torn: false, told: false }
    }

    /// Writes lines, and how many were lost before. When they cannot be written they are lost, too.
    fn write(&mut self, lines: impl Iterator<Item = Line>, lost: &AtomicU64) {
        let before = lost.swap(0, Ordering::Relaxed);
        let (mut batch, mut count) = (Vec::new(), 0);
        if self.torn {
            batch.push(b'\n');
        }
        for line in lines {
            put(&mut batch, &line);
            count += 1;
        }
        if before > 0 {
            put(&mut batch, &Lost { time: Timestamp::now().to_string(), lost: before });
        }
        match self.append(&batch) {
            Ok(()) => (self.torn, self.told) = (false, false),
            Err(error) => {
                lost.fetch_add(before + count, Ordering::Relaxed);
                self.file = None;
                if !std::mem::replace(&mut self.told, true) {
                    tracing::warn!("decisions are not kept in `{}`: {error}", self.path.display());
                }
            }
        }
    }

    fn append(&mut self, batch: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.path)?),
        };
        self.torn = true;
        file.write_all(batch)
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    regular_file::open_own(path, regular_file::private(OpenOptions::new().create(true).append(true)))
}

fn put(batch: &mut Vec<u8>, line: &impl Serialize) {
    // Plain data always has a JSON form.
    if serde_json::to_writer(&mut *batch, line).is_ok() {
        batch.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::capability::{Effect, PathGlob, PathScope, PluginId, RootId};
    use acp_runtime_agent::gate::Origin;
    use acp_runtime_agent::transcript::ToolCallId;
    use serde_json::Value;

    use super::*;

    fn decide(sink: &dyn AuditSink, path: &str, allowed: bool) {
        let origin = Origin::Plugin { plugin: PluginId::new("a:b").unwrap(), call: Some(ToolCallId::new("c1")) };
        let effect = Effect::Write(PathScope { root: RootId(0), glob: PathGlob::exact(path) });
        sink.record(AuditEntry { origin: &origin, effect: &effect, allowed, by: "policy", times: 1 });
    }

    fn lines(folder: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_decision_is_a_line_and_the_file_grows() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("state/audit");
        for round in 0..2 {
            let log = AuditLog::new(place.clone());
            let sink = log.sink(SessionId::new("s1"));
            decide(&*sink, "a\n{}", true);
            decide(&*sink, "b", false);
            drop((log, sink));
            let lines = lines(&place);
            assert_eq!(lines.len(), 2 * (round + 1));
        }
        let mut lines = lines(&place);
        lines[0].as_object_mut().unwrap().remove("time").unwrap().as_str().unwrap().parse::<Timestamp>().unwrap();
        let expected = serde_json::json!({
            "session": "s1", "origin": "plugin a:b", "call": "c1", "class": "write", "key": "a\n{}",
            "decision": "allow", "by": "policy",
        });
        assert_eq!(lines[0], expected);
        assert_eq!(lines[1]["decision"], "deny");
    }

    #[test]
    fn nothing_is_opened_before_the_first_decision() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::new(folder.path().join("audit"));
        drop(log.sink(SessionId::new("s1")));
        drop(log);
        assert!(!folder.path().join("audit").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_fails_no_decision() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let log = AuditLog::new(file.join("audit"));
        let sink = log.sink(SessionId::new("s1"));
        for _ in 0..QUEUE * 2 {
            decide(&*sink, "a", true);
        }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (lines, queue) = sync_channel(2);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = OnceLock::from(Some(Writer { lines: Some(lines), thread: None }));
        let log = AuditLog(Arc::new(Inner { folder: PathBuf::new(), writer, lost: lost.clone() }));
        let sink = log.sink(SessionId::new("s1"));
        for _ in 0..5 {
            decide(&*sink, "a", true);
        }
        drop((log, sink));
        let folder = tempfile::tempdir().unwrap();
        write_all(Book::new(folder.path().join(FILE)), &queue, &lost);
        let lines = self::lines(folder.path());
        assert_eq!((lines.len(), lines[2]["lost"].as_u64()), (3, Some(3)));
    }

    fn line(key: &str) -> Line {
        Line {
            time: String::new(),
            session: SessionId::new("s1"),
            origin: String::new(),
            call: None,
            class: "write",
            key: key.to_owned(),
            decision: "allow",
            by: String::new(),
            times: 1,
        }
    }

    /// A line that cannot be written is lost and counted, and the next one is kept when it can be.
    #[test]
    fn a_failure_loses_no_later_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit").join(FILE);
        std::fs::create_dir_all(&path).unwrap();
        let mut book = Book::new(path.clone());
        let lost = AtomicU64::new(1);
        book.write(["a", "b"].map(line).into_iter(), &lost);
        assert_eq!(lost.load(Ordering::Relaxed), 3, "a folder is no file");
        std::fs::remove_dir(&path).unwrap();
        book.write(["c"].map(line).into_iter(), &lost);
        let lines = self::lines(path.parent().unwrap());
        assert_eq!((lines.len(), &lines[0]["key"], &lines[1]["lost"]), (2, &"c".into(), &3.into()));
    }

    /// A disk that is full takes a part of a line: the next line begins on its own.
    #[test]
    fn a_torn_line_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, r#"{"time":"#).unwrap();
        let mut book = Book { torn: true, ..Book::new(path.clone()) };
        book.write(["c"].map(line).into_iter(), &AtomicU64::new(0));
        let text = std::fs::read_to_string(&path).unwrap();
        let whole: Vec<_> = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect();
        assert_eq!((text.lines().count(), whole.len(), &whole[0]["key"]), (2, 1, &"c".into()), "{text}");
    }

    /// What is still lost at the end is told when the file can be written by then.
    #[test]
    fn the_last_losses_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let (lines, queue) = sync_channel::<Line>(1);
        drop(lines);
        write_all(Book::new(folder.path().join(FILE)), &queue, &AtomicU64::new(2));
        assert_eq!(self::lines(folder.path())[0]["lost"], 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_audit_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(FILE);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(open(&pipe).unwrap_err().to_string(), "it is a named pipe, not a file");
        // Its thread ends: nobody reads the pipe.
        let log = AuditLog::new(folder.path().to_owned());
        decide(&*log.sink(SessionId::new("s1")), "a", true);
    }
}
