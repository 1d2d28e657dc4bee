//! `update_plan`: the plan of the work, as the person sees it beside the conversation.

use std::sync::{Arc, LazyLock};

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::event::{EventSink, SessionEvent};
use acp_runtime_agent::gate::Permit;
use acp_runtime_agent::model::{ToolKind, ToolSpec};
use acp_runtime_agent::tool::{Tool, ToolArguments, ToolError};
use acp_runtime_agent::transcript::{PlanEntry, PlanPriority, PlanStatus, ToolOutcome};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::spec;

/// Steps of one plan.
const MOST_STEPS: usize = 50;
/// Characters of one step.
const LONGEST_STEP: usize = 500;

static SPEC: LazyLock<Arc<ToolSpec>> = LazyLock::new(|| {
    spec::<Arguments>(
        "update_plan",
        "Update the plan",
        ToolKind::Think,
        "Writes the plan that the user follows your work by. Use it for work of several steps: write all steps at the \
         beginning, mark the one you are at as `in_progress`, each finished one as `completed`, and change the plan \
         when it turns out differently. Every call gives the whole plan; an empty one takes it away.",
    )
});

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// All steps, in the order that they are done in; at most 50.
    plan: Vec<Step>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What is done, in a few words.
    step: String,
    /// How far it is.
    status: Status,
    /// How much it matters; `medium` by default.
    #[serde(default)]
    priority: Priority,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Priority {
    High,
    #[default]
    Medium,
    Low,
}

/// The tool, and where the session is told of the plan.
pub(super) struct UpdatePlan(pub(super) Arc<dyn EventSink>);

impl Tool for UpdatePlan {
    fn spec(&self) -> &Arc<ToolSpec> {
        &SPEC
    }

    /// None: the plan is shown to the person and changes nothing else.
    fn effects(&self, _arguments: &ToolArguments) -> Result<Vec<Effect>, ToolError> {
        Ok(Vec::new())
    }

    fn run<'a>(
        &'a self,
        _permit: &'a Permit,
        arguments: ToolArguments,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutcome, ToolError>> {
        async move {
            let entries = entries(arguments.read()?)?;
            let summary = summary(&entries);
            self.0.emit(SessionEvent::Plan { entries });
            Ok(ToolOutcome::text(summary))
        }
        .boxed()
    }
}

fn entries(arguments: Arguments) -> Result<Vec<PlanEntry>, ToolError> {
    let refuse = |message: String| Err(ToolError::to_model("invalid-args", message));
    let count = arguments.plan.len();
    if count > MOST_STEPS {
        return refuse(format!("a plan of {count} steps is too long to follow: at most {MOST_STEPS}"));
    }
    let mut entries = Vec::with_capacity(count);
    for (number, step) in (1..).zip(arguments.plan) {
        let content = step.step.split_whitespace().collect::<Vec<_>>().join(" ");
        if content.is_empty() {
            return refuse(format!("step {number} says nothing: write what is done in it"));
        }
        let length = content.chars().count();
        if length > LONGEST_STEP {
            return refuse(format!("step {number} has {length} characters: at most {LONGEST_STEP}"));
        }
        let priority = match step.priority {
            Priority::High => PlanPriority::High,
            Priority::Medium => PlanPriority::Medium,
            Priority::Low => PlanPriority::Low,
        };
        let status = match step.status {
            Status::Pending => PlanStatus::Pending,
            Status::InProgress => PlanStatus::InProgress,
            Status::Completed => PlanStatus::Completed,
        };
        entries.push(PlanEntry { content, priority, status });
    }
    Ok(entries)
}

fn summary(entries: &[PlanEntry]) -> String {
    if entries.is_empty() {
        return "There is no plan any more.".to_owned();
    }
    let done = entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    let now = entries.iter().find(|entry| entry.status == PlanStatus::InProgress);
    let now = now.map_or(String::new(), |entry| format!(" Now: {}.", entry.content.trim_end_matches('.')));
    format!("The plan is shown: {done} of {} steps completed.{now}", entries.len())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use expect_test::expect;
    use serde_json::{Value, json};

    use super::*;
    use crate::workspace::tests::permit;

    #[derive(Default)]
    struct Told(Mutex<Vec<SessionEvent>>);

    impl EventSink for Told {
        fn emit(&self, event: SessionEvent) {
            self.0.lock().unwrap().push(event);
        }
    }

    /// What the model is shown, and all that the session was told.
    async fn call(arguments: Value) -> (String, String) {
        let told = Arc::new(Told::default());
        let tool = UpdatePlan(told.clone());
        let outcome = match ToolArguments::validate(tool.spec(), arguments) {
            Ok(arguments) => tool.run(&permit(Vec::new()).await, arguments, CancellationToken::new()).await,
            Err(error) => Err(error),
        };
        let shown = outcome.map_or_else(|error| error.for_model(), |outcome| outcome.for_model());
        let told: Vec<String> =
            told.0.lock().unwrap().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        (shown, told.join("\n"))
    }

    #[tokio::test]
    async fn the_session_gets_the_whole_plan() {
        let (shown, told) = call(json!({ "plan": [
            { "step": "Read the\n code.", "status": "completed", "priority": "high" },
            { "step": "Write tests.", "status": "in_progress" },
            { "step": "Refactor", "status": "pending", "priority": "low" },
        ] }))
        .await;
        assert_eq!(shown, "The plan is shown: 1 of 3 steps completed. Now: Write tests.");
        expect![[r#"{"type":"plan","entries":[{"content":"Read the code.","priority":"high","status":"completed"},{"content":"Write tests.","priority":"medium","status":"in_progress"},{"content":"Refactor","priority":"low","status":"pending"}]}"#]].assert_eq(&told);
        let (shown, told) = call(json!({ "plan": [] })).await;
        assert_eq!((shown.as_str(), told.as_str()), ("There is no plan any more.", r#"{"type":"plan","entries":[]}"#));
    }

    #[tokio::test]
    async fn a_plan_that_nobody_could_follow_is_refused() {
        let steps =
            |count: usize, step: &str| json!({ "plan": vec![json!({ "step": step, "status": "pending" }); count] });
        for (arguments, reason) in [
            (steps(51, "x"), "a plan of 51 steps is too long to follow: at most 50"),
            (steps(1, " \n"), "step 1 says nothing: write what is done in it"),
            (steps(1, &"ü".repeat(501)), "step 1 has 501 characters: at most 500"),
            (json!({}), "\"plan\" is a required property"),
            (json!({ "plan": [{ "step": "x" }] }), "/plan/0: \"status\" is a required property"),
            (
                json!({ "plan": [{ "step": "x", "status": "done" }] }),
                "/plan/0/status: \"done\" is not one of \"pending\", \"in_progress\" or \"completed\"",
            ),
        ] {
            assert_eq!(call(arguments).await, (format!("Error [invalid-args]: {reason}"), String::new()));
        }
        assert!(call(steps(50, &"x".repeat(500))).await.0.starts_with("The plan is shown"));
    }

    #[test]
    fn a_plan_has_no_effects() {
        let tool = UpdatePlan(Arc::new(Told::default()));
        let arguments = ToolArguments::validate(tool.spec(), json!({ "plan": [] })).unwrap();
        assert_eq!(tool.effects(&arguments), Ok(Vec::new()));
    }
}
