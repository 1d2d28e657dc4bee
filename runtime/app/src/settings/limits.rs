//! `[limits]` and `[context]`: how far things may go, and how much the model is shown.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use acp_runtime_agent::context::ContextBudget;
use acp_runtime_agent::turn::TurnLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timeout;
use super::exec::Within;
use super::plugin_limits::PluginLimits;
use crate::audit::Bounds;

/// Bytes of what a hook is told.
pub type HookPayload = Within<1024, 16_777_216, { 256 << 10 }>;

/// `[limits]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Model requests in one turn.
    pub model_requests: NonZeroU32,
    /// Seconds that one turn may take, without those in which a person is asked; 0 for any number.
    pub turn_seconds: Timeout,
    /// Tokens that the model requests of one turn and their answers may have; 0 for any number.
    pub turn_tokens: u64,
    /// What one turn may cost, in the currency of the model's prices; 0 for any amount.
    pub turn_cost: Amount,
    /// How often the model may ask for the same call in one turn while nothing is changed in between: the call is refused
    /// at that time. 0 for any number.
    pub same_calls: u32,
    /// The share of the model's window, in percent, at which old outputs of tools are left out and what was said is summed
    /// up; 0 for never.
    #[schemars(range(max = 100))]
    pub context_percent: u8,
    /// Bytes of one tool call's text that are kept and shown to the model.
    pub tool_output: NonZeroUsize,
    /// Bytes of what a plugin's hook is told of an event; of more, long texts are told in part.
    pub hook_payload: HookPayload,
    /// Bytes of one message from the client.
    pub message: NonZeroUsize,
    /// Days without use after which a session is forgotten; 0 keeps all.
    pub session_days: u32,
    /// Sessions that are kept at most, the latest ones; 0 keeps all.
    pub sessions: u32,
    /// Bytes after which a file of the audit is full: it is put aside, and the audit goes on in a new one.
    pub audit_file: NonZeroU64,
    /// Full files of the audit that are kept, the latest ones; 0 keeps all.
    pub audit_files: u32,
    /// What every plugin may use. It is also the most that a plugin gets by asking for it.
    pub plugin: PluginLimits<true>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        let TurnLimits { model_requests, tool_output, time: _, tokens: _, cost: _, same_calls, context } =
            TurnLimits::default();
        Self {
            model_requests: NonZeroU32::new(model_requests).unwrap_or(NonZeroU32::MIN),
            turn_seconds: Timeout::default(),
            turn_tokens: 0,
            turn_cost: Amount::default(),
            same_calls,
            context_percent: context,
            tool_output: NonZeroUsize::new(tool_output).unwrap_or(NonZeroUsize::MIN),
            hook_payload: HookPayload::default(),
            message: NonZeroUsize::new(32 << 20).unwrap_or(NonZeroUsize::MIN),
            session_days: 0,
            sessions: 0,
            audit_file: NonZeroU64::new(16 << 20).unwrap_or(NonZeroU64::MIN),
            audit_files: 64,
            plugin: PluginLimits::default(),
        }
    }
}

impl LimitSettings {
    /// How much of the audit is kept.
    pub fn audit(&self) -> Bounds {
        Bounds { file: self.audit_file, files: self.audit_files as usize }
    }

    /// The limits of a turn.
    pub fn turn(&self) -> TurnLimits {
        TurnLimits {
            model_requests: self.model_requests.get(),
            tool_output: self.tool_output.get(),
            time: self.turn_seconds.duration(),
            tokens: Some(self.turn_tokens).filter(|tokens| *tokens > 0),
            cost: self.turn_cost.limit(),
            same_calls: self.same_calls,
            context: self.context_percent,
        }
    }
}

/// `[context]`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContextSettings {
    /// Bytes of the project's files for agents (`AGENTS.md`, `CLAUDE.md`, `QCR.md`) that the model is shown, half of them
    /// of each; 0 shows none.
    pub project_bytes: usize,
    /// Bytes of the embedded and linked files of one prompt that the model is shown.
    pub prompt_bytes: usize,
}

impl Default for ContextSettings {
    fn default() -> Self {
        let ContextBudget { project, prompt } = ContextBudget::default();
        Self { project_bytes: project, prompt_bytes: prompt }
    }
}

impl ContextSettings {
    /// Both keys as the session takes them.
    pub fn budget(&self) -> ContextBudget {
        ContextBudget { project: self.project_bytes, prompt: self.prompt_bytes }
    }
}

/// An amount of money; 0 is any.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0))]
pub struct Amount(f64);

impl Amount {
    /// The limit; none where there is none.
    pub fn limit(self) -> Option<f64> {
        (self.0 > 0.0).then_some(self.0)
    }
}

impl TryFrom<f64> for Amount {
    type Error = String;

    fn try_from(amount: f64) -> Result<Self, String> {
        if amount.is_finite() && amount >= 0.0 {
            Ok(Self(amount))
        } else {
            Err(format!("`{amount}` is not an amount of money: expected a number, or 0 for any amount"))
        }
    }
}

impl From<Amount> for f64 {
    fn from(amount: Amount) -> Self {
        amount.0
    }
}
