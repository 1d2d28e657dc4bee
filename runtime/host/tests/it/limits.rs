//! Each limit by its name: a guest meets it where it is usual and where it is low, and the two are told apart. A limit that
//! nothing reads fails here, and so does one that no guest meets.

mod net;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::Approval;
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::tool::Tool;
use acp_runtime_host::limits::{LIMITS, Limit, LimitTable, Limits};
use acp_runtime_host::package::Package;
use acp_runtime_host::plugin_host::SessionPlugins;
use futures::future::join_all;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::hostile::Log;
use crate::support::{Runtime, inventory, manifest, told};
use crate::{guest, hooks, session};

/// The limit, the amount that it has first and the low one, and what each of them leads to. No amount is the usual one.
const MET: &[(&str, Option<u64>, u64, &str, &str)] = &[
    ("memory", None, 2 << 20, "63", "1"),
    ("memories", None, 2, "\"{}\"", "memory count too high at 3"),
    ("tables", None, 2, "\"{}\"", "table count too high at 3"),
    ("table_elements", None, 5000, "20", "5"),
    ("instances", None, 3, "\"{}\"", "instance count too high at 4"),
    ("resources", None, 100, "it has more than 4096 open files and streams", "more than 100 open"),
    ("handles", None, 50, "it has more than 4096 open files and streams", "it holds more than 50 handles"),
    ("stack", None, 64 << 10, "3000", "its calls nest too deeply"),
    ("component", None, 64 << 10, "\"{}\"", "more than the 65536 that are compiled"),
    ("compile_seconds", None, 0, "\"{}\"", "compiling it took longer than 0ns"),
    ("wall_seconds", Some(300), 100, "it took longer than 300ms", "it took longer than 100ms"),
    ("cpu_seconds", Some(300), 100, "it computed for longer than 300ms", "it computed for longer than 100ms"),
    ("grace_milliseconds", None, 0, "100 ms", "0 ms"),
    ("idle_seconds", None, 100_000, "2", "1"),
    ("notice_milliseconds", None, 0, "few", "10000"),
    ("calls", None, 1, "600 ms", "1500 ms"),
    ("crossing", None, 64 << 10, "100000 bytes", "too much data"),
    ("output", None, 100, "100000 bytes", "the answer has 100000 bytes; at most 100"),
    ("events", None, 5, "\"done\"", "a call tells of at most 5 things"),
    ("plan", None, 2, "\"done\"", "3 entries are too many; at most 2"),
    ("log_lines", None, 5, "1001 lines", "6 lines"),
    ("log_line", None, 100, "4096 characters", "100 characters"),
    ("random", None, 32, "65536", "32"),
    ("kv_total", None, 1000, "\"1\"", "the plugin's storage is full: 0 bytes are used, at most 1000"),
    ("kv_value", None, 1000, "\"1\"", "the value has 1000000 bytes; at most 1000"),
    ("kv_key", None, 0, "\"1\"", "a key has 1 to 0 bytes; this one has 1"),
    ("data", None, 1000, "\"done\" \"done\"", "\"23\" \"23\""),
    ("tmp", None, 1000, "\"done\" \"done\"", "\"23\" \"23\""),
    ("entries", None, 0, "\"done\"", "\"23\""),
    ("panel_nodes", None, 1, "drawn", "the panel has 2 nodes; at most 1"),
    ("panel_depth", None, 1, "drawn", "the panel has more than 1 levels"),
    ("panel_label", None, 5, "drawn", "a node's id has 6 bytes; at most 5"),
    ("panel_data", None, 5, "drawn", "a node's data has 7 bytes; at most 5"),
    ("panel_total_data", None, 5, "drawn", "the panel's data has more than 5 bytes"),
    ("exec_runs", None, 2, "\"done\"", "a call runs at most 2 programs"),
    ("exec_seconds", None, 1500, "30s, 1048576 bytes", "1.5s, 1048576 bytes"),
    ("exec_output", None, 2000, "30s, 1048576 bytes", "30s, 2000 bytes"),
    ("exec_line", None, 20, "\"a-long-argument\"", "the program's arguments have 21 bytes; at most 20"),
    ("session_entries", None, 0, "\"hello, ****\"", "\"0\""),
    ("session_entry", None, 3, "\"hello, ****\"", "\"hel\\n[cut: 13 bytes]"),
    ("session_bytes", None, 3, "\"hello, ****\"", "\"0\""),
    ("net_requests", None, 1, "3 at once", "1 at once"),
    ("net_redirects", None, 2, "it redirects more than 5 times", "it redirects more than 2 times"),
    ("net_addresses", None, 1, "3 tried", "1 tried"),
    ("net_sent_headers", None, 1, "\"done\"", "more than 1 headers are not sent"),
    ("net_sent_header_bytes", None, 20, "\"done\"", "headers of 26 bytes are not sent; at most 20"),
    ("net_sent_body", None, 7, "\"done\"", "a body of 8 bytes is not sent; at most 7"),
    ("net_headers", None, 3, "hello", "more than 3 headers"),
    ("net_header_bytes", None, 8 << 10, "hello", "8192 bytes of them"),
    ("net_body", None, 4, "hello", "has more than 4 bytes"),
    ("net_connect_seconds", None, 1000, "10000 ms: ", " 1000 ms: "),
    ("net_idle_seconds", Some(300), 100, "did not answer within 0.3 s", "did not answer within 0.1 s"),
    ("net_seconds", Some(300), 100, "did not answer within 0.3 s", "did not answer within 0.1 s"),
    ("hook_milliseconds", Some(100), 20, "it computed for longer than 100ms", "it computed for longer than 20ms"),
    ("hook_wall_milliseconds", Some(300), 100, "it took longer than 300ms", "it took longer than 100ms"),
    ("hook_memory", None, 2 << 20, "more memory than 16 MiB", "more memory than 2 MiB"),
    ("hook_answer", None, 1000, "Block(", "the answer has 100008 bytes; at most 1000"),
    ("hook_crossing", None, 64 << 10, "Block(", "too much data"),
    ("hook_calls", None, 1, "300 ms", "900 ms"),
];

/// What is met elsewhere: `compile_memory` where components are compiled by another process.
const ELSEWHERE: [&str; 1] = ["compile_memory"];

#[tokio::test]
async fn every_limit_is_read() {
    let met: BTreeSet<&str> = MET.iter().map(|(name, ..)| *name).chain(ELSEWHERE).collect();
    let unmet: Vec<&str> = LIMITS.iter().map(|limit| limit.name).filter(|name| !met.contains(name)).collect();
    assert_eq!(unmet, Vec::<&str>::new(), "no guest meets these");
    let mut unread = Vec::new();
    for &(name, first, low, before, after) in MET {
        let limit = Limit::named(name).unwrap_or_else(|| panic!("there is no limit `{name}`"));
        for (amount, expected) in [(first, before), (Some(low), after)] {
            let mut limits = Limits::default();
            if let Some(amount) = amount {
                limit.set(&mut limits, amount);
            }
            let seen = meet(name, limits).await;
            if !seen.contains(expected) {
                let amount = amount.unwrap_or(limit.default_amount());
                unread.push(format!("`{name}` of {amount}: {seen}, and not {expected}"));
            }
        }
    }
    assert!(unread.is_empty(), "{}", unread.join("\n"));
}

/// What comes of it when a guest does what the limit of that name is about.
async fn meet(name: &str, limits: Limits) -> String {
    if name.starts_with("net_") {
        return net::meet(name, limits).await;
    }
    let runtime = Runtime::with(None, limits.clone());
    match name {
        "memory" => run(&runtime, "memory", "", 0).await,
        "memories" => crowded(&runtime, "(memory 0)").await,
        "tables" => crowded(&runtime, "(table 0 funcref)").await,
        "instances" => crowded(&runtime, "").await,
        "table_elements" => run(&runtime, "table", "", 0).await,
        "resources" | "handles" => run(&runtime, "handles", "", 0).await,
        "stack" => run(&runtime, "deep", "", 3000).await,
        "component" => {
            let large = guest::with_section(guest::component("echo"), "large", vec![0; 100_000]);
            load(&runtime, large, "").await
        }
        "compile_seconds" => load(&runtime, guest::component("echo"), "").await,
        "wall_seconds" => run(&runtime, "sleep", "", 0).await,
        "cpu_seconds" => run(&runtime, "loop", "", 0).await,
        "grace_milliseconds" => grace(&runtime).await,
        "idle_seconds" => idle(&runtime).await,
        "notice_milliseconds" => notices(&runtime).await,
        "calls" => calls(limits).await,
        "crossing" | "output" => match said(&runtime, "output", "", json!({ "n": 100_000 })).await {
            Ok(text) => format!("{} bytes", text.len()),
            Err(problem) => problem,
        },
        "events" => run(&runtime, "plans", "", 10).await,
        "plan" => run(&runtime, "plan", "", 3).await,
        "log_lines" | "log_line" => logged(&runtime, name).await,
        "random" => run(&runtime, "random", "", 0).await,
        "kv_total" | "kv_value" | "kv_key" => {
            run(&runtime, "kv", "[capabilities]\nkv = { reason = \"keeps\" }", 1).await
        }
        "data" | "tmp" | "entries" => fill(runtime, name).await,
        "panel_nodes" | "panel_depth" | "panel_label" | "panel_data" | "panel_total_data" => panel(&runtime).await,
        "exec_runs" => run(&runtime, "processes", TOOL, 3).await,
        "exec_seconds" | "exec_output" => {
            run(&runtime, "processes", TOOL, 1).await;
            let runs = runtime.programs.runs.lock().unwrap();
            format!("{:?}, {} bytes", runs[0].time, runs[0].output)
        }
        "exec_line" => shown(said(&runtime, "process", TOOL, json!({ "p": "tool a-long-argument" })).await),
        "session_entries" | "session_entry" | "session_bytes" => {
            run(&runtime, "said", "[capabilities]\nsession.read = { reason = \"reads\" }", 1).await
        }
        "hook_milliseconds" => hook(runtime, 1, "{}").await,
        "hook_wall_milliseconds" => hook(runtime, 10, "{}").await,
        "hook_memory" => hook(runtime, 4, "{}").await,
        "hook_answer" | "hook_crossing" => {
            let large = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
            hook(hooks::patient_with(limits), 7, &large).await
        }
        "hook_calls" => hook_calls(limits).await,
        other => panic!("no guest meets the limit `{other}`"),
    }
}

/// A time of a clock that stands still but for timers: each of these is up to a millisecond late.
fn about(time: Duration) -> String {
    format!(" {} ms", time.as_millis() / 100 * 100)
}

const TOOL: &str = "[capabilities]\nexec = [{ program = \"tool\", arguments = [\"**\"], reason = \"runs\" }]";

fn shown(outcome: Result<String, String>) -> String {
    outcome.map_or_else(|problem| problem, |text| format!("{text:?}"))
}

async fn said(runtime: &Runtime, guest: &str, toml: &str, arguments: serde_json::Value) -> Result<String, String> {
    runtime.run(guest, toml, arguments).await.map_err(|error| told(&error).1.to_owned())
}

/// What the guest says when it is called with that number.
async fn run(runtime: &Runtime, guest: &str, toml: &str, number: u32) -> String {
    shown(said(runtime, guest, toml, json!({ "n": number })).await)
}

/// What a component's tool `run` says when it is called without arguments.
pub async fn load(runtime: &Runtime, component: Vec<u8>, toml: &str) -> String {
    let section = acp_runtime_host::manifest::Manifest::section(&manifest("test:made", toml), &inventory()).unwrap();
    let path = runtime.project.path().join("made.wasm");
    std::fs::write(&path, guest::with_manifest(component, &section)).unwrap();
    let session = runtime.open(&[runtime.host.load(Package::read(&path).unwrap())]);
    let outcome = runtime.call(&*session.tools[0], json!({})).await;
    shown(outcome.map(|outcome| outcome.for_model()).map_err(|error| told(&error).1.to_owned()))
}

async fn crowded(runtime: &Runtime, fields: &str) -> String {
    load(runtime, guest::crowded(guest::component("echo"), fields, 3), "").await
}

/// The time from a cancellation to the end of a call that does not heed it.
async fn grace(runtime: &Runtime) -> String {
    let plugin = runtime.plugin("sleep", "");
    runtime.host.warm(&[plugin.clone()]).await;
    let tool = runtime.open(&[plugin]).tools[0].clone();
    let cancel = CancellationToken::new();
    tokio::time::pause();
    let elapsed = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
        tokio::time::Instant::now()
    };
    let (error, since) = tokio::join!(runtime.call_until(&*tool, json!({}), cancel.clone()), elapsed);
    let elapsed = since.elapsed();
    tokio::time::resume();
    assert_eq!(told(&error.unwrap_err()).0, "cancelled");
    about(elapsed)
}

/// How often an instance was called that was left alone for 200 seconds.
async fn idle(runtime: &Runtime) -> String {
    let tool = runtime.open(&[runtime.plugin("counter", "lifecycle = \"session\"")]).tools[0].clone();
    runtime.call(&*tool, json!({ "n": 1 })).await.unwrap();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(200)).await;
    let count = runtime.call(&*tool, json!({ "n": 1 })).await.unwrap().for_model();
    tokio::time::resume();
    count
}

/// How many lines of progress were shown of ten thousand.
async fn notices(runtime: &Runtime) -> String {
    let outcome = runtime.run("notices", "", json!({})).await;
    assert_eq!(outcome.unwrap(), "0");
    let shown = runtime.events.take();
    let lines = shown.iter().filter(|event| matches!(event, SessionEvent::ToolCallUpdated(_))).count();
    if lines < 20 { "few".to_owned() } else { lines.to_string() }
}

/// How long five calls take that sleep until they are stopped.
async fn calls(mut limits: Limits) -> String {
    limits.time.wall = Duration::from_millis(300);
    let runtime = Runtime::with(None, limits);
    let tool = runtime.open(&[runtime.plugin("sleep", "")]).tools[0].clone();
    runtime.call(&*tool, json!({})).await.unwrap_err();
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    join_all((0..5).map(|_| runtime.call(&*tool, json!({})))).await;
    let elapsed = begin.elapsed();
    tokio::time::resume();
    about(elapsed)
}

async fn logged(runtime: &Runtime, what: &str) -> String {
    let log = Log::default();
    let _guard = log.capture();
    runtime.run("log", "", json!({})).await.unwrap();
    let text = log.text();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("test:log")).collect();
    match what {
        "log_lines" => format!("{} lines", lines.len()),
        _ => format!("{} characters", lines[0].matches('x').count()),
    }
}

/// Fills `/data` or `/tmp`, twice where it is kept.
async fn fill(mut runtime: Runtime, what: &str) -> String {
    let folder = if what == "tmp" { "tmp" } else { "data" };
    runtime.host = runtime.host.clone().keeping(runtime.project.path().join("kept"));
    let toml = format!("[capabilities]\nfs.{folder} = {{ reason = \"fills it\" }}");
    let session = runtime.open(&[runtime.plugin("fill", &toml)]);
    let mut outcomes = Vec::new();
    for _ in 0..if what == "entries" { 1 } else { 2 } {
        let outcome = runtime.call(&*session.tools[0], json!({ "n": 4000 })).await;
        outcomes.push(shown(outcome.map(|outcome| outcome.for_model()).map_err(|error| told(&error).1.to_owned())));
    }
    outcomes.join(" ")
}

async fn panel(runtime: &Runtime) -> String {
    let folder = tempfile::TempDir::new().unwrap();
    let opened = runtime.open(&[session::everything(runtime, "test:everything", folder.path()).await]);
    opened.panels[0].snapshot().await.map_or_else(|problem| problem, |_| "drawn".to_owned())
}

async fn hook(mut runtime: Runtime, mode: u32, payload: &str) -> String {
    match hooks::asked(&mut runtime, mode, payload).await {
        Ok(verdict) => format!("{verdict:?}"),
        Err(problem) => problem,
    }
}

/// How long three events take whose hook sleeps until it is stopped.
async fn hook_calls(mut limits: Limits) -> String {
    limits.hook.wall = Duration::from_millis(300);
    let mut runtime = Runtime::with(None, limits);
    let plugin = hooks::plugin(&mut runtime, 10).await;
    let hook = runtime.open(&[plugin]).hooks[0].clone();
    let told = hooks::occurrence(acp_runtime_agent::capability::HookEvent::ToolCall, "{}");
    hook.handle(&told).await.unwrap_err();
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    join_all((0..3).map(|_| hook.handle(&told))).await;
    let elapsed = begin.elapsed();
    tokio::time::resume();
    about(elapsed)
}

/// Whatever a person is asked on behalf of a call: their time is not the call's.
#[tokio::test]
async fn a_deadline_stands_still_while_a_person_is_asked() {
    let mut limits = Limits::default();
    limits.time.wall = Duration::from_millis(300);
    let runtime = Runtime::with(None, limits);
    runtime.mode.set(Mode::Review);
    *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
    let net = "[capabilities]\nnet = [{ host = \"http://good.example\", reason = \"asks\" }]\n";
    let (command, address) = (json!({ "p": "tool a" }), json!({ "p": "http://good.example/" }));
    for (guest, rights, arguments, said) in
        [("process", TOOL, command, "a"), ("http", net, address, "`good.example` cannot be reached: no such name")]
    {
        let tool = runtime.open(&[runtime.plugin(guest, rights)]).tools[0].clone();
        // It is compiled before the clock is stopped.
        assert!(runtime.call(&*tool, arguments.clone()).await.unwrap().for_model().contains(said), "{guest}");
        let asked = runtime.person.asked.lock().unwrap().len();
        *runtime.person.takes.lock().unwrap() = Duration::from_secs(3600);
        tokio::time::pause();
        let begin = tokio::time::Instant::now();
        let outcome = runtime.call(&*tool, arguments).await.unwrap().for_model();
        assert!(outcome.contains(said), "{guest}: {outcome}");
        assert_eq!(begin.elapsed().as_secs(), 3600, "{guest}");
        tokio::time::resume();
        *runtime.person.takes.lock().unwrap() = Duration::ZERO;
        assert_eq!(runtime.person.asked.lock().unwrap().len(), asked + 1, "{guest}");
    }
}

/// A project narrows what its sessions' plugins have, and widens nothing; the plugin's calls are counted as before.
#[tokio::test]
async fn a_session_narrows_what_its_plugins_have() {
    let mut limits = Limits::default();
    limits.time.wall = Duration::from_millis(300);
    let mut runtime = Runtime::with(None, limits);
    let (memory, sleep) = (runtime.plugin("memory", ""), runtime.plugin("sleep", ""));
    let tools = |opened: SessionPlugins| -> [Arc<dyn Tool>; 2] { opened.tools.try_into().ok().expect("two tools") };
    let [wide, sleeps_wide] = tools(runtime.open(&[memory.clone(), sleep.clone()]));
    for (name, amount) in [("memory", 2 << 20), ("table_elements", 100_000), ("calls", 2)] {
        assert!(runtime.narrowed.set(Limit::named(name).unwrap(), amount));
    }
    let [narrow, sleeps] = tools(runtime.open(&[memory.clone(), sleep.clone()]));
    let [again, _] = tools(runtime.open(&[memory.clone(), sleep.clone()]));
    runtime.narrowed = LimitTable::default();
    let [wide_again, _] = tools(runtime.open(&[memory, sleep]));
    for (tool, got) in [(&wide, "63"), (&narrow, "1"), (&again, "1"), (&wide_again, "63")] {
        assert_eq!(runtime.call(&**tool, json!({})).await.unwrap().for_model(), got);
    }
    runtime.call(&*sleeps, json!({})).await.unwrap_err();
    tokio::time::pause();
    for (narrow, wide, milliseconds) in [(4, 0, 600), (0, 4, 300), (2, 2, 300), (2, 3, 600)] {
        let begin = tokio::time::Instant::now();
        let calls = std::iter::repeat_n(&sleeps, narrow).chain(std::iter::repeat_n(&sleeps_wide, wide));
        join_all(calls.map(|tool| runtime.call(&**tool, json!({})))).await;
        let elapsed = begin.elapsed().as_millis();
        assert!((milliseconds..milliseconds + 100).contains(&elapsed), "{narrow} {wide}: {elapsed}");
    }
}
