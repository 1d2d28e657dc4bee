//! Tells code, comments and blank lines of one text apart.
//!
//! A line with any code on it is code, as is every line of a text literal; a line with nothing but comment is comment;
//! a line with nothing but space is blank, wherever it stands. Works on bytes, so any encoding that extends ASCII does.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::languages::{Syntax, Text};

/// Numbers of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lines {
    /// With code on them.
    pub(crate) code: u64,
    /// With nothing but comment.
    pub(crate) comments: u64,
    /// With nothing.
    pub(crate) blank: u64,
}

impl Lines {
    /// All of them.
    pub(crate) fn total(self) -> u64 {
        self.code + self.comments + self.blank
    }
}

impl AddAssign for Lines {
    fn add_assign(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.blank += other.blank;
    }
}

/// What goes on from one line to the next.
enum Within {
    Code,
    Comment { begin: &'static str, end: &'static str, depth: usize },
    Text(&'static Text),
}

/// What was found on one line.
#[derive(Default)]
struct Found {
    code: bool,
    comment: bool,
}

/// Counts the lines of `text`.
pub(crate) fn lines(text: &[u8], syntax: &'static Syntax) -> Lines {
    let mut counted = Lines::default();
    let mut within = Within::Code;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            counted.blank += 1;
            continue;
        }
        let found = scan(line, syntax, &mut within);
        if found.code {
            counted.code += 1;
        } else {
            counted.comments += u64::from(found.comment);
        }
    }
    counted
}

fn scan(line: &[u8], syntax: &'static Syntax, within: &mut Within) -> Found {
    let mut found = Found::default();
    let mut rest = line;
    while !rest.is_empty() {
        let taken = match within {
            Within::Code => {
                let Some(taken) = in_code(rest, syntax, within, &mut found) else { break };
                taken
            }
            Within::Comment { begin, end, depth } => {
                found.comment = true;
                if rest.starts_with(end.as_bytes()) {
                    let length = end.len();
                    *depth -= 1;
                    if *depth == 0 {
                        *within = Within::Code;
                    }
                    length
                } else if syntax.nested && rest.starts_with(begin.as_bytes()) {
                    *depth += 1;
                    begin.len()
                } else {
                    1
                }
            }
            Within::Text(text) => {
                found.code = true;
                if text.escapes && rest.first() == Some(&b'\\') {
                    2
                } else if rest.starts_with(text.end.as_bytes()) {
                    let length = text.end.len();
                    *within = Within::Code;
                    length
                } else {
                    1
                }
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    if matches!(within, Within::Text(text) if !text.multiline) {
        *within = Within::Code;
    }
    found
}

/// Looks at what begins at `rest` and says how many bytes it takes; none where a comment takes the rest of the line.
fn in_code(rest: &[u8], syntax: &'static Syntax, within: &mut Within, found: &mut Found) -> Option<usize> {
    let begins = |with: &str| rest.starts_with(with.as_bytes());
    if let Some((begin, end)) = syntax.block.iter().find(|(begin, _)| begins(begin)) {
        found.comment = true;
        *within = Within::Comment { begin, end, depth: 1 };
        return Some(begin.len());
    }
    if syntax.line.iter().any(|begin| begins(begin)) {
        found.comment = true;
        return None;
    }
    if rest.first().is_some_and(u8::is_ascii_whitespace) {
        return Some(1);
    }
    found.code = true;
    if syntax.characters
        && let Some(length) = character(rest)
    {
        return Some(length);
    }
    if let Some(text) = syntax.strings.iter().find(|text| begins(text.begin)) {
        *within = Within::Text(text);
        return Some(text.begin.len());
    }
    Some(1)
}

/// The length of a character literal: `'x'` or `'\x'`. A lifetime or a generic quote is none.
fn character(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'\'', b'\\', _, b'\'', ..] => Some(4),
        [b'\'', _, b'\'', ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::languages;

    fn counted(file: &str, text: &str) -> (u64, u64, u64) {
        let language = languages::of_path(Path::new(file)).unwrap();
        let lines = lines(text.as_bytes(), language.syntax);
        assert_eq!(lines.total(), text.lines().count() as u64, "{text:?}");
        (lines.code, lines.comments, lines.blank)
    }

    #[test]
    fn code_comments_and_blank_lines() {
        for (file, text, expected) in [
            ("a.rs", "", (0, 0, 0)),
            ("a.rs", "fn a() {}\n\n// b\n", (1, 1, 1)),
            ("a.rs", "fn a() {} // code with a comment\n", (1, 0, 0)),
            ("a.rs", "/* one\n\ntwo */ fn a() {}\n", (1, 1, 1)),
            ("a.rs", "/* /* nested */ still */\nx\n", (1, 1, 0)),
            ("a.c", "/* /* not nested */ x;\n", (1, 0, 0)),
            ("a.rs", "let a = \"// no comment\";\n", (1, 0, 0)),
            ("a.rs", "let a = \"/*\";\nlet b = 1;\n", (2, 0, 0)),
            ("a.rs", "let a = '\"'; // b\n// c\n", (1, 1, 0)),
            ("a.rs", "fn a<'a>(b: &'a str) {}\n// c\n", (1, 1, 0)),
            ("a.rs", "let a = r#\"\n// text\n\"#;\n// c\n", (3, 1, 0)),
            ("a.rs", "let a = \"\\\\\"; // b\n// c\n", (1, 1, 0)),
            ("a.c", "char *a = \"open;\n/* c */\n", (1, 1, 0)),
            ("a.py", "\"\"\"Doc\n# text\n\"\"\"\n# c\n", (3, 1, 0)),
            ("a.py", "x = '#'  # c\n", (1, 0, 0)),
            ("a.js", "`// ${a}\n// b`\n// c\n", (2, 1, 0)),
            ("a.lua", "--[[ a\nb ]]\n-- c\nd = 1\n", (1, 3, 0)),
            ("a.sql", "-- a\nSELECT '--'\n", (1, 1, 0)),
            ("a.html", "<!-- a\nb -->\n<p>\n", (1, 2, 0)),
            ("a.toml", "# a\r\n\r\nb = 1\r\n", (1, 1, 1)),
            ("a.json", "{\n}", (2, 0, 0)),
            ("a.md", "# Title\n\nText\n", (2, 0, 1)),
        ] {
            assert_eq!(counted(file, text), expected, "{text:?}");
        }
    }

    #[test]
    fn any_bytes_are_counted() {
        let syntax = languages::of_path(Path::new("a.rs")).unwrap().syntax;
        let text = b"\xff\xfe\n'\\\n\"\\\n\x00/*";
        assert_eq!(lines(text, syntax).total(), 4);
    }
}
