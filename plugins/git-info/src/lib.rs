//! `git-info`: what a git repository has to say.
//!
//! A tool for the model and a panel for people. Runs git with the command lines of `plugin.toml`, and nothing else; reads
//! what it writes for programs. Tested natively with the SDK's double as the host, which plays git.

mod git;
mod panel;
mod status;
mod tool;

#[cfg(test)]
mod tests;

pub use crate::panel::GitPanel;
pub use crate::tool::GitInfo;

acp_plugin::export! {
    tools: [GitInfo],
    panels: [GitPanel],
}
