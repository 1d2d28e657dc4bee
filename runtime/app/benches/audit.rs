//! What it costs that a decision of the gate is kept: its line, the chain that it hangs on, and the disk.
#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up fails by panicking")]

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use acp_runtime::audit::{AuditLog, Bounds};
use acp_runtime::redaction::Redaction;
use acp_runtime_agent::capability::{Effect, PluginId, ToolName};
use acp_runtime_agent::gate::{AuditEntry, Origin};
use acp_runtime_agent::transcript::{SessionId, ToolCallId};
use criterion::{Criterion, criterion_group, criterion_main};

/// Decisions of one session: they all fit into the queue, so none is lost.
const DECISIONS: u64 = 2000;

fn records(criterion: &mut Criterion) {
    let origin = Origin::Model { call: ToolCallId::new("call-1"), tool: ToolName::new("echo__run").unwrap() };
    let effect = Effect::CallPlugin(PluginId::new("test:echo").unwrap(), ToolName::new("run").unwrap());
    let bounds = Bounds { file: NonZeroU64::MAX, files: 0 };
    criterion.bench_function("audit of a decision", |bencher| {
        bencher.iter_custom(|times| {
            let mut elapsed = Duration::ZERO;
            for begin in (0..times).step_by(usize::try_from(DECISIONS).unwrap()) {
                let folder = tempfile::tempdir().unwrap();
                let log = AuditLog::new(folder.path().join("audit"), bounds, Redaction::default());
                let sink = log.sink(SessionId::new("s"), Box::new(|_| None));
                let begun = Instant::now();
                for _ in begin..times.min(begin + DECISIONS) {
                    let (took, by) = (Duration::ZERO, "policy");
                    let entry =
                        AuditEntry { origin: &origin, effect: &effect, allowed: true, by, times: 1, bytes: None, took };
                    sink.record(entry);
                }
                // Until all of it is on the disk.
                drop((sink, log));
                elapsed += begun.elapsed();
            }
            elapsed
        });
    });
}

criterion_group!(benches, records);
criterion_main!(benches);
