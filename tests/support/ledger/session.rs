//! The order rules of one session.

use std::collections::HashMap;

use serde_json::Value;

/// What one session may be told next.
#[derive(Default)]
pub(super) struct SessionRules {
    opened: bool,
    replaying: bool,
    prompts: usize,
    calls: HashMap<String, CallStage>,
    /// Summaries by their ids, and whether each is over.
    summaries: HashMap<String, bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CallStage {
    Pending,
    InProgress,
    Over,
}

impl CallStage {
    fn read(status: &Value) -> Option<Self> {
        match status.as_str()? {
            "in_progress" => Some(Self::InProgress),
            "completed" | "failed" => Some(Self::Over),
            _ => Some(Self::Pending),
        }
    }
}

impl SessionRules {
    pub(super) fn open(&mut self) {
        self.opened = true;
    }

    /// Nothing is told of it after that.
    pub(super) fn close(&mut self) {
        self.opened = false;
    }

    pub(super) fn is_open(&self) -> bool {
        self.opened || self.replaying
    }

    pub(super) fn begin_replay(&mut self) {
        self.replaying = true;
        self.calls.clear();
        self.summaries.clear();
    }

    pub(super) fn end_replay(&mut self, succeeded: bool) -> Vec<String> {
        self.replaying = false;
        self.opened |= succeeded;
        Vec::new()
    }

    pub(super) fn begin_prompt(&mut self) {
        self.prompts += 1;
    }

    pub(super) fn end_prompt(&mut self) -> Vec<String> {
        self.prompts = self.prompts.saturating_sub(1);
        if self.prompts > 0 {
            return Vec::new();
        }
        let calls = self.calls.iter().filter(|(_, stage)| **stage != CallStage::Over);
        let calls = calls.map(|(call, _)| format!("tool call `{call}`"));
        let summaries = self.summaries.iter().filter(|(_, over)| !**over).map(|(id, _)| format!("summary `{id}`"));
        calls.chain(summaries).map(|open| format!("the prompt was answered while {open} had not ended")).collect()
    }

    pub(super) fn permission(&self, params: &Value) -> Vec<String> {
        let mut complaints = Vec::new();
        let call = params["toolCall"]["toolCallId"].as_str().unwrap_or_default();
        if self.calls.get(call) == Some(&CallStage::Over) {
            complaints.push(format!("asked permission for tool call `{call}`, which has ended"));
        }
        let options: Vec<&Value> = params["options"].as_array().into_iter().flatten().collect();
        let kinds: Vec<&str> = options.iter().filter_map(|option| option["kind"].as_str()).collect();
        let distinct = |mut values: Vec<&str>| {
            let all = values.len();
            values.sort_unstable();
            values.dedup();
            values.len() == all
        };
        let ids = options.iter().filter_map(|option| option["optionId"].as_str()).collect();
        let ends = kinds.first() == Some(&"allow_once") && kinds.contains(&"reject_once");
        if !distinct(kinds.clone()) || !distinct(ids) || !ends {
            complaints.push(format!("permission options that clients get wrong: {kinds:?}"));
        }
        complaints
    }

    /// Judges an update. With `echo` the client wants its own prompts back.
    pub(super) fn update(&mut self, update: &Value, echo: bool) -> Vec<String> {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let mut complaints = Vec::new();
        if !self.is_open() {
            complaints.push(format!("`{kind}` while the session was not open"));
        }
        let of_a_turn = matches!(
            kind,
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update"
        );
        if of_a_turn && self.prompts == 0 && !self.replaying {
            complaints.push(format!("`{kind}` outside of a turn"));
        }
        if kind == "user_message_chunk" && !self.replaying && !echo {
            complaints.push("the client's own prompt was sent back to it".to_owned());
        }
        let call = update["toolCallId"].as_str().unwrap_or_default();
        match kind {
            "tool_call" => {
                let stage = CallStage::read(&update["status"]).unwrap_or(CallStage::Pending);
                if self.calls.insert(call.to_owned(), stage).is_some() {
                    complaints.push(format!("tool call `{call}` was announced twice"));
                }
            }
            "tool_call_update" => match self.calls.get_mut(call) {
                None => complaints.push(format!("an update of tool call `{call}`, which was never announced")),
                Some(CallStage::Over) => complaints.push(format!("an update of tool call `{call}` after its end")),
                Some(stage) => {
                    if let Some(next) = CallStage::read(&update["status"]) {
                        if next < *stage {
                            complaints.push(format!("tool call `{call}` went back from {stage:?} to {next:?}"));
                        }
                        *stage = next;
                    }
                }
            },
            "compaction_update" | "compaction_summary_chunk" => {
                let id = update["compactionId"].as_str().unwrap_or_default().to_owned();
                let ends = update["status"].as_str().is_some_and(|status| status != "in_progress");
                let over = self.summaries.entry(id.clone()).or_default();
                if *over {
                    complaints.push(format!("an update of summary `{id}` after its end"));
                }
                *over |= ends;
            }
            _ => {}
        }
        complaints
    }
}
