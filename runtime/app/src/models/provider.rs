//! A provider's model, asked through `genai`: one adapter for every wire format.
//!
//! `genai` is told the wire format, the address and the key of each request and is left to guess nothing. What it
//! leaves open is decided here and in the neighbours: an answer counts as complete only with a stop reason and
//! something in it, tool calls are taken whole at the end, the first error is final (`failure`), a request is made
//! again only while nothing was answered (`retry`).

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use acp_runtime_agent::model::{Model, ModelChoice, ModelError, ModelEvent, ModelRequest, ReasoningEffort};
use acp_runtime_agent::transcript::Price;
use async_stream::try_stream;
use futures::stream::{BoxStream, Peekable, Stream, StreamExt};
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use http::header::AUTHORIZATION;

use super::abilities::{self, Sampling};
use super::answer::{Account, Answer};
use super::client::{Chunks, HttpClient};
use super::failure::Failures;
use super::flow::Broken;
use super::history;
use super::keys::{KeyPlace, KeySource, unfit};
use super::prices;
use super::retry::retrying;
use super::settings::{ProviderSettings, ToolMode, WireFormat};
use super::structured;
use super::vendors;
use super::{FetchedKey, KeyProblem, ProviderKey};
use crate::redaction::Redaction;
use crate::secret::Secret;

/// The HTTP status for a key that is not accepted.
const UNAUTHORIZED: u16 = 401;

/// A configured provider.
pub(super) struct Provider {
    name: String,
    settings: ProviderSettings,
    endpoint: String,
    /// Where its key may be, unless that is written in the settings.
    places: Vec<KeyPlace>,
    keys: Arc<dyn KeySource>,
    redaction: Redaction,
}

/// A key, and where it is from; no place where the settings have it.
struct FoundKey {
    secret: Secret,
    place: Option<KeyPlace>,
}

impl Provider {
    /// Checks the settings. Keys are looked up in `keys` when they are needed; `redaction` learns them.
    pub(super) fn new(
        name: String,
        settings: ProviderSettings,
        keys: Arc<dyn KeySource>,
        redaction: Redaction,
    ) -> Result<Self, String> {
        settings.check()?;
        let endpoint = settings.endpoint()?;
        let places = settings.key_places(&name);
        settings.api_key.iter().chain(settings.headers.values()).for_each(|secret| redaction.learn(secret));
        learn_at_hand(&places, &*keys, &redaction);
        Ok(Self { name, settings, endpoint, places, keys, redaction })
    }

    /// A vendor without a table in the settings, which has no default model.
    pub(super) fn vendor(name: &str, wire: WireFormat, keys: Arc<dyn KeySource>, redaction: Redaction) -> Self {
        let settings = vendors::settings(wire);
        let (endpoint, places) = (wire.home().to_owned(), settings.key_places(name));
        learn_at_hand(&places, &*keys, &redaction);
        Self { name: name.to_owned(), settings, endpoint, places, keys, redaction }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn default_id(&self) -> String {
        self.id(&self.settings.model)
    }

    /// The id of a model, or of the default one.
    pub(super) fn full_id(&self, model: Option<&str>) -> String {
        self.id(model.unwrap_or(&self.settings.model))
    }

    /// Whether the settings name a model.
    pub(super) fn lists(&self, model: &str) -> bool {
        std::iter::once(&self.settings.model).chain(&self.settings.models).any(|listed| listed == model)
    }

    pub(super) fn wire(&self) -> WireFormat {
        self.settings.wire
    }

    pub(super) fn window(&self, model: &str) -> Option<u64> {
        self.settings.window(model)
    }

    /// What a model costs, and for how many tokens of input that holds.
    pub(super) fn price(&self, model: &str) -> Option<(Price, u64)> {
        self.settings.price(model)
    }

    /// The models of the settings, the default first.
    pub(super) fn choices(&self) -> impl Iterator<Item = ModelChoice> {
        std::iter::once(&self.settings.model)
            .chain(self.settings.models.iter().filter(|model| **model != self.settings.model))
            .map(|model| self.choice(model))
    }

    /// The models of a vendor without a table that are known here.
    pub(super) fn known(&self) -> impl Iterator<Item = ModelChoice> {
        prices::names(self.settings.wire).map(|model| self.choice(model))
    }

    fn choice(&self, model: &str) -> ModelChoice {
        let (id, name) = (self.id(model), format!("{model} ({})", self.name));
        ModelChoice { id, name, group: Some(self.name.clone()) }
    }

    fn id(&self, model: &str) -> String {
        format!("{}/{model}", self.name)
    }

    /// What is known of its key without fetching it.
    pub(super) fn key_state(&self) -> ProviderKey {
        let place = self.places.iter().find(|place| self.keys.has(place));
        let from = match (&self.settings.api_key, place) {
            (Some(_), _) => Some("`api_key`".to_owned()),
            (None, place) => place.map(KeyPlace::described),
        };
        let kept = self.places.iter().find_map(|place| match place {
            KeyPlace::Kept(name) => Some(name.clone()),
            KeyPlace::Command(_) | KeyPlace::Variable(_) => None,
        });
        ProviderKey { provider: self.name.clone(), needed: self.settings.needs_key(), from, kept }
    }

    /// The error of a request without the key that it needs; none where there is one, or none is needed.
    pub(super) fn missing_key(&self) -> Option<ModelError> {
        let ProviderKey { needed, from, .. } = self.key_state();
        (needed && from.is_none()).then(|| self.failures("").no_key(&self.places))
    }

    /// What stands between it and its key, as far as that can be known without fetching it.
    pub(super) fn key_problem(&self) -> Option<KeyProblem> {
        let provider = self.name.clone();
        // They are looked at in this order, and no further than to the first one that has something.
        for place in self.places.iter().filter(|_| self.settings.api_key.is_none()) {
            if let Some((problem, hint)) = self.keys.obstacle(place) {
                let problem = format!("the API key of `{provider}`: {problem}");
                return Some(KeyProblem { provider, problem, hint, is_broken: true });
            }
            if self.keys.has(place) {
                return None;
            }
        }
        self.missing_key()?;
        let failures = self.failures("");
        let (problem, hint) = (failures.keyless(), failures.ways_to_a_key(&self.places));
        Some(KeyProblem { provider, problem, hint, is_broken: false })
    }

    /// Fetches the key, and says where it is from; none where there is none and none is needed.
    pub(super) async fn fetch_key(&self) -> Result<Option<FetchedKey>, ModelError> {
        let found = self.needed_key(false).await?;
        Ok(found.map(|found| FetchedKey {
            from: found.place.as_ref().map_or_else(|| "`api_key`".to_owned(), KeyPlace::described),
            is_kept_out: Redaction::can_learn(&found.secret),
        }))
    }

    /// That the key of the settings is too short to be kept out of texts, where it is.
    pub(super) fn short_key(&self) -> Option<String> {
        let short = self.settings.api_key.as_ref().is_some_and(|key| !Redaction::can_learn(key));
        short.then(|| {
            format!("`api_key` in `[providers.{}]` is so short that it is not masked where others repeat it", self.name)
        })
    }

    /// The key, without which a request may make no sense.
    async fn needed_key(&self, afresh: bool) -> Result<Option<FoundKey>, ModelError> {
        match self.key(afresh).await {
            Err(reason) => Err(self.failures("").key_out_of_reach(&reason)),
            Ok(None) if self.settings.needs_key() => Err(self.failures("").no_key(&self.places)),
            Ok(found) => Ok(found),
        }
    }

    /// The first key that is found.
    async fn key(&self, afresh: bool) -> Result<Option<FoundKey>, String> {
        if let Some(secret) = &self.settings.api_key {
            return Ok(Some(FoundKey { secret: secret.clone(), place: None }));
        }
        for place in &self.places {
            if let Some(secret) = self.keys.fetch(place, afresh).await? {
                self.redaction.learn(&secret);
                if let Some(problem) = unfit(&secret) {
                    return Err(format!("the one from {} cannot be sent: {problem}", place.described()));
                }
                return Ok(Some(FoundKey { secret, place: Some(place.clone()) }));
            }
        }
        Ok(None)
    }

    /// What messages about `model` need to know.
    fn failures(&self, model: &str) -> Failures {
        Failures {
            provider: self.name.clone(),
            model: model.to_owned(),
            found: false,
            endpoint: self.endpoint.clone(),
            redaction: self.redaction.clone(),
        }
    }

    /// How this request is made. In Ollama's own format `genai` writes neither an effort of Qwen's nor a schema; Ollama's
    /// compatible one has both.
    fn manner(&self, model: &str, request: &ModelRequest) -> Manner {
        let wire = self.settings.wire;
        let wanted = request.effort.or(self.settings.reasoning_effort);
        let effort = wanted.and_then(|wanted| abilities::effort(wire, model, wanted));
        let structured = self.settings.tool_mode == ToolMode::JsonSchema && !request.tools.is_empty();
        if wire == WireFormat::Ollama && (structured || effort.is_some() && abilities::is_qwen(model)) {
            let (wire, endpoint) = (WireFormat::OpenaiChat, format!("{}v1/", self.endpoint));
            return Manner { wire, endpoint, effort, structured, thoughts: true };
        }
        let thoughts = abilities::thinks(wire, model);
        Manner { wire, endpoint: self.endpoint.clone(), effort, structured, thoughts }
    }

    fn options(&self, model: &str, manner: &Manner, key: Option<&Secret>) -> ChatOptions {
        let Manner { wire, effort, thoughts, .. } = *manner;
        let mut options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_reasoning_content(thoughts)
            .with_capture_tool_calls(wire != WireFormat::OpenaiChat)
            .with_capture_usage(true)
            .with_stream_header_timeout(self.settings.timeouts.response())
            .with_stream_read_timeout(self.settings.timeouts.silence())
            .with_extra_headers(self.headers(wire, key));
        options.max_tokens = self.settings.max_output_tokens;
        options.reasoning_effort = effort.map(thinking).or_else(|| {
            // Without an effort `genai` takes one from the end of the model's name and cuts it off there, so that
            // `mistral-medium` would become `mistral`. A budget stops that, and these two formats send none.
            matches!(wire, WireFormat::OpenaiChat | WireFormat::OpenaiResponses)
                .then_some(genai::chat::ReasoningEffort::Budget(0))
        });
        // An answer must have room for more than its thoughts.
        if let (WireFormat::Anthropic, Some(effort), Some(most)) = (wire, effort, self.settings.max_output_tokens)
            && let Some(budget) = abilities::budget(model, effort, most)
        {
            options.reasoning_effort = Some(match budget {
                0 => genai::chat::ReasoningEffort::Zero,
                budget => genai::chat::ReasoningEffort::Budget(budget),
            });
        }
        let (temperature, top_p) = (self.settings.temperature, self.settings.top_p);
        (options.temperature, options.top_p) = match abilities::sampling(wire, model, effort) {
            Sampling::Both => (temperature, top_p),
            Sampling::One => (temperature, top_p.filter(|_| temperature.is_none())),
            Sampling::Neither => (None, None),
        };
        options
    }

    /// The settings' headers. The map is case-sensitive, so `Authorization` is spelled as `genai` spells it and
    /// replaces its own. For Ollama `genai` writes none.
    fn headers(&self, wire: WireFormat, key: Option<&Secret>) -> HashMap<String, String> {
        let spelled = |name: &str| {
            if name.eq_ignore_ascii_case(AUTHORIZATION.as_str()) { "Authorization".to_owned() } else { name.to_owned() }
        };
        let key = key.filter(|_| wire == WireFormat::Ollama);
        let own = key.map(|key| ("Authorization".to_owned(), format!("Bearer {}", key.expose())));
        let written = self.settings.headers.iter().map(|(name, value)| (spelled(name), value.expose().to_owned()));
        own.into_iter().chain(written).collect()
    }
}

/// How a request is made.
struct Manner {
    wire: WireFormat,
    endpoint: String,
    effort: Option<ReasoningEffort>,
    /// Whether answers are JSON of our schema.
    structured: bool,
    /// Whether it is asked for what the model thinks.
    thoughts: bool,
}

impl Manner {
    /// Whom `genai` asks. One of its adapters comes in a variant for having no key.
    fn target(&self, model: &str, key: Option<&Secret>) -> ServiceTarget {
        let adapter = match (self.wire, key) {
            (WireFormat::OpenaiChat, Some(_)) => AdapterKind::OpenAI,
            (WireFormat::OpenaiChat, None) => AdapterKind::Omlx,
            (WireFormat::OpenaiResponses, _) => AdapterKind::OpenAIResp,
            (WireFormat::Anthropic, _) => AdapterKind::Anthropic,
            (WireFormat::Gemini, _) => AdapterKind::Gemini,
            (WireFormat::Ollama, _) => AdapterKind::Ollama,
        };
        let auth = match key {
            Some(key) => AuthData::from_single(key.expose()),
            None if adapter == AdapterKind::Omlx => AuthData::None,
            None => AuthData::from_single(""),
        };
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.endpoint.as_str()),
            auth,
            model: ModelIden::new(adapter, model),
        }
    }
}

fn thinking(effort: ReasoningEffort) -> genai::chat::ReasoningEffort {
    match effort {
        ReasoningEffort::None => genai::chat::ReasoningEffort::Zero,
        ReasoningEffort::Minimal => genai::chat::ReasoningEffort::Minimal,
        ReasoningEffort::Low => genai::chat::ReasoningEffort::Low,
        ReasoningEffort::Medium => genai::chat::ReasoningEffort::Medium,
        ReasoningEffort::High => genai::chat::ReasoningEffort::High,
        ReasoningEffort::Xhigh => genai::chat::ReasoningEffort::XHigh,
        ReasoningEffort::Max => genai::chat::ReasoningEffort::Max,
    }
}

/// What is answered, as far as it was not looked at yet.
type Answered = Pin<Box<Peekable<Chunks>>>;

/// One model of a provider.
pub(super) struct ProviderModel {
    id: String,
    model: String,
    provider: Arc<Provider>,
    failures: Failures,
    account: Account,
    http: Arc<HttpClient>,
    /// Whether the provider has refused to tell what the model thinks.
    are_thoughts_refused: AtomicBool,
}

impl ProviderModel {
    /// The provider's default model if none is named. `found` tells that the provider was found by the model's name.
    pub(super) fn new(provider: Arc<Provider>, model: Option<&str>, found: bool, http: Arc<HttpClient>) -> Self {
        let model = model.unwrap_or(&provider.settings.model).to_owned();
        Self {
            id: provider.id(&model),
            account: Account { window: provider.window(&model), price: provider.price(&model) },
            failures: Failures { found, ..provider.failures(&model) },
            model,
            provider,
            http,
            are_thoughts_refused: AtomicBool::new(false),
        }
    }

    /// Asks with the key that there is. A key that is not accepted may be one that was remembered for too long.
    async fn connect(&self, request: &ModelRequest, manner: &Manner) -> Result<Answered, ModelError> {
        let key = self.provider.needed_key(false).await?;
        match (self.ask(request, manner, key.as_ref()).await, key) {
            (Err(error), Some(refused)) if error.status == Some(UNAUTHORIZED) => {
                match self.provider.needed_key(true).await? {
                    Some(fresh) if fresh.secret != refused.secret => self.ask(request, manner, Some(&fresh)).await,
                    _ => Err(error),
                }
            }
            (answer, _) => answer,
        }
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        manner: &Manner,
        key: Option<&FoundKey>,
    ) -> Result<Answered, ModelError> {
        let line = self.http.get().map_err(|reason| self.failures.no_client(reason))?;
        let target = manner.target(&self.model, key.map(|key| &key.secret));
        let mut options = self.provider.options(&self.model, manner, key.map(|key| &key.secret));
        let asked = if manner.structured {
            structured::hold(&mut options, manner.wire, &request.tools);
            history::chat_request(&structured::request(request), manner.wire)
        } else {
            history::chat_request(request, manner.wire)
        };
        let asked = line.ask(target, asked, options, (manner.wire, self.provider.settings.timeouts)).await;
        let mut chunks = Box::pin(asked.map_err(|error| self.refusal(error, key))?.peekable());
        // What the provider refuses has an error in the place of the first chunk.
        let no_chunk = |first: &_| matches!(first, Err(_) | Ok(ChatStreamEvent::Start));
        while let Some(first) = chunks.as_mut().next_if(no_chunk).await {
            first.map_err(|error| self.refusal(error, key))?;
        }
        Ok(chunks)
    }

    /// Asks once more without the model's thoughts where only they are refused, and from then on at once.
    async fn connect_somehow(&self, request: &ModelRequest, manner: &mut Manner) -> Result<Answered, ModelError> {
        manner.thoughts &= !self.are_thoughts_refused.load(Ordering::Relaxed);
        match self.connect(request, manner).await {
            Err(error) if manner.thoughts && Failures::are_thoughts_refused(&error) => {
                manner.thoughts = false;
                let answered = self.connect(request, manner).await?;
                self.are_thoughts_refused.store(true, Ordering::Relaxed);
                Ok(answered)
            }
            answered => answered,
        }
    }

    /// Why nothing was answered to a request with this key.
    fn refusal(&self, error: Broken, key: Option<&FoundKey>) -> ModelError {
        let error = self.failures.translate(error, false);
        match key {
            Some(key) if error.status == Some(UNAUTHORIZED) => {
                ModelError { message: self.failures.refused_key(key.place.as_ref()), ..error }
            }
            _ => error,
        }
    }

    /// One request and its answer; ends after [`ModelEvent::Stop`] or the first error.
    fn attempt(&self, request: Arc<ModelRequest>) -> impl Stream<Item = Result<ModelEvent, ModelError>> + Send {
        try_stream! {
            let mut manner = self.provider.manner(&self.model, &request);
            let mut chunks = self.connect_somehow(&request, &mut manner).await?;
            let mut answer = Answer::new(manner.wire, manner.structured);
            let mut end = None;
            while let Some(chunk) = chunks.next().await {
                match chunk.map_err(|error| self.failures.translate(error, answer.began()))? {
                    ChatStreamEvent::End(last) => {
                        end = Some(last);
                        break;
                    }
                    event => {
                        for event in answer.take(event).map_err(|much| self.failures.too_much(much))? {
                            yield event;
                        }
                    }
                }
            }
            let end = end.ok_or_else(|| self.failures.translate(Broken::Early(None), answer.began()))?;
            for event in answer.finish(end, &self.failures, &self.account)? {
                yield event;
            }
        }
    }
}

impl Model for ProviderModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn efforts(&self) -> &[ReasoningEffort] {
        abilities::efforts(self.provider.wire(), &self.model)
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let request = Arc::new(request);
        retrying(self.provider.settings.retries, move || self.attempt(Arc::clone(&request))).boxed()
    }
}

/// A key can be said to the program before it was sent anywhere.
fn learn_at_hand(places: &[KeyPlace], keys: &dyn KeySource, redaction: &Redaction) {
    for secret in places.iter().filter_map(|place| keys.at_hand(place)) {
        redaction.learn(&secret);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_set_up_before_the_first_request() {
        let toml = "wire = 'openai-chat'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nretries.attempts = 1";
        let keys = Arc::new(|_: &str| None);
        let provider = Provider::new("lab".to_owned(), toml::from_str(toml).unwrap(), keys, Redaction::default());
        let http = Arc::<HttpClient>::default();
        let model = ProviderModel::new(Arc::new(provider.unwrap()), None, false, Arc::clone(&http));
        let request = ModelRequest {
            system: "".into(),
            messages: std::iter::empty().collect(),
            tools: Vec::new().into(),
            effort: None,
        };
        let answer = model.stream(request);
        assert!(!http.is_open());
        let items: Vec<_> = answer.collect().await;
        assert!(http.is_open() && items.len() == 1, "{items:?}");
    }
}
