//! Keeping what the model is shown in bounds.

use acp_runtime_agent::noun::counted;

/// The most text that one call gives to the model, in bytes.
pub(super) const MOST_TEXT: usize = 64 * 1024;

/// The most of one line, in characters.
const MOST_LINE: usize = 2000;

/// Lines that stay within [`MOST_TEXT`], room for closing notes included.
#[derive(Default)]
pub(super) struct Capped {
    text: String,
    /// How many lines were taken.
    pub(super) lines: usize,
}

impl Capped {
    /// Takes a line, or says that it does not fit any more.
    pub(super) fn push(&mut self, line: &str) -> bool {
        const NOTES: usize = 1024;
        let line = clipped(line);
        if self.text.len() + line.len() + 1 > MOST_TEXT - NOTES {
            return false;
        }
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&line);
        self.lines += 1;
        true
    }

    /// The text, with notes on what is missing and how to get it.
    pub(super) fn finish(mut self, notes: impl IntoIterator<Item = String>) -> String {
        for (number, note) in notes.into_iter().enumerate() {
            self.text.push_str(if number == 0 { "\n\n[" } else { "\n[" });
            self.text.push_str(&note);
            self.text.push(']');
        }
        self.text
    }
}

fn clipped(line: &str) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(MOST_LINE) {
        Some((end, _)) => {
            let (shown, rest) = line.split_at(end);
            format!("{shown}… [{} in this line]", counted(rest.chars().count(), "more character")).into()
        }
        None => line.into(),
    }
}
