//! `tasks`: a list of tasks that the model and people share.
//!
//! Tools for the model, a panel for people, and the session's plan as a mirror. The list belongs to the project and is
//! kept in the host's storage; two calls at the same time lose nothing. Tested natively with the SDK's double as host.

mod list;
mod panel;
mod shared;
mod tools;

#[cfg(test)]
mod tests;

pub use crate::panel::TasksPanel;
pub use crate::tools::{Add, Clear, Delete, Done, List, Start};

acp_plugin::export! {
    tools: [Add, List, Start, Done, Delete, Clear],
    panels: [TasksPanel],
}
