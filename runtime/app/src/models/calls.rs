//! The tool calls of an answer, put together from their pieces.
//!
//! For Chat Completions, where `genai` can put them together itself but fills a list up to whatever number the provider
//! gives a call, and copies all of its arguments with each piece. Tested by a table.

use std::collections::HashMap;

use acp_runtime_agent::model::ModelEvent;
use genai::chat::ToolCall;
use serde_json::Value;

use super::flow::TooMuch;

/// The most calls of one answer.
pub(super) const MOST: usize = 256;
/// What `genai` calls a piece that names no call, with the provider's number behind it.
const NUMBERED: &str = "call_";

/// The calls so far, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Where the call of a name is.
    places: HashMap<String, usize>,
}

struct Call {
    name: String,
    arguments: String,
}

impl Calls {
    /// Takes a piece.
    pub(super) fn add(&mut self, piece: ToolCall) -> Result<(), TooMuch> {
        let place = self.place(&piece);
        let ToolCall { call_id, fn_name, fn_arguments, .. } = piece;
        let new = match fn_arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        if let Some(call) = place.and_then(|place| self.calls.get_mut(place)) {
            call.arguments.push_str(&new);
            if call.name.is_empty() {
                call.name = fn_name;
            }
            return Ok(());
        }
        if self.calls.len() == MOST {
            return Err(TooMuch::Calls);
        }
        if !call_id.is_empty() {
            self.places.insert(call_id, self.calls.len());
        }
        self.calls.push(Call { name: fn_name, arguments: new });
        Ok(())
    }

    /// The call that a piece belongs to; none where it begins one. A call has its name in its first piece, and its own
    /// id there or in all of them. A piece without either belongs to the call of its number, and to the latest where
    /// the provider does not count from 0.
    fn place(&self, piece: &ToolCall) -> Option<usize> {
        let latest = self.calls.len().checked_sub(1)?;
        if let Some(place) = self.places.get(&piece.call_id) {
            return Some(*place);
        }
        if !piece.fn_name.is_empty() {
            return None;
        }
        let number = piece.call_id.strip_prefix(NUMBERED).and_then(|number| number.parse().ok());
        Some(number.filter(|number| *number <= latest).unwrap_or(latest))
    }

    /// The calls, whole.
    pub(super) fn finish(self) -> impl Iterator<Item = ModelEvent> {
        self.calls.into_iter().map(|Call { name, arguments }| {
            let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
            call(name, arguments)
        })
    }
}

/// A tool call as the tools' schemas are written: no arguments are an empty object. Text that is not JSON stays one.
pub(super) fn call(name: String, arguments: Value) -> ModelEvent {
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
        arguments => arguments,
    };
    ModelEvent::call(name, arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as `id name arguments`, with `-` for what a piece does not have.
    fn together(pieces: &[&str]) -> Vec<String> {
        let mut calls = Calls::default();
        for piece in pieces {
            let text = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
            let mut parts = piece.splitn(3, ' ').map(text);
            let mut part = || parts.next().unwrap();
            let (call_id, fn_name, arguments) = (part(), part(), part());
            calls.add(ToolCall { call_id, fn_name, fn_arguments: arguments.into(), thought_signatures: None }).unwrap();
        }
        let shown = |event| match event {
            ModelEvent::ToolCall { name, arguments } => format!("{name} {arguments}"),
            event => format!("{event:?}"),
        };
        calls.finish().map(shown).collect()
    }

    #[test]
    fn pieces_come_to_their_calls() {
        for (pieces, calls) in [
            (&["a1 read {\"p\":", "call_0 - 1}"][..], &["read {\"p\":1}"][..]),
            (
                &["a1 read [", "b2 list [", "call_1 - 2", "call_0 - 1", "call_0 - ]", "call_1 - ]"],
                &["read [1]", "list [2]"],
            ),
            // The id in every piece, the name as well.
            (&["a1 read [", "b2 read [", "a1 read 1]", "b2 read 2]"], &["read [1]", "read [2]"]),
            // No ids at all.
            (&["call_0 read [", "call_1 list [", "call_0 - 1]", "call_1 - 2]"], &["read [1]", "list [2]"]),
            (&["- read [", "- - 1]", "- list [", "- - 2]"], &["read [1]", "list [2]"]),
            // Numbers that begin at 1, or are none.
            (&["a1 read [", "call_1 - 1]", "b2 list [", "call_2 - 2]"], &["read [1]", "list [2]"]),
            (&["a1 read [", "call_4000000000 - 1]"], &["read [1]"]),
            (&["a1 read [", "call_99999999999999999999 - 1]"], &["read [1]"]),
            // The name after the id, and an id of its own for each piece.
            (&["a1 - -", "a1 read [1]"], &["read [1]"]),
            (&["a1 read [", "b2 - 1", "c3 - ]"], &["read [1]"]),
            (&["a1 list -", "b2 read {\"p\": "], &["list {}", "read \"{\\\"p\\\": \""]),
        ] {
            assert_eq!(together(pieces), calls, "{pieces:?}");
        }
    }

    #[test]
    fn there_are_not_too_many() {
        let piece = |number: usize| ToolCall {
            call_id: format!("id-{number}"),
            fn_name: "read".to_owned(),
            fn_arguments: Value::Null,
            thought_signatures: None,
        };
        let mut calls = Calls::default();
        for number in 0..MOST {
            calls.add(piece(number)).unwrap();
        }
        assert_eq!(calls.add(piece(0)), Ok(()), "it has begun");
        assert_eq!(calls.add(piece(MOST)), Err(TooMuch::Calls));
    }
}
