//! `code-stats`: how large a project is, by language and by file.
//!
//! A tool for the model and a panel for people. Reads files through `std::fs` below the session's roots and writes
//! nothing. Tested natively on folders made for the test, with the SDK's double as the host.

mod count;
mod languages;
mod panel;
mod report;
mod settings;
mod survey;
mod tool;

#[cfg(test)]
mod tests;

pub use crate::panel::CodeStatsPanel;
pub use crate::tool::CodeStats;

acp_plugin::export! {
    tools: [CodeStats],
    panels: [CodeStatsPanel],
}
