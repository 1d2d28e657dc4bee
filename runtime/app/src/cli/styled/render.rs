//! Blocks and lines of Markdown as text with codes for bold, italic and colours.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::transcript::harmless;

const BOLD: Style = Style("\x1b[1m", "\x1b[22m");
const DIM: Style = Style("\x1b[2m", "\x1b[22m");
const ITALIC: Style = Style("\x1b[3m", "\x1b[23m");
const UNDERLINED: Style = Style("\x1b[4m", "\x1b[24m");
const STRUCK: Style = Style("\x1b[9m", "\x1b[29m");
const CYAN: Style = Style("\x1b[36m", "\x1b[39m");

/// The codes that begin and end it.
struct Style(&'static str, &'static str);

/// Renders pieces, each by itself.
pub(super) struct Renderer {
    pub(super) colours: bool,
}

impl Renderer {
    /// A whole block.
    pub(super) fn block(&self, text: &str) -> String {
        let mut page = Page::new(self.colours);
        Parser::new_ext(text, extensions()).for_each(|event| page.event(event));
        page.end_line();
        page.out
    }

    /// A piece of a paragraph, from the beginning of one word to the end of another.
    pub(super) fn inline(&self, text: &str) -> String {
        let words = text.trim();
        let (before, after) = text.split_once(words).filter(|_| !words.is_empty()).unwrap_or((text, ""));
        // With a full stop in front nothing in the middle of a line is the beginning of a block.
        let mut page = Page::new(self.colours);
        let stopped = format!(".{words}");
        if !words.is_empty() {
            Parser::new_ext(&stopped, extensions()).for_each(|event| page.event(event));
        }
        let words = page.out.trim_end_matches('\n').replacen('.', "", 1);
        format!("{before}{words}{after}")
    }

    /// A line of code, or the beginning of one.
    pub(super) fn code(&self, line: &str) -> String {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        match text {
            "" => end.to_owned(),
            text if self.colours => format!("  {}{text}{}{end}", CYAN.0, CYAN.1),
            text => format!("  {text}{end}"),
        }
    }
}

fn extensions() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A cell, and how wide it is on the screen.
type Cell = (String, usize);

#[derive(Default)]
struct Page {
    colours: bool,
    out: String,
    /// Whether nothing stands on the last line yet.
    at_start: bool,
    /// For each list that is open its next number, or none for bullets.
    lists: Vec<Option<u64>>,
    /// What stands before each line: bars of quotes, and the spaces below items.
    indents: Vec<String>,
    /// The mark of an item whose text has not begun.
    mark: Option<String>,
    /// Whether a block stands before the next one in what both are in.
    follows: bool,
    rows: Vec<Vec<Cell>>,
    cell: Option<Cell>,
    /// Where a link leads, and where its text begins.
    links: Vec<(String, String)>,
    writing: Writing,
}

/// What a text is a piece of.
#[derive(Default, PartialEq, Eq)]
enum Writing {
    #[default]
    Words,
    /// A block of code.
    Code,
}

impl Page {
    fn new(colours: bool) -> Self {
        Self { colours, at_start: true, ..Self::default() }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) if self.writing == Writing::Code => {
                text.split_inclusive('\n').for_each(|line| self.code_line(line));
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.put(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.code_span(&text),
            Event::SoftBreak | Event::HardBreak => self.put(if self.cell.is_some() { " " } else { "\n" }),
            Event::Rule => {
                self.open_block();
                self.style(DIM.0);
                self.put(&"─".repeat(24));
                self.style(DIM.1);
                self.end_line();
            }
            Event::TaskListMarker(done) => self.put(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => self.put(&format!("[^{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open_block(),
            Tag::Heading { level, .. } => {
                self.open_block();
                self.style(BOLD.0);
                if level == HeadingLevel::H1 {
                    self.style(UNDERLINED.0);
                }
            }
            Tag::BlockQuote(_) => {
                self.open_block();
                self.indents.push("│ ".to_owned());
                self.follows = false;
            }
            Tag::CodeBlock(_) => {
                self.open_block();
                self.writing = Writing::Code;
            }
            Tag::List(first) => {
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                self.indents.push(" ".repeat(mark.width()));
                self.mark = Some(mark);
                self.follows = false;
            }
            Tag::Table(_) => self.open_block(),
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            Tag::TableCell => self.cell = Some(Cell::default()),
            Tag::Emphasis => self.style(ITALIC.0),
            Tag::Strong => self.style(BOLD.0),
            Tag::Strikethrough => self.style(STRUCK.0),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), String::new()));
                self.style(UNDERLINED.0);
            }
            Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), String::new()));
                self.put("[image: ");
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(level) => {
                if level == HeadingLevel::H1 {
                    self.style(UNDERLINED.1);
                }
                self.style(BOLD.1);
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.indents.pop();
                self.follows = true;
            }
            TagEnd::CodeBlock => {
                self.writing = Writing::Words;
                self.end_block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_block();
            }
            TagEnd::Item => {
                if self.mark.is_some() {
                    self.put("");
                }
                self.end_line();
                self.indents.pop();
            }
            TagEnd::Table => self.table(),
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::TableCell => {
                let cell = self.cell.take().unwrap_or_default();
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis => self.style(ITALIC.1),
            TagEnd::Strong => self.style(BOLD.1),
            TagEnd::Strikethrough => self.style(STRUCK.1),
            TagEnd::Link => {
                self.style(UNDERLINED.1);
                self.address();
            }
            TagEnd::Image => {
                self.put("]");
                self.address();
            }
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Where a link leads is always to be seen: its text may say something else.
    fn address(&mut self) {
        if let Some((address, text)) = self.links.pop()
            && address != text
        {
            self.style(DIM.0);
            self.put(&format!(" ({address})"));
            self.style(DIM.1);
        }
    }

    fn open_block(&mut self) {
        self.end_line();
        if self.follows && self.mark.is_none() {
            let bars = self.indents.concat();
            self.out.push_str(bars.trim_end());
            self.out.push('\n');
        }
        self.follows = false;
    }

    fn end_block(&mut self) {
        self.end_line();
        self.follows = true;
    }

    fn end_line(&mut self) {
        if !self.at_start {
            self.out.push('\n');
            self.at_start = true;
        }
    }

    fn style(&mut self, code: &str) {
        if let Some((cell, _)) = &mut self.cell {
            cell.push_str(code);
            return;
        }
        self.begin_line();
        self.out.push_str(code);
    }

    fn begin_line(&mut self) {
        if !self.at_start {
            return;
        }
        self.at_start = false;
        let mark = self.mark.take();
        let (own, outer) = match (&mark, self.indents.split_last()) {
            (Some(mark), Some((_, outer))) => (mark.as_str(), outer),
            (Some(_) | None, _) => ("", self.indents.as_slice()),
        };
        outer.iter().for_each(|indent| self.out.push_str(indent));
        self.out.push_str(own);
    }

    /// Text of others, also what an entity stood for.
    fn put(&mut self, text: &str) {
        let text = harmless(text);
        if let Some((_, seen)) = self.links.last_mut() {
            seen.push_str(&text);
        }
        if let Some((cell, width)) = &mut self.cell {
            cell.push_str(&text);
            *width += text.width();
            return;
        }
        for (count, line) in text.split('\n').enumerate() {
            if count > 0 {
                self.begin_line();
                self.end_line();
            }
            if !line.is_empty() || self.mark.is_some() {
                self.begin_line();
                self.out.push_str(line);
            }
        }
    }

    fn code_span(&mut self, text: &str) {
        if self.colours {
            self.style(CYAN.0);
            self.put(text);
            self.style(CYAN.1);
        } else {
            self.put(&format!("`{text}`"));
        }
    }

    fn code_line(&mut self, line: &str) {
        let text = line.trim_end_matches('\n');
        self.begin_line();
        if !text.is_empty() {
            self.out.push_str("  ");
            if self.colours {
                self.style(CYAN.0);
            }
            self.put(text);
            if self.colours {
                self.style(CYAN.1);
            }
        }
        if line.ends_with('\n') {
            self.end_line();
        }
    }

    fn table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|(_, width)| *width).max();
        let widths: Vec<usize> = (0..columns).map(|column| wide(column).unwrap_or(0)).collect();
        for (count, row) in rows.iter().enumerate() {
            let head = count == 0;
            for (column, (text, width)) in row.iter().enumerate() {
                self.begin_line();
                let fill = widths.get(column).map_or(0, |widest| widest - width);
                let (on, off) = if head { (BOLD.0, BOLD.1) } else { ("", "") };
                let gap = if column + 1 == row.len() { String::new() } else { " ".repeat(fill + 2) };
                [on, text.as_str(), off, gap.as_str()].iter().for_each(|part| self.out.push_str(part));
            }
            self.end_line();
            if head {
                self.style(DIM.0);
                let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                self.out.push_str(&lines.join("  "));
                self.style(DIM.1);
                self.end_line();
            }
        }
        self.follows = true;
    }
}
