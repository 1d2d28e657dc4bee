//! What hooks make of prompts, calls and answers, and what is seen of that.
#![expect(clippy::unnecessary_wraps, reason = "a hook can fail")]

use std::sync::{Arc, Mutex};

use acp_runtime_agent::capability::{Effect, HookEvent, PluginId, ToolName};
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::{Approval, Permit};
use acp_runtime_agent::hook::{Hook, HookFailure, Occurrence, Subscription, Verdict};
use acp_runtime_agent::model::{InputSchema, ModelEvent, ToolKind, ToolSpec};
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::tool::{Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{Conversation, Part, StopReason, ToolContent, ToolOutcome};
use expect_test::expect;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::doubles::{FakeTool, Line, Setting, Stage, call, plugin, say, script, stop, text};

/// A tool without any effect.
struct Idle(Arc<ToolSpec>);

impl Idle {
    fn tool() -> Arc<dyn Tool> {
        Arc::new(Self(Arc::new(ToolSpec {
            name: ToolName::new("idle").unwrap(),
            title: "idle".to_owned(),
            description: "Does nothing.".to_owned(),
            input: InputSchema::new(json!({ "type": "object" })),
            kind: ToolKind::Think,
        })))
    }
}

impl Tool for Idle {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn effects(&self, _: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(Vec::new())
    }

    fn run<'a>(
        &'a self,
        _: &'a Permit,
        _: ToolArguments,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(async { Ok(ToolOutcome::text("idle")) })
    }
}

type Says = fn(HookEvent, &Value) -> Result<Verdict, HookFailure>;

/// A hook of [`plugin`] for every event, which remembers what it was told.
struct Fake {
    plugin: PluginId,
    subscriptions: Vec<Subscription>,
    says: Says,
    told: Mutex<Vec<String>>,
}

impl Fake {
    fn new(says: Says) -> Arc<Self> {
        let subscriptions = HookEvent::ALL.map(|event| Subscription { event, priority: 100 }).into();
        Arc::new(Self { plugin: plugin(), subscriptions, says, told: Mutex::default() })
    }

    fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }
}

impl Hook for Fake {
    fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    fn handle<'a>(&'a self, occurrence: &'a Occurrence) -> BoxFuture<'a, Result<Verdict, HookFailure>> {
        let Occurrence { event, session, call, payload, truncated, masked: _ } = occurrence;
        let about = call.as_ref().map_or_else(String::new, |call| format!(" {call}"));
        self.told.lock().unwrap().push(format!("{session} {event}{about}: {payload}"));
        assert!(!truncated);
        let said = (self.says)(*event, &serde_json::from_str(payload).unwrap());
        Box::pin(async { said })
    }
}

fn silent(_: HookEvent, _: &Value) -> Result<Verdict, HookFailure> {
    Ok(Verdict::NoOpinion)
}

fn put() -> Arc<dyn Tool> {
    FakeTool::new("put", true, |arguments| Ok(ToolOutcome::text(format!("wrote {}", arguments["n"]))))
}

/// One prompt, with a call of `put` with `n` = 1.
fn stage(hook: &Arc<Fake>, setting: Setting) -> Stage {
    let hooks: Vec<Arc<dyn Hook>> = vec![hook.clone()];
    Setting { hooks, tools: vec![put()], ..setting }
        .play(vec![vec![say("I will."), call("put", json!({ "n": 1 })), stop()], vec![say("Done."), stop()]])
}

fn auto() -> Setting {
    Setting { mode: Mode::Auto, ..Setting::default() }
}

/// What the model was shown last.
fn shown(stage: &Stage) -> Vec<String> {
    let requests = stage.model.requests.lock().unwrap();
    let parts = requests.last().into_iter().flat_map(Conversation::iter).flat_map(|message| &message.parts);
    parts
        .map(|part| match part {
            Part::Text { text } | Part::ToolResult { text, .. } => text.clone(),
            Part::ToolCall(call) => format!("{} {}", call.name, call.arguments),
            other => format!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn hooks_are_told_of_all_that_happens_in_its_order() {
    let hook = Fake::new(silent);
    let stage = stage(&hook, auto());
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    stage.session.close().await;
    let told = hook.told();
    let (decides, watches): (Vec<&str>, Vec<&str>) = told
        .lines()
        .partition(|line| ["user-message", "tool-call", "tool-result"].iter().any(|gate| line.contains(gate)));
    expect![[r#"
        s user-message: {"text":"go","attached":[]}
        s tool-call call-1: {"tool":"put","kind":"other","plugin":null,"arguments":{"n":1},"effects":[{"class":"read","key":"out"},{"class":"write","key":"out"}]}
        s tool-result call-1: {"tool":"put","failed":false,"text":"wrote 1"}"#]]
    .assert_eq(&decides.join("\n"));
    expect![[r#"
        s session-start: {}
        s before-turn: {"message":"msg-1"}
        s assistant-message: {"message":"msg-2","text":"I will."}
        s assistant-message: {"message":"msg-3","text":"Done."}
        s after-turn: {"stop":"end_turn"}
        s session-end: {}"#]]
    .assert_eq(&watches.join("\n"));
}

#[tokio::test]
async fn a_replaced_call_is_judged_anew_and_seen() {
    let hook = Fake::new(|event, _| match event {
        HookEvent::ToolCall => Ok(Verdict::Replace("{\"n\":2}".to_owned())),
        _ => Ok(Verdict::NoOpinion),
    });
    let stage = stage(&hook, Setting::default());
    assert_eq!(stage.session.prompt(text("go")).await, Ok(StopReason::EndTurn));
    let asked = stage.person.asked.lock().unwrap();
    assert_eq!(asked[0].0.raw, Some(json!({ "n": 2 })), "the question is about what is run");
    expect![[r#"
        msg-1 user: go
        msg-2 agent: I will.
        msg-2 call-1 put pending: put
        call-1 shows
        call-1 shows diff of /p/out: new
        call-1 in progress
        call-1 completed The call was changed by the plugin `test:looks` to {"n":2} + wrote 2
        msg-3 agent: Done.
        title: go
        end: EndTurn
    "#]]
    .assert_eq(&script(&stage.screen.shown()));
    let changed = stage.store.kept().into_iter().find_map(|event| match event {
        SessionEvent::ToolCallUpdated(update) => update.arguments,
        _ => None,
    });
    assert_eq!(changed.as_deref(), Some(&json!({ "n": 2 })));
    let expected =
        ["go", "I will.", "put {\"n\":1}", "[The call was changed by the plugin `test:looks` to {\"n\":2}]\nwrote 2"];
    assert_eq!(shown(&stage), expected, "the model knows what it said, and what became of it");
}

#[tokio::test]
async fn a45_a_hook_allows_nothing_that_the_policy_denies() {
    for says in [
        (|event, _| match event {
            HookEvent::ToolCall => Ok(Verdict::Replace("{\"n\":2}".to_owned())),
            _ => Ok(Verdict::NoOpinion),
        }) as Says,
        |_, _| Ok(Verdict::NoOpinion),
        |event, _| match event {
            HookEvent::ToolCall => Ok(Verdict::Ask("please".to_owned())),
            _ => Ok(Verdict::NoOpinion),
        },
    ] {
        let stage = stage(&Fake::new(says), Setting { mode: Mode::ReadOnly, ..Setting::default() });
        stage.session.prompt(text("go")).await.unwrap();
        assert!(stage.person.asked.lock().unwrap().is_empty(), "nobody is asked about what is denied");
        let shown = shown(&stage).pop().unwrap();
        assert!(
            shown.ends_with("the session is in mode `read-only` (the user can change the session's mode)"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn a45_a_call_that_a_hook_spoils_is_not_made() {
    for (says, expected) in [
        (
            (|_, _| Err(HookFailure("it trapped".to_owned()))) as Says,
            "the plugin `test:looks` was to decide about this prompt, and its hook failed: it trapped",
        ),
        (
            |event, _| match event {
                HookEvent::ToolCall => Err(HookFailure("it trapped".to_owned())),
                _ => Ok(Verdict::NoOpinion),
            },
            "the plugin `test:looks` was to decide about this call, and its hook failed: it trapped",
        ),
        (
            |event, _| match event {
                HookEvent::ToolCall => Ok(Verdict::Replace("{\"n\":\"two\"}".to_owned())),
                _ => Ok(Verdict::NoOpinion),
            },
            "its hook failed: the tool does not take what it puts in its place: /n: \"two\" is not of type \"integer\"",
        ),
        (
            |event, _| match event {
                HookEvent::ToolCall => Ok(Verdict::Replace("{".to_owned())),
                _ => Ok(Verdict::NoOpinion),
            },
            "its hook failed: what it puts in its place is not JSON",
        ),
        (
            |event, _| match event {
                HookEvent::ToolCall => Ok(Verdict::Block("not today".to_owned())),
                _ => Ok(Verdict::NoOpinion),
            },
            "the plugin `test:looks` blocks this call: \"not today\"\nhint: to do without this plugin in this session, \
             type `/plugins off test:looks`",
        ),
    ] {
        let stage = stage(&Fake::new(says), auto());
        stage.session.prompt(text("go")).await.unwrap();
        let played = script(&stage.screen.shown());
        assert!(played.replace(" | ", "\n").contains(expected), "{played}");
        assert!(!played.contains("in progress"), "{played}");
    }
}

#[tokio::test]
async fn a_question_of_a_hook_is_asked_where_all_is_allowed() {
    let says: Says = |event, _| match event {
        HookEvent::ToolCall => Ok(Verdict::Ask("is that wise?".to_owned())),
        _ => Ok(Verdict::NoOpinion),
    };
    let stage = stage(&Fake::new(says), auto());
    stage.session.prompt(text("go")).await.unwrap();
    {
        let asked = stage.person.asked.lock().unwrap();
        let ask = &asked[0].0;
        assert_eq!(ask.title, "tool put: read `out`, write `out` – plugin `test:looks` asks: \"is that wise?\"");
        assert!(!ask.may_remember && asked.len() == 1);
        assert!(matches!(&ask.content[0], ToolContent::Text { text } if text.contains("wants you to decide")));
    }
    assert!(script(&stage.screen.shown()).contains("call-1 completed wrote 1"));
    // A tool without an effect is asked about as well, and a refusal is one.
    let hooks: Vec<Arc<dyn Hook>> = vec![Fake::new(says)];
    let stage = Setting { hooks, tools: vec![Idle::tool()], answer: Approval::RejectOnce, ..auto() }
        .play(vec![vec![call("idle", json!({})), stop()], vec![stop()]]);
    stage.session.prompt(text("go")).await.unwrap();
    let asked = stage.person.asked.lock().unwrap();
    assert_eq!(asked[0].0.title, "tool idle: hook `tool-call` – plugin `test:looks` asks: \"is that wise?\"");
    let played = script(&stage.screen.shown());
    assert!(played.contains("call-1 failed hook `tool-call`: the user refused"), "{played}");
}

#[tokio::test]
async fn who_asks_for_ever_is_not_heard_for_ever() {
    let says: Says = |event, _| match event {
        HookEvent::ToolCall => Ok(Verdict::Ask("may it?".to_owned())),
        _ => Ok(Verdict::NoOpinion),
    };
    let answers = (0..6).map(|n| vec![call("put", json!({ "n": n })), stop()]).chain([vec![stop()]]).collect();
    let hooks: Vec<Arc<dyn Hook>> = vec![Fake::new(says)];
    let stage = Setting { hooks, tools: vec![put()], answer: Approval::RejectOnce, ..auto() }.play(answers);
    stage.session.prompt(text("go")).await.unwrap();
    assert_eq!(stage.person.asked.lock().unwrap().len(), 3);
    assert!(shown(&stage).pop().unwrap().contains("3 of its questions were refused in this turn"));
}

#[tokio::test]
async fn a_changed_answer_is_what_the_model_is_shown() {
    let stage = stage(
        &Fake::new(|event, told| match event {
            HookEvent::ToolResult => Ok(Verdict::Replace(told["text"].as_str().unwrap().replace('1', "*"))),
            _ => Ok(Verdict::NoOpinion),
        }),
        auto(),
    );
    stage.session.prompt(text("go")).await.unwrap();
    assert_eq!(shown(&stage).pop().unwrap(), "[changed by the plugin `test:looks`]\nwrote *");
    let played = script(&stage.screen.shown());
    let seen = "call-1 completed What the model is shown of this was changed by the plugin `test:looks`. + wrote 1";
    assert!(played.contains(seen), "{played}");
    // A session that is loaded shows the model the same, and asks no hook for that.
    let hooks: Vec<Arc<dyn Hook>> = vec![Fake::new(silent)];
    let again = Setting { hooks, store: stage.store.clone(), ..auto() }.play(vec![vec![stop()]]);
    again.session.prompt(text("and?")).await.unwrap();
    let shown = shown(&again);
    assert!(shown.contains(&"[changed by the plugin `test:looks`]\nwrote *".to_owned()), "{shown:?}");
}

#[tokio::test]
async fn a_transform_fails_open_and_may_withhold() {
    for (says, model) in [
        (
            (|event, _| match event {
                HookEvent::ToolResult => Err(HookFailure("it trapped".to_owned())),
                _ => Ok(Verdict::NoOpinion),
            }) as Says,
            "wrote 1",
        ),
        (
            |event, _| match event {
                HookEvent::ToolResult => Ok(Verdict::Block("it is secret".to_owned())),
                _ => Ok(Verdict::NoOpinion),
            },
            "Error [denied]: the plugin `test:looks` blocks what the tool answered: \"it is secret\" (do not try the same \
             in another way: tell the user)",
        ),
    ] {
        let stage = stage(&Fake::new(says), auto());
        stage.session.prompt(text("go")).await.unwrap();
        assert_eq!(shown(&stage).pop().unwrap(), model);
        assert!(script(&stage.screen.shown()).contains("wrote 1"), "the person sees it");
    }
}

#[tokio::test]
async fn a_replaced_prompt_is_kept_as_it_was_written() {
    let says: Says = |event, _| match event {
        HookEvent::UserMessage => Ok(Verdict::Replace("the key is [hidden]".to_owned())),
        _ => Ok(Verdict::NoOpinion),
    };
    let stage = stage(&Fake::new(says), auto());
    stage.session.prompt(text("the key is sk-123")).await.unwrap();
    expect![[r"
        msg-1 replaced by test:looks: the key is [hidden]
        msg-1 user: the key is sk-123
        msg-2 agent (local): The model is shown another text than yours, changed by `test:looks`: |  | > the key is [hidden]
        msg-3 agent: I will.
        msg-3 call-1 put pending: put
        call-1 shows diff of /p/out: new
        call-1 in progress
        call-1 completed wrote 1
        msg-4 agent: Done.
        title: the key is sk-123
        end: EndTurn
    "]]
    .assert_eq(&script(&stage.screen.shown()));
    assert_eq!(shown(&stage)[0], "the key is [hidden]");
    let again = Setting { store: stage.store.clone(), ..auto() }.play(vec![vec![stop()]]);
    again.session.prompt(text("and?")).await.unwrap();
    assert_eq!(shown(&again)[0], "the key is [hidden]", "also after it was loaded");
}

#[tokio::test]
async fn a_blocked_prompt_never_reaches_the_model() {
    let says: Says = |event, told| match event {
        HookEvent::UserMessage if told["text"].as_str().unwrap().contains("sk-") => {
            Ok(Verdict::Block("there is a key in it".to_owned()))
        }
        _ => Ok(Verdict::NoOpinion),
    };
    let hooks: Vec<Arc<dyn Hook>> = vec![Fake::new(says)];
    let stage = Setting { hooks, ..auto() }.play(vec![vec![say("Hello."), stop()]]);
    let answer = stage.session.prompt(text("use sk-123")).answered().await.unwrap();
    assert!(answer.fault.is_some());
    expect![[r#"
        msg-1 user (local): use sk-123
        msg-2 agent (local): error: the plugin `test:looks` blocks this prompt: "there is a key in it" | hint: to do without this plugin in this session, type `/plugins off test:looks`
        title: use sk-123
        failed: the plugin `test:looks` blocks this prompt: "there is a key in it" | hint: to do without this plugin in this session, type `/plugins off test:looks`
    "#]]
    .assert_eq(&script(&stage.screen.shown()));
    assert!(stage.model.requests.lock().unwrap().is_empty());
    stage.session.prompt(text("hi")).await.unwrap();
    assert_eq!(shown(&stage), ["hi"], "also not with a later one");
}

/// Commands are no prompts: whoever blocks everything can be switched off.
#[tokio::test]
async fn a_hook_that_blocks_everything_can_be_switched_off() {
    let hooks: Vec<Arc<dyn Hook>> = vec![Fake::new(|_, _| Ok(Verdict::Block("no".to_owned())))];
    let stage = Setting { hooks, ..auto() }.play(vec![vec![say("Hello."), stop()]]);
    assert!(stage.session.prompt(text("hi")).answered().await.unwrap().fault.is_some());
    assert_eq!(stage.session.prompt(text("/plugins off looks")).answered().await.unwrap().fault, None);
    assert_eq!(stage.session.prompt(text("hi")).answered().await.unwrap().fault, None);
    assert!(script(&stage.screen.shown()).contains("agent: Hello."));
}

#[tokio::test]
async fn a_prompt_that_a_hook_asks_about_waits_for_the_person() {
    let says: Says = |event, _| match event {
        HookEvent::UserMessage => Ok(Verdict::Ask("is this for the model?".to_owned())),
        _ => Ok(Verdict::NoOpinion),
    };
    for (answer, reached) in [(Approval::AllowOnce, true), (Approval::RejectOnce, false), (Approval::NoChannel, false)]
    {
        let hooks: Vec<Arc<dyn Hook>> = vec![Fake::new(says)];
        let stage = Setting { answer, hooks, ..auto() }.play(vec![vec![say("Hello."), stop()]]);
        stage.session.prompt(text("hi")).await.unwrap();
        let asked = stage.person.asked.lock().unwrap();
        let title = "prompt: hook `user-message` – plugin `test:looks` asks: \"is this for the model?\"";
        assert_eq!(asked[0].0.title, title);
        assert_eq!(!stage.model.requests.lock().unwrap().is_empty(), reached, "{answer:?}");
    }
}

#[tokio::test]
async fn a_failed_turn_is_told_of() {
    let hook = Fake::new(silent);
    let hooks: Vec<Arc<dyn Hook>> = vec![hook.clone()];
    let stage = Setting { hooks, ..auto() }.play(vec![vec![Line::Say(ModelEvent::Text("Half".to_owned()))]]);
    stage.session.prompt(text("go")).await.unwrap_err();
    stage.session.close().await;
    let told = hook.told();
    assert!(
        told.contains("s error: {\"message\":\"the model's answer was cut off before its end; try again\"}"),
        "{told}"
    );
    assert!(told.contains("s after-turn: {\"failed\":"), "{told}");
}
