//! What a guest sees of the session's folders and of its own, and which path each of its handles stands for.

use std::collections::HashMap;
use std::sync::Arc;

use acp_runtime_agent::capability::OwnFolder;
use acp_runtime_agent::gate::Way;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::filesystem::Descriptor;

use crate::own_files::{FileId, Own};
use crate::scope::Mounted;

/// The folders of one store, and the places behind its handles.
#[derive(Default)]
pub(crate) struct Files {
    mounted: Vec<Mounted>,
    /// Which folders of its own the guest has a right to.
    granted: Vec<OwnFolder>,
    /// Those that it has looked at.
    own: Vec<Arc<Own>>,
    /// By the handle's number. Every handle is entered when it is made, so one that was given back is never asked for.
    places: HashMap<u32, Place>,
}

/// What a handle stands for.
#[derive(Clone)]
pub(crate) struct Place {
    /// The path.
    pub(crate) way: Way,
    /// In which folder of the plugin's own; none in the session's.
    pub(crate) own: Option<Arc<Own>>,
    /// Which file of that folder, where it is one.
    pub(crate) file: Option<FileId>,
}

impl Place {
    /// A place in the session's folders.
    pub(crate) fn lent(way: Way) -> Self {
        Self { way, own: None, file: None }
    }
}

impl Files {
    pub(super) fn new(mounted: Vec<Mounted>, granted: Vec<OwnFolder>) -> Self {
        Self { mounted, granted, own: Vec::new(), places: HashMap::new() }
    }

    /// The session's folders that the guest begins with.
    pub(crate) fn mounted(&self) -> &[Mounted] {
        &self.mounted
    }

    /// Which folders of its own it has a right to.
    pub(crate) fn granted(&self) -> &[OwnFolder] {
        &self.granted
    }

    /// Those that were opened.
    pub(crate) fn own(&self) -> &[Arc<Own>] {
        &self.own
    }

    /// Keeps those that were opened, for as long as the store lives.
    pub(crate) fn keep(&mut self, own: Vec<Arc<Own>>) {
        self.own = own;
    }

    /// Gives the guest a handle for what stands at `place`.
    pub(crate) fn enter(
        &mut self,
        table: &mut ResourceTable,
        descriptor: Descriptor,
        place: Place,
    ) -> wasmtime::Result<Resource<Descriptor>> {
        let handle = table.push(descriptor)?;
        self.places.insert(handle.rep(), place);
        Ok(handle)
    }

    /// What the handle stands for.
    pub(crate) fn place(&self, handle: &Resource<Descriptor>) -> Option<&Place> {
        self.places.get(&handle.rep())
    }
}
