//! `streamGenerateContent?alt=sse`, as Google streams it: <https://ai.google.dev/api/generate-content>, with thoughts as
//! in <https://ai.google.dev/gemini-api/docs/thought-signatures> and errors as in
//! <https://ai.google.dev/gemini-api/docs/troubleshooting>.

use serde_json::{Value, json};

use super::{Ending, Stop, Wire};

/// One answer in this format: every event is a whole response with the next parts of the content.
#[derive(Default)]
pub(super) struct Gemini {
    blocked: bool,
    /// The call that is open: its name, and its arguments so far.
    call: (String, String),
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

    fn call(&mut self, name: &str) -> String {
        self.call = (name.to_owned(), String::new());
        String::new()
    }

    fn arguments(&mut self, delta: &str) -> String {
        self.call.1.push_str(delta);
        String::new()
    }

    fn call_end(&mut self) -> String {
        let (name, arguments) = std::mem::take(&mut self.call);
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_else(|_| json!({}));
        self.part(json!({ "functionCall": { "name": name, "args": arguments } }))
    }

    /// Without words the prompt is blocked, and there is no candidate at all.
    fn refusal(&mut self, words: &str) -> (String, Option<Stop>) {
        if words.is_empty() {
            self.blocked = true;
            let feedback = json!({ "blockReason": "PROHIBITED_CONTENT" });
            return (event(&json!({ "promptFeedback": feedback, "modelVersion": "double" })), None);
        }
        (self.text(words), Some(Stop::Filter))
    }

    fn end(&mut self, Ending { stop, usage }: Ending) -> String {
        if self.blocked {
            return String::new();
        }
        let reason = match stop {
            Some(Stop::Finished | Stop::Tools) => "STOP",
            Some(Stop::Length) => "MAX_TOKENS",
            Some(Stop::Filter) => "SAFETY",
            None => "FINISH_REASON_UNSPECIFIED",
        };
        let usage = usage.map(|(input, output)| {
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
