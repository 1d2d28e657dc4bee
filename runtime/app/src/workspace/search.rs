//! Finding files, and lines in them.
//!
//! Folders are walked and files are opened one by one, each through the handle of the folder it was seen in, so links
//! and races lead nowhere else. Links are not followed. What `.gitignore` and `.ignore` name is left out, and so is
//! what begins with a dot, unless a glob asks for such names. Patterns run on a linear engine.

use std::io;
use std::path::Path;

use acp_runtime_agent::capability::WorkspacePath;
use acp_runtime_agent::workspace::{EntryKind, Found, Hit, Search, WorkspaceError};
use acp_runtime_host::kernel_files::is_made_up;
use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tokio_util::sync::CancellationToken;

use super::folder::{MOST_DEPTH, kind};
use super::place::{Place, reading};

/// Bigger files are not looked into.
const MOST_SEARCHED: u64 = 2 * 1024 * 1024;

/// Bigger ignore files are not read.
const MOST_IGNORE: u64 = 256 * 1024;

/// How much of a line is given back, in characters.
const MOST_LINE: usize = 500;

/// Folders that hold a version control system's own files.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// Searches below `place` until `stop` is cancelled.
pub(super) fn search(place: &Place, search: &Search, stop: &CancellationToken) -> Result<Found, WorkspaceError> {
    let real = place.real()?;
    let Some(real) = real.to_str() else { return Err(place.not_found()) };
    let metadata = place.root.metadata(place.relative()).map_err(|error| place.failure(&error))?;
    let mut walk = Walk {
        place,
        real,
        names: Names::new(&search.globs)?,
        lines: search.pattern.as_deref().map(|pattern| Lines::new(pattern, search.ignore_case)).transpose()?,
        ignores: Vec::new(),
        hits: Hits { found: Found::default(), limit: search.limit, stop },
    };
    if metadata.is_dir() {
        walk.ignores_above()?;
        let folder = place.folder(Path::new(real))?;
        walk.folder(&folder, "", 0);
    } else {
        let (folder, name) = real.rsplit_once('/').unwrap_or(("", real));
        walk.file(&place.folder(Path::new(folder))?, name, "", EntryKind::File);
    }
    Ok(walk.hits.found)
}

struct Walk<'a> {
    place: &'a Place,
    /// Where the search begins, without links; empty for the root.
    real: &'a str,
    names: Names,
    lines: Option<Lines>,
    /// Ignore files from the root down to the folder that is being walked.
    ignores: Vec<Ignores>,
    hits: Hits<'a>,
}

/// The patterns of one folder's ignore files.
struct Ignores {
    /// The length of the folder's real path and the slash after it.
    folder: usize,
    patterns: Gitignore,
}

impl Walk<'_> {
    /// `below` is the folder's path under the place of the search.
    fn folder(&mut self, folder: &Dir, below: &str, depth: usize) {
        let Ok(entries) = folder.entries() else { return };
        let mut found: Vec<(String, EntryKind)> = Vec::new();
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(file_type) = entry.file_type() else { continue };
            found.push((name, kind(file_type)));
        }
        // As whole paths sort: a folder's name goes on with a slash.
        found.sort_by_cached_key(|(name, kind)| format!("{name}{}", if is_folder(*kind) { "/" } else { "" }));
        let before = self.ignores.len();
        self.read_ignores(folder, &join(self.real, below));
        for (name, kind) in found {
            if self.hits.is_over() {
                break;
            }
            let path = join(below, &name);
            if self.leaves_out(&name, &join(self.real, &path), kind) {
                continue;
            }
            match kind {
                EntryKind::Directory if depth < MOST_DEPTH => {
                    if let Some(folder) = folder.open_dir(&name).ok().filter(|folder| !is_made_up(folder)) {
                        self.folder(&folder, &path, depth + 1);
                    }
                }
                EntryKind::Directory => self.hits.found.cut = true,
                EntryKind::File | EntryKind::Link => self.file(folder, &name, &path, kind),
                EntryKind::Other => {}
            }
        }
        self.ignores.truncate(before);
    }

    fn file(&mut self, folder: &Dir, name: &str, below: &str, kind: EntryKind) {
        if !self.names.accept(if below.is_empty() { name } else { below }) {
            return;
        }
        // A name that is no path of ours, such as one with a backslash, cannot be asked for either.
        let Ok(path) = self.place.path.join(below) else { return };
        match &mut self.lines {
            None => {
                self.hits.push(&path, None);
            }
            Some(lines) if kind == EntryKind::File => lines.look(folder, name, &path, &mut self.hits),
            Some(_) => {}
        }
    }

    fn leaves_out(&self, name: &str, real: &str, kind: EntryKind) -> bool {
        let hidden = name.starts_with('.') && (!self.names.hidden || VERSION_CONTROL.contains(&name));
        hidden || self.is_ignored(real, is_folder(kind)) || self.place.is_denied(Path::new(real))
    }

    /// The innermost ignore file that says anything decides.
    fn is_ignored(&self, real: &str, is_folder: bool) -> bool {
        self.ignores
            .iter()
            .rev()
            .map(|ignores| ignores.patterns.matched(real.get(ignores.folder..).unwrap_or(real), is_folder))
            .find(|matched| !matched.is_none())
            .is_some_and(|matched| matched.is_ignore())
    }

    fn ignores_above(&mut self) -> Result<(), WorkspaceError> {
        let mut above: Vec<&str> = Path::new(self.real).ancestors().skip(1).filter_map(Path::to_str).collect();
        above.reverse();
        for folder in above {
            self.read_ignores(&self.place.folder(Path::new(folder))?, folder);
        }
        Ok(())
    }

    fn read_ignores(&mut self, folder: &Dir, real: &str) {
        let mut builder = GitignoreBuilder::new(".");
        for name in [".gitignore", ".ignore"] {
            for line in ignore_file(folder, name).unwrap_or_default().lines() {
                // A line that is no pattern ignores nothing.
                let _ = builder.add_line(None, line);
            }
        }
        if let Ok(patterns) = builder.build()
            && !patterns.is_empty()
        {
            self.ignores.push(Ignores { folder: if real.is_empty() { 0 } else { real.len() + 1 }, patterns });
        }
    }
}

fn ignore_file(folder: &Dir, name: &str) -> Option<String> {
    let file = folder.open_with(name, &reading()).ok()?;
    let metadata = file.metadata().ok()?;
    (!is_made_up(&file) && metadata.is_file() && metadata.len() <= MOST_IGNORE)
        .then(|| io::read_to_string(file).ok())?
}

fn is_folder(kind: EntryKind) -> bool {
    kind == EntryKind::Directory
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}

/// Which files' names are wanted.
struct Names {
    globs: Option<GlobSet>,
    /// Whether a glob asks for names that begin with a dot.
    hidden: bool,
}

impl Names {
    fn new(globs: &[String]) -> Result<Self, WorkspaceError> {
        let hidden = globs.iter().any(|glob| glob.split('/').any(|name| name.starts_with('.') && name.len() > 1));
        if globs.is_empty() {
            return Ok(Self { globs: None, hidden });
        }
        let bad = |pattern: &str, error: &globset::Error| WorkspaceError::BadPattern {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        };
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            // As in an ignore file: a bare name is meant in every folder.
            let plain = glob.trim_start_matches("./");
            let anywhere = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
            set.add(GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| bad(glob, &error))?);
        }
        Ok(Self { globs: Some(set.build().map_err(|error| bad(&globs.join(", "), &error))?), hidden })
    }

    fn accept(&self, path: &str) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.is_match(path))
    }
}

/// Which lines are wanted.
struct Lines {
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl Lines {
    fn new(pattern: &str, ignore_case: bool) -> Result<Self, WorkspaceError> {
        let matcher =
            RegexMatcherBuilder::new().case_insensitive(ignore_case).line_terminator(Some(b'\n')).build(pattern);
        let matcher = matcher
            .map_err(|error| WorkspaceError::BadPattern { pattern: pattern.to_owned(), reason: error.to_string() })?;
        let searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).build();
        Ok(Self { matcher, searcher })
    }

    /// Files that cannot be opened, are too big or are not text have no lines.
    fn look(&mut self, folder: &Dir, name: &str, path: &WorkspacePath, hits: &mut Hits<'_>) {
        let Ok(file) = folder.open_with(name, &reading()) else { return };
        if is_made_up(&file) || !file.metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST_SEARCHED) {
            return;
        }
        let first = hits.found.hits.len();
        // A failure in the middle of a file keeps the lines before it.
        let _ = self.searcher.search_reader(
            &self.matcher,
            io::Read::take(file, MOST_SEARCHED),
            FileHits { path, hits, first },
        );
    }
}

struct Hits<'a> {
    found: Found,
    limit: usize,
    stop: &'a CancellationToken,
}

impl Hits<'_> {
    /// Whether nothing more is wanted.
    fn is_over(&self) -> bool {
        self.found.cut || self.stop.is_cancelled()
    }

    /// Takes a hit, or notes that there was one more than wanted; says whether to go on.
    fn push(&mut self, path: &WorkspacePath, line: Option<(u64, String)>) -> bool {
        if self.found.hits.len() == self.limit {
            self.found.cut = true;
        } else {
            self.found.hits.push(Hit { path: path.clone(), line });
        }
        !self.is_over()
    }
}

struct FileHits<'a, 'b> {
    path: &'a WorkspacePath,
    hits: &'a mut Hits<'b>,
    /// How many hits there were before this file.
    first: usize,
}

impl Sink for FileHits<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let text = String::from_utf8_lossy(found.bytes());
        let number = found.line_number().unwrap_or(1);
        Ok(self.hits.push(self.path, Some((number, clipped(text.trim_end_matches(['\r', '\n']))))))
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() {
            self.hits.found.hits.truncate(self.first);
        }
        Ok(())
    }
}

fn clipped(line: &str) -> String {
    match line.char_indices().nth(MOST_LINE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}
