//! What a client was told in one turn or replay, made easy to look at.

use serde_json::{Map, Value};

/// The updates of a turn, in order, and how it ended.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The stop reason; empty for a replay.
    pub stop: String,
    /// The `update` objects.
    pub updates: Vec<Value>,
}

/// A tool call as a client sees it in the end: the announcement with all updates laid over it.
#[derive(Debug, Clone)]
pub struct CallView {
    /// Its id.
    pub id: String,
    /// Every status that it had, in order.
    pub statuses: Vec<String>,
    /// Every title that it had, in order.
    pub titles: Vec<String>,
    /// All fields, the last value of each.
    pub fields: Map<String, Value>,
}

impl Turn {
    /// The updates of one kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.updates.iter().filter(move |update| update["sessionUpdate"] == kind)
    }

    /// Everything that the agent said.
    pub fn text(&self) -> String {
        self.said("agent_message_chunk")
    }

    /// The text of all chunks of one kind.
    pub fn said(&self, kind: &str) -> String {
        self.of(kind).filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// The tool calls in the order of their announcements.
    pub fn calls(&self) -> Vec<CallView> {
        let mut calls: Vec<CallView> = Vec::new();
        for update in &self.updates {
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            if kind != "tool_call" && kind != "tool_call_update" {
                continue;
            }
            let id = update["toolCallId"].as_str().unwrap_or_default();
            if kind == "tool_call" {
                calls.push(CallView {
                    id: id.to_owned(),
                    statuses: Vec::new(),
                    titles: Vec::new(),
                    fields: Map::new(),
                });
            }
            let Some(call) = calls.iter_mut().find(|call| call.id == id) else { continue };
            for (name, value) in update.as_object().into_iter().flatten() {
                call.fields.insert(name.clone(), value.clone());
            }
            call.titles.extend(update["title"].as_str().map(str::to_owned));
            // A new call that does not say how far it is is pending.
            match update["status"].as_str() {
                Some(status) => call.statuses.push(status.to_owned()),
                None if kind == "tool_call" => call.statuses.push("pending".to_owned()),
                None => {}
            }
        }
        calls
    }

    /// The only tool call.
    pub fn call(&self) -> CallView {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "one tool call was expected in {:#?}", self.updates);
        calls.remove(0)
    }
}

impl CallView {
    /// The last status.
    pub fn status(&self) -> &str {
        self.statuses.last().map_or("", String::as_str)
    }

    /// The text of its content.
    pub fn text(&self) -> String {
        self.content().filter_map(|block| block["content"]["text"].as_str()).collect()
    }

    /// Its diff; null where there is none.
    pub fn diff(&self) -> Value {
        self.content().find(|block| block["type"] == "diff").cloned().unwrap_or(Value::Null)
    }

    fn content(&self) -> impl Iterator<Item = &Value> {
        self.fields.get("content").and_then(Value::as_array).into_iter().flatten()
    }
}
