//! `streamGenerateContent?alt=sse`, as Google streams it: <https://ai.google.dev/api/generate-content>, with thoughts as
//! in <https://ai.google.dev/gemini-api/docs/thought-signatures> and errors as in
//! <https://ai.google.dev/gemini-api/docs/troubleshooting>.

use serde_json::{Value, json};

use super::{Stop, Wire};

/// One answer in this format: every event is a whole response with the next parts of the content.
#[derive(Default)]
pub(super) struct Gemini {
    stop: Option<Stop>,
    blocked: bool,
    usage: Option<(u64, u64)>,
    /// Goes with the next part.
    signature: Option<String>,
}

fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

impl Gemini {
    fn part(&mut self, mut part: Value) -> String {
        if let Some(signature) = self.signature.take() {
            part["thoughtSignature"] = signature.into();
        }
        let content = json!({ "parts": [part], "role": "model" });
        event(&json!({ "candidates": [{ "content": content, "index": 0 }], "modelVersion": "double" }))
    }
}

impl Wire for Gemini {
    fn text(&mut self, text: &str) -> String {
        self.part(json!({ "text": text }))
    }

    fn thought(&mut self, text: &str) -> String {
        self.part(json!({ "text": text, "thought": true }))
    }

    fn signature(&mut self, signature: &str) -> String {
        self.signature = Some(signature.to_owned());
        String::new()
    }

    /// Arguments come whole.
    fn call(&mut self, name: &str, deltas: &[String]) -> String {
        let arguments: Value = serde_json::from_str(&deltas.concat()).unwrap_or_else(|_| json!({}));
        self.part(json!({ "functionCall": { "name": name, "args": arguments } }))
    }

    fn usage(&mut self, input: u64, output: u64) -> String {
        self.usage = Some((input, output));
        String::new()
    }

    fn stop(&mut self, stop: Stop) -> String {
        self.stop = Some(stop);
        String::new()
    }

    /// Without words the prompt is blocked, and there is no candidate at all.
    fn refusal(&mut self, words: &str) -> String {
        if words.is_empty() {
            self.blocked = true;
            return event(
                &json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" }, "modelVersion": "double" }),
            );
        }
        self.stop = Some(Stop::Filter);
        self.text(words)
    }

    fn end(&mut self) -> String {
        if self.blocked {
            return String::new();
        }
        let reason = match self.stop {
            Some(Stop::Finished | Stop::Tools) => "STOP",
            Some(Stop::Length) => "MAX_TOKENS",
            Some(Stop::Filter) => "SAFETY",
            None => "FINISH_REASON_UNSPECIFIED",
        };
        let usage = self.usage.map(|(input, output)| {
            json!({
                "promptTokenCount": input, "cachedContentTokenCount": input / 2, "candidatesTokenCount": output,
                "totalTokenCount": input + output,
            })
        });
        let content = json!({ "parts": [{ "text": "" }], "role": "model" });
        event(&json!({
            "candidates": [{ "content": content, "finishReason": reason, "index": 0 }], "usageMetadata": usage,
        }))
    }

    fn unknown(&self) -> String {
        event(&json!({ "moodMetadata": { "mood": "good" } }))
    }

    fn malformed(&self) -> String {
        "data: {\"candidates\": [\r\n\r\n".to_owned()
    }

    fn failure(&self, message: &str) -> String {
        event(&json!({ "error": { "code": 503, "message": message, "status": "UNAVAILABLE" } }))
    }

    fn error(&self, status: u16) -> String {
        let word = match status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            500.. => "UNAVAILABLE",
            _ => "INVALID_ARGUMENT",
        };
        json!({ "error": { "code": status, "message": format!("the double says {status}"), "status": word } })
            .to_string()
    }
}
