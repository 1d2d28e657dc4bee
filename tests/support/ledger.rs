//! The rules of the wire, kept line by line: what an agent may say, and when.
//!
//! Takes what was sent to an agent and every line that came back, and collects violations: lines that are not JSON-RPC
//! or not by the schema, answers to nothing, updates in the wrong place, tool calls out of order, calls that the client
//! never offered. Pure: no processes, no time. Tested with sequences that must be refused in `ledger/tests.rs`.

mod session;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::schema::{Schemas, Shape, Side};
use session::SessionRules;

/// The longest line that an update may have, in bytes: old hosts read lines into buffers of 64 KiB.
const LONGEST_UPDATE: usize = 48 << 10;
/// The longest line of any kind, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// A message from the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// It wants something.
    Request {
        /// To be repeated in the answer.
        id: Value,
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// It tells something.
    Notification {
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// It answers.
    Response {
        /// Of the request; null where the agent could not read it.
        id: Value,
        /// The result or the error.
        outcome: Result<Value, RpcError>,
    },
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// Such as -32602.
    pub code: i64,
    /// One line.
    pub message: String,
    /// Whatever belongs to it; null where there is nothing.
    pub data: Value,
}

/// A request that waits for its answer.
struct Open {
    method: String,
    session: Option<String>,
}

/// What has been said on one connection.
#[derive(Default)]
pub struct Ledger {
    capabilities: Value,
    uses_panels: bool,
    echo: bool,
    open: HashMap<String, Vec<Open>>,
    /// Terminals that the client has, or draws for output that it is told.
    terminals: HashSet<String>,
    sessions: HashMap<String, SessionRules>,
    violations: Vec<String>,
    lines: usize,
}

impl Ledger {
    /// From now on the client's own prompts may be sent back to it.
    pub fn allow_echo(&mut self) {
        self.echo = true;
    }

    /// Notes what the client sends.
    pub fn sent(&mut self, message: &Value) {
        // One that is no text is answered all the same.
        let Some(method) = message.get("method").map(|method| method.as_str().unwrap_or_default()) else { return };
        let params = &message["params"];
        let session = params["sessionId"].as_str().map(str::to_owned);
        if method == "initialize" {
            self.capabilities = params["clientCapabilities"].clone();
            self.uses_panels |= params["clientCapabilities"]["_meta"]["aar"].get("panels").is_some();
        }
        self.uses_panels |= method.starts_with("_aar/panel");
        if message.get("id").is_none() {
            return;
        }
        if let Some(session) = &session {
            match method {
                "session/load" => self.sessions.entry(session.clone()).or_default().begin_replay(),
                "session/prompt" => self.sessions.entry(session.clone()).or_default().begin_prompt(),
                _ => {}
            }
        }
        self.open.entry(message["id"].to_string()).or_default().push(Open { method: method.to_owned(), session });
    }

    /// Notes what the client answers to a request of the agent.
    pub fn answered(&mut self, method: &str, answer: Option<&Value>) {
        let created = answer.and_then(|answer| answer["result"]["terminalId"].as_str());
        if let (true, Some(terminal)) = (method == "terminal/create", created) {
            self.terminals.insert(terminal.to_owned());
        }
    }

    /// Judges one line from the agent, without its newline; none if it cannot be read at all.
    pub fn received(&mut self, line: &[u8]) -> Option<Message> {
        self.lines += 1;
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                self.blame(format!("not JSON ({error}): {}", shown(line)));
                return None;
            }
        };
        let Some(message) = read(&value) else {
            self.blame(format!("not JSON-RPC: {}", shown(line)));
            return None;
        };
        if line.len() > LONGEST_LINE {
            self.blame(format!("a line of {} bytes", line.len()));
        }
        match &message {
            Message::Response { id, outcome } => self.judge_response(id, outcome),
            Message::Request { method, params, .. } => self.judge_request(method, params),
            Message::Notification { method, params } => self.judge_notification(method, params, line.len()),
        }
        Some(message)
    }

    /// What was wrong until now, in order.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// How many lines came from the agent.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The methods of the requests that were not answered.
    pub fn unanswered(&self) -> Vec<&str> {
        self.open.values().flatten().map(|open| open.method.as_str()).collect()
    }

    fn judge_response(&mut self, id: &Value, outcome: &Result<Value, RpcError>) {
        // A request may have the id null as well.
        if id.is_null() && self.open.get("null").is_none_or(Vec::is_empty) {
            match outcome {
                Err(error) if matches!(error.code, -32700 | -32600) => {}
                other => self.blame(format!("an answer with id null that is no parse error: {other:?}")),
            }
            return;
        }
        let waiting = self.open.get_mut(&id.to_string()).filter(|waiting| !waiting.is_empty());
        // An id that is used twice at once: it is the later request that is refused.
        let refused = outcome.as_ref().is_err_and(|error| error.code == -32600);
        let answered = waiting.map(|waiting| if refused { waiting.len() - 1 } else { 0 });
        let waiting = self.open.get_mut(&id.to_string());
        let Some(open) = answered.zip(waiting).map(|(index, waiting)| waiting.remove(index)) else {
            self.blame(format!("an answer to id {id}, which nobody asked or which was answered before"));
            return;
        };
        if let Ok(result) = outcome {
            self.validate(Side::Agent, Shape::Response, &open.method, result);
            self.judge_options(&result["configOptions"]);
        }
        let complaints = match (open.method.as_str(), &open.session) {
            ("session/new" | "session/fork", _) => {
                let id = outcome.as_ref().ok().and_then(|result| result["sessionId"].as_str());
                if let Some(id) = id {
                    self.sessions.entry(id.to_owned()).or_default().open();
                }
                Vec::new()
            }
            ("session/load", Some(session)) => self.rules(session).end_replay(outcome.is_ok()),
            ("session/resume", Some(session)) if outcome.is_ok() => {
                self.rules(session).open();
                Vec::new()
            }
            ("session/close" | "session/delete", Some(session)) if outcome.is_ok() => {
                self.rules(session).close();
                Vec::new()
            }
            ("session/prompt", Some(session)) => self.rules(session).end_prompt(),
            _ => Vec::new(),
        };
        self.violations.extend(complaints);
    }

    fn judge_request(&mut self, method: &str, params: &Value) {
        self.validate(Side::Client, Shape::Request, method, params);
        let offered = match method {
            "session/request_permission" => true,
            "fs/read_text_file" => self.offers("/fs/readTextFile"),
            "fs/write_text_file" => self.offers("/fs/writeTextFile"),
            "elicitation/create" => match params["mode"].as_str() {
                Some(mode @ ("form" | "url")) => self.offers(&format!("/elicitation/{mode}")),
                _ => false,
            },
            method => method.starts_with("terminal/") && self.offers("/terminal"),
        };
        if !offered {
            self.blame(format!("called `{method}`, which the client did not offer"));
        }
        if method.starts_with("fs/") && !params["path"].as_str().is_some_and(|path| path.starts_with('/')) {
            self.blame(format!("`{method}` with a path that is not absolute: {}", params["path"]));
        }
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        if !self.sessions.get(&session).is_some_and(SessionRules::is_open) {
            self.blame(format!("`{method}` for session `{session}`, which is not open"));
        }
        if method == "session/request_permission" {
            let complaints = self.rules(&session).permission(params);
            self.violations.extend(complaints);
        }
    }

    fn judge_notification(&mut self, method: &str, params: &Value, length: usize) {
        if method == "_aar/panel_changed" && !self.uses_panels {
            self.blame("sent `_aar/panel_changed` to a client that knows nothing of panels".to_owned());
        }
        self.validate(Side::Client, Shape::Notification, method, params);
        if method != "session/update" {
            return;
        }
        if length > LONGEST_UPDATE {
            self.blame(format!("an update of {length} bytes"));
        }
        let update = &params["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if let Some(capability) = needed_for(kind)
            && !self.offers(capability)
        {
            self.blame(format!("sent a `{kind}`, which needs the client's `{capability}`"));
        }
        self.judge_options(&update["configOptions"]);
        self.judge_terminals(update);
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let echo = self.echo;
        let complaints = self.rules(&session).update(update, echo);
        self.violations.extend(complaints.into_iter().map(|complaint| format!("session `{session}`: {complaint}")));
    }

    /// Flags are only for clients that take them, and what holds must be among the values.
    fn judge_options(&mut self, options: &Value) {
        for option in options.as_array().into_iter().flatten() {
            let id = &option["id"];
            if option["type"] == "boolean" {
                if !self.offers("/session/configOptions/boolean") {
                    self.blame(format!("sent the flag {id}, which needs the client's `session.configOptions.boolean`"));
                }
                continue;
            }
            let grouped = option["options"].as_array().into_iter().flatten();
            let flat = grouped
                .flat_map(|entry| entry["options"].as_array().map_or(vec![entry], |inner| inner.iter().collect()));
            if !flat.into_iter().any(|choice| choice["value"] == option["currentValue"]) {
                self.blame(format!("the value of {id} is not among those to choose from: {option}"));
            }
        }
    }

    /// Only a terminal that the client knows can be shown, and only what it asked for is told in `_meta`.
    fn judge_terminals(&mut self, update: &Value) {
        let named = |key: &str| update["_meta"][key]["terminal_id"].as_str().map(str::to_owned);
        if let Some(terminal) = named("terminal_info") {
            self.terminals.insert(terminal);
        }
        for key in ["terminal_info", "terminal_output", "terminal_exit"] {
            let Some(terminal) = named(key) else { continue };
            if !self.offers("/_meta/terminal_output") {
                self.blame(format!("sent `_meta.{key}`, which the client did not ask for"));
            }
            if !self.terminals.contains(&terminal) {
                self.blame(format!("sent `_meta.{key}` of terminal `{terminal}`, which was not announced"));
            }
        }
        let content = update["content"].as_array().into_iter().flatten();
        let shown: Vec<String> = content.filter_map(|block| block["terminalId"].as_str().map(str::to_owned)).collect();
        for terminal in shown {
            if !self.terminals.contains(&terminal) {
                self.blame(format!("shows terminal `{terminal}`, which the client does not know"));
            }
        }
    }

    fn rules(&mut self, session: &str) -> &mut SessionRules {
        self.sessions.entry(session.to_owned()).or_default()
    }

    /// Whether the client offered what stands at `pointer` in its capabilities: true, or an object.
    fn offers(&self, pointer: &str) -> bool {
        self.capabilities.pointer(pointer).is_some_and(|offer| offer.is_object() || offer == &Value::Bool(true))
    }

    fn validate(&mut self, side: Side, shape: Shape, method: &str, payload: &Value) {
        let problems = Schemas::vendored().check(side, shape, method, payload);
        for problem in problems {
            self.blame(format!("{shape:?} of `{method}` is not by the schema: {problem} in {payload}"));
        }
    }

    fn blame(&mut self, violation: String) {
        self.violations.push(violation);
    }
}

/// The capability that a client must have offered to be sent such an update.
fn needed_for(update: &str) -> Option<&'static str> {
    match update {
        "plan_update" | "plan_removed" => Some("/plan"),
        "notice" => Some("/session/notices"),
        "compaction_update" | "compaction_summary_chunk" => Some("/session/compaction"),
        "subagent_update" | "session_message" | "session_message_chunk" => Some("/subagents"),
        _ => None,
    }
}

fn read(value: &Value) -> Option<Message> {
    let object = value.as_object()?;
    if object.get("jsonrpc")? != "2.0" {
        return None;
    }
    let params = object.get("params").cloned().unwrap_or(Value::Null);
    let id = object.get("id").cloned();
    if let Some(method) = object.get("method") {
        let method = method.as_str()?.to_owned();
        return Some(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let outcome = match (object.get("result"), object.get("error")) {
        (Some(result), None) => Ok(result.clone()),
        (None, Some(error)) => Err(RpcError {
            code: error.get("code")?.as_i64()?,
            message: error.get("message")?.as_str().filter(|message| !message.is_empty())?.to_owned(),
            data: error.get("data").cloned().unwrap_or(Value::Null),
        }),
        _ => return None,
    };
    Some(Message::Response { id: id?, outcome })
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(300).collect()
}

#[cfg(test)]
mod tests;
