//! `acp-runtime plugin doctor`: which rule keeps a plugin from its hosts and its secrets.

use std::io::{self, Write as _};

use serde_json::Value;

use super::super::doctor::write_text;
use super::super::failure::Failure;
use super::{ambiguous, meant, unknown};
use crate::compose::checks::lent::{LentError, of_plugin};
use crate::compose::{KnownPlugin, Runtime};

pub(super) async fn doctor(runtime: &Runtime, plugin: Option<&str>, json: bool) -> Result<(), Failure> {
    let there = runtime.known();
    let all: Vec<&KnownPlugin> = match plugin {
        None => there.iter().collect(),
        Some(plugin) => match meant(&there, plugin).as_slice() {
            [known] => vec![*known],
            [] => return Err(unknown(&there, plugin)),
            several => return Err(ambiguous(plugin, several)),
        },
    };
    let mut out = io::stdout();
    for known in all {
        let id = known.plugin.id();
        let checks = of_plugin(runtime, known).await?;
        if !json && plugin.is_none() {
            writeln!(out, "{id}")?;
        }
        for check in &checks {
            if json {
                let mut line = serde_json::to_value(check)?;
                line["plugin"] = Value::from(id.as_str());
                writeln!(out, "{line}")?;
            } else {
                write_text(&mut out, check)?;
            }
        }
    }
    Ok(())
}

impl From<LentError> for Failure {
    fn from(error: LentError) -> Self {
        match error {
            LentError::Store(error) => error.into(),
            LentError::Audit(_) => Self::new(error.to_string()).hint("see `acp-runtime audit verify`"),
        }
    }
}
