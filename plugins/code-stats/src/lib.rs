//! x
use schemars::JsonSchema;
use acp_plugin::{Call, Outcome, Result, Tool};

#[derive(serde::Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

impl Tool for Greet {
    const NAME: &str = "greet";
    const DESCRIPTION: &str = "Greets somebody by name.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        let n = ignore::WalkBuilder::new(&self.name).build().count();
        Ok(format!("Hello, {}!", n).into())
    }
}

acp_plugin::export! { tools: [Greet] }
