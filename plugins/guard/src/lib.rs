//! `guard`: blocks edits of protected paths and secrets in prompts.
//!
//! A hook and nothing else: it is told of tool calls and prompts, and says what should not happen. Tested natively with
//! the SDK's double as the host.

mod paths;
mod secrets;
mod settings;

#[cfg(test)]
mod tests;

use acp_plugin::hook::{Prompt, ToolCall};
use acp_plugin::{Decision, Event, EventKind, Hook, Occurrence, Result};

use crate::paths::{Danger, Protected};
use crate::settings::{OnProtected, OnSecret, Settings};

/// The hook.
pub struct Guard;

impl Hook for Guard {
    const EVENTS: &[EventKind] = &[EventKind::ToolCall, EventKind::UserMessage];

    fn handle(occurrence: &Occurrence) -> Result<Decision> {
        match &occurrence.event {
            Event::ToolCall(call) => of_call(call, &Settings::get()?),
            Event::UserMessage(prompt) => Ok(of_prompt(prompt, occurrence.truncated, Settings::get()?.on_secret)),
            _ => Ok(Decision::NoOpinion),
        }
    }
}

fn of_call(call: &ToolCall, settings: &Settings) -> Result<Decision> {
    if !call.effects.iter().any(paths::may_change) {
        return Ok(Decision::NoOpinion);
    }
    let protected = Protected::new(&settings.protected())?;
    let dangers = call.effects.iter().filter_map(|effect| protected.danger(effect));
    Ok(match (dangers.max(), settings.on_protected) {
        (None, _) => Decision::NoOpinion,
        (Some(Danger::Changed(path)), OnProtected::Block) => Decision::Block(format!("`{path}` is protected")),
        (Some(Danger::Changed(path)), OnProtected::Ask) => Decision::Ask(format!("`{path}` is protected")),
        (Some(Danger::Near(what)), _) => Decision::Ask(what),
    })
}

fn of_prompt(prompt: &Prompt, truncated: bool, wish: OnSecret) -> Decision {
    if wish == OnSecret::Ignore {
        return Decision::NoOpinion;
    }
    let attached = prompt.attached.iter().filter_map(|file| file.text.as_deref().and_then(secrets::first));
    match (secrets::first(&prompt.text), attached.into_iter().next()) {
        (None, None) if truncated => Decision::Ask("it is too long to be looked at whole for secrets".to_owned()),
        (None, None) => Decision::NoOpinion,
        // Attached files cannot be replaced, and neither can what was not shown whole.
        (Some(_), None) if wish == OnSecret::Remove && !truncated => Decision::Replace(secrets::removed(&prompt.text)),
        (Some(secret), _) | (None, Some(secret)) => {
            let reason = format!("there is {secret} in it");
            if wish == OnSecret::Ask { Decision::Ask(reason) } else { Decision::Block(reason) }
        }
    }
}

acp_plugin::export! {
    hook: Guard,
}
