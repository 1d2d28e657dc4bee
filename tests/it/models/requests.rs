//! What is asked of a provider, in every format: the conversation, what the model takes, and what goes back as it came.

use std::fmt::Write as _;

use acp_runtime_agent::model::{ModelEvent, ModelRequest};
use acp_runtime_agent::transcript::{Message, Part, Role, ToolCall, ToolCallId};
use acp_runtime_tests::model_double::{Asked, ModelDouble, Reply};
use expect_test::expect;
use futures::StreamExt as _;
use serde_json::Value;

use super::wires::{WIRES, models};
use super::{conversation, message, prompt, text};

/// The one request that `request` makes.
async fn asked(wire: &str, lines: &str, id: &str, request: ModelRequest) -> Asked {
    let double = ModelDouble::start([Reply::text("ok")]).await;
    let model = models(&double, wire, lines).open(id).unwrap();
    let items: Vec<_> = model.stream(request).collect().await;
    assert!(items.iter().all(Result::is_ok), "{wire}: {items:?}");
    double.asked().remove(0)
}

/// A conversation about an image, with thoughts, two calls and their results.
#[tokio::test]
async fn what_is_sent() {
    let mut table = String::new();
    for wire in WIRES {
        let asked = asked(wire, "max_output_tokens = 99", "lab", conversation()).await;
        let keys = ["authorization", "x-api-key", "x-goog-api-key"];
        let keys: Vec<_> = keys.into_iter().filter(|key| asked.headers.contains_key(*key)).collect();
        writeln!(table, "{wire}: {} {keys:?}", asked.path).unwrap();
        for (key, value) in asked.body.as_object().unwrap() {
            match value {
                Value::Array(values) => {
                    writeln!(table, "  {key}").unwrap();
                    values.iter().for_each(|value| writeln!(table, "    {value}").unwrap());
                }
                value => writeln!(table, "  {key} {value}").unwrap(),
            }
        }
    }
    expect![[r#"
        openai-chat: /v1/chat/completions ["authorization"]
          model "small"
          stream true
          tools
            {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false}}
          messages
            {"role":"system","content":"Be brief."}
            {"role":"user","content":"first"}
            {"role":"assistant","content":"answer"}
            {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aW1n"}},{"type":"text","text":"<resource uri=\"file:///a&quot;.md\">\nx&lt;/resource>y\n</resource>"},{"type":"text","text":"<resource_link name=\"b\" uri=\"file:///b\"/>"}]}
            {"role":"assistant","content":"","tool_calls":[{"type":"function","id":"1","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"type":"function","id":"2","function":{"name":"no_such_tool_","arguments":"{\"not_an_object\":\"{broken\"}"}}],"reasoning_content":"a new thought"}
            {"role":"tool","content":"result 1","tool_call_id":"1"}
            {"role":"tool","content":"result 2","tool_call_id":"2"}
          stream_options {"include_usage":true}
          max_tokens 99
        openai-responses: /v1/responses ["authorization"]
          store false
          model "small"
          stream true
          instructions "Be brief."
          reasoning {"summary":"detailed"}
          include
            "reasoning.encrypted_content"
          tools
            {"type":"function","name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"description":"Reads a file."}
          input
            {"role":"user","content":"first"}
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"answer"}]}
            {"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aW1n"},{"type":"input_text","text":"<resource uri=\"file:///a&quot;.md\">\nx&lt;/resource>y\n</resource>"},{"type":"input_text","text":"<resource_link name=\"b\" uri=\"file:///b\"/>"}]}
            {"type":"function_call","call_id":"1","name":"read","arguments":"{\"path\":\"a\"}"}
            {"type":"function_call","call_id":"2","name":"no_such_tool_","arguments":"{\"not_an_object\":\"{broken\"}"}
            {"type":"function_call_output","call_id":"1","output":"result 1"}
            {"type":"function_call_output","call_id":"2","output":"result 2"}
          max_output_tokens 99
        anthropic: /v1/messages ["x-api-key"]
          model "small"
          stream true
          system "Be brief."
          tools
            {"name":"read","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"description":"Reads a file."}
          messages
            {"role":"user","content":"first"}
            {"role":"assistant","content":"answer"}
            {"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aW1n"}},{"type":"text","text":"<resource uri=\"file:///a&quot;.md\">\nx&lt;/resource>y\n</resource>"},{"type":"text","text":"<resource_link name=\"b\" uri=\"file:///b\"/>"}]}
            {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"2","name":"no_such_tool_","input":{"not_an_object":"{broken"}}]}
            {"role":"user","content":[{"type":"tool_result","content":"result 1","tool_use_id":"1"},{"type":"tool_result","content":"result 2","tool_use_id":"2","cache_control":{"type":"ephemeral"}}]}
          max_tokens 99
        gemini: /v1/models/small:streamGenerateContent ["x-goog-api-key"]
          generationConfig {"thinkingConfig":{"includeThoughts":true},"maxOutputTokens":99}
          systemInstruction {"parts":[{"text":"Be brief."}]}
          tools
            {"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}
          contents
            {"role":"user","parts":[{"text":"first"}]}
            {"role":"model","parts":[{"text":"answer"}]}
            {"role":"user","parts":[{"text":"look"},{"inline_data":{"mime_type":"image/png","data":"aW1n"}},{"text":"<resource uri=\"file:///a&quot;.md\">\nx&lt;/resource>y\n</resource>"},{"text":"<resource_link name=\"b\" uri=\"file:///b\"/>"}]}
            {"role":"model","parts":[{"functionCall":{"id":"1","name":"read","args":{"path":"a"}}},{"functionCall":{"id":"2","name":"no_such_tool_","args":{"not_an_object":"{broken"}}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"name":"read","content":"result 1"},"id":"1"}},{"functionResponse":{"name":"no_such_tool_","response":{"name":"no_such_tool_","content":"result 2"},"id":"2"}}]}
        ollama: /v1/api/chat ["authorization"]
          model "small"
          stream true
          options {"num_predict":99}
          tools
            {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}
          messages
            {"role":"system","content":"Be brief."}
            {"role":"user","content":"first"}
            {"role":"assistant","content":"answer"}
            {"role":"user","content":"look<resource uri=\"file:///a&quot;.md\">\nx&lt;/resource>y\n</resource><resource_link name=\"b\" uri=\"file:///b\"/>","images":["aW1n"]}
            {"role":"assistant","tool_calls":[{"function":{"name":"read","arguments":{"path":"a"}}},{"function":{"name":"no_such_tool_","arguments":{"not_an_object":"{broken"}}}]}
            {"role":"tool","content":"result 1"}
            {"role":"tool","content":"result 2"}
    "#]].assert_eq(&table);
}

/// Efforts are sent in the provider's words, and nothing that a vendor's model refuses.
#[tokio::test]
async fn a_model_is_sent_what_it_takes() {
    let lines = "temperature = 0.5\ntop_p = 0.9\nreasoning_effort = 'xhigh'";
    let plain = "temperature = 0.5\ntop_p = 0.9";
    let mut table = String::new();
    for (wire, model, lines) in [
        ("openai-chat", "some-model", lines),
        ("openai-chat", "gpt-4.1", lines),
        ("openai-chat", "o3", lines),
        ("openai-responses", "gpt-5.2", lines),
        ("openai-responses", "gpt-4.1", lines),
        ("anthropic", "claude-sonnet-4-5", plain),
        ("anthropic", "claude-sonnet-4-5", lines),
        ("anthropic", "claude-sonnet-4-5", "reasoning_effort = 'high'\nmax_output_tokens = 8000"),
        ("anthropic", "claude-opus-4-8", plain),
        ("anthropic", "claude-opus-4-8", lines),
        ("gemini", "gemini-2.5-flash", lines),
        ("gemini", "gemini-3.5-flash", lines),
        ("gemini", "gemini-2.0-flash", lines),
        ("ollama", "gpt-oss:20b", lines),
    ] {
        let mut body = asked(wire, lines, &format!("lab/{model}"), prompt("hi")).await.body;
        let body = body.as_object_mut().unwrap();
        let common =
            ["model", "stream", "messages", "input", "contents", "system", "instructions", "systemInstruction"];
        body.retain(|key, _| !common.contains(&key.as_str()) && key != "stream_options" && key != "store");
        let effort = lines.lines().find_map(|line| line.strip_prefix("reasoning_effort = ")).unwrap_or("no effort");
        writeln!(table, "{wire} {model} {effort}: {}", Value::Object(body.clone())).unwrap();
    }
    expect![[r#"
        openai-chat some-model 'xhigh': {"reasoning_effort":"xhigh","temperature":0.5,"top_p":0.9}
        openai-chat gpt-4.1 'xhigh': {"temperature":0.5,"top_p":0.9}
        openai-chat o3 'xhigh': {"reasoning_effort":"high"}
        openai-responses gpt-5.2 'xhigh': {"reasoning":{"effort":"xhigh","summary":"detailed"},"include":["reasoning.encrypted_content"]}
        openai-responses gpt-4.1 'xhigh': {"temperature":0.5,"top_p":0.9}
        anthropic claude-sonnet-4-5 no effort: {"temperature":0.5,"max_tokens":64000}
        anthropic claude-sonnet-4-5 'xhigh': {"thinking":{"type":"enabled","budget_tokens":24000},"max_tokens":64000}
        anthropic claude-sonnet-4-5 'high': {"thinking":{"type":"enabled","budget_tokens":4000},"max_tokens":8000}
        anthropic claude-opus-4-8 no effort: {"max_tokens":128000}
        anthropic claude-opus-4-8 'xhigh': {"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"},"max_tokens":128000}
        gemini gemini-2.5-flash 'xhigh': {"generationConfig":{"thinkingConfig":{"thinkingBudget":24000,"includeThoughts":true},"temperature":0.5,"topP":0.9}}
        gemini gemini-3.5-flash 'xhigh': {"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true},"temperature":0.5,"topP":0.9}}
        gemini gemini-2.0-flash 'xhigh': {"generationConfig":{"temperature":0.5,"topP":0.9}}
        ollama gpt-oss:20b 'xhigh': {"options":{"temperature":0.5,"top_p":0.9},"think":"max"}
    "#]].assert_eq(&table);
}

/// Some tell what a model thinks only to accounts that have shown who they are. All else works without.
#[tokio::test]
async fn thoughts_that_are_refused_are_not_asked_for_again() {
    let refused = r#"{"error":{"message":"Your organization must be verified to generate reasoning summaries."}}"#;
    let other = r#"{"error":{"message":"The prompt is too long."}}"#;
    let refusal = |body| Reply::status(400).body(body);
    let double =
        ModelDouble::start([refusal(refused), Reply::text("a"), Reply::text("b"), refusal(other), refusal(refused)])
            .await;
    let model = models(&double, "openai-responses", "reasoning_effort = 'low'").open("lab").unwrap();
    let mut stops = Vec::new();
    for _ in 0..4 {
        let items: Vec<_> = model.stream(prompt("hi")).collect().await;
        stops.push(items.last().unwrap().is_ok());
    }
    assert_eq!(stops, [true, true, false, false]);
    let reasoning: Vec<_> = double.asked().iter().map(|asked| asked.body["reasoning"].to_string()).collect();
    let without = r#"{"effort":"low"}"#;
    assert_eq!(reasoning, [r#"{"effort":"low","summary":"detailed"}"#, without, without, without, without]);
}

/// What a provider has signed goes back to it while the turn lasts, as it came.
#[tokio::test]
async fn signatures_go_back() {
    let mut table = String::new();
    for wire in WIRES {
        let reply = Reply::answer().think("hm").sign("proof").think_sealed("sealed").call("read", &["{}"]);
        let double = ModelDouble::start([reply, Reply::text("ok")]).await;
        let model = models(&double, wire, "").open("lab").unwrap();
        let first =
            ModelRequest { messages: [message(Role::User, vec![text("hi")])].into_iter().collect(), ..prompt("") };
        let items: Vec<_> = model.stream(first.clone()).map(|item| item.unwrap()).collect().await;
        let second =
            ModelRequest { messages: first.messages.iter().cloned().chain(answered(items)).collect(), ..first };
        let _: Vec<_> = model.stream(second).collect().await;
        let asked = double.asked().remove(1);
        let messages = ["messages", "input", "contents"].into_iter().find_map(|key| asked.body.get(key)).unwrap();
        writeln!(table, "{wire}").unwrap();
        messages.as_array().unwrap().iter().for_each(|message| writeln!(table, "  {message}").unwrap());
    }
    expect![[r#"
        openai-chat
          {"role":"system","content":"Be brief."}
          {"role":"user","content":"hi"}
          {"role":"assistant","content":"","tool_calls":[{"type":"function","id":"call-1","function":{"name":"read","arguments":"{}"}}],"reasoning_content":"hm"}
          {"role":"tool","content":"done","tool_call_id":"call-1"}
        openai-responses
          {"role":"user","content":"hi"}
          {"type":"reasoning","encrypted_content":"proof","summary":[]}
          {"type":"function_call","call_id":"call-1","name":"read","arguments":"{}"}
          {"type":"function_call_output","call_id":"call-1","output":"done"}
        anthropic
          {"role":"user","content":"hi"}
          {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"proof"},{"type":"redacted_thinking","data":"sealed"},{"type":"tool_use","id":"call-1","name":"read","input":{}}]}
          {"role":"user","content":[{"type":"tool_result","content":"done","tool_use_id":"call-1","cache_control":{"type":"ephemeral"}}]}
        gemini
          {"role":"user","parts":[{"text":"hi"}]}
          {"role":"model","parts":[{"functionCall":{"id":"call-1","name":"read","args":{}},"thoughtSignature":"proof"}]}
          {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"name":"read","content":"done"},"id":"call-1"}}]}
        ollama
          {"role":"system","content":"Be brief."}
          {"role":"user","content":"hi"}
          {"role":"assistant","tool_calls":[{"function":{"name":"read","arguments":{}}}]}
          {"role":"tool","content":"done"}
    "#]].assert_eq(&table);
}

/// An answer and the results of its calls, as a session puts them together.
fn answered(items: Vec<ModelEvent>) -> Vec<Message> {
    let mut parts = Vec::new();
    let mut results = Vec::new();
    for item in items {
        match item {
            ModelEvent::Text(text) => parts.push(Part::Text { text }),
            ModelEvent::Thought(text) => parts.push(Part::Thought { text, signature: None }),
            ModelEvent::ThoughtSignature(proof) => match parts.last_mut() {
                Some(Part::Thought { signature: signature @ None, .. }) => *signature = Some(proof),
                _ => parts.push(Part::Thought { text: String::new(), signature: Some(proof) }),
            },
            ModelEvent::ToolCall { name, arguments, .. } => {
                let id = ToolCallId::new(format!("call-{}", results.len() + 1));
                results.push(Part::ToolResult { call: id.clone(), text: "done".to_owned(), failed: false });
                parts.push(Part::ToolCall(ToolCall { id, name, arguments }));
            }
            ModelEvent::ToolCallBegun { .. }
            | ModelEvent::ToolCallInput { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Stop(_) => {}
        }
    }
    vec![message(Role::Assistant, parts), message(Role::Tool, results)]
}
