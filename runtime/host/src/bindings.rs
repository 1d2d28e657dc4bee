//! The generated types of the WIT packages, and what guests export.
//!
//! Each version of the interfaces has one room here that turns its types into the runtime's own; nothing outside sees a
//! generated type. A component may export any of the interfaces: each is looked up by itself. Tested by the guests in
//! `tests/it`.

mod tree;
mod v0_1;

use acp_runtime_agent::hook::{Occurrence, Verdict};
use acp_runtime_agent::panel::{PanelActing, PanelView};
use acp_runtime_agent::transcript::ToolOutcome;
use wasmtime::component::{InstancePre, Linker};

use crate::manifest::Inventory;
use crate::state::PluginState;
use crate::wasi;

/// What was done in the guest's own words, or why not.
#[derive(Debug)]
pub(crate) enum GuestError {
    /// The guest answered with an error.
    Said {
        /// `std:not-found` and so on, or the guest's own.
        kind: String,
        /// A sentence.
        message: String,
    },
    /// The component has no such interface.
    Missing(&'static str),
    /// What the guest answered is not acceptable.
    Refused(String),
    /// What the guest answered is more than it may.
    TooMuch(String),
    /// The guest trapped, or the engine stopped it.
    Stopped(wasmtime::Error),
}

/// The circumstances of a tool call, for the guest.
#[derive(Debug)]
pub(crate) struct CallContext {
    pub(crate) call: String,
    pub(crate) session: String,
}

/// A running instance, of whatever version of the interfaces.
pub(crate) struct Guest(v0_1::Guest);

/// What a compiled component exports, looked up once.
pub(crate) struct Exports(v0_1::Exports);

/// Puts everything that guests may import into the linker.
pub(crate) fn link(linker: &mut Linker<PluginState>) -> wasmtime::Result<()> {
    wasi::link(linker)?;
    v0_1::link(linker)
}

impl Exports {
    pub(crate) fn of(component: &InstancePre<PluginState>) -> Self {
        Self(v0_1::Exports::of(component))
    }

    /// Whether there is any interface that this version knows.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Guest {
    pub(crate) fn new(store: wasmtime::Store<PluginState>, instance: wasmtime::component::Instance) -> Self {
        Self(v0_1::Guest::new(store, instance))
    }

    pub(crate) fn state(&mut self) -> &mut PluginState {
        self.0.state()
    }

    pub(crate) fn store(&mut self) -> &mut wasmtime::Store<PluginState> {
        self.0.store()
    }

    /// Everything that the guest says that it offers; not yet checked.
    pub(crate) async fn inventory(&mut self, exports: &Exports) -> Result<Inventory, GuestError> {
        self.0.inventory(&exports.0).await
    }

    pub(crate) async fn call(
        &mut self,
        exports: &Exports,
        tool: &str,
        arguments: &String,
        context: CallContext,
    ) -> Result<ToolOutcome, GuestError> {
        self.0.call(&exports.0, tool, arguments, context).await
    }

    pub(crate) async fn snapshot(&mut self, exports: &Exports, panel: &str) -> Result<PanelView, GuestError> {
        self.0.snapshot(&exports.0, panel).await
    }

    pub(crate) async fn act(
        &mut self,
        exports: &Exports,
        panel: &str,
        acting: PanelActing,
    ) -> Result<Option<String>, GuestError> {
        self.0.act(&exports.0, panel, acting).await
    }

    /// What its hook says to an event.
    pub(crate) async fn handle(&mut self, exports: &Exports, occurrence: &Occurrence) -> Result<Verdict, GuestError> {
        self.0.handle(&exports.0, occurrence).await
    }

    /// The text for the person, and the prompt for the model where there is one.
    pub(crate) async fn run(
        &mut self,
        exports: &Exports,
        command: &str,
        arguments: &str,
    ) -> Result<(String, Option<String>), GuestError> {
        self.0.run(&exports.0, command, arguments).await
    }
}
