//! The panel: one row for each task.

use acp_plugin::{Acting, Action, Error, Node, Panel, Result, Style, View};
use serde::Deserialize;

use crate::list::{State, Task};
use crate::shared;
use crate::tools::count;

/// The panel `tasks`.
pub struct TasksPanel;

/// What a row hands back with an action.
#[derive(Deserialize)]
struct RowData {
    id: u64,
}

impl Panel for TasksPanel {
    const NAME: &str = "tasks";
    const TITLE: &str = "Tasks";

    fn actions() -> Vec<Action> {
        vec![
            Action::new("add", "Add", ["root", "open", "started", "done"]).key('a').input("message"),
            Action::new("start", "Start", ["open", "done"]).key('s'),
            Action::new("done", "Done", ["open", "started"]).key('d'),
            Action::new("delete", "Delete", ["open", "started", "done"]).key('x').destructive("Delete “{label}”?"),
            Action::new("clear", "Clear all", ["root"]).key('c').destructive("Delete all tasks?"),
            Action::new("refresh", "Refresh", ["root", "open", "started", "done"]).key('r').reads(),
        ]
    }

    fn snapshot() -> Result<View> {
        let list = shared::list()?;
        let (done, all) = (list.done(), list.tasks().len());
        let label = if all == 0 { "No tasks".to_owned() } else { format!("{done} of {} done", count(all)) };
        let status = if all == 0 { String::new() } else { format!("{done}/{all}") };
        let root = Node::new("tasks", label).kind("root").children(list.tasks().iter().map(row));
        Ok(View::new(root).status(status))
    }

    fn act(acting: &Acting) -> Result<Option<String>> {
        let set = |state| {
            let id = acting.node.data_as::<RowData>()?.id;
            shared::change(|list| list.set(id, state))
        };
        let said = match acting.action.as_str() {
            "add" => {
                let added = shared::change(|list| list.add(acting.text("message").unwrap_or_default()))?;
                format!("✓ added {}", count(added.len()))
            }
            "start" => set(State::Started)?.to_string(),
            "done" => set(State::Done)?.to_string(),
            "delete" => {
                let id = acting.node.data_as::<RowData>()?.id;
                format!("✓ deleted {}", shared::change(|list| list.delete(id))?.text)
            }
            "clear" => format!("✓ cleared {}", count(shared::change(|list| Ok(list.clear(false)))?)),
            "refresh" => return Ok(None),
            other => return Err(Error::not_found(format_args!("no action `{other}`"))),
        };
        Ok(Some(said))
    }
}

/// The kind of a row is the state of its task, so that only actions that make sense are offered.
fn row(task: &Task) -> Node {
    let (kind, style) = match task.state {
        State::Open => ("open", Style::Plain),
        State::Started => ("started", Style::Active),
        State::Done => ("done", Style::Dim),
    };
    Node::new(format!("task:{}", task.id), task.to_string()).kind(kind).style(style).data("id", task.id)
}
