//! Children of a session: what they may do, what is seen of them, and when they end.

use acp_runtime_tests::model_double::{ModelDouble, Reply};
use acp_runtime_tests::runtime::build_folder;
use acp_runtime_tests::{Answer, CallView, EditorOptions, Permission, Runtime, Turn};
use serde_json::json;

/// A call of `spawn_agent`, then what the child does, then what the session says.
fn scenario(arguments: &serde_json::Value, child: &str) -> String {
    format!(
        "quiet = true\n[[reply]]\nsteps = [{{ call = {{ tool = \"spawn_agent\", arguments = {} }} }}]\n{child}\n\
         [[reply]]\nsteps = [{{ text = \"I see.\" }}]\n",
        inline(arguments)
    )
}

/// JSON as an inline table of TOML.
fn inline(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

const READS: &str = r#"
[[reply]]
steps = [{ call = { tool = "read_file", arguments = { path = "a.txt" } } }, { usage = { input = 700, output = 7, window = 1000, cost = 0.5 } }]
[[reply]]
when = "tool-succeeded"
steps = [{ text = "It says hello." }, { usage = { input = 800, output = 8, window = 1000, cost = 0.25 } }]
"#;

#[tokio::test]
async fn a_child_reads_and_reports() {
    let runtime =
        Runtime::scripted(&scenario(&json!({ "task": "What does a.txt say?" }), READS)).file("a.txt", "hello");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Find out.").await;
    assert_eq!(turn.text(), "I see.", "what the child says is not the session's");
    let call = turn.call();
    assert_eq!((call.status(), call.titles[0].as_str()), ("completed", "Subagent: What does a.txt say?"));
    assert_eq!(call.text(), "It says hello.\n\n[subagent: 1 call, 1515 tokens]");
    let seen = turn.updates.iter().any(|update| update["content"][0]["content"]["text"] == "- Read `a.txt`");
    assert!(seen, "what it does is seen while it does it: {:#?}", turn.updates);
    assert!(turn.of("usage_update").next().is_none(), "its window is not the session's");
    let cost = editor.prompt(&session, "/cost").await.text();
    assert!(cost.contains("0.75 USD"), "but its cost is: {cost}");
    // A loaded session shows the same, and goes on.
    editor.close().await;
    let editor = runtime.editor().await;
    let replay = editor.load_session(&session).await;
    assert_eq!(replay.call().text(), call.text());
    editor.close().await;
}

#[tokio::test]
async fn a_child_s_effects_are_asked_for_as_the_call_s() {
    let writes = r#"
[[reply]]
steps = [{ call = { tool = "write_file", arguments = { path = "b.txt", content = "b" } } }]
[[reply]]
when = "tool-succeeded"
steps = [{ text = "Written." }]
[[reply]]
when = "tool-failed"
steps = [{ text = "They said no." }]
"#;
    for (answer, report, written) in [("allow_once", "Written.", true), ("reject_once", "They said no.", false)] {
        let arguments = json!({ "task": "Write b.txt", "tools": ["write_file", "read_file", "write_file"] });
        let runtime = Runtime::scripted(&scenario(&arguments, writes));
        let options = EditorOptions::default().answering(move |_| acp_runtime_tests::Answer::Pick(answer));
        let editor = runtime.editor_with(options).await;
        let session = editor.new_session().await;
        let prompt = editor.begin_prompt(&session, "Have it written.");
        let asked = editor.until_asked(1).await;
        assert_eq!(asked.call["toolCallId"], "call-1", "a call that the client knows");
        assert!(asked.title().contains("write `b.txt`"), "{}", asked.title());
        let turn = editor.turn(prompt).await.unwrap();
        assert!(turn.call().text().starts_with(report), "{}", turn.call().text());
        assert_eq!(runtime.project().join("b.txt").exists(), written);
        editor.close().await;
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let runtime = Runtime::scripted("quiet = true\n[[reply]]\nsteps = [{ text = \"x\" }]\n");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    for (arguments, reason) in [
        (json!({ "task": " " }), "`task` says nothing"),
        (
            json!({ "task": "t", "tools": ["read_fil"] }),
            "there is no tool `read_fil` that a subagent can have; did you mean `read_file`?",
        ),
        (json!({ "task": "t", "tools": ["update_plan"] }), "`update_plan` belongs to the session"),
        (json!({ "task": "t", "tools": ["spawn_agent"] }), "there is no tool `spawn_agent` that a subagent can have"),
        (json!({ "task": "t", "max_requests": 51 }), "51 is greater than the maximum of 50"),
    ] {
        let said = editor.prompt(&session, &format!("/call spawn_agent {arguments}")).await.text();
        assert!(said.contains("error: ") && said.contains(reason), "{arguments}: {said}");
    }
    editor.close().await;
    let editor = Runtime::new().editor().await;
    let session = editor.new_session().await;
    let said = editor.prompt(&session, "/call spawn_agent {\"task\": \"t\"}").await.text();
    assert!(said.contains("a subagent needs a model"), "{said}");
    editor.close().await;
}

#[tokio::test]
async fn a_child_has_its_own_limit() {
    let reads = r#"
[[reply]]
steps = [{ call = { tool = "list_directory", arguments = { path = "." } } }]
[[reply]]
steps = [{ text = "Half of it." }, { call = { tool = "read_file", arguments = { path = "a.txt" } } }]
"#;
    let runtime = Runtime::scripted(&scenario(&json!({ "task": "t", "max_requests": 2 }), reads)).file("a.txt", "a");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Go.").await;
    assert_eq!((turn.stop.as_str(), turn.text().as_str()), ("end_turn", "I see."));
    let call = turn.call();
    let note = "[subagent: 2 calls, 0 tokens; it was stopped before it had finished: it asked the model 2 times, and \
                `max_requests` allows no more]";
    assert_eq!((call.status(), call.text()), ("failed", format!("Half of it.\n\n{note}")));
    editor.close().await;
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_children() {
    let waits = r#"
[[reply]]
steps = [{ call = { tool = "read_file", arguments = { path = "a.txt" } } }]
[[reply]]
steps = [{ delay_ms = 600000 }]
"#;
    let runtime = Runtime::scripted(&scenario(&json!({ "task": "t" }), waits)).file("a.txt", "a");
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let prompt = editor.begin_prompt(&session, "Go.");
    editor
        .until_update(&session, "the child's call", |update| {
            update["content"][0]["content"]["text"] == "- Read `a.txt`"
        })
        .await;
    editor.cancel(&session);
    let turn = editor.turn(prompt).await.unwrap();
    assert_eq!((turn.stop.as_str(), turn.call().status()), ("cancelled", "failed"));
    editor.close().await;
}

/// A session whose model has three children look around, at the same time and for as long as they may. How the turn ended,
/// and how many requests the provider has seen.
async fn three_at_once(limits: &str, max_requests: u32) -> (Turn, usize) {
    let task = |n: usize| json!({ "task": format!("Look around {n}."), "max_requests": max_requests }).to_string();
    let spawn = (0..3).fold(Reply::answer(), |reply, n| reply.call("spawn_agent", &[&task(n)])).usage(90, 10);
    let look = |n: usize| Reply::answer().call("grep", &[&json!({ "pattern": n.to_string() }).to_string()]);
    let looks = (0..100).map(|n| look(n).usage(90, 10));
    let double = ModelDouble::start(std::iter::once(spawn).chain(looks)).await;
    let runtime = Runtime::new().config(&format!(
        "[limits]\n{limits}\n[providers.lab]\nwire = \"openai-chat\"\nmodel = \"small\"\nbase_url = \"{}\"\n\
         prices.small = {{ input = 10000, output = 10000 }}\n",
        double.base_url()
    ));
    let editor = runtime.editor().await;
    let session = editor.new_session().await;
    let turn = editor.prompt(&session, "Have it looked at.").await;
    editor.close().await;
    (turn, double.asked().len())
}

/// However many children there are, the turn takes no more than one alone.
#[tokio::test]
async fn children_share_the_turn_s_budget() {
    for (limits, max_requests, stop, requests, why) in [
        ("model_requests = 8", 50, "max_turn_requests", 8, "it asked the model 8 times, and `limits.model_requests`"),
        ("turn_tokens = 700", 50, "max_tokens", 7, "it used 700 tokens of 700, and `limits.turn_tokens`"),
        ("turn_cost = 6", 50, "max_tokens", 6, "it cost 6 USD of 6, and `limits.turn_cost`"),
        // One for each child and two for the turn, whose second answer asks for one call more.
        ("model_requests = 5", 1, "max_turn_requests", 5, "it asked the model 1 time, and `max_requests`"),
    ] {
        let (turn, asked) = three_at_once(limits, max_requests).await;
        assert_eq!((turn.stop.as_str(), asked), (stop, requests), "{limits}: {}", turn.text());
        let children: Vec<_> = turn
            .calls()
            .into_iter()
            .filter(|call| call.fields["title"].as_str().unwrap().starts_with("Subagent"))
            .collect();
        assert_eq!(children.len(), 3);
        for child in &children {
            assert!(child.status() == "failed" && child.text().contains(why), "{limits}: {}", child.text());
        }
        let at = |status: &str, from: usize| {
            let wanted = move |update: &&serde_json::Value| update["status"] == status;
            turn.updates.iter().skip(from).position(|update| wanted(&update)).unwrap() + from
        };
        let begun = turn.updates.iter().take(at("failed", 0)).filter(|update| update["status"] == "in_progress");
        assert!(begun.count() >= 3, "they work at the same time");
    }
}

/// What a plugin asks in children counts for the turn as well, and the next turn begins anew.
#[tokio::test]
async fn a42_a_cap_on_questions_counts_what_children_ask() {
    // No two of them are the same call.
    let run = |n: u32| {
        format!(
            "{{ call = {{ tool = \"programs__run\", arguments = {{ program = \"absent\", milliseconds = {n} }} }} }}"
        )
    };
    let spawn = "{ call = { tool = \"spawn_agent\", arguments = { task = \"t\", tools = [\"programs__run\"] } } }";
    let says = |text: &str| format!("{{ text = \"{text}\" }}");
    // The turn asks once, its child twice and once too often; then the turn asks too often itself.
    let (child, done) = (says("The child is done."), says("Done."));
    let turn = [run(1), spawn.to_owned(), run(2), run(3), run(4), child, run(5), done];
    let replies: Vec<String> = turn.iter().map(|step| format!("[[reply]]\nsteps = [{step}]\n")).collect();
    let scenario = format!("quiet = true\nrepeat = true\n{}", replies.concat());
    let runtime = Runtime::scripted(&scenario).config("[permission]\nquestions = 3\n[plugins]\nbundled = false\n");
    let guest = build_folder().join("guests/programs.wasm").display().to_string();
    assert_eq!(runtime.run(&["plugin", "install", "--yes", &guest]).code, Some(0));
    let yes = |_: &Permission| Answer::Pick("allow_once");
    let editor = runtime.editor_with(EditorOptions::default().answering(yes)).await;
    let session = editor.new_session().await;
    for asked in [3, 6] {
        let turn = editor.prompt(&session, "Go.").await;
        assert_eq!(turn.text(), "Done.");
        assert_eq!(editor.permissions().len(), asked, "three in each turn");
        let told: Vec<String> = turn.calls().iter().map(CallView::text).collect();
        let capped = "the plugin has had the user asked 3 times in this turn";
        assert!(told[0].contains("the program `absent` is not there"), "{told:?}");
        assert!(told.last().unwrap().contains(capped), "{told:?}");
    }
    editor.close().await;
    let audit = runtime.run(&["audit", "show", "--plugin", "test:programs", "--json"]).stdout;
    let lines = || audit.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let times = |line: serde_json::Value| line["times"].as_u64().unwrap_or(1);
    let by = |rule: &str| lines().filter(|line| line["by"] == rule).map(times).sum::<u64>();
    assert_eq!((by("person"), by("capped")), (6, 4), "{audit}");
}
