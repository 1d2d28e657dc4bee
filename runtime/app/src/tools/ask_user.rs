//! `ask_user`: a question to the person, as a form in their client.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::elicit::{Elicitor, Field, FieldKind, Form, Page, Reply};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Presentation, Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::ToolOutcome;
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{spec, title, unless_cancelled};

/// The name of the only field of a question without fields of its own.
const ANSWER: &str = "answer";

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "ask_user",
        "Ask the user",
        ToolKind::Other,
        "Asks the user for something that only they know, and waits for the answer: a decision between choices, a value, \
         a few values at once. Not for permission, which is asked for by itself, and never for passwords or keys. \
         Do not ask what you can find out.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The question, in a sentence or two.
    question: String,
    /// What can be chosen as the answer; leave it out for a free text.
    #[serde(default)]
    #[schemars(length(max = 50))]
    choices: Vec<String>,
    /// Several values to fill in, instead of one answer.
    #[serde(default)]
    #[schemars(length(max = 20))]
    fields: Vec<AskedField>,
    /// A web page that the user must see first, such as one where something is set up: an https address.
    #[serde(default)]
    url: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskedField {
    /// Its name in the answer.
    name: String,
    /// What stands beside it; by default the name.
    #[serde(default)]
    label: String,
    /// More about it.
    #[serde(default)]
    description: String,
    /// What can be filled in; `choice` is one of `choices`, `multiple_choice` any of them.
    #[serde(default)]
    kind: Kind,
    /// For `choice` and `multiple_choice`.
    #[serde(default)]
    #[schemars(length(max = 50))]
    choices: Vec<String>,
    /// Whether it may be left out.
    #[serde(default)]
    optional: bool,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Text,
    Integer,
    Number,
    Boolean,
    Choice,
    MultipleChoice,
}

/// The tool.
pub(super) struct AskUser(pub(super) Arc<dyn Elicitor>);

impl Tool for AskUser {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    /// A question changes nothing, and its answer allows nothing.
    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        fields(&arguments.read()?)?;
        Ok(Vec::new())
    }

    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let Ok(arguments) = arguments.read::<Arguments>() else { return Presentation::default() };
        Presentation { title: title("Ask", &arguments.question), ..Presentation::default() }
    }

    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let arguments: Arguments = arguments.read()?;
            let call = permit.origin().call().cloned();
            let message = arguments.question.clone();
            let form = Form { call: call.clone(), message: message.clone(), fields: fields(&arguments)? };
            let reply = match arguments.url.as_str() {
                "" => unless_cancelled(&cancel, answered(self.0.fill_in(form))).await?,
                url => {
                    let id = call.as_ref().map_or_else(|| "page".to_owned(), |call| format!("{call}-page"));
                    let page = Page { call, id, message, url: url.to_owned() };
                    unless_cancelled(&cancel, answered(self.after_page(&page, form))).await?
                }
            };
            Ok(outcome(&reply, &arguments))
        }
        .boxed()
    }
}

impl AskUser {
    /// The answer of a person who was shown a page first. It is done with when the answer is there.
    async fn after_page(&self, page: &Page, form: Form) -> Reply {
        match self.0.open(page.clone()).await {
            Reply::Accepted(_) => {
                let reply = self.0.fill_in(form).await;
                self.0.done(page);
                reply
            }
            // A client that opens no pages may show forms, and people can open pages by themselves.
            Reply::NoChannel => {
                let message = format!("{}\n\n{}", form.message, page.url);
                self.0.fill_in(Form { message, ..form }).await
            }
            other => other,
        }
    }
}

async fn answered(reply: impl Future<Output = Reply>) -> Result<Reply, ToolError> {
    Ok(reply.await)
}

/// What is to be filled in.
fn fields(arguments: &Arguments) -> Result<Vec<Field>, ToolError> {
    let invalid = |message: String| Err(ToolError::to_model("invalid-args", message));
    check_page(&arguments.url)?;
    if arguments.fields.is_empty() {
        let kind = match arguments.choices.as_slice() {
            [] => FieldKind::Text,
            choices => FieldKind::Choice(choices.to_vec()),
        };
        return Ok(vec![Field {
            name: ANSWER.to_owned(),
            title: "Answer".to_owned(),
            description: String::new(),
            kind,
            required: true,
            default: None,
        }]);
    }
    if !arguments.choices.is_empty() {
        return invalid("give either `choices` or `fields`: a field can have choices of its own".to_owned());
    }
    let mut fields: Vec<Field> = Vec::new();
    for field in &arguments.fields {
        if field.name.trim().is_empty() || fields.iter().any(|known| known.name == field.name) {
            return invalid(format!("each field needs a name of its own, and there is `{}`", field.name));
        }
        let kind = match (field.kind, field.choices.as_slice()) {
            (Kind::Choice | Kind::MultipleChoice, []) => {
                return invalid(format!("`{}` is to be chosen, but it has no `choices`", field.name));
            }
            (Kind::Choice, choices) => FieldKind::Choice(choices.to_vec()),
            (Kind::MultipleChoice, choices) => FieldKind::Choices(choices.to_vec()),
            (Kind::Text, _) => FieldKind::Text,
            (Kind::Integer, _) => FieldKind::Integer,
            (Kind::Number, _) => FieldKind::Number,
            (Kind::Boolean, _) => FieldKind::Boolean,
        };
        let label = if field.label.is_empty() { &field.name } else { &field.label };
        fields.push(Field {
            name: field.name.clone(),
            title: label.clone(),
            description: field.description.clone(),
            kind,
            required: !field.optional,
            default: None,
        });
    }
    Ok(fields)
}

/// Only pages that a browser opens over the network, and whose host is what it looks like.
fn check_page(url: &str) -> Result<(), ToolError> {
    let host = url.strip_prefix("https://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let plain = |host: &str| !host.is_empty() && !host.contains(['@', '\\']);
    let printable = url.chars().all(|c| c.is_ascii_graphic());
    if url.is_empty() || (host.is_some_and(plain) && printable) {
        return Ok(());
    }
    Err(ToolError::to_model("invalid-args", format!("`{url}` is not the https address of a page")))
}

/// What the model is told.
fn outcome(reply: &Reply, arguments: &Arguments) -> ToolOutcome {
    let said = |action: &str, text: String| {
        let structured = Some(json!({ "action": action }));
        ToolOutcome { structured, ..ToolOutcome::text(text) }
    };
    match reply {
        Reply::Accepted(answers) => ToolOutcome {
            structured: Some(json!({ "action": "accept", "answers": answers })),
            ..ToolOutcome::text(told(answers, arguments))
        },
        Reply::Declined => said(
            "decline",
            "The user does not want to answer that. Go on without it, or end your turn and say what you need it for."
                .to_owned(),
        ),
        Reply::Dismissed => said(
            "cancel",
            "The user closed the question without an answer. Do not ask it again in the same way.".to_owned(),
        ),
        Reply::Late(patience) => said(
            "timeout",
            format!(
                "The user did not answer within {} s. Go on without it, or end your turn and say what you need it for.",
                patience.as_secs_f64()
            ),
        ),
        Reply::Unusable(problem) => said("unusable", format!("There is no answer: {problem}. {IN_TEXT}")),
        Reply::NoChannel => said("in_text", format!("The user's client cannot show a question. {IN_TEXT}")),
    }
}

/// The way that works with every client.
const IN_TEXT: &str = "Put the question into your answer, with what can be chosen, and end your turn: the user answers \
                       with the next prompt.";

fn told(answers: &Map<String, Value>, arguments: &Arguments) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    if let (true, Some(answer)) = (arguments.fields.is_empty(), answers.get(ANSWER)) {
        return format!("The user answered: {}", shown(answer));
    }
    let named = arguments.fields.iter().map(|field| {
        let answer = answers.get(&field.name).map_or_else(|| "(left out)".to_owned(), shown);
        format!("{}: {answer}", field.name)
    });
    std::iter::once("The user answered:".to_owned()).chain(named).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::workspace::tests::permit;

    /// A person who does the same with every form and every page, and what they saw.
    struct Person {
        form: Reply,
        page: Reply,
        seen: Mutex<Vec<String>>,
    }

    impl Person {
        fn saw(&self, what: String) {
            self.seen.lock().unwrap().push(what);
        }
    }

    impl Elicitor for Person {
        fn fill_in(&self, form: Form) -> BoxFuture<'_, Reply> {
            let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
            self.saw(format!("form {:?}: {}", form.message, names.join(" ")));
            Box::pin(async { self.form.clone() })
        }

        fn open(&self, page: Page) -> BoxFuture<'_, Reply> {
            self.saw(format!("page {} {} {:?}", page.id, page.url, page.message));
            Box::pin(async { self.page.clone() })
        }

        fn done(&self, page: &Page) {
            self.saw(format!("done {}", page.id));
        }
    }

    async fn ask(form: Reply, page: Reply, arguments: Value) -> (String, Option<Value>, Vec<String>) {
        let person = Arc::new(Person { form, page, seen: Mutex::default() });
        let tool = AskUser(person.clone());
        let outcome = async {
            let arguments = ToolArguments::validate(tool.spec(), arguments)?;
            let permit = permit(tool.effects(&arguments)?).await;
            tool.run(&permit, arguments, CancellationToken::new()).await
        };
        let seen = || person.seen.lock().unwrap().clone();
        match outcome.await {
            Ok(outcome) => (outcome.for_model(), outcome.structured, seen()),
            Err(error) => (error.for_model(), None, seen()),
        }
    }

    fn accepted(answers: Value) -> Reply {
        Reply::Accepted(answers.as_object().unwrap().clone())
    }

    #[tokio::test]
    async fn one_answer_is_said_in_a_line_and_several_by_name() {
        let (text, structured, seen) =
            ask(accepted(json!({ "answer": "red" })), Reply::NoChannel, json!({ "question": "Which colour?" })).await;
        assert_eq!(text, "The user answered: red");
        assert_eq!(structured, Some(json!({ "action": "accept", "answers": { "answer": "red" } })));
        assert_eq!(seen, [r#"form "Which colour?": answer"#]);

        let fields = json!([
            { "name": "size", "kind": "integer" },
            { "name": "parts", "kind": "multiple_choice", "choices": ["a", "b"] },
            { "name": "note", "optional": true },
        ]);
        let answers = accepted(json!({ "size": 3, "parts": ["a", "b"] }));
        let (text, _, seen) = ask(answers, Reply::NoChannel, json!({ "question": "?", "fields": fields })).await;
        assert_eq!(text, "The user answered:\nsize: 3\nparts: a, b\nnote: (left out)");
        assert_eq!(seen, [r#"form "?": size parts note"#]);
    }

    #[tokio::test]
    async fn without_an_answer_the_model_is_told_what_to_do() {
        for (reply, action, said) in [
            (Reply::Declined, "decline", "The user does not want to answer that."),
            (Reply::Dismissed, "cancel", "The user closed the question without an answer."),
            (Reply::Late(Duration::from_secs(90)), "timeout", "The user did not answer within 90 s."),
            (Reply::Unusable("`answer` was not answered".to_owned()), "unusable", "There is no answer: `answer` was"),
            (
                Reply::NoChannel,
                "in_text",
                "The user's client cannot show a question. Put the question into your answer",
            ),
        ] {
            let (text, structured, _) = ask(reply, Reply::NoChannel, json!({ "question": "?" })).await;
            assert!(text.starts_with(said), "{text}");
            assert_eq!(structured, Some(json!({ "action": action })));
        }
    }

    #[tokio::test]
    async fn a_page_comes_before_its_form_and_is_done_with_it() {
        let question = json!({ "question": "Set it up?", "url": "https://example.com/a?b" });
        let answer = || accepted(json!({ "answer": "yes" }));
        let page = r#"page c-page https://example.com/a?b "Set it up?""#;
        let form = r#"form "Set it up?": answer"#;
        let with_address = r#"form "Set it up?\n\nhttps://example.com/a?b": answer"#;
        for (at_page, said, seen) in [
            (accepted(json!({})), "The user answered: yes", vec![page, form, "done c-page"]),
            (Reply::NoChannel, "The user answered: yes", vec![page, with_address]),
            (Reply::Declined, "The user does not want to answer that.", vec![page]),
        ] {
            let (text, _, saw) = ask(answer(), at_page, question.clone()).await;
            assert!(text.starts_with(said), "{text}");
            assert_eq!(saw, seen);
        }
    }

    #[tokio::test]
    async fn questions_that_cannot_be_shown_are_refused() {
        let field = |name: &str, kind: &str| json!({ "name": name, "kind": kind });
        for (arguments, problem) in [
            (json!({}), "\"question\" is a required property"),
            (json!({ "question": "?", "fields": [field("a", "text"), field("a", "text")] }), "a name of its own"),
            (json!({ "question": "?", "fields": [field(" ", "text")] }), "a name of its own"),
            (json!({ "question": "?", "fields": [field("a", "choice")] }), "it has no `choices`"),
            (json!({ "question": "?", "choices": ["x"], "fields": [field("a", "text")] }), "give either `choices` or"),
            (json!({ "question": "?", "choices": vec!["x"; 51] }), "/choices: "),
            (json!({ "question": "?", "url": "http://example.com" }), "is not the https address of a page"),
            (json!({ "question": "?", "url": "https://bank.com@evil.com/" }), "is not the https address of a page"),
            (json!({ "question": "?", "url": "https:///path" }), "is not the https address of a page"),
            (json!({ "question": "?", "url": "https://a.com/\u{202e}" }), "is not the https address of a page"),
        ] {
            let (text, _, seen) = ask(Reply::NoChannel, Reply::NoChannel, arguments.clone()).await;
            assert!(text.contains(problem) && text.starts_with("Error [invalid-args]"), "{arguments}: {text}");
            assert!(seen.is_empty());
        }
    }
}
