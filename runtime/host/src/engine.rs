//! The one wasmtime engine: its settings, its slots, its clock and its cache of compiled code.
//!
//! Instances come from a pool of slots, sized for the biggest guest; where the address space is too small for that,
//! from ordinary allocations. Knows nothing about what guests import or export. Tested in `tests/it/cache.rs` and by
//! the hostile guests.

mod cache;
mod clock;

use std::path::PathBuf;
use std::sync::Arc;

use acp_runtime_agent::plain;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Component;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use self::cache::CompileCache;
use self::clock::Clock;
pub(crate) use self::clock::TICK;
use crate::limits::{MEMORY_RANGE, Slots};
use crate::package::Digest;

/// Instances that exist at the same time in one process; further calls wait.
const SLOTS: u32 = 64;
/// What the host's own functions have of the stack of a call, in bytes.
const HOST_STACK: usize = 512 << 10;

/// Why there is no engine.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the WebAssembly engine cannot be started: {0}")]
pub(crate) struct EngineError(String);

/// Where instances get their memory from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// Slots that are reserved beforehand: an instance costs microseconds.
    Pool,
    /// From the system, each time.
    OnDemand,
}

/// The engine and what belongs to it.
pub(crate) struct HostEngine {
    engine: Engine,
    allocation: Allocation,
    clock: Clock,
    slots: Arc<Semaphore>,
    cache: Option<CompileCache>,
}

impl HostEngine {
    /// Starts the engine, with room for instances of that size. Compiled code is kept in `cache`, where there is one.
    pub(crate) fn new(cache: Option<PathBuf>, widest: &Slots) -> Result<Self, EngineError> {
        let start = |allocation| Self::start(allocation, widest).map(|engine| (engine, allocation));
        let engine = start(Allocation::Pool).or_else(|error| {
            tracing::warn!("no pool of instances ({error:#}): plugin calls will be slower");
            start(Allocation::OnDemand)
        });
        let (engine, allocation) = engine.map_err(|error| EngineError(format!("{error:#}")))?;
        let clock = Clock::start(&engine).map_err(|error| EngineError(error.to_string()))?;
        let cache = cache.map(|folder| CompileCache::new(folder, &engine));
        Ok(Self { engine, allocation, clock, slots: Arc::new(Semaphore::new(SLOTS as usize)), cache })
    }

    fn start(allocation: Allocation, widest: &Slots) -> wasmtime::Result<Engine> {
        let mut config = settings(allocation);
        config.max_wasm_stack(widest.stack).async_stack_size(widest.stack + HOST_STACK);
        if allocation == Allocation::Pool {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(widest)));
        }
        Engine::new(&config)
    }

    /// Where its instances get their memory from.
    pub(crate) fn allocation(&self) -> Allocation {
        self.allocation
    }

    /// The engine itself.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What drives the guests' CPU deadlines.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Waits for the right to have one more instance.
    pub(crate) async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        self.slots.clone().acquire_owned().await.ok()
    }

    /// Whether so few slots are free that none should be held without need.
    pub(crate) fn is_crowded(&self) -> bool {
        self.slots.available_permits() < SLOTS as usize / 2
    }

    /// The component that was compiled before, where that is kept. Reads it: not for async threads.
    pub(crate) fn kept(&self, digest: Digest) -> Option<Component> {
        self.cache.as_ref()?.load(&self.engine, digest)
    }

    /// The component that was compiled just now, which is kept for the next time. Writes it: not for async threads.
    pub(crate) fn take(&self, code: &[u8], digest: Digest) -> wasmtime::Result<Component> {
        if let Some(cache) = &self.cache {
            cache.store(code, digest);
            // What is mapped from a file is shared, and goes when memory is short.
            if let Some(component) = cache.load(&self.engine, digest) {
                return Ok(component);
            }
        }
        // SAFETY: the code is the output of `precompile`, in this process or in one of this program that it has started
        // for that, and came from there by no way that anybody else can write to.
        #[expect(unsafe_code, reason = "what was compiled is to be run")]
        unsafe {
            Component::deserialize(&self.engine, code)
        }
    }
}

/// The settings that decide what code looks like. How it is run is no part of that, nor how its slots are reserved.
fn settings(allocation: Allocation) -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).wasm_backtrace_max_frames(std::num::NonZeroUsize::new(8));
    if allocation == Allocation::OnDemand {
        // No reservations: address space is what is short.
        config.memory_reservation(0).memory_guard_size(0).memory_reservation_for_growth(1 << 20);
    }
    config
}

/// The code of a component for an engine of that kind. Reserves nothing of what that engine would.
pub(crate) fn precompile(component: &[u8], allocation: Allocation) -> wasmtime::Result<Vec<u8>> {
    Engine::new(&settings(allocation))?.precompile_component(component)
}

/// The causes of an error in one bounded line, without the guest's stack.
pub(crate) fn told(error: &wasmtime::Error) -> String {
    let causes: Vec<String> = error
        .chain()
        .map(ToString::to_string)
        .filter(|cause| !cause.starts_with("error while executing at wasm backtrace"))
        .collect();
    plain::line(&causes.join(": "), 400)
}

/// Slots for as much as the limits allow to any instance; only address space is reserved for them.
fn pool(slots: &Slots) -> PoolingAllocationConfig {
    let most = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let each = |count: usize| most(count).saturating_mul(SLOTS);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(each(slots.instances))
        .total_memories(each(slots.memories))
        .total_tables(each(slots.tables))
        .total_stacks(SLOTS)
        .max_memory_size(usize::try_from(*MEMORY_RANGE.end()).unwrap_or(usize::MAX))
        .table_elements(slots.table_elements)
        .max_tables_per_module(most(slots.tables))
        .max_memories_per_module(most(slots.memories))
        .max_component_instance_size(4 << 20)
        .max_unused_warm_slots(8)
        .linear_memory_keep_resident(64 << 10)
        .table_keep_resident(16 << 10);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SpaceLimits;

    #[test]
    fn both_kinds_of_engine_run_code() {
        for allocation in [Allocation::Pool, Allocation::OnDemand] {
            let engine = HostEngine::start(allocation, &Slots::of(&SpaceLimits::default(), 512 << 10)).unwrap();
            let bytes =
                wat::parse_str("(component (core module $m (memory 1)) (core instance (instantiate $m)))").unwrap();
            let code = precompile(&bytes, allocation).unwrap();
            // SAFETY: it was compiled a line before.
            #[expect(unsafe_code, reason = "what was compiled is to be run")]
            let component = unsafe { Component::deserialize(&engine, code) }.unwrap();
            let mut store = wasmtime::Store::new(&engine, ());
            store.set_epoch_deadline(1);
            wasmtime::component::Linker::new(&engine).instantiate(&mut store, &component).unwrap();
        }
    }
}
