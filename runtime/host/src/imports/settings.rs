//! `aar:host/settings`: the plugin's own settings. They were validated when the session opened its plugins.

use crate::state::Call;

/// A JSON object; `{}` where there are no settings.
pub(crate) fn get(call: &Call) -> String {
    call.session.as_ref().map_or_else(|| "{}".to_owned(), |session| session.settings.as_ref().to_owned())
}
