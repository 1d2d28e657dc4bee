//! The host as a double in memory, for the tests of plugins: `cargo test`, no WebAssembly.
//!
//! Each thread has its own, so tests do not meet. [`Host::fresh`] begins with an empty one. [`call`], [`snapshot`],
//! [`act`], [`run`] and [`tell`] drive the plugin the way the real host does: arguments cross as JSON, and an action gets its
//! node from a fresh snapshot.
//!
//! ```
//! use acp_plugin::testing::Host;
//! use acp_plugin::workspace;
//!
//! let host = Host::fresh();
//! host.put_file("notes/a.md", "# A\n");
//! assert_eq!(workspace::read("/workspace/notes/a.md").unwrap(), "# A\n");
//! ```

use std::time::Duration;

use serde_json::{Map, Value};

use crate::bindings::hooks::interface::Occurrence;
use crate::hook::{self, Decision, EventKind, Hook};
use crate::{Acting, Call, Command, Error, ErrorKind, Node, Outcome, Panel, Reply, Result, Tool, View};

pub use self::double::{Host, Sent};

mod double;
pub(crate) mod imports;

/// Calls a tool with those arguments.
pub fn call<T: Tool>(arguments: &Value) -> Result<Outcome> {
    let call = Call { id: "call-1".to_owned(), session: "session-1".to_owned(), deadline: Duration::from_mins(1) };
    crate::tool::call::<T>(&arguments.to_string(), &call)
}

/// The JSON Schema of a tool's arguments, as the model gets it.
pub fn input_schema<T: Tool>() -> Result<Value> {
    Ok(serde_json::from_str(&crate::tool::definition::<T>().input_schema)?)
}

/// The panel's state now.
pub fn snapshot<P: Panel>() -> Result<View> {
    P::snapshot()
}

/// Starts an action on the node with that id. A node that is not there, or an action that is not for its kind, is
/// refused before the panel is asked.
pub fn act<P: Panel>(action: &str, node: &str, inputs: Map<String, Value>) -> Result<Option<String>> {
    let view = P::snapshot()?;
    let found = view.root.find(node).ok_or_else(|| Error::not_found(format_args!("unknown node `{node}`")))?;
    if !P::actions().iter().any(|known| known.applies_to(action, &found.kind)) {
        let message = format_args!("`{action}` does not apply to nodes of kind `{}`", found.kind);
        return Err(Error::invalid_args(message));
    }
    let node = Node { children: Vec::new(), ..found.clone() };
    P::act(&Acting { action: action.to_owned(), node, inputs })
}

/// Tells the hook of an event, with what the host would say of it. `truncated` where the host would have cut it.
pub fn tell<H: Hook>(event: EventKind, payload: &Value, truncated: bool) -> Result<Decision> {
    let decision = hook::handle::<H>(Occurrence {
        event: event.as_str().to_owned(),
        session_id: "session-1".to_owned(),
        call_id: None,
        payload: payload.to_string(),
        truncated,
        deadline_ms: 1000,
        extra: Vec::new(),
    })?;
    let text = decision.text.unwrap_or_default();
    match decision.kind.as_str() {
        "no-opinion" => Ok(Decision::NoOpinion),
        "replace" => Ok(Decision::Replace(text)),
        "block" => Ok(Decision::Block(text)),
        "ask" => Ok(Decision::Ask(text)),
        other => Err(Error::new(ErrorKind::Internal, format_args!("`{other}` is nothing that a hook can say"))),
    }
}

/// Runs a command as typed after its name.
pub fn run<C: Command>(arguments: &str) -> Result<Reply> {
    C::run(arguments.trim())
}
