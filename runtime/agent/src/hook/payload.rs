//! What hooks are told, kept to a size. Pure.

use serde_json::{Map, Value};

use super::Veil;
use crate::plain;

/// Bytes of what a hook is told of an event where nothing else is said: 256 KiB. Of more than there may be, long texts and
/// lists are told in part.
pub const PAYLOAD: usize = 256 << 10;

/// The value without what the veil hides, in whatever text of it; none where it hides nothing.
pub(super) fn veiled(value: &Value, veil: &Veil) -> Option<Value> {
    match value {
        Value::String(text) => veil(text).map(Value::String),
        Value::Array(items) => {
            let veiled: Vec<Option<Value>> = items.iter().map(|item| veiled(item, veil)).collect();
            let whole = || items.iter().zip(&veiled).map(|(item, veiled)| veiled.as_ref().unwrap_or(item).clone());
            veiled.iter().any(Option::is_some).then(|| whole().collect())
        }
        Value::Object(members) => {
            let hide = |name: &String| veil(name).unwrap_or_else(|| name.clone());
            let veiled: Vec<(String, Option<Value>)> =
                members.iter().map(|(name, member)| (hide(name), veiled(member, veil))).collect();
            let hides = members.keys().zip(&veiled).any(|(name, (shown, member))| name != shown || member.is_some());
            let whole = || {
                let all = members.values().zip(&veiled);
                all.map(|(member, (name, veiled))| (name.clone(), veiled.as_ref().unwrap_or(member).clone()))
            };
            hides.then(|| Value::Object(whole().collect::<Map<_, _>>()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The object as JSON of at most `most` bytes, and whether something was left out.
pub(super) fn bounded(value: &Value, most: usize) -> (String, bool) {
    let whole = value.to_string();
    if whole.len() <= most {
        return (whole, false);
    }
    let mut each = most;
    while each > 1 {
        each /= 2;
        let text = shortened(value, each).to_string();
        if text.len() <= most {
            return (text, true);
        }
    }
    ("{}".to_owned(), true)
}

/// The value with at most `each` bytes of every text, and as many members of every list.
fn shortened(value: &Value, each: usize) -> Value {
    match value {
        Value::String(text) => Value::String(plain::cut(text, each).to_owned()),
        Value::Array(values) => values.iter().take(each).map(|value| shortened(value, each)).collect(),
        Value::Object(members) => {
            let short = members.iter().take(each).map(|(name, value)| (name.clone(), shortened(value, each)));
            Value::Object(short.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_hidden_is_hidden_wherever_it_stands() {
        let veil: Veil = std::sync::Arc::new(|text| text.contains("key").then(|| text.replace("key", "*")));
        let value = json!({ "a": ["x", { "b": "the key" }], "key": 1, "c": "x" });
        assert_eq!(veiled(&value, &veil), Some(json!({ "a": ["x", { "b": "the *" }], "*": 1, "c": "x" })));
        assert_eq!(veiled(&json!({ "a": ["x", 1, null, true] }), &veil), None);
    }

    #[test]
    fn what_is_too_large_is_told_in_part_and_stays_json() {
        let small = json!({ "tool": "t", "arguments": { "path": "a" } });
        assert_eq!(bounded(&small, PAYLOAD), (small.to_string(), false));
        for (large, kept) in [
            (json!({ "tool": "t", "arguments": { "path": "a", "text": "ä".repeat(PAYLOAD) } }), true),
            (json!({ "tool": "t", "arguments": { "path": "a", "numbers": vec![1; PAYLOAD] } }), true),
            (json!({ "tool": "t", "arguments": { "path": "a", "text": "\u{1}".repeat(PAYLOAD) } }), true),
            (json!({ "tool": "t", "arguments": vec![json!({ "text": "x".repeat(4000) }); 1000] }), false),
        ] {
            let (text, truncated) = bounded(&large, PAYLOAD);
            let told: Value = serde_json::from_str(&text).unwrap();
            assert!(truncated && text.len() <= PAYLOAD, "{}", text.len());
            assert_eq!(told["tool"], "t");
            assert_eq!(told["arguments"]["path"] == "a", kept);
        }
        let names: Map<String, Value> = (0..PAYLOAD).map(|n| (format!("{n}"), Value::Null)).collect();
        assert!(bounded(&Value::Object(names), PAYLOAD).0.len() <= PAYLOAD);
        let name: Map<String, Value> = [("x".repeat(PAYLOAD), Value::Null)].into_iter().collect();
        assert_eq!(bounded(&Value::Object(name), PAYLOAD), ("{}".to_owned(), true));
    }
}
