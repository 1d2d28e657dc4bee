//! A JSON Schema of a tool's arguments, as a list for people.
//!
//! Everything in it is a stranger's: what is shown of it is made harmless, and has an end. Tested by a table.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::plain;

/// Lines of the list.
const LINES: usize = 100;
/// How deep arguments are shown inside of arguments.
const DEEP: usize = 3;
/// Characters of a description, and of a list of values.
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
        if depth == DEEP {
            return;
        }
        for (name, member, required) in members(self.resolved(schema)) {
            if depth > 0 && self.lines >= LINES {
                return;
            }
            self.lines += 1;
            if self.lines <= LINES {
                let name = plain::line(name, TEXT);
                let kind = self.kind(member, 0);
                let required = if required { ", required" } else { "" };
                let _ = writeln!(self.text, "{}- `{name}` ({kind}{required}){}", "  ".repeat(depth), self.note(member));
            }
            let inner = self.resolved(member);
            self.members(inner.get("items").unwrap_or(inner), depth + 1);
        }
    }

    /// What can be there, in a few words.
    fn kind(&self, schema: &'a Value, depth: usize) -> String {
        let schema = self.resolved(schema);
        let quoted = |values: &[Value]| {
            let values: Vec<String> = values.iter().take(CHOICES).map(|value| format!("`{value}`")).collect();
            plain::line(&values.join(" or "), TEXT)
        };
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return quoted(values);
        }
        if let Some(value) = schema.get("const") {
            return quoted(std::slice::from_ref(value));
        }
        for any in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(any).and_then(Value::as_array).filter(|_| depth < DEEP) {
                let kinds: Vec<String> =
                    choices.iter().take(CHOICES).map(|choice| self.kind(choice, depth + 1)).collect();
                return plain::line(&kinds.join(" or "), TEXT);
            }
        }
        match schema.get("type") {
            Some(Value::String(kind)) if kind == "array" => match schema.get("items").filter(|_| depth < DEEP) {
                Some(items) => format!("list of {}", self.kind(items, depth + 1)),
                None => "list".to_owned(),
            },
            Some(Value::String(kind)) => plain::line(kind, TEXT),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                plain::line(&kinds.join(" or "), TEXT)
            }
            _ => "anything".to_owned(),
        }
    }

    /// What it is for, and what holds where it is left out.
    fn note(&self, schema: &'a Value) -> String {
        let own = |key| schema.get(key).or_else(|| self.resolved(schema).get(key));
        let about = own("description").and_then(Value::as_str).map(|text| format!(" – {}", plain::line(text, TEXT)));
        let default = own("default").filter(|default| !default.is_null());
        let default = default.map(|value| format!("; default `{}`", plain::line(&value.to_string(), TEXT)));
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

/// The members of an object that a schema tells of: name, schema, and whether it must be there.
fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter);
    members.map(move |(name, member)| (name.as_str(), member, required.iter().any(|known| known == name.as_str())))
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
