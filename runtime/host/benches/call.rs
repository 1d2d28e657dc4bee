//! What one call of a plugin's tool costs, and what loading compiled code costs.
//!
//! `call` is the whole way in process: arguments against the schema, the gate, a fresh instance, the guest, its outcome
//! (bar: 50 µs in the middle). `bare call` and `limited call` are wasmtime alone, without and with what keeps a guest within
//! its limits: what these cost is the difference. `hook` is what each hook adds to a call. `load from the cache` is reading, hashing and mapping (bar: 1 ms), `open 50 plugins` what
//! a new session costs (bar: 1 ms).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot be set up fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the doubles of the tests write plugin files")]

#[path = "call/bare.rs"]
mod bare;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/guest.rs"]
mod guest;
#[path = "../tests/it/scripted.rs"]
mod scripted;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/site.rs"]
mod site;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/support.rs"]
mod support;

use acp_runtime_agent::capability::HookEvent;
use acp_runtime_agent::hook::Occurrence;
use acp_runtime_agent::transcript::SessionId;
use acp_runtime_host::build;
use acp_runtime_host::limits::Limits;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

use crate::bare::Bare;
use crate::support::Runtime;

const READS: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]";

fn calls(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let runtime = Runtime::new();
    for (name, toml) in [("call", ""), ("call with a folder", READS), ("warm call", "lifecycle = \"session\"")] {
        let session = runtime.open(&[runtime.plugin("echo", toml)]);
        let tool = session.tools[0].clone();
        executor.block_on(runtime.call(&*tool, json!({}))).unwrap();
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| executor.block_on(runtime.call(&*tool, json!({ "a": "b" }))).unwrap());
        });
    }
}

fn limits(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    for (name, limits) in [("bare call", None), ("limited call", Some(Limits::default()))] {
        let bare = Bare::new(&guest::component("echo"), limits);
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| executor.block_on(bare.call("{\"a\":\"b\"}")));
        });
    }
}

fn loads(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let runtime = Runtime::with(Some(folder.path().join("compiled")), Limits::default());
    let first = runtime.plugin("echo", "");
    executor.block_on(runtime.host.warm(std::slice::from_ref(&first)));
    criterion.bench_function("load from the cache", |bencher| {
        bencher.iter_batched(
            || runtime.plugin("echo", ""),
            |plugin| executor.block_on(runtime.host.warm(&[plugin])),
            criterion::BatchSize::PerIteration,
        );
    });
    criterion.bench_function("open 50 plugins", |bencher| {
        let plugins: Vec<_> = (0..50).map(|n| runtime.named(&format!("test:p{n}"), "echo", READS)).collect();
        bencher.iter(|| runtime.open(&plugins));
    });
}

/// What a hook costs that has nothing to say: the gate, a fresh instance, the guest.
fn hooks(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let runtime = Runtime::new();
    let asks = "[capabilities]\nhooks = [{ event = \"tool-call\", reason = \"looks on\" }]\n\
                [settings]\ntype = \"object\"";
    let toml = support::manifest("test:hook", asks);
    let plugin = executor.block_on(build::embed(&runtime.host, &guest::component("hook"), &toml)).unwrap();
    let path = runtime.project.path().join("hook.wasm");
    std::fs::write(&path, plugin).unwrap();
    let plugin = runtime.load(&path);
    let mut runtime = runtime;
    runtime.settings.insert(plugin.id().clone(), json!({ "n": 0 }));
    let hook = runtime.open(&[plugin]).hooks[0].clone();
    let told = Occurrence {
        event: HookEvent::ToolCall,
        session: SessionId::new("s"),
        call: None,
        payload: json!({ "tool": "write_file", "arguments": { "path": "a", "text": "x".repeat(1000) } }).to_string(),
        truncated: false,
        masked: false,
    };
    executor.block_on(hook.handle(&told)).unwrap();
    criterion.bench_function("hook", |bencher| {
        bencher.iter(|| executor.block_on(hook.handle(&told)).unwrap());
    });
}

criterion_group!(benches, calls, limits, hooks, loads);
criterion_main!(benches);
