//! `capabilities.exec`: the programs that a plugin wants to run.

use acp_runtime_agent::capability::{Grant, RunPattern, RunRight};
use serde::{Deserialize, Serialize};

use super::super::{Capability, ManifestError, at_most};
use super::required;

/// One program with its arguments.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "`{ program = \"…\", arguments = […], reason = \"…\" }`")]
pub(super) struct RunLine {
    program: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env: Vec<String>,
    reason: String,
}

pub(super) fn check(lines: Vec<RunLine>) -> Result<Vec<Capability>, ManifestError> {
    const FIELD: &str = "capabilities.exec";
    at_most(FIELD, lines.len(), 64)?;
    let checked = lines.into_iter().map(|RunLine { program, arguments, env, reason }| {
        at_most(&format!("{FIELD}.arguments"), arguments.len(), 64)?;
        at_most(&format!("{FIELD}.env"), env.len(), 16)?;
        let right = RunRight::new(RunPattern { program, arguments }, &env)
            .map_err(|error| ManifestError::value(FIELD, error.to_string()))?;
        let reason = required(&format!("{FIELD}.reason"), &reason, 200)?;
        Ok(Capability { grant: Grant::Run(right), reason, preopen: false })
    });
    checked.collect()
}
