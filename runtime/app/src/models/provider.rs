//! A provider's model, asked through `genai`: one adapter for every wire format.
//!
//! `genai` is told the wire format, the address and the key of each request and is left to guess nothing. What it
//! leaves open is decided here and in the neighbours: an answer counts as complete only with a stop reason and
//! something in it, tool calls are taken whole at the end, the first error is final (`failure`), a request is made
//! again only while nothing was answered (`retry`).

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use acp_runtime_agent::model::{Model, ModelChoice, ModelError, ModelEvent, ModelRequest, ReasoningEffort};
use acp_runtime_agent::transcript::{Price, StopReason, Usage};
use async_stream::try_stream;
use futures::stream::{BoxStream, Peekable, Stream, StreamExt};
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use http::header::AUTHORIZATION;

use super::calls::{self, Calls, call};
use super::client::{Chunks, HttpClient};
use super::failure::Failures;
use super::flow::{Broken, TooMuch};
use super::history;
use super::keys::{KeyPlace, KeySource, unfit};
use super::retry::retrying;
use super::settings::{ProviderSettings, WireFormat};
use super::{FetchedKey, ProviderKey};
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
        Ok(Self { name, settings, endpoint, places, keys, redaction })
    }

    pub(super) fn default_id(&self) -> String {
        self.id(&self.settings.model)
    }

    /// The models of the settings, the default first.
    pub(super) fn choices(&self) -> impl Iterator<Item = ModelChoice> {
        std::iter::once(&self.settings.model)
            .chain(self.settings.models.iter().filter(|model| **model != self.settings.model))
            .map(|model| ModelChoice {
                id: self.id(model),
                name: format!("{model} ({})", self.name),
                group: Some(self.name.clone()),
            })
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
            endpoint: self.endpoint.clone(),
            redaction: self.redaction.clone(),
        }
    }

    /// Whom `genai` asks. Two of its adapters come in a variant for the opposite case of having a key.
    fn target(&self, model: &str, key: Option<&Secret>) -> ServiceTarget {
        let adapter = match (self.settings.wire, key) {
            (WireFormat::OpenaiChat, Some(_)) => AdapterKind::OpenAI,
            (WireFormat::OpenaiChat, None) => AdapterKind::Omlx,
            (WireFormat::OpenaiResponses, _) => AdapterKind::OpenAIResp,
            (WireFormat::Anthropic, _) => AdapterKind::Anthropic,
            (WireFormat::Gemini, _) => AdapterKind::Gemini,
            (WireFormat::Ollama, Some(_)) => AdapterKind::OllamaCloud,
            (WireFormat::Ollama, None) => AdapterKind::Ollama,
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

    /// `effort` goes before that of the settings.
    fn options(&self, effort: Option<ReasoningEffort>) -> ChatOptions {
        let mut options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(self.settings.wire != WireFormat::OpenaiChat)
            .with_capture_usage(true)
            .with_stream_header_timeout(self.settings.timeouts.response())
            .with_stream_read_timeout(self.settings.timeouts.silence())
            .with_extra_headers(self.headers());
        options.max_tokens = self.settings.max_output_tokens;
        options.reasoning_effort = effort.or(self.settings.reasoning_effort).map(thinking).or_else(|| {
            // Without an effort `genai` takes one from the end of the model's name and cuts it off there, so that
            // `mistral-medium` would become `mistral`. A budget stops that, and these two formats send none.
            matches!(self.settings.wire, WireFormat::OpenaiChat | WireFormat::OpenaiResponses)
                .then_some(genai::chat::ReasoningEffort::Budget(0))
        });
        options
    }

    /// The settings' headers. The map is case-sensitive, so `Authorization` is spelled as `genai` spells it and
    /// replaces its own.
    fn headers(&self) -> HashMap<String, String> {
        let spelled = |name: &str| {
            if name.eq_ignore_ascii_case(AUTHORIZATION.as_str()) { "Authorization".to_owned() } else { name.to_owned() }
        };
        self.settings.headers.iter().map(|(name, value)| (spelled(name), value.expose().to_owned())).collect()
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
}

impl ProviderModel {
    /// The provider's default model if none is named.
    pub(super) fn new(provider: Arc<Provider>, model: Option<&str>, http: Arc<HttpClient>) -> Self {
        let model = model.unwrap_or(&provider.settings.model).to_owned();
        Self {
            id: provider.id(&model),
            account: Account { window: provider.settings.context_window, price: provider.settings.price(&model) },
            failures: provider.failures(&model),
            model,
            provider,
            http,
        }
    }

    /// Asks with the key that there is. A key that is not accepted may be one that was remembered for too long.
    async fn connect(&self, request: &ModelRequest) -> Result<Answered, ModelError> {
        let key = self.provider.needed_key(false).await?;
        match (self.ask(request, key.as_ref()).await, key) {
            (Err(error), Some(refused)) if error.status == Some(UNAUTHORIZED) => {
                match self.provider.needed_key(true).await? {
                    Some(fresh) if fresh.secret != refused.secret => self.ask(request, Some(&fresh)).await,
                    _ => Err(error),
                }
            }
            (answer, _) => answer,
        }
    }

    async fn ask(&self, request: &ModelRequest, key: Option<&FoundKey>) -> Result<Answered, ModelError> {
        let line = self.http.get().map_err(|reason| self.failures.no_client(reason))?;
        let target = self.provider.target(&self.model, key.map(|key| &key.secret));
        let asked = history::chat_request(request, self.provider.settings.wire);
        let options = self.provider.options(request.effort);
        let asked = line.ask(target, asked, options, self.provider.settings.timeouts).await;
        let mut chunks = Box::pin(asked.map_err(|error| self.refusal(error, key))?.peekable());
        // What the provider refuses has an error in the place of the first chunk.
        let no_chunk = |first: &_| matches!(first, Err(_) | Ok(ChatStreamEvent::Start));
        while let Some(first) = chunks.as_mut().next_if(no_chunk).await {
            first.map_err(|error| self.refusal(error, key))?;
        }
        Ok(chunks)
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
            let mut chunks = self.connect(&request).await?;
            let mut answer = Answer::default();
            let mut end = None;
            while let Some(chunk) = chunks.next().await {
                match chunk.map_err(|error| self.failures.translate(error, answer.began()))? {
                    ChatStreamEvent::End(last) => {
                        end = Some(last);
                        break;
                    }
                    event => {
                        if let Some(event) = answer.take(event).map_err(|much| self.failures.too_much(much))? {
                            yield event;
                        }
                    }
                }
            }
            let end = end.ok_or_else(|| self.failures.cut(answer.began()))?;
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

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let request = Arc::new(request);
        retrying(self.provider.settings.retries, move || self.attempt(Arc::clone(&request))).boxed()
    }
}

/// What has been answered so far.
#[derive(Default)]
struct Answer {
    text: bool,
    thought: bool,
    signed: bool,
    /// Where `genai` does not put them together.
    calls: Calls,
}

impl Answer {
    fn began(&self) -> bool {
        self.text || self.thought
    }

    /// What a chunk means. Tool calls are left to the end, where they are complete.
    fn take(&mut self, event: ChatStreamEvent) -> Result<Option<ModelEvent>, TooMuch> {
        Ok(match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.text = true;
                Some(ModelEvent::Text(chunk.content))
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.thought = true;
                Some(ModelEvent::Thought(chunk.content))
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => {
                self.signed = true;
                Some(ModelEvent::ThoughtSignature(chunk.content))
            }
            ChatStreamEvent::ToolCallChunk(piece) => {
                self.calls.add(piece.tool_call)?;
                None
            }
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat | ChatStreamEvent::End(_) => None,
        })
    }

    /// The last events, or why the answer does not count.
    fn finish(self, mut end: StreamEnd, failures: &Failures, account: &Account) -> Result<Vec<ModelEvent>, ModelError> {
        let stop = end.captured_stop_reason.take().ok_or_else(|| failures.no_stop_reason())?;
        let stop = match &stop {
            genai::chat::StopReason::Completed(_)
            | genai::chat::StopReason::ToolCall(_)
            | genai::chat::StopReason::StopSequence(_) => StopReason::EndTurn,
            genai::chat::StopReason::MaxTokens(_) => StopReason::MaxTokens,
            genai::chat::StopReason::ContentFilter(_) => StopReason::Refusal,
            genai::chat::StopReason::Other(reason) => return Err(failures.odd_stop(reason)),
        };
        let mut events = Vec::new();
        if !self.signed {
            let signatures = end.captured_thought_signatures().unwrap_or_default();
            events.extend(signatures.into_iter().map(|signature| ModelEvent::ThoughtSignature(signature.to_owned())));
        }
        let usage = end.captured_usage.take();
        // A call of an answer that was cut off may be a part of what the model meant.
        if stop == StopReason::EndTurn {
            let whole = end.captured_into_tool_calls().unwrap_or_default();
            if whole.len() > calls::MOST {
                return Err(failures.too_much(TooMuch::Calls));
            }
            let before = events.len();
            events.extend(whole.into_iter().map(|whole| call(whole.fn_name, whole.fn_arguments)));
            events.extend(self.calls.finish());
            if events.len() == before && !self.text {
                return Err(failures.empty());
            }
        }
        events.extend(usage.map(|usage| ModelEvent::Usage(account.of(&usage))));
        events.push(ModelEvent::Stop(stop));
        Ok(events)
    }
}

/// What is known of a model's tokens.
struct Account {
    window: Option<u64>,
    price: Option<Price>,
}

impl Account {
    fn of(&self, usage: &genai::chat::Usage) -> Usage {
        let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
        let usage = Usage {
            input: count(usage.prompt_tokens),
            output: count(usage.completion_tokens),
            cached: count(usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens)),
            window: self.window,
            cost: None,
        };
        Usage { cost: self.price.as_ref().map(|price| price.of(&usage)), ..usage }
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
        let model = ProviderModel::new(Arc::new(provider.unwrap()), None, Arc::clone(&http));
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
