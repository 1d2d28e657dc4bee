//! A JSON Schema of a tool's arguments, as a list for people.
//!
//! Everything in it is a stranger's: what is shown of it is made harmless, and has an end; what is left out is counted.
//! Tested by a table.

use std::fmt::Write as _;

use crate::noun::counted;
use serde_json::{Map, Value};

use crate::plain;

/// Lines of the list.
const LINES: usize = 100;
/// How deep arguments are shown inside of arguments.
const DEEP: usize = 3;
/// Characters of a description, of a value, and of a list of values.
const TEXT: usize = 400;
/// Values, and kinds of value, that are named for one argument.
const CHOICES: usize = 16;
/// References that are followed from one place.
const HOPS: usize = 8;

/// The list of arguments, and an object with those that must be there, to fill in.
pub(super) fn described(schema: &Value) -> (String, String) {
    let mut list = List { root: schema, text: String::new(), lines: 0 };
    list.members(schema, 0);
    let example: Vec<String> = members(list.resolved(schema))
        .filter(|(_, _, required)| *required)
        .map(|(name, _, _)| format!("\"{}\": …", plain::line(name, TEXT)))
        .collect();
    let text = match list.lines {
        0 => "It takes no arguments.\n".to_owned(),
        lines if lines > LINES => format!("Arguments:\n\n{}- and {} more\n", list.text, lines - LINES),
        _ => format!("Arguments:\n\n{}", list.text),
    };
    (text, format!("{{{}}}", example.join(", ")))
}

struct List<'a> {
    root: &'a Value,
    text: String,
    /// Also those that are not shown.
    lines: usize,
}

impl<'a> List<'a> {
    fn members(&mut self, schema: &'a Value, depth: usize) {
        let schema = self.resolved(schema);
        let count = properties(schema).map_or(0, Map::len);
        if depth == DEEP {
            if count > 0 {
                self.line(depth, |_| format!("{count} more inside"));
            }
            return;
        }
        for (index, (name, member, required)) in members(schema).enumerate() {
            let is_shown = self.line(depth, |list| {
                let (kind, required) = (list.kind(member, 0), if required { ", required" } else { "" });
                format!("`{}` ({kind}{required}){}", shortened(name), list.note(member))
            });
            if !is_shown {
                self.lines += count - index - 1;
                return;
            }
            let inner = self.resolved(member);
            self.members(inner.get("items").unwrap_or(inner), depth + 1);
        }
    }

    /// One more line, where there is room for it.
    fn line(&mut self, depth: usize, text: impl FnOnce(&Self) -> String) -> bool {
        self.lines += 1;
        let is_shown = self.lines <= LINES;
        if is_shown {
            let text = text(self);
            let _ = writeln!(self.text, "{}- {text}", "  ".repeat(depth));
        }
        is_shown
    }

    /// What can be there, in a few words.
    fn kind(&self, schema: &'a Value, depth: usize) -> String {
        let schema = self.resolved(schema);
        let quoted = |values: &[Value]| {
            listed(values.len(), values.iter().map(|value| format!("`{}`", shortened(&value.to_string()))))
        };
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return quoted(values);
        }
        if let Some(value) = schema.get("const") {
            return quoted(std::slice::from_ref(value));
        }
        for any in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(any).and_then(Value::as_array).filter(|_| depth < DEEP) {
                return listed(choices.len(), choices.iter().map(|choice| self.kind(choice, depth + 1)));
            }
        }
        match schema.get("type") {
            Some(Value::String(kind)) if kind == "array" => match schema.get("items").filter(|_| depth < DEEP) {
                Some(items) => format!("list of {}", self.kind(items, depth + 1)),
                None => "list".to_owned(),
            },
            Some(Value::String(kind)) => shortened(kind),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                listed(kinds.len(), kinds.iter().map(|kind| shortened(kind)))
            }
            _ => "anything".to_owned(),
        }
    }

    /// What it is for, and what holds where it is left out.
    fn note(&self, schema: &'a Value) -> String {
        let own = |key| schema.get(key).or_else(|| self.resolved(schema).get(key));
        let about = own("description").and_then(Value::as_str).map(|text| format!(" – {}", shortened(text)));
        let default = own("default").filter(|default| !default.is_null());
        let default = default.map(|value| format!("; default `{}`", shortened(&value.to_string())));
        about.unwrap_or_default() + &default.unwrap_or_default()
    }

    /// The schema that a reference leads to, in the same document.
    fn resolved(&self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..HOPS {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
            match target.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }
}

/// A line of at most [`TEXT`] characters. One that is cut says so.
fn shortened(text: &str) -> String {
    let line = plain::line(text, TEXT);
    match text.trim().chars().count().saturating_sub(TEXT) {
        0 => line,
        more => format!("{line}… [{}]", counted(more, "more character")),
    }
}

/// The first of `all` choices, as many as there is room for, and how many more there are. No further ones are made.
fn listed(all: usize, choices: impl Iterator<Item = String>) -> String {
    let (mut text, mut shown) = (String::new(), 0);
    for choice in choices.take(CHOICES) {
        if shown > 0 {
            if text.chars().count() + choice.chars().count() > TEXT {
                break;
            }
            text.push_str(" or ");
        }
        text.push_str(&choice);
        shown += 1;
    }
    match all - shown {
        0 => text,
        more => format!("{text} or {more} more"),
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// The members of an object that a schema tells of: name, schema, and whether it must be there.
fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    properties(schema)
        .into_iter()
        .flatten()
        .map(move |(name, member)| (name.as_str(), member, required.iter().any(|known| known == name.as_str())))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_a_list() {
        let (text, example) = described(&json!({
            "type": "object",
            "required": ["path", "plan"],
            "properties": {
                "path": { "type": "string", "description": "Where.\nRelative to the first folder." },
                "limit": { "type": ["integer", "null"], "default": 100 },
                "mode": { "enum": ["fast", "slow"] },
                "plan": { "type": "array", "items": { "$ref": "#/$defs/Step" }, "description": "All \u{202e}steps." },
                "other": { "anyOf": [{ "$ref": "#/$defs/Step" }, { "type": "null" }] },
                "free": true,
            },
            "$defs": {
                "Step": {
                    "type": "object",
                    "required": ["step"],
                    "properties": { "step": { "type": "string" }, "state": { "const": "done" } },
                },
            },
        }));
        expect![[r#"
            Arguments:

            - `path` (string, required) – Where. Relative to the first folder.
            - `limit` (integer or null); default `100`
            - `mode` (`"fast"` or `"slow"`)
            - `plan` (list of object, required) – All steps.
              - `step` (string, required)
              - `state` (`"done"`)
            - `other` (object or null)
            - `free` (anything)
        "#]]
        .assert_eq(&text);
        assert_eq!(example, r#"{"path": …, "plan": …}"#);
    }

    #[test]
    fn what_is_cut_is_counted() {
        let values = |count: usize| (0..count).map(|n| format!("v{n}")).collect::<Vec<_>>();
        let long: Vec<String> = (0..3).map(|n| format!("{n}{}", "x".repeat(199))).collect();
        let inside = json!({ "properties": { "deepest": {}, "too": {} } });
        let deep = json!({ "properties": { "b": { "properties": { "c": inside } } } });
        let (text, _) = described(&json!({ "properties": {
            "few": { "enum": values(16) },
            "many": { "enum": values(40) },
            "long": { "enum": long },
            "longer": { "enum": ["y".repeat(500)] },
            "any": { "anyOf": (0..20).map(|n| json!({ "const": n })).collect::<Vec<_>>() },
            "text": { "type": "string", "description": "d".repeat(1000) },
            "a": deep,
        } }));
        let of = |name: &str| text.lines().find(|line| line.trim_start().starts_with(&format!("- `{name}`"))).unwrap();
        assert!(of("few").ends_with(r#" or `"v15"`)"#), "{text}");
        assert!(of("many").ends_with(r#" or `"v15"` or 24 more)"#), "{text}");
        assert!(of("long").starts_with("- `long` (`\"0xxx") && of("long").ends_with("x\"` or 2 more)"), "{text}");
        assert!(of("longer").ends_with("yyy… [102 more characters]`)"), "{text}");
        assert!(of("any").ends_with("`15` or 4 more)"), "{text}");
        assert!(of("text").ends_with("ddd… [600 more characters]"), "{text}");
        assert!(text.ends_with("    - `c` (anything)\n      - 2 more inside\n"), "{text}");
        let wide: Map<String, Value> = (0..150).map(|n| (format!("a{n}"), json!({}))).collect();
        let (text, _) = described(&json!({ "properties": { "all": { "properties": wide } } }));
        assert!(text.ends_with("- and 51 more\n"), "{text}");
    }

    #[test]
    fn a_hostile_schema_has_an_end() {
        assert_eq!(described(&json!({})), ("It takes no arguments.\n".to_owned(), "{}".to_owned()));
        let round = json!({ "$ref": "#", "properties": { "again": { "$ref": "#" } } });
        assert!(described(&round).0.lines().count() < 20);
        let endless = json!({
            "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" }, "c": { "anyOf": [{ "$ref": "#/properties/c" }] } },
        });
        assert!(described(&endless).0.lines().count() < 200);
        let wide: Map<String, Value> =
            (0..5000).map(|n| (format!("a{n}"), json!({ "description": "d".repeat(9000) }))).collect();
        let (text, _) = described(&json!({ "properties": wide }));
        assert!(text.lines().count() < 110 && text.len() < 60_000, "{} bytes", text.len());
        assert!(text.ends_with("- and 4900 more\n"), "{text}");
    }
}
