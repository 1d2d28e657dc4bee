//! Where one block of Markdown ends and the next begins, told by the beginnings of lines.

/// What a block is, as far as its end depends on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text.
    Paragraph,
    /// One line that is a block of its own: a heading, a rule.
    Line,
    /// An item of a list, with all that is indented below it.
    Item,
    /// Lines that each begin with this.
    Lines(char),
    /// Anything else, until a line is empty.
    Other,
}

/// Where a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Before this byte.
    At(usize),
    /// More of the text must come first.
    Unknown,
}

/// The kind of block that this line begins, which is not empty and opens no block of code.
pub(super) fn kind(line: &str) -> Kind {
    let text = line.trim_start();
    if line.len() - text.len() > 3 {
        return Kind::Other;
    }
    match text.chars().next() {
        Some('#') if heading(text) => Kind::Line,
        Some('-' | '*' | '_') if rule(text) => Kind::Line,
        Some(mark @ ('>' | '|')) => Kind::Lines(mark),
        Some('<') => Kind::Other,
        Some(_) if item(text) => Kind::Item,
        Some(_) | None => Kind::Paragraph,
    }
}

/// Whether the beginning of a line is surely that of a paragraph.
pub(super) fn is_text(beginning: &str) -> bool {
    let follows = |marks: &[char]| beginning.trim_start_matches(marks).chars().next();
    match beginning.chars().next() {
        None | Some('#' | '>' | '-' | '+' | '|' | '<' | '~') => false,
        Some('*' | '_') => follows(&['*', '_']).is_some_and(|next| !next.is_whitespace()),
        Some('`') => follows(&['`']).is_some() && !beginning.starts_with("```"),
        Some('0'..='9') => {
            let next = follows(&['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
            next.is_some_and(|next| !matches!(next, '.' | ')'))
        }
        Some(first) => !first.is_whitespace(),
    }
}

/// The mark and the length of the fence that this line is, if it opens a block of code.
pub(super) fn opens(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let info = text.get(length..)?;
    (line.len() - text.len() <= 3 && length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length))
}

/// Whether this line ends a block of code with such a fence.
pub(super) fn closes(line: &str, mark: char, length: usize) -> bool {
    let text = line.trim();
    text.chars().count() >= length && text.chars().all(|c| c == mark)
}

/// The end of the block that `text` begins with, or goes on with.
pub(super) fn end(text: &str, kind: Kind) -> Next {
    let mut after_empty = false;
    let mut at = 0;
    while let Some(length) = text.get(at..).and_then(|rest| rest.find('\n')) {
        at += length + 1;
        if kind == Kind::Line {
            return Next::At(at);
        }
        let rest = text.get(at..).unwrap_or_default();
        let (line, whole) = rest.split_once('\n').map_or((rest, false), |(line, _)| (line, true));
        if line.trim().is_empty() {
            if !whole {
                return Next::Unknown;
            }
            if kind != Kind::Item {
                return Next::At(at);
            }
            after_empty = true;
            continue;
        }
        match ends_before(line, whole, kind, after_empty) {
            Some(true) => return Next::At(at),
            Some(false) => {}
            None => return Next::Unknown,
        }
    }
    Next::Unknown
}

/// Whether the block ends before this line; none where too little of the line is there to tell.
fn ends_before(line: &str, whole: bool, kind: Kind, after_empty: bool) -> Option<bool> {
    let indented = line.starts_with([' ', '\t']);
    match kind {
        Kind::Line => Some(true),
        Kind::Lines(mark) => Some(!line.trim_start().starts_with(mark)),
        Kind::Other => Some(false),
        Kind::Item if indented => Some(false),
        Kind::Item if after_empty => Some(true),
        Kind::Paragraph | Kind::Item if is_text(line) => Some(false),
        Kind::Paragraph | Kind::Item if item(line.trim_start()) && line.contains(' ') => Some(true),
        Kind::Paragraph | Kind::Item if whole => Some(opens(line).is_some() || self::kind(line) != Kind::Paragraph),
        Kind::Paragraph | Kind::Item => None,
    }
}

fn heading(text: &str) -> bool {
    let marks = text.chars().take_while(|c| *c == '#').count();
    marks <= 6 && text.get(marks..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn rule(text: &str) -> bool {
    let marks: String = text.split_whitespace().collect();
    marks.len() >= 3 && ['-', '*', '_'].into_iter().any(|mark| marks.chars().all(|c| c == mark))
}

fn item(text: &str) -> bool {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mark = text.get(digits..).unwrap_or_default();
    let rest = match digits {
        0 => mark.strip_prefix(['-', '*', '+']),
        1..=9 => mark.strip_prefix(['.', ')']),
        _ => None,
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}
