//! What the host offers, in Rust's own words: one file for each interface of `aar:host`.
//!
//! Every effect passes the host's gate. A refusal is an error of kind [`Denied`](crate::ErrorKind::Denied) that says
//! how to allow it. Outside WebAssembly the same functions act on the double in [`testing`](crate::testing).

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::imports::host as imports;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::testing::imports;

pub mod http;
pub mod kv;
pub mod log;
pub mod plan;
pub mod process;
pub mod progress;
pub mod prompt;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod workspace;
