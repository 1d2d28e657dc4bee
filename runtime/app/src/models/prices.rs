//! What the vendors' models cost at the vendors' own addresses, their list prices of November 2026 in US dollars for a
//! million tokens, and how much they take. The settings' `prices` and `context_window` go before them.
//!
//! From <https://platform.claude.com/docs/en/about-claude/pricing>, <https://developers.openai.com/api/docs/pricing>
//! and <https://ai.google.dev/gemini-api/docs/pricing>, and the pages on models beside them. A model that is not here has
//! no price: a wrong one is worse than none. Neither has a request that is longer than its price is for.

use acp_runtime_agent::transcript::Price;

use super::settings::WireFormat;

/// A model, its price for input, for input that was cached, for output, the longest input that these are for, and its
/// context window.
type Row = (&'static str, f64, f64, f64, u64, u64);

/// What is known of a vendor's model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub(super) price: Price,
    /// For how many tokens of input the price holds.
    pub(super) longest: u64,
    /// The context window in tokens.
    pub(super) window: u64,
}

const ANY: u64 = u64::MAX;

const ANTHROPIC: &[Row] = &[
    ("claude-fable-5-1", 10.0, 0.25, 50.0, ANY, 1_000_000),
    ("claude-fable-5", 10.0, 1.0, 50.0, ANY, 1_000_000),
    ("claude-opus-5-5", 4.0, 0.2, 20.0, ANY, 1_000_000),
    ("claude-opus-5", 5.0, 0.5, 25.0, ANY, 1_000_000),
    ("claude-opus-4-8", 5.0, 0.5, 25.0, ANY, 1_000_000),
    ("claude-opus-4-7", 5.0, 0.5, 25.0, ANY, 1_000_000),
    ("claude-opus-4-6", 5.0, 0.5, 25.0, ANY, 1_000_000),
    ("claude-opus-4-5", 5.0, 0.5, 25.0, ANY, 200_000),
    ("claude-sonnet-5-5", 2.0, 0.1, 10.0, ANY, 1_000_000),
    ("claude-sonnet-5", 2.0, 0.2, 10.0, ANY, 1_000_000),
    ("claude-sonnet-4-6", 3.0, 0.3, 15.0, ANY, 1_000_000),
    ("claude-sonnet-4-5", 3.0, 0.3, 15.0, 200_000, 200_000),
    ("claude-haiku-4-5", 1.0, 0.1, 5.0, ANY, 200_000),
];

const OPENAI: &[Row] = &[
    ("gpt-5.6-sol", 4.0, 0.4, 20.0, 272_000, 1_050_000),
    ("gpt-5.6-terra", 2.0, 0.2, 12.0, 272_000, 1_050_000),
    ("gpt-5.6-luna", 0.2, 0.02, 1.2, 272_000, 1_050_000),
    ("gpt-5.5", 5.0, 0.5, 30.0, 272_000, 1_050_000),
    ("gpt-5.4", 2.5, 0.25, 15.0, 272_000, 1_050_000),
    ("gpt-5.4-mini", 0.75, 0.075, 4.5, ANY, 400_000),
    ("gpt-5.4-nano", 0.2, 0.02, 1.25, ANY, 400_000),
    ("gpt-5.2", 1.75, 0.175, 14.0, ANY, 400_000),
    ("gpt-5.1", 1.25, 0.125, 10.0, ANY, 400_000),
    ("gpt-5", 1.25, 0.125, 10.0, ANY, 400_000),
    ("gpt-5-mini", 0.25, 0.025, 2.0, ANY, 400_000),
    ("gpt-5-nano", 0.05, 0.005, 0.4, ANY, 400_000),
    ("gpt-4.1", 2.0, 0.5, 8.0, ANY, 1_047_576),
    ("gpt-4.1-mini", 0.4, 0.1, 1.6, ANY, 1_047_576),
    ("gpt-4.1-nano", 0.1, 0.025, 0.4, ANY, 1_047_576),
    ("gpt-4o", 2.5, 1.25, 10.0, ANY, 128_000),
    ("gpt-4o-mini", 0.15, 0.075, 0.6, ANY, 128_000),
    ("o3", 2.0, 0.5, 8.0, ANY, 200_000),
    ("o4-mini", 1.1, 0.275, 4.4, ANY, 200_000),
];

const GEMINI: &[Row] = &[
    ("gemini-3.5-flash", 1.5, 0.15, 9.0, ANY, 1_048_576),
    ("gemini-3.1-pro-preview", 2.0, 0.2, 12.0, 200_000, 1_048_576),
    ("gemini-3.1-flash-lite", 0.25, 0.025, 1.5, ANY, 1_048_576),
    ("gemini-2.5-pro", 1.25, 0.125, 10.0, 200_000, 1_048_576),
    ("gemini-2.5-flash", 0.3, 0.03, 2.5, ANY, 1_048_576),
    ("gemini-2.5-flash-lite", 0.1, 0.01, 0.4, ANY, 1_048_576),
];

/// The vendor's models, where they are those of the wire format.
fn rows(wire: WireFormat) -> &'static [Row] {
    match wire {
        WireFormat::Anthropic => ANTHROPIC,
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses => OPENAI,
        WireFormat::Gemini => GEMINI,
        WireFormat::Ollama => &[],
    }
}

/// The names of the vendor's models, the newest first.
pub(super) fn names(wire: WireFormat) -> impl Iterator<Item = &'static str> {
    rows(wire).iter().map(|(name, ..)| *name)
}

/// What is known of a vendor's model.
pub(super) fn listed(wire: WireFormat, model: &str) -> Option<Listed> {
    let name = undated(model);
    let (_, input, cached, output, longest, window) = *rows(wire).iter().find(|(row, ..)| *row == name)?;
    Some(Listed { price: Price { input, cached, output, currency: "USD".into() }, longest, window })
}

/// The name without the date of a version: `-20251101`, or `-2025-11-01`.
fn undated(model: &str) -> &str {
    let is_date = |date: &str| date.bytes().filter(u8::is_ascii_digit).count() == 8;
    for length in ["-20251101".len(), "-2025-11-01".len()] {
        if let Some((name, date)) = model.len().checked_sub(length).and_then(|at| model.split_at_checked(at))
            && date.starts_with("-2")
            && is_date(date)
        {
            return name;
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_found_by_the_models_name() {
        for (wire, model, price) in [
            (WireFormat::Anthropic, "claude-opus-4-8", Some((5.0, 0.5, 25.0))),
            (WireFormat::Anthropic, "claude-opus-4-5-20251101", Some((5.0, 0.5, 25.0))),
            (WireFormat::OpenaiChat, "gpt-4o-2024-08-06", Some((2.5, 1.25, 10.0))),
            (WireFormat::OpenaiResponses, "gpt-5.4-mini", Some((0.75, 0.075, 4.5))),
            (WireFormat::Gemini, "gemini-2.5-flash", Some((0.3, 0.03, 2.5))),
            (WireFormat::Anthropic, "claude-opus-9", None),
            (WireFormat::OpenaiChat, "claude-opus-4-8", None),
            (WireFormat::Ollama, "gpt-4o", None),
            (WireFormat::OpenaiChat, "", None),
            (WireFormat::OpenaiChat, "größe-20251101", None),
        ] {
            let found = listed(wire, model).map(|Listed { price, .. }| (price.input, price.cached, price.output));
            assert_eq!(found, price, "{model}");
        }
    }

    #[test]
    fn every_price_makes_sense() {
        for (model, input, cached, output, longest, window) in [ANTHROPIC, OPENAI, GEMINI].concat() {
            assert!(0.0 < cached && cached < input && input < output, "{model}");
            assert!((100_000..2_000_000).contains(&window) && longest >= 100_000, "{model}");
            assert_eq!(undated(model), model);
        }
    }
}
