//! Writes a survey down: a Markdown table for readers, and a value for programs.

use std::fmt::{Display, Write};

use serde::Serialize;

use crate::count::Lines;
use crate::survey::{Bounds, Cut, Survey};

/// A survey for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// How many files were counted.
    pub(crate) files: usize,
    /// Their lines.
    pub(crate) total: Lines,
    /// By language or by file, as asked.
    pub(crate) rows: Vec<Row>,
    /// Whether a limit stopped the count before the end.
    pub(crate) complete: bool,
}

/// One row.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The language, or the path of the file.
    pub(crate) name: String,
    /// How many files.
    pub(crate) files: usize,
    /// Their lines.
    #[serde(flatten)]
    pub(crate) lines: Lines,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    /// One row for each language.
    #[default]
    Language,
    /// One row for each file.
    File,
}

impl Report {
    /// The first `limit` rows of the survey.
    pub(crate) fn new(survey: &Survey, by: By, limit: usize) -> Self {
        let rows = match by {
            By::Language => {
                let languages = survey.languages().into_iter().take(limit);
                languages.map(|(name, files, lines)| Row { name: name.to_owned(), files, lines }).collect()
            }
            By::File => {
                let files = survey.files.iter().take(limit);
                files.map(|file| Row { name: file.label.clone(), files: 1, lines: file.lines }).collect()
            }
        };
        Self { files: survey.files.len(), total: survey.total(), rows, complete: survey.cut.is_none() }
    }

    /// The table, and what it leaves out.
    pub(crate) fn to_markdown(&self, survey: &Survey, by: By, bounds: &Bounds) -> String {
        let mut text = String::new();
        let (head, all) = match by {
            By::Language => ("Language", survey.languages().len()),
            By::File => ("File", self.files),
        };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "| {head} | Files | Code | Comments | Blank | Lines |");
        let _ = writeln!(text, "|---|---:|---:|---:|---:|---:|");
        let total = Row { name: "**Total**".to_owned(), files: self.files, lines: self.total };
        for Row { name, files, lines } in self.rows.iter().chain([&total]) {
            let Lines { code, comments, blank } = lines;
            let name = name.replace('|', "\\|");
            let _ = writeln!(text, "| {name} | {files} | {code} | {comments} | {blank} | {} |", lines.total());
        }
        for note in notes(survey, bounds, all.saturating_sub(self.rows.len())) {
            let _ = write!(text, "\n{note}");
        }
        text
    }
}

/// A number and what it counts: `1 file`, `2 files`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let end = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// What the table does not show.
fn notes(survey: &Survey, bounds: &Bounds, more_rows: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if more_rows > 0 {
        notes.push(format!("Rows left out: {more_rows}. Raise `limit` to see them."));
    }
    match survey.cut {
        Some(Cut::Files(files)) => {
            notes.push(format!(
                "Stopped after {}: give a `path` to count a part of the project.",
                counted(files, "file")
            ));
        }
        Some(Cut::Time(time)) => {
            let seconds = time.as_secs();
            notes.push(format!("Stopped after {seconds} s: give a `path` to count a part of the project."));
        }
        None => {}
    }
    if survey.too_large > 0 {
        let size = bounds.file_size / 1024;
        notes.push(format!("Files larger than {size} KiB, skipped: {}.", survey.too_large));
    }
    if survey.unreadable > 0 {
        notes.push(format!("Files or folders that could not be read: {}.", survey.unreadable));
    }
    if survey.unnamed > 0 {
        notes.push(format!("Names that could not be read, since they are no Unicode: {}.", survey.unnamed));
    }
    notes
}
