//! What it would cost to check a value against a schema, told before that is done.
//!
//! A schema is a stranger's, and a few lines of it can take longer to check than anybody waits: what it refers to twice,
//! which refers to something twice, and so on. So all that a check may follow is followed here, without checking
//! anything, and counted; what is too much is not checked. Where it cannot be told what is referred to, it is too much,
//! too. Tested by tables, and against the checks themselves.

use std::collections::HashMap;

use serde_json::Value;

/// Steps that every check may take.
const STEPS: usize = 100_000;
/// Steps beside those for each value in what is checked.
const EACH: usize = 1_000;
/// Steps that no check may take, whatever it is about.
const MOST: usize = 5_000_000;

/// Keywords whose schema is about the value itself.
const SELF: [&str; 4] = ["not", "if", "then", "else"];
/// The same for several schemas.
const SELVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// The same for several with names.
const NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose schema is about each value of an object.
const VALUES: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "propertyNames"];
/// Keywords whose schema is about each value of an array.
const ITEMS: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];
/// References; the last two may mean several places.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Why a value is not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TooDear {
    /// It would take too many steps.
    Steps,
    /// What a reference means cannot be told.
    Reference,
}

/// Whether `instance` can be checked against `schema` in a bounded time.
pub(super) fn affordable(schema: &Value, instance: &Value) -> Result<(), TooDear> {
    let steps = STEPS.saturating_add(size(instance).saturating_mul(EACH)).min(MOST);
    let mut walk = Walk { root: schema, names: None, left: steps, next: Vec::new() };
    walk.push(schema, instance, schema)?;
    while let Some((schema, instance, resource)) = walk.next.pop() {
        walk.follow(schema, instance, resource)?;
    }
    Ok(())
}

/// How many values there are in it.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        Value::Object(values) => 1 + values.values().map(size).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// What has a name of its own, by that; looked for when a reference needs it.
    names: Option<HashMap<&'a str, Vec<&'a Value>>>,
    left: usize,
    /// What is still to be followed: a schema, a value, and the part of the document that pointers begin in.
    next: Vec<(&'a Value, &'a Value, &'a Value)>,
}

impl<'a> Walk<'a> {
    fn push(&mut self, schema: &'a Value, instance: &'a Value, resource: &'a Value) -> Result<(), TooDear> {
        self.left = self.left.checked_sub(1).ok_or(TooDear::Steps)?;
        self.next.push((schema, instance, resource));
        Ok(())
    }

    fn follow(&mut self, schema: &'a Value, instance: &'a Value, resource: &'a Value) -> Result<(), TooDear> {
        let Value::Object(keywords) = schema else { return Ok(()) };
        let resource = if named(schema).is_some() { schema } else { resource };
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            if REFERENCES.contains(&keyword)
                && let Value::String(reference) = value
            {
                for meant in self.meant(reference, resource, keyword != "$ref")? {
                    self.push(meant.0, instance, meant.1)?;
                }
            } else if SELF.contains(&keyword) {
                self.push(value, instance, resource)?;
            } else if SELVES.contains(&keyword) {
                for schema in value.as_array().into_iter().flatten() {
                    self.push(schema, instance, resource)?;
                }
            } else if NAMED.contains(&keyword) {
                for schema in value.as_object().into_iter().flat_map(serde_json::Map::values) {
                    self.push(schema, instance, resource)?;
                }
            }
            match instance {
                Value::Object(values) => self.follow_values(keyword, value, values, resource)?,
                Value::Array(items) => self.follow_items(keyword, value, items, resource)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        Ok(())
    }

    fn follow_values(
        &mut self,
        keyword: &str,
        value: &'a Value,
        values: &'a serde_json::Map<String, Value>,
        resource: &'a Value,
    ) -> Result<(), TooDear> {
        match (keyword, value) {
            ("properties", Value::Object(schemas)) => {
                self.left = self.left.checked_sub(schemas.len()).ok_or(TooDear::Steps)?;
                for (name, schema) in schemas {
                    if let Some(instance) = values.get(name) {
                        self.push(schema, instance, resource)?;
                    }
                }
            }
            // Which names fit is not looked at.
            ("patternProperties", Value::Object(schemas)) => {
                for schema in schemas.values() {
                    for instance in values.values() {
                        self.push(schema, instance, resource)?;
                    }
                }
            }
            (keyword, schema) if VALUES.contains(&keyword) => {
                for instance in values.values() {
                    self.push(schema, instance, resource)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn follow_items(
        &mut self,
        keyword: &str,
        value: &'a Value,
        items: &'a [Value],
        resource: &'a Value,
    ) -> Result<(), TooDear> {
        match (keyword, value) {
            ("prefixItems" | "items", Value::Array(schemas)) => {
                for (schema, instance) in schemas.iter().zip(items) {
                    self.push(schema, instance, resource)?;
                }
            }
            (keyword, schema) if ITEMS.contains(&keyword) => {
                for instance in items {
                    self.push(schema, instance, resource)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The schemas that a reference may mean, each with the part of the document that it lies in. One that is `moving`
    /// may mean a place of the whole document, too, by the way that it was come to.
    fn meant(
        &mut self,
        reference: &str,
        resource: &'a Value,
        moving: bool,
    ) -> Result<Vec<(&'a Value, &'a Value)>, TooDear> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut documents = if document.is_empty() { vec![resource] } else { self.called(document) };
        if moving && !std::ptr::eq(resource, self.root) {
            documents.push(self.root);
        }
        let mut meant = Vec::new();
        if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = percent_decoded(fragment).ok_or(TooDear::Reference)?;
            for document in documents {
                meant.extend(document.pointer(&pointer).map(|schema| (schema, document)));
            }
        } else if document.is_empty() || !documents.is_empty() {
            meant.extend(self.called(fragment).into_iter().map(|schema| (schema, resource)));
        }
        if meant.is_empty() { Err(TooDear::Reference) } else { Ok(meant) }
    }

    /// What has that name of its own.
    fn called(&mut self, name: &str) -> Vec<&'a Value> {
        let root = self.root;
        let names = self.names.get_or_insert_with(|| {
            let mut names = HashMap::<&str, Vec<&Value>>::new();
            let mut left = vec![root];
            while let Some(value) = left.pop() {
                match value {
                    Value::Array(values) => left.extend(values),
                    Value::Object(values) => {
                        let anchors = ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| values.get(*key)?.as_str());
                        for name in anchors.chain(named(value)) {
                            names.entry(name).or_default().push(value);
                        }
                        left.extend(values.values());
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
            names
        });
        names.get(name).cloned().unwrap_or_default()
    }
}

/// The name that makes a part of a document one of its own.
fn named(schema: &Value) -> Option<&str> {
    schema.get("$id").or_else(|| schema.get("id"))?.as_str()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let code = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = after.get(2..)?;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// So many levels, each of which is twice in the one above, under `keyword`.
    fn doubling(levels: usize, twice: impl Fn(Value) -> Value) -> Value {
        let name = |level: usize| json!({ "$ref": format!("#/$defs/l{level}") });
        let mut defs: serde_json::Map<String, Value> =
            (0..levels).map(|level| (format!("l{level}"), twice(name(level + 1)))).collect();
        defs.insert(format!("l{levels}"), json!({ "type": "integer" }));
        json!({ "$ref": "#/$defs/l0", "$defs": defs })
    }

    #[test]
    fn what_doubles_without_end_is_too_dear() {
        for (schema, instance) in [
            (doubling(40, |next| json!({ "anyOf": [next, next] })), json!({})),
            (doubling(40, |next| json!({ "allOf": [next, { "not": next }] })), json!(1)),
            (doubling(40, |next| json!({ "if": next, "then": next, "else": next })), json!(1)),
            (doubling(40, |next| json!({ "dependentSchemas": { "a": next, "b": next } })), json!({ "a": 1, "b": 1 })),
            (json!({ "$ref": "#" }), json!(1)),
            (json!({ "anyOf": [{ "$ref": "#" }] }), json!(1)),
            (json!({ "$ref": "#a", "$defs": { "a": { "$anchor": "a", "$ref": "#a" } } }), json!(1)),
            (json!({ "$dynamicRef": "#a", "$dynamicAnchor": "a" }), json!(1)),
            (json!({ "properties": { "a": { "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] } } }), nested(40)),
        ] {
            assert_eq!(affordable(&schema, &instance), Err(TooDear::Steps), "{schema}");
        }
    }

    /// An object in an object, so many times.
    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn what_people_write_is_not() {
        let tree = json!({
            "$ref": "#/$defs/node",
            "$defs": { "node": {
                "type": "object",
                "properties": {
                    "a": { "$ref": "#/$defs/node" },
                    "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
                },
                "additionalProperties": false,
            } },
        });
        let wide = json!({ "children": vec![json!({ "children": [] }); 10_000] });
        let forms = json!({ "type": "array", "items": { "anyOf": (0..50).map(|form| json!({ "const": form })).collect::<Vec<_>>() } });
        let inner = json!({ "$defs": { "x": { "$id": "x", "$ref": "#/$defs/y", "$defs": { "y": {} } } }, "$ref": "x" });
        let coded = json!({ "$ref": "#/$defs/a~1b%20c", "$defs": { "a/b c": {} } });
        for (schema, instance) in [
            (&tree, nested(100)),
            (&tree, wide),
            (&forms, json!(vec![1; 10_000])),
            (&inner, json!(1)),
            (&coded, json!(1)),
            (&json!({ "properties": { "$ref": { "type": "string" } } }), json!({ "$ref": "nowhere" })),
            (&json!(true), json!(1)),
        ] {
            assert_eq!(affordable(schema, &instance), Ok(()), "{schema}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_not_checked() {
        for schema in [
            json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
            json!({ "$ref": "#/$defs/none" }),
            json!({ "$ref": "#none" }),
            json!({ "$ref": "#/%ff" }),
            json!({ "$ref": "#/%" }),
        ] {
            assert_eq!(affordable(&schema, &json!(1)), Err(TooDear::Reference), "{schema}");
        }
        // What is never come to is nobody's matter.
        assert_eq!(affordable(&json!({ "$defs": { "a": { "$ref": "nowhere" } } }), &json!(1)), Ok(()));
    }
}
