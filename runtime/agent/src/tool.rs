//! Tools: what the model can call, wherever it is implemented.
//!
//! A tool says beforehand what a call would do, and runs only with a permit for that. The catalogue refuses a taken
//! name, so nothing is ever shadowed; what its sources add and take away is seen from the next turn on. Knows no
//! particular tool.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::capability::{Effect, PathError, PluginId, ToolName};
use crate::gate::{Permit, Refusal, RefusalKind};
use crate::model::ToolSpec;
use crate::options::Switches;
use crate::server::ServerState;
use crate::transcript::{Location, ToolContent, ToolOutcome};
use crate::workspace::WorkspaceError;

/// Arguments that were validated against the tool's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolArguments(Value);

impl ToolArguments {
    /// Validates `value` against the schema of `spec`.
    pub fn validate(spec: &ToolSpec, value: Value) -> Result<Self, ToolError> {
        if let Value::String(text) = &value {
            // What a model writes that is no JSON comes as its text.
            let why = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                Ok(_) => "a text".to_owned(),
                Err(error) => format!("no JSON: {error}"),
            };
            return Err(ToolError::invalid(format!("the arguments are {why}; write one JSON object")));
        }
        match spec.input.validate(&value) {
            Ok(()) => Ok(Self(value)),
            Err(problems) => Err(ToolError::invalid(problems)),
        }
    }

    /// The JSON value.
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Reads them into a type of the tool's own.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(&self.0).map_err(|error| ToolError::invalid(error.to_string()))
    }
}

/// Why a tool call failed. Displayed, it is the reason alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model is told and may do better.
    #[error("{message}")]
    ToModel {
        /// One word: `invalid-args`, `not-found`, `denied`, `conflict`, `timeout`, `cancelled`, `limit`, `internal`, or
        /// the tool's own. Not for people.
        kind: String,
        /// The value and the reason.
        message: String,
        /// What to do about it, where the message does not say.
        hint: Hint,
    },
    /// The turn ends.
    #[error("{0}")]
    Fatal(String),
}

/// What to do about an error: a model and a person do not have the same means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hint {
    /// For the model.
    pub model: Option<String>,
    /// For people.
    pub person: Option<String>,
}

impl ToolError {
    /// An error that the model is told.
    pub fn to_model(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self::ToModel { kind: kind.into(), message: message.into(), hint: Hint::default() }
    }

    /// Arguments that make no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::to_model("invalid-args", message)
    }

    /// A name that nothing has; `near` are names that look like it.
    pub fn not_found(message: impl Into<String>, near: &[&str]) -> Self {
        let error = Self::to_model("not-found", message);
        if near.is_empty() { error } else { error.hint(format!("did you mean `{}`?", near.join("`, `"))) }
    }

    /// The turn was cancelled, and the call with it.
    pub fn cancelled() -> Self {
        Self::to_model("cancelled", "the user cancelled the turn")
    }

    /// With the next step, for model and people alike.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into());
        self.hints(Hint { model: hint.clone(), person: hint })
    }

    /// With that next step where it has none.
    #[must_use]
    pub fn or_hint(self, hint: impl FnOnce() -> String) -> Self {
        match &self {
            Self::ToModel { hint: Hint { model: None, person: None }, .. } => self.hint(hint()),
            Self::ToModel { .. } | Self::Fatal(_) => self,
        }
    }

    /// With the next step for each.
    #[must_use]
    pub fn hints(self, hint: Hint) -> Self {
        match self {
            Self::ToModel { kind, message, .. } => Self::ToModel { kind, message, hint },
            fatal @ Self::Fatal(_) => fatal,
        }
    }

    /// As the model is told: `Error [denied]: reason (hint)`.
    pub fn for_model(&self) -> String {
        match self {
            Self::ToModel { kind, message, hint: Hint { model: Some(hint), .. } } => {
                format!("Error [{kind}]: {message} ({hint})")
            }
            Self::ToModel { kind, message, hint: Hint { model: None, .. } } => format!("Error [{kind}]: {message}"),
            Self::Fatal(reason) => reason.clone(),
        }
    }

    /// As people are told behind `error: `: the reason, and on a line of its own `hint: …`.
    pub fn for_person(&self) -> String {
        match self {
            Self::ToModel { message, hint: Hint { person: Some(hint), .. }, .. } => format!("{message}\nhint: {hint}"),
            Self::ToModel { .. } | Self::Fatal(_) => self.to_string(),
        }
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.kind {
            RefusalKind::Denied => "denied",
            RefusalKind::Cancelled => "cancelled",
            RefusalKind::Conflict => "conflict",
        };
        Self::to_model(kind, refusal.account()).hints(Hint { model: Some(refusal.hint), person: refusal.remedy })
    }
}

impl From<WorkspaceError> for ToolError {
    fn from(error: WorkspaceError) -> Self {
        let kind = match &error {
            WorkspaceError::NotFound(_) => "not-found",
            WorkspaceError::Outside(_)
            | WorkspaceError::MultiplyLinked(_)
            | WorkspaceError::Denied(_)
            | WorkspaceError::MadeUp(_)
            | WorkspaceError::Forbidden { .. } => "denied",
            WorkspaceError::LeadsElsewhere(_) => "conflict",
            WorkspaceError::TooLarge { .. } => "limit",
            WorkspaceError::WrongKind { .. }
            | WorkspaceError::NotText { .. }
            | WorkspaceError::Exists(_)
            | WorkspaceError::Unusable { .. }
            | WorkspaceError::BadPattern { .. } => "invalid-args",
            WorkspaceError::NoPermit(_) | WorkspaceError::System { .. } => "internal",
        };
        Self::to_model(kind, error.to_string())
    }
}

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        let kind = match &error {
            PathError::Leaves(_) | PathError::OutsideRoots(_) => "denied",
            PathError::Malformed(_) | PathError::Pattern(..) | PathError::Host(..) => "invalid-args",
        };
        Self::to_model(kind, error.to_string())
    }
}

/// How a call looks to a person before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Presentation {
    /// One line, such as ``Read `src/main.rs` ``.
    pub title: String,
    /// Files it will touch.
    pub locations: Vec<Location>,
    /// The folder of the terminal that its output could be shown in; none where there is none, or the client has its
    /// own for it.
    pub terminal: Option<String>,
}

/// Something the model can call.
pub trait Tool: Send + Sync {
    /// What the model and the client are told.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// The plugin that it belongs to.
    fn plugin(&self) -> Option<&PluginId> {
        None
    }

    /// What a call with these arguments would do, at most.
    fn effects(&self, arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError>;

    /// Whether a call leaves everything as it is, so that others of that kind may run at the same time. By default those do
    /// that have effects, and none but reading.
    fn only_reads(&self, arguments: &ToolArguments) -> bool {
        self.effects(arguments).is_ok_and(|effects| !effects.is_empty() && effects.iter().all(Effect::is_read))
    }

    /// How the call looks to a person. By default the spec's title.
    fn present(&self, arguments: &ToolArguments) -> Presentation {
        let _ = arguments;
        Presentation { title: self.spec().title.clone(), ..Presentation::default() }
    }

    /// What the call would change, for the person who is asked: a diff. The permit covers what the call reads.
    fn preview<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: &'a ToolArguments,
    ) -> BoxFuture<'a, Result<Vec<ToolContent>, ToolError>> {
        let _ = (permit, arguments);
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Runs. The permit covers [`Tool::effects`]; the future may be dropped at any moment. One that is not done a moment
    /// after `cancel` is dropped; until then it may say how far it came.
    fn run<'a>(
        &'a self,
        permit: &'a Permit,
        arguments: ToolArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>>;
}

/// Tools that come and go while a session lives.
pub trait ToolSource: Send + Sync {
    /// Waits for tools that are on their way, for a limited time.
    fn settle(&self) -> BoxFuture<'_, ()>;

    /// Waits until there is something to show: where the client learns of every change, that is at once. For a limited
    /// time.
    fn settle_to_show(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Those that there are now.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// How the servers are that they are from.
    fn servers(&self) -> Vec<ServerState> {
        Vec::new()
    }

    /// Says nothing more to the session that it was opened for: another one is about to go on with it.
    fn hand_over(&self) {}

    /// Ends whatever stands behind them. Nothing of it runs when this returns.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A name that another tool has already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool named `{0}` exists already")]
pub struct ToolNameTaken(pub ToolName);

/// The tools of a session. What belongs to a plugin that is switched off is not found.
#[derive(Default, Clone)]
pub struct ToolCatalog {
    tools: Vec<Arc<dyn Tool>>,
    by_name: HashMap<ToolName, usize>,
    switches: Switches,
    sources: Vec<Arc<dyn ToolSource>>,
}

impl ToolCatalog {
    /// A catalogue without tools, for a session with these switches.
    pub fn new(switches: Switches) -> Self {
        Self { switches, ..Self::default() }
    }

    /// Adds a tool. A taken name is an error, never shadowed.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolNameTaken> {
        let name = tool.spec().name.clone();
        if self.by_name.contains_key(&name) {
            return Err(ToolNameTaken(name));
        }
        self.by_name.insert(name, self.tools.len());
        self.tools.push(tool);
        Ok(())
    }

    /// Adds whatever tools the source has at any time.
    pub fn follow(&mut self, source: Arc<dyn ToolSource>) {
        self.sources.push(source);
    }

    /// Waits for tools that are on their way.
    pub async fn settle(&self) {
        join_all(self.sources.iter().map(|source| source.settle())).await;
    }

    /// Waits until what its sources have is worth showing.
    pub async fn settle_to_show(&self) {
        join_all(self.sources.iter().map(|source| source.settle_to_show())).await;
    }

    /// How the servers of its sources are.
    pub fn servers(&self) -> Vec<ServerState> {
        self.sources.iter().flat_map(|source| source.servers()).collect()
    }

    /// The catalogue as it stands: with the tools that its sources have now. One whose name is taken is left out.
    #[must_use]
    pub fn now(&self) -> Self {
        let mut now = Self { sources: Vec::new(), ..self.clone() };
        for tool in self.sources.iter().flat_map(|source| source.tools()) {
            if let Err(taken) = now.add(tool) {
                tracing::warn!("left out: {taken}");
            }
        }
        now
    }

    /// Its sources say nothing more to this session.
    pub fn hand_over(&self) {
        self.sources.iter().for_each(|source| source.hand_over());
    }

    /// Ends whatever stands behind the tools of its sources.
    pub async fn close(&self) {
        join_all(self.sources.iter().map(|source| source.close())).await;
    }

    /// Whether the plugin of a tool is still switched on.
    pub fn lets(&self, tool: &dyn Tool) -> bool {
        self.switches.lets(tool.plugin())
    }

    /// The tool with exactly that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let name = ToolName::new(name).ok()?;
        let tool = self.by_name.get(&name).and_then(|&index| self.tools.get(index))?;
        self.lets(&**tool).then_some(tool)
    }

    /// All of them, in the order that they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter().filter(|tool| self.lets(&***tool))
    }

    /// What the model is told of them.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        self.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Known names that look like `name`, best first.
    pub fn near(&self, name: &str) -> Vec<&str> {
        crate::near::near(name, self.iter().map(|tool| tool.spec().name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_and_a_person_are_told_in_their_own_words() {
        let plain = ToolError::to_model("denied", "write `a`: no");
        let refusal = Refusal {
            class: "write",
            key: "a".to_owned(),
            reason: "no".to_owned(),
            hint: "ask".to_owned(),
            remedy: Some("type".to_owned()),
            kind: RefusalKind::Denied,
        };
        for (error, model, person) in [
            (plain.clone(), "Error [denied]: write `a`: no", "write `a`: no"),
            (plain.clone().hint("go"), "Error [denied]: write `a`: no (go)", "write `a`: no\nhint: go"),
            (refusal.into(), "Error [denied]: write `a`: no (ask)", "write `a`: no\nhint: type"),
            (
                plain.clone().hint("go").or_hint(|| "stay".to_owned()),
                "Error [denied]: write `a`: no (go)",
                "write `a`: no\nhint: go",
            ),
            (
                ToolError::not_found("no `x`", &["y", "z"]),
                "Error [not-found]: no `x` (did you mean `y`, `z`?)",
                "no `x`\nhint: did you mean `y`, `z`?",
            ),
            (ToolError::Fatal("gone".to_owned()).hint("go"), "gone", "gone"),
        ] {
            assert_eq!((error.for_model().as_str(), error.for_person().as_str()), (model, person));
        }
    }
}
