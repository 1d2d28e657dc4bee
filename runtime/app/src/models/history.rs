//! What was said so far, as `genai` wants it.
//!
//! The models' own words go back as they came; everything else is repaired where providers would refuse the whole
//! request for it, since a refused history can never be continued: odd tool names, arguments that are no object,
//! messages without content, two messages of the person in a row, one right behind the result of a tool. Tested here by a table, and by what providers are sent.

use std::collections::HashMap;

use acp_runtime_agent::model::{ModelRequest, ToolSpec};
use acp_runtime_agent::transcript::{Message, Part, Role, ToolCallId};
use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, ChatRole, ContentPart, CustomPart, MessageContent, Tool, ToolCall,
    ToolResponse,
};
use serde_json::{Value, json};

use super::frames::redacted_block;
use super::settings::WireFormat;

/// The most characters of a tool's name on the wire.
const TOOL_NAME: usize = 64;

/// The request for a provider that speaks `wire`.
pub(super) fn chat_request(request: &ModelRequest, wire: WireFormat) -> ChatRequest {
    let names = tool_names(request);
    // Thoughts matter within the turn they were thought in; older ones cost tokens, and another provider's signature
    // is refused.
    let since = request.messages.iter().rev().position(|message| message.role == Role::User);
    let turn = since.map_or(0, |since| request.messages.len() - 1 - since);
    let messages = request.messages.iter().enumerate();
    let messages = messages
        .filter_map(|(index, message)| chat_message(message, index >= turn, &names))
        .flat_map(|message| apart(message, wire));
    let mut messages = alternating(messages);
    if wire == WireFormat::Anthropic
        && let Some(last) = messages.last_mut()
    {
        // Anthropic caches only what it is told to: all up to here, which the next request begins with.
        last.options = Some(CacheControl::Ephemeral.into());
    }
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(request.system.as_ref());
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(|spec| tool(spec)));
    }
    chat
}

/// What stands for the model's answer to the results of tools, where a turn has ended before there was one.
const NO_ANSWER: &str = "(The turn ended here.)";

/// What the person said in several messages in a row, as one, and an answer where the results of tools have none. So it is
/// after a summary, and after a turn that ended before the model has said anything. Some providers, and the templates of
/// many models, refuse two messages of one side, or one of the person right behind a result; none refuses these, so it is the
/// same for all of them.
fn alternating(messages: impl Iterator<Item = ChatMessage>) -> Vec<ChatMessage> {
    let mut all: Vec<ChatMessage> = Vec::new();
    for message in messages {
        match all.last_mut() {
            Some(last) if (&last.role, &message.role) == (&ChatRole::User, &ChatRole::User) => {
                join(&mut last.content, message.content);
            }
            last => {
                if last.is_some_and(|last| last.role == ChatRole::Tool) && message.role == ChatRole::User {
                    all.push(ChatMessage::assistant(NO_ANSWER));
                }
                all.push(message);
            }
        }
    }
    all
}

/// Puts more of what a person said behind it. Between the two is an empty line, also where a provider is sent nothing but
/// one text.
fn join(said: &mut MessageContent, more: MessageContent) {
    let mut more = more.into_parts().into_iter();
    match (said.iter_mut().next_back(), more.next()) {
        (Some(ContentPart::Text(before)), Some(ContentPart::Text(text))) => {
            before.push_str("\n\n");
            before.push_str(&text);
        }
        (_, Some(ContentPart::Text(text))) => said.push(ContentPart::Text(format!("\n\n{text}"))),
        (_, first) => said.extend(first),
    }
    said.extend(more);
}

/// The tool that each call is of: results name it for Gemini.
fn tool_names(request: &ModelRequest) -> HashMap<&ToolCallId, String> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some((&call.id, wire_name(&call.name))),
            _ => None,
        })
        .collect()
}

fn chat_message(message: &Message, thoughts: bool, names: &HashMap<&ToolCallId, String>) -> Option<ChatMessage> {
    let mut parts = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::Text { text } if text.is_empty() => {}
            Part::Text { text } => parts.push(ContentPart::from_text(text)),
            Part::Thought { text, signature } => {
                if thoughts {
                    thought(&mut parts, text, signature.as_deref());
                }
            }
            Part::Image { data, mime } => parts.push(ContentPart::from_binary_base64(mime, data.clone(), None)),
            Part::Resource { uri, text } => parts.push(ContentPart::from_text(resource(uri, text))),
            Part::ResourceLink { uri, text: Some(text), .. } => parts.push(ContentPart::from_text(resource(uri, text))),
            Part::ResourceLink { name, uri, text: None } => {
                parts.push(ContentPart::from_text(format!(
                    "<resource_link name=\"{}\" uri=\"{}\"/>",
                    attribute(name),
                    attribute(uri)
                )));
            }
            Part::ToolCall(call) => parts.push(ContentPart::ToolCall(ToolCall {
                call_id: call.id.to_string(),
                fn_name: wire_name(&call.name),
                fn_arguments: wire_arguments(&call.arguments),
                thought_signatures: None,
            })),
            Part::ToolResult { call, text, .. } => {
                let response = ToolResponse::new(call.as_str(), text);
                parts.push(ContentPart::ToolResponse(match names.get(call) {
                    Some(name) => response.with_fn_name(name),
                    None => response,
                }));
            }
        }
    }
    let role = match message.role {
        Role::User => ChatRole::User,
        Role::Assistant => ChatRole::Assistant,
        Role::Tool => ChatRole::Tool,
    };
    (!parts.is_empty()).then(|| ChatMessage::new(role, MessageContent::from_parts(parts)))
}

/// A thought goes with its signature, even where only that has come: providers want both or none.
fn thought(parts: &mut Vec<ContentPart>, text: &str, signature: Option<&str>) {
    if let Some(data) = signature.and_then(redacted_block) {
        if !text.is_empty() {
            parts.push(ContentPart::ReasoningContent(text.to_owned()));
        }
        parts.push(ContentPart::Custom(CustomPart { model_iden: None, data }));
        return;
    }
    parts.extend(signature.map(|signature| ContentPart::ThoughtSignature(signature.to_owned())));
    if signature.is_some() || !text.is_empty() {
        parts.push(ContentPart::ReasoningContent(text.to_owned()));
    }
}

/// The messages that one is on the wire. Ollama has room for one result in a message, and `genai` lets the others go.
fn apart(message: ChatMessage, wire: WireFormat) -> Vec<ChatMessage> {
    if wire != WireFormat::Ollama || message.role != ChatRole::Tool {
        return vec![message];
    }
    let alone = |part| ChatMessage::new(ChatRole::Tool, MessageContent::from_parts(vec![part]));
    message.content.into_parts().into_iter().map(alone).collect()
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.to_string()).with_description(&spec.description).with_schema(spec.input.as_value().clone())
}

/// Text from elsewhere, framed so that the model can tell it from the person's words. The text cannot end its frame.
fn resource(uri: &str, text: &str) -> String {
    format!("<resource uri=\"{}\">\n{}\n</resource>", attribute(uri), text.replace("</resource", "&lt;/resource"))
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('\n', " ")
}

/// A name that every provider takes. A model may have called a tool by a name that no tool has.
fn wire_name(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let name: String =
        name.chars().take(TOOL_NAME).map(|character| if allowed(character) { character } else { '_' }).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Arguments that every provider takes: an object. What the model wrote instead is kept, so that it can see it.
fn wire_arguments(arguments: &Value) -> Value {
    if arguments.is_object() { arguments.clone() } else { json!({ "not_an_object": arguments }) }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::transcript::MessageId;
    use expect_test::expect;

    use super::*;

    /// A message for each letter: the person's text, the model's (`-` without any), a result of a tool, the person's
    /// image.
    fn request(letters: &str) -> ModelRequest {
        let text = |text: &str| Part::Text { text: text.to_owned() };
        let messages = letters.split(' ').enumerate().map(|(number, letter)| {
            let (role, part) = match letter {
                "-" => (Role::Assistant, Part::Thought { text: "hm".to_owned(), signature: None }),
                "t" => {
                    (Role::Tool, Part::ToolResult { call: ToolCallId::new("c"), text: "t".to_owned(), failed: false })
                }
                "i" => (Role::User, Part::Image { data: "aW1n".into(), mime: "image/png".to_owned() }),
                letter if letter.starts_with(char::is_uppercase) => (Role::User, text(letter)),
                letter => (Role::Assistant, text(letter)),
            };
            Message { id: MessageId::new(format!("msg-{number}")), role, parts: vec![part] }
        });
        ModelRequest { system: "".into(), messages: messages.collect(), tools: [].into(), effort: None }
    }

    fn shown(message: &ChatMessage) -> String {
        let parts = message.content.iter().map(|part| match part {
            ContentPart::Text(text) => format!("{text:?}"),
            ContentPart::Binary(_) => "image".to_owned(),
            ContentPart::ToolResponse(_) => "result".to_owned(),
            _ => "other".to_owned(),
        });
        format!("{}[{}]", message.role.to_string().to_lowercase(), parts.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_person_never_speaks_twice_in_a_row() {
        let mut table = String::new();
        for letters in ["A b C", "A B", "A B C d E F", "A - B", "A b t C D", "A i B", "i A", "i i", "A t A"] {
            for wire in [WireFormat::OpenaiChat, WireFormat::Anthropic, WireFormat::Ollama, WireFormat::Gemini] {
                let messages = chat_request(&request(letters), wire).messages;
                let line = messages.iter().map(shown).collect::<Vec<_>>().join(" ");
                let line = format!("{letters}: {line}\n");
                if wire == WireFormat::OpenaiChat {
                    table.push_str(&line);
                }
                assert!(table.ends_with(&line), "it is the same for all: {line}");
            }
        }
        expect![[r#"
            A b C: user["A"] assistant["b"] user["C"]
            A B: user["A\n\nB"]
            A B C d E F: user["A\n\nB\n\nC"] assistant["d"] user["E\n\nF"]
            A - B: user["A\n\nB"]
            A b t C D: user["A"] assistant["b"] tool[result] assistant["(The turn ended here.)"] user["C\n\nD"]
            A i B: user["A" image "\n\nB"]
            i A: user[image "\n\nA"]
            i i: user[image image]
            A t A: user["A"] tool[result] assistant["(The turn ended here.)"] user["A"]
        "#]]
        .assert_eq(&table);
    }
}
