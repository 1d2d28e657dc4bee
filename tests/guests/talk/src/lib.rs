//! `talk`: a plugin that reads what was said, and has something to add. `tests/it/plugin_talk.rs` knows what must come of
//! it.

use acp_plugin::{Call, Outcome, Result, Tool, prompt, session};

/// The arguments of `add`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Add {
    /// What to add; nothing to add nothing any more.
    text: String,
}

impl Tool for Add {
    const NAME: &str = "add";
    const DESCRIPTION: &str = "Adds something to what the model is told.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        if self.text.is_empty() {
            prompt::clear()?;
        } else {
            prompt::set(&self.text)?;
        }
        Ok("added".into())
    }
}

/// The arguments of `recall`.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Recall {
    /// How many pieces.
    pieces: u32,
}

impl Tool for Recall {
    const NAME: &str = "recall";
    const DESCRIPTION: &str = "Says what was said.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        let said = session::read(self.pieces)?.into_iter().map(|entry| format!("{:?}: {}", entry.role, entry.text));
        Ok(said.collect::<Vec<_>>().join("\n").into())
    }
}

acp_plugin::export! { tools: [Add, Recall] }
