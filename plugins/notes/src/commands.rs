//! What people type.

use acp_plugin::{Command, Reply, Result};

use crate::moment::Moment;
use crate::notebook;

/// `/note TEXT`.
pub struct NoteCommand;

/// `/notes`.
pub struct NotesCommand;

impl Command for NoteCommand {
    const NAME: &str = "note";
    const DESCRIPTION: &str = "Notes something down in today's file in notes/.";
    const HINT: Option<&str> = Some("TEXT");

    fn run(arguments: &str) -> Result<Reply> {
        let note = notebook::jot(arguments, &Moment::now())?;
        Ok(Reply::text(format!("Noted in `{}`.", notebook::path(&note))))
    }
}

impl Command for NotesCommand {
    const NAME: &str = "notes";
    const DESCRIPTION: &str = "Lists the notes in notes/.";

    fn run(_arguments: &str) -> Result<Reply> {
        let notes = notebook::list()?;
        if notes.is_empty() {
            return Ok(Reply::text("There are no notes yet: `/note TEXT` begins one."));
        }
        let lines: Vec<String> = notes.iter().map(|note| format!("- `{}`", notebook::path(note))).collect();
        Ok(Reply::text(lines.join("\n")))
    }
}
