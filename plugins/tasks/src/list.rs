//! The list itself: what a task is and what may happen to it. Pure; knows nothing about the host.

use std::fmt;

use acp_plugin::{Error, Result};
use serde::{Deserialize, Serialize};

/// How many tasks fit into a list.
pub(crate) const MOST_TASKS: usize = 200;

/// How many characters fit into a task.
pub(crate) const MOST_CHARACTERS: usize = 500;

/// All tasks, in the order that they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskList {
    last_id: u64,
    tasks: Vec<Task>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Never used again in this list, even after the task is deleted.
    pub(crate) id: u64,
    /// One line.
    pub(crate) text: String,
    /// How far it is.
    pub(crate) state: State,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    Open,
    Started,
    Done,
}

impl TaskList {
    /// The tasks, in order.
    pub(crate) fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// How many are done.
    pub(crate) fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.state == State::Done).count()
    }

    /// Adds one task for each line of `text` that is not blank. All of them, or none.
    pub(crate) fn add(&mut self, text: &str) -> Result<Vec<Task>> {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Err(Error::invalid_args("the task has no text: say what is to be done"));
        }
        if let Some(long) = lines.iter().find(|line| line.chars().count() > MOST_CHARACTERS) {
            let begin: String = long.chars().take(40).collect();
            let message = format_args!("`{begin}…` has more than {MOST_CHARACTERS} characters: split or shorten it");
            return Err(Error::invalid_args(message));
        }
        if self.tasks.len() + lines.len() > MOST_TASKS {
            let message = format_args!("a list holds {MOST_TASKS} tasks: clear what is done first");
            return Err(Error::limit(message));
        }
        let first_new = self.tasks.len();
        for line in lines {
            self.last_id += 1;
            self.tasks.push(Task { id: self.last_id, text: line.to_owned(), state: State::Open });
        }
        Ok(self.tasks.iter().skip(first_new).cloned().collect())
    }

    /// Changes how far a task is, and answers it.
    pub(crate) fn set(&mut self, id: u64, state: State) -> Result<Task> {
        match self.tasks.iter_mut().find(|task| task.id == id) {
            Some(task) => {
                task.state = state;
                Ok(task.clone())
            }
            None => Err(self.missing(id)),
        }
    }

    /// Takes a task off the list, and answers it.
    pub(crate) fn delete(&mut self, id: u64) -> Result<Task> {
        match self.tasks.iter().position(|task| task.id == id) {
            Some(index) => Ok(self.tasks.remove(index)),
            None => Err(self.missing(id)),
        }
    }

    /// Takes every task off the list, or only those that are done; answers how many.
    pub(crate) fn clear(&mut self, done_only: bool) -> usize {
        let before = self.tasks.len();
        self.tasks.retain(|task| done_only && task.state != State::Done);
        before - self.tasks.len()
    }

    fn missing(&self, id: u64) -> Error {
        let ids: Vec<String> = self.tasks.iter().map(|task| task.id.to_string()).collect();
        let there =
            if ids.is_empty() { "the list is empty".to_owned() } else { format!("there are {}", ids.join(", ")) };
        Error::not_found(format_args!("there is no task {id}: {there}"))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.state {
            State::Open => "☐",
            State::Started => "◐",
            State::Done => "☑",
        };
        write!(f, "{mark} {}", self.text)
    }
}

impl fmt::Display for TaskList {
    /// One line for each task, and a sum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tasks.is_empty() {
            return f.write_str("There are no tasks.");
        }
        for task in &self.tasks {
            writeln!(f, "{}. {task}", task.id)?;
        }
        write!(f, "\n{} of {} done.", self.done(), self.tasks.len())
    }
}
