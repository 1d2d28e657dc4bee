//! {{title}}: an acp-runtime plugin with one tool.

use acp_plugin::{Call, Outcome, Result, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// The arguments. Their JSON Schema, with these comments in it, is what the model sees, and every call is checked
/// against it.
#[derive(Deserialize, JsonSchema)]
pub struct Greet {
    /// Whom to greet.
    name: String,
}

impl Tool for Greet {
    const NAME: &str = "greet";
    const DESCRIPTION: &str = "Greets somebody by name.";

    fn run(self, _call: &Call) -> Result<Outcome> {
        Ok(format!("Hello, {}!", self.name).into())
    }
}

acp_plugin::export! { tools: [Greet] }

/// `cargo test` runs these without WebAssembly; the host is a double in memory.
#[cfg(test)]
mod tests {
    use acp_plugin::testing::{Host, call};
    use serde_json::json;

    use super::Greet;

    #[test]
    fn greets() -> acp_plugin::Result<()> {
        let _host = Host::fresh();
        assert_eq!(call::<Greet>(&json!({ "name": "Ada" }))?.to_text(), "Hello, Ada!");
        Ok(())
    }
}
