//! Sessions from outside: a scripted model, fake tools, a store in memory; in go prompts, out come events. And the
//! matchers of rights, against models of them that are too simple to be wrong.

#![allow(clippy::unwrap_used, clippy::new_ret_no_self, reason = "a test fails by panicking")]

mod compaction;
mod doubles;
mod drafts;
mod hooks;
mod limits;
mod matchers;
mod outbox;
mod project;
mod room;
mod session;
mod sources;
mod turn;
