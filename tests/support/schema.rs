//! The wire's JSON schemas, and the check of one message's payload against them.
//!
//! The definitions are found by method, side and shape (`x-method`, `x-side`, the name's ending), never through the
//! schema's root, which accepts nearly anything. Every object is closed: unknown fields may only stand under `_meta`.
//! Knows nothing about JSON-RPC envelopes or the order of messages. Tested below with messages that must fail.

use std::collections::HashMap;
use std::sync::OnceLock;

use jsonschema::{Registry, RegistryBuilder, Validator};
use serde_json::{Map, Value, json};

/// Who serves a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The agent: the client calls.
    Agent,
    /// The client: the agent calls.
    Client,
}

/// What a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The `params` of a request.
    Request,
    /// The `result` of a response.
    Response,
    /// The `params` of a notification.
    Notification,
}

/// All definitions, ready to validate.
pub struct Schemas {
    validators: HashMap<(Side, Shape, String), Validator>,
}

impl Schemas {
    /// Those in `tests/schema`, compiled once per process.
    pub fn vendored() -> &'static Self {
        static SCHEMAS: OnceLock<Schemas> = OnceLock::new();
        SCHEMAS.get_or_init(|| {
            let read = |text| serde_json::from_str(text).expect("a vendored schema is JSON");
            let mut protocol = read(include_str!("../schema/acp-v1.json"));
            extend(&mut protocol, &read(include_str!("../schema/acp-v1-fork.json")));
            let mut validators = compile(&protocol);
            for text in [include_str!("../schema/aar-panels.json"), include_str!("../schema/older-clients.json")] {
                validators.extend(compile(&read(text)));
            }
            Self { validators }
        })
    }

    /// What is wrong with `payload`; empty when nothing is. A method that no schema knows is itself wrong.
    pub fn check(&self, side: Side, shape: Shape, method: &str, payload: &Value) -> Vec<String> {
        match self.validators.get(&(side, shape, method.to_owned())) {
            Some(validator) => {
                validator.iter_errors(payload).map(|error| format!("{}: {error}", error.instance_path())).collect()
            }
            None => vec![format!("no schema has a {shape:?} of `{method}` served by the {side:?}")],
        }
    }
}

/// Adds definitions; one that is there already gets the further properties.
fn extend(document: &mut Value, more: &Value) {
    for (name, definition) in more["$defs"].as_object().into_iter().flatten() {
        let known = &mut document["$defs"][name];
        if known.is_null() {
            *known = definition.clone();
            continue;
        }
        for (field, property) in definition["properties"].as_object().into_iter().flatten() {
            known["properties"][field] = property.clone();
        }
    }
}

fn compile(document: &Value) -> HashMap<(Side, Shape, String), Validator> {
    const HOME: &str = "urn:wire";
    let definitions = document["$defs"].as_object().expect("a schema has definitions");
    let mut closed = document.clone();
    for definition in closed["$defs"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        close_below(definition, definitions);
    }
    let registry = Registry::new().add(HOME, closed).and_then(RegistryBuilder::prepare).expect("a valid schema");
    let mut validators = HashMap::new();
    for (name, definition) in definitions {
        let Some(key) = key(name, definition) else { continue };
        let entry = json!({ "$ref": format!("{HOME}#/$defs/{name}"), "unevaluatedProperties": false });
        let validator = jsonschema::options().with_registry(&registry).build(&entry).expect("a valid schema");
        validators.insert(key, validator);
    }
    validators
}

fn key(name: &str, definition: &Value) -> Option<(Side, Shape, String)> {
    let method = definition.get("x-method")?.as_str()?.to_owned();
    let shape = [(Shape::Request, "Request"), (Shape::Response, "Response"), (Shape::Notification, "Notification")]
        .into_iter()
        .find_map(|(shape, ending)| name.ends_with(ending).then_some(shape))?;
    let side = match definition.get("x-side")?.as_str()? {
        // `$/cancel_request` is the protocol's own and served by both; what is checked is what a client receives.
        "client" | "protocol" => Side::Client,
        _ => Side::Agent,
    };
    Some((side, shape, method))
}

/// Closes the values inside `schema`, but not `schema` itself: whoever refers to it may add fields of its own.
fn close_below(schema: &mut Value, definitions: &Map<String, Value>) {
    let Some(schema) = schema.as_object_mut() else { return };
    for (keyword, value) in schema {
        match keyword.as_str() {
            "properties" => {
                for value in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    close(value, definitions);
                }
            }
            "items" | "additionalProperties" => close(value, definitions),
            "allOf" | "anyOf" | "oneOf" => {
                for value in value.as_array_mut().into_iter().flatten() {
                    close_below(value, definitions);
                }
            }
            _ => {}
        }
    }
}

fn close(schema: &mut Value, definitions: &Map<String, Value>) {
    close_below(schema, definitions);
    if names_fields(schema, definitions)
        && let Some(schema) = schema.as_object_mut()
    {
        schema.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
}

/// Whether `schema` describes an object by its fields, itself or through what it is put together from.
fn names_fields(schema: &Value, definitions: &Map<String, Value>) -> bool {
    let through = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    schema.get("properties").is_some()
        || through.and_then(|name| definitions.get(name)).is_some_and(|target| names_fields(target, definitions))
        || ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|keyword| schema.get(keyword)?.as_array())
            .flatten()
            .any(|part| names_fields(part, definitions))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(side: Side, shape: Shape, method: &str, payload: &Value) -> usize {
        Schemas::vendored().check(side, shape, method, payload).len()
    }

    fn update(update: &Value) -> usize {
        let payload = json!({ "sessionId": "s", "update": update });
        problems(Side::Client, Shape::Notification, "session/update", &payload)
    }

    #[test]
    fn accepts_what_the_protocol_allows() {
        let text = json!({ "type": "text", "text": "hi" });
        let diff = json!({ "type": "diff", "path": "/p", "oldText": null, "newText": "x" });
        for good in [
            json!({ "sessionUpdate": "agent_message_chunk", "content": text, "messageId": "m" }),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "read", "status": "pending",
                    "rawInput": { "any": { "thing": 1 } }, "locations": [{ "path": "/p", "line": 3 }] }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [diff], "_meta": { "a": 1 } }),
            json!({ "sessionUpdate": "current_mode_update", "currentModeId": "auto" }),
        ] {
            assert_eq!(update(&good), 0, "{good}");
        }
        let can = json!({ "sessionCapabilities": { "fork": {}, "close": {} }, "_meta": { "aar": { "panels": 1 } } });
        let answer = json!({ "protocolVersion": 1, "agentCapabilities": can });
        assert_eq!(problems(Side::Agent, Shape::Response, "initialize", &answer), 0);
        assert_eq!(problems(Side::Agent, Shape::Response, "session/fork", &json!({ "sessionId": "s" })), 0);
    }

    #[test]
    fn refuses_what_it_does_not() {
        let text = json!({ "type": "text", "text": "hi" });
        for bad in [
            json!({ "sessionUpdate": "agent_message", "content": text }),
            json!({ "sessionUpdate": "agent_message_chunk", "content": "hi" }),
            json!({ "sessionUpdate": "agent_message_chunk", "content": text, "extra": 1 }),
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "hi", "extra": 1 } }),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "locations": [{ "file": "/p" }] }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "done" }),
        ] {
            assert_ne!(update(&bad), 0, "{bad}");
        }
        for (side, shape, method, bad) in [
            (Side::Agent, Shape::Request, "session/new", json!({ "cwd": 5, "mcpServers": [] })),
            (Side::Agent, Shape::Response, "session/new", json!({})),
            (Side::Agent, Shape::Response, "session/load", Value::Null),
            (Side::Agent, Shape::Response, "session/fork", json!({})),
            (
                Side::Agent,
                Shape::Response,
                "initialize",
                json!({ "protocolVersion": 1, "agentCapabilities": { "sessionCapabilities": { "archive": {} } } }),
            ),
            (Side::Agent, Shape::Response, "initialize", json!({ "protocolVersion": 1, "aar": {} })),
            (Side::Agent, Shape::Response, "_aar/panel_list", json!({ "panels": [{ "name": "p" }] })),
            (Side::Client, Shape::Request, "fs/read_text_file", json!({ "path": "/p" })),
            (Side::Client, Shape::Request, "made/up", json!({})),
        ] {
            assert_ne!(problems(side, shape, method, &bad), 0, "{method} {bad}");
        }
    }
}
