//! `aar:host/panel`: says that a panel of the plugin would now look different. Needs no right; the panels of others
//! cannot be named.

use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::plain;

use crate::state::Call;

/// Tells the session. What comes too fast is told when the call ends.
pub(crate) fn changed(call: &mut Call, panel: &str) {
    let Ok(session) = call.session() else { return };
    let own = session.panels.iter().find(|(name, _)| name == panel).map(|(_, name)| name.clone());
    let Some(own) = own else {
        let text = format!("the plugin has no panel `{}`", plain::line(panel, 80));
        call.log.line("warn", "panel", &text);
        return;
    };
    if session.notices.changed(&own) {
        session.scope.events.emit(SessionEvent::PanelChanged { panel: own });
    }
}
