//! Between the agent's own types and ACP's: total conversions in both directions, and nothing else.
//!
//! Every line that is made here stays below 48 KiB, whatever the model, a tool or a plugin produced (a question to the
//! person: 256 KiB). Wire types stop at this room. Knows no connection and no session. Tested by tables.

mod ask;
mod elicit;
mod fork;
mod newer;
mod options;
mod plan;
mod prompt;
mod screen;
mod servers;
mod session;
mod setup;
mod size;
mod tool;
mod trace;
mod update;

pub(super) use ask::{Question, approval, question};
pub(super) use elicit::{form, page, reply};
pub(super) use fork::{fork_capability, fork_point};
pub(super) use newer::Update;
pub(super) use options::{SetModelRequest, SetOptionRequest, options};
pub(super) use prompt::{PromptRequest, parts};
pub(super) use servers::take_server_entries;
pub(super) use session::{capabilities, last_activity, modes, session_info, stop_reason};
pub(super) use setup::{folder, setup};
pub(super) use size::escaped_len;
pub(super) use trace::trace;
pub(super) use update::{Narrator, Told};
