//! The one wasmtime engine: its settings, its slots, its clock and its cache of compiled code.
//!
//! Instances come from a pool of slots, sized for the biggest guest; where the address space is too small for that,
//! from ordinary allocations. Knows nothing about what guests import or export. Tested in `tests/it/cache.rs` and by
//! the hostile guests.

mod cache;
mod clock;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Component;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use self::cache::CompileCache;
use self::clock::Clock;
pub(crate) use self::clock::TICK;
use crate::limits::{MEMORY_RANGE, SpaceLimits};
use crate::package::Digest;

/// Instances that exist at the same time in one process; further calls wait.
const SLOTS: u32 = 64;
/// The stack that guest code may use, in bytes.
const GUEST_STACK: usize = 512 << 10;
/// The whole stack of a call, host functions included, in bytes.
const CALL_STACK: usize = 1 << 20;

/// Why there is no engine.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the WebAssembly engine cannot be started: {0}")]
pub(crate) struct EngineError(String);

/// Where instances get their memory from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allocation {
    /// Slots that are reserved beforehand: an instance costs microseconds.
    Pool,
    /// From the system, each time.
    OnDemand,
}

/// The engine and what belongs to it.
pub(crate) struct HostEngine {
    engine: Engine,
    clock: Clock,
    slots: Arc<Semaphore>,
    cache: Option<CompileCache>,
}

impl HostEngine {
    /// Starts the engine. Compiled code is kept in `cache`, where there is one.
    pub(crate) fn new(cache: Option<PathBuf>) -> Result<Self, EngineError> {
        let pooled = Self::start(Allocation::Pool);
        let engine = pooled.or_else(|error| {
            tracing::warn!("no pool of instances ({error:#}): plugin calls will be slower");
            Self::start(Allocation::OnDemand)
        });
        let engine = engine.map_err(|error| EngineError(format!("{error:#}")))?;
        let clock = Clock::start(&engine).map_err(|error| EngineError(error.to_string()))?;
        let cache = cache.map(|folder| CompileCache::new(folder, &engine));
        Ok(Self { engine, clock, slots: Arc::new(Semaphore::new(SLOTS as usize)), cache })
    }

    fn start(allocation: Allocation) -> wasmtime::Result<Engine> {
        let mut config = Config::new();
        config.epoch_interruption(true).max_wasm_stack(GUEST_STACK).async_stack_size(CALL_STACK);
        config.wasm_backtrace_max_frames(std::num::NonZeroUsize::new(8));
        match allocation {
            Allocation::Pool => {
                config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
            }
            Allocation::OnDemand => {
                // No reservations: address space is what is short.
                config.memory_reservation(0).memory_guard_size(0).memory_reservation_for_growth(1 << 20);
            }
        }
        Engine::new(&config)
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

    /// The component, from the cache or compiled now. Takes as long as compiling does: not for async threads.
    pub(crate) fn component(&self, bytes: &[u8], digest: Digest) -> wasmtime::Result<Component> {
        if let Some(component) = self.cache.as_ref().and_then(|cache| cache.load(&self.engine, digest)) {
            return Ok(component);
        }
        let component = Component::from_binary(&self.engine, bytes)?;
        if let Some(cache) = &self.cache {
            cache.store(&component, digest);
        }
        Ok(component)
    }
}

/// Slots for as much as the limits allow to every instance; only address space is reserved for them.
fn pool() -> PoolingAllocationConfig {
    let space = SpaceLimits::default();
    let each = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(SLOTS);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(each(space.instances))
        .total_memories(each(space.memories))
        .total_tables(each(space.tables))
        .total_stacks(SLOTS)
        .max_memory_size(usize::try_from(*MEMORY_RANGE.end()).unwrap_or(usize::MAX))
        .table_elements(space.table_elements)
        .max_tables_per_module(8)
        .max_memories_per_module(4)
        .max_component_instance_size(4 << 20)
        .max_unused_warm_slots(8)
        .linear_memory_keep_resident(64 << 10)
        .table_keep_resident(16 << 10);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_engine_run_code() {
        for allocation in [Allocation::Pool, Allocation::OnDemand] {
            let engine = HostEngine::start(allocation).unwrap();
            let bytes =
                wat::parse_str("(component (core module $m (memory 1)) (core instance (instantiate $m)))").unwrap();
            let component = Component::from_binary(&engine, &bytes).unwrap();
            let mut store = wasmtime::Store::new(&engine, ());
            store.set_epoch_deadline(1);
            wasmtime::component::Linker::new(&engine).instantiate(&mut store, &component).unwrap();
        }
    }
}
