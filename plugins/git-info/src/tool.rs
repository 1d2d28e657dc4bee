//! The tool that the model calls.

use acp_plugin::{Call, Error, Outcome, Result, SideEffect, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::status::Status;
use crate::{git, panel};

/// Files that an answer lists.
const FILES: usize = 200;

/// The arguments of `git-info`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitInfo {
    /// What to show.
    show: Show,
    /// A file or folder, relative to the repository's. All where it is missing; `blame` needs a file.
    #[serde(default)]
    path: Option<String>,
    /// The first line, for `blame`.
    #[serde(default)]
    #[schemars(range(min = 1))]
    from: Option<u32>,
    /// The last line, for `blame`; 50 lines without it.
    #[serde(default)]
    to: Option<u32>,
    /// How many commits, for `log`.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// Whether to show what is staged, for `diff`.
    #[serde(default)]
    staged: bool,
    /// The repository's folder, where it is not the session's first.
    #[serde(default)]
    folder: Option<String>,
}

/// What to show.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    /// The branch, and which files have changed.
    Status,
    /// The last commits.
    Log,
    /// How many lines of which files have changed.
    Diff,
    /// Who wrote which line.
    Blame,
}

fn default_limit() -> u32 {
    20
}

impl Tool for GitInfo {
    const NAME: &str = "git-info";
    const TITLE: Option<&str> = Some("Look at the git repository");
    const DESCRIPTION: &str = "Shows what the git repository of the project says, and changes nothing. `status`: the branch \
         and the changed files. `log`: the last commits, of `path` where that is given. `diff`: how many lines of which \
         files have changed since the last commit or, with `staged`, are staged. `blame`: who wrote the lines `from` to \
         `to` of `path`, in which commit.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Execute];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let (folder, path) = (self.folder.as_deref(), self.path.as_deref());
        match self.show {
            Show::Status => {
                let status = git::status(folder)?;
                if folder.is_none() {
                    panel::remember(&status)?;
                }
                Outcome::text(listed(&status)).structured(&status)
            }
            Show::Log => {
                let commits = git::log(folder, path, self.limit.clamp(1, 200))?;
                let line = |commit: &git::Commit| {
                    format!("{} {} {}: {}", commit.id, commit.date, commit.author, commit.subject)
                };
                Outcome::text(lines(commits.iter().map(line), "no commits")).structured(&commits)
            }
            Show::Diff => {
                let changes = git::diff(folder, path, self.staged)?;
                let line = |change: &git::Change| match (change.added, change.removed) {
                    (Some(added), Some(removed)) => format!("{}: +{added} -{removed}", change.path),
                    _ => format!("{}: not text", change.path),
                };
                Outcome::text(lines(changes.iter().map(line), "no changes")).structured(&changes)
            }
            Show::Blame => {
                let path = path.ok_or_else(|| Error::invalid_args("`blame` needs a file: give its `path`"))?;
                let from = self.from.unwrap_or(1).max(1);
                let to = self.to.unwrap_or(from.saturating_add(49));
                if to < from {
                    return Err(Error::invalid_args(format_args!(
                        "the last line {to} comes before the first one {from}"
                    )));
                }
                let blamed = git::blame(folder, path, from, to)?;
                let line = |line: &git::Line| format!("{} {} ({}) {}", line.line, line.commit, line.author, line.text);
                Ok(Outcome::text(lines(blamed.iter().map(line), "no lines")).structured(&blamed)?.at(path, Some(from)))
            }
        }
    }
}

fn listed(status: &Status) -> String {
    let files = status.files.iter().take(FILES).map(|file| match &file.from {
        Some(from) => format!("{}: {from} -> {}", file.state.as_str(), file.path),
        None => format!("{}: {}", file.state.as_str(), file.path),
    });
    let text = format!("{}\n{}", status.title(), lines(files, "nothing has changed"));
    match status.files.len().checked_sub(FILES) {
        Some(more @ 1..) => format!("{text}\n… and {more} more"),
        Some(0) | None => text,
    }
}

fn lines(lines: impl Iterator<Item = String>, none: &str) -> String {
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() { none.to_owned() } else { text }
}
