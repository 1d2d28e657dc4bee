//! `aar:host/prompt`: what the plugin adds to what the model is told.

use acp_runtime_agent::capability::Effect;
use acp_runtime_agent::event::{Notice, SessionEvent, Severity};

use crate::state::{Call, HostError};

/// Puts `text` in the place of what the plugin has added before; the person is told of a change.
pub(crate) async fn set(call: &mut Call, text: Option<&str>) -> Result<(), HostError> {
    call.authorize(vec![Effect::Prompt]).await?;
    let text = text.map(|text| call.clean(text.to_owned()));
    let text = text.as_deref();
    let scope = call.session()?.scope.clone();
    let changed = scope.additions.set(&call.plugin, text).map_err(|error| HostError::limit(error.to_string()))?;
    if changed {
        let plugin = &call.plugin;
        let notice = match text {
            Some(text) => Notice::new(Severity::Info, format!("Plugin `{plugin}` has added to what the model is told"))
                .described(text.to_owned()),
            None => Notice::new(
                Severity::Info,
                format!("Plugin `{plugin}` adds nothing any more to what the model is told"),
            ),
        };
        scope.events.emit(SessionEvent::Notice(notice));
    }
    Ok(())
}
