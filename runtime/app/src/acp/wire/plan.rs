//! The plan that a client is shown: the session's own or, where it keeps none, the tool calls of the turn.

use acp_runtime_agent::event::{SessionEvent, ToolCallStatus, ToolCallUpdate};
use acp_runtime_agent::model::ToolKind;
use acp_runtime_agent::transcript::{PlanEntry, PlanPriority, PlanStatus, ToolCallId};
use agent_client_protocol::v1::schema;

use super::newer::{Newer, PlanContent, Update};
use super::size::{TEXT, cut, line};
use super::tool::TITLE;

/// Entries of a plan that are shown: the first of the session's own, the last calls of a turn.
const MOST: usize = 50;

/// Which plan a client has on its screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The session's own.
    Own,
    /// The calls of the turn.
    Calls,
}

impl Kind {
    fn id(self) -> &'static str {
        match self {
            Self::Own => "plan",
            Self::Calls => "calls",
        }
    }
}

/// Follows the events of a session and says what its client must be shown of a plan.
#[derive(Debug, Default)]
pub(super) struct ShownPlan {
    /// Whether the session keeps a plan of its own.
    own: bool,
    /// The calls of this turn.
    calls: Vec<Step>,
    shown: Option<Kind>,
}

#[derive(Debug)]
struct Step {
    call: ToolCallId,
    title: String,
    /// None before anybody allowed it.
    status: Option<ToolCallStatus>,
}

impl ShownPlan {
    /// The session keeps a plan, which the client knows from before.
    pub(super) fn recall_own(&mut self) {
        self.own = true;
        self.shown = Some(Kind::Own);
    }

    /// Takes an event in; gives what the client must be shown after it. With `by_id` the client takes `plan_update`.
    pub(super) fn follow(&mut self, event: &SessionEvent, by_id: bool) -> Vec<Update> {
        match event {
            SessionEvent::UserMessage { .. } => {
                self.calls.clear();
                if self.shown == Some(Kind::Calls) { self.clear(by_id) } else { Vec::new() }
            }
            SessionEvent::ToolCallStarted { call, title, kind, .. } => {
                if *kind != ToolKind::Think {
                    self.announce(&call.id, title);
                }
                Vec::new()
            }
            SessionEvent::ToolCallUpdated(update) => {
                if self.went_on(update) && !self.own {
                    let entries = self.calls.iter().map(Step::entry).collect();
                    self.show(Kind::Calls, entries, by_id)
                } else {
                    Vec::new()
                }
            }
            SessionEvent::Plan { entries } if entries.is_empty() => {
                self.own = false;
                self.clear(by_id)
            }
            SessionEvent::Plan { entries } => {
                self.own = true;
                self.show(Kind::Own, entries.iter().take(MOST).map(entry).collect(), by_id)
            }
            SessionEvent::AgentText { .. }
            | SessionEvent::AgentThought { .. }
            | SessionEvent::ToolCallDrafted { .. }
            | SessionEvent::ToolInput { .. }
            | SessionEvent::ToolOutput { .. }
            | SessionEvent::Usage(_)
            | SessionEvent::Title { .. }
            | SessionEvent::ContextCleared
            | SessionEvent::OutputsDropped { .. }
            | SessionEvent::MessageReplaced { .. }
            | SessionEvent::CompactionStarted { .. }
            | SessionEvent::CompactionText { .. }
            | SessionEvent::CompactionEnded { .. }
            | SessionEvent::ModeChanged { .. }
            | SessionEvent::BoundsChanged(_)
            | SessionEvent::OptionsChanged { .. }
            | SessionEvent::CommandsChanged { .. }
            | SessionEvent::PanelChanged { .. }
            | SessionEvent::Notice(_)
            | SessionEvent::ServersChanged { .. }
            | SessionEvent::TurnEnded { .. } => Vec::new(),
        }
    }

    fn announce(&mut self, call: &ToolCallId, title: &str) {
        if self.calls.len() == MOST {
            self.calls.remove(0);
        }
        self.calls.push(Step { call: call.clone(), title: title.to_owned(), status: None });
    }

    /// Whether a step of the plan is now another than before.
    fn went_on(&mut self, update: &ToolCallUpdate) -> bool {
        let Some(step) = self.calls.iter_mut().find(|step| step.call == update.id) else { return false };
        if let Some(title) = &update.title {
            step.title.clone_from(title);
        }
        let changed = update.status.is_some() && update.status != step.status;
        if changed {
            step.status = update.status;
        }
        changed
    }

    fn show(&mut self, kind: Kind, entries: Vec<schema::PlanEntry>, by_id: bool) -> Vec<Update> {
        let before = self.shown.replace(kind);
        if !by_id {
            return vec![schema::SessionUpdate::Plan(schema::Plan::new(entries)).into()];
        }
        let old = before.filter(|before| *before != kind).map(|before| removed(before).into());
        let new = Newer::PlanUpdate { plan: PlanContent::Items { plan_id: kind.id(), entries } };
        old.into_iter().chain([new.into()]).collect()
    }

    fn clear(&mut self, by_id: bool) -> Vec<Update> {
        let Some(kind) = self.shown.take() else { return Vec::new() };
        vec![if by_id {
            removed(kind).into()
        } else {
            schema::SessionUpdate::Plan(schema::Plan::new(Vec::new())).into()
        }]
    }
}

fn removed(kind: Kind) -> Newer {
    Newer::PlanRemoved { plan_id: kind.id() }
}

impl Step {
    fn entry(&self) -> schema::PlanEntry {
        let title = line(&self.title, TITLE);
        let (title, status) = match self.status {
            None | Some(ToolCallStatus::Pending) => (title, schema::PlanEntryStatus::Pending),
            Some(ToolCallStatus::InProgress) => (title, schema::PlanEntryStatus::InProgress),
            Some(ToolCallStatus::Completed) => (title, schema::PlanEntryStatus::Completed),
            // Nothing is left to do for it either.
            Some(ToolCallStatus::Failed) => (format!("{title} (failed)"), schema::PlanEntryStatus::Completed),
        };
        schema::PlanEntry::new(cut(&title, TEXT / MOST), schema::PlanEntryPriority::Medium, status)
    }
}

fn entry(entry: &PlanEntry) -> schema::PlanEntry {
    let priority = match entry.priority {
        PlanPriority::High => schema::PlanEntryPriority::High,
        PlanPriority::Medium => schema::PlanEntryPriority::Medium,
        PlanPriority::Low => schema::PlanEntryPriority::Low,
    };
    let status = match entry.status {
        PlanStatus::Pending => schema::PlanEntryStatus::Pending,
        PlanStatus::InProgress => schema::PlanEntryStatus::InProgress,
        PlanStatus::Completed => schema::PlanEntryStatus::Completed,
    };
    schema::PlanEntry::new(cut(&entry.content, TEXT / MOST), priority, status)
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::transcript::{MessageId, ToolCall};
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn prompt() -> SessionEvent {
        SessionEvent::UserMessage { id: MessageId::new("m"), parts: Vec::new(), local: false }
    }

    fn call(id: &str, kind: ToolKind) -> SessionEvent {
        SessionEvent::ToolCallStarted {
            message: MessageId::new("m"),
            call: ToolCall { id: ToolCallId::new(id), name: "t".to_owned(), arguments: json!({}) },
            title: format!("Do {id}"),
            kind,
            locations: Vec::new(),
            terminal: None,
            local: false,
        }
    }

    fn status(id: &str, status: ToolCallStatus) -> SessionEvent {
        SessionEvent::ToolCallUpdated(ToolCallUpdate {
            status: Some(status),
            ..ToolCallUpdate::of(ToolCallId::new(id))
        })
    }

    fn own(steps: &[&str]) -> SessionEvent {
        let entry = |step: &&str| PlanEntry {
            content: (*step).to_owned(),
            priority: PlanPriority::High,
            status: PlanStatus::Pending,
        };
        SessionEvent::Plan { entries: steps.iter().map(entry).collect() }
    }

    /// What each event leads to, briefly: a mark per entry and its text.
    fn shown(plan: &mut ShownPlan, events: Vec<SessionEvent>, by_id: bool) -> String {
        let mut lines = Vec::new();
        for event in events {
            for update in plan.follow(&event, by_id) {
                let update = serde_json::to_value(update).unwrap();
                let body = update.get("plan").unwrap_or(&update);
                let entries = body["entries"].as_array().into_iter().flatten();
                let entries: Vec<String> = entries
                    .map(|entry| {
                        let mark = match entry["status"].as_str().unwrap() {
                            "pending" => ' ',
                            "in_progress" => '>',
                            _ => 'x',
                        };
                        format!("[{mark}] {}", entry["content"].as_str().unwrap())
                    })
                    .collect();
                let id = body["planId"].as_str().unwrap_or("-");
                lines.push(format!("{} {id}: {}", update["sessionUpdate"].as_str().unwrap(), entries.join(", ")));
            }
        }
        lines.join("\n")
    }

    /// Two turns of calls, then the model makes a plan, keeps it, and takes it away.
    fn work() -> Vec<SessionEvent> {
        use ToolCallStatus::{Completed, Failed, InProgress};
        vec![
            prompt(),
            call("a", ToolKind::Read),
            call("b", ToolKind::Edit),
            status("a", InProgress),
            status("a", Completed),
            status("a", Completed),
            status("b", Failed),
            prompt(),
            prompt(),
            call("c", ToolKind::Think),
            status("c", InProgress),
            call("d", ToolKind::Read),
            status("d", InProgress),
            own(&["one", "two"]),
            status("d", Completed),
            prompt(),
            call("e", ToolKind::Read),
            status("e", InProgress),
            own(&["two"]),
            own(&[]),
            status("e", Completed),
        ]
    }

    #[test]
    fn calls_are_the_plan_until_there_is_one() {
        expect![[r#"
            plan -: [>] Do a, [ ] Do b
            plan -: [x] Do a, [ ] Do b
            plan -: [x] Do a, [x] Do b (failed)
            plan -: 
            plan -: [>] Do d
            plan -: [ ] one, [ ] two
            plan -: [ ] two
            plan -: 
            plan -: [x] Do e"#]]
        .assert_eq(&shown(&mut ShownPlan::default(), work(), false));
    }

    #[test]
    fn a_client_that_tells_plans_apart_gets_two() {
        expect![[r#"
            plan_update calls: [>] Do a, [ ] Do b
            plan_update calls: [x] Do a, [ ] Do b
            plan_update calls: [x] Do a, [x] Do b (failed)
            plan_removed calls: 
            plan_update calls: [>] Do d
            plan_removed calls: 
            plan_update plan: [ ] one, [ ] two
            plan_update plan: [ ] two
            plan_removed plan: 
            plan_update calls: [x] Do e"#]]
        .assert_eq(&shown(&mut ShownPlan::default(), work(), true));
    }

    #[test]
    fn a_plan_from_before_is_kept() {
        let turn = || vec![prompt(), call("a", ToolKind::Read), status("a", ToolCallStatus::Completed)];
        let mut plan = ShownPlan::default();
        plan.recall_own();
        assert_eq!(shown(&mut plan, turn(), false), "");
        assert_eq!(shown(&mut plan, vec![own(&[])], true), "plan_removed plan: ");
        assert_eq!(shown(&mut plan, turn(), false), "plan -: [x] Do a");
    }

    #[test]
    fn the_last_calls_are_shown() {
        let mut plan = ShownPlan::default();
        let calls: Vec<SessionEvent> = (0..60).map(|n| call(&n.to_string(), ToolKind::Read)).collect();
        shown(&mut plan, calls, false);
        let told = shown(&mut plan, vec![status("59", ToolCallStatus::Completed)], false);
        assert!(told.starts_with("plan -: [ ] Do 10, ") && told.ends_with("[x] Do 59"), "{told}");
    }
}
