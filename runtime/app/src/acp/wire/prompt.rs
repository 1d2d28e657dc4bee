//! What the person said, from ACP.

use acp_runtime_agent::transcript::Part;
use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

use crate::acp::error::RequestError;

/// The parts of a prompt. Refused: an empty prompt, and content that `initialize` did not offer to take.
pub(in crate::acp) fn parts(prompt: Vec<ContentBlock>) -> Result<Vec<Part>, RequestError> {
    let refused = |reason: String| RequestError::field("prompt", reason);
    let mut parts = Vec::with_capacity(prompt.len());
    for (index, block) in prompt.into_iter().enumerate() {
        parts.push(match block {
            ContentBlock::Text(text) => Part::Text { text: text.text },
            ContentBlock::Image(image) => {
                if !image.mime_type.starts_with("image/") || image.data.is_empty() {
                    return Err(refused(format!("block {index}: an image needs `data` and a `mimeType` of `image/…`")));
                }
                Part::Image { data: image.data.into(), mime: image.mime_type }
            }
            ContentBlock::ResourceLink(link) => Part::ResourceLink { name: link.name, uri: link.uri },
            ContentBlock::Resource(resource) => match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    Part::Resource { uri: text.uri, text: text.text }
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => match blob.mime_type {
                    Some(mime) if mime.starts_with("image/") => Part::Image { data: blob.blob.into(), mime },
                    // No model takes the bytes, but its tools may read the file.
                    _ => Part::ResourceLink { name: blob.uri.clone(), uri: blob.uri },
                },
                _ => return Err(refused(format!("block {index}: this kind of resource is not taken"))),
            },
            _ => return Err(refused(format!("block {index}: audio and other kinds of content are not taken"))),
        });
    }
    let says_something = |part: &Part| !matches!(part, Part::Text { text } if text.trim().is_empty());
    if !parts.iter().any(says_something) {
        return Err(refused("must not be empty".to_owned()));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;

    fn read(prompt: Value) -> String {
        match parts(serde_json::from_value(prompt).unwrap()) {
            Ok(parts) => serde_json::to_string(&parts).unwrap(),
            Err(error) => serde_json::to_string(&agent_client_protocol::Error::from(error).data).unwrap(),
        }
    }

    #[test]
    fn prompts_are_read() {
        let table: Vec<String> = [
            json!([]),
            json!([{ "type": "text", "text": " \n" }]),
            json!([{ "type": "text", "text": "hi" }]),
            json!([{ "type": "image", "data": "aGk=", "mimeType": "image/png" }]),
            json!([{ "type": "image", "data": "aGk=", "mimeType": "text/html" }]),
            json!([{ "type": "text", "text": "hear" }, { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" }]),
            json!([{ "type": "resource_link", "name": "a.rs", "uri": "file:///p/a.rs" }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///p/a.rs", "text": "fn main() {}" } }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///p/a.bin", "blob": "AAAA" } }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///a.png", "blob": "AA==", "mimeType": "image/png" } }]),
        ]
        .into_iter()
        .map(read)
        .collect();
        expect![[r#"
            {"prompt":"must not be empty"}
            {"prompt":"must not be empty"}
            [{"type":"text","text":"hi"}]
            [{"type":"image","data":"aGk=","mime":"image/png"}]
            {"prompt":"block 0: an image needs `data` and a `mimeType` of `image/…`"}
            {"prompt":"block 1: audio and other kinds of content are not taken"}
            [{"type":"resource_link","name":"a.rs","uri":"file:///p/a.rs"}]
            [{"type":"resource","uri":"file:///p/a.rs","text":"fn main() {}"}]
            [{"type":"resource_link","name":"file:///p/a.bin","uri":"file:///p/a.bin"}]
            [{"type":"image","data":"AA==","mime":"image/png"}]"#]]
        .assert_eq(&table.join("\n"));
    }
}
