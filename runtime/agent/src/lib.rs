//! What a session is and what may happen in it.
//!
//! No I/O, no wire format, no sandbox: files, models, people, plugins and storage are ports that the other crates
//! implement. A room (module) uses only rooms listed before it:
//!
//! | room | what it decides |
//! |---|---|
//! | [`near`] | which known name a mistyped one meant |
//! | [`noun`] | a number and what it counts |
//! | [`plain`] | text of others, made harmless to show |
//! | [`capability`] | names, paths, effects and the rights to them |
//! | [`transcript`] | messages, tool calls, outcomes |
//! | [`trace`] | which trace of the client's a prompt belongs to |
//! | [`server`] | which MCP servers a session has, and how they are |
//! | [`panel`] | panels and how a request to one is resolved |
//! | [`policy`] | may this effect happen: the table |
//! | [`model`] | what a language model is |
//! | [`options`] | modes and config options: values, rules, what a change implies |
//! | [`gate`] | the only maker of permits |
//! | [`event`] | all that happens in a session |
//! | [`elicit`] | asking the person for values, as a port |
//! | [`terminal`] | running command lines, as a port |
//! | [`workspace`] | the project's files, as a port |
//! | [`tool`] | what the model can call |
//! | [`command`] | what a person can type |
//! | [`hook`] | what plugins are told of a session, and may stop or change |
//! | [`store`] | where sessions are kept, as a port |
//! | [`context`] | what the model is shown |
//! | [`outbox`] | the one order in which events are kept and shown |
//! | [`turn`] | one prompt to its stop |
//! | [`session`] | the actor: one mailbox, one turn, one order of events |

pub mod capability;
pub mod command;
pub mod context;
pub mod elicit;
pub mod event;
#[cfg(any(test, feature = "test-support"))]
pub mod fuzz;
pub mod gate;
pub mod hook;
pub mod model;
pub mod near;
pub mod noun;
pub mod options;
pub mod outbox;
pub mod panel;
pub mod plain;
pub mod policy;
pub mod server;
pub mod session;
pub mod store;
pub mod terminal;
pub mod tool;
pub mod trace;
pub mod transcript;
pub mod turn;
pub mod workspace;

/// What inputs cost is weighed by the tests.
#[cfg(test)]
#[global_allocator]
static SCALES: fuzz::Scales = fuzz::Scales;
