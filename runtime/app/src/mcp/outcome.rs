//! What a call gave, as the model and the client are shown it: everything of it bounded.

use acp_runtime_agent::noun::counted;
use acp_runtime_agent::plain;
use acp_runtime_agent::tool::ToolError;
use acp_runtime_agent::transcript::{ToolContent, ToolOutcome};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Pieces of content of one outcome.
const PIECES: usize = 64;
/// Bytes of all text of one outcome. The turn's own limit, which is mostly lower, comes after it.
const TEXT: usize = 1 << 20;
/// Bytes of an image, in base64.
const IMAGE: usize = 5 << 20;
/// Characters of an address or a name.
const NAME: usize = 2000;

/// The outcome of a call that was answered. A server's own error is one for the model.
pub(super) fn outcome(result: CallToolResult) -> Result<ToolOutcome, ToolError> {
    let structured = result.structured_content;
    let mut content = contents(result.content);
    if content.is_empty()
        && let Some(value) = structured.as_ref().filter(|value| !value.is_null())
    {
        content.push(text(&value.to_string()));
    }
    let outcome = ToolOutcome { content, structured: structured.filter(Value::is_object), ..ToolOutcome::default() };
    if result.is_error == Some(true) {
        let told = outcome.for_model();
        let told = if told.is_empty() { "the server reports an error and does not say which" } else { told.as_str() };
        return Err(ToolError::to_model("server", told));
    }
    Ok(outcome)
}

/// Texts that follow each other are one.
fn contents(blocks: Vec<ContentBlock>) -> Vec<ToolContent> {
    let mut pieces: Vec<ToolContent> = Vec::new();
    let mut left = TEXT;
    let mut missing = 0_usize;
    for block in blocks {
        let piece = piece(block, &mut left);
        let full = pieces.len() >= PIECES;
        match (pieces.last_mut(), piece) {
            (Some(ToolContent::Text { text }), ToolContent::Text { text: more }) => {
                text.push('\n');
                text.push_str(&more);
            }
            _ if full => missing += 1,
            (_, piece) => pieces.push(piece),
        }
    }
    if missing > 0 {
        pieces.push(text(&format!("[left out: {} of content]", counted(missing, "more piece"))));
    }
    pieces
}

fn piece(block: ContentBlock, left: &mut usize) -> ToolContent {
    match block {
        ContentBlock::Text(content) => text(&within(&content.text, left)),
        ContentBlock::Image(image) if is_image(&image.mime_type, &image.data) => {
            ToolContent::Image { data: image.data.into(), mime: image.mime_type }
        }
        ContentBlock::Image(image) => unseen(&image.mime_type, &image.data),
        ContentBlock::Audio(audio) => unseen(&audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => ToolContent::Resource {
                uri: plain::line(&uri, NAME),
                text: within(&text, left),
                mime: mime_type.map(|mime| plain::line(&mime, NAME)),
            },
            ResourceContents::BlobResourceContents { mime_type: Some(mime), blob, .. } if is_image(&mime, &blob) => {
                ToolContent::Image { data: blob.into(), mime }
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("binary data");
                text(&format!("[{}: {}]", plain::line(&uri, NAME), size(kind, &blob)))
            }
            _ => text("[content of an unknown kind]"),
        },
        ContentBlock::ResourceLink(link) => ToolContent::Link {
            name: plain::line(link.title.as_deref().unwrap_or(&link.name), NAME),
            uri: plain::line(&link.uri, NAME),
            mime: link.mime_type.map(|mime| plain::line(&mime, NAME)),
            size: link.size,
        },
        _ => text("[content of an unknown kind]"),
    }
}

fn text(text: &str) -> ToolContent {
    ToolContent::Text { text: text.to_owned() }
}

/// As much of `text` as there is room for.
fn within(text: &str, left: &mut usize) -> String {
    let kept = plain::cut(text, *left);
    *left -= kept.len();
    match text.len() - kept.len() {
        0 => kept.to_owned(),
        missing => format!("{kept}\n[cut: {} left out]", counted(missing, "byte")),
    }
}

/// Whether it is what clients can show: base64 of a kind of image, and not too much of it.
fn is_image(mime: &str, data: &str) -> bool {
    let kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    kinds.contains(&mime) && !data.is_empty() && data.len() <= IMAGE && data.bytes().all(encoded)
}

/// What cannot be shown is at least named.
fn unseen(mime: &str, data: &str) -> ToolContent {
    text(&format!("[{}]", size(mime, data)))
}

fn size(mime: &str, data: &str) -> String {
    format!("{}, about {}", plain::line(mime, 80), counted(data.len() / 4 * 3, "byte"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn read(result: Value) -> Result<ToolOutcome, ToolError> {
        outcome(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn every_kind_of_content_has_its_place() {
        let png = "iVBORw0KGgo=";
        let outcome = read(json!({
            "content": [
                { "type": "text", "text": "one" },
                { "type": "text", "text": "two" },
                { "type": "image", "data": png, "mimeType": "image/png" },
                { "type": "image", "data": "not base64!", "mimeType": "image/png" },
                { "type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav" },
                { "type": "resource", "resource": { "uri": "file:///a\n", "text": "A", "mimeType": "text/x-a" } },
                { "type": "resource", "resource": { "uri": "x:b", "blob": png, "mimeType": "image/png" } },
                { "type": "resource", "resource": { "uri": "x:c", "blob": "AAAA" } },
                { "type": "resource_link", "uri": "x:d", "name": "d", "title": "Dee", "size": 3 },
            ],
            "structuredContent": { "n": 1 },
        }))
        .unwrap();
        let table: Vec<String> = outcome.content.iter().map(|piece| format!("{piece:?}")).collect();
        expect![[r#"
            Text { text: "one\ntwo" }
            Image { data: "iVBORw0KGgo=", mime: "image/png" }
            Text { text: "[image/png, about 6 bytes]\n[audio/wav, about 6 bytes]" }
            Resource { uri: "file:///a", text: "A", mime: Some("text/x-a") }
            Image { data: "iVBORw0KGgo=", mime: "image/png" }
            Text { text: "[x:c: binary data, about 3 bytes]" }
            Link { name: "Dee", uri: "x:d", mime: None, size: Some(3) }"#]]
        .assert_eq(&table.join("\n"));
        assert_eq!(outcome.structured, Some(json!({ "n": 1 })));
    }

    #[test]
    fn a_result_without_content_is_its_structure() {
        for (result, told) in [
            (json!({ "content": [], "structuredContent": { "n": 1 } }), "{\"n\":1}"),
            (json!({ "content": [], "structuredContent": [1, 2] }), "[1,2]"),
            (json!({ "content": [], "structuredContent": null }), ""),
            (json!({ "content": [{ "type": "text", "text": "t" }], "structuredContent": { "n": 1 } }), "t"),
            (json!({ "content": [] }), ""),
        ] {
            assert_eq!(read(result.clone()).unwrap().for_model(), told, "{result}");
        }
    }

    #[test]
    fn a_servers_error_is_the_models() {
        let error = read(json!({ "content": [{ "type": "text", "text": "no such city" }], "isError": true }));
        assert_eq!(error.unwrap_err().for_model(), "Error [server]: no such city");
        let error = read(json!({ "content": [], "isError": true })).unwrap_err();
        assert_eq!(error.for_model(), "Error [server]: the server reports an error and does not say which");
    }

    #[test]
    fn however_much_comes_it_is_bounded() {
        let texts: Vec<Value> = (0..100).map(|_| json!({ "type": "text", "text": "x".repeat(20_000) })).collect();
        let outcome = read(json!({ "content": texts })).unwrap();
        assert!(outcome.for_model().len() < TEXT + 100 * 64, "{}", outcome.for_model().len());
        let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
        let outcome = read(json!({ "content": vec![image; 100] })).unwrap();
        assert_eq!(outcome.content.len(), PIECES + 1);
        assert_eq!(outcome.content.last(), Some(&text("[left out: 36 more pieces of content]")));
        let large = json!({ "type": "image", "data": "A".repeat(IMAGE + 4), "mimeType": "image/png" });
        let outcome = read(json!({ "content": [large] })).unwrap();
        assert_eq!(outcome.for_model(), "[image/png, about 3932163 bytes]");
    }
}
