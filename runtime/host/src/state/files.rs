//! What a guest sees of the session's folders, and which path each of its handles stands for.

use std::collections::HashMap;

use acp_runtime_agent::gate::Way;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::Descriptor;

use crate::scope::Mounted;

/// The folders of one store, and the paths behind its handles.
#[derive(Default)]
pub(crate) struct Files {
    mounted: Vec<Mounted>,
    /// By the handle's number. Every handle is entered when it is made, so one that was given back is never asked for.
    ways: HashMap<u32, Way>,
}

impl Files {
    pub(super) fn new(mounted: Vec<Mounted>) -> Self {
        Self { mounted, ways: HashMap::new() }
    }

    /// The folders that the guest begins with.
    pub(crate) fn mounted(&self) -> &[Mounted] {
        &self.mounted
    }

    /// Gives the guest a handle for what stands at `way`.
    pub(crate) fn enter(
        &mut self,
        table: &mut ResourceTable,
        descriptor: Descriptor,
        way: Way,
    ) -> wasmtime::Result<Resource<Descriptor>> {
        let handle = table.push(descriptor)?;
        self.ways.insert(handle.rep(), way);
        Ok(handle)
    }

    /// Which path the handle stands for.
    pub(crate) fn way(&self, handle: &Resource<Descriptor>) -> Option<&Way> {
        self.ways.get(&handle.rep())
    }
}
