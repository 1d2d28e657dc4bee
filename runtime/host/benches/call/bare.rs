//! A call of a guest's tool with wasmtime alone, with and without what keeps it within its limits.

use acp_runtime_host::limits::Limits;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable, Val};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// A compiled guest.
pub(crate) struct Bare {
    engine: Engine,
    guest: InstancePre<State>,
    limits: Option<Limits>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    limits: Option<Limits>,
    ticks: u64,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.limits.as_ref().is_none_or(|limits| desired as u64 <= limits.space.memory))
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.limits.as_ref().is_none_or(|limits| desired <= limits.space.table_elements))
    }
}

impl Bare {
    /// The guest, which is kept to `limits` where there are any.
    pub(crate) fn new(component: &[u8], limits: Option<Limits>) -> Self {
        let mut config = Config::new();
        config.epoch_interruption(limits.is_some());
        config.allocation_strategy(InstanceAllocationStrategy::pooling());
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let guest = linker.instantiate_pre(&component).unwrap();
        Self { engine, guest, limits }
    }

    /// Calls the tool `run` in a fresh instance.
    pub(crate) async fn call(&self, arguments: &str) {
        let limits = self.limits.clone();
        let mut table = ResourceTable::new();
        if let Some(limits) = &limits {
            table.set_max_capacity(limits.space.resources);
        }
        let ticks = limits.as_ref().map_or(0, |limits| limits.time.cpu.as_secs() * 100);
        let wall = limits.as_ref().map(|limits| limits.time.wall);
        let state = State { wasi: WasiCtxBuilder::new().build(), table, limits, ticks };
        let mut store = Store::new(&self.engine, state);
        if let Some(limits) = &self.limits {
            store.limiter(|state| state);
            store.set_hostcall_fuel(limits.traffic.crossing);
            store.set_max_component_handles(limits.space.handles);
            store.set_epoch_deadline(1);
            store.epoch_deadline_callback(|mut store| {
                let state = store.data_mut();
                state.ticks = state.ticks.saturating_sub(1);
                Ok(if state.ticks > 0 { UpdateDeadline::Yield(1) } else { UpdateDeadline::Interrupt })
            });
        }
        let work = async {
            let instance = self.guest.instantiate_async(&mut store).await.unwrap();
            let interface = instance.get_export_index(&mut store, None, "aar:tool/tool@0.1.0").unwrap();
            let call = instance.get_export_index(&mut store, Some(&interface), "call").unwrap();
            let call = instance.get_func(&mut store, call).unwrap();
            let text = |text: &str| Val::String(text.to_owned());
            let context = Val::Record(vec![
                ("call-id".to_owned(), text("")),
                ("session-id".to_owned(), text("")),
                ("deadline-ms".to_owned(), Val::U64(1000)),
                ("extra".to_owned(), Val::List(Vec::new())),
            ]);
            let mut outcome = [Val::Bool(false)];
            call.call_async(&mut store, &[text("run"), text(arguments), context], &mut outcome).await.unwrap();
            assert!(matches!(outcome, [Val::Result(Ok(_))]), "{outcome:?}");
        };
        match wall {
            Some(wall) => tokio::time::timeout(wall, work).await.unwrap(),
            None => work.await,
        }
    }
}
