//! Scenarios over the real binary. A module whose name begins with `slow_` belongs to the slow tier.
#![expect(clippy::expect_used, reason = "what a scenario cannot do without fails it, loudly")]

mod architecture;
mod cli;
mod crash;
mod foreign;
mod hostile_wire;
mod models;
mod panels;
mod session;
mod session_files;
mod session_history;
mod wit;
