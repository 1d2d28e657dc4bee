//! What was said so far, as `genai` wants it.
//!
//! The models' own words go back as they came; everything else is repaired where providers would refuse the whole
//! request for it, since a refused history can never be continued: odd tool names, arguments that are no object,
//! messages without content.

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
    let mut messages: Vec<ChatMessage> = request
        .messages
        .iter()
        .enumerate()
        .filter_map(|(index, message)| chat_message(message, index >= turn, &names))
        .flat_map(|message| apart(message, wire))
        .collect();
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
            Part::ResourceLink { name, uri } => {
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
