//! Responses, as `OpenAI` streams them: <https://platform.openai.com/docs/api-reference/responses-streaming>.

use serde_json::{Value, json};

use super::{Ending, Stop, Wire};

/// One answer in this format: items of output, one after the other.
#[derive(Default)]
pub(super) struct OpenAiResponses {
    items: usize,
    /// The call that is open: its name, and its arguments so far.
    call: (String, String),
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn response(status: &str, more: &Value) -> Value {
    let mut response =
        json!({ "id": "resp_1", "object": "response", "model": "double", "status": status, "output": [] });
    for (key, value) in more.as_object().into_iter().flatten() {
        response[key] = value.clone();
    }
    response
}

impl OpenAiResponses {
    /// The call that is open, with these arguments.
    fn item(&self, arguments: &str) -> Value {
        let (index, name) = (self.items, &self.call.0);
        json!({ "type": "function_call", "id": format!("fc_{index}"), "call_id": format!("call_{index}"),
            "name": name, "arguments": arguments })
    }
}

impl Wire for OpenAiResponses {
    fn begin(&mut self) -> String {
        event(&json!({ "type": "response.created", "response": response("in_progress", &json!({})) }))
    }

    fn text(&mut self, text: &str) -> String {
        event(&json!({ "type": "response.output_text.delta", "item_id": "msg_1", "output_index": self.items,
            "content_index": 0, "delta": text }))
    }

    fn thought(&mut self, text: &str) -> String {
        event(&json!({ "type": "response.reasoning_summary_text.delta", "item_id": "rs_1",
            "output_index": self.items, "summary_index": 0, "delta": text }))
    }

    /// The item of reasoning, which only the provider can read.
    fn signature(&mut self, signature: &str) -> String {
        let index = self.items;
        self.items += 1;
        let item = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": signature });
        event(&json!({ "type": "response.output_item.done", "output_index": index, "item": item }))
    }

    fn call(&mut self, name: &str) -> String {
        self.call = (name.to_owned(), String::new());
        let item = self.item("");
        event(&json!({ "type": "response.output_item.added", "output_index": self.items, "item": item }))
    }

    fn arguments(&mut self, delta: &str) -> String {
        self.call.1.push_str(delta);
        let index = self.items;
        event(&json!({ "type": "response.function_call_arguments.delta", "item_id": format!("fc_{index}"),
            "output_index": index, "delta": delta }))
    }

    fn call_end(&mut self) -> String {
        let (index, item) = (self.items, self.item(&self.call.1));
        self.items += 1;
        event(&json!({ "type": "response.output_item.done", "output_index": index, "item": item }))
    }

    fn refusal(&mut self, words: &str) -> (String, Option<Stop>) {
        if words.is_empty() {
            return (String::new(), Some(Stop::Filter));
        }
        let refusal = json!({ "type": "response.refusal.delta", "item_id": "msg_1", "output_index": self.items,
            "content_index": 0, "delta": words });
        (event(&refusal), None)
    }

    fn end(&mut self, Ending { stop, usage }: Ending) -> String {
        let usage = usage.map(|(input, output)| {
            json!({
                "input_tokens": input, "input_tokens_details": { "cached_tokens": input / 2 },
                "output_tokens": output, "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": input + output,
            })
        });
        let cut = match stop {
            Some(Stop::Length) => Some("max_output_tokens"),
            Some(Stop::Filter) => Some("content_filter"),
            Some(Stop::Finished | Stop::Tools) | None => None,
        };
        let (kind, status) = match cut {
            Some(_) => ("response.incomplete", "incomplete"),
            None => ("response.completed", "completed"),
        };
        let more = json!({ "usage": usage, "incomplete_details": cut.map(|reason| json!({ "reason": reason })) });
        event(&json!({ "type": kind, "response": response(status, &more) }))
    }

    fn unknown(&self) -> String {
        event(&json!({ "type": "response.mood.changed", "mood": "good" }))
    }

    fn malformed(&self) -> String {
        "event: response.output_text.delta\ndata: {\"type\": \"response.output_text.delta\", \"delta\": [\n\n"
            .to_owned()
    }

    fn failure(&self, message: &str) -> String {
        let error = json!({ "error": { "code": "server_error", "message": message } });
        event(&json!({ "type": "response.failed", "response": response("failed", &error) }))
    }

    fn error(&self, status: u16) -> String {
        json!({ "error": { "message": format!("the double says {status}"), "type": "double", "code": null } })
            .to_string()
    }
}
