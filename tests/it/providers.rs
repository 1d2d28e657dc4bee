//! Providers behind the real binary: what an editor sees of each format and of each failure, which provider a model's name
//! leads to, and the ways to it.

use std::fmt::Write as _;
use std::time::Instant;

use acp_runtime_tests::model_double::{ModelDouble, Reply, Stop};
use acp_runtime_tests::{EditorDouble, Runtime, TlsDouble};
use expect_test::expect;
use serde_json::{Value, json};

const WIRES: [&str; 5] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

fn runtime(base_url: &str, wire: &str) -> Runtime {
    Runtime::new().config(&format!(
        "mode = \"auto\"\n[providers.lab]\nwire = \"{wire}\"\nmodel = \"small\"\nbase_url = \"{base_url}\"\n\
         api_key = \"sk-secret-1\"\nretries = {{ attempts = 3, first_pause_ms = 0 }}\n"
    ))
}

/// How a prompt ended, in a line: the stop reason, or the error with its data.
async fn ended(editor: &EditorDouble, session: &str) -> String {
    editor.forget_updates(session);
    let turn = editor.turn(editor.begin_prompt(session, "Hi")).await;
    let said = |updates: Vec<Value>| -> String {
        updates.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    };
    match turn {
        Ok(turn) => format!("{} {:?}", turn.stop, turn.text()),
        Err(error) => {
            let data = ["reason", "status", "retryable", "provider"].map(|key| error.data[key].to_string()).join(" ");
            assert!(!error.message.is_empty() && !error.message.contains("sk-secret"), "{error:?}");
            assert_eq!(error.data["details"], json!(error.message));
            format!("{} {data} {:?}", error.code, said(editor.updates(session)))
        }
    }
}

/// Every failure in every format: the session goes on, and what was said is said once.
#[tokio::test]
async fn an_editor_is_told_of_every_failure() {
    type Scenario = (&'static str, fn() -> Vec<Reply>);
    let scenarios: [Scenario; 11] = [
        ("429 once", || vec![Reply::status(429).header("retry-after", "0"), Reply::text("ok")]),
        ("500 once", || vec![Reply::status(500), Reply::text("ok")]),
        ("401", || vec![Reply::status(401)]),
        ("404", || vec![Reply::status(404)]),
        ("529 for ever", || (0..3).map(|_| Reply::status(529)).collect()),
        ("cut after a word", || vec![Reply::text("so").disconnect()]),
        ("malformed after a word", || vec![Reply::text("so").malformed()]),
        ("given up after a word", || vec![Reply::text("so").fail("Overloaded")]),
        ("truncated", || vec![Reply::text("so f").stop(Stop::Length)]),
        ("refused", || vec![Reply::answer().refuse("No.")]),
        ("a tool that there is not", || vec![Reply::answer().call("no_such_tool", &["{}"]), Reply::text("Oh.")]),
    ];
    let mut table = String::new();
    let mut sessions = Vec::new();
    for wire in WIRES {
        let replies = scenarios.iter().flat_map(|(_, replies)| replies().into_iter().chain([Reply::text("on")]));
        let double = ModelDouble::start(replies).await;
        let editor = runtime(&double.base_url(), wire).editor().await;
        let session = editor.new_session().await;
        sessions.push((wire, double, editor, session));
    }
    for (name, _) in scenarios {
        let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
        for (wire, double, editor, session) in &sessions {
            let before = double.asked().len();
            let outcome = ended(editor, session).await;
            let outcome = format!("{outcome}, {} asked", double.asked().len() - before);
            assert_eq!(ended(editor, session).await, "end_turn \"on\"", "{wire}: {name}");
            match rows.iter_mut().find(|(_, same)| *same == outcome) {
                Some((wires, _)) => wires.push(wire),
                None => rows.push((vec![wire], outcome)),
            }
        }
        for (wires, outcome) in rows {
            let wires = if wires.len() == WIRES.len() { "all".to_owned() } else { wires.join(", ") };
            writeln!(table, "{name} [{wires}]: {outcome}").unwrap();
        }
    }
    for (_, _, editor, _) in sessions {
        editor.close().await;
    }
    expect![[r#"
        429 once [all]: end_turn "ok", 2 asked
        500 once [all]: end_turn "ok", 2 asked
        401 [all]: -32000 "auth" 401 false "lab" "", 1 asked
        404 [all]: -32603 "request" 404 false "lab" "", 1 asked
        529 for ever [all]: -32603 "overloaded" 529 true "lab" "", 3 asked
        cut after a word [all]: -32603 "network" null true "lab" "so", 1 asked
        malformed after a word [all]: -32603 "malformed" null false "lab" "so", 1 asked
        given up after a word [all]: -32603 "overloaded" null true "lab" "so", 1 asked
        truncated [all]: max_tokens "so f", 1 asked
        refused [openai-chat, openai-responses, anthropic, gemini]: refusal "No.", 1 asked
        refused [ollama]: end_turn "No.", 1 asked
        a tool that there is not [all]: end_turn "Oh.", 2 asked
    "#]]
    .assert_eq(&table);
}

/// Two calls at once, with their results, in every format.
#[tokio::test]
async fn calls_and_results_go_both_ways() {
    for wire in WIRES {
        let calls = Reply::answer()
            .think("hm")
            .sign("proof")
            .call("read_file", &["{\"pa", "th\":\"a.txt\"}"])
            .call("read_file", &["{\"path\":\"b.txt\"}"]);
        let double = ModelDouble::start([calls, Reply::text("Done.")]).await;
        let runtime = runtime(&double.base_url(), wire).file("a.txt", "first words").file("b.txt", "second words");
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Read both").await;
        assert_eq!((turn.text().as_str(), turn.said("agent_thought_chunk").as_str()), ("Done.", "hm"), "{wire}");
        let statuses: Vec<_> = turn.calls().iter().map(|call| call.status().to_owned()).collect();
        assert_eq!(statuses, ["completed", "completed"], "{wire}");
        let second = double.asked().remove(1).body.to_string();
        assert!(second.contains("first words") && second.contains("second words"), "{wire}: {second}");
        editor.close().await;
    }
}

/// Each provider says in its own words that a request is too long. It is made once more, with a summary; where that does
/// not help the error says so, and the session goes on.
#[tokio::test]
async fn what_is_longer_than_the_window_is_summed_up() {
    let openai = r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#;
    for (wire, body) in [
        ("openai-chat", openai),
        ("openai-responses", openai),
        (
            "anthropic",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 207564 tokens > 200000 maximum"}}"#,
        ),
        (
            "gemini",
            r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        ),
        ("ollama", r#"{"error":"the input length exceeds the context length"}"#),
    ] {
        let too_long = || Reply::status(400).body(body);
        let double = ModelDouble::start([
            Reply::text("one"),
            too_long(),
            Reply::text("They count."),
            Reply::text("two"),
            too_long(),
            Reply::text("They still count."),
            too_long(),
            Reply::text("three"),
        ])
        .await;
        let editor = runtime(&double.base_url(), wire).editor().await;
        let session = editor.new_session().await;
        editor.prompt(&session, "Count with me.").await;
        let turn = editor.prompt(&session, "Go on.").await;
        // This client is shown the summary as a message.
        assert_eq!((turn.stop.as_str(), turn.text().as_str()), ("end_turn", "They count.two"), "{wire}");
        let retried = double.asked()[3].body.to_string();
        assert!(retried.contains("They count.") && retried.contains("Go on."), "{wire}: {retried}");
        assert!(!retried.contains("Count with me."), "{wire}: {retried}");
        let error = editor.turn(editor.begin_prompt(&session, "And on.")).await.unwrap_err();
        assert_eq!(
            (&error.data["reason"], &error.data["retryable"]),
            (&json!("context_overflow"), &json!(false)),
            "{wire}"
        );
        assert!(error.message.contains("begin a new session"), "{wire}: {}", error.message);
        assert_eq!(double.asked().len(), 7, "{wire}: it is tried once");
        assert_eq!(ended(&editor, &session).await, "end_turn \"three\"", "{wire}");
        editor.close().await;
    }
}

/// A cancel closes the provider's stream within 10 ms, and the session goes on. What is measured is the time from when the
/// client has written the cancel until the provider sees that the connection was closed; the quickest of some tells what
/// the program takes, the others what else the machine does.
#[tokio::test]
async fn a_cancel_closes_the_stream_at_once() {
    const TIMES: usize = 3;
    for wire in WIRES {
        let mut took = Vec::new();
        let cases = || [(Reply::text("so").stall(), true), (Reply::nothing(), false)];
        for (first, begun) in (0..TIMES).flat_map(|_| cases()) {
            let double = ModelDouble::start([first, Reply::text("on")]).await;
            let editor = runtime(&double.base_url(), wire).editor().await;
            let session = editor.new_session().await;
            let prompt = editor.begin_prompt(&session, "Hi");
            if begun {
                editor.until_update(&session, "a word", |update| update["content"]["text"] == "so").await;
            } else {
                double.was_asked().await;
            }
            let cancelled = Instant::now();
            editor.cancel(&session);
            double.client_left().await;
            took.push(cancelled.elapsed());
            assert_eq!(editor.turn(prompt).await.unwrap().stop, "cancelled", "{wire}");
            assert_eq!(ended(&editor, &session).await, "end_turn \"on\"", "{wire}");
            editor.close().await;
        }
        println!("{wire}: closed after {took:?}");
        let quickest = took.iter().min().unwrap();
        assert!(quickest.as_millis() < 10 && took.iter().all(|took| took.as_millis() < 100), "{wire}: {took:?}");
    }
}

/// A model that cannot call tools answers in JSON of a schema.
#[tokio::test]
async fn a_weak_model_calls_tools_by_a_schema() {
    for wire in WIRES {
        let call = Reply::text("{\"tool\": \"read_file\", ").say("\"arguments\": {\"path\": \"a.txt\"}}");
        let answer = Reply::text("{\"answer\": \"It says ").say("\\\"first words\\\".\"}");
        let double = ModelDouble::start([call, answer, Reply::text("Just words.")]).await;
        let runtime =
            runtime(&double.base_url(), wire).config("tool_mode = \"json_schema\"\n").file("a.txt", "first words");
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let turn = editor.prompt(&session, "Read it").await;
        assert_eq!(turn.text(), "It says \"first words\".", "{wire}");
        assert_eq!(turn.call().status(), "completed", "{wire}");
        assert_eq!(editor.prompt(&session, "Hi").await.text(), "Just words.", "{wire}");
        let asked = double.asked();
        assert!(asked[0].body.get("tools").is_none(), "{wire}: {}", asked[0].body);
        let (first, second) = (asked[0].body.to_string(), asked[1].body.to_string());
        assert!(first.contains("\"enum\":[\"read_file\"]"), "{wire}: the schema is sent: {first}");
        assert!(first.contains("- read_file: "), "{wire}: the tools are told: {first}");
        assert!(second.contains("<result tool=") && second.contains("first words"), "{wire}: {second}");
        editor.close().await;
    }
}

/// The vendors' own addresses are never asked here: `NO_PROXY` is empty, and the proxy is the double.
#[tokio::test(flavor = "multi_thread")]
async fn requests_go_through_the_proxy() {
    let double = ModelDouble::start([Reply::text("proxied"), Reply::text("direct")]).await;
    let proxy = format!("http://127.0.0.1:{}", double.port());
    let remote = runtime("http://models.example.invalid/v1", "openai-chat").env("HTTP_PROXY", &proxy);
    let finished = remote.run(&["run", "Hi"]);
    assert_eq!((finished.stdout.trim(), finished.code), ("proxied", Some(0)), "{finished:?}");
    assert_eq!(double.asked()[0].headers["host"], "models.example.invalid");

    let near = runtime(&double.base_url(), "openai-chat").env("HTTP_PROXY", "http://127.0.0.1:1");
    let finished = near.env("NO_PROXY", "127.0.0.1").run(&["run", "Hi"]);
    assert_eq!((finished.stdout.trim(), finished.code), ("direct", Some(0)), "{finished:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_trusted_by_name_of_its_authority() {
    let double = ModelDouble::start([Reply::text("safe")]).await;
    let tls = TlsDouble::start(double.port());
    let safe = || runtime(&format!("https://localhost:{}/v1", tls.port()), "openai-chat");
    let refused = safe().run(&["run", "Hi"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("name a file with its authority in the environment variable `SSL_CERT_FILE`"),
        "{refused:?}"
    );
    assert!(double.asked().is_empty(), "nothing is sent before");

    let trusted = safe().env("SSL_CERT_FILE", &TlsDouble::authority().display().to_string()).run(&["run", "Hi"]);
    assert_eq!((trusted.stdout.trim(), trusted.code), ("safe", Some(0)), "{trusted:?}");
}

/// What cannot be reached says why, and what to do.
#[tokio::test]
async fn what_cannot_be_reached_says_why() {
    let double = ModelDouble::start([]).await;
    let long = "a".repeat(70);
    let mut table = String::new();
    for (name, address, variable) in [
        ("nobody listens", "http://127.0.0.1:1/v1".to_owned(), None),
        ("no such host", format!("http://{long}.invalid/v1"), None),
        ("no TLS there", format!("https://127.0.0.1:{}/v1", double.port()), None),
        ("no proxy there", "http://models.example.invalid/v1".to_owned(), Some("http://127.0.0.1:1")),
    ] {
        let mut runtime = runtime(&address, "anthropic");
        if let Some(proxy) = variable {
            runtime = runtime.env("HTTP_PROXY", proxy);
        }
        let editor = runtime.editor().await;
        let session = editor.new_session().await;
        let error = editor.turn(editor.begin_prompt(&session, "Hi")).await.unwrap_err();
        let message = error.message.replace(&long, "LONG").replace(&double.port().to_string(), "PORT");
        writeln!(table, "{name}: {} {} {message}", error.data["reason"], error.data["retryable"]).unwrap();
        editor.close().await;
    }
    expect![[r#"
        nobody listens: "network" true `lab` cannot be reached at `http://127.0.0.1:1/v1/` (Connection refused (os error 111)); see that the server, or the proxy before it, runs and listens there
        no such host: "network" true `lab` cannot be reached at `http://LONG.invalid/v1/` (failed to lookup address information: Name or service not known); check the host's name in `base_url`, and the network
        no TLS there: "certificate" false `lab` cannot be reached at `https://127.0.0.1:PORT/v1/` (received corrupt message of type InvalidContentType); write `http://` in `base_url` if it speaks no TLS
        no proxy there: "network" true `lab` cannot be reached at `http://models.example.invalid/v1/` (Connection refused (os error 111)); see that the server, or the proxy before it, runs and listens there
    "#]].assert_eq(&table);
}

/// A model's name leads to its vendor, and to nobody else.
#[test]
fn a_models_name_leads_to_its_vendor() {
    let table = |runtime: &Runtime, ids: &[&str]| {
        let mut table = String::new();
        for id in ids {
            let listed = runtime.run(&["--model", id, "models"]);
            let line = listed.stdout.lines().find(|line| line.starts_with('*')).unwrap_or(&listed.stderr).to_owned();
            writeln!(table, "{id} {:?}: {}", listed.code.unwrap(), line.trim_end()).unwrap();
        }
        table
    };
    let ids = [
        "claude-opus-4-8",
        "gpt-5.2",
        "o3",
        "gemini-3.5-flash",
        "qwen3.8:27b",
        "openai/gpt-9",
        "opnai/gpt-9",
        "anthropic",
    ];
    let bare = table(&Runtime::new().env("OPENAI_API_KEY", "sk-secret-1"), &ids);
    let configured = Runtime::new().config(
        "[providers.work]\nwire = \"openai-chat\"\nbase_url = \"http://gateway/v1\"\nmodel = \"gpt-5.2\"\n\
         context_window = 8000\nprices.\"gpt-5.2\" = { input = 1, output = 2, currency = \"EUR\" }\n\
         [providers.anthropic]\nwire = \"anthropic\"\nbase_url = \"http://gateway/\"\nmodel = \"claude-opus-4-8\"\n",
    );
    let configured = table(&configured, &["gpt-5.2", "gpt-5.1", "claude-opus-4-8", "claude-haiku-4-5", "work"]);
    expect![[r#"
        claude-opus-4-8 0: * anthropic/claude-opus-4-8  anthropic, 1000000 tokens, 5 in and 25 out USD a million, no key yet
        gpt-5.2 0: * openai/gpt-5.2        openai-responses, 400000 tokens, 1.75 in and 14 out USD a million, key from the environment variable `OPENAI_API_KEY`
        o3 0: * openai/o3             openai-responses, 200000 tokens, 2 in and 8 out USD a million, key from the environment variable `OPENAI_API_KEY`
        gemini-3.5-flash 0: * gemini/gemini-3.5-flash  gemini, 1048576 tokens, 1.5 in and 9 out USD a million, no key yet
        qwen3.8:27b 0: * ollama/qwen3.8:27b    ollama, no key needed
        openai/gpt-9 0: * openai/gpt-9          openai-responses, key from the environment variable `OPENAI_API_KEY`
        opnai/gpt-9 2: error: no provider `opnai` for the model `opnai/gpt-9`; no provider is configured, and without that there are `anthropic`, `gemini`, `ollama`, `openai`
        hint: see `model` and `[providers]` in the file of `acp-runtime config path`
        anthropic 2: error: `anthropic` is a provider without a model; name one as `anthropic/MODEL`, or add `[providers.anthropic]`
        hint: see `model` and `[providers]` in the file of `acp-runtime config path`

        gpt-5.2 0: * work/gpt-5.2               openai-chat, 8000 tokens, 1 in and 2 out EUR a million, no key needed
        gpt-5.1 0: * openai/gpt-5.1             openai-responses, 400000 tokens, 1.25 in and 10 out USD a million, no key yet
        claude-opus-4-8 0: * anthropic/claude-opus-4-8  anthropic, no key needed
        claude-haiku-4-5 0: * anthropic/claude-haiku-4-5  anthropic, no key needed
        work 0: * work/gpt-5.2               openai-chat, 8000 tokens, 1 in and 2 out EUR a million, no key needed
    "#]].assert_eq(&format!("{bare}\n{configured}"));

    let json = Runtime::new().run(&["--model", "claude-opus-4-8", "models", "--json"]);
    expect![[r#"
        {"id":"anthropic/claude-opus-4-8","default":true,"wire":"anthropic","context_window":1000000,"price":{"input":5.0,"cached":0.5,"output":25.0,"currency":"USD"},"provider":"anthropic","needs_key":true,"key":null}
    "#]].assert_eq(&json.stdout);
}

/// A key is enough: its vendor's models are there to choose, without that anybody is asked for them.
#[tokio::test]
async fn a_key_brings_the_models_of_its_vendor() {
    let ids = |listed: &str| -> Vec<String> {
        listed.lines().filter_map(|line| line[2..].split(' ').next()).map(str::to_owned).collect()
    };
    let none = Runtime::new().run(&["models"]);
    assert_eq!(ids(&none.stdout), ["none"]);
    let others = "Any other model can be named, too: `claude-…` is asked of Anthropic, `gpt-…` and `o3` of OpenAI, \
                  `gemini-…` of Google, another name of Ollama on this machine, and `PROVIDER/MODEL` of that provider.";
    let keyless = "There is no key yet for `anthropic`, `gemini`, `openai`: see `acp-runtime models --help`.";
    assert_eq!(none.stderr, format!("{others} {keyless}\n"));

    let runtime = Runtime::new().env("ANTHROPIC_API_KEY", "sk-secret-1").config("secrets.store = 'file'\n");
    runtime.keep_secret("openai", "sk-secret-2\n");
    let listed = runtime.run(&["models"]);
    let line = listed.stdout.lines().find(|line| line.contains("claude-opus-4-8")).unwrap();
    assert!(line.ends_with("key from the environment variable `ANTHROPIC_API_KEY`"), "{line}");
    let line = listed.stdout.lines().find(|line| line.contains("openai/gpt-5.6-sol")).unwrap();
    assert!(line.ends_with("key from the secret `openai`"), "{line}");
    assert!(!listed.stdout.contains("gemini") && listed.stdout.starts_with("* none"), "{}", listed.stdout);
    assert!(
        listed.stderr.ends_with("no key yet for `gemini`: see `acp-runtime models --help`.\n"),
        "{}",
        listed.stderr
    );

    let (editor, session, answer) = {
        let editor = runtime.editor().await;
        let params = json!({ "cwd": runtime.project(), "mcpServers": [] });
        let answer = editor.call("session/new", params).await;
        let session = answer["sessionId"].as_str().unwrap().to_owned();
        (editor, session, answer)
    };
    let offered = answer["configOptions"].as_array().unwrap().iter().find(|option| option["id"] == "model").unwrap();
    assert!(offered.to_string().contains("anthropic/claude-opus-4-8"), "{offered}");
    let told = editor.prompt(&session, "/model").await.text();
    assert!(told.contains("- `openai/gpt-5.6-sol` – gpt-5.6-sol (openai)") && told.contains(others), "{told}");
    let chosen = editor.prompt(&session, "/model anthropic/claude-opus-4-8").await.text();
    assert!(chosen.contains("- **now** `anthropic/claude-opus-4-8`"), "{chosen}");
    editor.close().await;
}

/// Qwen's efforts are asked for over Ollama's compatible address, the others in Ollama's own format.
#[tokio::test(flavor = "multi_thread")]
async fn ollama_gets_efforts_in_its_own_words() {
    let mut table = String::new();
    for (model, lines) in [
        ("qwen3.8:27b", "reasoning_effort = 'max'"),
        ("qwen3.8:27b", "reasoning_effort = 'low'"),
        ("qwen3.8:27b", "reasoning_effort = 'none'"),
        ("qwen3.8:27b", ""),
        ("gpt-oss:20b", "reasoning_effort = 'high'"),
        ("qwen3:8b", "reasoning_effort = 'none'"),
    ] {
        let double = ModelDouble::start([Reply::text("ok")]).await;
        let address = format!("http://127.0.0.1:{}", double.port());
        let runtime = runtime(&address, "ollama").config(&format!("{lines}\n"));
        let finished = runtime.run(&["--model", &format!("lab/{model}"), "run", "Hi"]);
        assert_eq!(finished.stdout.trim(), "ok", "{finished:?}");
        let asked = double.asked().remove(0);
        let (effort, think) = (&asked.body["reasoning_effort"], &asked.body["think"]);
        writeln!(table, "{model} {lines}: {} {effort} {think}", asked.path).unwrap();
    }
    expect![[r#"
        qwen3.8:27b reasoning_effort = 'max': /v1/chat/completions "xhigh" null
        qwen3.8:27b reasoning_effort = 'low': /v1/chat/completions "low" null
        qwen3.8:27b reasoning_effort = 'none': /v1/chat/completions "none" null
        qwen3.8:27b : /api/chat null null
        gpt-oss:20b reasoning_effort = 'high': /api/chat null "high"
        qwen3:8b reasoning_effort = 'none': /api/chat null false
    "#]]
    .assert_eq(&table);
}

/// A session offers the efforts that its model takes, and keeps the one that was chosen for another.
#[tokio::test]
async fn a_session_offers_the_efforts_of_its_model() {
    let runtime = Runtime::new().config(
        "model = \"near\"\n[providers.near]\nwire = \"ollama\"\nmodel = \"qwen3.8:27b\"\n\
         [providers.far]\nwire = \"openai-responses\"\nmodel = \"gpt-4.1\"\nmodels = [\"o3\", \"own\"]\n\
         api_key = \"sk-secret-1\"\n",
    );
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let mut table = String::new();
    for (option, value) in [
        ("reasoning_effort", "xhigh"),
        ("model", "far/o3"),
        ("reasoning_effort", "low"),
        ("model", "far/own"),
        ("model", "far/gpt-4.1"),
        ("reasoning_effort", "default"),
    ] {
        let set = json!({ "sessionId": session, "configId": option, "value": value });
        let options = editor.call("session/set_config_option", set).await["configOptions"].clone();
        let efforts = options.as_array().unwrap().iter().find(|option| option["id"] == "reasoning_effort").unwrap();
        let values = efforts["options"].as_array().unwrap().iter().map(|option| option["value"].as_str().unwrap());
        let current = efforts["currentValue"].as_str().unwrap();
        writeln!(table, "{value}: {current} of {}", values.collect::<Vec<_>>().join(" ")).unwrap();
    }
    editor.close().await;
    expect![[r#"
        xhigh: xhigh of default none low medium xhigh
        far/o3: xhigh of default low medium high xhigh
        low: low of default low medium high
        far/own: low of default none minimal low medium high xhigh max
        far/gpt-4.1: low of default low
        default: default of default
    "#]]
    .assert_eq(&table);
}
