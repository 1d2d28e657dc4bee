//! A repository's status, as git tells it to programs (`--porcelain=v2 -z`).

use serde::{Deserialize, Serialize};

/// The branch, and what has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// None where no branch is checked out.
    pub(crate) branch: Option<String>,
    pub(crate) upstream: Option<String>,
    /// Commits that the upstream does not have.
    pub(crate) ahead: u32,
    /// Commits that only the upstream has.
    pub(crate) behind: u32,
    pub(crate) files: Vec<File>,
}

/// A file that is not as it was committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    pub(crate) path: String,
    /// Where it was before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) from: Option<String>,
    pub(crate) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Its change is staged, all of it.
    Staged,
    /// Its change is not staged, or not all of it.
    Changed,
    /// Git does not know it.
    Untracked,
    /// Two changes do not fit together.
    Conflicted,
}

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Changed => "changed",
            Self::Untracked => "untracked",
            Self::Conflicted => "conflicted",
        }
    }
}

impl Status {
    /// Reads what git tells. What it does not know it leaves out.
    pub(crate) fn parse(told: &str) -> Self {
        let mut status = Self::default();
        let mut entries = told.split('\0');
        while let Some(entry) = entries.next() {
            let Some((kind, rest)) = entry.split_once(' ') else { continue };
            let file = |fields: usize, state| {
                let path = rest.splitn(fields, ' ').nth(fields - 1)?.to_owned();
                Some(File { path, from: None, state })
            };
            let found = match kind {
                "#" => {
                    status.head(rest);
                    None
                }
                "1" => file(8, state(rest)),
                "2" => file(9, state(rest)).map(|file| File { from: entries.next().map(str::to_owned), ..file }),
                "u" => file(10, State::Conflicted),
                "?" => file(1, State::Untracked),
                _ => None,
            };
            status.files.extend(found);
        }
        status
    }

    fn head(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("branch.head", name)) if name != "(detached)" => self.branch = Some(name.to_owned()),
            Some(("branch.upstream", name)) => self.upstream = Some(name.to_owned()),
            Some(("branch.ab", counts)) => {
                let count = |text: Option<&str>| text.and_then(|text| text.get(1..)?.parse().ok()).unwrap_or_default();
                let mut counts = counts.split(' ');
                (self.ahead, self.behind) = (count(counts.next()), count(counts.next()));
            }
            _ => {}
        }
    }

    /// One line: the branch, and how far it is from its upstream.
    pub(crate) fn title(&self) -> String {
        let mut title = self.branch.clone().unwrap_or_else(|| "no branch".to_owned());
        if let Some(upstream) = &self.upstream {
            title = match (self.ahead, self.behind) {
                (0, 0) => format!("{title}, as {upstream}"),
                (ahead, 0) => format!("{title}, {ahead} ahead of {upstream}"),
                (0, behind) => format!("{title}, {behind} behind {upstream}"),
                (ahead, behind) => format!("{title}, {ahead} ahead of {upstream} and {behind} behind"),
            };
        }
        title
    }
}

/// `XY`: what is staged, and what is not.
fn state(rest: &str) -> State {
    if rest.chars().nth(1) == Some('.') { State::Staged } else { State::Changed }
}
