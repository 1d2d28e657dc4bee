//! What it costs that each file of a guest is judged.
//!
//! `gate decision` is one question to the gate, links followed (bar: 5 µs in the middle). `100 reads` is a guest that opens
//! and reads a file of 4 KiB a hundred times, also over wasmtime's own WASI (bar: 3 times as long).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot be set up fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the doubles of the tests write plugin files")]

#[path = "../tests/it/guest.rs"]
mod guest;
#[path = "../tests/it/scripted.rs"]
mod scripted;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/site.rs"]
mod site;
#[path = "files/stock.rs"]
mod stock;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/support.rs"]
mod support;

use acp_runtime_agent::capability::{Effect, RootId, ToolName, WorkspacePath};
use acp_runtime_agent::gate::Origin;
use acp_runtime_agent::transcript::ToolCallId;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

use crate::stock::Stock;
use crate::support::Runtime;

const READS: &str = "[capabilities]\nfs.read = [{ glob = \"**\", reason = \"reads\" }]";

fn decisions(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let runtime = Runtime::new();
    std::fs::write(runtime.root.join("file"), "x").unwrap();
    let gate = runtime.gate();
    let origin = Origin::Model { call: ToolCallId::new("call-1"), tool: ToolName::new("read_file").unwrap() };
    let effect = Effect::Read(WorkspacePath::new(RootId(0), "file").unwrap().scope());
    criterion.bench_function("gate decision", |bencher| {
        bencher.iter(|| executor.block_on(gate.authorize(origin.clone(), vec![effect.clone()])).unwrap());
    });
}

fn reads(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let runtime = Runtime::new();
    std::fs::write(runtime.root.join("file"), [b'x'; 4096]).unwrap();
    let session = runtime.open(&[runtime.plugin("reads", READS)]);
    let tool = session.tools[0].clone();
    criterion.bench_function("100 reads", |bencher| {
        bencher.iter(|| executor.block_on(runtime.call(&*tool, json!({ "n": 100 }))).unwrap());
    });
    let stock = Stock::new(&guest::component("reads"));
    criterion.bench_function("100 reads without the view", |bencher| {
        bencher.iter(|| executor.block_on(stock.call(&runtime.root, "run", "{\"n\":100}")));
    });
}

criterion_group!(benches, decisions, reads);
criterion_main!(benches);
