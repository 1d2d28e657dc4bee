//! A golden transcript for each kind of `session/update`: a scripted session through the real binary, told live and
//! once more by `session/load` in a process of its own.
//!
//! Every line was validated against the schema when it was heard. What is of the moment alone (commands, notices) is
//! not told again; everything else must be told in the same words.
#![expect(clippy::disallowed_methods, reason = "a client opens the files that it is pointed to")]

use acp_runtime_tests::{Answer, EditorDouble, EditorOptions, Runtime};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

/// A session that is told live and again.
struct Golden {
    runtime: Runtime,
    options: EditorOptions,
}

impl Golden {
    /// A runtime with that scenario, and an editor that wants all there is.
    fn new(scenario: &str) -> Self {
        let options = EditorOptions::default()
            .with_echo()
            .offering("/session/notices", json!({}))
            .offering("/session/compaction", json!({}));
        Self {
            runtime: Runtime::scripted(&format!("quiet = true\n{scenario}")).config("prompt.echo = true\n"),
            options,
        }
    }

    fn file(mut self, path: &str, text: &str) -> Self {
        self.runtime = self.runtime.file(path, text);
        self
    }

    fn offering(mut self, pointer: &str) -> Self {
        self.options = self.options.offering(pointer, json!({}));
        self
    }

    fn configured(mut self, text: &str) -> Self {
        self.runtime = self.runtime.config(text);
        self
    }

    fn answering(mut self, answer: Answer) -> Self {
        self.options = self.options.answering(move |_| answer);
        self
    }

    /// Says each text, and compares what was told with `expected`; then loads the session and compares again.
    async fn says(&self, texts: &[&str], expected: Expect) -> Vec<Value> {
        let prompts: Vec<Value> = texts.iter().map(|text| json!([{ "type": "text", "text": text }])).collect();
        self.prompts(&prompts, expected).await
    }

    async fn prompts(&self, prompts: &[Value], expected: Expect) -> Vec<Value> {
        let editor = self.runtime.editor_with(self.options.clone()).await;
        let session = editor.new_session().await;
        editor.until_updates(&session, 1).await;
        for prompt in prompts {
            // A prompt that fails has its updates too.
            let _ = editor.request("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await;
        }
        let live = editor.updates(&session);
        editor.close().await;
        expected.assert_eq(&self.told(&live));

        let editor = self.runtime.editor_with(self.options.clone()).await;
        let again = editor.load_session(&session).await.updates;
        editor.close().await;
        assert_eq!(self.told(&lasting(&again)), self.told(&lasting(&live)), "a load tells the same");
        live
    }

    /// One line for each update but the commands and the time of the last activity, without the places of this machine
    /// and the ids of this session.
    fn told(&self, updates: &[Value]) -> String {
        let places = [(self.runtime.project(), "/project"), (self.runtime.home(), "/home")];
        let shown =
            |update: &&Value| update["sessionUpdate"] != "available_commands_update" && update["updatedAt"].is_null();
        let lines = updates.iter().filter(shown).map(|update| {
            let line = update.to_string();
            let line = places.iter().fold(line, |line, (place, name)| line.replace(&place.display().to_string(), name));
            without_ids(&line)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// What a session is that goes on: all but what is of the moment.
fn lasting(updates: &[Value]) -> Vec<Value> {
    let of_the_moment = |update: &&Value| {
        let kinds = ["notice", "available_commands_update", "config_option_update"];
        kinds.iter().any(|kind| update["sessionUpdate"] == *kind) || update["updatedAt"].is_string()
    };
    updates.iter().filter(|update| !of_the_moment(update)).cloned().collect()
}

/// Session ids are 32 hexadecimal digits.
fn without_ids(line: &str) -> String {
    let mut text = String::new();
    let mut digits = String::new();
    for c in line.chars().chain(['\n']) {
        if c.is_ascii_hexdigit() {
            digits.push(c);
            continue;
        }
        text.push_str(if digits.len() == 32 { "SESSION" } else { &digits });
        digits.clear();
        text.push(c);
    }
    text.pop();
    text
}

async fn commands(editor: &EditorDouble, session: &str) -> Value {
    editor.until_update(session, "the commands", |update| update["availableCommands"].is_array()).await
}

#[tokio::test]
async fn user_message_chunk() {
    let prompt = json!([
        { "type": "text", "text": "Look at" },
        { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "file:///a.rs", "text": "fn main() {}" } },
        { "type": "resource_link", "name": "b.rs", "uri": "file:///b.rs" },
    ]);
    Golden::new("[[reply]]\nsteps = [{ text = \"I see.\" }]").prompts(&[prompt], expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Look at"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"image","data":"aGk=","mimeType":"image/png"},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"resource","resource":{"text":"fn main() {}","uri":"file:///a.rs"}},"messageId":"msg-1"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"resource_link","name":"b.rs","uri":"file:///b.rs"},"messageId":"msg-1"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I see."},"messageId":"msg-2"}
        {"sessionUpdate":"session_info_update","title":"Look at"}"#]]).await;
}

#[tokio::test]
async fn agent_message_chunk_and_agent_thought_chunk() {
    Golden::new("[[reply]]\nsteps = [{ thought = \"A greeting.\" }, { text = \"Hello.\" }, { signature = \"proof\" }]")
        .says(
            &["Hi"],
            expect![[r#"
            {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hi"},"messageId":"msg-1"}
            {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"A greeting."},"messageId":"msg-2"}
            {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."},"messageId":"msg-2"}
            {"sessionUpdate":"session_info_update","title":"Hi"}"#]],
        )
        .await;
}

#[tokio::test]
async fn tool_call_and_tool_call_update() {
    Golden::new(
        r#"
        [[reply]]
        steps = [
          { call = { tool = "read_file", arguments = { path = "a.txt", start_line = 2 } } },
          { call = { tool = "edit_file", arguments = { path = "a.txt", old_string = "two", new_string = "2" } } },
          { call = { tool = "nothing", arguments = {} } },
        ]
        [[reply]]
        steps = [{ text = "Done." }]
        "#,
    )
    .file("a.txt", "one\ntwo\n")
    .says(&["Go"], expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Go"},"messageId":"msg-1"}
        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Read `a.txt` from line 2","name":"read_file","kind":"read","locations":[{"path":"/project/a.txt","line":2}],"rawInput":{"path":"a.txt","start_line":2}}
        {"sessionUpdate":"tool_call","toolCallId":"call-2","title":"Edit `a.txt`","name":"edit_file","kind":"edit","locations":[{"path":"/project/a.txt"}],"rawInput":{"new_string":"2","old_string":"two","path":"a.txt"}}
        {"sessionUpdate":"tool_call","toolCallId":"call-3","title":"nothing","name":"nothing","rawInput":{}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"in_progress"}
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt` from line 2","priority":"medium","status":"in_progress"},{"content":"Edit `a.txt`","priority":"medium","status":"pending"},{"content":"nothing","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"     2\ttwo"}}],"locations":[{"path":"/project/a.txt","line":2}]}
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt` from line 2","priority":"medium","status":"completed"},{"content":"Edit `a.txt`","priority":"medium","status":"pending"},{"content":"nothing","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-2","content":[{"type":"diff","path":"/project/a.txt","oldText":"one\ntwo\n","newText":"one\n2\n"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-2","status":"in_progress"}
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt` from line 2","priority":"medium","status":"completed"},{"content":"Edit `a.txt`","priority":"medium","status":"in_progress"},{"content":"nothing","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-2","status":"completed","content":[{"type":"content","content":{"type":"text","text":"Edited `a.txt` at line 2"}},{"type":"diff","path":"/project/a.txt","oldText":"one\ntwo\n","newText":"one\n2\n"}],"locations":[{"path":"/project/a.txt","line":2}]}
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt` from line 2","priority":"medium","status":"completed"},{"content":"Edit `a.txt`","priority":"medium","status":"completed"},{"content":"nothing","priority":"medium","status":"pending"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-3","status":"failed","content":[{"type":"content","content":{"type":"text","text":"there is no tool `nothing`\nhint: did you mean `think`?"}}]}
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt` from line 2","priority":"medium","status":"completed"},{"content":"Edit `a.txt`","priority":"medium","status":"completed"},{"content":"nothing (failed)","priority":"medium","status":"completed"}]}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"messageId":"msg-3"}
        {"sessionUpdate":"session_info_update","title":"Go"}"#]])
    .await;
}

#[tokio::test]
async fn a_refused_call() {
    Golden::new(
        r#"
        [[reply]]
        steps = [{ call = { tool = "write_file", arguments = { path = "a.txt", content = "x" } } }]
        [[reply]]
        steps = [{ text = "As you like." }]
        "#,
    )
    .answering(Answer::Pick("reject_once"))
    .says(&["Go"], expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Go"},"messageId":"msg-1"}
        {"sessionUpdate":"tool_call","toolCallId":"call-1","title":"Write `a.txt`","name":"write_file","kind":"edit","locations":[{"path":"/project/a.txt"}],"rawInput":{"content":"x","path":"a.txt"}}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","content":[{"type":"diff","path":"/project/a.txt","newText":"x"}]}
        {"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"write `a.txt`: the user refused"}}]}
        {"sessionUpdate":"plan","entries":[{"content":"Write `a.txt` (failed)","priority":"medium","status":"completed"}]}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"As you like."},"messageId":"msg-3"}
        {"sessionUpdate":"session_info_update","title":"Go"}"#]])
    .await;
}

#[tokio::test]
async fn long_output_has_a_link_to_the_whole() {
    let line = |number: usize| format!("{number:04} {}\n", "x".repeat(90));
    let text: String = (0..600).map(line).collect();
    let golden = Golden::new(
        r#"
        [[reply]]
        steps = [{ call = { tool = "read_file", arguments = { path = "long.txt" } } }]
        [[reply]]
        steps = [{ text = "Long." }]
        "#,
    )
    .file("long.txt", &text);
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    let session = editor.new_session().await;
    let call = editor.prompt(&session, "Read").await.call();
    editor.close().await;

    let content = call.fields["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "{content:?}");
    let shown = content[0]["content"]["text"].as_str().unwrap();
    assert!(shown.starts_with("     1\t0000 xxx") && shown.ends_with("bytes shown]"), "{shown}");
    let link = &content[1]["content"];
    expect![[r#"{"type":"resource_link","mimeType":"text/plain","name":"call-1.txt","size":61799,"uri":"file:///home/sessions.db-outputs/SESSION/call-1.txt"}"#]].assert_eq(&golden.told(std::slice::from_ref(link)));
    let path = link["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
    let whole = std::fs::read_to_string(path).expect("the client can read it");
    assert!(whole.contains("\t0599 xxx"), "all of it is there");
    assert_eq!(link["size"], whole.len());

    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    assert_eq!(editor.load_session(&session).await.call().fields["content"], call.fields["content"]);
    editor.close().await;
}

#[tokio::test]
async fn what_is_too_large_for_a_line_has_a_mark() {
    let scenario = format!(
        "[[reply]]\nsteps = [{{ call = {{ tool = \"write_file\", arguments = {{ path = \"a.txt\", content = \"{}\" }} }} }}]\n\
         [[reply]]\nsteps = [{{ text = \"Done.\" }}]\n",
        "x".repeat(60_000)
    );
    let golden = Golden::new(&scenario);
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    let session = editor.new_session().await;
    let call = editor.prompt(&session, "Write").await.call();
    assert_eq!(call.status(), "completed");
    let argument = call.fields["rawInput"]["content"].as_str().unwrap();
    assert!(argument.ends_with("of 60000 bytes shown]") && argument.len() < 1000, "{argument}");
    assert!(call.text().contains("too long to show"), "{}", call.text());
    assert_eq!(golden.runtime.read("a.txt").len(), 60_000, "only the telling is cut");
    editor.close().await;
}

const PLANS: &str = r#"
    [[reply]]
    steps = [{ call = { tool = "read_file", arguments = { path = "a.txt" } } }]
    [[reply]]
    steps = [{ call = { tool = "update_plan", arguments = { plan = [
      { step = "Read", status = "completed", priority = "high" },
      { step = "Write", status = "in_progress" },
    ] } } }]
    [[reply]]
    steps = [{ call = { tool = "read_file", arguments = { path = "a.txt" } } }]
    [[reply]]
    steps = [{ text = "Done." }]
    [[reply]]
    steps = [{ call = { tool = "update_plan", arguments = { plan = [] } } }]
    [[reply]]
    steps = [{ text = "Over." }]
"#;

fn plans(live: &[Value]) -> Vec<Value> {
    let kind = |update: &Value| update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
    live.iter().filter(|update| kind(update).starts_with("plan")).cloned().collect()
}

#[tokio::test]
async fn plan() {
    let golden = Golden::new(PLANS).file("a.txt", "a\n");
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Go").await;
    editor.prompt(&session, "And now?").await;
    let live = plans(&editor.updates(&session));
    editor.close().await;
    expect![[r#"
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt`","priority":"medium","status":"in_progress"}]}
        {"sessionUpdate":"plan","entries":[{"content":"Read `a.txt`","priority":"medium","status":"completed"}]}
        {"sessionUpdate":"plan","entries":[{"content":"Read","priority":"high","status":"completed"},{"content":"Write","priority":"medium","status":"in_progress"}]}
        {"sessionUpdate":"plan","entries":[]}"#]].assert_eq(&golden.told(&live));
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    assert_eq!(plans(&editor.load_session(&session).await.updates), live, "a load tells the same");
    editor.close().await;
}

#[tokio::test]
async fn plan_update_and_plan_removed() {
    let golden = Golden::new(PLANS).file("a.txt", "a\n").offering("/plan");
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    let session = editor.new_session().await;
    editor.prompt(&session, "Go").await;
    editor.prompt(&session, "And now?").await;
    let live = plans(&editor.updates(&session));
    editor.close().await;
    expect![[r#"
        {"sessionUpdate":"plan_update","plan":{"type":"items","planId":"calls","entries":[{"content":"Read `a.txt`","priority":"medium","status":"in_progress"}]}}
        {"sessionUpdate":"plan_update","plan":{"type":"items","planId":"calls","entries":[{"content":"Read `a.txt`","priority":"medium","status":"completed"}]}}
        {"sessionUpdate":"plan_removed","planId":"calls"}
        {"sessionUpdate":"plan_update","plan":{"type":"items","planId":"plan","entries":[{"content":"Read","priority":"high","status":"completed"},{"content":"Write","priority":"medium","status":"in_progress"}]}}
        {"sessionUpdate":"plan_removed","planId":"plan"}"#]].assert_eq(&golden.told(&live));
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    assert_eq!(plans(&editor.load_session(&session).await.updates), live, "a load tells the same");
    editor.close().await;
}

#[tokio::test]
async fn available_commands_update() {
    let editor = Runtime::new().config("plugins.bundled = false\n").editor().await;
    let session = editor.new_session().await;
    let told = commands(&editor, &session).await;
    let help = told["availableCommands"].as_array().unwrap().iter().find(|command| command["name"] == "call");
    expect![[r#"{"name":"call","description":"Calls a tool","input":{"hint":"TOOL {json}"}}"#]]
        .assert_eq(&help.unwrap().to_string());
    editor.close().await;
}

#[tokio::test]
async fn current_mode_update() {
    let golden = Golden::new("[[reply]]\nsteps = [{ text = \"Hello.\" }]");
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    let session = editor.new_session().await;
    editor.set_mode(&session, "plan").await;
    let update = editor.until_update(&session, "the mode", |update| update["currentModeId"].is_string()).await;
    expect![[r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#]].assert_eq(&update.to_string());
    editor.prompt(&session, "Hi").await;
    editor.close().await;
    let editor = golden.runtime.editor_with(golden.options.clone()).await;
    assert_eq!(editor.load_session(&session).await.of("current_mode_update").collect::<Vec<_>>(), [&update]);
    editor.close().await;
}

#[tokio::test]
async fn config_option_update() {
    let runtime = Runtime::new().config("plugins.bundled = false\n");
    let options = EditorOptions::default().offering("/session/configOptions/boolean", json!({}));
    let editor = runtime.editor_with(options).await;
    let session = editor.new_session().await;
    let choice = json!({ "sessionId": session, "configId": "read_only", "type": "boolean", "value": true });
    let answer = editor.call("session/set_config_option", choice).await;
    let told = |update: &Value| update["sessionUpdate"] == "config_option_update";
    let update = editor.until_update(&session, "the options", told).await;
    assert_eq!(update["configOptions"], answer["configOptions"]);
    let lines: Vec<String> = update["configOptions"].as_array().unwrap().iter().map(Value::to_string).collect();
    expect![[r#"
        {"id":"mode","name":"Mode","description":"What may happen without asking","category":"mode","type":"select","currentValue":"read-only","options":[{"value":"review","name":"Review","description":"Asks before files are changed and before programs are run"},{"value":"auto-edit","name":"Auto-edit","description":"Changes files without asking; asks before deleting and before programs are run"},{"value":"auto","name":"Auto","description":"Changes files and runs programs without asking"},{"value":"read-only","name":"Read-only","description":"Changes nothing and runs nothing"},{"value":"plan","name":"Plan","description":"Changes nothing, runs nothing and stays off the network"}]}
        {"id":"model","name":"Model","description":"Which model answers; holds from the next prompt on","category":"model","type":"select","currentValue":"none","options":[{"value":"none","name":"No model"}]}
        {"id":"reasoning_effort","name":"Reasoning effort","description":"How much the model should think; those that cannot reason ignore it","category":"thought_level","type":"select","currentValue":"default","options":[{"value":"default","name":"Default"},{"value":"none","name":"None"},{"value":"minimal","name":"Minimal"},{"value":"low","name":"Low"},{"value":"medium","name":"Medium"},{"value":"high","name":"High"},{"value":"xhigh","name":"Very high"},{"value":"max","name":"Maximum"}]}
        {"id":"auto_approve_writes","name":"Auto-approve writes","description":"Changes files without asking; off while read-only","category":"_permissions","type":"boolean","currentValue":false}
        {"id":"auto_approve_execute","name":"Auto-approve execution","description":"Runs programs without asking; off while read-only","category":"_permissions","type":"boolean","currentValue":false}
        {"id":"read_only","name":"Read-only","description":"Changes nothing and runs nothing","category":"_permissions","type":"boolean","currentValue":true}"#]].assert_eq(&lines.join("\n"));
    editor.close().await;
}

#[tokio::test]
async fn compaction_update_and_compaction_summary_chunk() {
    let scenario = r#"
        [[reply]]
        steps = [{ text = "One." }]
        [[reply]]
        steps = [{ text = "Two." }]
        [[reply]]
        steps = [
          { thought = "What matters?" },
          { text = "They said " },
          { text = "hi." },
          { usage = { input = 900, output = 50, window = 8000, cost = 0.1 } },
        ]
        [[reply]]
        steps = [{ text = "Half" }, { error = { kind = "network", message = "no network" } }]
    "#;
    Golden::new(scenario).says(&["Hi", "More", "/compact greetings", "/compact"], expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hi"},"messageId":"msg-1"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"One."},"messageId":"msg-2"}
        {"sessionUpdate":"session_info_update","title":"Hi"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"More"},"messageId":"msg-3"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Two."},"messageId":"msg-4"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"/compact greetings"},"messageId":"msg-5"}
        {"sessionUpdate":"compaction_update","compactionId":"msg-6","status":"in_progress"}
        {"sessionUpdate":"compaction_summary_chunk","compactionId":"msg-6","content":{"type":"text","text":"They said hi."}}
        {"sessionUpdate":"compaction_update","compactionId":"msg-6","status":"completed"}
        {"sessionUpdate":"usage_update","used":8000,"size":8000,"cost":{"amount":0.1,"currency":"USD"}}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"From now on the model is shown this summary and the last turn. The session keeps all that was said."},"messageId":"msg-7"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"/compact"},"messageId":"msg-8"}
        {"sessionUpdate":"compaction_update","compactionId":"msg-9","status":"in_progress"}
        {"sessionUpdate":"compaction_summary_chunk","compactionId":"msg-9","content":{"type":"text","text":"Half"}}
        {"sessionUpdate":"compaction_update","compactionId":"msg-9","status":"failed","error":"no network"}
        {"sessionUpdate":"notice","severity":"error","title":"The prompt failed","description":"no network"}"#]]).await;
}

#[tokio::test]
async fn usage_update_and_session_info_update() {
    let live = Golden::new(
        r#"
        repeat = true
        [[reply]]
        steps = [
          { text = "Hello." },
          { usage = { input = 900, cached = 100, output = 50, window = 1000, cost = 0.1 } },
        ]
        [[reply]]
        steps = [{ text = "Long." }, { usage = { input = 2000, output = 50, window = 1000, cost = 0.2 } }]
        [[reply]]
        steps = [{ text = "Free." }, { usage = { input = 1, output = 1, window = 1000 } }]
        [[reply]]
        steps = [{ text = "Unknown." }, { usage = { input = 1, output = 1 } }]
        "#,
    )
    // Nothing is summed up to make room.
    .configured("limits.context_percent = 0\n")
    .says(
        &["Hi there", "More", "More", "More"],
        expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hi there"},"messageId":"msg-1"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."},"messageId":"msg-2"}
        {"sessionUpdate":"usage_update","used":950,"size":1000,"cost":{"amount":0.1,"currency":"USD"}}
        {"sessionUpdate":"session_info_update","title":"Hi there"}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"More"},"messageId":"msg-3"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Long."},"messageId":"msg-4"}
        {"sessionUpdate":"usage_update","used":1000,"size":1000,"cost":{"amount":0.3,"currency":"USD"}}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"More"},"messageId":"msg-5"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Free."},"messageId":"msg-6"}
        {"sessionUpdate":"usage_update","used":2,"size":1000,"cost":{"amount":0.3,"currency":"USD"}}
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"More"},"messageId":"msg-7"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Unknown."},"messageId":"msg-8"}"#]],
    )
    .await;
    let usages: Vec<&Value> = live.iter().filter(|update| update["sessionUpdate"] == "usage_update").collect();
    assert_eq!(usages.len(), 3, "a size that nobody knows is not made up: {usages:?}");
    assert!(usages.iter().all(|usage| usage["used"].as_u64() <= usage["size"].as_u64()), "{usages:?}");
}

#[tokio::test]
async fn notice() {
    Golden::new(
        "[[reply]]\nsteps = [{ text = \"Half\" }, { error = { kind = \"network\", message = \"no network\" } }]",
    )
    .says(
        &["Hi"],
        expect![[r#"
        {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hi"},"messageId":"msg-1"}
        {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Half"},"messageId":"msg-2"}
        {"sessionUpdate":"session_info_update","title":"Hi"}
        {"sessionUpdate":"notice","severity":"error","title":"The prompt failed","description":"no network"}"#]],
    )
    .await;
}
