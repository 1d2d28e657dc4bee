//! `aar:host/log`: lines for the runtime's log. Needs no right; what comes is bounded and made harmless.

use crate::state::Call;

/// Writes one line. An unknown level counts as `info`.
pub(crate) fn emit(call: &Call, level: &str, message: &str) {
    call.log.line(level, "log", message);
}
