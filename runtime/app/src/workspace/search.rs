//! Finding files, and lines in them.
//!
//! Folders are walked and files are opened one by one, each through the handle of the folder it was seen in, so links
//! and races lead nowhere else. Links are not followed. What `.gitignore` and `.ignore` name is left out, and so is
//! what begins with a dot, unless a glob asks for such names. Of what may not be read not even the name is told; what
//! could not be looked at is counted. Patterns run on a linear engine.

use std::io;
use std::path::Path;

use acp_runtime_agent::capability::{Effect, WorkspacePath};
use acp_runtime_agent::plain;
use acp_runtime_agent::workspace::{EntryKind, Found, Hit, MissReason, Missed, Search, WorkspaceError};
use acp_runtime_host::kernel_files::is_made_up;
use cap_fs_ext::DirExt as _;
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
    let real = place.real.as_str();
    if place.forbids(Path::new(real), Effect::Read) {
        return Err(WorkspaceError::Denied(place.shown.clone()));
    }
    let is_folder = place.is_folder()?;
    let mut walk = Walk {
        place,
        real,
        names: Names::new(&search.globs)?,
        lines: search.pattern.as_deref().map(|pattern| Lines::new(pattern, search.ignore_case)).transpose()?,
        ignores: Vec::new(),
        hits: Hits { found: Found::default(), limit: search.limit, stop },
    };
    if is_folder {
        walk.ignores_above()?;
        walk.folder(&place.folder(&place.real)?, "", 0);
    } else if let Some((folder, name)) = place.entry() {
        walk.file(&place.folder(&folder)?, name, "", EntryKind::File);
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

/// An entry of a folder.
struct Seen {
    /// Its name; one that is no text as far as it is.
    name: String,
    is_text: bool,
    kind: EntryKind,
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
        let Ok(entries) = folder.entries() else { return self.hits.miss(MissReason::Closed, below) };
        let mut found: Vec<Seen> = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else {
                self.hits.miss(MissReason::Closed, below);
                break;
            };
            // What has vanished meanwhile is not there.
            let Ok(file_type) = entry.file_type() else { continue };
            let (name, is_text) = match entry.file_name().into_string() {
                Ok(name) => (name, true),
                Err(name) => (name.to_string_lossy().into_owned(), false),
            };
            found.push(Seen { name, is_text, kind: kind(file_type) });
        }
        // As whole paths sort: a folder's name goes on with a slash.
        found.sort_by_cached_key(|seen| format!("{}{}", seen.name, if is_folder(seen.kind) { "/" } else { "" }));
        let before = self.ignores.len();
        self.read_ignores(folder, &join(self.real, below));
        for Seen { name, is_text, kind } in found {
            if self.hits.is_over() {
                break;
            }
            let path = join(below, &name);
            if self.leaves_out(&name, &join(self.real, &path), kind) {
                continue;
            }
            let is_named = is_text && self.place.path.join(&path).is_ok();
            match kind {
                EntryKind::Directory if !is_named => self.hits.miss(MissReason::Unnamed, &path),
                EntryKind::Directory if depth == MOST_DEPTH => self.hits.miss(MissReason::TooDeep, &path),
                EntryKind::Directory => match folder.open_dir_nofollow(&name) {
                    Ok(folder) if is_made_up(&folder) => {}
                    Ok(folder) => self.folder(&folder, &path, depth + 1),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(_) => self.hits.miss(MissReason::Closed, &path),
                },
                EntryKind::File | EntryKind::Link if is_named => self.file(folder, &name, &path, kind),
                EntryKind::File | EntryKind::Link if self.names.accept(&path) => {
                    self.hits.miss(MissReason::Unnamed, &path);
                }
                EntryKind::File | EntryKind::Link | EntryKind::Other => {}
            }
        }
        self.ignores.truncate(before);
    }

    fn file(&mut self, folder: &Dir, name: &str, below: &str, kind: EntryKind) {
        if !self.names.accept(if below.is_empty() { name } else { below }) {
            return;
        }
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
        hidden || self.is_ignored(real, is_folder(kind)) || self.place.forbids(Path::new(real), Effect::Read)
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
        let mut above: Vec<WorkspacePath> =
            std::iter::successors(self.place.real.parent(), WorkspacePath::parent).collect();
        above.reverse();
        for folder in above {
            self.read_ignores(&self.place.folder(&folder)?, folder.as_str());
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

    /// Files that are too big or are not text have no lines.
    fn look(&mut self, folder: &Dir, name: &str, path: &WorkspacePath, hits: &mut Hits<'_>) {
        let file = match folder.open_with(name, &reading()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => return hits.miss(MissReason::Closed, path.as_str()),
        };
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

    /// Notes that the file or folder at `path` was not looked at.
    fn miss(&mut self, reason: MissReason, path: &str) {
        match self.found.missed.iter_mut().find(|missed| missed.reason == reason) {
            Some(missed) => missed.count += 1,
            None => self.found.missed.push(Missed { reason, count: 1, first: plain::name(path) }),
        }
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
