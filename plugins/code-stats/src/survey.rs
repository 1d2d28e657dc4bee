//! Walks the project's folders and counts every source file in them, within limits.
//!
//! What `.gitignore` and `.ignore` ignore is left out, and so are `.git` and links. Single-threaded: a plugin has no
//! threads. Tested on folders that are made for the test.
#![expect(clippy::disallowed_methods, reason = "reads the project through the folders that the host opened for it")]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use acp_plugin::workspace::Root;
use acp_plugin::{Error, Result, progress};
use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, Walk, WalkBuilder};

use crate::count::{self, Lines};
use crate::languages;
use crate::report;

/// What to count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request<'a> {
    /// A path as the plugin sees it, or relative to the first root; all roots without one.
    pub(crate) path: Option<&'a str>,
    /// Globs of files and folders that are left out, relative to their root.
    pub(crate) exclude: &'a [String],
    /// Where to stop.
    pub(crate) bounds: Bounds,
}

/// Where a survey stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// So many source files.
    pub(crate) files: usize,
    /// Larger files are skipped; in bytes.
    pub(crate) file_size: u64,
    /// So long.
    pub(crate) time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        // Well below the 10 s of computing time that the host gives a call by default.
        Self { files: 20_000, file_size: 1024 * 1024, time: Duration::from_secs(5) }
    }
}

/// How many files and folders lie between two looks at the clock.
const STEP: usize = 250;

/// One counted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileCount {
    /// As the plugin sees it: `/workspace/src/lib.rs`.
    pub(crate) path: PathBuf,
    /// Relative to its root, behind the root's name where there are several roots.
    pub(crate) label: String,
    /// The language's name.
    pub(crate) language: &'static str,
    /// Its lines.
    pub(crate) lines: Lines,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Every counted file, largest first.
    pub(crate) files: Vec<FileCount>,
    /// Files that were larger than the bound.
    pub(crate) too_large: usize,
    /// Files that could not be read.
    pub(crate) unreadable: usize,
    /// Files and folders whose names are no Unicode, so that no plugin can open them.
    pub(crate) unnamed: usize,
    /// Why it stopped before the end.
    pub(crate) cut: Option<Cut>,
}

/// A bound that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// There are more files.
    Files(usize),
    /// There was no more time.
    Time(Duration),
}

impl Survey {
    /// The lines of each language with the number of its files, most code first.
    pub(crate) fn languages(&self) -> Vec<(&'static str, usize, Lines)> {
        let mut sums: BTreeMap<&'static str, (usize, Lines)> = BTreeMap::new();
        for file in &self.files {
            let (files, lines) = sums.entry(file.language).or_default();
            *files += 1;
            *lines += file.lines;
        }
        let mut sums: Vec<_> = sums.into_iter().map(|(name, (files, lines))| (name, files, lines)).collect();
        sums.sort_by_key(|(_, _, lines)| Reverse((lines.code, lines.total())));
        sums
    }

    /// The lines of all files.
    pub(crate) fn total(&self) -> Lines {
        let mut total = Lines::default();
        for file in &self.files {
            total += file.lines;
        }
        total
    }
}

/// Counts.
pub(crate) fn survey(roots: &[Root], request: &Request<'_>) -> Result<Survey> {
    let started = Instant::now();
    let mut survey = Survey::default();
    let unnamed = Arc::new(AtomicUsize::new(0));
    for (start, root) in starts(roots, request.path)? {
        let prefix = if roots.len() > 1 { format!("{}/", root.name) } else { String::new() };
        for (seen, entry) in walk(&root.path, start, request.exclude, &unnamed)?.enumerate() {
            if seen.is_multiple_of(STEP) && request.bounds.time_is_up(survey.files.len(), started)? {
                survey.cut = Some(Cut::Time(request.bounds.time));
                break;
            }
            let Ok(entry) = entry else {
                survey.unreadable += 1;
                continue;
            };
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let Some(language) = languages::of_path(entry.path()).filter(|_| is_file) else { continue };
            if survey.files.len() == request.bounds.files {
                survey.cut = Some(Cut::Files(request.bounds.files));
                break;
            }
            match read(&entry, request.bounds.file_size) {
                Ok(Some(text)) => survey.files.push(FileCount {
                    label: format!("{prefix}{}", label(entry.path(), &root.path)),
                    path: entry.into_path(),
                    language: language.name,
                    lines: count::lines(&text, language.syntax),
                }),
                Ok(None) => survey.too_large += 1,
                Err(_) => survey.unreadable += 1,
            }
        }
        if survey.cut.is_some() {
            break;
        }
    }
    survey.files.sort_by_key(|file| Reverse(file.lines.total()));
    survey.unnamed = unnamed.load(Ordering::Relaxed);
    Ok(survey)
}

impl Bounds {
    /// Whether the time is up. Shows progress, and fails once the call was cancelled.
    fn time_is_up(&self, counted: usize, started: Instant) -> Result<bool> {
        progress::check()?;
        if counted > 0 {
            progress::emit(None, &format!("{} counted", report::counted(counted, "file")));
        }
        Ok(started.elapsed() >= self.time)
    }
}

/// Where to begin, with the root that each lies in.
fn starts<'a>(roots: &'a [Root], path: Option<&str>) -> Result<Vec<(PathBuf, &'a Root)>> {
    let Some(path) = path.filter(|path| !matches!(*path, "" | "." | "/")) else {
        return Ok(roots.iter().map(|root| (PathBuf::from(&root.path), root)).collect());
    };
    if Path::new(path).components().any(|part| part == Component::ParentDir) {
        return Err(Error::invalid_args(format_args!("`{path}` leads out of the project: leave out the `..`")));
    }
    let inside = roots.iter().find(|root| Path::new(path).starts_with(&root.path)).or(roots.first());
    let root = inside.ok_or_else(|| Error::not_found("the session has no folder"))?;
    let start = Path::new(&root.path).join(path);
    if !start.starts_with(&root.path) || !start.exists() {
        let message = format_args!("`{path}` is not in the project: give a path relative to its folder, as `src`");
        return Err(Error::not_found(message));
    }
    Ok(vec![(start, root)])
}

/// Everything below `start`. Begins at the root, whose ignore files count as well, and takes the way to `start` only.
/// Counts in `unnamed` what it leaves out because of its name.
fn walk(root: &str, start: PathBuf, exclude: &[String], unnamed: &Arc<AtomicUsize>) -> Result<Walk> {
    let mut overrides = OverrideBuilder::new(root);
    for glob in exclude {
        let added = overrides.add(&format!("!{glob}"));
        added.map_err(|error| Error::invalid_args(format_args!("settings: `exclude` has a bad glob: {error}")))?;
    }
    let overrides = overrides.build().map_err(Error::internal)?;
    let unnamed = unnamed.clone();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(move |entry| {
            let path = entry.path();
            if entry.file_name() == ".git" || !(path.starts_with(&start) || start.starts_with(path)) {
                return false;
            }
            let named = has_a_name(entry);
            if !named {
                unnamed.fetch_add(1, Ordering::Relaxed);
            }
            named
        })
        .overrides(overrides)
        .build();
    Ok(walk)
}

/// Whether the entry can be opened by its name. The host says `U+FFFD` for what no plugin can name, and an honest name
/// may have one, too.
fn has_a_name(entry: &DirEntry) -> bool {
    match entry.file_name().to_str() {
        Some(name) => !name.contains(char::REPLACEMENT_CHARACTER) || entry.path().symlink_metadata().is_ok(),
        None => false,
    }
}

/// The file's bytes; none where it is too large.
fn read(entry: &DirEntry, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let metadata = entry.metadata().map_err(std::io::Error::other)?;
    if metadata.len() > most { Ok(None) } else { fs::read(entry.path()).map(Some) }
}

fn label(path: &Path, root: &str) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}
