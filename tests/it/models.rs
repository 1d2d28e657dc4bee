//! The models' adapter against a provider on loopback: what comes of every fault, how often it asks, what it sends.

mod requests;
mod wires;

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_runtime::models::Models;
use acp_runtime::redaction::Redaction;
use acp_runtime_agent::capability::ToolName;
use acp_runtime_agent::model::{
    InputSchema, Model, ModelError, ModelEvent, ModelRequest, ReasoningEffort, ToolKind, ToolSpec,
};
use acp_runtime_agent::transcript::{Message, MessageId, Part, Role, ToolCall, ToolCallId};
use acp_runtime_tests::model_double::{ModelDouble, Reply, Stop};
use expect_test::expect;
use futures::StreamExt;
use serde_json::json;

/// The provider `lab`, which is the double, with more lines of settings.
fn models(base_url: &str, lines: &str) -> Models {
    let retries = if lines.contains("retries") { "" } else { "retries = { attempts = 4, first_pause_ms = 0 }" };
    let toml = format!("[lab]\nwire = 'openai-chat'\nbase_url = '{base_url}'\nmodel = 'small'\n{retries}\n{lines}");
    Models::new(None, toml::from_str(&toml).unwrap(), Arc::new(|_: &str| None), &Redaction::default()).unwrap()
}

fn open(base_url: &str, lines: &str) -> Arc<dyn Model> {
    models(base_url, lines).open("lab").unwrap()
}

const KEY: &str = "api_key = 'sk-secret'\ncontext_window = 8000\nprices.small = { input = 100, output = 1000 }";

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message { id: MessageId::new("m"), role, parts }
}

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

fn prompt(words: &str) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".into(),
        messages: [message(Role::User, vec![text(words)])].into_iter().collect(),
        tools: Vec::new().into(),
        effort: None,
    }
}

/// The answer as one line for each event.
fn render(items: &[Result<ModelEvent, ModelError>]) -> String {
    let mut lines = String::new();
    for item in items {
        match item {
            Ok(ModelEvent::Text(text)) => writeln!(lines, "  text {text:?}"),
            Ok(ModelEvent::Thought(text)) => writeln!(lines, "  thought {text:?}"),
            Ok(ModelEvent::ThoughtSignature(text)) => writeln!(lines, "  signature {text:?}"),
            Ok(ModelEvent::ToolCallBegun { draft, name }) => writeln!(lines, "  call {draft} begins: {name}"),
            Ok(ModelEvent::ToolCallInput { draft, text }) => writeln!(lines, "  call {draft} goes on: {text}"),
            Ok(ModelEvent::ToolCall { name, arguments, .. }) => writeln!(lines, "  call {name} {arguments}"),
            Ok(ModelEvent::Usage(usage)) => {
                writeln!(
                    lines,
                    "  usage {} in ({} cached), {} out, window {:?}, {:?}",
                    usage.input, usage.cached, usage.output, usage.window, usage.cost
                )
            }
            Ok(ModelEvent::Stop(stop)) => writeln!(lines, "  stop {stop:?}"),
            Err(error) => {
                let ModelError { message, kind, provider, status, retry_after } = error;
                let message = message.replace("; ", ";\n    ");
                writeln!(lines, "  {kind:?} {provider} {status:?} {retry_after:?}\n    {message}")
            }
        }
        .unwrap();
    }
    lines
}

/// Asks once; gives the events and how many requests it took. The port is written as `PORT`.
async fn ask(replies: Vec<Reply>, lines: &str) -> String {
    let double = ModelDouble::start(replies).await;
    let items: Vec<_> = open(&double.base_url(), lines).stream(prompt("hi")).collect().await;
    let port = double.base_url().rsplit(':').next().unwrap().replace("/v1", "");
    format!("{} asked\n{}", double.asked().len(), render(&items)).replace(&port, "PORT")
}

async fn table(cases: Vec<(&str, Vec<Reply>)>) -> String {
    let mut table = String::new();
    for (name, replies) in cases {
        let answer = ask(replies, KEY).await;
        assert!(!answer.contains("sk-secret"), "{answer}");
        write!(table, "{name}: {answer}").unwrap();
    }
    table
}

#[tokio::test]
async fn answers() {
    let table = table(vec![
        ("text", vec![Reply::answer().say("Hel").say("lo").usage(10, 2)]),
        ("thinking", vec![Reply::answer().think("hm").say("yes")]),
        ("two calls", vec![Reply::text("Look:").call("read", &["{\"pa", "th\":\"a\"}"]).call("list", &[])]),
        ("arguments that are no JSON", vec![Reply::answer().call("read", &["{\"path\": "])]),
        ("truncated", vec![Reply::text("So f").stop(Stop::Length).usage(10, 2)]),
        ("truncated call", vec![Reply::answer().call("read", &["{\"pa"]).stop(Stop::Length)]),
        ("filtered", vec![Reply::text("Well").stop(Stop::Filter)]),
        ("heartbeats", vec![Reply::answer().raw(": ping\n\n").say("a").raw(": ping\n\n")]),
        ("split characters", vec![Reply::text("é").raw("data: {\"choices\":[]}\r\n\r\n").say("ü")]),
    ])
    .await;
    expect![[r#"
        text: 1 asked
          text "Hel"
          text "lo"
          usage 10 in (5 cached), 2 out, window Some(8000), Some(Cost { amount: 0.003, currency: "USD" })
          stop EndTurn
        thinking: 1 asked
          thought "hm"
          text "yes"
          stop EndTurn
        two calls: 1 asked
          text "Look:"
          call 0 begins: read
          call 0 goes on: {"pa
          call 0 goes on: th":"a"}
          call 1 begins: list
          call read {"path":"a"}
          call list {}
          stop EndTurn
        arguments that are no JSON: 1 asked
          call 0 begins: read
          call 0 goes on: {"path": 
          call read "{\"path\": "
          stop EndTurn
        truncated: 1 asked
          text "So f"
          usage 10 in (5 cached), 2 out, window Some(8000), Some(Cost { amount: 0.003, currency: "USD" })
          stop MaxTokens
        truncated call: 1 asked
          call 0 begins: read
          call 0 goes on: {"pa
          stop MaxTokens
        filtered: 1 asked
          text "Well"
          stop Refusal
        heartbeats: 1 asked
          text "a"
          stop EndTurn
        split characters: 1 asked
          text "é"
          text "ü"
          stop EndTurn
    "#]]
    .assert_eq(&table);
}

/// Neither the key nor the conversation goes where an answer points to.
#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [301, 302, 307, 308] {
        let elsewhere = ModelDouble::start(vec![Reply::text("caught")]).await;
        let reply = Reply::status(status).header("location", &format!("{}/chat/completions", elsewhere.base_url()));
        let answer = ask(vec![reply], KEY).await;
        assert!(answer.contains(&format!("HTTP {status}")), "{answer}");
        assert!(elsewhere.asked().is_empty(), "{status}");
    }
}

#[tokio::test]
async fn failures_that_pass_are_not_seen() {
    let table = table(vec![
        ("408", vec![Reply::status(408), Reply::text("ok")]),
        ("409", vec![Reply::status(409), Reply::text("ok")]),
        ("429", vec![Reply::status(429).header("retry-after", "0"), Reply::text("ok")]),
        ("500", vec![Reply::status(500), Reply::text("ok")]),
        ("529 three times", vec![Reply::status(529), Reply::status(529), Reply::status(529), Reply::text("ok")]),
        ("cut before the first word", vec![Reply::answer().disconnect(), Reply::text("ok")]),
    ])
    .await;
    expect![[r#"
        408: 2 asked
          text "ok"
          stop EndTurn
        409: 2 asked
          text "ok"
          stop EndTurn
        429: 2 asked
          text "ok"
          stop EndTurn
        500: 2 asked
          text "ok"
          stop EndTurn
        529 three times: 4 asked
          text "ok"
          stop EndTurn
        cut before the first word: 2 asked
          text "ok"
          stop EndTurn
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn failures_that_stay_say_what_to_do() {
    let quota = r#"{"error":{"message":"You exceeded your quota.","code":"insufficient_quota"}}"#;
    let echo = r#"{"error":{"message":"The key sk-secret\n may not."}}"#;
    let overloaded = "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"}}\n\n";
    let table = table(vec![
        ("400", vec![Reply::status(400)]),
        ("401", vec![Reply::status(401).body(echo)]),
        ("403", vec![Reply::status(403).body(echo)]),
        ("404", vec![Reply::status(404)]),
        ("429, come back in an hour", vec![Reply::status(429).header("retry-after", "3600")]),
        ("429, no credit", vec![Reply::status(429).body(quota)]),
        ("503 for ever", (0..9).map(|_| Reply::status(503)).collect()),
        ("malformed", vec![Reply::text("so").raw("data: {\"choices\": [\n\n").say("never")]),
        ("malformed at once", vec![Reply::answer().raw("data: nonsense\n\n").say("never")]),
        ("cut after a word", vec![Reply::text("so").disconnect(), Reply::text("never")]),
        ("ended after a word", vec![Reply::text("so").end(), Reply::text("never")]),
        ("ended without a reason", vec![Reply::text("so").raw("data: [DONE]\n\n").end()]),
        ("an error after a word", vec![Reply::text("so").raw(overloaded).say("never")]),
        (
            "an odd reason",
            vec![
                Reply::text("so")
                    .raw("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"odd\"}]}\n\ndata: [DONE]\n\n")
                    .end(),
            ],
        ),
        ("nothing said", (0..9).map(|_| Reply::answer()).collect()),
        ("only thoughts", vec![Reply::answer().think("hm")]),
        ("a web page", vec![Reply::page("<html>Welcome</html>")]),
    ])
    .await;
    expect![[r#"
        400: 1 asked
          Request lab Some(400) None
            `lab` does not accept the request for `small` (HTTP 400): the double says 400;
            change it, or check `[providers.lab]`
        401: 1 asked
          Auth lab Some(401) None
            `lab` does not accept the API key from `api_key` in `[providers.lab]`;
            set a valid one there
        403: 1 asked
          Auth lab Some(403) None
            `lab` does not let this API key use `small`: The key **** may not.;
            check the account's rights
        404: 1 asked
          Request lab Some(404) None
            `lab` does not know the model `small` at `http://127.0.0.1:PORT/v1/`: the double says 404;
            check `model` and `base_url` in `[providers.lab]`
        429, come back in an hour: 1 asked
          RateLimit lab Some(429) Some(3600s)
            `lab` refuses more requests for now: the double says 429;
            try again later
        429, no credit: 1 asked
          Request lab Some(429) None
            the account at `lab` has no credit left: You exceeded your quota.;
            add some, or choose another model
        503 for ever: 4 asked
          Overloaded lab Some(503) None
            `lab` has a problem of its own (HTTP 503): the double says 503;
            try again later
        malformed: 1 asked
          text "so"
          Malformed lab None None
            `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 13);
            check `wire` in `[providers.lab]`, or send the prompt again
        malformed at once: 1 asked
          Malformed lab None None
            `lab` sent what its wire format does not allow (expected ident at line 1 column 2);
            check `wire` in `[providers.lab]`, or send the prompt again
        cut after a word: 1 asked
          text "so"
          Network lab None None
            the connection to `lab` broke in the middle of the answer (unexpected EOF during chunk size line);
            send the prompt again
        ended after a word: 1 asked
          text "so"
          Network lab None None
            the connection to `lab` broke in the middle of the answer (it ended early);
            send the prompt again
        ended without a reason: 1 asked
          text "so"
          Malformed lab None None
            `lab` sent what its wire format does not allow (an answer that ends without a reason);
            check `wire` in `[providers.lab]`, or send the prompt again
        an error after a word: 1 asked
          text "so"
          Overloaded lab None None
            `lab` gave up on the answer: Overloaded;
            send the prompt again to go on
        an odd reason: 1 asked
          text "so"
          Malformed lab None None
            `lab` sent what its wire format does not allow (an answer that ends with the reason `odd`);
            check `wire` in `[providers.lab]`, or send the prompt again
        nothing said: 4 asked
          Empty lab None None
            `lab` answered with neither text nor a tool call;
            send the prompt again
        only thoughts: 1 asked
          thought "hm"
          Empty lab None None
            `lab` answered with neither text nor a tool call;
            send the prompt again
        a web page: 1 asked
          Malformed lab None None
            `lab` answered at `http://127.0.0.1:PORT/v1/` with something else than a model's answer;
            check `wire` and `base_url` in `[providers.lab]`
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn nobody_there() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    let items: Vec<_> = open(&format!("http://{address}"), "").stream(prompt("hi")).collect().await;
    let port = address.port().to_string();
    expect![[r#"
        nobody there:
          Network lab None None
            `lab` cannot be reached at `http://127.0.0.1:PORT/` (Connection refused (os error 111));
            see that the server, or the proxy before it, runs and listens there
    "#]]
    .assert_eq(&format!("nobody there:\n{}", render(&items).replace(&port, "PORT")));
}

#[tokio::test]
async fn slow_providers_are_given_up() {
    let lines = "timeouts = { response_secs = 1, silence_secs = 1 }\nretries.attempts = 1";
    let silent = ask(vec![Reply::text("so").stall()], lines);
    let headless = ask(vec![Reply::nothing()], lines);
    let (silent, headless) = tokio::join!(silent, headless);
    expect![[r#"
        silent: 1 asked
          text "so"
          Network lab None None
            `lab` has stopped in the middle of its answer, and sent nothing more within the seconds of `timeouts.silence_secs`;
            try again, or set more of them in `[providers.lab]` if the model is slow
        headless: 1 asked
          Network lab None None
            `lab` has not begun to answer within the seconds of `timeouts.response_secs`;
            try again, or set more of them in `[providers.lab]` if the model is slow
    "#]]
    .assert_eq(&format!("silent: {silent}headless: {headless}"));
}

#[tokio::test]
async fn dropping_the_answer_closes_the_connection() {
    for reply in [Reply::text("so").stall(), Reply::answer().stall(), Reply::nothing()] {
        let double = ModelDouble::start([reply]).await;
        let model = open(&double.base_url(), KEY);
        let mut answer = model.stream(prompt("hi"));
        // Until the request is there; the answer may never begin.
        while double.asked().is_empty() {
            let _ = futures::poll!(answer.next());
            tokio::task::yield_now().await;
        }
        drop(answer);
        let dropped = Instant::now();
        double.client_left().await;
        assert!(dropped.elapsed() < Duration::from_millis(100), "{:?}", dropped.elapsed());
    }
}

#[tokio::test]
async fn the_next_request_works_after_a_failure() {
    let double = ModelDouble::start([Reply::text("so").disconnect(), Reply::text("again")]).await;
    let model = open(&double.base_url(), KEY);
    let first: Vec<_> = model.stream(prompt("hi")).collect().await;
    assert!(first.last().unwrap().is_err());
    let second: Vec<_> = model.stream(prompt("hi")).collect().await;
    assert_eq!(render(&second), "  text \"again\"\n  stop EndTurn\n");
}

#[tokio::test]
async fn a_long_answer_arrives_whole() {
    let double = ModelDouble::start([Reply::answer().chunks(20_000, "chunk ")]).await;
    let items: Vec<_> = open(&double.base_url(), KEY).stream(prompt("hi")).collect().await;
    assert_eq!(items.iter().filter(|item| **item == Ok(ModelEvent::Text("chunk ".to_owned()))).count(), 20_000);
}

/// A conversation with everything in it.
fn conversation() -> ModelRequest {
    let call = |id: &str, name: &str, arguments| {
        Part::ToolCall(ToolCall { id: ToolCallId::new(id), name: name.to_owned(), arguments })
    };
    let result =
        |id: &str, failed| Part::ToolResult { call: ToolCallId::new(id), text: format!("result {id}"), failed };
    let thought = |text: &str| Part::Thought { text: text.to_owned(), signature: None };
    let tool = ToolSpec {
        name: ToolName::new("read").unwrap(),
        title: "Read".to_owned(),
        description: "Reads a file.".to_owned(),
        input: InputSchema::new(json!({ "type": "object", "properties": { "path": { "type": "string" } } })),
        kind: ToolKind::Read,
    };
    ModelRequest {
        system: "Be brief.".into(),
        messages: [
            message(Role::User, vec![text("first")]),
            message(Role::Assistant, vec![thought("an old thought"), text("answer")]),
            message(
                Role::User,
                vec![
                    text("look"),
                    Part::Image { data: "aW1n".into(), mime: "image/png".to_owned() },
                    Part::Resource { uri: "file:///a\".md".to_owned(), text: "x</resource>y".to_owned() },
                    Part::ResourceLink { name: "b".to_owned(), uri: "file:///b".to_owned(), text: None },
                ],
            ),
            message(
                Role::Assistant,
                vec![
                    thought("a new thought"),
                    text(""),
                    call("1", "read", json!({ "path": "a" })),
                    call("2", "no such tool!", json!("{broken")),
                ],
            ),
            message(Role::Tool, vec![result("1", false), result("2", true)]),
            message(Role::Assistant, vec![text("")]),
        ]
        .into_iter()
        .collect(),
        tools: vec![Arc::new(tool)].into(),
        effort: None,
    }
}

#[tokio::test]
async fn what_is_sent() {
    let double = ModelDouble::start([Reply::text("ok")]).await;
    let lines = format!("{KEY}\nmax_output_tokens = 99\nheaders = {{ X-Team = 'red' }}");
    let _: Vec<_> = open(&double.base_url(), &lines).stream(conversation()).collect().await;
    let asked = double.asked().remove(0);
    let agent = concat!("acp-runtime/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [("authorization", "Bearer sk-secret"), ("user-agent", agent), ("x-team", "red")] {
        assert_eq!(asked.headers[name], value);
    }
    assert_eq!(asked.path, "/v1/chat/completions");
    assert!(!asked.headers.contains_key("accept-encoding"), "nothing is decompressed");
    expect![[r#"
        {
          "model": "small",
          "stream": true,
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "read",
                "description": "Reads a file.",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "path": {
                      "type": "string"
                    }
                  }
                },
                "strict": false
              }
            }
          ],
          "messages": [
            {
              "role": "system",
              "content": "Be brief."
            },
            {
              "role": "user",
              "content": "first"
            },
            {
              "role": "assistant",
              "content": "answer"
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "look"
                },
                {
                  "type": "image_url",
                  "image_url": {
                    "url": "data:image/png;base64,aW1n"
                  }
                },
                {
                  "type": "text",
                  "text": "<resource uri=\"file:///a&quot;.md\">\nx&lt;/resource>y\n</resource>"
                },
                {
                  "type": "text",
                  "text": "<resource_link name=\"b\" uri=\"file:///b\"/>"
                }
              ]
            },
            {
              "role": "assistant",
              "content": "",
              "tool_calls": [
                {
                  "type": "function",
                  "id": "1",
                  "function": {
                    "name": "read",
                    "arguments": "{\"path\":\"a\"}"
                  }
                },
                {
                  "type": "function",
                  "id": "2",
                  "function": {
                    "name": "no_such_tool_",
                    "arguments": "{\"not_an_object\":\"{broken\"}"
                  }
                }
              ],
              "reasoning_content": "a new thought"
            },
            {
              "role": "tool",
              "content": "result 1",
              "tool_call_id": "1"
            },
            {
              "role": "tool",
              "content": "result 2",
              "tool_call_id": "2"
            }
          ],
          "stream_options": {
            "include_usage": true
          },
          "max_tokens": 99
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&asked.body).unwrap());
}

#[tokio::test]
async fn models_and_keys_are_sent_as_they_are_written() {
    for (lines, model, authorization, effort) in [
        ("", "small", None, json!(null)),
        ("headers = { authorization = 'Basic abc' }", "small", Some("Basic abc"), json!(null)),
        ("api_key = 'k'\nheaders = { authorization = 'Basic abc' }", "small", Some("Basic abc"), json!(null)),
        ("api_key = 'k'", "mistral-medium", Some("Bearer k"), json!(null)),
        ("", "qwen3-max", None, json!(null)),
        ("api_key = 'k'\nreasoning_effort = 'high'", "qwen3-max", Some("Bearer k"), json!("high")),
    ] {
        let double = ModelDouble::start([Reply::text("ok")]).await;
        let opened = models(&double.base_url(), lines).open(&format!("lab/{model}")).unwrap();
        let _: Vec<_> = opened.stream(prompt("hi")).collect().await;
        let asked = double.asked().remove(0);
        assert_eq!(asked.body["model"], model, "{lines}");
        assert_eq!(asked.headers.get("authorization").map(String::as_str), authorization, "{lines}");
        assert_eq!(asked.body["reasoning_effort"], effort, "{lines}");
    }
}

#[tokio::test]
async fn a_request_says_how_much_to_think() {
    for (lines, chosen, sent) in [
        ("", Some(ReasoningEffort::Low), json!("low")),
        ("reasoning_effort = 'high'", Some(ReasoningEffort::Low), json!("low")),
        ("reasoning_effort = 'high'", None, json!("high")),
    ] {
        let double = ModelDouble::start([Reply::text("ok")]).await;
        let request = ModelRequest { effort: chosen, ..prompt("hi") };
        let _: Vec<_> = open(&double.base_url(), lines).stream(request).collect().await;
        assert_eq!(double.asked().remove(0).body["reasoning_effort"], sent, "{lines} {chosen:?}");
    }
}

#[tokio::test]
async fn a_vendor_is_not_asked_without_a_key() {
    for (toml, variable) in [
        ("[openai]\nwire = 'openai-chat'\nmodel = 'gpt-5.2'", "OPENAI_API_KEY"),
        ("[zoo]\nwire = 'anthropic'\nmodel = 'm'", "ANTHROPIC_API_KEY"),
        ("[sky]\nwire = 'gemini'\nmodel = 'm'\napi_key_env = 'MY_KEY'", "MY_KEY"),
    ] {
        let keys = Arc::new(|_: &str| None);
        let models = Models::new(None, toml::from_str(toml).unwrap(), keys, &Redaction::default()).unwrap();
        let model = models.open(models.default_id()).unwrap();
        let items: Vec<_> = model.stream(prompt("hi")).collect().await;
        let rendered = render(&items);
        assert!(rendered.contains("Auth") && rendered.contains(&format!("`{variable}`")), "{rendered}");
    }
}
