//! A model that makes the same call again and again, and gets the same again and again.
//!
//! A call is the same while nothing else was done that may change what it gives: reading does not count. So a test that
//! is run after each edit is another call each time. Pure.

use std::collections::HashMap;

use crate::noun::counted;
use crate::tool::ToolError;
use crate::transcript::ToolCall;

/// So many more are refused before the turn ends.
const REFUSED: u32 = 3;

/// The calls of a turn, and how often each was made.
pub(super) struct Repeats {
    /// The time at which it is refused; 0 for never.
    most: u32,
    made: HashMap<Key, u32>,
}

/// The name of a tool, and the arguments as JSON.
type Key = (String, String);

impl Repeats {
    pub(super) fn new(most: u32) -> Self {
        Self { most, made: HashMap::new() }
    }

    /// Counts a call that is to be made. Fails where it is the same once too often.
    pub(super) fn make(&mut self, call: &ToolCall) -> Result<(), ToolError> {
        let times = self.made.entry(key(call)).or_default();
        *times += 1;
        if self.most == 0 || *times < self.most {
            return Ok(());
        }
        let message = format!(
            "the same call was asked for {}, and nothing was changed in between that could give another \
             result: it was not made. Do something else: other arguments, another tool, or say what is in the way",
            counted(*times, "time")
        );
        Err(ToolError::to_model("repeated", message))
    }

    /// How often a call was made, where that was so often that the turn should end.
    pub(super) fn too_often(&self) -> Option<(String, u32)> {
        let limit = self.most.checked_add(REFUSED).filter(|_| self.most > 0)?;
        self.made.iter().find(|(_, times)| **times >= limit).map(|((tool, _), times)| (tool.clone(), *times))
    }

    /// A call was made that may have changed something: all others may give another result now.
    pub(super) fn changed_by(&mut self, call: &ToolCall) {
        let own = key(call);
        self.made.retain(|key, _| *key == own);
    }
}

fn key(call: &ToolCall) -> Key {
    (call.name.clone(), call.arguments.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transcript::ToolCallId;

    fn call(name: &str) -> ToolCall {
        let (name, arguments) = name.split_once(' ').unwrap_or((name, ""));
        ToolCall { id: ToolCallId::new("call-1"), name: name.to_owned(), arguments: json!({ "path": arguments }) }
    }

    /// Makes calls in order, those in capitals as such that change something; which of them are refused.
    fn refused(most: u32, calls: &[&str]) -> Vec<usize> {
        let mut repeats = Repeats::new(most);
        let mut refused = Vec::new();
        for (at, name) in calls.iter().enumerate() {
            let call = call(name);
            match repeats.make(&call) {
                Ok(()) if name.starts_with(char::is_uppercase) => repeats.changed_by(&call),
                Ok(()) => {}
                Err(_) => refused.push(at),
            }
        }
        refused
    }

    #[test]
    fn the_same_call_is_refused_the_third_time() {
        for (calls, expected) in [
            (&["read a", "read a", "read a", "read a"][..], &[2, 3][..]),
            (&["read a", "read b", "read a", "read b", "read a"], &[4]),
            (&["read a", "read b", "read c"], &[]),
            (&["read a", "read a", "Edit a", "read a", "read a", "read a"], &[5]),
            (&["Test", "Edit a", "Test", "Edit b", "Test", "Edit c", "Test"], &[]),
            (&["Test", "read a", "Test", "read a", "Test"], &[4]),
        ] {
            assert_eq!(refused(3, calls), expected, "{calls:?}");
            assert_eq!(refused(0, calls), Vec::<usize>::new());
        }
    }

    #[test]
    fn who_does_not_listen_is_stopped() {
        let mut repeats = Repeats::new(3);
        for times in 1..=6 {
            assert_eq!(repeats.too_often(), None, "{times}");
            assert_eq!(repeats.make(&call("read a")).is_err(), times >= 3);
        }
        assert_eq!(repeats.too_often(), Some(("read".to_owned(), 6)));
        assert_eq!(Repeats::new(0).too_often(), None);
    }
}
