//! What the person said, from ACP.
//!
//! Each block is read by itself, so that one which is not taken is named by its place and kind. Nothing of what a block
//! holds is repeated.

use acp_runtime_agent::transcript::Part;
use agent_client_protocol::v1::schema::{self, EmbeddedResourceResource};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::acp::error::{RequestError, without_input};

/// Blocks of one prompt.
const MOST_BLOCKS: usize = 1000;
/// Bytes of one text.
const LONGEST_TEXT: usize = 4 << 20;
/// Bytes of one image, decoded.
const LARGEST_IMAGE: usize = 10 << 20;

/// What prompts may hold beside text and links; `initialize` says it.
pub(super) fn prompt_capabilities() -> schema::PromptCapabilities {
    schema::PromptCapabilities::new().image(true).embedded_context(true)
}

/// `session/prompt`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::acp) struct PromptRequest {
    /// Whom it is said to.
    pub(in crate::acp) session_id: schema::SessionId,
    /// What is said: content blocks, read by [`parts`].
    prompt: Vec<Value>,
}

/// The parts of a prompt. Refused: an empty prompt, and blocks that are broken, too large, or of a kind that was not
/// offered to be taken.
pub(in crate::acp) fn parts(request: PromptRequest) -> Result<Vec<Part>, RequestError> {
    let capabilities = prompt_capabilities();
    let blocks = request.prompt.len();
    if blocks > MOST_BLOCKS {
        return Err(RequestError::field("prompt", format!("has {blocks} blocks; at most {MOST_BLOCKS}")));
    }
    let read = |(index, block)| {
        let kind = Kind::of(&block);
        let refuse = |reason| RequestError::Block { index, kind: kind.map(Kind::name), reason };
        let Some(kind) = kind else { return Err(refuse("there is no such kind of content".to_owned())) };
        if !kind.is_taken(&capabilities) {
            return Err(refuse("is not taken: see `agentCapabilities.promptCapabilities`".to_owned()));
        }
        part(kind, block).map_err(refuse)
    };
    let parts: Vec<Part> = request.prompt.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
    let says_something = |part: &Part| !matches!(part, Part::Text { text } if text.trim().is_empty());
    if !parts.iter().any(says_something) {
        return Err(RequestError::field("prompt", "must not be empty"));
    }
    Ok(parts)
}

/// The kinds of content that ACP knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Image,
    Audio,
    ResourceLink,
    Resource,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Text, Self::Image, Self::Audio, Self::ResourceLink, Self::Resource];

    fn of(block: &Value) -> Option<Self> {
        let name = block.get("type")?.as_str()?;
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::ResourceLink => "resource_link",
            Self::Resource => "resource",
        }
    }

    fn is_taken(self, capabilities: &schema::PromptCapabilities) -> bool {
        match self {
            Self::Text | Self::ResourceLink => true,
            Self::Image => capabilities.image,
            Self::Audio => capabilities.audio,
            Self::Resource => capabilities.embedded_context,
        }
    }
}

/// The part that a block becomes, or what is wrong with it.
fn part(kind: Kind, block: Value) -> Result<Part, String> {
    match kind {
        Kind::Text => {
            let text: schema::TextContent = read(block)?;
            Ok(Part::Text { text: bounded(text.text)? })
        }
        Kind::Image => {
            let image: schema::ImageContent = read(block)?;
            if !is_image(&image.mime_type) {
                return Err("`mimeType` must begin with `image/`".to_owned());
            }
            Ok(Part::Image { data: picture(image.data)?.into(), mime: image.mime_type })
        }
        // Never offered, and no part of a conversation could hold it.
        Kind::Audio => Err("sounds are not taken".to_owned()),
        Kind::ResourceLink => {
            let link: schema::ResourceLink = read(block)?;
            Ok(Part::ResourceLink { name: bounded(link.name)?, uri: bounded(link.uri)?, text: None })
        }
        Kind::Resource => {
            let resource: schema::EmbeddedResource = read(block)?;
            match resource.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    Ok(Part::Resource { uri: bounded(text.uri)?, text: bounded(text.text)? })
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let data = picture(blob.blob)?;
                    match blob.mime_type {
                        Some(mime) if is_image(&mime) => Ok(Part::Image { data: data.into(), mime }),
                        // No model takes the bytes, but its tools may read the file.
                        _ => Ok(Part::ResourceLink { name: bounded(blob.uri.clone())?, uri: blob.uri, text: None }),
                    }
                }
                _ => Err("has neither `text` nor `blob`".to_owned()),
            }
        }
    }
}

fn read<T: DeserializeOwned>(block: Value) -> Result<T, String> {
    serde_json::from_value(block).map_err(|error| without_input(&error.to_string()))
}

fn is_image(mime: &str) -> bool {
    mime.strip_prefix("image/").is_some_and(|rest| !rest.is_empty() && rest.len() < 100)
}

fn bounded(text: String) -> Result<String, String> {
    if text.len() > LONGEST_TEXT {
        return Err(format!("has {} bytes; at most {LONGEST_TEXT}", text.len()));
    }
    Ok(text)
}

/// Base64 that can be decoded, of something that is not too large.
fn picture(data: String) -> Result<String, String> {
    let bytes = data.len() / 4 * 3;
    if bytes > LARGEST_IMAGE {
        return Err(format!("has about {bytes} bytes; at most {LARGEST_IMAGE}"));
    }
    match STANDARD.decode(&data) {
        Ok(decoded) if decoded.is_empty() => Err("is empty".to_owned()),
        Ok(_) => Ok(data),
        Err(_) => Err("is not base64".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn read(prompt: &Value) -> String {
        let request = serde_json::from_value(json!({ "sessionId": "s", "prompt": prompt })).unwrap();
        match parts(request) {
            Ok(parts) => serde_json::to_string(&parts).unwrap(),
            Err(error) => serde_json::to_string(&agent_client_protocol::Error::from(error).data).unwrap(),
        }
    }

    #[test]
    fn prompts_are_read() {
        let table: Vec<String> = [
            json!([]),
            json!([{ "type": "text", "text": " \n" }]),
            json!([{ "type": "text", "text": "hi", "annotations": { "priority": 1.0 }, "_meta": {} }]),
            json!([{ "type": "image", "data": "aGk=", "mimeType": "image/png" }]),
            json!([{ "type": "resource_link", "name": "a.rs", "uri": "file:///p/a.rs" }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///p/a.rs", "text": "fn main() {}" } }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///p/a.bin", "blob": "AAAA" } }]),
            json!([{ "type": "resource", "resource": { "uri": "file:///a.png", "blob": "AA==", "mimeType": "image/png" } }]),
        ]
        .iter()
        .map(read)
        .collect();
        expect![[r#"
            {"prompt":"must not be empty"}
            {"prompt":"must not be empty"}
            [{"type":"text","text":"hi"}]
            [{"type":"image","data":"aGk=","mime":"image/png"}]
            [{"type":"resource_link","name":"a.rs","uri":"file:///p/a.rs"}]
            [{"type":"resource","uri":"file:///p/a.rs","text":"fn main() {}"}]
            [{"type":"resource_link","name":"file:///p/a.bin","uri":"file:///p/a.bin"}]
            [{"type":"image","data":"AA==","mime":"image/png"}]"#]]
        .assert_eq(&table.join("\n"));
    }

    #[test]
    fn a_block_that_is_not_taken_is_named() {
        let image = |data: &str, mime: &str| json!({ "type": "image", "data": data, "mimeType": mime });
        let blob = |blob: &str| json!({ "type": "resource", "resource": { "uri": "file:///secret", "blob": blob } });
        let table: Vec<String> = [
            json!({ "type": "audio", "data": "aGk=", "mimeType": "audio/wav" }),
            json!({ "type": "secret", "data": "aGk=" }),
            json!({ "type": 5 }),
            json!("secret"),
            json!({ "type": "text" }),
            json!({ "type": "text", "text": ["secret"] }),
            json!({ "type": "text", "text": "x".repeat(LONGEST_TEXT + 1) }),
            image("aGk=", "text/html"),
            image("aGk=", "image/"),
            image("secret!", "image/png"),
            image("", "image/png"),
            image(&"A".repeat(LARGEST_IMAGE / 3 * 4 + 8), "image/png"),
            json!({ "type": "image", "data": "aGk=" }),
            json!({ "type": "resource_link", "uri": "file:///secret" }),
            json!({ "type": "resource", "resource": { "uri": "file:///secret" } }),
            blob("secret!"),
        ]
        .into_iter()
        .map(|block| read(&json!([{ "type": "text", "text": "look" }, block])))
        .collect();
        let table = table.join("\n");
        assert!(!table.contains("secret"), "{table}");
        expect![[r#"
            {"prompt":"block 1 (audio): is not taken: see `agentCapabilities.promptCapabilities`","block":1,"kind":"audio"}
            {"prompt":"block 1: there is no such kind of content","block":1,"kind":null}
            {"prompt":"block 1: there is no such kind of content","block":1,"kind":null}
            {"prompt":"block 1: there is no such kind of content","block":1,"kind":null}
            {"prompt":"block 1 (text): missing field `text`","block":1,"kind":"text"}
            {"prompt":"block 1 (text): invalid type, expected a string","block":1,"kind":"text"}
            {"prompt":"block 1 (text): has 4194305 bytes; at most 4194304","block":1,"kind":"text"}
            {"prompt":"block 1 (image): `mimeType` must begin with `image/`","block":1,"kind":"image"}
            {"prompt":"block 1 (image): `mimeType` must begin with `image/`","block":1,"kind":"image"}
            {"prompt":"block 1 (image): is not base64","block":1,"kind":"image"}
            {"prompt":"block 1 (image): is empty","block":1,"kind":"image"}
            {"prompt":"block 1 (image): has about 10485765 bytes; at most 10485760","block":1,"kind":"image"}
            {"prompt":"block 1 (image): missing field `mimeType`","block":1,"kind":"image"}
            {"prompt":"block 1 (resource_link): missing field `name`","block":1,"kind":"resource_link"}
            {"prompt":"block 1 (resource): the parameters do not have the form that the protocol gives them","block":1,"kind":"resource"}
            {"prompt":"block 1 (resource): is not base64","block":1,"kind":"resource"}"#]].assert_eq(&table);
        let many = vec![json!({ "type": "text", "text": "x" }); MOST_BLOCKS + 1];
        assert_eq!(read(&json!(many)), r#"{"prompt":"has 1001 blocks; at most 1000"}"#);
    }
}
