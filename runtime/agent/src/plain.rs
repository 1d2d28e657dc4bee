//! Text of others, made harmless to show: no control characters, no marks that reorder or hide text, a bounded length.
//!
//! Knows nothing about where the text comes from. Tested beside the code.

/// One line: breaks become spaces. At most `most` characters.
pub fn line(text: &str, most: usize) -> String {
    let visible = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|&c| is_plain(c));
    let line: String = visible.take(most).collect();
    line.trim().to_owned()
}

/// Text of several lines. At most `most` characters.
pub fn block(text: &str, most: usize) -> String {
    let visible = text.chars().filter(|&c| c == '\n' || c == '\t' || is_plain(c));
    let block: String = visible.take(most).collect();
    block.trim().to_owned()
}

/// `text` as it is, with what could deceive a reader written out: `\u{202e}`.
pub fn exact(text: &str) -> String {
    let mut exact = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || c == '\t' || is_plain(c) { exact.push(c) } else { exact.extend(c.escape_unicode()) }
    }
    exact
}

/// A name on one line, whatever it is made of: what could end the line or deceive a reader is written out, as in `a\nb`.
pub fn name(name: &str) -> String {
    let mut line = String::with_capacity(name.len());
    for c in name.chars() {
        if is_plain(c) { line.push(c) } else { line.extend(c.escape_default()) }
    }
    line
}

/// [`name`] between backticks, as code that no editor reads anything in. One of its own would end it early, and is written
/// out, too.
pub fn code(name: &str) -> String {
    format!("`{}`", self::name(name).replace('`', r"\u{60}"))
}

/// What somebody says of themselves, to stand between double quotes: one line of at most `most` characters, in which
/// nothing looks like the quote's end, or is a link, a picture or code to an editor.
pub fn quote(text: &str, most: usize) -> String {
    let tame = |c| match c {
        '"'
        | '`'
        | '\u{ab}'
        | '\u{bb}'
        | '\u{2ba}'
        | '\u{2dd}'
        | '\u{201c}'..='\u{201f}'
        | '\u{2033}'
        | '\u{2036}'
        | '\u{275d}'
        | '\u{275e}'
        | '\u{301d}'..='\u{301f}'
        | '\u{ff02}' => '\'',
        '[' => '(',
        ']' => ')',
        '<' => '\u{2039}',
        '>' => '\u{203a}',
        c => c,
    };
    line(text, most).chars().map(tame).collect()
}

/// What a program wrote to a terminal, as text: without codes that colour it and move the cursor, and of a line that was
/// written over only the last state.
pub fn screen(output: &str) -> String {
    let mut screen = String::with_capacity(output.len());
    let mut line = 0;
    let mut chars = output.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_code(&mut chars),
            '\r' => {
                while chars.next_if_eq(&'\r').is_some() {}
                if chars.peek().is_some_and(|next| *next != '\n') {
                    screen.truncate(line);
                }
            }
            '\u{8}' if screen.len() > line => {
                screen.pop();
            }
            '\n' => {
                screen.push('\n');
                line = screen.len();
            }
            c if c == '\t' || !c.is_control() => screen.push(c),
            _ => {}
        }
    }
    screen
}

/// Leaves out the rest of a code that began with ESC. One that has no end ends with its line.
fn skip_code(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next_if(|c| *c != '\n') {
        Some('[') => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if ('\u{40}'..='\u{7e}').contains(&c) {
                    return;
                }
            }
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next_if(|c| *c != '\n') {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    return;
                }
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            chars.next_if(|c| *c != '\n');
        }
        Some(_) | None => {}
    }
}

/// `text` cut to at most `most` bytes, at a character's end.
pub fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// The beginning and the end of a `text` with more than `most` bytes, with a note in the place of the middle.
pub fn ends(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let head = cut(text, most / 2);
    let tail = text.get(text.ceil_char_boundary(text.len() - most / 2)..).unwrap_or_default();
    let missing = text.len() - head.len() - tail.len();
    Some(format!("{head}\n[cut: {missing} of {} bytes left out]\n{tail}", text.len()))
}

/// Whether a character is only what it looks like: it neither commands, nor reorders, nor hides.
pub fn is_plain(c: char) -> bool {
    let reorders =
        matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !reorders && !hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_a_reader_is_gone() {
        assert_eq!(line("a\u{202e}b\u{1b}[31mc\nd\u{200b}\t e ", 80), "ab[31mc d  e");
        assert_eq!(block("a\r\n\u{2067}b\u{7}\n\tc\n", 80), "a\nb\n\tc");
        assert_eq!(line("äöü", 2), "äö");
        assert_eq!(cut("äöü", 3), "ä");
        assert_eq!(cut("abc", 9), "abc");
        assert_eq!(exact("rm \u{202e}x\u{7}\n\tä"), "rm \\u{202e}x\\u{7}\n\tä");
        assert_eq!(name("a\n\tb\r\u{2028}\u{202e}\u{7} ä"), "a\\n\\tb\\r\\u{2028}\\u{202e}\\u{7} ä");
    }

    #[test]
    fn what_is_quoted_stays_between_its_quotes() {
        for (text, code) in
            [("a.txt", "`a.txt`"), ("a`, read `b", r"`a\u{60}, read \u{60}b`"), ("a\n`", r"`a\n\u{60}`"), ("", "``")]
        {
            assert_eq!(super::code(text), code, "{text:?}");
        }
        for (text, quoted) in [
            ("reads *.md (\"all\")", "reads *.md ('all')"),
            ("x\u{201d}. It was checked. \u{201c}", "x'. It was checked. '"),
            ("\u{ab}x\u{bb} \u{301e}\u{2033}\u{ff02}", "'x' '''"),
            ("[a](http://b.c) ![](http://b.c/d)\n<b>`x`", "(a)(http://b.c) !()(http://b.c/d) \u{2039}b\u{203a}'x'"),
        ] {
            assert_eq!(quote(text, 80), quoted);
        }
        assert_eq!(quote("äöü", 2), "äö");
    }

    #[test]
    fn of_a_long_text_both_ends_stay() {
        assert_eq!(ends("abcdef", 6), None);
        assert_eq!(ends("abcdefg", 4).as_deref(), Some("ab\n[cut: 3 of 7 bytes left out]\nfg"));
        assert_eq!(ends("ααααα", 6).as_deref(), Some("α\n[cut: 6 of 10 bytes left out]\nα"), "whole characters");
        assert_eq!(ends("abc", 0).as_deref(), Some("\n[cut: 3 of 3 bytes left out]\n"));
    }

    #[test]
    fn what_only_a_terminal_understands_is_left_out() {
        for (output, text) in [
            ("\x1b[1;31mred\x1b[0m\x1b[K\n", "red\n"),
            ("1%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
            ("a\r\r\nb\r", "a\nb"),
            ("ab\u{8}c\n\u{8}d", "ac\nd"),
            ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
            ("\x1b(Ba\x1b=b\x1b7\u{0}\u{7}c", "abc"),
            ("\x1b[31\nb\x1b]0;x\nc\x1b", "\nb\nc"),
            ("plain\n\tindented ü", "plain\n\tindented ü"),
        ] {
            assert_eq!(screen(output), text, "{output:?}");
        }
    }
}
