//! The one list of the project: kept in the host's storage, mirrored into the plan, shown in the panel.

use acp_plugin::kv::{Cell, Scope};
use acp_plugin::plan::{self, Status};
use acp_plugin::{Result, log, panel};

use crate::list::{State, Task, TaskList};
use crate::panel::TasksPanel;

const LIST: Cell<TaskList> = Cell::new(Scope::Project, "tasks");

/// The list now.
pub(crate) fn list() -> Result<TaskList> {
    Ok(LIST.get()?.unwrap_or_default())
}

/// Changes the list, and says so. Where another call changed it meanwhile, `change` runs again on theirs.
pub(crate) fn change<R>(mut change: impl FnMut(&mut TaskList) -> Result<R>) -> Result<R> {
    let (answer, list) = LIST.update(|list| Ok((change(list)?, list.clone())))?;
    if let Err(error) = plan::set(list.tasks().iter().map(entry)) {
        log::warn(format_args!("the plan was not updated: {error}")); // the list is kept all the same
    }
    panel::changed::<TasksPanel>();
    Ok(answer)
}

fn entry(task: &Task) -> plan::Entry {
    let status = match task.state {
        State::Open => Status::Pending,
        State::Started => Status::InProgress,
        State::Done => Status::Completed,
    };
    plan::Entry::new(task.text.clone()).status(status)
}
