//! What is written to the audit's files: records become lines of the chain, a full file is put aside, and the oldest
//! ones go.
//!
//! Processes write one after another: each looks under a lock where the chain ends, and goes on from there. A line that
//! was cut off by the end of a process stays as it is, and the next one begins behind it; the chain goes on from the last
//! whole one. Tested beside the code.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acp_runtime_host::regular_file;
use jiff::Timestamp;
use serde::Serialize;

use super::Record;
use super::chain::{Link, sealed};
use super::files::{FILE, HEADS, LOCK, end, full, full_files, is_torn};
use super::heads::{self, Head};

/// How long another process may write.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes after which a file is full.
    pub file: NonZeroU64,
    /// Full files that are kept; 0 keeps all.
    pub files: usize,
}

/// A full file that was removed, and the place of its last line.
#[derive(Serialize)]
struct Removed {
    time: String,
    removed: String,
    through: u64,
    head: String,
}

/// The files that lines go to.
pub(super) struct Book {
    folder: PathBuf,
    bounds: Bounds,
    /// Whether it was told that nothing can be written.
    told: bool,
}

impl Book {
    pub(super) fn new(folder: PathBuf, bounds: Bounds) -> Self {
        Self { folder, bounds, told: false }
    }

    /// Writes records, and how many were lost before. When they cannot be written they are lost, too.
    pub(super) fn write(&mut self, records: impl Iterator<Item = Record>, lost: &AtomicU64) {
        let mut records: Vec<Record> = records.collect();
        let (before, count) = (lost.swap(0, Ordering::Relaxed), records.len() as u64);
        if before > 0 {
            records.push(Record::Lost { time: Timestamp::now().to_string(), lost: before });
        }
        match self.append(&records) {
            Ok(()) => self.told = false,
            Err(error) => {
                lost.fetch_add(before + count, Ordering::Relaxed);
                if !std::mem::replace(&mut self.told, true) {
                    let path = self.folder.join(FILE);
                    tracing::warn!("decisions are not kept in `{}`: {error}", path.display());
                }
            }
        }
    }

    fn append(&self, records: &[Record]) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(FILE);
        // What stands in its place is told of before anything is waited for.
        regular_file::require_own(&path)?;
        let _lock = regular_file::lock(&self.folder.join(LOCK), PATIENCE)?;
        let mut batch = Batch::default();
        let there = end(&path)?;
        let mut begins_torn = there.is_torn;
        batch.link = match there.link {
            Some(link) => Some(link),
            None => self.last_full()?,
        };
        if there.link.is_some() && path.metadata()?.len() >= self.bounds.file.get() {
            // Where it cannot be put aside it grows.
            match self.put_aside(&path, &mut batch) {
                Ok(()) => begins_torn = false,
                Err(error) => tracing::warn!("`{}` is full, and stays: {error}", path.display()),
            }
        }
        let mut heads = Vec::new();
        for record in records {
            batch.put(record);
            if let (Record::End { time, session, .. }, Some(link)) = (record, batch.link) {
                heads.push(Head::new(time.clone(), session.clone(), link));
            }
        }
        add(&path, begins_torn, &batch.lines)?;
        tell(&heads);
        self.keep(&heads);
        Ok(())
    }

    /// Where the last full file ends.
    fn last_full(&self) -> io::Result<Option<Link>> {
        match full_files(&self.folder)?.last() {
            Some((_, last)) => Ok(end(last)?.link),
            None => Ok(None),
        }
    }

    /// Puts the file aside, and removes the oldest full ones. What was removed is said in the next file.
    fn put_aside(&self, path: &Path, batch: &mut Batch) -> io::Result<()> {
        let mut kept = full_files(&self.folder)?;
        let number = kept.last().map_or(0, |(number, _)| *number).saturating_add(1);
        let aside = self.folder.join(full(number));
        std::fs::rename(path, &aside)?;
        kept.push((number, aside));
        let surplus = if self.bounds.files == 0 { 0 } else { kept.len().saturating_sub(self.bounds.files) };
        for (number, oldest) in kept.into_iter().take(surplus) {
            let last = end(&oldest)?.link;
            std::fs::remove_file(&oldest)?;
            if let Some(last) = last {
                let time = Timestamp::now().to_string();
                batch.put(&Removed { time, removed: full(number), through: last.seq, head: last.hash.to_string() });
                heads::forget(&self.folder.join(HEADS), last.seq)?;
            }
        }
        Ok(())
    }

    /// Keeps the places that sessions had come to, beside the chain: one whose end is cut off contradicts them.
    fn keep(&self, heads: &[Head]) {
        let mut lines = Vec::new();
        for head in heads {
            // Plain data always has a JSON form.
            if serde_json::to_writer(&mut lines, head).is_ok() {
                lines.push(b'\n');
            }
        }
        let path = self.folder.join(HEADS);
        if !lines.is_empty()
            && let Err(error) = is_torn(&path).and_then(|is_torn| add(&path, is_torn, &lines))
        {
            tracing::warn!("the end of a session is not kept in `{}`: {error}", path.display());
        }
    }
}

/// To those who keep a log elsewhere.
fn tell(heads: &[Head]) {
    for Head { session, seq, hash, .. } in heads {
        tracing::info!(target: "audit", %session, seq, %hash, "the chain at the end of the session");
    }
}

/// Lines that are about to be written, and where the chain is after them.
#[derive(Default)]
struct Batch {
    lines: Vec<u8>,
    link: Option<Link>,
}

impl Batch {
    fn put(&mut self, record: &impl Serialize) {
        // Plain data always has a JSON form.
        if let Some((line, link)) = sealed(self.link, record) {
            self.lines.extend_from_slice(line.as_bytes());
            self.lines.push(b'\n');
            self.link = Some(link);
        }
    }
}

/// Adds lines to a file, all or none as far as the disk lets us: what was written of them when it is full goes again.
fn add(path: &Path, is_torn: bool, lines: &[u8]) -> io::Result<()> {
    let mut file = open(path)?;
    let before = file.metadata()?.len();
    let whole = if is_torn { [b"\n", lines].concat() } else { lines.to_vec() };
    file.write_all(&whole).inspect_err(|_| {
        // Where that fails, too, the next line begins behind the torn one.
        let _ = file.set_len(before);
    })
}

fn open(path: &Path) -> io::Result<File> {
    regular_file::open_own(path, regular_file::private(OpenOptions::new().create(true).append(true)))
}
