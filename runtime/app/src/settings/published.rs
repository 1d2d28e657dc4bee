//! The JSON Schema of the user's file, as editors of TOML use it.

use serde_json::Value;

use super::Settings;

/// The schema. TOML has no null, so nothing in it may be null; lines of descriptions are joined.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Settings).to_value();
    without_null(&mut schema);
    schema
}

fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
            }
            if members.get("default") == Some(&Value::Null) {
                members.remove("default");
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
                choices.retain(|choice| choice["type"] != "null");
                if let [Value::Object(only)] = choices.as_slice() {
                    let only = only.clone();
                    members.remove("anyOf");
                    for (key, value) in only {
                        members.entry(key).or_insert(value);
                    }
                }
            }
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
