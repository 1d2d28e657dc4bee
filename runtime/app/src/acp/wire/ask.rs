//! A question to the person, and the answer.

use std::path::Path;

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::gate::{Approval, Ask};
use acp_runtime_agent::model::ToolKind;
use acp_runtime_agent::transcript::{Location, ToolContent};
use agent_client_protocol::v1::schema::{self, PermissionOptionKind};

use super::screen::text;
use super::size::{line, trimmed};
use super::tool::{TITLE, contents, places, tool_kind};

/// Bytes of what would change, in a question: whoever decides sees more than in an update.
const CONTENT: usize = 160 * 1024;
/// Bytes of the exact arguments.
const RAW: usize = 64 * 1024;

/// The question as it is sent, and what may be answered.
pub(in crate::acp) struct Question {
    /// The tool call that it is about.
    pub(in crate::acp) call: schema::ToolCallUpdate,
    /// What may be chosen, in the order that it is shown.
    pub(in crate::acp) options: Vec<schema::PermissionOption>,
}

/// Puts `ask` into ACP's form. `synthetic` names the call where the question is about none.
pub(in crate::acp) fn question(ask: &Ask, synthetic: &str) -> Question {
    let id = ask.call.as_ref().map_or_else(|| synthetic.to_owned(), ToString::to_string);
    let fields = schema::ToolCallUpdateFields::new()
        .title(line(&ask.title, TITLE))
        .kind(tool_kind(kind(&ask.effects)))
        .status(schema::ToolCallStatus::Pending)
        .content(contents(&ask.content, CONTENT, |_, output, budget| text(output, budget)))
        .locations(places(&touched(&ask.content)))
        .raw_input(ask.raw.as_ref().map(|raw| trimmed(raw, RAW)));
    let options = [
        Some(PermissionOptionKind::AllowOnce),
        ask.may_remember.then_some(PermissionOptionKind::AllowAlways),
        Some(PermissionOptionKind::RejectOnce),
        Some(PermissionOptionKind::RejectAlways),
    ];
    let options = options
        .into_iter()
        .flatten()
        .map(|kind| schema::PermissionOption::new(option_id(kind), option_name(kind), kind))
        .collect();
    Question { call: schema::ToolCallUpdate::new(id, fields), options }
}

/// What the person chose among what was offered. An id that was not offered is a no.
pub(in crate::acp) fn approval(
    outcome: &schema::RequestPermissionOutcome,
    offered: &[schema::PermissionOption],
) -> Approval {
    let schema::RequestPermissionOutcome::Selected(selected) = outcome else { return Approval::Cancelled };
    match offered.iter().find(|option| option.option_id == selected.option_id).map(|option| option.kind) {
        Some(PermissionOptionKind::AllowOnce) => Approval::AllowOnce,
        Some(PermissionOptionKind::AllowAlways) => Approval::AllowAlways,
        Some(PermissionOptionKind::RejectAlways) => Approval::RejectAlways,
        Some(_) | None => Approval::RejectOnce,
    }
}

/// The icon: of the gravest effect, so never one that clients wave through for a grave one.
fn kind(effects: &[Effect]) -> ToolKind {
    let kinds = effects.iter().map(|effect| match effect {
        Effect::Run(_) | Effect::CallServer { .. } => (7, ToolKind::Execute),
        Effect::Delete(_) => (6, ToolKind::Delete),
        Effect::Move { .. } => (5, ToolKind::Move),
        Effect::Write(_) => (4, ToolKind::Edit),
        Effect::Fetch(_) => (3, ToolKind::Fetch),
        Effect::UseSecret(_)
        | Effect::CallPlugin(..)
        | Effect::Kv(_)
        | Effect::OwnFiles(_)
        | Effect::Prompt
        | Effect::Hook(_) => (2, ToolKind::Other),
        Effect::Read(_) | Effect::ReadSession => (1, ToolKind::Read),
    });
    kinds.max_by_key(|(gravity, _)| *gravity).map_or(ToolKind::Other, |(_, kind)| kind)
}

fn touched(content: &[ToolContent]) -> Vec<Location> {
    content
        .iter()
        .filter_map(|piece| match piece {
            ToolContent::Diff { path, .. } if Path::new(path).is_absolute() => {
                Some(Location { path: path.clone(), line: None })
            }
            ToolContent::Diff { .. }
            | ToolContent::Text { .. }
            | ToolContent::Resource { .. }
            | ToolContent::Image { .. }
            | ToolContent::Terminal { .. }
            | ToolContent::Link { .. } => None,
        })
        .collect()
}

fn option_id(kind: PermissionOptionKind) -> &'static str {
    match kind {
        PermissionOptionKind::AllowOnce => "allow_once",
        PermissionOptionKind::AllowAlways => "allow_always",
        PermissionOptionKind::RejectAlways => "reject_always",
        _ => "reject_once",
    }
}

fn option_name(kind: PermissionOptionKind) -> &'static str {
    match kind {
        PermissionOptionKind::AllowOnce => "Allow once",
        PermissionOptionKind::AllowAlways => "Always allow in this project",
        PermissionOptionKind::RejectAlways => "Always reject in this project",
        _ => "Reject",
    }
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::capability::{CommandLine, RootId, SecretName, WorkspacePath};
    use acp_runtime_agent::transcript::ToolCallId;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn write() -> Effect {
        Effect::Write(WorkspacePath::new(RootId(0), "a.txt").unwrap().scope())
    }

    fn read() -> Effect {
        Effect::Read(WorkspacePath::new(RootId(0), "a.txt").unwrap().scope())
    }

    fn run() -> Effect {
        Effect::Run(CommandLine { program: "make".to_owned(), arguments: Vec::new() })
    }

    fn ask(effects: Vec<Effect>, may_remember: bool) -> Ask {
        Ask {
            call: Some(ToolCallId::new("call-1")),
            subject: "tool write_file".to_owned(),
            title: "tool write_file: write `a.txt`".to_owned(),
            effects,
            content: vec![ToolContent::Diff { path: "/p/a.txt".to_owned(), old: None, new: "hi\n".to_owned() }],
            raw: Some(json!({ "path": "a.txt" })),
            may_remember,
        }
    }

    #[test]
    fn a_question_shows_what_would_happen() {
        let question = question(&ask(vec![write()], true), "ask-1");
        let shown = format!(
            "{}\n{}",
            serde_json::to_string(&question.call).unwrap(),
            serde_json::to_string(&question.options).unwrap()
        );
        expect![[r#"
            {"toolCallId":"call-1","kind":"edit","status":"pending","title":"tool write_file: write `a.txt`","content":[{"type":"diff","path":"/p/a.txt","newText":"hi\n"}],"locations":[{"path":"/p/a.txt"}],"rawInput":{"path":"a.txt"}}
            [{"optionId":"allow_once","name":"Allow once","kind":"allow_once"},{"optionId":"allow_always","name":"Always allow in this project","kind":"allow_always"},{"optionId":"reject_once","name":"Reject","kind":"reject_once"},{"optionId":"reject_always","name":"Always reject in this project","kind":"reject_always"}]"#]].assert_eq(&shown);
    }

    #[test]
    fn always_is_offered_only_where_it_is_kept() {
        let question = question(&Ask { call: None, ..ask(vec![run()], false) }, "ask-1");
        let ids: Vec<String> = question.options.iter().map(|option| option.option_id.to_string()).collect();
        assert_eq!(ids, ["allow_once", "reject_once", "reject_always"]);
        assert_eq!(question.call.tool_call_id.to_string(), "ask-1");
        let choose = |id: &str| {
            let outcome = json!({ "outcome": "selected", "optionId": id });
            approval(&serde_json::from_value(outcome).unwrap(), &question.options)
        };
        assert_eq!(choose("allow_once"), Approval::AllowOnce);
        assert_eq!(choose("allow_always"), Approval::RejectOnce, "was not offered");
        assert_eq!(choose("reject_always"), Approval::RejectAlways);
        assert_eq!(choose("yes"), Approval::RejectOnce);
        let cancelled = serde_json::from_value(json!({ "outcome": "cancelled" })).unwrap();
        assert_eq!(approval(&cancelled, &question.options), Approval::Cancelled);
    }

    #[test]
    fn the_icon_is_the_gravest() {
        let delete = Effect::Delete(WorkspacePath::new(RootId(0), "a.txt").unwrap().scope());
        let secret = Effect::UseSecret(SecretName::new("token").unwrap());
        for (effects, expected) in [
            (vec![read()], ToolKind::Read),
            (vec![read(), write()], ToolKind::Edit),
            (vec![write(), delete], ToolKind::Delete),
            (vec![read(), run()], ToolKind::Execute),
            (vec![read(), secret], ToolKind::Other),
            (vec![], ToolKind::Other),
        ] {
            assert_eq!(kind(&effects), expected, "{effects:?}");
        }
    }
}
