//! What a model writes, as a person reads it on a terminal: its Markdown rendered, as soon as that can be told.
//!
//! [`Styled`] takes text as it comes and gives what can be shown for good: nothing that was given is ever taken back, so
//! the terminal's cursor is not moved and other output may come in between. A paragraph is given word by word, where no
//! mark in it waits for its other half; a block of code line by line; anything else when it is complete. The only codes
//! in it are those that this room writes, each ended in the same piece: what commands a terminal is taken out of the
//! text, also where it was spelled as an entity. Pure; knows nothing about streams. Tested below, piece by piece.

mod blocks;
mod inline;
mod render;

use std::borrow::Cow;

use self::blocks::{Kind, Next};
use self::render::Renderer;
use super::transcript::harmless;

/// How a stream is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Every byte as it is: for files and programs.
    Exact,
    /// For a terminal that shows only text.
    Plain,
    /// For a terminal that has bold and italic letters, and perhaps colours.
    Styled { colours: bool },
}

impl Look {
    /// That of a stream, from what the environment says of the terminal.
    pub(super) fn of(is_terminal: bool, environment: impl Fn(&str) -> Option<String>) -> Self {
        if !is_terminal {
            return Self::Exact;
        }
        match environment("TERM").as_deref() {
            None | Some("dumb") => Self::Plain,
            Some(_) => Self::Styled { colours: environment("NO_COLOR").is_none() },
        }
    }

    /// Text that is no Markdown.
    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => text.into(),
            Self::Plain | Self::Styled { .. } => harmless(text),
        }
    }
}

/// Bytes of a block that are waited for. What is larger is shown as far as it is there.
const MOST: usize = 32 << 10;

/// Text on its way to a terminal.
pub(super) struct Styled {
    renderer: Renderer,
    pending: String,
    place: Place,
}

/// Where in the text what is pending begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a block.
    Start,
    /// In a paragraph of which some was given.
    Paragraph,
    /// In a block of code, which such a line ends.
    Code { mark: char, length: usize },
}

impl Styled {
    pub(super) fn new(colours: bool) -> Self {
        Self { renderer: Renderer { colours }, pending: String::new(), place: Place::Start }
    }

    /// Takes more of the text, and gives what can be shown now.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.pending.push_str(&harmless(text));
        let mut out = String::new();
        while self.step(&mut out) {}
        out
    }

    /// Gives what is left. What comes after it begins a new text.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        while self.step(&mut out) {}
        let rest = std::mem::take(&mut self.pending);
        match self.place {
            Place::Code { mark, length } if blocks::closes(&rest, mark, length) => {}
            Place::Code { .. } => out.push_str(&self.renderer.code(&rest)),
            Place::Paragraph => out.push_str(&self.renderer.inline(&rest)),
            Place::Start => match blocks::opens(&rest) {
                Some(_) => {}
                None if blocks::kind(&rest) == Kind::Paragraph => out.push_str(&self.renderer.inline(&rest)),
                None => out.push_str(&self.renderer.block(&rest)),
            },
        }
        self.place = Place::Start;
        out
    }

    /// Gives the next piece; false where more must come first.
    fn step(&mut self, out: &mut String) -> bool {
        match self.place {
            Place::Code { mark, length } => self.code_line(mark, length, out),
            Place::Paragraph => self.paragraph(out),
            Place::Start => self.start(out),
        }
    }

    fn code_line(&mut self, mark: char, length: usize, out: &mut String) -> bool {
        let Some(line) = self.take_line() else { return false };
        if blocks::closes(&line, mark, length) {
            self.place = Place::Start;
        } else {
            out.push_str(&self.renderer.code(&line));
        }
        true
    }

    fn start(&mut self, out: &mut String) -> bool {
        let Some(end) = self.pending.find('\n') else {
            // The beginning of a line is enough to know some paragraphs by.
            if blocks::is_text(&self.pending) {
                self.place = Place::Paragraph;
                return true;
            }
            return false;
        };
        let line = self.pending.get(..end).unwrap_or_default();
        if line.trim().is_empty() {
            self.pending.drain(..=end);
            out.push('\n');
            return true;
        }
        if let Some((mark, length)) = blocks::opens(line) {
            self.pending.drain(..=end);
            self.place = Place::Code { mark, length };
            return true;
        }
        let kind = blocks::kind(line);
        if kind == Kind::Paragraph {
            self.place = Place::Paragraph;
            return true;
        }
        match blocks::end(&self.pending, kind) {
            Next::At(end) => self.give_block(end, out),
            Next::Unknown if self.pending.len() > MOST => self.give_block(self.pending.len(), out),
            Next::Unknown => return false,
        }
        true
    }

    fn give_block(&mut self, end: usize, out: &mut String) {
        let block: String = self.pending.drain(..end).collect();
        out.push_str(&self.renderer.block(&block));
        if block.trim_end_matches([' ', '\t']).ends_with("\n\n") {
            out.push('\n');
        }
    }

    fn paragraph(&mut self, out: &mut String) -> bool {
        let (most, over) = match blocks::end(&self.pending, Kind::Paragraph) {
            Next::At(end) => (end, true),
            Next::Unknown => (inline::settled(&self.pending, self.pending.len() > MOST), false),
        };
        let text: String = self.pending.drain(..most).collect();
        out.push_str(&self.renderer.inline(&text));
        if over {
            self.place = Place::Start;
        }
        over
    }

    fn take_line(&mut self) -> Option<String> {
        let end = self.pending.find('\n')?;
        Some(self.pending.drain(..=end).collect())
    }
}

#[cfg(test)]
mod tests;
