//! Chat Completions, as `OpenAI` streams them: <https://platform.openai.com/docs/api-reference/chat-streaming>, with
//! thoughts as `DeepSeek`, llama.cpp and others add them:
//! <https://api-docs.deepseek.com/guides/thinking_mode>.

use serde_json::{Value, json};

use super::{Ending, Stop, Wire};

/// One answer in this format.
#[derive(Default)]
pub(super) struct OpenAiChat {
    calls: usize,
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> String {
    event(&json!({
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "double",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    }))
}

impl Wire for OpenAiChat {
    fn text(&mut self, text: &str) -> String {
        choice(&json!({ "content": text }), None)
    }

    fn thought(&mut self, text: &str) -> String {
        choice(&json!({ "reasoning_content": text }), None)
    }

    fn call(&mut self, name: &str) -> String {
        let index = self.calls;
        let head = json!({
            "index": index,
            "id": format!("call_{index}"),
            "type": "function",
            "function": { "name": name, "arguments": "" },
        });
        choice(&json!({ "tool_calls": [head] }), None)
    }

    fn arguments(&mut self, delta: &str) -> String {
        let piece = json!({ "index": self.calls, "function": { "arguments": delta } });
        choice(&json!({ "tool_calls": [piece] }), None)
    }

    fn call_end(&mut self) -> String {
        self.calls += 1;
        String::new()
    }

    fn usage(&mut self, input: u64, output: u64) -> String {
        event(&json!({
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "choices": [],
            "usage": {
                "prompt_tokens": input,
                "completion_tokens": output,
                "total_tokens": input + output,
                "prompt_tokens_details": { "cached_tokens": input / 2 },
            },
        }))
    }

    fn stop(&mut self, stop: Stop) -> String {
        let reason = match stop {
            Stop::Finished => "stop",
            Stop::Tools => "tool_calls",
            Stop::Length => "length",
            Stop::Filter => "content_filter",
        };
        choice(&json!({}), Some(reason))
    }

    fn refusal(&mut self, words: &str) -> (String, Option<Stop>) {
        if words.is_empty() {
            return (self.stop(Stop::Filter), None);
        }
        (choice(&json!({ "refusal": words }), None) + &self.stop(Stop::Finished), None)
    }

    fn unknown(&self) -> String {
        event(&json!({ "object": "chat.completion.mood", "mood": "good" }))
    }

    fn malformed(&self) -> String {
        "data: {\"choices\": [\n\n".to_owned()
    }

    fn failure(&self, message: &str) -> String {
        event(&json!({ "error": { "message": message, "type": "server_error", "code": null } }))
    }

    fn end(&mut self, _: Ending) -> String {
        "data: [DONE]\n\n".to_owned()
    }

    fn error(&self, status: u16) -> String {
        json!({ "error": { "message": format!("the double says {status}"), "type": "double", "code": null } })
            .to_string()
    }
}
