//! The tools that the model calls. Each answers the whole list, so that the model need not ask again.

use acp_plugin::{Call, Outcome, Result, SideEffect, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::list::State;
use crate::shared;

/// The arguments of `add`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// What is to be done, in one line. Several lines make several tasks.
    text: String,
}

/// The arguments of `list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// The arguments of `start`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The number of the task.
    id: u64,
}

/// The arguments of `done`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The number of the task.
    id: u64,
}

/// The arguments of `delete`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// The number of the task.
    id: u64,
}

/// The arguments of `clear`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clear {
    /// Only those that are done.
    #[serde(default)]
    done_only: bool,
}

impl Tool for Add {
    const NAME: &str = "add";
    const TITLE: Option<&str> = Some("Add tasks");
    const DESCRIPTION: &str = "Adds tasks to the project's list, which the user sees as well. Use it at the beginning \
         of work with several steps, and whenever a new step turns up.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::External];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let added = shared::change(|list| list.add(&self.text))?;
        answer(&format!("Added {}.", count(added.len())))
    }
}

impl Tool for List {
    const NAME: &str = "list";
    const TITLE: Option<&str> = Some("List tasks");
    const DESCRIPTION: &str = "Lists the project's tasks with their numbers and states.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        answer("")
    }
}

impl Tool for Start {
    const NAME: &str = "start";
    const TITLE: Option<&str> = Some("Start a task");
    const DESCRIPTION: &str = "Marks a task as being worked on. Use it when you begin with the task.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::External];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let task = shared::change(|list| list.set(self.id, State::Started))?;
        answer(&format!("Started task {}.", task.id))
    }
}

impl Tool for Done {
    const NAME: &str = "done";
    const TITLE: Option<&str> = Some("Finish a task");
    const DESCRIPTION: &str = "Marks a task as done. Use it as soon as the task is finished.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::External];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let task = shared::change(|list| list.set(self.id, State::Done))?;
        answer(&format!("Task {} is done.", task.id))
    }
}

impl Tool for Delete {
    const NAME: &str = "delete";
    const TITLE: Option<&str> = Some("Delete a task");
    const DESCRIPTION: &str = "Takes a task off the list. Use it for a task that is no longer wanted.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::External];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let task = shared::change(|list| list.delete(self.id))?;
        answer(&format!("Deleted task {}.", task.id))
    }
}

impl Tool for Clear {
    const NAME: &str = "clear";
    const TITLE: Option<&str> = Some("Clear tasks");
    const DESCRIPTION: &str = "Takes all tasks off the list, or only those that are done.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::External];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let cleared = shared::change(|list| Ok(list.clear(self.done_only)))?;
        answer(&format!("Cleared {}.", count(cleared)))
    }
}

/// `what` happened, and the list as it is now.
fn answer(what: &str) -> Result<Outcome> {
    let list = shared::list()?;
    let text = if what.is_empty() { list.to_string() } else { format!("{what}\n\n{list}") };
    Outcome::markdown(text).structured(&list.tasks())
}

pub(crate) fn count(tasks: usize) -> String {
    if tasks == 1 { "1 task".to_owned() } else { format!("{tasks} tasks") }
}
