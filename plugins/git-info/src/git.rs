//! The command lines, as `plugin.toml` has them, and what git answers to them.

use acp_plugin::process::Command;
use acp_plugin::{Error, Result};
use serde::Serialize;

use crate::status::Status;

/// What separates the parts of a commit, as `--pretty` in `plugin.toml` says.
const PART: char = '\u{1f}';

/// A commit in brief.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Commit {
    pub(crate) id: String,
    pub(crate) date: String,
    pub(crate) author: String,
    pub(crate) subject: String,
}

/// How much of a file has changed; no numbers where it is not text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) added: Option<u64>,
    pub(crate) removed: Option<u64>,
}

/// Who wrote a line.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    pub(crate) line: u32,
    pub(crate) commit: String,
    pub(crate) author: String,
    pub(crate) text: String,
}

/// The branch, and what has changed.
pub(crate) fn status(folder: Option<&str>) -> Result<Status> {
    let told = git(folder, ["status", "--porcelain=v2", "--branch", "-z"], &[])?;
    Ok(Status::parse(&told))
}

/// The last commits, of `path` where there is one.
pub(crate) fn log(folder: Option<&str>, path: Option<&str>, limit: u32) -> Result<Vec<Commit>> {
    let count = format!("--max-count={limit}");
    let line = ["log", &count, "--date=short", "-z", "--pretty=format:%h%x1f%ad%x1f%an%x1f%s", "--"];
    let told = git(folder, line, path.as_slice())?;
    let commit = |entry: &str| {
        let mut parts = entry.splitn(4, PART).map(str::to_owned);
        Some(Commit { id: parts.next()?, date: parts.next()?, author: parts.next()?, subject: parts.next()? })
    };
    Ok(told.split('\0').filter_map(commit).collect())
}

/// How much of each file has changed, or is staged.
pub(crate) fn diff(folder: Option<&str>, path: Option<&str>, staged: bool) -> Result<Vec<Change>> {
    let told = if staged {
        git(folder, ["diff", "--cached", "--numstat", "--no-renames", "-z", "--"], path.as_slice())?
    } else {
        git(folder, ["diff", "--numstat", "--no-renames", "-z", "--"], path.as_slice())?
    };
    let change = |entry: &str| {
        let mut parts = entry.splitn(3, '\t');
        let (added, removed) = (parts.next()?.parse().ok(), parts.next()?.parse().ok());
        Some(Change { path: parts.next()?.to_owned(), added, removed })
    };
    Ok(told.split('\0').filter_map(change).collect())
}

/// Who wrote the lines `from` to `to` of `path`.
pub(crate) fn blame(folder: Option<&str>, path: &str, from: u32, to: u32) -> Result<Vec<Line>> {
    let range = format!("-L{from},{to}");
    let told = git(folder, ["blame", "--porcelain", &range, "--"], &[path])?;
    let mut authors = std::collections::HashMap::new();
    let (mut lines, mut head) = (Vec::new(), (String::new(), 0));
    for entry in told.lines() {
        if let Some(text) = entry.strip_prefix('\t') {
            let author = authors.get(&head.0).cloned().unwrap_or_default();
            let commit = head.0.chars().take(8).collect();
            lines.push(Line { line: head.1, commit, author, text: text.to_owned() });
        } else if let Some(author) = entry.strip_prefix("author ") {
            authors.insert(head.0.clone(), author.to_owned());
        } else if let Some(found) = group(entry) {
            head = found;
        }
    }
    Ok(lines)
}

/// `ID LINE-BEFORE LINE-NOW [COUNT]`: the commit, and the line as it is counted now.
fn group(entry: &str) -> Option<(String, u32)> {
    let mut words = entry.split(' ');
    let id = words.next().filter(|id| id.len() >= 40 && id.chars().all(|c| c.is_ascii_hexdigit()))?;
    Some((id.to_owned(), words.nth(1)?.parse().ok()?))
}

fn git<const N: usize>(folder: Option<&str>, line: [&str; N], paths: &[&str]) -> Result<String> {
    let mut command = Command::new("git").args(line).args(paths.iter().copied());
    if let Some(folder) = folder {
        command = command.current_dir(folder);
    }
    let output = command.run()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.code == Some(128) && said.contains("not a git repository") {
        return Err(Error::not_found(
            "there is no git repository in the session's folder: name its folder as `folder`",
        ));
    }
    output.success()
}
