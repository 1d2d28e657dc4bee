//! What `session/load` tells of every kind of event, as it stands on the wire.
//!
//! The journal is laid out by hand, so that the transcript is the same on every machine. Each line is judged by the
//! schema on its way.

use acp_runtime::store::SqliteStore;
use acp_runtime_agent::capability::PluginId;
use acp_runtime_agent::event::{CompactionEnd, ContextSize, SessionEvent, ToolCallStatus, ToolCallUpdate, TurnEnd};
use acp_runtime_agent::model::ToolKind;
use acp_runtime_agent::options::Bounds;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::store::{SessionRecord, SessionSetup, SessionStore};
use acp_runtime_agent::transcript::{
    Location, MessageId, Part, PlanEntry, PlanPriority, PlanStatus, SessionId, StopReason, ToolCall, ToolCallId,
    ToolContent, Usage,
};
use acp_runtime_tests::Runtime;
use expect_test::expect;
use serde_json::{Value, json};

/// The name of an event's kind. A new kind does not compile until it has a line here, and then [`all_kinds`] must have
/// an event of it.
fn kind(event: &SessionEvent) -> &'static str {
    match event {
        SessionEvent::UserMessage { .. } => "user message",
        SessionEvent::AgentText { .. } => "text",
        SessionEvent::AgentThought { .. } => "thought",
        SessionEvent::ToolCallDrafted { .. } => "draft",
        SessionEvent::ToolCallStarted { .. } => "call",
        SessionEvent::ToolCallUpdated(_) => "call update",
        SessionEvent::Plan { .. } => "plan",
        SessionEvent::Usage(_) => "usage",
        SessionEvent::Title { .. } => "title",
        SessionEvent::ContextCleared => "cleared",
        SessionEvent::OutputsDropped { .. } => "outputs dropped",
        SessionEvent::MessageReplaced { .. } => "replaced",
        SessionEvent::CompactionStarted { .. } => "summary begun",
        SessionEvent::CompactionText { .. } => "summary",
        SessionEvent::CompactionEnded { .. } => "summary ended",
        SessionEvent::ModeChanged { .. } => "mode",
        SessionEvent::BoundsChanged(_) => "bounds",
        SessionEvent::TurnEnded { .. } => "end",
        // Only of the moment: never kept.
        SessionEvent::ToolInput { .. }
        | SessionEvent::ToolOutput { .. }
        | SessionEvent::OptionsChanged { .. }
        | SessionEvent::CommandsChanged { .. }
        | SessionEvent::PanelChanged { .. }
        | SessionEvent::Notice(_)
        | SessionEvent::ServersChanged { .. } => "",
    }
}

const KINDS: usize = 18;

fn all_kinds() -> Vec<SessionEvent> {
    let [user, agent, summary] = ["msg-1", "msg-2", "msg-4"].map(MessageId::new);
    let text = |text: &str| ToolContent::Text { text: text.to_owned() };
    let diff = |old: Option<&str>| ToolContent::Diff {
        path: "/p/a.txt".to_owned(),
        old: old.map(str::to_owned),
        new: "new\n".to_owned(),
    };
    let resource = ToolContent::Resource {
        uri: "file:///p/b".to_owned(),
        text: "text of b".to_owned(),
        mime: Some("text/plain".to_owned()),
    };
    let call = |id: &str, tool: &str, kind| SessionEvent::ToolCallStarted {
        message: agent.clone(),
        call: ToolCall { id: ToolCallId::new(id), name: tool.to_owned(), arguments: json!({ "path": "a.txt" }) },
        title: format!("{tool} `a.txt`"),
        kind,
        locations: vec![Location { path: "/p/a.txt".to_owned(), line: Some(3) }],
        terminal: None,
        local: false,
    };
    let update = |id: &str, status, content| {
        let for_model = matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed).then(String::new);
        let id = ToolCallId::new(id);
        SessionEvent::ToolCallUpdated(ToolCallUpdate {
            status: Some(status),
            content,
            structured: for_model.is_some().then(|| json!({ "lines": 1 })),
            for_model,
            ..ToolCallUpdate::of(id)
        })
    };
    let entry = |content: &str, priority, status| PlanEntry { content: content.to_owned(), priority, status };
    vec![
        SessionEvent::ModeChanged { mode: Mode::Plan },
        SessionEvent::MessageReplaced {
            id: user.clone(),
            text: "Look.".to_owned(),
            by: vec![PluginId::new("aar:guard").unwrap()],
        },
        SessionEvent::UserMessage {
            id: user,
            parts: vec![
                Part::Text { text: "Look at these:".to_owned() },
                Part::Image { data: "AAAA".into(), mime: "image/png".to_owned() },
                Part::Resource { uri: "file:///p/c".to_owned(), text: "text of c".to_owned() },
                Part::ResourceLink {
                    name: "d".to_owned(),
                    uri: "file:///p/d".to_owned(),
                    text: Some("text of d".to_owned()),
                },
            ],
            local: false,
        },
        SessionEvent::AgentThought { id: agent.clone(), text: "Hm.".to_owned(), signature: None },
        SessionEvent::AgentThought { id: agent.clone(), text: String::new(), signature: Some("proof".to_owned()) },
        SessionEvent::AgentText { id: agent.clone(), text: "I see.".to_owned(), local: false },
        SessionEvent::ToolCallDrafted {
            message: agent.clone(),
            call: ToolCallId::new("call-1"),
            name: "edit_file".to_owned(),
            title: "Edit a file".to_owned(),
            kind: ToolKind::Edit,
        },
        call("call-1", "edit_file", ToolKind::Edit),
        call("call-2", "read_file", ToolKind::Read),
        update("call-1", ToolCallStatus::Pending, Some(vec![diff(Some("old\n"))])),
        update("call-1", ToolCallStatus::InProgress, None),
        update("call-1", ToolCallStatus::Completed, Some(vec![diff(Some("old\n")), diff(None)])),
        update("call-2", ToolCallStatus::Failed, Some(vec![text("Error [denied]: no"), resource])),
        SessionEvent::Usage(Usage { input: 100, output: 20, cached: 50, window: Some(8000), cost: None }),
        SessionEvent::Plan {
            entries: vec![
                entry("look", PlanPriority::High, PlanStatus::Completed),
                entry("think", PlanPriority::Medium, PlanStatus::InProgress),
                entry("tell", PlanPriority::Low, PlanStatus::Pending),
            ],
        },
        SessionEvent::AgentText { id: MessageId::new("msg-3"), text: "Done.".to_owned(), local: true },
        SessionEvent::Title { title: "Look at these:".to_owned(), provisional: false },
        SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::EndTurn) },
        SessionEvent::ContextCleared,
        SessionEvent::OutputsDropped { before: agent.clone() },
        SessionEvent::BoundsChanged(Bounds { off: [PluginId::new("aar:tasks").unwrap()].into(), ..Mode::Plan.into() }),
        SessionEvent::CompactionStarted { id: summary.clone() },
        SessionEvent::CompactionText { id: summary.clone(), text: "They looked.".to_owned() },
        SessionEvent::CompactionEnded {
            id: summary,
            end: CompactionEnd::Completed { kept: None, context: Some(ContextSize { used: 40, window: 8000 }) },
        },
    ]
}

/// Keeps a session `golden` with these events in the journal of `runtime`.
async fn keep(runtime: &Runtime, events: Vec<SessionEvent>) {
    let store = SqliteStore::new(runtime.home().join("sessions.db"));
    let setup =
        SessionSetup { cwd: runtime.project().display().to_string(), additional: Vec::new(), system_prompt: None };
    let (id, updated) = (SessionId::new("golden"), std::time::SystemTime::UNIX_EPOCH);
    let claim = store.create(SessionRecord { id: id.clone(), setup, title: None, updated }).await.unwrap();
    store.append(&id, events.into()).await.unwrap();
    claim.give_back().await;
}

/// The replay, without the time, and without what may have followed the answer.
fn told(updates: &[Value]) -> String {
    let replayed = |update: &&Value| update["updatedAt"].is_null() && update["availableCommands"].is_null();
    let lines: Vec<String> = updates.iter().filter(replayed).map(Value::to_string).collect();
    lines.join("\n")
}

#[tokio::test]
async fn every_kind_of_event_is_told_again() {
    let events = all_kinds();
    let mut kinds: Vec<&str> = events.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
    let runtime = Runtime::new();
    keep(&runtime, events).await;
    let editor = runtime.editor().await;
    let replay = editor.load_session("golden").await;
    expect![[r#"
        {"sessionUpdate":"current_mode_update","currentModeId":"plan"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Look at these:"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"image","data":"AAAA","mimeType":"image/png"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"resource","resource":{"text":"text of c","uri":"file:///p/c"}},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"resource_link","name":"d","uri":"file:///p/d"},"messageId":"msg-1"}
        {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."},"messageId":"msg-2"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I see."},"messageId":"msg-2"}
        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Edit a file","name":"edit_file","kind":"edit"}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","kind":"edit","title":"edit_file `a.txt`","name":"edit_file","locations":[{"path":"/p/a.txt","line":3}],"rawInput":{"path":"a.txt"}}
        {"sessionUpdate":"tool_call","toolCallId":"call-2","title":"read_file `a.txt`","name":"read_file","kind":"read","locations":[{"path":"/p/a.txt","line":3}],"rawInput":{"path":"a.txt"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"pending","content":[{"type":"diff","path":"/p/a.txt","oldText":"old\n","newText":"new\n"}]}
        {"sessionUpdate":"plan","entries":[{"content":"edit_file `a.txt`","priority":"medium","status":"pending"},{"content":"read_file `a.txt`","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"in_progress"}
        {"sessionUpdate":"plan","entries":[{"content":"edit_file `a.txt`","priority":"medium","status":"in_progress"},{"content":"read_file `a.txt`","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"completed","content":[{"type":"diff","path":"/p/a.txt","oldText":"old\n","newText":"new\n"},{"type":"diff","path":"/p/a.txt","newText":"new\n"}],"rawOutput":{"lines":1}}
        {"sessionUpdate":"plan","entries":[{"content":"edit_file `a.txt`","priority":"medium","status":"completed"},{"content":"read_file `a.txt`","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-2","status":"failed","content":[{"type":"content","content":{"type":"text","text":"Error [denied]: no"}},{"type":"content","content":{"type":"resource","resource":{"mimeType":"text/plain","text":"text of b","uri":"file:///p/b"}}}],"rawOutput":{"lines":1}}
        {"sessionUpdate":"plan","entries":[{"content":"edit_file `a.txt`","priority":"medium","status":"completed"},{"content":"read_file `a.txt` (failed)","priority":"medium","status":"completed"}]}
        {"sessionUpdate":"usage_update","used":120,"size":8000}
        {"sessionUpdate":"plan","entries":[{"content":"look","priority":"high","status":"completed"},{"content":"think","priority":"medium","status":"in_progress"},{"content":"tell","priority":"low","status":"pending"}]}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"msg-3"}
        {"sessionUpdate":"session_info_update","title":"Look at these:"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"They looked."},"messageId":"msg-4"}
        {"sessionUpdate":"usage_update","used":40,"size":8000}"#]].assert_eq(&told(&replay.updates));
    // A resume tells nothing of that, and a second load the same.
    editor.call("session/resume", json!({ "sessionId": "golden", "cwd": runtime.project() })).await;
    assert_eq!(told(&editor.load_session("golden").await.updates), told(&replay.updates));
    editor.close().await;
}

#[tokio::test]
async fn what_a_crash_left_open_is_closed_when_it_is_told() {
    let runtime = Runtime::new();
    let mut events = all_kinds();
    events.truncate(9);
    keep(&runtime, events).await;
    let editor = runtime.editor().await;
    let replay = editor.load_session("golden").await;
    let states: Vec<String> = replay.calls().iter().map(|call| format!("{} {}", call.id, call.status())).collect();
    assert_eq!(states, ["call-1 failed", "call-2 failed"]);
    assert_eq!(editor.prompt("golden", "/help").await.stop, "end_turn");
    assert_eq!(editor.load_session("golden").await.calls().len(), 2, "repaired once");
    editor.close().await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_before_anything_is_told() {
    let runtime = Runtime::new();
    keep(&runtime, all_kinds()).await;
    // The last event is of a version to come.
    let journal = rusqlite::Connection::open(runtime.home().join("sessions.db")).unwrap();
    let newer = "UPDATE event SET format = 99 WHERE place = (SELECT max(place) FROM event)";
    assert_eq!(journal.execute(newer, []).unwrap(), 1);
    let editor = runtime.editor().await;
    for method in ["session/load", "session/resume", "session/fork"] {
        let params = json!({ "sessionId": "golden", "cwd": runtime.project(), "mcpServers": [] });
        let error = editor.request(method, params).await.unwrap_err();
        assert_eq!((error.code, &error.data["reason"]), (-32603, &json!("store")), "{method}");
        assert!(error.message.contains("format 99"), "{method}: {}", error.message);
    }
    assert_eq!(editor.updates("golden"), Vec::<Value>::new());
    editor.close().await;
}
