//! What it costs that each file of a guest is judged.
//!
//! `gate decision` is one question to the gate, links followed (bar: 5 µs in the middle). `100 reads` is a guest that opens
//! and reads a file of 4 KiB a hundred times, also over wasmtime's own WASI (bar: 3 times as long). `code-stats` is that
//! plugin over 50,000 small files, a part of them at a time, also over wasmtime's own WASI (bar: 1.5 times as long).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench that cannot be set up fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the doubles of the tests write plugin files")]

#[expect(dead_code, reason = "the tests use more of it")]
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

use std::path::Path;
use std::time::Duration;

use acp_runtime_agent::capability::{Effect, RootId, ToolName, WorkspacePath};
use acp_runtime_agent::gate::Origin;
use acp_runtime_agent::transcript::ToolCallId;
use acp_runtime_host::limits::Limits;
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

/// The parts of the project. Each is counted long before the plugin's own end of time, on any machine: what is cut short
/// takes as long with the view as without.
const PARTS: usize = 20;
/// Folders in a part, and files in a folder.
const FOLDERS: usize = 25;
const FILES: usize = 100;

/// 50,000 files in 500 folders.
fn project(root: &Path) {
    let text = "fn main() {\n    println!(\"Hello\");\n}\n\n".repeat(5);
    for folder in 0..PARTS * FOLDERS {
        let folder = root.join(format!("part-{}", folder % PARTS)).join(format!("folder-{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES {
            std::fs::write(folder.join(format!("file-{file}.rs")), &text).unwrap();
        }
    }
}

fn counts(criterion: &mut Criterion) {
    let executor = tokio::runtime::Runtime::new().unwrap();
    let mut limits = Limits::default();
    (limits.time.cpu, limits.time.wall) = (Duration::from_secs(60), Duration::from_secs(300));
    let runtime = Runtime::with(None, limits);
    project(&runtime.root);
    // Beside the folder that benches are built into.
    let bench = std::env::current_exe().unwrap();
    let file = bench.ancestors().nth(2).unwrap().join("plugins/code-stats.wasm");
    assert!(file.is_file(), "{} is not there: `cargo xtask plugins` builds it", file.display());
    let tool = runtime.open(&[runtime.load(&file)]).tools[0].clone();
    let stock = Stock::new(&std::fs::read(&file).unwrap());
    let whole = format!("| **Total** | {} |", FOLDERS * FILES);
    let with = async |arguments: String| {
        let arguments = serde_json::from_str(&arguments).unwrap();
        let counted = runtime.call(&*tool, arguments).await.unwrap().for_model();
        assert!(counted.contains(&whole), "{counted}");
    };
    let without = async |arguments: String| {
        let counted = stock.call(&runtime.root, "code-stats", &arguments).await;
        assert!(counted.contains(&whole), "{counted}");
    };
    // Each is measured over all parts: one after another, again and again.
    let mut parts = (0..PARTS).cycle().map(|part| json!({ "path": format!("part-{part}") }).to_string());
    let mut group = criterion.benchmark_group("code-stats");
    group.sample_size(PARTS);
    group.bench_function("with the view", |bencher| {
        bencher.iter(|| executor.block_on(with(parts.next().unwrap())));
    });
    group.bench_function("without the view", |bencher| {
        bencher.iter(|| executor.block_on(without(parts.next().unwrap())));
    });
    group.finish();
}

criterion_group!(benches, decisions, reads, counts);
criterion_main!(benches);
