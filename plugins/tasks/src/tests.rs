//! The tools and the panel over the double.

use acp_plugin::kv::Scope;
use acp_plugin::testing::{Host, act, call, snapshot};
use acp_plugin::{ErrorKind, Style};
use serde_json::{Map, Value, json};

use crate::list::{MOST_CHARACTERS, MOST_TASKS};
use crate::{Add, Clear, Delete, Done, List, Start, TasksPanel};

fn text(outcome: acp_plugin::Result<acp_plugin::Outcome>) -> String {
    outcome.unwrap().to_text()
}

fn message(text: &str) -> Map<String, Value> {
    Map::from_iter([("message".to_owned(), json!(text))])
}

#[test]
fn from_added_to_done() {
    let host = Host::fresh();
    assert_eq!(text(call::<List>(&json!({}))), "There are no tasks.");
    text(call::<Add>(&json!({ "text": "write the parser\n\n  test it  " })));
    text(call::<Start>(&json!({ "id": 1 })));
    let answer = text(call::<Done>(&json!({ "id": 2 })));
    assert_eq!(answer, "Task 2 is done.\n\n1. ◐ write the parser\n2. ☑ test it\n\n1 of 2 done.");
    let plan = [("in_progress", "write the parser"), ("completed", "test it")];
    assert_eq!(host.plan(), plan.map(|(status, content)| (status.to_owned(), content.to_owned())));
    assert_eq!(host.changed_panels(), ["tasks", "tasks", "tasks"]);
}

#[test]
fn a_number_is_never_used_again() {
    Host::fresh();
    text(call::<Add>(&json!({ "text": "a" })));
    text(call::<Delete>(&json!({ "id": 1 })));
    let answer = text(call::<Add>(&json!({ "text": "b" })));
    assert!(answer.contains("2. ☐ b"), "{answer}");
}

#[test]
fn clearing_all_or_only_what_is_done() {
    Host::fresh();
    text(call::<Add>(&json!({ "text": "a\nb\nc" })));
    text(call::<Done>(&json!({ "id": 2 })));
    let answer = call::<Clear>(&json!({ "done_only": true })).unwrap();
    let ids: Vec<_> = answer.to_structured().unwrap().as_array().unwrap().iter().map(|task| &task["id"]).collect();
    assert_eq!(ids, [1, 3]);
    assert!(text(call::<Clear>(&json!({}))).starts_with("Cleared 2 tasks."));
    assert_eq!(text(call::<List>(&json!({}))), "There are no tasks.");
}

#[test]
fn refusals_say_what_to_do_and_change_nothing() {
    Host::fresh();
    text(call::<Add>(&json!({ "text": "a" })));
    let long = "x".repeat(MOST_CHARACTERS + 1);
    let many = vec!["x"; MOST_TASKS].join("\n");
    for (refused, kind, part) in [
        (call::<Done>(&json!({ "id": 9 })), ErrorKind::NotFound, "there is no task 9: there are 1"),
        (call::<Add>(&json!({ "text": " \n " })), ErrorKind::InvalidArgs, "no text"),
        (call::<Add>(&json!({ "text": long })), ErrorKind::InvalidArgs, "more than 500"),
        (call::<Add>(&json!({ "text": many })), ErrorKind::Limit, "holds 200"),
        (call::<Add>(&json!({ "text": "b", "extra": 1 })), ErrorKind::InvalidArgs, "unknown field"),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), &kind);
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(text(call::<List>(&json!({}))), "1. ☐ a\n\n0 of 1 done.");
}

#[test]
fn two_calls_at_once_lose_nothing() {
    let host = Host::fresh();
    text(call::<Add>(&json!({ "text": "mine" })));
    let theirs = json!({ "last_id": 2, "tasks": [
        { "id": 1, "text": "mine", "state": "open" }, { "id": 2, "text": "theirs", "state": "open" },
    ] });
    host.rival_write(Scope::Project, "tasks", theirs.to_string().as_bytes());
    let answer = text(call::<Done>(&json!({ "id": 1 })));
    assert!(answer.contains("1. ☑ mine\n2. ☐ theirs"), "{answer}");
}

#[test]
fn the_panel_shows_and_changes_the_list() {
    let host = Host::fresh();
    let empty = snapshot::<TasksPanel>().unwrap();
    assert_eq!((empty.status.as_str(), empty.root.label.as_str()), ("", "No tasks"));

    assert_eq!(act::<TasksPanel>("add", "tasks", message("a\nb")).unwrap().unwrap(), "✓ added 2 tasks");
    act::<TasksPanel>("start", "task:1", Map::new()).unwrap();
    act::<TasksPanel>("done", "task:2", Map::new()).unwrap();
    let view = snapshot::<TasksPanel>().unwrap();
    assert_eq!(view.status, "1/2");
    let rows: Vec<_> = view.root.children.iter().map(|row| (row.id.as_str(), row.label.as_str(), row.style)).collect();
    assert_eq!(rows, [("task:1", "◐ a", Style::Active), ("task:2", "☑ b", Style::Dim)]);

    assert!(act::<TasksPanel>("done", "task:2", Map::new()).is_err(), "it is done already");
    assert!(act::<TasksPanel>("add", "tasks", message("  ")).is_err());
    let before = host.changed_panels().len();
    assert_eq!(act::<TasksPanel>("refresh", "tasks", Map::new()), Ok(None));
    assert_eq!(host.changed_panels().len(), before);
    assert_eq!(act::<TasksPanel>("delete", "task:1", Map::new()).unwrap().unwrap(), "✓ deleted a");
    assert_eq!(act::<TasksPanel>("clear", "tasks", Map::new()).unwrap().unwrap(), "✓ cleared 1 task");
}
