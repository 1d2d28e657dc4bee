//! What a client says of a session that it opens: its folders, and its own instructions for the model.

use std::path::{Path, PathBuf};

use acp_runtime_agent::store::SessionSetup;
use acp_runtime_agent::transcript::{SystemPrompt, SystemPromptMode};
use agent_client_protocol::v1::schema::{self, ContentBlock};

use super::size::line;
use crate::acp::error::RequestError;

/// Folders beside the first: more are a mistake, since each stays open for as long as its session.
const MOST_ADDITIONAL: usize = 64;
/// Characters of a wrong path that are repeated.
const SHOWN: usize = 200;

/// Reads what is said in any request that opens a session.
pub(in crate::acp) fn setup(
    cwd: &Path,
    additional: &[PathBuf],
    system_prompt: Option<schema::SystemPrompt>,
) -> Result<SessionSetup, RequestError> {
    let cwd = folder("cwd", cwd)?;
    let mut folders: Vec<String> = Vec::new();
    for path in additional {
        let folder = folder("additionalDirectories", path)?;
        if folder != cwd && !folders.contains(&folder) {
            folders.push(folder);
        }
        if folders.len() > MOST_ADDITIONAL {
            let reason = format!("{} folders, at most {MOST_ADDITIONAL} are opened", additional.len());
            return Err(RequestError::field("additionalDirectories", reason));
        }
    }
    let system_prompt = system_prompt.map(instructions).transpose()?;
    Ok(SessionSetup { cwd, additional: folders, system_prompt })
}

/// An absolute path in the client's spelling, without `.`, doubled or trailing separators: a folder is found in
/// `session/list` however its end is written.
pub(in crate::acp) fn folder(field: &'static str, path: &Path) -> Result<String, RequestError> {
    let plain: PathBuf = path.components().collect();
    match plain.to_str() {
        Some(text) if path.is_absolute() && !text.contains('\0') => Ok(text.to_owned()),
        _ => {
            let shown = line(&path.to_string_lossy(), SHOWN);
            Err(RequestError::field(field, format!("must be an absolute path, not `{shown}`")))
        }
    }
}

/// A mode that is not offered, and content that is no text, are refused: applied in part they would mean another thing.
fn instructions(prompt: schema::SystemPrompt) -> Result<SystemPrompt, RequestError> {
    let refused = |reason: String| RequestError::field("systemPrompt", reason);
    let mode = match prompt.mode {
        schema::SystemPromptMode::Append => SystemPromptMode::Append,
        schema::SystemPromptMode::Override => SystemPromptMode::Override,
        _ => {
            return Err(RequestError::Field {
                field: "systemPrompt",
                reason: "unknown mode".to_owned(),
                available: Some(vec!["append".to_owned(), "override".to_owned()]),
            });
        }
    };
    let mut texts = Vec::with_capacity(prompt.content.len());
    for (index, block) in prompt.content.into_iter().enumerate() {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            _ => return Err(refused(format!("block {index}: only text is taken"))),
        }
    }
    let text = texts.join("\n\n");
    if text.trim().is_empty() {
        return Err(refused("content must not be empty".to_owned()));
    }
    Ok(SystemPrompt { mode, text })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;

    fn outcome(setup: Result<SessionSetup, RequestError>) -> String {
        match setup {
            Ok(setup) => {
                let SessionSetup { cwd, additional, system_prompt } = setup;
                format!("{cwd} {additional:?} {}", serde_json::to_string(&system_prompt).unwrap())
            }
            Err(error) => serde_json::to_string(&agent_client_protocol::Error::from(error).data).unwrap(),
        }
    }

    #[test]
    fn folders_are_absolute_and_named_once() {
        let read = |cwd: &str, more: &[&str]| {
            let more: Vec<PathBuf> = more.iter().map(PathBuf::from).collect();
            outcome(setup(Path::new(cwd), &more, None))
        };
        let many: Vec<String> = (0..65).map(|n| format!("/{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let same = ["/q"; 1000];
        let table = [
            read("/p", &[]),
            read("/p//./a/", &["/q/", "/q", "/p/a", "/q/../r"]),
            read("/", &same),
            read("", &[]),
            read("p", &[]),
            read(".", &[]),
            read("/p\0", &[]),
            read("/p", &["/q", "q\n"]),
            read("/p", &many),
            read("/p", &many[1..]).chars().take(20).collect(),
        ];
        expect![[r#"
            /p [] null
            /p/a ["/q", "/q/../r"] null
            / ["/q"] null
            {"cwd":"must be an absolute path, not ``"}
            {"cwd":"must be an absolute path, not `p`"}
            {"cwd":"must be an absolute path, not `.`"}
            {"cwd":"must be an absolute path, not `/p `"}
            {"additionalDirectories":"must be an absolute path, not `q `"}
            {"additionalDirectories":"65 folders, at most 64 are opened"}
            /p ["/1", "/2", "/3""#]]
        .assert_eq(&table.join("\n"));
    }

    #[test]
    fn instructions_are_taken_whole_or_refused() {
        let read = |prompt: Value| {
            let prompt = serde_json::from_value(prompt).unwrap();
            outcome(setup(Path::new("/p"), &[], Some(prompt)))
        };
        let text = |text: &str| json!({ "type": "text", "text": text });
        let table = [
            json!({ "mode": "append", "content": [text("Be kind."), text("Be brief.")] }),
            json!({ "mode": "override", "content": [text("Be kind.")] }),
            json!({ "mode": "_mine", "content": [text("Be kind.")] }),
            json!({ "mode": "append", "content": [] }),
            json!({ "mode": "append", "content": [text(" \n")] }),
            json!({ "mode": "append", "content": [text("See:"), { "type": "image", "data": "AA==", "mimeType": "image/png" }] }),
        ]
        .map(read);
        expect![[r#"
            /p [] {"mode":"append","text":"Be kind.\n\nBe brief."}
            /p [] {"mode":"override","text":"Be kind."}
            {"systemPrompt":"unknown mode","available":["append","override"]}
            {"systemPrompt":"content must not be empty"}
            {"systemPrompt":"content must not be empty"}
            {"systemPrompt":"block 1: only text is taken"}"#]]
        .assert_eq(&table.join("\n"));
    }
}
