//! Tools for models that cannot call any: the model answers in JSON of a given schema, which a server can hold even a
//! weak model to, and what it writes is an answer or a call.
//!
//! The request loses its tools: they are described in the system prompt, and earlier calls and results are told as text
//! in the same form. Of the answer the text is shown as it comes. A model that is not held to the schema may answer as
//! it likes: what is no JSON is its answer. Tested by tables, and with the wire in `tests/it/providers.rs`.

use std::fmt::Write as _;
use std::sync::Arc;

use acp_runtime_agent::model::{ModelEvent, ModelRequest, ToolSpec};
use acp_runtime_agent::transcript::{Conversation, Message, Part, Role, ToolCallId};
use genai::chat::{ChatOptions, JsonSpec};
use serde_json::{Value, json};

use super::calls::call;
use super::settings::WireFormat;

/// What the format of an answer is called on the wire.
const NAME: &str = "turn";

/// The request without tools, and with what stands for them.
pub(super) fn request(request: &ModelRequest) -> ModelRequest {
    let mut system = request.system.to_string();
    system.push_str(
        "\n\nWrite one JSON object and nothing else: either {\"answer\": \"…\"} with your answer in Markdown, or \
         {\"tool\": \"NAME\", \"arguments\": {…}} to call one of these tools, whose result you are told next.\n",
    );
    for tool in request.tools.iter() {
        let ToolSpec { name, description, input, .. } = &**tool;
        let _ = write!(system, "\n- {name}: {description}\n  arguments: {}", input.as_value());
    }
    let mut messages = Conversation::default();
    let mut names: Vec<(&ToolCallId, &str)> = Vec::new();
    for message in request.messages.iter() {
        let Message { id, role, parts } = message;
        let mut told = Vec::with_capacity(parts.len());
        for part in parts {
            told.push(match part {
                Part::Text { text } if *role == Role::Assistant => text_part(json!({ "answer": text }).to_string()),
                Part::ToolCall(call) => {
                    names.push((&call.id, call.name.as_str()));
                    text_part(json!({ "tool": call.name, "arguments": call.arguments }).to_string())
                }
                Part::ToolResult { call, text, failed } => {
                    let name = names.iter().rev().find(|(id, _)| *id == call).map_or("?", |(_, name)| *name);
                    text_part(result(name, text, *failed))
                }
                other => other.clone(),
            });
        }
        let role = if *role == Role::Tool { Role::User } else { *role };
        match messages.last_mut().filter(|last| last.role == role) {
            // Templates of weak models want turns that alternate.
            Some(last) => last.parts.extend(told),
            None => messages.push(Message { id: id.clone(), role, parts: told }),
        }
    }
    ModelRequest { system: system.into(), messages, tools: Arc::new([]), effort: request.effort }
}

fn text_part(text: String) -> Part {
    Part::Text { text }
}

/// The text cannot end its frame.
fn result(name: &str, text: &str, failed: bool) -> String {
    let name: String = name.chars().filter(|next| next.is_ascii_alphanumeric() || "_-".contains(*next)).collect();
    let failed = if failed { " failed=\"true\"" } else { "" };
    format!("<result tool=\"{name}\"{failed}>\n{}\n</result>", text.replace("</result", "&lt;/result"))
}

/// Holds the model to the form of an answer, in the words of the wire.
pub(super) fn hold(options: &mut ChatOptions, wire: WireFormat, tools: &[Arc<ToolSpec>]) {
    let schema = schema(tools);
    // What `genai` makes of a schema for OpenAI would have every argument given.
    match wire {
        WireFormat::OpenaiChat => {
            let format = json!({ "type": "json_schema", "json_schema": { "name": NAME, "schema": schema } });
            options.extra_body = Some(json!({ "response_format": format }));
        }
        WireFormat::OpenaiResponses => {
            let format = json!({ "type": "json_schema", "name": NAME, "schema": schema });
            options.extra_body = Some(json!({ "text": { "format": format } }));
        }
        WireFormat::Anthropic | WireFormat::Gemini | WireFormat::Ollama => {
            options.response_format = Some(JsonSpec::new(NAME, schema).into());
        }
    }
}

/// An answer, or a call of one of the tools with arguments as it takes them.
fn schema(tools: &[Arc<ToolSpec>]) -> Value {
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let call = |tool: &Arc<ToolSpec>| {
        let input = tool.input.as_value();
        // A reference is to a place in the whole schema, where it no longer is.
        let arguments = if refers(input) { json!({ "type": "object" }) } else { input.clone() };
        object(
            json!({ "tool": { "type": "string", "enum": [tool.name.to_string()] }, "arguments": arguments }),
            json!(["tool", "arguments"]),
        )
    };
    let answer = object(json!({ "answer": { "type": "string" } }), json!(["answer"]));
    let forms: Vec<Value> = std::iter::once(answer).chain(tools.iter().map(call)).collect();
    json!({ "anyOf": forms })
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => object.contains_key("$ref") || object.values().any(refers),
        Value::Array(values) => values.iter().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Reads an answer in that form as it comes.
#[derive(Debug, Default)]
pub(super) struct Reader {
    state: State,
    /// What has come and is not shown: all of it while it is not known what it is, then what may be half of a character.
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It may become an answer.
    #[default]
    Open,
    /// Within the string of an answer.
    Answer,
    /// Behind it.
    Answered,
    /// Something else in JSON: a call. It is read when it is whole.
    Object,
    /// No JSON: shown as it is.
    Plain,
}

impl Reader {
    /// The text to show of what has come.
    pub(super) fn take(&mut self, piece: &str) -> Option<String> {
        self.held.push_str(piece);
        if self.state == State::Open {
            self.state = match begin(&self.held) {
                Begin::Perhaps => State::Open,
                Begin::Answer(at) => {
                    self.held.drain(..at);
                    State::Answer
                }
                Begin::Object => State::Object,
                Begin::Plain => State::Plain,
            };
        }
        let text = match self.state {
            State::Open | State::Object => return None,
            State::Answer => self.more(),
            State::Answered => {
                self.held.clear();
                return None;
            }
            State::Plain => std::mem::take(&mut self.held),
        };
        (!text.is_empty()).then_some(text)
    }

    /// More of the answer's string, as far as it can be read.
    fn more(&mut self) -> String {
        let mut rest = self.held.as_str();
        let mut text = String::new();
        let state = loop {
            let Some(next) = rest.chars().next() else { break State::Answer };
            match next {
                '"' => break State::Answered,
                '\\' => {
                    let Some((character, length)) = escaped(rest) else { break State::Answer };
                    text.push(character);
                    rest = rest.get(length..).unwrap_or_default();
                }
                next => {
                    text.push(next);
                    rest = rest.get(next.len_utf8()..).unwrap_or_default();
                }
            }
        };
        self.held = rest.to_owned();
        self.state = state;
        text
    }

    /// What is left when all has come.
    pub(super) fn finish(self) -> Option<ModelEvent> {
        if self.held.trim().is_empty() || matches!(self.state, State::Answer | State::Answered | State::Plain) {
            return None;
        }
        let object = serde_json::Deserializer::from_str(unfenced(&self.held)).into_iter::<Value>().next();
        let Some(Ok(Value::Object(mut object))) = object else { return Some(ModelEvent::Text(self.held)) };
        if let Some(Value::String(name)) = object.remove("tool").or_else(|| object.remove("name")) {
            let arguments = object.remove("arguments").or_else(|| object.remove("parameters"));
            return Some(call(None, name, arguments.unwrap_or_default()));
        }
        match object.remove("answer") {
            Some(Value::String(text)) => Some(ModelEvent::Text(text)),
            _ => Some(ModelEvent::Text(self.held)),
        }
    }
}

/// What an answer begins with.
#[derive(Debug, PartialEq, Eq)]
enum Begin {
    /// Too little to tell.
    Perhaps,
    /// The string of an answer, from there on.
    Answer(usize),
    /// Another object.
    Object,
    /// No JSON.
    Plain,
}

/// The fence that models like to put around JSON.
const FENCES: [&str; 2] = ["```json", "```"];

fn begin(text: &str) -> Begin {
    let inner = unfenced(text);
    if inner.is_empty() || FENCES.iter().any(|fence| fence.starts_with(text.trim_start())) {
        return Begin::Perhaps;
    }
    if !inner.starts_with('{') {
        return Begin::Plain;
    }
    let mut rest = inner;
    for expected in ["{", "\"answer\"", ":", "\""] {
        rest = rest.trim_start();
        match rest.strip_prefix(expected) {
            Some(after) => rest = after,
            None if expected.starts_with(rest) => return Begin::Perhaps,
            None => return Begin::Object,
        }
    }
    Begin::Answer(text.len() - rest.len())
}

/// The text without space and a fence before it.
fn unfenced(text: &str) -> &str {
    let text = text.trim_start();
    let inner = FENCES.iter().find_map(|fence| text.strip_prefix(fence));
    inner.map_or(text, str::trim_start)
}

/// The character that an escape at the beginning of `text` stands for, and the escape's length; none where it is not
/// whole yet. One that is none stands for what is behind its backslash.
fn escaped(text: &str) -> Option<(char, usize)> {
    let kind = text.chars().nth(1)?;
    let simple = |character| Some((character, 1 + kind.len_utf8()));
    match kind {
        'n' => simple('\n'),
        't' => simple('\t'),
        'r' => simple('\r'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'u' => {
            let whole = |at: usize| text.len() >= at + 4;
            let unit = |at: usize| text.get(at..at + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
            if !whole(2) {
                return None;
            }
            let Some(first) = unit(2) else { return Some(('\u{fffd}', 2)) };
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first.into()).unwrap_or('\u{fffd}'), 6));
            }
            // The second half of the character, unless something else is there.
            if text.len() < 8 && "\\u".starts_with(text.get(6..).unwrap_or_default()) {
                return None;
            }
            if text.get(6..8) != Some("\\u") {
                return Some(('\u{fffd}', 6));
            }
            if !whole(8) {
                return None;
            }
            let pair = [first, unit(8).unwrap_or_default()];
            Some((char::decode_utf16(pair).next().and_then(Result::ok).unwrap_or('\u{fffd}'), 12))
        }
        other => simple(other),
    }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::transcript::{MessageId, ToolCall};

    use super::*;

    /// What is shown, piece by piece, then what is left.
    fn read(pieces: &[&str]) -> (Vec<String>, Option<ModelEvent>) {
        let mut reader = Reader::default();
        let shown = pieces.iter().filter_map(|piece| reader.take(piece)).collect();
        (shown, reader.finish())
    }

    #[test]
    fn an_answer_is_shown_as_it_comes() {
        for (pieces, shown) in [
            (&["{\"answer\": \"Hel", "lo\"}"][..], &["Hel", "lo"][..]),
            (&["  {", " \"ans", "wer\"", " : ", "\"a\\", "nb\\\"c\\\\\"", "}", "\n"], &["a", "\nb\"c\\"]),
            (&["```json\n{\"answer\":\"x\"}\n```"], &["x"]),
            (&["``", "`js", "on", "\n{\"answer\":\"x\"}"], &["x"]),
            (&["{\"answer\":\"\\u00e9 \\ud83d", "\\ude0", "0 \\ud83dx \\u12"], &["é ", "😀 \u{fffd}x "]),
            (&["{\"answer\":\"a\nb\"}"], &["a\nb"]),
            (&["{\"answer\":\"cut"], &["cut"]),
            // No JSON at all.
            (&["Hel", "lo {\"answer\""], &["Hel", "lo {\"answer\""]),
            (&["```rust\nfn main"], &["```rust\nfn main"]),
        ] {
            assert_eq!(read(pieces), (shown.iter().map(|&text| text.to_owned()).collect(), None), "{pieces:?}");
        }
    }

    #[test]
    fn a_call_is_read_when_it_is_whole() {
        let read_file = ModelEvent::call("read_file", json!({ "path": "a" }));
        for (pieces, event) in [
            (&["{\"tool\":\"read_file\",", "\"arguments\":{\"path\":\"a\"}}"][..], read_file.clone()),
            (&["```json\n{\"name\": \"read_file\", \"parameters\": {\"path\": \"a\"}}\n```"], read_file.clone()),
            (&["{\"arguments\":{\"path\":\"a\"},\"tool\":\"read_file\"} and so on"], read_file),
            (&["{\"tool\":\"list\"}"], ModelEvent::call("list", json!({}))),
            (&["{\"tool\":\"list\",\"arguments\":\"odd\"}"], ModelEvent::call("list", json!("odd"))),
            (&["{\"note\":1,\"answer\":\"late\"}"], ModelEvent::Text("late".to_owned())),
            (&["{\"odd\":1}"], ModelEvent::Text("{\"odd\":1}".to_owned())),
            (&["{\"tool\": "], ModelEvent::Text("{\"tool\": ".to_owned())),
        ] {
            assert_eq!(read(pieces), (Vec::new(), Some(event)), "{pieces:?}");
        }
        assert_eq!(read(&[" ", "\n"]), (Vec::new(), None));
    }

    #[test]
    fn calls_and_results_are_told_as_text() {
        let message = |role, parts| Message { id: MessageId::new("m"), role, parts };
        let call = ToolCall { id: ToolCallId::new("1"), name: "list".to_owned(), arguments: json!({ "path": "." }) };
        let result = |failed| Part::ToolResult { call: call.id.clone(), text: "a</result>b".to_owned(), failed };
        let asked = ModelRequest {
            system: "Be brief.".into(),
            messages: [
                message(Role::User, vec![text_part("hi".to_owned())]),
                message(Role::Assistant, vec![text_part("Look:".to_owned()), Part::ToolCall(call.clone())]),
                message(Role::Tool, vec![result(false), result(true)]),
                message(Role::User, vec![text_part("and?".to_owned())]),
            ]
            .into_iter()
            .collect(),
            tools: Arc::new([]),
            effort: None,
        };
        let told: Vec<String> = super::request(&asked)
            .messages
            .iter()
            .map(|message| {
                let texts = message.parts.iter().map(|part| match part {
                    Part::Text { text } => text.as_str(),
                    other => panic!("{other:?}"),
                });
                format!("{:?}: {}", message.role, texts.collect::<Vec<_>>().join(" | "))
            })
            .collect();
        assert_eq!(
            told,
            [
                "User: hi",
                "Assistant: {\"answer\":\"Look:\"} | {\"tool\":\"list\",\"arguments\":{\"path\":\".\"}}",
                "User: <result tool=\"list\">\na&lt;/result>b\n</result> | <result tool=\"list\" failed=\"true\">\n\
                 a&lt;/result>b\n</result> | and?",
            ]
        );
    }
}
