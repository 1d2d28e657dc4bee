//! The trace that a request belongs to, from the members of `_meta` that ACP reserves for it.

use acp_runtime_agent::trace::TraceContext;
use serde_json::Value;

/// The trace of a request with these parameters.
pub(in crate::acp) fn trace(params: &Value) -> TraceContext {
    let meta = params.get("_meta");
    TraceContext::read(|name| meta?.get(name)?.as_str())
}
