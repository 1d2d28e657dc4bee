//! The vendors that need no table in the settings: each at its own address, with the key of its own variable or of a
//! login, and Ollama on this machine, which needs none.
//!
//! Nothing leads from a model's name to an address that a stranger could have chosen: these are written here.

use super::settings::{ProviderSettings, WireFormat};

/// Their names, and what each speaks.
pub(super) const VENDORS: [(&str, WireFormat); 4] = [
    ("anthropic", WireFormat::Anthropic),
    ("gemini", WireFormat::Gemini),
    ("ollama", WireFormat::Ollama),
    ("openai", WireFormat::OpenaiResponses),
];

/// The settings of a vendor without a table. They name no model.
pub(super) fn settings(wire: WireFormat) -> ProviderSettings {
    ProviderSettings::of(wire)
}

/// The vendor of a model that is named without a provider: what begins like a vendor's models is its, anything else is
/// Ollama's.
pub(super) fn of_model(model: &str) -> &'static str {
    let is_o_series = || {
        let mut characters = model.chars();
        characters.next() == Some('o') && characters.next().is_some_and(|next| next.is_ascii_digit())
    };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if begins(&["claude-"]) {
        "anthropic"
    } else if begins(&["gpt-oss"]) {
        // Open weights, which OpenAI itself does not serve.
        "ollama"
    } else if begins(&["gpt-", "chatgpt-"]) || is_o_series() {
        "openai"
    } else if begins(&["gemini-"]) {
        "gemini"
    } else {
        "ollama"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_its_vendor() {
        for (model, vendor) in [
            ("claude-opus-4-8", "anthropic"),
            ("gpt-5.6-sol", "openai"),
            ("chatgpt-4o-latest", "openai"),
            ("o3", "openai"),
            ("o4-mini", "openai"),
            ("gemini-3.5-flash", "gemini"),
            ("gpt-oss:20b", "ollama"),
            ("olmo2:7b", "ollama"),
            ("qwen3.8:27b", "ollama"),
            ("claudette", "ollama"),
        ] {
            assert_eq!(of_model(model), vendor, "{model}");
        }
    }
}
