//! What guests can ask the host for: one file for each interface of `aar:host`.
//!
//! Each function turns its arguments into effects, asks the gate, and acts. A refusal is a value for the guest, never
//! a trap. Nothing here names a generated type, so that several versions of the interfaces can share it. Tested by the
//! guests in `tests/it`.

pub(crate) mod http;
pub(crate) mod kv;
pub(crate) mod log;
pub(crate) mod panel;
pub(crate) mod plan;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod prompt;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod workspace;
