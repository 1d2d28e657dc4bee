//! Forms and pages for the person, and what was filled in.

use acp_runtime_agent::elicit::{Field, FieldKind, Form, Page, Reply};
use acp_runtime_agent::transcript::ToolCallId;
use agent_client_protocol::v1::schema;
use serde_json::Value;

use super::size::{cut, line};
use super::tool::TITLE;

/// Bytes of what is asked.
const MESSAGE: usize = 8 * 1024;
/// Bytes of what stands beside a field.
const DESCRIPTION: usize = 1024;
/// Choices of one field.
const CHOICES: usize = 100;

/// A form as it is sent.
pub(in crate::acp) fn form(form: &Form, session: &schema::SessionId) -> schema::CreateElicitationRequest {
    let asked = form.fields.iter().fold(schema::ElicitationSchema::new(), |asked, field| {
        asked.property(&field.name, property(field), field.required)
    });
    let mode = schema::ElicitationFormMode::new(scope(session, form.call.as_ref()), asked);
    schema::CreateElicitationRequest::new(schema::ElicitationMode::Form(mode), cut(&form.message, MESSAGE))
}

/// A page as it is sent.
pub(in crate::acp) fn page(page: &Page, session: &schema::SessionId) -> schema::CreateElicitationRequest {
    let mode = schema::ElicitationUrlMode::new(scope(session, page.call.as_ref()), page.id.clone(), &page.url);
    schema::CreateElicitationRequest::new(schema::ElicitationMode::Url(mode), cut(&page.message, MESSAGE))
}

/// What the person did. An action that nobody knows is no agreement.
pub(in crate::acp) fn reply(answer: schema::CreateElicitationResponse) -> Reply {
    match answer.action {
        schema::ElicitationAction::Accept(accepted) => {
            let content = accepted.content.unwrap_or_default();
            Reply::Accepted(content.into_iter().map(|(name, filled)| (name, value(filled))).collect())
        }
        schema::ElicitationAction::Decline => Reply::Declined,
        _ => Reply::Dismissed,
    }
}

fn scope(session: &schema::SessionId, call: Option<&ToolCallId>) -> schema::ElicitationSessionScope {
    let call = call.map(|call| schema::ToolCallId::new(call.to_string()));
    schema::ElicitationSessionScope::new(session.clone()).tool_call_id(call)
}

fn property(field: &Field) -> schema::ElicitationPropertySchema {
    use schema::ElicitationPropertySchema as Property;
    let title = line(&field.title, TITLE);
    let description = Some(cut(&field.description, DESCRIPTION)).filter(|text| !text.is_empty());
    let default = field.default.as_ref();
    let text = |choices: Option<Vec<String>>| {
        schema::StringPropertySchema::new()
            .title(title.clone())
            .description(description.clone())
            .enum_values(choices)
            .default_value(default.and_then(Value::as_str).map(str::to_owned))
    };
    match &field.kind {
        FieldKind::Text => Property::String(text(None)),
        FieldKind::Choice(choices) => Property::String(text(Some(some(choices)))),
        FieldKind::Choices(choices) => Property::Array(
            schema::MultiSelectPropertySchema::new(some(choices)).title(title.clone()).description(description.clone()),
        ),
        FieldKind::Integer => Property::Integer(
            schema::IntegerPropertySchema::new()
                .title(title.clone())
                .description(description.clone())
                .default_value(default.and_then(Value::as_i64)),
        ),
        FieldKind::Number => Property::Number(
            schema::NumberPropertySchema::new()
                .title(title.clone())
                .description(description.clone())
                .default_value(default.and_then(Value::as_f64)),
        ),
        FieldKind::Boolean => Property::Boolean(
            schema::BooleanPropertySchema::new()
                .title(title.clone())
                .description(description.clone())
                .default_value(default.and_then(Value::as_bool)),
        ),
    }
}

fn some(choices: &[String]) -> Vec<String> {
    choices.iter().take(CHOICES).cloned().collect()
}

fn value(filled: schema::ElicitationContentValue) -> Value {
    match filled {
        schema::ElicitationContentValue::String(text) => Value::String(text),
        schema::ElicitationContentValue::Integer(number) => Value::from(number),
        schema::ElicitationContentValue::Number(number) => Value::from(number),
        schema::ElicitationContentValue::Boolean(yes) => Value::Bool(yes),
        schema::ElicitationContentValue::StringArray(texts) => Value::from(texts),
        // A kind of value that came after this was written answers nothing that was asked.
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn field(name: &str, kind: FieldKind, default: Option<Value>) -> Field {
        let description = format!("about {name}");
        Field { name: name.to_owned(), title: name.to_uppercase(), description, kind, required: true, default }
    }

    #[test]
    fn a_form_has_a_property_for_each_field() {
        let choices = || vec!["a".to_owned(), "b".to_owned()];
        let asked = Form {
            call: Some(ToolCallId::new("call-1")),
            message: "Which one?".to_owned(),
            fields: vec![
                field("text", FieldKind::Text, Some(json!("x"))),
                field("one", FieldKind::Choice(choices()), None),
                Field { required: false, ..field("some", FieldKind::Choices(choices()), None) },
                field("whole", FieldKind::Integer, Some(json!(3))),
                field("number", FieldKind::Number, Some(json!(0.5))),
                field("sure", FieldKind::Boolean, Some(json!(true))),
            ],
        };
        let request = serde_json::to_string(&form(&asked, &schema::SessionId::new("s-1"))).unwrap();
        expect![[r#"{"mode":"form","sessionId":"s-1","toolCallId":"call-1","requestedSchema":{"type":"object","properties":{"number":{"type":"number","title":"NUMBER","description":"about number","default":0.5},"one":{"type":"string","title":"ONE","description":"about one","enum":["a","b"]},"some":{"type":"array","title":"SOME","description":"about some","items":{"type":"string","enum":["a","b"]}},"sure":{"type":"boolean","title":"SURE","description":"about sure","default":true},"text":{"type":"string","title":"TEXT","description":"about text","default":"x"},"whole":{"type":"integer","title":"WHOLE","description":"about whole","default":3}},"required":["text","one","whole","number","sure"]},"message":"Which one?"}"#]].assert_eq(&request);
    }

    #[test]
    fn a_page_has_an_id_and_an_address() {
        let asked = Page {
            call: None,
            id: "page-1".to_owned(),
            message: "Log in".to_owned(),
            url: "https://example.com/login".to_owned(),
        };
        let request = serde_json::to_string(&page(&asked, &schema::SessionId::new("s-1"))).unwrap();
        expect![[r#"{"mode":"url","sessionId":"s-1","elicitationId":"page-1","url":"https://example.com/login","message":"Log in"}"#]].assert_eq(&request);
    }

    #[test]
    fn only_an_acceptance_is_one() {
        for (answer, expected) in [
            (json!({ "action": "decline" }), Reply::Declined),
            (json!({ "action": "cancel" }), Reply::Dismissed),
            (json!({ "action": "later" }), Reply::Dismissed),
            (json!({ "action": "accept" }), Reply::Accepted(serde_json::Map::new())),
            (
                json!({ "action": "accept", "content": { "t": "x", "n": 1, "f": 0.5, "b": true, "l": ["a"] } }),
                Reply::Accepted(
                    json!({ "t": "x", "n": 1, "f": 0.5, "b": true, "l": ["a"] }).as_object().unwrap().clone(),
                ),
            ),
        ] {
            assert_eq!(reply(serde_json::from_value(answer.clone()).unwrap()), expected, "{answer}");
        }
    }
}
