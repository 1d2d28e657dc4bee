//! Between the agent's own types and ACP's: total conversions in both directions, and nothing else.
//!
//! Every line that is made here stays below 48 KiB, whatever the model, a tool or a plugin produced (a question to the
//! person: 256 KiB). Wire types stop at this room. Knows no connection and no session. Tested by tables.

mod ask;
mod elicit;
mod options;
mod prompt;
mod session;
mod size;
mod tool;
mod update;

pub(super) use ask::{Question, approval, question};
pub(super) use elicit::{form, page, reply};
pub(super) use options::{SetModelRequest, SetOptionRequest, options};
pub(super) use prompt::parts;
pub(super) use session::{capabilities, directories, modes, session_info, stop_reason};
pub(super) use size::escaped_len;
pub(super) use update::{Told, updates};
