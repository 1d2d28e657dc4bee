//! `imports`: a plugin that calls all that the host offers, and lists what it was answered.
//!
//! It calls each function of each interface that it can call with the handles that it is given, in whatever way has the
//! most effect, and each of the others by a handle that it makes up. `tests/it/imports.rs` knows every function that there is, and what must come of each.

mod bindings;
mod files;
mod forged;
mod host;
mod sockets;
mod system;
mod web;

use std::fmt::Debug;

use acp_plugin::{Call, Outcome, Result, Tool};

/// The arguments of `imports`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Imports {
    /// An address on which somebody listens.
    #[serde(default)]
    address: String,
    /// End itself by this function of `wasi:cli/exit`, instead of all else.
    #[serde(default)]
    exit: String,
    /// Call this function by a handle that was never given, instead of all else.
    #[serde(default)]
    forge: String,
    /// By the handle of something else, instead of one that there is not.
    #[serde(default)]
    other: bool,
}

impl Tool for Imports {
    const NAME: &str = "imports";
    const DESCRIPTION: &str = "Calls all that the host offers, and lists what it was answered.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        system::exit(&self.exit);
        if !self.forge.is_empty() {
            let port = self.address.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default();
            return Ok(Outcome::text(forged::call(&self.forge, port, self.other)));
        }
        let mut report = Report::default();
        host::call(&mut report, &self.address);
        system::call(&mut report);
        files::call(&mut report);
        sockets::call(&mut report);
        web::call(&mut report, &self.address);
        Ok(Outcome::text(report.0.join("\n")))
    }
}

/// A line for each function: its name, and what it has answered.
#[derive(Default)]
pub(crate) struct Report(Vec<String>);

impl Report {
    pub(crate) fn said(&mut self, function: &str, answer: impl Debug) {
        self.told(function, &format!("{answer:?}"));
    }

    pub(crate) fn told(&mut self, function: &str, answer: &str) {
        let answer: String = answer.chars().take(400).collect();
        self.0.push(format!("{function}: {answer}"));
    }
}

acp_plugin::export! { tools: [Imports] }
