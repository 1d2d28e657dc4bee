//! Every provider's format in every situation: a table with one row for each, where formats with the same outcome share
//! one.

use std::fmt::Write as _;
use std::future::Future;

use acp_runtime_agent::model::ModelEvent;
use acp_runtime_tests::model_double::{ModelDouble, Reply, Stop};
use expect_test::expect;
use futures::StreamExt as _;
use serde_json::json;

use super::{Models, Redaction, prompt, render};

pub(super) const WIRES: [&str; 5] = ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"];

type Scenario = (&'static str, fn() -> Vec<Reply>);

/// The provider `lab`, which speaks that format, with more lines of settings.
pub(super) fn models(double: &ModelDouble, wire: &str, lines: &str) -> Models {
    let toml = format!(
        "[lab]\nwire = '{wire}'\nbase_url = '{}'\nmodel = 'small'\napi_key = 'sk-secret-1'\n\
         retries = {{ attempts = 3, first_pause_ms = 0 }}\ntimeouts = {{ response_secs = 1, silence_secs = 2 }}\n{lines}",
        double.base_url()
    );
    let keys = std::sync::Arc::new(|_: &str| None);
    Models::new(None, toml::from_str(&toml).unwrap(), keys, &Redaction::default()).unwrap()
}

/// What comes of one request in that format, and how often it was asked.
async fn outcome(wire: &str, replies: Vec<Reply>) -> String {
    let double = ModelDouble::start(replies).await;
    let model = models(&double, wire, "").open("lab").unwrap();
    let items: Vec<_> = model.stream(prompt("hi")).collect().await;
    let port = double.base_url().rsplit(':').next().unwrap().replace("/v1", "");
    // Anthropic tells of tokens in any case.
    let lines = render(&items).replace("  usage 1 in (0 cached), 1 out, window None, None\n", "");
    let lines = format!("{} asked\n{lines}", double.asked().len()).replace(&port, "PORT");
    assert!(!lines.contains("sk-secret"), "{lines}");
    lines
}

/// The table. `outcome` is asked of every format; formats with the same outcome share a row.
async fn table<T, F: Future<Output = String>>(cases: &[(&str, T)], outcome: impl Fn(&'static str, &T) -> F) -> String {
    let mut table = String::new();
    for (name, case) in cases {
        let mut rows: Vec<(Vec<&str>, String)> = Vec::new();
        let outcomes = futures::future::join_all(WIRES.map(|wire| outcome(wire, case))).await;
        for (wire, outcome) in WIRES.into_iter().zip(outcomes) {
            match rows.iter_mut().find(|(_, same)| *same == outcome) {
                Some((wires, _)) => wires.push(wire),
                None => rows.push((vec![wire], outcome)),
            }
        }
        writeln!(table, "{name}").unwrap();
        for (wires, outcome) in rows {
            let wires = if wires.len() == WIRES.len() { "all".to_owned() } else { wires.join(", ") };
            writeln!(table, "  [{wires}] {}", outcome.trim_end().replace('\n', "\n  ")).unwrap();
        }
    }
    table
}

async fn scenarios(scenarios: &[Scenario]) -> String {
    table(scenarios, |wire, replies| outcome(wire, replies())).await
}

#[tokio::test]
async fn answers() {
    let table = scenarios(&[
        ("text and tokens", || vec![Reply::text("Hel").say("lo").usage(10, 2)]),
        ("characters of several bytes", || vec![Reply::text("é").say("日本")]),
        ("thinking, signed", || vec![Reply::answer().think("h").think("m").sign("proof").say("yes")]),
        ("thinking that is sealed", || vec![Reply::answer().think("hm").sign("proof").think_sealed("x").say("yes")]),
        ("two calls", || vec![Reply::text("Look:").call("read", &["{\"pa", "th\":\"a\"}"]).call("list", &[])]),
        ("a call of a tool that there may not be", || vec![Reply::answer().call("no_such_tool", &["{}"])]),
        ("arguments that are no JSON", || vec![Reply::answer().call("read", &["{\"path\": "])]),
        ("the limit of tokens", || vec![Reply::text("So f").stop(Stop::Length).usage(10, 2)]),
        ("the limit in a call", || vec![Reply::answer().call("read", &["{\"pa"]).stop(Stop::Length)]),
        ("a refusal in words", || vec![Reply::answer().refuse("I will not.")]),
        ("a refusal without words", || vec![Reply::answer().refuse(""), Reply::text("Ollama knows none")]),
        ("the connection is closed once the model has finished", || {
            vec![Reply::text("Yes.").stop(Stop::Finished).end(), Reply::text("once more")]
        }),
        ("unknown events and signs of life", || {
            vec![Reply::answer().heartbeat().unknown().say("a").unknown().heartbeat().say("b").unknown()]
        }),
    ])
    .await;
    expect![[r#"
        text and tokens
          [all] 1 asked
            text "Hel"
            text "lo"
            usage 10 in (5 cached), 2 out, window None, None
            stop EndTurn
        characters of several bytes
          [all] 1 asked
            text "é"
            text "日本"
            stop EndTurn
        thinking, signed
          [openai-chat, ollama] 1 asked
            thought "h"
            thought "m"
            text "yes"
            stop EndTurn
          [openai-responses] 1 asked
            thought "h"
            thought "m"
            text "yes"
            signature "proof"
            stop EndTurn
          [anthropic, gemini] 1 asked
            thought "h"
            thought "m"
            signature "proof"
            text "yes"
            stop EndTurn
        thinking that is sealed
          [openai-chat, ollama] 1 asked
            thought "hm"
            text "yes"
            stop EndTurn
          [openai-responses] 1 asked
            thought "hm"
            text "yes"
            signature "proof"
            stop EndTurn
          [anthropic] 1 asked
            thought "hm"
            signature "proof"
            signature "{\"type\":\"redacted_thinking\",\"data\":\"x\"}"
            text "yes"
            stop EndTurn
          [gemini] 1 asked
            thought "hm"
            signature "proof"
            text "yes"
            stop EndTurn
        two calls
          [openai-chat, anthropic] 1 asked
            text "Look:"
            call 0 begins: read
            call 0 goes on: {"pa
            call 0 goes on: th":"a"}
            call 1 begins: list
            call read {"path":"a"}
            call list {}
            stop EndTurn
          [openai-responses] 1 asked
            text "Look:"
            call 0 begins: read
            call 0 goes on: {"pa
            call 0 goes on: th":"a"}
            call read {"path":"a"}
            call list {}
            stop EndTurn
          [gemini, ollama] 1 asked
            text "Look:"
            call read {"path":"a"}
            call list {}
            stop EndTurn
        a call of a tool that there may not be
          [openai-chat, openai-responses, anthropic] 1 asked
            call 0 begins: no_such_tool
            call 0 goes on: {}
            call no_such_tool {}
            stop EndTurn
          [gemini, ollama] 1 asked
            call no_such_tool {}
            stop EndTurn
        arguments that are no JSON
          [openai-chat, openai-responses, anthropic] 1 asked
            call 0 begins: read
            call 0 goes on: {"path": 
            call read "{\"path\": "
            stop EndTurn
          [gemini, ollama] 1 asked
            call read {}
            stop EndTurn
        the limit of tokens
          [all] 1 asked
            text "So f"
            usage 10 in (5 cached), 2 out, window None, None
            stop MaxTokens
        the limit in a call
          [openai-chat, openai-responses, anthropic] 1 asked
            call 0 begins: read
            call 0 goes on: {"pa
            stop MaxTokens
          [gemini, ollama] 1 asked
            stop MaxTokens
        a refusal in words
          [openai-chat, openai-responses, anthropic, gemini] 1 asked
            text "I will not."
            stop Refusal
          [ollama] 1 asked
            text "I will not."
            stop EndTurn
        a refusal without words
          [openai-chat, openai-responses, anthropic, gemini] 1 asked
            stop Refusal
          [ollama] 2 asked
            text "Ollama knows none"
            stop EndTurn
        the connection is closed once the model has finished
          [openai-chat] 1 asked
            text "Yes."
            stop EndTurn
          [openai-responses, anthropic, gemini, ollama] 1 asked
            text "Yes."
            Network lab None None
              the connection to `lab` broke in the middle of the answer (it ended early);
              send the prompt again
        unknown events and signs of life
          [all] 1 asked
            text "a"
            text "b"
            stop EndTurn
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn failures_that_pass_are_not_seen() {
    let table = scenarios(&[
        ("429 once", || vec![Reply::status(429).header("retry-after", "0"), Reply::text("ok")]),
        ("500 once", || vec![Reply::status(500), Reply::text("ok")]),
        ("529 twice", || vec![Reply::status(529), Reply::status(529), Reply::text("ok")]),
        ("cut before the first word", || vec![Reply::answer().disconnect(), Reply::text("ok")]),
        ("ended before the first word", || vec![Reply::answer().unknown().end(), Reply::text("ok")]),
        ("given up before the first word", || vec![Reply::answer().fail("Overloaded"), Reply::text("ok")]),
        ("no response in time", || vec![Reply::nothing(), Reply::text("ok")]),
        ("nothing said", || vec![Reply::answer(), Reply::text("ok")]),
        ("words without letters", || vec![Reply::text("").think("").say(""), Reply::text("ok")]),
        ("given up after a word without letters", || {
            vec![Reply::text("").fail("Overloaded"), Reply::text("").disconnect(), Reply::text("ok")]
        }),
    ])
    .await;
    expect![[r#"
        429 once
          [all] 2 asked
            text "ok"
            stop EndTurn
        500 once
          [all] 2 asked
            text "ok"
            stop EndTurn
        529 twice
          [all] 3 asked
            text "ok"
            stop EndTurn
        cut before the first word
          [all] 2 asked
            text "ok"
            stop EndTurn
        ended before the first word
          [all] 2 asked
            text "ok"
            stop EndTurn
        given up before the first word
          [all] 2 asked
            text "ok"
            stop EndTurn
        no response in time
          [all] 2 asked
            text "ok"
            stop EndTurn
        nothing said
          [all] 2 asked
            text "ok"
            stop EndTurn
        words without letters
          [all] 2 asked
            text "ok"
            stop EndTurn
        given up after a word without letters
          [all] 3 asked
            text "ok"
            stop EndTurn
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn failures_that_stay_say_what_to_do() {
    let table = scenarios(&[
        ("400", || vec![Reply::status(400)]),
        ("401", || vec![Reply::status(401)]),
        ("403", || vec![Reply::status(403)]),
        ("404", || vec![Reply::status(404)]),
        ("429, come back in an hour", || vec![Reply::status(429).header("retry-after", "3600")]),
        ("503 for ever", || (0..3).map(|_| Reply::status(503)).collect()),
        ("a redirect", || vec![Reply::status(302).header("location", "http://127.0.0.1:1/")]),
        ("a web page", || vec![Reply::page("<html>Welcome</html>")]),
        ("malformed at once", || vec![Reply::answer().malformed().say("never")]),
        ("nothing said, for ever", || (0..3).map(|_| Reply::answer()).collect()),
    ])
    .await;
    expect![[r#"
        400
          [all] 1 asked
            Request lab Some(400) None
              `lab` does not accept the request for `small` (HTTP 400): the double says 400;
              change it, or check `[providers.lab]`
        401
          [all] 1 asked
            Auth lab Some(401) None
              `lab` does not accept the API key from `api_key` in `[providers.lab]`;
              set a valid one there
        403
          [all] 1 asked
            Auth lab Some(403) None
              `lab` does not let this API key use `small`: the double says 403;
              check the account's rights
        404
          [all] 1 asked
            Request lab Some(404) None
              `lab` does not know the model `small` at `http://127.0.0.1:PORT/v1/`: the double says 404;
              check `model` and `base_url` in `[providers.lab]`
        429, come back in an hour
          [all] 1 asked
            RateLimit lab Some(429) Some(3600s)
              `lab` refuses more requests for now: the double says 429;
              try again later
        503 for ever
          [all] 3 asked
            Overloaded lab Some(503) None
              `lab` has a problem of its own (HTTP 503): the double says 503;
              try again later
        a redirect
          [all] 1 asked
            Request lab Some(302) None
              `lab` points to another address (HTTP 302), which is never followed;
              write the right `base_url` into `[providers.lab]`
        a web page
          [openai-chat, openai-responses, anthropic, gemini] 1 asked
            Malformed lab None None
              `lab` answered at `http://127.0.0.1:PORT/v1/` with something else than a model's answer;
              check `wire` and `base_url` in `[providers.lab]`
          [ollama] 1 asked
            Malformed lab None None
              `lab` sent what its wire format does not allow (expected value at line 1 column 1);
              check `wire` in `[providers.lab]`, or send the prompt again
        malformed at once
          [openai-chat, ollama] 1 asked
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 13);
              check `wire` in `[providers.lab]`, or send the prompt again
          [openai-responses] 1 asked
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 49);
              check `wire` in `[providers.lab]`, or send the prompt again
          [anthropic] 1 asked
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 42);
              check `wire` in `[providers.lab]`, or send the prompt again
          [gemini] 1 asked
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 16);
              check `wire` in `[providers.lab]`, or send the prompt again
        nothing said, for ever
          [all] 3 asked
            Empty lab None None
              `lab` answered with neither text nor a tool call;
              send the prompt again
    "#]]
    .assert_eq(&table);
}

/// What was said stays, and is not asked for again.
#[tokio::test]
async fn failures_after_a_word_keep_it() {
    let table = scenarios(&[
        ("malformed", || vec![Reply::text("so").malformed().say("never")]),
        ("cut", || vec![Reply::text("so").disconnect(), Reply::text("never")]),
        ("ended", || vec![Reply::text("so").end(), Reply::text("never")]),
        ("given up", || vec![Reply::text("so").fail("Overloaded"), Reply::text("never")]),
        ("silent", || vec![Reply::text("so").stall(), Reply::text("never")]),
        ("only thoughts", || vec![Reply::answer().think("hm"), Reply::text("never")]),
    ])
    .await;
    expect![[r#"
        malformed
          [openai-chat, ollama] 1 asked
            text "so"
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 13);
              check `wire` in `[providers.lab]`, or send the prompt again
          [openai-responses] 1 asked
            text "so"
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 49);
              check `wire` in `[providers.lab]`, or send the prompt again
          [anthropic] 1 asked
            text "so"
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 42);
              check `wire` in `[providers.lab]`, or send the prompt again
          [gemini] 1 asked
            text "so"
            Malformed lab None None
              `lab` sent what its wire format does not allow (EOF while parsing a list at line 1 column 16);
              check `wire` in `[providers.lab]`, or send the prompt again
        cut
          [all] 1 asked
            text "so"
            Network lab None None
              the connection to `lab` broke in the middle of the answer (unexpected EOF during chunk size line);
              send the prompt again
        ended
          [all] 1 asked
            text "so"
            Network lab None None
              the connection to `lab` broke in the middle of the answer (it ended early);
              send the prompt again
        given up
          [all] 1 asked
            text "so"
            Overloaded lab None None
              `lab` gave up on the answer: Overloaded;
              send the prompt again to go on
        silent
          [all] 1 asked
            text "so"
            Network lab None None
              `lab` has stopped in the middle of its answer, and sent nothing more within the seconds of `timeouts.silence_secs`;
              try again, or set more of them in `[providers.lab]` if the model is slow
        only thoughts
          [all] 1 asked
            thought "hm"
            Empty lab None None
              `lab` answered with neither text nor a tool call;
              send the prompt again
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn dropping_the_answer_closes_the_connection() {
    for wire in WIRES {
        let double = ModelDouble::start([Reply::text("so").stall()]).await;
        let model = models(&double, wire, "").open("lab").unwrap();
        let mut answer = model.stream(prompt("hi"));
        assert_eq!(answer.next().await, Some(Ok(ModelEvent::Text("so".to_owned()))), "{wire}");
        let dropped = std::time::Instant::now();
        drop(answer);
        let took = dropped.elapsed();
        double.client_left().await;
        assert!(took.as_millis() < 10, "{wire}: {took:?}");
        assert!(dropped.elapsed().as_millis() < 100, "{wire}: {:?}", dropped.elapsed());
    }
}

/// Google says in the body when to come back.
#[tokio::test]
async fn a_time_to_wait_is_kept_wherever_it_is() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s" }]);
    let body =
        json!({ "error": { "code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": details } });
    let outcome = outcome("gemini", vec![Reply::status(429).body(&body.to_string())]).await;
    assert!(outcome.starts_with("1 asked\n  RateLimit lab Some(429) Some(3600s)"), "{outcome}");
}
