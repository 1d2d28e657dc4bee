//! The audit: a line for every decision of the gate, in a file that only grows.
//!
//! `audit/decisions.jsonl` has one JSON object a line: `time`, `session`, `origin`, `call`, `class`, `key`, `decision`
//! and `by`. The same goes to the log under the target `audit`. A decision never waits for the disk: lines go through a
//! bounded queue to a thread of their own, and what does not fit is counted in a line `{"lost": n}`. A folder that
//! cannot be written costs one warning, never a call. Knows nothing about sessions or policy.
#![expect(clippy::disallowed_methods, reason = "this room owns the audit file")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use acp_runtime_agent::gate::{AuditEntry, AuditSink};
use acp_runtime_agent::transcript::SessionId;
use jiff::Timestamp;
use serde::Serialize;

/// Lines that may wait for the disk.
const QUEUE: usize = 4096;

/// The file in the audit folder.
const FILE: &str = "decisions.jsonl";

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
        };
        tracing::info!(
            target: "audit",
            session = %line.session,
            origin = line.origin,
            class = line.class,
            key = line.key,
            decision = line.decision,
            by = line.by,
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
        let path = folder.join(FILE);
        let write = move || {
            if let Err(error) = write_all(&path, &queue, &lost) {
                tracing::warn!("decisions are not kept in `{}`: {error}", path.display());
            }
        };
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
fn write_all(path: &Path, queue: &Receiver<Line>, lost: &AtomicU64) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let mut batch = Vec::new();
    while let Ok(first) = queue.recv() {
        batch.clear();
        put(&mut batch, &first)?;
        for next in queue.try_iter().take(QUEUE) {
            put(&mut batch, &next)?;
        }
        match lost.swap(0, Ordering::Relaxed) {
            0 => {}
            lost => put(&mut batch, &Lost { time: Timestamp::now().to_string(), lost })?,
        }
        file.write_all(&batch)?;
    }
    Ok(())
}

fn put(batch: &mut Vec<u8>, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *batch, line)?;
    batch.push(b'\n');
    Ok(())
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
        sink.record(AuditEntry { origin: &origin, effect: &effect, allowed, by: "policy" });
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
        write_all(&folder.path().join(FILE), &queue, &lost).unwrap();
        let lines = self::lines(folder.path());
        assert_eq!((lines.len(), lines[2]["lost"].as_u64()), (3, Some(3)));
    }
}
