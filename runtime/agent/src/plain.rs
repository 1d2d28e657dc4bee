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

/// `text` cut to at most `most` bytes, at a character's end.
pub fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// Whether a character is only what it looks like: it neither commands, nor reorders, nor hides.
pub fn is_plain(c: char) -> bool {
    let reorders =
        matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(c, '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
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
    }
}
