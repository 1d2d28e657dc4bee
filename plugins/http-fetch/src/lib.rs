//! `http-fetch`: what web services answer, laid out for a model.
//!
//! The network, its rules and the token are the host's; this is only what to ask for and how to show it. Tested natively,
//! with the SDK's double as the host and the network.

mod tool;

#[cfg(test)]
mod tests;

pub use crate::tool::HttpFetch;

acp_plugin::export! {
    tools: [HttpFetch],
}
