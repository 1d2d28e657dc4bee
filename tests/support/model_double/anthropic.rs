//! Messages, as Anthropic streams them: <https://platform.claude.com/docs/en/build-with-claude/streaming>, and errors
//! as in <https://platform.claude.com/docs/en/api/errors>.

use serde_json::{Value, json};

use super::{Ending, Stop, Wire};

/// One answer in this format: blocks of content, one after the other.
#[derive(Default)]
pub(super) struct Anthropic {
    blocks: usize,
    /// The type of the block that is open.
    open: Option<&'static str>,
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

impl Anthropic {
    /// What opens a block of that type, where none is open.
    fn block(&mut self, kind: &'static str, block: &Value) -> String {
        if self.open == Some(kind) {
            return String::new();
        }
        let closed = self.close();
        self.open = Some(kind);
        closed + &event(&json!({ "type": "content_block_start", "index": self.blocks, "content_block": block }))
    }

    fn close(&mut self) -> String {
        if self.open.take().is_none() {
            return String::new();
        }
        self.blocks += 1;
        event(&json!({ "type": "content_block_stop", "index": self.blocks - 1 }))
    }

    fn delta(&self, delta: &Value) -> String {
        event(&json!({ "type": "content_block_delta", "index": self.blocks, "delta": delta }))
    }
}

impl Wire for Anthropic {
    fn begin(&mut self) -> String {
        let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
        let message = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "double", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        event(&json!({ "type": "message_start", "message": message })) + &event(&json!({ "type": "ping" }))
    }

    fn text(&mut self, text: &str) -> String {
        self.block("text", &json!({ "type": "text", "text": "" }))
            + &self.delta(&json!({ "type": "text_delta", "text": text }))
    }

    fn thought(&mut self, text: &str) -> String {
        self.block("thinking", &json!({ "type": "thinking", "thinking": "", "signature": "" }))
            + &self.delta(&json!({ "type": "thinking_delta", "thinking": text }))
    }

    /// In two pieces: a signature may be split.
    fn signature(&mut self, signature: &str) -> String {
        let opened = self.block("thinking", &json!({ "type": "thinking", "thinking": "", "signature": "" }));
        let (before, after) = signature.split_at(signature.len() / 2);
        let piece = |piece: &str| self.delta(&json!({ "type": "signature_delta", "signature": piece }));
        opened + &piece(before) + &piece(after)
    }

    fn sealed_thought(&mut self, data: &str) -> String {
        let closed = self.close();
        self.open = Some("redacted_thinking");
        let block = json!({ "type": "redacted_thinking", "data": data });
        closed + &event(&json!({ "type": "content_block_start", "index": self.blocks, "content_block": block }))
    }

    fn call(&mut self, name: &str) -> String {
        let closed = self.close();
        self.open = Some("tool_use");
        let block = json!({ "type": "tool_use", "id": format!("toolu_{}", self.blocks), "name": name, "input": {} });
        let start = event(&json!({ "type": "content_block_start", "index": self.blocks, "content_block": block }));
        closed + &start + &self.arguments("")
    }

    fn arguments(&mut self, delta: &str) -> String {
        self.delta(&json!({ "type": "input_json_delta", "partial_json": delta }))
    }

    fn call_end(&mut self) -> String {
        self.close()
    }

    fn stop(&mut self, _: Stop) -> String {
        self.close()
    }

    fn refusal(&mut self, words: &str) -> (String, Option<Stop>) {
        let text = if words.is_empty() { String::new() } else { self.text(words) };
        (text + &self.close(), Some(Stop::Filter))
    }

    fn end(&mut self, Ending { stop, usage }: Ending) -> String {
        let reason = match stop {
            Some(Stop::Finished) => "end_turn",
            Some(Stop::Tools) => "tool_use",
            Some(Stop::Length) => "max_tokens",
            Some(Stop::Filter) => "refusal",
            None => "pause_turn",
        };
        // What is read from the cache is not in `input_tokens`.
        let usage = usage.map_or(json!({ "output_tokens": 1 }), |(input, output)| {
            json!({
                "input_tokens": input - input / 2, "cache_read_input_tokens": input / 2,
                "cache_creation_input_tokens": 0, "output_tokens": output,
            })
        });
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        event(&json!({ "type": "message_delta", "delta": delta, "usage": usage }))
            + &event(&json!({ "type": "message_stop" }))
    }

    fn unknown(&self) -> String {
        event(&json!({ "type": "message_mood", "mood": "good" }))
    }

    fn malformed(&self) -> String {
        "event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"delta\": [\n\n".to_owned()
    }

    fn failure(&self, message: &str) -> String {
        event(&json!({ "type": "error", "error": { "type": "overloaded_error", "message": message } }))
    }

    fn error(&self, status: u16) -> String {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        let error = json!({ "type": kind, "message": format!("the double says {status}") });
        json!({ "type": "error", "error": error, "request_id": "req_1" }).to_string()
    }
}
