//! The tool calls of an answer, put together from their pieces and told of while they come.
//!
//! For Chat Completions they are put together here: `genai` can do it itself but fills a list up to whatever number the
//! provider gives a call, and copies all of its arguments with each piece. For the other formats its whole calls count at
//! the end, and the pieces only tell that they come; what it repeats in each piece is left out as soon as it is read
//! ([`NewParts`]). Tested by tables.

use std::collections::HashMap;

use acp_runtime_agent::model::ModelEvent;
use genai::chat::{ChatStreamEvent, ToolCall};
use serde_json::Value;

use super::flow::TooMuch;
use super::settings::WireFormat;

/// The most calls of one answer.
pub(super) const MOST: usize = 256;
/// What `genai` calls a piece that names no call, with the provider's number behind it.
const NUMBERED: &str = "call_";

/// The calls so far, in the order in which they began.
pub(super) struct Calls {
    /// Whether they are put together here.
    together: bool,
    calls: Vec<Call>,
    /// Where the call of a name is.
    places: HashMap<String, usize>,
}

#[derive(Default)]
struct Call {
    name: String,
    arguments: String,
    /// Whether it was told that it begins.
    told: bool,
}

impl Calls {
    /// None yet, of an answer in that format.
    pub(super) fn new(wire: WireFormat) -> Self {
        Self { together: wire == WireFormat::OpenaiChat, calls: Vec::new(), places: HashMap::new() }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece; what it tells of its call.
    pub(super) fn add(&mut self, piece: ToolCall) -> Result<Vec<ModelEvent>, TooMuch> {
        let known = self.place(&piece);
        let ToolCall { call_id, fn_name, fn_arguments, .. } = piece;
        let new = match fn_arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        let place = match known {
            Some(place) => place,
            // Only a call with an id is found again among the whole ones.
            None if call_id.is_empty() && !self.together => return Ok(Vec::new()),
            None if self.calls.len() == MOST => return Err(TooMuch::Calls),
            None => {
                if !call_id.is_empty() {
                    self.places.insert(call_id, self.calls.len());
                }
                self.calls.push(Call::default());
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(place) else { return Ok(Vec::new()) };
        if self.together {
            call.arguments.push_str(&new);
        }
        if call.name.is_empty() {
            call.name = fn_name;
        }
        let mut events = Vec::new();
        if !call.told && !call.name.is_empty() {
            call.told = true;
            events.push(ModelEvent::ToolCallBegun { draft: place, name: call.name.clone() });
        }
        if call.told && !new.is_empty() {
            events.push(ModelEvent::ToolCallInput { draft: place, text: new });
        }
        Ok(events)
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

    /// A call that `genai` has put together, as what was told of it goes on.
    pub(super) fn whole(&mut self, whole: ToolCall) -> ModelEvent {
        let draft = self.places.remove(&whole.call_id);
        call(draft, whole.fn_name, whole.fn_arguments)
    }

    /// The calls, whole, where they are put together here.
    pub(super) fn finish(self) -> impl Iterator<Item = ModelEvent> {
        let calls = if self.together { self.calls } else { Vec::new() };
        calls.into_iter().enumerate().map(|(place, Call { name, arguments, told })| {
            let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
            call(told.then_some(place), name, arguments)
        })
    }
}

/// What is new in each piece of a call, for the formats in which `genai` repeats what came before.
#[derive(Default)]
pub(super) struct NewParts(HashMap<String, usize>);

impl NewParts {
    /// The same item with the new part of the arguments alone. None for a call that comes whole, and for what cannot be
    /// told apart.
    pub(super) fn of<E>(&mut self, mut item: Result<ChatStreamEvent, E>) -> Option<Result<ChatStreamEvent, E>> {
        let Ok(ChatStreamEvent::ToolCallChunk(chunk)) = &mut item else { return Some(item) };
        let Value::String(so_far) = &mut chunk.tool_call.fn_arguments else { return None };
        let id = &chunk.tool_call.call_id;
        if id.is_empty() || self.0.len() >= MOST && !self.0.contains_key(id) {
            return None;
        }
        let known = self.0.insert(id.clone(), so_far.len()).unwrap_or(0);
        *so_far = so_far.get(known..).unwrap_or_default().to_owned();
        Some(item)
    }
}

/// A tool call as the tools' schemas are written: no arguments are an empty object. Text that is not JSON stays one.
pub(super) fn call(draft: Option<usize>, name: String, arguments: Value) -> ModelEvent {
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
        arguments => arguments,
    };
    ModelEvent::ToolCall { draft, name, arguments }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as `id name arguments`, with `-` for what a piece does not have.
    fn together(pieces: &[&str]) -> Vec<String> {
        let mut calls = Calls::new(WireFormat::OpenaiChat);
        for piece in pieces {
            let text = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
            let mut parts = piece.splitn(3, ' ').map(text);
            let mut part = || parts.next().unwrap();
            let (call_id, fn_name, arguments) = (part(), part(), part());
            calls.add(ToolCall { call_id, fn_name, fn_arguments: arguments.into(), thought_signatures: None }).unwrap();
        }
        let shown = |event| match event {
            ModelEvent::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
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
        let mut calls = Calls::new(WireFormat::OpenaiChat);
        for number in 0..MOST {
            calls.add(piece(number)).unwrap();
        }
        assert_eq!(calls.add(piece(0)), Ok(Vec::new()), "it has begun");
        assert_eq!(calls.add(piece(MOST)), Err(TooMuch::Calls));
    }

    fn piece(call_id: &str, fn_name: &str, arguments: &str) -> ToolCall {
        let (call_id, fn_name) = (call_id.to_owned(), fn_name.to_owned());
        ToolCall { call_id, fn_name, fn_arguments: arguments.into(), thought_signatures: None }
    }

    fn told(calls: &mut Calls, piece: ToolCall) -> Vec<String> {
        let line = |event| match event {
            ModelEvent::ToolCallBegun { draft, name } => format!("{draft} begins: {name}"),
            ModelEvent::ToolCallInput { draft, text } => format!("{draft} goes on: {text}"),
            event => format!("{event:?}"),
        };
        calls.add(piece).unwrap().into_iter().map(line).collect()
    }

    #[test]
    fn a_call_is_told_of_as_soon_as_it_has_a_name() {
        for wire in [WireFormat::OpenaiChat, WireFormat::Anthropic] {
            let mut calls = Calls::new(wire);
            assert!(told(&mut calls, piece("a", "", "")).is_empty());
            assert_eq!(told(&mut calls, piece("a", "read", "")), ["0 begins: read"]);
            assert_eq!(told(&mut calls, piece("a", "read", "{\"p")), ["0 goes on: {\"p"]);
            assert_eq!(told(&mut calls, piece("b", "list", "{")), ["1 begins: list", "1 goes on: {"]);
            assert_eq!(told(&mut calls, piece("a", "read", "\":1}")), ["0 goes on: \":1}"]);
            let draft = |event| match event {
                ModelEvent::ToolCall { draft, .. } => draft,
                event => panic!("{event:?}"),
            };
            if wire == WireFormat::OpenaiChat {
                assert_eq!(calls.finish().map(draft).collect::<Vec<_>>(), [Some(0), Some(1)]);
            } else {
                // Each of them goes on once.
                let whole = ["b", "a", "a", "c"].map(|id| draft(calls.whole(piece(id, "x", "{}"))));
                assert_eq!(whole, [Some(1), Some(0), None, None]);
                assert_eq!(calls.finish().count(), 0);
            }
        }
        assert!(told(&mut Calls::new(WireFormat::OpenaiResponses), piece("", "read", "{")).is_empty());
    }

    #[test]
    fn what_is_repeated_is_left_out() {
        let mut parts = NewParts::default();
        let mut new = |id: &str, so_far: Value| {
            let tool_call = ToolCall { fn_arguments: so_far, ..piece(id, "read", "") };
            let item = Ok::<_, ()>(ChatStreamEvent::ToolCallChunk(genai::chat::ToolChunk { tool_call }));
            parts.of(item).map(|item| match item {
                Ok(ChatStreamEvent::ToolCallChunk(chunk)) => chunk.tool_call.fn_arguments,
                other => panic!("{other:?}"),
            })
        };
        for (id, so_far, part) in [
            ("a", "", Some("")),
            ("a", "{\"p", Some("{\"p")),
            ("b", "[", Some("[")),
            ("a", "{\"p\":1}", Some("\":1}")),
            ("b", "[]", Some("]")),
            // What a provider has replaced is not told again.
            ("b", "x", Some("")),
            ("", "[", None),
        ] {
            assert_eq!(new(id, so_far.into()), part.map(Value::from), "{id} {so_far}");
        }
        assert_eq!(new("c", serde_json::json!({ "p": 1 })), None, "it comes whole");
    }
}
