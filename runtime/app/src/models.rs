//! The language models: which ones are configured, and how each is asked.
//!
//! A model is named by an id: `none` (explains how to configure one), `script:FILE` (plays a scenario) or
//! `provider/model`, where the provider is a table of the settings that names its wire format, or a well-known vendor
//! (`vendors`). A model's name alone is one of a table that lists it, else of the vendor whose models begin like that.
//! Knows nothing about sessions, tools or ACP, and reads neither the settings file nor the environment: a key comes from
//! a [`KeySource`], with each request.
//!
//! Tested by `tests/it/models.rs` against a loopback server that speaks the providers' formats with faults, and by
//! tables beside the code.

mod abilities;
mod answer;
mod calls;
mod client;
mod failure;
mod flow;
mod frames;
mod history;
mod keys;
mod none;
mod overflow;
mod prices;
mod provider;
mod retry;
mod script;
mod settings;
mod structured;
mod vendors;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use acp_runtime_agent::capability::SecretName;
use acp_runtime_agent::model::{Model, ModelChoice, ModelError, ModelSource};
use acp_runtime_agent::transcript::Price;

use self::client::HttpClient;
pub use self::keys::{KeyPlace, KeySource, unfit};
use self::none::NoModel;
use self::provider::{Provider, ProviderModel};
use self::script::ScriptModel;
pub use self::settings::{ProviderSettings, Retries, Timeouts, ToolMode, WireFormat};
use self::vendors::VENDORS;
use crate::redaction::Redaction;

/// The id of the model that explains how to configure one.
pub const NONE: &str = "none";

const SCRIPT: &str = "script:";

/// All models that the settings name. Making it costs nothing: the HTTP client comes into being with the first request
/// and is shared by every model.
pub struct Models {
    default: String,
    providers: BTreeMap<String, Arc<Provider>>,
    /// Those without a table of their own in the settings.
    vendors: BTreeMap<&'static str, Arc<Provider>>,
    http: Arc<HttpClient>,
}

/// What is known of a provider's key without fetching it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderKey {
    /// The provider's name in the settings.
    pub provider: String,
    /// Whether it makes no sense to ask it without one.
    pub needed: bool,
    /// Where there seems to be one, as a part of a sentence.
    pub from: Option<String>,
    /// The name under which the person's key may be kept; none where the provider's name cannot be one.
    pub kept: Option<SecretName>,
}

/// What there is to say of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct AboutModel {
    /// Its id.
    pub id: String,
    /// Whether sessions begin with it.
    pub is_default: bool,
    /// What its provider speaks; none for a model without one.
    pub wire: Option<WireFormat>,
    /// Its context window in tokens, where that is known.
    pub context_window: Option<u64>,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// What is known of its provider's key.
    pub key: Option<ProviderKey>,
}

/// What stands between a provider and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyProblem {
    /// The provider's name in the settings.
    pub provider: String,
    /// A sentence without its end.
    pub problem: String,
    /// What to do about it.
    pub hint: String,
    /// Whether what is there cannot be used, and not only nothing is there.
    pub is_broken: bool,
}

/// A key that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedKey {
    /// Where it is from, as a part of a sentence.
    pub from: String,
    /// Whether texts can be kept clean of it: a short one cannot be told from a word.
    pub is_kept_out: bool,
}

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModelsError {
    /// The id names a provider that nobody knows.
    #[error("no provider `{provider}` for the model `{id}`; {}", known(.configured))]
    UnknownProvider {
        /// The model's id.
        id: String,
        /// Its first part.
        provider: String,
        /// The providers of the settings.
        configured: Vec<String>,
    },
    /// The id is a vendor's name, and no table says which of its models is meant.
    #[error("`{0}` is a provider without a model; name one as `{0}/MODEL`, or add `[providers.{0}]`")]
    NoModel(&'static str),
    /// A provider's settings cannot work.
    #[error("{reason}, in `[providers.{provider}]`")]
    Settings {
        /// The provider's name.
        provider: String,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// A scenario cannot be played.
    #[error("cannot play the scenario `{}`: {reason}", .file.display())]
    Script {
        /// The scenario.
        file: PathBuf,
        /// What is wrong, with the line where there is one.
        reason: String,
    },
}

fn known(configured: &[String]) -> String {
    let vendors = VENDORS.map(|(vendor, _)| vendor).join("`, `");
    if configured.is_empty() {
        return format!("no provider is configured, and without that there are `{vendors}`");
    }
    format!("configured are `{}`, and without that there are `{vendors}`", configured.join("`, `"))
}

/// What an id stands for.
enum Named<'m, 'i> {
    Nothing,
    Script(&'i str),
    /// A model of a provider; its default model where none is named. `found` where only the model was.
    Of {
        provider: &'m Arc<Provider>,
        model: Option<&'i str>,
        found: bool,
    },
}

impl Models {
    /// Checks the providers and settles the default: the given id, else the model of the first provider by name, else
    /// `none`.
    /// `keys` is asked for the keys that the settings do not have, and `redaction` learns all of them.
    pub fn new(
        default: Option<&str>,
        providers: BTreeMap<String, ProviderSettings>,
        keys: Arc<dyn KeySource>,
        redaction: &Redaction,
    ) -> Result<Self, ModelsError> {
        let providers = providers
            .into_iter()
            .map(|(name, settings)| {
                let provider = Provider::new(name.clone(), settings, keys.clone(), redaction.clone())
                    .map_err(|reason| ModelsError::Settings { provider: name.clone(), reason })?;
                Ok((name, Arc::new(provider)))
            })
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        let vendors = VENDORS.into_iter().filter(|(name, _)| !providers.contains_key(*name));
        let vendors = vendors
            .map(|(name, wire)| (name, Arc::new(Provider::vendor(name, wire, keys.clone(), redaction.clone()))))
            .collect();
        let first = || providers.values().next().map_or_else(|| NONE.to_owned(), |provider| provider.default_id());
        let default = default.map_or_else(first, str::to_owned);
        Ok(Self { default, providers, vendors, http: Arc::default() })
    }

    /// The id of the model that a session starts with.
    pub fn default_id(&self) -> &str {
        &self.default
    }

    /// What an id stands for.
    fn named<'m, 'i>(&'m self, id: &'i str) -> Result<Named<'m, 'i>, ModelsError> {
        if id == NONE {
            return Ok(Named::Nothing);
        }
        if let Some(file) = id.strip_prefix(SCRIPT) {
            return Ok(Named::Script(file));
        }
        if let Some((name, model)) = id.split_once('/') {
            let provider = self.provider(name).filter(|_| !model.is_empty());
            let provider = provider.ok_or_else(|| self.unknown(id, name))?;
            return Ok(Named::Of { provider, model: Some(model), found: false });
        }
        if let Some(provider) = self.providers.get(id) {
            return Ok(Named::Of { provider, model: None, found: false });
        }
        if let Some((&vendor, _)) = self.vendors.get_key_value(id) {
            return Err(ModelsError::NoModel(vendor));
        }
        if id.is_empty() || id.contains(char::is_whitespace) {
            return Err(self.unknown(id, id));
        }
        let listed = self.providers.values().find(|provider| provider.lists(id));
        let provider = listed.or_else(|| self.provider(vendors::of_model(id))).ok_or_else(|| self.unknown(id, id))?;
        Ok(Named::Of { provider, model: Some(id), found: true })
    }

    fn unknown(&self, id: &str, provider: &str) -> ModelsError {
        let (id, provider) = (id.to_owned(), provider.to_owned());
        ModelsError::UnknownProvider { id, provider, configured: self.providers.keys().cloned().collect() }
    }

    /// The provider of that name: the settings' own, else the vendor.
    fn provider(&self, name: &str) -> Option<&Arc<Provider>> {
        self.providers.get(name).or_else(|| self.vendors.get(name))
    }

    /// An id as the model itself has it: a provider's name alone means its default model.
    fn full_id(&self, id: &str) -> String {
        match self.named(id) {
            Ok(Named::Of { provider, model, .. }) => provider.full_id(model),
            Ok(Named::Nothing | Named::Script(_)) | Err(_) => id.to_owned(),
        }
    }

    /// The error that a request to a model would end in for want of a key; none where there is one, or none is needed.
    /// Fetches nothing.
    pub fn missing_key(&self, id: &str) -> Option<ModelError> {
        self.provider_of(id)?.missing_key()
    }

    /// Fetches the key of a model, and says where it is from; none where there is none and none is needed.
    pub async fn fetch_key(&self, id: &str) -> Result<Option<FetchedKey>, ModelError> {
        match self.provider_of(id) {
            Some(provider) => provider.fetch_key().await,
            None => Ok(None),
        }
    }

    /// The keys of the settings that texts cannot be kept clean of, a sentence each.
    pub fn short_keys(&self) -> Vec<String> {
        self.providers.values().filter_map(|provider| provider.short_key()).collect()
    }

    /// What stands between the settings' providers, and that of the default model, and their keys, as far as that can be
    /// known without fetching any.
    pub fn key_problems(&self) -> Vec<KeyProblem> {
        let default = self.provider_of(&self.default).filter(|provider| !self.providers.contains_key(provider.name()));
        self.providers.values().map(Arc::as_ref).chain(default).filter_map(Provider::key_problem).collect()
    }

    /// What is known of the key of a model's provider; none for a model without one.
    pub fn key(&self, id: &str) -> Option<ProviderKey> {
        self.provider_of(id).map(Provider::key_state)
    }

    /// What is known of the keys of the settings' providers.
    pub fn keys(&self) -> Vec<ProviderKey> {
        self.providers.values().map(|provider| provider.key_state()).collect()
    }

    /// What is known of the keys of the vendors without a table that take one.
    pub fn vendor_keys(&self) -> Vec<ProviderKey> {
        self.vendors.values().map(|provider| provider.key_state()).filter(|key| key.needed).collect()
    }

    /// What there is to say of every model to choose from.
    pub fn about(&self) -> Vec<AboutModel> {
        let default = self.full_id(&self.default);
        let about = |choice: ModelChoice| {
            let (provider, model) = match self.named(&choice.id) {
                Ok(Named::Of { provider, model, .. }) => (Some(provider), model),
                Ok(Named::Nothing | Named::Script(_)) | Err(_) => (None, None),
            };
            AboutModel {
                is_default: choice.id == default,
                wire: provider.map(|provider| provider.wire()),
                context_window: provider.zip(model).and_then(|(provider, model)| provider.window(model)),
                price: provider.zip(model).and_then(|(provider, model)| provider.price(model)).map(|(price, _)| price),
                key: provider.map(|provider| provider.key_state()),
                id: choice.id,
            }
        };
        self.list().into_iter().map(about).collect()
    }

    fn provider_of(&self, id: &str) -> Option<&Provider> {
        match self.named(id) {
            Ok(Named::Of { provider, .. }) => Some(provider.as_ref()),
            // The key of a vendor is asked for by its name alone, too.
            Ok(Named::Nothing | Named::Script(_)) | Err(_) => self.provider(id).map(Arc::as_ref),
        }
    }

    /// A model to ask. A provider's name alone means its default model; models that the settings do not list are
    /// passed to their provider as they are. A scenario starts at its beginning.
    pub fn open(&self, id: &str) -> Result<Arc<dyn Model>, ModelsError> {
        Ok(match self.named(id)? {
            Named::Nothing => Arc::new(NoModel),
            Named::Script(file) => Arc::new(ScriptModel::read(id, file.into())?),
            Named::Of { provider, model, found } => {
                Arc::new(ProviderModel::new(Arc::clone(provider), model, found, Arc::clone(&self.http)))
            }
        })
    }
}

impl ModelSource for Models {
    /// Those of the settings, those that are known of the vendors for which there seems to be a key, and the default
    /// where it is not among them. Asks nobody.
    fn list(&self) -> Vec<ModelChoice> {
        let mut choices: Vec<ModelChoice> = self.providers.values().flat_map(|provider| provider.choices()).collect();
        let keyed = self.vendors.values().filter(|vendor| vendor.key_state().from.is_some());
        choices.extend(keyed.flat_map(|vendor| vendor.known()));
        let default = self.full_id(&self.default);
        if !choices.iter().any(|choice| choice.id == default) {
            let name = if default == NONE { "No model".to_owned() } else { default.clone() };
            choices.insert(0, ModelChoice { id: default, name, group: None });
        }
        choices
    }

    fn others(&self) -> String {
        let without = self.vendors.values().filter(|vendor| vendor.missing_key().is_some());
        let without: Vec<&str> = without.map(|vendor| vendor.name()).collect();
        let keyless = match without.as_slice() {
            [] => String::new(),
            names => format!(" There is no key yet for `{}`: see `acp-runtime models --help`.", names.join("`, `")),
        };
        format!(
            "Any other model can be named, too: `claude-…` is asked of Anthropic, `gpt-…` and `o3` of OpenAI, \
             `gemini-…` of Google, another name of Ollama on this machine, and `PROVIDER/MODEL` of that provider.{keyless}"
        )
    }

    fn open(&self, id: Option<&str>) -> Result<Arc<dyn Model>, String> {
        Self::open(self, id.unwrap_or(&self.default)).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(default: Option<&str>, toml: &str) -> Result<Models, ModelsError> {
        Models::new(default, toml::from_str(toml).unwrap(), Arc::new(|_: &str| None), &Redaction::default())
    }

    const TWO: &str = r#"
        [lab]
        wire = "openai-chat"
        base_url = "http://127.0.0.1:1/v1"
        model = "org/small"
        models = ["org/large"]
        [zoo]
        wire = "anthropic"
        model = "claude-opus-4-5"
    "#;

    #[test]
    fn ids_name_models() {
        let models = models(None, TWO).unwrap();
        for (id, opened) in [
            ("none", "none"),
            ("lab", "lab/org/small"),
            ("lab/org/large", "lab/org/large"),
            ("lab/unlisted", "lab/unlisted"),
            ("zoo", "zoo/claude-opus-4-5"),
            ("claude-opus-4-5", "zoo/claude-opus-4-5"),
            ("claude-opus-4-8", "anthropic/claude-opus-4-8"),
            ("gpt-5.2", "openai/gpt-5.2"),
            ("openai/gpt-5.2", "openai/gpt-5.2"),
            ("gemini-3.5-flash", "gemini/gemini-3.5-flash"),
            ("qwen3:8b", "ollama/qwen3:8b"),
            ("ollama/hf.co/org/model:Q4", "ollama/hf.co/org/model:Q4"),
        ] {
            assert_eq!(models.open(id).unwrap().id(), opened, "{id}");
        }
        for (id, problem) in [
            (
                "opnai/gpt-5.2",
                "no provider `opnai` for the model `opnai/gpt-5.2`; configured are `lab`, `zoo`, and without that there \
                 are `anthropic`, `gemini`, `ollama`, `openai`",
            ),
            (
                "two words",
                "no provider `two words` for the model `two words`; configured are `lab`, `zoo`, and without that there \
                 are `anthropic`, `gemini`, `ollama`, `openai`",
            ),
            (
                "anthropic",
                "`anthropic` is a provider without a model; name one as `anthropic/MODEL`, or add \
                 `[providers.anthropic]`",
            ),
            (
                "script:/no/such.toml",
                "cannot play the scenario `/no/such.toml`: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(models.open(id).err().unwrap().to_string(), problem, "{id}");
        }
    }

    #[test]
    fn a_missing_key_has_a_name() {
        let toml = "[vendor]\nwire = 'anthropic'\nmodel = 'm'\n[lab]\nwire = 'openai-chat'\nmodel = 'm'\nbase_url = 'http://h/'\n\
            [own]\nwire = 'openai-chat'\nmodel = 'm'\nbase_url = 'http://h/'\napi_key_env = 'OWN'\n\
            [key]\nwire = 'gemini'\nmodel = 'm'\napi_key = 'k'";
        let models = models(None, toml).unwrap();
        for (id, way) in [
            ("vendor/m", Some("run `acp-runtime login vendor`, or set the environment variable `ANTHROPIC_API_KEY`")),
            ("lab", None),
            ("own/m", Some("run `acp-runtime login own`, or set the environment variable `OWN`")),
            ("key", None),
            ("none", None),
            (
                "claude-opus-4-8",
                Some("run `acp-runtime login anthropic`, or set the environment variable `ANTHROPIC_API_KEY`"),
            ),
            ("gemini/gemini-3.5-flash", Some("set the environment variable `GEMINI_API_KEY`")),
            ("qwen3:8b", None),
        ] {
            let message = models.missing_key(id).map(|error| error.message);
            assert_eq!(message.is_some(), way.is_some(), "{id}");
            assert!(message.unwrap_or_default().contains(way.unwrap_or_default()), "{id}");
        }
    }

    #[test]
    fn the_list_always_has_the_default() {
        let ids = |models: &Models| models.list().into_iter().map(|choice| choice.id).collect::<Vec<_>>();
        let configured = ["lab/org/small", "lab/org/large", "zoo/claude-opus-4-5"];

        let first = models(None, TWO).unwrap();
        assert_eq!((first.default_id(), ids(&first)), ("lab/org/small", configured.map(String::from).to_vec()));

        let short = models(Some("lab"), TWO).unwrap();
        assert_eq!(ids(&short), configured, "a provider's name alone is its default model");

        let vendors = models(Some("gpt-5.2"), TWO).unwrap();
        assert_eq!(ids(&vendors)[..2], ["openai/gpt-5.2", "lab/org/small"]);

        let scripted = models(Some("script:a.toml"), TWO).unwrap();
        assert_eq!(ids(&scripted)[..2], ["script:a.toml", "lab/org/small"]);

        let keys = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-secret-1".to_owned());
        let keyed = Models::new(None, BTreeMap::new(), Arc::new(keys), &Redaction::default()).unwrap();
        let listed = ids(&keyed);
        assert_eq!(listed[..2], ["none", "anthropic/claude-fable-5-1"]);
        assert!(listed[1..].iter().all(|id| id.starts_with("anthropic/claude-")), "{listed:?}");
        assert!(keyed.others().ends_with("no key yet for `gemini`, `openai`: see `acp-runtime models --help`."));

        let empty = models(None, "").unwrap();
        assert_eq!(empty.list(), [ModelChoice { id: "none".to_owned(), name: "No model".to_owned(), group: None }]);
    }

    #[test]
    fn settings_that_cannot_work_are_errors() {
        for (line, problem) in [
            ("base_url = 'localhost:1'", "`base_url` is `localhost:1`; it must start with `http://` or `https://`"),
            ("base_url = 'ftp://host/'", "`base_url` is `ftp://host/`; it must start with `http://` or `https://`"),
            ("base_url = 'http://me:pw@host/'", "`base_url` holds a password; put it into `headers` instead"),
            (
                "base_url = 'http://host/v1?key=sk-1'",
                "`base_url` is `http://host/v1?****`; it must not have a query or a fragment: a key belongs into \
                 `api_key` or `headers`",
            ),
            (
                "base_url = 'http://host/v1#sk-1'",
                "`base_url` is `http://host/v1#****`; it must not have a query or a fragment: a key belongs into \
                 `api_key` or `headers`",
            ),
            ("base_url = 'ftp://me:pw@host/'", "`base_url` holds a password; put it into `headers` instead"),
            ("base_url = 'me:pw@host:x/'", "`base_url` is `****@host:x/`; it must start with `http://` or `https://`"),
            ("api_key = \"sk-1\\n\"", "`api_key` cannot be sent: it has a line end in it; write it without"),
            (
                "api_key = 'schlüssel'",
                "`api_key` cannot be sent: it has characters that a header cannot carry; a key is plain ASCII",
            ),
            ("headers = { 'a b' = 'c' }", "`a b` in `headers` is not a header name"),
            ("headers = { a = \"c\\n\" }", "the value of `a` in `headers` has characters that a header cannot carry"),
            ("api_key = ''", "`api_key` is empty; leave it out, or set `api_key_env`"),
            ("retries = { attempts = 0 }", "`retries.attempts` is 0; 1 means no retries"),
            (
                "timeouts = { silence_secs = 0 }",
                "a timeout of 0 seconds lets nothing through; leave it out for the default",
            ),
        ] {
            let toml = format!("[lab]\nwire = 'openai-chat'\nmodel = 'm'\n{line}");
            let error = models(None, &toml).err().unwrap();
            assert_eq!(error.to_string(), format!("{problem}, in `[providers.lab]`"), "{line}");
        }
        let error = models(None, "[lab]\nwire = 'openai-chat'\nmodel = ''").err().unwrap();
        assert_eq!(
            error.to_string(),
            "`model` is empty; write the name that the provider knows it by, in `[providers.lab]`"
        );
    }
}
