//! Write acp-runtime plugins in Rust: tools, panels, slash commands and hooks, as WebAssembly components.
//!
//! A whole plugin:
//!
//! ```
//! use acp_plugin::{Call, Outcome, Result, Tool};
//! use schemars::JsonSchema;
//!
//! #[derive(serde::Deserialize, JsonSchema)]
//! struct Greet {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! impl Tool for Greet {
//!     const NAME: &str = "greet";
//!     const DESCRIPTION: &str = "Greets somebody by name.";
//!
//!     fn run(self, _call: &Call) -> Result<Outcome> {
//!         Ok(format!("Hello, {}!", self.name).into())
//!     }
//! }
//!
//! acp_plugin::export! { tools: [Greet] }
//! ```
//!
//! Build it for `wasm32-wasip2`. What the host offers is in [`http`], [`kv`], [`log`], [`plan`], [`process`], [`progress`],
//! [`prompt`], [`secrets`], [`session`], [`settings`] and [`workspace`]; `std::fs` sees the project's folders below
//! `/workspace`. There are no threads and no sockets.
//!
//! A call may run in a fresh instance, so statics do not last: keep state in [`kv`]. A panic ends the call and shows
//! the model that the plugin failed; answer with an [`Error`] instead.
//!
//! Outside WebAssembly the host is the double in `testing`, so a plugin's tests are plain `cargo test`.
//!
//! How it is tested: `tests.rs` defines a plugin of each sort and drives it through the double; the crates in
//! `plugins/` are built as components and run in the real host.

mod bindings;
pub mod command;
mod error;
mod export;
pub mod hook;
mod host;
pub mod names;
pub mod panel;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod tool;

pub use crate::command::{Command, Reply};
pub use crate::error::{Error, ErrorKind, Result};
pub use crate::hook::{Decision, Event, EventKind, Hook, Occurrence};
pub use crate::host::{http, kv, log, plan, process, progress, prompt, secrets, session, settings, workspace};
pub use crate::panel::{Acting, Action, Node, Panel, Style, View};
pub use crate::tool::{Call, Outcome, SideEffect, Tool};

#[cfg(test)]
mod tests;

/// For the code that [`export!`] makes.
#[doc(hidden)]
pub mod rt {
    pub use crate::bindings::{command, hooks, imports, panel, tool};
}
