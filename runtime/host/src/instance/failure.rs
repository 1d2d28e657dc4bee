//! Why a call failed, in words for the model and for people.

use std::fmt;

use acp_runtime_agent::gate::Refusal;
use acp_runtime_agent::tool::ToolError;
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::I32Exit;

use crate::bindings::GuestError;
use crate::compile::CompileError;
use crate::engine::told;
use crate::state::PluginState;

/// Why a call failed.
#[derive(Debug, Clone)]
pub(crate) enum CallError {
    /// The plugin's own error.
    Said {
        /// Without `std:`.
        kind: String,
        /// A sentence.
        message: String,
    },
    /// The gate refused what the call needs to begin.
    Refused(Refusal),
    /// Out of time.
    TimedOut(String),
    /// Nobody waits any more.
    Cancelled,
    /// More than it may.
    Limit(String),
    /// The plugin's code failed.
    Trapped(String),
    /// The plugin cannot be used at all.
    Unusable(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said { message, .. } => f.write_str(message),
            Self::Refused(refusal) => write!(f, "{refusal} ({})", refusal.hint),
            Self::TimedOut(why) => write!(f, "the plugin was stopped: {why}"),
            Self::Cancelled => f.write_str("the call was cancelled"),
            Self::Limit(why) | Self::Unusable(why) => f.write_str(why),
            Self::Trapped(why) => write!(f, "the plugin failed: {why}"),
        }
    }
}

impl From<CompileError> for CallError {
    fn from(error: CompileError) -> Self {
        let message = error.to_string();
        match error {
            CompileError::TooLarge { .. } | CompileError::TooSlow(_) | CompileError::TooHungry(_) => {
                Self::Limit(message)
            }
            CompileError::Invalid(_) | CompileError::Broken(_) => Self::Unusable(message),
        }
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        let message = error.to_string();
        let kind = match error {
            CallError::Said { kind, .. } => return Self::to_model(kind, message),
            CallError::Refused(refusal) => return refusal.into(),
            CallError::TimedOut(_) => "timeout",
            CallError::Cancelled => "cancelled",
            CallError::Limit(_) => "limit",
            CallError::Trapped(_) | CallError::Unusable(_) => "internal",
        };
        Self::to_model(kind, message)
    }
}

/// What became of a guest's error.
pub(super) fn of(error: GuestError, state: &PluginState) -> CallError {
    match error {
        GuestError::Said { kind, message } => {
            let kind = kind.strip_prefix("std:").unwrap_or(&kind).to_owned();
            CallError::Said { kind, message }
        }
        GuestError::Missing(interface) => {
            CallError::Unusable(format!("the component does not export `{interface}`: build the plugin again"))
        }
        GuestError::Refused(why) => CallError::Trapped(why),
        GuestError::TooMuch(why) => CallError::Limit(why),
        GuestError::Stopped(error) => stopped(&error, state),
    }
}

fn stopped(error: &wasmtime::Error, state: &PluginState) -> CallError {
    let call = &state.call;
    if matches!(error.downcast_ref::<Trap>(), Some(Trap::Interrupt)) {
        return CallError::TimedOut(format!("it computed for longer than {:?}", call.cpu));
    }
    if let Some(refused) = &state.limiter.refused {
        return CallError::Limit(format!("the plugin was stopped: it wanted {refused}"));
    }
    if matches!(error.downcast_ref::<Trap>(), Some(Trap::StackOverflow)) {
        return CallError::Limit("the plugin was stopped: its calls nest too deeply".to_owned());
    }
    if matches!(error.downcast_ref::<ResourceTableError>(), Some(ResourceTableError::Full)) {
        let most = state.resources();
        return CallError::Limit(format!("the plugin was stopped: it has more than {most} open files and streams"));
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return CallError::Trapped(format!("it ended itself with exit code {code}"));
    }
    let told = told(error);
    if told.contains("handle limit exceeded") {
        let most = call.handles;
        return CallError::Limit(format!("the plugin was stopped: it holds more than {most} handles"));
    }
    if told.contains("resource limit exceeded") || told.contains("fuel allocated for hostcalls") {
        return CallError::Limit(format!("the plugin was stopped: {told}"));
    }
    CallError::Trapped(told)
}
