//! The beginning of a JSON text, read as far as it goes: what a model is just writing.

use serde_json::Value;

use crate::plain::ends;

/// Bytes that are shown of one text in it.
const TEXT: usize = 1024;

/// What there is of a value whose text begins with `text`: members and items that are not whole yet are left out, apart
/// from texts, which are there as far as they have come. None where there is nothing yet, and where it is no JSON. Of long
/// texts the beginning and the end are shown.
pub(super) fn partial(text: &str) -> Option<Value> {
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate() {
        scan.take(at, byte)?;
    }
    let closers: String = scan.open.iter().rev().map(|open| char::from(open.closer())).collect();
    let value = match scan.string {
        Some(Text { begin, is_key: false, .. }) => in_string(text, begin, &closers),
        Some(_) | None => serde_json::from_str(&format!("{}{closers}", text.get(..scan.whole)?)).ok(),
    };
    value.map(|value| shortened(&value))
}

/// Closes the text that begins at `begin`, without a part of an escape at its end.
fn in_string(text: &str, begin: usize, closers: &str) -> Option<Value> {
    /// An escape of two halves may miss a part of each.
    const TRIES: usize = 3;
    let mut kept = text;
    for _ in 0..TRIES {
        if let Ok(value) = serde_json::from_str(&format!("{kept}\"{closers}")) {
            return Some(value);
        }
        let escape = kept.rfind('\\').filter(|at| *at > begin)?;
        kept = kept.get(..escape)?;
    }
    None
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(ends(text, TEXT).unwrap_or_else(|| text.clone())),
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), shortened(field))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Object,
    Array,
}

impl Open {
    fn closer(self) -> u8 {
        match self {
            Self::Object => b'}',
            Self::Array => b']',
        }
    }
}

/// A text within the text.
#[derive(Debug, Clone, Copy)]
struct Text {
    begin: usize,
    is_key: bool,
    /// The next byte belongs to an escape.
    escaped: bool,
}

/// Where a text stands.
#[derive(Default)]
struct Scan {
    open: Vec<Open>,
    string: Option<Text>,
    /// Whether the next text names a member.
    before_key: bool,
    /// So much of it is whole once what is open is closed.
    whole: usize,
}

impl Scan {
    /// Takes the byte at `at`. None where too much is closed.
    fn take(&mut self, at: usize, byte: u8) -> Option<()> {
        if let Some(string) = &mut self.string {
            match byte {
                _ if string.escaped => string.escaped = false,
                b'\\' => string.escaped = true,
                b'"' => {
                    if !string.is_key {
                        self.whole = at + 1;
                    }
                    self.string = None;
                }
                _ => {}
            }
            return Some(());
        }
        match byte {
            b'{' | b'[' => {
                self.open.push(if byte == b'{' { Open::Object } else { Open::Array });
                self.before_key = byte == b'{';
                self.whole = at + 1;
            }
            b'}' | b']' => {
                self.open.pop().filter(|open| open.closer() == byte)?;
                self.before_key = false;
                self.whole = at + 1;
            }
            b',' => {
                self.whole = at;
                self.before_key = self.open.last() == Some(&Open::Object);
            }
            b':' => self.before_key = false,
            b'"' => self.string = Some(Text { begin: at, is_key: self.before_key, escaped: false }),
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn as_much_is_read_as_there_is() {
        for (text, value) in [
            ("", None),
            (" ", None),
            ("{", Some(json!({}))),
            ("{\"pa", Some(json!({}))),
            ("{\"path\"", Some(json!({}))),
            ("{\"path\":", Some(json!({}))),
            ("{\"path\": \"", Some(json!({ "path": "" }))),
            ("{\"path\": \"a.r", Some(json!({ "path": "a.r" }))),
            ("{\"path\": \"a.rs\",", Some(json!({ "path": "a.rs" }))),
            ("{\"path\": \"a.rs\", \"n\": 1", Some(json!({ "path": "a.rs" }))),
            ("{\"path\": \"a.rs\", \"n\": 12}", Some(json!({ "path": "a.rs", "n": 12 }))),
            ("{\"e\": [{\"a\": \"x\"}, {\"a\": \"y", Some(json!({ "e": [{ "a": "x" }, { "a": "y" }] }))),
            ("{\"a\": true, \"b\": fal", Some(json!({ "a": true }))),
            ("{\"a\": \"x\\", Some(json!({ "a": "x" }))),
            ("{\"a\": \"x\\\"y\\\\", Some(json!({ "a": "x\"y\\" }))),
            ("{\"a\": \"x\\u00", Some(json!({ "a": "x" }))),
            ("{\"a\": \"x\\ud83d", Some(json!({ "a": "x" }))),
            ("{\"a\": \"x\\ud83d\\ude", Some(json!({ "a": "x" }))),
            ("{\"a\": \"x\\ud83d\\ude00", Some(json!({ "a": "x😀" }))),
            ("nonsense", None),
            ("{]", None),
            ("}", None),
            ("{\"a\" \"b\"", Some(json!({}))),
        ] {
            assert_eq!(partial(text), value, "{text}");
        }
        let long = format!("{{\"content\": \"{}", "x".repeat(5000));
        let shown = partial(&long).unwrap();
        let shown = shown["content"].as_str().unwrap();
        assert!(shown.len() < 1200 && shown.contains("of 5000 bytes left out"), "{shown}");
    }

    #[test]
    fn every_beginning_of_an_object_is_one() {
        let whole = json!({ "p": "a\"\\\n\u{1}é😀", "n": [1, -2.5e3, null, { "q": {} }, []], "t": true }).to_string();
        for (end, _) in whole.char_indices().skip(1) {
            assert!(partial(&whole[..end]).is_some_and(|value| value.is_object()), "{}", &whole[..end]);
        }
        assert_eq!(partial(&whole), serde_json::from_str(&whole).ok());
    }
}
