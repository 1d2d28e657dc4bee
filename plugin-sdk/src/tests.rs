//! A plugin of each sort, driven the way the host does it: through the tables that `export!` makes, and the double.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::kv::{Cell, Scope};
use crate::rt::panel::interface::Node as WireNode;
use crate::rt::tool::interface::CallContext;
use crate::testing::{self, Host};
use crate::{
    Acting, Action, Call, Command, Decision, Error, ErrorKind, Event, EventKind, Hook, Node, Occurrence, Outcome,
    Panel, Reply, Result, SideEffect, Style, Tool, View, command, http, kv, panel, plan, process, progress, prompt,
    secrets, session, settings, tool, workspace,
};

/// Counts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    /// By how much.
    by: u32,
    /// Where to say so.
    #[serde(default)]
    file: Option<String>,
}

const COUNTER: Cell<u32> = Cell::new(Scope::Project, "counter");

impl Tool for Count {
    const NAME: &str = "count";
    const DESCRIPTION: &str = "Counts on.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Write];

    fn run(self, call: &Call) -> Result<Outcome> {
        progress::check()?;
        let now = COUNTER.update(|counter| {
            *counter += self.by;
            Ok(*counter)
        })?;
        panel::changed::<Counter>();
        let outcome = Outcome::text(format!("{now} in {}", call.session)).structured(&json!({ "now": now }))?;
        match self.file {
            Some(path) => {
                workspace::write(&path, &now.to_string())?;
                Ok(outcome.at(path, Some(1)))
            }
            None => Ok(outcome),
        }
    }
}

struct Counter;

impl Panel for Counter {
    const NAME: &str = "counter";
    const TITLE: &str = "Counter";

    fn actions() -> Vec<Action> {
        vec![
            Action::new("set", "Set", ["counter"]).key('s').input("message"),
            Action::new("reset", "Reset", ["counter"]).destructive("Reset {label}?"),
            Action::new("look", "Look", ["counter", "info"]).reads(),
        ]
    }

    fn snapshot() -> Result<View> {
        let now = COUNTER.get()?.unwrap_or_default();
        let history = Node::new("history", "History").folded().children(
            (1..=now)
                .map(|step| Node::new(format!("step:{step}"), step.to_string()).style(Style::Dim).data("step", step)),
        );
        let root = Node::new("counter", now.to_string()).kind("counter").child(history).child(Node::new("end", "End"));
        Ok(View::new(root).status(format!("{now}")))
    }

    fn act(acting: &Acting) -> Result<Option<String>> {
        match acting.action.as_str() {
            "set" => {
                let text = acting.text("message").ok_or_else(|| Error::invalid_args("give a number"))?;
                COUNTER.set(&text.parse().map_err(Error::invalid_args)?)?;
                Ok(Some(format!("set to {text}")))
            }
            "reset" => COUNTER.delete().map(|was| Some(was.to_string())),
            _ => Ok(None),
        }
    }
}

struct Say;

impl Command for Say {
    const NAME: &str = "say";
    const DESCRIPTION: &str = "Says it to the model.";
    const HINT: Option<&str> = Some("TEXT");

    fn run(arguments: &str) -> Result<Reply> {
        Ok(Reply::prompt(arguments))
    }
}

/// Has something to say to calls of `count`.
struct Watch;

impl Hook for Watch {
    const EVENTS: &[EventKind] = &[EventKind::ToolCall, EventKind::UserMessage, EventKind::AfterTurn];

    fn handle(occurrence: &Occurrence) -> Result<Decision> {
        Ok(match &occurrence.event {
            Event::ToolCall(call) if call.effects.iter().any(|effect| effect.class == "write") => {
                Decision::Ask(format!("{} writes {}", call.tool, call.effects[0].key))
            }
            Event::ToolCall(call) if call.arguments["by"] == 0 => Decision::Block("counts nothing".to_owned()),
            Event::UserMessage(prompt) => Decision::Replace(format!("{}{}", prompt.text, prompt.attached.len())),
            _ => Decision::NoOpinion,
        })
    }
}

crate::export! {
    tools: [Count],
    panels: [Counter],
    commands: [Say],
    hook: Watch,
}

#[test]
fn a_hook_is_told_what_the_host_says() {
    let tell = |event, payload: Value| testing::tell::<Watch>(event, &payload, false);
    for (event, payload, expected) in [
        (
            EventKind::ToolCall,
            json!({ "tool": "count", "arguments": {}, "effects": [{ "class": "write", "key": "a.txt" }], "later": 1 }),
            Decision::Ask("count writes a.txt".to_owned()),
        ),
        (EventKind::ToolCall, json!({ "arguments": { "by": 0 } }), Decision::Block("counts nothing".to_owned())),
        (EventKind::ToolCall, json!({ "plugin": null }), Decision::NoOpinion),
        (
            EventKind::UserMessage,
            json!({ "text": "a", "attached": [{ "uri": "b", "text": null }] }),
            Decision::Replace("a1".to_owned()),
        ),
        (EventKind::AfterTurn, json!({ "stop": "end_turn" }), Decision::NoOpinion),
    ] {
        assert_eq!(tell(event, payload.clone()), Ok(expected), "{payload}");
    }
    assert_eq!(tell(EventKind::Error, json!({})).unwrap_err().message(), "no hook for the event `error`");
    assert_eq!(tell(EventKind::ToolCall, json!({ "tool": 1 })).unwrap_err().kind(), &ErrorKind::Internal);
    for kind in EventKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}

const TOOLS: &[tool::Entry] = &[tool::Entry::of::<Count>()];
const PANELS: &[panel::Entry] = &[panel::Entry::of::<Counter>()];
const COMMANDS: &[command::Entry] = &[command::Entry::of::<Say>()];

fn context() -> CallContext {
    CallContext { call_id: "c".to_owned(), session_id: "s".to_owned(), deadline_ms: 1500, extra: Vec::new() }
}

#[test]
fn a_tool_is_announced_with_the_schema_of_its_type() {
    let [announced] = tool::list(TOOLS).try_into().unwrap();
    assert_eq!((announced.name.as_str(), announced.description.as_str()), ("count", "Counts on."));
    assert_eq!(announced.side_effects, ["write"]);
    let schema: Value = serde_json::from_str(&announced.input_schema).unwrap();
    let expected = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "Counts.",
        "type": "object",
        "properties": {
            "by": { "description": "By how much.", "type": "integer", "format": "uint32", "minimum": 0 },
            "file": { "description": "Where to say so.", "type": ["string", "null"], "default": null },
        },
        "required": ["by"],
        "additionalProperties": false,
    });
    assert_eq!(schema, expected);
}

#[test]
fn a_call_crosses_as_json() {
    let host = Host::fresh();
    let outcome = tool::dispatch(TOOLS, "count", r#"{"by":2,"file":"out/now.txt"}"#, context()).unwrap();
    assert_eq!(outcome.content[0].text.as_deref(), Some("2 in s"));
    assert_eq!(outcome.structured.as_deref(), Some(r#"{"now":2}"#));
    assert_eq!((outcome.locations[0].path.as_str(), outcome.locations[0].line), ("out/now.txt", Some(1)));
    assert_eq!(host.file("/workspace/out/now.txt").as_deref(), Some("2"));
    assert_eq!(host.changed_panels(), ["counter"]);
}

#[test]
fn a_call_that_does_not_fit_is_refused_in_words() {
    Host::fresh();
    for (name, arguments, kind, part) in [
        ("count", r#"{"by":-1}"#, "std:invalid-args", "invalid value"),
        ("count", r#"{"by":1,"to":2}"#, "std:invalid-args", "unknown field `to`"),
        ("count", "[", "std:invalid-args", "EOF"),
        ("recount", "{}", "std:not-found", "no tool named `recount`"),
    ] {
        let error = tool::dispatch(TOOLS, name, arguments, context()).unwrap_err();
        assert_eq!(error.kind, kind, "{arguments}");
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn a_cancelled_call_stops_and_denied_files_are_said() {
    let host = Host::fresh();
    host.deny_files();
    let denied = testing::call::<Count>(&json!({ "by": 1, "file": "a" })).unwrap_err();
    assert_eq!(denied.kind(), &ErrorKind::Denied);
    host.cancel();
    assert_eq!(testing::call::<Count>(&json!({ "by": 1 })), Err(Error::cancelled()));
}

#[test]
fn a_tree_crosses_as_a_list_in_pre_order() {
    Host::fresh();
    testing::call::<Count>(&json!({ "by": 2 })).unwrap();
    let view = panel::snapshot(PANELS, "counter").unwrap();
    let row = |node: &WireNode| (node.id.clone(), node.parent, node.expanded, node.data.clone());
    let rows: Vec<_> = view.nodes.iter().map(row).collect();
    let expected = [
        ("counter", None, true, "{}"),
        ("history", Some(0), false, "{}"),
        ("step:1", Some(1), true, r#"{"step":1}"#),
        ("step:2", Some(1), true, r#"{"step":2}"#),
        ("end", Some(0), true, "{}"),
    ];
    assert_eq!(rows, expected.map(|(id, parent, open, data)| (id.to_owned(), parent, open, data.to_owned())));
    assert_eq!((view.status.as_str(), view.nodes[2].style.as_str()), ("2", "dim"));
}

#[test]
fn actions_reach_the_panel_with_their_node() {
    Host::fresh();
    let [announced] = panel::list(PANELS).try_into().unwrap();
    let flags: Vec<_> = announced.actions.iter().map(|action| (action.destructive, action.mutates)).collect();
    assert_eq!(flags, [(false, true), (true, true), (false, false)]);

    let node = panel::snapshot(PANELS, "counter").unwrap().nodes.remove(0);
    let act = |action: &str, inputs: &str| panel::act(PANELS, "counter", action.to_owned(), node.clone(), inputs);
    assert_eq!(act("set", r#"{"message":" 7 "}"#).unwrap().as_deref(), Some("set to 7"));
    assert_eq!(act("set", "{}").unwrap_err().message, "give a number");
    assert_eq!(act("reset", "{}").unwrap().as_deref(), Some("true"));
    assert_eq!(act("set", "no json").unwrap_err().kind, "std:invalid-args");
    assert_eq!(panel::snapshot(PANELS, "other").unwrap_err().kind, "std:not-found");
    assert!(testing::act::<Counter>("reset", "end", Map::new()).is_err(), "not for that kind");
    assert!(testing::act::<Counter>("reset", "nowhere", Map::new()).is_err());
}

#[test]
fn a_command_gets_what_was_typed_after_its_name() {
    let [announced] = command::list(COMMANDS).try_into().unwrap();
    assert_eq!((announced.name.as_str(), announced.hint.as_deref()), ("say", Some("TEXT")));
    let reply = command::run(COMMANDS, "say", "  so it is \n").unwrap();
    assert_eq!(reply.prompt.as_deref(), Some("so it is"));
    assert_eq!(command::run(COMMANDS, "shout", "").unwrap_err().kind, "std:not-found");
}

#[test]
fn an_update_is_made_anew_on_what_others_wrote() {
    let host = Host::fresh();
    COUNTER.set(&1).unwrap();
    host.rival_write(Scope::Project, "counter", b"10");
    let mut seen = Vec::new();
    let answer = COUNTER.update(|counter| {
        seen.push(*counter);
        *counter += 1;
        Ok(*counter)
    });
    assert_eq!((answer, seen), (Ok(11), vec![1, 10]));
}

#[test]
fn an_update_that_never_gets_through_gives_up() {
    let host = Host::fresh();
    let attempts = COUNTER.update(|counter| {
        host.rival_write(Scope::Project, "counter", b"1");
        *counter += 1;
        Ok(())
    });
    let error = attempts.unwrap_err();
    assert_eq!((error.kind(), error.may_retry()), (&ErrorKind::Conflict, true));
}

#[test]
fn a_failed_or_unreadable_value_stays_as_it_is() {
    Host::fresh();
    COUNTER.set(&5).unwrap();
    let refused = COUNTER.update(|counter| {
        *counter = 0;
        Err::<(), _>(Error::limit("no"))
    });
    assert_eq!((refused, COUNTER.get()), (Err(Error::limit("no")), Ok(Some(5))));

    kv::set(Scope::Project, "counter", b"not json", None).unwrap();
    assert!(COUNTER.update(|_| Ok(())).unwrap_err().message().contains("`counter` cannot be read"));
    assert_eq!(kv::get(Scope::Project, "counter").unwrap().unwrap().value, b"not json");
}

#[test]
fn scopes_and_prefixes_are_apart() {
    Host::fresh();
    for (scope, key) in [(Scope::User, "a/1"), (Scope::Project, "a/2"), (Scope::Project, "b"), (Scope::Project, "a/1")]
    {
        kv::set(scope, key, b"", None).unwrap();
    }
    assert_eq!(kv::keys(Scope::Project, "a/"), Ok(vec!["a/1".to_owned(), "a/2".to_owned()]));
    assert_eq!(kv::delete(Scope::Session, "b"), Ok(false));
    assert_eq!(kv::set(Scope::User, "a/1", b"", Some(0)).unwrap_err().kind(), &ErrorKind::Conflict);
    assert_eq!(kv::set(Scope::User, "a/1", b"", Some(1)), Ok(2));
}

#[test]
fn settings_have_a_type() {
    #[derive(Deserialize)]
    struct Settings {
        #[serde(default)]
        depth: u8,
    }
    let host = Host::fresh();
    assert_eq!(settings::get::<Settings>().unwrap().depth, 0);
    host.set_settings(json!({ "depth": 3 }));
    assert_eq!(settings::get::<Settings>().unwrap().depth, 3);
    host.set_settings(json!({ "depth": "deep" }));
    assert!(settings::get::<Settings>().is_err_and(|error| error.message().starts_with("settings: ")));
}

#[test]
fn the_plan_crosses_as_registered_words() {
    let host = Host::fresh();
    plan::set([plan::Entry::new("a"), plan::Entry::new("b").status(plan::Status::InProgress)]).unwrap();
    let words: Vec<_> = host.plan().into_iter().map(|(status, content)| format!("{status} {content}")).collect();
    assert_eq!(words, ["pending a", "in_progress b"]);
}

#[test]
fn the_double_of_the_workspace_keeps_to_its_root() {
    let host = Host::fresh();
    host.put_file("src/lib.rs", "one\ntwo\nthree\n");
    assert_eq!(workspace::read_lines("/workspace/src/./lib.rs", 2, 1).as_deref(), Ok("two\n"));
    let names: Vec<_> = workspace::list("").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
    assert_eq!(names, [("src".to_owned(), workspace::Kind::Directory)]);
    for (path, kind) in [
        ("../secret", ErrorKind::Denied),
        ("/etc/passwd", ErrorKind::Denied),
        ("/workspaces/a", ErrorKind::Denied),
        ("src/../../a", ErrorKind::Denied),
        ("nothing", ErrorKind::NotFound),
    ] {
        assert_eq!(workspace::read(path).unwrap_err().kind(), &kind, "{path}");
    }
    assert_eq!(workspace::list("nothing").unwrap_err().kind(), &ErrorKind::NotFound);
}

#[test]
fn programs_are_run_by_a_script() {
    let host = Host::fresh();
    host.put_program(["git", "log", "-n1"], 0, "abc\n");
    host.put_output(["git", "show"], 128, "", "\nfatal: bad object\nmore\n");
    let run = |line: &[&str]| process::Command::new("git").args(line.iter().copied()).current_dir("src").run();
    assert_eq!(run(&["log", "-n1"]).unwrap().success().as_deref(), Ok("abc\n"));
    let failed = run(&["show"]).unwrap().success().unwrap_err();
    assert_eq!(failed.message(), "`git` ended with exit code 128: fatal: bad object");
    let denied = run(&["push"]).unwrap_err();
    assert_eq!(
        (denied.kind(), denied.message()),
        (&ErrorKind::Denied, "run `git push`: the plugin was not granted it")
    );
    let lines: Vec<_> = host.runs().into_iter().map(|(folder, line)| format!("{folder}: {}", line.join(" "))).collect();
    assert_eq!(lines, ["src: git log -n1", "src: git show", "src: git push"]);
}

#[test]
fn the_session_is_read_and_added_to() {
    let host = Host::fresh();
    assert_eq!(session::read(1).unwrap_err().kind(), &ErrorKind::Denied);
    for (role, text) in [("user", "hello"), ("call", "grep {}"), ("new", "?")] {
        host.say(role, text);
    }
    let said: Vec<_> = session::read(2).unwrap().into_iter().map(|entry| (entry.role, entry.text)).collect();
    assert_eq!(said, [(session::Role::Call, "grep {}".to_owned()), (session::Role::Other, "?".to_owned())]);
    prompt::set("Be brief.").unwrap();
    assert_eq!(host.addition().as_deref(), Some("Be brief."));
    assert_eq!(prompt::set(&"x".repeat(2049)).unwrap_err().kind(), &ErrorKind::Limit);
    prompt::clear().unwrap();
    assert_eq!(host.addition(), None);
}

#[test]
fn requests_cross_with_the_handles_of_secrets() {
    let host = Host::fresh();
    host.put_page("https://a.com/x", 201, "text/plain", "hello");
    let request = || http::Request::post("https://a.com/x").header("X-Mine", "yes").body("body");
    let denied = request().secret("token").send().unwrap_err();
    assert_eq!((denied.kind(), secrets::available("token")), (&ErrorKind::Denied, Ok(false)));
    host.keep_secret("token");
    assert_eq!(secrets::available("token"), Ok(true));
    let mut answer = request().secret("token").send().unwrap();
    assert_eq!((answer.status(), answer.is_success(), answer.url().as_str()), (201, true, "https://a.com/x"));
    assert_eq!(answer.header("Content-Type").as_deref(), Some("text/plain"));
    let mut first = [0; 2];
    std::io::Read::read_exact(&mut answer, &mut first).unwrap();
    assert_eq!((&first, answer.text().as_deref()), (b"he", Ok("llo")));
    assert_eq!(http::Request::get("https://b.com/").send().unwrap_err().kind(), &ErrorKind::Denied);
    let sent = &host.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.secrets.as_slice(), sent.body.as_slice()),
        ("POST", &["token".to_owned()][..], &b"body"[..])
    );
    assert_eq!(sent.headers, [("X-Mine".to_owned(), "yes".to_owned())]);
}
