//! `aar:host/progress`: how far the running tool call is. Needs no right, since it says something about the plugin's
//! own call; lines that come too fast are left out.

use acp_runtime_agent::event::{SessionEvent, ToolCallUpdate};
use acp_runtime_agent::plain;
use acp_runtime_agent::transcript::ToolContent;

use crate::state::Call;

/// Shows a line with the tool call, in the place where its outcome will stand. Does nothing outside of a tool call.
pub(crate) fn emit(call: &mut Call, fraction: Option<f64>, message: Option<&str>) {
    let message = message.map(|text| call.clean(text.to_owned()));
    let Ok(session) = call.session() else { return };
    let Some(id) = session.tool_call.clone() else { return };
    let percent = fraction.filter(|part| part.is_finite()).map(|part| format!("{:.0} %", part.clamp(0.0, 1.0) * 100.0));
    let message = message.map(|text| plain::line(&text, 400)).filter(|line| !line.is_empty());
    let parts: Vec<String> = percent.into_iter().chain(message).collect();
    if parts.is_empty() || !session.notices.progress() {
        return;
    }
    let content = vec![ToolContent::Text { text: parts.join(" · ") }];
    let update = ToolCallUpdate { content: Some(content), ..ToolCallUpdate::of(id) };
    session.scope.events.emit(SessionEvent::ToolCallUpdated(update));
}

/// Whether nobody waits for the outcome any more.
pub(crate) fn cancelled(call: &Call) -> bool {
    call.cancel.is_cancelled()
}
