//! Asking the person for values, as a port: a form with a few fields, or a page to open.
//!
//! No substitute for a question of permission, which is the gate's alone: what a person fills in allows nothing. Knows
//! nothing about how a form is drawn. Answers are checked against what was asked before anybody sees them. Tested by
//! tables.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::plain;
use crate::transcript::ToolCallId;

/// Characters of the choices that are named to those who took another one.
const CHOICES: usize = 400;

/// A form for the person.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The tool call that needs the answer; none outside of one.
    pub call: Option<ToolCallId>,
    /// What is asked, and why.
    pub message: String,
    /// What is to be filled in; names are unique.
    pub fields: Vec<Field>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// What stands beside it.
    pub title: String,
    /// More about it; may be empty.
    pub description: String,
    /// What can be filled in.
    pub kind: FieldKind,
    /// Whether there is no answer without it.
    pub required: bool,
    /// What stands in it at first.
    pub default: Option<Value>,
}

/// What can be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// One of these.
    Choice(Vec<String>),
    /// Some of these.
    Choices(Vec<String>),
}

/// A page for the person to open, where something is done that the client never sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The tool call that needs it; none outside of one.
    pub call: Option<ToolCallId>,
    /// Unique in its session.
    pub id: String,
    /// What for.
    pub message: String,
    /// `https://…`
    pub url: String,
}

/// What the person did with a form or a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Filled it in, or agreed to open it; with the values, which are checked.
    Accepted(Map<String, Value>),
    /// Does not want to.
    Declined,
    /// Let it go.
    Dismissed,
    /// Did nothing in that time.
    Late(Duration),
    /// The client answered with what was not asked for, or with an error; why.
    Unusable(String),
    /// There is no way to ask.
    NoChannel,
}

/// Asks the person for values.
pub trait Elicitor: Send + Sync {
    /// Shows a form and waits. Dropping the future withdraws it.
    fn fill_in(&self, form: Form) -> BoxFuture<'_, Reply>;

    /// Asks to open a page and waits for the word of the person, not for what is done there. Dropping the future
    /// withdraws it.
    fn open(&self, page: Page) -> BoxFuture<'_, Reply>;

    /// What a page was opened for is done.
    fn done(&self, page: &Page);
}

/// Nobody can be asked.
pub struct NoElicitor;

impl Elicitor for NoElicitor {
    fn fill_in(&self, _form: Form) -> BoxFuture<'_, Reply> {
        Box::pin(async { Reply::NoChannel })
    }

    fn open(&self, _page: Page) -> BoxFuture<'_, Reply> {
        Box::pin(async { Reply::NoChannel })
    }

    fn done(&self, _page: &Page) {}
}

impl Form {
    /// What of `answer` was asked for, or what is wrong with it.
    pub fn check(&self, mut answer: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut checked = Map::new();
        for field in &self.fields {
            match answer.remove(&field.name).filter(|value| !value.is_null()) {
                Some(value) if field.kind.takes(&value) => {
                    checked.insert(field.name.clone(), value);
                }
                Some(_) => return Err(format!("`{}` was not answered with {}", field.name, field.kind.expected())),
                None if field.required => return Err(format!("`{}` was not answered", field.name)),
                None => {}
            }
        }
        Ok(checked)
    }
}

impl FieldKind {
    fn takes(&self, value: &Value) -> bool {
        let is_one_of = |choices: &[String], value: &Value| choices.iter().any(|choice| value == choice.as_str());
        match self {
            Self::Text => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Choice(choices) => is_one_of(choices, value),
            Self::Choices(choices) => {
                value.as_array().is_some_and(|chosen| chosen.iter().all(|value| is_one_of(choices, value)))
            }
        }
    }

    fn expected(&self) -> String {
        let listed = |choices: &[String]| format!("of its choices (`{}`)", plain::line(&choices.join("`, `"), CHOICES));
        match self {
            Self::Text => "a text".to_owned(),
            Self::Integer => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Boolean => "yes or no".to_owned(),
            Self::Choice(choices) => format!("one {}", listed(choices)),
            Self::Choices(choices) => format!("some {}", listed(choices)),
        }
    }
}

impl Field {
    /// The fields for those `names` of a JSON Schema's properties; the name of the first that no form can ask for.
    pub fn of_schema<'a>(schema: &Value, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Self>, String> {
        names
            .into_iter()
            .map(|name| {
                let property = schema.pointer("/properties").and_then(|properties| properties.get(name));
                property.and_then(|property| Self::of_property(name, property)).ok_or_else(|| name.to_owned())
            })
            .collect()
    }

    fn of_property(name: &str, property: &Value) -> Option<Self> {
        let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
        let choices = |of: &Value| {
            let values = of.get("enum")?.as_array()?.iter();
            values.map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        };
        let kind = match property.get("type")?.as_str()? {
            "string" => choices(property).map_or(FieldKind::Text, FieldKind::Choice),
            "integer" => FieldKind::Integer,
            "number" => FieldKind::Number,
            "boolean" => FieldKind::Boolean,
            "array" => FieldKind::Choices(choices(property.get("items")?)?),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            title: text("title").unwrap_or_else(|| name.to_owned()),
            description: text("description").unwrap_or_default(),
            default: property.get("default").filter(|default| kind.takes(default)).cloned(),
            kind,
            required: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(name: &str, kind: FieldKind, required: bool) -> Field {
        let title = name.to_owned();
        Field { name: name.to_owned(), title, description: String::new(), kind, required, default: None }
    }

    fn abc() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    #[test]
    fn only_what_was_asked_for_is_an_answer() {
        let form = Form {
            call: None,
            message: "?".to_owned(),
            fields: vec![
                field("text", FieldKind::Text, true),
                field("whole", FieldKind::Integer, false),
                field("number", FieldKind::Number, false),
                field("sure", FieldKind::Boolean, false),
                field("one", FieldKind::Choice(abc()), false),
                field("some", FieldKind::Choices(abc()), false),
            ],
        };
        let check = |answer: Value| match form.check(answer.as_object().unwrap().clone()) {
            Ok(answer) => Value::Object(answer).to_string(),
            Err(problem) => problem,
        };
        for (answer, checked) in [
            (json!({ "text": "x", "other": 1 }), r#"{"text":"x"}"#),
            (json!({ "text": "", "whole": null }), r#"{"text":""}"#),
            (json!({}), "`text` was not answered"),
            (json!({ "text": null }), "`text` was not answered"),
            (json!({ "text": 1 }), "`text` was not answered with a text"),
            (json!({ "text": "x", "whole": 1.5 }), "`whole` was not answered with a whole number"),
            (json!({ "text": "x", "whole": -3, "number": 1.5 }), r#"{"text":"x","whole":-3,"number":1.5}"#),
            (json!({ "text": "x", "sure": "yes" }), "`sure` was not answered with yes or no"),
            (json!({ "text": "x", "one": "b", "some": ["a", "c"] }), r#"{"text":"x","one":"b","some":["a","c"]}"#),
            (json!({ "text": "x", "one": "d" }), "`one` was not answered with one of its choices (`a`, `b`, `c`)"),
            (
                json!({ "text": "x", "some": ["a", 1] }),
                "`some` was not answered with some of its choices (`a`, `b`, `c`)",
            ),
            (json!({ "text": "x", "some": "a" }), "`some` was not answered with some of its choices (`a`, `b`, `c`)"),
        ] {
            let sorted = |text: &str| serde_json::from_str::<Value>(text).map_or(text.to_owned(), |v| v.to_string());
            assert_eq!(sorted(&check(answer.clone())), sorted(checked), "{answer}");
        }
    }

    #[test]
    fn a_schema_of_plain_values_is_a_form() {
        let schema = json!({
            "type": "object",
            "properties": {
                "folder": { "type": "string", "title": "Folder", "description": "Where notes go", "default": "notes" },
                "depth": { "type": "integer", "default": "deep" },
                "ratio": { "type": "number" },
                "loud": { "type": "boolean" },
                "style": { "type": "string", "enum": ["a", "b", "c"] },
                "parts": { "type": "array", "items": { "type": "string", "enum": ["a", "b", "c"] } },
                "free": { "type": "array", "items": { "type": "string" } },
                "nested": { "type": "object" },
                "any": {},
            },
        });
        let names = ["folder", "depth", "ratio", "loud", "style", "parts"];
        let fields = Field::of_schema(&schema, names).unwrap();
        let kinds: Vec<_> = fields.iter().map(|field| field.kind.clone()).collect();
        let choice = (FieldKind::Choice(abc()), FieldKind::Choices(abc()));
        assert_eq!(
            kinds,
            [FieldKind::Text, FieldKind::Integer, FieldKind::Number, FieldKind::Boolean, choice.0, choice.1]
        );
        assert_eq!((fields[0].title.as_str(), fields[0].description.as_str()), ("Folder", "Where notes go"));
        assert_eq!((fields[0].default.clone(), fields[1].default.clone()), (Some(json!("notes")), None));
        assert_eq!(fields[1].title, "depth");
        for hard in ["free", "nested", "any", "gone"] {
            assert_eq!(Field::of_schema(&schema, [hard]), Err(hard.to_owned()));
        }
    }
}
