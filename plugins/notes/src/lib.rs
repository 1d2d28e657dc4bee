//! `notes`: notes as Markdown files in the project's folder `notes/`.
//!
//! Slash commands for people, tools for the model. All files are read and written through the editor, so a note is
//! shown as an edit before it is on disk. Tested natively with the SDK's double as the host.

mod commands;
mod moment;
mod notebook;
mod tools;

#[cfg(test)]
mod tests;

pub use crate::commands::{NoteCommand, NotesCommand};
pub use crate::tools::{Add, List, Read, Search};

acp_plugin::export! {
    tools: [Add, List, Read, Search],
    commands: [NoteCommand, NotesCommand],
}
