//! `/api/chat`, as Ollama streams it, a JSON object on each line:
//! <https://docs.ollama.com/api/chat>, and errors as in <https://docs.ollama.com/api/errors>.

use serde_json::{Value, json};

use super::{Ending, Stop, Wire};

/// One answer in this format.
#[derive(Default)]
pub(super) struct Ollama {
    /// The call that is open: its name, and its arguments so far.
    call: (String, String),
}

fn line(data: &Value) -> String {
    format!("{data}\n")
}

fn message(message: &Value) -> String {
    line(&json!({ "model": "double", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false }))
}

impl Wire for Ollama {
    fn content_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn text(&mut self, text: &str) -> String {
        message(&json!({ "role": "assistant", "content": text }))
    }

    fn thought(&mut self, text: &str) -> String {
        message(&json!({ "role": "assistant", "content": "", "thinking": text }))
    }

    fn call(&mut self, name: &str) -> String {
        self.call = (name.to_owned(), String::new());
        String::new()
    }

    fn arguments(&mut self, delta: &str) -> String {
        self.call.1.push_str(delta);
        String::new()
    }

    /// Arguments are an object.
    fn call_end(&mut self) -> String {
        let (name, arguments) = std::mem::take(&mut self.call);
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_else(|_| json!({}));
        let calls = json!([{ "function": { "name": name, "arguments": arguments } }]);
        message(&json!({ "role": "assistant", "content": "", "tool_calls": calls }))
    }

    fn end(&mut self, Ending { stop, usage }: Ending) -> String {
        let reason = match stop {
            Some(Stop::Length) => "length",
            _ => "stop",
        };
        let mut done = json!({ "model": "double", "message": { "role": "assistant", "content": "" }, "done": true });
        // Versions before 0.2 did not say why.
        if stop.is_some() {
            done["done_reason"] = reason.into();
        }
        if let Some((input, output)) = usage {
            done["prompt_eval_count"] = input.into();
            done["prompt_eval_cached_count"] = (input / 2).into();
            done["eval_count"] = output.into();
        }
        line(&done)
    }

    fn heartbeat(&self) -> String {
        "\n".to_owned()
    }

    fn unknown(&self) -> String {
        line(&json!({ "model": "double", "mood": "good" }))
    }

    fn malformed(&self) -> String {
        "{\"message\": [\n".to_owned()
    }

    fn failure(&self, message: &str) -> String {
        line(&json!({ "error": message }))
    }

    fn error(&self, status: u16) -> String {
        json!({ "error": format!("the double says {status}") }).to_string()
    }
}
