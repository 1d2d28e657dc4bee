//! The tools that the model calls.

use acp_plugin::{Call, Outcome, Result, SideEffect, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::moment::Moment;
use crate::notebook::{self, MOST_HITS};

/// The arguments of `add`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// What to note down, as Markdown.
    text: String,
    /// The note to add to; made where there is none. Without it, the text becomes a bullet in today's note.
    #[serde(default)]
    title: Option<String>,
}

/// The arguments of `list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

/// The arguments of `read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The note's name, as `list` shows it.
    note: String,
}

/// The arguments of `search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// A word or a part of a line; upper and lower case are the same.
    query: String,
}

impl Tool for Add {
    const NAME: &str = "add";
    const TITLE: Option<&str> = Some("Add a note");
    const DESCRIPTION: &str = "Adds to a note in the project's folder notes/. Use it for what should be remembered \
         beyond this conversation: decisions, findings, open questions.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Write];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let note = match &self.title {
            Some(title) => notebook::write(title, &self.text)?,
            None => notebook::jot(&self.text, &Moment::now())?,
        };
        let path = notebook::path(&note);
        Ok(Outcome::text(format!("Added to `{path}`.")).at(path, None))
    }
}

impl Tool for List {
    const NAME: &str = "list";
    const TITLE: Option<&str> = Some("List notes");
    const DESCRIPTION: &str = "Lists the notes in the project's folder notes/.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Read];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let notes = notebook::list()?;
        let text = if notes.is_empty() { "There are no notes.".to_owned() } else { notes.join("\n") };
        Outcome::text(text).structured(&notes)
    }
}

impl Tool for Read {
    const NAME: &str = "read";
    const TITLE: Option<&str> = Some("Read a note");
    const DESCRIPTION: &str = "Reads one note from the project's folder notes/.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Read];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let note = notebook::name(&self.note)?;
        Ok(Outcome::markdown(notebook::read(&note)?).at(notebook::path(&note), None))
    }
}

impl Tool for Search {
    const NAME: &str = "search";
    const TITLE: Option<&str> = Some("Search notes");
    const DESCRIPTION: &str = "Finds lines in the notes of the project. Use it before work on something that may have \
         been decided or found out earlier.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Read];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let (hits, more) = notebook::search(&self.query)?;
        let mut lines: Vec<String> =
            hits.iter().map(|hit| format!("{}:{}: {}", notebook::path(&hit.note), hit.line, hit.text)).collect();
        if hits.is_empty() {
            lines.push(format!("No note contains `{}`.", self.query.trim()));
        }
        if more {
            lines.push(format!("There are more than {MOST_HITS} lines: search for something more particular."));
        }
        let outcome = Outcome::text(lines.join("\n")).structured(&hits)?;
        Ok(hits.iter().take(10).fold(outcome, |outcome, hit| outcome.at(notebook::path(&hit.note), Some(hit.line))))
    }
}
