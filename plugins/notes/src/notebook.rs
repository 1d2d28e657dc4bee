//! The folder of notes: what a note is called, and how it is listed, read, extended and searched.

use acp_plugin::workspace::{self, Kind};
use acp_plugin::{Error, ErrorKind, Result, progress};

use crate::moment::Moment;

/// The only folder that is touched.
pub(crate) const FOLDER: &str = "notes";

/// How many lines a search finds at most.
pub(crate) const MOST_HITS: usize = 50;

/// How many characters a note's name may have.
const MOST_NAME: usize = 80;

/// A line that a search found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Hit {
    /// The note's name.
    pub(crate) note: String,
    /// Counted from 1.
    pub(crate) line: u32,
    /// Without the space around it.
    pub(crate) text: String,
}

/// The path of a note.
pub(crate) fn path(note: &str) -> String {
    format!("{FOLDER}/{note}.md")
}

/// Makes a name out of what somebody calls a note: lower case, with `-` between the words.
pub(crate) fn name(title: &str) -> Result<String> {
    let title = title.trim();
    let title = title.strip_suffix(".md").unwrap_or(title);
    let mut name = String::new();
    for character in title.chars().flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            name.push(character);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() || name.chars().count() > MOST_NAME {
        let message = format_args!("`{title}` cannot name a note: give 1 to {MOST_NAME} letters or digits");
        return Err(Error::invalid_args(message));
    }
    Ok(name.to_owned())
}

/// The names of all notes, sorted. None where there is no folder yet.
pub(crate) fn list() -> Result<Vec<String>> {
    let entries = match workspace::list(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind() == &ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let files = entries.into_iter().filter(|entry| entry.kind == Kind::File);
    let mut names: Vec<_> = files.filter_map(|file| file.name.strip_suffix(".md").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

/// The text of a note.
pub(crate) fn read(note: &str) -> Result<String> {
    workspace::read(&path(note)).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::not_found(format_args!("there is no note `{note}`: `list` shows what there is")),
        _ => error,
    })
}

/// Appends a bullet with the time to the day's note and answers the note's name. Further lines are indented.
pub(crate) fn jot(text: &str, moment: &Moment) -> Result<String> {
    let text = not_blank(text)?.lines().map(str::trim_end).collect::<Vec<_>>().join("\n  ");
    append(&moment.date, &format!("- {} {text}\n", moment.time))?;
    Ok(moment.date.clone())
}

/// Appends a paragraph to the note with that title and answers the note's name.
pub(crate) fn write(title: &str, text: &str) -> Result<String> {
    let note = name(title)?;
    append(&note, &format!("{}\n", not_blank(text)?))?;
    Ok(note)
}

/// The lines with `query` in them, whatever the case, and whether there are more than [`MOST_HITS`].
pub(crate) fn search(query: &str) -> Result<(Vec<Hit>, bool)> {
    let query = not_blank(query)?.to_lowercase();
    let mut hits = Vec::new();
    for note in list()? {
        progress::check()?;
        for (line, text) in (1..).zip(read(&note)?.lines()) {
            if !text.to_lowercase().contains(&query) {
                continue;
            }
            if hits.len() == MOST_HITS {
                return Ok((hits, true));
            }
            hits.push(Hit { note: note.clone(), line, text: text.trim().to_owned() });
        }
    }
    Ok((hits, false))
}

/// Adds to a note, or begins it with its name as the heading.
fn append(note: &str, text: &str) -> Result<()> {
    let path = path(note);
    let mut whole = match workspace::read(&path) {
        Ok(whole) => whole,
        Err(error) if error.kind() == &ErrorKind::NotFound => format!("# {note}\n"),
        Err(error) => return Err(error),
    };
    if !whole.ends_with('\n') {
        whole.push('\n');
    }
    let list_goes_on = text.starts_with("- ") && whole.lines().last().is_some_and(|line| line.starts_with(['-', ' ']));
    if !list_goes_on {
        whole.push('\n');
    }
    workspace::write(&path, &(whole + text))
}

fn not_blank(text: &str) -> Result<&str> {
    let text = text.trim();
    if text.is_empty() {
        Err(Error::invalid_args("there is no text: say what to note or to look for"))
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        for (title, expected) in [
            ("Release plan", Some("release-plan")),
            ("2026-11-30.md", Some("2026-11-30")),
            ("  Größe & Maß! ", Some("größe-maß")),
            ("../../etc/passwd", Some("etc-passwd")),
            ("/workspace/src/lib.rs", Some("workspace-src-lib-rs")),
            ("..", None),
            ("", None),
            (".md", None),
        ] {
            assert_eq!(name(title).ok().as_deref(), expected, "{title}");
        }
        assert!(name(&"x".repeat(MOST_NAME + 1)).is_err());
    }
}
