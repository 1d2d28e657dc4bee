//! How far a paragraph that is still being written can be shown.

/// How many bytes at its beginning mean the same whatever comes next: whole words, in which no mark waits for its other
/// half. `all`: whole words are enough.
pub(super) fn settled(text: &str, all: bool) -> usize {
    let mut settled = 0;
    let mut open = Open::default();
    let mut rest = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        // A line's end may be that of the paragraph, and is given with what follows it.
        if c.is_whitespace() && c != '\n' && (all || open.is_empty()) {
            settled = at + c.len_utf8();
        }
        let run = |mark: char| text.get(at..).unwrap_or_default().chars().take_while(|c| *c == mark).count();
        let mut skip = |count: usize| {
            for _ in 0..count {
                rest.next();
            }
        };
        match c {
            '\\' => skip(1),
            '`' => {
                let length = run('`');
                let Some(code) = code_span(text.get(at..).unwrap_or_default(), length) else {
                    return if all { settled_anyway(text, settled) } else { settled };
                };
                skip(code - 1);
            }
            '*' | '_' | '~' => {
                let length = run(c);
                skip(length - 1);
                let after = text.get(at + length..).and_then(|rest| rest.chars().next());
                open.delimiter(c, length, before, after);
            }
            '[' | ']' | '<' | '>' | '(' | ')' => open.bracket(c, before, rest.peek().map(|(_, next)| *next)),
            _ => {}
        }
        before = c;
    }
    settled
}

/// What a code span that does not end holds up is given up to its last whole word.
fn settled_anyway(text: &str, settled: usize) -> usize {
    text.rfind(' ').map_or(settled, |at| settled.max(at + 1))
}

/// The characters of the code span that `text` begins with, fences included; none where it does not end.
fn code_span(text: &str, fence: usize) -> Option<usize> {
    let mut run = 0;
    for (count, c) in text.chars().chain([' ']).enumerate().skip(fence) {
        if c == '`' {
            run += 1;
        } else if run == fence && count < text.chars().count() {
            return Some(count);
        } else {
            run = 0;
        }
    }
    None
}

/// What waits for its other half.
#[derive(Default)]
struct Open(Vec<(char, usize)>);

impl Open {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Marks of emphasis: those between spaces, and underscores within a word, are none.
    fn delimiter(&mut self, mark: char, length: usize, before: char, after: Option<char>) {
        let alone = before.is_whitespace() && after.is_some_and(char::is_whitespace);
        let within = mark == '_' && before.is_alphanumeric() && after.is_some_and(char::is_alphanumeric);
        if alone || within {
            return;
        }
        self.turn((mark, length));
    }

    fn turn(&mut self, mark: (char, usize)) {
        if self.0.last() == Some(&mark) {
            self.0.pop();
        } else {
            self.0.push(mark);
        }
    }

    /// A link is text in brackets and an address in parentheses right behind it.
    fn bracket(&mut self, c: char, before: char, after: Option<char>) {
        match c {
            '[' => self.0.push(('[', 1)),
            ']' => {
                self.close('[');
                if after == Some('(') {
                    self.0.push(('(', 1));
                }
            }
            '(' if before != ']' && self.0.last() == Some(&('(', 1)) => self.0.push(('(', 1)),
            ')' => self.close('('),
            '<' if after.is_none_or(|after| after.is_alphabetic() || after == '/') => self.0.push(('<', 1)),
            '>' => self.close('<'),
            _ => {}
        }
    }

    fn close(&mut self, opened: char) {
        if self.0.last() == Some(&(opened, 1)) {
            self.0.pop();
        }
    }
}
