//! The panel: the branch and the changed files, as they were when they were last looked at.
//!
//! Drawing it runs nothing, since each run of git may have to be asked for.

use acp_plugin::kv::{Cell, Scope};
use acp_plugin::{Acting, Action, Error, Node, Panel, Result, Style, View, panel};

use crate::git;
use crate::status::{File, State, Status};

/// Files that are shown.
const SHOWN: usize = 200;

/// The panel `git`.
pub struct GitPanel;

const LAST: Cell<Status> = Cell::new(Scope::Session, "last-status");

impl Panel for GitPanel {
    const NAME: &str = "git";
    const TITLE: &str = "Git";

    fn actions() -> Vec<Action> {
        vec![Action::new("refresh", "Look again", ["root", "file"]).key('r').reads()]
    }

    fn snapshot() -> Result<View> {
        let Some(status) = LAST.get()? else {
            let root = Node::new("root", "Not looked at yet: refresh it").kind("root").style(Style::Dim);
            return Ok(View::new(root));
        };
        let mut files: Vec<Node> = status.files.iter().take(SHOWN).map(row).collect();
        if status.files.len() > SHOWN {
            files.push(Node::new("more", format!("… and {} more", status.files.len() - SHOWN)).style(Style::Dim));
        }
        let root = Node::new("root", status.title()).kind("root").children(files);
        let changed = status.files.len();
        Ok(View::new(root).status(if changed == 0 { String::new() } else { format!("{changed}±") }))
    }

    fn act(acting: &Acting) -> Result<Option<String>> {
        match acting.action.as_str() {
            "refresh" => {
                let status = git::status(None)?;
                remember(&status)?;
                Ok(Some(status.title()))
            }
            other => Err(Error::not_found(format_args!("no action `{other}`"))),
        }
    }
}

/// Keeps a status of the session's first folder for the panel.
pub(crate) fn remember(status: &Status) -> Result<()> {
    if LAST.get()?.as_ref() != Some(status) {
        LAST.set(status)?;
        panel::changed::<GitPanel>();
    }
    Ok(())
}

fn row(file: &File) -> Node {
    let style = match file.state {
        State::Staged => Style::Active,
        State::Changed => Style::Plain,
        State::Untracked => Style::Dim,
        State::Conflicted => Style::Warn,
    };
    let label = format!("{}: {}", file.state.as_str(), file.path);
    Node::new(format!("file:{}", file.path), label).kind("file").style(style).data("path", file.path.as_str())
}
