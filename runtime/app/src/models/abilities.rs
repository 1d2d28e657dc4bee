//! What single models take and refuse, where a provider answers with an error instead of doing without.
//!
//! Only what the vendors' own models are called is known here; any other model is sent what was configured. From
//! <https://developers.openai.com/api/docs/guides/reasoning>,
//! <https://platform.claude.com/docs/en/build-with-claude/effort> and the neighbouring pages on thinking,
//! <https://ai.google.dev/gemini-api/docs/thinking> and <https://docs.ollama.com/capabilities/thinking>. What Anthropic's
//! and Google's models take for an effort is known to `genai`. Tested by a table.

use acp_runtime_agent::model::ReasoningEffort;

use super::settings::WireFormat;

use ReasoningEffort::{High, Low, Max, Medium, Minimal, None as Off, Xhigh};

/// Every effort: for models of which nothing else is known.
const ANY: &[ReasoningEffort] = &ReasoningEffort::ALL;

/// The efforts of Qwen 3.8, whoever serves it.
const QWEN: &[ReasoningEffort] = &[Off, Low, Medium, Xhigh];

/// Whether the model is Qwen 3.8, which has efforts of its own.
pub(super) fn is_qwen(model: &str) -> bool {
    model.rsplit('/').next().is_some_and(|name| name.to_ascii_lowercase().starts_with("qwen3.8"))
}

/// The efforts that a model takes, from the least.
pub(super) fn efforts(wire: WireFormat, model: &str) -> &'static [ReasoningEffort] {
    match wire {
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses | WireFormat::Ollama if is_qwen(model) => QWEN,
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses => openai(model).map_or(ANY, |known| known.efforts(model)),
        WireFormat::Gemini if !thinks(wire, model) => &[],
        WireFormat::Anthropic | WireFormat::Gemini | WireFormat::Ollama => ANY,
    }
}

/// The effort that a model takes and that is nearest to the one that is wanted; none for a model that takes none.
pub(super) fn effort(wire: WireFormat, model: &str, wanted: ReasoningEffort) -> Option<ReasoningEffort> {
    // Of two that are equally near, the one with more thought.
    efforts(wire, model).iter().rev().min_by_key(|effort| rank(**effort).abs_diff(rank(wanted))).copied()
}

fn rank(effort: ReasoningEffort) -> usize {
    ReasoningEffort::ALL.iter().position(|other| *other == effort).unwrap_or_default()
}

/// Whether the model can be asked for what it thinks.
pub(super) fn thinks(wire: WireFormat, model: &str) -> bool {
    match wire {
        WireFormat::OpenaiResponses => openai(model).is_none_or(|known| known.reasons),
        WireFormat::Gemini => !["gemini-1", "gemini-2.0", "gemma-3"].iter().any(|old| model.starts_with(old)),
        WireFormat::OpenaiChat | WireFormat::Anthropic | WireFormat::Ollama => true,
    }
}

/// How many of `temperature` and `top_p` the model takes, when it is to think or not.
pub(super) fn sampling(wire: WireFormat, model: &str, effort: Option<ReasoningEffort>) -> Sampling {
    match wire {
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses if openai(model).is_some_and(|known| known.reasons) => {
            Sampling::Neither
        }
        WireFormat::Anthropic => anthropic(model, effort.is_some_and(|effort| effort != Off)),
        WireFormat::OpenaiChat | WireFormat::OpenaiResponses | WireFormat::Gemini | WireFormat::Ollama => {
            Sampling::Both
        }
    }
}

/// What a model lets a client say about how words are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sampling {
    /// `temperature` and `top_p`.
    Both,
    /// One of them.
    One,
    /// Nothing.
    Neither,
}

/// A model of `OpenAI`.
struct OpenAi {
    /// Of GPT; none of the o series.
    version: Option<(u32, u32)>,
    reasons: bool,
}

/// What is known of a model by the name that `OpenAI` gives it.
fn openai(model: &str) -> Option<OpenAi> {
    if let Some(rest) = model.strip_prefix('o')
        && rest.starts_with(|next: char| next.is_ascii_digit())
    {
        return Some(OpenAi { version: None, reasons: true });
    }
    if model.starts_with("chatgpt-") {
        return Some(OpenAi { version: Some((4, 0)), reasons: false });
    }
    let rest = model.strip_prefix("gpt-")?;
    let version = rest.split(|next: char| next != '.' && !next.is_ascii_digit()).next().unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let version = (major.parse().ok()?, minor.parse().ok()?);
    Some(OpenAi { version: Some(version), reasons: version >= (5, 0) && !rest.contains("-chat") })
}

impl OpenAi {
    fn efforts(&self, model: &str) -> &'static [ReasoningEffort] {
        let is = |kind: &str| model.split('-').any(|part| part == kind);
        match self.version {
            _ if !self.reasons => &[],
            None => &[Low, Medium, High],
            Some((5, 0)) if is("pro") => &[High],
            Some((5, 0)) if is("codex") => &[Low, Medium, High],
            Some((5, 0)) => &[Minimal, Low, Medium, High],
            Some((5, 1)) if is("codex") && is("max") => &[Off, Low, Medium, High, Xhigh],
            Some((5, 1)) => &[Off, Low, Medium, High],
            Some((5, 2..=5)) if is("pro") => &[Medium, High, Xhigh],
            Some((5, 2..=5)) => &[Off, Low, Medium, High, Xhigh],
            Some(_) => &[Off, Low, Medium, High, Xhigh, Max],
        }
    }
}

/// The family and the version of a model of Anthropic.
fn claude(model: &str) -> (&str, (u32, u32)) {
    let mut parts = model.split('-').skip(1);
    let family = parts.next().unwrap_or_default();
    let mut number = || parts.next().filter(|part| part.len() < 3).and_then(|part| part.parse::<u32>().ok());
    (family, (number().unwrap_or_default(), number().unwrap_or_default()))
}

/// The fewest tokens that a budget for thinking may have.
const LEAST_BUDGET: u32 = 1024;

/// The tokens that may be thought of an answer of so many, for a model of Anthropic that is given a budget; none where
/// `genai`'s own budget for the effort fits in, or the model needs none. 0 is a model that cannot think with so few.
pub(super) fn budget(model: &str, effort: ReasoningEffort, most: u32) -> Option<u32> {
    let (family, version) = claude(model);
    let by_effort = match family {
        "opus" => version >= (4, 5),
        "sonnet" => version >= (4, 6),
        "haiku" => version >= (5, 0),
        "fable" | "mythos" => true,
        _ => false,
    };
    let budget = match effort {
        Off => return None,
        Minimal | Low => LEAST_BUDGET,
        Medium => 8000,
        High | Xhigh | Max => 24_000,
    };
    if by_effort || budget < most {
        return None;
    }
    Some(if most / 2 < LEAST_BUDGET { 0 } else { most / 2 })
}

/// Claude Opus 4.7 and what came after it choose by themselves, as does every model while it thinks; Opus 4.1 and what
/// came after that takes one.
fn anthropic(model: &str, thinks: bool) -> Sampling {
    let (family, version) = claude(model);
    let (by_itself, one) = match family {
        "opus" => (version >= (4, 7), version >= (4, 1)),
        "sonnet" | "haiku" => (version >= (5, 0), version >= (4, 1)),
        "fable" | "mythos" => (true, true),
        _ => (false, false),
    };
    match (by_itself || thinks, one) {
        (true, _) => Sampling::Neither,
        (false, true) => Sampling::One,
        (false, false) => Sampling::Both,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_asked_for_an_effort_that_it_takes() {
        const CHAT: WireFormat = WireFormat::OpenaiChat;
        let all = |wire, model: &str| {
            let shown = |wanted| effort(wire, model, wanted).map_or("-", ReasoningEffort::id);
            ReasoningEffort::ALL.map(shown).join(" ")
        };
        for (wire, model, efforts) in [
            (CHAT, "gpt-4.1", "- - - - - - -"),
            (CHAT, "gpt-4o-mini", "- - - - - - -"),
            (CHAT, "gpt-5-chat-latest", "- - - - - - -"),
            (CHAT, "o3", "low low low medium high high high"),
            (CHAT, "gpt-5-mini", "minimal minimal low medium high high high"),
            (CHAT, "gpt-5-codex", "low low low medium high high high"),
            (CHAT, "gpt-5-pro", "high high high high high high high"),
            (CHAT, "gpt-5.1", "none low low medium high high high"),
            (CHAT, "gpt-5.1-codex-max", "none low low medium high xhigh xhigh"),
            (CHAT, "gpt-5.2", "none low low medium high xhigh xhigh"),
            (CHAT, "gpt-5.2-pro", "medium medium medium medium high xhigh xhigh"),
            (WireFormat::OpenaiResponses, "gpt-5.6-sol", "none low low medium high xhigh max"),
            (CHAT, "gpt-6-astra", "none low low medium high xhigh max"),
            (CHAT, "gpt-oss-120b", "none minimal low medium high xhigh max"),
            (CHAT, "some/model", "none minimal low medium high xhigh max"),
            (CHAT, "Qwen/Qwen3.8-27B", "none low low medium xhigh xhigh xhigh"),
            (WireFormat::Ollama, "qwen3.8:27b", "none low low medium xhigh xhigh xhigh"),
            (WireFormat::Ollama, "qwen3:8b", "none minimal low medium high xhigh max"),
            (WireFormat::Gemini, "gemini-2.0-flash", "- - - - - - -"),
            (WireFormat::Anthropic, "claude-opus-4-8", "none minimal low medium high xhigh max"),
        ] {
            assert_eq!(all(wire, model), efforts, "{model}");
        }
    }

    #[test]
    fn a_budget_fits_into_the_answer() {
        for (model, effort, most, expected) in [
            ("claude-sonnet-4-5", High, 64_000, None),
            ("claude-sonnet-4-5", High, 8000, Some(4000)),
            ("claude-sonnet-4-5", Medium, 8000, Some(4000)),
            ("claude-sonnet-4-5", Low, 8000, None),
            ("claude-sonnet-4-5", Low, 1000, Some(0)),
            ("claude-sonnet-4-5", Off, 1000, None),
            ("claude-opus-4-8", High, 8000, None),
            ("claude-haiku-5-5", High, 8000, None),
        ] {
            assert_eq!(budget(model, effort, most), expected, "{model} {effort:?} {most}");
        }
    }

    #[test]
    fn what_a_model_refuses_is_known() {
        use Sampling::{Both, Neither, One};
        for (wire, model, effort, expected) in [
            (WireFormat::OpenaiChat, "gpt-4.1", None, Both),
            (WireFormat::OpenaiChat, "o4-mini", None, Neither),
            (WireFormat::OpenaiResponses, "gpt-5.2-codex", None, Neither),
            (WireFormat::OpenaiChat, "gpt-5-chat-latest", None, Both),
            (WireFormat::OpenaiChat, "llama-3", Some(High), Both),
            (WireFormat::Anthropic, "claude-3-5-haiku-20241022", None, Both),
            (WireFormat::Anthropic, "claude-sonnet-4-20250514", None, Both),
            (WireFormat::Anthropic, "claude-sonnet-4-5", None, One),
            (WireFormat::Anthropic, "claude-sonnet-4-5", Some(Low), Neither),
            (WireFormat::Anthropic, "claude-sonnet-4-5", Some(Off), One),
            (WireFormat::Anthropic, "claude-opus-4-7", None, Neither),
            (WireFormat::Anthropic, "claude-haiku-5-5", None, Neither),
            (WireFormat::Anthropic, "claude-fable-5", None, Neither),
            (WireFormat::Gemini, "gemini-3.5-flash", Some(High), Both),
            (WireFormat::Ollama, "qwen3:8b", Some(High), Both),
        ] {
            assert_eq!(sampling(wire, model, effort), expected, "{model} {effort:?}");
        }
        for (wire, model, expected) in [
            (WireFormat::OpenaiResponses, "gpt-4.1", false),
            (WireFormat::OpenaiResponses, "gpt-5.2", true),
            (WireFormat::OpenaiResponses, "own-model", true),
            (WireFormat::Gemini, "gemini-2.0-flash", false),
            (WireFormat::Gemini, "gemini-2.5-pro", true),
        ] {
            assert_eq!(thinks(wire, model), expected, "{model}");
        }
    }
}
