//! `programs`: a plugin that runs whatever program it is told to, and says how that went. `tests/it/plugin_programs.rs`
//! knows how each must go.

use std::time::Duration;

use acp_plugin::process::Command;
use acp_plugin::{Call, Outcome, Result, SideEffect, Tool};

/// The arguments of `run`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Run {
    /// The program.
    program: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Vec<String>,
    /// Where it runs.
    #[serde(default)]
    folder: Option<String>,
    /// How long it may take, in milliseconds.
    #[serde(default)]
    milliseconds: Option<u64>,
    /// How often it is run.
    #[serde(default)]
    times: u32,
}

impl Tool for Run {
    const NAME: &str = "run";
    const DESCRIPTION: &str = "Runs a program, and says how that went.";
    const SIDE_EFFECTS: &[SideEffect] = &[SideEffect::Execute];

    fn run(self, _call: &Call) -> Result<Outcome> {
        let mut command = Command::new(self.program).args(self.arguments);
        if let Some(folder) = self.folder {
            command = command.current_dir(folder);
        }
        if let Some(milliseconds) = self.milliseconds {
            command = command.timeout(Duration::from_millis(milliseconds));
        }
        for _ in 1..self.times {
            command.clone().run()?;
        }
        Ok(Outcome::text(match command.run() {
            Ok(output) => format!(
                "{} {} {}",
                output.code.map_or_else(|| format!("signal {:?}", output.signal), |code| code.to_string()),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
            ),
            Err(error) => format!("{}: {}", error.kind().as_str(), error.message()),
        }))
    }
}

acp_plugin::export! { tools: [Run] }
