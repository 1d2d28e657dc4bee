//! Guests that try to use more than they may, or to harm the host: each is stopped or refused, and the host goes on.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use acp_runtime_agent::tool::Tool;
use acp_runtime_host::limits::Limits;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::fmt::MakeWriter;

use crate::guest;
use crate::support::{Runtime, told};

const SOON: Duration = Duration::from_millis(100);

fn hasty() -> Runtime {
    let mut limits = Limits::default();
    limits.time.cpu = SOON;
    limits.time.wall = 5 * SOON;
    Runtime::with(None, limits)
}

/// Asserts how a call with `arguments` fails.
async fn fails(runtime: &Runtime, guest: &str, arguments: Value, kind: &str, message: &str) {
    let error = runtime.run(guest, "", arguments).await.unwrap_err();
    assert_eq!(told(&error), (kind, message), "{guest}");
}

#[tokio::test]
async fn a1_an_endless_loop_ends_at_its_deadline_and_disturbs_nobody() {
    let runtime = hasty();
    let session = runtime.open(&[runtime.plugin("loop", ""), runtime.plugin("echo", "")]);
    // Both are compiled before time is taken.
    let [endless, echo] = session.tools.as_slice() else { panic!("two tools") };
    runtime.call(&**echo, json!({})).await.unwrap();
    runtime.call(&**endless, json!({})).await.unwrap_err();
    let begin = Instant::now();
    let others = async {
        for _ in 0..3 {
            runtime.call(&**echo, json!({})).await.unwrap();
        }
        begin.elapsed()
    };
    let (error, others) = tokio::join!(runtime.call(&**endless, json!({})), others);
    let whole = begin.elapsed();
    assert_eq!(told(&error.unwrap_err()), ("timeout", "the plugin was stopped: it computed for longer than 100ms"));
    assert!(whole >= SOON && others < whole, "{others:?} of {whole:?}");
}

#[tokio::test]
async fn a1_an_endless_start_ends_at_the_deadline_too() {
    let message = "the plugin was stopped: it computed for longer than 100ms";
    fails(&hasty(), "start", json!({}), "timeout", message).await;
}

#[tokio::test(start_paused = true)]
async fn a6_an_endless_sleep_ends_at_the_deadline() {
    fails(&hasty(), "sleep", json!({}), "timeout", "the plugin was stopped: it took longer than 500ms").await;
}

#[tokio::test]
async fn a48_a_cancelled_call_ends_at_once() {
    let runtime = Runtime::new();
    for guest in ["loop", "sleep"] {
        let session = runtime.open(&[runtime.plugin(guest, "")]);
        let cancel = CancellationToken::new();
        let call = runtime.call_until(&*session.tools[0], json!({}), cancel.clone());
        let (error, ()) = tokio::join!(call, async { cancel.cancel() });
        assert_eq!(told(&error.unwrap_err()), ("cancelled", "the call was cancelled"), "{guest}");
    }
}

#[tokio::test]
async fn a48_a_guest_can_see_that_it_was_cancelled() {
    let (log, runtime) = (Log::default(), Runtime::new());
    let _guard = log.capture();
    let session = runtime.open(&[runtime.plugin("cancel", "")]);
    let cancel = CancellationToken::new();
    let call = runtime.call_until(&*session.tools[0], json!({}), cancel.clone());
    let stop = async {
        runtime.events.wait(1).await;
        cancel.cancel();
    };
    let (error, ()) = tokio::join!(call, stop);
    assert_eq!(told(&error.unwrap_err()).0, "cancelled");
    assert!(log.text().contains("told to stop"), "{}", log.text());
}

#[tokio::test]
async fn a3_memory_ends_at_its_limit() {
    let runtime = Runtime::new();
    // 64 MiB, of which the guest had 128 KiB from the start.
    assert_eq!(runtime.run("memory", "", json!({})).await.unwrap(), "63");
    let small = "[limits]\nmemory = \"2 MiB\"";
    assert_eq!(runtime.run("memory", small, json!({})).await.unwrap(), "1");
    let message = "the plugin was stopped: it wanted more memory than 64 MiB";
    fails(&runtime, "memory-trap", json!({}), "limit", message).await;
}

#[tokio::test]
async fn a3_tables_end_at_their_limit() {
    assert_eq!(Runtime::new().run("table", "", json!({})).await.unwrap(), "20");
}

#[tokio::test]
async fn a4_deep_recursion_is_an_error() {
    let message = "the plugin was stopped: its calls nest too deeply";
    fails(&Runtime::new(), "recursion", json!({}), "limit", message).await;
}

#[tokio::test]
async fn a7_floods_of_output_are_refused() {
    let runtime = Runtime::new();
    let message = "the answer has 1048577 bytes; at most 1048576: ask for less";
    fails(&runtime, "output", json!({ "n": 1_048_577 }), "limit", message).await;
    let error = runtime.run("output", "", json!({ "n": 30_000_000 })).await.unwrap_err();
    assert!(told(&error).0 == "limit" && told(&error).1.contains("too much data"), "{error}");
    assert_eq!(runtime.run("output", "", json!({ "n": 1_048_576 })).await.unwrap().len(), 1 << 20);
    let error = runtime.run("overrun", "", json!({})).await.unwrap_err();
    assert_eq!(told(&error).0, "internal", "{error}");
}

#[tokio::test]
async fn a9_a_trap_ends_one_call_and_not_the_next() {
    let runtime = Runtime::new();
    for lifecycle in ["call", "session"] {
        let plugin = runtime.plugin("trap", &format!("lifecycle = \"{lifecycle}\""));
        let session = runtime.open(&[plugin]);
        for _ in 0..3 {
            let error = runtime.call(&*session.tools[0], json!({ "n": 1 })).await.unwrap_err();
            assert_eq!(
                told(&error),
                ("internal", "the plugin failed: wasm trap: wasm `unreachable` instruction executed")
            );
            let outcome = runtime.call(&*session.tools[0], json!({ "n": 7 })).await.unwrap();
            assert_eq!(outcome.for_model(), "7");
        }
    }
}

#[tokio::test]
async fn a8_open_handles_end_at_their_limit() {
    let message = "the plugin was stopped: it has more than 4096 open files and streams";
    fails(&Runtime::new(), "handles", json!({}), "limit", message).await;
}

/// Handles of the guest's own, which no host function sees.
#[tokio::test]
async fn a8_a_leak_of_its_own_handles_ends_at_its_limit() {
    let leak = "(type $r (resource (rep i32))) (core func $new (canon resource.new $r)) (core module $m (import \"\" \
                \"new\" (func $new (param i32) (result i32))) (func $start (loop $more (drop (call $new (i32.const 1))) \
                (br $more))) (start $start)) (core instance (instantiate $m (with \"\" (instance (export \"new\" (func \
                $new))))))";
    let mut limits = Limits::default();
    limits.space.handles = 500;
    let runtime = Runtime::with(None, limits);
    let said = crate::limits::load(&runtime, guest::with_inner(guest::component("echo"), leak), "").await;
    assert_eq!(said, "the plugin was stopped: it holds more than 500 handles");
}

/// Each dies at its own deadline, whoever died before.
#[tokio::test]
async fn a5_a_deadline_is_that_of_one_call() {
    let runtime = hasty();
    let session = runtime.open(&[runtime.plugin("loop", ""), runtime.named("test:other", "loop", "")]);
    let [one, other] = session.tools.as_slice() else { panic!("two tools") };
    runtime.call(&**other, json!({})).await.unwrap_err();
    let timed = async |tool: &dyn Tool, later: Duration| {
        tokio::time::sleep(later).await;
        let begin = Instant::now();
        let error = runtime.call(tool, json!({})).await.unwrap_err();
        (told(&error).0.to_owned(), begin.elapsed())
    };
    let calls = [timed(&**one, Duration::ZERO), timed(&**one, SOON / 2), timed(&**other, SOON * 3 / 4)];
    for (kind, elapsed) in futures::future::join_all(calls).await {
        assert!(kind == "timeout" && elapsed >= SOON * 9 / 10, "{kind} after {elapsed:?}");
    }
}

/// What takes longer than those that die beside it, and no more than it may, is not ended with them: neither of another
/// plugin nor of the same one.
#[tokio::test]
async fn a5_whoever_keeps_to_its_time_outlives_those_that_do_not() {
    let mut limits = Limits::default();
    limits.time.cpu = SOON;
    let runtime = Runtime::with(None, limits);
    let session = runtime.open(&[runtime.plugin("loop", ""), runtime.plugin("nap", ""), runtime.plugin("trap", "")]);
    let [endless, nap, trap] = session.tools.as_slice() else { panic!("three tools") };
    // All are compiled before time is taken.
    runtime.call(&**nap, json!({})).await.unwrap();
    runtime.call(&**trap, json!({ "n": 1 })).await.unwrap_err();
    runtime.call(&**endless, json!({})).await.unwrap_err();
    let deaths = async {
        for _ in 0..2 {
            let (looped, trapped) =
                tokio::join!(runtime.call(&**endless, json!({})), runtime.call(&**trap, json!({ "n": 1 })));
            assert_eq!((told(&looped.unwrap_err()).0, told(&trapped.unwrap_err()).0), ("timeout", "internal"));
        }
    };
    // Three of them are asleep when the first of the others dies, and wake up after it.
    let naps = futures::future::join_all((0..3).map(|_| runtime.call(&**nap, json!({}))));
    let ((), naps) = tokio::join!(deaths, naps);
    for nap in naps {
        assert_eq!(nap.unwrap().for_model(), "250");
    }
}

/// More calls than there are places for instances: each place is free again.
#[tokio::test]
async fn a48_what_was_cancelled_holds_no_instance() {
    let runtime = Runtime::new();
    for lifecycle in ["call", "session"] {
        let sleep = runtime.named("test:sleep", "sleep", &format!("lifecycle = \"{lifecycle}\""));
        let session = runtime.open(&[sleep, runtime.plugin("echo", "")]);
        let [sleep, echo] = session.tools.as_slice() else { panic!("two tools") };
        for _ in 0..100 {
            let cancel = CancellationToken::new();
            let call = runtime.call_until(&**sleep, json!({}), cancel.clone());
            let (error, ()) = tokio::join!(call, async {
                cancel.cancel();
                cancel.cancel();
            });
            assert_eq!(told(&error.unwrap_err()).0, "cancelled");
            cancel.cancel();
        }
        runtime.call(&**echo, json!({})).await.unwrap();
    }
}

#[tokio::test]
async fn a29_random_numbers_are_capped() {
    // Of both kinds: of neither does the host make what was asked for, and the next call is as ever.
    let runtime = Runtime::new();
    for guest in ["random", "insecure"] {
        let error = runtime.run(guest, "", json!({})).await.unwrap_err();
        assert!(told(&error).0 == "internal" && told(&error).1.contains("65536"), "{guest}: {error}");
        assert!(runtime.run("echo", "", json!({})).await.is_ok());
    }
}

#[tokio::test]
async fn a28_nothing_is_inherited() {
    assert_eq!(Runtime::new().run("environment", "", json!({})).await.unwrap(), "0");
}

#[tokio::test]
async fn a_guest_ends_itself_and_not_the_host() {
    fails(&Runtime::new(), "exit", json!({}), "internal", "the plugin failed: it ended itself with exit code 1").await;
}

#[tokio::test]
async fn a7_a_flood_of_log_is_cut() {
    let (log, runtime) = (Log::default(), Runtime::new());
    let _guard = log.capture();
    assert_eq!(runtime.run("log", "", json!({})).await.unwrap(), "100000");
    let text = log.text();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("test:log")).collect();
    assert_eq!(lines.len(), 1001);
    assert!(lines.iter().all(|line| line.len() < 4500));
    assert!(lines[1000].contains("more than 1000 lines in a call"), "{}", lines[1000]);
}

#[tokio::test]
async fn a49_what_a_guest_writes_to_stdout_goes_to_the_log() {
    let (log, runtime) = (Log::default(), Runtime::new());
    let _guard = log.capture();
    runtime.run("stdout", "", json!({})).await.unwrap();
    assert!(log.text().contains("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}"), "{}", log.text());
    assert!(log.text().contains("test:stdout"), "{}", log.text());
}

#[tokio::test]
async fn storage_ends_at_its_quota_and_is_each_plugins_own() {
    let runtime = Runtime::new();
    let rights = "[capabilities]\nkv = { reason = \"keeps values\" }";
    assert_eq!(runtime.run("kv", rights, json!({ "n": 1 })).await.unwrap(), "1");
    assert_eq!(runtime.run("kv", rights, json!({ "n": 1 })).await.unwrap(), "2");
    let full = "the plugin's storage is full: 10000010 bytes are used, at most 10485760; delete what is not needed";
    assert_eq!(runtime.run("kv", rights, json!({ "n": 20 })).await.unwrap(), full);
    let other = runtime.open(&[runtime.named("other:kv", "kv", rights)]);
    let outcome = runtime.call(&*other.tools[0], json!({ "n": 1 })).await.unwrap();
    assert_eq!(outcome.for_model(), "1");
    let denied = "kv `project`: the plugin's manifest does not ask for it (the plugin's author must add it to \
                  the capabilities in plugin.toml)";
    assert_eq!(runtime.run("kv", "", json!({ "n": 1 })).await.unwrap(), denied);
}

/// What was logged on this thread.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(self.clone()).finish();
        tracing::subscriber::set_default(subscriber)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
