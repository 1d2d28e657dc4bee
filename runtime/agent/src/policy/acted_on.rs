//! Folders of a project that other programs act on: a file in one makes an editor, git, a build or this program run, load
//! or allow something, for the person and outside of all rules here.
//!
//! A plugin changes nothing in such a folder by a right to everything: its right has to name the folder, so that the
//! person who grants it has read the name. Tested with the policy.

use crate::capability::{Effect, Grant, GrantSet, PathGlob, Touched};

/// Their names, wherever they lie.
const FOLDERS: [&str; 15] = [
    ".acp-runtime",
    ".cargo",
    ".circleci",
    ".claude",
    ".codex",
    ".cursor",
    ".devcontainer",
    ".gemini",
    ".git",
    ".github",
    ".gitlab",
    ".husky",
    ".idea",
    ".vscode",
    ".zed",
];

/// The folder of that kind in which `effect` would change something, where no right among `grants` names it.
pub(super) fn unnamed(effect: &Effect, grants: &GrantSet) -> Option<&'static str> {
    let changes = matches!(effect, Effect::Write(_) | Effect::Delete(_) | Effect::Move { .. });
    let paths = match effect.touched() {
        Touched::Scope(scope) if changes => [scope.glob.as_str(), ""],
        Touched::Places { from, to } if changes => [from.as_str(), to.as_str()],
        Touched::Scope(_) | Touched::Places { .. } | Touched::Nothing => return None,
    };
    let named = |folder: &str| {
        let names = |grant: &Grant| matches!(grant, Grant::Write(glob) if lies_in(glob, folder));
        grants.ceiling.iter().any(names) && grants.granted.iter().any(names)
    };
    paths.into_iter().flat_map(|path| path.split('/')).find_map(|name| {
        let folder = FOLDERS.into_iter().find(|folder| folder.eq_ignore_ascii_case(name))?;
        (!named(folder)).then_some(folder)
    })
}

fn lies_in(glob: &PathGlob, folder: &str) -> bool {
    glob.as_str().split('/').any(|name| name.eq_ignore_ascii_case(folder))
}
