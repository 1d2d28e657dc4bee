//! acp-runtime: an ACP agent whose tools, commands and panels are sandboxed WASM components.

#![cfg_attr(
    test,
    allow(
        clippy::cast_precision_loss,
        clippy::disallowed_methods,
        clippy::format_collect,
        clippy::needless_raw_string_hashes,
        clippy::redundant_closure_for_method_calls,
        clippy::unnecessary_literal_bound,
        clippy::unnecessary_wraps,
        reason = "tests say what they mean the shortest way"
    )
)]

pub mod acp;
pub mod address;
pub mod audit;
pub mod authoring;
pub mod cli;
pub mod compose;
pub mod mcp;
pub mod models;
pub mod process;
pub mod programs;
pub mod redaction;
pub mod registry;
pub mod secret;
pub mod secrets;
pub mod settings;
pub mod store;
pub mod terminal;
pub mod tools;
pub mod transport;
pub mod workspace;

/// What inputs cost is weighed by the tests.
#[cfg(test)]
#[global_allocator]
static SCALES: acp_runtime_agent::fuzz::Scales = acp_runtime_agent::fuzz::Scales;
