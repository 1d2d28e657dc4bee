//! One tool call: announced, authorised, run, and its outcome told to the model and the client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::TurnContext;
use crate::capability::{Effect, PluginId, ToolName};
use crate::event::{EventSink as _, SessionEvent, ToolCallStatus, ToolCallUpdate};
use crate::gate::{Concern, Exhibit, Origin, Permit};
use crate::model::ToolKind;
use crate::plain::ends;
use crate::store::KeptOutput;
use crate::tool::{Presentation, Tool, ToolArguments, ToolCatalog, ToolError};
use crate::transcript::{MessageId, ToolCall, ToolCallId, ToolContent, ToolOutcome};

/// Bytes of a text that a client is shown; of a longer one it gets the beginning, and a link to the whole.
const SHOWN: usize = 16 * 1024;

/// How long a tool may take after its turn was cancelled, to end what it does and to say how far it came. Shorter than
/// what the end of a client's input leaves for all that runs.
const FAREWELL: Duration = Duration::from_millis(500);

/// A call that the client knows of and that has not run yet.
pub(super) struct Announced {
    pub(super) call: ToolCallId,
    pub(super) ready: Result<Ready, ToolError>,
    /// Made by a person's command: the model is not shown its answer.
    local: bool,
    /// Whether the hooks have decided about it.
    pub(super) hooked: bool,
}

impl Announced {
    /// Whether it leaves everything as it is, and asks nobody.
    pub(super) fn only_reads(&self) -> bool {
        self.ready.as_ref().is_ok_and(|Ready { tool, arguments, .. }| tool.only_reads(arguments))
    }

    /// The same, unless it is refused before it runs.
    pub(super) fn unless(self, refused: Result<(), ToolError>) -> Self {
        let ready = self.ready.and_then(|ready| refused.map(|()| ready));
        Self { ready, ..self }
    }
}

/// A call that can run, once it is allowed.
pub(super) struct Ready {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) name: ToolName,
    pub(super) arguments: ToolArguments,
    /// Whose hooks have changed the arguments.
    pub(super) changed_by: Vec<PluginId>,
    /// What hooks want the person to decide.
    pub(super) concerns: Vec<Concern>,
}

impl TurnContext {
    /// Tells of a call. One that cannot run is told of as well, and fails when it is executed.
    pub(super) fn announce(&self, tools: &ToolCatalog, message: MessageId, call: ToolCall, local: bool) -> Announced {
        let ready = prepare(tools, &call);
        let (presentation, kind) = match &ready {
            Ok(ready) => (ready.tool.present(&ready.arguments), ready.tool.spec().kind),
            Err(_) => (Presentation { title: shown_name(&call.name), ..Presentation::default() }, ToolKind::default()),
        };
        let id = call.id.clone();
        self.outbox.emit(SessionEvent::ToolCallStarted {
            message,
            call,
            title: presentation.title,
            kind,
            locations: presentation.locations,
            terminal: presentation.terminal,
            local,
        });
        Announced { call: id, ready, local, hooked: false }
    }

    /// Runs an announced call to its end and tells of that. The error is the one the model was told.
    pub(super) async fn execute(
        &self,
        announced: Announced,
        cancel: &CancellationToken,
    ) -> Result<ToolOutcome, ToolError> {
        let Announced { call, ready, local, hooked: _ } = self.hooked(announced, cancel).await;
        let (outcome, made) = match ready {
            Ok(ready) => {
                let changed = (!ready.changed_by.is_empty()).then(|| ready.arguments.as_value().clone());
                let made = (ready.name.clone(), ready.changed_by.clone(), changed);
                (self.authorise_and_run(&call, ready, cancel).await, Some(made))
            }
            Err(error) => (Err(error), None),
        };
        let outcome = if cancel.is_cancelled() { self.broken_off(outcome) } else { outcome };
        let mut update = match &outcome {
            Ok(outcome) => self.completed(call, outcome).await,
            Err(error) => failed(call, error, self.budget.tool_output()),
        };
        if let Some((tool, changed_by, changed)) = made {
            if !local {
                update = self.answer_hooked(tool.as_str(), update, cancel).await;
            }
            if let Some(arguments) = changed {
                Self::tell_changed(&mut update, &changed_by, &arguments);
            }
        }
        self.outbox.emit(SessionEvent::ToolCallUpdated(update));
        outcome
    }

    /// What became of a call whose turn was broken off, with the limit that did it: tools know that they are to end, and not
    /// why.
    fn broken_off(&self, outcome: Result<ToolOutcome, ToolError>) -> Result<ToolOutcome, ToolError> {
        let Some(reached) = self.budget.ledger().broken_off() else { return outcome };
        match outcome {
            Ok(mut outcome) if outcome.failed => {
                outcome.content.push(ToolContent::Text { text: format!("[{}]", reached.as_error()) });
                Ok(outcome)
            }
            Err(error) if error == ToolError::cancelled() => Err(reached.as_error()),
            outcome => outcome,
        }
    }

    async fn authorise_and_run(
        &self,
        call: &ToolCallId,
        ready: Ready,
        cancel: &CancellationToken,
    ) -> Result<ToolOutcome, ToolError> {
        let Ready { tool, name, arguments, changed_by: _, concerns } = ready;
        if !self.tools.lets(&*tool) {
            let plugin =
                tool.plugin().map_or_else(String::new, |plugin| format!(": its plugin `{plugin}` was switched off"));
            return Err(ToolError::not_found(format!("there is no tool `{name}` any more{plugin}"), &[]));
        }
        let origin = Origin::Model { call: call.clone(), tool: name };
        let permit = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ToolError::cancelled()),
            permit = self.authorise(call, origin, (&*tool, &arguments), concerns) => permit?,
        };
        let update = ToolCallUpdate { status: Some(ToolCallStatus::InProgress), ..ToolCallUpdate::of(call.clone()) };
        self.outbox.emit(SessionEvent::ToolCallUpdated(update));
        // A tool may hold this thread: whoever shows the event must not have to wait for it here.
        tokio::task::yield_now().await;
        let given_up = async {
            cancel.cancelled().await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            biased;
            outcome = tool.run(&permit, arguments, cancel.child_token()) => outcome,
            () = given_up => Err(ToolError::cancelled()),
        }
    }

    /// What only reads is decided first, so that the question about the rest can show what would change.
    async fn authorise(
        &self,
        call: &ToolCallId,
        origin: Origin,
        (tool, arguments): (&dyn Tool, &ToolArguments),
        concerns: Vec<Concern>,
    ) -> Result<Permit, ToolError> {
        let raw = Some(arguments.as_value().clone());
        let effects = tool.effects(arguments)?;
        let reads: Vec<_> = effects.iter().filter(|effect| effect.is_read()).cloned().collect();
        if reads.is_empty() || reads.len() == effects.len() {
            return self.permit(origin, effects, Exhibit { content: Vec::new(), raw, concerns }).await;
        }
        let reading = self.gate.authorize(origin.clone(), reads).await?;
        let content = tool.preview(&reading, arguments).await?;
        if !content.is_empty() {
            let update = ToolCallUpdate { content: Some(content.clone()), ..ToolCallUpdate::of(call.clone()) };
            self.outbox.emit(SessionEvent::ToolCallUpdated(update));
        }
        let permit = self.permit(origin, effects, Exhibit { content: content.clone(), raw, concerns }).await?;
        // The answer was about what was shown.
        if permit.was_asked() && tool.preview(&reading, arguments).await? != content {
            let changed = "the file changed while the user was asked, and was left as it is; read it again";
            return Err(ToolError::to_model("conflict", changed));
        }
        Ok(permit)
    }

    /// What hooks ask about and the person refuses is remembered for the turn.
    pub(crate) async fn permit(
        &self,
        origin: Origin,
        effects: Vec<Effect>,
        exhibit: Exhibit,
    ) -> Result<Permit, ToolError> {
        let concerns = exhibit.concerns.clone();
        let permit = self.gate.authorize_with(origin, effects, exhibit).await;
        if permit.is_err() {
            self.hooks.refused(&concerns);
        }
        Ok(permit?)
    }

    /// The client is shown the beginning of a long text and where the whole is; the model gets as much as the limit
    /// lets through.
    async fn completed(&self, call: ToolCallId, outcome: &ToolOutcome) -> ToolCallUpdate {
        let limit = self.budget.tool_output();
        let text = outcome.for_model();
        let for_model = cut(&text, limit);
        let shown = SHOWN.min(limit);
        let mut content: Vec<ToolContent> = outcome.content.iter().map(|content| capped(content, shown)).collect();
        if text.len() > shown
            && let Some(KeptOutput { uri, name, size }) = self.outbox.keep_output(&call, text).await
        {
            content.push(ToolContent::Link { name, uri, mime: Some("text/plain".to_owned()), size: Some(size) });
        }
        ToolCallUpdate {
            status: Some(if outcome.failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed }),
            content: Some(content),
            locations: (!outcome.locations.is_empty()).then(|| outcome.locations.clone()),
            structured: outcome.structured.as_ref().map(|value| bounded(value, limit)),
            for_model: Some(for_model),
            ..ToolCallUpdate::of(call)
        }
    }
}

fn prepare(tools: &ToolCatalog, call: &ToolCall) -> Result<Ready, ToolError> {
    let Some(tool) = tools.get(&call.name) else {
        let name = shown_name(&call.name);
        return Err(ToolError::not_found(format!("there is no tool `{name}`"), &tools.near(&call.name)));
    };
    let name = tool.spec().name.clone();
    let arguments = ToolArguments::validate(tool.spec(), call.arguments.clone())?;
    Ok(Ready { tool: tool.clone(), name, arguments, changed_by: Vec::new(), concerns: Vec::new() })
}

fn failed(call: ToolCallId, error: &ToolError, limit: usize) -> ToolCallUpdate {
    ToolCallUpdate {
        status: Some(ToolCallStatus::Failed),
        content: Some(vec![ToolContent::Text { text: cut(&error.for_person(), SHOWN.min(limit)) }]),
        for_model: Some(cut(&error.for_model(), limit)),
        ..ToolCallUpdate::of(call)
    }
}

/// The value where it is not too large to be kept, else a note in its place.
fn bounded(value: &Value, limit: usize) -> Value {
    let size = value.to_string().len();
    if size > limit { Value::String(format!("[cut: {size} bytes of JSON]")) } else { value.clone() }
}

fn capped(content: &ToolContent, limit: usize) -> ToolContent {
    match content {
        ToolContent::Text { text } => ToolContent::Text { text: cut(text, limit) },
        ToolContent::Resource { uri, text, mime } => {
            ToolContent::Resource { uri: uri.clone(), text: cut(text, limit), mime: mime.clone() }
        }
        ToolContent::Terminal { terminal, output, exit } => {
            let output = ends(output, limit).unwrap_or_else(|| output.clone());
            ToolContent::Terminal { terminal: terminal.clone(), output, exit: exit.clone() }
        }
        other @ (ToolContent::Image { .. } | ToolContent::Link { .. } | ToolContent::Diff { .. }) => other.clone(),
    }
}

/// At most `limit` bytes of `text`, with a note of what is missing.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let kept = text.get(..end).unwrap_or("");
    format!("{kept}\n[cut: {} of {} bytes shown]", kept.len(), text.len())
}

/// A name as the model wrote it, safe to show.
pub(super) fn shown_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}
