//! What a tool takes: a JSON Schema, and what is wrong with arguments in words that a model or a person can act on.
//!
//! A value that is none of several is told with all that there are; `jsonschema` itself names three of them at most, and
//! none of alternatives. Tested by tables.

use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::expense::{TooDear, affordable};
use crate::plain;

/// Characters of what is said of one problem.
const LONGEST: usize = 1000;
/// Characters of a value that is repeated.
const VALUE: usize = 200;
/// Values, and forms, that are named of what there is.
const NAMED: usize = 32;
/// Patterns that a schema may have.
const PATTERNS: usize = 200;
/// Bytes of a pattern as it is held for matching, and of what it takes while it matches.
const PATTERN: usize = 1 << 20;

/// A JSON Schema (2020-12) for a tool's arguments, compiled once when it is first needed.
#[derive(Debug)]
pub struct InputSchema {
    schema: Value,
    compiled: OnceLock<Result<jsonschema::Validator, String>>,
}

impl InputSchema {
    /// Takes the schema as it is; a broken one shows when arguments are validated, or in [`InputSchema::check`].
    pub fn new(schema: Value) -> Self {
        Self { schema, compiled: OnceLock::new() }
    }

    /// The schema itself.
    pub fn as_value(&self) -> &Value {
        &self.schema
    }

    /// Whether it is a schema at all, without references that leave it.
    pub fn check(&self) -> Result<(), String> {
        self.validator().map(|_| ())
    }

    /// Checks arguments; the error lists what is wrong, for the model to repair.
    pub fn validate(&self, arguments: &Value) -> Result<(), String> {
        const MOST: usize = 5;
        let validator = self.validator()?;
        if affordable(&self.schema, arguments).is_err() {
            return Err(
                "it takes too long to check them against the schema: send fewer and less nested ones".to_owned()
            );
        }
        let problems: Vec<String> = validator
            .iter_errors(arguments)
            .take(MOST)
            .map(|error| {
                let (at, text) = (error.instance_path().to_string(), plain::block(&said(&error), LONGEST));
                if at.is_empty() { text } else { format!("{at}: {text}") }
            })
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    fn validator(&self) -> Result<&jsonschema::Validator, String> {
        let broken = |why: &dyn std::fmt::Display| format!("the tool's input schema is broken: {why}");
        let compile = || {
            let patterns = patterns(&self.schema);
            if patterns > PATTERNS {
                return Err(broken(&format_args!("it has {patterns} patterns; at most {PATTERNS}")));
            }
            affordable(&self.schema, &Value::Null).map_err(|too_dear| match too_dear {
                TooDear::Steps => broken(&"what it refers to has no end, or is too much to check"),
                TooDear::Reference => broken(&"it refers to what is not in it"),
            })?;
            // The linear engine: a plugin's pattern must not cost exponential time.
            let engine = jsonschema::PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN);
            let options = jsonschema::options().with_pattern_options(engine);
            options.build(&self.schema).map_err(|error| broken(&plain::block(&error.to_string(), LONGEST)))
        };
        self.compiled.get_or_init(compile).as_ref().map_err(Clone::clone)
    }
}

/// How many patterns there are in a schema; what only looks like one counts, too.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Array(values) => values.iter().map(patterns).sum(),
        Value::Object(values) => {
            let own = |(keyword, value): (&String, &Value)| match (keyword.as_str(), value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(schemas)) => schemas.len(),
                _ => 0,
            };
            values.iter().map(own).sum::<usize>() + values.values().map(patterns).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What is wrong, as a sentence without its end.
fn said(error: &ValidationError<'_>) -> String {
    let value = || shown(error.instance());
    match error.kind() {
        ValidationErrorKind::Constant { expected_value } => format!("{} is not {}", value(), shown(expected_value)),
        ValidationErrorKind::Enum { .. } => none_of(&value(), &wanted(error).unwrap_or_default()),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let alternatives = || context.iter().map(Vec::as_slice);
            // What is wrong with the value itself, and not with something in it.
            let own = |errors: &[ValidationError<'_>]| match errors {
                [only] if only.instance_path() == error.instance_path() => wanted(only),
                _ => None,
            };
            if let Some(wanted) = alternatives().map(own).collect::<Option<Vec<_>>>() {
                return none_of(&value(), &wanted.concat());
            }
            let firsts: Vec<String> = alternatives().filter_map(<[_]>::first).take(NAMED).map(said).collect();
            format!("{} has none of the forms that it can have: {}", value(), firsts.join(", or "))
        }
        _ => error.to_string(),
    }
}

/// What would have been right in the place of a value, where that can be listed.
fn wanted(error: &ValidationError<'_>) -> Option<Vec<String>> {
    let of_type = |kind: JsonType| match kind {
        JsonType::Null => "null".to_owned(),
        JsonType::Array | JsonType::Integer | JsonType::Object => format!("an {kind}"),
        JsonType::Boolean | JsonType::Number | JsonType::String => format!("a {kind}"),
    };
    match error.kind() {
        ValidationErrorKind::Constant { expected_value } => Some(vec![shown(expected_value)]),
        ValidationErrorKind::Enum { options } => Some(options.as_array()?.iter().map(shown).collect()),
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => Some(vec![of_type(*kind)]),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(kinds) } => Some(kinds.iter().map(of_type).collect()),
        _ => None,
    }
}

fn none_of(value: &str, wanted: &[String]) -> String {
    let list = match wanted {
        [] => return format!("{value} is nothing that can be there"),
        [only] => only.clone(),
        [first @ .., last] if wanted.len() <= NAMED => format!("{} or {last}", first.join(", ")),
        many => {
            let named: Vec<&str> = many.iter().take(NAMED).map(String::as_str).collect();
            format!("{} or {} more", named.join(", "), many.len() - NAMED)
        }
    };
    format!("{value} is not one of {list}")
}

/// A value in one line, with an end.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let line = plain::line(&text, VALUE);
    if line.chars().count() < text.chars().count() { format!("{line}…") } else { line }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fuzz::Fuzz;

    #[test]
    fn a41_arguments_that_do_not_fit_are_refused_with_a_message_for_the_model() {
        let schema = InputSchema::new(json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "limit": { "type": "integer", "minimum": 1 } },
            "required": ["path"],
            "additionalProperties": false,
        }));
        assert_eq!(schema.validate(&json!({ "path": "a" })), Ok(()));
        for (arguments, problem) in [
            (json!({}), "\"path\" is a required property"),
            (json!({ "path": 1 }), "/path: 1 is not of type \"string\""),
            (json!({ "path": "a", "limit": 0 }), "/limit: 0 is less than the minimum of 1"),
            (json!("not json"), "\"not json\" is not of type \"object\""),
        ] {
            assert_eq!(schema.validate(&arguments).unwrap_err(), problem, "{arguments}");
        }
    }

    #[test]
    fn what_is_none_of_several_is_named_with_what_there_is() {
        let many: Vec<String> = (0..40).map(|number| format!("v{number}")).collect();
        let schema = InputSchema::new(json!({
            "properties": {
                "colour": { "enum": ["red", "green", "blue", "black", "white"] },
                "documented": { "oneOf": [{ "const": "on", "description": "Lit." }, { "const": "off" }] },
                "absent": { "anyOf": [{ "enum": ["a", "b"] }, { "type": "null" }] },
                "kind": { "anyOf": [{ "type": "string" }, { "type": ["integer", "null"] }] },
                "only": { "const": 1 },
                "many": { "enum": many },
                "form": { "anyOf": [
                    { "type": "object", "required": ["path"] },
                    { "type": "object", "required": ["url"] },
                ] },
            },
        }));
        for (arguments, problem) in [
            (
                json!({ "colour": "gren" }),
                r#"/colour: "gren" is not one of "red", "green", "blue", "black" or "white""#,
            ),
            (json!({ "documented": "dim" }), r#"/documented: "dim" is not one of "on" or "off""#),
            (json!({ "absent": "c" }), r#"/absent: "c" is not one of "a", "b" or null"#),
            (json!({ "kind": [] }), "/kind: [] is not one of a string, null or an integer"),
            (json!({ "only": 2 }), "/only: 2 is not 1"),
            (
                json!({ "form": {} }),
                r#"/form: {} has none of the forms that it can have: "path" is a required property, or "url" is a required property"#,
            ),
        ] {
            assert_eq!(schema.validate(&arguments).unwrap_err(), problem, "{arguments}");
        }
        let cut = schema.validate(&json!({ "many": "x".repeat(1000) })).unwrap_err();
        assert!(cut.contains(r#"xxx… is not one of "v0", "#) && cut.ends_with(r#""v30", "v31" or 8 more"#), "{cut}");
    }

    #[test]
    fn a41_a_hostile_schema_is_an_error_and_fetches_nothing() {
        for schema in [
            json!({ "type": 5 }),
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "$ref": "file:///etc/passwd" }),
            json!({ "$schema": "https://example.com/meta.json", "type": "object" }),
            json!({ "properties": { "a": { "$dynamicRef": "https://example.com/schema.json#a" } } }),
            json!({ "type": "string", "pattern": "(a" }),
            json!({ "type": "string", "pattern": "(?=a)b" }),
        ] {
            assert!(InputSchema::new(schema.clone()).check().is_err(), "{schema}");
        }
        let slow = InputSchema::new(json!({ "type": "string", "pattern": "^(a+)+$" }));
        let long = format!("{}!", "a".repeat(50_000));
        assert!(slow.validate(&json!(long)).is_err());
        // A schema that leads to itself ends where the value does.
        let deep = InputSchema::new(json!({ "properties": { "a": { "$ref": "#" } }, "additionalProperties": false }));
        let mut value = json!({});
        for _ in 0..100 {
            value = json!({ "a": value });
        }
        assert_eq!(deep.validate(&value), Ok(()));
    }

    #[test]
    fn a41_a_schema_that_costs_too_much_is_refused() {
        let twice = |level: usize| {
            let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
            (format!("l{level}"), json!({ "properties": { "a": next, "b": next }, "anyOf": [next, next] }))
        };
        let mut defs: serde_json::Map<String, Value> = (0..60).map(twice).collect();
        defs.insert("l60".to_owned(), json!({}));
        let many: serde_json::Map<String, Value> =
            (0..201).map(|number| (format!("p{number}"), json!({ "pattern": "a" }))).collect();
        for (schema, problem) in [
            (json!({ "$ref": "#/$defs/l0", "$defs": defs }), "what it refers to has no end, or is too much to check"),
            (json!({ "$ref": "#" }), "what it refers to has no end, or is too much to check"),
            (json!({ "allOf": [{ "$ref": "#" }] }), "what it refers to has no end, or is too much to check"),
            (json!({ "properties": many }), "it has 201 patterns; at most 200"),
            (json!({ "pattern": "(\\w{200}){200}" }), ""),
            (json!({ "$ref": "http://127.0.0.1:1/x" }), "it refers to what is not in it"),
        ] {
            let told = InputSchema::new(schema.clone()).check().unwrap_err();
            assert!(told.starts_with("the tool's input schema is broken: ") && told.contains(problem), "{told}");
            assert!(told.len() < 2000, "{told}");
        }
        // One that refers to itself is fine for what people send, and not for what makes it dear.
        let own = json!({ "properties": { "a": { "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
        let own = InputSchema::new(own);
        assert_eq!(own.validate(&json!({ "a": { "a": {} } })), Ok(()));
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "a": inner }));
        assert!(own.validate(&deep).unwrap_err().starts_with("it takes too long to check them"));
    }

    fn fuzz() -> Fuzz {
        Fuzz::of([
            r#"{"s":{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}},"required":["a"]},"v":{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}}"#,
            r##"{"s":{"$defs":{"n":{"properties":{"l":{"$ref":"#/$defs/n"},"r":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"},"v":{"l":{"l":{},"r":{}},"r":{"r":{"r":{"r":{}}}}}}"##,
            r#"{"s":{"anyOf":[{"enum":["a","b"]},{"oneOf":[{"const":1},{"const":2}]}],"if":{"minimum":3},"then":{"not":{}}},"v":4}"#,
            r#"{"s":{"type":"array","items":{"type":"integer","multipleOf":3},"uniqueItems":true,"contains":{"const":3},"minItems":1},"v":[3,6,9,9]}"#,
            r##"{"s":{"$id":"http://x/","$anchor":"top","$defs":{"i":{"$id":"i","$dynamicAnchor":"d","$ref":"#/$defs/j","$defs":{"j":{"$dynamicRef":"#d"}}}},"properties":{"a":{"$ref":"i"}}},"v":{"a":{}}}"##,
            r##"{"s":{"$schema":"http://json-schema.org/draft-07/schema#","patternProperties":{"^a":{"$ref":"#"}},"additionalProperties":false,"dependencies":{"a":["b"]}},"v":{"a":{"a":{"a":1}}}}"##,
        ])
        .with_words([
            r##"{"$ref":"#"}"##,
            r##""$ref":"#","##,
            r#""$ref":"https://example.com/s","#,
            r##""$dynamicRef":"#d","##,
            r#""$id":"i","#,
            r#""pattern":"(\\w{100}){100}","#,
            r#""pattern":"(x+x+)+y","#,
            r##""allOf":[{"$ref":"#"},{"$ref":"#"}],"##,
            r##""unevaluatedProperties":{"$ref":"#"},"##,
            r#""format":"email","#,
            "[[[[[[[[[[[[[[[[",
            "{\"a\":",
            "]",
            "}",
            "\\ud800",
            "#/$defs/n",
            "#/$defs/",
            "%25",
            "~1",
        ])
        // It is compiled, with all patterns in it.
        .costing(24 << 20)
    }

    /// Whatever it says of them, it says so soon.
    fn check(input: &[u8]) {
        let Ok(Value::Object(mut given)) = serde_json::from_slice::<Value>(input) else { return };
        let mut take = |name: &str| given.remove(name).unwrap_or_default();
        let (schema, value) = (InputSchema::new(take("s")), take("v"));
        for told in
            [schema.check(), schema.validate(&value), schema.validate(&Value::Null)].into_iter().filter_map(Result::err)
        {
            assert!(told.len() <= 5 * 4 * (LONGEST + 2 * VALUE), "{} bytes are said of it", told.len());
        }
    }

    #[test]
    fn a41_whatever_is_a_schema_is_checked_soon() {
        fuzz().quick(check);
    }

    #[test]
    fn slow_fuzz_a41_whatever_is_a_schema_is_checked_soon() {
        fuzz().slow(check);
    }
}
