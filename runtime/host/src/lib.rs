//! WASM plugins: packages, sandbox, bindings. The only crate that names wasmtime.
//!
//! A plugin is a WebAssembly component that exports tools, panels, commands or hooks. It gets nothing but what the gate of the
//! running session allows, and every call has limits. Knows no wire format, no model and no disk layout of the
//! application; sessions, storage and files are ports. A room (module) uses only rooms listed before it:
//!
//! | room | what it decides |
//! |---|---|
//! | [`kernel_files`] | which files are no disk's |
//! | [`regular_file`] | opening and reading what is a file and nothing else |
//! | [`whole_file`] | files that come to be at once |
//! | [`links`] | where links lead, and opening without following any |
//! | [`limits`] | how much a plugin may use |
//! | [`manifest`] | what a plugin says of itself |
//! | [`origin`] | where a plugin is from, which decides what is kept for it |
//! | [`package`] | plugin files: what they are called, how they travel, who signed them, and the folder of installed ones |
//! | [`difference`] | what another version of a plugin asks for and offers beside the approved one |
//! | [`publishers`] | whom to believe |
//! | `crew` | the threads that compile |
//! | `engine` | the one wasmtime engine, its clock and its cache of compiled code |
//! | [`compile`] | compiling: the port for whoever does it where it can be ended, and the work itself |
//! | [`exec`] | programs that plugins run: the port, and what is closed around git |
//! | [`scope`] | what a session lends to its plugins, and the folders that guests see |
//! | [`kv`] | a plugin's own storage: the port and the quotas |
//! | `own_files` | the folders that belong to a plugin alone, and how much they hold |
//! | [`secrets`] | the port of the person's secrets, and what keeps them out of what a plugin gets and says |
//! | [`egress`] | requests to the network: where they may go, how they get there, and what comes back |
//! | [`record`] | what is remembered of a plugin's calls |
//! | `state` | what one store holds |
//! | `wasi` | WASI as guests have it |
//! | `imports` | what guests can ask the host for, one file for each interface |
//! | `bindings` | the generated types, and what guests export |
//! | `call_thread` | the thread that a call runs on |
//! | `instance` | one call: an instance, its deadline and its end |
//! | [`plugin_host`] | plugins as tools, panels, commands and hooks of a session |
//! | [`build`] | from a component and a `plugin.toml` to a plugin |
//! | [`install`] | what must hold before a plugin is kept |
//! | [`approval`] | a version that waits is used from now on |

pub mod approval;
mod bindings;
pub mod build;
mod call_thread;
pub mod compile;
mod crew;
pub mod difference;
pub mod egress;
mod engine;
pub mod exec;
pub mod full_disk;
mod imports;
pub mod install;
mod instance;
pub mod kernel_files;
pub mod kv;
pub mod limits;
pub mod links;
pub mod manifest;
pub mod origin;
mod own_files;
pub mod package;
pub mod plugin_host;
pub mod publishers;
pub mod record;
pub mod regular_file;
pub mod scope;
pub mod secrets;
mod state;
mod wasi;
pub mod whole_file;

/// What inputs cost is weighed by the tests.
#[cfg(test)]
#[global_allocator]
static SCALES: acp_runtime_agent::fuzz::Scales = acp_runtime_agent::fuzz::Scales;
