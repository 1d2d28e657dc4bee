//! Every event, and the updates that it becomes.

use acp_runtime_agent::capability::PanelName;
use acp_runtime_agent::event::TurnEnd;
use acp_runtime_agent::options::{Category, ConfigOption, OptionKind};
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::transcript::{
    Location, PlanEntry, PlanPriority, PlanStatus, StopReason, ToolCall, ToolContent, Usage,
};
use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn id() -> MessageId {
    MessageId::new("msg-1")
}

fn call() -> SessionEvent {
    SessionEvent::ToolCallStarted {
        message: id(),
        call: ToolCall { id: ToolCallId::new("call-1"), name: "grep".to_owned(), arguments: json!({ "pattern": "x" }) },
        title: "Search for `x`".to_owned(),
        kind: ToolKind::Search,
        locations: vec![Location { path: "/p/src".to_owned(), line: Some(3) }],
        terminal: None,
        local: false,
    }
}

fn done(content: Vec<ToolContent>) -> SessionEvent {
    SessionEvent::ToolCallUpdated(ToolCallUpdate {
        status: Some(ToolCallStatus::Completed),
        content: Some(content),
        structured: Some(json!({ "hits": 2 })),
        for_model: Some("not for the client".to_owned()),
        ..ToolCallUpdate::of(ToolCallId::new("call-1"))
    })
}

/// A narrator for a client that takes all there is.
fn narrator() -> Narrator {
    Narrator::new(TAKES_ALL.into_iter().fold(Offers::default(), Offers::with), false)
}

const TAKES_ALL: [Offer; 5] =
    [Offer::Notices, Offer::Compactions, Offer::PlansById, Offer::Flags, Offer::TerminalOutput];

fn told(narrator: &mut Narrator, event: SessionEvent, told: Told) -> Vec<String> {
    narrator.tell(event, told).iter().map(|update| serde_json::to_string(update).unwrap()).collect()
}

fn lines(event: SessionEvent, how: Told) -> Vec<String> {
    told(&mut narrator(), event, how)
}

#[test]
fn every_event_has_its_updates() {
    let option = ConfigOption {
        id: "read_only".to_owned(),
        name: "Read-only".to_owned(),
        description: "Changes nothing".to_owned(),
        category: Category::Permissions,
        kind: OptionKind::Flag { on: false },
    };
    let said = vec![
        Part::Text { text: "look".to_owned() },
        Part::Image { data: "aGk=".into(), mime: "image/png".to_owned() },
        Part::Image { data: "x".repeat(TEXT).into(), mime: "image/png".to_owned() },
        Part::Resource { uri: "file:///p/a".to_owned(), text: "a".to_owned() },
        Part::ResourceLink { name: "b".to_owned(), uri: "file:///p/b".to_owned(), text: None },
        Part::ToolResult { call: ToolCallId::new("call-1"), text: "never said by a person".to_owned(), failed: false },
    ];
    let usage = |window| Usage { input: 900, output: 200, cached: 0, window, cost: None };
    let entry = PlanEntry { content: "do it".to_owned(), priority: PlanPriority::High, status: PlanStatus::InProgress };
    let command =
        CommandInfo { name: "call".to_owned(), description: "Calls".to_owned(), hint: Some("TOOL".to_owned()) };
    let offers = Offers::default().with(Offer::Notices).with(Offer::Flags);
    let mut narrator = Narrator::new(offers, false);
    let table: Vec<String> = [
        SessionEvent::UserMessage { id: id(), parts: said, local: false },
        SessionEvent::AgentText { id: id(), text: "hi".to_owned(), local: true },
        SessionEvent::AgentThought { id: id(), text: "hm".to_owned(), signature: None },
        SessionEvent::AgentThought { id: id(), text: String::new(), signature: Some("proof".to_owned()) },
        call(),
        done(vec![
            ToolContent::Text { text: "found".to_owned() },
            ToolContent::Resource { uri: "file:///p/a".to_owned(), text: "a".to_owned(), mime: None },
            ToolContent::Diff { path: "/p/a".to_owned(), old: Some("a".to_owned()), new: "b".to_owned() },
            ToolContent::Link {
                name: "call-1.txt".to_owned(),
                uri: "file:///o/call-1.txt".to_owned(),
                mime: Some("text/plain".to_owned()),
                size: Some(70_000),
            },
        ]),
        SessionEvent::ToolCallUpdated(ToolCallUpdate {
            status: Some(ToolCallStatus::InProgress),
            ..ToolCallUpdate::of(ToolCallId::new("call-1"))
        }),
        SessionEvent::Plan { entries: vec![entry] },
        SessionEvent::Usage(usage(Some(1000))),
        SessionEvent::Usage(usage(None)),
        SessionEvent::Title { title: "Look\nhere".to_owned(), provisional: false },
        SessionEvent::ModeChanged { mode: Mode::Plan },
        SessionEvent::OptionsChanged { options: vec![option] },
        SessionEvent::CommandsChanged { commands: vec![command] },
        SessionEvent::PanelChanged { panel: PanelName::new("tasks").unwrap() },
        SessionEvent::Notice(Notice::new(Severity::Warning, "`linter` is gone\n").described("It ended with 1.\n/mcp")),
        SessionEvent::Notice(Notice::new(Severity::Info, " ")),
        SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::EndTurn) },
    ]
    .into_iter()
    .flat_map(|event| {
        let kind = format!("{event:?}");
        let kind = kind.split([' ', '(']).next().unwrap_or_default().to_owned();
        std::iter::once(format!("# {kind}")).chain(told(&mut narrator, event, Told::Again))
    })
    .collect();
    expect![[r##"
        # UserMessage
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"look"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"image","data":"aGk=","mimeType":"image/png"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"[image/png of 32768 bytes, not sent again]"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"resource","resource":{"text":"a","uri":"file:///p/a"}},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"resource_link","name":"b","uri":"file:///p/b"},"messageId":"msg-1"}
        # AgentText
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"msg-1"}
        # AgentThought
        {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"},"messageId":"msg-1"}
        # AgentThought
        # ToolCallStarted
        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Search for `x`","name":"grep","kind":"search","locations":[{"path":"/p/src","line":3}],"rawInput":{"pattern":"x"}}
        # ToolCallUpdated
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"found"}},{"type":"content","content":{"type":"resource","resource":{"text":"a","uri":"file:///p/a"}}},{"type":"diff","path":"/p/a","oldText":"a","newText":"b"},{"type":"content","content":{"type":"resource_link","mimeType":"text/plain","name":"call-1.txt","size":70000,"uri":"file:///o/call-1.txt"}}],"rawOutput":{"hits":2}}
        {"sessionUpdate":"plan","entries":[{"content":"Search for `x`","priority":"medium","status":"completed"}]}
        # ToolCallUpdated
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"in_progress"}
        {"sessionUpdate":"plan","entries":[{"content":"Search for `x`","priority":"medium","status":"in_progress"}]}
        # Plan
        {"sessionUpdate":"plan","entries":[{"content":"do it","priority":"high","status":"in_progress"}]}
        # Usage
        {"sessionUpdate":"usage_update","used":1000,"size":1000}
        # Usage
        # Title
        {"sessionUpdate":"session_info_update","title":"Look here"}
        # ModeChanged
        {"sessionUpdate":"current_mode_update","currentModeId":"plan"}
        # OptionsChanged
        {"sessionUpdate":"config_option_update","configOptions":[{"id":"read_only","name":"Read-only","description":"Changes nothing","category":"_permissions","type":"boolean","currentValue":false}]}
        # CommandsChanged
        {"sessionUpdate":"available_commands_update","availableCommands":[{"name":"call","description":"Calls","input":{"hint":"TOOL"}}]}
        # PanelChanged
        # Notice
        {"sessionUpdate":"notice","severity":"warning","title":"`linter` is gone","description":"It ended with 1.\n/mcp"}
        # Notice
        # TurnEnded"##]].assert_eq(&table.join("\n"));
}

#[test]
fn the_person_s_message_is_told_again_and_live_where_it_is_wanted() {
    let event =
        || SessionEvent::UserMessage { id: id(), parts: vec![Part::Text { text: "hi".to_owned() }], local: false };
    for (echo, how, count) in
        [(false, Told::Live, 0), (false, Told::Again, 1), (true, Told::Live, 1), (true, Told::Again, 1)]
    {
        assert_eq!(told(&mut Narrator::new(Offers::default(), echo), event(), how).len(), count, "{echo} {how:?}");
    }
}

#[test]
fn what_was_not_offered_is_not_told() {
    let failed = || SessionEvent::TurnEnded { end: TurnEnd::Failed("no network".to_owned()) };
    for event in [SessionEvent::Notice(Notice::new(Severity::Info, "x")), failed()] {
        assert_eq!(told(&mut Narrator::new(Offers::default(), false), event, Told::Live), Vec::<String>::new());
    }
    assert_eq!(lines(failed(), Told::Again), Vec::<String>::new(), "a notice is of the moment");
    expect![[
        r#"{"sessionUpdate":"notice","severity":"error","title":"The prompt failed","description":"no network"}"#
    ]]
    .assert_eq(&lines(failed(), Told::Live).join("\n"));
}

/// A summary that is written, and what it and its request have cost.
fn compaction(end: CompactionEnd) -> [SessionEvent; 4] {
    let cost = Some(acp_runtime_agent::transcript::Cost { amount: 0.5, currency: "USD".into() });
    [
        SessionEvent::CompactionStarted { id: id() },
        SessionEvent::CompactionText { id: id(), text: "They want it.".to_owned() },
        SessionEvent::Usage(Usage { input: 900, output: 50, cached: 0, window: Some(1000), cost }),
        SessionEvent::CompactionEnded { id: id(), end },
    ]
}

#[test]
fn a_summary_is_an_entity_of_its_own_or_a_message() {
    let context = Some(ContextSize { used: 60, window: 1000 });
    let ends = [
        CompactionEnd::Completed { kept: Some(id()), context },
        CompactionEnd::Failed { reason: "no network".to_owned() },
        CompactionEnd::Cancelled,
    ];
    let told = |offers: Offers, how| {
        let mut lines = Vec::new();
        for end in ends.clone() {
            let mut narrator = Narrator::new(offers, false);
            lines.extend(compaction(end).into_iter().flat_map(|event| told(&mut narrator, event, how)));
        }
        lines.join("\n")
    };
    let takes_them = Offers::default().with(Offer::Compactions);
    expect![[r#"
        {"sessionUpdate":"compaction_update","compactionId":"msg-1","status":"in_progress"}
        {"sessionUpdate":"compaction_summary_chunk","compactionId":"msg-1","content":{"type":"text","text":"They want it."}}
        {"sessionUpdate":"compaction_update","compactionId":"msg-1","status":"completed"}
        {"sessionUpdate":"usage_update","used":60,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}
        {"sessionUpdate":"compaction_update","compactionId":"msg-1","status":"in_progress"}
        {"sessionUpdate":"compaction_summary_chunk","compactionId":"msg-1","content":{"type":"text","text":"They want it."}}
        {"sessionUpdate":"compaction_update","compactionId":"msg-1","status":"failed","error":"no network"}
        {"sessionUpdate":"compaction_update","compactionId":"msg-1","status":"in_progress"}
        {"sessionUpdate":"compaction_summary_chunk","compactionId":"msg-1","content":{"type":"text","text":"They want it."}}
        {"sessionUpdate":"compaction_update","compactionId":"msg-1","status":"cancelled"}"#]].assert_eq(&told(takes_them, Told::Live));
    assert_eq!(told(takes_them, Told::Again), told(takes_them, Told::Live));
    expect![[r#"
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"They want it."},"messageId":"msg-1"}
        {"sessionUpdate":"usage_update","used":60,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"They want it."},"messageId":"msg-1"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"They want it."},"messageId":"msg-1"}"#]]
    .assert_eq(&told(Offers::default(), Told::Live));
}

#[test]
fn a_list_of_commands_is_cut_where_a_line_ends() {
    let commands =
        (0..10_000).map(|n| CommandInfo { name: format!("c{n}"), description: "d".repeat(300), hint: None }).collect();
    let told = lines(SessionEvent::CommandsChanged { commands }, Told::Live);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("\"c0\"") && told[0].len() < 40_000, "{}", told[0].len());
}

/// Texts that are long, or long once escaped.
fn hostile() -> impl Strategy<Value = String> {
    let unit = prop_oneof![Just("x"), Just("\u{1}"), Just("\"\\"), Just("ü"), Just("🦀"), Just("\n")];
    (unit, 0usize..120_000).prop_map(|(unit, times)| unit.repeat(times))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_line_is_longer_than_48_kib(a in hostile(), b in hostile()) {
        let content = vec![
            ToolContent::Text { text: a.clone() },
            ToolContent::Diff { path: format!("/p/{}", &b.get(..200).unwrap_or("b")), old: Some(a.clone()), new: b.clone() },
            ToolContent::Resource { uri: b.clone(), text: b.clone(), mime: Some(a.clone()) },
            ToolContent::Link { name: a.clone(), uri: b.clone(), mime: Some(b.clone()), size: None },
        ];
        let entries = vec![
            PlanEntry { content: a.clone(), priority: PlanPriority::Low, status: PlanStatus::Pending };
            80
        ];
        for event in [
            SessionEvent::AgentText { id: id(), text: a.clone(), local: false },
            SessionEvent::UserMessage {
                id: id(),
                parts: vec![
                    Part::Text { text: a.clone() },
                    Part::Resource { uri: a.clone(), text: b.clone() },
                    Part::ResourceLink { name: a.clone(), uri: b.clone(), text: None },
                    Part::Image { data: a.as_str().into(), mime: b.clone() },
                ],
                local: false,
            },
            SessionEvent::ToolCallStarted {
                message: id(),
                call: ToolCall { id: ToolCallId::new("call-1"), name: a.clone(), arguments: json!({ "a": a, "b": [b] }) },
                title: b.clone(),
                kind: ToolKind::Other,
                locations: vec![Location { path: a.clone(), line: None }; 50],
                terminal: Some(a.clone()),
                local: false,
            },
            done(content),
            SessionEvent::Plan { entries },
            SessionEvent::Title { title: a.clone(), provisional: false },
            SessionEvent::Notice(Notice::new(Severity::Error, b.clone()).described(a.clone())),
            SessionEvent::CompactionText { id: id(), text: a.clone() },
            SessionEvent::CompactionEnded { id: id(), end: CompactionEnd::Failed { reason: a.clone() } },
        ] {
            for line in lines(event, Told::Again) {
                prop_assert!(line.len() <= 47 * 1024, "{} bytes: {}", line.len(), line.get(..200).unwrap_or_default());
            }
        }
    }
}

/// A call is announced once, as soon as it has a name; one that draws a terminal only when its folder is known.
#[test]
fn a_call_that_is_being_written_is_announced_once() {
    let drafted = |kind| SessionEvent::ToolCallDrafted {
        message: id(),
        call: ToolCallId::new("call-1"),
        name: "grep".to_owned(),
        title: "Search files".to_owned(),
        kind,
    };
    let written = |pattern: &str| SessionEvent::ToolInput {
        call: ToolCallId::new("call-1"),
        arguments: json!({ "pattern": pattern }),
    };
    let failed = || {
        let status = Some(ToolCallStatus::Failed);
        SessionEvent::ToolCallUpdated(ToolCallUpdate { status, ..ToolCallUpdate::of(ToolCallId::new("call-1")) })
    };
    let mut table = String::new();
    for (kind, end) in [
        (ToolKind::Search, call()),
        (ToolKind::Search, failed()),
        (ToolKind::Execute, call()),
        (ToolKind::Execute, failed()),
    ] {
        let mut narrator = narrator();
        let long = "x".repeat(40_000);
        for event in [drafted(kind), written("a"), written(&long), end, written("late")] {
            for line in told(&mut narrator, event, Told::Live) {
                assert!(line.len() < 2000, "{line}");
                if line.contains("plan") {
                    continue;
                }
                table.push_str(&line.replace(&"x".repeat(400), "X"));
                table.push('\n');
            }
        }
        table.push('\n');
    }
    expect![[r#"
        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Search files","name":"grep","kind":"search"}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","rawInput":{"pattern":"a"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","rawInput":{"pattern":"Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n[cut: 444 of 40000 bytes shown]"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","kind":"search","title":"Search for `x`","name":"grep","locations":[{"path":"/p/src","line":3}],"rawInput":{"pattern":"x"}}

        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Search files","name":"grep","kind":"search"}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","rawInput":{"pattern":"a"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","rawInput":{"pattern":"Xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n[cut: 444 of 40000 bytes shown]"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"failed"}

        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Search for `x`","name":"grep","kind":"search","locations":[{"path":"/p/src","line":3}],"rawInput":{"pattern":"x"}}


    "#]].assert_eq(&table);
}
