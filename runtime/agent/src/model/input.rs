//! What a tool takes: a JSON Schema, and what is wrong with arguments in words that a model or a person can act on.
//!
//! A value that is none of several is told with all that there are; `jsonschema` itself names three of them at most, and
//! none of alternatives. Tested by tables.

use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::plain;

/// Characters of what is said of one problem.
const LONGEST: usize = 1000;
/// Characters of a value that is repeated.
const VALUE: usize = 200;
/// Values, and forms, that are named of what there is.
const NAMED: usize = 32;

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
        let compile = || {
            // The linear engine: a plugin's pattern must not cost exponential time.
            jsonschema::options()
                .with_pattern_options(jsonschema::PatternOptions::regex())
                .build(&self.schema)
                .map_err(|error| format!("the tool's input schema is broken: {error}"))
        };
        self.compiled.get_or_init(compile).as_ref().map_err(Clone::clone)
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

    #[test]
    fn arguments_are_validated_with_a_message_for_the_model() {
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
    fn a_hostile_schema_is_an_error() {
        for schema in [
            json!({ "type": 5 }),
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "$ref": "file:///etc/passwd" }),
        ] {
            assert!(InputSchema::new(schema.clone()).check().is_err(), "{schema}");
        }
        let slow = InputSchema::new(json!({ "type": "string", "pattern": "^(a+)+$" }));
        let long = format!("{}!", "a".repeat(50_000));
        assert!(slow.validate(&json!(long)).is_err());
    }
}
