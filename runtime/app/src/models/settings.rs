//! What a person writes about a provider. Plain data: checked by [`ProviderSettings::check`], used by `provider`.

use std::collections::BTreeMap;
use std::time::Duration;

use acp_runtime_agent::capability::SecretName;
use acp_runtime_agent::model::ReasoningEffort;
use acp_runtime_agent::transcript::Price;
use http::{HeaderName, HeaderValue, Uri};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::keys::{KeyPlace, unfit};
use super::prices::{Listed, listed};
use crate::address::Address;
use crate::secret::Secret;

/// One provider: `[providers.NAME]`.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// The wire format that the provider speaks.
    pub wire: WireFormat,
    /// Where it is, such as `http://127.0.0.1:8080/v1`. The default is the vendor's own address.
    pub base_url: Option<Address>,
    /// The model to use, by the provider's name for it.
    pub model: String,
    /// More of its models to choose from.
    #[serde(default)]
    pub models: Vec<String>,
    /// The API key. Without it, it comes from the first of these that has one: `api_key_command`, the environment, what
    /// `acp-runtime login` has kept.
    pub api_key: Option<Secret>,
    /// A program that prints the key, and its arguments. It runs without a shell, and again after five minutes or when
    /// the key was not accepted.
    pub api_key_command: Option<Vec<String>>,
    /// The environment variable that holds the key. Without it and without `base_url` it is the vendor's usual one,
    /// such as `OPENAI_API_KEY`.
    pub api_key_env: Option<String>,
    /// More HTTP headers.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// The context window of its models in tokens. The vendors' own are known at the vendors' own addresses.
    pub context_window: Option<u64>,
    /// What the models cost, by their names. The vendors' own are known at the vendors' own addresses.
    #[serde(default)]
    pub prices: BTreeMap<String, PriceSettings>,
    /// The most tokens of one answer. The default is the provider's.
    pub max_output_tokens: Option<u32>,
    /// How much a reasoning model should think. The default is the provider's. Where a vendor's model does not take it,
    /// the nearest is sent that it takes.
    #[serde(default)]
    #[schemars(schema_with = "efforts")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// How freely words are chosen, from 0. It is not sent to a vendor's model that refuses it.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// From how much of what is likely words are chosen, up to 1. It is not sent to a vendor's model that refuses it.
    #[schemars(range(min = 0, max = 1))]
    pub top_p: Option<f64>,
    /// How the models call tools.
    #[serde(default)]
    pub tool_mode: ToolMode,
    /// How long to wait.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How often to ask again.
    #[serde(default)]
    pub retries: Retries,
}

/// The wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WireFormat {
    /// Chat Completions: `OpenAI`, and most servers that call themselves compatible (llama.cpp, vLLM, Ollama's `/v1`).
    OpenaiChat,
    /// Responses, by `OpenAI`.
    OpenaiResponses,
    /// Messages, by Anthropic.
    Anthropic,
    /// `generateContent`, by Google.
    Gemini,
    /// Ollama's own.
    Ollama,
}

/// How a model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// As the wire format has it.
    #[default]
    Native,
    /// By answers that are held to a JSON Schema, one call at a time: for weak models whose server can do that.
    JsonSchema,
}

/// What a model costs, for a million tokens.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceSettings {
    /// Of requests.
    #[schemars(range(min = 0))]
    pub input: f64,
    /// Of requests, where the provider has them cached. The default is that of `input`.
    #[schemars(range(min = 0))]
    pub cached: Option<f64>,
    /// Of answers.
    #[schemars(range(min = 0))]
    pub output: f64,
    /// An ISO 4217 code, or another unit such as `credits`. The default is `USD`.
    #[serde(default = "dollars")]
    pub currency: String,
}

fn dollars() -> String {
    "USD".to_owned()
}

/// How long to wait for a provider. Whole seconds, at least 1.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Seconds until a provider must have begun to answer; a local model may read a long prompt before that.
    pub response_secs: u64,
    /// Seconds that a provider may send nothing in the middle of an answer; after that the answer is given up.
    pub silence_secs: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { response_secs: 300, silence_secs: 300 }
    }
}

/// How often a request is made again that failed before anything was answered.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Requests in all.
    pub attempts: u32,
    /// The first pause, in milliseconds; each further one is twice as long, up to 16 times.
    pub first_pause_ms: u64,
    /// No new request after this many seconds, whatever the provider asks for.
    pub within_secs: u64,
}

impl Default for Retries {
    fn default() -> Self {
        Self { attempts: 5, first_pause_ms: 500, within_secs: 60 }
    }
}

impl Timeouts {
    pub(super) fn response(self) -> Duration {
        Duration::from_secs(self.response_secs)
    }

    pub(super) fn silence(self) -> Duration {
        Duration::from_secs(self.silence_secs)
    }
}

impl WireFormat {
    /// Its name in the settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The vendor's own address.
    pub(super) fn home(self) -> &'static str {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://127.0.0.1:11434/",
        }
    }

    /// Where the vendor's own tools look for a key; none where no key is needed.
    pub(super) fn usual_key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }
}

impl ProviderSettings {
    /// Those of a vendor's own address, with nothing chosen.
    pub(super) fn of(wire: WireFormat) -> Self {
        Self {
            wire,
            base_url: None,
            model: String::new(),
            models: Vec::new(),
            api_key: None,
            api_key_command: None,
            api_key_env: None,
            headers: BTreeMap::new(),
            context_window: None,
            prices: BTreeMap::new(),
            max_output_tokens: None,
            reasoning_effort: None,
            temperature: None,
            top_p: None,
            tool_mode: ToolMode::default(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
        }
    }

    /// What is wrong with them, as a sentence without its end.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.model.is_empty() || self.models.iter().any(String::is_empty) {
            return Err("`model` is empty; write the name that the provider knows it by".to_owned());
        }
        if self.api_key.as_ref().is_some_and(|key| key.expose().is_empty()) {
            return Err("`api_key` is empty; leave it out, or set `api_key_env`".to_owned());
        }
        if let Some(problem) = self.api_key.as_ref().and_then(unfit) {
            return Err(format!("`api_key` cannot be sent: {problem}"));
        }
        if self.api_key_command.as_ref().is_some_and(|command| command.first().is_none_or(String::is_empty)) {
            return Err("`api_key_command` is empty; write a program and its arguments, or leave it out".to_owned());
        }
        if self.retries.attempts == 0 {
            return Err("`retries.attempts` is 0; 1 means no retries".to_owned());
        }
        if self.timeouts.response_secs == 0 || self.timeouts.silence_secs == 0 {
            return Err("a timeout of 0 seconds lets nothing through; leave it out for the default".to_owned());
        }
        let outside = |value: Option<f64>, most: f64| value.is_some_and(|value| !(0.0..=most).contains(&value));
        if outside(self.temperature, 2.0) {
            return Err("`temperature` is not between 0 and 2; leave it out for the default".to_owned());
        }
        if outside(self.top_p, 1.0) {
            return Err("`top_p` is not between 0 and 1; leave it out for the default".to_owned());
        }
        for (model, price) in &self.prices {
            if [Some(price.input), price.cached, Some(price.output)]
                .into_iter()
                .flatten()
                .any(|it| !(0.0..1e9).contains(&it))
            {
                return Err(format!("a price of `{model}` in `prices` is negative or far too large"));
            }
            if price.currency.is_empty() || price.currency.len() > 20 {
                return Err(format!(
                    "`currency` of `{model}` in `prices` is no name of a currency; write one such as `USD`"
                ));
            }
        }
        for (name, value) in &self.headers {
            if name.parse::<HeaderName>().is_err() {
                return Err(format!("`{name}` in `headers` is not a header name"));
            }
            if HeaderValue::from_str(value.expose()).is_err() {
                return Err(format!("the value of `{name}` in `headers` has characters that a header cannot carry"));
            }
        }
        Ok(())
    }

    /// What a model costs, where that is known, and for how many tokens of input that holds. A list price is only the
    /// vendor's own.
    pub(super) fn price(&self, model: &str) -> Option<(Price, u64)> {
        let Some(PriceSettings { input, cached, output, currency }) = self.prices.get(model) else {
            return self.listed(model).map(|Listed { price, longest, .. }| (price, longest));
        };
        let (input, output) = (*input, *output);
        let price = Price { input, cached: cached.unwrap_or(input), output, currency: currency.as_str().into() };
        Some((price, u64::MAX))
    }

    /// How many tokens a model takes, where that is known.
    pub(super) fn window(&self, model: &str) -> Option<u64> {
        self.context_window.or_else(|| Some(self.listed(model)?.window))
    }

    /// What is known of a model at the vendor's own address.
    fn listed(&self, model: &str) -> Option<Listed> {
        listed(self.wire, model).filter(|_| self.base_url.is_none())
    }

    /// Where the provider is, ending in `/`.
    pub(super) fn endpoint(&self) -> Result<String, String> {
        let Some(address) = &self.base_url else { return Ok(self.wire.home().to_owned()) };
        let url = address.expose();
        let parsed = url.parse::<Uri>().ok();
        let authority = parsed.as_ref().and_then(Uri::authority).map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err("`base_url` holds a password; put it into `headers` instead".to_owned());
        }
        let Some(parsed) = parsed.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https"))) else {
            return Err(format!("`base_url` is `{address}`; it must start with `http://` or `https://`"));
        };
        if parsed.query().is_some() || url.contains('#') {
            return Err(format!(
                "`base_url` is `{address}`; it must not have a query or a fragment: a key belongs into `api_key` or \
                 `headers`"
            ));
        }
        Ok(format!("{}/", url.trim_end_matches('/')))
    }

    /// Where the key of the provider `name` may be, first to last. A vendor's usual variable is only read for the
    /// vendor's own address, so that a key never goes elsewhere.
    pub(super) fn key_places(&self, name: &str) -> Vec<KeyPlace> {
        let usual = || self.wire.usual_key_variable().filter(|_| self.base_url.is_none());
        let command = self.api_key_command.clone().map(KeyPlace::Command);
        let variable = self.api_key_env.as_deref().or_else(usual).map(|name| KeyPlace::Variable(name.to_owned()));
        let kept = SecretName::new(name).ok().map(KeyPlace::Kept);
        [command, variable, kept].into_iter().flatten().collect()
    }

    /// Whether requests make no sense without a key: the settings name a place for one, or the vendor is asked and
    /// nothing else could be its key.
    pub(super) fn needs_key(&self) -> bool {
        let keyless = self.base_url.is_some() || !self.headers.is_empty();
        self.api_key_env.is_some()
            || self.api_key_command.is_some()
            || (!keyless && self.wire.usual_key_variable().is_some())
    }
}

fn efforts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ReasoningEffort::ALL.map(ReasoningEffort::id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(toml: &str) -> ProviderSettings {
        toml::from_str(&format!("model = 'm'\n{toml}")).unwrap()
    }

    #[test]
    fn a_base_url_always_ends_in_a_slash() {
        for (toml, endpoint) in [
            ("wire = 'openai-chat'", "https://api.openai.com/v1/"),
            ("wire = 'ollama'", "http://127.0.0.1:11434/"),
            ("wire = 'openai-chat'\nbase_url = 'http://127.0.0.1:8080/v1'", "http://127.0.0.1:8080/v1/"),
            ("wire = 'openai-chat'\nbase_url = 'https://host'", "https://host/"),
            ("wire = 'anthropic'\nbase_url = 'https://host/a//'", "https://host/a/"),
        ] {
            assert_eq!(settings(toml).endpoint().unwrap(), endpoint, "{toml}");
        }
    }

    #[test]
    fn a_vendors_key_goes_to_the_vendor_alone() {
        for (toml, needed, places) in [
            ("", true, "the environment variable `OPENAI_API_KEY`, the secret `lab`"),
            ("api_key_env = 'MINE'", true, "the environment variable `MINE`, the secret `lab`"),
            ("base_url = 'http://elsewhere/'", false, "the secret `lab`"),
            ("headers = { Authorization = 'x' }", false, "the environment variable `OPENAI_API_KEY`, the secret `lab`"),
            (
                "base_url = 'http://elsewhere/'\napi_key_env = 'OPENAI_API_KEY'",
                true,
                "the environment variable `OPENAI_API_KEY`, the secret `lab`",
            ),
            ("base_url = 'http://elsewhere/'\napi_key_command = ['pass', 'lab']", true, "`pass`, the secret `lab`"),
        ] {
            let settings = settings(&format!("wire = 'openai-chat'\n{toml}"));
            let described: Vec<String> = settings.key_places("lab").iter().map(KeyPlace::described).collect();
            assert_eq!((settings.needs_key(), described.join(", ").as_str()), (needed, places), "{toml}");
        }
        assert!(!settings("wire = 'ollama'").needs_key());
        assert_eq!(settings("wire = 'ollama'").key_places("not a name"), []);
    }

    #[test]
    fn a_price_is_that_of_its_model() {
        let written = settings("wire = 'openai-chat'\nprices.m = { input = 1.25, output = 10 }");
        assert!(written.check().is_ok());
        let price = Price { input: 1.25, cached: 1.25, output: 10.0, currency: "USD".into() };
        assert_eq!((written.price("m"), written.price("other")), (Some((price, u64::MAX)), None));
        let mut vendors = settings("wire = 'openai-chat'\nprices.'gpt-5.2' = { input = 3, output = 4 }");
        let input = |settings: &ProviderSettings, model| settings.price(model).map(|(price, _)| price.input);
        assert_eq!((input(&vendors, "gpt-5.2"), input(&vendors, "gpt-5.1")), (Some(3.0), Some(1.25)));
        assert_eq!((vendors.window("gpt-5.1"), vendors.window("other")), (Some(400_000), None));
        vendors.base_url =
            Some(toml::from_str::<BTreeMap<String, Address>>("a = 'http://h/'").unwrap().remove("a").unwrap());
        assert_eq!((input(&vendors, "gpt-5.2"), input(&vendors, "gpt-5.1")), (Some(3.0), None));
        for (prices, problem) in [
            ("{ input = -1, output = 1 }", "a price of `m` in `prices` is negative or far too large"),
            ("{ input = 1, output = nan }", "a price of `m` in `prices` is negative or far too large"),
            ("{ input = 1, output = 1, cached = inf }", "a price of `m` in `prices` is negative or far too large"),
            (
                "{ input = 1, output = 1, currency = '' }",
                "`currency` of `m` in `prices` is no name of a currency; write one such as `USD`",
            ),
        ] {
            let written = settings(&format!("wire = 'openai-chat'\nprices.m = {prices}"));
            assert_eq!(written.check().unwrap_err(), problem, "{prices}");
        }
    }

    #[test]
    fn secrets_are_never_printed() {
        let settings = settings("wire = 'openai-chat'\napi_key = 'sk-1'\nheaders = { x-key = 'sk-2' }");
        let printed = format!("{settings:?}");
        assert!(!printed.contains("sk-"), "{printed}");
    }

    #[test]
    fn unknown_keys_are_errors() {
        let error = toml::from_str::<ProviderSettings>("wire = 'gemini'\nmodel = 'm'\nbase = 'x'").unwrap_err();
        assert!(error.message().contains("unknown field `base`"), "{error}");
        let error = toml::from_str::<ProviderSettings>("wire = 'openai'\nmodel = 'm'").unwrap_err();
        assert!(error.message().contains("expected one of `openai-chat`, `openai-responses`"), "{error}");
    }
}
