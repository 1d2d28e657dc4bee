//! acp-runtime: an ACP agent whose tools, commands and panels are sandboxed WASM components.

pub mod acp;
pub mod audit;
pub mod cli;
pub mod compose;
pub mod models;
pub mod settings;
pub mod store;
pub mod tools;
pub mod transport;
pub mod workspace;
