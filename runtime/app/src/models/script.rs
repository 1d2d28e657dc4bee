//! A model that plays a scenario from a file: for tests and for the demo, where it says that it is one.
//!
//! The format is described in `docs/script-model.md`. A file is read and checked as a whole when the model is opened;
//! mistakes name the file, the line and the column. Delays are `tokio`'s, so a test can wind its clock.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use acp_runtime_agent::model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use acp_runtime_agent::transcript::{Cost, Part, StopReason, Usage};
use acp_runtime_host::regular_file;
use async_stream::try_stream;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::ModelsError;

/// The biggest scenario, in bytes.
const FILE: u64 = 1 << 20;
/// The most generated chunks of one step.
const CHUNKS: usize = 1_000_000;
/// The most characters of one generated chunk.
const CHUNK: usize = 64 << 10;
/// The longest delay of one step, in milliseconds.
const DELAY: u64 = 600_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    #[serde(default)]
    quiet: bool,
    #[serde(default)]
    repeat: bool,
    #[serde(rename = "reply")]
    replies: Vec<Reply>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    when: Option<When>,
    steps: Vec<Spanned<Step>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    ToolSucceeded,
    ToolFailed,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Text(String),
    Thought(String),
    Signature(String),
    Chunks(Chunks),
    DelayMs(u64),
    Call(Call),
    Usage(Tokens),
    Stop(Ending),
    Error(Failure),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunks {
    count: usize,
    size: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    arguments: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    input: u64,
    output: u64,
    #[serde(default)]
    cached: u64,
    window: Option<u64>,
    /// In US dollars.
    cost: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    EndTurn,
    MaxTokens,
    Refusal,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    #[serde(with = "Kind")]
    kind: ModelErrorKind,
    message: String,
    status: Option<u16>,
    retry_after_secs: Option<u64>,
}

#[derive(Deserialize)]
#[serde(remote = "ModelErrorKind", rename_all = "snake_case")]
enum Kind {
    Auth,
    RateLimit,
    Overloaded,
    Network,
    Certificate,
    Request,
    ContextOverflow,
    Malformed,
    Empty,
    Unconfigured,
}

/// A scenario being played. Replies are used up in order by the requests made of this model.
pub(super) struct ScriptModel {
    id: String,
    file: PathBuf,
    scenario: Scenario,
    next: AtomicUsize,
    announced: AtomicBool,
}

impl ScriptModel {
    /// Reads and checks the scenario.
    pub(super) fn read(id: &str, file: PathBuf) -> Result<Self, ModelsError> {
        let scenario = load(&file).and_then(|text| parse(&text));
        let scenario = scenario.map_err(|reason| ModelsError::Script { file: file.clone(), reason })?;
        let announced = AtomicBool::new(scenario.quiet);
        Ok(Self { id: id.to_owned(), file, scenario, next: AtomicUsize::new(0), announced })
    }

    /// The reply to a request that follows this outcome of tools, and uses it up.
    fn reply(&self, outcome: Option<When>) -> Option<&Reply> {
        let fits = |index: &usize| {
            self.scenario.replies.get(*index).is_some_and(|reply| reply.when.is_none() || reply.when == outcome)
        };
        let replies = 0..self.scenario.replies.len();
        let find = |from: usize| {
            let again = if self.scenario.repeat { 0..from.min(replies.end) } else { 0..0 };
            (from..replies.end).chain(again).find(fits)
        };
        let after = |from: usize| find(from).map(|index| index + 1);
        let from = self.next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, after).ok()?;
        self.scenario.replies.get(find(from)?)
    }

    fn announcement(&self) -> String {
        format!("This is a scripted model: it plays `{}` and understands nothing.\n\n", self.file.display())
    }

    fn over(&self) -> ModelError {
        Failure {
            kind: ModelErrorKind::Request,
            message: format!(
                "the scenario `{}` has no reply left for this request; add one, or set `repeat = true`",
                self.file.display()
            ),
            status: None,
            retry_after_secs: None,
        }
        .to_error(&self.id)
    }
}

impl Model for ScriptModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        let outcome = outcome(&request);
        try_stream! {
            let reply = self.reply(outcome).ok_or_else(|| self.over())?;
            let fails = matches!(reply.steps.first().map(Spanned::get_ref), Some(Step::Error(_)));
            if !fails && !self.announced.swap(true, Ordering::SeqCst) {
                yield ModelEvent::Text(self.announcement());
            }
            let mut stop = StopReason::EndTurn;
            for step in reply.steps.iter().map(Spanned::get_ref) {
                match step {
                    Step::Text(text) => yield ModelEvent::Text(text.clone()),
                    Step::Thought(text) => yield ModelEvent::Thought(text.clone()),
                    Step::Signature(text) => yield ModelEvent::ThoughtSignature(text.clone()),
                    Step::Chunks(chunks) => {
                        for index in 0..chunks.count {
                            yield ModelEvent::Text(chunks.text(index));
                        }
                    }
                    Step::DelayMs(millis) => tokio::time::sleep(Duration::from_millis(*millis)).await,
                    Step::Call(call) => yield ModelEvent::call(&call.tool, call.arguments.clone()),
                    Step::Usage(tokens) => yield ModelEvent::Usage(tokens.to_usage()),
                    Step::Stop(ending) => stop = (*ending).into(),
                    Step::Error(failure) => Err(failure.to_error(&self.id))?,
                }
            }
            yield ModelEvent::Stop(stop);
        }
        .boxed()
    }
}

/// How the tools did that the request brings the results of.
fn outcome(request: &ModelRequest) -> Option<When> {
    let results = request.messages.last()?.parts.iter().filter_map(|part| match part {
        Part::ToolResult { failed, .. } => Some(if *failed { When::ToolFailed } else { When::ToolSucceeded }),
        _ => None,
    });
    results.max_by_key(|outcome| *outcome == When::ToolFailed)
}

impl Chunks {
    /// `size` characters, the last of them a space.
    fn text(&self, index: usize) -> String {
        let letters = ('a'..='z').cycle().skip(index % 26).take(self.size.saturating_sub(1));
        letters.chain((self.size > 0).then_some(' ')).collect()
    }
}

impl Tokens {
    fn to_usage(&self) -> Usage {
        let cost = self.cost.map(dollars);
        Usage { input: self.input, output: self.output, cached: self.cached, window: self.window, cost }
    }
}

fn dollars(amount: f64) -> Cost {
    Cost { amount, currency: "USD".into() }
}

impl From<Ending> for StopReason {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::EndTurn => Self::EndTurn,
            Ending::MaxTokens => Self::MaxTokens,
            Ending::Refusal => Self::Refusal,
        }
    }
}

impl Failure {
    fn to_error(&self, provider: &str) -> ModelError {
        ModelError {
            message: self.message.clone(),
            kind: self.kind,
            provider: provider.to_owned(),
            status: self.status,
            retry_after: self.retry_after_secs.map(Duration::from_secs),
        }
    }
}

fn load(file: &Path) -> Result<String, String> {
    regular_file::read_text(file, FILE).map_err(|error| error.to_string())
}

fn parse(text: &str) -> Result<Scenario, String> {
    let at = |start: usize, reason: &str| {
        let before = text.get(..start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        format!("line {line}, column {column}: {reason}")
    };
    let scenario: Scenario = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        at(start, error.message())
    })?;
    if scenario.replies.is_empty() {
        return Err("it has no `[[reply]]`".to_owned());
    }
    for reply in &scenario.replies {
        let mut ended = false;
        for step in &reply.steps {
            let problem = match step.get_ref() {
                _ if ended => Some("nothing may follow `stop` or `error`".to_owned()),
                Step::Chunks(chunks) if chunks.count > CHUNKS => Some(format!("`count` is greater than {CHUNKS}")),
                Step::Chunks(chunks) if chunks.size > CHUNK => Some(format!("`size` is greater than {CHUNK}")),
                Step::DelayMs(millis) if *millis > DELAY => Some(format!("`delay_ms` is greater than {DELAY}")),
                _ => None,
            };
            if let Some(problem) = problem {
                return Err(at(step.span().start, &problem));
            }
            ended = matches!(step.get_ref(), Step::Stop(_) | Step::Error(_));
        }
    }
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use acp_runtime_agent::transcript::{Message, MessageId, Role, ToolCallId};
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;

    fn model(text: &str) -> ScriptModel {
        let scenario = parse(text).unwrap();
        let announced = AtomicBool::new(scenario.quiet);
        let file = PathBuf::from("demo.toml");
        ScriptModel { id: "script:demo.toml".to_owned(), file, scenario, next: AtomicUsize::new(0), announced }
    }

    /// A request after a prompt, or after a tool that went as told.
    fn request(failed: Option<bool>) -> ModelRequest {
        let (role, part) = match failed {
            None => (Role::User, Part::Text { text: "go".to_owned() }),
            Some(failed) => {
                let call = ToolCallId::new("1");
                (Role::Tool, Part::ToolResult { call, text: String::new(), failed })
            }
        };
        let message = Message { id: MessageId::new("m"), role, parts: vec![part] };
        ModelRequest {
            system: "".into(),
            messages: [message].into_iter().collect(),
            tools: Vec::new().into(),
            effort: None,
        }
    }

    async fn ask(model: &ScriptModel, failed: Option<bool>) -> Vec<Result<ModelEvent, ModelError>> {
        model.stream(request(failed)).collect().await
    }

    /// All text of the answer, or the error's message.
    async fn text(model: &ScriptModel, failed: Option<bool>) -> String {
        let texts = ask(model, failed).await.into_iter().map(|item| match item {
            Ok(ModelEvent::Text(text)) => text,
            Ok(_) => String::new(),
            Err(error) => error.message,
        });
        texts.collect()
    }

    #[tokio::test(start_paused = true)]
    async fn every_step_is_played_in_order() {
        let model = model(
            r#"
            quiet = true
            [[reply]]
            steps = [
                { thought = "hm" },
                { signature = "sig" },
                { text = "Hello " },
                { delay_ms = 250 },
                { chunks = { count = 2, size = 4 } },
                { call = { tool = "read_file", arguments = { path = "a.md", limit = 3 } } },
                { call = { tool = "read_file", arguments = "not an object" } },
                { usage = { input = 7, output = 3, window = 100, cost = 0.25 } },
                { stop = "max_tokens" },
            ]
            [[reply]]
            steps = [
                { text = "so far" },
                { error = { kind = "rate_limit", message = "slow down", status = 429, retry_after_secs = 7 } },
            ]
            "#,
        );
        let began = Instant::now();
        let events: Vec<ModelEvent> = ask(&model, None).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(
            events,
            [
                ModelEvent::Thought("hm".to_owned()),
                ModelEvent::ThoughtSignature("sig".to_owned()),
                ModelEvent::Text("Hello ".to_owned()),
                ModelEvent::Text("abc ".to_owned()),
                ModelEvent::Text("bcd ".to_owned()),
                ModelEvent::call("read_file", json!({ "path": "a.md", "limit": 3 })),
                ModelEvent::call("read_file", json!("not an object")),
                ModelEvent::Usage(Usage {
                    input: 7,
                    output: 3,
                    cached: 0,
                    window: Some(100),
                    cost: Some(dollars(0.25))
                }),
                ModelEvent::Stop(StopReason::MaxTokens),
            ]
        );
        assert_eq!(began.elapsed(), Duration::from_millis(250));

        let items = ask(&model, None).await;
        assert_eq!(items[0], Ok(ModelEvent::Text("so far".to_owned())));
        let error = items[1].clone().unwrap_err();
        assert_eq!((error.kind, error.status), (ModelErrorKind::RateLimit, Some(429)));
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(items.len(), 2);
    }

    #[tokio::test]
    async fn replies_can_depend_on_how_the_tools_did() {
        let scenario = r#"
            quiet = true
            [[reply]]
            steps = [{ call = { tool = "t", arguments = {} } }]
            [[reply]]
            when = "tool-failed"
            steps = [{ text = "alas" }]
            [[reply]]
            when = "tool-succeeded"
            steps = [{ text = "good" }]
            [[reply]]
            steps = [{ text = "next" }]
        "#;
        for (failed, answers) in [(true, ["", "alas", "next"]), (false, ["", "good", "next"])] {
            let model = model(scenario);
            let played = [text(&model, None).await, text(&model, Some(failed)).await, text(&model, None).await];
            assert_eq!(played, answers, "failed: {failed}");
        }
    }

    #[tokio::test]
    async fn the_first_answer_says_that_it_is_scripted() {
        let model = model(
            r#"
            repeat = true
            [[reply]]
            steps = [{ error = { kind = "overloaded", message = "busy" } }]
            [[reply]]
            steps = [{ text = "hello" }]
            "#,
        );
        let expected = [
            "busy",
            "This is a scripted model: it plays `demo.toml` and understands nothing.\n\nhello",
            "busy",
            "hello",
        ];
        for expected in expected {
            assert_eq!(text(&model, None).await, expected);
        }
    }

    #[tokio::test]
    async fn a_scenario_that_is_over_says_so() {
        let model = model("quiet = true\n[[reply]]\nsteps = [{ text = 'once' }]");
        assert_eq!(text(&model, None).await, "once");
        for _ in 0..2 {
            let error = ask(&model, None).await.remove(0).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Request);
            assert!(error.message.starts_with("the scenario `demo.toml` has no reply left"), "{error}");
        }
    }

    #[test]
    fn mistakes_name_their_place() {
        for (text, problem) in [
            ("", "line 1, column 1: missing field `reply`"),
            ("reply = []", "it has no `[[reply]]`"),
            ("[[reply]]\nsteps = [\n  { texst = 'a' },\n]", "line 3, column 5: unknown variant `texst`"),
            ("[[reply]]\nsteps = [{ text = 1 }]", "line 2, column 19: invalid type: integer `1`, expected a string"),
            ("loud = true\n[[reply]]\nsteps = []", "line 1, column 1: unknown field `loud`"),
            ("[[reply]]\nwhen = 'never'\nsteps = []", "line 2, column 8: unknown variant `never`"),
            ("[[reply]]\nsteps = [{ stop = 'end_turn' }, { text = 'a' }]", "line 2, column 33: nothing may follow"),
            ("[[reply]]\nsteps = [{ stop = 'cancelled' }]", "line 2, column 19: unknown variant `cancelled`"),
            (
                "[[reply]]\nsteps = [{ chunks = { count = 1000001, size = 1 } }]",
                "line 2, column 10: `count` is greater",
            ),
            ("[[reply]]\nsteps = [{ chunks = { count = 1, size = 65537 } }]", "line 2, column 10: `size` is greater"),
            ("[[reply]]\nsteps = [{ delay_ms = 600001 }]", "line 2, column 10: `delay_ms` is greater"),
            ("[[reply]]\nsteps = [{ error = { kind = 'odd', message = '' } }]", "line 2, column 29: unknown variant"),
            ("[[reply]\n", "line 1, column 9: "),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(problem), "{text}\n{error}");
        }
    }

    #[test]
    fn only_regular_files_of_a_sane_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(load(folder.path()).unwrap_err(), "it is a folder, not a file");
        let big = folder.path().join("big.toml");
        std::fs::File::create(&big).unwrap().set_len(FILE + 1).unwrap();
        assert_eq!(load(&big).unwrap_err(), "it has more than 1048576 bytes");
    }
}
