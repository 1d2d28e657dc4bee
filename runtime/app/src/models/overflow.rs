//! That a request is longer than the model's window: each provider and each server says it in its own words.
//!
//! Pure; tested by a table of what they say.

use serde_json::Value;

use super::failure::{code, words};

/// What classifies such an error, where something does.
const CODES: [&str; 3] = ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];

/// What such an error says, in small letters; all words of a line are in it.
const SENTENCES: [&[&str]; 13] = [
    // OpenAI, and what imitates it: vLLM, DeepSeek, Groq, OpenRouter.
    &["maximum context length"],
    &["exceeds the context window"],
    &["reduce the length of the messages"],
    // Anthropic.
    &["prompt is too long"],
    &["exceed context limit"],
    // Google.
    &["input token count", "exceeds the maximum number of tokens"],
    // Ollama.
    &["input length exceeds", "context length"],
    &["exceeded maximum context length"],
    // llama.cpp and LM Studio.
    &["exceeds the available context size"],
    &["greater than the context length"],
    // xAI, Mistral and Moonshot.
    &["maximum prompt length is"],
    &["too large for model with", "maximum context"],
    &["exceeded model token limit"],
];

/// Whether an error body says that.
pub(super) fn says(body: &Value) -> bool {
    if code(body).is_some_and(|code| CODES.contains(&code.as_str())) {
        return true;
    }
    let Some(words) = words(body).map(str::to_ascii_lowercase) else { return false };
    SENTENCES.iter().any(|sentence| sentence.iter().all(|part| words.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_is_understood() {
        for (body, overflow) in [
            // <https://platform.openai.com/docs/guides/error-codes>
            (
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
                true,
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}"#,
                true,
            ),
            // <https://docs.claude.com/en/api/errors>
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 207564 tokens > 200000 maximum"}}"#,
                true,
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 197202 + 8192 > 200000"}}"#,
                true,
            ),
            (
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
                true,
            ),
            // <https://ai.google.dev/gemini-api/docs/troubleshooting>
            (
                r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
                true,
            ),
            (r#"{"error":"the input length exceeds the context length"}"#, true),
            (r#"{"error":"prompt too long; exceeded maximum context length by 12 tokens"}"#, true),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
                true,
            ),
            (
                r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length"}"#,
                true,
            ),
            (
                r#"{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
                true,
            ),
            (
                r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}"#,
                true,
            ),
            (
                r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}"#,
                true,
            ),
            (r#"{"error":{"message":"max_tokens is too large: 99999","type":"invalid_request_error"}}"#, false),
            (r#"{"error":{"message":"`temperature` is not supported","code":null}}"#, false),
            (r#"{"detail":[1]}"#, false),
            ("null", false),
        ] {
            assert_eq!(says(&serde_json::from_str(body).unwrap()), overflow, "{body}");
        }
    }
}
