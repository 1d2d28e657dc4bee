//! How long things become on the wire, and how they are cut to what a line may hold.

use std::io;

use serde_json::Value;

/// Bytes that the text of one line may have, escapes included. Ids, titles and locations take the rest of 48 KiB.
pub(super) const TEXT: usize = 32 * 1024;

/// Bytes of `text` inside a JSON string.
pub(in crate::acp) fn escaped_len(text: &str) -> usize {
    text.bytes().map(escaped).sum()
}

fn escaped(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

/// `text` in pieces of at most [`TEXT`] bytes on the wire; no piece for an empty text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at_checked(fitting(rest, TEXT))?;
        rest = after;
        Some(piece)
    })
}

/// How many bytes of `text` fit into `budget` bytes on the wire; always whole characters.
fn fitting(text: &str, budget: usize) -> usize {
    const WORST: usize = 6;
    if text.len() <= budget / WORST {
        return text.len();
    }
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += if character.is_ascii() {
            escaped(text.as_bytes().get(at).copied().unwrap_or(0))
        } else {
            character.len_utf8()
        };
        if used > budget {
            return at;
        }
    }
    text.len()
}

/// `text`, or as much of it as fits with a note of what is missing.
pub(super) fn cut(text: &str, budget: usize) -> String {
    const NOTE: usize = 68;
    if text.len() <= budget && escaped_len(text) <= budget {
        return text.to_owned();
    }
    let kept = text.get(..fitting(text, budget.saturating_sub(NOTE))).unwrap_or_default();
    format!("{kept}\n[cut: {} of {} bytes shown]", kept.len(), text.len())
}

/// One line of at most `most` characters.
pub(super) fn line(text: &str, most: usize) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect();
    if text.chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

/// `value`, with long texts cut where it would take more than `budget` bytes; a note in its place where that does not
/// help.
pub(super) fn trimmed(value: &Value, budget: usize) -> Value {
    const LONG: usize = 512;
    let size = json_len(value);
    if size <= budget {
        return value.clone();
    }
    let shorter = with_short_texts(value, LONG);
    if json_len(&shorter) <= budget { shorter } else { Value::String(format!("[cut: {size} bytes of JSON]")) }
}

fn with_short_texts(value: &Value, most: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, most)),
        Value::Array(items) => items.iter().map(|item| with_short_texts(item, most)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), with_short_texts(field, most))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn json_len(value: &Value) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        // Not writable is too long for every line.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn pieces_fit_and_make_up_the_text(text in "(\\PC|\u{1}|\"|\n){0,2000}", times in 1usize..40) {
            let text = text.repeat(times);
            let made: Vec<&str> = pieces(&text).collect();
            prop_assert_eq!(made.concat(), text.as_str());
            for piece in made {
                prop_assert!(serde_json::to_string(piece).unwrap().len() <= TEXT + 2);
            }
        }

        #[test]
        fn a_cut_text_fits(text in "(\\PC|\u{1}|\"|\n){0,400}", budget in 128usize..600) {
            let shown = cut(&text, budget);
            prop_assert!(escaped_len(&shown) <= budget);
            prop_assert!(shown == text || shown.contains("[cut: "));
        }
    }

    #[test]
    fn escapes_are_counted_as_serde_writes_them() {
        for text in ["plain", "\u{1}\u{1f}", "\"\\\n\r\t\u{8}\u{c}", "ü€🦀", "\u{7f}"] {
            assert_eq!(escaped_len(text) + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }

    #[test]
    fn values_are_trimmed_only_where_they_must_be() {
        let small = json!({ "path": "a", "n": 1 });
        assert_eq!(trimmed(&small, 100), small);
        let long = json!({ "path": "a", "content": "x".repeat(5000) });
        let shown = trimmed(&long, 1000);
        assert_eq!(shown["path"], "a");
        assert!(shown["content"].as_str().unwrap().ends_with("of 5000 bytes shown]"));
        let wide: Value = (0..5000).collect();
        assert_eq!(trimmed(&wide, 1000), json!("[cut: 23891 bytes of JSON]"));
    }

    #[test]
    fn a_line_has_no_breaks() {
        assert_eq!(line("two\nlines", 80), "two lines");
        assert_eq!(line("abcdef", 3), "abc…");
    }
}
